package recording

import (
	"slices"
	"strings"
	"time"

	lazy "go.podman.io/storage/pkg/regexp"
)

// LinesKept and LineBytesKept bound what is kept of an operator's log.
const (
	LinesKept     = 10_000
	LineBytesKept = 8 << 20
)

// Levels of a Line, the most important first.
const (
	LevelError   = "error"
	LevelWarning = "warning"
	LevelInfo    = "info"
	LevelDebug   = "debug"
)

// Line is a line that the operator printed.
type Line struct {
	Number uint64    `json:"number"` // counts up from 1, also over lines that were not kept
	Time   time.Time `json:"time"`
	Level  string    `json:"level,omitempty"` // empty where it does not say
	LogID  string    `json:"logId,omitempty"` // Reconcile.LogID of the call that logged it, where it says so
	More   bool      `json:"more,omitempty"`  // it goes on with the line before, such as a stack
	Text   string    `json:"text"`
}

// Position is how much of a recording is known.
type Position struct {
	Request uint64 // Seq of the last one
	Line    uint64 // Number of the last one; NoLines for who wants none
}

// NoLines is the Position of who does not read the log.
const NoLines = ^uint64(0)

// End is the Position of who wants to know only whose recording it is.
func End() Position { return Position{Request: ^uint64(0), Line: NoLines} }

// Position is where the recording ends.
func (r *Recording) Position() Position {
	p := Position{Request: max(r.Next, 1) - 1}
	if n := len(r.Lines); n > 0 {
		p.Line = r.Lines[n-1].Number
	}
	return p
}

var (
	// level finds the level of a line of zap, slog and klog, as text or JSON.
	level = lazy.Delayed(`^[^\t]*\t([A-Z]+)\t|"level": *"(\w+)|\blevel=(\w+)|^([IWEF])\d{4} |^(panic|fatal error): `)
	// logID finds what controller-runtime adds to the log of a call.
	logID = lazy.Delayed(`\breconcileID"?[=:] *"?([0-9A-Za-z-]+)`)
	// color matches what makes a terminal show colors.
	color = lazy.Delayed(`\x1b\[[\d;]*m`)
	// stack matches the lines behind the first one of an error with its stack.
	stack = lazy.Delayed(`^(?:\s|goroutine \d+ |[\w.-]+(?:/[\w.@-]+)*\.[\w.*()\[\]/{}-]+$)`)
)

// ReadLine takes what is in a line of the log that follows another one.
func ReadLine(text string, before Line) Line {
	l := Line{Text: color.ReplaceAllString(text, "")}
	text = l.Text
	if m := level.FindStringSubmatch(text); m != nil {
		l.Level = levelOf(strings.Join(m[1:], ""))
	}
	if m := logID.FindStringSubmatch(text); m != nil {
		l.LogID = m[1]
	}
	if l.Level == "" && before.Level != "" && stack.MatchString(text) {
		l.Level, l.LogID, l.More = before.Level, before.LogID, true
	}
	return l
}

func levelOf(name string) string {
	switch strings.ToLower(name) {
	case "error", "dpanic", "panic", "fatal", "fatal error", "e", "f":
		return LevelError
	case "warn", "warning", "w":
		return LevelWarning
	case "info", "i":
		return LevelInfo
	}
	return LevelDebug
}

// AppendLine keeps one more line, and lets the oldest go. bytes is the size of
// what list has.
func AppendLine(list []Line, bytes *int, l Line) []Line {
	list = append(list, l)
	if *bytes += len(l.Text); len(list) <= LinesKept && *bytes <= LineBytesKept {
		return list
	}
	const keep = 0.9 // a tenth at once, as the rest is moved each time
	n := 0
	for n < len(list)-1 && (float64(len(list)-n) > keep*LinesKept || float64(*bytes) > keep*LineBytesKept) {
		*bytes -= len(list[n].Text)
		n++
	}
	return slices.Delete(list, 0, n)
}

// Missing says what the recording lacks to explain calls; empty where it has all.
func (r *Recording) Missing() string {
	if len(r.Reconciles) == 0 || !r.EventsSince.IsZero() {
		return ""
	}
	return "causes are found by the times of writes alone and may be wrong: when the operator's watches told it of changes is not known"
}

// LinesLost is how many lines the operator printed besides those that are kept.
func (r *Recording) LinesLost() uint64 { return r.Position().Line - uint64(len(r.Lines)) }
