package migrate

import (
	"cmp"
	"go/ast"
	"slices"
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// Import paths that several passes look for.
const (
	crClient     = "sigs.k8s.io/controller-runtime/pkg/client"
	crController = "sigs.k8s.io/controller-runtime/pkg/controller"
	crCtrlUtil   = "sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	crAdmission  = "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	crEvent      = "sigs.k8s.io/controller-runtime/pkg/event"
	crFake       = "sigs.k8s.io/controller-runtime/pkg/client/fake"
	crHandler    = "sigs.k8s.io/controller-runtime/pkg/handler"
	crInject     = "sigs.k8s.io/controller-runtime/pkg/runtime/inject"
	crConfig     = "sigs.k8s.io/controller-runtime/pkg/config/v1alpha1"
	crLog        = "sigs.k8s.io/controller-runtime/pkg/log"
	crManager    = "sigs.k8s.io/controller-runtime/pkg/manager"
	crPredicate  = "sigs.k8s.io/controller-runtime/pkg/predicate"
	crReconcile  = "sigs.k8s.io/controller-runtime/pkg/reconcile"
	crRoot       = "sigs.k8s.io/controller-runtime"
	crScheme     = "sigs.k8s.io/controller-runtime/pkg/scheme"
	crSource     = "sigs.k8s.io/controller-runtime/pkg/source"
	crZap        = "sigs.k8s.io/controller-runtime/pkg/log/zap"
	apiMeta      = "k8s.io/apimachinery/pkg/api/meta"
	apiRuntime   = "k8s.io/apimachinery/pkg/runtime"
	coreV1       = "k8s.io/api/core/v1"
	extensionsV1 = "k8s.io/api/extensions/v1beta1"
	metaV1       = "k8s.io/apimachinery/pkg/apis/meta/v1"
	workqueueAt  = "k8s.io/client-go/util/workqueue"
	operatorSDK  = "github.com/operator-framework/operator-sdk/"
	operatorLib  = "github.com/operator-framework/operator-lib"
	sdkZap       = operatorSDK + "pkg/log/zap"
	sdkK8sutil   = operatorSDK + "pkg/k8sutil"
	sdkStatus    = operatorSDK + "pkg/status"
	libStatus    = operatorLib + "/status"
)

// renamedPackages are packages that have another path today and the same
// members.
var renamedPackages = map[string]string{
	"sigs.k8s.io/controller-runtime/pkg/runtime/log":                                           crLog,
	"sigs.k8s.io/controller-runtime/pkg/runtime/signals":                                       "sigs.k8s.io/controller-runtime/pkg/manager/signals",
	"sigs.k8s.io/controller-runtime/pkg/runtime/scheme":                                        crScheme,
	operatorSDK + "pkg/predicate":                                                              crPredicate,
	operatorSDK + "pkg/leader":                                                                 operatorLib + "/leader",
	"k8s.io/api/apps/v1beta1":                                                                  "k8s.io/api/apps/v1",
	"k8s.io/api/apps/v1beta2":                                                                  "k8s.io/api/apps/v1",
	"k8s.io/api/autoscaling/v2beta2":                                                           "k8s.io/api/autoscaling/v2",
	"k8s.io/api/batch/v1beta1":                                                                 "k8s.io/api/batch/v1",
	"k8s.io/api/batch/v2alpha1":                                                                "k8s.io/api/batch/v1",
	"k8s.io/api/coordination/v1beta1":                                                          "k8s.io/api/coordination/v1",
	"k8s.io/api/rbac/v1alpha1":                                                                 "k8s.io/api/rbac/v1",
	"k8s.io/api/rbac/v1beta1":                                                                  "k8s.io/api/rbac/v1",
	"k8s.io/api/scheduling/v1beta1":                                                            "k8s.io/api/scheduling/v1",
	"k8s.io/api/storage/v1beta1":                                                               "k8s.io/api/storage/v1",
	"github.com/coreos/prometheus-operator/pkg/apis/monitoring":                                "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring",
	"github.com/coreos/prometheus-operator/pkg/apis/monitoring/v1":                             "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1",
	"github.com/googleapis/gnostic/OpenAPIv2":                                                  "github.com/google/gnostic-models/openapiv2",
	"github.com/googleapis/gnostic/openapiv2":                                                  "github.com/google/gnostic-models/openapiv2",
	"github.com/jetstack/cert-manager/pkg/apis/certmanager/v1":                                 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1",
	"github.com/jetstack/cert-manager/pkg/apis/meta/v1":                                        "github.com/cert-manager/cert-manager/pkg/apis/meta/v1",
	"github.com/onsi/ginkgo":                                                                   "github.com/onsi/ginkgo/v2",
	"github.com/onsi/ginkgo/extensions/table":                                                  "github.com/onsi/ginkgo/v2",
	"github.com/operator-framework/operator-sdk/pkg/apis/operators":                            "github.com/operator-framework/api/pkg/operators",
	"github.com/operator-framework/operator-lifecycle-manager/pkg/api/apis/operators/v1alpha1": "github.com/operator-framework/api/pkg/operators/v1alpha1",
	"github.com/operator-framework/operator-lifecycle-manager/pkg/api/apis/operators/v1":       "github.com/operator-framework/api/pkg/operators/v1",
}

// splitPackages are packages whose members went to several places: a file that
// uses no others than those of one place gets that one.
func splitPackages(importPath, member string) string {
	workloads := []string{"Deployment", "DaemonSet", "ReplicaSet", "RollingUpdate", "RecreateDeployment"}
	switch importPath {
	case extensionsV1:
		if hasAnyPrefix(member, workloads...) {
			return "k8s.io/api/apps/v1"
		}
		if strings.HasPrefix(member, "NetworkPolicy") {
			return "k8s.io/api/networking/v1"
		}
	case "k8s.io/api/policy/v1beta1":
		if hasAnyPrefix(member, "PodDisruptionBudget", "Eviction") {
			return "k8s.io/api/policy/v1"
		}
	}
	return ""
}

// unservedPackages still compile, or did for long, but no API server of today
// has what they describe.
var unservedPackages = map[string]string{
	extensionsV1:                                                    "extensions/v1beta1 was removed in Kubernetes 1.22: use networking/v1, whose Ingress has other fields",
	"k8s.io/api/networking/v1beta1":                                 "networking/v1beta1 was removed in Kubernetes 1.22: use networking/v1, whose Ingress has other fields",
	"k8s.io/api/policy/v1beta1":                                     "policy/v1beta1 was removed in Kubernetes 1.25: PodSecurityPolicy has no successor as an object",
	"k8s.io/api/autoscaling/v2beta1":                                "autoscaling/v2beta1 was removed in Kubernetes 1.25: use autoscaling/v2, whose metrics have other fields",
	"k8s.io/api/admissionregistration/v1beta1":                      "admissionregistration/v1beta1 was removed in Kubernetes 1.22: use admissionregistration/v1, which needs sideEffects and admissionReviewVersions",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1": "apiextensions.k8s.io/v1beta1 was removed in Kubernetes 1.22: use apiextensions/v1, where each version has its schema",
}

// hasAnyPrefix says whether s begins with one of the prefixes.
func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// v1Only is the end of packages of cert-manager whose types are in v1 alone today.
var v1Only = lazy.Delayed(`^(pkg/apis/(?:certmanager|acme)/)v1(?:alpha|beta)[0-9]+$`)

// renameImports gives packages that moved their new paths. The names by which
// the file calls them stay; what became one package is imported once.
func renameImports(f *goFile) {
	done := map[string]bool{}
	for _, spec := range f.Tree.Imports {
		old := goedit.PathOf(spec)
		to := cmp.Or(renamedPackages[old], f.onlyPlace(old))
		if rest, ok := strings.CutPrefix(old, "github.com/jetstack/cert-manager/"); ok && to == "" {
			to = "github.com/cert-manager/cert-manager/" + v1Only.ReplaceAllString(rest, "${1}v1")
		}
		if line := goedit.LocalName(spec) + to; to != "" {
			if done[line] {
				f.DropImport(old)
			} else {
				f.repath(spec, to)
			}
			done[line] = true
			continue
		}
		why := unservedPackages[old]
		if strings.HasPrefix(old, "k8s.io/code-generator/cmd/") {
			why = "the generators of k8s.io/code-generator take other arguments today: run them by kube_codegen.sh, or 'mysdk generate'"
		}
		if why != "" {
			f.todo(spec, "%s", why)
		}
	}
}

func (f *goFile) repath(spec *ast.ImportSpec, to string) {
	f.Replace(spec.Path, strconv.Quote(to))
	if spec.Name != nil {
		return
	}
	was := goedit.LocalName(spec)
	if is := goedit.PackageName(to); is != was {
		f.Insert(spec.Path.Pos(), was+" ")
	}
}

// onlyPlace is where all members of a package went that the file uses, empty
// where there are several places or none.
func (f *goFile) onlyPlace(importPath string) string {
	to := ""
	for i, member := range f.members(importPath) {
		place := splitPackages(importPath, member)
		if i > 0 && place != to {
			return ""
		}
		to = place
	}
	return to
}

// members lists what the file uses of a package.
func (f *goFile) members(importPath string) []string {
	var out []string
	for sel := range goedit.Each[*ast.SelectorExpr](f.Tree) {
		if f.Member(sel, importPath) != "" {
			out = append(out, sel.Sel.Name)
		}
	}
	return out
}

// markGone marks every use of a package that has no successor and drops its
// import, so that the compiler points at the same lines.
func markGone(f *goFile) {
	for _, spec := range f.Tree.Imports {
		p := goedit.PathOf(spec)
		if !hasAnyPrefix(p, operatorSDK, "k8s.io/kubernetes/") && !slices.Contains([]string{libStatus, crInject, crConfig}, p) {
			continue
		}
		f.DropImport(p)
		local := goedit.LocalName(spec)
		for sel := range goedit.Each[*ast.SelectorExpr](f.Tree) {
			if id, ok := sel.X.(*ast.Ident); ok && id.Obj == nil && id.Name == local {
				f.todo(sel, "%s.%s of %s is gone", local, sel.Sel.Name, p)
			}
		}
	}
}
