package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/doctor"
)

func TestHealthyMachine(t *testing.T) {
	r := healthy(t).examine()
	if r.Problems+r.Warnings > 0 {
		t.Errorf("found %+v", r.Checks)
	}
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
	}
	want := []string{"go", "go settings", "directories", "disk", "file watches", "mysdk", "delve", "project", "embedded cluster"}
	if !slices.Equal(names, want) {
		t.Errorf("checks %q, want %q", names, want)
	}
}

func TestGo(t *testing.T) {
	const goMod = "module example.com/op\n\ngo 1.26.0\n"
	for name, tt := range map[string]struct {
		change func(*patient)
		want   want
	}{
		"none": {func(p *patient) { delete(p.paths, "go") }, want{"go", doctor.Problem, "no go command", "go.dev/dl"}},
		"broken": {
			func(p *patient) { p.goFails = "go: cannot find GOROOT directory\nmore\n" },
			want{"go", doctor.Problem, "does not work: go: cannot find GOROOT directory: more", "go env"},
		},
		"talking nonsense": {
			func(p *patient) { p.goAnswers = "no JSON" }, want{"go", doctor.Problem, "the output of go env", "go env"},
		},
		"silent": {func(p *patient) { p.goFails = "\n" }, want{"go", doctor.Problem, "exit status 1", "go env"}},
		"too old for new projects": {
			func(p *patient) { p.goEnv["GOVERSION"] = "go1.21.0" }, want{"go", doctor.Warning, "will fetch go1.26.0: new projects need it", "go1.26.0"},
		},
		"too old for this one": {
			func(p *patient) {
				p.write("go.mod", strings.Replace(goMod, "1.26.0", "1.26.9", 1))
			}, want{"go", doctor.Warning, "go1.26.3, and will fetch go1.26.9: go.mod asks for it", "let the next go command do it"},
		},
		"and may not fetch one": {
			func(p *patient) {
				p.write("go.mod", strings.Replace(goMod, "1.26.0", "1.26.9", 1))
				p.Env["GOTOOLCHAIN"] = "local"
			}, want{"go", doctor.Problem, "GOTOOLCHAIN=local", "GOTOOLCHAIN=auto"},
		},
		"and looks for one only in PATH": {
			func(p *patient) {
				p.write("go.mod", strings.Replace(goMod, "1.26.0", "1.26.9", 1))
				p.Env["GOTOOLCHAIN"] = "path"
			}, want{"go", doctor.Problem, "is go1.26.3, go.mod asks for go1.26.9, and GOTOOLCHAIN=path keeps it from fetching that", "GOTOOLCHAIN=auto"},
		},
		"and finds one in PATH": {
			func(p *patient) {
				p.write("go.mod", goMod+"\ntoolchain go1.26.7\n")
				p.Env["GOTOOLCHAIN"] = "local+path"
				p.paths["go1.26.7"] = "/home/me/go/bin/go1.26.7"
			}, want{"go", doctor.OK, "is go1.26.3, and has /home/me/go/bin/go1.26.7: the toolchain line of go.mod asks for it", ""},
		},
		"held at an older one": {
			func(p *patient) { p.write("go.mod", goMod); p.Env["GOTOOLCHAIN"] = "go1.22.0" },
			want{"go", doctor.Problem, "GOTOOLCHAIN=go1.22.0 makes it go1.22.0, and go.mod asks for go1.26.0", "name go1.26.0 or newer"},
		},
		"held at an older one, or one in PATH": {
			func(p *patient) { p.write("go.mod", goMod); p.Env["GOTOOLCHAIN"] = "go1.22.0+path" },
			want{"go", doctor.Problem, "GOTOOLCHAIN=go1.22.0+path makes it go1.22.0, and go.mod asks for go1.26.0", "name go1.26.0 or newer"},
		},
		"begins with an older one, and fetches": {
			func(p *patient) { p.write("go.mod", goMod); p.Env["GOTOOLCHAIN"] = "go1.22.0+auto" },
			want{"go", doctor.Warning, "is go1.22.0, and will fetch go1.26.0: go.mod asks for it", "let the next go command do it"},
		},
		"held at a newer one": {
			func(p *patient) {
				p.write("go.mod", strings.Replace(goMod, "1.26.0", "1.26.2", 1)+"\ntoolchain go1.26.7\n")
				p.goEnv["GOVERSION"], p.Env["GOTOOLCHAIN"] = "go1.26.1", "go1.26.2"
			}, want{"go", doctor.OK, "go1.26.2 by GOTOOLCHAIN=go1.26.2, and go1.26.1 at /usr/local/go/bin/go", ""},
		},
		"forbidden in the user's settings": {
			func(p *patient) {
				p.goEnv["GOVERSION"] = "go1.20"
				p.files[p.goEnv["GOENV"]] = "GOPROXY=x\nGOTOOLCHAIN=local\n"
			}, want{"go", doctor.Problem, "GOTOOLCHAIN=local", "go1.26.0"},
		},
		"the toolchain line": {
			func(p *patient) { p.write("go.mod", goMod+"\ntoolchain go1.26.7\n") },
			want{"go", doctor.Warning, "go1.26.7: the toolchain line of go.mod asks for it", ""},
		},
		"the toolchain line counts for nothing": {
			func(p *patient) {
				p.write("go.mod", goMod+"\ntoolchain go1.26.7\n")
				p.Env["GOTOOLCHAIN"] = "local"
			}, want{"go", doctor.OK, "go1.26.3 at /usr/local/go/bin/go", ""},
		},
		"fetched already": {
			func(p *patient) {
				p.write("go.mod", goMod+"\ntoolchain go1.26.7\n")
				if err := os.MkdirAll(filepath.Join(p.goEnv["GOMODCACHE"], "golang.org", "toolchain@v0.0.1-go1.26.7.linux-amd64"), 0o755); err != nil {
					p.t.Fatal(err)
				}
			}, want{"go", doctor.OK, "has go1.26.7 in its module cache", ""},
		},
		"newer than mysdk's": {
			func(p *patient) { p.goEnv["GOVERSION"] = "go1.99.1" }, want{"go", doctor.Warning, "newer than the " + runtime.Version(), "build mysdk with that Go"},
		},
		"a development version": {
			func(p *patient) { p.goEnv["GOVERSION"] = "devel +abc" }, want{"go", doctor.OK, "devel +abc", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := healthy(t)
			tt.change(p)
			p.expect(tt.want)
		})
	}
}

