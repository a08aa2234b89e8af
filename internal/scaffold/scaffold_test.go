package scaffold

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// openGolden opens a copy of a golden tree. Its license header is of another
// year than the plugin's.
func openGolden(t *testing.T, name string) *Scaffold {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../../testdata/golden", name, "want"))); err != nil {
		t.Fatal(err)
	}
	s, err := Open(host.OSFiles{}, dir, v4.Plugin{Year: 2030}, false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// set is the change so far.
func (s *Scaffold) set(t *testing.T) fileset.Set {
	t.Helper()
	set, err := s.Set()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestCRLF changes a project as Git for Windows checks it out.
func TestCRLF(t *testing.T) {
	for name, tt := range map[string]struct {
		project string
		change  func(*Scaffold) error
	}{
		"license and deletion": {"multigroup", func(s *Scaffold) error {
			return errors.Join(s.SetLicense(License{Owner: new("Shop")}), s.DeleteAPI(s.project.Resources[0]))
		}},
		"layout": {"memcached", func(s *Scaffold) error { return s.SetLayout(Layout{MultiGroup: new(true)}) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := openGolden(t, tt.project).dir
			err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				return os.WriteFile(name, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), 0o644)
			})
			if err != nil {
				t.Fatal(err)
			}
			const mine = "a\r\nb\nc\r\n"
			golden := filepath.Join(dir, "internal", "controller", "golden")
			if err := errors.Join(os.MkdirAll(golden, 0o755), os.WriteFile(filepath.Join(golden, "mine.txt"), []byte(mine), 0o644)); err != nil {
				t.Fatal(err)
			}
			s, err := Open(host.OSFiles{}, dir, v4.Plugin{Year: 2030}, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.change(s); err != nil {
				t.Fatal(err)
			}
			if len(s.Problems) > 0 {
				t.Errorf("problems: %v", s.Problems)
			}
			set, written := s.set(t), 0
			for _, name := range set.Paths() {
				f, _ := set.Get(name)
				switch {
				case path.Base(name) == "mine.txt":
					if !f.Removed && string(f.Data) != mine {
						t.Errorf("the user's file became %q", f.Data)
					}
				case f.Removed:
				default:
					if written++; bytes.Count(f.Data, []byte("\n")) != bytes.Count(f.Data, []byte("\r\n")) {
						t.Errorf("%s has lines that end in LF", name)
					}
				}
			}
			if written < 3 {
				t.Errorf("only %v changes", set.Paths())
			}
		})
	}
}

// resource is the project's first resource of that version.
func (s *Scaffold) resource(t *testing.T, version string) project.Resource {
	t.Helper()
	for _, r := range s.project.Resources {
		if r.Version == version {
			return r
		}
	}
	t.Fatalf("the project has no version %s", version)
	return project.Resource{}
}

func TestSetLicense(t *testing.T) {
	tests := map[string]struct {
		license License
		file    string // content of --license-file
		want    string // in the header of files, "" for none
		same    bool   // nothing changes
	}{
		"nothing":                      {License{}, "", "Copyright 2026 Acme.", true},
		"the same":                     {License{Name: new("apache2"), Owner: new("Acme")}, "", "Copyright 2026 Acme.", true},
		"the owner; the year stays":    {License{Owner: new("Shop & Sons")}, "", "Copyright 2026 Shop & Sons.", false},
		"none":                         {License{Name: new("none")}, "", "", false},
		"the user's own from a file":   {License{File: new("header.txt")}, "// Ours, all of it.\n", "// Ours, all of it.", false},
		"without an owner, by the way": {License{Name: new("apache2"), Owner: new("")}, "", "Copyright 2026.", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := openGolden(t, "memcached")
			s.plugin.ReadFile = func(string) ([]byte, error) { return []byte(tt.file), nil }
			if err := s.SetLicense(tt.license); err != nil {
				t.Fatal(err)
			}
			if set := s.set(t); (set.Len() == 0) != tt.same {
				t.Errorf("changed: %v", set.Paths())
			}
			for _, name := range []string{"cmd/main.go", project.HeaderFile} {
				src, there, err := s.tree.Read(name)
				if err != nil || there != (tt.want != "" || name == "cmd/main.go") {
					t.Fatalf("%s is there: %v, %v", name, there, err)
				}
				if head, _, _ := strings.Cut(string(src), "\npackage "); !strings.Contains(head, tt.want) || tt.want == "" && strings.Contains(head, "Copyright") {
					t.Errorf("%s begins with\n%s\nwant %q", name, head, tt.want)
				}
			}
		})
	}
}

