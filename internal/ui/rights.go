package ui

import (
	"context"
	"sync"

	"github.com/example/mysdk/internal/recording"
)

type rightsData struct {
	recording.Rights
	Markers []string // to add
}

// rules are the project's, read when the page is opened: that takes a moment.
type rules struct {
	mu   sync.Mutex
	list []recording.Rule
	read bool
}

// render compares them with what was used.
func (k *rules) render(ctx context.Context, r *Request) (any, error) {
	granted, err := k.of(ctx, r)
	if err != nil {
		return nil, err
	}
	rights := recording.CompareRights(r.Recording.Uses, granted)
	return rightsData{rights, recording.MarkersOf(rights.Missing, r.Source.RoleNamespace)}, nil
}

func (k *rules) of(ctx context.Context, r *Request) ([]recording.Rule, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Source.Rules == nil || r.Live && k.read {
		return k.list, nil
	}
	list, err := r.Source.Rules(ctx)
	if err == nil {
		k.list, k.read = list, true
	}
	return list, err
}
