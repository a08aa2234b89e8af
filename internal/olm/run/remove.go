package run

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
)

// planTimeout is how long OLM may take to finish the InstallPlan of a CSV that works:
// where it could not note that all steps are done, it tries again after 5 seconds.
const planTimeout = 7 * time.Second

// stillness is how long nothing may come back of what was removed to count as
// gone, and returning bounds the waiting for that.
const (
	stillness = 300 * time.Millisecond
	returning = 10 * time.Second
)

// remove takes away the Subscription and the CSVs that it stands for, so that
// OLM starts again. CRDs and their objects stay.
func (in *installer) remove(ctx context.Context) error {
	what := in.standing()
	if len(what) == 0 {
		what = []string{kube.RefOf(in.before.subscription).String()}
	}
	in.Say("Removing %s first: %s", strings.Join(what, ", "), in.whyRemove())
	return removeOperator(ctx, in.client, in.before.subscription, in.Namespace, in.standing(), kube.DeleteOptions{Progress: in.Progress})
}

// retreat takes away the CSV of an upgrade that has not worked, and has OLM go
// on from the one that it was to replace. OLM never tries a plan again that has
// failed, and without its Subscription the old CSV would be in the way of any
// other; so that stays, and says what is installed: once OLM reads the catalog, as it
// would make the CSV again by what it remembers of the one before.
func (in *installer) retreat(ctx context.Context, source *unstructured.Unstructured) error {
	stalled, old := in.before.stalled, text(in.before.subscription, "status", "installedCSV")
	in.Say("Removing %s first: the upgrade to it was not completed, and %s is upgraded again", kube.RefOf(stalled), old)
	// Changes nothing: whoever may not write the status is told before it is too late.
	if err := in.client.MergeStatus(ctx, in.before.subscription, map[string]any{}); err != nil {
		return err
	}
	// Also after Ctrl-C: a Subscription that names a CSV which is gone would mislead
	// the next run.
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	if err := removeOperator(whole, in.client, nil, in.Namespace, []string{stalled.GetName()}, kube.DeleteOptions{Progress: in.Progress}); err != nil {
		return err
	}
	err := in.put(ctx, source)
	return errors.Join(err, in.client.MergeStatus(whole, in.before.subscription, map[string]any{
		"installedCSV": old, "currentCSV": old, "state": "AtLatestKnown", "installPlanRef": nil, "installplan": nil,
	}))
}

// whyRemove says why what there is cannot be upgraded.
func (in *installer) whyRemove() string {
	changed := in.before.subscription != nil && in.before.subscription.GetAnnotations()[contentAnnotation] != in.content
	switch {
	case in.before.subscription == nil:
		return "it has been left behind without a Subscription"
	case in.before.stalled != nil:
		return "the upgrade to " + in.before.stalled.GetName() + " was not completed"
	case changed && slices.Contains(csvsOfSubscription(in.before.subscription), in.csv.GetName()):
		return "the bundle has changed under the same version"
	case in.group.moved:
		return "the OperatorGroup of its namespace changes"
	}
	return "it is not healthy, and OLM upgrades only what is"
}

