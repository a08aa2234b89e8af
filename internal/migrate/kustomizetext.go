package migrate

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kustomizationText is a kustomization of the scaffold's that is changed line
// by line: its comments say what can be turned on, and tools look for them.
type kustomizationText struct{ text string }

// entryText is an entry of a list as it stands behind the dash, the further
// lines indented.
func entryText(e *yaml.Node) string {
	c := plain(e)
	c.HeadComment, c.FootComment = "", ""
	data, err := encodeYAML(c)
	if err != nil {
		return e.Value + "\n"
	}
	return strings.ReplaceAll(strings.TrimSuffix(string(data), "\n"), "\n", "\n  ") + "\n"
}

// section finds the lines of a key: that of the key, and the one behind the
// last that belongs to it. ok is false where the key is not there.
func (k *kustomizationText) section(lines []string, key string) (first, end int, ok bool) {
	first = slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, key+":") })
	if first < 0 {
		return 0, 0, false
	}
	end = first + 1
	for i := end; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, " ") && strings.TrimSpace(line) != "" {
			end = i + 1
		} else if strings.TrimSpace(line) != "" && line[0] != '#' {
			break
		}
	}
	return first, end, true
}

// add adds an entry to a list, and says whether it was not there. A comment
// that is the entry becomes one.
func (k *kustomizationText) add(key string, e *yaml.Node) bool {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(k.text), &doc); err == nil && len(doc.Content) > 0 {
		if list := child(doc.Content[0], key); list != nil && next(list, step{item: itemOf(e)}) != nil {
			return false
		}
	}
	entry := entryText(e)
	lines := strings.SplitAfter(strings.TrimRight(k.text, "\n")+"\n", "\n")
	first, end, ok := k.section(lines, key)
	if !ok {
		k.insertKey(key + ":\n- " + entry)
		return true
	}
	for i := first; i < len(lines) && (i == first || !isKey(lines[i])); i++ {
		if strings.Count(entry, "\n") == 1 && strings.TrimSpace(lines[i]) == strings.TrimSpace("#- "+entry) {
			lines[i] = "- " + entry
			k.text = strings.Join(lines, "")
			return true
		}
	}
	if inline := strings.TrimSpace(strings.TrimPrefix(lines[first], key+":")); inline == "[]" {
		lines[first] = key + ":\n"
	}
	k.text = strings.Join(slices.Insert(lines, end, "- "+entry), "")
	return true
}

// isKey says whether a line begins a key of the kustomization.
func isKey(line string) bool {
	return line != "" && (line[0] >= 'a' && line[0] <= 'z' || line[0] >= 'A' && line[0] <= 'Z')
}

// set sets a key to a value: in the place of its line, else above the
// resources, which every kustomization has.
func (k *kustomizationText) set(l leaf) {
	key := l.steps[0].key
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	addKey(n, l.key, key, plain(l.node))
	data, err := encodeYAML(n)
	if err != nil {
		return // a value that was read can be written
	}
	lines := strings.SplitAfter(k.text, "\n")
	if first, end, ok := k.section(lines, key); ok {
		k.text = strings.Join(slices.Replace(lines, first, end, string(data)), "")
		return
	}
	k.insertKey(string(data))
}

func (k *kustomizationText) insertKey(text string) {
	lines := strings.SplitAfter(strings.TrimRight(k.text, "\n")+"\n", "\n")
	at, _, ok := k.section(lines, "resources")
	if !ok {
		k.text = strings.Join(lines, "") + "\n" + text
		return
	}
	for at > 0 && strings.HasPrefix(lines[at-1], "#") {
		at--
	}
	k.text = strings.Join(slices.Insert(lines, at, text+"\n"), "")
}

// remove makes a comment of a line that the user had taken out, and says
// whether it was there: a key with its value, or an entry of a list.
func (k *kustomizationText) remove(steps []step) bool {
	lines := strings.SplitAfter(k.text, "\n")
	first, end, ok := k.section(lines, steps[0].key)
	if !ok {
		return false
	}
	if len(steps) == 1 {
		if end > first+1 {
			return false // a list that has become empty: its entries are what counts
		}
		lines[first] = "#" + lines[first]
		k.text = strings.Join(lines, "")
		return true
	}
	for i := first + 1; i < end; i++ {
		if strings.TrimSpace(lines[i]) == "- "+steps[1].item {
			lines[i] = "#" + lines[i]
			k.text = strings.Join(lines, "")
			return true
		}
	}
	return false
}
