package cluster

import (
	"context"
	"time"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/recording"
)

// askTimeout bounds the question who uses a cluster, which one that runs answers at
// once.
const askTimeout = 2 * time.Second

// warnOfRun names the run that loses its cluster when that is stopped. It is not
// refused: whoever stops a cluster may mean just that.
func warnOfRun(ctx context.Context, f *cli.Factory, name string) {
	control, err := cluster.Control(ctx, f.Host, name)
	if err != nil {
		return // it does not run, or stopping it tells what is wrong
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	rec, err := control.Recording(ctx, recording.Position{Request: ^uint64(0), Line: recording.NoLines}, 0)
	if err == nil && rec.Active {
		f.Warn("'mysdk run local' in %s is using cluster %s; its operator will lose the connection", rec.Project, name)
	}
}
