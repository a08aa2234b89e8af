package localrun

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
)

const (
	crdKind = "CustomResourceDefinition"
	// servingCerts is where controller-runtime looks for certificates below
	// the directory for temporary files, if its options name no other place.
	servingCerts       = "k8s-webhook-server/serving-certs"
	defaultWebhookPort = "9443" // controller-runtime's, for operators without a flag
)

// hooks are the webhooks of a run: certificates, the server in front of the
// operator's, and what was changed in the cluster for them. Nothing is changed
// there without being in the journal.
type hooks struct {
	r       *run
	certs   *certificates
	private string // directory of the certificates, mode 0700
	proxy   *webhookProxy
	url     string // of the proxy, for the screen
	at      endpoint

	mu        sync.Mutex // held while the cluster is written to
	journal   *journal
	active    map[string]string // digest of what is in the cluster, by kind and name
	converted []string          // conversions turned on since the last announcement
	ended     bool
	gaveUp    error // of off, when its time was over: there is no second one
}

// openHooks makes the certificates and the server, and begins the journal. The
// cluster is not changed yet.
func (r *run) openHooks(ctx context.Context) (_ *hooks, err error) {
	where, listen, err := r.webhookHost(ctx)
	if err != nil {
		return nil, err
	}
	h := &hooks{r: r, active: map[string]string{}}
	if h.certs, err = makeCertificates(r.Host.Now(), where); err != nil {
		return nil, fmt.Errorf("make certificates for the webhooks: %w", err)
	}
	// The path is the credential: API servers show no certificate of their own.
	secret := rand.Text()
	if h.proxy, err = newWebhookProxy(ctx, listen, secret, h.certs, r.noting); err != nil {
		return nil, clierr.WithHint(fmt.Errorf("listen for webhooks on %s: %w", listen, err), "choose another address or port with --webhook-listen")
	}
	h.url = "https://" + net.JoinHostPort(where, h.proxy.port())
	h.at = endpoint{base: h.url + "/" + secret, ca: h.certs.cert}
	if address, _, err := net.SplitHostPort(listen); err == nil && !r.embedded {
		address = net.JoinHostPort(address, h.proxy.port())
		r.screen.say("listening on %s for webhooks; only requests with this run's secret path are answered (--webhook-listen changes the address)", address)
	}
	if r.Debug > 0 {
		h.at.timeout = debugTimeout
	}
	dir, err := r.journals(ctx)
	if err == nil {
		h.journal, err = openJournal(r.Host, dir, filepath.Base(r.plan.cache), record{Project: r.Dir, PID: os.Getpid(), Base: h.at.base})
	}
	if err == nil {
		err = h.writeCertificates()
	}
	// Whatever was begun is ended, a half-made one too.
	r.cleanup = append(r.cleanup, h.close)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// journals is the directory of the cluster's journals.
func (r *run) journals(ctx context.Context) (string, error) {
	id, err := r.client.ID(ctx)
	if err != nil {
		return "", err
	}
	return journalDir(r.Host, id)
}

// writeCertificates writes what the operator reads, and the authority beside it
// for whoever wants to call a webhook by hand.
func (h *hooks) writeCertificates() (err error) {
	h.private, err = h.r.private(privatePrefix)
	if err == nil {
		err = host.MkdirAll(h.r.Host.Files, h.certDir(), 0o700)
	}
	for name, data := range map[string][]byte{"ca.crt": h.certs.cert, "tls.crt": h.certs.cert, "tls.key": h.certs.key} {
		if err == nil {
			err = h.r.Host.Files.WriteFile(filepath.Join(h.certDir(), name), data, 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("keep the webhooks' certificates: %w", err)
	}
	return nil
}

// certDir is the operator's certificate directory. It is at the place below
// private where an operator that takes no flag looks for it by itself.
func (h *hooks) certDir() string { return filepath.Join(h.private, filepath.FromSlash(servingCerts)) }

// withConversion returns the CRDs as they can be applied: with a conversion that calls
// the run's webhooks, or, without webhooks, one that works. The Service that the project
// names exists only where it is deployed.
func (r *run) withConversion(ctx context.Context, crds []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	h := r.hooks.Load()
	if h == nil {
		list, off, err := r.client.WorkingConversions(ctx, crds)
		for _, crd := range off {
			r.screen.warn("conversion of %s is off: objects are stored as they are written, whatever their version", crd.GetName())
		}
		return list, err
	}
	var list []*unstructured.Unstructured
	for _, crd := range crds {
		if kube.Converts(crd) {
			conversion := h.at.conversion(crd)
			crd = crd.DeepCopy() // the one given is compared with later
			crd.SetAnnotations(withoutInjection(crd.GetAnnotations()))
			if err := unstructured.SetNestedMap(crd.Object, conversion, "spec", "conversion"); err != nil {
				return nil, err
			}
		}
		list = append(list, crd)
	}
	return list, nil
}

// convert has the conversions of crds that are in the cluster call the run's
// webhooks, and notes what the cluster was like for those that are not. Requests wait
// in the proxy until the operator answers; its caches may need them, too.
func (h *hooks) convert(ctx context.Context, crds []*unstructured.Unstructured) error {
	for _, crd := range crds {
		if !kube.Converts(crd) {
			continue
		}
		want := h.at.conversion(crd)
		did, err := h.change(ctx, crd, digest(want), func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			if live == nil {
				return nil, nil // it is going to be applied
			}
			live.SetAnnotations(withoutInjection(live.GetAnnotations()))
			return live, unstructured.SetNestedMap(live.Object, want, "spec", "conversion")
		})
		if err != nil {
			return err
		}
		if did {
			h.mu.Lock()
			h.converted = append(h.converted, "conversion of "+crd.GetName())
			h.mu.Unlock()
		}
	}
	return nil
}

// takeConverted returns the conversions that nobody was told of yet.
func (h *hooks) takeConverted() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.converted
	h.converted = nil
	return list
}

// admit brings the webhook configurations to the cluster, calling the run's
// webhooks. Those that are there already stay untouched.
func (h *hooks) admit(ctx context.Context, configs []*unstructured.Unstructured) ([]string, error) {
	var changed []string
	for _, config := range configs {
		want, err := h.at.redirect(config)
		if err != nil {
			return changed, err
		}
		did, err := h.change(ctx, want, digest(want.Object), func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			if live == nil {
				return want, nil
			}
			live.Object["webhooks"] = want.Object["webhooks"]
			live.SetAnnotations(withoutInjection(live.GetAnnotations()))
			return live, nil
		})
		if err != nil {
			return changed, err
		}
		if did {
			changed = append(changed, want.GetKind()+" "+want.GetName())
		}
	}
	return changed, nil
}