func TestGoSettings(t *testing.T) {
	const name = "go settings"
	module := func(p *patient) { p.write("go.mod", "module example.com/op\n\ngo 1.26.0\n") }
	work := func(p *patient, text string) {
		module(p)
		p.goEnv["GOWORK"] = filepath.Join(p.Dir, "..", "go.work")
		p.files[p.goEnv["GOWORK"]] = text
	}
	for caseName, tt := range map[string]struct {
		change func(*patient)
		want   want
	}{
		"no modules": {func(p *patient) { p.goEnv["GO111MODULE"] = "off" }, want{name, doctor.Problem, "GO111MODULE=off", "go env -u"}},
		"a workspace of others": {
			func(p *patient) { work(p, "go 1.26\n\nuse ./other\n") }, want{name, doctor.Problem, "does not name this module", "go work use ."},
		},
		"a workspace with this": {
			func(p *patient) { work(p, "go 1.26\n\nuse ./"+filepath.Base(p.Dir)+"\n") }, want{name, doctor.OK, "", ""},
		},
		"a workspace that is none": {func(p *patient) { work(p, "use\n") }, want{name, doctor.Problem, "go.work:1", "GOWORK=off"}},
		"a workspace that is gone": {func(p *patient) { work(p, "missing") }, want{name, doctor.Problem, "does not exist", "GOWORK"}},
		"a workspace turned off":   {func(p *patient) { work(p, "use\n"); p.goEnv["GOWORK"] = "off" }, want{name, doctor.OK, "", ""}},
		"vendoring without": {
			func(p *patient) { module(p); p.goEnv["GOFLAGS"] = "-mod=vendor" }, want{name, doctor.Problem, "no vendor directory", "go mod vendor"},
		},
		"vendoring": {
			func(p *patient) { module(p); p.goEnv["GOFLAGS"] = "-mod=vendor"; p.write("vendor/modules.txt", "") }, want{name, doctor.OK, "-mod=vendor", ""},
		},
		"cgo without a compiler": {
			func(p *patient) { p.Env["CGO_ENABLED"] = "1"; delete(p.paths, "gcc") }, want{name, doctor.Warning, "gcc is not in PATH", "unset CGO_ENABLED"},
		},
		"cgo": {func(p *patient) { p.Env["CGO_ENABLED"] = "1" }, want{name, doctor.OK, "", ""}},
	} {
		t.Run(caseName, func(t *testing.T) {
			p := healthy(t)
			tt.change(p)
			p.expect(tt.want)
		})
	}
}

