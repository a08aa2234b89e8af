package olm

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/clientset/versioned"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/install"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators/labeller"
	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// newManager makes the part of olm-operator that is built on controller-runtime:
// Operators and OperatorConditions. OLM has it in its main package.
func (o *olmOperators) newManager() (manager.Manager, error) {
	ctrl.SetLogger(klog.NewKlogr())
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metav1.AddMetaToScheme, operators.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	selected, err := managedObjects()
	if err != nil {
		return nil, err
	}
	m, err := ctrl.NewManager(o.Config, ctrl.Options{
		Scheme: scheme, Cache: cache.Options{ByObject: selected},
		Metrics: metrics.Options{BindAddress: "0"}, // none
		// OLM may come and go several times in the life of this process.
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return nil, err
	}
	return m, addReconcilers(m)
}

func addReconcilers(m manager.Manager) error {
	for _, add := range []func(manager.Manager) error{
		adding(operators.NewOperatorConditionReconciler), adding(operators.NewOperatorConditionGeneratorReconciler),
		adding(operators.NewOperatorReconciler), adding(operators.NewAdoptionReconciler),
	} {
		if err := add(m); err != nil {
			return err
		}
	}
	return nil
}

// adding returns what makes one of OLM's reconcilers a part of a manager.
func adding[R interface{ SetupWithManager(ctrl.Manager) error }](
	build func(client.Client, logr.Logger, *runtime.Scheme) (R, error),
) func(manager.Manager) error {
	return func(m manager.Manager) error {
		r, err := build(m.GetClient(), ctrl.Log, m.GetScheme())
		if err != nil {
			return err
		}
		return r.SetupWithManager(m)
	}
}

// managedObjects keeps the manager's cache to what OLM made, and to
// ClusterServiceVersions that are not copies.
func managedObjects() (map[client.Object]cache.ByObject, error) {
	original, err := labels.NewRequirement(operatorsv1alpha1.CopiedLabelKey, selection.DoesNotExist, nil)
	if err != nil {
		return nil, err
	}
	selected := map[client.Object]cache.ByObject{
		&operatorsv1alpha1.ClusterServiceVersion{}: {Label: labels.NewSelector().Add(*original)},
	}
	managed := labels.SelectorFromSet(labels.Set{install.OLMManagedLabelKey: install.OLMManagedLabelValue})
	for _, object := range []client.Object{
		&appsv1.Deployment{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{},
		&rbacv1.Role{}, &rbacv1.RoleBinding{}, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{},
		&apiextensionsv1.CustomResourceDefinition{}, &apiregistrationv1.APIService{},
		&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
	} {
		selected[object] = cache.ByObject{Label: managed}
	}
	return selected, nil
}

// conform labels objects that older versions of OLM, or users, made without
// the label by which OLM knows its own. OLM does so itself where it finds any,
// and then ends its process, to be restarted: that process is ours.
func (o *olmOperators) conform(ctx context.Context) error {
	accounts, err := groupAccounts(ctx, o.custom)
	if err != nil {
		return err
	}
	var work errgroup.Group
	for _, kind := range labelledKinds() {
		work.Go(func() error {
			if err := labelKind(ctx, o.objects.Resource(kind), needsLabel(ctx, o.objects, kind, accounts)); err != nil {
				return fmt.Errorf("label the %s that OLM manages: %w", kind.Resource, err)
			}
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	var checks errgroup.Group
	for _, who := range []labeller.Identity{labeller.IdentityOLMOperator, labeller.IdentityCatalogOperator} {
		checks.Go(func() error {
			ok, err := labeller.Validate(ctx, o.logger, o.objects, o.custom, who)
			if err == nil && !ok {
				err = fmt.Errorf("%s would end the process over objects without the label %s", who, install.OLMManagedLabelKey)
			}
			return err
		})
	}
	return checks.Wait()
}

// labelledKinds are the kinds that OLM's labeller goes through.
func labelledKinds() []schema.GroupVersionResource {
	rbac := rbacv1.SchemeGroupVersion
	core := corev1.SchemeGroupVersion
	return []schema.GroupVersionResource{
		rbac.WithResource("roles"), rbac.WithResource("rolebindings"), rbac.WithResource("clusterroles"), rbac.WithResource("clusterrolebindings"),
		core.WithResource("serviceaccounts"), core.WithResource("services"), core.WithResource("pods"), core.WithResource("configmaps"),
		batchv1.SchemeGroupVersion.WithResource("jobs"), appsv1.SchemeGroupVersion.WithResource("deployments"),
		apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"),
	}
}

// groupAccounts are the service accounts that OperatorGroups name.
func groupAccounts(ctx context.Context, c versioned.Interface) (map[types.NamespacedName]bool, error) {
	groups, err := c.OperatorsV1().OperatorGroups(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	accounts := map[types.NamespacedName]bool{}
	for _, g := range groups.Items {
		accounts[types.NamespacedName{Namespace: g.Namespace, Name: g.Spec.ServiceAccountName}] = true
	}
	return accounts, nil
}

// needsLabel is OLM's own judgement of which objects of a kind are its.
func needsLabel(ctx context.Context, objects metadata.Interface, kind schema.GroupVersionResource, accounts map[types.NamespacedName]bool) func(metav1.Object) bool {
	switch kind.Resource {
	case "serviceaccounts":
		return labeller.ServiceAccountFilter(func(namespace, name string) bool {
			return accounts[types.NamespacedName{Namespace: namespace, Name: name}]
		})
	case "jobs":
		return labeller.JobFilter(func(namespace, name string) (metav1.Object, error) {
			return objects.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		})
	}
	return labeller.Filter(kind)
}

// labelKind puts the label on the objects of a kind that need it.
func labelKind(ctx context.Context, kind metadata.Getter, needs func(metav1.Object) bool) error {
	list, err := kind.List(ctx, metav1.ListOptions{LabelSelector: install.OLMManagedLabelKey + "!=" + install.OLMManagedLabelValue})
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, install.OLMManagedLabelKey, install.OLMManagedLabelValue)
	for i := range list.Items {
		object := &list.Items[i]
		if !needs(object) {
			continue
		}
		if _, err := kind.Namespace(object.Namespace).Patch(ctx, object.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}
