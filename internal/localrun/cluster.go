package localrun

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
)

// startCluster connects to the cluster that was named, or starts the embedded
// one, and says which it is before anything is written to it.
func (r *run) startCluster(ctx context.Context) error {
	if r.Options.Kubeconfig != "" || r.Context != "" {
		return r.useNamed(ctx)
	}
	from := r.Host.Now()
	started := r.Host.Still(ctx, "starting the cluster", r.screen.say)
	c, err := r.StartCluster(ctx, r.Fresh)
	started()
	if err != nil {
		return err
	}
	r.kubeconfig, r.operatorConfig = c.Kubeconfig, c.Kubeconfig
	r.control, r.socket = c.Control, c.Socket
	r.cleanup = append(r.cleanup, func(ctx context.Context) error { return r.stopCluster(ctx, c) })
	if err = r.connect(ctx, kube.Options{Kubeconfig: c.Kubeconfig, Embedded: c.Name}); err != nil {
		return err
	}
	state := "started"
	if c.AlreadyRunning {
		state = "was running"
		if r.Fresh {
			state = "emptied"
		}
	}
	r.announceCluster(fmt.Sprintf("cluster ready (%s): embedded, %s", r.since(from), state))
	if c.StartCommand != "" {
		r.screen.say("  it stops with the mysdk that started it; to keep it, run '%s' before both runs", c.StartCommand)
	}
	return nil
}

// useNamed connects to a cluster of the user's, if it may be written to.
func (r *run) useNamed(ctx context.Context) error {
	from := r.Host.Now()
	err := r.connect(ctx, kube.Options{Kubeconfig: r.Options.Kubeconfig, Context: r.Context})
	if err != nil {
		return err
	}
	if r.kubeconfig, err = r.kubeconfigFor(); err != nil {
		return err
	}
	r.operatorConfig = r.kubeconfig
	r.announceCluster(fmt.Sprintf("cluster reached (%s)", r.since(from)))
	return nil
}

// connect has the warnings of the API server shown: of deprecated versions, and
// of fields that it does not know.
func (r *run) connect(ctx context.Context, o kube.Options) error {
	o.Host, o.Allow = r.Host, r.Allow
	o.Warn = func(text string) { r.screen.print("API server warning: %s", text) }
	c, err := r.Connect(ctx, o)
	if err == nil {
		r.client, r.embedded = c, c.EmbeddedName() != ""
	}
	return err
}

// announceCluster says what is going to be written to, and how to look at it.
func (r *run) announceCluster(what string) {
	r.screen.print("%s: %s", what, r.client.Name())
	r.screen.say("  for a second terminal: %s", host.Export("KUBECONFIG", r.kubeconfig))
}

