package generate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/lastrun"
)

// cache remembers one record for each project and selection of outputs.
type cache struct {
	workspace
	// files are where records are: that of this selection, that of everything, and
	// both without apply configurations. None turns the cache off.
	files []string
}

// newCache opens the cache for a project and selection. Selections have records
// of their own, so that 'generate crds' does not push out 'generate'.
func newCache(w workspace) *cache {
	c, o := &cache{workspace: w}, w.Options
	// These flags name further files that decide about packages.
	elsewhere := strings.Contains(w.env.GOFLAGS, "-overlay") || strings.Contains(w.env.GOFLAGS, "-modfile")
	// So do manifests that are patched.
	patches := slices.ContainsFunc(o.jobs, func(j job) bool { return j.name == patchName })
	if o.CacheDir != "" && !elsewhere && !patches {
		c.files = []string{
			o.recordFile(o.Deepcopy, o.CRDs, o.RBAC, o.Webhooks, o.ApplyConfigurations),
			o.recordFile(true, true, true, true, true),
			o.recordFile(o.Deepcopy, o.CRDs, o.RBAC, o.Webhooks, false),
			o.recordFile(true, true, true, true, false),
		}
	}
	return c
}

func (o Options) recordFile(selection ...bool) string {
	return filepath.Join(o.CacheDir, "generate", lastrun.Sum(fmt.Append(nil, o.Dir, "\x00", selection, o.settings()))[:32]+".json")
}

// settings is every option that changes the content of an output.
func (o Options) settings() string {
	return fmt.Sprintf("%q %q %t %t", o.Calls, o.Year, o.Lax, o.Foreign)
}

// lookup returns the record of an earlier run if its inputs are these and its
// outputs are what the project has now.
func (c *cache) lookup(inputs string) (lastrun.Record[findings], bool) {
	if inputs == "" {
		return lastrun.Record[findings]{}, false
	}
	for i, file := range c.files {
		// One without apply configurations serves who asks for them only where no package does.
		if r := c.record(file); (i < 2 || !c.ApplyConfigurations || !r.Found.Apply) && r.Holds(inputs, c.read) {
			return r, true
		}
	}
	return lastrun.Record[findings]{}, false
}

func (c *cache) record(file string) lastrun.Record[findings] {
	return lastrun.Read[findings](c.Host.Files, file)
}

// judged are the hashes, by name, of outputs that the API server would take, as
// an earlier run found, whatever its inputs were.
func (c *cache) judged() map[string]string {
	if len(c.files) > 0 {
		if r := c.record(c.files[0]); r.Found.Judged {
			return r.Outputs
		}
	}
	return nil
}

func (c *cache) store(inputs string, files map[string][]byte, found findings) {
	if inputs != "" {
		lastrun.Write(c.Host.Files, c.files[0], inputs, files, found)
	}
}

