package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"
)

// Scaffolder is a plugin that can tell what it once wrote.
type Scaffolder interface {
	plugin.Init
	plugin.CreateAPI
	plugin.CreateWebhook
	// Variants lists the runs of create api that may have made a resource,
	// each by its flags; read returns the text of a project's file, nothing
	// where there is none.
	Variants(c config.Config, res resource.Resource, read func(name string) []byte) [][]map[string]string
}

// Runs are the runs of create api that made each entry of PROJECT.
type Runs map[string][]Run

// Run is one run of create api.
type Run struct {
	Flags map[string]string
	// Single says that the project had the layout without groups at that time,
	// although it has the one with groups now.
	Single bool
	// Webhook says that it is one of create webhook.
	Webhook bool
}

// Pristine is a project as it would be had its user not touched it.
type Pristine struct {
	Files map[string][]byte
	// Steps are the files that each entry of PROJECT added, in its order.
	Steps []Step
	// Runs are those that come closest to what the project has.
	Runs Runs
}

// Step is what one entry of PROJECT added to the scaffold.
type Step struct {
	ID    string // of the entry
	Group string // its group, without the domain
	Files []string
}

// headerFile is what the license header is called in errors about it.
const headerFile = "hack/boilerplate.go.txt"

// Render writes, in memory, the scaffold of the project that f describes, from
// nothing: the plugin's init, then its create api for every entry. scaffolder
// returns the plugin with the given reader of the license header, which is
// empty for none. Flags that PROJECT does not record are those of runs; of the
// entries that it lacks, the ones that come closest to the files that read
// returns.
func (f *File) Render(scaffolder func(read func(string) ([]byte, error)) Scaffolder, header []byte, runs Runs, read func(name string) []byte) (*Pristine, error) {
	p := scaffolder(func(string) ([]byte, error) { return header, nil })
	license := map[string]string{"license": "none"}
	if len(bytes.TrimSpace(header)) > 0 {
		license = map[string]string{"license-file": headerFile}
	}
	at, err := f.start(p, license)
	if err != nil {
		return nil, fmt.Errorf("render the project again: %w", err)
	}
	entries, err := f.entries()
	if err != nil {
		return nil, err
	}
	out := &Pristine{Runs: Runs{}}
	for _, e := range entries {
		next, flags, err := e.closest(p, at, runs, read)
		if err != nil {
			return nil, fmt.Errorf("render %s again: %w", describe(e.Group, e.Version, e.Kind), err)
		}
		out.Runs[e.id] = flags
		out.Steps = append(out.Steps, newStep(e.id, e.Group, at, next))
		at = next
	}
	if at, err = f.webhooks(p, at, out, runs, read); err != nil {
		return nil, err
	}
	out.Files = at.files
	return out, nil
}

func newStep(id, group string, at, next stage) Step {
	return Step{id, group, slices.DeleteFunc(slices.Sorted(maps.Keys(next.files)), func(name string) bool {
		_, old := at.files[name]
		return old
	})}
}

// stage is a scaffold on the way to being complete.
type stage struct {
	project []byte // PROJECT
	files   map[string][]byte
}

// start renders the project without its entries, with the given flags for the
// license header.
func (f *File) start(p Scaffolder, license map[string]string) (stage, error) {
	n := newFile()
	c := f.config
	for _, err := range []error{
		n.config.SetDomain(c.GetDomain()), n.config.SetRepository(c.GetRepository()),
		n.config.SetProjectName(c.GetProjectName()), n.config.SetPluginChain(c.GetPluginChain()),
	} {
		if err != nil {
			return stage{}, err
		}
	}
	if c.IsMultiGroup() {
		if err := n.config.SetMultiGroup(); err != nil {
			return stage{}, err
		}
	}
	flags := map[string]string{"namespaced": strconv.FormatBool(f.extras["namespaced"] == true)}
	maps.Copy(flags, license)
	sub := p.GetInitSubcommand()
	if err := setFlags(sub, flags); err != nil {
		return stage{}, err
	}
	view := newOverlay("")
	if err := runHooks(sub, n, nil, view); err != nil {
		return stage{}, err
	}
	if s, ok := sub.(projectExtras); ok {
		for k, v := range s.ProjectExtras() {
			if err := n.setExtra(k, v); err != nil {
				return stage{}, err
			}
		}
	}
	return newStage(n, view)
}

