// Package merge3 carries a change of a text over to what somebody else has made
// of it: line by line, or by the parts that a Makefile, YAML, Go or a list of
// patterns is made of. Nothing is parsed and printed again, so that comments and
// formatting stay. It knows these formats and nothing of what it merges for: no
// scaffold, no project, no files.
package merge3

import (
	"bytes"
	"errors"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"path"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

func isGo(name string) bool   { return path.Ext(name) == ".go" }
func isYAML(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" }

// sectionsOf splits a text into sections, by its name; nil for one that can
// only be merged line by line.
func sectionsOf(name string, text []byte) []Section {
	switch base := path.Base(name); {
	case isGo(name):
		return goSections(text)
	case isYAML(name):
		return yamlSections(text)
	case base == "Makefile":
		return Makefile(text)
	case base == ".gitignore", base == ".dockerignore":
		return listSections(text)
	}
	return nil
}

// Merge carries the change from base to theirs over to mine, in the way that
// goes with the file's name. merged has all of it that does not touch what the
// user changed. wanted has the rest, too; the two are equal where nothing is
// left out. Both can be parsed, if mine can.
func Merge(name string, base, mine, theirs []byte) (merged, wanted []byte) {
	finished := func(text []byte) []byte { return Tidy(name, mine, reconcile(name, text, mine, theirs)) }
	b, m, t := sectionsOf(name, base), sectionsOf(name, mine), sectionsOf(name, theirs)
	if b != nil && m != nil && t != nil && (!isYAML(name) || matched(b, m, t)) {
		merged = finished([]byte(Join(mergeSections(b, m, t, false))))
		wanted = finished([]byte(Join(mergeSections(b, m, t, true))))
		if Valid(name, merged) && Valid(name, wanted) {
			return merged, wanted
		}
	}
	// What cannot be split, or not be put together again, is merged by lines,
	// and what cannot be merged by lines stays as the user has it.
	merged, _ = Lines(base, mine, theirs)
	wanted, _ = Lines(base, theirs, mine)
	merged, wanted = finished(merged), finished(wanted)
	if !Valid(name, merged) {
		merged = mine
	}
	if !Valid(name, wanted) || bytes.Equal(merged, mine) && !bytes.Equal(merged, wanted) {
		wanted = theirs
	}
	return merged, wanted
}

// Tidy formats Go as far as the text that it comes from was formatted: the
// imports of both sides are to be in one order, but nobody's style is changed.
func Tidy(name string, like, text []byte) []byte {
	if !isGo(name) {
		return text
	}
	if was, err := format.Source(like); err != nil || !bytes.Equal(was, like) {
		return text
	}
	out, err := format.Source(text)
	if err != nil {
		return text // Valid will say so
	}
	return out
}

// Valid says whether a file can be parsed.
func Valid(name string, text []byte) bool {
	switch {
	case isGo(name):
		_, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		return err == nil
	case isYAML(name):
		dec := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var doc any // decoding finds keys that are there twice
			if err := dec.Decode(&doc); err != nil {
				return errors.Is(err, io.EOF)
			}
		}
	}
	return true
}

// Reject is what merged lacks of wanted, as a patch that can be applied to it.
func Reject(name string, merged, wanted []byte) []byte {
	d := diff.Diff("a/"+name, merged, "b/"+name, wanted)
	if _, rest, ok := strings.Cut(string(d), "\n"); ok && bytes.HasPrefix(d, []byte("diff ")) {
		return []byte(rest)
	}
	return d
}

// reconcile makes the imports of a merged Go file those that it uses. They are
// merged as a list, which knows nothing of the declarations below: one side may
// have dropped an import that the other's code still needs, and an import may
// have come for code that the user has removed. What was wrong with the imports
// of either side before stays as it was.
func reconcile(name string, merged, mine, theirs []byte) []byte {
	if !isGo(name) {
		return merged
	}
	var files [3]*goedit.File
	for i, text := range [][]byte{merged, mine, theirs} {
		var err error
		if files[i], err = goedit.Parse(name, text); err != nil {
			return merged
		}
	}
	out, m, t := files[0], files[1], files[2]
	used := out.Qualifiers()
	for _, side := range []*goedit.File{m, t} {
		for _, spec := range side.Tree.Imports {
			local, importPath := goedit.LocalName(spec), goedit.PathOf(spec)
			switch {
			case !goedit.IsName(local):
			case used[local] && out.ImportPath(local) == "" && !lacks(m, local) && !lacks(t, local):
				alias := ""
				if spec.Name != nil {
					alias = local
				}
				out.AddImport(importPath, alias)
			case side == t && !used[local] && t.Qualifiers()[local] && m.ImportName(importPath) == "":
				out.DropImport(importPath)
			}
		}
	}
	text, err := out.Apply()
	if err != nil {
		return merged
	}
	return text
}

// lacks says whether a file uses a name of the other's imports that it does not
// import.
func lacks(f *goedit.File, local string) bool {
	return f.Qualifiers()[local] && f.ImportPath(local) == ""
}
