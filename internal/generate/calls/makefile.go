package calls

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// makefile is a Makefile with what it includes, as far as it can be read without running anything.
type makefile struct {
	vars    map[string]string     // not expanded yet
	own     map[string][][]string // assignments of targets, as assignment finds them
	rules   map[string][]rule     // by target
	order   []string              // the targets as they come
	root    string
	unknown []string // texts behind unknown values
	depth   int      // of expanding
}

// rule is one rule of a target.
type rule struct {
	needs  []string
	recipe []line
}

// line is a command, and its file:line.
type line struct{ text, at string }

// unknownOpen and unknownClose enclose the number of an unknown value. They are
// characters that no file has.
const unknownOpen, unknownClose = "\uE000", "\uE001"

func isUnknown(s string) bool { return strings.Contains(s, unknownOpen) }

// noValue stands for a value that cannot be known.
func (m *makefile) noValue(text string) string {
	m.unknown = append(m.unknown, text)
	return unknownOpen + strconv.Itoa(len(m.unknown)-1) + unknownClose
}

var unknownValue = lazy.Delayed(unknownOpen + `(\d+)` + unknownClose)

// show puts the texts of unknown values back.
func (m *makefile) show(s string) string {
	return unknownValue.ReplaceAllStringFunc(s, func(v string) string {
		n, err := strconv.Atoi(unknownValue.FindStringSubmatch(v)[1])
		if err != nil || n >= len(m.unknown) {
			return "?"
		}
		return m.unknown[n]
	})
}

// tool are variables that stand for controller-gen, however it is found.
var tool = lazy.Delayed(`(?i)^controller[_-]?gen(_bin|_cmd|_tool)?$`)

// readMakefile reads the project's, if it has one.
func (f *finder) readMakefile() error {
	f.make = &makefile{vars: map[string]string{"MAKE": "make", "GO": "go", "CURDIR": f.root, "PWD": f.root}, own: map[string][][]string{}, rules: map[string][]rule{}, root: f.root}
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		data, there, err := f.tree.Read(name)
		if err != nil {
			return err
		}
		if there {
			return f.readMake(name, string(data))
		}
	}
	return nil
}

var (
	assignment = lazy.Delayed(`^(?:(?:export|override|private)\s+)*([A-Za-z0-9_.-]+)\s*(\?=|:=|::=|\+=|!=|=)\s*(.*)$`)
	defines    = lazy.Delayed(`^define\s+(\S+)`)
	includes   = lazy.Delayed(`^-?s?include\s+(.*)$`)
	condition  = lazy.Delayed(`^(?:else\s+)?(ifn?eq|ifn?def)\s*(.*)$`)
	quoted     = lazy.Delayed(`^(?:"([^"]*)"|'([^']*)')\s*(?:"([^"]*)"|'([^']*)')$`)
	comment    = lazy.Delayed(`(^|[^\\])#.*`)
)

// branch is a conditional: whether its lines count, and whether those of it or of one
// before it in the chain do.
type branch struct{ counts, taken bool }

// readMake takes in the lines of a file.
func (f *finder) readMake(name, text string) error {
	m := f.make
	var current []string  // targets of the rule that recipe lines go to
	var branches []branch // of the conditionals around
	define := ""          // the variable that lines are part of
	for _, l := range joined(text) {
		l.at = fmt.Sprintf("%s:%s", name, l.at)
		bare := strings.TrimSpace(l.text)
		switch {
		case define != "" && bare == "endef":
			define = ""
		case define != "":
			m.vars[define] += strings.TrimLeft(bare, "@-+ ") + "\n"
		case m.conditional(bare, &branches):
		case len(branches) > 0 && slices.ContainsFunc(branches, func(b branch) bool { return !b.counts }):
		case strings.HasPrefix(l.text, "\t") && current != nil:
			m.recipe(current, line{strings.TrimSpace(l.text), l.at})
		case bare == "" || strings.HasPrefix(bare, "#"):
		default:
			current = nil // what is no rule ends one
			a := assignment.FindStringSubmatch(bare)
			bare, _, _ = strings.Cut(bare, " #")
			if a != nil {
				m.assign(a[1], a[2], a[3])
			} else if d := defines.FindStringSubmatch(bare); d != nil {
				define, m.vars[d[1]] = d[1], ""
			} else if i := includes.FindStringSubmatch(bare); i != nil {
				if err := f.include(m.expand(i[1], "")); err != nil {
					return err
				}
			} else if !strings.HasPrefix(l.text, "\t") {
				current = m.rule(bare, l.at)
			}
		}
	}
	return nil
}

