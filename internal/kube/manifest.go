package kube

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
)

// RenderManifests reads the objects of a template.
func RenderManifests(text, name string, data any) ([]*unstructured.Unstructured, error) {
	t, err := template.New(name).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("render the template: %w", err)
	}
	return ParseManifests(out.Bytes(), name)
}

// ParseManifests reads the objects of a YAML or JSON file of one or more
// documents. Empty documents are skipped and lists become their items. name is
// the file's name for errors, which say file:line; all of the file's errors are
// reported, not the first alone.
func ParseManifests(data []byte, name string) ([]*unstructured.Unstructured, error) {
	var objs []*unstructured.Unstructured
	var errs []error
	for _, d := range splitDocuments(data) {
		found, err := d.objects(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		objs = append(objs, found...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, clierr.WithHint(err, "correct the file and run the command again; nothing was applied")
	}
	return objs, nil
}

// document is one part of a file between separators.
type document struct {
	text []byte
	line int // of the document's first line, from 1
}

// splitDocuments cuts at lines that begin with "---". Indentation keeps such a
// line inside a block scalar from being one.
func splitDocuments(data []byte) []document {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	docs := []document{{line: 1}}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		last := &docs[len(docs)-1]
		if isSeparator(line) {
			docs = append(docs, document{line: number})
			last = &docs[len(docs)-1]
		}
		last.text = append(last.text, line...)
	}
	return docs
}

// isSeparator reports whether line begins a document. "---x" is a text.
func isSeparator(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// objects decodes the document; none if there is nothing in it.
func (d document) objects(name string) ([]*unstructured.Unstructured, error) {
	text, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return nil, d.yamlError(name, err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, d.errorf(name, "%w", err)
	}
	object, ok := value.(map[string]any)
	switch {
	case value == nil, ok && len(object) == 0:
		return nil, nil
	case !ok:
		return nil, d.errorf(name, "a Kubernetes object is a mapping with apiVersion, kind and metadata; this is something else")
	}
	return d.flatten(name, object)
}

func (d document) flatten(name string, m map[string]any) ([]*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: m}
	if err := checkType(m); err != nil {
		return nil, d.errorf(name, "%w", err)
	}
	kind, isList := strings.CutSuffix(u.GetKind(), "List")
	raw, hasItems := m["items"]
	if !isList || !hasItems {
		if err := checkObject(u); err != nil {
			return nil, d.errorf(name, "%w", err)
		}
		return []*unstructured.Unstructured{u}, nil
	}
	items, ok := raw.([]any)
	if !ok && raw != nil {
		return nil, d.errorf(name, "%s: items is not a list", u.GetKind())
	}
	var all []*unstructured.Unstructured
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, d.errorf(name, "%s: item %d is not an object", u.GetKind(), i)
		}
		inherit(m, u.GetAPIVersion(), kind)
		found, err := d.flatten(name, m)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// inherit gives an item the type that a typed list leaves out.
func inherit(item map[string]any, apiVersion, kind string) {
	for field, value := range map[string]string{"apiVersion": apiVersion, "kind": kind} {
		if _, ok := item[field]; !ok && kind != "" {
			item[field] = value
		}
	}
}

func checkType(m map[string]any) error {
	for _, field := range []string{"apiVersion", "kind"} {
		if v, ok := m[field]; !ok {
			return fmt.Errorf("%s is missing", field)
		} else if s, _ := v.(string); s == "" {
			return fmt.Errorf("%s must be a string", field)
		}
	}
	return nil
}

// checkObject refuses what cannot be applied whatever the server says, and what
// unstructured's accessors would take for absent.
func checkObject(u *unstructured.Unstructured) error {
	meta, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		return fmt.Errorf("%s: metadata is missing", u.GetKind())
	}
	for _, field := range []string{"name", "namespace"} {
		if v, ok := meta[field]; ok && v != nil {
			if _, ok := v.(string); !ok {
				return fmt.Errorf("%s: metadata.%s must be a string: write it in quotes", u.GetKind(), field)
			}
		}
	}
	if u.GetName() == "" {
		if u.GetGenerateName() != "" {
			return fmt.Errorf("%s: metadata.generateName cannot be applied: give it a name", u.GetKind())
		}
		return fmt.Errorf("%s: metadata.name is missing", u.GetKind())
	}
	return nil
}

// errorf is an error at the document's place in the file.
func (d document) errorf(name, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", name, d.firstLine(), fmt.Errorf(format, args...))
}

// firstLine is the line of the document's first content, past the separator,
// blank lines and comments.
func (d document) firstLine() int {
	n := d.line
	for line := range bytes.Lines(d.text) {
		t := bytes.TrimSpace(line)
		if len(t) > 0 && t[0] != '#' && !isSeparator(line) {
			return n
		}
		n++
	}
	return d.line
}

// yamlError turns the parser's "yaml: line 3: …", which counts within the
// document, into the file's own line.
func (d document) yamlError(name string, err error) error {
	text := err.Error()
	if i := strings.LastIndex(text, "yaml: "); i >= 0 {
		text = text[i+len("yaml: "):]
	}
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // the digits of a line
		return fmt.Errorf("%s:%d: %s", name, d.line+n-1, text[len(m[0]):])
	}
	return d.errorf(name, "%s", text)
}
