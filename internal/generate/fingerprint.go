package generate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// record is what an earlier run found: these inputs give these outputs. Both
// are hashes, so it holds whatever happened in between.
type record struct {
	Inputs   string            `json:"inputs"`
	Outputs  map[string]string `json:"outputs"`            // by name
	Warnings []string          `json:"warnings,omitempty"` // about markers
}

// cache remembers one record for each project and selection of outputs.
type cache struct {
	opts Options
	tree *tree
	env  goEnv
	file string // "" turns the cache off
}

func newCache(o Options, t *tree, env goEnv) *cache {
	c := &cache{opts: o, tree: t, env: env}
	// These flags name further files that decide about packages.
	elsewhere := strings.Contains(env.GOFLAGS, "-overlay") || strings.Contains(env.GOFLAGS, "-modfile")
	if o.CacheDir != "" && !elsewhere {
		sum := sha256.Sum256([]byte(o.Dir + "\x00" + o.selection()))
		c.file = filepath.Join(o.CacheDir, "generate", hex.EncodeToString(sum[:16])+".json")
	}
	return c
}

// selection is every option that changes what is rendered.
func (o Options) selection() string {
	return fmt.Sprintf("%t %t %t %t %q %q %q %q %t %s", o.Deepcopy, o.CRDs, o.RBAC, o.Webhooks,
		o.Paths, o.Header, o.Year, o.RoleName, o.Lax, o.Schema.selection())
}

func (s SchemaOptions) selection() string {
	descLen := "whole"
	if s.MaxDescLen != nil {
		descLen = fmt.Sprint(*s.MaxDescLen)
	}
	return fmt.Sprintf("%s %t %t %t", descLen, s.AllowDangerousTypes, s.IgnoreUnexportedFields, s.GenerateEmbeddedObjectMeta)
}

// lookup returns the record of an earlier run if its inputs are these and its
// outputs are what the project has now.
func (c *cache) lookup(inputs string) (record, bool) {
	var r record
	if inputs == "" {
		return r, false
	}
	data, err := c.opts.Host.Files.ReadFile(c.file)
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
func (c *cache) store(inputs string, files map[string][]byte, warnings []string) {
	if inputs == "" {
		return
	}
	r := record{Inputs: inputs, Outputs: map[string]string{}, Warnings: warnings}
	for name, data := range files {
		r.Outputs[name] = sumOf(data)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return
	}
	fsys := c.opts.Host.Files
	if err := makeDirs(c.opts.Host.Files.Mkdir, filepath.Dir(c.file)); err != nil {
		return
	}
	// A name of the process's own, so that two runs do not mix their bytes.
	temporary := fmt.Sprintf("%s.%d", c.file, os.Getpid())
	if err := fsys.WriteFile(temporary, data, 0o644); err == nil {
		err = fsys.Rename(temporary, c.file)
		if err == nil {
			return
		}
	}
	// The file is in a cache; a leftover there harms nobody.
	_ = fsys.Remove(temporary)
}

func makeDirs(mkdir func(string, fs.FileMode) error, dir string) error {
	err := mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDirs(mkdir, filepath.Dir(dir)); err != nil {
			return err
		}
		err = mkdir(dir, 0o755)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
