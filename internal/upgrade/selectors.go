package upgrade

import (
	"bytes"
	"strings"
)

// nameLabel is the label that today's scaffold selects by and others did not.
const nameLabel = "app.kubernetes.io/name"

// keepSelectors takes the label out of today's selectors by which what another
// tool has deployed does not select: the selector of a Deployment cannot
// change, and what selects its pods selects those with the labels they have.
func (p *planner) keepSelectors() {
	if p.foreign == nil {
		return
	}
	for _, o := range objectsIn(p.original("config/manager/manager.yaml")) {
		labels := o.labels("spec", "selector", "matchLabels")
		if o.text("kind") != "Deployment" || len(labels) == 0 || labels[nameLabel] != "" {
			continue
		}
		for name, text := range p.after {
			if strings.HasPrefix(name, "config/") && isYAML(name) {
				p.after[name] = trimSelectors(text)
			}
		}
	}
}

// trimSelectors removes the label from the selectors of a manifest of ours.
func trimSelectors(text []byte) []byte {
	var out []byte
	selector := -1 // its column, while it lasts
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " ")
		column := len(line) - len(rest)
		if column <= selector {
			selector = -1
		}
		key, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(":"))
		switch string(key) {
		case "matchLabels", "selector":
			selector = column
		case nameLabel:
			if selector >= 0 {
				continue
			}
		}
		out = append(out, line...)
	}
	return out
}
