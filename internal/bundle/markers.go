package bundle

import (
	"fmt"
	"strings"

	"github.com/example/mysdk/internal/generate/arguments"
)

// markerName begins the comments that describe owned CRDs: on a type
// displayName, resources and order, on a field type, displayName, xDescriptors
// and order. Names and syntax are operator-sdk's.
const markerName = "+operator-sdk:csv:customresourcedefinitions"

// marker is one such comment.
type marker struct {
	kind        string // "spec" or "status" on a field
	displayName string
	descriptors []string   // xDescriptors
	resources   [][]string // kind, version and perhaps a name
	order       *int
}

// parseMarker reads the comment line text, without its slashes. ok is false for
// any other comment. An error quotes the marker and may have a hint.
func parseMarker(text string, onField bool) (m marker, ok bool, err error) {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, markerName)
	if !ok || rest != "" && rest[0] != ':' && rest[0] != '=' {
		return m, false, nil
	}
	if m, err = parseArguments(strings.TrimPrefix(rest, ":"), onField); err != nil {
		return marker{}, true, fmt.Errorf("marker %s: %w", text, err)
	}
	return m, true, nil
}

func parseArguments(text string, onField bool) (marker, error) {
	if onField {
		a, err := arguments.Parse[struct {
			Type         string   `marker:",optional"`
			DisplayName  string   `marker:",optional"`
			XDescriptors []string `marker:",optional"`
			Order        *int
		}](text)
		if err == nil && a.Type != "" && a.Type != "spec" && a.Type != "status" {
			err = fmt.Errorf("type is spec or status, not %q", a.Type)
		}
		return marker{kind: a.Type, displayName: a.DisplayName, descriptors: a.XDescriptors, order: a.Order}, err
	}
	a, err := arguments.Parse[struct {
		DisplayName string     `marker:",optional"`
		Resources   [][]string `marker:",optional"`
		Order       *int
	}](text)
	for _, r := range a.Resources {
		if err == nil && (len(r) < 2 || len(r) > 3) {
			err = fmt.Errorf("a resource is {kind,version} or {kind,version,name}, not {%s}", strings.Join(r, ","))
		}
	}
	return marker{displayName: a.DisplayName, resources: a.Resources, order: a.Order}, err
}
