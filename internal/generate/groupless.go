package generate

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// versionName is how packages of APIs are called.
var versionName = lazy.Delayed(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// groupless finds kinds in packages that name no group: controller-gen makes
// CRDs of them that no API server takes. A file of that kind which a project of
// other tools has already is one that it lives with.
func (in inspection) groupless(files map[string][]byte) (wrong, tolerated []problem, hint string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		plural, ok := strings.CutPrefix(path.Base(name), "_")
		if !ok || plural == ".yaml" || !bytes.Contains(files[name], []byte("\nkind: CustomResourceDefinition\n")) {
			continue
		}
		kind := kindName.FindSubmatch(files[name])
		for _, p := range in.src.packages {
			if kind == nil || p.marked([]string{"+groupName"}) {
				continue
			}
			spec, file := p.typeNamed(string(kind[1]))
			if spec == nil {
				continue
			}
			at := newProblem(in.tree, in.src.fset.Position(spec.Name.Pos()), fmt.Sprintf("kind %s belongs to no API group: its package lacks the marker +groupName", kind[1]))
			if !versionName.MatchString(file.ast.Name.Name) || in.Lax || in.Foreign && in.tree.exists(name) {
				at.msg += fmt.Sprintf(", and no API server takes %s", name)
				tolerated = append(tolerated, at)
				continue
			}
			wrong, hint = append(wrong, at), in.groupFile(p, file, strings.TrimSuffix(plural, ".yaml"))
		}
	}
	return wrong, tolerated, hint
}

var kindName = lazy.Delayed(`(?m)^    kind: (\w+)$`)

// groupFile says what to write into the package of a version. The types that a
// tutorial or another scaffold left there register themselves in one of two ways.
func (in inspection) groupFile(p *sourcePackage, types *sourceFile, plural string) string {
	imports := "metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\t\"k8s.io/apimachinery/pkg/runtime\"\n\t\"k8s.io/apimachinery/pkg/runtime/schema\""
	builder := "runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {\n\t\tmetav1.AddToGroupVersion(s, GroupVersion)\n\t\treturn nil\n\t})"
	if data, err := in.tree.read(types.name); err == nil && bytes.Contains(data, []byte("SchemeBuilder.Register(&")) {
		imports = "\"k8s.io/apimachinery/pkg/runtime/schema\"\n\t\"sigs.k8s.io/controller-runtime/pkg/scheme\""
		builder = "&scheme.Builder{GroupVersion: GroupVersion}"
	}
	group, version := in.groupOf(plural), types.ast.Name.Name
	text := fmt.Sprintf(`// +kubebuilder:object:generate=true
// +groupName=%s
package %s

import (
	%s
)

var (
	GroupVersion  = schema.GroupVersion{Group: "%s", Version: "%s"}
	SchemeBuilder = %s
	AddToScheme   = SchemeBuilder.AddToScheme
)`, group, version, imports, group, version, builder)
	if pretty, err := format.Source([]byte(text)); err == nil {
		text = strings.TrimSpace(string(pretty))
	}
	return fmt.Sprintf("write %s:\n\n%s", path.Join(p.dir, "groupversion_info.go"), text)
}

// groupOf is the group that a controller's marker names for the resource, else
// the one of all other kinds.
func (in inspection) groupOf(plural string) string {
	named := regexp.MustCompile(`^//\s*\+kubebuilder:rbac:groups="?([\w.-]+\.[\w.-]+)"?,resources="?` + regexp.QuoteMeta(plural) + `\b`)
	group := regexp.MustCompile(`^//\s*\+groupName="?([\w.-]+)"?\s*$`)
	others := map[string]bool{}
	for _, p := range in.src.packages {
		for _, f := range p.files {
			for _, comments := range f.ast.Comments {
				for _, c := range comments.List {
					if m := named.FindStringSubmatch(c.Text); m != nil {
						return m[1]
					}
					if m := group.FindStringSubmatch(c.Text); m != nil {
						others[m[1]] = true
					}
				}
			}
		}
	}
	if len(others) == 1 {
		return slices.Collect(maps.Keys(others))[0]
	}
	return "GROUP.DOMAIN"
}
