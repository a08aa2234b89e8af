package cmd_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// block is a fenced block of a guide. docs/guides/README.md tells readers what
// each sort is; parseGuide knows no other.
type block struct {
	line int    // of the fence, from 1
	lang string // go, diff, yaml, sh or output
	file string // of go, diff and yaml, with slashes
	mode string // of sh: background, stop, fails or nothing
	text string
}

// parseGuide returns the blocks of a page. One that a test would not know how
// to check is an error.
func parseGuide(page string) ([]block, error) {
	var blocks []block
	var open *block
	for i, line := range strings.Split(page, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			b, err := newBlock(info)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			b.line, open = i+1, &b
		case fence:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block has no end", open.line)
	}
	return blocks, nil
}

func newBlock(info string) (block, error) {
	words := append(strings.Fields(info), "", "")
	b := block{lang: words[0]}
	switch b.lang {
	case "go", "diff", "yaml":
		file, ok := strings.CutPrefix(words[1], "file=")
		if !ok || file == "" || words[2] != "" {
			return b, fmt.Errorf("a block of %s names its file: ```%s file=PATH", b.lang, b.lang)
		}
		b.file = file
	case "sh":
		if b.mode = words[1]; !slices.Contains([]string{"", "background", "stop", "fails"}, b.mode) || words[2] != "" {
			return b, fmt.Errorf("sh is followed by background, stop, fails or nothing, not %q", words[1])
		}
	case "output":
	default:
		return b, fmt.Errorf("nobody checks a block of %q", info)
	}
	return b, nil
}

// applyTo returns the content of the block's file after what the page says.
func (b block) applyTo(src []byte) ([]byte, error) {
	switch b.lang {
	case "diff":
		return applyDiff(string(src), b.text)
	case "go":
		if strings.Contains("\n"+b.text, "\npackage ") {
			return []byte(b.text), nil
		}
		return mergeGo(src, b.text)
	}
	return []byte(b.text), nil
}

// applyDiff changes src by hunks without line numbers: lines that begin with a
// space or a minus stand in src, once, one below the other.
func applyDiff(src, diff string) ([]byte, error) {
	src = "\n" + src
	for hunk := range strings.SplitSeq(diff, "@@\n") {
		before, after := "\n", "\n"
		for line := range strings.Lines(hunk) {
			switch rest := line[1:]; line[0] {
			case '\n':
				before, after = before+line, after+line
			case ' ':
				before, after = before+rest, after+rest
			case '-':
				before += rest
			case '+':
				after += rest
			default:
				return nil, fmt.Errorf("a line of a diff begins with a space, a minus or a plus: %q", line)
			}
		}
		if before == after {
			return nil, errors.New("the diff changes nothing")
		}
		if n := strings.Count(src, before); n != 1 {
			return nil, fmt.Errorf("these lines are in the file %d times:%s", n, before)
		}
		src = strings.Replace(src, before, after, 1)
	}
	return []byte(src[1:]), nil
}

// mergeGo puts the declarations of fragment into src: in the place of those of
// the same name, else at the end. Imports join the imports.
func mergeGo(src []byte, fragment string) ([]byte, error) {
	const header = "package p\n"
	fset := token.NewFileSet()
	add, err := parser.ParseFile(fset, "block", header+fragment, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	text := func(d ast.Decl) string {
		from, to := extent(d)
		return (header + fragment)[fset.Position(from).Offset:fset.Position(to).Offset]
	}
	for _, d := range add.Decls {
		if isImport(d) {
			for _, spec := range d.(*ast.GenDecl).Specs {
				src = addImport(src, spec.(*ast.ImportSpec))
			}
			continue
		}
		if src, err = putDecl(src, declName(d), text(d)); err != nil {
			return nil, err
		}
	}
	return format.Source(src)
}

// putDecl replaces the declaration of that name, or adds it.
func putDecl(src []byte, name, text string) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "file", src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if declName(d) == name {
			from, to := extent(d)
			return slices.Concat(src[:fset.Position(from).Offset], []byte(text), src[fset.Position(to).Offset:]), nil
		}
	}
	return slices.Concat(bytes.TrimRight(src, "\n"), []byte("\n\n"+text+"\n")), nil
}

func addImport(src []byte, spec *ast.ImportSpec) []byte {
	line := spec.Path.Value
	if spec.Name != nil {
		line = spec.Name.Name + " " + line
	}
	if bytes.Contains(src, []byte("\t"+line+"\n")) {
		return src
	}
	return bytes.Replace(src, []byte("import (\n"), []byte("import (\n\t"+line+"\n"), 1)
}

// extent is where a declaration begins, with its comment, and ends.
func extent(d ast.Decl) (from, to token.Pos) {
	doc := (*ast.CommentGroup)(nil)
	switch d := d.(type) {
	case *ast.FuncDecl:
		doc = d.Doc
	case *ast.GenDecl:
		doc = d.Doc
	}
	if doc != nil {
		return doc.Pos(), d.End()
	}
	return d.Pos(), d.End()
}

func isImport(d ast.Decl) bool {
	g, ok := d.(*ast.GenDecl)
	return ok && g.Tok == token.IMPORT
}