func TestMachine(t *testing.T) {
	free := func(n uint64) func(*patient) {
		return func(p *patient) {
			p.o.System.Free = func(dir string) (uint64, error) {
				if strings.HasPrefix(dir, p.goEnv["GOCACHE"]) {
					return n, nil
				}
				return 50 << 30, nil
			}
		}
	}
	for name, tt := range map[string]struct {
		change func(*patient)
		want   want
	}{
		"no home": {
			func(p *patient) { delete(p.Env, "HOME"); delete(p.Env, "MYSDK_STATE_DIR") },
			want{"directories", doctor.Problem, "no place for mysdk's state", "MYSDK_STATE_DIR"},
		},
		"a cache of somebody else's": {
			func(p *patient) {
				p.o.System.Writable = func(dir string) error {
					if dir == p.goEnv["GOMODCACHE"] {
						return os.ErrPermission
					}
					return nil
				}
				p.goEnv["GOCACHE"] = "off"
			}, want{"directories", doctor.Problem, "go's module cache: nothing can be written to", "GOMODCACHE"},
		},
		"a state directory that is not there yet": {
			func(p *patient) {
				p.Env["MYSDK_STATE_DIR"] = filepath.Join(p.Env["MYSDK_STATE_DIR"], "a", "b")
				p.o.System.Writable = func(dir string) error { _, err := os.Stat(dir); return err }
			}, want{"directories", doctor.OK, "/a/b", ""},
		},
		"a file in the way": {
			func(p *patient) {
				p.write("file", "")
				p.Env["MYSDK_CACHE_DIR"] = filepath.Join(p.Dir, "file", "cache")
			}, want{"directories", doctor.Problem, "cache: nothing can be written to", "MYSDK_CACHE_DIR"},
		},
		"no build cache to write to": {
			func(p *patient) {
				p.goEnv["GOCACHE"] = filepath.Join(p.goEnv["GOMODCACHE"], "build")
				if err := os.Mkdir(p.goEnv["GOCACHE"], 0o755); err != nil {
					p.t.Fatal(err)
				}
				p.o.System.Writable = func(dir string) error {
					if dir == p.goEnv["GOCACHE"] {
						return os.ErrPermission
					}
					return nil
				}
			}, want{"directories", doctor.Problem, "go's build cache: nothing can be written to", "GOCACHE"},
		},
		"a system that does not tell": {
			func(p *patient) {
				p.o.System.Writable = func(string) error { return errors.ErrUnsupported }
				p.o.System.Free = func(string) (uint64, error) { return 0, errors.ErrUnsupported }
			}, want{"directories", doctor.OK, "state in ", ""},
		},
		"little room": {free(2 << 30), want{"disk", doctor.Warning, "2.0 GiB free for go's build cache", "go clean -cache"}},
		"no room":     {free(100 << 20), want{"disk", doctor.Problem, "100 MiB free for go's build cache", "make room"}},
		"few watches": {
			func(p *patient) { p.files["/proc/sys/fs/inotify/max_user_watches"] = "100\n" },
			want{"file watches", doctor.Warning, "100 watches and 128 instances", "sysctl"},
		},
		"another mysdk": {
			func(p *patient) { p.paths["mysdk"] = "/usr/bin/mysdk" }, want{"mysdk", doctor.Warning, "PATH has /usr/bin/mysdk, and this is " + "/nonexistent/mysdk", "first in PATH"},
		},
		"mysdk out of PATH on Windows": {func(p *patient) { delete(p.paths, "mysdk"); p.o.System.OS = "windows" }, want{"mysdk", doctor.Warning, "not in PATH", "$env:PATH += ';/"}},
		"mysdk out of PATH":            {func(p *patient) { delete(p.paths, "mysdk") }, want{"mysdk", doctor.Warning, "not in PATH", "export PATH="}},
		"a link to mysdk": {
			func(p *patient) {
				p.paths["mysdk"] = "/usr/bin/mysdk"
				p.o.System.Executable = func(string) (string, error) { return "/opt/mysdk", nil }
			}, want{"mysdk", doctor.OK, "v1.2.3 at /usr/bin/mysdk", ""},
		},
		"a control plane that is gone": {
			func(p *patient) { p.Env["MYSDK_CLUSTER_BIN"] = "/no/such/file" }, want{"control plane", doctor.Problem, "MYSDK_CLUSTER_BIN", "unset MYSDK_CLUSTER_BIN"},
		},
		"a control plane of one's own": {
			func(p *patient) { p.Env["MYSDK_CLUSTER_BIN"] = p.Dir }, want{"control plane", doctor.OK, "MYSDK_CLUSTER_BIN=", ""},
		},
		"a debugger": {func(p *patient) { p.paths["dlv"] = "/bin/dlv" }, want{"delve", doctor.OK, "/bin/dlv, for", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			p := healthy(t)
			tt.change(p)
			p.expect(tt.want)
		})
	}
}

