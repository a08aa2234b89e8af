package project

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// pluginRoot is the directory of external plugins, where kubebuilder looks for
// them: $EXTERNAL_PLUGINS_PATH, else kubebuilder/plugins below the user's
// configuration.
func pluginRoot(h host.Host) string {
	if dir := h.Getenv("EXTERNAL_PLUGINS_PATH"); dir != "" {
		return h.Path(dir)
	}
	dir, err := h.ConfigDir()
	if err != nil {
		return "" // no home, no plugins
	}
	return filepath.Join(dir, "kubebuilder", "plugins")
}

// parseKey splits NAME/VERSION. Either part may become part of a path, so
// nothing but a DNS name and a plugin version passes; the version may be
// missing.
func parseKey(key string) (name, version string, err error) {
	name, version = plugin.SplitKey(key)
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", "", clierr.Usagef("a plugin is named like go/v4", "plugin %q is not known: its name must be of lower-case letters, digits, '-' and '.'", key)
	}
	if version == "" {
		return name, "", nil
	}
	var v plugin.Version
	if err := v.Parse(version); err != nil || v.Validate() != nil {
		return "", "", clierr.Usagef("a plugin is named like go/v4", "plugin %q is not known: %q is not a version such as v1 or v1-alpha", key, version)
	}
	return name, version, nil
}

// Installed are the keys of the external plugins that are there. A directory that
// cannot be read counts as empty: this only feeds hints and short names.
func Installed(h host.Host) (keys []string) {
	root := pluginRoot(h)
	names, err := h.Files.ReadDir(root)
	if err != nil {
		return nil
	}
	for _, n := range names {
		versions, err := h.Files.ReadDir(filepath.Join(root, n.Name()))
		if err != nil {
			continue
		}
		for _, v := range versions {
			key := n.Name() + "/" + v.Name()
			if name, version, err := parseKey(key); err == nil && version != "" && name == n.Name() {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// findExternal returns the external plugin of that key. The version may be
// left out where there is one only, and so may the name's domain.
func findExternal(h host.Host, key string, builtIn []string) (*External, error) {
	name, version, err := parseKey(key)
	if err != nil {
		return nil, err
	}
	root := pluginRoot(h)
	all := Installed(h)
	matches := func(full bool) []string {
		return slices.DeleteFunc(slices.Clone(all), func(k string) bool {
			n, v := plugin.SplitKey(k)
			if !full {
				n = plugin.GetShortName(n)
			}
			return n != name || version != "" && v != version
		})
	}
	found := matches(true)
	if len(found) == 0 {
		found = matches(false)
	}
	switch len(found) {
	case 0:
		later := map[string]string{"helm": "helm/v2-alpha", "grafana": "grafana/v1-alpha"}[strings.TrimSuffix(name, ".kubebuilder.io")]
		if later != "" && key != "helm" && key != "helm/v1" { // these two are operator-sdk's
			return nil, clierr.Usagef(fmt.Sprintf("leave it out, and run 'mysdk edit --plugins %s' in the project afterwards", later), "plugin %q works on an existing project", key)
		}
		if short := plugin.GetShortName(name); short == "helm" || short == "ansible" {
			return nil, clierr.Usagef("use operator-sdk for it: operator-sdk init --plugins="+key, "plugin %q: mysdk scaffolds operators in Go only", key)
		}
		known := append(builtIn, all...)
		hint := clierr.DidYouMean(key, known)
		if clierr.Closest(key, known) == "" {
			hint += "; or install it as " + filepath.Join(root, name, cmp.Or(version, "v1"), name)
		}
		return nil, clierr.Usagef(hint, "plugin %q is not known: it is neither built in nor in %s", key, root)
	case 1:
		return openExternal(h, root, found[0])
	default:
		return nil, clierr.Usagef("choose one of: "+strings.Join(found, ", "), "plugin %q is installed more than once", key)
	}
}

// openExternal finds the executable of a plugin that is installed: the file
// that bears its name, with an extension or without.
func openExternal(h host.Host, root, key string) (*External, error) {
	name, version := plugin.SplitKey(key)
	dir := filepath.Join(root, name, version)
	entries, err := h.Files.ReadDir(dir)
	if err != nil {
		return nil, clierr.Failedf("make it a directory that you may read", "plugin %s: %w", key, err)
	}
	for _, e := range entries {
		stem, _, _ := strings.Cut(e.Name(), ".")
		if e.IsDir() || e.Name() != name && stem != name && strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())) != name {
			continue
		}
		p := &External{host: h, name: name, path: filepath.Join(dir, e.Name()), timeouts: defaultTimeouts()}
		_ = p.version.Parse(version) // parseKey has refused what is none
		info, err := h.Files.Lstat(p.path)
		if err != nil {
			return nil, clierr.Failedf("install the plugin again", "plugin %s: %w", key, err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
			return nil, clierr.Failedf("chmod +x "+p.path, "plugin %s: %s is not executable", key, p.path)
		}
		return p, nil
	}
	return nil, clierr.Failedf("the plugin's executable belongs there, as "+filepath.Join(dir, name),
		"plugin %s: no executable %s in %s", key, name, dir)
}
