package doctor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/version"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/example/mysdk/internal/host"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// installGo is the hint wherever another Go is needed.
const installGo = "install Go from https://go.dev/dl and put its bin directory in PATH"

// goEnv is what the go command reports about itself. It is empty without one.
type goEnv struct {
	GOVERSION, GOROOT, GOENV, GOOS, GOARCH            string
	GOWORK, GOFLAGS, GOPROXY, GO111MODULE             string
	GOMODCACHE, GOCACHE, CGO_ENABLED, CC, GOTOOLCHAIN string
}

// goCommand looks for a go command that is new enough.
func (e *exam) goCommand() {
	const name = "go"
	path, err := e.Host.LookPath("go")
	if err != nil {
		e.problem(name, installGo, "there is no go command in PATH")
		return
	}
	if err := e.readGoEnv(); err != nil {
		e.problem(name, "run 'go env' to see what is wrong with it; if nothing else helps, "+installGo, "%s does not work: %v", path, err)
		return
	}
	fixed, then, _ := strings.Cut(e.env.GOTOOLCHAIN, "+")
	switch fixed {
	case "auto", "path": // short for local+auto and local+path
		fixed, then = "", fixed
	case "local":
		fixed = ""
	}
	need, where := e.neededGo(then != "")
	have := cmp.Or(fixed, e.env.GOVERSION)
	other, missing := e.Host.LookPath(need)
	switch {
	case !version.IsValid(have) || version.Compare(have, need) >= 0:
		e.recentGo(name, path, have)
	case then == "path" && missing == nil:
		e.ok(name, "%s is %s, and has %s: %s it", path, have, other, where)
	case fixed != "" && then != "auto":
		e.problem(name, "unset GOTOOLCHAIN and run 'go env -u GOTOOLCHAIN', or name "+need+" or newer in it",
			"%s is %s, GOTOOLCHAIN=%s makes it %s, and %s %s", path, e.env.GOVERSION, e.env.GOTOOLCHAIN, have, where, need)
	case then != "auto":
		e.problem(name, "install "+need+" or newer from https://go.dev/dl, or run 'go env -w GOTOOLCHAIN=auto'",
			"%s is %s, %s %s, and GOTOOLCHAIN=%s keeps it from fetching that", path, have, where, need, e.env.GOTOOLCHAIN)
	case e.toolchainCached(need):
		e.ok(name, "%s is %s, and has %s in its module cache: %s it", path, have, need, where)
	default:
		e.warning(name, "install "+need+" or newer from https://go.dev/dl, or let the next go command do it",
			"%s is %s, and will fetch %s: %s it", path, have, need, where)
	}
}

// neededGo is the oldest Go that will do, and who asks for it. The toolchain
// line counts only where the go command may change to another one.
func (e *exam) neededGo(switches bool) (need, where string) {
	if e.module == nil || e.module.Go == nil {
		return "go" + v4.CurrentVersions().Go, "new projects need"
	}
	need, where = "go"+e.module.Go.Version, "go.mod asks for"
	if t := e.module.Toolchain; t != nil && switches && version.Compare(t.Name, need) > 0 {
		need, where = t.Name, "the toolchain line of go.mod asks for"
	}
	return need, where
}

// recentGo reports a go command that is new enough, and perhaps too new: the
// parser and type checker in mysdk are those of the Go that it was built with.
func (e *exam) recentGo(name, path, have string) {
	own := runtime.Version()
	if version.IsValid(own) && version.Compare(version.Lang(have), version.Lang(own)) > 0 {
		e.warning(name, "build mysdk with that Go if 'mysdk generate' fails",
			"%s is %s, newer than the %s that mysdk was built with: mysdk may not understand its new features", path, have, own)
		return
	}
	if have != e.env.GOVERSION {
		e.ok(name, "%s by GOTOOLCHAIN=%s, and %s at %s", have, e.env.GOTOOLCHAIN, e.env.GOVERSION, path)
		return
	}
	e.ok(name, "%s at %s", have, path)
}

