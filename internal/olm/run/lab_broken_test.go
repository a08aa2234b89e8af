package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// edited is a bundle with a text of its manifests replaced.
func edited(t *testing.T, b *bundle.Bundle, from, to string) *bundle.Bundle {
	t.Helper()
	files, found := fstest.MapFS{}, false
	for _, f := range b.Files {
		text := string(f.Data)
		found = found || strings.Contains(text, from)
		text = strings.ReplaceAll(text, from, to)
		files[f.Name] = &fstest.MapFile{Data: []byte(text)}
	}
	if !found {
		t.Fatalf("the bundle has no %q", from)
	}
	changed, err := bundle.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// A failure is an operator that cannot come up, by a change of a text of its CSV.
type failure struct {
	from, to string
	err      string // that it ends with
	said     string // while it waits
}

// failures are by the names of their operators.
var failures = map[string]failure{
	"name":     {from: "{name: name.v0.0.1}", to: "{name: Name_v0.0.1}", err: "ClusterServiceVersion Name_v0.0.1: metadata.name: a lowercase RFC 1123 subdomain"},
	"selector": {from: labLabels, to: "metadata: {labels: {app: other}}", err: `Deployment shop-manager: spec.selector "app=shop" does not match the labels "app=other" of spec.template`},
	"volume": { // of a ConfigMap that is not there
		from: labTemplate, to: strings.Replace(labTemplate, "{", "{volumes: [{name: conf, configMap: {name: none}}], ", 1), err: "a volume needs configmap none, which does not exist",
	},
	"variable": { // the same
		from: labTemplate, to: labTemplate + "envFrom: [{configMapRef: {name: none}}], ", err: `container manager cannot be started: configmaps "none" not found`,
	},
	"unready": {
		from: labLabels, to: "metadata: {labels: {app: shop}, annotations: {mysdk.dev/simulate: not-ready}}",
		said: "it is not ready\n  condition: Ready=False (ContainersNotReady): ",
	},
}

// Texts of the CSV of the lab's bundles.
const (
	labTemplate = "{serviceAccountName: shop, containers: [{name: manager, "
	labLabels   = "metadata: {labels: {app: shop}}"
)

// testFailsEarly installs such an operator: what does not heal ends the run, and
// what may is told while it goes on.
func (l *lab) testFailsEarly(t *testing.T, tc failure) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := false
	o := l.options(func(o *Options) {
		o.Say = func(format string, args ...any) {
			if text := fmt.Sprintf(format, args...); tc.said != "" && strings.HasPrefix(text, "Warning: still waiting: ") && strings.Contains(text, tc.said) {
				told = true
				cancel() // it would go on until the time is up
			}
		}
	})
	_, err := Install(ctx, l.client, edited(t, l.bundle("0.0.1", ""), tc.from, tc.to), o)
	var failed *Failure
	switch {
	case tc.said != "" && (!told || !errors.Is(err, context.Canceled)):
		t.Errorf("warned %v, %v", told, err)
	case tc.said == "" && (err == nil || !strings.Contains(err.Error(), tc.err) || clierr.HintOf(err) == "" || errors.As(err, &failed) && failed.TimedOut):
		t.Errorf("error %v, hint %q", err, clierr.HintOf(err))
	}
	if _, err := l.cleanup(func(o *CleanupOptions) { o.CRDs = true }); err != nil && !strings.Contains(err.Error(), "is not installed") {
		t.Fatal(err)
	}
}

// refusesUpgrade begins an upgrade whose CRD does not take an object that exists.
func (l *lab) refusesUpgrade(t *testing.T) (two *bundle.Bundle) {
	t.Helper()
	if _, err := Install(t.Context(), l.client, l.bundle("0.0.1", ""), l.options(nil)); err != nil {
		t.Fatal(err)
	}
	l.applyCart()
	two = edited(t, l.bundle("0.0.2", ""), "{type: object}", "{type: object, required: [size], properties: {size: {type: integer}}}")
	if _, err := Install(t.Context(), l.client, two, l.options(nil)); err == nil || !strings.Contains(err.Error(), "size: Required value") {
		t.Fatal(err)
	}
	return two
}

