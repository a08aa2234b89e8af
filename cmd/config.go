package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
)

// configFile is the project's configuration of mysdk itself.
const configFile = ".mysdk.yaml"

// allowedKey lists contexts of real clusters that mysdk may write to without
// being told --context.
const allowedKey = "allowed-contexts"

// callsKey lists the project's calls of controller-gen; the generating commands
// read them, see generateOptions.
const callsKey = "generate.controller-gen"

// settable lists the flags that the environment and the configuration may set,
// by the command that they belong to; those of "" are every command's. Left out
// are flags that say which cluster of yours is meant, what is created or where
// it goes, and that something may be overwritten or deleted.
var settable = map[string][]string{
	"":                     {"cluster", "color", "quiet", "verbose"},
	"build-installer":      {"image"},
	"bundle-build":         {"image", "use-http"},
	"bundle-generate":      {"channels", "default-channel", "extra-service-accounts", "image", "kustomize-dir", "package", "use-http", "use-image-digests", "version"},
	"bundle-push":          {"image", "use-http"},
	"bundle-validate":      {"optional-values", "select-optional", "target"},
	"cleanup":              {"namespace", "timeout"},
	"cluster-start":        {"fsync", "log-verbosity", "nodes"},
	"deploy":               {"image", "timeout", "wait"},
	"image-build":          {"base", "go-ldflags", "image", "label", "offline", "platform", "sbom", "use-http"},
	"image-push":           {"image", "use-http"},
	"init":                 {"domain", "license", "license-file", "multigroup", "namespaced", "owner"},
	"install":              {"timeout"},
	"olm-install":          {"image-registry", "no-default-catalog", "timeout"},
	"run-bundle":           {"install-mode", "namespace", "service-account", "timeout"},
	"run-bundle-upgrade":   {"namespace", "service-account", "timeout"},
	"run-local":            {"env", "go-ldflags", "keep", "leader-elect", "no-webhooks", "operator-flags", "watch", "watch-namespace", "webhook-host"},
	"run-packagemanifests": {"install-mode", "namespace", "service-account", "timeout"},
	"scorecard":            {"namespace", "pod-security", "selector", "service-account", "storage-image", "wait-time"},
	"undeploy":             {"timeout"},
	"uninstall":            {"timeout"},
}

// settingsOf are the flags of c that may be set, by their keys.
func settingsOf(c *cobra.Command) map[string]*pflag.Flag {
	section := strings.ReplaceAll(commandName(c), " ", "-")
	if section == "generate-bundle" {
		section = "bundle-generate" // the same command
	}
	found := map[string]*pflag.Flag{}
	for _, s := range []string{"", section} {
		for _, name := range settable[s] {
			if f := c.Flags().Lookup(name); f != nil {
				found[settingKey(s, name)] = f
			}
		}
	}
	return found
}

func settingKey(section, flag string) string {
	return strings.TrimPrefix(section+"."+flag, ".")
}

// settingKeys are all keys, sorted.
func settingKeys() []string {
	var keys []string
	for section, names := range settable {
		for _, name := range names {
			keys = append(keys, settingKey(section, name))
		}
	}
	slices.Sort(keys)
	return keys
}

// settingEnv is the environment variable of a key.
func settingEnv(key string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(key))
}

// layer is one configuration file.
type layer struct {
	file   string
	values *viper.Viper
}

// setting is a key that is set, and where.
type setting struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
	From   string   `json:"from"`
}

// configure sets the flags that were not typed from the layers below the command
// line: the environment, .mysdk.yaml in the project, then the user's
// config.yaml. Flags that were typed are noted before that: to pflag the others
// look the same.
func (a *app) configure(c *cobra.Command) error {
	a.given = map[string]bool{}
	c.Flags().Visit(func(f *pflag.Flag) { a.given[f.Name] = true })
	if err := first(a.resolveRenamed(c.Flags()), a.rebase(c)); err != nil {
		return err
	}
	if a.helps(c) {
		return nil // works whatever the files say
	}
	a.warnOfVariables(c)
	layers, err := a.readConfig(c.Root())
	if err != nil {
		return err
	}
	for _, l := range layers {
		if l.values.IsSet(allowedKey) {
			a.allowed = l.values.GetStringSlice(allowedKey)
		}
	}
	flags := settingsOf(c)
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		s, ok := a.lookup(layers, key)
		if !ok || flags[key].Changed {
			continue
		}
		for _, value := range s.Values {
			if err := c.Flags().Set(flags[key].Name, value); err != nil {
				return clierr.Usagef("correct it there, or pass --"+flags[key].Name, "%s from %s: %w", key, s.From, err)
			}
		}
	}
	return nil
}

