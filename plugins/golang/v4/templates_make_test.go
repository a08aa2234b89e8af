package v4_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// makeTargets is what each target of the Makefile runs, tool and arguments, in order.
var makeTargets = map[string][]string{
	"generate":  {"mysdk generate deepcopy"},
	"manifests": {"mysdk generate crds rbac webhooks"},
	"fmt":       {"go fmt ./..."},
	"vet":       {"go vet ./..."},
	"lint":      {"go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.2 run"},
	"test":      {"mysdk generate deepcopy", "mysdk generate crds rbac webhooks", "mysdk test ./..."},
	"run":       {"mysdk generate deepcopy", "mysdk run local"},
	"build": {
		"mysdk generate deepcopy", "mysdk generate crds rbac webhooks", "go fmt ./...", "go vet ./...", "go build -o bin/manager ./cmd",
	},
	"all": {
		"mysdk generate deepcopy", "mysdk generate crds rbac webhooks", "go fmt ./...", "go vet ./...", "go build -o bin/manager ./cmd",
	},
	"docker-build": {"docker build -t controller:latest ."},
	"docker-push":  {"docker push controller:latest"},
	"docker-buildx": {
		"docker buildx inspect shop-builder",
		"docker buildx build --builder shop-builder --platform=linux/arm64,linux/amd64,linux/s390x,linux/ppc64le -t controller:latest --push .",
	},
	"build-installer": {"mysdk generate deepcopy", "mysdk generate crds rbac webhooks", "mysdk build-installer --image=controller:latest"},
	"install":         {"mysdk generate crds rbac webhooks", "mysdk install"},
	"uninstall":       {"mysdk uninstall"},
	"deploy":          {"mysdk generate crds rbac webhooks", "mysdk deploy --image=controller:latest"},
	"undeploy":        {"mysdk undeploy"},
	"bundle": {
		"mysdk generate crds rbac webhooks", "mysdk generate kustomize manifests -q",
		"mysdk bundle generate --image=controller:latest -q --overwrite --version=0.0.1", "mysdk bundle validate bundle",
	},
	"bundle-build":  {"mysdk bundle build --image=example.com/shop-bundle:v0.0.1"},
	"bundle-push":   {"mysdk bundle push --image=example.com/shop-bundle:v0.0.1"},
	"catalog-build": {"mysdk bundle catalog --tag=example.com/shop-catalog:v0.0.1 --bundles=example.com/shop-bundle:v0.0.1"},
}

// workshop is a project in a directory with a space in its name, with stand-ins for the tools in another.
type workshop struct{ project, bin, log string }

func newWorkshop(t *testing.T) workshop {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed: ", err)
	}
	root := t.TempDir()
	w := workshop{filepath.Join(root, "my project"), filepath.Join(root, "my tools"), filepath.Join(root, "log")}
	const standIn = "#!/bin/sh\necho \"$(basename \"$0\") $*\" >>\"$LOG\"\nexit \"${STATUS:-0}\"\n"
	for _, tool := range []string{"mysdk", "go", "docker"} {
		writeFile(t, filepath.Join(w.bin, tool), standIn, 0o755)
	}
	writeFile(t, filepath.Join(w.project, "Makefile"), render(t, "init", newProject())["Makefile"], 0o644)
	return w
}

func writeFile(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// make runs make and returns what it printed and the tools that it called.
func (w workshop) make(t *testing.T, environment []string, args ...string) (output string, calls []string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"MYSDK=" + filepath.Join(w.bin, "mysdk")}, args...)...)
	cmd.Dir = w.project
	cmd.Env = append([]string{"LOG=" + w.log, "PATH=" + w.bin + string(filepath.ListSeparator) + os.Getenv("PATH")}, environment...)
	out, err := cmd.CombinedOutput()
	text, readErr := os.ReadFile(w.log)
	if readErr != nil && !os.IsNotExist(readErr) {
		t.Fatal(readErr)
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			calls = append(calls, line)
		}
	}
	return string(out), calls, err
}

func TestMakeTargets(t *testing.T) {
	for target, want := range makeTargets {
		t.Run(target, func(t *testing.T) {
			output, calls, err := newWorkshop(t).make(t, nil, "-j4", target)
			if err != nil {
				t.Fatalf("make %s: %v\n%s", target, err, output)
			}
			if diff := cmp.Diff(want, calls); diff != "" {
				t.Errorf("make %s runs (-want +got):\n%s", target, diff)
			}
		})
	}
}

