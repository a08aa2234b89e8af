package relayout

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// generated matches the line by which Go code says that it is generated, see
// https://go.dev/s/generatedcode.
var generated = lazy.Delayed(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// licensed matches words by which a comment is somebody's license header.
var licensed = lazy.Delayed(`(?i)copyright|licen[sc]ed?|SPDX`)

// ReplaceHeader returns a Go file with the license header old replaced by
// new; each may be empty for none. A file that starts with another header, or
// is generated, comes back as it is.
func ReplaceHeader(src []byte, old, new string) []byte {
	old, new = strings.TrimSpace(old), strings.TrimSpace(new)
	constraints := buildLines.Find(src) // they may stand above the header
	rest := src[len(constraints):]
	if old != "" {
		after, ok := bytes.CutPrefix(bytes.ReplaceAll(rest, []byte("\r\n"), []byte("\n")), []byte(old))
		if !ok || len(after) > 0 && after[0] != '\n' {
			return src
		}
		rest = bytes.TrimLeft(after, "\n")
	} else if generated.Match(src) || hasLicense(src) {
		return src
	}
	if new != "" {
		new += "\n\n"
	}
	return slices.Concat(constraints, []byte(new), rest)
}

// buildLines matches the build constraints at the start of a file, and the
// empty line after them.
var buildLines = lazy.Delayed(`\A(//(go:build| \+build) [^\n]*\r?\n)+(\r?\n)+`)

// hasLicense says whether a comment before the package clause speaks of one.
// A file that does not parse is left to the compiler, and not touched.
func hasLicense(src []byte) bool {
	tree, err := parser.ParseFile(token.NewFileSet(), "", src, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(tree.Comments, func(group *ast.CommentGroup) bool {
		speaks := func(c *ast.Comment) bool { return licensed.MatchString(c.Text) }
		return group.Pos() < tree.Package && slices.ContainsFunc(group.List, speaks)
	})
}

// Copyright is what the first copyright line of a license header names.
type Copyright struct{ Year, Owner string }

var copyrightLine = lazy.Delayed(`(?m)^[ \t*/]*Copyright(?: ([0-9]{4}|YEAR))?(?: ([^\n]*?))?\.?[ \t]*$`)

// ReadCopyright finds the year and the owner in a license header; both are
// empty where it has none.
func ReadCopyright(header string) Copyright {
	m := copyrightLine.FindStringSubmatch(header)
	if m == nil {
		return Copyright{}
	}
	return Copyright{Year: m[1], Owner: m[2]}
}
