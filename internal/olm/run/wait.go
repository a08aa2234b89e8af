package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
)

const (
	// glance and inspect are the pauses between two looks: at the Subscription
	// and the CSV, and at everything.
	glance  = 100 * time.Millisecond
	inspect = 500 * time.Millisecond
	// settle is how long a CSV has to stay Succeeded. When the CSV that it
	// replaces goes, and with it its roles, it falls back for a moment.
	settle = time.Second
	// begins is how long an operator is waited for that has to become its leader first,
	// or has not read yet what it watches: only then does it do what it may lack the
	// rights for. The lease of a leader that was killed is free after about that time.
	begins = 15 * time.Second
	// connects is how long OLM is waited for to connect to a new catalog, which
	// on some clusters a pod has to be started for, and fresh how long if
	// something is wrong with it.
	connects = 30 * time.Second
	fresh    = 3 * time.Second
)

// Failure is what a run ends with when the operator does not come up.
type Failure struct {
	Finding  *Finding
	TimedOut bool          // the time was up; else the finding was final
	After    time.Duration // since the wait began
}

// Error implements error.
func (f *Failure) Error() string {
	if f.TimedOut {
		return fmt.Sprintf("not ready after %s: %s", f.After.Round(100*time.Millisecond), f.Finding)
	}
	return f.Finding.String()
}

// waiter waits until a CSV is installed, and finds out why it is not.
type waiter struct {
	reader         Reader
	approve        func(ctx context.Context, plan *unstructured.Unstructured) error
	found          func(ctx context.Context) error // called at every look since the CSV is there; nil: nothing to do
	namespace, pkg string
	want           string        // the CSV
	old            string        // the CSV that it takes the place of; empty: none
	content        string        // that OLM has to make the CSV of, or the wait ends with errOutdated; empty: any
	timeout        time.Duration // of the whole
	told           string        // the stage that was last told of
	oldGone        time.Time     // when the old CSV was found gone; zero: it is not
	watch
}

// watch is a wait: whom it tells, and what it has found so far.
type watch struct {
	now        func() time.Time
	say        func(format string, args ...any)
	standing   standing  // what the looks find
	unanswered standing  // what the looks that fail for a while fail with
	goodSince  time.Time // when all was well first; zero: it is not
}

// standing is what several looks found, and for how long.
type standing struct {
	last   *Finding  // of the last look
	since  time.Time // when it was found first
	warned *Finding  // what the user was told of
}

// final takes note of what a look found, and reports whether that has stood as
// long as it must to be final. What may heal is told once, as a warning.
func (s *standing) final(f *Finding, now time.Time, say func(format string, args ...any)) bool {
	// Time counts from when the same thing was found first: whatever changes in
	// between is progress of a sort.
	if !f.same(s.last) {
		s.since = now
	}
	s.last = f
	if f == nil {
		return false
	}
	stood := now.Sub(s.since)
	if f.after == waitOnly && stood >= patient && !f.same(s.warned) {
		s.warned = f
		brief := *f
		brief.Log = nil // it comes with the error
		say("Warning: still waiting: %s", strings.Join(append([]string{f.String()}, brief.Details()...), "\n  "))
	}
	return f.after != waitOnly && stood >= f.after
}

// passes takes note of the error that a look ended with, nil for none, and
// reports whether to look again in spite of it: what fails while an API server
// restarts says nothing about the operator.
func (s *standing) passes(ctx context.Context, err error, about kube.Ref, now time.Time, say func(format string, args ...any)) bool {
	if ctx.Err() != nil || err != nil && !passing(err) {
		return false
	}
	var f *Finding
	if err != nil {
		f = &Finding{Object: about, Problem: "the cluster could not be asked: " + err.Error(), after: waitOnly}
	}
	s.final(f, now, say)
	return err != nil
}

// passing reports whether a request that failed may work the next time.
func passing(err error) bool {
	return clierr.CodeOf(err) == clierr.CodeUnavailable || apierrors.IsInternalError(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err)
}

