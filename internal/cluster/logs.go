package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// followInterval is how often a followed log is read again.
const followInterval = 200 * time.Millisecond

// Logs writes the log of the cluster's last start to w. With follow it goes on
// with what is added, also by a later start, until ctx ends, which is no error.
func Logs(ctx context.Context, h host.Host, name string, follow bool, w io.Writer) error {
	l, err := layoutOf(h, name)
	if err != nil {
		return err
	}
	f, err := os.Open(l.Log())
	if errors.Is(err, fs.ErrNotExist) {
		return clierr.Failedf(fmt.Sprintf("run '%s' first", state.Command("start", name)), "cluster %s has no log: it was never started", name)
	}
	if err != nil {
		return fmt.Errorf("read the log of cluster %s: %w", name, err)
	}
	for err == nil {
		if _, err = io.Copy(w, f); err != nil || !follow {
			break
		}
		if !host.Pause(ctx, followInterval) {
			return f.Close()
		}
		f, err = reopened(f, l.Log(), w)
	}
	if f != nil {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("read the log of cluster %s: %w", name, err)
	}
	return nil
}

// reopened returns f, or the file that has taken its name since. The rest of f is
// written to w then.
func reopened(f *os.File, name string, w io.Writer) (*os.File, error) {
	now, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil // a start is about to make a new one
	}
	if err != nil {
		return f, err
	}
	was, err := f.Stat()
	if err != nil || os.SameFile(was, now) {
		return f, err
	}
	_, err = io.Copy(w, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return os.Open(name)
}

// tail is the end of the log, from a crash on where there is one, indented below an
// error's first line, or "".
func tail(l state.Layout) string {
	data, err := os.ReadFile(l.Log())
	if err != nil {
		return ""
	}
	lines := strings.Split(string(bytes.TrimSpace(data)), "\n")
	from := max(0, len(lines)-tailLines)
	for i, line := range lines[:from] { // the reason is above the stacks
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			from = i
		}
	}
	lines = lines[from:min(len(lines), from+tailLines)]
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	return "\nThe end of its log:\n  " + strings.Join(lines, "\n  ")
}
