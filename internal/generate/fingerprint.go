package generate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/host"
)

// record is what an earlier run found: these inputs give these outputs. Both
// are hashes, so it holds whatever happened in between.
type record struct {
	Inputs  string            `json:"inputs"`
	Outputs map[string]string `json:"outputs"` // by name
	findings
}

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
	sum := sha256.Sum256(fmt.Append(nil, o.Dir, "\x00", selection, o.settings()))
	return filepath.Join(o.CacheDir, "generate", hex.EncodeToString(sum[:16])+".json")
}

// settings is every option that changes the content of an output.
func (o Options) settings() string {
	return fmt.Sprintf("%q %q %t %t", o.Calls, o.Year, o.Lax, o.Foreign)
}

// lookup returns the record of an earlier run if its inputs are these and its
// outputs are what the project has now.
func (c *cache) lookup(inputs string) (record, bool) {
	if inputs == "" {
		return record{}, false
	}
	for _, file := range append([]string{c.file}, c.covering...) {
		if r, ok := c.lookupIn(file, inputs); ok {
			return r, ok
		}
	}
	for _, file := range c.plain {
		if r, ok := c.lookupIn(file, inputs); ok && !r.Apply {
			return r, ok
		}
	}
	return record{}, false
}

// judged are the hashes, by name, of outputs that the API server would take, as
// an earlier run found, whatever its inputs were.
func (c *cache) judged() map[string]string {
	var r record
	if c.file == "" {
		return nil
	}
	data, err := c.opts.Host.Files.ReadFile(c.file)
	if err != nil || json.Unmarshal(data, &r) != nil || !r.Judged {
		return nil
	}
	return r.Outputs
}

func (c *cache) lookupIn(file, inputs string) (record, bool) {
	var r record
	data, err := c.opts.Host.Files.ReadFile(file)
	if err != nil {
		return r, false
	}
	if err := json.Unmarshal(data, &r); err != nil || r.Inputs != inputs {
		return r, false
	}
	for name, sum := range r.Outputs {
		data, err := c.tree.read(name)
		if err != nil || sumOf(data) != sum {
			return r, false
		}
	}
	return r, true
}

// store records a run. That it cannot is no error: the next run is slow then,
// and nothing else.
func (c *cache) store(inputs string, files map[string][]byte, found findings) {
	if inputs == "" {
		return
	}
	r := record{Inputs: inputs, Outputs: map[string]string{}, findings: found}
	for name, data := range files {
		r.Outputs[name] = sumOf(data)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return
	}
	if files := c.opts.Host.Files; host.MkdirAll(files, filepath.Dir(c.file), 0o755) == nil {
		_ = host.ReplaceData(files, c.file, data, 0o644)
	}
}

// sumOf is the hash of an output's content.
func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
