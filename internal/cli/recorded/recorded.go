// Package recorded has the commands that explain what a project's operator did
// on an embedded cluster: why, rights and ui.
package recorded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/localrun"
	"github.com/example/mysdk/internal/recording"
)

// describeCluster explains --cluster, without which find finds one.
func describeCluster(c *cobra.Command) {
	flag := c.Flag("cluster")
	flag.Usage, flag.DefValue = "embedded cluster to look at (default: the one that the operator runs on)", ""
}

// active returns what is recorded on the cluster of that name, of requests and
// lines those behind at; not ok where no operator of this project runs. Where there
// is nothing new it waits.
func active(
	ctx context.Context, f *cli.Factory, name string, at recording.Position, wait time.Duration,
) (rec recording.Recording, ok bool) {
	control, err := cluster.Control(ctx, f.Host, name)
	if err == nil {
		rec, err = control.Recording(ctx, at, wait)
	}
	if err != nil || !rec.Active || !rec.Of(f.Host.Dir) {
		return recording.Recording{}, false
	}
	return rec, true
}

// isNamed reports whether a cluster was named, on the command line or in a
// configuration file.
func isNamed(f *cli.Factory) bool { return f.Running.Flag("cluster").Changed }

// find is the cluster that an operator of this project runs on: another one than that
// of the name only if none was named.
func find(ctx context.Context, f *cli.Factory, name string) string {
	if isNamed(f) {
		return name
	}
	others, err := cluster.List(ctx, f.Host)
	if err != nil {
		return name // who uses the cluster of the name is told what is wrong with it
	}
	for _, c := range append([]cluster.Info{{Name: name}}, others...) {
		if _, ok := active(ctx, f, c.Name, recording.End(), 0); ok {
			return c.Name
		}
	}
	return name
}

// lastRun is the recording that the project's last run has left. It is parsed again
// only where its file has changed.
type lastRun struct {
	mu   sync.Mutex
	file fs.FileInfo // that was read
	rec  recording.Recording
}

func (l *lastRun) read(f *cli.Factory) (recording.Recording, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := localrun.RecordingFile(f.Host, f.Host.Dir)
	if err != nil {
		return recording.Recording{}, err
	}
	info, err := f.Host.Files.Lstat(file)
	if err == nil && l.file != nil && info.Size() == l.file.Size() && info.ModTime().Equal(l.file.ModTime()) {
		return l.rec, nil
	}
	var data []byte
	if err == nil {
		data, err = f.Host.Files.ReadFile(file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return recording.Recording{}, clierr.Failedf("run 'mysdk run local' and try again, while it runs or after it; a deployed operator is not recorded", "no recording of this project's operator")
	}
	var rec recording.Recording
	if err == nil {
		err = json.Unmarshal(data, &rec)
	}
	if err != nil {
		return recording.Recording{}, clierr.Failedf("run 'mysdk run local' again", "read the recording of the last run: %w", err)
	}
	rec.Active = false // it was when it was kept
	l.file, l.rec = info, rec
	return rec, nil
}

// read returns the recording of the project's operator that runs on the cluster of
// that name, or else that of its last run, which last keeps.
func read(ctx context.Context, f *cli.Factory, last *lastRun, name string, at recording.Position, wait time.Duration) (rec recording.Recording, kept bool, err error) {
	if rec, ok := active(ctx, f, name, at, wait); ok {
		return rec, false, nil
	}
	rec, err = last.read(f)
	return rec, err == nil, err
}

// load is read with a word about what is read, on whichever cluster the operator
// runs if none was named. There must be a project.
func load(ctx context.Context, f *cli.Factory, name *string) (recording.Recording, error) {
	if _, _, err := f.LoadProject(); err != nil {
		return recording.Recording{}, err
	}
	*name = find(ctx, f, *name)
	rec, kept, err := read(ctx, f, &lastRun{}, *name, recording.Position{}, 0)
	if kept {
		on := ""
		if isNamed(f) {
			on = " on cluster " + *name
		}
		f.Say("No 'mysdk run local' of this project is recorded%s now: this is the last one, of %s.", on, rec.Since.Local().Format("2006-01-02 15:04:05"))
	}
	return rec, err
}

// at is a source line for people, empty where it is not known.
func at(frames []string) string {
	if len(frames) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", frames[0])
}
