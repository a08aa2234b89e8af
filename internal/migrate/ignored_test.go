package migrate

import (
	"strings"
	"testing"

	"github.com/example/mysdk/internal/clierr"
)

// TestPathOfProject holds that types are looked for where PROJECT says that
// they are.
func TestPathOfProject(t *testing.T) {
	files := goV3()
	swap(files, "PROJECT", "path: example.com/shop/apis/cache/v1", "path: example.com/shop/api/v1")
	for _, name := range []string{"memcached_types.go", "memcached_webhook.go"} {
		files["api/v1/"+name] = files["apis/cache/v1/"+name]
		delete(files, "apis/cache/v1/"+name)
	}
	swap(files, "main.go", "shop/apis/cache/v1", "shop/api/v1")
	swap(files, "controllers/cache/memcached_controller.go", "shop/apis/cache/v1", "shop/api/v1")
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"PROJECT": {"path: example.com/shop/api/cache/v1\n"}, "api/cache/v1/memcached_types.go": {"type Memcached struct"}, hookTarget: {"WithDefaulter("},
		newMain: {`"example.com/shop/api/cache/v1"`, `!"example.com/shop/api/v1"`}, "internal/controller/cache/memcached_controller.go": {`"example.com/shop/api/cache/v1"`},
	})
	if _, there := got["api/v1/memcached_types.go"]; there {
		t.Error("the types are at their old place, too")
	}
}

// TestSkipped holds that what tools have put into a checkout is not carried along: a
// worktree's .git would have git write to that one.
func TestSkipped(t *testing.T) {
	files := goV3()
	for _, name := range []string{".git", "bin/controller-gen", "testbin/bin/etcd", "build/_output/x"} {
		files[name] = "x"
	}
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{ReportName: {"- bin has programs", "- testbin has programs", "!build/_output"}})
	for name := range got {
		if name == ".git" || strings.HasPrefix(name, "bin/") || strings.HasPrefix(name, "testbin/") || strings.HasPrefix(name, "build/") {
			t.Errorf("%s is carried over", name)
		}
	}
}

// TestNestedModules holds that modules below the root stay as they are, and
// that those whose code would move are refused.
func TestNestedModules(t *testing.T) {
	files := goV3()
	const broken = "package {{ .Name }}\n"
	files["hack/tools/go.mod"], files["hack/tools/tool.go"] = "module example.com/tools\n", broken
	p := mustPlan(t, files)
	for _, name := range []string{"hack/tools/go.mod", "hack/tools/tool.go"} {
		if e, _ := p.entry(name); e.Status != Clean {
			t.Errorf("%s: %+v", name, e)
		}
	}
	expect(t, content(p.Result), map[string][]string{ReportName: {"- hack/tools is a module of its own, and stays as it is"}})

	for name, files := range map[string]map[string]string{"apis": goV3(), "apis/cache/v1": goV3(), "pkg/apis": memcached(t)} {
		files[name+"/go.mod"] = "module example.com/x\n"
		_, err := makePlan(t, files)
		if err == nil || !strings.Contains(err.Error(), name+"/go.mod") || clierr.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIgnoredGo holds that what the go command does not look at is not looked
// at.
func TestIgnoredGo(t *testing.T) {
	const broken = "package {{ .Name }}\n"
	for name, files := range map[string]map[string]string{"v0": memcached(t), "v3": goV3()} {
		t.Run(name, func(t *testing.T) {
			places := []string{"testdata/a.go", "internal/x/testdata/b/c.go", "_old/a.go", ".hidden/a.go", "docs/_a.go", "docs/.a.go"}
			for _, place := range places {
				files[place] = broken
			}
			p := mustPlan(t, files)
			for _, place := range places {
				if e, _ := p.entry(place); e.Status != Clean {
					t.Errorf("%s: %+v", place, e)
				}
			}
		})
	}
	files := goV3()
	files["controllers/cache/testdata/a.go"] = broken
	if e, _ := mustPlan(t, files).entry("internal/controller/cache/testdata/a.go"); e.Status != Clean {
		t.Errorf("what a package's tests read does not go with it: %+v", e)
	}
	files["docs/a.go"] = broken
	if _, err := makePlan(t, files); err == nil || !strings.Contains(err.Error(), "docs/a.go:1:9") {
		t.Errorf("got %v", err)
	}
}

// TestVendored holds that vendored code goes with the go.mod that it is of.
func TestVendored(t *testing.T) {
	files := goV3()
	files["vendor/modules.txt"], files["vendor/x/x.go"] = "# x\n", "package {{"
	p := mustPlan(t, files)
	if e, _ := p.entry("vendor"); e.Status != Dropped {
		t.Errorf("%+v", e)
	}
	for _, name := range []string{"vendor/modules.txt", "vendor/x/x.go"} {
		if f, _ := p.Changes.Get(name); !f.Removed {
			t.Errorf("%s stays", name)
		}
	}
}

// TestWithoutModule holds what is said of projects without go.mod.
func TestWithoutModule(t *testing.T) {
	files := goV3()
	delete(files, "go.mod")
	_, err := makePlan(t, files)
	if err == nil || strings.Contains(err.Error(), "cmd/manager") || !strings.Contains(err.Error(), "there is no go.mod") || !strings.Contains(clierr.HintOf(err), "go mod init") {
		t.Errorf("got %v, %s", err, clierr.HintOf(err))
	}
}

// TestOwnReport holds that a page of the user's with the report's name is kept.
func TestOwnReport(t *testing.T) {
	for name, files := range map[string]map[string]string{"v0": memcached(t), "v3": goV3()} {
		t.Run(name, func(t *testing.T) {
			files[ReportName] = "# How we moved\n"
			p := mustPlan(t, files)
			expect(t, content(p.Result), map[string][]string{ReportName + ".before-migrate": {"# How we moved\n"}, ReportName: {"# Migration from", "`MIGRATION.md.before-migrate`: "}})
			n := 0
			for _, e := range p.Files {
				if e.Path == ReportName {
					n++
				}
			}
			if n != 1 {
				t.Errorf("it is listed %d times", n)
			}
			files[ReportName] = "# Migration from the layout of operator-sdk v0.x\n"
			if _, ok := mustPlan(t, files).entry(ReportName + ".before-migrate"); ok {
				t.Error("a report is kept")
			}
		})
	}
}

// TestSyntaxErrorIsTheSame holds that of several errors the same is told every
// time.
func TestSyntaxErrorIsTheSame(t *testing.T) {
	files := memcached(t)
	files["pkg/apis/cache/v1alpha1/memcached_types.go"] += "\ntype X struct{}\n"
	files["pkg/apis/apis.go"], files["pkg/controller/controller.go"] = "package {", "package ("
	for range 20 {
		if _, err := makePlan(t, files); err == nil || !strings.Contains(err.Error(), "pkg/apis/apis.go:1:9") {
			t.Fatalf("got %v", err)
		}
	}
}
