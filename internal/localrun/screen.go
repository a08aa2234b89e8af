package localrun

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/recording"
)

const (
	prefix      = "operator | "
	colorPrefix = "\x1b[36moperator |\x1b[0m "
	maxLine     = 64 << 10 // bounds what is kept of a line without an end
	tailLines   = 5        // how many of the operator's last lines a failure shows
)

// routine matches what controller-runtime, and main.go as it is scaffolded, log
// at each start and stop, in the formats of zap, slog and klog. Errors and
// warnings never match.
var routine = lazy.Delayed(`(?:\tINFO\t(?:\S+\t)?|"level":"info",.*"msg":"|level=INFO .*msg="?|^I\d{4} .*\] "?)` +
	`(?:Starting (?:EventSource|Controller|workers|metrics server|webhook server|certificate poll\+watcher|the manager|manager)|Serving (?:metrics|webhook) server` +
	`|starting (?:server|manager)|shutting down server|Watching|Registering (?:a mutating |a validating )?webhook|Conversion webhook enabled|Updated current TLS certificate` +
	`|Shutting down (?:metrics|webhook) server|Stopping and waiting for |Shutdown signal received, waiting for all workers to finish|All workers finished|Wait completed, proceeding to shutdown the manager)`)

// missingKind finds a kind that the cluster does not have, and its group and version,
// in what controller-runtime logs.
var missingKind = lazy.Delayed(`no matches for kind \\*"(\w+)\\*" in version \\*"([\w./-]+)`)

// missingIn is that kind in words; empty where there is none.
func missingIn(text string) string {
	if m := missingKind.FindStringSubmatch(text); m != nil {
		return m[1] + " in " + m[2]
	}
	return ""
}

// screen keeps lines from different goroutines whole.
type screen struct {
	mu       sync.Mutex
	out, err io.Writer
	unread   func(error) // called when nobody reads a stream any more; may be nil
	quiet    bool        // say prints nothing
}

// say prints a line of our own.
func (s *screen) say(format string, args ...any) {
	if !s.quiet {
		s.print(format, args...)
	}
}

// warn prints a warning.
func (s *screen) warn(format string, args ...any) { s.print("warning: "+format, args...) }

// print prints a line of our own, quiet or not. A screen that cannot be written to
// has nobody to tell about it.
func (s *screen) print(format string, args ...any) {
	s.write(s.err, fmt.Appendf(nil, format+"\n", args...))
}

// write writes whole lines at once, so that those of others do not cut them.
func (s *screen) write(w io.Writer, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := w.Write(data); s.unread != nil && errors.Is(err, syscall.EPIPE) {
		s.unread(err)
	}
}

// lines prints one of the operator's streams with a prefix, a line at a time,
// and remembers the last lines.
type lines struct {
	screen *screen
	to     io.Writer
	prefix string
	tail   *tail
	quiet  func() bool          // leaves out what every start and stop says; nil: never
	note   func(recording.Line) // records a line
	mu     sync.Mutex
	rest   []byte         // a line that has not ended yet
	last   recording.Line // that was printed
}

// Write implements io.Writer. It never fails: the operator must not block or
// die because of a screen.
func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, data...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			break
		}
		l.print(line)
		l.rest = rest
	}
	if len(l.rest) > maxLine {
		l.print(l.rest)
		l.rest = nil
	}
	l.rest = slices.Clone(l.rest) // lets go of what was printed
	return len(data), nil
}

// flush prints what the operator left without a line end.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.print(l.rest)
		l.rest = nil
	}
}

// print prints one line. Windows' line ends would overwrite the prefix.
func (l *lines) print(line []byte) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	l.last = recording.ReadLine(string(line), l.last)
	l.tail.add(l.last)
	if l.note != nil {
		l.note(l.last)
	}
	if l.quiet != nil && l.quiet() && routine.Match(line) {
		return
	}
	l.screen.write(l.to, fmt.Appendf(nil, "%s%s\n", l.prefix, line))
}

// stackField matches the stack in a line of zap's JSON.
var stackField = lazy.Delayed(`,"stacktrace":"(?:[^"\\]|\\.)*"`)

// tail keeps the last lines of both streams that are not blank.
type tail struct {
	mu      sync.Mutex
	last    []string
	fault   string // the last error
	missing string // the kind that the cluster did not have, of those the last
	badFlag string // the flag that package flag complained of, before it printed them all
}

// add keeps a line that is no stack's, as one would leave no place for the error,
// and remembers the last error, which cobra prints before all flags, and what
// package flag and pflag say first of an unknown flag.
func (t *tail) add(l recording.Line) {
	line := stackField.ReplaceAllString(l.Text, "")
	if line == "" || l.More {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.Level == recording.LevelError || strings.HasPrefix(line, "Error: ") {
		t.fault = line
	}
	t.missing = cmp.Or(missingIn(line), t.missing)
	for _, complaint := range []string{"flag provided but not defined: ", "unknown flag: ", "unknown shorthand flag: "} {
		if name, ok := strings.CutPrefix(line, complaint); ok {
			t.badFlag = name
		}
	}
	t.last = append(t.last, line)
	if len(t.last) > tailLines {
		t.last = slices.Delete(t.last, 0, len(t.last)-tailLines)
	}
}

// String returns what was kept, the last error first if it is older, each line
// indented on a line of its own.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []string{""}
	if t.fault != "" && !slices.Contains(t.last, t.fault) {
		list = append(list, t.fault)
	}
	return strings.Join(append(list, t.last...), "\n  ")
}

// gate holds back what is written to it until it is opened: the build's output
// must not come before the cluster's name.
type gate struct {
	screen *screen
	names  *strings.Replacer // in what is written; nil: none
	mu     sync.Mutex
	open   bool
	all    bytes.Buffer // everything, to judge the build by
}

// Write implements io.Writer; it never fails.
func (g *gate) Write(data []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(data)
	if g.names != nil {
		data = []byte(g.names.Replace(string(data)))
	}
	g.all.Write(data)
	if g.open {
		g.screen.write(g.screen.err, data)
	}
	return n, nil
}

// release prints what was held back, and holds nothing back any more.
func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open && g.all.Len() > 0 {
		g.screen.write(g.screen.err, g.all.Bytes())
	}
	g.open = true
}

// summary lists results for a line, names without the kind where all are CRDs.
func summary(results []kube.Result) string {
	var list []string
	for _, r := range results {
		name := r.String()
		if r.Kind == crdKind {
			name = r.Name
		}
		list = append(list, name+" "+string(r.Action))
	}
	return strings.Join(list, ", ")
}
