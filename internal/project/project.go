// Package project knows the PROJECT file and drives kubebuilder plugins: it
// calls their hooks in kubebuilder's order on a file system in memory and
// returns what they wrote as a fileset.Set. Plugins that are programs of the
// user's are run by it and get the files as JSON. It knows neither what a
// plugin writes nor how a command is typed, and it changes nothing on disk.
package project

import (
	"path"
	"slices"

	lazy "go.podman.io/storage/pkg/regexp"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
)

// Project is what the rest of mysdk needs to know of a project.
type Project struct {
	Name       string   // DNS-1123 label, the prefix of its objects in a cluster
	Domain     string   // suffix of its API groups, such as example.com
	Repo       string   // Go module path
	Layout     []string // plugin keys, such as go.kubebuilder.io/v4
	MultiGroup bool     // APIs are laid out as api/<group>/<version>
	Namespaced bool     // the manager is restricted to namespaces
	Resources  []Resource
}

// Resource is one API or controller of a project.
type Resource struct {
	Group, Domain, Version, Kind, Plural string
	Path                                 string // Go import path of the types
	API                                  bool   // the project defines the types
	Namespaced                           bool   // objects of the kind live in namespaces
	Controller                           bool
}

// QualifiedGroup is the API group as a cluster knows it.
func (r Resource) QualifiedGroup() string {
	return resource.GVK{Group: r.Group, Domain: r.Domain}.QualifiedGroup()
}

// CodeGroup is the API group that the marker +groupName of the package in dir says, in
// the files where kubebuilder and operator-sdk write it; empty where there is none. dir
// and what read is asked for are slash-separated paths below the project's root.
func CodeGroup(dir string, read func(name string) ([]byte, error)) string {
	for _, name := range []string{"groupversion_info.go", "doc.go", "register.go"} {
		data, err := read(path.Join(dir, name))
		if m := GroupMarker.FindSubmatch(data); err == nil && m != nil {
			return string(m[1])
		}
	}
	return ""
}

// GroupMarker matches the marker +groupName of a package, with the group.
var GroupMarker = lazy.Delayed(`(?m)^//\s*\+groupName="?([^"\s]+)`)

// RoleNamespace is the namespace= of the project's +kubebuilder:rbac markers, where
// they make a Role; empty where they make a ClusterRole.
func (p *Project) RoleNamespace() string {
	if p.Namespaced {
		return p.SystemNamespace()
	}
	return ""
}

// SystemNamespace is the one that config/default deploys to, as scaffolded.
func (p *Project) SystemNamespace() string { return p.Name + "-system" }

// Groups are the API groups of the resources, by the import path of their types.
func (p *Project) Groups() map[string]string {
	groups := map[string]string{}
	for _, r := range p.Resources {
		groups[r.Path] = r.QualifiedGroup()
	}
	return groups
}

// Project returns the small view of the file.
func (f *File) Project() *Project {
	c := f.config
	p := &Project{
		Name: c.Name, Domain: c.Domain, Repo: c.Repository, Layout: slices.Clone(c.PluginChain), MultiGroup: c.MultiGroup,
		Namespaced: f.extras["namespaced"] == true,
	}
	for _, r := range f.resources() {
		p.Resources = append(p.Resources, view(r))
	}
	return p
}

// resources are the file's, each with its plural.
func (f *File) resources() []resource.Resource {
	list, _ := f.config.GetResources() // in version 3 it has no way to fail
	return list
}

// RegularPlural is the plural of a kind that PROJECT leaves out.
func RegularPlural(kind string) string { return resource.RegularPlural(kind) }

func view(r resource.Resource) Resource {
	return Resource{
		Group: r.Group, Domain: r.Domain, Version: r.Version, Kind: r.Kind, Plural: r.Plural, Path: r.Path,
		API: r.HasAPI(), Namespaced: r.API != nil && r.API.Namespaced, Controller: r.Controller,
	}
}
