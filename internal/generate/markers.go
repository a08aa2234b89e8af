package generate

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/generate/arguments"
)

// ignoredMarker takes the place of a marker that does not parse when that is
// only a warning: the generators refuse a package over it. A marker it stays,
// so that it does not become part of the description.
const ignoredMarker = "//+mysdk:ignored"

// marker is one marker comment and where it stands.
type marker struct {
	comment *ast.Comment
	text    string // with the plus sign, without slashes and space around it
	place   place
	node    ast.Node // that it describes, a type or field for example; nil for none
}

// position is that of the plus sign.
func (m marker) position(src *sources) token.Position {
	pos := src.fset.Position(m.comment.Pos())
	pos.Column += strings.IndexByte(m.comment.Text, '+')
	return pos
}

// checkMarkers reports the markers of a file that no generator would
// understand, and those that are only to be warned of. What tolerates finds
// harmless is hidden from the generators.
func (w workspace) checkMarkers(f *sourceFile, tolerates func(m marker, unknown bool) bool) (wrong, useless []problem) {
	for _, m := range markersOf(f.ast, w.registry) {
		pos := m.position(w.src)
		if msg, unknown := w.registry.wrong(m); msg != "" {
			p := newProblem(w.tree, pos, msg)
			if !tolerates(m, unknown) {
				wrong = append(wrong, p)
				continue
			}
			useless = append(useless, p)
			m.comment.Text = ignoredMarker
			continue
		}
		if msg := w.registry.useless(m); msg != "" {
			useless = append(useless, newProblem(w.tree, pos, msg))
		}
	}
	return wrong, useless
}

// wrong says why the marker is a mistake, "" when it is none, and whether that
// is because nobody knows it.
func (r *registry) wrong(m marker) (msg string, unknown bool) {
	def, _ := r.anywhere(m.text)
	if def == nil {
		return r.unknown(m.text), true
	}
	// The generators parse with the definition for the place, and those of one name may differ.
	if here := r.Lookup(m.text, m.place.target); m.place.known && here != nil {
		def = here
	} else if !strings.HasPrefix(def.Name, prefix) {
		return "", false // +default and the like may mean something else elsewhere
	}
	return malformed(def, m.text), false
}

// unknown says that nobody reads the marker, if it is one of kubebuilder's or
// looks as if it was meant to be.
func (r *registry) unknown(text string) string {
	name := nameOf(text)
	if strings.HasPrefix(name, prefix) {
		if foreign(name) {
			return ""
		}
		word, rest, more := strings.Cut(name, " ")
		if def, _ := r.anywhere("+" + word); more && def != nil {
			return fmt.Sprintf("marker +%s: unexpected text behind it: %q", word, strings.TrimSpace(rest))
		}
		return didYouMean("unknown marker +"+name, r.suggestMarker(text), "+")
	}
	// Only names with a colon: +kube or +build are other people's.
	first, rest, nested := strings.Cut(name, ":")
	if !nested || clierr.Closest(first, []string{strings.TrimSuffix(prefix, ":")}) == "" {
		return ""
	}
	meant := "+" + prefix + rest + text[len("+"+name):]
	if def, _ := r.anywhere(meant); def != nil {
		return didYouMean("unknown marker +"+name, prefix+rest, "+")
	}
	return didYouMean("unknown marker +"+name, r.suggestMarker(meant), "+")
}

func nameOf(text string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "+"), "=")
	return strings.TrimSpace(name)
}

func didYouMean(msg, suggestion, sign string) string {
	if suggestion == "" {
		return msg
	}
	return msg + "; did you mean " + sign + suggestion + "?"
}

// malformed says why the marker does not parse; "" when it does.
func malformed(def *markers.Definition, text string) string {
	_, err := arguments.Read(def, text)
	if err == nil {
		return ""
	}
	msg, arg := arguments.Reason(err)
	if arg != "" {
		msg = didYouMean(msg, clierr.Closest(arg, slices.Sorted(maps.Keys(def.Fields))), "")
	}
	return fmt.Sprintf("marker +%s: %s", def.Name, msg)
}

// suggestMarker returns the known marker that an unknown one was probably
// meant to be, or "". The text is a whole marker with its plus sign.
func (r *registry) suggestMarker(text string) string {
	name := strings.TrimPrefix(nameOf(text), prefix)
	parent, last := splitLast(name)
	var siblings, namesakes []string
	for _, n := range r.names {
		p, l := splitLast(n)
		if p == parent {
			siblings = append(siblings, l)
		}
		if strings.EqualFold(l, last) {
			namesakes = append(namesakes, n)
		}
	}
	// +kubebuilder:validation:Minimun=…
	if parent != "" && len(siblings) > 0 {
		if s := clierr.Closest(last, siblings); s != "" {
			return prefix + parent + ":" + s
		}
	}
	// +kubebuilder:resorce:path=… is the marker resource and its argument.
	if strings.Contains(text, "=") && parent != "" {
		if s := clierr.Closest(parent, r.names); s != "" && r.takesArguments(prefix+s) {
			return prefix + s
		}
	}
	if parent == "" || len(siblings) == 0 {
		if s := clierr.Closest(name, r.names); s != "" {
			return prefix + s
		}
	}
	// +kubebuilder:Minimum=… lacks the middle of its name.
	if len(namesakes) > 0 {
		return prefix + slices.Min(namesakes)
	}
	return ""
}

// splitLast splits a:b:c into a:b and c.
func splitLast(name string) (parent, last string) {
	i := strings.LastIndexByte(name, ':')
	return name[:max(i, 0)], name[i+1:]
}

// RoleMarker is a +kubebuilder:rbac marker and its place.
type RoleMarker struct {
	File      string // slash-separated, relative to the project
	Line      int    // from 1
	Text      string // with the plus sign
	Namespace string // of a Role; empty for a ClusterRole
	Rule      rbacv1.PolicyRule
}

// RoleMarkers returns the markers that the project's roles are generated from,
// in the order of the files. A marker that does not parse, or that stands where it
// has no effect, is left out: Render reports it.
func RoleMarkers(ctx context.Context, opts Options) ([]RoleMarker, error) {
	w, err := parse(ctx, opts)
	if err != nil {
		return nil, err
	}
	var list []RoleMarker
	for _, p := range w.src.packages {
		for _, f := range p.files {
			for _, m := range markersOf(f.ast, w.registry) {
				def := w.registry.Lookup(m.text, markers.DescribesPackage)
				if def == nil || def.Name != rbac.RuleDefinition.Name || m.place != (place{true, markers.DescribesPackage}) {
					continue
				}
				v, err := arguments.Read(def, m.text)
				rule, ok := v.(rbac.Rule)
				if err != nil || !ok {
					continue
				}
				at := newProblem(w.tree, m.position(w.src), "")
				for i, group := range rule.Groups {
					if group == "core" {
						rule.Groups[i] = "" // as the generator takes it
					}
				}
				list = append(list, RoleMarker{File: at.file, Line: at.line, Text: m.text, Namespace: rule.Namespace, Rule: rule.ToRule()})
			}
		}
	}
	return list, nil
}
