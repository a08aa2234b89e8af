package cli

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kustomize"
)

const (
	// DeployDir is the kustomization of the whole operator.
	DeployDir = "config/default"
	// ImageFile says which image stands for the name that the Deployment has.
	ImageFile = "config/manager/kustomization.yaml"
	// ImageName is the name that the Deployment has for the operator's image.
	ImageName = "controller"
	// InstallerFile is where build-installer writes.
	InstallerFile = "dist/install.yaml"
)

// OperatorManifests are all objects of the operator, as the Go types and the
// files of config/default are now, with the image in place.
func (f *Factory) OperatorManifests(ctx context.Context, image string) ([]byte, []*unstructured.Unstructured, error) {
	src, err := f.operatorSources(ctx, image)
	if err != nil {
		return nil, nil, err
	}
	return buildOperator(ctx, src, image)
}

func buildOperator(ctx context.Context, src kustomize.Source, image string) ([]byte, []*unstructured.Unstructured, error) {
	data, err := kustomize.Build(ctx, src, DeployDir)
	if err != nil {
		return nil, nil, err
	}
	objects, err := kube.ParseManifests(data, DeployDir)
	if err == nil {
		err = Placed(image, DeployDir, objects)
	}
	return data, objects, err
}

// Placed refuses an image that no container has got: kustomize puts it in place of one
// name only. The objects are those of the kustomization in dir.
func Placed(image, dir string, objects []*unstructured.Unstructured) error {
	if image == "" {
		return nil
	}
	for _, u := range objects {
		containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers") // what is no list has none
		for _, c := range containers {
			m, _ := c.(map[string]any)
			if got, _ := m["image"].(string); got == image || strings.HasPrefix(got, image+":") {
				return nil
			}
		}
	}
	return clierr.Failedf("name it so in config/manager/manager.yaml, or leave --image out", "--image: no container of %s has the image %s, which %s would replace", dir, ImageName, image)
}

// OptionalManifests are those of OperatorManifests, and all objects of them with
// what config/default can switch on: a ServiceMonitor and network policies.
func (f *Factory) OptionalManifests(ctx context.Context, image string) (objects, optional []byte, err error) {
	src, err := f.operatorSources(ctx, image)
	if err != nil {
		return nil, nil, err
	}
	if objects, _, err = buildOperator(ctx, src, image); err != nil {
		return nil, nil, err
	}
	optional, err = f.withOptional(ctx, src)
	return objects, optional, err
}

// withOptional are the objects with those of the directories that config/default need
// not have. One that does not build is left out: the operator does without.
func (f *Factory) withOptional(ctx context.Context, src kustomize.Source) ([]byte, error) {
	const metrics, policies = "../prometheus", "../network-policy"
	for _, dirs := range [][]string{{metrics, policies}, {policies}, {metrics}} {
		with, added, err := kustomize.AddResources(src, DeployDir, dirs...)
		if err != nil || !added {
			return nil, err
		}
		data, err := kustomize.Build(ctx, with, DeployDir)
		if err == nil || ctx.Err() != nil {
			return data, err
		}
		f.once(f.Warn, fmt.Sprintf("the chart lacks some of what config/default can enable: %v; %s", err, clierr.HintOf(err)))
	}
	return nil, nil
}

// operatorSources are the sources with the image in place.
func (f *Factory) operatorSources(ctx context.Context, image string) (kustomize.Source, error) {
	src, _, err := f.sources(ctx, func(*generate.Options) {})
	if err != nil || image == "" {
		return src, err
	}
	return SetImage(src, image)
}

// SetImage returns src with the image in place of the one that the Deployment
// names.
func SetImage(src kustomize.Source, ref string) (kustomize.Source, error) {
	name, tag, digest, err := image.Split(ref)
	if err != nil {
		return src, fmt.Errorf("--image: %w", err)
	}
	return kustomize.SetImage(src, ImageFile, ImageName, name, tag, digest)
}

// sources are the project's files for kustomize, with what generate would write
// in place of what it has written, unless AsIs or OrAsIs say otherwise, and the names of
// what generate makes.
func (f *Factory) sources(ctx context.Context, narrow func(*generate.Options)) (src kustomize.Source, made []string, err error) {
	src = kustomize.Source{Dir: f.Host.Dir, Files: f.Host.Files}
	if _, _, err := f.LoadProject(); err != nil || f.AsIs {
		return src, nil, err
	}
	opts, err := f.GenerateOptions()
	if err != nil {
		return src, nil, err
	}
	narrow(&opts)
	r, err := generate.Render(ctx, opts)
	if err != nil && f.OrAsIs && ctx.Err() == nil {
		f.Warn("the manifests in config are used as they are: %v", err)
		return src, nil, nil
	}
	if err != nil {
		return src, nil, err
	}
	src.Overlay = r.Set
	return src, r.Outputs, nil
}

// ProjectCRDs are the CRDs of the project as its Go types are now: those of
// config/crd, or of config/default where that has no kustomization, or as they are
// generated. Nothing is written.
func (f *Factory) ProjectCRDs(ctx context.Context) ([]*unstructured.Unstructured, error) {
	src, made, err := f.sources(ctx, func(o *generate.Options) { o.CRDs, o.Webhooks = true, true })
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{"config/crd", DeployDir} {
		if !src.Has(dir) {
			continue
		}
		data, err := kustomize.Build(ctx, src, dir)
		if err != nil {
			return nil, err
		}
		objs, err := kube.ParseManifests(data, dir)
		if dir == DeployDir {
			objs = crdsAmong(objs)
		}
		return objs, err
	}
	var crds []*unstructured.Unstructured
	for _, name := range made {
		if path.Ext(name) != ".yaml" {
			continue
		}
		data, err := f.Tree().Read(src.Overlay, name)
		if err != nil {
			return nil, err
		}
		objs, err := kube.ParseManifests(data, name)
		if err != nil {
			return nil, err
		}
		crds = append(crds, crdsAmong(objs)...)
	}
	return crds, nil
}

// crdsAmong picks the CRDs.
func crdsAmong(objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(objs, func(u *unstructured.Unstructured) bool { return u.GetKind() != "CustomResourceDefinition" })
}

// SomeCRDs is ProjectCRDs for commands that have nothing to do without any.
func (f *Factory) SomeCRDs(ctx context.Context) ([]*unstructured.Unstructured, error) {
	crds, err := f.ProjectCRDs(ctx)
	if err == nil && len(crds) == 0 {
		return nil, clierr.Failedf("add an API with 'mysdk create api --group cache --kind Memcached'", "the project has no CRDs")
	}
	return crds, err
}
