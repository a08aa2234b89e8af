package controlplane

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	systemclasses "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	policy "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/example/mysdk/internal/controlplane/supervise"
)

// bootstrapWriters write the default objects side by side: more than these
// only wait for each other in etcd.
const bootstrapWriters = 4

// createDefaults creates the default RBAC objects and priority classes, which
// the API server's own hooks would do a second later. Objects that exist are
// left as they are.
func createDefaults(ctx context.Context, client kubernetes.Interface) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(bootstrapWriters)
	for _, step := range defaultObjects(ctx, client) {
		work.Go(func() error { return ensure(ctx, step) })
	}
	if err := work.Wait(); err != nil {
		return fmt.Errorf("create the default objects: %w", err)
	}
	return nil
}

// settleTime is how long a server that is starting may take to do what it is asked:
// less than a start as a whole, which then tells why it failed.
const settleTime = time.Minute

// ensure creates one object that may be there already.
func ensure(ctx context.Context, create func() error) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	var last error
	_ = supervise.Poll(ctx, func() bool { // what came of it is in last
		last = create()
		return last == nil || !unsettled(last)
	})
	if errors.IsAlreadyExists(last) {
		return nil
	}
	return last
}

// unsettled reports whether an API server that is starting may answer err and
// do better a moment later: the object's namespace is not there yet, or its
// admission has not seen all namespaces. The administrator is forbidden nothing
// else.
func unsettled(err error) bool {
	return errors.IsNotFound(err) || errors.IsForbidden(err) || errors.IsServiceUnavailable(err) || errors.IsTooManyRequests(err) ||
		errors.IsServerTimeout(err) || errors.IsTimeout(err) || errors.IsInternalError(err)
}

func defaultObjects(ctx context.Context, client kubernetes.Interface) []func() error {
	var steps []func() error
	for _, class := range systemclasses.SystemPriorityClasses() {
		steps = append(steps, func() error { return create(ctx, client.SchedulingV1().PriorityClasses(), class) })
	}
	rbac := client.RbacV1()
	for _, role := range append(policy.ClusterRoles(), policy.ControllerRoles()...) {
		steps = append(steps, func() error { return create(ctx, rbac.ClusterRoles(), &role) })
	}
	for _, binding := range append(policy.ClusterRoleBindings(), policy.ControllerRoleBindings()...) {
		steps = append(steps, func() error { return create(ctx, rbac.ClusterRoleBindings(), &binding) })
	}
	for namespace, roles := range policy.NamespaceRoles() {
		for _, role := range roles {
			steps = append(steps, func() error { return create(ctx, rbac.Roles(namespace), &role) })
		}
	}
	for namespace, bindings := range policy.NamespaceRoleBindings() {
		for _, binding := range bindings {
			steps = append(steps, func() error { return create(ctx, rbac.RoleBindings(namespace), &binding) })
		}
	}
	return steps
}

// creator is what create needs of a typed client.
type creator[T any] interface {
	Get(context.Context, string, metav1.GetOptions) (*T, error)
	Create(context.Context, *T, metav1.CreateOptions) (*T, error)
}

// create creates an object that is not there. It looks first: admission comes before
// the answer that an object exists, and policies and webhooks of the user's, such as
// one that nobody serves any more, would refuse it.
func create[T any, P interface {
	*T
	metav1.Object
}](ctx context.Context, client creator[T], object P) error {
	_, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
	if errors.IsNotFound(err) {
		_, err = client.Create(ctx, object, metav1.CreateOptions{})
	}
	return err
}
