package calls

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/generate"
)

// function is the result of one of make's functions that needs no shell.
func (m *makefile) function(name, args, target string) string {
	switch name {
	case "foreach":
		return m.foreach(args, target)
	case "call":
		return m.call(args, target)
	}
	whole := m.noValue("$(" + name + " " + args + ")")
	args = m.expand(args, target)
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

func (m *makefile) foreach(args, target string) string {
	parts := strings.SplitN(args, ",", 3)
	if len(parts) != 3 {
		return ""
	}
	name, list := strings.TrimSpace(m.expand(parts[0], target)), m.expand(parts[1], target)
	if isUnknown(list) {
		return m.noValue("$(foreach " + args + ")")
	}
	defer m.keep(name)()
	var out []string
	for _, word := range strings.Fields(list) {
		m.vars[name] = word
		out = append(out, m.expand(parts[2], target))
	}
	return strings.Join(out, " ")
}

func (m *makefile) call(args, target string) string {
	parts := strings.Split(m.expand(args, target), ",")
	body, set := m.vars[strings.TrimSpace(parts[0])]
	if !set {
		return ""
	}
	for i, value := range parts[1:] {
		name := strconv.Itoa(i + 1)
		defer m.keep(name)()
		m.vars[name] = strings.ReplaceAll(value, "$", "$$")
	}
	return m.expand(body, target)
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

func isYear(command []string) bool {
	return slices.Equal(slices.DeleteFunc(command, func(w string) bool { return w == "-u" }), []string{"date", "+%Y"})
}
