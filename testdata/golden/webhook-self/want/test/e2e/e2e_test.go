//go:build e2e

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

// Package e2e looks at the operator where it is deployed: run 'make deploy',
// then 'go test -tags e2e ./test/e2e' with KUBECONFIG set.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// namespace is the one of config/default/kustomization.yaml.
const namespace = "webhook-self-system"

func TestManagerIsAvailable(t *testing.T) {
	c := newClient(t)
	eventually(t, func(ctx context.Context) error {
		managers := &appsv1.DeploymentList{}
		if err := c.List(ctx, managers, client.InNamespace(namespace), client.MatchingLabels{"control-plane": "controller-manager"}); err != nil {
			return err
		}
		if len(managers.Items) != 1 {
			return fmt.Errorf("namespace %s has %d managers: run 'make deploy'", namespace, len(managers.Items))
		}
		for _, condition := range managers.Items[0].Status.Conditions {
			if condition.Type == appsv1.DeploymentAvailable && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("the manager is not available: %v", managers.Items[0].Status.Conditions)
	})
}

func TestKindsAreServed(t *testing.T) {
	c := newClient(t)
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "crd", "bases", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		crd := readCRD(t, file)
		for _, list := range lists(t, crd) {
			t.Run(list.String(), func(t *testing.T) {
				eventually(t, func(ctx context.Context) error {
					objects := &unstructured.UnstructuredList{}
					objects.SetGroupVersionKind(list)
					return c.List(ctx, objects)
				})
			})
		}
	}
}

// newClient returns a client for the cluster that KUBECONFIG names: a test
// must not write to whatever cluster happens to be the current one.
func newClient(t *testing.T) client.Client {
	t.Helper()
	if os.Getenv("KUBECONFIG") == "" {
		t.Skip("no cluster to test: set KUBECONFIG to the one that 'make deploy' deployed to")
	}
	loaded, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	if err != nil {
		t.Fatalf("reading KUBECONFIG: %v", err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*loaded, nil).ClientConfig()
	if err != nil {
		t.Fatalf("reading KUBECONFIG: %v", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatalf("making the client: %v", err)
	}
	return c
}

func readCRD(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return crd
}

// lists returns the list kinds of the versions that a CRD serves.
func lists(t *testing.T, crd map[string]any) []schema.GroupVersionKind {
	t.Helper()
	group, _, _ := unstructured.NestedString(crd, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd, "spec", "names", "listKind")
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	if err != nil || group == "" || kind == "" {
		t.Fatalf("not a CRD: %v: %v", crd["metadata"], err)
	}
	var out []schema.GroupVersionKind
	for _, item := range versions {
		version, ok := item.(map[string]any)
		if name, _ := version["name"].(string); ok && version["served"] == true {
			out = append(out, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
		}
	}
	return out
}

// eventually checks until there is no error: what was deployed a moment ago
// takes a while to come up.
func eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatal(last)
	}
}
