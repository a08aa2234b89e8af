package merge3

import (
	"github.com/example/mysdk/internal/rewrite/goedit"
)

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