// TestMachineWithoutLimits: other systems, and containers that hide them, have
// no limits to look at.
func TestMachineWithoutLimits(t *testing.T) {
	for name, change := range map[string]func(*patient){
		"another system": func(p *patient) { p.o.System.OS = "darwin" },
		"hidden":         func(p *patient) { p.files["/proc/sys/fs/inotify/max_user_watches"] = "missing" },
	} {
		t.Run(name, func(t *testing.T) {
			p := healthy(t)
			change(p)
			for _, c := range p.examine().Checks {
				if c.Name == "file watches" {
					t.Errorf("found %+v", c)
				}
			}
		})
	}
}

// TestReport holds what programs read: the names of the fields.
func TestReport(t *testing.T) {
	p := healthy(t)
	delete(p.paths, "mysdk")
	r := p.examine()
	r.Checks = slices.DeleteFunc(r.Checks, func(c doctor.Check) bool { return c.Name != "mysdk" && c.Name != "delve" })
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"checks":[{"area":"machine","name":"mysdk","status":"warning","found":"mysdk is not in PATH: the targets of a project's Makefile do not find it",` +
		`"hint":"export PATH=\"$PATH:/nonexistent\""},` +
		`{"area":"machine","name":"delve","status":"ok","found":"dlv is not in PATH; only 'run local --debug' needs it"}],"warnings":1,"problems":0}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
}

func TestInterruptedExamination(t *testing.T) {
	p := healthy(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.o.Host = p.Host
	if _, err := doctor.Examine(ctx, p.o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestRealSystem asks this machine.
func TestRealSystem(t *testing.T) {
	p := healthy(t)
	p.o.System = doctor.System{}
	p.paths["mysdk"] = p.Dir
	p.Executable = p.Dir
	for _, c := range p.examine().Checks {
		if c.Status == doctor.Problem {
			t.Errorf("found %+v", c)
		}
	}
}
