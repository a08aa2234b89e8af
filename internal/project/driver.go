package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
)

// Subcommands may record fields of PROJECT, or of the resource in it, that
// kubebuilder/v3 does not know, and may want to see those that are there: of the
// resource all of its fields, nil where it is not there yet.
type (
	projectExtras       interface{ ProjectExtras() map[string]any }
	resourceExtras      interface{ ResourceExtras() map[string]any }
	takesExtras         interface{ InjectExtras(map[string]any) }
	takesResourceExtras interface{ InjectResourceExtras(map[string]any) }
)

// BindFlags puts the flags of a plugin's subcommand on fs.
func BindFlags(sub plugin.Subcommand, fs *pflag.FlagSet) {
	if s, ok := sub.(plugin.HasFlags); ok {
		s.BindFlags(fs)
	}
}

// InitOptions describe the project that Init is to make.
type InitOptions struct {
	Dir        string // absolute
	Domain     string
	Repo       string // Go module path
	Name       string
	Layout     []string // plugin keys
	MultiGroup bool
	Force      bool // files that exist may be written over
}

// Init runs a plugin's init subcommand and returns the new project's files,
// PROJECT among them. Wrong names are usage errors; a directory that holds a
// project already is refused.
func Init(sub plugin.InitSubcommand, o InitOptions) (fileset.Set, *Project, error) {
	var none fileset.Set
	for _, err := range []error{CheckDomain(o.Domain), CheckRepo(o.Repo), checkMajor(o.Dir, o.Repo), CheckName(o.Name)} {
		if err != nil {
			return none, nil, err
		}
	}
	if err := checkFresh(o.Dir, o.Force); err != nil {
		return none, nil, err
	}
	f, view, err := begin(sub, o)
	if err != nil {
		return none, nil, err
	}
	set, err := view.set(func(bool) bool { return !o.Force })
	if err != nil {
		return none, nil, err
	}
	if err := checkSelf(set, o.Repo); err != nil {
		return none, nil, err
	}
	return withFile(set, f, !o.Force)
}

// begin runs a plugin's init subcommand on a new PROJECT, in memory. A new project
// does not depend on what lies around in its directory, so the plugin sees an empty
// one; what is in the way is found at the commit.
func begin(sub plugin.InitSubcommand, o InitOptions) (*File, overlay, error) {
	f, view := newFile(), newOverlay("")
	f.config.Domain, f.config.Repository, f.config.Name = o.Domain, o.Repo, o.Name
	f.config.PluginChain, f.config.MultiGroup = o.Layout, o.MultiGroup
	if err := runHooks(sub, f, nil, view); err != nil {
		return f, view, err
	}
	for s := range with[projectExtras](sub) {
		for k, v := range s.ProjectExtras() {
			f.extras[k] = v
			if err := setKey(f.doc.Content[0], k, v); err != nil {
				return f, view, err
			}
		}
	}
	return f, view, nil
}

// checkFresh refuses a directory that is a project already.
func checkFresh(dir string, force bool) error {
	if _, err := os.Stat(filepath.Join(dir, FileName)); force || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := Load(dir); err != nil {
		return err
	}
	return clierr.Failedf("add an API with 'mysdk create api --group cache --kind Memcached'", "this directory already has a project (%s exists)", FileName)
}

// APIOptions describe the API that Create works on.
type APIOptions struct {
	Dir                  string // the project's root, absolute
	Group, Version, Kind string
	Domain               string // of an external API; empty is the project's
}

// Create runs a plugin's create api or create webhook subcommand and returns the
// files that it adds and changes, PROJECT among them.
func Create(sub plugin.Subcommand, o APIOptions) (fileset.Set, *Project, error) {
	var none fileset.Set
	f, err := Load(o.Dir)
	if err != nil {
		return none, nil, err
	}
	if err := f.checkComplete(o.Dir); err != nil {
		return none, nil, err
	}
	res := &resource.Resource{
		GVK:    resource.GVK{Group: o.Group, Domain: cmp.Or(o.Domain, f.config.Domain), Version: o.Version, Kind: o.Kind},
		Plural: resource.RegularPlural(o.Kind), API: &resource.API{}, Webhooks: &resource.Webhooks{},
	}
	if err := CheckGVK(res.GVK); err != nil {
		return none, nil, err
	}
	if err := checkCase(f, res.GVK); err != nil {
		return none, nil, err
	}
	if err := f.checkGroup(o.Dir, res.QualifiedGroup()); err != nil {
		return none, nil, err
	}
	view := newOverlay(o.Dir)
	if err := runHooks(sub, f, res, view); err != nil {
		return none, nil, err
	}
	set, err := view.set(func(exists bool) bool { return !exists })
	if err != nil {
		return none, nil, err
	}
	if err := f.addResourceExtras(sub, res.GVK); err != nil {
		return none, nil, err
	}
	return withFile(set, f, false)
}

