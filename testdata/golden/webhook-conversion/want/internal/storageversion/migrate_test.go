/*
Copyright 2026.

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

package storageversion

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// The kind that is migrated is the test's own: it needs no conversion webhook.
const (
	group   = "storage.test.example.com"
	crdName = "widgets." + group
)

// Objects stored as v1alpha1 can be read after v1alpha1 is gone from the CRD.
func TestMigrate_LetsTheOldVersionGo(t *testing.T) {
	c := startServer(t)
	setVersions(t, c, version("v1alpha1", true))
	for i := range 4 {
		until(t, "creating an object", func(ctx context.Context) error {
			return c.Create(ctx, widget("v1alpha1", fmt.Sprintf("widget-%d", i)))
		})
	}

	setVersions(t, c, version("v1alpha1", false), version("v1", true))
	waitForStorage(t, c, widget("v1", "widget-0"))
	onlyV1 := crd(version("v1", true))
	if err := replaceVersions(t.Context(), c, onlyV1); !apierrors.IsInvalid(err) {
		t.Fatalf("removing v1alpha1 while it is stored: %v", err)
	}

	m := &Migrator{client: c, reader: c, pageSize: 3}
	for range 2 { // the second time there is nothing to do
		if err := m.migrate(t.Context(), crdName); err != nil {
			t.Fatal(err)
		}
		live := crd()
		if err := c.Get(t.Context(), client.ObjectKey{Name: crdName}, live); err != nil {
			t.Fatal(err)
		}
		stored, _, err := unstructured.NestedStringSlice(live.Object, "status", "storedVersions")
		if err != nil || !slices.Equal(stored, []string{"v1"}) {
			t.Fatalf("stored versions %q, %v", stored, err)
		}
	}

	setVersions(t, c, version("v1", true))
	until(t, "waiting until v1alpha1 is gone", func(ctx context.Context) error {
		switch err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "widget-0"}, widget("v1alpha1", "")); {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			return nil
		default:
			return fmt.Errorf("v1alpha1 is still served: %v", err)
		}
	})
	until(t, "reading all objects", func(ctx context.Context) error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "WidgetList"})
		if err := c.List(ctx, list); err != nil || len(list.Items) != 4 {
			return fmt.Errorf("read %d objects of 4: %v", len(list.Items), err)
		}
		return nil
	})
}

// startServer starts an API server for the test.
func startServer(t *testing.T) client.Client {
	t.Helper()
	env := &envtest.Environment{BinaryAssetsDirectory: os.Getenv("KUBEBUILDER_ASSETS")}
	if env.BinaryAssetsDirectory == "" && os.Getenv("USE_EXISTING_CLUSTER") != "true" {
		// Where 'setup-envtest use --bin-dir bin' puts them.
		found, err := filepath.Glob("../../bin/k8s/*")
		if err != nil || len(found) == 0 {
			t.Fatal("no API server to test against: run 'mysdk test', or set KUBEBUILDER_ASSETS to a directory with etcd and kube-apiserver")
		}
		env.BinaryAssetsDirectory = found[len(found)-1]
	}
	config, err := env.Start()
	if err != nil {
		t.Fatalf("starting the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	c, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), crd()); client.IgnoreNotFound(err) != nil {
			t.Errorf("deleting %s: %v", crdName, err)
		}
	})
	return c
}

func version(name string, storage bool) any {
	return map[string]any{
		"name": name, "served": true, "storage": storage,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
	}
}

func crd(versions ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": crdName},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "versions": versions,
			"names": map[string]any{"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
		},
	}}
}

func widget(version, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/" + version, "kind": "Widget",
		"metadata": map[string]any{"namespace": "default", "name": name},
	}}
}

// setVersions gives the CRD its versions, and creates it if need be.
func setVersions(t *testing.T, c client.Client, versions ...any) {
	t.Helper()
	until(t, "writing the CRD", func(ctx context.Context) error {
		err := replaceVersions(ctx, c, crd(versions...))
		if apierrors.IsNotFound(err) {
			return c.Create(ctx, crd(versions...))
		}
		return err
	})
}

func replaceVersions(ctx context.Context, c client.Client, to *unstructured.Unstructured) error {
	live := crd()
	if err := c.Get(ctx, client.ObjectKeyFromObject(to), live); err != nil {
		return err
	}
	to.SetResourceVersion(live.GetResourceVersion())
	return c.Update(ctx, to)
}

// waitForStorage waits until the API server stores the new version: before that
// it changes nothing when an object is written back.
func waitForStorage(t *testing.T, c client.Client, object *unstructured.Unstructured) {
	t.Helper()
	until(t, "waiting for the new storage version", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		before := object.GetResourceVersion()
		if err := c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte("{}"))); err != nil {
			return err
		}
		if object.GetResourceVersion() == before {
			return fmt.Errorf("%s is still stored as before", object.GetName())
		}
		return nil
	})
}

// until repeats a step until it succeeds.
func until(t *testing.T, what string, step func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = step(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, last)
	}
}
