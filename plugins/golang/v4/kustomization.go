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

// resources returns the list of a kustomization's resources, and of what older
// scaffolds have in the place of that: bases. A file that does not parse is
// refused before it is edited.
func resources(name, text string) ([]string, error) {
	k, err := parseKustomization(name, text)
	return append(k.Resources, k.Bases...), err
}

// kustomization is what is read of one.
type kustomization struct {
	Resources  []string `json:"resources"`
	Bases      []string `json:"bases"`
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

// listKey is the key of the list that new resources go into.
func listKey(lines []string) string {
	has := func(key string) bool {
		return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, key) })
	}
	if !has("resources:") && has("bases:") {
		return "bases:"
	}
	return "resources:"
}

// addResources adds entries to the resources of a kustomization, each once, in
// the way that edit says. The result is read again: an edit that did not work
// becomes an error with the lines to add by hand.
func addResources(name, text string, entries []string, edit func(lines, missing []string) []string) (string, error) {
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
	return "", usage(fmt.Sprintf("add these lines to its resources and run the command again:\n- %s", strings.Join(missing, "\n- ")),
		"%s:%d: found no place for new resources", name, max(1, lastResource(lines)))
}

// insertAtMarker adds resources above a marker.
func insertAtMarker(name, text, marker string, entries ...string) (string, error) {
	if _, err := resources(name, text); err != nil {
		return "", err
	}
	result, err := addResources(name, text, entries, func(lines, missing []string) []string {
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
	return addResources(name, text, entries, func(lines, missing []string) []string {
		at := lastResource(lines)
		if at == 0 {
			return nil
		}
		lines[at-1] = strings.TrimSuffix(lines[at-1], " []") // an empty list
		return insertItems(lines, at, missing)
	})
}

// prependResource puts a resource at the start of the list.
func prependResource(name, text, entry string) (string, error) {
	return addResources(name, text, []string{entry}, func(lines, missing []string) []string {
		key := listKey(lines)
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, key) })
		if at < 0 {
			return nil
		}
		lines[at] = strings.TrimSuffix(lines[at], " []") // an empty list
		return insertItems(lines, at+1, missing)
	})
}

// uncommentResource makes a resource that is a comment count, or else appends
// it.
func uncommentResource(name, text, entry string) (string, error) {
	pattern := regexp.MustCompile(`^[ \t]*#[ \t]*- ` + regexp.QuoteMeta(entry) + `[ \t]*$`)
	result, err := addResources(name, text, []string{entry}, func(lines, missing []string) []string {
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
	indent := ""
	if last := lastResource(lines); last > 0 && !strings.HasPrefix(lines[last-1], listKey(lines)) {
		indent = lines[last-1][:strings.Index(lines[last-1], "-")]
	}
	items := make([]string, len(entries))
	for i, e := range entries {
		items[i] = indent + "- " + e
	}
	return slices.Insert(lines, at, items...)
}

// lastResource returns the number of lines up to the last item of the list of
// resources, or its key where the list is empty. It is 0 where there is no key.
func lastResource(lines []string) int {
	end, key := 0, listKey(lines)
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
