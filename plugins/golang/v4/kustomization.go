package v4

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
)

// markerPrefix starts the comments at which new code goes in.
const markerPrefix = "+kubebuilder:scaffold:"

// isMarker says whether a line is nothing but the marker.
func isMarker(line, marker string) bool {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(strings.TrimPrefix(line, "//"), "#")
	return strings.TrimSpace(line) == markerPrefix+marker
}

// resources returns the list of a kustomization's resources, of what older
// scaffolds have in the place of that: bases, and of its patches, as in
// "path: patch.yaml". A file that does not parse is refused before it is edited.
func resources(name, text string) ([]string, error) {
	k, err := parseKustomization(name, text)
	all := append(k.Resources, k.Bases...)
	for _, patch := range k.Patches {
		if m, ok := patch.(map[string]any); ok {
			all = append(all, fmt.Sprint("path: ", m["path"]))
		}
	}
	return all, err
}

// kustomization is what is read of one.
type kustomization struct {
	Resources  []string `json:"resources"`
	Bases      []string `json:"bases"`
	Patches    []any    `json:"patches"`
	Namespace  string   `json:"namespace"`
	NamePrefix string   `json:"namePrefix"`
}

func parseKustomization(name, text string) (k kustomization, err error) {
	if err := clierr.Unmerged(name, []byte(text)); err != nil {
		return k, err
	}
	if err := yaml.Unmarshal([]byte(text), &k); err != nil {
		reason := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
		if strings.Contains(reason, "cannot unmarshal") {
			reason = "not a mapping with a list of resources"
		}
		return kustomization{}, usage("repair it and run the command again", "%s is not valid: %s", name, reason)
	}
	return k, nil
}

// DeployedNames are the prefix of the objects that the text of config/default deploys,
// and their namespace.
func DeployedNames(text []byte) (prefix, namespace string, err error) {
	k, err := parseKustomization(defaultPath, string(text))
	return k.NamePrefix, or(k.Namespace, "system"), err
}

// listKey is the key of the list that new items go into.
func listKey(lines []string, list string) string {
	has := func(key string) bool {
		return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, key) })
	}
	if list == "resources" && !has("resources:") && has("bases:") {
		return "bases:"
	}
	return list + ":"
}

// addItems adds entries to a list of a kustomization, its resources or patches,
// each once, in the way that edit says. The result is read again: an edit that
// did not work becomes an error with the lines to add by hand.
func addItems(name, text, list string, entries []string, edit func(lines, missing []string) []string) (string, error) {
	have, err := resources(name, text)
	if err != nil {
		return "", err
	}
	isThere := func(e string) bool { return slices.Contains(have, e) }
	missing := slices.DeleteFunc(slices.Clone(entries), isThere)
	if len(missing) == 0 {
		return text, nil
	}
	lines := strings.Split(text, "\n")
	changed := edit(lines, missing)
	if changed != nil {
		result := strings.Join(changed, "\n")
		have, err = resources(name, result)
		if err == nil && !slices.ContainsFunc(missing, func(e string) bool { return !isThere(e) }) {
			return result, nil
		}
	}
	return "", usage(fmt.Sprintf("add these lines to its %s and run the command again:\n- %s", list, strings.Join(missing, "\n- ")),
		"%s:%d: found no place for new %s", name, max(1, lastItem(lines, list)), list)
}

// insertAtMarker adds resources above a marker.
func insertAtMarker(name, text, marker string, entries ...string) (string, error) {
	if _, err := resources(name, text); err != nil {
		return "", err
	}
	result, err := addItems(name, text, "resources", entries, func(lines, missing []string) []string {
		at := slices.IndexFunc(lines, func(l string) bool { return isMarker(l, marker) })
		if at < 0 {
			return nil
		}
		return insertItems(lines, at, missing)
	})
	if err != nil && !strings.Contains(text, markerPrefix+marker) {
		err = fmt.Errorf("%w: the marker %q is missing", err, "# "+markerPrefix+marker)
	}
	return result, err
}

// appendResources adds resources at the end of the list.
func appendResources(name, text string, entries ...string) (string, error) {
	return addItems(name, text, "resources", entries, func(lines, missing []string) []string {
		at := lastItem(lines, "resources")
		if at == 0 {
			return nil
		}
		return insertItems(lines, at, missing)
	})
}

// prependItem puts an item at the start of a list, which is made where there is none.
func prependItem(name, text, list, entry string) (string, error) {
	return addItems(name, text, list, []string{entry}, func(lines, missing []string) []string {
		key := listKey(lines, list)
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, key) })
		if at < 0 {
			at = len(lines)
			lines = append(lines, key, "")
		}
		return insertItems(lines, at+1, missing)
	})
}

// uncommentResource makes a resource that is a comment count, or else appends
// it.
func uncommentResource(name, text, entry string) (string, error) {
	pattern := regexp.MustCompile(`^[ \t]*#[ \t]*- ` + regexp.QuoteMeta(entry) + `[ \t]*$`)
	result, err := addItems(name, text, "resources", []string{entry}, func(lines, missing []string) []string {
		at := slices.IndexFunc(lines, pattern.MatchString)
		if at < 0 {
			return nil
		}
		return insertItems(slices.Delete(lines, at, at+1), at, missing)
	})
	if err == nil {
		return result, nil
	}
	return appendResources(name, text, entry)
}

// insertItems inserts list items before a line, indented as the list is.
func insertItems(lines []string, at int, entries []string) []string {
	indent := itemIndent(lines, at)
	items := make([]string, len(entries))
	for i, e := range entries {
		items[i] = indent + "- " + e
	}
	if at > 0 {
		lines[at-1] = strings.Replace(lines[at-1], ": []", ":", 1) // an empty list
	}
	return slices.Insert(lines, at, items...)
}

// itemIndent is the indentation of the first item of the list that goes on at a line.
func itemIndent(lines []string, at int) string {
	for at--; at >= 0 && (lines[at] == "" || strings.ContainsAny(lines[at][:1], " \t#-")); at-- {
	}
	for _, line := range lines[at+1:] { // below the key
		switch bare := strings.TrimLeft(line, " \t"); {
		case bare == "" || bare[0] == '#':
		case bare[0] == '-':
			return line[:len(line)-len(bare)]
		default: // no item yet
			return ""
		}
	}
	return ""
}

// lastItem returns the number of lines up to the last item of a list, or its key
// where the list is empty. It is 0 where there is no key.
func lastItem(lines []string, list string) int {
	end, key := 0, listKey(lines, list)
	inside := false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, key):
			inside, end = true, i+1
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case inside && strings.HasPrefix(trimmed, "- "):
			end = i + 1
		case line == trimmed:
			inside = false
		}
	}
	return end
}