// inputs is the hash of all that decides about the outputs: the options, the
// tools, go.mod and go.sum with what they pin, the Go files of the project and
// of local directories that stand in for modules. More files than the go
// command would read are safe, fewer are not. It is "" without a cache.
func (c *cache) inputs() (string, error) {
	if len(c.files) == 0 {
		return "", nil
	}
	h := &hasher{Hash: sha256.New(), seen: map[string]bool{}}
	h.add("tool", []byte(c.ToolVersion+" "+ControllerToolsVersion+" "+runtime.Version()+" "+c.executable()))
	h.add("options", []byte(c.settings()))
	env, err := json.Marshal(c.env)
	if err != nil {
		return "", fmt.Errorf("generate: %w", err)
	}
	h.add("go env", env)
	for _, header := range c.headers {
		err = errors.Join(err, h.file(c.tree, header))
	}
	if err = errors.Join(err, h.module(c.tree), h.elsewhere(c.env)); err != nil {
		return "", fmt.Errorf("generate: read the project: %w", err)
	}
	if h.blind {
		return "", nil
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// executable tells builds of mysdk apart that share a version, as those of a developer do.
func (c *cache) executable() string {
	info, err := c.Host.Files.Lstat(c.Host.Executable)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

type hasher struct {
	hash.Hash
	seen  map[string]bool // directories hashed as modules, absolute
	local []string        // directories that go.mod and go.work files name, absolute
	blind bool            // directories may be missing: of a go.mod that cannot be read, or behind links
}

// add hashes data under a name, with its length, so that no two lists of files
// give one stream of bytes.
func (h *hasher) add(name string, data []byte) {
	// A hash accepts everything that is written to it.
	_, _ = fmt.Fprintf(h, "%q %d\n", name, len(data))
	_, _ = h.Write(data)
}

// file hashes a file, unless the loader never sees it: generated code counts
// as an output, not as an input.
func (h *hasher) file(t *tree, name string) error {
	data, err := t.read(name)
	if err != nil {
		return err
	}
	switch base := path.Base(name); {
	case base == "go.mod":
		h.replacements(t.abs(path.Dir(name)), data)
	case strings.HasPrefix(string(data), generatedHeader), IsApply(data):
		return nil
	}
	h.add(t.abs(name), data)
	return nil
}

// generatedHeader begins the files that the loader never sees, which the
// deepcopy outputs are among.
const generatedHeader = "//go:build !" + autogenerated + "\n"

// module hashes the tree and the local directories that it refers to.
func (h *hasher) module(t *tree) error {
	if h.seen[t.root] {
		return nil
	}
	h.seen[t.root] = true
	if err := h.dir(t, "."); err != nil {
		return err
	}
	local := h.local
	h.local = nil
	for _, dir := range local {
		if err := h.module(newTree(dir, fileset.Set{})); err != nil {
			return err
		}
	}
	return nil
}

// dir hashes what counts in a directory and below. Directories with a dot in
// front cannot be imported; all others can, whatever patterns leave out.
func (h *hasher) dir(t *tree, dir string) error {
	entries, err := t.list(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a replacement that is missing; the go command complains
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.name)
		switch {
		case (e.dir || e.link) && strings.HasPrefix(e.name, "."):
		case e.link:
			h.blind = h.blind || !leadsInside(t, name)
		case e.dir:
			err = h.dir(t, name)
		case counts(e.name):
			err = h.file(t, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leadsInside reports whether a link leads to what is hashed under its own name.
func leadsInside(t *tree, name string) bool {
	root, rootErr := filepath.EvalSymlinks(t.root)
	target, err := filepath.EvalSymlinks(t.abs(name))
	if errors.Join(rootErr, err) != nil {
		return false
	}
	rel, err := filepath.Rel(root, target)
	return err == nil && filepath.IsLocal(rel) && !strings.Contains("/"+filepath.ToSlash(rel), "/.")
}

// counts reports whether a file of this name can change what is generated.
func counts(name string) bool {
	return slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum", "modules.txt"}, name) ||
		path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go")
}

// replacements notes the local directories that a go.mod puts in the place of modules.
func (h *hasher) replacements(dir string, data []byte) {
	f, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		h.blind = true
		return
	}
	h.replaced(dir, f.Replace)
}

func (h *hasher) replaced(base string, list []*modfile.Replace) {
	for _, r := range list {
		if r.New.Version == "" {
			h.note(base, r.New.Path)
		}
	}
}

// note remembers a directory that a file in base names, to hash it later.
func (h *hasher) note(base, dir string) {
	dir = filepath.FromSlash(dir)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	h.local = append(h.local, dir)
}

// elsewhere hashes the module or workspace around the project, if it is not the root of either.
func (h *hasher) elsewhere(env goEnv) error {
	var around []string
	if filepath.Base(env.GOMOD) == "go.mod" {
		around = append(around, filepath.Dir(env.GOMOD))
	}
	if work := env.GOWORK; work != "" && work != "off" {
		dir := filepath.Dir(work)
		t := newTree(dir, fileset.Set{})
		data, err := t.read(filepath.Base(work))
		if err != nil {
			return err
		}
		h.add(work, data)
		f, err := modfile.ParseWork(work, data, nil)
		if err != nil {
			return err
		}
		for _, u := range f.Use {
			h.note(dir, u.Path)
		}
		h.replaced(dir, f.Replace)
		around, h.local = append(around, h.local...), nil
	}
	for _, dir := range around {
		if err := h.module(newTree(dir, fileset.Set{})); err != nil {
			return err
		}
	}
	return nil
}