// kubeconfigFor returns a kubeconfig whose current context is the one in use:
// the operator knows no other way to choose one. The user's own file serves
// where only it was named; otherwise a private one is made for as long as the
// run lasts.
func (r *run) kubeconfigFor() (string, error) {
	if r.Context == "" {
		return r.Host.Path(r.Options.Kubeconfig), nil
	}
	data, err := r.client.Kubeconfig()
	if err != nil {
		return "", err
	}
	name, err := r.private(kubeconfigPrefix)
	if err == nil {
		err = r.Host.Files.WriteFile(name, data, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("write the operator's kubeconfig: %w", err)
	}
	return name, nil
}

// stopCluster stops the embedded cluster, unless it is kept.
func (r *run) stopCluster(ctx context.Context, c *Cluster) error {
	var err error
	if r.client != nil && !r.driven { // a cluster that is stopped keeps its objects, too
		_, err = r.removeRoles(ctx, nil)
	}
	if r.Keep || c.AlreadyRunning {
		if len(r.roles) > 0 && errors.Is(err, context.Canceled) { // which is not reported
			r.screen.print("the roles that were applied for the operator stay; remove them with 'mysdk run local --restore'")
		}
		if clierr.CodeOf(err) != clierr.CodeUnavailable { // else it was stopped meanwhile
			r.screen.say("the cluster keeps running; stop it with '%s'", cmp.Or(c.StopCommand, "mysdk cluster stop"))
		}
		return err
	}
	if err != nil && ctx.Err() == nil {
		r.screen.warn("%v", err) // the next run does it
	}
	from := r.Host.Now()
	if err := c.Stop(ctx); err != nil {
		return err
	}
	r.screen.say("cluster stopped (%s)", r.since(from))
	return nil
}

// warnOfCopies warns of copies of the operator that run on the cluster, by other
// runs or deployed: both would write to the same objects.
func (r *run) warnOfCopies(ctx context.Context) error {
	others, err := r.othersRun()
	if others {
		r.screen.warn("another 'mysdk run local' runs this operator on this cluster; unless they watch different namespaces, both will reconcile the same objects. Stop one of them")
	}
	if err != nil || r.Deployment == "" {
		return err
	}
	deployed, err := r.client.List(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, kube.ListOptions{})
	if err != nil {
		// Who may not list Deployments may still run an operator.
		r.screen.warn("deployed copies of the operator were not looked for: %v", err)
		return nil
	}
	for _, u := range deployed {
		replicas, found, _ := unstructured.NestedInt64(u.Object, "spec", "replicas") // an API server has no other type
		if u.GetName() == r.Deployment && (replicas > 0 || !found) {
			r.screen.warn("Deployment %s/%s in this cluster runs the same operator; both will reconcile the same objects. Stop it with: %s -n %s scale deployment %s --replicas=0",
				u.GetNamespace(), u.GetName(), r.client.Kubectl(), u.GetNamespace(), u.GetName())
		}
	}
	return nil
}

// namespaces makes sure that there is something to watch. In a cluster of the
// user's it only says what is missing.
func (r *run) namespaces(ctx context.Context) error {
	for _, name := range r.WatchNamespaces {
		if !r.embedded {
			live, err := r.client.Read(ctx, kube.Named("v1", "Namespace", "", name))
			if err != nil {
				return err
			}
			if live == nil {
				r.screen.warn("there is no namespace %s in this cluster yet", name)
			}
			continue
		}
		created, err := r.client.EnsureNamespace(ctx, name)
		if err != nil {
			return err
		}
		if created {
			r.screen.say("namespace %s created", name)
		}
	}
	return nil
}

// checkLimit finds out whether the operator can be told which namespaces to watch:
// a program that never asks does not have the variable's name in it. In a cluster other
// than the embedded one it would work on objects that it is not to touch.
func (r *run) checkLimit() error {
	if len(r.WatchNamespaces) == 0 {
		return nil
	}
	reads, err := contains(r.plan.binary, []byte("WATCH_NAMESPACE"))
	never := err == nil && !reads
	before := r.everywhere.Swap(never)
	text := "the operator never reads WATCH_NAMESPACE, and so is not limited to " + strings.Join(r.WatchNamespaces, ", ")
	help := fmt.Sprintf("read the variable in %s, and set Cache.DefaultNamespaces of the manager's options to the namespaces in it", r.plan.mainPkg)
	switch {
	case never && !r.embedded:
		return clierr.Failedf(help+"; or watch all namespaces with --watch-namespace=", "%s", text)
	case never && !before:
		r.screen.warn("%s: %s", text, help)
	}
	return nil
}

// contains reports whether a file has a text. It reads in parts: operators have tens of
// megabytes, and each start and reload of one asks.
func contains(name string, text []byte) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // only read
	buf, kept := make([]byte, 1<<20), 0
	for {
		n, err := f.Read(buf[kept:])
		have := buf[:kept+n]
		if bytes.Contains(have, text) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		kept = copy(buf, have[max(0, len(have)-len(text)+1):]) // the text may begin there
	}
}

// unwatchedEvery is how often objects are looked for that the operator does not
// see.
const unwatchedEvery = 5 * time.Second

// lookElsewhere warns of objects of the project's kinds in namespaces that the
// operator does not watch, until ctx ends. In a cluster other than the embedded
// one they may well be for another operator.
func (r *run) lookElsewhere(ctx context.Context) {
	if !r.embedded || len(r.WatchNamespaces) == 0 {
		return
	}
	for good := true; good; good = host.Pause(ctx, unwatchedEvery) {
		for _, crd := range r.wanted().CRDs {
			if scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope"); scope != "Namespaced" {
				continue
			}
			objects, err := r.client.List(ctx, kube.ServedKind(crd), kube.ListOptions{})
			if err != nil {
				continue // perhaps the next time; what fails for good, the operator tells
			}
			for _, u := range objects {
				r.warnOfUnwatched(kube.RefOf(u))
			}
		}
	}
}

// warnOfUnwatched warns once of an object that the operator will not see.
func (r *run) warnOfUnwatched(o kube.Ref) {
	if o.Namespace == "" || len(r.WatchNamespaces) == 0 || r.everywhere.Load() || slices.Contains(r.WatchNamespaces, o.Namespace) {
		return
	}
	r.mu.Lock()
	told := r.unwatched[o]
	r.unwatched[o] = true
	r.mu.Unlock()
	if !told {
		r.screen.warn("%s is in namespace %s, which the operator does not watch: it watches %s", o, o.Namespace, strings.Join(r.WatchNamespaces, ", "))
	}
}
