package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissingTargets(t *testing.T) {
	tests := map[string]struct {
		mine string
		want []string
	}{
		"none":                {"", nil},
		"those that are":      {"build: test\n\tgo build\ntest:\n", nil},
		"one's own":           {"ship: build\n\ttrue\n", []string{"ship"}},
		"a space before it":   {"ship : build\n", []string{"ship"}},
		"at the end":          {"ship:", []string{"ship"}},
		"twice":               {"ship: a\nship: b\n", []string{"ship"}},
		"variables":           {"A := 1\nB = x:y\nC ?= 2\nD:=3\n", nil},
		"special ones":        {".PHONY: ship\n.DEFAULT_GOAL := x\n", nil},
		"what is in a recipe": {"test:\n\tship: it\n", nil},
		"files":               {"bin/tool: x\n", []string{"bin/tool"}},
		"double colons":       {"ship:: x\n", []string{"ship"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(test.want, missingTargets([]byte(test.mine), []byte("all: build\nbuild:\ntest: build\n"))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

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
		"a Makefile of old":             {map[string]string{"Makefile": makefile}, "Makefile", Changed, []string{"docker-build:"}},
		"which is not kept":             {map[string]string{"Makefile": makefile}, "Makefile.before-migrate", "", nil},
		"a Makefile with a target more": {map[string]string{"Makefile": makefile + "ship:\n\ttrue\n"}, "Makefile.before-migrate", Needs, []string{"ship:"}},
		"a recipe of one's own":         {map[string]string{"Makefile": makefile + "test: generate fmt vet manifests\n\tgo test -race ./... && ./hack/check.sh\n"}, "Makefile.before-migrate", Needs, []string{"hack/check.sh"}},
		"a version of one's own":        {map[string]string{"Makefile": makefile + "VERSION ?= 1.4.2\n"}, "Makefile.before-migrate", Needs, []string{"VERSION ?= 1.4.2"}},
		"flags of the compiler":         {map[string]string{"Dockerfile": strings.Replace(dockerfile, "go build -a", "go build -ldflags=-s -a", 1)}, "Dockerfile.before-migrate", Needs, []string{"-ldflags=-s"}},
		"a Dockerfile of old":           {map[string]string{"Dockerfile": dockerfile}, "Dockerfile.before-migrate", "", nil},
		"a Dockerfile with a line more": {map[string]string{"Dockerfile": dockerfile + "LABEL a=b\n"}, "Dockerfile.before-migrate", Needs, []string{"LABEL a=b"}},
		"the new Dockerfile":            {map[string]string{"Dockerfile": dockerfile + "LABEL a=b\n"}, "Dockerfile", Changed, []string{"-o manager ./cmd", "!LABEL"}},
		"a page of one's own":           {map[string]string{"README.md": "# Shop\n"}, "README.md", Clean, []string{"# Shop\n"}},
		"a header of one's own":         {map[string]string{"hack/boilerplate.go.txt": "// Mine.\n"}, "hack/boilerplate.go.txt", Clean, []string{"// Mine.\n"}},
		"a linter's configuration":      {map[string]string{".golangci.yml": "mine: 1\n"}, ".golangci.yml", Clean, []string{"mine: 1\n"}},
		"what git ignores":              {map[string]string{".gitignore": "mine\n"}, ".gitignore", Changed, []string{"mine\n"}},
		"packages for the image": {map[string]string{".dockerignore": "**\n!tools\n!**/*.go\n", "controllers/x.go": "package controllers\n\nimport (\n\t_ \"example.com/shop\"\n\t_ \"example.com/shop/pkg/a\"\n\t_ \"example.com/shop/tools/b\"\n)\n", "hack/x.go": "package hack\n"},
			".dockerignore", Changed, []string{"\n!vendor\n!*.go\n!tools\n\n**/*_test.go\n", "!hack", "!!apis"}},
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
