package project_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/project"
)

// stub is a plugin's subcommand that writes what it is told to.
type stub struct {
	files          map[string]string
	missing        string // a path that must look as if nothing were there
	inject, write  error
	extras         map[string]any
	resourceExtras map[string]any

	config   config.Config
	resource *resource.Resource
	seen     map[string]any
}

func (s *stub) InjectConfig(c config.Config) error { s.config = c; return nil }
func (s *stub) InjectExtras(extras map[string]any) { s.seen = extras }
func (s *stub) ProjectExtras() map[string]any      { return s.extras }
func (s *stub) ResourceExtras() map[string]any     { return s.resourceExtras }

func (s *stub) Scaffold(disk machinery.Filesystem) error {
	if s.missing != "" {
		if _, err := disk.FS.Stat(s.missing); !errors.Is(err, fs.ErrNotExist) {
			return errors.New(s.missing + " is there")
		}
	}
	for name, text := range s.files {
		if err := disk.FS.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := afero.WriteFile(disk.FS, name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if s.resource != nil {
		s.resource.API = &resource.API{CRDVersion: "v1", Namespaced: true}
		if err := s.config.UpdateResource(*s.resource); err != nil {
			return err
		}
	}
	return s.write
}

// apiStub is a stub that adds a resource.
type apiStub struct{ stub }

func (s *apiStub) InjectResource(res *resource.Resource) error { s.resource = res; return s.inject }

// isNew lists which files of a change may not exist yet.
func isNew(set fileset.Set) map[string]bool {
	out := map[string]bool{}
	for _, name := range set.Paths() {
		f, _ := set.Get(name)
		out[name] = f.New
	}
	return out
}

func fill(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func initOptions(dir string) project.InitOptions {
	return project.InitOptions{Dir: dir, Domain: "example.com", Repo: "example.com/op", Name: "op", Layout: []string{"go.kubebuilder.io/v4"}}
}

func TestInit(t *testing.T) {
	for _, force := range []bool{false, true} {
		o := initOptions(fill(t, map[string]string{"go.mod": "module example.com/old\n"}))
		o.Force, o.MultiGroup = force, true
		sub := &stub{files: map[string]string{"go.mod": "module example.com/op\n", "cmd/main.go": "package main\n"}, extras: map[string]any{"namespaced": true}, missing: "go.mod"}
		set, p, err := project.Init(sub, o)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{"PROJECT": !force, "go.mod": !force, "cmd/main.go": !force}
		if d := cmp.Diff(want, isNew(set)); d != "" {
			t.Errorf("force %v: files that must be new (-want +got):\n%s", force, d)
		}
		if !p.MultiGroup || p.Name != "op" || p.Domain != "example.com" {
			t.Errorf("project %+v", p)
		}
		f, _ := set.Get("PROJECT")
		if text := string(f.Data); !strings.Contains(text, "multigroup: true\nnamespaced: true\nprojectName: op\n") {
			t.Errorf("PROJECT:\n%s", text)
		}
	}
}

func TestInitRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		before map[string]string
		sub    stub
		change func(*project.InitOptions)
		want   string
		code   int
	}{
		"bad domain":      {change: func(o *project.InitOptions) { o.Domain = "x y" }, want: "domain", code: 2},
		"bad repo":        {change: func(o *project.InitOptions) { o.Repo = "x y" }, want: "module path", code: 2},
		"bad name":        {change: func(o *project.InitOptions) { o.Name = "x y" }, want: "project name", code: 2},
		"a project":       {before: map[string]string{"PROJECT": "version: \"3\"\n"}, want: "already has a project", code: 1},
		"half a project":  {before: map[string]string{"PROJECT": ""}, want: "empty", code: 1},
		"its own module":  {sub: stub{files: map[string]string{"go.mod": "module x\n\nrequire example.com/op v1.0.0\n"}}, want: "that the project needs", code: 2},
		"a failing write": {sub: stub{write: errors.New("cannot")}, want: "cannot", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := initOptions(fill(t, c.before))
			if c.change != nil {
				c.change(&o)
			}
			_, _, err := project.Init(&c.sub, o)
			if err == nil || !strings.Contains(err.Error(), c.want) || clierr.CodeOf(err) != c.code {
				t.Errorf("error %v, code %d, want %q and %d", err, clierr.CodeOf(err), c.want, c.code)
			}
		})
	}
}

const plain = `domain: example.com
layout:
- go.kubebuilder.io/v4
projectName: op
repo: example.com/op
version: "3"
`