// declName tells declarations of a package apart. That of a group is all of
// its names: a group is replaced as a whole.
func declName(d ast.Decl) string {
	if f, ok := d.(*ast.FuncDecl); ok {
		if f.Recv == nil {
			return f.Name.Name
		}
		of := f.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		return fmt.Sprint(of) + "." + f.Name.Name
	}
	var names []string
	for _, spec := range d.(*ast.GenDecl).Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name.Name)
		case *ast.ValueSpec:
			for _, n := range s.Names {
				names = append(names, n.Name)
			}
		}
	}
	return strings.Join(names, ",")
}

// showsOutput reports whether got has the lines of want, in that order. Runs of
// white space are one space, and … stands for anything within a line.
func showsOutput(got, want string) error {
	lines := strings.Split(got, "\n")
	for w := range strings.Lines(want) {
		at := slices.IndexFunc(lines, func(line string) bool { return matchesLine(line, w) })
		if at < 0 {
			return fmt.Errorf("no line %q in\n%s", strings.TrimSpace(w), got)
		}
		lines = lines[at+1:]
	}
	return nil
}

func matchesLine(line, want string) bool {
	rest := " " + strings.Join(strings.Fields(line), " ") + " "
	for _, part := range strings.Split(" "+strings.Join(strings.Fields(want), " ")+" ", "…") {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			return false
		}
		rest = after
	}
	return true
}

func TestParseGuide(t *testing.T) {
	for name, c := range map[string]struct {
		page, wantErr string
		want          []block
	}{
		"text only":     {page: "# Events\n"},
		"commands":      {page: "a\n```sh\nmysdk test\n```\n", want: []block{{line: 2, lang: "sh", text: "mysdk test\n"}}},
		"a terminal":    {page: "```sh background\nx\n```", want: []block{{line: 1, lang: "sh", mode: "background", text: "x\n"}}},
		"a file":        {page: "```go file=a.go\n```", want: []block{{line: 1, lang: "go", file: "a.go"}}},
		"no file":       {page: "```go\n```", wantErr: "line 1: a block of go names its file"},
		"not checked":   {page: "\n```json\n```", wantErr: `line 2: nobody checks a block of "json"`},
		"unknown mode":  {page: "```sh twice\n```", wantErr: `not "twice"`},
		"no end":        {page: "```sh\nmysdk", wantErr: "line 1: the block has no end"},
		"one word more": {page: "```yaml file=a b\n```", wantErr: "names its file"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseGuide(c.page)
			if fmt.Sprint(err) != c.wantErr && (c.wantErr == "" && err != nil || c.wantErr != "" && !strings.Contains(fmt.Sprint(err), c.wantErr)) {
				t.Fatalf("error %v, want %q", err, c.wantErr)
			}
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(block{})); d != "" {
				t.Errorf("blocks (-want +got):\n%s", d)
			}
		})
	}
}

func TestApplyBlock(t *testing.T) {
	const src = "package p\n\nimport (\n\t\"fmt\"\n)\n\n// f is old.\nfunc f() { fmt.Print(1) }\n\nfunc (T) f() {}\n"
	for name, c := range map[string]struct {
		block         block
		want, wantErr string
	}{
		"a function is replaced": {
			block: block{lang: "go", text: "import \"os\"\n\n// f is new.\nfunc f() { os.Exit(1) }\n"},
			want:  "package p\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\n// f is new.\nfunc f() { os.Exit(1) }\n\nfunc (T) f() {}\n",
		},
		"a method is added": {
			block: block{lang: "go", text: "func (t *T) g() {}\n"},
			want:  src + "\nfunc (t *T) g() {}\n",
		},
		"a whole file": {
			block: block{lang: "go", text: "// Package q is new.\npackage q\n"},
			want:  "// Package q is new.\npackage q\n",
		},
		"lines": {
			block: block{lang: "diff", text: " // f is old.\n-func f() { fmt.Print(1) }\n+func f() { fmt.Print(2) }\n"},
			want:  strings.Replace(src, "Print(1)", "Print(2)", 1),
		},
		"two hunks": {
			block: block{lang: "diff", text: "-// f is old.\n@@\n+// g is new.\n func (T) f() {}\n"},
			want:  strings.Replace(strings.Replace(src, "// f is old.\n", "", 1), "func (T)", "// g is new.\nfunc (T)", 1),
		},
		"lines that are not there": {block: block{lang: "diff", text: " // f is\n+// new\n"}, wantErr: "in the file 0 times"},
		"no change":                {block: block{lang: "diff", text: " // f is old.\n"}, wantErr: "changes nothing"},
		"not a diff":               {block: block{lang: "diff", text: "func f() {}\n"}, wantErr: "begins with a space"},
		"not Go":                   {block: block{lang: "go", text: "func f( {}\n"}, wantErr: "expected"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.block.applyTo([]byte(src))
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("error %v, want %q", err, c.wantErr)
				}
				return
			}
			if d := cmp.Diff(c.want, string(got)); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

func TestShowsOutput(t *testing.T) {
	const got = "NAME   AGE\nweb-1  3s\nweb-2  4s\n"
	for name, c := range map[string]struct {
		want string
		ok   bool
	}{
		"all of it":      {got, true},
		"one line":       {"web-1 3s\n", true},
		"any age":        {"NAME AGE\nweb-2 …\n", true},
		"parts of words": {"web\n", false},
		"other order":    {"web-2 …\nweb-1 …\n", false},
		"other value":    {"web-… 5s\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := showsOutput(got, c.want); (err == nil) != c.ok {
				t.Errorf("%v", err)
			}
		})
	}
}
