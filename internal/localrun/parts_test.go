package localrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

func TestLines(t *testing.T) {
	tests := map[string]struct {
		writes []string
		want   string
		tail   string
	}{
		"whole lines":         {[]string{"a\nb\n"}, "> a\n> b\n", "\n  a\n  b"},
		"in pieces":           {[]string{"a", "b\nc", "\n"}, "> ab\n> c\n", "\n  ab\n  c"},
		"no end":              {[]string{"a\nb"}, "> a\n> b\n", "\n  a\n  b"},
		"blank lines":         {[]string{"\n\na\n\n"}, "> \n> \n> a\n> \n", "\n  a"},
		"windows line ends":   {[]string{"a\r\nb\r\n"}, "> a\n> b\n", "\n  a\n  b"},
		"nothing":             {nil, "", ""},
		"the tail is bounded": {[]string{"1\n2\n3\n4\n5\n6\n7\n"}, "> 1\n> 2\n> 3\n> 4\n> 5\n> 6\n> 7\n", "\n  3\n  4\n  5\n  6\n  7"},
		"errors, not their stacks": {
			[]string{"x\tERROR\tno A\nmain.main\n\t/src/main.go:4\nx\tERROR\tno B\nmain.main\n\t/src/main.go:5\nruntime.main\n\tproc.go:1\n"},
			"> x\tERROR\tno A\n> main.main\n> \t/src/main.go:4\n> x\tERROR\tno B\n> main.main\n> \t/src/main.go:5\n> runtime.main\n> \tproc.go:1\n",
			"\n  x\tERROR\tno A\n  x\tERROR\tno B",
		},
		"a stack within the line": {
			[]string{`{"level":"error","error":"in use","stacktrace":"main.main\n\t\"x\"","n":1}` + "\n"},
			`> {"level":"error","error":"in use","stacktrace":"main.main\n\t\"x\"","n":1}` + "\n", "\n" + `  {"level":"error","error":"in use","n":1}`,
		},
		"an error before the flags": {
			[]string{"Error: in use\nUsage:\n  -a\n  -b\n  -c\n  -d\n"}, "> Error: in use\n> Usage:\n>   -a\n>   -b\n>   -c\n>   -d\n",
			"\n  Error: in use\n  Usage:\n    -a\n    -b\n    -c\n    -d",
		},
		"bytes of any kind": {[]string{"\xff\x00\n"}, "> \xff\x00\n", "\n  \xff\x00"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			out, last := &buffer{}, &tail{}
			l := &lines{screen: &screen{}, to: out, prefix: "> ", tail: last}
			for _, s := range tc.writes {
				if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
					t.Errorf("Write: %d, %v", n, err)
				}
			}
			l.flush()
			l.flush() // a second one has nothing to do
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.tail, last.String()); diff != "" {
				t.Errorf("tail (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLinesWithoutEnd: an operator that never ends a line must not fill the
// memory.
func TestLinesWithoutEnd(t *testing.T) {
	out := &buffer{}
	l := &lines{screen: &screen{}, to: out, prefix: "> ", tail: &tail{}}
	for range 3 {
		if _, err := l.Write([]byte(strings.Repeat("x", maxLine))); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 1 || len(l.rest) > maxLine {
		t.Errorf("%d lines printed, %d bytes kept", n, len(l.rest))
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\nb", 1)
	f.Add("\r\n\r", 2)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 1 || len(text) > maxLine {
			return
		}
		out := &buffer{}
		l := &lines{screen: &screen{}, to: out, prefix: "> ", tail: &tail{}}
		for part := range slices.Chunk([]byte(text), min(size, maxLine)) {
			if _, err := l.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		l.flush()
		var want strings.Builder
		for line := range strings.Lines(text) {
			want.WriteString("> " + strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") + "\n")
		}
		if diff := cmp.Diff(want.String(), out.String()); diff != "" {
			t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
		}
	})
}

func BenchmarkLines(b *testing.B) {
	l := &lines{screen: &screen{}, to: &buffer{}, prefix: prefix, tail: &tail{}}
	line := []byte(strings.Repeat("2026-01-02T03:04:05Z\tINFO\treconciled\n", 100))
	for b.Loop() {
		if _, err := l.Write(line); err != nil {
			b.Fatal(err)
		}
		l.to = &buffer{}
	}
}

func TestColor(t *testing.T) {
	for color, want := range map[bool]string{false: "operator | a\n", true: "\x1b[36moperator |\x1b[0m a\n"} {
		out := &buffer{}
		r := &run{Options: Options{Color: color}, screen: &screen{out: out, err: out}}
		if _, err := r.stream(&tail{}, true).Write([]byte("a\n")); err != nil || out.String() != want {
			t.Errorf("colour %v: %q, %v", color, out, err)
		}
	}
}

func TestScanMain(t *testing.T) {
	tests := map[string]struct {
		files   map[string]string
		flags   []string
		webhook bool
	}{
		"package flag":       {map[string]string{"main.go": `flag.StringVar(&a, "metrics-bind-address", "0", ""); flag.Bool("leader-elect", false, "")`}, []string{"leader-elect", "metrics-bind-address"}, false},
		"pflag":              {map[string]string{"main.go": `fs.StringVarP(&a, "one", "o", "", ""); pflag.IntP("two", "t", 1, ""); fs.Var(v, "three", "")`}, []string{"one", "three", "two"}, false},
		"durations":          {map[string]string{"main.go": `flag.DurationVar(&a, "d", 0, ""); flag.Func("f", "", nil); flag.TextVar(&t, "t", t, "")`}, []string{"d", "f", "t"}, false},
		"another file":       {map[string]string{"main.go": ``, "options.go": `flag.Bool("x", false, "")`}, []string{"x"}, false},
		"tests do not count": {map[string]string{"main_test.go": `flag.Bool("x", false, "")`, "notes.txt": "x"}, nil, false},
		"comments neither":   {map[string]string{"main.go": `// flag.Bool("x", false, "")`}, nil, false},
		"other calls":        {map[string]string{"main.go": `log.Info("x"); strings.ToLower("y"); Bool("z"); f.String()`}, nil, false},
		"names not literal":  {map[string]string{"main.go": `flag.Bool(name, false, "")`}, nil, false},
		"webhooks":           {map[string]string{"main.go": `_ = os.Getenv("ENABLE_WEBHOOKS") != "false"`}, nil, true},
		"syntax error":       {map[string]string{"main.go": `{{{`, "ok.go": `flag.Bool("x", false, "")`}, []string{"x"}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for file, body := range tc.files {
				w.write(t, "m/"+file, "package main\n\nfunc f() {\n"+body+"\n}\n")
			}
			if err := os.Symlink("me@here.4711:1", filepath.Join(w.Dir, "m", ".#main.go")); err != nil { // as Emacs does
				t.Fatal(err)
			}
			got, err := scanMain(w.Host, filepath.Join(w.Dir, "m"))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for f := range got.flags {
				names = append(names, f)
			}
			slices.Sort(names)
			if diff := cmp.Diff(tc.flags, names); diff != "" || got.webhookSwitch != tc.webhook {
				t.Errorf("webhooks %v, flags (-want +got):\n%s", got.webhookSwitch, diff)
			}
		})
	}
}

// TestLeads: leader election that is on unless it is turned off stays off.
func TestLeads(t *testing.T) {
	for code, want := range map[string][]string{
		`flag.BoolVar(&l, "leader-elect", true, "")`:         {"--leader-elect=false"},
		`flag.Bool("enable-leader-election", true, "")`:      {"--enable-leader-election=false"},
		`flag.BoolVar(&l, "leader-elect", false, "")`:        nil,
		`flag.BoolVar(&l, "leader-elect-more", true, "")`:    nil,
		`flag.BoolVar(&l, "leader-elect", enabled, "is on")`: nil,
	} {
		w := newWorld(t)
		w.write(t, "m/main.go", "package main\n\nfunc f() {\n"+code+"\n}\n")
		found, err := scanMain(w.Host, filepath.Join(w.Dir, "m"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := operatorArgs(found, Options{})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", code, err, diff)
		}
		if want == nil {
			continue
		}
		if got, err = operatorArgs(found, Options{LeaderElect: true}); err != nil || strings.Contains(got[0], "=") {
			t.Errorf("%s, turned on: %v %v", code, got, err)
		}
	}
}

func TestOperatorArgs(t *testing.T) {
	tests := map[string]struct {
		flags   []string
		options Options
		want    []string
	}{
		"no flags":             {nil, Options{}, nil},
		"today's scaffold":     {[]string{"metrics-bind-address", "health-probe-bind-address", "leader-elect"}, Options{}, []string{"--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:0"}},
		"yesterday's":          {[]string{"metrics-addr", "enable-leader-election"}, Options{LeaderElect: true}, []string{"--metrics-addr=0", "--enable-leader-election"}},
		"of other names":       {[]string{"metrics-addr", "health-addr"}, Options{}, []string{"--metrics-addr=0", "--health-addr=127.0.0.1:0"}},
		"the user's come last": {[]string{"health-probe-bind-address", "leader-elect"}, Options{LeaderElect: true, OperatorArgs: []string{"-v"}}, []string{"--health-probe-bind-address=127.0.0.1:0", "--leader-elect", "-v"}},
		"the user's win":       {[]string{"metrics-bind-address", "health-probe-bind-address"}, Options{OperatorArgs: []string{"-metrics-bind-address=:9", "--health-probe-bind-address", ":8"}}, []string{"-metrics-bind-address=:9", "--health-probe-bind-address", ":8"}},
		"a value is no flag":   {[]string{"metrics-addr"}, Options{OperatorArgs: []string{"metrics-addr"}}, []string{"--metrics-addr=0", "metrics-addr"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			facts := mainFacts{flags: map[string]bool{}}
			for _, f := range tc.flags {
				facts.flags[f] = true
			}
			got, err := operatorArgs(facts, tc.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckNamespaces(t *testing.T) {
	got, err := checkNamespaces([]string{" a ", "b-1", "", "a", strings.Repeat("x", 63)})
	if diff := cmp.Diff([]string{"a", "b-1", strings.Repeat("x", 63)}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"A", "a_b", "-a", "a-", "a.b", "a b", "*", strings.Repeat("x", 64)} {
		if _, err := checkNamespaces([]string{bad}); clierr.CodeOf(err) != clierr.CodeUsage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestOverride(t *testing.T) {
	got := override([]string{"A=1", "B=2", "A=3", "odd"}, []string{"B=x=y", "C="})
	if diff := cmp.Diff([]string{"A=3", "B=x=y", "odd", "C="}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBuildError(t *testing.T) {
	tests := map[string]struct{ output, err, hint string }{
		"one error":       {"# x\ncmd/main.go:3:1: undefined: a\n", "1 error", "correct the line above"},
		"many":            {"# x\ncmd/main.go:3:1: a\n\tmore of it\ninternal/x.go:4:22: b\n", "2 errors", "correct the lines above"},
		"requirements":    {"cmd/main.go:3:1: no required module provides package x\n", "go build ./cmd cannot load the modules", "go mod tidy"},
		"an old API":      {"internal/controller/x.go:9:2: no required module provides package github.com/operator-framework/operator-sdk/pkg/status; to add it:\n\tgo get it\n", "code for an old API", "'mysdk migrate --file internal/controller/x.go'"},
		"missing go.sum":  {"missing go.sum entry for module\n", "go build ./cmd cannot load the modules", "go mod tidy"},
		"vendoring":       {"go: inconsistent vendoring in /op:\n", "go build ./cmd cannot load the modules", "go mod vendor"},
		"pasted code":     {"cmd/main.go:82:3: unknown field Recorder in struct literal of type controller.MemcachedReconciler\n", "cmd/main.go:82 sets a field", "remove the line with Recorder there; again. 'mysdk create api --pattern blank'"},
		"pasted types":    {"api/v1/cart_types.go:9:25: cannot use &Cart{} (value of type *Cart) as func(*runtime.Scheme) error value in argument to SchemeBuilder.Register\n", "code for an old API", "'mysdk migrate --file api/v1/cart_types.go', see https://github.com/example/mysdk/blob/main/docs/guides/migrate.md; again"},
		"something else":  {"go: cannot find main module\n", "go build ./cmd failed", "what the go command says"},
		"killed silently": {"", "go build ./cmd failed", "what the go command says"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := buildError("./cmd", tc.output, "; again")
			if !strings.Contains(err.Error(), tc.err) || !strings.Contains(clierr.HintOf(err), tc.hint) {
				t.Errorf("%v; hint %q", err, clierr.HintOf(err))
			}
		})
	}
}

// TestGate: the build's output waits for the cluster's name, then flows.
func TestGate(t *testing.T) {
	out := &buffer{}
	g := gate{screen: &screen{err: out}}
	write := func(s string) {
		if _, err := g.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	if out.String() != "" {
		t.Error("printed too early")
	}
	g.release()
	write("b")
	g.release()
	if out.String() != "ab" || g.all.String() != "ab" {
		t.Errorf("printed %q, kept %q", out, g.all.String())
	}
}

// TestTmp: what a killed go command left goes after a day; the user's own
// GOTMPDIR stays.
func TestTmp(t *testing.T) {
	w := newWorld(t)
	r := &run{Deps: Deps{Host: w.Host}, plan: plan{cache: filepath.Join(t.TempDir(), "deep", "cache")}}
	b := &build{r: r}
	tmp := filepath.Join(r.plan.cache, "tmp")
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "new": time.Hour} {
		full := filepath.Join(tmp, name)
		if err := os.MkdirAll(filepath.Join(full, "b001"), 0o755); err != nil {
			t.Fatal(err)
		}
		at := w.Now().Add(-age)
		if err := os.Chtimes(full, at, at); err != nil {
			t.Fatal(err)
		}
	}
	env, err := b.tmp()
	if err != nil || !slices.Contains(env, "GOTMPDIR="+tmp) {
		t.Errorf("%v, %v", env, err)
	}
	if diff := cmp.Diff(map[string]string{"new": "dir", "new/b001": "dir"}, hosttest.Snapshot(t, tmp)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	w.Env["GOTMPDIR"] = "/mine"
	if env, err = b.tmp(); err != nil || !slices.Contains(env, "GOTMPDIR=/mine") {
		t.Errorf("%v, %v", env, err)
	}
}

func TestReadManifests(t *testing.T) {
	w := newWorld(t)
	w.write(t, "one.yaml", sample)
	w.write(t, "dir/b.yaml", strings.Replace(sample, "sample", "b", 1))
	w.write(t, "dir/a.json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	w.write(t, "dir/README.md", "not a manifest")
	w.write(t, "dir/deeper/c.yaml", "not read")
	w.write(t, "kustomized/kustomization.yaml", "resources: [x.yaml]\nnamePrefix: k-\n")
	w.write(t, "kustomized/x.yaml", sample)
	w.write(t, "broken/x.yaml", "kind: [\n")
	w.write(t, "badk/kustomization.yaml", "resources: [none.yaml]\n")
	tests := map[string]struct {
		names []string
		want  []string
		err   string
	}{
		"a file":             {[]string{"one.yaml"}, []string{"Memcached sample"}, ""},
		"absolute":           {[]string{filepath.Join(w.Dir, "one.yaml")}, []string{"Memcached sample"}, ""},
		"a directory":        {[]string{"dir"}, []string{"ConfigMap a", "Memcached b"}, ""},
		"a kustomization":    {[]string{"kustomized"}, []string{"Memcached k-sample"}, ""},
		"in the given order": {[]string{"dir", "one.yaml"}, []string{"ConfigMap a", "Memcached b", "Memcached sample"}, ""},
		"broken file":        {[]string{"broken"}, nil, "broken/x.yaml:"},
		"bad kustomization":  {[]string{"badk"}, nil, "badk/kustomization.yaml:1: resources: there is no badk/none.yaml"},
		"nothing":            {[]string{"none"}, nil, "no file or directory none"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			list, err := readManifests(t.Context(), w.Host, tc.names)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("error: %v", err)
			}
			var got []string
			for _, m := range list {
				for _, u := range m.objs {
					got = append(got, u.GetKind()+" "+u.GetName())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStopTellsEveryFailure: what could not be undone is told, and keeps nothing
// else from being undone.
func TestStopTellsEveryFailure(t *testing.T) {
	var order []string
	fail := func(name string) func(context.Context) error {
		return func(context.Context) error {
			order = append(order, name)
			return errors.New("no " + name)
		}
	}
	r := &run{cleanup: []func(context.Context) error{fail("cluster"), fail("operator")}}
	err := r.finish(t.Context(), errors.New("it crashed"))
	if diff := cmp.Diff([]string{"operator", "cluster"}, order); diff != "" || err == nil || err.Error() != "it crashed\nno operator\nno cluster" {
		t.Errorf("order (-want +got):\n%s\nerror: %v", diff, err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if err := r.finish(ctx, ctx.Err()); err == nil || err.Error() != "no operator\nno cluster" {
		t.Errorf("after Ctrl-C: %v", err)
	}
}

// TestKeep: the go command may leave what it built as it is. What it builds next does
// not go into the program that runs.
func TestKeep(t *testing.T) {
	w := newWorld(t)
	r := newRun(Options{Dir: w.Dir}, w.deps())
	r.plan.built, r.plan.binary = filepath.Join(t.TempDir(), "operator"), filepath.Join(t.TempDir(), "operator")
	before := ""
	for _, built := range []string{"one", "one", "two", "two", "two", "three"} {
		var err error
		if built != before {
			err = host.ReplaceData(w.Files, r.plan.built, []byte(built), 0o700)
		}
		if err = errors.Join(err, newBuild(r).keep()); err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(r.plan.binary)
		if err != nil || string(kept) != built {
			t.Errorf("%q is kept, %v, want %q", kept, err, built)
		}
		if runs, err := os.ReadFile(r.plan.binary + "~"); before != "" && (err != nil || string(runs) != before) {
			t.Errorf("the program that runs, %q, became %q, %v", before, runs, err)
		}
		before = built
	}
}
