// Package lastrun keeps records of what generators made, so that a run whose
// inputs and outputs are those of the last one need not happen. It knows nothing
// of what the inputs are.
package lastrun

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/example/mysdk/internal/host"
)

// Record is what an earlier run found: these inputs give these outputs. Both
// are hashes, so it holds whatever happened in between.
type Record[T any] struct {
	Inputs  string            `json:"from"`    // records that say "inputs" have what was found elsewhere
	Outputs map[string]string `json:"outputs"` // by name
	Found   T                 `json:"found"`   // besides the outputs
}

// Read reads a record. One that is missing or broken is that of no run.
func Read[T any](files host.Files, file string) Record[T] {
	var r Record[T]
	if data, err := files.ReadFile(file); err != nil || json.Unmarshal(data, &r) != nil {
		return Record[T]{}
	}
	return r
}

// Holds reports whether the inputs are these, and the outputs what read returns.
func (r Record[T]) Holds(inputs string, read func(name string) ([]byte, error)) bool {
	if r.Inputs != inputs {
		return false
	}
	for name, sum := range r.Outputs {
		if data, err := read(name); err != nil || Sum(data) != sum {
			return false
		}
	}
	return true
}

// Write records a run. That it cannot is no error: the next run is slow then,
// and nothing else.
func Write[T any](files host.Files, file, inputs string, outputs map[string][]byte, found T) {
	r := Record[T]{inputs, map[string]string{}, found}
	for name, data := range outputs {
		r.Outputs[name] = Sum(data)
	}
	data, err := json.Marshal(r)
	if err == nil && host.MkdirAll(files, filepath.Dir(file), 0o755) == nil {
		_ = host.ReplaceData(files, file, data, 0o644)
	}
}

// Sum is the hash of an output's content.
func Sum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
