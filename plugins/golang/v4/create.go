package v4

import (
	"fmt"
	"path"
	"strings"

	"github.com/spf13/afero"
	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
)

// creation is what creating an API and creating webhooks have in common.
type creation struct {
	plugin   Plugin
	config   config.Config
	resource *resource.Resource

	// From flags.
	plural string
	force  bool
	external

	managerNamespaced bool                // PROJECT says namespaced: true
	core              bool                // the resource is built into Kubernetes
	all               []resource.Resource // that PROJECT has so far
	existing          *resource.Resource  // what PROJECT has of this group, version and kind
	recorded          map[string]any      // the same whatever the domain, with all fields
	notes             []string
}

// InjectConfig implements plugin.RequiresConfig.
func (s *creation) InjectConfig(c config.Config) (err error) {
	s.config = c
	s.all, err = c.GetResources()
	return err
}

// InjectExtras takes the top-level fields of PROJECT that the config of
// kubebuilder/v3 does not know. Of these the plugin reads "namespaced".
func (s *creation) InjectExtras(project map[string]any) {
	s.managerNamespaced, _ = project["namespaced"].(bool)
}

// InjectResourceExtras takes the resource as PROJECT has it, with the fields
// that the model of kubebuilder/v3 does not know, nil for a new one.
func (s *creation) InjectResourceExtras(fields map[string]any) { s.recorded = fields }

// Notes are sentences for the user about what was decided on the way, and
// what is left to do.
func (s *creation) Notes() []string { return s.notes }

func (s *creation) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// otherPlural is the error of a --plural that is not the recorded one.
func (s *creation) otherPlural() error {
	return usage("leave out --plural", "the plural of %s is %s", s.existing.Kind, s.existing.Plural)
}

// extras are the fields of any resource in PROJECT that the resource model of
// kubebuilder/v3 does not know.
func (s *creation) extras() map[string]any {
	extras := map[string]any{}
	if s.core {
		extras["core"] = true
	}
	if s.externalPath != "" {
		extras["external"] = true
	}
	if s.externalModule != "" { // with which there is a path
		extras["module"] = s.externalModule
	}
	return extras
}

// data fills in what the templates of both have in their dot.
func (s *creation) data(disk afero.Fs) (data, error) {
	d := projectData(s.plugin, s.config)
	header, err := readIfThere(disk, boilerplatePath)
	d.setHeader(string(header))
	d.Namespaced, d.Resource, d.External = s.managerNamespaced, s.resource, s.externalPath != ""
	d.ImportAlias, d.SampleFile = importAlias(s.resource.GVK, s.core), sampleFile(s.resource.GVK)
	return d, err
}

// readOwn is readIfThere for a file that another tool may have written.
func (s *creation) readOwn(disk afero.Fs, name string) ([]byte, error) {
	if s.plugin.Own != nil {
		if data, there, err := s.plugin.Own(name); there || err != nil {
			return data, err
		}
	}
	return readIfThere(disk, name)
}

// apiDir is the directory of the API package, with slashes.
func (s *creation) apiDir() string { return s.apiDirOf(s.resource.GVK) }

// apiDirOf is that of another version. A group and version that the project has already
// stays where it is.
func (s *creation) apiDirOf(gvk resource.GVK) string {
	for _, r := range s.all {
		dir, own := strings.CutPrefix(r.Path, s.config.GetRepository()+"/")
		if own && r.HasAPI() && r.Group == gvk.Group && r.Version == gvk.Version {
			return dir
		}
	}
	return strings.TrimPrefix(resource.APIPackagePath("", gvk.Group, gvk.Version, s.config.IsMultiGroup()), "/")
}

// byGroup says whether the resource is laid out below its group's name.
func (s *creation) byGroup() bool { return s.config.IsMultiGroup() && s.resource.Group != "" }

// groupDir is a directory, with slashes, or the one for the group below it.
func (s *creation) groupDir(dir string) string {
	if s.byGroup() {
		return path.Join(dir, s.resource.Group)
	}
	return dir
}

// groupPrefix begins the names of files that all groups have in one directory.
func (s *creation) groupPrefix() string {
	if s.byGroup() {
		return s.resource.Group + "_"
	}
	return ""
}