func TestMakeStopsWhereAToolFails(t *testing.T) {
	for target, all := range makeTargets {
		t.Run(target, func(t *testing.T) {
			output, calls, err := newWorkshop(t).make(t, []string{"STATUS=7"}, target)
			if err == nil {
				t.Errorf("make %s succeeds although its tools fail:\n%s", target, output)
			}
			want := all[:1:1]
			if target == "docker-buildx" { // a builder that is not there is made
				want = append(want, "docker buildx create --name shop-builder")
			}
			if diff := cmp.Diff(want, calls); diff != "" {
				t.Errorf("make %s goes on after a failure (-want +got):\n%s", target, diff)
			}
		})
	}
}

func TestMakeVariables(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string // the last command
	}{
		"image":             {[]string{"deploy", "IMG=registry.local/shop:v2"}, "mysdk deploy --image=registry.local/shop:v2"},
		"flags":             {[]string{"run", "ARGS=--watch-namespace default"}, "mysdk run local --watch-namespace default"},
		"flags of tests":    {[]string{"test", "ARGS=-run TestA"}, "mysdk test -run TestA ./..."},
		"base image":        {[]string{"docker-build", "BASE_IMAGE=mirror/golang:1"}, "docker build --build-arg BASE_IMAGE=mirror/golang:1 -t controller:latest ."},
		"other container":   {[]string{"docker-push", "CONTAINER_TOOL=docker --debug"}, "docker --debug push controller:latest"},
		"installed linter":  {[]string{"lint", "GOLANGCI_LINT=docker lint"}, "docker lint run"},
		"version":           {[]string{"bundle-build", "VERSION=1.2.3"}, "mysdk bundle build --image=example.com/shop-bundle:v1.2.3"},
		"catalog from base": {[]string{"catalog-build", "CATALOG_IMG=c:1", "BUNDLE_IMGS=a:1,b:2", "CATALOG_BASE_IMG=old:1"}, "mysdk bundle catalog --tag=c:1 --bundles=a:1,b:2 --from-index=old:1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			output, calls, err := newWorkshop(t).make(t, nil, test.args...)
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			if got := calls[len(calls)-1]; got != test.want {
				t.Errorf("make %s runs\n%s\nwant\n%s", test.args, got, test.want)
			}
		})
	}
	output, calls, err := newWorkshop(t).make(t, nil, "bundle", "CHANNELS=candidate,stable", "DEFAULT_CHANNEL=stable", "USE_IMAGE_DIGESTS=true")
	const want = "mysdk bundle generate --image=controller:latest -q --overwrite --version=0.0.1 --channels=candidate,stable --default-channel=stable --use-image-digests"
	if err != nil || !slices.Contains(calls, want) {
		t.Errorf("make bundle runs %s: want %s\n%v\n%s", calls, want, err, output)
	}
}

