package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/doctor"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/project"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// patient is a world of which every part can be made ill.
type patient struct {
	*hosttest.World
	t         testing.TB
	paths     map[string]string // programs in PATH
	goEnv     map[string]string // what go env answers
	goFails   string            // what it says on stderr when it fails
	goAnswers string            // what it answers instead
	files     map[string]string // files by absolute path, before those on disk
	o         doctor.Options
}

// healthy is a world without a project in which nothing is wrong.
func healthy(t testing.TB) *patient {
	t.Helper()
	w := hosttest.New(t)
	cache := t.TempDir()
	p := &patient{
		World: w, t: t,
		paths: map[string]string{"go": "/usr/local/go/bin/go", "mysdk": w.Executable, "gcc": "/usr/bin/gcc"},
		goEnv: map[string]string{
			"GOVERSION": "go1.26.3", "GOROOT": "/goroot", "GOENV": "/home/me/.config/go/env", "GOOS": "linux", "GOARCH": "amd64",
			"GOPROXY": "https://proxy.example.com", "GOMODCACHE": cache, "GOCACHE": cache, "CC": "gcc",
		},
		files: map[string]string{
			"/proc/sys/fs/inotify/max_user_watches":   "65536\n",
			"/proc/sys/fs/inotify/max_user_instances": "128\n",
		},
	}
	p.Exec, p.Files = programs{p}, files{w.Files, p.files}
	delete(p.Env, "GOTOOLCHAIN")
	p.o = doctor.Options{
		Build: "v1.2.3", Dir: w.Dir, Plugin: v4.Plugin{CLIVersion: "v1.2.3", Year: 2026},
		System: doctor.System{
			OS: "linux", Free: func(string) (uint64, error) { return 50 << 30, nil }, Writable: func(string) error { return nil },
			PortInUse: func(context.Context, int) bool { return false }, Executable: func(path string) (string, error) { return path, nil },
		},
	}
	p.o.BuiltIn = []project.BuiltIn{{Plugin: p.o.Plugin, Aliases: []string{"go/v4", "go"}}}
	return p
}

// write writes a file below the project.
func (p *patient) write(name, text string) {
	p.t.Helper()
	name = filepath.Join(p.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// examine runs all checks; every problem has a hint, and the counts are right.
func (p *patient) examine() doctor.Report {
	p.t.Helper()
	p.o.Host = p.Host
	p.o.Generate = generate.Options{Host: p.Host, Dir: p.Dir, ToolVersion: "test", Year: "2026", CacheDir: p.Env["MYSDK_CACHE_DIR"]}
	before := hosttest.Snapshot(p.t, p.Dir)
	r, err := doctor.Examine(p.t.Context(), p.o)
	if err != nil {
		p.t.Fatal(err)
	}
	if !maps.Equal(before, hosttest.Snapshot(p.t, p.Dir)) {
		p.t.Error("the project was changed")
	}
	count := map[doctor.Status]int{}
	for _, c := range r.Checks {
		count[c.Status]++
		if c.Found == "" || strings.Contains(c.Found, "\n") || c.Area == "" || c.Name == "" {
			p.t.Errorf("the check %+v is not a line", c)
		}
		if c.Status != doctor.OK && c.Hint == "" {
			p.t.Errorf("no hint for %+v", c)
		}
	}
	if r.Problems != count[doctor.Problem] || r.Warnings != count[doctor.Warning] {
		p.t.Errorf("%d problems and %d warnings of %v", r.Problems, r.Warnings, count)
	}
	return r
}

// want is what one check is to find; nothing else may be wrong.
type want struct {
	check  string
	status doctor.Status
	found  string // part of it
	hint   string // part of it
}

// expect examines and compares.
func (p *patient) expect(w want) {
	p.t.Helper()
	r := p.examine()
	seen := false
	for _, c := range r.Checks {
		if c.Name != w.check {
			if c.Status != doctor.OK {
				p.t.Errorf("also found: %+v", c)
			}
			continue
		}
		if c.Status != w.status && c.Status == doctor.OK {
			continue // one of several of that name
		}
		seen = true
		if c.Status != w.status || !strings.Contains(c.Found, w.found) || !strings.Contains(c.Hint, w.hint) {
			p.t.Errorf("got %+v\nwant %+v", c, w)
		}
	}
	if !seen {
		p.t.Errorf("no check of %+v in %+v", w, r.Checks)
	}
}

// programs is host.Exec with a go command that answers from a map.
type programs struct{ p *patient }

func (x programs) LookPath(name string) (string, error) {
	if path, ok := x.p.paths[name]; ok {
		return path, nil
	}
	return "", errors.New("not found")
}

func (x programs) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	if c.Name != "go" || len(c.Args) == 0 || c.Args[0] != "env" {
		return nil, errors.New("the doctor runs nothing but go env")
	}
	if c.Env[len(c.Env)-1] != "GOTOOLCHAIN=local" {
		x.p.t.Error("go env may download a toolchain")
	}
	if x.p.goFails != "" {
		_, err := io.WriteString(c.Stderr, x.p.goFails)
		return ended{errors.Join(err, errors.New("exit status 1"))}, nil
	}
	if x.p.goAnswers != "" {
		_, err := io.WriteString(c.Stdout, x.p.goAnswers)
		return ended{err}, nil
	}
	return ended{json.NewEncoder(c.Stdout).Encode(x.p.goEnv)}, ctx.Err()
}

// ended is a process that has ended.
type ended struct{ err error }

func (e ended) Pid() int         { return 1 }
func (e ended) Wait() error      { return e.err }
func (e ended) Interrupt() error { return nil }
func (e ended) Kill() error      { return nil }

// files lays files over those on disk; the text "missing" hides one.
type files struct {
	host.Files
	over map[string]string
}

func (f files) ReadFile(name string) ([]byte, error) {
	text, ok := f.over[name]
	switch {
	case ok && text == "missing":
		return nil, fs.ErrNotExist
	case ok:
		return []byte(text), nil
	}
	return f.Files.ReadFile(name)
}
