package project

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/modfile"

	"github.com/example/mysdk/internal/clierr"
)

const reference = "compare it with https://book.kubebuilder.io/reference/project-config.html"

// fieldTypes are the YAML types of the fields that kubebuilder/v3 reads. Its
// own complaint about a wrong one names neither the line nor the field.
func fieldTypes() map[string]string {
	types := map[string]string{
		"layout": "!!str !!seq", "multigroup": "!!bool", "componentConfig": "!!bool", "plugins": "!!map",
		"resources": "!!seq", "resources.": "!!map", "resources.controller": "!!bool",
		"resources.api": "!!map", "resources.api.crdVersion": "!!str", "resources.api.namespaced": "!!bool",
		"resources.webhooks": "!!map", "resources.webhooks.webhookVersion": "!!str",
		"resources.webhooks.defaulting": "!!bool", "resources.webhooks.validation": "!!bool", "resources.webhooks.conversion": "!!bool",
	}
	for _, text := range strings.Fields("version domain repo projectName layout.") {
		types[text] = "!!str"
	}
	for _, text := range strings.Fields("group domain version kind plural path") {
		types["resources."+text] = "!!str"
	}
	return types
}

// checkTypes compares the values below node with fieldTypes. path is that of
// node: keys joined by dots, a trailing dot for the items of a list.
func checkTypes(node *yaml.Node, path string, types map[string]string) error {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	want, got := types[path], node.ShortTag()
	if want != "" && got != "!!null" && !slices.Contains(strings.Fields(want), got) {
		hint := reference
		if want == "!!str" && node.Kind == yaml.ScalarNode {
			hint = fmt.Sprintf("put it in quotes: %q", node.Value)
		}
		field := path
		if list, isEntry := strings.CutSuffix(path, "."); isEntry {
			field = "an entry of " + list
		}
		return clierr.Failedf(hint, "%s:%d:%d: %s must be %s, and is %s", FileName, node.Line, node.Column, field, typeName(want), typeName(got))
	}
	switch {
	case node.Kind == yaml.SequenceNode && want != "":
		for _, item := range node.Content {
			if err := checkTypes(item, path+".", types); err != nil {
				return err
			}
		}
	case node.Kind == yaml.MappingNode && (path == "" || want != ""):
		for i := 0; i+1 < len(node.Content); i += 2 {
			below := strings.TrimPrefix(strings.TrimSuffix(path, ".")+"."+node.Content[i].Value, ".")
			if err := checkTypes(node.Content[i+1], below, types); err != nil {
				return err
			}
		}
	}
	return nil
}

// typeName says in words what a tag, or the first of several, stands for.
func typeName(tags string) string {
	tag, _, _ := strings.Cut(tags, " ")
	switch tag {
	case "!!str":
		return "a text"
	case "!!bool":
		return "true or false"
	case "!!map":
		return "a mapping of fields"
	case "!!seq":
		return "a list"
	case "!!int", "!!float":
		return "a number"
	default:
		return "a value of type " + tag
	}
}

// yamlError puts the file and the line that a YAML error names where editors
// look for them.
func yamlError(err error) error {
	m := regexp.MustCompile(`^yaml: (?:unmarshal errors:\s+)?(?:line (\d+): )?`).FindStringSubmatch(err.Error())
	if m == nil {
		return fmt.Errorf("%s: %w", FileName, err)
	}
	at, text := FileName, strings.TrimPrefix(err.Error(), m[0])
	if m[1] != "" {
		at += ":" + m[1]
	}
	return clierr.Failedf("fix the file, or restore it from version control", "%s: %s", at, text)
}

// checkComplete refuses a project that code cannot be added to: a field that
// file names and imports are made of is missing or wrong.
func (f *File) checkComplete(dir string) error {
	for _, field := range []struct{ name, value, example string }{
		{"domain", f.config.Domain, "example.com"},
		{"repo", f.config.Repository, "github.com/you/my-operator"},
		{"projectName", f.config.Name, "my-operator"},
	} {
		if field.value == "" {
			return clierr.Failedf(fmt.Sprintf("add the line '%s: %s' with the project's own", field.name, field.example), "%s: no %s field", FileName, field.name)
		}
	}
	for _, err := range []error{CheckDomain(f.config.Domain), CheckRepo(f.config.Repository)} {
		if err != nil {
			return clierr.Failedf("correct the line in "+FileName, "%s: %w", FileName, err)
		}
	}
	// The module may also be that of a directory further up.
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil //nolint:nilerr // the go command tells what is wrong with it
	}
	if m := modfile.ModulePath(data); m != "" && m != f.config.Repository {
		return clierr.Failedf("make them the same", "%s: repo is %s, and go.mod says module %s", FileName, f.config.Repository, m)
	}
	return nil
}
