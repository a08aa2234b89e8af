// Package recorded has the commands that explain what a project's operator did
// on an embedded cluster: why, rights and ui.
package recorded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/localrun"
	"github.com/example/mysdk/internal/recording"
)

// errNotActive says that the cluster records no operator.
var errNotActive = errors.New("no operator is running")

// active returns what is recorded on the cluster of that name, of requests and
// lines those behind at, or errNotActive. Where there is nothing new it waits.
func active(ctx context.Context, f *cli.Factory, name string, at recording.Position, wait time.Duration) (recording.Recording, error) {
	control, err := cluster.Control(ctx, f.Host, name)
	if err != nil {
		return recording.Recording{}, errNotActive
	}
	rec, err := control.Recording(ctx, at, wait)
	if err != nil || !rec.Active {
		return recording.Recording{}, errNotActive
	}
	return rec, nil
}

// read returns the recording of the operator that runs on the cluster of that
// name, or else that of the project's last run, which is kept.
func read(ctx context.Context, f *cli.Factory, name string, at recording.Position, wait time.Duration) (rec recording.Recording, kept bool, err error) {
	if rec, err := active(ctx, f, name, at, wait); err == nil {
		return rec, false, nil
	}
	file, err := localrun.RecordingFile(f.Host, f.Host.Dir)
	if err != nil {
		return rec, false, err
	}
	data, err := f.Host.Files.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return rec, false, clierr.Failedf("run 'mysdk run local' and try again, while it runs or after it", "no recording of this project's operator")
	}
	if err == nil {
		err = json.Unmarshal(data, &rec)
	}
	if err != nil {
		return rec, false, clierr.Failedf("run 'mysdk run local' again", "read the recording of the last run: %w", err)
	}
	rec.Active = false // it was when it was kept
	return rec, true, nil
}

// load is read with a word about what is read.
func load(ctx context.Context, f *cli.Factory, name string) (recording.Recording, error) {
	rec, kept, err := read(ctx, f, name, recording.Position{}, 0)
	if kept {
		f.Say("The operator is not running on cluster %s: this is the last run, of %s.", name, rec.Since.Local().Format("2006-01-02 15:04:05"))
	}
	return rec, err
}

// lost says that there was more.
func lost(f *cli.Factory, rec recording.Recording) {
	if rec.Lost > 0 {
		f.Warn("the oldest %d requests are not in the recording any longer", rec.Lost)
	}
}

// at is a source line for people, empty where it is not known.
func at(frames []string) string {
	if len(frames) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", frames[0])
}
