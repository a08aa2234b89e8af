package localrun

import (
	"context"

	"github.com/example/mysdk/internal/recording"
)

// linesWaiting is how many lines of the operator may wait for the recording. More
// are dropped: the operator does not wait for us.
const linesWaiting = 4096

// report has the operator's log recorded until the function that it returns is
// called.
func (r *run) report(ctx context.Context) (end func(context.Context)) {
	lines, over, sent := make(chan recording.Line, linesWaiting), make(chan struct{}), make(chan struct{})
	r.mu.Lock()
	r.log = lines
	r.mu.Unlock()
	go func() {
		defer close(sent)
		_ = r.control.Lines(ctx, r.Dir, lines, over) // an error: the recording has gone with the cluster
	}()
	return func(ctx context.Context) {
		close(over)
		select {
		case <-sent:
		case <-ctx.Done():
		}
	}
}

// noteLine hands one line to the recording, if there is one. A kind that the cluster
// lacks is named once: the operator waits for it, and ends only after minutes.
func (r *run) noteLine(l recording.Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if kind := missingIn(l.Text); kind != "" && !r.missing[kind] {
		r.missing[kind] = true
		r.screen.warn("the cluster does not have kind %s, which the operator uses; apply its CRD: %s apply --server-side -f FILE", kind, r.client.Kubectl())
	}
	if r.log == nil {
		return
	}
	r.logged++
	l.Number, l.Time = r.logged, r.Host.Now()
	select {
	case r.log <- l:
	default: // Number says that it is missing
	}
}