// change edits an object once for each digest, with the journal written first.
func (h *hooks) change(ctx context.Context, u *unstructured.Unstructured, sum string, edit func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := u.GetKind() + " " + u.GetName()
	// An edit costs a round trip, and after a restart nearly nothing differs.
	if h.ended || h.active[key] == sum {
		return false, nil
	}
	if err := h.journal.note(ctx, h.r.Host, h.r.client, u); err != nil {
		return false, err
	}
	if err := h.r.client.Edit(ctx, u, edit); err != nil {
		return false, err
	}
	h.active[key] = sum
	return true, nil
}

// retire takes out of the cluster what the project wants no more.
func (h *hooks) retire(ctx context.Context, m Manifests) error {
	wanted := map[string]bool{}
	for _, u := range m.Webhooks {
		wanted[u.GetKind()+" "+u.GetName()] = true
	}
	for _, u := range m.CRDs {
		wanted[u.GetKind()+" "+u.GetName()] = kube.Converts(u)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.journal.record.Entries {
		key := e.Kind + " " + e.Name
		if wanted[key] || h.active[key] == "" || h.ended {
			continue
		}
		// The entry stays in the journal: restoring it twice does no harm, and
		// the object may come back with the next change.
		did, err := h.journal.record.restoreOne(ctx, h.r.client, e)
		if err != nil {
			return err
		}
		delete(h.active, key)
		if did != "" {
			h.r.screen.say("webhooks: %s", did)
		}
	}
	return nil
}

// withoutOperator puts conversions back while there is no operator: one that nobody
// answers stops the cluster's garbage collection. The next reload turns them on again.
func (r *run) withoutOperator(ctx context.Context) error {
	h := r.hooks.Load()
	if h == nil {
		return nil
	}
	h.proxy.refuse("the operator could not be built")
	if len(h.takeConverted()) > 0 {
		r.screen.warn("conversions are off until a build succeeds: objects are stored as they are written, whatever their version")
	}
	return h.retire(ctx, Manifests{})
}

// off puts the cluster back to what it was, once. It is called while the
// operator still answers, so that no request meets a closed door.
func (h *hooks) off(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || h.journal == nil || h.gaveUp != nil {
		return h.gaveUp
	}
	from := h.r.Host.Now()
	done, err := h.journal.record.restore(ctx, h.r.client)
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New(err.Error()) // wrapped, the second Ctrl-C would pass for all that there is to say
		}
		hint := "run 'mysdk run local --restore'"
		if !errors.Is(ctx.Err(), context.Canceled) { // not broken off by the second Ctrl-C
			hint += " when the cluster answers again"
		}
		err = clierr.WithHint(fmt.Errorf("take the webhooks out of the cluster: %w", err), hint)
		if ctx.Err() != nil {
			h.gaveUp = err
		}
		return err
	}
	h.ended = true // nothing may be turned on any more, by no goroutine
	if len(done) > 0 {
		h.r.screen.say("webhooks off (%s): %s", h.r.since(from), strings.Join(done, ", "))
	}
	return h.journal.close(h.r.Host)
}

