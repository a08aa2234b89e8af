package project

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// Scaffolder is a plugin that can tell what it once wrote.
type Scaffolder interface {
	plugin.Init
	plugin.CreateAPI
	plugin.CreateWebhook
	// Recorded returns the flags of the runs that made a resource, as far as
	// PROJECT records them: of create api for its types, and of create webhook.
	// certs is the source of certificates of webhooks without a record.
	Recorded(c config.Config, res resource.Resource, certs string) (api map[string]string, webhooks []map[string]string, err error)
}

// Replayed is a project as it would be had its user not touched it.
type Replayed struct {
	Files map[string][]byte
	// Steps are the files that each entry of PROJECT added, in its order.
	Steps []Step
}

// Step is what one entry of PROJECT added to the scaffold.
type Step struct {
	ID    string // of the entry
	Group string // its group, without the domain
	Files []string
}

// HeaderFile is the license header of the project's Go files.
const HeaderFile = "hack/boilerplate.go.txt"

// ReplayOptions are what a replay takes besides PROJECT.
type ReplayOptions struct {
	// Scaffolder returns the plugin, which is to read the license header in
	// this way.
	Scaffolder func(read func(string) ([]byte, error)) Scaffolder
	Header     []byte // license header, empty for none
	Certs      string // source of the certificates of webhooks of which none is recorded; empty for the plugin's default

	// Own reads a file of the project's. Runs that look at types and samples then
	// see those of the user, and those that look at the namespace and the prefix of
	// config/default, too. Without it they see the scaffold's, and types that were
	// copied from another version begin with the pattern's fields.
	Own func(name string) (data []byte, there bool, err error)
}

// Replay writes, in memory, the scaffold of the project that f describes, from
// nothing: the plugin's init, then create api for every entry, then create
// webhook, each with the flags that PROJECT records.
func (f *File) Replay(o ReplayOptions) (*Replayed, error) {
	p := o.Scaffolder(func(string) ([]byte, error) { return o.Header, nil })
	license := map[string]string{"license": "none"}
	if len(bytes.TrimSpace(o.Header)) > 0 {
		license = map[string]string{"license-file": HeaderFile}
	}
	at, err := f.start(p, license)
	if err != nil {
		return nil, fmt.Errorf("render the project again: %w", err)
	}
	if err := o.nameAsOwn(at.files); err != nil {
		return nil, err
	}
	entries, out := f.entries(), &Replayed{}
	var webhooks []runs // they can need any of the kinds
	rendered := map[string][]byte{}
	for i, e := range entries {
		api, hooks, err := e.runs(p, f.config, o.Certs)
		if err == nil {
			e.settleFrom(api, o.Own != nil, entries[:i])
			at, err = out.step(p, at, runs{e, e.id, api})
		}
		if err == nil {
			err = o.layOwn(at, rendered)
		}
		if err != nil {
			return nil, f.unfit(e, entries[:i], err)
		}
		if len(hooks) > 0 {
			webhooks = append(webhooks, runs{e, e.id + " webhooks", hooks})
		}
	}
	for _, r := range webhooks {
		if at, err = out.step(p, at, r); err != nil {
			return nil, fmt.Errorf("render the webhooks of %s again: %w", describe(r.Group, r.Version, r.Kind), err)
		}
	}
	out.Files = at.files
	maps.Copy(out.Files, rendered)
	return out, nil
}

// unfit is the error about an entry of PROJECT, with what to change there where the
// one of create names its flags.
func (f *File) unfit(e entry, earlier []entry, err error) error {
	if clierr.CodeOf(err) == clierr.CodeUsage {
		err = &clierr.Error{Err: err, Hint: "correct the entry in " + FileName + " and run the command again", Code: clierr.CodeFailed}
	}
	for _, other := range earlier {
		switch {
		case !e.HasAPI() && other.GVK != e.GVK: // its group has no directory
		case other.GVK == e.GVK:
			return clierr.Failedf("remove one of them", "%s has %s twice", FileName, describe(e.Group, e.Version, e.Kind))
		case other.Group != e.Group && other.HasAPI() && !f.config.MultiGroup:
			err = &clierr.Error{Err: err, Hint: "add the line 'multigroup: true' to " + FileName}
		}
	}
	return fmt.Errorf("render %s again: %w", describe(e.Group, e.Version, e.Kind), err)
}