// csvsOfSubscription are the CSVs that a Subscription names; none of nil.
func csvsOfSubscription(sub *unstructured.Unstructured) []string {
	var names []string
	for _, f := range []string{"installedCSV", "currentCSV"} {
		name := text(sub, "status", f)
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// standing are the CSVs that are in the way of a new beginning: those of the
// Subscription, one of the bundle's own name that it knows nothing of, and that
// of an upgrade that has not worked.
func (in *installer) standing() []string {
	names := csvsOfSubscription(in.before.subscription)
	if in.before.csvs.find(in.csv.GetName()) != nil && !slices.Contains(names, in.csv.GetName()) {
		names = append(names, in.csv.GetName())
	}
	if in.before.stalled != nil {
		names = append(names, in.before.stalled.GetName())
	}
	return names
}

// removeOperator deletes a Subscription, nil where there is none, and CSVs of its
// namespace, with what would keep the next operator from becoming its leader.
func removeOperator(ctx context.Context, c *kube.Client, sub *unstructured.Unstructured, namespace string, csvs []string, o kube.DeleteOptions) error {
	leases, err := leaderLeases(ctx, c, namespace, csvs...)
	if err != nil {
		return err
	}
	if err := endPlans(ctx, c, sub, namespace, csvs, o); err != nil {
		return err
	}
	if _, err := c.Delete(ctx, namedCSVs(namespace, csvs), o); err != nil {
		return err
	}
	if err := keepGone(ctx, c, namespace, csvs, o); err != nil {
		return err
	}
	_, err = c.Delete(ctx, leases, quiet(o))
	return err
}

// keepGone removes what OLM makes of the CSVs once more: a plan that it was about to
// make, and a CSV of one that it was busy with. It ends when nothing comes back.
func keepGone(ctx context.Context, c *kube.Client, namespace string, csvs []string, o kube.DeleteOptions) error {
	limited, cancel := context.WithTimeout(ctx, returning)
	defer cancel()
	for still := 0; ; {
		back, err := returned(limited, c, namespace, csvs)
		if still++; len(back) > 0 {
			still = 0
			_, err = c.Delete(limited, back, quiet(o))
		}
		if limited.Err() != nil {
			return ctx.Err() // whether it matters shows later
		}
		if err != nil || still == 2 {
			return err
		}
		host.Pause(limited, stillness)
	}
}

// returned are those of the CSVs that are there, and the plans for them.
func returned(ctx context.Context, r Reader, namespace string, csvs []string) ([]*unstructured.Unstructured, error) {
	plans, err := endablePlans(ctx, r, namespace, csvs)
	if err != nil {
		return nil, err
	}
	live, err := readAll(ctx, r, namedCSVs(namespace, csvs))
	return append(plans, live...), err
}

// namedCSVs are CSVs of a namespace with nothing but their names.
func namedCSVs(namespace string, names []string) objects {
	var list objects
	for _, name := range names {
		list = append(list, kube.Named(olmV1alpha1, "ClusterServiceVersion", namespace, name))
	}
	return list
}

// endPlans keeps OLM from making CSVs again that are about to be deleted. It
// makes them by the Subscription, nil where there is none, and by InstallPlans
// that are not complete, which outlive the Subscription for a while.
func endPlans(ctx context.Context, c *kube.Client, sub *unstructured.Unstructured, namespace string, csvs []string, o kube.DeleteOptions) error {
	// What OLM is busy with it finishes, deleted or not.
	if err := awaitPlans(ctx, c, namespace, csvs); err != nil {
		return err
	}
	if sub != nil {
		if _, err := c.Delete(ctx, []*unstructured.Unstructured{sub}, o); err != nil {
			return err
		}
	}
	plans, err := endablePlans(ctx, c, namespace, csvs)
	if err != nil {
		return err
	}
	_, err = c.Delete(ctx, plans, quiet(o))
	return err
}

// endablePlans are the unfinished plans for the CSVs and no others.
func endablePlans(ctx context.Context, r Reader, namespace string, csvs []string) (objects, error) {
	plans, err := unfinishedPlans(ctx, r, namespace, csvs)
	return plans.where(func(p *unstructured.Unstructured) bool { return !shared(p, csvs) }), err
}

// shared reports whether OLM still makes CSVs of others by a plan: their
// Subscriptions would wait for it for ever.
func shared(plan *unstructured.Unstructured, csvs []string) bool {
	return text(plan, "status", "phase") != "Complete" &&
		slices.ContainsFunc(texts(plan, "spec", "clusterServiceVersionNames"), func(name string) bool { return !slices.Contains(csvs, name) })
}

// awaitPlans waits until the InstallPlans of the CSVs that work are complete, but
// not for long.
func awaitPlans(ctx context.Context, r Reader, namespace string, csvs []string) error {
	limited, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	for {
		busy, err := unsettled(limited, r, namespace, csvs)
		if limited.Err() != nil {
			return ctx.Err()
		}
		if err != nil || !busy {
			return err
		}
		host.Pause(limited, glance)
	}
}

// unsettled reports whether OLM still has to note that it is done with one of
// the CSVs that work.
func unsettled(ctx context.Context, r Reader, namespace string, csvs []string) (bool, error) {
	live, err := readAll(ctx, r, namedCSVs(namespace, csvs))
	if err != nil {
		return false, err
	}
	working := live.where(func(u *unstructured.Unstructured) bool { return text(u, "status", "phase") == "Succeeded" })
	plans, err := unfinishedPlans(ctx, r, namespace, working.names())
	return slices.ContainsFunc(plans, func(p *unstructured.Unstructured) bool { return text(p, "status", "phase") == "Installing" }), err
}

// unfinishedPlans are the InstallPlans by which OLM still makes one of the CSVs.
func unfinishedPlans(ctx context.Context, r Reader, namespace string, csvs []string) (objects, error) {
	plans, err := plansOf(ctx, r, namespace, csvs)
	return plans.where(func(p *unstructured.Unstructured) bool { return text(p, "status", "phase") != "Complete" }), err
}

// plansOf are the InstallPlans of one of the CSVs.
func plansOf(ctx context.Context, r Reader, namespace string, csvs []string) (objects, error) {
	plans, err := list(ctx, r, olmV1alpha1, "InstallPlan", namespace)
	return plans.where(func(p *unstructured.Unstructured) bool {
		return slices.ContainsFunc(texts(p, "spec", "clusterServiceVersionNames"), func(name string) bool { return slices.Contains(csvs, name) })
	}), err
}

// lockPattern is how client-go's leader election names its lease in the log: that
// of klog, or since controller-runtime 0.25 the manager's own, as text or JSON.
const lockPattern = `leader lease.*lock(?:=|": ?)"([^/"]+)/([^"]+)"`

// logStart is how much of a log is searched for that: it is among the first lines.
const logStart = 1 << 20

// leaderLeases are the leases by which the operators of these CSVs elect their
// leader. When a CSV goes, its roles go before its pods, and the lease cannot
// be given back: whoever comes next would wait for it to expire.
func leaderLeases(ctx context.Context, r Reader, namespace string, csvs ...string) (objects, error) {
	pattern := regexp.MustCompile(lockPattern)
	var leases objects
	for _, name := range csvs {
		c, err := look(ctx, r, namespace, "", name)
		if err != nil {
			return nil, err
		}
		csv := c.csv()
		if csv == nil {
			continue
		}
		for _, log := range logsOf(ctx, r, c.podsOf(c.deployments.ownedBy(csv)), kube.LogOptions{Limit: logStart}) {
			for _, m := range pattern.FindAllStringSubmatch(log, -1) {
				// Only in the operator's own namespace is it surely its own.
				if m[1] == namespace && leases.find(m[2]) == nil {
					leases = append(leases, kube.Named("coordination.k8s.io/v1", "Lease", namespace, m[2]))
				}
			}
		}
	}
	return leases, nil
}
