package hostpods

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// logLimit is the size at which a log is put aside and a new one begun, in
	// bytes; the one put aside before is dropped.
	logLimit = 10 << 20
	// lineLimit is where a line without an end is broken, in bytes.
	lineLimit = 64 << 10
	// messageLimit bounds the end of a log that is kept as the message of a
	// container's end, as in a kubelet.
	messageLimit = 2048
)

// containerLog is what one run of a container wrote: lines with the time in
// front. It may be read while it is written.
type containerLog struct {
	path  string
	limit int64

	mu      sync.Mutex
	file    *os.File
	size    int64
	partial []byte        // a line whose end has not come
	head    []byte        // the first messageLimit bytes, without times
	tail    []byte        // the last ones
	closed  bool          // nothing more will come
	changed chan struct{} // closed at the next change
}

func createLog(path string) (*containerLog, error) {
	l := &containerLog{path: path, limit: logLimit, changed: make(chan struct{})}
	if err := makeDirs(filepath.Dir(path)); err != nil {
		return nil, err
	}
	var err error
	l.file, err = os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	return l, err
}

// Write implements io.Writer. A full disk is the program's misfortune: it does
// not end of it, as it would not in a container.
func (l *containerLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found && len(l.partial) < lineLimit {
			break
		}
		l.line(line)
		l.partial = rest
	}
	l.partial = bytes.Clone(l.partial)
	l.tell()
	return len(p), nil
}

func (l *containerLog) line(line []byte) {
	if len(l.head) < messageLimit {
		l.head = append(append(l.head, line...), '\n')
	}
	l.tail = append(append(l.tail, line...), '\n')
	l.tail = bytes.Clone(l.tail[max(0, len(l.tail)-messageLimit):])
	if l.size > l.limit {
		l.turn()
	}
	n, err := fmt.Fprintf(l.file, "%s %s\n", time.Now().UTC().Format(time.RFC3339Nano), line)
	l.size += int64(n)
	_ = err // see Write
}

// turn puts the file aside. One that cannot be is written on.
func (l *containerLog) turn() {
	if os.Rename(l.path, l.path+".old") != nil {
		return
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_ = l.file.Close() // nothing of it is in memory
	l.file, l.size = file, 0
}

func (l *containerLog) tell() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Close ends the log, with a last line that had no end.
func (l *containerLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	if len(l.partial) > 0 {
		l.line(l.partial)
		l.partial = nil
	}
	l.closed = true
	l.tell()
	return l.file.Close()
}

// message is the end of the log in whole lines, for a container's last state.
func (l *containerLog) message() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := string(l.tail)
	if len(text) == messageLimit {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimSpace(text)
}

func (l *containerLog) ends() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.head) + string(l.tail)
}

// read returns what f holds from where it stands, whether more may come, and
// when. Nobody writes meanwhile: of a line that is being written, half could be
// read.
func (l *containerLog) read(f *os.File) (data []byte, closed bool, changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	data, err = io.ReadAll(f)
	return data, l.closed, l.changed, err
}

// logOptions are what a reader of a log asks for.
type logOptions struct {
	follow, timestamps bool
	tail               int64     // lines from the end; negative is all
	since              time.Time // zero is the beginning
	limit              int64     // bytes; 0 is all
}

// readLog writes the log at path to w. live is the log while it is written;
// nil for one that is complete.
func readLog(ctx context.Context, path string, live *containerLog, o logOptions, w io.Writer) error {
	out := &logWriter{to: w, o: o}
	data, f, err := openLog(path, live)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	if err := out.write(lastLines(data, o.tail)); err != nil || !o.follow || live == nil {
		return unlessEnough(err)
	}
	for {
		data, closed, changed, err := live.read(f)
		if err == nil {
			err = out.write(data)
		}
		if err != nil || closed {
			return unlessEnough(err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
		if f, err = live.turned(f); err != nil {
			return err
		}
	}
}

// unlessEnough drops the error that says that enough was written.
func unlessEnough(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// openLog reads the log at path, and returns the file that goes on. While it
// does, no file is put aside and no line is half written.
func openLog(path string, live *containerLog) ([]byte, *os.File, error) {
	if live != nil {
		live.mu.Lock()
		defer live.mu.Unlock()
	}
	before, err := os.ReadFile(path + ".old")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		_ = f.Close() // only read
		return nil, nil, err
	}
	return append(before, data...), f, nil
}

// turned returns f, or the file that has taken its name once f is read to its
// end.
func (l *containerLog) turned(f *os.File) (*os.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, err := os.Stat(l.path)
	if err != nil {
		return f, nil // it could not be made, see turn
	}
	was, err := f.Stat()
	if err != nil || os.SameFile(was, now) {
		return f, err
	}
	if at, err := f.Seek(0, io.SeekCurrent); err != nil || at < was.Size() {
		return f, err
	}
	_ = f.Close() // only read
	return os.Open(l.path)
}

// lastLines is the end of data with at most n lines; all of it for n < 0.
func lastLines(data []byte, n int64) []byte {
	if n < 0 {
		return data
	}
	at := len(data)
	for ; n > 0 && at > 0; n-- {
		at = bytes.LastIndexByte(data[:at-1], '\n') + 1
	}
	return data[at:]
}

// logWriter writes lines of a log as a reader wants them.
type logWriter struct {
	to      io.Writer
	o       logOptions
	written int64
}

// write passes whole lines on. io.EOF says that the reader has enough.
func (w *logWriter) write(data []byte) error {
	var text []byte
	for line := range bytes.Lines(data) {
		text = append(text, w.shown(line)...)
	}
	enough := w.o.limit > 0 && w.written+int64(len(text)) >= w.o.limit
	if enough {
		text = text[:w.o.limit-w.written]
	}
	n, err := w.to.Write(text)
	w.written += int64(n)
	if err == nil && enough {
		err = io.EOF
	}
	return err
}

// shown is a line as the reader wants it; nil for none.
func (w *logWriter) shown(line []byte) []byte {
	stamp, text, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return line
	}
	if !w.o.since.IsZero() {
		at, err := time.Parse(time.RFC3339Nano, string(stamp))
		if err == nil && at.Before(w.o.since) {
			return nil
		}
	}
	if w.o.timestamps {
		return line
	}
	return text
}

// logName is the file of a container's run in its pod's directory.
func logName(dir, container string, run int32) string {
	return filepath.Join(dir, container, strconv.Itoa(int(run))+".log")
}
