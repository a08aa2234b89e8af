package ui

import (
	"context"
	"time"

	"github.com/example/mysdk/internal/recording"
)

// loopsEvery is how often loops are looked for: all of the recording is read.
const loopsEvery = 2 * time.Second

func loopsPage() Page {
	return Page{
		Name: "loops", Title: "Loops", Question: "Does the operator do the same again and again?",
		Fragments: []string{"loops"}, Every: loopsEvery,
		Render: func(_ context.Context, r *Request) (any, error) {
			var list []foundLoop
			for _, l := range r.Recording.Loops() {
				list = append(list, foundLoop{l})
			}
			return list, nil
		},
	}
}

// foundLoop is a loop with what to say about it.
type foundLoop struct{ recording.Loop }

// Title is the pattern in words.
func (l foundLoop) Title() string {
	switch l.Pattern {
	case recording.Unchanged:
		return "Writes that change nothing"
	case recording.Conflict:
		return "Conflicts"
	case recording.Fight:
		return "Two writers of one field"
	case recording.OwnWrites:
		return "Writes that cause the next reconcile"
	}
	return "Reconciles without a change"
}

// Advice is what usually helps.
func (l foundLoop) Advice() string {
	switch l.Pattern {
	case recording.Unchanged:
		return "Compare before writing, or use server-side apply, which the API server ignores when nothing changes."
	case recording.Conflict:
		return "Read the object right before the update, or send a patch. Retrying with the same copy fails again."
	case recording.Fight:
		return "Let one of them own the field: leave it out of what the other one writes."
	case recording.OwnWrites:
		return "Write a value only when it differs in substance: no time stamps, no counters, no lists in random order."
	}
	return "Look at what the reconciles return: a requeue, or an error that is always the same."
}

// Address is the page with the reconciles that the loop is made of.
func (l foundLoop) Address() string {
	if l.Reconciled.Name != "" {
		return addressOf(l.Reconciled)
	}
	return addressOf(l.Object)
}
