package bundle

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Stale lists the manifests of old, the files of the last bundle, that nothing
// makes any more. generated are those with objects of the kinds that bundles are
// made of: one of a type or a role that is gone is still installed. Any other may
// be its author's as well.
func (r *Result) Stale(old Files) (generated, others []string) {
	for _, f := range old {
		_, made := r.Files.Get(f.Name)
		switch {
		case made || !strings.HasPrefix(f.Name, ManifestsDir+"/"):
		case holdsGenerated(f):
			generated = append(generated, f.Name)
		default:
			others = append(others, f.Name)
		}
	}
	return generated, others
}

func holdsGenerated(f File) bool {
	kinds := []string{CSVKind, CRDKind, "Service", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
	objects, err := Parse(f.Data, f.Name)
	return err == nil && slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool { return slices.Contains(kinds, u.GetKind()) })
}