// nameAsOwn gives config/default the namespace and the prefix of the user's.
func (o ReplayOptions) nameAsOwn(files map[string][]byte) error {
	const name = "config/default/kustomization.yaml"
	if o.Own == nil {
		return nil
	}
	mine, there, err := o.Own(name)
	if err != nil || !there {
		return err
	}
	line := regexp.MustCompile(`(?m)^(namespace|namePrefix):.*$\n?`)
	files[name] = line.ReplaceAllFunc(files[name], func(scaffolded []byte) []byte {
		key, _, _ := bytes.Cut(scaffolded, []byte(":"))
		for _, own := range line.FindAllSubmatch(mine, -1) {
			if bytes.Equal(own[1], key) {
				return append(bytes.TrimRight(own[0], "\n"), '\n')
			}
		}
		return nil
	})
	return nil
}

// layOwn puts the user's types and samples into the place of those of a stage, which
// are noted as they were rendered.
func (o ReplayOptions) layOwn(at stage, rendered map[string][]byte) error {
	if o.Own == nil {
		return nil
	}
	for name, data := range at.files {
		if _, done := rendered[name]; done || !IsOwn(name) {
			continue
		}
		mine, there, err := o.Own(name)
		if err != nil {
			return err
		}
		if there {
			rendered[name], at.files[name] = data, mine
		}
	}
	return nil
}

// IsOwn names types and samples, which ReplayOptions.Own reads.
func IsOwn(name string) bool {
	isSample := path.Dir(name) == "config/samples" && path.Base(name) != "kustomization.yaml"
	return isSample || strings.HasSuffix(name, "_types.go")
}

// settleFrom chooses between the pattern and the version that types were copied from,
// which may have gone since.
func (e entry) settleFrom(api []run, wanted bool, earlier []entry) {
	for _, r := range api {
		if wanted && slices.ContainsFunc(earlier, func(o entry) bool {
			return o.HasAPI() && o.QualifiedGroup() == e.QualifiedGroup() && o.Kind == e.Kind && o.Version == r.flags["from"]
		}) {
			// Those of the pattern cannot go with it. They are of its controller.
			maps.DeleteFunc(r.flags, func(flag, _ string) bool {
				return !slices.Contains([]string{"from", "controller", "namespaced", "plural"}, flag)
			})
		} else {
			delete(r.flags, "from")
		}
	}
}

// runs are commands for an entry, which add files together.
type runs struct {
	entry
	id   string
	list []run
}

// run is one run of create api, or of create webhook.
type run struct {
	flags   map[string]string
	webhook bool
}

// step makes runs one after the other, and notes the files that they added.
func (out *Replayed) step(p Scaffolder, at stage, r runs) (stage, error) {
	next := at
	for _, one := range r.list {
		var err error
		if next, err = r.create(p, next, one); err != nil {
			return at, err
		}
	}
	added := slices.DeleteFunc(slices.Sorted(maps.Keys(next.files)), func(name string) bool {
		_, old := at.files[name]
		return old
	})
	out.Steps = append(out.Steps, Step{r.id, r.Group, added})
	return next, nil
}

// stage is a scaffold on the way to being complete.
type stage struct {
	project []byte // PROJECT
	files   map[string][]byte
}

// start renders the project without its entries, with the given flags for the
// license header.
func (f *File) start(p Scaffolder, license map[string]string) (stage, error) {
	flags := map[string]string{"namespaced": strconv.FormatBool(f.extras["namespaced"] == true)}
	maps.Copy(flags, license)
	sub := p.GetInitSubcommand()
	if err := SetFlags(sub, flags); err != nil {
		return stage{}, err
	}
	c := f.config
	n, view, err := begin(sub, InitOptions{
		Domain: c.Domain, Repo: c.Repository, Name: c.Name, Layout: c.PluginChain, MultiGroup: c.MultiGroup,
	})
	if err != nil {
		return stage{}, err
	}
	return newStage(n, view)
}

