package generate

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/lastrun"
)

// cache remembers one record for each project and selection of outputs.
type cache struct {
	opts Options
	tree *tree
	env  goEnv
	file string // where this selection's record is; "" turns the cache off
	// covering are where records of larger selections are, and plain where
	// those without apply configurations are: they serve where nobody asks for
	// such.
	covering, plain []string
}

// newCache opens the cache for a project and selection. Selections have records
// of their own, so that 'generate crds' does not push out 'generate'.
func newCache(o Options, t *tree, env goEnv) *cache {
	c := &cache{opts: o, tree: t, env: env}
	// These flags name further files that decide about packages.
	elsewhere := strings.Contains(env.GOFLAGS, "-overlay") || strings.Contains(env.GOFLAGS, "-modfile")
	// So do manifests that are patched.
	patches := slices.ContainsFunc(o.jobs, func(j job) bool { return j.name == patchName })
	if o.CacheDir != "" && !elsewhere && !patches {
		c.file = o.recordFile(o.Deepcopy, o.CRDs, o.RBAC, o.Webhooks, o.ApplyConfigurations)
		c.covering = []string{o.recordFile(true, true, true, true, true)}
		rest := []string{o.recordFile(o.Deepcopy, o.CRDs, o.RBAC, o.Webhooks, false), o.recordFile(true, true, true, true, false)}
		if o.ApplyConfigurations {
			c.plain = rest
		} else {
			c.covering = append(c.covering, rest...)
		}
	}
	return c
}

// recordFile is where the record for a selection of outputs is.
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
	for _, file := range append([]string{c.file}, c.covering...) {
		if r := c.read(file); r.Holds(inputs, c.tree.read) {
			return r, true
		}
	}
	for _, file := range c.plain {
		if r := c.read(file); !r.Found.Apply && r.Holds(inputs, c.tree.read) {
			return r, true
		}
	}
	return lastrun.Record[findings]{}, false
}

func (c *cache) read(file string) lastrun.Record[findings] {
	return lastrun.Read[findings](c.opts.Host.Files, file)
}

// judged are the hashes, by name, of outputs that the API server would take, as
// an earlier run found, whatever its inputs were.
func (c *cache) judged() map[string]string {
	if r := c.read(c.file); r.Found.Judged {
		return r.Outputs
	}
	return nil
}

// store records a run.
func (c *cache) store(inputs string, files map[string][]byte, found findings) {
	if inputs != "" {
		lastrun.Write(c.opts.Host.Files, c.file, inputs, files, found)
	}
}
