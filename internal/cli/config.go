package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/lint"
	"github.com/example/mysdk/internal/project"
)

// configFile is the project's configuration of mysdk itself.
const configFile = ".mysdk.yaml"

// fileKeys are the keys that only a file can set, with what is below them.
func fileKeys() []string { return []string{AllowedKey, callsKey, lint.Key, compat.Key} }

// AllowedKey lists contexts of real clusters that mysdk may write to without
// being told --context.
const AllowedKey = "allowed-contexts"

// callsKey lists the project's calls of controller-gen; the generating commands
// read them, see GenerateOptions.
const callsKey = "generate.controller-gen"

// Settable lists the flags that the environment and the configuration may set,
// by the command that they belong to; those of "" are every command's. Left out
// are flags that say which cluster of yours is meant, what is created or where
// it goes, and that something may be overwritten or deleted.
var Settable = map[string][]string{
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

// SettingsOf are the flags of c that may be set, by their keys.
func SettingsOf(c *cobra.Command) map[string]*pflag.Flag {
	section := strings.ReplaceAll(CommandName(c), " ", "-")
	if section == "generate-bundle" {
		section = "bundle-generate" // the same command
	}
	found := map[string]*pflag.Flag{}
	for _, s := range []string{"", section} {
		for _, name := range Settable[s] {
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

// SettingKeys are all keys, sorted.
func SettingKeys() []string {
	var keys []string
	for section, names := range Settable {
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
	File   string
	Values *viper.Viper
}

// Setting is a key that is set, and where.
type Setting struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
	From   string   `json:"from"`
}

// FileSettings are those that only a file can set: lists of texts as they are,
// anything else on one line.
func FileSettings(layers []layer) (list []Setting) {
	for _, key := range fileKeys() {
		for _, l := range slices.Backward(layers) {
			if !l.Values.IsSet(key) {
				continue
			}
			values := l.Values.GetStringSlice(key)
			if data, err := json.Marshal(l.Values.Get(key)); len(values) == 0 && err == nil {
				values = []string{string(data)}
			}
			list = append(list, Setting{Key: key, Values: values, From: l.File})
			break
		}
	}
	return list
}

// Configure sets the flags that were not typed from the layers below the command
// line: the environment, .mysdk.yaml in the project, then the user's
// config.yaml. Flags that were typed are noted before that: to pflag the others
// look the same.
func (f *Factory) Configure(c *cobra.Command) error {
	f.Given = map[string]bool{}
	c.Flags().Visit(func(flag *pflag.Flag) { f.Given[flag.Name] = true })
	if err := cmp.Or(f.resolveRenamed(c.Flags()), f.rebase(c)); err != nil {
		return err
	}
	first, _, _ := strings.Cut(CommandName(c), " ")
	if slices.Contains([]string{"help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, first) {
		return nil // works whatever the files say
	}
	f.warnOfVariables()
	layers, err := f.ReadConfig(c.Root())
	if err != nil {
		return err
	}
	for _, l := range layers {
		if l.Values.IsSet(AllowedKey) {
			f.Allowed = l.Values.GetStringSlice(AllowedKey)
		}
	}
	flags := SettingsOf(c)
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		s, ok := f.Lookup(layers, key)
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

// Lookup is the strongest value of a key.
func (f *Factory) Lookup(layers []layer, key string) (Setting, bool) {
	if value := f.Host.Getenv(settingEnv(key)); value != "" {
		return Setting{key, []string{value}, settingEnv(key)}, true
	}
	for _, l := range slices.Backward(layers) {
		if !l.Values.IsSet(key) {
			continue
		}
		values := []string{l.Values.GetString(key)}
		if _, isList := l.Values.Get(key).([]any); isList {
			values = l.Values.GetStringSlice(key)
		}
		return Setting{key, values, l.File}, true
	}
	return Setting{}, false
}

// ConfigFiles are the files of the layers, the weakest first.
func (f *Factory) ConfigFiles() []string {
	here := f.Host.Path(configFile)
	if _, err := f.Host.Files.Lstat(here); errors.Is(err, fs.ErrNotExist) {
		if root := project.Above(f.Host.Dir); root != "" {
			here = filepath.Join(root, configFile)
		}
	}
	dir, err := f.Host.ConfigDir()
	if err != nil {
		return []string{here} // no home, no configuration of the user's
	}
	return []string{filepath.Join(dir, "mysdk", "config.yaml"), here}
}

// ReadConfig reads the files that are there and checks their keys.
func (f *Factory) ReadConfig(root *cobra.Command) ([]layer, error) {
	var layers []layer
	for _, file := range f.ConfigFiles() {
		data, err := f.Host.Files.ReadFile(file)
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
			if hint := badKey(root, key, v.Get(key)); hint != "" {
				return nil, clierr.Usagef(hint, "%s: unknown key %q", file, key)
			}
		}
		layers = append(layers, layer{file, v})
	}
	return layers, nil
}

// badKey is the hint for a key that sets nothing, or empty for a good one: a
// misspelt key would silently do nothing.
func badKey(root *cobra.Command, key string, value any) string {
	keys := append(SettingKeys(), fileKeys()...)
	if value == nil && slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, key+".") }) {
		return "" // a section in which everything is commented out
	}
	if slices.Contains(keys, key) || strings.HasPrefix(key, lint.Key+".") || strings.HasPrefix(key, compat.Key+".") { // whose keys these know
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
			if own := strings.ReplaceAll(CommandName(c), " ", "-"); c.Flags().Lookup(name) != nil && own == section || !scoped && c.Flags().Lookup(key) != nil {
				return fmt.Sprintf("pass it on the command line: --%s cannot be set in a file", key[strings.LastIndex(key, ".")+1:])
			}
		}
	}
	if near := clierr.Closest(key, keys); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "see 'mysdk help environment' for the keys"
}
