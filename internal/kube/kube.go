// Package kube talks to a Kubernetes API server: it finds the cluster that the
// user named, reads manifests, applies them by server-side apply, deletes them,
// and waits, saying what it waits for. It knows kubeconfigs and API objects,
// and embedded clusters only by their state files; nothing of projects and
// operators.
//
// Objects are unstructured throughout: client-go's typed clients register every
// built-in kind at program start, which each `mysdk --help` would pay for.
package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/url"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// FieldManager is the name under which mysdk owns the fields that it applies.
const FieldManager = "mysdk"

// connectTimeout bounds the first request: a server that does not answer is
// reported within seconds, not after the operating system's TCP timeout. A plugin
// that gets credentials may ask the user for them, and has all the time it needs.
const connectTimeout = 10 * time.Second

// Options name a cluster and say how to reach it.
type Options struct {
	Kubeconfig string            // path, relative to Host.Dir; empty: KUBECONFIG, else ~/.kube/config
	Context    string            // context in it; empty: the file's current one
	Embedded   string            // the embedded cluster whose own file Kubeconfig is: its context, and no other cluster
	Host       host.Host         // environment, working directory, files and state directory
	Allow      []string          // contexts that may be written to without being named
	ReadOnly   bool              // nothing will be written: any cluster will do
	Warn       func(text string) // receives the API server's warnings; nil drops them
}

// Client is a connection to one cluster. It is safe for concurrent use.
type Client struct {
	Target
	rest  rest.Interface
	dyn   dynamic.Interface
	kinds *kinds
}

// Connect finds the cluster that o names, and asks it for its version. A
// cluster that Guard refuses is not contacted. A kubeconfig or context that is
// wrong is a usage error; a server that does not answer or refuses the
// credentials has clierr.CodeUnavailable.
func Connect(ctx context.Context, o Options) (*Client, error) {
	target, cfg, err := find(o)
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = -1, 0 // the API server's own flow control is enough
	cfg.UserAgent = FieldManager
	cfg.WarningHandler = warnings{o.Warn}
	c := &Client{Target: target}
	if err := c.open(cfg); err != nil {
		return nil, clierr.Usagef("check the file that --kubeconfig or KUBECONFIG names", "use context %q: %w", target.Context, err)
	}
	c.kinds = newKinds(c.rest)
	if err := c.askVersion(ctx); err != nil {
		return nil, err
	}
	if err := c.identify(ctx); err != nil {
		return nil, err
	}
	if o.Embedded != c.Embedded && o.Embedded != "" {
		return nil, strayed(o.Embedded, target.Files, c.Name()+" is another cluster")
	}
	if !o.ReadOnly {
		if err := c.Guard(o.Allow); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// open makes the two clients on one HTTP connection pool.
func (c *Client) open(cfg *rest.Config) error {
	hc, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return err
	}
	if c.dyn, err = dynamic.NewForConfigAndClient(cfg, hc); err != nil {
		return err
	}
	// For /version and the lists of kinds, which belong to no API group. The
	// scheme has to know the Status object, or refusals lose their text.
	plain := rest.CopyConfig(cfg)
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	plain.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.rest, err = rest.UnversionedRESTClientForConfigAndClient(plain, hc)
	return err
}

// askVersion finds out whether there is an API server, and lets us in.
func (c *Client) askVersion(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(connectTimeout, func() { cancel(context.DeadlineExceeded) })
	late.Stop()
	defer late.Stop()
	// Credentials are there when a connection is asked for.
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: func(string) { late.Reset(connectTimeout) }})
	data, err := c.rest.Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	c.Version, err = parseVersion(data)
	if err != nil {
		return clierr.Unavailablef("check that the address is a Kubernetes API server", "ask %s for its version: %w", c.Server, err)
	}
	return nil
}

// unreachable explains why the first request failed.
func (c *Client) unreachable(ctx context.Context, err error) error {
	// The handshake of TLS has a limit of its own.
	waited, ok := errors.AsType[net.Error](err)
	_, noName := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded), ok && waited.Timeout() && !noName:
		return clierr.Unavailablef(c.reachHint(), "connect to %s: no answer within %s", c.Name(), connectTimeout)
	case errors.Is(err, context.Canceled):
		return err
	case apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err):
		return clierr.Unavailablef("renew the credentials of this context, then try again",
			"connect to %s: it refuses the credentials of the kubeconfig", c.Name())
	}
	return clierr.Unavailablef(c.reachHint(), "connect to %s: %w", c.Name(), cause(err))
}

// reachHint is the next step when the server does not answer.
func (t Target) reachHint() string {
	if t.own.Name == "" {
		return "start that cluster, or leave out --kubeconfig and --context to use the embedded one"
	}
	return fmt.Sprintf("run '%s'", state.Command("start", t.own.Name))
}

// cause drops the "Get "https://…":" that net/http puts before the reason.
func cause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// Ref names an object the way messages do.
type Ref struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// RefOf returns the name of u.
func RefOf(u *unstructured.Unstructured) Ref {
	return Ref{GroupVersionKind: u.GroupVersionKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}

// String is the kind and the name, with the namespace where there is one:
// "Deployment default/web".
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
}

// Without are the objects that are not among others.
func Without(objs, others []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objs), func(u *unstructured.Unstructured) bool {
		return slices.ContainsFunc(others, func(o *unstructured.Unstructured) bool { return RefOf(o) == RefOf(u) })
	})
}

// Named is an object with nothing but its name, as for Read and Delete.
func Named(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// Action is what became of an object.
type Action string

// The actions that Apply and Delete report, in kubectl's words.
const (
	Created    Action = "created"
	Configured Action = "configured"
	Unchanged  Action = "unchanged"
	Deleted    Action = "deleted"
	Absent     Action = "absent" // there was nothing to delete
)

// Result is one object and what became of it.
type Result struct {
	Ref
	Action Action
}

// warnings hands the API server's Warning headers to a function.
type warnings struct{ to func(string) }

// HandleWarningHeader implements rest.WarningHandler.
func (w warnings) HandleWarningHeader(code int, _, text string) {
	// 299 is the only code that the API server uses, see KEP-1693.
	if w.to != nil && code == 299 && text != "" {
		w.to(text)
	}
}
