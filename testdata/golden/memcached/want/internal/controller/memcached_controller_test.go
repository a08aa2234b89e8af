/*
Copyright 2026 Acme.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	cachev1alpha1 "example.com/memcached/api/v1alpha1"
)

func TestMemcached_RunsPods(t *testing.T) {
	f := newMemcachedTest(t, 3)
	deployment := f.runPods(3)

	if !metav1.IsControlledBy(deployment, f.get()) {
		t.Errorf("the Deployment is owned by %v", deployment.OwnerReferences)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	if got := container.Image; got != memcachedImage {
		t.Errorf("the image is %q", got)
	}
	if nonRoot := deployment.Spec.Template.Spec.SecurityContext.RunAsNonRoot; nonRoot == nil || !*nonRoot {
		t.Error("the pods may run as root")
	}

	f.eventually("3 names in status.nodes", func(cr *cachev1alpha1.Memcached) error {
		if got, want := cr.Status.Nodes, f.podNames(); len(want) != 3 || !slices.Equal(got, want) {
			return fmt.Errorf("status.nodes is %q, the pods are %q", got, want)
		}
		if cr.Status.Replicas != 3 || cr.Status.ReadyReplicas != 3 {
			return fmt.Errorf("status has %d replicas, %d ready", cr.Status.Replicas, cr.Status.ReadyReplicas)
		}
		for condition, want := range map[string]bool{"Available": true, "Progressing": false, "Degraded": false} {
			if got := meta.FindStatusCondition(cr.Status.Conditions, condition); got == nil ||
				(got.Status == metav1.ConditionTrue) != want || got.ObservedGeneration != cr.Generation {
				return fmt.Errorf("condition %s is %v", condition, got)
			}
		}
		return nil
	})
}

func TestMemcached_Scales(t *testing.T) {
	f := newMemcachedTest(t, 2)
	for _, size := range []int32{2, 4, 1} {
		f.update(func(cr *cachev1alpha1.Memcached) { cr.Spec.Size = size })
		f.runPods(size)
		f.eventually(fmt.Sprintf("%d pods in the status", size), func(cr *cachev1alpha1.Memcached) error {
			if len(cr.Status.Nodes) != int(size) || cr.Status.ReadyReplicas != size {
				return fmt.Errorf("status.nodes is %q, %d ready", cr.Status.Nodes, cr.Status.ReadyReplicas)
			}
			return nil
		})
	}
}

func TestMemcached_CorrectsItsStatus(t *testing.T) {
	f := newMemcachedTest(t, 1)
	f.runPods(1)
	right := func(cr *cachev1alpha1.Memcached) error {
		if got, want := cr.Status.Nodes, f.podNames(); cr.Status.ReadyReplicas != 1 || !slices.Equal(got, want) {
			return fmt.Errorf("status.nodes is %q, the pods are %q", got, want)
		}
		return nil
	}
	f.eventually("the pod in the status", right)

	cr := f.get()
	before := cr.DeepCopy()
	cr.Status.Nodes = []string{"gone"}
	if err := k8sClient.Status().Patch(t.Context(), cr, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	f.eventually("the right status again", right)
}

func TestMemcached_HealsItsDeployment(t *testing.T) {
	for name, damage := range map[string]func(*memcachedTest, *appsv1.Deployment) error{
		"other size": func(f *memcachedTest, d *appsv1.Deployment) error {
			before := d.DeepCopy()
			*d.Spec.Replicas = 7
			return k8sClient.Patch(f.t.Context(), d, client.MergeFrom(before))
		},
		"other image": func(f *memcachedTest, d *appsv1.Deployment) error {
			before := d.DeepCopy()
			d.Spec.Template.Spec.Containers[0].Image = "example.com/other"
			return k8sClient.Patch(f.t.Context(), d, client.MergeFrom(before))
		},
		"deleted": func(f *memcachedTest, d *appsv1.Deployment) error {
			return k8sClient.Delete(f.t.Context(), d)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newMemcachedTest(t, 2)
			healthy := f.runPods(2)
			if err := damage(f, healthy.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			f.eventually("a healed Deployment", func(*cachev1alpha1.Memcached) error {
				d, err := f.deployment()
				switch {
				case err != nil:
					return err
				case !d.DeletionTimestamp.IsZero():
					return errors.New("it is being deleted")
				case *d.Spec.Replicas != 2 || d.Spec.Template.Spec.Containers[0].Image != memcachedImage:
					return fmt.Errorf("it has %d replicas of %s", *d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Image)
				case name == "deleted" && d.UID == healthy.UID:
					return errors.New("it is still the old one")
				}
				return nil
			})
		})
	}
}

func TestMemcached_LooksAtTheDeploymentAsApplied(t *testing.T) {
	f := newMemcachedTest(t, 1)
	f.runPods(1)
	t.Setenv("MEMCACHED_IMAGE", "example.com/other")
	r := &MemcachedReconciler{
		Client:   k8sClient,
		Scheme:   scheme.Scheme,
		Recorder: events.NewFakeRecorder(10),
	}
	deployment, err := r.apply(t.Context(), f.get())
	if err != nil {
		t.Fatal(err)
	}
	if got := deployment.Spec.Template.Spec.Containers[0].Image; got != "example.com/other" {
		t.Errorf("the status is that of a Deployment with the image %q", got)
	}
}

func TestMemcached_LeavesTheDeploymentOfOthersAlone(t *testing.T) {
	f := newMemcachedTest(t, 1)
	f.runPods(1)

	labels := map[string]string{"app": "other"}
	other := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "other-" + f.key.Name, Namespace: f.namespace},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "other", Image: "example.com/other"}}},
			},
		},
	}
	if err := k8sClient.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	f.key.Name = other.Name
	f.create(1)
	f.eventually("the condition Degraded", func(cr *cachev1alpha1.Memcached) error {
		if !meta.IsStatusConditionTrue(cr.Status.Conditions, "Degraded") {
			return fmt.Errorf("the conditions are %v", cr.Status.Conditions)
		}
		return nil
	})
	if d, err := f.deployment(); err != nil || len(d.OwnerReferences) != 0 {
		t.Errorf("the other Deployment was taken: %v, %v", d.OwnerReferences, err)
	}
}

func TestMemcached_IsDegradedWithoutItsPods(t *testing.T) {
	for _, want := range []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota"},
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "timed out"},
	} {
		deployment := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{want}}}
		got := degradedMemcached(t, &cachev1alpha1.Memcached{}, deployment, nil)
		if got == nil || got.Status != metav1.ConditionTrue || got.Reason != want.Reason || got.Message != want.Message {
			t.Errorf("with the Deployment's condition %s, Degraded is %v", want.Type, got)
		}
	}
}

func TestMemcached_SaysOnceWhyItCannotApply(t *testing.T) {
	cr := &cachev1alpha1.Memcached{}
	for request, want := range []int{0, 0, 2} {
		cr.Generation = int64(want)
		err := fmt.Errorf("request %d failed", request)
		got := degradedMemcached(t, cr, &appsv1.Deployment{}, err)
		if got == nil || got.Message != fmt.Sprintf("request %d failed", want) {
			t.Errorf("after %v, Degraded is %v", err, got)
		}
	}
}

// degradedMemcached is the condition that observe writes.
func degradedMemcached(t *testing.T, cr *cachev1alpha1.Memcached, deployment *appsv1.Deployment, applyErr error) *metav1.Condition {
	t.Helper()
	r := &MemcachedReconciler{Client: k8sClient}
	cr.Namespace = "without-pods"
	if err := r.observe(t.Context(), cr, deployment, applyErr); err != nil {
		t.Fatal(err)
	}
	return meta.FindStatusCondition(cr.Status.Conditions, "Degraded")
}

func TestMemcached_RunsFinalizerOnDelete(t *testing.T) {
	f := newMemcachedTest(t, 1)
	f.eventually("a finalizer", func(cr *cachev1alpha1.Memcached) error {
		if !controllerutil.ContainsFinalizer(cr, memcachedFinalizer) {
			return fmt.Errorf("the finalizers are %q", cr.Finalizers)
		}
		return nil
	})
	f.delete()
}

func TestMemcached_Validation(t *testing.T) {
	f := newMemcachedTest(t, 1)

	for name, spec := range map[string]map[string]any{
		"a negative size":  {"size": int64(-1)},
		"a size in words":  {"size": "three"},
		"an unknown field": {"sise": int64(1)},
	} {
		object := f.object(spec)
		if err := k8sClient.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}

	sample, err := os.ReadFile(filepath.Join(root, "config", "samples", "cache_v1alpha1_memcached.yaml"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the sample is gone")
	}
	object := &unstructured.Unstructured{}
	if err := errors.Join(err, yaml.Unmarshal(sample, &object.Object)); err != nil {
		t.Fatal(err)
	}
	object.SetNamespace(f.namespace)
	if err := k8sClient.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
		t.Errorf("the sample is refused: %v", err)
	}
}

// memcachedTest is one Memcached with a running controller, in a namespace of its own.
type memcachedTest struct {
	t         *testing.T
	namespace string
	key       client.ObjectKey
}

func newMemcachedTest(t *testing.T, size int32) *memcachedTest {
	t.Helper()
	if err := cachev1alpha1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MEMCACHED_IMAGE", "")
	namespace := newNamespace(t)
	startManager(t, namespace, func(mgr ctrl.Manager) error {
		return (&MemcachedReconciler{
			Client: mgr.GetClient(),
			Scheme: mgr.GetScheme(),
		}).SetupWithManager(mgr)
	})
	f := &memcachedTest{t: t, namespace: namespace, key: client.ObjectKey{Namespace: namespace, Name: "sample"}}
	f.create(size)
	return f
}

// create makes the Memcached and takes it back at the end of the test.
func (f *memcachedTest) create(size int32) {
	f.t.Helper()
	cr := f.object(map[string]any{"size": int64(size)})
	if err := k8sClient.Create(f.t.Context(), cr); err != nil {
		f.t.Fatalf("creating the Memcached: %v", err)
	}
	key := f.key
	f.t.Cleanup(func() {
		ctx := context.WithoutCancel(f.t.Context())
		if err := client.IgnoreNotFound(k8sClient.Delete(ctx, cr)); err != nil {
			f.t.Error(err)
		}
		f.wait(ctx, "the end of "+key.Name, func() error {
			if err := k8sClient.Get(ctx, key, &cachev1alpha1.Memcached{}); !apierrors.IsNotFound(err) {
				return errors.Join(errors.New("it is still there"), err)
			}
			return nil
		})
	})
}

func (f *memcachedTest) object(spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
	object.SetNamespace(f.key.Namespace)
	object.SetName(f.key.Name)
	return object
}

func (f *memcachedTest) get() *cachev1alpha1.Memcached {
	f.t.Helper()
	cr := &cachev1alpha1.Memcached{}
	if err := k8sClient.Get(f.t.Context(), f.key, cr); err != nil {
		f.t.Fatalf("reading the Memcached: %v", err)
	}
	return cr
}

func (f *memcachedTest) update(change func(*cachev1alpha1.Memcached)) {
	f.t.Helper()
	cr := f.get()
	before := cr.DeepCopy()
	change(cr)
	if err := k8sClient.Patch(f.t.Context(), cr, client.MergeFrom(before)); err != nil {
		f.t.Fatalf("changing the Memcached: %v", err)
	}
}

// delete deletes the Memcached and waits until the controller let it go.
func (f *memcachedTest) delete() {
	f.t.Helper()
	if err := k8sClient.Delete(f.t.Context(), f.get()); err != nil {
		f.t.Fatal(err)
	}
	f.wait(f.t.Context(), "the end of "+f.key.Name, func() error {
		if err := k8sClient.Get(f.t.Context(), f.key, &cachev1alpha1.Memcached{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is still there"), err)
		}
		return nil
	})
}

func (f *memcachedTest) deployment() (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	err := k8sClient.Get(f.t.Context(), client.ObjectKey{Namespace: f.namespace, Name: f.key.Name}, d)
	return d, err
}

// runPods waits for a Deployment of that size and then does what a cluster's
// controllers and nodes do: it makes the pods and says that they are ready.
func (f *memcachedTest) runPods(size int32) *appsv1.Deployment {
	f.t.Helper()
	var d *appsv1.Deployment
	f.eventually(fmt.Sprintf("a Deployment of size %d", size), func(*cachev1alpha1.Memcached) (err error) {
		if d, err = f.deployment(); err == nil && *d.Spec.Replicas != size {
			err = fmt.Errorf("it has size %d", *d.Spec.Replicas)
		}
		return err
	})
	if realNodes {
		return d
	}

	ctx := f.t.Context()
	if err := k8sClient.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(f.namespace), client.GracePeriodSeconds(0)); err != nil {
		f.t.Fatalf("removing pods: %v", err)
	}
	for i := range size {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%d", f.key.Name, i), Namespace: f.namespace, Labels: d.Spec.Template.Labels,
			},
			Spec: d.Spec.Template.Spec,
		}
		if err := k8sClient.Create(ctx, pod); err != nil {
			f.t.Fatalf("creating pod %d: %v", i, err)
		}
	}
	before := d.DeepCopy()
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: size, UpdatedReplicas: size, ReadyReplicas: size, AvailableReplicas: size,
	}
	if err := k8sClient.Status().Patch(ctx, d, client.MergeFrom(before)); err != nil {
		f.t.Fatalf("writing the Deployment's status: %v", err)
	}
	return d
}

func (f *memcachedTest) podNames() []string {
	f.t.Helper()
	pods := &corev1.PodList{}
	if err := k8sClient.List(f.t.Context(), pods, client.InNamespace(f.namespace)); err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

// eventually checks the Memcached until it is as it should be.
func (f *memcachedTest) eventually(what string, check func(*cachev1alpha1.Memcached) error) {
	f.t.Helper()
	f.wait(f.t.Context(), what, func() error { return check(f.get()) })
}

func (f *memcachedTest) wait(ctx context.Context, what string, check func() error) {
	f.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 2*time.Minute, true,
		func(context.Context) (bool, error) {
			last = check()
			return last == nil, nil
		})
	if err != nil {
		f.t.Fatalf("timed out waiting for %s: %v", what, last)
	}
}
