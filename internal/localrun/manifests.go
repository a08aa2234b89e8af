package localrun

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/manifests"
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
		objs, err := manifests.Read(ctx, h, name)
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

// samples are the paths of --apply within the project, relative to it.
func (r *run) samples() []string {
	var list []string
	for _, name := range r.Apply {
		if rel := r.sample(name); rel != "" {
			list = append(list, rel)
		}
	}
	return list
}

// sample is a path of --apply relative to the project; empty if it is elsewhere.
func (r *run) sample(name string) string {
	rel, err := filepath.Rel(r.Dir, r.Host.Path(name))
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// rereadManifests reads what --apply named in the project again; settle applies what
// changed. The rest is not watched, and may be a pipe, which has it once.
func (r *run) rereadManifests(ctx context.Context) error {
	list := slices.Clone(r.manifests)
	for i, m := range list {
		if r.sample(m.name) == "" {
			continue
		}
		again, err := readManifests(ctx, r.Host, []string{m.name})
		if err != nil {
			return err
		}
		list[i] = again[0]
	}
	r.applying.Lock()
	defer r.applying.Unlock()
	r.manifests = list
	return nil
}

// applyManifests applies what --apply named and was not applied as it is now.
// Objects without a namespace go where the operator looks first.
func (r *run) applyManifests(ctx context.Context) error {
	r.mu.Lock()
	dying := len(r.dying) > 0
	r.mu.Unlock()
	if dying {
		return nil // nothing can be created until then; outlive settles again
	}
	r.applying.Lock()
	defer r.applying.Unlock()
	for _, m := range r.manifests {
		from := r.Host.Now()
		changed, sums := changedSince(r.applied, m.objs, digestKey)
		if len(changed) == 0 {
			continue
		}
		o := kube.ApplyOptions{Force: true}
		if len(r.WatchNamespaces) > 0 {
			o.Namespace = r.WatchNamespaces[0]
		}
		results, err := r.client.Apply(ctx, changed, o)
		if kind, ok := kube.Unknown(err); ok { // all CRDs of the project are in the cluster
			hint := fmt.Sprintf("config/crd/kustomization.yaml lists no CRD of kind %s in %s: add it to resources there, or apply it first: %s apply --server-side -f FILE", kind.Kind, kind.GroupVersion(), r.client.Kubectl())
			return clierr.Failedf(hint, "--apply %s: %w", m.name, err)
		}
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

// changedSince picks the objects that are not as they were by their digests, and
// returns the digests of all as of today.
func changedSince(was map[string]string, objs []*unstructured.Unstructured, key func(*unstructured.Unstructured) string,
) (changed []*unstructured.Unstructured, sums map[string]string) {
	sums = map[string]string{}
	for _, u := range objs {
		sum := digest(u.Object)
		if was[key(u)] != sum {
			changed = append(changed, u)
		}
		sums[key(u)] = sum
	}
	return changed, sums
}

// digestKey begins with the kind and its group, and a space.
func digestKey(u *unstructured.Unstructured) string {
	return u.GroupVersionKind().GroupKind().String() + " " + u.GetAPIVersion() + " " + u.GetNamespace() + "/" + u.GetName()
}
