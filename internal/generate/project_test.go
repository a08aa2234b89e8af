package generate

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"

	// What testdata/apis and the scaffolds import must stand in mysdk's own
	// go.mod: its versions are theirs.
	_ "sigs.k8s.io/controller-runtime"
)

var update = flag.Bool("update", false, "rewrite testdata/apis/*/want with what controller-gen writes")

// apis is where the inputs and what controller-gen makes of them are.
const apis = "../../testdata/apis"

// project is a Go project in a temporary directory. Its dependencies are those
// of mysdk itself, so that nothing has to be downloaded for it.
type project struct {
	t    testing.TB
	dir  string
	opts Options
}

func newProject(t testing.TB, files map[string]string) *project {
	t.Helper()
	w := hosttest.New(t)
	p := &project{t: t, dir: w.Dir, opts: Options{Host: w.Host, Dir: w.Dir}}
	p.write("go.mod", goMod(t, "example.com/apis"))
	p.write("go.sum", readFile(t, "../../go.sum"))
	for name, text := range files {
		p.write(name, text)
	}
	return p
}

// goMod is mysdk's go.mod under another module path.
func goMod(t testing.TB, module string) string {
	t.Helper()
	f, err := modfile.Parse("go.mod", []byte(readFile(t, "../../go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.AddModuleStmt(module); err != nil {
		t.Fatal(err)
	}
	out, err := f.Format()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// caseProject is a project with the input of a case in testdata/apis, which may
// import from the modules nested in it.
func caseProject(t testing.TB, name string) *project {
	t.Helper()
	files := map[string]string{"go.mod": goMod(t, "example.com/apis")}
	for file, text := range readTree(t, filepath.Join(apis, name, "in")) {
		if strings.HasSuffix(file, "/go.mod.txt") { // a go.mod would hide the directory from git's and go's users here
			module := modfile.ModulePath([]byte(text))
			files["go.mod"] += fmt.Sprintf("\nrequire %[1]s v0.0.0\n\nreplace %[1]s => ./%[2]s\n", module, path.Dir(file))
			files[strings.TrimSuffix(file, ".txt")] = goMod(t, module)
			files[strings.TrimSuffix(file, "mod.txt")+"sum"] = readFile(t, "../../go.sum")
			continue
		}
		files[file] = text
	}
	return newProject(t, files)
}

// leaveToLong skips a test that loads and type-checks an API, as TestGolden,
// TestUnchanged and TestSourceErrors do in the everyday lane.
func leaveToLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("type-checks an API")
	}
}

func (p *project) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) remove(name string) {
	p.t.Helper()
	if err := os.Remove(filepath.Join(p.dir, filepath.FromSlash(name))); err != nil {
		p.t.Fatal(err)
	}
}

// render renders the project and fails the test on an error.
func (p *project) render(change ...func(*Options)) Result {
	p.t.Helper()
	res, err := p.tryRender(change...)
	if err != nil {
		p.t.Fatalf("Render: %v", err)
	}
	return res
}

func (p *project) tryRender(change ...func(*Options)) (Result, error) {
	o := p.opts
	for _, f := range change {
		f(&o)
	}
	return Render(p.t.Context(), o)
}

// accept writes the files of a result, as a commit would.
func (p *project) accept(res Result) {
	p.t.Helper()
	for name, text := range texts(res) {
		p.write(name, text)
	}
}

// goTool runs the go command in the project.
func (p *project) goTool(args ...string) {
	p.t.Helper()
	var out bytes.Buffer
	c := host.Cmd{Name: "go", Args: args, Dir: p.dir, Env: p.opts.Host.Environ(), Stdout: &out, Stderr: &out}
	if err := host.Run(p.t.Context(), p.opts.Host.Exec, c); err != nil {
		p.t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
}

// texts are the files of a result by name.
func texts(res Result) map[string]string {
	out := map[string]string{}
	for _, name := range res.Set.Paths() {
		f, _ := res.Set.Get(name)
		out[name] = string(f.Data)
	}
	return out
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// readTree returns all files below dir by their slash-separated names.
func readTree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		out[filepath.ToSlash(rel)] = readFile(t, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
