package calls

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/example/mysdk/internal/generate"
)

// shell follows a script without running it.
type shell struct {
	*finder
	file string // the script, or "" for a line, whose place is at
	at   string
	dir  string // relative to the root
	// before is the directory that 'cd -' leads to, and pushed are those of popd.
	before string
	pushed []string
	vars   map[string]string
	// defaulted are variables that the script gives a default; they count as
	// not set, while others that are not set are unknown.
	defaulted map[string]bool
	out       io.Writer // of a command substitution; nil elsewhere
	err       error
}

func (f *finder) shell(dir, at string) *shell {
	return &shell{finder: f, at: at, dir: dir, vars: map[string]string{"PWD": path.Join(f.root, dir)}, defaulted: map[string]bool{}}
}

// run goes through a script. One that does not parse is left alone, as those of other shells are.
func (s *shell) run(text string) error {
	parsed, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	syntax.Walk(parsed, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Exp != nil {
			s.defaulted[p.Param.Value] = true
		}
		return true
	})
	s.stmts(parsed.Stmts)
	return s.err
}

func (s *shell) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		s.command(st.Cmd)
	}
}

// command follows all branches of a command.
func (s *shell) command(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		s.call(c)
	case *syntax.DeclClause:
		s.assign(c.Args)
	case *syntax.BinaryCmd:
		s.stmts([]*syntax.Stmt{c.X, c.Y})
	case *syntax.Subshell:
		dir := s.dir
		s.stmts(c.Stmts)
		s.dir = dir
	case *syntax.Block:
		s.stmts(c.Stmts)
	case *syntax.FuncDecl:
		s.command(c.Body.Cmd)
	case *syntax.WhileClause:
		s.stmts(c.Do)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			s.stmts(c.Cond)
			s.stmts(c.Then)
		}
	case *syntax.CaseClause:
		for _, item := range c.Items {
			s.stmts(item.Stmts)
		}
	case *syntax.ForClause:
		s.loop(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			s.command(c.Stmt.Cmd)
		}
	}
}

// loop follows a loop once for each word.
func (s *shell) loop(c *syntax.ForClause) {
	words, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		s.stmts(c.Do)
		return
	}
	for _, value := range s.fields(words.Items) {
		s.vars[words.Name.Value] = value
		s.stmts(c.Do)
	}
}

func (s *shell) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		s.assign(c.Assigns)
		return
	}
	words := s.fields(c.Args)
	if len(words) == 0 {
		return
	}
	if s.out != nil {
		s.print(words)
	}
	if s.moves(words) {
		return
	}
	at := s.at
	if s.file != "" {
		at = fmt.Sprintf("%s:%d", s.file, c.Pos().Line())
	}
	if isUnknown(s.dir) && slices.ContainsFunc(words, isProgram) && slices.ContainsFunc(words, generate.IsGenerator) {
		s.unusable(at, "it runs in %s, which is known only when the command runs", s.make.show(s.dir))
		return
	}
	command := s.finder.command
	if s.out != nil {
		command = s.interpret
	}
	if err := command(words, s.dir, at); err != nil && s.err == nil {
		s.err = err
	}
}

func (s *shell) assign(list []*syntax.Assign) {
	for _, a := range list {
		switch {
		case a.Name == nil:
		case a.Array != nil:
			var words []*syntax.Word
			for _, e := range a.Array.Elems {
				words = append(words, e.Value)
			}
			s.vars[a.Name.Value] = strings.Join(s.fields(words), " ")
		case a.Value != nil:
			value := s.literal(a.Value)
			if a.Append {
				value = s.vars[a.Name.Value] + value
			}
			s.vars[a.Name.Value] = value
		}
	}
}

// moves changes the directory, if the command does.
func (s *shell) moves(words []string) bool {
	was := s.dir
	switch {
	case words[0] == "popd" && len(s.pushed) > 0:
		last := len(s.pushed) - 1
		s.dir, s.pushed = s.pushed[last], s.pushed[:last]
	case words[0] == "cd" && len(words) == 2 && words[1] == "-" && s.before != "":
		s.dir = s.before
	case words[0] == "pushd":
		s.pushed = append(slices.Clip(s.pushed), s.dir)
		s.cd(words[1:])
	case words[0] == "cd":
		s.cd(words[1:])
	default:
		return false
	}
	s.before = was
	return true
}

func (s *shell) cd(words []string) {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return len(w) > 1 && w[0] == '-' })
	if len(words) != 1 {
		return
	}
	dir := words[0]
	if isUnknown(dir) {
		s.dir = dir
		return
	}
	switch rel, ok := s.below(s.dir, dir); {
	case path.Clean(dir) == s.root:
		s.dir = "."
	case ok:
		s.dir = rel
	default:
		s.dir = s.make.noValue(dir)
	}
	s.vars["PWD"] = path.Join(s.root, s.dir)
}

// print writes what a command in a substitution would.
func (s *shell) print(words []string) {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "--" })
	text := s.make.noValue("$(" + s.make.show(strings.Join(words, " ")) + ")")
	switch {
	case words[0] == "cd":
		return
	case words[0] == "pwd":
		text = path.Join(s.root, s.dir)
	case words[0] == "echo":
		text = strings.Join(words[1:], " ")
	case words[0] == "dirname" && len(words) == 2:
		text = path.Dir(words[1])
	case words[0] == "realpath" && len(words) == 2, words[0] == "readlink" && len(words) == 3:
		if text = words[len(words)-1]; !path.IsAbs(text) {
			text = path.Join(s.root, s.dir, text)
		}
	case strings.Join(words, " ") == "git rev-parse --show-toplevel":
		text = s.root
	case isYear(words):
		text = generate.ThisYear
	}
	// A shell that only prints cannot fail to.
	_, _ = io.WriteString(s.out, text+"\n")
}

// config expands words as the shell would at this point.
func (s *shell) config() *expand.Config {
	return &expand.Config{
		Env: s,
		CmdSubst: func(w io.Writer, c *syntax.CmdSubst) error {
			inner := *s
			inner.vars, inner.out = maps.Clone(s.vars), w
			inner.stmts(c.Stmts)
			return nil
		},
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return s.make.noValue("a process substitution"), nil },
	}
}

// keepBraces quotes lists of paths: what controller-gen makes of their braces is the
// same, and the library takes the dots of ./... in them for a sequence.
func keepBraces(words []*syntax.Word) {
	for _, w := range words {
		if text := w.Lit(); strings.HasPrefix(text, "paths={") {
			w.Parts = []syntax.WordPart{&syntax.SglQuoted{Value: text}}
		}
	}
}

// fields are the words after expansion.
func (s *shell) fields(words []*syntax.Word) []string {
	keepBraces(words)
	out, err := expand.Fields(s.config(), words...)
	if err != nil {
		return []string{s.make.noValue(err.Error())}
	}
	return out
}

func (s *shell) literal(w *syntax.Word) string {
	out, err := expand.Literal(s.config(), w)
	if err != nil {
		return s.make.noValue(err.Error())
	}
	return out
}

// Get implements expand.Environ.
func (s *shell) Get(name string) expand.Variable {
	value, set := s.vars[name]
	switch {
	case tool.MatchString(name):
		value = "controller-gen"
	case set:
	case name == "IFS" || s.defaulted[name]:
		return expand.Variable{}
	default:
		value = s.make.noValue("$" + name)
	}
	return expand.Variable{Set: true, Kind: expand.String, Str: value}
}

// Each implements expand.Environ.
func (s *shell) Each(func(name string, v expand.Variable) bool) {}
