package project

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin/external"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
)

// BuiltIn is a plugin that is part of the program, under all its names.
type BuiltIn struct {
	Plugin  plugin.Plugin
	Aliases []string // other names than the plugin's key, such as go/v4
}

// names lists those that people type first.
func (b BuiltIn) names() []string { return append(slices.Clone(b.Aliases), plugin.KeyFor(b.Plugin)) }

// Chain are the plugins that a command runs, in the order of PROJECT's layout.
type Chain []plugin.Plugin

// NewChain resolves plugin keys: built-in plugins by their names, all others
// among the user's executables. Names that are not known are usage errors.
func NewChain(h host.Host, keys []string, builtIn ...BuiltIn) (Chain, error) {
	var c Chain
	for _, key := range keys {
		p, err := find(h, key, builtIn)
		if err != nil {
			return nil, err
		}
		if slices.Contains(c.Keys(), plugin.KeyFor(p)) {
			return nil, clierr.Usagef("name it once", "plugin %q is in the chain twice", key)
		}
		c = append(c, p)
	}
	return c, nil
}

func find(h host.Host, key string, builtIn []BuiltIn) (plugin.Plugin, error) {
	var names []string
	for _, b := range builtIn {
		if slices.Contains(b.names(), key) {
			return b.Plugin, nil
		}
		names = append(names, b.names()...)
	}
	return findExternal(h, key, names)
}

// LayoutChain resolves the layout of a project that exists. Plugins of
// kubebuilder and operator-sdk that mysdk does not have are left out: none of
// them takes part in adding an API or a webhook.
func LayoutChain(h host.Host, layout []string, builtIn ...BuiltIn) (Chain, error) {
	var keys []string
	for _, key := range layout {
		key = strings.TrimPrefix(key, "base.")
		name, _ := plugin.SplitKey(key)
		known := slices.ContainsFunc(builtIn, func(b BuiltIn) bool { return slices.Contains(b.names(), key) })
		if known || !strings.HasSuffix(name, ".kubebuilder.io") && !strings.HasSuffix(name, ".operatorframework.io") {
			keys = append(keys, key)
		}
	}
	return NewChain(h, keys, builtIn...)
}

// Keys are the plugins' names in PROJECT's layout.
func (c Chain) Keys() []string {
	keys := make([]string, len(c))
	for i, p := range c {
		keys[i] = plugin.KeyFor(p)
	}
	return keys
}

// External are those plugins of the chain that are programs of the user's.
func (c Chain) External() []*External {
	var list []*External
	for _, p := range c {
		if e, ok := p.(*External); ok {
			list = append(list, e)
		}
	}
	return list
}

// Subcommand names what a chain is to do.
type Subcommand struct {
	Command string // as the protocol of external plugins calls it, such as "create api"
	Short   string // its last word: init, api, webhook or edit
	// Of gives the subcommand of a built-in plugin, nil where it has none.
	Of func(plugin.Plugin) plugin.Subcommand
}

// SubcommandOf is what a chain does for a command, if it has a part in it. A built-in
// plugin without an edit has its edits made by the command itself, because they take
// more than a scaffold.
func SubcommandOf(command string) (s Subcommand, ok bool) {
	of, ok := map[string]func(plugin.Plugin) plugin.Subcommand{
		"init":           subcommand(plugin.Init.GetInitSubcommand),
		"create api":     subcommand(plugin.CreateAPI.GetCreateAPISubcommand),
		"create webhook": subcommand(plugin.CreateWebhook.GetCreateWebhookSubcommand),
		"edit":           subcommand(plugin.Edit.GetEditSubcommand),
	}[command]
	return Subcommand{command, strings.TrimPrefix(command, "create "), of}, ok
}

func subcommand[P any, S plugin.Subcommand](get func(P) S) func(plugin.Plugin) plugin.Subcommand {
	return func(p plugin.Plugin) plugin.Subcommand {
		if has, ok := p.(P); ok {
			return get(has)
		}
		return nil
	}
}

// Steps are the subcommands of a chain's plugins as one: each hook is called on
// all of them, in their order. It is made for one run.
type Steps struct {
	subs  []plugin.Subcommand
	flags []external.Flag // of the external plugins
	loose []string        // words of the command line, where a plugin does not tell its flags
}

