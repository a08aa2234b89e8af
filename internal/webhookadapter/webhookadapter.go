// Package webhookadapter writes what takes the place of types that are their own
// webhooks. Until controller-runtime v0.19 an API type with a method Default,
// or with ValidateCreate, ValidateUpdate and ValidateDelete, was called by the
// webhook server itself. Since then another type has to be registered: an
// adapter here is such a type, and calls the methods. It knows the text of
// adapters only, and nothing of files, builders or layouts.
package webhookadapter

import (
	"fmt"
	"strings"
)

// Adapter is a type that passes what the webhook server asks on to the methods
// of an API type.
type Adapter struct {
	Kind string // of the API type, for comments
	Name string // of the adapter, such as CaptainDefaulter
	Type string // what the code calls the API type, such as crewv1.Captain
	// Comment is what stands above the adapter's doc comment, such as a marker
	// and a blank line; Marker is the last line of the doc comment. Both may be
	// empty, and end with a newline otherwise.
	Comment, Marker string
	// Context and Admission are what the file calls the packages context and
	// sigs.k8s.io/controller-runtime/pkg/webhook/admission.
	Context, Admission string
}

// Methods are the methods of an API type that were webhooks: the number of
// results of each by name.
type Methods map[string]int

// The names of the methods.
const (
	Default        = "Default"
	ValidateCreate = "ValidateCreate"
	ValidateUpdate = "ValidateUpdate"
	ValidateDelete = "ValidateDelete"
)

// Defaulter is an adapter that implements admission.Defaulter by the method
// Default. It begins with a blank line.
func (a Adapter) Defaulter() string {
	return fmt.Sprintf(`
%[1]s// %[2]s fills in what the author of a %[3]s left out.
%[4]stype %[2]s struct{}

// Default changes the object before it is stored.
func (*%[2]s) Default(_ %[5]s.Context, obj *%[6]s) error {
	obj.Default()
	return nil
}
`, a.Comment, a.Name, a.Kind, a.Marker, a.Context, a.Type)
}

// Validator is an adapter that implements admission.Validator by those of the
// methods that the type has, which return an error alone or after warnings.
// It begins with a blank line.
func (a Adapter) Validator(methods Methods) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s// %s refuses what a %s may not be.\n%stype %s struct{}\n", a.Comment, a.Name, a.Kind, a.Marker, a.Name)
	for _, v := range []struct{ name, doc, params, call string }{
		{ValidateCreate, "is asked about new objects", "obj", "obj.ValidateCreate()"},
		{ValidateUpdate, "is asked about changes", "oldObj, newObj", "newObj.ValidateUpdate(oldObj)"},
		{ValidateDelete, "is asked about deletions, once the verbs have delete", "obj", "obj.ValidateDelete()"},
	} {
		results, has := methods[v.name]
		fmt.Fprintf(&b, "\n// %s %s.\nfunc (*%s) %s(_ %s.Context, %s *%s) (%s.Warnings, error) {\n",
			v.name, v.doc, a.Name, v.name, a.Context, v.params, a.Type, a.Admission)
		switch {
		case !has:
			b.WriteString("\treturn nil, nil\n}\n")
		case results == 2:
			fmt.Fprintf(&b, "\treturn %s\n}\n", v.call)
		default:
			fmt.Fprintf(&b, "\treturn nil, %s\n}\n", v.call)
		}
	}
	return b.String()
}