// addResourceExtras writes the fields that a subcommand adds to the resource.
func (f *File) addResourceExtras(sub plugin.Subcommand, gvk resource.GVK) error {
	if _, err := f.Bytes(); err != nil { // which gives a new one its entry
		return err
	}
	id := map[string]any{"group": gvk.Group, "domain": gvk.Domain, "version": gvk.Version, "kind": gvk.Kind}
	for s := range with[resourceExtras](sub) {
		if extras := s.ResourceExtras(); len(extras) > 0 {
			if err := f.setResourceExtras(id, extras); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCase refuses a resource that would share its file names with another.
// Whether one that the project has already may come again is the plugin's to
// say.
func checkCase(f *File, gvk resource.GVK) error {
	for _, r := range f.resources() {
		if r.Group == gvk.Group && r.Version == gvk.Version && r.Kind != gvk.Kind && strings.EqualFold(r.Kind, gvk.Kind) {
			return clierr.Usagef("use --kind "+r.Kind+", or another name", "kind %q: the project has %s, whose files have the same names", gvk.Kind, describe(r.Group, r.Version, r.Kind))
		}
	}
	return nil
}

// checkGroup refuses a group whose types say another one than PROJECT does, as after a
// whole group at --group: manifests would be made for the one, and named after the other.
func (f *File) checkGroup(root, group string) error {
	for _, r := range f.Project().Resources {
		dir, own := strings.CutPrefix(r.Path, f.config.Repository+"/")
		if !own || !r.API || r.QualifiedGroup() != group {
			continue
		}
		is := CodeGroup(dir, func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(root, filepath.FromSlash(name))) })
		if is == "" || is == group {
			continue
		}
		hint := fmt.Sprintf("correct group and domain of the group's entries in %s", FileName)
		switch prefix, below := strings.CutSuffix(is, "."+r.Domain); {
		case is == r.Domain:
			hint = fmt.Sprintf("take the lines 'group: %s' out of %s", r.Group, FileName)
		case below:
			hint = fmt.Sprintf("write 'group: %s' in place of 'group: %s' in %s", prefix, r.Group, FileName)
		}
		return clierr.Failedf(hint, "%s has the group %s, and the marker +groupName in %s says %s", FileName, group, dir, is)
	}
	return nil
}

// runHooks calls a subcommand's hooks in kubebuilder's order. What a plugin
// says of flags and names is the user's to mend; the rest is a failure.
func runHooks(sub plugin.Subcommand, f *File, res *resource.Resource, view overlay) error {
	for s := range with[takesExtras](sub) {
		s.InjectExtras(f.extras)
	}
	for s := range with[plugin.RequiresConfig](sub) {
		if err := s.InjectConfig(f.config); err != nil {
			return refused(err, clierr.CodeUsage)
		}
	}
	if res != nil {
		if err := injectResource(sub, f, res); err != nil {
			return err
		}
	}
	fsys := machinery.Filesystem{FS: view.fs}
	for s := range with[plugin.HasPreScaffold](sub) {
		if err := s.PreScaffold(fsys); err != nil {
			return refused(err, clierr.CodeFailed)
		}
	}
	if err := sub.Scaffold(fsys); err != nil {
		return refused(err, clierr.CodeFailed)
	}
	for s := range with[plugin.HasPostScaffold](sub) {
		if err := s.PostScaffold(); err != nil {
			return refused(err, clierr.CodeFailed)
		}
	}
	return nil
}

func injectResource(sub plugin.Subcommand, f *File, res *resource.Resource) error {
	for s := range with[takesResourceExtras](sub) {
		s.InjectResourceExtras(f.resourceFields(res.GVK))
	}
	for s := range with[plugin.RequiresResource](sub) {
		if err := s.InjectResource(res); err != nil {
			return refused(err, clierr.CodeUsage)
		}
	}
	return refused(res.Validate(), clierr.CodeUsage)
}

func refused(err error, code int) error {
	if err == nil {
		return nil
	}
	return &clierr.Error{Err: err, Code: code}
}

// withFile adds PROJECT to what the plugin wrote.
func withFile(set fileset.Set, f *File, isNew bool) (fileset.Set, *Project, error) {
	data, err := f.Bytes()
	if err != nil {
		return fileset.Set{}, nil, fmt.Errorf("write %s: %w", FileName, err)
	}
	if err := set.Put(FileName, fileset.File{Data: data, New: isNew}); err != nil {
		return fileset.Set{}, nil, err
	}
	return set, f.Project(), nil
}