func newStage(f *File, view overlay) (stage, error) {
	data, err := f.Bytes()
	if err != nil {
		return stage{}, err
	}
	set, err := view.set(func(bool) bool { return false })
	out := stage{data, map[string][]byte{}}
	for _, name := range set.Paths() {
		file, _ := set.Get(name)
		out.files[name] = file.Data
	}
	return out, err
}

// SetFlags sets flags of a subcommand as a command line would.
func SetFlags(sub plugin.Subcommand, flags map[string]string) error {
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

func (f *File) entries() []entry {
	nodes := yamledit.Value(f.doc.Content[0], "resources")
	var out []entry
	for i, r := range f.resources() {
		e := entry{Resource: r, fields: map[string]any{}}
		if nodes != nil && i < len(nodes.Content) {
			_ = nodes.Content[i].Decode(&e.fields) // it was decoded when the file was read
		}
		e.id = identity(e.fields)
		out = append(out, e)
	}
	return out
}

// resourceFields is a resource as the file has it, nil where it has none. The
// domain is not compared: that of an external API is not known beforehand.
func (f *File) resourceFields(gvk resource.GVK) map[string]any {
	for _, e := range f.entries() {
		if e.Group == gvk.Group && e.Version == gvk.Version && e.Kind == gvk.Kind {
			return e.fields
		}
	}
	return nil
}

// runs lists the runs that made the entry.
func (e entry) runs(p Scaffolder, c config.Config, certs string) (api, webhooks []run, err error) {
	res := e.Resource
	// A controller that came after others did not come with the types.
	own := strings.ToLower(e.Kind)
	res.Controller = slices.Index(e.controllers(), own) == 0
	flags, hooks, err := p.Recorded(c, res, certs)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range hooks {
		webhooks = append(webhooks, run{e.withDetails(h), true})
	}
	common := map[string]string{}
	switch {
	case e.HasAPI():
		flags["namespaced"] = strconv.FormatBool(e.API.Namespaced)
		if !e.IsRegularPlural() {
			flags["plural"] = e.Plural
		}
		api = append(api, run{flags: flags})
	case e.fields["external"] == true:
		common = e.externalFlags()
	}
	alone := func(more map[string]string) {
		all := map[string]string{"resource": "false"}
		maps.Copy(all, more)
		if !e.HasAPI() {
			maps.Copy(all, common)
		}
		api = append(api, run{flags: all})
	}
	for _, name := range e.controllers() {
		switch {
		case name != own:
			alone(map[string]string{"controller-name": name})
		case !e.HasAPI() || flags["controller"] == "false":
			alone(nil)
		}
	}
	return api, webhooks, nil
}

// controllers are the names of the entry's controllers, in the order in which they
// came. A plain "controller: true" is one that bears the kind's name.
func (e entry) controllers() []string {
	list, ok := e.fields["controllers"].([]any)
	if !ok && e.Controller {
		return []string{strings.ToLower(e.Kind)}
	}
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

// create makes one run.
func (e entry) create(p Scaffolder, at stage, r run) (stage, error) {
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
	if r.webhook {
		sub = p.GetCreateWebhookSubcommand()
	}
	if err := SetFlags(sub, r.flags); err != nil {
		return at, err
	}
	// What was added before the project got the layout with groups has the one without.
	multi, before := f.config.MultiGroup, resource.APIPackagePath(f.config.Repository, e.Group, e.Version, false)
	if !r.webhook && e.Group != "" && e.HasAPI() && e.Path == before {
		f.config.MultiGroup = false
	}
	if err := runHooks(sub, f, res, view); err != nil {
		return at, err
	}
	f.config.MultiGroup = multi
	if err := f.addResourceExtras(sub, res.GVK); err != nil {
		return at, err
	}
	return newStage(f, view)
}
