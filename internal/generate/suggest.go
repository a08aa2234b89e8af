package generate

import (
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
)

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
