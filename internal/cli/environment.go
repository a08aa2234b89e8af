package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/clierr"
)

// envPrefix begins the names of mysdk's own variables.
const envPrefix = "MYSDK_"

// ownVariables begin the names of variables that mysdk passes to its children,
// and those of its tests.
var ownVariables = []string{"MYSDK_E2E", "MYSDK_KILL_ROUNDS", "MYSDK_KUBECTL_", "MYSDK_NIGHTLY", "MYSDK_TEST_", "MYSDK_TIED_TO"}

// warnOfVariables names variables that look like settings and set nothing.
func (f *Factory) warnOfVariables(c *cobra.Command) {
	var known []string
	for _, entry := range f.Host.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || value == "" {
			continue
		}
		if known == nil {
			known = knownVariables()
		}
		own := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if !slices.Contains(known, name) && !slices.ContainsFunc(ownVariables, own) {
			f.Warn("%s sets nothing: %s", name, variableHint(c, name, known))
		}
	}
}

// knownVariables are the names of all settings and other variables.
func knownVariables() []string {
	var names []string
	for _, v := range Variables() {
		names = append(names, v[0])
	}
	for _, key := range SettingKeys() {
		names = append(names, settingEnv(key))
	}
	return names
}

// variableHint says what was probably meant by the name of a variable, for the
// command at hand if it has such a flag.
func variableHint(c *cobra.Command, name string, known []string) string {
	flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, envPrefix), "_", "-"))
	if env := variableOf(c, flag); env != "" {
		return "a variable belongs to a command, such as " + env
	}
	if isFlag(c.Root(), flag) {
		return "--" + flag + " is set on the command line only"
	}
	if near := clierr.Closest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	var flags []string
	for _, names := range Settable {
		flags = append(flags, names...)
	}
	slices.Sort(flags)
	if near := clierr.Closest(flag, flags); near != "" {
		return "did you mean " + variableOf(c, near) + "?"
	}
	return "see 'mysdk help environment'"
}

// variableOf is the variable of a flag: that of c, or else the first.
func variableOf(c *cobra.Command, flag string) string {
	for key, f := range SettingsOf(c) {
		if f.Name == flag {
			return settingEnv(key)
		}
	}
	for _, key := range SettingKeys() {
		if key[strings.LastIndex(key, ".")+1:] == flag {
			return settingEnv(key)
		}
	}
	return ""
}

// isFlag reports whether c or a command below it has a flag of that name.
func isFlag(c *cobra.Command, name string) bool {
	has := func(fs *pflag.FlagSet) bool { return fs.Lookup(name) != nil }
	return has(c.Flags()) || has(c.PersistentFlags()) ||
		slices.ContainsFunc(c.Commands(), func(sub *cobra.Command) bool { return isFlag(sub, name) })
}

// Variables are those of the environment that are no settings.
func Variables() [][2]string {
	return [][2]string{
		{"MYSDK_CACHE_DIR", "directory for caches"},
		{"MYSDK_STATE_DIR", "directory for the data of embedded clusters"},
		{"MYSDK_CLUSTER_BIN", "mysdk-cluster to run, in place of the one beside mysdk"},
		{"MYSDK_SOURCE", "source directory of mysdk to build mysdk-cluster from"},
		{"KUBECONFIG", "kubeconfig files that --context is looked up in"},
		{"EXTERNAL_PLUGINS_PATH", "directory of external plugins"},
		{"NO_COLOR", "no colors"},
	}
}
