package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/fields"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/manifests"
	"github.com/example/mysdk/internal/objects"
)

// SamplesIn reads the samples of the project in the host's directory each time
// it is called. A project without any has none.
func SamplesIn(h host.Host) func(context.Context) ([]manifests.File, error) {
	return func(context.Context) ([]manifests.File, error) {
		list, err := manifests.Files(h, manifests.Samples)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return list, err
	}
}

type tryData struct {
	Ready    bool
	Samples  []manifests.File
	Problem  string // why there are no samples
	Kinds    []schema.GroupKind
	Own      []scalable
	Form     *tryForm         // nil: no kind is chosen
	Operator bool             // it can be ended
	Faults   bool             // the API server can be slow, or refuse
	Trouble  *state.Injection // as it does now; nil: it does not
	Until    time.Time        // of Trouble
}

type askedField struct {
	Field *fields.Field
	Form  *tryForm
}

type scalable struct {
	*objects.Node
	Scales   bool
	Replicas string
}

type tryForm struct {
	schema.GroupKind
	Version         string
	Name, Namespace string
	Namespaced      bool
	Exists          bool
	Object          map[string]any // what it is filled with
	Fields          []*fields.Field
}

func renderTry(ctx context.Context, r *Request) (any, error) {
	now := r.Mirror.Now()
	d := tryData{Ready: now.Ready, Operator: r.Source.Crash != nil, Faults: r.Source.Inject != nil}
	d.Trouble, d.Until = r.trouble.now()
	if r.Source.Samples != nil && !r.Live { // only the list of objects is
		var err error
		if d.Samples, err = r.Source.Samples(ctx); err != nil {
			d.Problem = err.Error()
		}
	}
	for _, crd := range now.CRDs() {
		d.Kinds = append(d.Kinds, kube.ServedKind(crd).GroupKind())
	}
	list := ownObjects(now)
	chosen := keyFrom(r.Query)
	if n := objects.Find(objects.Tree(now.Objects), chosen); n != nil && !now.Custom()[n.GroupKind] {
		list = append(list, n) // such as a Deployment
	}
	for _, n := range list {
		d.Own = append(d.Own, scalable{n, now.Kinds[n.GroupKind].Scales, replicasOf(now, n.Object)})
	}
	if crd := crdOf(now, chosen.GroupKind); crd != nil && !r.Live {
		d.Form = formOf(now, crd, chosen, d.Samples)
	}
	return d, nil
}

// formOf is a form filled with the object of that name, or else with the first
// sample of the kind, in the version that this is in.
func formOf(now objects.Snapshot, crd *unstructured.Unstructured, key objects.Key, samples []manifests.File) *tryForm {
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	f := &tryForm{GroupKind: key.GroupKind, Version: kube.ServedKind(crd).Version, Name: key.Name, Namespace: key.Namespace, Namespaced: scope == "Namespaced", Object: map[string]any{}}
	if f.Namespaced {
		key.Namespace = cmp.Or(key.Namespace, "default")
	}
	u := now.Objects[key]
	if f.Exists = u != nil; !f.Exists {
		u = sampleOf(samples, key.GroupKind)
	}
	if u != nil {
		f.Name, f.Namespace = cmp.Or(f.Name, u.GetName()), cmp.Or(f.Namespace, u.GetNamespace())
		f.Version, f.Object = u.GroupVersionKind().Version, u.Object
	}
	f.Fields = fieldsOf(crd, f.Version)
	return f
}

// fieldsOf are the fields to fill in.
func fieldsOf(crd *unstructured.Unstructured, version string) []*fields.Field {
	return slices.DeleteFunc(fields.Of(crd, version), func(x *fields.Field) bool { return x.Name == "status" })
}

// sampleOf is the first sample of a kind; nil: none.
func sampleOf(samples []manifests.File, kind schema.GroupKind) *unstructured.Unstructured {
	for _, s := range samples {
		for _, u := range s.Objects {
			if u.GroupVersionKind().GroupKind() == kind {
				return u
			}
		}
	}
	return nil
}

