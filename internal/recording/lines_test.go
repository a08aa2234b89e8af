package recording

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadLine: the level and the call of a line, in the formats of the loggers
// that operators have.
func TestReadLine(t *testing.T) {
	const id = "0b6e1a52-0f5c-4a57-9b38-5f4b7a1c2d03"
	before := Line{Level: LevelError, LogID: id}
	more := Line{Level: LevelError, LogID: id, More: true}
	for text, want := range map[string]Line{
		"2026-01-02T03:04:05Z\tINFO\tStarting\t{\"reconcileID\": \"" + id + "\"}":             {Level: LevelInfo, LogID: id},
		"2026-01-02T03:04:05Z\tERROR\tReconciler error\t{\"error\": \"x\"}":                   {Level: LevelError},
		"2026-01-02T03:04:05Z\t\x1b[34mINFO\x1b[0m\tsetup\tstarting":                          {Level: LevelInfo},
		`{"level":"info","ts":1,"msg":"creating","reconcileID":"` + id + `"}`:                 {Level: LevelInfo, LogID: id},
		`{"time":"2026-01-02T03:04:05Z","level":"WARN","msg":"x"}`:                            {Level: LevelWarning},
		`{"level":"Level(-2)","msg":"x"}`:                                                     {Level: LevelDebug},
		`time=2026-01-02T03:04:05Z level=DEBUG msg=x reconcileID=` + id:                       {Level: LevelDebug, LogID: id},
		`I0102 03:04:05.000000 1 controller.go:12] "Starting" reconcileID="` + id + `"`:       {Level: LevelInfo, LogID: id},
		`E0102 03:04:05.000000 1 main.go:12] failed`:                                          {Level: LevelError},
		"panic: runtime error: index out of range":                                            {Level: LevelError},
		"\t/work/shop/main.go:12":                                                             more,
		"sigs.k8s.io/controller-runtime/pkg/internal/controller.(*Controller[...]).Reconcile": more,
		"main.main":      more,
		"Hello, world.":  {},
		"Done.":          {},
		"a\tb":           {},
		"":               {},
		"Index built: 3": {},
	} {
		want.Text = strings.NewReplacer("\x1b[34m", "", "\x1b[0m", "").Replace(text)
		if d := cmp.Diff(want, ReadLine(text, before)); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
}

// TestLines: what is kept, what is added, and how many are missing.
func TestLines(t *testing.T) {
	var rec Recording
	bytes := 0
	line := func(n uint64) Line { return Line{Number: n, Text: "x"} }
	for n := range uint64(LinesKept + 1) {
		rec.Lines = AppendLine(rec.Lines, &bytes, line(n+1))
	}
	if got := len(rec.Lines); got != LinesKept*9/10 || bytes != got || rec.Lines[got-1].Number != LinesKept+1 {
		t.Errorf("%d lines, %d bytes", got, bytes)
	}
	if got := rec.LinesLost(); got != LinesKept/10+1 {
		t.Errorf("%d are missing", got)
	}
	rec = Recording{Lines: []Line{line(1), line(2)}}
	rec.Append(Recording{Next: 9, Lines: []Line{line(2), line(4)}})
	if d := cmp.Diff([]Line{line(1), line(2), line(4)}, rec.Lines); d != "" || rec.LinesLost() != 1 {
		t.Errorf("%d lost, (-want +got):\n%s", rec.LinesLost(), d)
	}
	if got := rec.Position(); got != (Position{Request: 8, Line: 4}) {
		t.Errorf("ends at %+v", got)
	}
	if got := (&Recording{}).Position(); got != (Position{}) {
		t.Errorf("nothing ends at %+v", got)
	}
	if got := len(AppendLine([]Line{line(1)}, &bytes, Line{Number: 2, Text: strings.Repeat("x", LineBytesKept)})); got != 1 {
		t.Errorf("%d lines with a long one", got)
	}
}
