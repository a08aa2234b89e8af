package kustomize

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fields"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// checker reads the kustomizations that a build will reach, before kustomize
// does. What kustomize would take for a URL and fetch never gets to it, and a
// mistake is reported with the file in which it stands.
type checker struct {
	tree *tree
	seen map[string]bool
}

// RefusedError is that of a kustomization for which something would have to be fetched
// or a program run: kustomize itself may well build it.
type RefusedError struct{ text string }

func (e *RefusedError) Error() string { return e.text }

// check checks the kustomization in a directory of the source, which is root, and
// those that it refers to.
func check(src Source, dir string) (c checker, root string, err error) {
	if c.tree, err = newTree(src); err != nil {
		return c, "", err
	}
	c.seen, root = map[string]bool{}, filepath.Join(c.tree.root, filepath.FromSlash(dir))
	return c, root, c.visit(root)
}

// visit checks the kustomization in dir and those that it refers to.
func (c *checker) visit(dir string) error {
	dir = resolve(dir)
	if c.seen[dir] {
		return nil // a cycle is for kustomize to report
	}
	c.seen[dir] = true
	file, err := c.find(dir)
	if err != nil {
		return err
	}
	data, err := c.tree.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", c.tree.rel(file), err)
	}
	var k types.Kustomization
	if err := k.Unmarshal(data); err != nil {
		return c.parseError(file, data, err)
	}
	if len(k.HelmCharts) > 0 || len(k.HelmChartInflationGenerator) > 0 {
		return c.failed(file, data, "helmChart", "render the chart to a file with 'helm template' and list that file under resources",
			"%w", &RefusedError{"helm charts need the helm program, which mysdk does not run"})
	}
	for _, r := range references(&k) {
		if err := c.follow(file, data, r); err != nil {
			return err
		}
	}
	return nil
}

// files are the kustomization files of dir, of which there may be one.
func (c *checker) files(dir string) (found []string) {
	for _, name := range FileNames() {
		if full := filepath.Join(dir, name); c.tree.Exists(full) {
			found = append(found, full)
		}
	}
	return found
}

func (c *checker) find(dir string) (string, error) {
	found := c.files(dir)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", clierr.Failedf("create it, or name a directory that has one", "no kustomization.yaml in %s", c.tree.rel(dir))
	}
	return "", clierr.Failedf("keep one of them", "%s has more than one kustomization file: %s and %s",
		c.tree.rel(dir), filepath.Base(found[0]), filepath.Base(found[1]))
}

type reference struct {
	field, path string
	kustomizes  bool // may be a directory with a kustomization of its own
	inline      bool // may be the content itself instead of a path
}

// references lists everything in k that kustomize would load.
func references(k *types.Kustomization) []reference {
	var list []reference
	add := func(field string, kustomizes, inline bool, paths ...string) {
		for _, p := range paths {
			if p != "" {
				list = append(list, reference{field, p, kustomizes, inline})
			}
		}
	}
	add("resources", true, false, k.Resources...)
	//lint:ignore SA1019 deprecated, but kustomize still loads what stands there
	add("bases", true, false, k.Bases...)
	add("components", true, false, k.Components...)
	add("generators", true, true, k.Generators...)
	add("transformers", true, true, k.Transformers...)
	add("validators", true, true, k.Validators...)
	add("crds", false, false, k.Crds...)
	add("configurations", false, false, k.Configurations...)
	add("openapi", false, false, k.OpenAPI["path"])
	//lint:ignore SA1019 as above
	for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) {
		add("path", false, false, p.Path)
	}
	//lint:ignore SA1019 as above
	for _, p := range k.PatchesStrategicMerge {
		add("patchesStrategicMerge", false, true, string(p))
	}
	for _, r := range k.Replacements {
		add("path", false, false, r.Path)
	}
	for _, g := range k.ConfigMapGenerator {
		add("configMapGenerator", false, false, pairs(g.KvPairSources)...)
	}
	for _, g := range k.SecretGenerator {
		add("secretGenerator", false, false, pairs(g.KvPairSources)...)
	}
	return list
}

// pairs lists the files of a generator; "key=path" names one by its path.
func pairs(s types.KvPairSources) []string {
	list := append(slices.Clone(s.EnvSources), s.EnvSource)
	for _, f := range s.FileSources {
		if _, path, ok := strings.Cut(f, "="); ok && !remote(f) {
			f = path
		}
		list = append(list, f)
	}
	return list
}

