package ui

import (
	"context"
	"sync"

	"github.com/example/mysdk/internal/recording"
)

func rightsPage() Page {
	var known rules
	return Page{
		Name: "rights", Title: "Rights", Question: "Which rights does the operator use, and which ones do its markers grant?",
		Fragments: []string{"rights"},
		Render: func(ctx context.Context, r *Request) (any, error) {
			granted, err := known.of(ctx, r)
			if err != nil {
				return nil, err
			}
			rights := recording.CompareRights(r.Recording.Uses, granted)
			return rightsData{rights, recording.MarkersFor(recording.RightsOf(rights.Missing), nil)}, nil
		},
	}
}

// rightsData is the page's data.
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
