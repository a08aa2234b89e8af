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

// Package certs makes the certificates of the webhook server, tells the API
// server to trust them, and renews them while the manager runs, so that
// webhooks need nothing else in the cluster.
//
// A new CA is trusted before anything is signed by it, and an old one for as
// long as it is valid: at no time does the API server meet a certificate that
// it does not trust.
package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// interval is the time between two looks at the certificates and at whoever
// trusts them, far below settle.
const interval = time.Minute

// firstTimeout limits the first look, before the manager starts.
const firstTimeout = 30 * time.Second

// namespaceFile is where Kubernetes tells a pod its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Manager keeps the certificates in a Secret, in the objects that trust them,
// and in the webhook server.
type Manager struct {
	client    client.Client
	namespace string
	now       func() time.Time
	serving   atomic.Pointer[tls.Certificate]
}

// SetupWithManager gives the manager's webhook server certificates of its own,
// unless its directory has some: what --webhook-cert-path names, or OLM mounts.
func SetupWithManager(mgr ctrl.Manager) error {
	server, ok := mgr.GetWebhookServer().(*webhook.DefaultServer)
	if !ok {
		return fmt.Errorf("the webhook server is a %T, which takes no certificates from here", mgr.GetWebhookServer())
	}
	if hasFiles(server.Options) {
		return nil
	}
	namespace := os.Getenv("POD_NAMESPACE")
	if namespace == "" {
		text, _ := os.ReadFile(namespaceFile) // outside a cluster there is none
		namespace = string(text)
	}
	if namespace == "" {
		return errors.New("no certificates for the webhooks: POD_NAMESPACE does not say where to keep them, and --webhook-cert-path names none")
	}
	// Not the manager's own client: that one has a cache, which needs the
	// webhooks of conversions before it can start.
	direct, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	m := &Manager{client: direct, namespace: namespace, now: time.Now}
	ctx, cancel := context.WithTimeout(context.Background(), firstTimeout)
	defer cancel()
	if err := m.Check(ctx); err != nil {
		return err
	}
	server.Options.TLSOpts = append(server.Options.TLSOpts, func(config *tls.Config) { config.GetCertificate = m.certificate })
	return mgr.Add(m)
}

// hasFiles says whether the server's directory has a certificate.
func hasFiles(o webhook.Options) bool {
	dir, name := o.CertDir, o.CertName
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
	}
	if name == "" {
		name = "tls.crt"
	}
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func (m *Manager) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return m.serving.Load(), nil
}

var _ manager.LeaderElectionRunnable = (*Manager)(nil)

// NeedLeaderElection is false: every replica serves webhooks.
func (*Manager) NeedLeaderElection() bool { return false }

// Start renews the certificates until the context ends.
func (m *Manager) Start(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx).WithName("certs")
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := m.Check(ctx); err != nil {
			log.Error(err, "Failed to renew the webhook certificates, will try again")
		}
	}
}

// Check brings the Secret, those who trust its CA, and the server up to date.
func (m *Manager) Check(ctx context.Context) error {
	var pairs bundle
	err := retry.OnError(retry.DefaultRetry, isRace, func() (err error) {
		pairs, err = m.renew(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("renewing the webhook certificates: %w", err)
	}
	certificate, err := tls.X509KeyPair(pairs.serving.certPEM, pairs.serving.keyPEM)
	if err != nil {
		return fmt.Errorf("reading the webhook certificate: %w", err)
	}
	m.serving.Store(&certificate)
	for _, t := range targets() {
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return m.trust(ctx, t, pairs.trusted) })
		if err != nil {
			return fmt.Errorf("writing the CA into %s %s: %w", t.kind, t.name, err)
		}
	}
	return nil
}

// isRace says whether another replica was faster: then its Secret counts.
func isRace(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// Keys of the Secret, beside those of every TLS Secret.
const (
	caKey     = "ca.key"
	trustedCA = "ca.crt" // the CA, then those before it
)

// renew reads the Secret and replaces what is due.
func (m *Manager) renew(ctx context.Context) (bundle, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: m.namespace}, Type: corev1.SecretTypeTLS}
	err := m.client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return bundle{}, err
	}
	old := bundle{
		trusted: secret.Data[trustedCA], caKeyPEM: secret.Data[caKey],
		serving: pair{certPEM: secret.Data[corev1.TLSCertKey], keyPEM: secret.Data[corev1.TLSPrivateKeyKey]},
	}
	pairs, changed, err := old.renew(m.now(), []string{
		serviceName + "." + m.namespace + ".svc",
		serviceName + "." + m.namespace + ".svc.cluster.local",
	})
	if err != nil || !changed {
		return pairs, err
	}
	secret.Data = map[string][]byte{
		trustedCA: pairs.trusted, caKey: pairs.caKeyPEM,
		corev1.TLSCertKey: pairs.serving.certPEM, corev1.TLSPrivateKeyKey: pairs.serving.keyPEM,
	}
	if missing {
		return pairs, m.client.Create(ctx, secret)
	}
	return pairs, m.client.Update(ctx, secret)
}