// wait blocks until the operator is installed and stays so, a finding is
// final, or the time is up.
func (w *waiter) wait(ctx context.Context) error {
	subscription := kube.RefOf(kube.Named(olmV1alpha1, "Subscription", w.namespace, w.pkg))
	silent := &Finding{Object: subscription, Problem: "OLM has not installed it, and gives no reason"}
	// Two rhythms: the Subscription and the CSV report success and cost two
	// requests; why there is none takes the whole chain, which is a dozen.
	var inspected time.Time
	return w.until(ctx, w.timeout, glance, silent, func(ctx context.Context) (bool, error) {
		done, err := w.glance(ctx)
		if err == nil && (done || w.now().Sub(inspected) >= inspect) {
			inspected = w.now()
			done, err = w.inspect(ctx, done)
		}
		return done, err
	}, func(kube.Ref) string { return "mysdk olm explain" })
}

// until looks every pause until all is well, a look fails, or the time is up: then
// it reports the last finding, silent where there is none, and the command that
// more says shows more of its object.
func (w *watch) until(
	ctx context.Context, timeout, pause time.Duration, silent *Finding,
	look func(context.Context) (bool, error), more func(kube.Ref) string,
) error {
	begin := w.now()
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		done, err := look(limited)
		if w.unanswered.passes(limited, err, silent.Object, w.now(), w.say) {
			done, err, w.goodSince = false, nil, time.Time{}
		}
		if err == nil && !done {
			if host.Pause(limited, pause) {
				continue
			}
			err = limited.Err()
		}
		failure, final := errors.AsType[*Failure](err)
		switch {
		case final:
			failure.After = w.now().Sub(begin)
			return &clierr.Error{Err: failure, Hint: failure.Finding.Hint, Code: clierr.CodeFailed}
		case err == nil || limited.Err() == nil || ctx.Err() != nil && errors.Is(err, context.Canceled):
			return err
		}
		last := cmp.Or(w.standing.last, w.unanswered.last, silent)
		return &clierr.Error{
			Err:  &Failure{Finding: last, TimedOut: true, After: w.now().Sub(begin)},
			Hint: cmp.Or(last.Hint, "wait longer with --timeout, or see '"+more(last.Object)+"'"),
			Code: clierr.CodeUnavailable,
		}
	}
}

// glance reads the Subscription and the CSVs, and reports whether the operator
// has been installed for long enough.
func (w *waiter) glance(ctx context.Context) (bool, error) {
	subs, err := list(ctx, w.reader, olmV1alpha1, "Subscription", w.namespace)
	if err != nil {
		return false, err
	}
	sub, err := subscriptionOf(subs, w.pkg)
	if err != nil {
		return false, err
	}
	csv, err := w.readCSV(ctx, w.want)
	if err != nil {
		return false, err
	}
	w.tell(sub, csv)
	if csv != nil && csv.GetDeletionTimestamp() == nil && outdated(csv, w.content) {
		return false, errOutdated
	}
	if csv != nil && w.found != nil {
		if err := w.found(ctx); err != nil {
			return false, err
		}
	}
	if good, err := w.installed(ctx, sub, csv); err != nil || !good {
		w.goodSince = time.Time{}
		return false, err
	}
	// The old CSV takes its roles with it when it goes, which throws the new one
	// back for a moment: success before that would be a lie.
	if w.old != "" && w.old != w.want {
		if gone, err := w.cleared(ctx); err != nil || !gone {
			w.goodSince = time.Time{}
			return false, err
		}
	}
	if w.goodSince.IsZero() {
		w.goodSince = w.now()
	}
	return w.now().Sub(w.goodSince) >= settle, nil
}

// cleared reports whether the old CSV is gone, and with it the bindings of its
// service account: the new one's is often the same, and lacks its rights only
// when they are. They go after the CSV, and are not waited for without end.
func (w *waiter) cleared(ctx context.Context) (bool, error) {
	before, err := w.readCSV(ctx, w.old)
	if err != nil || before != nil {
		return false, err
	}
	if w.oldGone.IsZero() {
		w.oldGone = w.now()
	}
	if w.now().Sub(w.oldGone) >= begins {
		return true, nil
	}
	for _, kind := range []string{"RoleBinding", "ClusterRoleBinding"} {
		left, err := labelled(ctx, w.reader, gvk("rbac.authorization.k8s.io/v1", kind), "", labels.Set{"olm.owner": w.old, "olm.owner.namespace": w.namespace})
		if err != nil && !apierrors.IsForbidden(err) || len(left) > 0 {
			return false, err
		}
	}
	return true, nil
}

func (w *waiter) readCSV(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	return w.reader.Read(ctx, kube.Named(olmV1alpha1, "ClusterServiceVersion", w.namespace, name))
}