// include reads the files that are there.
func (f *finder) include(names string) error {
	for _, pattern := range strings.Fields(names) {
		pattern, ok := f.below(".", pattern)
		if !ok {
			continue
		}
		matches := []string{pattern}
		if strings.ContainsAny(pattern, "*?[") {
			files, err := f.tree.Names()
			if err != nil {
				return err
			}
			matches = slices.DeleteFunc(slices.Clone(files), func(name string) bool {
				match, err := path.Match(pattern, name)
				return !match || err != nil
			})
		}
		for _, name := range matches {
			data, there, err := f.tree.Read(name)
			if !there || err != nil || f.done["include "+name] {
				continue // make goes on as well, or reports it better
			}
			f.done["include "+name] = true
			if err := f.readMake(name, string(data)); err != nil {
				return err
			}
		}
	}
	return nil
}

// joined splits the text into lines, those that are continued as one. The
// place is the number of the first.
func joined(text string) []line {
	var out []line
	open := false
	n := 0
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimRight(l, "\r\n")
		more := strings.HasSuffix(l, `\`)
		l = strings.TrimSuffix(l, `\`)
		if open {
			out[len(out)-1].text += " " + strings.TrimSpace(l)
		} else {
			out = append(out, line{l, strconv.Itoa(n)})
		}
		open = more
	}
	return out
}

// conditional follows ifeq, else and endif.
func (m *makefile) conditional(bare string, branches *[]branch) bool {
	b := *branches
	bare, _, _ = strings.Cut(bare, " #")
	word, _, _ := strings.Cut(bare, " ")
	switch {
	case word == "endif" && len(b) > 0:
		*branches = b[:len(b)-1]
	case word == "else" && len(b) > 0 && condition.MatchString(bare):
		last := &b[len(b)-1]
		last.counts = !last.taken && m.holds(condition.FindStringSubmatch(bare))
		last.taken = last.taken || last.counts
	case word == "else" && len(b) > 0:
		b[len(b)-1] = branch{!b[len(b)-1].taken, true}
	case condition.MatchString(bare):
		holds := m.holds(condition.FindStringSubmatch(bare))
		*branches = append(b, branch{holds, holds})
	default:
		return false
	}
	return true
}

// holds judges a condition. One that cannot be known is not met: the branch
// behind else is the usual case.
func (m *makefile) holds(c []string) bool {
	kind, rest := c[1], strings.TrimSpace(c[2])
	if strings.HasSuffix(kind, "def") {
		_, set := m.vars[m.expand(rest, "")]
		return set == (kind == "ifdef")
	}
	if q := quoted.FindStringSubmatch(rest); q != nil {
		rest = q[1] + q[2] + "," + q[3] + q[4]
	}
	rest = m.expand(strings.TrimSuffix(strings.TrimPrefix(rest, "("), ")"), "")
	x, y, ok := strings.Cut(rest, ",")
	if !ok || isUnknown(rest) {
		return false
	}
	return (strings.TrimSpace(x) == strings.TrimSpace(y)) == (kind == "ifeq")
}

func (m *makefile) assign(name, op, value string) {
	_, set := m.vars[name]
	value = strings.ReplaceAll(strings.TrimRight(comment.ReplaceAllString(value, "$1"), " \t"), `\#`, "#")
	switch op {
	case "?=":
		if set {
			return
		}
	case "+=":
		value = strings.TrimSpace(m.vars[name] + " " + value)
	case ":=", "::=":
		value = strings.ReplaceAll(m.expand(value, ""), "$", "$$")
	case "!=":
		value = m.noValue(value)
	}
	m.vars[name] = value
}

// rule notes a rule and returns its targets.
func (m *makefile) rule(text, at string) []string {
	head, command, _ := strings.Cut(text, ";")
	targets, needs, ok := strings.Cut(m.expand(head, ""), ":")
	if !ok || strings.HasPrefix(strings.TrimPrefix(needs, ":"), "=") {
		return nil
	}
	needs, _, _ = strings.Cut(strings.TrimPrefix(needs, ":"), "|")
	current := strings.Fields(targets)
	if assignment.MatchString(strings.TrimSpace(needs)) {
		if own := assignment.FindStringSubmatch(behindColon(text)); own != nil {
			for _, t := range current {
				m.own[t] = append(m.own[t], own)
			}
		}
		return nil
	}
	for _, t := range current {
		if m.rules[t] == nil {
			m.order = append(m.order, t)
		}
		m.rules[t] = append(m.rules[t], rule{needs: strings.Fields(needs)})
	}
	if command != "" {
		m.recipe(current, line{strings.TrimSpace(command), at})
	}
	return current
}

// behindColon is what follows the targets of a rule, whose references may have colons.
func behindColon(text string) string {
	for i := strings.IndexAny(text, "$:"); i >= 0 && i+1 < len(text); i = strings.IndexAny(text, "$:") {
		if text[i] == ':' {
			return strings.TrimSpace(strings.TrimPrefix(text[i+1:], ":"))
		}
		_, text = reference(text[i+1:])
	}
	return ""
}

func (m *makefile) recipe(targets []string, l line) {
	for _, t := range targets {
		last := &m.rules[t][len(m.rules[t])-1]
		last.recipe = append(last.recipe, line{strings.TrimLeft(l.text, "@-+ \t"), l.at})
	}
}

// expand replaces the references to variables in text, in a recipe of the target.
func (m *makefile) expand(text, target string) string {
	var out strings.Builder
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 || i+1 == len(text) || m.depth > 20 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:i])
		ref, rest := reference(text[i+1:])
		switch {
		case ref == "$":
			out.WriteByte('$')
		case ref == "@":
			out.WriteString(target)
		default:
			m.depth++
			out.WriteString(m.value(ref, target))
			m.depth--
		}
		text = rest
	}
}