// close ends what openHooks began, after the operator's end. The journal of a
// cluster that could not be restored is left for a later run.
func (h *hooks) close(ctx context.Context) error {
	err := errors.Join(h.off(ctx), h.proxy.close())
	if h.journal != nil && !h.ended {
		// A second error is worth nothing beside the first.
		_ = h.journal.lock.Release()
	}
	return err
}

// webhookArgs are the operator's flags for its webhook server, and where that
// will listen. Flags that main.go does not define are replaced by what
// controller-runtime does without them.
func (h *hooks) webhookArgs(ctx context.Context, found mainFacts, o Options) (args, env []string, address string, err error) {
	if given(o.OperatorArgs, "webhook-cert-path") {
		return nil, nil, "", clierr.Usagef("leave it out, or add --no-webhooks",
			"--operator-flags: --webhook-cert-path: the webhooks get certificates of this run's own")
	}
	// TMPDIR instead is for operators without the flag, and for those whose
	// flags' names are put together, where reading the source does not find them.
	if found.flags["webhook-cert-path"] {
		args = append(args, "--webhook-cert-path="+h.certDir())
	} else {
		env = append(env, "TMPDIR="+h.private)
	}
	port, own := valueOf(o.OperatorArgs, "webhook-port")
	port = cmp.Or(port, defaultWebhookPort)
	if found.flags["webhook-port"] && !own {
		if port, err = freePort(ctx); err != nil {
			return nil, nil, "", err
		}
		args = append(args, "--webhook-port="+port)
	}
	// The API server's requests come through mysdk: nobody else has to reach it.
	if found.flags["webhook-host"] && !given(o.OperatorArgs, "webhook-host") {
		args = append(args, "--webhook-host=127.0.0.1")
	}
	return args, env, net.JoinHostPort("127.0.0.1", port), nil
}

// freePort finds a port that nobody listens on, on any of this machine's
// addresses: most operators listen on all of them.
func freePort(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", ":0")
	if err != nil {
		return "", fmt.Errorf("find a free port for the operator's webhook server: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}