func TestRefused(t *testing.T) {
	tests := map[string]struct {
		project    string
		change     func(t *testing.T, s *Scaffold) error
		said, hint string
	}{
		"an owner for a header that names none": {"memcached", func(_ *testing.T, s *Scaffold) error {
			s.header = []byte("// Ours, all of it.\n")
			return s.SetLicense(License{Owner: new("Acme")})
		}, "has no place for an owner", "add --license apache2"},
		"one group for two": {"multigroup", func(_ *testing.T, s *Scaffold) error {
			return s.SetLayout(Layout{MultiGroup: new(false)})
		}, "the project has 2 groups (cache.example.com, ship.example.com)", "mysdk delete api"},
		"namespaces for a cluster-scoped kind": {"cluster-scoped", func(_ *testing.T, s *Scaffold) error {
			return s.SetLayout(Layout{Namespaced: new(true)})
		}, "kind Memcached is cluster-scoped", "delete the kind first"},
		"a domain that is none": {"memcached", func(_ *testing.T, s *Scaffold) error {
			return s.SetLayout(Layout{Domain: new("-")})
		}, `"-"`, ""},
		"a domain for a project with APIs": {"memcached", func(_ *testing.T, s *Scaffold) error {
			return s.SetLayout(Layout{Domain: new("example.org")})
		}, "have the domain example.com in their names", "delete the APIs first"},
		"a kustomization that is none": {"memcached", func(t *testing.T, s *Scaffold) error {
			const name = "config/default/kustomization.yaml"
			if err := os.WriteFile(filepath.Join(s.dir, filepath.FromSlash(name)), []byte("resources: 1\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			return s.SetLayout(Layout{MultiGroup: new(true)})
		}, "config/default/kustomization.yaml is not valid", "repair it"},
		"a kind with webhooks": {"webhook-self", func(t *testing.T, s *Scaffold) error {
			return s.DeleteAPI(s.resource(t, "v1alpha1"))
		}, "cache.example.com/v1alpha1 Memcached has webhooks", "mysdk delete webhook --group cache --version v1alpha1 --kind Memcached"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := openGolden(t, tt.project)
			err := tt.change(t, s)
			if err == nil || !strings.Contains(err.Error(), tt.said) || !strings.Contains(clierr.HintOf(err), tt.hint) {
				t.Errorf("got %v, hint %q", err, clierr.HintOf(err))
			}
			if set := s.set(t); set.Len() > 0 {
				t.Errorf("changed all the same: %v", set.Paths())
			}
		})
	}
}

func TestUnchanged(t *testing.T) {
	s := openGolden(t, "multigroup")
	if err := s.SetLayout(Layout{}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetLayout(Layout{Namespaced: new(false), Domain: new("example.com")}); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteWebhooks(s.resource(t, "v1alpha1"), func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if set := s.set(t); set.Len() > 0 {
		t.Errorf("changed: %v", set.Paths())
	}
}

// A manager that is kubebuilder's got its patch without the flag for the port.
func TestDeleteWebhooks_PatchWithoutThePortFlag(t *testing.T) {
	s := openGolden(t, "webhook-self")
	patch := filepath.Join(s.dir, filepath.FromSlash(v4.ManagerPatch))
	data, err := os.ReadFile(patch)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(patch, []byte(v4.WithoutPortFlag(string(data))), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteWebhooks(s.resource(t, "v1alpha1"), func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if _, there, err := s.tree.Read(v4.ManagerPatch); there || err != nil || len(s.Problems) > 0 {
		t.Errorf("the patch is there: %v; %v, %v", there, s.Problems, err)
	}
}

// What webhooks share stood below the controllers in scaffolds of before.
func TestDeleteWebhooks_SharedBelow(t *testing.T) {
	const begin, end = "\tif os.Getenv(", "\n\t}\n"
	for golden, tt := range map[string]struct{ version, call, above string }{
		"webhook-self":       {"v1alpha1", "certs.SetupWithManager", begin},
		"webhook-conversion": {"v1", "storageversion.SetupWithManager", "\t// +kubebuilder:scaffold:builder"},
	} {
		t.Run(golden, func(t *testing.T) {
			s := openGolden(t, golden)
			name := filepath.Join(s.dir, "cmd", "main.go")
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			head, tail, _ := strings.Cut(string(data), tt.call)
			from := strings.LastIndex(head, begin)
			rest, tail, _ := strings.Cut(tail, end)
			block := head[from:] + tt.call + rest + end
			text := head[:from] + strings.Replace(tail, tt.above, block+tt.above, 1)
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := s.DeleteWebhooks(s.resource(t, tt.version), func(string) bool { return true }); err != nil || len(s.Problems) > 0 {
				t.Fatal(err, s.Problems)
			}
			if text, _, err := s.tree.Read("cmd/main.go"); err != nil || strings.Contains(string(text), "ENABLE_WEBHOOKS") {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

// The name of a webhook depends on the other groups with the kind, which may go.
func TestDeleteAPI_OtherGroup(t *testing.T) {
	s := openGolden(t, "webhook-self")
	const webhook = "internal/webhook/v1alpha1/memcached_webhook.go"
	name := filepath.Join(s.dir, filepath.FromSlash(webhook))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	own := bytes.ReplaceAll(data, []byte("memcached-v1alpha1.kb.io"), []byte("memcached-v1alpha1.cache.example.com.kb.io"))
	if err := os.WriteFile(name, own, 0o644); err != nil {
		t.Fatal(err)
	}
	before, _, err := s.replays(s.file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(own), string(before.Files[webhook])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// openRenamed opens a project whose user has set another prefix and namespace in
// config/default before he added webhooks.
func openRenamed(t *testing.T) *Scaffold {
	t.Helper()
	s := openGolden(t, "webhook-self")
	for name, changes := range map[string][]string{
		"config/default/kustomization.yaml": {"namePrefix: webhook-self-", "namePrefix: acme-", "namespace: webhook-self-system", "namespace: store"},
		"internal/certs/targets.go":         {"webhook-self-webhook", "acme-webhook", "webhook-self-mutating", "acme-mutating", "webhook-self-validating", "acme-validating"},
		v4.NamespacesPatch:                  {"name: webhook-self-system", "name: store"},
	} {
		data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.dir, filepath.FromSlash(name)), []byte(strings.NewReplacer(changes...).Replace(string(data))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// What webhooks got by the prefix and the namespace of the user goes as it came.
func TestDeleteWebhooks_OtherPrefix(t *testing.T) {
	s := openRenamed(t)
	if err := s.DeleteWebhooks(s.resource(t, "v1alpha1"), func(string) bool { return true }); err != nil || len(s.Problems) > 0 {
		t.Fatal(err, s.Problems)
	}
	if text, _, err := s.tree.Read("config/default/kustomization.yaml"); err != nil || !strings.Contains(string(text), "\nnamePrefix: acme-\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

// The Secret with the certificates stays in one namespace when the manager watches all.
func TestSetLayout_OtherPrefix(t *testing.T) {
	s := openRenamed(t)
	if err := s.SetLayout(Layout{Namespaced: new(false)}); err != nil || len(s.Problems) > 0 {
		t.Fatal(err, s.Problems)
	}
	set := s.set(t)
	if _, changed := set.Get("internal/certs/targets.go"); changed || len(s.Notes) > 0 {
		t.Errorf("changed: %v, notes: %q", set.Paths(), s.Notes)
	}
	to := fileset.Tree{FS: host.OSFiles{}, Root: s.dir}
	if err := to.Commit(t.Context(), set, "test"); err != nil {
		t.Fatal(err)
	}
	s, err := Open(host.OSFiles{}, s.dir, s.plugin, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetLayout(Layout{Namespaced: new(true)}); err != nil || len(s.Problems) > 0 {
		t.Fatal(err, s.Problems)
	}
	back := s.set(t)
	if diff := cmp.Diff(set.Paths(), back.Paths()); diff != "" {
		t.Errorf("there and back (-there +back):\n%s", diff)
	}
}

// TestDeleteAPI: the CRD goes with the last of its versions.
func TestDeleteAPI(t *testing.T) {
	const crd = "config/crd/bases/cache.example.com_memcacheds.yaml"
	for name, tt := range map[string]struct {
		project, version string
		files            map[string]string // that the user has
		goes, stays      []string
	}{
		"one of two versions": {"second-version", "v1", nil, []string{"api/v1/memcached_types.go"}, []string{crd, "api/v1alpha1/memcached_types.go", "internal/controller/memcached_controller.go"}},
		"the last version":    {"memcached", "v1alpha1", nil, []string{crd, "api/v1alpha1/memcached_types.go", "internal/controller/memcached_controller.go"}, []string{"cmd/main.go"}},
		"CRDs elsewhere": {
			"memcached", "v1alpha1", map[string]string{
				"Makefile": "manifests:\n\tcontroller-gen crd paths=./api/... output:crd:dir=deploy/crds\n", "deploy/crds/cache.example.com_memcacheds.yaml": "kind: X\n", "deploy/crds/mine.yaml": "kind: X\n",
			}, []string{crd, "deploy/crds/cache.example.com_memcacheds.yaml"}, []string{"deploy/crds/mine.yaml"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openGolden(t, tt.project)
			for name, text := range tt.files {
				file := filepath.Join(s.dir, filepath.FromSlash(name))
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.DeleteAPI(s.resource(t, tt.version)); err != nil {
				t.Fatal(err)
			}
			for want, names := range map[bool][]string{false: tt.goes, true: tt.stays} {
				for _, name := range names {
					if _, there, err := s.tree.Read(name); there != want || err != nil {
						t.Errorf("%s is there: %v, want %v; %v", name, there, want, err)
					}
				}
			}
			data, _, err := s.tree.Read(project.FileName)
			if err != nil || strings.Contains(string(data), "  version: "+tt.version+"\n") {
				t.Errorf("PROJECT (%v):\n%s", err, data)
			}
			if diff := cmp.Diff([]relayout.Problem(nil), s.Problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// What a controller was made of stays known when its version goes, and so the kind can go
// as it came.
func TestDeleteAPI_HandedOver(t *testing.T) {
	const own = "      options:\n        image: memcached:1.6\n        runAsUser: \"1001\"\n      pattern: deployment\n"
	for name, record := range map[string]string{"types of the pattern": own, "copied types": "      from: v1alpha1\n"} {
		t.Run(name, func(t *testing.T) {
			s := openGolden(t, "second-version")
			controller := "internal/controller/memcached_controller"
			for name, change := range map[string][2]string{project.FileName: {own, record}, controller + ".go": {"v1alpha1", "v1"}, controller + "_test.go": {"v1alpha1", "v1"}} {
				name = filepath.Join(s.dir, filepath.FromSlash(name))
				data, err := os.ReadFile(name)
				data = bytes.ReplaceAll(data, []byte(change[0]), []byte(change[1]))
				if err := errors.Join(err, os.WriteFile(name, data, 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			for _, version := range []string{"v1alpha1", "v1"} {
				s, err := Open(host.OSFiles{}, s.dir, s.plugin, false)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.DeleteAPI(s.resource(t, version)); err != nil || len(s.Problems) > 0 {
					t.Fatalf("%s: %v, %v", version, s.Problems, err)
				}
				to := fileset.Tree{FS: host.OSFiles{}, Root: s.dir}
				if err := to.Commit(t.Context(), s.set(t), "test"); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A scaffold of another version differs from today's in places that the user never saw.
func TestRefused_OtherVersion(t *testing.T) {
	const controller, undo = "internal/controller/memcached_controller.go", "undo your change and make it again"
	for _, tt := range []struct{ recorded, file, text, hint string }{
		{"", controller, "package controller\n", undo},
		{"v1.0.0", controller, "package controller\n", "run 'mysdk upgrade' first (the scaffold is of mysdk v1.0.0, this is v1.1.0), then run this command again"},
		{"devel-0123456789ab", controller, "package controller\n", "run 'mysdk upgrade' first"},
		{"v1.1.0", controller, "package controller\n", undo},
		{"v1.2.0", controller, "package controller\n", undo},
		{"v1.0.0", "x/x.go", "package x\n\nimport _ \"example.com/memcached/api/v1alpha1\"\n", "change or remove these lines first"},
	} {
		t.Run(tt.recorded+" "+tt.file, func(t *testing.T) {
			s := openGolden(t, "memcached")
			s.plugin.CLIVersion = "v1.1.0"
			var err error
			if s.file, err = s.file.WithPluginField(v4.ScaffoldKey, "version", tt.recorded); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(s.dir, filepath.FromSlash(tt.file))
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(tt.text), 0o644)); err != nil {
				t.Fatal(err)
			}
			if err := s.DeleteAPI(s.resource(t, "v1alpha1")); err != nil {
				t.Fatal(err)
			}
			if err := s.Refused(); err == nil || !strings.HasPrefix(clierr.HintOf(err), tt.hint) {
				t.Errorf("got %v, hint %q", err, clierr.HintOf(err))
			}
		})
	}
}

// TestSetLayout_OwnModule: the API's packages move with what the user has in them, also
// where they are a module of their own.
func TestSetLayout_OwnModule(t *testing.T) {
	const mine, moved = "api/v1alpha1/mine.go", "api/cache/v1alpha1/mine.go"
	for module, want := range map[string]struct {
		moves    bool
		problems []relayout.Problem
	}{
		"api/go.mod": {true, nil},
		"api/v1alpha1/go.mod": {true, []relayout.Problem{
			{Path: "api/v1alpha1/go.mod", What: "this module moves, and its path and whatever requires it would have to change: move it by hand first"},
		}},
	} {
		t.Run(module, func(t *testing.T) {
			s := openGolden(t, "memcached")
			for name, text := range map[string]string{module: "module x\n", mine: "package v1alpha1\n"} {
				if err := os.WriteFile(filepath.Join(s.dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.SetLayout(Layout{MultiGroup: new(true)}); err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]bool{mine: !want.moves, moved: want.moves, module: true} {
				if _, there, err := s.tree.Read(name); there != want || err != nil {
					t.Errorf("%s is there: %v, want %v; %v", name, there, want, err)
				}
			}
			if diff := cmp.Diff(want.problems, s.Problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
