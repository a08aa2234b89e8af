package upgrade

import (
	"regexp"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// Of each module the higher version is taken, and all else is the user's.
func TestUpgrade_Modules(t *testing.T) {
	const runtime = "sigs.k8s.io/controller-runtime v0.22.0"
	tests := map[string]struct {
		change func(s *shop)
		action Action
		has    []string
		hasNot []string
	}{
		"untouched":      {func(*shop) {}, Updated, []string{runtimeNow()}, []string{"example.com/gone"}},
		"raised further": {func(s *shop) { s.edit("go.mod", runtime, "sigs.k8s.io/controller-runtime v0.99.0") }, Merged, []string{"sigs.k8s.io/controller-runtime v0.99.0", "example.com/gone v1.0.0"}, nil},
		"another module": {func(s *shop) { s.edit("go.mod", "require (", "require (\n\texample.com/mine v1.0.0 // why") }, Merged, []string{"example.com/mine v1.0.0 // why", runtimeNow()}, nil},
		"replaced": {
			func(s *shop) { s.write("go.mod", s.read("go.mod")+"\nreplace example.com/gone => ../gone\n") },
			Merged, []string{"replace example.com/gone => ../gone", runtimeNow()}, nil,
		},
		"a newer Go": {func(s *shop) { s.edit("go.mod", "\ngo "+v4.CurrentVersions().Go, "\ngo 1.99.0\n\ntoolchain go1.99.1") }, Merged, []string{"go 1.99.0\n", "toolchain go1.99.1"}, nil},
		"sums of more": {
			func(s *shop) { s.write("go.sum", s.read("go.sum")+"example.com/mine v1.0.0 h1:x=\n") },
			Merged, []string{runtimeNow()}, nil,
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			c.change(s)
			sums := s.read("go.sum")
			p := s.upgrade()
			if got := p.actions()["go.mod"]; got != c.action {
				t.Errorf("go.mod is %s, want %s", got, c.action)
			}
			text := s.read("go.mod")
			for _, has := range c.has {
				if !strings.Contains(text, has) {
					t.Errorf("%q is not in\n%s", has, text)
				}
			}
			for _, not := range c.hasNot {
				if strings.Contains(text, not) {
					t.Errorf("%q is still in\n%s", not, text)
				}
			}
			if !strings.Contains(s.read("go.sum"), runtimeNow()+" h1:") {
				t.Error("go.sum lacks what go.mod asks for")
			}
			if strings.Contains(sums, "example.com/mine") != strings.Contains(s.read("go.sum"), "example.com/mine") {
				t.Error("sums of the user's are gone")
			}
			if p := s.upgrade(); !p.Empty() {
				t.Errorf("the second time: %v", p.Set.Paths())
			}
		})
	}
}

// What a replace keeps back is told, and code for it stays as it is.
func TestUpgrade_Held(t *testing.T) {
	const file = "api/v1/shop_webhook.go"
	tests := map[string]struct {
		replace string
		held    bool // controller-runtime
		notes   int
	}{
		"by its version":      {runtimeModule + " => " + runtimeModule + " v0.22.0", true, 1},
		"one version of it":   {runtimeModule + " v0.22.0 => " + runtimeModule + " v0.22.0", false, 0},
		"by a directory":      {runtimeModule + " => ../runtime", true, 0},
		"another module":      {"k8s.io/api => k8s.io/api v0.1.0", false, 1},
		"above what it needs": {"k8s.io/api => k8s.io/api v0.99.0", false, 0},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.write("go.mod", s.read("go.mod")+"\nreplace "+c.replace+"\n")
			s.write(file, shopTypes)
			p := s.upgrade()
			if held := s.read(file) == shopTypes; held != c.held {
				t.Errorf("the webhooks stayed: %v, want %v", held, c.held)
			}
			if len(p.Notes) != c.notes {
				t.Errorf("%d notes: %q", len(p.Notes), p.Notes)
			}
			for _, note := range p.Notes {
				if module, _, _ := strings.Cut(c.replace, " "); !regexp.MustCompile(`^go\.mod:\d+: replace holds ` + module + ` at v0\.\d+\.0, and the scaffold needs v0\.\d+\.\d+$`).MatchString(note) {
					t.Errorf("noted %q", note)
				}
			}
		})
	}
}