func newStage(f *File, view overlay) (stage, error) {
	data, err := f.Bytes()
	if err != nil {
		return stage{}, err
	}
	files, err := view.files()
	return stage{data, files}, err
}

// files returns what is in memory.
func (o overlay) files() (map[string][]byte, error) {
	out := map[string][]byte{}
	err := afero.Walk(o.memory, ".", func(p string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := afero.ReadFile(o.memory, p)
		out[strings.TrimPrefix(filepath.ToSlash(filepath.Clean(p)), "/")] = data
		return err
	})
	return out, err
}

// setFlags sets flags of a subcommand as a command line would.
func setFlags(sub plugin.Subcommand, flags map[string]string) error {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	BindFlags(sub, set)
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if err := set.Set(name, flags[name]); err != nil {
			return err
		}
	}
	return nil
}

// entry is one of PROJECT's resources.
type entry struct {
	resource.Resource
	id     string
	fields map[string]any // all of them, as the file has them
}

func (f *File) entries() ([]entry, error) {
	list, err := f.config.GetResources()
	if err != nil {
		return nil, err
	}
	nodes := valueOf(f.doc.Content[0], "resources")
	out := make([]entry, 0, len(list))
	for i, r := range list {
		e := entry{Resource: r, fields: map[string]any{}}
		if nodes != nil && i < len(nodes.Content) {
			if err := nodes.Content[i].Decode(&e.fields); err != nil {
				return nil, err
			}
		}
		e.id = identity(e.fields)
		out = append(out, e)
	}
	return out, nil
}

// closest renders the entry under the flags of runs or, where these do not
// know it, under each variant, and returns the one most like the project.
func (e entry) closest(p Scaffolder, at stage, runs Runs, read func(string) []byte) (stage, []Run, error) {
	variants := [][]Run{runs[e.id]}
	if _, known := runs[e.id]; !known {
		var err error
		if variants, err = e.variants(p, at, read); err != nil {
			return at, nil, err
		}
	}
	return e.best(p, at, variants, read)
}

// best renders the entry under each variant.
func (e entry) best(p Scaffolder, at stage, variants [][]Run, read func(string) []byte) (stage, []Run, error) {
	if len(variants) == 1 {
		only, err := e.render(p, at, variants[0])
		return only, variants[0], err
	}
	var best stage
	var flags []Run
	var errs []error
	score, found := 0, false
	for _, v := range variants {
		next, err := e.render(p, at, v)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if s := likeness(at, next, read); !found || s > score {
			best, flags, score, found = next, v, s, true
		}
	}
	if !found {
		return at, nil, errors.Join(errs...)
	}
	return best, flags, nil
}

// variants lists the runs that may have made the entry.
func (e entry) variants(p Scaffolder, at stage, read func(string) []byte) ([][]Run, error) {
	f, err := Parse(at.project)
	if err != nil {
		return nil, err
	}
	layouts := []bool{false}
	single := resource.APIPackagePath(f.config.GetRepository(), e.Group, e.Version, false)
	if f.config.IsMultiGroup() && e.HasAPI() && e.Path == single && e.Group != "" {
		layouts = []bool{true, false}
	}
	var out [][]Run
	for _, single := range layouts {
		if single {
			if err := f.config.ClearMultiGroup(); err != nil {
				return nil, err
			}
		} else if len(layouts) > 1 {
			if err := f.config.SetMultiGroup(); err != nil {
				return nil, err
			}
		}
		for _, flags := range e.flags(p, f.config, read) {
			var runs []Run
			for _, fl := range flags {
				runs = append(runs, Run{Flags: fl, Single: single})
			}
			out = append(out, runs)
		}
	}
	return out, nil
}

// flags lists the variants of the flags for every run that the entry took.
func (e entry) flags(p Scaffolder, c config.Config, read func(string) []byte) [][]map[string]string {
	out := [][]map[string]string{nil}
	common := map[string]string{}
	switch {
	case e.HasAPI():
		res := e.Resource
		res.Controller = e.controls()
		out = p.Variants(c, res, read)
		common["namespaced"] = strconv.FormatBool(e.API.Namespaced)
		if e.Plural != "" && !e.IsRegularPlural() {
			common["plural"] = e.Plural
		}
	case e.fields["external"] == true:
		common = e.externalFlags()
	}
	var further []map[string]string
	if !e.HasAPI() && e.controls() {
		further = append(further, map[string]string{"resource": "false"})
	}
	list, _ := e.fields["controllers"].([]any)
	for _, name := range controllerNames(list) {
		if name != strings.ToLower(e.Kind) {
			further = append(further, map[string]string{"resource": "false", "controller-name": name})
		}
	}
	for i := range out {
		out[i] = append(slices.Clone(out[i]), further...)
		for j, flags := range out[i] {
			if e.HasAPI() && flags["resource"] == "false" {
				continue // the API is there already
			}
			all := maps.Clone(common)
			maps.Copy(all, flags)
			out[i][j] = all
		}
	}
	return out
}

