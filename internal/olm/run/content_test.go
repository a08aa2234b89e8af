package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/kube"
)

// planOf is an unfinished plan for CSVs of the package, with what OLM has read
// in the catalog of the first.
func planOf(name, pkg, digest string, csvs ...string) string {
	properties := fmt.Sprintf(`{"properties":[{"type":"mysdk.dev/content","value":{"digest":"%s"}},{"type":"olm.package","value":{"packageName":"%s"}}]}`, digest, pkg)
	manifest := fmt.Sprintf(`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"%s","annotations":{"operatorframework.io/properties":%q}}}`, csvs[0], properties)
	return "\n---\napiVersion: operators.coreos.com/v1alpha1\nkind: InstallPlan\n" +
		"metadata: {name: " + name + ", namespace: ns, labels: {operators.coreos.com/shop.ns: ''}}\n" +
		"spec: {clusterServiceVersionNames: [" + strings.Join(csvs, ", ") + "]}\n" +
		"status:\n  phase: Installing\n  plan:\n" +
		"  - {resolving: " + csvs[0] + ", resource: {kind: ClusterServiceVersion, name: " + csvs[0] + ", manifest: '" + manifest + "'}}\n" +
		"  - {resolving: " + csvs[0] + ", resource: {kind: ClusterServiceVersion, name: far, manifest: in a ConfigMap}}\n" +
		"  bundleLookups:\n  - {identifier: packed.v1, properties: '" + properties + "'}\n"
}

// TestOutdated ends the wait for what OLM remembers of the catalog.
func TestOutdated(t *testing.T) {
	made := func(digest string) string {
		properties := `{"properties":[{"type":"olm.gvk","value":{"kind":"Cart"}}]}`
		if digest != "" {
			properties = `{"properties":[{"type":"mysdk.dev/content","value":{"digest":"` + digest + `"}}]}`
		}
		return strings.Replace(csvYAML, "uid: csv-1}", "uid: csv-1, annotations: {operatorframework.io/properties: '"+properties+"'}}", 1) + succeeded
	}
	planned := func(digest string) string {
		return subWith + "{currentCSV: shop.v1, installPlanRef: {name: install-1}}\n" + sourceYAML + planOf("install-1", "shop", digest, "shop.v1")
	}
	for name, tc := range map[string]struct {
		world, content string
		outdated, done bool
	}{
		"of the new one":      {world: goodSub + sourceYAML + readyYAML + made("new"), content: "new", done: true},
		"of the old one":      {world: goodSub + sourceYAML + readyYAML + made("old"), content: "new", outdated: true},
		"of one without":      {world: goodSub + sourceYAML + readyYAML + made(""), content: "new", outdated: true},
		"of any":              {world: goodSub + sourceYAML + readyYAML + made("old"), done: true},
		"by hand":             {world: goodSub + sourceYAML + readyYAML + csvYAML + succeeded, content: "new", done: true},
		"on its way out":      {world: goodSub + sourceYAML + readyYAML + strings.Replace(made("old"), "uid: csv-1,", "uid: csv-1, deletionTimestamp: '2026-01-01T00:00:00Z',", 1), content: "new"},
		"plan of the new one": {world: planned("new"), content: "new"},
		"plan of the old one": {world: planned("old"), content: "new", outdated: true},
	} {
		now := time.Now()
		w := &waiter{
			reader: worldOf(t, tc.world), watch: watch{now: func() time.Time { now = now.Add(time.Second); return now }, say: func(string, ...any) {}},
			namespace: "ns", pkg: "shop", want: "shop.v1", content: tc.content, timeout: time.Hour,
		}
		_, first := w.glance(t.Context())
		done, second := w.glance(t.Context())
		_, third := w.inspect(t.Context(), false)
		err := errors.Join(first, second, third)
		if done != tc.done || errors.Is(err, errOutdated) != tc.outdated || err != nil && !tc.outdated {
			t.Errorf("%s: done %v, %v", name, done, err)
		}
	}
}

