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

package v1alpha1

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// What the tests of this package share: an API server with the project's CRDs,
// which calls the webhooks of config/webhook in this process.
var (
	cfg       *rest.Config
	k8sClient client.Client
	testEnv   *envtest.Environment
)

const root = "../../.."

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	logs := io.Discard
	if testing.Verbose() {
		logs = os.Stderr
	}
	logf.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(logs)))

	testEnv = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd", "bases")},
		BinaryAssetsDirectory: os.Getenv("KUBEBUILDER_ASSETS"),
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			Paths: []string{filepath.Join(root, "config", "webhook", "manifests.yaml")},
		},
	}
	existing := strings.EqualFold(os.Getenv("USE_EXISTING_CLUSTER"), "true")
	if existing && os.Getenv("KUBECONFIG") == "" { // or whatever cluster happens to be the current one is written to
		return 0, errors.New("USE_EXISTING_CLUSTER names no cluster: set KUBECONFIG to the one to test against")
	}
	if !existing && testEnv.BinaryAssetsDirectory == "" {
		// Where 'setup-envtest use --bin-dir bin' puts them.
		found, err := filepath.Glob(filepath.Join(root, "bin", "k8s", "*"))
		if err != nil || len(found) == 0 {
			return 0, errors.New("no API server to test against: run 'mysdk test', or set KUBEBUILDER_ASSETS to a directory with etcd and kube-apiserver")
		}
		testEnv.BinaryAssetsDirectory = found[len(found)-1]
	}
	if err := onlyExactMatches(&testEnv.WebhookInstallOptions); err != nil {
		return 0, fmt.Errorf("reading the webhooks: %w", err)
	}
	if cfg, err = testEnv.Start(); err != nil {
		return 0, fmt.Errorf("starting the API server: %w", err)
	}
	defer func() { err = errors.Join(err, testEnv.Stop()) }()

	if k8sClient, err = client.New(cfg, client.Options{Scheme: scheme.Scheme}); err != nil {
		return 0, fmt.Errorf("making the client: %w", err)
	}
	return m.Run(), nil
}

// onlyExactMatches keeps the API server from calling the webhooks of other versions of
// a kind, with converted objects: the tests serve those of this package alone.
func onlyExactMatches(webhooks *envtest.WebhookInstallOptions) error {
	err := errors.Join(webhooks.PrepWithoutInstalling(), webhooks.Cleanup()) // Start makes the certificates
	webhooks.Paths = nil
	exact := admissionv1.Exact
	for _, c := range webhooks.MutatingWebhooks {
		for i := range c.Webhooks {
			c.Webhooks[i].MatchPolicy = &exact
		}
	}
	for _, c := range webhooks.ValidatingWebhooks {
		for i := range c.Webhooks {
			c.Webhooks[i].MatchPolicy = &exact
		}
	}
	return err
}

// createNamespace makes a namespace that lives as long as the test.
func createNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := k8sClient.Create(t.Context(), namespace); err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	t.Cleanup(func() {
		if err := k8sClient.Delete(context.WithoutCancel(t.Context()), namespace); err != nil {
			t.Errorf("deleting namespace %s: %v", namespace.Name, err)
		}
	})
	return namespace.Name
}

// serveWebhooks serves what setup registers as long as the test runs, at the
// address that the API server calls.
func serveWebhooks(t *testing.T, setup func(ctrl.Manager) error) {
	t.Helper()
	address := testEnv.WebhookInstallOptions
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  scheme.Scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: address.LocalServingHost, Port: address.LocalServingPort, CertDir: address.LocalServingCertDir,
		}),
	})
	if err != nil {
		t.Fatalf("making the manager: %v", err)
	}
	if err := setup(mgr); err != nil {
		t.Fatalf("setting up the webhooks: %v", err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("running the manager: %v", err)
		}
	})

	started := mgr.GetWebhookServer().StartedChecker()
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 2*time.Minute, true,
		func(context.Context) (bool, error) { return started(nil) == nil, nil })
	if err != nil {
		t.Fatalf("the webhook server does not start: %v", started(nil))
	}
}