// A module path that is not PROJECT's is the user's to settle, before anything
// is merged.
func TestUpgrade_ModulePath(t *testing.T) {
	s := newShop(t)
	s.edit("go.mod", "module example.com/shop", "module example.com/store")
	_, err := s.opts.New()
	const want = "go.mod: it says module example.com/store, and PROJECT says repo: example.com/shop"
	if err == nil || err.Error() != want || clierr.HintOf(err) != "make repo in PROJECT and the line module in go.mod agree" {
		t.Errorf("got %v with the hint %q, want %s", err, clierr.HintOf(err), want)
	}
}

// Without go.mod there is nothing to bring up to date, and none is written.
func TestUpgrade_NoModule(t *testing.T) {
	s := newShop(t)
	s.remove("go.mod")
	if p := s.upgrade(); p.actions()["go.mod"] != "" {
		t.Errorf("%v", p.Files)
	}
	if _, there := s.files()["go.mod"]; there {
		t.Error("go.mod is back")
	}
}

func TestRelated(t *testing.T) {
	tests := map[string]struct {
		before, mine string
		want         bool
	}{
		"the same":          {"a\nb\nc\n", "a\nb\nc\n", true},
		"a third of it":     {"a\nb\nc\n", "x\nc\ny\nz\n", true},
		"less":              {"a\nb\nc\nd\n", "x\nd\ny\nz\n", false},
		"blank lines":       {"a\n\n\n\nb\nc\nd\n", "\n\n\n\nx\n", false},
		"a line only once":  {"a\na\na\na\n", "a\n", false},
		"nothing to carry":  {"", "a\n", true},
		"all of it is gone": {"a\n", "", false},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			if got := related([]byte(c.before), []byte(c.mine)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// Where kube-rbac-proxy protects the metrics, the manager behind it stays.
func TestForeign_Proxy(t *testing.T) {
	for name, own := range map[string]bool{"wiring of the tool": false, "wiring of the user": true} {
		t.Run(name, func(t *testing.T) {
			s, table := otherTool(t, foreignProject)
			s.opts.peers = table
			s.write("config/default/manager_auth_proxy_patch.yaml", "kind: Deployment\n")
			want := map[string]Action{"cmd/main.go": Updated, "config/default/kustomization.yaml": Updated}
			if own {
				s.edit("config/default/kustomization.yaml", "resources:\n", "resources:\n- mine.yaml\n")
				want = map[string]Action{"cmd/main.go": Kept, "config/default/kustomization.yaml": Kept}
			}
			got := s.upgrade().actions()
			for file, action := range want {
				if got[file] != action {
					t.Errorf("%s is %s, want %s", file, got[file], action)
				}
			}
		})
	}
}

// Files that a kustomization of the user's does not list do not come.
func TestForeign_Unlisted(t *testing.T) {
	const file = "config/default/metrics_service.yaml"
	for name, own := range map[string]bool{"kustomization of the tool": false, "kustomization of the user": true} {
		t.Run(name, func(t *testing.T) {
			s, _ := otherTool(t, foreignProject)
			s.remove(file)
			table := peerTable(t, s.peer()) // the tool does not know the file
			s.opts.peers = table
			if own {
				s.edit("config/default/kustomization.yaml", "resources:\n", "resources:\n- mine.yaml\n")
			}
			if _, came := s.upgrade().actions()[file]; came == own {
				t.Errorf("%s came: %v", file, came)
			}
		})
	}
}

// The layout by group is a scaffold like any other.
func TestUpgrade_Multigroup(t *testing.T) {
	s := newShop(t)
	text := strings.Replace(strings.Replace(s.read(project.FileName), "projectName:", "multigroup: true\nprojectName:", 1), "/api/v1", "/api/cache/v1", 1)
	m := emptyShop(t, s.opts)
	m.fill(older(t)[1], text)
	if p := m.upgrade(); p.actions()["Dockerfile"] != Updated || p.actions()["cmd/main.go"] != Updated || p.actions()["api/cache/v1/memcached_types.go"] != Kept {
		t.Errorf("%v", p.Files)
	}
	if p := m.upgrade(); !p.Empty() {
		t.Errorf("the second time: %v", p.Set.Paths())
	}
}
