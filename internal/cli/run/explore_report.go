package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/explore"
)

// beginning keeps what is said until the operator runs: it is of interest where
// that fails.
type beginning struct {
	mu   sync.Mutex
	text bytes.Buffer
	over bool
}

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.text.Write(p)
	}
	return len(p), nil
}

// end forgets it.
func (b *beginning) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.text.Reset()
}

// tell prints what was kept.
func (b *beginning) tell(w io.Writer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.text.WriteTo(w)
	return err
}

// replayed is the finding that --replay names, of the report in the file kept;
// nil without the flag.
func (o *exploreOptions) replayed(f *cli.Factory, kept string) (*explore.Finding, error) {
	if o.replay == "" {
		return nil, nil
	}
	var last explore.Report
	data, err := f.Host.Files.ReadFile(kept)
	if err == nil {
		err = json.Unmarshal(data, &last)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the last report: %w", err)
	}
	ids := []string{}
	for i, one := range last.Findings {
		if one.ID == o.replay {
			return &last.Findings[i], nil
		}
		ids = append(ids, one.ID)
	}
	hint := "run 'mysdk explore' first"
	if len(ids) > 0 {
		hint = "use one of: " + strings.Join(ids, ", ")
	}
	return nil, clierr.Usagef(hint, "--replay: the last exploration of this project has no finding %s", o.replay)
}

// keep keeps a report for --replay, unless it was cut short before it found anything.
func keep(f *cli.Factory, kept string, r explore.Report) error {
	if len(r.Findings) == 0 && r.Ended != explore.EndedDone && r.Ended != explore.EndedTime {
		return nil
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = f.Host.Files.WriteFile(kept, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	return nil
}

// report prints what was found, and returns what failed before anything else:
// an exploration that was cut short is not one with findings, or without.
func (o *exploreOptions) report(f *cli.Factory, r explore.Report, failed error) error {
	if err := errors.Join(failed, o.print(f, r)); err != nil || len(r.Findings) == 0 {
		return err
	}
	return clierr.OutOfDatef("read each finding from its first line on; -v shows every trial", "explore: %s", cli.Count(len(r.Findings), "finding"))
}

func (o *exploreOptions) print(f *cli.Factory, r explore.Report) error {
	switch o.output {
	case "junit":
		return explore.WriteJUnit(f.Host.IO.Out, r)
	case "html":
		return explore.WriteHTML(f.Host.IO.Out, r, func(name string) ([]byte, error) { return f.Host.Files.ReadFile(f.Host.Path(name)) })
	case "sarif":
		return f.Report("json", explore.SARIF(r, f.InRepository(".")), nil)
	}
	return f.Report(o.output, r, func(w io.Writer) { explore.WriteText(w, r) })
}