// readGoEnv asks the go command, with its toolchain pinned: otherwise a go.mod
// that wants a newer one would have it downloaded.
func (e *exam) readGoEnv() error {
	args := []string{"env", "-json", "GOVERSION", "GOROOT", "GOENV", "GOOS", "GOARCH", "GOWORK", "GOFLAGS", "GOPROXY",
		"GO111MODULE", "GOMODCACHE", "GOCACHE", "CGO_ENABLED", "CC"}
	var stdout, stderr bytes.Buffer
	err := host.Run(e.ctx, e.Host.Exec, host.Cmd{
		Name: "go", Args: args, Dir: e.Dir, Env: append(e.Host.Environ(), "GOTOOLCHAIN=local"), Stdout: &stdout, Stderr: &stderr,
	})
	if err != nil {
		return fmt.Errorf("%s", cmp.Or(firstLines(strings.TrimSpace(stderr.String())), err.Error()))
	}
	if err := json.Unmarshal(stdout.Bytes(), &e.env); err != nil {
		return fmt.Errorf("the output of go env: %w", err)
	}
	e.env.GOTOOLCHAIN = e.toolchain()
	return nil
}

// toolchain is the GOTOOLCHAIN that go commands of the user's have.
func (e *exam) toolchain() string {
	if v := e.Host.Getenv("GOTOOLCHAIN"); v != "" {
		return v
	}
	for _, file := range []string{e.env.GOENV, filepath.Join(e.env.GOROOT, "go.env")} {
		data, err := e.Host.Files.ReadFile(file)
		if err != nil {
			continue // neither has to be there
		}
		for line := range strings.Lines(string(data)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), "GOTOOLCHAIN="); ok {
				return v
			}
		}
	}
	return "auto"
}

// toolchainCached reports whether the go command has fetched a toolchain.
func (e *exam) toolchainCached(name string) bool {
	dir := fmt.Sprintf("toolchain@v0.0.1-%s.%s-%s", name, e.env.GOOS, e.env.GOARCH)
	_, err := e.Host.Files.Lstat(filepath.Join(e.env.GOMODCACHE, "golang.org", dir))
	return err == nil
}

// goSettings looks for settings of the go command with which nothing builds.
func (e *exam) goSettings() {
	const name = "go settings"
	if e.env.GOVERSION == "" {
		return // without a go command they are the least problem
	}
	bad := e.report.Problems + e.report.Warnings
	if e.env.GO111MODULE == "off" {
		e.problem(name, "run 'go env -u GO111MODULE', and unset the variable", "GO111MODULE=off: the go command does not use modules")
	}
	if e.module != nil {
		e.goWork(name)
	}
	if e.module != nil && strings.Contains(e.env.GOFLAGS, "-mod=vendor") && !e.exists("vendor/modules.txt") {
		e.problem(name, "run 'go mod vendor', or take -mod=vendor out of GOFLAGS", "GOFLAGS has -mod=vendor, and there is no vendor directory")
	}
	compiler, _, _ := strings.Cut(e.env.CC, " ")
	if _, missing := e.Host.LookPath(compiler); missing != nil && e.Host.Getenv("CGO_ENABLED") == "1" {
		e.warning(name, "unset CGO_ENABLED: operators need no C", "CGO_ENABLED=1 is set, and the C compiler %s is not in PATH", e.env.CC)
	}
	if e.report.Problems+e.report.Warnings == bad {
		e.ok(name, "GOPROXY=%s GOFLAGS=%s GOTOOLCHAIN=%s", e.env.GOPROXY, e.env.GOFLAGS, e.env.GOTOOLCHAIN)
	}
}

// goWork looks at the workspace that the project is built in.
func (e *exam) goWork(name string) {
	file := e.env.GOWORK
	if file == "" || file == "off" {
		return
	}
	data, err := e.Host.Files.ReadFile(file)
	if err != nil {
		e.problem(name, "correct or unset GOWORK", "the workspace file: %v", err)
		return
	}
	work, err := modfile.ParseWork(file, data, nil)
	if err != nil {
		e.problem(name, "correct that file, or set GOWORK=off", "%v", err)
		return
	}
	for _, u := range work.Use {
		dir := filepath.FromSlash(u.Path)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(file), dir)
		}
		if e.sameDir(dir, e.Dir) {
			return
		}
	}
	e.problem(name, "run 'go work use .' here, or set GOWORK=off", "%s does not name this module: go commands fail in it", file)
}

func (e *exam) sameDir(a, b string) bool {
	if a == b {
		return true
	}
	left, err := e.System.Executable(a)
	if err != nil {
		return false
	}
	right, err := e.System.Executable(b)
	return err == nil && left == right
}
