package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/explore"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/manifests"
)

// basesDir is where a project keeps the base of its ClusterServiceVersion.
const basesDir = "config/manifests/bases"

// exploreSamples are objects of the project's kinds: its samples, for kinds that
// have none the examples of its ClusterServiceVersion, and else what the schema
// asks for at least. Notes say where they are not the first. Beside them are the
// objects that samples refer to.
func exploreSamples(ctx context.Context, f *cli.Factory, crds []*unstructured.Unstructured, kinds []string) (what explore.Options, err error) {
	none := slices.DeleteFunc(slices.Clone(kinds), func(k string) bool {
		return slices.ContainsFunc(crds, func(crd *unstructured.Unstructured) bool { return strings.EqualFold(k, kube.ServedKind(crd).Kind) })
	})
	if len(none) > 0 {
		return what, clierr.Usagef("name a kind of this project, or leave --kind out", "explore: the project has no kind %s", strings.Join(none, " or "))
	}
	written, notes, err := writtenSamples(ctx, f)
	if err != nil {
		return what, err
	}
	below, unread := belowSamples(f.Host, manifests.Samples)
	notes = append(notes, unread...)
	for _, crd := range crds {
		kind := kube.ServedKind(crd).Kind
		if len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k string) bool { return strings.EqualFold(k, kind) }) {
			continue
		}
		minimal := explore.Minimal(crd)
		list, from := ofKind(crd, written), manifests.Samples
		if len(list) == 0 {
			list = served(crd, ofKind(crd, below))
		}
		if len(list) == 0 {
			examples, err := almExamples(ctx, f)
			if err != nil {
				return what, err
			}
			list, from = ofKind(crd, examples), "the examples in "+basesDir
			if len(list) == 0 {
				list, from = []*unstructured.Unstructured{minimal}, "the schema of "+kind
			}
			notes = append(notes, fmt.Sprintf("%s has no %s, so it is from %s; write one for better results", manifests.Samples, kind, from))
		}
		for _, u := range list {
			u.SetNamespace("")
			if spec, written := u.Object["spec"]; written && spec == nil { // nothing but a comment, as kubebuilder writes it
				u.Object["spec"] = minimal.Object["spec"]
			}
			what.Samples = append(what.Samples, explore.Sample{Object: u, CRD: crd, File: from})
		}
	}
	if what.Beside = besideSamples(written); len(what.Beside) == 0 {
		what.Beside = besideSamples(below)
	}
	what.Notes = notes
	return what, nil
}

// writtenSamples are the samples that the project has. Where their kustomization
// cannot be built, the files that can be read do, and a note says so.
func writtenSamples(ctx context.Context, f *cli.Factory) (list []*unstructured.Unstructured, notes []string, err error) {
	list, err = manifests.Read(ctx, f.Host, manifests.Samples)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return list, nil, nil
	}
	files, unread := manifests.Files(f.Host, manifests.Samples)
	if unread != nil {
		return nil, nil, err
	}
	for _, file := range files {
		list = append(list, file.Objects...)
	}
	return list, []string{fmt.Sprintf("the files of %s are read one by one: %v", manifests.Samples, err)}, nil
}

// besideSamples are the objects of the samples that the API server has without CRDs,
// such as Secrets that the others refer to.
func besideSamples(objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objs), func(u *unstructured.Unstructured) bool {
		return u.GetAPIVersion() != "v1" || slices.Contains([]string{"Namespace", "Node", "PersistentVolume"}, u.GetKind())
	})
}

// ofKind are the objects of a CRD's kind.
func ofKind(crd *unstructured.Unstructured, objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	kind := kube.ServedKind(crd).GroupKind()
	return slices.DeleteFunc(slices.Clone(objs), func(u *unstructured.Unstructured) bool {
		return u.GroupVersionKind().GroupKind() != kind
	})
}

// belowSamples are the objects in directories of samples, at any depth, as projects
// with many versions sort them. Notes say what cannot be read.
func belowSamples(h host.Host, dir string) (list []*unstructured.Unstructured, notes []string) {
	entries, err := h.Files.ReadDir(h.Path(dir))
	if err != nil {
		return nil, nil // there is none
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		name := path.Join(dir, e.Name())
		files, err := manifests.Files(h, name)
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s is left out: %v", name, err))
		}
		for _, file := range files {
			list = append(list, file.Objects...)
		}
		more, unread := belowSamples(h, name)
		list, notes = append(list, more...), append(notes, unread...)
	}
	return list, notes
}

// served are the objects of the version that a CRD's trials are made with.
func served(crd *unstructured.Unstructured, objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	gvk := kube.ServedKind(crd)
	return slices.DeleteFunc(objs, func(u *unstructured.Unstructured) bool { return u.GroupVersionKind() != gvk })
}

// almExamples are the objects that the bases of ClusterServiceVersions have in
// their annotation. Other files there, such as the record of a base, are no objects.
func almExamples(ctx context.Context, f *cli.Factory) (list []*unstructured.Unstructured, err error) {
	entries, err := f.Host.Files.ReadDir(f.Host.Path(basesDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		name := path.Join(basesDir, e.Name())
		if !strings.HasSuffix(name, ".clusterserviceversion.yaml") {
			continue
		}
		bases, err := manifests.Read(ctx, f.Host, name)
		if err != nil {
			return nil, err
		}
		for _, csv := range bases {
			var objects []*unstructured.Unstructured
			text := csv.GetAnnotations()[bundle.ExamplesKey]
			if text == "" {
				continue
			}
			if err := json.Unmarshal([]byte(text), &objects); err != nil {
				return nil, clierr.Failedf("correct the annotation", "%s: %s is not a JSON list of objects: %w", name, bundle.ExamplesKey, err)
			}
			list = append(list, objects...)
		}
	}
	return list, err
}
