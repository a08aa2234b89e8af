package localrun

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kustomize"
)

// manifest is one --apply.
type manifest struct {
	name string // as given
	objs []*unstructured.Unstructured
}

// readManifests reads files, directories with a kustomization, and directories
// of files. All of them are read before anything is started.
func readManifests(ctx context.Context, h host.Host, names []string) ([]manifest, error) {
	var list []manifest
	for _, name := range names {
		objs, err := readManifest(ctx, h, name)
		if err != nil {
			return nil, fmt.Errorf("--apply: %w", err)
		}
		if len(objs) == 0 {
			return nil, clierr.Usagef("name a file with Kubernetes objects, such as one of config/samples", "--apply: %s has no objects", name)
		}
		list = append(list, manifest{name: name, objs: objs})
	}
	return list, nil
}

// readManifest reads one --apply. A directory with a kustomization is built, as
// kubectl apply -k would; of any other, its own files count and no deeper ones.
func readManifest(ctx context.Context, h host.Host, name string) ([]*unstructured.Unstructured, error) {
	full := h.Path(name)
	if _, err := h.Files.Lstat(full); err != nil {
		return nil, clierr.Usagef("check the path", "no file or directory %s", name)
	}
	entries, err := h.Files.ReadDir(full)
	if err != nil {
		return parseFile(h, full, name) // not a directory, nor a link to one
	}
	var files []string
	for _, e := range entries {
		if e.Name() == "kustomization.yaml" || e.Name() == "kustomization.yml" || e.Name() == "Kustomization" {
			return buildDir(ctx, h, full, name)
		}
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) && !e.IsDir() {
			files = append(files, e.Name())
		}
	}
	slices.Sort(files)
	var all []*unstructured.Unstructured
	for _, f := range files {
		objs, err := parseFile(h, filepath.Join(full, f), filepath.Join(name, f))
		if err != nil {
			return nil, err
		}
		all = append(all, objs...)
	}
	return all, nil
}

// parseFile calls the file by the name that the user gave, in errors.
func parseFile(h host.Host, path, name string) ([]*unstructured.Unstructured, error) {
	data, err := h.Files.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return kube.ParseManifests(data, name)
}

// buildDir builds from the directory above, the highest that a kustomization of
// samples refers to.
func buildDir(ctx context.Context, h host.Host, path, name string) ([]*unstructured.Unstructured, error) {
	data, err := kustomize.Build(ctx, kustomize.Source{Dir: filepath.Dir(path), Files: h.Files}, filepath.Base(path))
	if err != nil {
		return nil, err
	}
	return kube.ParseManifests(data, name)
}

// applyManifests applies what --apply named, once. Objects without a namespace
// go where the operator looks first.
func (r *run) applyManifests(ctx context.Context) error {
	r.mu.Lock()
	done := r.appliedIt
	r.mu.Unlock()
	if done {
		return nil
	}
	for _, m := range r.manifests {
		from := r.Host.Now()
		o := kube.ApplyOptions{Force: true}
		if len(r.plan.namespaces) > 0 {
			o.Namespace = r.plan.namespaces[0]
		}
		results, err := r.client.Apply(ctx, m.objs, o)
		if err != nil {
			return fmt.Errorf("--apply %s: %w", m.name, err)
		}
		r.screen.say("applied %s (%s): %s", m.name, r.since(from), summary(results))
	}
	r.mu.Lock()
	r.appliedIt = true
	r.mu.Unlock()
	return nil
}