func actTry(ctx context.Context, r *Request) (string, error) {
	c, err := r.Source.Connect(ctx)
	if err != nil {
		return "", err
	}
	switch key := keyFrom(r.Form); r.Form.Get("do") {
	case "sample":
		return "/objects", applySample(ctx, c, r)
	case "apply":
		u, err := filled(ctx, c, r)
		if err != nil {
			return "", err
		}
		if _, err = c.Apply(ctx, []*unstructured.Unstructured{u}, kube.ApplyOptions{Force: true}); err == nil {
			err = c.Edit(ctx, u, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				return cleared(live, u), nil
			})
		}
		return objectURL(objects.KeyOf(u)), err
	case "scale":
		n, err := strconv.ParseInt(r.Form.Get("replicas"), 10, 32)
		if err != nil || n < 0 {
			return "", clierr.Usagef("type a number of replicas", "%q is not a number of replicas", r.Form.Get("replicas"))
		}
		u, err := live(r, key)
		if err != nil {
			return "", err
		}
		return objectURL(key), c.Scale(ctx, u, n)
	case "delete":
		u, err := live(r, key)
		if err != nil {
			return "", err
		}
		return objectURL(key), c.BeginDelete(ctx, u)
	case "crash":
		if r.Source.Crash == nil {
			return "", errors.New("the operator was not started by this command")
		}
		return "/try", r.Source.Crash(ctx)
	case "fault":
		return "/try", setFault(ctx, r)
	}
	return "", fmt.Errorf("nothing to do is called %q", r.Form.Get("do"))
}

func applySample(ctx context.Context, c *kube.Client, r *Request) error {
	list, err := r.Source.Samples(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.Name == r.Form.Get("sample") {
			_, err := c.Apply(ctx, s.Objects, kube.ApplyOptions{Force: true})
			return err
		}
	}
	return fmt.Errorf("there is no sample %s", r.Form.Get("sample"))
}

// live is the object of that name, as far as the mirror has it.
func live(r *Request, key objects.Key) (*unstructured.Unstructured, error) {
	now := r.Mirror.Now()
	if u := now.Objects[key]; u != nil {
		return u, nil
	}
	return nil, fmt.Errorf("there is no %s", key)
}

// filled is the object that a form describes, with the labels, annotations, empty groups
// and unknown fields that it has: what is not applied again is removed. The error may be a
// fields.Invalid.
func filled(ctx context.Context, c *kube.Client, r *Request) (*unstructured.Unstructured, error) {
	now := r.Mirror.Now()
	key := keyFrom(r.Form)
	crd := crdOf(now, key.GroupKind)
	if crd == nil {
		return nil, fmt.Errorf("the cluster has no CRD of %s", key.GroupKind.String())
	}
	var samples []manifests.File
	if now.Objects[key] == nil && r.Source.Samples != nil { // one that is there comes before them
		var err error
		if samples, err = r.Source.Samples(ctx); err != nil {
			return nil, err
		}
	}
	f := formOf(now, crd, key, samples)
	if f.Exists && r.Form.Get("new") != "" {
		return nil, fields.Invalid{"name": objects.Key{GroupKind: key.GroupKind, Namespace: f.Namespace, Name: f.Name}.String() + " already exists: choose another name, or edit it"}
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if fields.Schema(crd, f.Version)["x-kubernetes-preserve-unknown-fields"] == true {
		u.Object = maps.Clone(f.Object) // what no field is for
		maps.DeleteFunc(u.Object, func(key string, _ any) bool {
			return slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, key) ||
				slices.ContainsFunc(f.Fields, func(x *fields.Field) bool { return x.Name == key })
		})
	}
	if slices.ContainsFunc(f.Fields, func(x *fields.Field) bool { return x.Name == "spec" }) {
		u.Object["spec"] = map[string]any{}
	}
	before := &unstructured.Unstructured{Object: f.Object}
	u.SetLabels(before.GetLabels())
	u.SetAnnotations(before.GetAnnotations())
	if f.Exists {
		live, err := c.Read(ctx, before) // the mirror does not know who wrote what
		if err != nil {
			return nil, err
		}
		if live != nil {
			kube.KeepApplied(u, live)
		}
	}
	u.SetGroupVersionKind(key.GroupKind.WithVersion(f.Version))
	u.SetName(key.Name)
	if f.Namespaced {
		u.SetNamespace(cmp.Or(key.Namespace, "default"))
	}
	return u, fields.Fill(u.Object, f.Object, f.Fields, r.Form.Get)
}