// Steps makes the subcommand of the whole chain and asks external plugins for
// their flags. typed is the command line; args gives, once that is parsed,
// what external plugins get of it. ctx ends their processes.
func (c Chain) Steps(ctx context.Context, what Subcommand, typed []string, args func() []string) (*Steps, error) {
	s := &Steps{}
	for _, p := range c {
		e, ok := p.(*External)
		if !ok {
			if sub := what.Of(p); sub != nil {
				s.subs = append(s.subs, sub)
			}
			continue
		}
		list, known, err := e.flags(ctx, what.Short)
		if err != nil {
			return nil, err
		}
		if s.flags = append(s.flags, list...); !known {
			s.loose = typed
		}
		s.subs = append(s.subs, &externalSubcommand{ctx: ctx, plugin: e, command: what.Command, args: args, chain: c.Keys()})
	}
	return s, nil
}

// BindFlags implements plugin.HasFlags. The built-in plugins come first: what
// they and the command have bound is shared with the external ones.
func (s *Steps) BindFlags(set *pflag.FlagSet) {
	for _, sub := range s.subs {
		BindFlags(sub, set)
	}
	for _, f := range s.flags {
		bind(set, f)
	}
	for i, word := range s.loose {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, hasValue := strings.Cut(name, "=")
		if !isFlag || name == "" || name == "help" {
			continue
		}
		f := external.Flag{Name: name, Usage: "a flag of an external plugin, which does not describe it"}
		if next := i + 1; !hasValue && (next == len(s.loose) || strings.HasPrefix(s.loose[next], "-")) {
			f.Type = "bool"
		}
		bind(set, f)
	}
}

// bind adds a flag, unless there is one of the name. A default that is not of
// the flag's type counts as none, as in kubebuilder.
func bind(set *pflag.FlagSet, f external.Flag) {
	if set.Lookup(f.Name) != nil || f.Name == "help" {
		return
	}
	switch f.Type {
	case "bool":
		value, _ := strconv.ParseBool(f.Default)
		set.Bool(f.Name, value, f.Usage)
	case "int":
		value, _ := strconv.Atoi(f.Default)
		set.Int(f.Name, value, f.Usage)
	case "float":
		value, _ := strconv.ParseFloat(f.Default, 64)
		set.Float64(f.Name, value, f.Usage)
	default:
		set.String(f.Name, f.Default, f.Usage)
	}
}

// with are the subcommands in sub that are a T: sub itself, or those of a chain.
func with[T any](sub plugin.Subcommand) iter.Seq[T] {
	subs := []plugin.Subcommand{sub}
	if s, ok := sub.(*Steps); ok {
		subs = s.subs
	}
	return func(yield func(T) bool) {
		for _, one := range subs {
			if t, ok := one.(T); ok && !yield(t) {
				return
			}
		}
	}
}

// Scaffold implements plugin.Subcommand.
func (s *Steps) Scaffold(disk machinery.Filesystem) error {
	for _, sub := range s.subs {
		if err := sub.Scaffold(disk); err != nil {
			return err
		}
	}
	return nil
}

// Notes are what the plugins want to be said when all is written.
func (s *Steps) Notes() []string {
	var out []string
	for p := range with[interface{ Notes() []string }](s) {
		out = append(out, p.Notes()...)
	}
	return out
}

// Edit runs the edit of a chain on the project in dir as it will be with
// change, and returns change together with what the plugins add to it.
func Edit(s *Steps, dir string, change fileset.Set) (fileset.Set, error) {
	f, err := Load(dir)
	if p, ok := change.Get(FileName); ok && err == nil {
		f, err = Parse(p.Data)
	}
	if err != nil {
		return change, err
	}
	view, err := overlayOf(dir, change)
	if err != nil {
		return change, err
	}
	if err := runHooks(s, f, nil, view); err != nil {
		return change, err
	}
	added, err := view.set(func(exists bool) bool { return !exists })
	if err != nil {
		return change, err
	}
	out := change.Clone()
	for _, name := range added.Paths() {
		file, _ := added.Get(name)
		if old, ok := change.Get(name); ok {
			file.New, file.From = old.New && !old.Removed, old.From
		}
		if err := out.Put(name, file); err != nil {
			return change, err
		}
	}
	return out, nil
}

// overlayOf is the project in dir with a change made to it.
func overlayOf(dir string, change fileset.Set) (overlay, error) {
	view := newOverlay(dir)
	for _, name := range change.Paths() {
		file, _ := change.Get(name)
		if file.Removed {
			view.gone[name] = true
			continue
		}
		if err := afero.WriteFile(view.memory, name, file.Data, file.Mode); err != nil {
			return view, err
		}
	}
	return view, nil
}
