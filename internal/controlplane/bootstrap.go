package controlplane

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	systemclasses "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	policy "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/example/mysdk/internal/controlplane/supervise"
	"github.com/example/mysdk/internal/host"
)

// bootstrapWriters write the default objects side by side: more than these
// only wait for each other in etcd.
const bootstrapWriters = 4

// bootstrap is createDefaults as a step of the start.
func (s *server) bootstrap(ctx context.Context) error {
	if err := createDefaults(ctx, s.client); err != nil {
		return err
	}
	s.tracker.stage("rbac")
	return nil
}

// createDefaults creates the default RBAC objects and priority classes, which
// the API server's own hooks would do a second later. Objects that exist are
// left as they are.
func createDefaults(ctx context.Context, client kubernetes.Interface) error {
	steps := make(chan func() error)
	var work supervise.Group
	for range bootstrapWriters {
		work.Run(func() error {
			for step := range steps {
				if err := ensure(ctx, step); err != nil {
					for range steps { // lets their writer finish
						continue
					}
					return fmt.Errorf("create the default objects: %w", err)
				}
			}
			return nil
		})
	}
	for _, step := range defaultObjects(ctx, client) {
		steps <- step
	}
	close(steps)
	return work.Wait()
}

// ensure creates one object that may be there already.
func ensure(ctx context.Context, create func() error) error {
	for {
		err := create()
		switch {
		case err == nil, errors.IsAlreadyExists(err):
			return nil
		case !unsettled(err):
			return err
		}
		if !host.Pause(ctx, supervise.PollInterval) {
			return context.Cause(ctx)
		}
	}
}

// unsettled reports whether an API server that is starting may answer err and
// do better a moment later: the object's namespace is not there yet, or its
// admission has not seen all namespaces. The administrator is forbidden nothing
// else.
func unsettled(err error) bool {
	return errors.IsNotFound(err) || errors.IsForbidden(err) || errors.IsServiceUnavailable(err) || errors.IsTooManyRequests(err) ||
		errors.IsServerTimeout(err) || errors.IsTimeout(err) || errors.IsInternalError(err)
}

// defaultObjects returns a function for each object that creates it.
func defaultObjects(ctx context.Context, client kubernetes.Interface) []func() error {
	var steps []func() error
	for _, class := range systemclasses.SystemPriorityClasses() {
		steps = append(steps, func() error { return create(ctx, client.SchedulingV1().PriorityClasses().Create, class) })
	}
	rbac := client.RbacV1()
	for _, role := range append(policy.ClusterRoles(), policy.ControllerRoles()...) {
		steps = append(steps, func() error { return create(ctx, rbac.ClusterRoles().Create, &role) })
	}
	for _, binding := range append(policy.ClusterRoleBindings(), policy.ControllerRoleBindings()...) {
		steps = append(steps, func() error { return create(ctx, rbac.ClusterRoleBindings().Create, &binding) })
	}
	for namespace, roles := range policy.NamespaceRoles() {
		for _, role := range roles {
			steps = append(steps, func() error { return create(ctx, rbac.Roles(namespace).Create, &role) })
		}
	}
	for namespace, bindings := range policy.NamespaceRoleBindings() {
		for _, binding := range bindings {
			steps = append(steps, func() error { return create(ctx, rbac.RoleBindings(namespace).Create, &binding) })
		}
	}
	return steps
}

// create calls a typed client's Create and drops what it returns.
func create[T any](ctx context.Context, call func(context.Context, *T, metav1.CreateOptions) (*T, error), object *T) error {
	_, err := call(ctx, object, metav1.CreateOptions{})
	return err
}
