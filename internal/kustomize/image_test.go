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

// TestAddResources: of the directories, those that have a kustomization and that are not
// reached.
func TestAddResources(t *testing.T) {
	for name, c := range map[string]struct {
		file, resources string
		want            bool
	}{
		"not listed":     {"kustomization.yaml", "../manager", true},
		"another name":   {"kustomization.yml", "../manager", true},
		"listed":         {"kustomization.yaml", "../manager, ../extra", false},
		"with a slash":   {"kustomization.yaml", "../manager, ../extra/", false},
		"by another one": {"kustomization.yaml", "../manager, ../more", false},
	} {
		t.Run(name, func(t *testing.T) {
			src := kustomize.Source{Dir: t.TempDir(), Files: host.OSFiles{}}
			for name, text := range map[string]string{
				"default/" + c.file: "namePrefix: a-\nresources: [" + c.resources + "]\n", "manager/kustomization.yaml": "resources: [manager.yaml]\n", "manager/manager.yaml": deployment,
				"extra/kustomization.yml": "resources: [extra.yaml]\n", "extra/extra.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n",
				"more/Kustomization": "resources: [../extra]\n", "empty/x.yaml": "",
			} {
				full := filepath.Join(src.Dir, name)
				if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			with, added, err := kustomize.AddResources(src, "default", "../manager", "../extra", "../empty", "../nothing")
			if added != c.want || err != nil {
				t.Fatalf("added %v: %v", added, err)
			}
			out, err := kustomize.Build(t.Context(), with, "default")
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(out), "name: a-extra"); n != 1 || !strings.Contains(string(out), "name: a-manager") {
				t.Errorf("extra is there %d times\n%s", n, out)
			}
			if out, err = kustomize.Build(t.Context(), src, "default"); err != nil || strings.Contains(string(out), "name: a-extra") == c.want {
				t.Errorf("the file on disk changed: %v\n%s", err, out)
			}
		})
	}
}