// reference takes what is referred to off the text behind a dollar sign.
func reference(text string) (ref, rest string) {
	closing := map[byte]byte{'(': ')', '{': '}'}[text[0]]
	if closing == 0 {
		return text[:1], text[1:]
	}
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case text[0]:
			depth++
		case closing:
			depth--
			if depth == 0 {
				return text[1:i], text[i+1:]
			}
		}
	}
	return text[1:], ""
}

// value is that of a variable or function.
func (m *makefile) value(ref, target string) string {
	name, args, isCall := strings.Cut(ref, " ")
	if isCall {
		return m.function(name, strings.TrimSpace(args), target)
	}
	if name, change, ok := strings.Cut(ref, ":"); ok {
		if from, to, ok := strings.Cut(change, "="); ok {
			if !strings.Contains(from, "%") {
				from, to = "%"+from, "%"+to
			}
			from, to = m.expand(from, target), m.expand(to, target)
			return eachWord(m.value(name, target), func(w string) string { return substitute(w, from, to) })
		}
	}
	value, set := m.vars[ref]
	switch {
	case tool.MatchString(ref):
		return "controller-gen"
	case set:
		defer m.keep(ref)()
		m.vars[ref] = m.noValue("$(" + ref + ")") // where it refers to itself
		return m.expand(value, target)
	case len(ref) == 1 || strings.HasPrefix(ref, "@") || ref == "MAKEFILE_LIST":
		return m.noValue("$(" + ref + ")")
	}
	return "" // as make has it
}