// installed is OLM's own view, and what it sees only seconds later: it may write the
// bundle's CRD twice, the second time over the conversion that it has set up.
func (w *waiter) installed(ctx context.Context, sub, csv *unstructured.Unstructured) (bool, error) {
	if csv == nil || csv.GetDeletionTimestamp() != nil || text(csv, "status", "phase") != "Succeeded" ||
		text(sub, "status", "installedCSV") != w.want || text(sub, "status", "state") != "AtLatestKnown" {
		return false, nil
	}
	for _, hook := range entries(csv, "spec", "webhookdefinitions") {
		for _, name := range texts(hook, "conversionCRDs") {
			crd, err := w.reader.Read(ctx, crdObject(name))
			lost := text(hook, "type") == "ConversionWebhook" && text(crd, "spec", "conversion", "webhook", "clientConfig", "caBundle") == ""
			if (err != nil || lost) && !apierrors.IsForbidden(err) {
				return false, err
			}
		}
	}
	return true, nil
}

// tell says how far things are, once for each stage.
func (w *waiter) tell(sub, csv *unstructured.Unstructured) {
	stage := ""
	switch {
	case csv != nil && text(csv, "status", "phase") != "":
		stage = fmt.Sprintf("%s: %s", kube.RefOf(csv), text(csv, "status", "phase"))
	case sub != nil && text(sub, "status", "installPlanRef", "name") != "" && text(sub, "status", "currentCSV") == w.want:
		stage = fmt.Sprintf("InstallPlan %s/%s created", w.namespace, text(sub, "status", "installPlanRef", "name"))
	case sub != nil:
		stage = fmt.Sprintf("Subscription %s/%s: waiting for OLM", w.namespace, sub.GetName())
	}
	if stage != "" && stage != w.told {
		w.told = stage
		w.say("%s", stage)
	}
}

// inspect looks at the whole chain. A finding that stands as long as it must
// ends the wait with a Failure; done is true if good and nothing was found.
func (w *waiter) inspect(ctx context.Context, good bool) (done bool, err error) {
	c, err := look(ctx, w.reader, w.namespace, w.pkg, w.want)
	if err != nil {
		return false, err
	}
	p := c.plan()
	if u := csvsOf(p).find(w.want); u != nil && outdated(u, w.content) {
		return false, errOutdated
	}
	if p != nil && text(p, "status", "phase") == "RequiresApproval" && w.approve != nil && c.mayApprove(p) {
		w.say("approving InstallPlan %s/%s, which installs %s", p.GetNamespace(), p.GetName(), strings.Join(texts(p, "spec", "clusterServiceVersionNames"), ", "))
		return false, w.approve(ctx, p)
	}
	f, err := c.diagnose(ctx, w.reader)
	if err != nil {
		return false, err
	}
	if w.standing.final(f, w.now(), w.say) {
		return false, &Failure{Finding: f}
	}
	return f == nil && good && !(w.now().Sub(w.goodSince) < begins && c.beginning(ctx, w.reader, c.podsOf(c.deployments.ownedBy(c.csv())))), nil
}

// mayApprove reports whether a plan installs the wanted CSV, alone or with what it
// depends on, and upgrades nothing that another Subscription holds back.
func (c *chain) mayApprove(p *unstructured.Unstructured) bool {
	names := texts(p, "spec", "clusterServiceVersionNames")
	return slices.Contains(names, c.want) && !slices.ContainsFunc(c.subscribed, func(s *unstructured.Unstructured) bool {
		return text(s, "spec", "name") != c.pkg && text(s, "spec", "installPlanApproval") == "Manual" && slices.Contains(names, text(s, "status", "currentCSV"))
	})
}

// awaitCatalog waits until OLM is connected to a catalog that has just been
// made: until then it resolves by what it remembers of one of the same name,
// such as the one of a run that failed. It does not wait for long where
// something is wrong with the catalog: to say what is for others.
func awaitCatalog(ctx context.Context, r Reader, source *unstructured.Unstructured, limit time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var wrong time.Duration // for how long something has been
	for looks := 0; ; looks++ {
		live, err := r.Read(limited, source)
		if err == nil && live != nil {
			if text(live, "status", "connectionState", "lastObservedState") == "READY" {
				return nil
			}
			if looks > 0 && looks%int(inspect/glance) == 0 {
				var broken bool
				if broken, err = catalogBroken(limited, r, live); broken {
					wrong += inspect
				} else {
					wrong = 0
				}
			}
		}
		if err != nil && limited.Err() == nil && !passing(err) || wrong >= fresh {
			return err
		}
		if !host.Pause(limited, glance) {
			return ctx.Err()
		}
	}
}