// testRefusedUpgrade goes on to the next version when the object is gone. The operator of
// before runs until OLM replaces it. The Subscription does not name it before the new
// catalog is there: OLM would make the refused version again.
func (l *lab) testRefusedUpgrade(t *testing.T) {
	manager := func() types.UID {
		if u := l.read("apps/v1", "Deployment", "shop-manager"); u != nil {
			return u.GetUID()
		}
		return ""
	}
	three := edited(t, l.refusesUpgrade(t), "0.0.2", "0.0.3")
	before := manager()
	if _, err := l.client.Delete(t.Context(), []*unstructured.Unstructured{l.cart()}, kube.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	runs, named := false, ""
	got, err := Install(t.Context(), l.client, three, l.options(func(o *Options) {
		o.Progress = func(r kube.Result) {
			if r.Kind == "CatalogSource" && r.Action == kube.Created {
				named = text(l.read(olmV1alpha1, "Subscription", l.name), "status", "installedCSV")
			}
		}
		say := o.Say
		o.Say = func(format string, args ...any) {
			say(format, args...)
			if len(l.said) == 1 { // the upgrade that has failed is about to go
				runs = before != "" && manager() == before
			}
		}
	}))
	if err != nil || !runs || !l.says("the upgrade to it was not completed, and ") || named != l.csv("0.0.2") || got.Action != Upgraded || got.Replaced != l.csv("0.0.1") {
		t.Errorf("%+v, %v, said %q, the operator ran meanwhile: %v, the Subscription named %s", got, err, l.said, runs, named)
	}
	if _, err := l.cleanup(func(o *CleanupOptions) { o.CRDs = true }); err != nil {
		t.Fatal(err)
	}
	if plans, err := list(t.Context(), l.client, olmV1alpha1, "InstallPlan", l.name); err != nil || len(plans) > 0 {
		t.Errorf("InstallPlans %v are there, %v", plans.names(), err)
	}
}

// testInterruptedRetreat presses Ctrl-C when the CSV of an upgrade that has failed
// goes: the Subscription still gets to name the one before, and the next run upgrades it.
func (l *lab) testInterruptedRetreat(t *testing.T) {
	two := l.refusesUpgrade(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Install(ctx, l.client, two, l.options(func(o *Options) {
		o.Progress = func(r kube.Result) {
			if r.Kind == "ClusterServiceVersion" && r.Action == kube.Deleted {
				cancel()
			}
		}
	}))
	if now := text(l.read(olmV1alpha1, "Subscription", l.name), "status", "installedCSV"); !errors.Is(err, context.Canceled) || now != l.csv("0.0.1") {
		t.Errorf("%v, and the Subscription has installed %s", err, now)
	}
	if _, err := Install(t.Context(), l.client, two, l.options(nil)); err == nil || !strings.Contains(err.Error(), "size: Required value") {
		t.Errorf("the next run ended with %v, said %q", err, l.said)
	}
	if _, err := l.cleanup(func(o *CleanupOptions) { o.CRDs = true }); err != nil {
		t.Fatal(err)
	}
}

// testRollbackOfNothing rolls back runs that fail before OLM begins with the upgrade:
// the operator runs on.
func (l *lab) testRollbackOfNothing(t *testing.T) {
	if _, err := Install(t.Context(), l.client, l.bundle("0.0.1", ""), l.options(nil)); err != nil {
		t.Fatal(err)
	}
	uids := func() (all []types.UID) {
		for _, u := range []*unstructured.Unstructured{
			l.read(olmV1alpha1, "ClusterServiceVersion", l.csv("0.0.1")), l.read("apps/v1", "Deployment", "shop-manager"), l.read(olmV1alpha1, "Subscription", l.name),
		} {
			if u != nil {
				all = append(all, u.GetUID())
			}
		}
		return all
	}
	before := uids()
	needy := l.bundle("0.0.2", "  apiservicedefinitions: {required: [{name: jobs, kind: Job, group: jobs.example.com, version: v1}]}\n") // OLM stays with what there is
	for name, tc := range map[string]struct {
		bundle *bundle.Bundle
		mode   Mode
		err    string
	}{
		"the first write": {l.bundle("0.0.2", ""), Mode{Type: singleNamespace, Targets: []string{"Bad_Name"}}, "Bad_Name"},
		"the resolution":  {needy, Mode{}, context.Canceled.Error()},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Install(ctx, l.client, tc.bundle, l.options(func(o *Options) {
			say := o.Say
			o.Rollback, o.Mode, o.Say = true, tc.mode, func(format string, args ...any) {
				say(format, args...)
				if l.says("waiting for OLM") {
					cancel()
				}
			}
		}))
		cancel()
		if err == nil || !strings.Contains(err.Error(), tc.err) || !l.says("Rolled back") {
			t.Errorf("%s: %v, said %q", name, err, l.said)
		}
		if now := uids(); !slices.Equal(now, before) {
			t.Errorf("%s: the CSV, the Deployment and the Subscription were %v and are %v", name, before, now)
		}
	}
	if got, err := Install(t.Context(), l.client, l.bundle("0.0.2", ""), l.options(nil)); err != nil || got.Action != Upgraded {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := l.cleanup(func(o *CleanupOptions) { o.CRDs = true }); err != nil {
		t.Fatal(err)
	}
}
