package bundle

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	lazy "go.podman.io/storage/pkg/regexp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// NewBase is the base CSV of a package that has none: what catalogs show, with
// texts for its author to replace. A namespaced operator is for one or some
// namespaces, any other for all.
func NewBase(pkg string, namespaced bool) *unstructured.Unstructured {
	title := DisplayName(pkg)
	return &unstructured.Unstructured{Object: object{
		"apiVersion": CSVGroup + "/v1alpha1",
		"kind":       CSVKind,
		"metadata": object{
			"name":        pkg + ".v0.0.0",
			"namespace":   "placeholder",
			"annotations": object{ExamplesKey: "[]", CapabilitiesKey: "Basic Install"},
		},
		"spec": object{
			"apiservicedefinitions":     object{},
			"customresourcedefinitions": object{},
			"description":               title + " description. TODO.",
			"displayName":               title,
			"installModes":              installModes(namespaced),
			"keywords":                  []any{pkg},
			"links":                     []any{object{"name": title, "url": "https://" + pkg + ".domain"}},
			"maintainers":               []any{object{"name": "Maintainer Name", "email": "your@email.com"}},
			"maturity":                  "alpha",
			"provider":                  object{"name": "Provider Name", "url": "https://your.domain"},
			"version":                   "0.0.0",
		},
	}}
}

// installModes are all four that OLM knows: it takes one that is not listed for
// unsupported, and validators want them said.
func installModes(namespaced bool) []any {
	var list []any
	for _, mode := range []string{"OwnNamespace", "SingleNamespace", "MultiNamespace"} {
		list = append(list, object{"type": mode, "supported": namespaced})
	}
	return append(list, object{"type": "AllNamespaces", "supported": !namespaced})
}

// Placeholders lists the fields of a base that still hold what NewBase has
// written for its author to replace.
func Placeholders(pkg string, base *unstructured.Unstructured) []string {
	fresh := NewBase(pkg, false)
	var list []string
	for _, field := range []string{"description", "provider", "maintainers", "links"} {
		if v := at(base.Object, "spec", field); v != nil && fmt.Sprint(v) == fmt.Sprint(at(fresh.Object, "spec", field)) {
			list = append(list, field)
		}
	}
	if empty(at(base.Object, "spec", "icon")) {
		list = append(list, "icon")
	}
	return list
}

// ParseBase reads the ClusterServiceVersion in a file; there must be one, and
// nothing beside it, which would be lost when the file is written.
func ParseBase(data []byte, file string) (*unstructured.Unstructured, error) {
	objects, err := Parse(data, file)
	if err != nil {
		return nil, err
	}
	switch {
	case !slices.ContainsFunc(objects, IsCSV):
		return nil, clierr.Failedf("remove the file to have it recreated", "%s: there is no ClusterServiceVersion", file)
	case len(objects) > 1:
		return nil, clierr.Failedf("move the others to files of their own, and list those in the kustomization", "%s: the file of the base has %d objects, and its ClusterServiceVersion has to be the only one", file, len(objects))
	}
	return objects[0], nil
}

// Parse reads the objects of a file of YAML or JSON documents. Errors say file:line.
func Parse(data []byte, file string) ([]*unstructured.Unstructured, error) {
	objects, err := kube.ParseManifests(data, file)
	if err != nil {
		return nil, clierr.Failedf("correct it and run the command again; nothing was written", "%w", err)
	}
	return objects, nil
}

// DisplayName turns a name in any case, such as shop-operator or ContainerPort,
// into words: Shop Operator, Container Port.
func DisplayName(name string) string {
	name = wordStart.ReplaceAllString(name, "$1 $2")
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(".-_ ", r) })
	for i, w := range words {
		first, size := utf8.DecodeRuneInString(w)
		words[i] = string(unicode.ToUpper(first)) + w[size:]
	}
	return strings.Join(words, " ")
}

var wordStart = lazy.Delayed(`(\P{Lu})(\p{Lu})`)

// ownedKey names an entry of customresourcedefinitions.owned, of which there is one
// for each version of a CRD: by name, version and kind, as operator-sdk matches them.
func ownedKey(e object) string {
	return fmt.Sprintf("%s/%s %s", textAt(e, "name"), textAt(e, "version"), textAt(e, "kind"))
}