// catalogBroken reports whether something is wrong with a catalog, or with what serves it.
func catalogBroken(ctx context.Context, r Reader, source *unstructured.Unstructured) (bool, error) {
	c, err := look(ctx, r, source.GetNamespace(), "", "")
	if err != nil {
		return false, err
	}
	f := c.unreachable(ctx, r, source)
	return f != nil && f.after != waitOnly && f.after <= patient, nil
}

// Deployed is an operator that was applied to a cluster without OLM.
type Deployed struct {
	Reader  Reader
	Objects []*unstructured.Unstructured // everything that was applied
	Timeout time.Duration                // of Wait
	Now     func() time.Time
	Say     func(format string, args ...any) // told of what takes long
	watch
}

// Wait blocks until every object is ready and the operator does its work, a
// finding is final, or the time is up. The error is a *Failure, unless the
// cluster could not be asked. A second Wait begins afresh: what the first has
// found counts no more.
func (d *Deployed) Wait(ctx context.Context) error {
	d.watch = watch{now: d.Now, say: d.Say}
	silent := &Finding{Object: kube.RefOf(d.Objects[0]), Problem: "the cluster did not answer in time"}
	err := d.until(ctx, d.Timeout, inspect, silent, d.look, func(about kube.Ref) string {
		look := "mysdk kubectl describe " + strings.ToLower(about.Kind) + " " + about.Name
		if about.Namespace != "" {
			look += " -n " + about.Namespace
		}
		return look
	})
	// One that is ready when the time is up, and only has to become the leader, is fine.
	if f, ok := errors.AsType[*Failure](err); ok && f.Finding == silent && !d.goodSince.IsZero() && ctx.Err() == nil {
		return nil
	}
	return err
}

// look looks once. done is true when all has been well for long enough.
func (d *Deployed) look(ctx context.Context) (done bool, err error) {
	f, c, err := d.find(ctx)
	if err != nil {
		return false, err
	}
	if d.standing.final(f, d.Now(), d.Say) {
		return false, &Failure{Finding: f}
	}
	if f != nil {
		d.goodSince = time.Time{}
		return false, nil
	}
	if d.goodSince.IsZero() {
		d.goodSince = d.Now()
	}
	// Only an operator that works can lack the rights for it.
	good := d.Now().Sub(d.goodSince)
	return good >= settle && !(good < begins && c.beginning(ctx, d.Reader, c.podsOf(c.deployments))), nil
}

// Check looks once and returns what is not as it should be; nil if all is well.
func (d *Deployed) Check(ctx context.Context) (*Finding, error) {
	f, _, err := d.find(ctx)
	return f, err
}

// find looks for what is wrong, and returns the operator's workloads with it. Whatever
// keeps a Deployment from being available tells more than that it is not.
func (d *Deployed) find(ctx context.Context) (*Finding, *chain, error) {
	c := &chain{deployed: true}
	var mine, namespaces []string
	var missing *Finding
	for _, u := range d.Objects {
		live, err := d.Reader.Read(ctx, u)
		if err != nil {
			return nil, nil, err
		}
		problem := "does not exist"
		if live != nil {
			u, problem = live, kube.NotReady(live)
		}
		if problem != "" && (missing == nil || u.GetKind() == "Deployment") {
			missing = c.finding(u, waitOnly, problem, "")
		}
		if live != nil && u.GetKind() == "Deployment" {
			mine, namespaces = append(mine, string(u.GetUID())), append(namespaces, u.GetNamespace())
		}
	}
	slices.Sort(namespaces)
	if err := c.read(ctx, d.Reader, c.workloads(slices.Compact(namespaces))); err != nil {
		return nil, nil, err
	}
	c.deployments = c.deployments.where(func(u *unstructured.Unstructured) bool { return slices.Contains(mine, string(u.GetUID())) })
	for _, u := range c.deployments {
		if f := c.checkDeployment(ctx, d.Reader, u); f != nil {
			return f, c, nil
		}
	}
	f, err := c.checkRights(ctx, d.Reader, c.podsOf(c.deployments))
	if f == nil {
		f = missing
	}
	return f, c, err
}
