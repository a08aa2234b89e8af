package upgrade

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/project"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// The versions of the upgrade that the tests make.
const (
	oldVersion = "v0.0.8"
	midVersion = "v0.0.9"
	nowVersion = "v0.1.0"
)

const runtimeModule = "sigs.k8s.io/controller-runtime"

// runtimeNow is the line of go.mod that today's scaffold has.
func runtimeNow() string { return runtimeModule + " " + v4.CurrentVersions().ControllerRuntime }

// templateTree is a copy of today's templates that a test can alter.
func templateTree(t testing.TB) fstest.MapFS {
	t.Helper()
	templates := v4.Templates()
	out := fstest.MapFS{}
	err := fs.WalkDir(templates, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(templates, name)
		out[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// replace changes a template; the text must be in it.
func replace(t testing.TB, tree fstest.MapFS, name, old, text string) {
	t.Helper()
	f := tree[name+".tmpl"]
	if f == nil || !strings.Contains(string(f.Data), old) {
		t.Fatalf("the template %s does not have %q", name, old)
	}
	tree[name+".tmpl"] = &fstest.MapFile{Data: []byte(strings.Replace(string(f.Data), old, text, 1))}
}

// older are baselines that differ from today's in one place of every kind.
func older(t testing.TB) []Baseline {
	t.Helper()
	pins := v4.CurrentVersions()
	pins.GoToolchainImage, pins.GolangciLint = "golang:1.25", "v2.11.0"
	mid := templateTree(t)
	delete(mid, "init/.devcontainer/devcontainer.json.tmpl")
	mid["init/hack/old.sh.tmpl"] = &fstest.MapFile{Data: []byte("#!/bin/sh\necho {{ .ProjectName }}\n")}
	replace(t, mid, "init/go.mod", runtimeModule+" "+pins.ControllerRuntime, runtimeModule+" v0.22.0")
	replace(t, mid, "init/go.mod", "\tk8s.io/klog/v2 ", "\texample.com/gone v1.0.0\n\tk8s.io/klog/v2 ")
	replace(t, mid, "init/go.sum", "\n"+runtimeModule+" "+pins.ControllerRuntime+" h1:", "\n"+runtimeModule+" v0.22.0 h1:")
	replace(t, mid, "init/Makefile", "\t$(GOLANGCI_LINT) run\n", "\t$(GOLANGCI_LINT) run ./...\n")
	replace(t, mid, "init/Makefile", ".PHONY: vet\nvet: ## Look for mistakes that compile.\n\tgo vet ./...\n\n", "")
	replace(t, mid, "init/Makefile", ".PHONY: lint\n", ".PHONY: check-old\ncheck-old: ## Gone.\n\ttrue\n\n.PHONY: lint\n")
	replace(t, mid, "init/config/manager/manager.yaml", "cpu: 500m", "cpu: 250m")
	replace(t, mid, "init/config/rbac/kustomization.yaml", "- metrics_reader_role.yaml\n", "")
	replace(t, mid, "init/.gitignore", "/bin/\n", "")
	replace(t, mid, "init/README.md", "##", "## Old:")
	replace(t, mid, "init/cmd/main.go", "\tctrl.SetLogger(", "\t// The logger comes first.\n\tctrl.SetLogger(")
	replace(t, mid, "pattern/blank/api/{group}/{version}/{kind}_types.go", "package {{ .Resource.Version }}", "package {{ .Resource.Version }}\n\n// An old comment.")
	old := fstest.MapFS{}
	for name, f := range mid {
		old[name] = f
	}
	replace(t, old, "init/Dockerfile", "USER", "# Nobody in particular.\nUSER")
	return []Baseline{{oldVersion, old, pins}, {midVersion, mid, pins}}
}

const projectText = `domain: example.com
layout:
- go.kubebuilder.io/v4
plugins:
  manifests.sdk.operatorframework.io/v2: {}
  scaffold.mysdk.dev/v1:
    version: %s
  scorecard.sdk.operatorframework.io/v2: {}
projectName: shop
repo: example.com/shop
resources:
- api:
    crdVersion: v1
    namespaced: true
  controller: true
  domain: example.com
  group: cache
  kind: Memcached
  path: example.com/shop/api/v1
  version: v1
version: "3"
`

// shop is a project as a baseline writes it.
type shop struct {
	t    testing.TB
	dir  string
	disk hosttest.Memory
	opts Options
}

// firstShop are the older baselines, and the project as the last of them writes
// it. They are made once: everything else of a test is cheaper.
type firstShop struct {
	once            sync.Once
	archives, files fstest.MapFS
}

var first firstShop

func (f *firstShop) make(t testing.TB) {
	all := older(t)
	f.archives, f.files = fstest.MapFS{}, fstest.MapFS{}
	for _, b := range all {
		data, err := b.Archive()
		if err != nil {
			t.Fatal(err)
		}
		f.archives[b.Version+archiveExt] = &fstest.MapFile{Data: data}
	}
	for name, data := range replayed(t, shopPlugin(), all[1], fmt.Sprintf(projectText, midVersion)) {
		f.files[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
}

func shopPlugin() v4.Plugin { return v4.Plugin{CLIVersion: nowVersion, Year: 2026} }

// emptyShop is a shop without files.
func emptyShop(t testing.TB, opts Options) *shop {
	t.Helper()
	s := &shop{t: t, dir: t.TempDir(), disk: hosttest.NewMemory(t, "", nil), opts: opts}
	s.opts.Dir, s.opts.Files = s.dir, s.disk
	return s
}

// newShop writes the project as the older of the baselines does.
func newShop(t testing.TB) *shop {
	t.Helper()
	first.once.Do(func() { first.make(t) })
	s := emptyShop(t, Options{Plugin: shopPlugin(), Further: maps.Clone(first.archives)})
	for name, f := range first.files {
		s.write(name, string(f.Data))
	}
	return s
}

func (s *shop) fill(b Baseline, text string) {
	s.t.Helper()
	for name, data := range replayed(s.t, s.opts.Plugin, b, text) {
		s.write(name, string(data))
	}
}

// replayed are the files of a project as a baseline writes it.
func replayed(t testing.TB, plugin v4.Plugin, b Baseline, text string) map[string][]byte {
	t.Helper()
	f, err := project.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	plugin.Templates, plugin.Pins, plugin.CLIVersion = b.Templates, &b.Pins, b.Version
	made, err := f.Replay(project.ReplayOptions{Header: []byte("// Copyright Shop\n"), Scaffolder: func(read func(string) ([]byte, error)) project.Scaffolder {
		plugin.ReadFile = read
		return plugin
	}})
	if err != nil {
		t.Fatal(err)
	}
	files := maps.Clone(made.Files)
	files[project.FileName] = []byte(text)
	return files
}

func (s *shop) write(name, text string) {
	s.t.Helper()
	if err := s.disk.WriteFile(filepath.Join(s.dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) read(name string) string {
	s.t.Helper()
	data, err := s.disk.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// edit replaces a text of a file, which must have it.
func (s *shop) edit(name, old, text string) {
	s.t.Helper()
	was := s.read(name)
	if !strings.Contains(was, old) {
		s.t.Fatalf("%s does not have %q:\n%s", name, old, was)
	}
	s.write(name, strings.Replace(was, old, text, 1))
}

func (s *shop) remove(name string) {
	s.t.Helper()
	if err := s.disk.Remove(filepath.Join(s.dir, filepath.FromSlash(name))); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) files() map[string]string {
	s.t.Helper()
	return s.disk.Tree(s.t, s.dir)
}

// upgrade plans and commits.
func (s *shop) upgrade() *Plan {
	s.t.Helper()
	p, err := s.opts.New()
	if err != nil {
		s.t.Fatal(err)
	}
	s.commit(p.Set)
	return p
}

func (s *shop) commit(set fileset.Set) {
	s.t.Helper()
	if err := (fileset.Tree{FS: s.disk, Root: s.dir}).Commit(s.t.Context(), set, "upgrade"); err != nil {
		s.t.Fatal(err)
	}
}

// actions are what becomes of each file.
func (p *Plan) actions() map[string]Action {
	out := map[string]Action{}
	for _, f := range p.Files {
		out[f.Path] = f.Action
	}
	return out
}

// detail is the note that the plan has on a file.
func (p *Plan) detail(name string) string {
	i := slices.IndexFunc(p.Files, func(f File) bool { return f.Path == name })
	if i < 0 {
		return ""
	}
	return p.Files[i].Detail
}
