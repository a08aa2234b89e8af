// Package recorded has the commands that explain what a project's operator did
// on an embedded cluster: why and rights.
package recorded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/localrun"
	"github.com/example/mysdk/internal/recording"
)

// load returns the recording of the operator that runs on the cluster of that
// name, or else that of the project's last run.
func load(ctx context.Context, f *cli.Factory, name string) (recording.Recording, error) {
	if control, err := cluster.Control(ctx, f.Host, name); err == nil {
		rec, err := control.Recording(ctx, 0, 0)
		if err == nil && rec.Active {
			return rec, nil
		}
	}
	var rec recording.Recording
	file, err := localrun.RecordingFile(f.Host, f.Host.Dir)
	if err != nil {
		return rec, err
	}
	data, err := f.Host.Files.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return rec, clierr.Failedf("run 'mysdk run local' and try again, while it runs or after it", "no recording of this project's operator")
	}
	if err == nil {
		err = json.Unmarshal(data, &rec)
	}
	if err != nil {
		return rec, clierr.Failedf("run 'mysdk run local' again", "read the recording of the last run: %w", err)
	}
	f.Say("The operator is not running on cluster %s: this is the last run, of %s.", name, rec.Since.Local().Format("2006-01-02 15:04:05"))
	return rec, nil
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
