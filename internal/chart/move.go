package chart

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/rewrite/merge3"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// takeOver keeps the values of a chart that is not mysdk's, adds those that are
// new, and notes the sections that mysdk's templates do not read. Those of the
// charts that it depends on are none of them.
func (p *Plan) takeOver(own, is, chart []byte) {
	mine := modern(own, is)
	if head, rest, ok := bytes.Cut(is, []byte("\n\n")); ok && bytes.HasPrefix(head, []byte("#")) {
		is = rest // what it says is of the file
	}
	is = indented(is, mine)
	merged, _ := merge3.Merge(valuesFile, nil, mine, is)
	wanted := merged
	if !has(tree(merged), tree(is)) {
		wanted = is
	}
	delete(p.Write, valuesFile)
	p.put(valuesFile, own, merged, wanted)
	p.unread("", tree(mine), tree(is))
	p.Unread = slices.DeleteFunc(p.Unread, func(key string) bool { return key == "global" || bytes.Contains(chart, []byte(": "+key+"\n")) })
}

// unread notes the keys that only mine has: of the sections and of what is in
// them.
func (p *Plan) unread(section string, mine, is any) {
	all, _ := mine.(map[string]any)
	known, _ := is.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if value, there := known[key]; !there {
			p.Unread = append(p.Unread, section+key)
		} else if section == "" {
			p.unread(key+".", all[key], value)
		}
	}
}

// tree is what a text in YAML says, nil for one that cannot be read.
func tree(text []byte) (v any) {
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil
	}
	return v
}

// has says whether v has all keys of is, as far as both are mappings.
func has(v, is any) bool {
	want, _ := is.(map[string]any)
	mine, ok := v.(map[string]any)
	if !ok {
		return v != nil || len(want) == 0
	}
	for key, value := range want {
		if own, there := mine[key]; !there || !has(own, value) {
			return false
		}
	}
	return true
}

// indented returns values with the indentation of others, as far as they say
// the same then.
func indented(values, like []byte) []byte {
	step := indentation(like)
	if step == 0 || step == 2 {
		return values
	}
	var out bytes.Buffer
	for line := range bytes.Lines(values) {
		text := bytes.TrimLeft(line, " ")
		out.WriteString(strings.Repeat(" ", (len(line)-len(text))*step/2))
		if item, ok := bytes.CutPrefix(text, []byte("- ")); ok && bytes.ContainsRune(item, ':') { // more keys may follow
			out.WriteString("-" + strings.Repeat(" ", step-1))
			text = item
		}
		out.Write(text)
	}
	if !reflect.DeepEqual(tree(values), tree(out.Bytes())) {
		return values
	}
	return out.Bytes()
}

// indentation is how far the first section's keys are from the left, 0 for none.
func indentation(values []byte) int {
	var doc yaml.Node
	if err := yaml.Unmarshal(values, &doc); err != nil {
		return 0
	}
	for _, section := range doc.Content {
		for i := 1; i < len(section.Content); i += 2 {
			if n := section.Content[i]; n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0 {
				return n.Content[0].Column - 1
			}
		}
	}
	return 0
}

// modern gives the values of a chart that an older kubebuilder has made the names
// of today: SECTION.enable is SECTION.enabled since 4.15, where the values of now
// have that, and rbacHelpers is rbac.helpers since 4.14. An image without a tag has
// that of Chart.yaml, as before. All else keeps its bytes.
func modern(values, now []byte) []byte {
	var doc yaml.Node
	sections, _ := tree(now).(map[string]any)
	if err := yaml.Unmarshal(values, &doc); err != nil || len(doc.Content) == 0 {
		return values
	}
	top, lines := doc.Content[0], strings.SplitAfter(string(values), "\n")
	step := strings.Repeat(" ", max(indentation(values), 1))
	for i := 1; i < len(top.Content); i += 2 {
		key, section := top.Content[i-1], top.Content[i]
		today, _ := sections[key.Value].(map[string]any)
		if _, ok := today["enabled"]; !ok && key.Value != "rbacHelpers" {
			continue
		}
		if at := yamledit.Index(section, "enable"); at > 0 && yamledit.Value(section, "enabled") == nil {
			line := &lines[section.Content[at-1].Line-1]
			*line = strings.Replace(*line, "enable", "enabled", 1)
		}
		if key.Value == "rbacHelpers" && yamledit.Value(top, "rbac") == nil {
			lines[key.Line-1] = strings.Replace(lines[key.Line-1], "rbacHelpers:", "rbac:\n"+step+"helpers:", 1)
			for n := key.Line; n < len(lines) && (strings.HasPrefix(lines[n], " ") || strings.TrimSpace(lines[n]) == ""); n++ {
				if strings.TrimSpace(lines[n]) != "" {
					lines[n] = step + lines[n]
				}
			}
		}
	}
	if image := yamledit.Lookup(top, "manager.image"); image != nil && image.Style&yaml.FlowStyle == 0 && len(image.Content) > 0 && yamledit.Value(image, "tag") == nil {
		first := image.Content[0]
		lines[first.Line-1] = strings.Repeat(" ", first.Column-1) + "tag: \"\"\n" + lines[first.Line-1]
	}
	return []byte(strings.Join(lines, ""))
}
