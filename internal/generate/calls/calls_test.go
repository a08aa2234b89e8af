package calls

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/host"
)

// write makes a project of the files. Recipes are written with spaces here.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files = maps.Clone(files)
	files["go.mod"] = "module example.com/x\n"
	for name, text := range files {
		if strings.HasSuffix(strings.ToLower(name), "makefile") || strings.HasSuffix(name, ".mk") {
			text = strings.ReplaceAll(text, "\n    ", "\n\t")
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// found is what Find says, one line for each call and note.
func found(t *testing.T, files map[string]string) []string {
	t.Helper()
	dir := write(t, files)
	f, err := Find(host.OSFiles{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range f.Calls {
		line := c.From + ": " + c.String()
		if c.Dir != "" {
			line = c.From + " in " + c.Dir + ": " + c.String()
		}
		out = append(out, strings.ReplaceAll(line, dir, "ROOT"))
	}
	return append(out, f.Notes...)
}

func TestMakefile(t *testing.T) {
	for name, tt := range map[string]struct {
		makefile string
		want     []string
	}{
		"none": {"all:\n    go build ./...\n", nil},
		"another name": {"CG = $(shell which cg)\nmanifests:\n    $(CG) crd:maxDescLen=0 paths=./api/...\n    docker run tools object paths=./...\n    echo crd paths=./...\n",
			[]string{"Makefile:3: crd:maxDescLen=0 paths=./api/...", "Makefile:4: object paths=./..."}},
		"a list of paths": {"manifests:\n    for d in a b; do controller-gen crd paths={./$$d/v1,./internal/...}; done\n    controller-gen object paths={./c/v1,./internal/...}\n",
			[]string{"Makefile:2: crd paths={./a/v1,./internal/...}", "Makefile:2: crd paths={./b/v1,./internal/...}", "Makefile:3: object paths={./c/v1,./internal/...}"}},
		"kubebuilder's": {`
CONTROLLER_GEN ?= $(LOCALBIN)/controller-gen
.PHONY: manifests
manifests: controller-gen ## Generate.
    $(CONTROLLER_GEN) rbac:roleName=manager-role crd webhook paths="./..." output:crd:artifacts:config=config/crd/bases
generate: controller-gen
    $(CONTROLLER_GEN) object:headerFile="hack/boilerplate.go.txt" paths="./..."
controller-gen: $(CONTROLLER_GEN)
$(CONTROLLER_GEN): $(LOCALBIN)
    test -s $(LOCALBIN)/controller-gen || GOBIN=$(LOCALBIN) go install sigs.k8s.io/controller-tools/cmd/controller-gen@$(CONTROLLER_TOOLS_VERSION)
`, []string{
			"Makefile:5: rbac:roleName=manager-role crd webhook paths=./... output:crd:artifacts:config=config/crd/bases",
			"Makefile:7: object:headerFile=hack/boilerplate.go.txt paths=./...",
		}},
		"options in a variable": {`
CRD_OPTIONS ?= "crd:maxDescLen=0,allowDangerousTypes=true"
PATHS := ./api/...
DIRS = $(PATHS:...=x)
EXTRA = paths=$(PATHS)
EXTRA += output:crd:dir=$(CURDIR)/deploy
manifests:
    @$(CONTROLLER_GEN) $(CRD_OPTIONS) \
      $(EXTRA)
`, []string{"Makefile:8: crd:maxDescLen=0,allowDangerousTypes=true paths=./api/... output:crd:dir=./deploy"}},
		"options of old releases": {`
CRD_OPTIONS ?= "crd:trivialVersions=true,preserveUnknownFields=false"
manifests:
    $(CONTROLLER_GEN) $(CRD_OPTIONS) rbac:roleName=m paths=./...
`, []string{
			"Makefile:4: crd rbac:roleName=m paths=./...",
			"Makefile:4: trivialVersions=true is left out: controller-tools v0.23.0 does not have it",
			"Makefile:4: preserveUnknownFields=false is left out: controller-tools v0.23.0 does not have it",
		}},
		"the ways to name the program": {`
manifests:
    go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.18.0 crd paths=./a
    go tool controller-gen crd paths=./b
    -GOFLAGS=-mod=mod $(GO) run ./vendor/sigs.k8s.io/controller-tools/cmd/controller-gen crd paths=./c
    $(TOOLS)/controller-gen-v0.18.0 crd paths=./d; echo done
    if true; then ${CONTROLLER_GEN} crd paths=./e; fi
    which controller-gen
`, []string{"Makefile:3: crd paths=./a", "Makefile:4: crd paths=./b", "Makefile:5: crd paths=./c", "Makefile:6: crd paths=./d", "Makefile:7: crd paths=./e"}},
		"only what the usual targets do": {`
generate: code
    $(MAKE) crds VERBOSE=1
code:
    controller-gen object paths=./...
crds:
    cd api && controller-gen crd paths=$(CURDIR) output:dir=$(CURDIR)/crds
    controller-gen rbac:roleName=x paths=./...
release:
    controller-gen crd paths=./... output:dir=release
`, []string{"Makefile:5: object paths=./...", "Makefile:7 in api: crd paths=../ output:dir=../crds", "Makefile:8: rbac:roleName=x paths=./..."}},
		"other targets": {"crds: ; controller-gen crd paths=./...\n", []string{"Makefile:1: crd paths=./..."}},
		"a target for each": {"manifests: gen-a gen-b\ngen-a gen-b:\n    controller-gen crd paths=./$@/...\n",
			[]string{"Makefile:3: crd paths=./gen-a/...", "Makefile:3: crd paths=./gen-b/..."}},
		"a loop":                 {"manifests:\n    for d in a b; do (cd $$d && controller-gen crd paths=./...); done\n", []string{"Makefile:2 in a: crd paths=./...", "Makefile:2 in b: crd paths=./..."}},
		"functions":              {"P := $(addprefix paths=./,$(addsuffix /...,a b))\nmanifests:\n    controller-gen crd $(strip $(P)) output:dir=$(shell pwd)/x\n", []string{"Makefile:3: crd paths=./a/... paths=./b/... output:dir=./x"}},
		"a condition":            {"ifeq ($(OLD),true)\nO = crd:maxDescLen=1\nelse\nO = crd:maxDescLen=2\nendif\nifdef O\nP = ./a\nendif\nmanifests:\n    controller-gen $(O) paths=$(P)\n", []string{"Makefile:10: crd:maxDescLen=2 paths=./a"}},
		"a chain of conditions":  {"A = 1\nifeq ($(A),1) # first\nO = crd:maxDescLen=1\nelse ifeq ($(A),2)\nO = crd:maxDescLen=2\nelse\nO = crd:maxDescLen=3\nendif # A\nmanifests:\n    controller-gen $(O) paths=./a\n", []string{"Makefile:10: crd:maxDescLen=1 paths=./a"}},
		"operands in quotes":     {"A = 1\nifeq \"$(A)\" '1'\nO = crd:maxDescLen=1\nendif\nifneq \"$(B)\" \"\"\nO = crd:maxDescLen=2\nendif\nmanifests:\n    controller-gen $(O) paths=./a\n", []string{"Makefile:9: crd:maxDescLen=1 paths=./a"}},
		"indented by a tab":      {"ifdef MAKE\n    O = crd:maxDescLen=1\nendif\nmanifests:\n    controller-gen $(O) paths=$(P)\nX = 1\nifdef MAKE\n    P = ./a\nendif\n", []string{"Makefile:5: crd:maxDescLen=1 paths=./a"}},
		"variables of a target":  {"O = crd\nmanifests: O := crd:maxDescLen=1 # short\nmanifests: P = $(Q)\nQ = ./a\nmanifests: crds\n    controller-gen rbac:roleName=x $(P:%=paths=%)\ncrds: ; controller-gen $(O) paths=$(P)\ngenerate:\n    controller-gen $(O) paths=./b\n", []string{"Makefile:7: crd:maxDescLen=1 paths=./a", "Makefile:6: rbac:roleName=x paths=./a", "Makefile:9: crd paths=./b"}},
		"targets by reference":   {"T = manifests\n$(T:%=%): P = ./api/...\ngenerate:: P = ./b\nmanifests generate:\n    controller-gen crd paths=$(P)\n", []string{"Makefile:5: crd paths=./api/...", "Makefile:5: crd paths=./b"}},
		"comments":               {"OUT=a#b\nP = ./a\\#b # c\nmanifests:\n    controller-gen crd paths='$(P)' output:dir=$(OUT)\n", []string{"Makefile:4: crd paths=./a#b output:dir=a"}},
		"the first that is set":  {"manifests:\n    controller-gen crd paths=./a output:dir=$(or $(TMP),$(OUT),config)/crd\nOUT =\n", []string{"Makefile:2: crd paths=./a output:dir=config/crd"}},
		"the year of today":      {"YEAR ?= $(shell date +%Y)\nmanifests:\n    controller-gen object:year=$(YEAR) paths=./a\n    controller-gen object:year=$$(date -u '+%Y') paths=./b\n", []string{"Makefile:3: object:year=YEAR paths=./a", "Makefile:4: object:year=YEAR paths=./b"}},
		"nothing known":          {"manifests:\n    controller-gen crd paths=$(shell find . -name api) output:dir=x\n", []string{"Makefile:2: this call of controller-gen is ignored: paths=$(shell find . -name api): its value is known only when the command runs"}},
		"there and back":         {"manifests:\n    pushd a; controller-gen crd paths=./...; pushd ../b; popd; cd ../c; cd -; controller-gen object paths=./...; popd; controller-gen rbac:roleName=x paths=./...\n", []string{"Makefile:2 in a: crd paths=./...", "Makefile:2 in a: object paths=./...", "Makefile:2: rbac:roleName=x paths=./..."}},
		"a directory not known":  {"manifests:\n    cd $$DIR && controller-gen crd paths=./...\n", []string{"Makefile:2: this call of controller-gen is ignored: it runs in $DIR, which is known only when the command runs"}},
		"nothing that it can do": {"manifests:\n    controller-gen crd:colour=red paths=./...\n", []string{`Makefile:2: this call of controller-gen is ignored: argument crd: unknown argument "colour"`}},
		"a recipe of its own": {`
manifests: controller-gen
    $(call crds,api/v1,deploy)
    $(foreach d,b a,$(call crds,$(d),out/$(d));)
controller-gen:
    test -s $@ || { DIR=$$(mktemp -d); cd $$DIR && go install sigs.k8s.io/controller-tools/cmd/controller-gen@v0.18.0; }
define crds
    @echo $(1)
    @$(CONTROLLER-GEN) crd paths=./$(1)/... output:dir=$(2)
endef
`, []string{"Makefile:3: crd paths=./api/v1/... output:dir=deploy", "Makefile:4: crd paths=./b/... output:dir=out/b", "Makefile:4: crd paths=./a/... output:dir=out/a"}},
		"lists that are changed": {"DIRS = b a b\nOUT = x.in\nmanifests:\n    $(eval ALL := $(sort $(DIRS)))\n    controller-gen crd $(ALL:%=paths=./%/...) $(patsubst %,paths=./%/v1,$(DIRS)) output:dir=$(OUT:.in=.out)\n    controller-gen object $(foreach d,$(shell ls),paths=./$(d))\n",
			[]string{"Makefile:5: crd paths=./a/... paths=./b/... paths=./b/v1 paths=./a/v1 paths=./b/v1 output:dir=x.out",
				"Makefile:6: this call of controller-gen is ignored: $(foreach d,$(shell ls),paths=./$(d)): its value is known only when the command runs"}},
		"what follows": {"manifests:\n    mkdir -p x; yq --version\n    controller-gen crd paths=./...\n    echo $$(ls x | sort)\n    @yq -i 'del(.x)' $(CURDIR)/config/crd/bases/*.yaml\n    for f in a b; do sed -i 1d $$f; done; go fmt ./...\nother:\n    rm x\n",
			[]string{"Makefile:3: crd paths=./...", "Makefile:5: mysdk does not run what follows controller-gen: yq -i del(.x) config/crd/bases/*.yaml (and 2 more)"}},
		"mysdk with arguments": {"manifests:\n    mysdk generate -- crd:maxDescLen=0 rbac:roleName=boss paths=./api/... output:crd:dir=deploy/crds\n    cd api && mysdk generate --check -- webhook paths=./...\n",
			[]string{"Makefile:2: crd:maxDescLen=0 rbac:roleName=boss paths=./api/... output:crd:dir=deploy/crds", "Makefile:3 in api: webhook paths=./..."}},
		"mysdk for the rest": {"MYSDK ?= mysdk\nmanifests:\n    $(MYSDK) generate -- crd:maxDescLen=0 rbac:roleName=boss paths=./api/... output:crd:dir=deploy/crds\ngenerate:\n    $(MYSDK) generate deepcopy\n",
			[]string{"Makefile:3: crd:maxDescLen=0 rbac:roleName=boss paths=./api/... output:crd:dir=deploy/crds", "Makefile:5: webhook paths=./...",
				"Makefile:5: object:headerFile=hack/boilerplate.go.txt,year=YEAR applyconfiguration:headerFile=hack/boilerplate.go.txt paths=./..."}},
		"mysdk for all else": {"manifests:\n    controller-gen crd paths=./...\n    mysdk generate docs\n    mysdk generate kustomize manifests\nlint:\n    mysdk generate --check-compat=v1\n", []string{"Makefile:2: crd paths=./..."}},
		"mysdk that checks":  {"lint:\n    mysdk generate --lint\nold:\n    controller-gen crd paths=./...\n", []string{"Makefile:4: crd paths=./..."}},
		"mysdk":              {"manifests:\n    \"$(MYSDK)\" generate crds\nMYSDK ?= mysdk\nold:\n    controller-gen crd paths=./...\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := found(t, map[string]string{"Makefile": tt.makefile, "hack/boilerplate.go.txt": ""})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestElsewhere(t *testing.T) {
	const script = `#!/usr/bin/env bash
set -o errexit
SCRIPT_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
OUT=${OUT:-config/crd}
GEN="${GOBIN}/controller-gen"
cd "${SCRIPT_ROOT}"
"${GEN}" crd:maxDescLen=0 \
  paths="${SCRIPT_ROOT}/api/..." output:dir="${OUT}"
`
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"a script": {map[string]string{"hack/update-codegen.sh": script},
			[]string{"hack/update-codegen.sh:7: crd:maxDescLen=0 paths=./api/... output:dir=config/crd"}},
		"a script of the Makefile": {map[string]string{"Makefile": "generate:\n    ./scripts/gen.sh\n", "scripts/gen.sh": script},
			[]string{"scripts/gen.sh:7: crd:maxDescLen=0 paths=./api/... output:dir=config/crd"}},
		"a script with arguments": {map[string]string{"Makefile": "DIR = config/crds\ngenerate:\n    @./hack/crd.sh deploy/$(VERSION) $(DIR)\n", "hack/h.txt": "",
			"hack/crd.sh": "cd \"$( cd -- \"$( dirname -- \"${BASH_SOURCE[0]}\" )\" &> /dev/null && pwd )\"/../\ngo run sigs.k8s.io/controller-tools/cmd/controller-gen object \\\n  object:headerFile=hack/h.txt crd paths=./... output:crd:dir=${2}/bases\n"},
			[]string{"hack/crd.sh:2: object object:headerFile=hack/h.txt crd paths=./... output:crd:dir=config/crds/bases"}},
		"a directive": {map[string]string{"apis/generate.go": "package apis\n\n//go:generate go run -tags generate sigs.k8s.io/controller-tools/cmd/controller-gen object:headerFile=../hack/h.txt paths=./... crd:crdVersions=v1 output:artifacts:config=../package/crds\n", "hack/h.txt": ""},
			[]string{"apis/generate.go:3 in apis: object:headerFile=../hack/h.txt paths=./... crd:crdVersions=v1 output:artifacts:config=../package/crds"}},
		"a directive of the Makefile": {map[string]string{"Makefile": "generate:\n    go generate ./...\n    controller-gen rbac:roleName=x paths=./...\n", "gen.go": "package x\n\n//go:generate controller-gen object paths=.\n"},
			[]string{"gen.go:3: object paths=.", "Makefile:3: rbac:roleName=x paths=./..."}},
		"a script that checks": {map[string]string{"Makefile": "generate: ; ./hack/gen.sh\n", "hack/gen.sh": "diff <(controller-gen --version) <(cat v)\ncontroller-gen crd paths=./...\ntail -n +2 x > y\n"},
			[]string{"hack/gen.sh:2: crd paths=./...", "hack/gen.sh:3: mysdk does not run what follows controller-gen: tail -n +2 x"}},
		"files that are included by a pattern": {map[string]string{"Makefile": "-include make/*/x.mk\n", "make/a/x.mk": "OPTS := crd\n", "make/b/x.mk": "manifests: ; controller-gen $(OPTS) paths=./...\n"},
			[]string{"make/b/x.mk:1: crd paths=./..."}},
		"no script": {map[string]string{"Makefile": "generate:\n    . hack; bash -c x\n    controller-gen crd paths=./a\n", "hack/x.go": "package x\n"},
			[]string{"Makefile:3: crd paths=./a"}},
		"a file that is included": {map[string]string{"Makefile": "include hack/gen.mk\n-include none.mk\nmanifests:\n    $(CONTROLLER_GEN) $(OPTS) paths=./...\n", "hack/gen.mk": "OPTS := crd:maxDescLen=9 # short\n"},
			[]string{"Makefile:4: crd:maxDescLen=9 paths=./..."}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, found(t, tt.files)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMakefile_Depth follows variables of variables, but not for ever.
func TestMakefile_Depth(t *testing.T) {
	const last = 21
	makefile := fmt.Sprintf("V%d = crd\nmanifests: ; controller-gen $(V1) paths=./...\n", last)
	for i := 1; i < last; i++ {
		makefile += fmt.Sprintf("V%d = $(V%d)\n", i, i+1)
	}
	want := []string{"Makefile:2: crd paths=./..."}
	if diff := cmp.Diff(want, found(t, map[string]string{"Makefile": makefile})); diff != "" {
		t.Error(diff)
	}
}

func FuzzMakefile(f *testing.F) {
	f.Add("A := $(B\nmanifests: ; $(A) controller-gen crd paths=$($(A))\ninclude Makefile\nelse\nendif\n${x:a=b}$")
	f.Fuzz(func(t *testing.T, text string) {
		dir := write(t, map[string]string{"Makefile": text})
		if _, err := Find(host.OSFiles{}, dir); err != nil {
			t.Error(err)
		}
	})
}