// controls says whether the entry has the controller that bears its kind's
// name.
func (e entry) controls() bool {
	list, ok := e.fields["controllers"].([]any)
	if !ok {
		return e.Controller
	}
	return slices.Contains(controllerNames(list), strings.ToLower(e.Kind))
}

func controllerNames(list []any) []string {
	var names []string
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			names = append(names, fmt.Sprint(m["name"]))
		}
	}
	return names
}

// externalFlags are those for an API that another project has.
func (e entry) externalFlags() map[string]string {
	flags := map[string]string{"external-api-path": e.Path, "external-api-domain": e.Domain}
	if module, ok := e.fields["module"].(string); ok {
		flags["external-api-module"] = module
	}
	return flags
}

// render makes the runs for the entry, one after the other.
func (e entry) render(p Scaffolder, at stage, runs []Run) (stage, error) {
	for _, r := range runs {
		var err error
		if at, err = e.create(p, at, r); err != nil {
			return at, err
		}
	}
	return at, nil
}

// create makes one run.
func (e entry) create(p Scaffolder, at stage, r Run) (stage, error) {
	f, err := Parse(at.project)
	if err != nil {
		return at, err
	}
	view := newOverlay("")
	for name, data := range at.files {
		if err := afero.WriteFile(view.memory, name, data, 0o644); err != nil {
			return at, err
		}
	}
	res := &resource.Resource{
		GVK:    e.GVK,
		Plural: resource.RegularPlural(e.Kind), API: &resource.API{}, Webhooks: &resource.Webhooks{},
	}
	var sub plugin.Subcommand = p.GetCreateAPISubcommand()
	if r.Webhook {
		sub = p.GetCreateWebhookSubcommand()
	}
	if err := setFlags(sub, r.Flags); err != nil {
		return at, err
	}
	if err := r.run(sub, f, res, view); err != nil {
		return at, err
	}
	if _, err := f.Bytes(); err != nil {
		return at, err
	}
	if s, ok := sub.(resourceExtras); ok && len(s.ResourceExtras()) > 0 {
		id := map[string]any{"group": res.Group, "domain": res.Domain, "version": res.Version, "kind": res.Kind}
		if err := f.setResourceExtras(id, s.ResourceExtras()); err != nil {
			return at, err
		}
	}
	return newStage(f, view)
}

// run calls the hooks, in the layout of that time.
func (r Run) run(sub plugin.Subcommand, f *File, res *resource.Resource, view overlay) error {
	if !r.Single || !f.config.IsMultiGroup() {
		return runHooks(sub, f, res, view)
	}
	if err := f.config.ClearMultiGroup(); err != nil {
		return err
	}
	if err := runHooks(sub, f, res, view); err != nil {
		return err
	}
	return f.config.SetMultiGroup()
}

// ByGroup returns the runs as they are to be repeated to lay everything out by
// group, and whether any of them was not.
func (r Runs) ByGroup() (Runs, bool) {
	out, mixed := Runs{}, false
	for id, runs := range r {
		for _, run := range runs {
			mixed = mixed || run.Single
			out[id] = append(out[id], Run{Flags: run.Flags, Webhook: run.Webhook})
		}
	}
	return out, mixed
}

// likeness counts the lines of what is new in next that the project has too,
// less those that it has not.
func likeness(at, next stage, read func(string) []byte) int {
	score := 0
	for name, data := range next.files {
		if _, old := at.files[name]; old {
			continue
		}
		have := map[string]int{}
		for line := range bytes.Lines(read(name)) {
			have[string(line)]++
		}
		for line := range bytes.Lines(data) {
			if have[string(line)] > 0 {
				have[string(line)]--
				score++
			} else {
				score--
			}
		}
	}
	return score
}
