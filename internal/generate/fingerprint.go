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
	renderer
	// files are where records are: that of this selection, that of everything, and
	// both without apply configurations, which serve where nobody asks for such.
	// None turns the cache off.
	files []string
}

// newCache opens the cache for a project and selection. Selections have records
// of their own, so that 'generate crds' does not push out 'generate'.
func newCache(r renderer) *cache {
	c, o := &cache{renderer: r}, r.Options
	// These flags name further files that decide about packages.
	elsewhere := strings.Contains(r.env.GOFLAGS, "-overlay") || strings.Contains(r.env.GOFLAGS, "-modfile")
	// So do manifests that are patched.
	patches := slices.ContainsFunc(o.jobs, func(j job) bool { return j.name == patchName })
	if o.CacheDir != "" && !elsewhere && !patches {
		c.files = []string{
			o.recordFile(o.Deepcopy, o.CRDs, o.RBAC, o.Webhooks, o.ApplyConfigurations), o.recordFile(true, true, true, true, true),
			o.recordFile(o.Deepcopy, o.CRDs, o.RBAC, o.Webhooks, false), o.recordFile(true, true, true, true, false),
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
