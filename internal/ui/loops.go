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
			return r.Recording.Loops(), nil
		},
	}
}

// loopURL is the address of the reconciles that a loop is made of.
func loopURL(l recording.Loop) string {
	if l.Reconciled.Name != "" {
		return addressOf(l.Reconciled)
	}
	return addressOf(l.Object)
}
