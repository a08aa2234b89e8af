package chart

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// modern gives the values of a chart that an older kubebuilder has made the names
// of today: SECTION.enable is SECTION.enabled since 4.15, and rbacHelpers is
// rbac.helpers since 4.14. An image without a tag has that of Chart.yaml, as
// before. All else keeps its bytes.
func modern(values []byte) []byte {
	var doc yaml.Node
	if err := yaml.Unmarshal(values, &doc); err != nil || len(doc.Content) == 0 {
		return values
	}
	top, lines := doc.Content[0], strings.SplitAfter(string(values), "\n")
	for i := 1; i < len(top.Content); i += 2 {
		section := top.Content[i]
		for k := 0; section.Kind == yaml.MappingNode && k < len(section.Content); k += 2 {
			if key := section.Content[k]; key.Value == "enable" && yamledit.Value(section, "enabled") == nil {
				lines[key.Line-1] = strings.Replace(lines[key.Line-1], "enable", "enabled", 1)
			}
		}
	}
	for i := 0; i < len(top.Content); i += 2 {
		if key := top.Content[i]; key.Value == "rbacHelpers" && yamledit.Value(top, "rbac") == nil {
			lines[key.Line-1] = strings.Replace(lines[key.Line-1], "rbacHelpers:", "rbac:\n  helpers:", 1)
			for n := key.Line; n < len(lines) && (strings.HasPrefix(lines[n], " ") || strings.TrimSpace(lines[n]) == ""); n++ {
				if strings.TrimSpace(lines[n]) != "" {
					lines[n] = "  " + lines[n]
				}
			}
		}
	}
	if image := one(top, "manager.image"); image != nil && image.Style&yaml.FlowStyle == 0 && len(image.Content) > 0 && yamledit.Value(image, "tag") == nil {
		first := image.Content[0]
		lines[first.Line-1] = strings.Repeat(" ", first.Column-1) + "tag: \"\"\n" + lines[first.Line-1]
	}
	return []byte(strings.Join(lines, ""))
}