func TestCreateAPI(t *testing.T) {
	dir := fill(t, map[string]string{"PROJECT": plain + "zone: ours # kept\n", "cmd/main.go": "package main\n", "api": "a file"})
	sub := &apiStub{stub{
		files: map[string]string{"cmd/main.go": "package main // wired\n", "config/x.yaml": "a: 1\n"}, missing: "api/v1/cache_types.go",
		resourceExtras: map[string]any{"external": true},
	}}
	set, p, err := project.Create(sub, project.APIOptions{Dir: dir, Group: "cache", Version: "v1", Kind: "Memcached"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"PROJECT": false, "cmd/main.go": false, "config/x.yaml": true}
	if d := cmp.Diff(want, isNew(set)); d != "" {
		t.Errorf("files that must be new (-want +got):\n%s", d)
	}
	if len(p.Resources) != 1 || p.Resources[0].QualifiedGroup() != "cache.example.com" || p.Resources[0].Plural != "memcacheds" {
		t.Errorf("resources %+v", p.Resources)
	}
	if sub.seen["zone"] != "ours" {
		t.Errorf("the plugin saw the fields %v", sub.seen)
	}
	f, _ := set.Get("PROJECT")
	for _, line := range []string{"zone: ours # kept\n", "  external: true\n", "  kind: Memcached\n"} {
		if !strings.Contains(string(f.Data), line) {
			t.Errorf("PROJECT lacks %q:\n%s", line, f.Data)
		}
	}
}

func TestCreateAPIRefuses(t *testing.T) {
	one := plain + "resources:\n- api: {crdVersion: v1}\n  domain: example.com\n  group: cache\n  kind: Memcached\n  path: example.com/op/api/v1\n  version: v1\n"
	for name, c := range map[string]struct {
		project, mod string
		marker       string // the group that the types in api/v1 say
		sub          stub
		group, kind  string
		want, hint   string
		code         int
	}{
		"no project":       {want: "no PROJECT file", hint: "mysdk init", code: 1},
		"no domain":        {project: strings.Replace(plain, "domain: example.com\n", "", 1), want: "no domain field", hint: "domain: example.com", code: 1},
		"bad domain":       {project: strings.Replace(plain, "domain: example.com", "domain: x y", 1), want: "PROJECT: domain", hint: "correct the line", code: 1},
		"no repo":          {project: strings.Replace(plain, "repo: example.com/op\n", "", 1), want: "no repo field", hint: "repo:", code: 1},
		"no name":          {project: strings.Replace(plain, "projectName: op\n", "", 1), want: "no projectName field", hint: "projectName: my-operator", code: 1},
		"another module":   {project: plain, mod: "module example.com/other\n", want: "go.mod says module example.com/other", hint: "same", code: 1},
		"bad group":        {project: plain, group: "-x", want: `group "-x"`, hint: "--group cache", code: 2},
		"group in capital": {project: plain, group: "Shop", want: `group "Shop"`, hint: "--group shop", code: 2},
		"no dot":           {project: strings.Replace(plain, "domain: example.com", "domain: local", 1), kind: "Memcached", want: "no dot", hint: "--group", code: 2},
		"bad kind":         {project: plain, kind: "mem", want: `kind "mem"`, hint: "--kind Mem", code: 2},
		"other case":       {project: one, group: "cache", kind: "MemCached", want: "same names", hint: "--kind Memcached", code: 2},
		"whole group": {
			project: strings.ReplaceAll(one, "group: cache", "group: cache.example.com"), group: "cache.example.com", marker: "cache.example.com",
			want: "PROJECT has the group cache.example.com.example.com, and the marker +groupName in api/v1 says cache.example.com",
			hint: "write 'group: cache' in place of 'group: cache.example.com'", code: 1,
		},
		"group as the domain": {
			project: strings.ReplaceAll(one, "group: cache", "group: example.com"), group: "example.com", marker: `"example.com"`,
			want: "says example.com", hint: "take the lines 'group: example.com' out", code: 1,
		},
		"group of another domain": {project: one, group: "cache", marker: "cache.org", want: "says cache.org", hint: "correct group and domain", code: 1},
		"plugin's names":          {project: plain, sub: stub{inject: clierr.WithHint(errors.New("not so"), "type this")}, want: "not so", hint: "type this", code: 2},
		"plugin's files":          {project: plain, sub: stub{write: clierr.WithHint(errors.New("not so"), "type this")}, want: "not so", hint: "type this", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			before := map[string]string{}
			if c.marker != "" {
				before["api/v1/doc.go"] = "// Package v1 has the types.\n// +groupName=" + c.marker + "\npackage v1\n"
			}
			for file, text := range map[string]string{"PROJECT": c.project, "go.mod": c.mod} {
				if text != "" {
					before[file] = text
				}
			}
			o := project.APIOptions{Dir: fill(t, before), Group: c.group, Version: "v1", Kind: c.kind}
			if o.Kind == "" {
				o.Kind = "Redis"
			}
			if o.Group == "" && name != "no dot" {
				o.Group = "shop"
			}
			_, _, err := project.Create(&apiStub{c.sub}, o)
			if err == nil || !strings.Contains(err.Error(), c.want) || clierr.CodeOf(err) != c.code {
				t.Fatalf("error %v, code %d, want %q and %d", err, clierr.CodeOf(err), c.want, c.code)
			}
			if hint := clierr.HintOf(err); !strings.Contains(hint, c.hint) {
				t.Errorf("hint %q, want %q", hint, c.hint)
			}
		})
	}
}