// follow refuses what is remote or missing, and visits what is a kustomization.
func (c *checker) follow(file string, data []byte, r reference) error {
	if r.inline && strings.Contains(r.path, "\n") {
		return c.plugins(file, data, []byte(r.path))
	}
	if remote(r.path) {
		return c.remoteError(file, data, r.field, r.path)
	}
	if filepath.IsAbs(r.path) {
		return nil // kustomize refuses these with a reason of its own
	}
	full := filepath.Join(filepath.Dir(file), filepath.FromSlash(r.path))
	if r.kustomizes && c.tree.IsDir(full) {
		return c.visit(full)
	}
	if !r.inline && !c.tree.Exists(full) {
		return c.failed(file, data, r.path, "create it, or take the line out", "%s: there is no %s", r.field, c.tree.rel(full))
	}
	if !r.kustomizes || !c.tree.Exists(full) {
		return nil
	}
	text, err := c.tree.ReadFile(full)
	if err != nil {
		return fmt.Errorf("read %s: %w", c.tree.rel(full), err)
	}
	return c.plugins(full, text, text)
}

// plugins refuses what is remote in configurations of kustomize's built-in plugins,
// among the objects in text, which is all of file or stands in it.
func (c *checker) plugins(file string, data, text []byte) error {
	if !bytes.Contains(text, []byte(konfig.BuiltinPluginApiVersion)) {
		return nil // saves parsing most files
	}
	docs, _ := yamledit.Documents(text) // kustomize reports what does not parse
	for _, doc := range docs {
		var object map[string]any
		if err := doc.Decode(&object); err != nil {
			continue // as above
		}
		for _, path := range loaded(object, false, "") {
			if remote(path[1]) {
				return c.remoteError(file, data, path[0], path[1])
			}
		}
	}
	return nil
}

// loaded are the fields below a value from which built-in plugins load files, each
// with a path. plugin says whether the value is in the configuration of one, and
// field in which field that loads files it is, if any.
func loaded(value any, plugin bool, field string) (list [][2]string) {
	switch value := value.(type) {
	case string:
		if field != "" && !strings.Contains(value, "\n") { // else it is the content itself
			return [][2]string{{field, value}}
		}
	case []any:
		for _, item := range value {
			list = append(list, loaded(item, plugin, field)...)
		}
	case map[string]any:
		plugin = plugin || value["apiVersion"] == konfig.BuiltinPluginApiVersion
		for _, key := range slices.Sorted(maps.Keys(value)) {
			field := ""
			if plugin && slices.Contains([]string{"path", "paths", "files", "env", "envs", "targetFilePath"}, key) {
				field = key
			}
			list = append(list, loaded(value[key], plugin, field)...)
		}
	}
	return list
}

func (c *checker) remoteError(file string, data []byte, field, path string) error {
	return c.failed(file, data, path, "download it into the project and refer to the copy",
		"%w", &RefusedError{fmt.Sprintf("%s %s is remote, and mysdk fetches nothing while it builds", field, path)})
}

// remote reports whether kustomize would, or might, take path for a URL: a
// scheme, user@host:, git's shorthands, or GitHub without a scheme.
func remote(path string) bool {
	lower := strings.ToLower(path)
	for _, prefix := range []string{"git::", "gh:", "github.com/", "github.com:", "www.github.com/", "www.github.com:"} {
		if strings.HasPrefix(lower, prefix) {
			return true
		}
	}
	at, colon := strings.Index(path, "@"), strings.Index(path, ":")
	return strings.Contains(path, "://") || at >= 0 && colon > at || at >= 0 && strings.Contains(lower[at+1:], "github.com")
}

// failed is an error at the first line of file that contains text.
func (c *checker) failed(file string, data []byte, text, hint, format string, args ...any) error {
	return clierr.Failedf(hint, "%s: %w", c.at(file, data, text), fmt.Errorf(format, args...))
}

func (c *checker) at(file string, data []byte, text string) string {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if bytes.Contains(line, []byte(text)) && !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			return fmt.Sprintf("%s:%d", c.tree.rel(file), n)
		}
	}
	return c.tree.rel(file)
}

// parseError words what kustomize says about a file it cannot read.
func (c *checker) parseError(file string, data []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "invalid Kustomization: ")
	if m := regexp.MustCompile(`^json: unknown field "(.*)"$`).FindStringSubmatch(text); m != nil {
		known := fields.Names(reflect.TypeFor[types.Kustomization]())
		return c.failed(file, data, m[1]+":", clierr.DidYouMean(m[1], known), "unknown field %q", m[1])
	}
	if m := regexp.MustCompile(`line (\d+): (.*)`).FindStringSubmatch(text); m != nil {
		return clierr.Failedf("correct the line and run the command again", "%s:%s: %s", c.tree.rel(file), m[1], m[2])
	}
	return clierr.Failedf("correct the file and run the command again", "%s: %s", c.tree.rel(file), strings.TrimPrefix(text, "json: "))
}
