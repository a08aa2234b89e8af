package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm"
)

// rollbackTimeout bounds a rollback, which goes on when the run's own time is up.
const rollbackTimeout = 2 * time.Minute

// failed ends a run that has not worked: with --rollback it brings back what
// was there before. The error is that of the run, whatever the rollback does.
func (in *installer) failed(ctx context.Context, cause error, undo func(context.Context) error) error {
	if !in.Rollback {
		hint := clierr.HintOf(cause)
		if in.before.subscription == nil && hint != "" {
			hint += fmt.Sprintf("\nwhat was created is kept for you to inspect; 'mysdk cleanup %s -n %s' removes it", in.bundle.Package, in.Namespace)
			return &clierr.Error{Err: cause, Hint: hint}
		}
		return cause
	}
	// Also after Ctrl-C: that is when what was before is wanted most.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	in.Say("Rolling back")
	err := undo(ctx)
	if in.action != Unchanged { // else what was before is what there is
		err = errors.Join(err, in.restore(ctx))
	}
	if err != nil {
		return clierr.WithHint(fmt.Errorf("%w; and the rollback failed too: %w", cause, err), "see what is installed with 'mysdk olm explain'")
	}
	in.Say("Rolled back")
	return cause
}

// restore makes the namespace as the survey found it.
func (in *installer) restore(ctx context.Context) error {
	opts := kube.DeleteOptions{Progress: in.Progress}
	was := text(in.before.subscription, "status", "installedCSV")
	sub := cmp.Or(in.before.subscription, kube.Named(olmV1alpha1, "Subscription", in.Namespace, in.bundle.Package))
	again, err := in.comeback()
	if err != nil {
		return err
	}
	serving, rest := split(again)
	// As in write: what serves the catalog reads it while the operator goes.
	if err := errors.Join(in.dropCatalog(ctx, true), in.putAll(ctx, serving)); err != nil {
		return err
	}
	untouched, err := in.untouched(ctx)
	if err != nil {
		return err
	}
	if !untouched {
		err = in.withdraw(ctx, sub, was, opts)
	} else if was != in.csv.GetName() {
		err = endPlans(ctx, in.client, nil, in.Namespace, []string{in.csv.GetName()}, opts)
	}
	if err != nil {
		return err
	}
	if _, err := in.client.Delete(ctx, kube.Without(in.apply, in.before.all()), opts); err != nil {
		return err
	}
	// The catalog of before first, with only the bundles of before: OLM could
	// find the way to the new one again otherwise.
	if err := in.putAll(ctx, rest); err != nil {
		return err
	}
	// One that did not work before is not waited for: it would not now.
	if in.before.stalled != nil || text(in.before.installed(), "status", "phase") == "Succeeded" {
		err = in.bring(ctx, rest, was, "", in.was)
	}
	return errors.Join(err, in.removeNew(ctx, opts))
}

// untouched reports whether the operator of before still works, and OLM has not
// begun to replace it.
func (in *installer) untouched(ctx context.Context) (bool, error) {
	now, err := takeSurvey(ctx, in.reader, in.Namespace, in.bundle.Package, nil)
	if err != nil {
		return false, err
	}
	before, live := in.before.installed(), now.installed()
	return before != nil && live != nil && live.GetUID() == before.GetUID() && text(live, "status", "phase") == "Succeeded" &&
		text(now.subscription, "status", "currentCSV") == live.GetName(), nil
}

// withdraw takes away what the run has made OLM install, and what that was to replace.
func (in *installer) withdraw(ctx context.Context, sub *unstructured.Unstructured, was string, opts kube.DeleteOptions) error {
	csvs := []string{in.csv.GetName()}
	if in.before.stalled != nil {
		csvs = append(csvs, in.before.stalled.GetName())
	}
	if in.action == Upgraded && was != "" {
		csvs = append(csvs, was) // half replaced: OLM reinstalls it
	}
	if err := removeOperator(ctx, in.client, sub, in.Namespace, csvs, opts); err != nil {
		return err
	}
	dependencies, err := in.dependencies(ctx)
	if err != nil {
		return err
	}
	for _, u := range dependencies {
		csvs = append(csvs, csvsOfSubscription(u)...) // a plan may be for all of them
		if err := removeOperator(ctx, in.client, u, in.Namespace, csvs, opts); err != nil {
			return err
		}
	}
	return nil
}

// dependencies are the Subscriptions that OLM has made for what the bundle
// requires. Without their catalog OLM would resolve nothing in the namespace.
func (in *installer) dependencies(ctx context.Context) (objects, error) {
	subs, err := list(ctx, in.reader, olmV1alpha1, "Subscription", in.Namespace)
	return subs.where(func(u *unstructured.Unstructured) bool {
		return text(u, "spec", "source") == catalogName(in.bundle.Package) && text(u, "spec", "sourceNamespace") == in.Namespace &&
			text(u, "spec", "name") != in.bundle.Package && in.before.subscribed.find(u.GetName()) == nil
	}), err
}

// all are the objects of the survey that a run may change, in the order in
// which they are applied.
func (s *survey) all() []*unstructured.Unstructured {
	list := slices.Concat(s.secrets, s.contents, s.servers)
	if s.source != nil {
		list = append(list, s.source)
	}
	list = append(list, s.groups...)
	if s.subscription != nil {
		list = append(list, s.subscription)
	}
	return list
}

// comeback are the objects of the survey as they are applied again. The
// Subscription begins with the CSV that was installed.
func (in *installer) comeback() ([]*unstructured.Unstructured, error) {
	var list []*unstructured.Unstructured
	for _, u := range in.before.all() {
		u = u.DeepCopy()
		unstructured.RemoveNestedField(u.Object, "status")
		if u.GetKind() == "Service" {
			// One that was deleted comes back with an address of its own: the
			// old one may be another's by now.
			unstructured.RemoveNestedField(u.Object, "spec", "clusterIP")
			unstructured.RemoveNestedField(u.Object, "spec", "clusterIPs")
		}
		if u.GetKind() == "Subscription" {
			if was := text(in.before.subscription, "status", "installedCSV"); was != "" {
				if err := unstructured.SetNestedField(u.Object, was, "spec", "startingCSV"); err != nil {
					return nil, err
				}
			}
		}
		list = append(list, u)
	}
	return list, nil
}

// removeNew deletes what only the run has brought: CRDs without objects, and namespaces.
func (in *installer) removeNew(ctx context.Context, opts kube.DeleteOptions) error {
	for _, name := range olm.OwnedCRDs(in.csv) {
		if in.before.crds[name] {
			continue
		}
		crd := crdObject(name)
		counts, err := in.client.Count(ctx, []*unstructured.Unstructured{crd})
		if err != nil {
			return err
		}
		if len(counts) > 0 {
			in.Say("CustomResourceDefinition %s was kept: there are %s", name, counts[0])
			continue
		}
		if _, err := in.client.Delete(ctx, []*unstructured.Unstructured{crd}, opts); err != nil {
			return err
		}
	}
	_, err := in.client.Delete(ctx, in.namespaces, opts)
	return err
}
