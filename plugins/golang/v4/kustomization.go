package v4

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// markerPrefix starts the comments at which new code goes in.
const markerPrefix = "+kubebuilder:scaffold:"

// isMarker says whether a line is nothing but the marker.
func isMarker(line, marker string) bool {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(strings.TrimPrefix(line, "//"), "#")
	return strings.TrimSpace(line) == markerPrefix+marker
}

// checkYAML refuses a file that does not parse, before it is edited.
func checkYAML(name, text string) error {
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		reason := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
		return usage("repair it and run the command again", "%s is not valid: %s", name, reason)
	}
	return nil
}

// insertInYAML adds a line above a marker, once.
func insertInYAML(name, text, marker, line string) (string, error) {
	if err := checkYAML(name, text); err != nil {
		return "", err
	}
	lines := strings.Split(text, "\n")
	if hasLine(lines, line) {
		return text, nil
	}
	at := slices.IndexFunc(lines, func(l string) bool { return isMarker(l, marker) })
	if at < 0 {
		return "", usage(fmt.Sprintf("add this line to its resources and run the command again:\n%s", line),
			"%s:%d: the marker %q is missing", name, resourcesEnd(lines), "# "+markerPrefix+marker)
	}
	return strings.Join(slices.Insert(lines, at, indent(lines[at])+line), "\n"), nil
}

// appendResources adds files to the resources of a kustomization, each once.
func appendResources(name, text string, files ...string) (string, error) {
	if err := checkYAML(name, text); err != nil {
		return "", err
	}
	lines := strings.Split(text, "\n")
	for _, file := range files {
		if hasLine(lines, "- "+file) {
			continue
		}
		at := resourcesEnd(lines)
		if at == 0 {
			return "", usage(fmt.Sprintf("add to it:\nresources:\n- %s", strings.Join(files, "\n- ")), "%s has no resources", name)
		}
		lines = slices.Insert(lines, at, indent(lines[at-1])+"- "+file)
	}
	return strings.Join(lines, "\n"), nil
}

// uncommentResource makes a resource that is a comment count.
func uncommentResource(name, text, resource string) (string, error) {
	if err := checkYAML(name, text); err != nil {
		return "", err
	}
	if hasLine(strings.Split(text, "\n"), "- "+resource) {
		return text, nil
	}
	pattern := regexp.MustCompile(`(?m)^([ \t]*)#[ \t]*(- ` + regexp.QuoteMeta(resource) + `)[ \t]*$`)
	at := pattern.FindStringSubmatchIndex(text)
	if at == nil {
		return appendResources(name, text, resource)
	}
	return text[:at[0]] + text[at[2]:at[3]] + text[at[4]:at[5]] + text[at[1]:], nil
}

// hasLine says whether one of the lines is this, apart from indentation and
// a comment behind it.
func hasLine(lines []string, want string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		line, _, _ = strings.Cut(line, " #")
		return strings.TrimSpace(line) == want
	})
}

// resourcesEnd returns the number of lines up to the last item of the list
// under the key resources, 0 where there is none.
func resourcesEnd(lines []string) int {
	end := 0
	inside := false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "resources:"):
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

func indent(line string) string {
	if strings.HasPrefix(line, "resources:") {
		return ""
	}
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}