func TestMakeHelpListsEveryTarget(t *testing.T) {
	output, _, err := newWorkshop(t).make(t, nil, "help")
	if err != nil {
		t.Fatalf("make help: %v\n%s", err, output)
	}
	var got []string
	for _, match := range regexp.MustCompile(`(?m)^  ([a-z-]+) +[A-Z].*\.$`).FindAllStringSubmatch(output, -1) {
		got = append(got, match[1])
	}
	slices.Sort(got)
	want := []string{"help"}
	for target := range makeTargets {
		if target != "all" {
			want = append(want, target)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("make help lists (-want +got):\n%s\nin\n%s", diff, output)
	}
}

// A recipe that fails must fail make, and nothing may be fetched behind the user's back.
func TestMakefileHidesNoFailure(t *testing.T) {
	makefile := render(t, "init", newProject())["Makefile"]
	forbidden := regexp.MustCompile(`\|\|| \| |curl|wget|https?:|^\t[-@]*-|;\s*true`)
	for i, line := range strings.Split(makefile, "\n") {
		if forbidden.MatchString(line) {
			t.Errorf("Makefile:%d: %s", i+1, line)
		}
	}
	for _, match := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(makefile, -1) {
		if !strings.Contains(makefile, "\n.PHONY: "+match[1]+"\n") {
			t.Errorf("target %s is not .PHONY: a file of that name would stop it", match[1])
		}
	}
}

func TestDockerfile(t *testing.T) {
	files := render(t, "init", newProject())
	dockerfile := files["Dockerfile"]
	for _, want := range []string{
		"ARG BASE_IMAGE=golang:1.26\n", "FROM --platform=$BUILDPLATFORM ${BASE_IMAGE} AS builder\n",
		"FROM gcr.io/distroless/static:nonroot\n", "USER 65532:65532\n",
		"GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH}", "ENTRYPOINT [\"/manager\"]\n",
	} {
		if !strings.Contains(dockerfile, want) {
			t.Errorf("Dockerfile does not contain %q", want)
		}
	}
	if strings.Contains(dockerfile, ":latest") || strings.Contains(dockerfile, "http") {
		t.Error("Dockerfile names a moving tag or a URL")
	}
	modules, sources := strings.Index(dockerfile, "RUN go mod download"), strings.Index(dockerfile, "COPY . .")
	if modules < 0 || sources < modules {
		t.Error("modules are not downloaded before the sources are copied: every change downloads them again")
	}
	for _, needed := range []string{"go.mod", "go.sum", "api", "cmd", "internal"} {
		if !strings.Contains(files[".dockerignore"], "\n!"+needed+"\n") {
			t.Errorf(".dockerignore keeps %s out of the image build", needed)
		}
	}
}

func TestWorkflows(t *testing.T) {
	action := regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40}$`)
	files := render(t, "init", newProject())
	for _, name := range []string{".github/workflows/test.yml", ".github/workflows/lint.yml"} {
		var workflow struct {
			On          map[string]any
			Permissions map[string]string
			Jobs        map[string]struct {
				Permissions map[string]string
				Steps       []struct{ Name, Uses, Run string }
			}
		}
		// YAML 1.1 reads a bare on as true.
		if err := yaml.Unmarshal([]byte(strings.Replace(files[name], "\non:", "\n\"on\":", 1)), &workflow); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(workflow.On) != 2 || len(workflow.Permissions) > 0 || len(workflow.Jobs) != 1 {
			t.Errorf("%s: %+v", name, workflow)
		}
		for _, job := range workflow.Jobs {
			if diff := cmp.Diff(map[string]string{"contents": "read"}, job.Permissions); diff != "" {
				t.Errorf("%s: permissions (-want +got):\n%s", name, diff)
			}
			for _, step := range job.Steps {
				if (step.Uses == "") == (step.Run == "") || step.Uses != "" && !action.MatchString(step.Uses) {
					t.Errorf("%s: step %q: want a command, or an action of GitHub's own pinned to a commit", name, step.Name)
				}
			}
		}
	}
}

// A workflow with mysdk needs the Go that mysdk needs, which go.mod may not name;
// and each has a build cache of its own, since the first to finish fills one they share.
func TestWorkflowsSetUpGo(t *testing.T) {
	files := render(t, "init", newProject())
	upgrade, err := v4.Plugin{}.Workflow()
	if err != nil {
		t.Fatal(err)
	}
	files[v4.WorkflowPath] = string(upgrade)
	for _, name := range []string{".github/workflows/test.yml", ".github/workflows/lint.yml", v4.WorkflowPath} {
		step := regexp.MustCompile(`(?s)uses: actions/setup-go@.*?\n\n`).FindString(files[name])
		if !strings.Contains(step, "cache-dependency-path: |\n            go.sum\n            "+name+"\n") {
			t.Errorf("%s: shares its cache:\n%s", name, step)
		}
		if strings.Contains(files[name], "go install github.com/example/mysdk") && !strings.Contains(step, "go-version: stable ") {
			t.Errorf("%s: the Go of go.mod may be older than mysdk's:\n%s", name, step)
		}
	}
}

// The version that CI installs must be one that the go command knows.
func TestInstalledVersion(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "v1.2.3", "(devel)": "latest"} {
		files := render(t, "init", newProject(func(d *v4.Data) { d.CLIVersion = version }))
		for _, name := range []string{".github/workflows/test.yml", ".devcontainer/devcontainer.json", "README.md"} {
			if !strings.Contains(files[name], "go install github.com/example/mysdk/cmd/...@"+want) ||
				!regexp.MustCompile("CGO_ENABLED(=|: )0").MatchString(files[name]) {
				t.Errorf("%s of mysdk %s does not install %s without cgo", name, version, want)
			}
		}
	}
}

func TestDevcontainer(t *testing.T) {
	var got struct{ Name, Image string }
	if err := json.Unmarshal([]byte(render(t, "init", newProject())[".devcontainer/devcontainer.json"]), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "shop" || got.Image != "golang:1.26" {
		t.Errorf("%+v", got)
	}
}

// What README and AGENTS tell the reader to type exists.
func TestDocumentsNameRealTargets(t *testing.T) {
	for name, data := range layouts() {
		t.Run(name, func(t *testing.T) {
			files := render(t, "init", data)
			for _, document := range []string{"README.md", "AGENTS.md"} {
				found := 0
				for _, match := range regexp.MustCompile("(?m)(?:^|`)make ([a-z -]+)").FindAllStringSubmatch(files[document], -1) {
					for _, target := range strings.Fields(match[1]) {
						found++
						if !strings.Contains(files["Makefile"], "\n"+target+":") {
							t.Errorf("%s: make has no target %q", document, target)
						}
					}
				}
				if found < 4 {
					t.Errorf("%s names %d targets", document, found)
				}
			}
		})
	}
}
