package localrun

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

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

// samples are the paths of --apply within the project, relative to it.
func (r *run) samples() []string {
	var list []string
	for _, name := range r.Apply {
		rel, err := filepath.Rel(r.Dir, r.Host.Path(name))
		if rel = filepath.ToSlash(rel); err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, "../") {
			list = append(list, rel)
		}
	}
	return list
}

// rereadManifests reads what --apply named again; settle applies what changed.
func (r *run) rereadManifests(ctx context.Context) error {
	manifests, err := readManifests(ctx, r.Host, r.Apply)
	if err != nil {
		return err
	}
	r.applying.Lock()
	defer r.applying.Unlock()
	r.manifests = manifests
	return nil
}

// applyManifests applies what --apply named and was not applied as it is now.
// Objects without a namespace go where the operator looks first.
func (r *run) applyManifests(ctx context.Context) error {
	r.applying.Lock()
	defer r.applying.Unlock()
	for _, m := range r.manifests {
		from := r.Host.Now()
		changed, sums, err := r.notApplied(m)
		if err != nil {
			return fmt.Errorf("--apply %s: %w", m.name, err)
		}
		if len(changed) == 0 {
			continue
		}
		o := kube.ApplyOptions{Force: true}
		if len(r.plan.namespaces) > 0 {
			o.Namespace = r.plan.namespaces[0]
		}
		results, err := r.client.Apply(ctx, changed, o)
		if err != nil {
			return fmt.Errorf("--apply %s: %w", m.name, err)
		}
		maps.Copy(r.applied, sums)
		r.screen.say("applied %s (%s): %s", m.name, r.since(from), summary(results))
		for _, o := range results {
			r.warnOfUnwatched(o.Ref)
		}
	}
	return nil
}

// notApplied picks the objects that were not applied as they are now.
func (r *run) notApplied(m manifest) ([]*unstructured.Unstructured, map[string]string, error) {
	var changed []*unstructured.Unstructured
	sums := map[string]string{}
	for _, u := range m.objs {
		sum, err := digest(u)
		if err != nil {
			return nil, nil, err
		}
		key := u.GroupVersionKind().String() + " " + u.GetNamespace() + "/" + u.GetName()
		if r.applied[key] != sum {
			changed, sums[key] = append(changed, u), sum
		}
	}
	return changed, sums, nil
}
