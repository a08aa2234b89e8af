package run

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/explore"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kustomize"
)

// samplesDir is where a project's samples are.
const samplesDir = "config/samples"

// exploreSamples are the project's samples of its own kinds.
func exploreSamples(ctx context.Context, f *cli.Factory, crds []*unstructured.Unstructured, kinds []string) ([]explore.Sample, error) {
	objs, err := projectSamples(ctx, f)
	if err != nil {
		return nil, err
	}
	var samples []explore.Sample
	for _, u := range objs {
		crd := crdOf(crds, u)
		if crd == nil || len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k string) bool { return strings.EqualFold(k, u.GetKind()) }) {
			continue
		}
		if scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope"); scope != "Namespaced" {
			f.Warn("%s %s is cluster-scoped and is left out: trials have a namespace of their own each", u.GetKind(), u.GetName())
			continue
		}
		u.SetNamespace("")
		samples = append(samples, explore.Sample{Object: u, CRD: crd, File: samplesDir})
	}
	if len(samples) == 0 {
		return nil, clierr.Failedf("write an object of each kind to "+samplesDir+", and list it in its kustomization.yaml",
			"explore: %s has no sample of a kind of this project%s", samplesDir, wanted(kinds))
	}
	return samples, nil
}

func wanted(kinds []string) string {
	if len(kinds) == 0 {
		return ""
	}
	return " that is named " + strings.Join(kinds, " or ")
}

// projectSamples are the objects of config/samples.
func projectSamples(ctx context.Context, f *cli.Factory) ([]*unstructured.Unstructured, error) {
	if _, err := f.Host.Files.Lstat(f.Host.Path(path.Join(samplesDir, "kustomization.yaml"))); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	data, err := kustomize.Build(ctx, kustomize.Source{Dir: f.Host.Dir, Files: f.Host.Files}, samplesDir)
	if err != nil {
		return nil, err
	}
	return kube.ParseManifests(data, samplesDir)
}

// crdOf is the CRD of an object's kind; nil where there is none.
func crdOf(crds []*unstructured.Unstructured, u *unstructured.Unstructured) *unstructured.Unstructured {
	for _, crd := range crds {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		if group == u.GroupVersionKind().Group && kind == u.GetKind() {
			return crd
		}
	}
	return nil
}
