package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// giveaways are turns that no native writer of kubectl or gh uses, and what to
// write in their place.
var giveaways = []struct {
	turn  *regexp.Regexp
	plain string
}{
	{regexp.MustCompile(`(?i)\banew\b`), "again; recreate, rewrite, reinstall"},
	{regexp.MustCompile(`(?i)\bin vain\b`), "timed out waiting for"},
	{regexp.MustCompile(`(?i)\b(is|are) to be\b`), "must be, should be, will be"},
	{regexp.MustCompile(`(?i)\b(is|are) no more\b[^ ]|\bnot any more\b`), "no longer; removed"},
	{regexp.MustCompile(`(?i)\btells? (how|of)\b`), "show, report"},
	{regexp.MustCompile(`(?i)\bsays of\b`), "says about; name the subject"},
	{regexp.MustCompile(`(?i)\bstands? in the way\b`), "conflict"},
	{regexp.MustCompile(`(?i)\btake back what\b|\btook back\b`), "remove; roll back"},
	{regexp.MustCompile(`(?i)\b(is|are|was) none that\b`), "not, unsupported"},
	{regexp.MustCompile(`(?i)\bhow many-th\b`), "index"},
	{regexp.MustCompile(`(?i)\bby way of\b`), "through, with"},
	{regexp.MustCompile(`(?i)\bamiss\b|\bmend(s|ed|ing)?\b`), "wrong; fix"},
	{regexp.MustCompile(`(?i)\bneeds you\b`), "manual step"},
	{regexp.MustCompile(`(?i)\b(colour|behaviour|honour)`), "color, behavior, honor"},
	{regexp.MustCompile(`(?i)\bcarr(y|ies) \S+ through (its|their) life\b`), "name what it does"},
	{regexp.MustCompile(`(?i)\b(is|are) to (break|fail|go|have|run|stay)\b|, which goes?\b`), "should, must, will; will be removed"},
	{regexp.MustCompile(`(?i)\bnothing( \S+){1,4} any more\b`), "no longer"},
	{regexp.MustCompile(`(?i)\bof (old|before)\b`), "old, earlier, previous"},
	{regexp.MustCompile(`(^|\. )So (it is|they are) for\b`), "the same holds for"},
	{regexp.MustCompile(`(?i)\b(is|are) (there already|not there\b)|\bexists? already\b`), "already exists; does not exist, not found"},
	{regexp.MustCompile(`(?i)\bstands? (alone|there|twice|in no)\b|\byours stand\b`), "is listed; conflicts with"},
	{regexp.MustCompile(`(%[a-z]|"|\bit) is no ([a-km-z]|list\b)`), "is not a"},
	{regexp.MustCompile(`(?i)\bsee that (the|all|')`), "check that"},
	{regexp.MustCompile(`(?i)\b(was|were) begun\b|%d are the most\b`), "was started; the maximum is"},
	{regexp.MustCompile(`(?i)\btake (it|them) from version control\b`), "restore it from version control"},
	{regexp.MustCompile(`\bof the project's has\b|\bthis (file|line)s? of yours\b|\bthese \S+ of yours\b`), "every kind has; your file"},
}

// TestWords holds what users read to plain words: messages and help, which are
// the strings of the code, the pages of docs, and the templates of projects.
func TestWords(t *testing.T) {
	for _, root := range []string{"../cmd", "../internal", "../plugins", "../docs", "../README.md"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir():
				return nil
			case strings.HasSuffix(path, "_test.go"):
				return nil
			case strings.HasSuffix(path, ".go"):
				return goStrings(t, path)
			case strings.HasSuffix(path, ".md"), strings.HasSuffix(path, ".tmpl"):
				data, err := os.ReadFile(path)
				for i, line := range strings.Split(string(data), "\n") {
					plain(t, path, i+1, line)
				}
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// goStrings judges the strings of a Go file and, in this package, its comments.
func goStrings(t *testing.T, path string) error {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
			plain(t, path, files.Position(s.Pos()).Line, s.Value)
		}
		return true
	})
	if strings.HasPrefix(path, filepath.Join("..", "internal", "cli")) {
		for _, group := range f.Comments {
			plain(t, path, files.Position(group.Pos()).Line, group.Text())
		}
	}
	return nil
}

func plain(t *testing.T, path string, line int, text string) {
	t.Helper()
	for _, g := range giveaways {
		if found := g.turn.FindString(text); found != "" {
			t.Errorf("%s:%d: %q; write: %s", strings.TrimPrefix(path, "../"), line, found, g.plain)
		}
	}
}
