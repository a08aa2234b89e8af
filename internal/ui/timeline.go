package ui

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/example/mysdk/internal/objects"
)

// stepsShown bounds the changes that are listed beside the slider.
const stepsShown = 40

// timeData is the page's data: the cluster after one change.
type timeData struct {
	Ready       bool
	Namespaces  []string
	Namespace   string
	First, Last uint64     // Seq of the changes that are kept
	At          uint64     // Seq of the change after which it is shown
	Newest      bool       // nothing has changed since
	Change      *authored  // nil: before the first one
	Around      []authored // changes near it, the newest first
	Before      uint64     // Seq of the change before, to go to
	After       uint64     // and of the one behind; 0: none
	Trees       []*objects.Node
}

// timeline is the cluster after the change that ?at names, or as it is.
func timeline(r *Request) (timeData, error) {
	now := r.Mirror.Now()
	d := timeData{Ready: now.Ready, Namespaces: namespaces(now), Namespace: r.Query.Get("namespace")}
	log := now.Log
	if len(log) == 0 {
		d.Newest = true
		d.Trees = forest(now, d.Namespace)
		return d, nil
	}
	d.First, d.Last = log[0].Seq-1, log[len(log)-1].Seq
	at, err := strconv.ParseUint(r.Query.Get("at"), 10, 64)
	if err != nil || at > d.Last {
		at = d.Last // as it is
	}
	d.At = max(at, d.First)
	d.Newest = d.At == d.Last
	own := now.Custom()
	shown := slices.DeleteFunc(log, func(c objects.Change) bool {
		return d.Namespace != allNamespaces && d.Namespace != ownKinds && c.Namespace != d.Namespace ||
			d.Namespace == ownKinds && c.Namespace == "" && !own[c.GroupKind]
	})
	d.steps(r, shown)
	if !d.Newest {
		if now.Objects, err = r.Mirror.At(d.At); err != nil {
			return d, err
		}
	}
	d.Trees = forest(now, d.Namespace)
	return d, nil
}

// steps finds the change itself and those near it.
func (d *timeData) steps(r *Request, shown []objects.Change) {
	order := func(c objects.Change, seq uint64) int { return cmp.Compare(c.Seq, seq) }
	at, found := slices.BinarySearchFunc(shown, d.At, order)
	next := at
	if found {
		a := author(r.Recording, shown[at])
		d.Change, next = &a, at+1
	}
	if at > 0 {
		d.Before = shown[at-1].Seq
	} else if d.At > d.First {
		d.Before = d.First
	}
	if next < len(shown) {
		d.After = shown[next].Seq
	}
	// Half of them are from before, if there are as many.
	end := min(len(shown), next+max(stepsShown/2, stepsShown-next))
	for _, c := range slices.Backward(shown[max(0, end-stepsShown):end]) {
		d.Around = append(d.Around, author(r.Recording, c))
	}
}
