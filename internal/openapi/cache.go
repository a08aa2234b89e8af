package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/example/mysdk/internal/host"
)

// record is what an earlier run found: these inputs give these outputs.
type record struct {
	Inputs     string            `json:"inputs"`
	Dirs       []string          `json:"dirs"`    // of the API packages
	Outputs    map[string]string `json:"outputs"` // hashes by name
	Violations []string          `json:"violations,omitempty"`
}

// recordFile is where the record of a project is, "" without a cache.
func (o Options) recordFile() string {
	if o.CacheDir == "" || o.Inputs == "" {
		return ""
	}
	return filepath.Join(o.CacheDir, "openapi", hashOf([]byte(o.Dir))[:32]+".json")
}

// lookup returns the violations of an earlier run if its inputs are these and
// its outputs are what the project has now.
func (o Options) lookup(dirs []string, header []byte) ([]string, bool) {
	file := o.recordFile()
	if file == "" {
		return nil, false
	}
	data, err := o.Host.Files.ReadFile(file)
	if err != nil {
		return nil, false
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil || r.Inputs != o.key(header) || !slices.Equal(r.Dirs, dirs) {
		return nil, false
	}
	for name, sum := range r.Outputs {
		data, err := o.Host.Files.ReadFile(o.abs(name))
		if err != nil || hashOf(data) != sum {
			return nil, false
		}
	}
	return r.Violations, true
}

// key is the fingerprint together with what it does not cover: the header has the
// year in it.
func (o Options) key(header []byte) string { return o.Inputs + " " + hashOf(header) }

// store records a run. That it cannot is no error: the next run is slow then,
// and nothing else.
func (o Options) store(dirs []string, header []byte, files map[string][]byte, violations []string) {
	file := o.recordFile()
	if file == "" {
		return
	}
	r := record{Inputs: o.key(header), Dirs: dirs, Outputs: map[string]string{}, Violations: violations}
	for name, data := range files {
		r.Outputs[name] = hashOf(data)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return
	}
	if files := o.Host.Files; host.MkdirAll(files, filepath.Dir(file), 0o755) == nil {
		_ = host.ReplaceData(files, file, data, 0o644)
	}
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
