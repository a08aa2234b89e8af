// Package lint checks API types against the conventions of the Kubernetes API,
// with the linters of kube-api-linter (sigs.k8s.io/kube-api-linter). It knows
// which of them run, their settings and how to apply what they offer. Loading
// the types is package generate's business.
package lint

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/format"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
)

// Run returns what the linters find in the API types of the project: those that
// its kinds are made of.
func Run(ctx context.Context, opts generate.Options, c Config) ([]generate.Finding, error) {
	found, err := run(ctx, opts, c)
	return slices.DeleteFunc(found, func(f generate.Finding) bool { return f.Aside }), err
}

// run is Run for all types in the packages of the kinds.
func run(ctx context.Context, opts generate.Options, c Config) ([]generate.Finding, error) {
	c = c.withDefaults()
	analyzers, err := newRegistry().InitializeLinters(c.Linters, c.LintersConfig)
	if err != nil {
		return nil, clierr.Usagef("correct "+Key+" in the configuration", "lint: %w", err)
	}
	found, err := generate.Analyze(ctx, opts, analyzers)
	if err != nil {
		return nil, err
	}
	s := silencer{opts, map[string][]string{}}
	return slices.DeleteFunc(found, func(f generate.Finding) bool { return s.silences(f.Position) }), nil
}

// The comment by which golangci-lint leaves a line out.
var nolint = lazy.Delayed(`//nolint(:.*\b(kubeapilinter|all)\b|\s|$)`)

// silencer knows the lines of files.
type silencer struct {
	opts  generate.Options
	lines map[string][]string
}

// silences reports whether such a comment stands on the line or above it.
func (s silencer) silences(at generate.Position) bool {
	if _, read := s.lines[at.File]; !read {
		data, _ := fileset.Tree{FS: s.opts.Host.Files, Root: s.opts.Dir}.Read(s.opts.Overlay, at.File) // it was read before
		s.lines[at.File] = strings.Split(string(data), "\n")
	}
	lines := s.lines[at.File]
	is := func(line int) bool { return line > 0 && line <= len(lines) && nolint.MatchString(lines[line-1]) }
	return is(at.Line) || is(at.Line-1) && strings.HasPrefix(strings.TrimSpace(lines[at.Line-2]), "//")
}

// Fix returns the files that change when what the linters offer is applied. Of
// fixes that overlap the first counts: the next run has the other, if it still
// is one.
func Fix(read func(name string) ([]byte, error), found []generate.Finding) (set fileset.Set, err error) {
	chosen := map[string][]generate.Edit{}
	for _, f := range found {
		if len(f.Fix) == 0 || slices.ContainsFunc(f.Fix, func(e generate.Edit) bool { return overlaps(chosen[e.File], e) }) {
			continue
		}
		for _, e := range f.Fix {
			if !slices.Contains(chosen[e.File], e) {
				chosen[e.File] = append(chosen[e.File], e)
			}
		}
	}
	for name, edits := range chosen {
		before, err := read(name)
		if err != nil {
			return set, err
		}
		after, err := format.Source(apply(before, edits))
		if err != nil {
			return set, clierr.Failedf("correct the findings by hand", "fix %s: %w", name, err)
		}
		if bytes.Equal(before, after) {
			continue
		}
		if err := set.Put(name, fileset.File{Data: after}); err != nil {
			return set, fmt.Errorf("fix %s: %w", name, err)
		}
	}
	return set, nil
}

// overlaps reports whether an edit touches what others of the file do: of text to
// insert at the end of another edit, nobody knows which goes first. One that is
// there already does not.
func overlaps(others []generate.Edit, e generate.Edit) bool {
	return slices.ContainsFunc(others, func(o generate.Edit) bool {
		if e.Start < e.End && o.Start < o.End {
			return o != e && e.Start < o.End && o.Start < e.End
		}
		return o != e && e.Start <= o.End && o.Start <= e.End
	})
}

// apply applies edits of one file, none of which overlap.
func apply(data []byte, edits []generate.Edit) []byte {
	slices.SortFunc(edits, func(a, b generate.Edit) int { return cmp.Compare(a.Start, b.Start) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, data[at:e.Start]...), e.New...)
		at = e.End
	}
	return append(out, data[at:]...)
}
