package kustomize_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kustomize"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
spec:
  template:
    spec:
      containers:
      - {name: manager, image: "controller:latest"}
      - {name: side, image: "side:v1"}
`

func TestSetImage(t *testing.T) {
	for name, c := range map[string]struct {
		kustomization, newName, tag, digest string
		want                                []string
	}{
		"none yet":             {"resources: [manager.yaml]\n", "reg.example.com:5000/x/op", "v2", "", []string{"image: reg.example.com:5000/x/op:v2", "image: side:v1"}},
		"set before":           {"resources: [manager.yaml]\nimages:\n- {name: controller, newName: old, newTag: v1}\n- {name: side, newTag: v9}\n", "new", "v2", "", []string{"image: new:v2", "image: side:v9"}},
		"a tag that is a date": {"resources: [manager.yaml]\nimages:\n- name: side\n  newTag: 2024-01-15\n", "new", "v2", "", []string{"image: new:v2", "image: side:2024-01-15\n"}},
		"with a digest":        {"resources: [manager.yaml]\n", "new", "", "sha256:" + strings.Repeat("a", 64), []string{"image: new@sha256:aaaa"}},
		"neither of two":       {"resources: [manager.yaml]\n", "new", "", "", []string{"image: new:latest"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, data := range map[string]string{"manager.yaml": deployment, "kustomization.yaml": c.kustomization} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			src, err := kustomize.SetImage(kustomize.Source{Dir: dir, Files: host.OSFiles{}}, "kustomization.yaml", "controller", c.newName, c.tag, c.digest)
			if err != nil {
				t.Fatal(err)
			}
			out, err := kustomize.Build(t.Context(), src, ".")
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("lacks %q:\n%s", want, out)
				}
			}
			if data, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml")); err != nil || string(data) != c.kustomization {
				t.Errorf("the file on disk changed: %s %v", data, err)
			}
		})
	}
	if _, err := kustomize.SetImage(kustomize.Source{Dir: t.TempDir(), Files: host.OSFiles{}}, "kustomization.yaml", "x", "y", "", ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestAddResources: of the directories, those that exist and are not listed.
func TestAddResources(t *testing.T) {
	const file = "default/kustomization.yaml"
	src := kustomize.Source{Dir: t.TempDir(), Files: host.OSFiles{}}
	for name, text := range map[string]string{
		file: "namePrefix: a-\nresources: [../manager]\n", "manager/kustomization.yaml": "resources: [manager.yaml]\n", "manager/manager.yaml": deployment,
		"extra/kustomization.yaml": "resources: [extra.yaml]\n", "extra/extra.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n",
	} {
		full := filepath.Join(src.Dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, added, err := kustomize.AddResources(src, file, "../manager", "../nothing"); added || err != nil {
		t.Errorf("nothing to add: %v %v", added, err)
	}
	with, added, err := kustomize.AddResources(src, file, "../manager", "../extra", "../nothing")
	if !added || err != nil {
		t.Fatalf("added %v: %v", added, err)
	}
	for src, want := range map[*kustomize.Source]bool{&src: false, &with: true} {
		out, err := kustomize.Build(t.Context(), *src, "default")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), "name: a-extra") != want || !strings.Contains(string(out), "name: a-manager") {
			t.Errorf("with extra: %v\n%s", want, out)
		}
	}
}
