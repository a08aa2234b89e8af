package calls

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/generate"
)

// function is the result of one of make's functions that needs no shell.
func (m *makefile) function(name, args, target string, depth int) string {
	switch name {
	case "foreach":
		return m.foreach(args, target, depth)
	case "call":
		return m.call(args, target, depth)
	}
	whole := m.noValue("$(" + name + " " + args + ")")
	args = m.expandIn(args, target, depth)
	if name == "eval" {
		if a := assignment.FindStringSubmatch(strings.TrimSpace(args)); a != nil {
			m.assign(a[1], a[2], a[3])
		}
		return ""
	}
	if isUnknown(args) {
		return whole
	}
	parts := strings.Split(args, ",")
	last := parts[len(parts)-1]
	switch {
	case name == "shell" && (args == "pwd" || args == "git rev-parse --show-toplevel"):
		return m.root
	case name == "shell" && isYear(strings.Fields(strings.NewReplacer(`"`, "", `'`, "").Replace(args))):
		return generate.ThisYear
	case name == "or":
		return strings.TrimSpace(parts[max(slices.IndexFunc(parts, func(p string) bool { return strings.TrimSpace(p) != "" }), 0)])
	case name == "strip" || name == "realpath":
		return eachWord(last, func(w string) string { return w })
	case name == "abspath":
		return eachWord(last, func(w string) string {
			if path.IsAbs(w) {
				return path.Clean(w)
			}
			return path.Join(m.root, w)
		})
	case name == "sort":
		words := strings.Fields(last)
		slices.Sort(words)
		return strings.Join(slices.Compact(words), " ")
	case name == "addprefix" && len(parts) == 2:
		return eachWord(last, func(w string) string { return parts[0] + w })
	case name == "addsuffix" && len(parts) == 2:
		return eachWord(last, func(w string) string { return w + parts[0] })
	case name == "subst" && len(parts) == 3:
		return strings.ReplaceAll(last, parts[0], parts[1])
	case name == "patsubst" && len(parts) == 3:
		return eachWord(last, func(w string) string { return substitute(w, strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])) })
	}
	return whole
}

// foreach expands a text once for each word of a list.
func (m *makefile) foreach(args, target string, depth int) string {
	parts := strings.SplitN(args, ",", 3)
	if len(parts) != 3 {
		return ""
	}
	name, list := strings.TrimSpace(m.expandIn(parts[0], target, depth)), m.expandIn(parts[1], target, depth)
	if isUnknown(list) {
		return m.noValue("$(foreach " + args + ")")
	}
	defer m.keep(name)()
	var out []string
	for _, word := range strings.Fields(list) {
		m.vars[name] = word
		out = append(out, m.expandIn(parts[2], target, depth))
	}
	return strings.Join(out, " ")
}

// call expands a variable with arguments.
func (m *makefile) call(args, target string, depth int) string {
	parts := strings.Split(m.expandIn(args, target, depth), ",")
	body, set := m.vars[strings.TrimSpace(parts[0])]
	if !set {
		return ""
	}
	for i, value := range parts[1:] {
		name := strconv.Itoa(i + 1)
		defer m.keep(name)()
		m.vars[name] = strings.ReplaceAll(value, "$", "$$")
	}
	return m.expandIn(body, target, depth)
}

// keep returns what puts a variable back as it is now.
func (m *makefile) keep(name string) func() {
	value, set := m.vars[name]
	return func() {
		delete(m.vars, name)
		if set {
			m.vars[name] = value
		}
	}
}

func eachWord(list string, change func(string) string) string {
	words := strings.Fields(list)
	for i, w := range words {
		words[i] = change(w)
	}
	return strings.Join(words, " ")
}

// substitute is the word with what % stands for in one pattern put into the
// other, or the word itself where it does not match.
func substitute(word, from, to string) string {
	head, tail, wild := strings.Cut(from, "%")
	stem, ok := strings.CutPrefix(word, head)
	if !wild || !ok || len(stem) < len(tail) || !strings.HasSuffix(stem, tail) {
		if !wild && word == from {
			return to
		}
		return word
	}
	return strings.Replace(to, "%", strings.TrimSuffix(stem, tail), 1)
}

// isYear says whether a command prints the year.
func isYear(command []string) bool {
	return slices.Equal(slices.DeleteFunc(command, func(w string) bool { return w == "-u" }), []string{"date", "+%Y"})
}
