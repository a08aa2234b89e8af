package migrate

import (
	"strings"
	"testing"
)

func TestVersionOf(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"the scaffold's": {"package version\n\nvar (\n\tVersion = \"0.0.1\"\n)\n", "0.0.1"},
		"of a release":   {"package version\n\nconst Version = \"v1.2.3-rc.1+b\"\n", "1.2.3-rc.1+b"},
		"not a version":  {"package version\n\nvar Version = \"latest\"\n", ""},
		"no file":        {"", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := newMigration(map[string]string{"version/version.go": test.text}).versionOf(); got != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestRootFiles holds whose file stays where the user and the scaffold have one
// of the same name.
func TestRootFiles(t *testing.T) {
	const makefile = "# Run against the cluster\nrun: generate fmt vet manifests\n\tgo run ./main.go\n\nmanager: generate fmt vet ## Build it.\n\tgo build -o bin/manager main.go\n\nKUSTOMIZE_VERSION ?= v3.8.7\n"
	const dockerfile = "# Build\nFROM golang:1.15 as builder\nWORKDIR /workspace\nCOPY go.mod go.mod\nRUN go mod download\nCOPY main.go main.go\nRUN CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -a -o manager main.go\nUSER 65532:65532\nENTRYPOINT [\"/manager\"]\n"
	tests := map[string]struct {
		files  map[string]string
		name   string
		status Status
		want   []string
	}{
		"a Makefile":               {map[string]string{"Makefile": makefile}, "Makefile.before-migrate", Needs, []string{makefile}},
		"a Dockerfile":             {map[string]string{"Dockerfile": dockerfile}, "Dockerfile.before-migrate", Needs, []string{dockerfile}},
		"the new Makefile":         {map[string]string{"Makefile": makefile}, "Makefile", Changed, []string{"docker-build:"}},
		"the new Dockerfile":       {map[string]string{"Dockerfile": dockerfile}, "Dockerfile", Changed, []string{"-o manager ./cmd", "!golang:1.15"}},
		"a page of one's own":      {map[string]string{"README.md": "# Shop\n"}, "README.md", Clean, []string{"# Shop\n"}},
		"a page in other letters":  {map[string]string{"Readme.md": "# Shop\n"}, "Readme.md", Clean, []string{"# Shop\n"}},
		"none beside that page":    {map[string]string{"Readme.md": "# Shop\n"}, "README.md", "", nil},
		"a header of one's own":    {map[string]string{"hack/boilerplate.go.txt": "// Mine.\n"}, "hack/boilerplate.go.txt", Clean, []string{"// Mine.\n"}},
		"a linter's configuration": {map[string]string{".golangci.yml": "mine: 1\n"}, ".golangci.yml", Clean, []string{"mine: 1\n"}},
		"what git ignores":         {map[string]string{".gitignore": "mine\n"}, ".gitignore", Changed, []string{"mine\n"}},
		"packages for the image": {map[string]string{".dockerignore": "**\n!tools\n!**/*.go\n", "controllers/x.go": "package controllers\n\nimport (\n\t_ \"example.com/shop\"\n\t_ \"example.com/shop/pkg/a\"\n\t_ \"example.com/shop/tools/b\"\n)\n", "hack/x.go": "package hack\n"},
			".dockerignore", Changed, []string{"\n!vendor\n!*.go\n!tools\n\n**/*_test.go\n", "!hack", "!!apis"}},
		"a package for the old main program": {map[string]string{"main.go": strings.Replace(goV3()["main.go"], "import (\n", "import (\n\t_ \"example.com/shop/tools\"\n", 1), "tools/x.go": "package tools\n"},
			".dockerignore", New, []string{"\n!tools\n", "!!controllers"}},
		"a workflow of one's own":  {map[string]string{".github/workflows/test.yml": "mine: 1\n"}, ".github/workflows/test.yml", Clean, []string{"mine: 1\n"}},
		"a file that nobody knows": {map[string]string{"docs/a.md": "x\n"}, "docs/a.md", Clean, []string{"x\n"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := goV3()
			for name, text := range test.files {
				files[name] = text
			}
			p := mustPlan(t, files)
			if e, _ := p.entry(test.name); e.Status != test.status {
				t.Errorf("got %+v, want %q", e, test.status)
			}
			expect(t, content(p.Result), map[string][]string{test.name: test.want})
		})
	}
}

// TestLinks holds that nothing is written to what is a link, or lies below one.
func TestLinks(t *testing.T) {
	files := goV3()
	files["version/version.go"] = "package version\n\nvar Version = \"0.3.0\"\n"
	files["pkg/a/a.go"] = "package a\n\nimport _ \"example.com/shop/pkg/b\"\n"
	m := newMigration(files)
	m.Scaffolder, m.layout, m.links = testScaffolder, LayoutGo3, []string{".dockerignore", "Makefile", ".github"}
	if err := m.fromKubebuilder(); err != nil {
		t.Fatal(err)
	}
	p, err := m.plan()
	if err != nil {
		t.Fatal(err)
	}
	got := content(p.Result)
	for name, text := range got {
		if name == ".dockerignore" || name == "Makefile" || strings.HasPrefix(name, ".github/") {
			t.Errorf("%s is written:\n%s", name, text)
		}
	}
	if got["pkg/a/a.go"] == "" || got["Dockerfile"] == "" {
		t.Errorf("files that are no links are missing: %v", p.Result.Paths())
	}
}
