package cmd_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// programLine is a line of a script that runs mysdk in the foreground.
var programLine = regexp.MustCompile(`(?m)^((?:\[[^\]]+\] )?(?:! )?)(?:exec|(untouched \d+)) (mysdk(?: .*[^&\n])?)$`)

// compileLine is a line of a script that compiles its project.
var compileLine = regexp.MustCompile(`(?m)^(\[[^\]]+\] )?exec go (?:build|vet) \./\.\.\.$`)

// ownProcess is in the scripts that need processes: libraries look at the
// environment and the directory of theirs, and stdin goes to one.
var ownProcess = regexp.MustCompile(`(?m)^(?:stdin |env (?:PATH|DOCKER_CONFIG)=)|mysdk generate applyconfigurations`)

// setting is a line of a script that sets variables, which it names.
var setting = regexp.MustCompile(`(?m)^(?:env|freeport) (.+)$`)

// inProcess copies the scripts of dir so that they call mysdk as a function: a
// process for each of a thousand lines takes more time than what it does. Where
// they compile a project, its types are checked. What runs in the background or is started by another program stays a process, and so
// does everything where MYSDK_NIGHTLY is set. It returns the directory of the
// copies and the variables that they set.
func inProcess(t *testing.T, dir string) (copies string, variables []string) {
	t.Helper()
	if *update || hosttest.Nightly() {
		return dir, nil
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	copies, variables = t.TempDir(), []string{"REGISTRY"}
	for _, script := range scripts {
		if leftOut(filepath.Base(dir) + "/" + strings.TrimSuffix(filepath.Base(script), ".txtar")) {
			continue
		}
		data, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		lines, files, _ := bytes.Cut(data, []byte("\n-- "))
		if !ownProcess.Match(lines) {
			lines = programLine.ReplaceAll(lines, []byte("${1}${2} run $3"))
		}
		lines = compileLine.ReplaceAll(lines, []byte("${1}typecheck"))
		for _, m := range setting.FindAllSubmatch(lines, -1) {
			variables = append(variables, variableNames(strings.Fields(string(m[1])))...)
		}
		if len(files) > 0 {
			lines = slices.Concat(lines, []byte("\n-- "), files)
		}
		if err := os.WriteFile(filepath.Join(copies, filepath.Base(script)), lines, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return copies, variables
}

// runInProcess is the command run of scripts: exec, for mysdk alone.
func runInProcess(ts *testscript.TestScript, neg bool, args []string) {
	if code, _ := callProgram(ts, args[1:]); neg == (code == 0) {
		ts.Fatalf("exit code %d", code)
	}
}

// callProgram runs mysdk as a process of the script would, and returns its exit
// code and what it said on stderr.
func callProgram(ts *testscript.TestScript, args []string) (code int, said string) {
	var stderr strings.Builder
	exe, err := exec.LookPath("mysdk")
	ts.Check(err)
	environ := func() []string { return environment(ts) }
	code = root.Main(context.Background(), host.Host{
		IO:  host.Streams{In: strings.NewReader(""), Out: ts.Stdout(), Err: io.MultiWriter(ts.Stderr(), &stderr)},
		Dir: ts.MkAbs("."), Executable: exe,
		Getenv: ts.Getenv, Environ: environ, Now: time.Now,
		Files: hosttest.Unsynced{}, Exec: scriptExec{dir: ts.MkAbs("."), environ: environ},
	}, args)
	return code, stderr.String()
}

// namesKey is where setUp keeps the names of a script's variables: a script
// does not list them.
type namesKey struct{}

func variableNames(vars []string) []string {
	var out []string
	for _, v := range vars {
		name, _, _ := strings.Cut(v, "=")
		out = append(out, name)
	}
	return out
}

// environment is that of a script's programs.
func environment(ts *testscript.TestScript) []string {
	var out []string
	for _, name := range ts.Value(namesKey{}).([]string) {
		if v := ts.Getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// scriptExec starts programs where a process of the script would.
type scriptExec struct {
	host.OSExec
	dir     string
	environ func() []string
}

// Start implements host.Exec.
func (x scriptExec) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	if c.Dir == "" {
		c.Dir = x.dir
	}
	if c.Env == nil {
		c.Env = x.environ()
	}
	return x.OSExec.Start(ctx, c)
}
