package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/fields"
	"github.com/example/mysdk/internal/kube"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// stored says which CRDs of the project, as a cluster has them, still store old
// versions: these cannot be removed from the CRD.
func (e *exam) stored(name string, which kube.Options) {
	crds := slices.DeleteFunc(slices.Clone(e.applied), func(u *unstructured.Unstructured) bool {
		return u.GetKind() != "CustomResourceDefinition"
	})
	if len(crds) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, lookTimeout)
	defer cancel()
	c, err := e.connect(ctx, which)
	if err != nil {
		e.failed(Warning, name, err, "check that the cluster is running")
		return
	}
	clean := 0
	for _, crd := range crds {
		live, err := c.Read(ctx, crd)
		switch old, storage := oldVersions(live); {
		case err != nil:
			e.failed(Warning, name, err, "check that the cluster is running")
		case len(old) > 0:
			e.warning(name, e.aimed(e.migrationHint(live, storage), c.Target), "%s still stores %s; its storage version is %s", live.GetName(), strings.Join(old, ", "), storage)
		case live != nil:
			clean++
		}
	}
	if clean > 0 && clean == len(crds) {
		e.ok(name, "each CRD stores its storage version only")
	}
}

// oldVersions are the stored versions of a CRD without its storage version; none
// of a CRD that is not there.
func oldVersions(crd *unstructured.Unstructured) (old []string, storage string) {
	if crd == nil {
		return nil, ""
	}
	// Fields of another type are none: the API server has checked them.
	for _, v := range fields.Versions(crd) {
		if v["storage"] == true {
			storage, _ = v["name"].(string)
		}
	}
	old, _, _ = unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	return slices.DeleteFunc(old, func(v string) bool { return v == storage }), storage
}

// migrationHint is what to do about it: deploy an operator that migrates the
// CRD, or have it written.
func (e *exam) migrationHint(crd *unstructured.Unstructured, storage string) string {
	text, err := e.Host.Files.ReadFile(e.abs(v4.MigrationPackage + "/crds.go"))
	if err == nil && strings.Contains(string(text), crd.GetName()) {
		return "the operator migrates its objects: run 'mysdk deploy', and look at its logs if this stays"
	}
	return fmt.Sprintf("run 'mysdk create webhook --version %s --kind %s --conversion --migrate-storage', and deploy the operator, which migrates them", storage, kube.ServedKind(crd).Kind)
}