// cleared is the live object with all that u has and nothing else but its metadata and
// status: a field that another client has set does not go when it is not applied. nil is
// for nothing to do.
func cleared(live, u *unstructured.Unstructured) *unstructured.Unstructured {
	if live == nil {
		return nil
	}
	next := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	for _, key := range []string{"metadata", "status"} {
		if next.Object[key] = live.Object[key]; next.Object[key] == nil {
			delete(next.Object, key)
		}
	}
	if reflect.DeepEqual(next.Object, live.Object) {
		return nil
	}
	return next
}

// checkTry says what is wrong with what a form has so far: by field, and under ""
// with the whole. Types are checked here, all else by the API server, which is
// asked to apply it and to keep nothing.
func checkTry(ctx context.Context, r *Request) (map[string]string, error) {
	c, err := r.Source.Connect(ctx)
	if err != nil {
		return nil, err
	}
	u, err := filled(ctx, c, r)
	if invalid, ok := errors.AsType[fields.Invalid](err); ok {
		return invalid, nil
	}
	if err != nil {
		return nil, err
	}
	if u.GetName() == "" {
		return map[string]string{"name": "required"}, nil
	}
	_, err = c.Apply(ctx, []*unstructured.Unstructured{u}, kube.ApplyOptions{Force: true, DryRun: true})
	found := kube.FieldErrors(err)
	if found == nil && err != nil {
		found = map[string]string{"": err.Error()}
	}
	now := r.Mirror.Now()
	list := fieldsOf(crdOf(now, u.GroupVersionKind().GroupKind()), u.GroupVersionKind().Version)
	said := map[string]string{}
	for path, text := range found {
		at := fields.Nearest(list, path)
		if path == "metadata.name" {
			at, path = "name", ""
		}
		if path != "" && path != at {
			text = path + ": " + text
		}
		if said[at] != "" {
			text = said[at] + "; " + text
		}
		said[at] = text
	}
	return said, nil
}

// setFault reads how the API server is to treat the operator.
func setFault(ctx context.Context, r *Request) error {
	if r.Source.Inject == nil || !r.Recording.Active {
		return errors.New("no operator runs whose requests could be told from others")
	}
	number := func(field string, most int) (int, error) {
		n, err := strconv.Atoi(cmp.Or(r.Form.Get(field), "0"))
		if err != nil || n < 0 || n > most {
			return 0, fmt.Errorf("%s: %q is not a number up to %d", field, r.Form.Get(field), most)
		}
		return n, nil
	}
	const slowest, longest = 60_000, 600 // ms, s
	delay, err1 := number("delay", slowest)
	code, err2 := number("code", http.StatusNetworkAuthenticationRequired)
	seconds, err3 := number("seconds", longest)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if delay == 0 && code == 0 {
		seconds = 0 // nothing is to go wrong
	}
	one := state.Injection{Do: state.FaultDelay, Delay: time.Duration(delay) * time.Millisecond}
	if code > 0 {
		one.Do, one.Code = state.FaultRefuse, code
	}
	return r.trouble.set(ctx, r.Recording.Operator, one, time.Duration(seconds)*time.Second)
}

// trouble is what goes wrong for the operator until it is over, or until
// something else goes wrong in its place.
type trouble struct {
	inject func(ctx context.Context, f state.Fault, hit func()) error
	clock  func() time.Time

	mu    sync.Mutex
	stop  func() // nil: nothing was injected
	what  state.Injection
	until time.Time
}

// now is what goes wrong, and until when; nil: nothing.
func (t *trouble) now() (what *state.Injection, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop == nil || !t.clock().Before(t.until) {
		return nil, time.Time{}
	}
	return &t.what, t.until
}

func (t *trouble) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over()
}

func (t *trouble) over() {
	if t.stop != nil {
		t.stop()
		t.stop = nil
	}
}

// set injects a fault for that long, in place of the one before. It outlives the
// request whose context ctx is, but not the process: the server ends it then.
func (t *trouble) set(ctx context.Context, operator string, what state.Injection, long time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if long == 0 {
		t.over()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), long)
	armed, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- t.inject(ctx, state.Fault{Operator: operator, Injection: what}, sync.OnceFunc(func() { close(armed) }))
	}()
	select {
	case <-armed:
		t.over()
		t.stop = func() { cancel(); <-ended } //nolint:errcheck // that of ctx
		t.what, t.until = what, t.clock().Add(long)
		return nil
	case err := <-ended:
		cancel()
		return err
	}
}