// TestInRounds: all beginnings together have one limit of time.
func TestInRounds(t *testing.T) {
	const step = 40 * time.Second
	for name, tc := range map[string]struct {
		waits []error // of each round, which takes a step, as does each new beginning
		left  []time.Duration
		want  error
	}{
		"at once":      {[]error{nil}, []time.Duration{2 * time.Minute}, nil},
		"second round": {[]error{errOutdated, nil}, []time.Duration{2 * time.Minute, step}, nil},
		"late":         {[]error{errOutdated, errOutdated}, []time.Duration{2 * time.Minute, step}, errOutdated},
		"failed":       {[]error{errOutdated, context.DeadlineExceeded}, []time.Duration{2 * time.Minute, step}, context.DeadlineExceeded},
	} {
		now, left := time.Time{}, []time.Duration(nil)
		err := inRounds(func() time.Time { return now }, 2*time.Minute, func(d time.Duration) error {
			left, now = append(left, d), now.Add(step)
			return tc.waits[len(left)-1]
		}, func() error { now = now.Add(step); return nil })
		if d := cmp.Diff(tc.left, left); !errors.Is(err, tc.want) || d != "" {
			t.Errorf("%s: %v, left (-want +got):\n%s", name, err, d)
		}
	}
	if err := inRounds(time.Now, time.Minute, func(time.Duration) error { return errOutdated }, func() error { return context.Canceled }); !errors.Is(err, context.Canceled) {
		t.Errorf("a beginning that fails: %v", err)
	}
}

