package cli

import (
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
)

// envPrefix begins the names of mysdk's own variables.
const envPrefix = "MYSDK_"

// ownVariables begin the names of variables that mysdk passes to its children,
// and those of its tests.
var ownVariables = []string{"MYSDK_E2E", "MYSDK_KILL_ROUNDS", "MYSDK_KUBECTL_", "MYSDK_NIGHTLY", "MYSDK_TEST_", "MYSDK_TIED_TO"}

// warnOfVariables names variables that look like settings and set nothing.
func (f *Factory) warnOfVariables() {
	var known []string
	for _, entry := range f.Host.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		short, ours := strings.CutPrefix(name, envPrefix)
		if !ours || value == "" {
			continue
		}
		if known == nil {
			known = knownVariables()
		}
		own := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if !slices.Contains(known, short) && !slices.ContainsFunc(ownVariables, own) {
			f.Warn("%s sets nothing: %s", name, variableHint(short, known))
		}
	}
}

// knownVariables are the names of all settings and other variables, without envPrefix.
func knownVariables() []string {
	var names []string
	for _, v := range Variables() {
		if short, ours := strings.CutPrefix(v[0], envPrefix); ours {
			names = append(names, short)
		}
	}
	for _, key := range SettingKeys() {
		names = append(names, strings.TrimPrefix(settingEnv(key), envPrefix))
	}
	return names
}

// variableHint says what was probably meant by the name of a variable.
func variableHint(name string, known []string) string {
	ofCommand := func(k string) bool { return strings.HasSuffix(k, "_"+name) }
	if i := slices.IndexFunc(known, ofCommand); i >= 0 {
		return "a variable belongs to a command, such as " + envPrefix + known[i]
	}
	if near := clierr.Closest(name, known); near != "" {
		return "did you mean " + envPrefix + near + "?"
	}
	return "see 'mysdk help environment'"
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
