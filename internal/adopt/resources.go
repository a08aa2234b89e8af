package adopt

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/project"
)

// Resource is an entry of PROJECT and what there is of it. Places are written
// file:line; an empty one says that there is nothing.
type Resource struct {
	Group       string   `json:"group"` // as a cluster knows it
	Version     string   `json:"version"`
	Kind        string   `json:"kind"`
	API         bool     `json:"api"` // the project defines the types
	Types       string   `json:"types,omitempty"`
	CRD         string   `json:"crd,omitempty"`
	Controllers []string `json:"controllers,omitempty"`
	Webhooks    []string `json:"webhooks,omitempty"`
	Tests       []string `json:"tests,omitempty"`
}

// resources looks for what PROJECT says that there is.
func (in *inspection) resources() error {
	if in.project == nil {
		return nil
	}
	crds, err := in.crds()
	if err != nil {
		return err
	}
	for _, r := range in.project.Resources {
		in.report.Resources = append(in.report.Resources, in.resource(r, crds))
	}
	return nil
}

func (in *inspection) resource(r project.Resource, crds map[string]string) Resource {
	typ := r.Path + "." + r.Kind
	out := Resource{
		Group: r.QualifiedGroup(), Version: r.Version, Kind: r.Kind, API: r.API,
		Types: in.facts.types[typ], Controllers: in.facts.controllers[typ], Webhooks: in.facts.webhooks[typ],
		CRD: crds[r.QualifiedGroup()+"/"+r.Version+"/"+r.Kind],
	}
	out.Tests = in.facts.testsOf(append(append([]string{}, out.Controllers...), out.Webhooks...)...)
	return out
}

// crd is what is needed of one.
type crd struct {
	Kind     string `yaml:"kind"`
	Metadata struct {
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"metadata"`
	Spec struct {
		Group string `yaml:"group"`
		Names struct {
			Kind string `yaml:"kind"`
		} `yaml:"names"`
		Versions []struct {
			Name string `yaml:"name"`
		} `yaml:"versions"`
	} `yaml:"spec"`
}

const generatorAnnotation = "controller-gen.kubebuilder.io/version"

// crds maps group/version/kind to the CRD's file.
func (in *inspection) crds() (map[string]string, error) {
	out := map[string]string{}
	names, err := in.tree.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "config/crd/bases/") || !strings.HasSuffix(name, ".yaml") {
			continue
		}
		data, _, err := in.tree.Read(name)
		if err != nil {
			return nil, err
		}
		dec := yaml.NewDecoder(bytes.NewReader(data))
		for {
			var c crd
			if dec.Decode(&c) != nil {
				break // the end, or what the kustomization complains about
			}
			for _, v := range c.Spec.Versions {
				out[c.Spec.Group+"/"+v.Name+"/"+c.Spec.Names.Kind] = name
			}
			if v := c.Metadata.Annotations[generatorAnnotation]; v != "" {
				in.report.Versions.ControllerTools = v
			}
		}
	}
	return out, nil
}
