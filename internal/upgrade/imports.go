package upgrade

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reconcile makes the imports of a merged Go file those that it uses. They are
// merged as a list, which knows nothing of the declarations below: one side may
// have dropped an import that the other's code still needs, and an import may
// have come for code that the user has removed. What was wrong with the imports
// of either side before stays as it was.
func reconcile(name string, merged, mine, theirs []byte) []byte {
	if kindOf(name) != kindGo {
		return merged
	}
	out, m, t := parseSource(name, merged), parseSource(name, mine), parseSource(name, theirs)
	if out == nil || m == nil || t == nil {
		return merged
	}
	used := out.calls()
	for _, side := range []*source{m, t} {
		for _, spec := range side.tree.Imports {
			if local := side.localName(spec); used[local] && !out.has(spec) && !lacks(m, local) && !lacks(t, local) {
				out.restore(spec, local)
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(out.needs)) {
		out.addImport(p)
	}
	if out = parseSource(name, out.spliced()); out == nil {
		return merged
	}
	for _, d := range out.tree.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			out.dropImports(g, func(spec *ast.ImportSpec) bool {
				local := t.localName(spec)
				return local != "" && !m.has(spec) && !used[local]
			})
		}
	}
	return out.spliced()
}

// restore imports what one side imports, by the same name, unless the file has
// something else of that name.
func (s *source) restore(spec *ast.ImportSpec, local string) {
	for _, other := range s.tree.Imports {
		if s.localName(other) == local {
			return
		}
	}
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil || s.needs[p] != "" {
		return
	}
	s.needs[p] = path.Base(p)
	if spec.Name != nil {
		s.needs[p] = spec.Name.Name
	}
}

// has says whether the file has an import of the same path and name.
func (s *source) has(spec *ast.ImportSpec) bool {
	return slices.ContainsFunc(s.tree.Imports, func(other *ast.ImportSpec) bool {
		return other.Path.Value == spec.Path.Value && nameIn(other) == nameIn(spec)
	})
}

func nameIn(spec *ast.ImportSpec) string {
	if spec.Name == nil {
		return ""
	}
	return spec.Name.Name
}

// lacks says whether a file uses a name that it does not import.
func lacks(s *source, local string) bool {
	return s.calls()[local] && !slices.ContainsFunc(s.tree.Imports, func(spec *ast.ImportSpec) bool { return s.localName(spec) == local })
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// localName is the name by which the file uses an import, empty where it does
// not, or where that is no name. Without one that is written down, those count
// by which packages of such a path are usually called.
func (s *source) localName(spec *ast.ImportSpec) string {
	calls := s.calls()
	if spec.Name != nil {
		if n := spec.Name.Name; n != "_" && n != "." && calls[n] {
			return n
		}
		return ""
	}
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return ""
	}
	base := path.Base(p)
	if majorVersion.MatchString(base) && path.Dir(p) != "." && !calls[base] {
		base = path.Base(path.Dir(p))
	}
	base, _, _ = strings.Cut(base, ".v") // gopkg.in/yaml.v3
	for _, local := range []string{importedAs(spec, p), base, strings.TrimPrefix(base, "go-"), strings.TrimSuffix(base, "-go"), base[strings.LastIndex(base, "-")+1:]} {
		if calls[local] {
			return local
		}
	}
	return ""
}
