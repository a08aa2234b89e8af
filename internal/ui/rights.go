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
	list []recording.Rule // empty: not read yet
}

// render compares them with what was used.
func (k *rules) render(ctx context.Context, r *Request) (any, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !r.Live || len(k.list) == 0 {
		list, err := r.Source.Rules(ctx)
		if err != nil {
			return nil, err
		}
		k.list = list
	}
	rights := recording.CompareRights(r.Recording.Uses, k.list)
	return rightsData{rights, recording.MarkersOf(rights.Missing, r.Source.RoleNamespace)}, nil
}