// TestMark notes what a bundle was made of, and nothing on others.
func TestMark(t *testing.T) {
	c := &catalog.Catalog{}
	for _, version := range []string{"0.0.1", "0.0.2"} {
		b := makeBundle(t, version, "")
		if err := errors.Join(compose(c, b, "beta", ""), mark(c, b, "digest of "+version)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"shop.v0.0.1": "digest of 0.0.1", "shop.v0.0.2": "digest of 0.0.2", "shop.v0.0.3": "", "": ""} {
		if got := markOf(c, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if err := mark(c, makeBundle(t, "0.0.3", ""), "x"); err == nil {
		t.Error("a bundle that is not there is marked")
	}
}

// TestSharedPlans leaves plans alone that somebody else waits for.
func TestSharedPlans(t *testing.T) {
	complete := strings.Replace(planOf("done", "shop", "x", "shop.v1", "cart.v3"), "phase: Installing", "phase: Complete", 1)
	world := subWith + "{installPlanRef: {name: both}}" + planOf("mine", "shop", "x", "shop.v1") + planOf("both", "shop", "x", "shop.v1", "cart.v3") + planOf("theirs", "cart", "x", "cart.v3") + complete
	names := func(list objects) []string {
		var all []string
		for _, u := range list {
			all = append(all, u.GetName())
		}
		return all
	}
	plans, err := endablePlans(t.Context(), worldOf(t, world), "ns", []string{"shop.v1"})
	if d := cmp.Diff([]string{"mine"}, names(plans)); err != nil || d != "" {
		t.Errorf("%v, to be ended (-want +got):\n%s", err, d)
	}
	back, err := returned(t.Context(), worldOf(t, world+csvYAML+succeeded), "ns", []string{"shop.v1", "shop.v2"})
	if d := cmp.Diff([]string{"mine", "shop.v1"}, names(back)); err != nil || d != "" {
		t.Errorf("%v, come back (-want +got):\n%s", err, d)
	}

	cl, said := cleaning(t, world), []string(nil)
	cl.Say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if err := errors.Join(cl.find(t.Context()), cl.tellShared(t.Context())); err != nil {
		t.Fatal(err)
	}
	// Those that the Subscription's plan is about to make are the package's.
	if d := cmp.Diff([]string{"packed.v1", "shop.v1"}, cl.csvNames()); d != "" {
		t.Errorf("the package's CSVs (-want +got):\n%s", d)
	}
	if want := []string{"InstallPlan ns/both was kept: cart.v3 needs it"}; !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	// Such plans stay those of their Subscriptions, which go with the last of these.
	if plans, err := cl.sharedPlans(t.Context()); err != nil || !slices.Equal(names(plans), []string{"both"}) {
		t.Errorf("%v, shared: %q", err, names(plans))
	}
	left, err := cl.plansLeft(t.Context())
	if d := cmp.Diff([]string{"mine", "done"}, names(left)); err != nil || d != "" {
		t.Errorf("%v, left over (-want +got):\n%s", err, d)
	}
}

// description is what the CSV of version 0.0.1 in the lab says of itself.
func (l *lab) description() string {
	l.t.Helper()
	return text(l.read(olmV1alpha1, "ClusterServiceVersion", l.csv("0.0.1")), "spec", "description")
}

// testContentOfTheSameVersion changes a bundle and keeps its version: what was
// installed is always that of the last run that has succeeded.
func (l *lab) testContentOfTheSameVersion(t *testing.T) {
	install := func(description string, change func(*Options)) (Result, error) {
		t.Helper()
		return Install(t.Context(), l.client, l.bundle("0.0.1", "  description: "+description+"\n"), l.options(change))
	}
	for i := range 3 {
		want := fmt.Sprint("content ", i)
		got, err := install(want, nil)
		if err != nil || l.description() != want || (got.Action == Reinstalled) != (i > 0) {
			t.Fatalf("%+v, %v, the CSV is of %q, want %q", got, err, l.description(), want)
		}
	}
	_, err := install("broken\n  minKubeVersion: 99.0.0", func(o *Options) { o.Rollback = true })
	csv := l.read(olmV1alpha1, "ClusterServiceVersion", l.csv("0.0.1"))
	if err == nil || !l.says("Rolled back") || l.description() != "content 2" || text(csv, "status", "phase") != "Succeeded" {
		t.Errorf("%v, said %q, the CSV is of %q, and %s", err, l.said, l.description(), text(csv, "status", "phase"))
	}

	// A CSV of what the catalog had before goes again.
	old := strings.Replace(csv.GetAnnotations()[propertiesAnnotation], `{"digest":"`, `{"digest":"not `, 1)
	changed := false
	got, err := install("content 3", func(o *Options) {
		say := o.Say
		o.Say = func(format string, args ...any) {
			say(format, args...)
			if changed || !l.says("ClusterServiceVersion "+l.name+"/"+l.csv("0.0.1")+": ") {
				return
			}
			csv := kube.Named(olmV1alpha1, "ClusterServiceVersion", l.name, l.csv("0.0.1"))
			if err := l.client.Edit(t.Context(), csv, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				if live == nil {
					return nil, nil
				}
				changed = true
				notes := live.GetAnnotations()
				notes[propertiesAnnotation] = old
				live.SetAnnotations(notes)
				return live, nil
			}); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || !changed || !l.says("Removing "+l.csv("0.0.1")+" again: OLM installs what it remembers of the catalog") || l.description() != "content 3" {
		t.Errorf("%+v, %v, said %q, the CSV is of %q", got, err, l.said, l.description())
	}

	// A run that has nothing to do, and finds something wrong, undoes what it
	// has prepared.
	undone := false
	_, err = install("content 3", func(o *Options) {
		o.Rollback, o.Timeout = true, time.Nanosecond
		o.Prepare = func(context.Context) (func(context.Context) error, error) {
			return func(context.Context) error { undone = true; return nil }, nil
		}
	})
	if err == nil || !undone || !l.says("Rolled back") || l.description() != "content 3" {
		t.Errorf("undone %v, %v, said %q", undone, err, l.said)
	}
	if _, err := l.cleanup(nil); err != nil {
		t.Fatal(err)
	}
}

// TestPackageOf believes OLM before it guesses.
func TestPackageOf(t *testing.T) {
	noted := strings.Replace(csvYAML, "uid: csv-1}", `uid: csv-1, annotations: {operatorframework.io/properties: '{"properties":[{"type":"olm.package","value":{"packageName":"web-shop"}}]}'}}`, 1)
	for want, world := range map[string]string{"web-shop": noted, "shop": csvYAML} {
		if got := (&chain{}).packageOf(worldOf(t, world+succeeded).objects[0]); got != want {
			t.Errorf("package %s, want %s", got, want)
		}
	}
}