// helps reports whether c explains commands or completes them.
func (a *app) helps(c *cobra.Command) bool {
	return slices.Contains([]string{"help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, strings.SplitN(commandName(c), " ", 2)[0])
}

// lookup is the strongest value of a key.
func (a *app) lookup(layers []layer, key string) (setting, bool) {
	if value := a.host.Getenv(settingEnv(key)); value != "" {
		return setting{key, []string{value}, settingEnv(key)}, true
	}
	for _, l := range slices.Backward(layers) {
		if !l.values.IsSet(key) {
			continue
		}
		values := []string{l.values.GetString(key)}
		if _, isList := l.values.Get(key).([]any); isList {
			values = l.values.GetStringSlice(key)
		}
		return setting{key, values, l.file}, true
	}
	return setting{}, false
}

// configFiles are the files of the layers, the weakest first.
func (a *app) configFiles() []string {
	here := a.host.Path(configFile)
	if _, err := a.host.Files.Lstat(here); errors.Is(err, fs.ErrNotExist) {
		if root := project.Above(a.host.Dir); root != "" {
			here = filepath.Join(root, configFile)
		}
	}
	dir, err := a.host.ConfigDir()
	if err != nil {
		return []string{here} // no home, no configuration of the user's
	}
	return []string{filepath.Join(dir, "mysdk", "config.yaml"), here}
}

// readConfig reads the files that are there and checks their keys.
func (a *app) readConfig(root *cobra.Command) ([]layer, error) {
	var layers []layer
	for _, file := range a.configFiles() {
		data, err := a.host.Files.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, clierr.Usagef("fix the permissions of "+file+", or delete it", "read the configuration: %w", err)
		}
		v := viper.New()
		v.SetConfigType("yaml")
		if err := v.ReadConfig(strings.NewReader(string(data))); err != nil {
			return nil, clierr.Usagef("a setting looks like 'cluster: dev'; see 'mysdk help environment'", "%s: %w", file, err)
		}
		for _, key := range v.AllKeys() {
			if hint := badKey(root, key); hint != "" {
				return nil, clierr.Usagef(hint, "%s: unknown key %q", file, key)
			}
		}
		layers = append(layers, layer{file, v})
	}
	return layers, nil
}

// badKey is the hint for a key that sets nothing, or empty for a good one: a
// misspelt key would silently do nothing.
func badKey(root *cobra.Command, key string) string {
	keys := append(settingKeys(), allowedKey, callsKey)
	if slices.Contains(keys, key) {
		return ""
	}
	for _, k := range keys {
		if strings.HasSuffix(k, "."+key) {
			return fmt.Sprintf("keys belong to commands: did you mean %q?", k)
		}
	}
	section, name, scoped := strings.Cut(key, ".")
	for _, c := range root.Commands() {
		for _, c := range append(c.Commands(), c) {
			if own := strings.ReplaceAll(commandName(c), " ", "-"); c.Flags().Lookup(name) != nil && own == section || !scoped && c.Flags().Lookup(key) != nil {
				return fmt.Sprintf("pass it on the command line: --%s cannot be set in a file", key[strings.LastIndex(key, ".")+1:])
			}
		}
	}
	if near := clierr.Closest(key, keys); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "see 'mysdk help environment' for the keys"
}

func newConfig(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "Show the configuration of mysdk", GroupID: "about",
		Example: "  mysdk config view",
	}
	var output string
	view := &cobra.Command{
		Use: "view", Short: "Show the settings that apply here, and where they come from",
		Long: `Show the settings that apply here, and where they come from.

'mysdk help environment' lists the keys, the variables and the files.`,
		Example: "  mysdk config view\n  mysdk config view -o json",
		RunE:    func(c *cobra.Command, _ []string) error { return a.viewConfig(c.Root(), output) },
	}
	outputFlag(view, &output)
	c.AddCommand(view)
	return c
}

func (a *app) viewConfig(root *cobra.Command, output string) error {
	layers, err := a.readConfig(root)
	if err != nil {
		return err
	}
	list := []setting{}
	for _, key := range settingKeys() {
		if s, ok := a.lookup(layers, key); ok {
			list = append(list, s)
		}
	}
	for _, l := range slices.Backward(layers) {
		if l.values.IsSet(allowedKey) {
			list = append(list, setting{Key: allowedKey, Values: l.values.GetStringSlice(allowedKey), From: l.file})
			break
		}
	}
	a.say("Files: %s", strings.Join(a.configFiles(), ", "))
	return a.report(output, list, func(w io.Writer) {
		fmt.Fprintln(w, "KEY\tVALUE\tFROM")
		for _, s := range list {
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Key, strings.Join(s.Values, ","), s.From)
		}
	})
}
