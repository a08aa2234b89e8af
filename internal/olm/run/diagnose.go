package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
)

// How long a finding must stand before it is final. What heals by itself when
// the next object comes, or a pull that is tried again, gets more time.
const (
	atOnce    = 0 * time.Second
	soon      = 2 * time.Second
	patient   = 5 * time.Second
	reconnect = time.Minute // to a catalog whose pods are ready
	waitOnly  = -1          // never final by itself: the timeout decides
)

// Finding is the first object of a chain that is not healthy.
type Finding struct {
	Object    kube.Ref      `json:"-"`
	Problem   string        `json:"problem"`             // what is wrong with it, in a sentence without its name
	Condition string        `json:"condition,omitempty"` // what the API reports about it, in one line
	Event     string        `json:"event,omitempty"`     // its newest warning
	Log       []string      `json:"log,omitempty"`       // the end of the container's log
	Hint      string        `json:"hint,omitempty"`      // what to do about it
	after     time.Duration // how long it must stand to be final
}

// MarshalJSON has the object the way messages have it.
func (f *Finding) MarshalJSON() ([]byte, error) {
	type plain Finding
	return json.Marshal(struct {
		Object string `json:"object"`
		*plain
	}{f.Object.String(), (*plain)(f)})
}

// Heals reports whether time alone may put it right.
func (f *Finding) Heals() bool { return f.after == waitOnly }

// String is the object and the problem.
func (f *Finding) String() string { return f.Object.String() + ": " + f.Problem }

// Details are the lines that show where the finding comes from.
func (f *Finding) Details() []string {
	var lines []string
	if f.Condition != "" {
		lines = append(lines, "condition: "+f.Condition)
	}
	if f.Event != "" {
		lines = append(lines, "event: "+f.Event)
	}
	for _, l := range f.Log {
		lines = append(lines, "log: "+l)
	}
	return lines
}

// same reports whether two looks found the same thing.
func (f *Finding) same(g *Finding) bool {
	return f != nil && g != nil && f.Object == g.Object && f.Problem == g.Problem
}

// Operator is one that OLM has installed, or is to install.
type Operator struct {
	Namespace string   `json:"namespace"`
	Package   string   `json:"package,omitempty"` // empty: its CSV was applied by hand
	CSV       string   `json:"csv,omitempty"`
	Phase     string   `json:"phase,omitempty"`   // of the CSV
	Finding   *Finding `json:"finding,omitempty"` // what is not as it should be; nil: all is well
	Note      *Finding `json:"note,omitempty"`    // an upgrade that waits for approval
}

// Operators looks at every operator of a namespace, or of all for "": those
// with a Subscription and those whose CSV was applied by hand. With pkg, only
// that package counts.
func Operators(ctx context.Context, r Reader, namespace, pkg string) ([]Operator, error) {
	if err := requireOLM(ctx, r); err != nil {
		return nil, err
	}
	subs, err := list(ctx, r, olmV1alpha1, "Subscription", namespace)
	if err != nil {
		return nil, err
	}
	csvs, err := list(ctx, r, olmV1alpha1, "ClusterServiceVersion", namespace)
	if err != nil {
		return nil, err
	}
	all := []Operator{}
	subscribed := map[string]bool{}
	for _, s := range subs {
		for _, csv := range csvsOfSubscription(s) {
			subscribed[s.GetNamespace()+"/"+csv] = true
		}
		if name := text(s, "spec", "name"); pkg == "" || pkg == name {
			all = append(all, Operator{Namespace: s.GetNamespace(), Package: name, CSV: text(s, "status", "currentCSV")})
		}
	}
	for _, u := range csvs {
		if pkg == "" && !subscribed[u.GetNamespace()+"/"+u.GetName()] {
			all = append(all, Operator{Namespace: u.GetNamespace(), CSV: u.GetName()})
		}
	}
	for i := range all {
		if err := all[i].look(ctx, r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (o *Operator) look(ctx context.Context, r Reader) error {
	want := ""
	if o.Package == "" {
		want = o.CSV
	}
	c, err := look(ctx, r, o.Namespace, o.Package, want)
	if err != nil {
		return err
	}
	// An upgrade that the user is to approve leaves what runs as it is.
	installed := text(c.subscription, "status", "installedCSV")
	if p := c.plan(); text(p, "status", "phase") == "RequiresApproval" && c.csv() == nil && c.csvs.in(o.Namespace).find(installed) != nil {
		o.Note = c.checkPlan(ctx, r)
		o.Note.Problem = fmt.Sprintf("the upgrade to %s %s", c.csvName(), o.Note.Problem)
		c.want, o.CSV = installed, installed
	}
	o.Phase = text(c.csv(), "status", "phase")
	o.Finding, err = c.diagnose(ctx, r)
	return err
}

// diagnose walks the chain. Each step either finds something, or leads on to the next one.
func (c *chain) diagnose(ctx context.Context, r Reader) (*Finding, error) {
	if c.subscription == nil && c.pkg != "" && c.want == "" {
		return c.finding(kube.Named(olmV1alpha1, "Subscription", c.namespace, c.pkg), waitOnly, "there is none of this package", ""), nil
	}
	csv := c.csv()
	if csv == nil {
		for _, step := range []func(context.Context, Reader) *Finding{
			c.checkCatalog, c.checkUnpacking, c.checkSubscription, c.checkPlan,
		} {
			if f := step(ctx, r); f != nil {
				return f, nil
			}
		}
		if c.subscription == nil {
			return c.finding(kube.Named(olmV1alpha1, "ClusterServiceVersion", c.namespace, c.csvName()), waitOnly, "does not exist", ""), nil
		}
		return c.finding(c.subscription, waitOnly, "OLM has not made an InstallPlan for it yet", ""), nil
	}
	// A CSV may be there before the CRDs of its plan: it only knows that they are
	// missing, and the plan knows why, or has yet to make them.
	if f := c.checkPlan(ctx, r); f != nil && (f.after != waitOnly || text(csv, "status", "reason") == "RequirementsNotMet") {
		return f, nil
	}
	f, err := c.checkOperator(ctx, r, csv)
	if f != nil || err != nil || c.want != "" {
		return f, err
	}
	// All is well with what is installed; there may be something newer that cannot be.
	return c.checkSubscription(ctx, r), nil
}

// checkOperator walks from the CSV to the pods. An operator that OLM is content
// with is asked for its rights.
func (c *chain) checkOperator(ctx context.Context, r Reader, csv *unstructured.Unstructured) (*Finding, error) {
	// A CSV that has failed for a reason of its own has no pods to look at, or
	// old ones. One that only waits knows less than what it waits for.
	if f := c.checkCSV(csv); f != nil && f.after != waitOnly {
		// OLM replaces only what works, and its pods may already run the new program.
		if old := c.csvs.in(csv.GetNamespace()).find(text(csv, "spec", "replaces")); old != nil && text(csv, "status", "reason") == "RequirementsNotMet" {
			f = cmp.Or(c.checkDeployments(ctx, r, c.deployments.ownedBy(old)), f)
		}
		return f, nil
	}
	deployments := c.deployments.ownedBy(csv)
	if f := c.checkDeployments(ctx, r, deployments); f != nil {
		return f, nil
	}
	f, err := c.checkRights(ctx, r, c.podsOf(deployments))
	if f != nil || err != nil {
		return f, err
	}
	return c.checkCSV(csv), nil
}

// checkDeployments is what is wrong with the first of them that is not healthy.
func (c *chain) checkDeployments(ctx context.Context, r Reader, deployments objects) *Finding {
	for _, d := range deployments {
		if f := c.checkDeployment(ctx, r, d); f != nil {
			return f
		}
	}
	return nil
}

func (c *chain) podsOf(deployments objects) objects {
	var pods objects
	for _, d := range deployments {
		for _, rs := range c.replicaSets.ownedBy(d) {
			pods = append(pods, c.pods.ownedBy(rs)...)
		}
	}
	return pods
}

// finding makes one with u's newest warning.
func (c *chain) finding(u *unstructured.Unstructured, after time.Duration, problem, hint string) *Finding {
	return &Finding{Object: kube.RefOf(u), Problem: problem, Event: c.eventOf(u), Hint: hint, after: after}
}

// by notes what the API reports about the object.
func (f *Finding) by(condition string) *Finding {
	f.Condition = condition
	return f
}

// checkCatalog looks at the CatalogSource of the Subscription and at what serves it.
func (c *chain) checkCatalog(ctx context.Context, r Reader) *Finding {
	if c.subscription == nil {
		return nil
	}
	namespace, name := text(c.subscription, "spec", "sourceNamespace"), text(c.subscription, "spec", "source")
	source := c.catalogs.in(namespace).find(name)
	if source == nil {
		ref := kube.Named(olmV1alpha1, "CatalogSource", namespace, name)
		if _, err := r.Read(ctx, ref); err != nil {
			return nil // it may be in a namespace that the user does not see
		}
		return c.finding(ref, soon, fmt.Sprintf("does not exist, and Subscription %s takes its operator from it", c.subscription.GetName()),
			"correct spec.source and spec.sourceNamespace of the Subscription, or apply the CatalogSource")
	}
	return c.unreachable(ctx, r, source)
}

// serving looks at the Deployment and the pods behind a catalog: whether there
// are any, and what is wrong with them. While they start it is waitOnly.
func (c *chain) serving(ctx context.Context, r Reader, source *unstructured.Unstructured) (served bool, f *Finding) {
	var found []*Finding
	if d := c.deployments.in(source.GetNamespace()).find(serverName(source.GetName())); isOurs(d) {
		found = append(found, c.checkDeployment(ctx, r, d))
	}
	for _, pod := range c.pods.in(source.GetNamespace()) {
		if pod.GetLabels()["olm.catalogSource"] == source.GetName() {
			found = append(found, c.checkPod(ctx, r, pod))
		}
	}
	for _, one := range found {
		if one != nil && (f == nil || f.after == waitOnly && one.after != waitOnly) {
			f = one
		}
	}
	return len(found) > 0, f
}

// patience is how long a catalog may be out of reach. OLM lets more and more
// time pass before it tries one again whose pods took a while to start.
func patience(served bool) time.Duration {
	if served {
		return reconnect
	}
	return patient
}

// unreachable says why OLM gets nothing from a catalog; nil if it does, or has
// not tried yet.
func (c *chain) unreachable(ctx context.Context, r Reader, source *unstructured.Unstructured) *Finding {
	served, f := c.serving(ctx, r, source)
	if f != nil {
		return f
	}
	// gRPC's own names: IDLE and an empty one say that nobody has tried yet,
	// which is not the catalog's fault.
	state := text(source, "status", "connectionState", "lastObservedState")
	where := cmp.Or(text(source, "status", "connectionState", "address"), text(source, "spec", "address"))
	if reason := text(source, "status", "reason"); reason != "" && state != "READY" {
		return c.finding(source, patient, "OLM cannot use it: "+oneLine(text(source, "status", "message")),
			"correct the CatalogSource's spec").by(reason)
	}
	if state != "TRANSIENT_FAILURE" && state != "CONNECTING" && state != "SHUTDOWN" {
		return nil
	}
	return c.finding(source, patience(served), fmt.Sprintf("its catalog cannot be reached at %s (gRPC connection %s)", where, state),
		removeCatalog(source)).by("connectionState=" + state)
}

// checkUnpacking looks at the Jobs that unpack bundle images.
func (c *chain) checkUnpacking(ctx context.Context, r Reader) *Finding {
	if c.subscription == nil {
		return nil
	}
	// Only while the Subscription says so: Jobs of older bundles stay around for minutes.
	failed := conditionOf(c.subscription, "BundleUnpackFailed")
	if failed.status != "True" && conditionOf(c.subscription, "BundleUnpacking").status != "True" {
		return nil
	}
	for _, job := range c.jobs {
		if job.GetLabels()[unpackLabel] == "" {
			continue
		}
		for _, pod := range c.pods.ownedBy(job) {
			if f := c.checkPod(ctx, r, pod); f != nil && f.after != waitOnly {
				f.Problem += ", and so the bundle cannot be unpacked"
				return f
			}
		}
		if broken := conditionOf(job, "Failed"); broken.status == "True" {
			return c.finding(job, soon, "the bundle could not be unpacked: "+oneLine(broken.message),
				fmt.Sprintf("delete the job, or OLM does not try again for minutes: mysdk kubectl delete job -n %s %s",
					job.GetNamespace(), job.GetName())).by(broken.text())
		}
	}
	if failed.status != "True" {
		return nil
	}
	return c.finding(c.subscription, soon, "the bundle could not be unpacked: "+oneLine(failed.message),
		"check the image of the bundle with 'mysdk bundle validate IMAGE'").by(failed.text())
}

// catalogErrorPattern is how OLM's resolver names a catalog that it gets nothing from.
const catalogErrorPattern = `error using catalogsource ([^/\s]+)/([^:\s]+): (.*)`

// catalogFailed turns OLM's complaint about a catalog into a finding.
func (c *chain) catalogFailed(ctx context.Context, r Reader, failed condition, namespace, name, why string) *Finding {
	source := cmp.Or(c.catalogs.in(namespace).find(name), kube.Named(olmV1alpha1, "CatalogSource", namespace, name))
	f := c.unreachable(ctx, r, source)
	if f != nil && f.after == waitOnly {
		return f
	}
	if f == nil {
		if i := strings.LastIndex(why, "desc = "); i >= 0 {
			why = why[i+len("desc = "):] // the rest is gRPC's
		}
		why = strings.TrimPrefix(why, fmt.Sprintf("catalog %s/%s: ", namespace, name))
		served, _ := c.serving(ctx, r, source) // nothing is wrong with what serves it
		// What the embedded cluster reports about an image itself is its last word,
		// whatever the state of the pods that stand for it.
		served = served && !strings.HasSuffix(c.eventOf(source), ": "+why)
		where := "at " + text(source, "spec", "address")
		if img := text(source, "spec", "image"); img != "" {
			where = "from image " + img
		}
		f = c.finding(source, patience(served), fmt.Sprintf("its catalog cannot be read %s: %s", where, why), removeCatalog(source))
	}
	f.Problem += "; and OLM resolves nothing in namespace " + c.namespace + " until it can"
	return f.by(failed.text())
}

// removeCatalog is what to do about a catalog that is out of reach.
func removeCatalog(source *unstructured.Unstructured) string {
	return fmt.Sprintf("check what serves it, or delete the CatalogSource: mysdk kubectl delete catalogsource -n %s %s", source.GetNamespace(), source.GetName())
}

// checkPlan looks at the InstallPlan.
func (c *chain) checkPlan(context.Context, Reader) *Finding {
	p := c.plan()
	if p == nil {
		return nil
	}
	switch phase := text(p, "status", "phase"); phase {
	case "Failed":
		installed := conditionOf(p, "Installed")
		f := c.planFailed(p, "it failed: ", installed.message)
		f.after = atOnce
		return f.by(installed.text())
	case "RequiresApproval":
		return c.finding(p, waitOnly, "waits for approval, as a Subscription in the namespace has installPlanApproval: Manual",
			fmt.Sprintf(`approve it: mysdk kubectl patch installplan -n %s %s --type merge -p '{"spec":{"approved":true}}'`, c.namespace, p.GetName()))
	case "Complete":
	default:
		// OLM tries again for a minute whatever the reason is.
		if why, retrying := strings.CutPrefix(text(p, "status", "message"), "retrying execution due to error: "); retrying {
			return c.planFailed(p, "", why)
		}
		var waiting []string
		for _, step := range entries(p, "status", "plan") {
			if s := text(step, "status"); s != "Created" && s != "Present" {
				waiting = append(waiting, text(step, "resource", "kind")+" "+text(step, "resource", "name"))
			}
		}
		if len(waiting) > 0 {
			return c.finding(p, waitOnly, "not made yet: "+strings.Join(slices.Compact(waiting), ", "), "")
		}
	}
	return nil
}

// refusedPattern is how the API server words that an object is not valid
// (k8s.io/apimachinery, NewInvalid).
const refusedPattern = `(\w+)\.[\w.-]+ "([^"]+)" is invalid: (.*)`

// planFailed explains the error that a step of an InstallPlan ended with. It is
// final only where trying again cannot help.
func (c *chain) planFailed(p *unstructured.Unstructured, prefix, message string) *Finding {
	message = oneLine(message)
	f := c.finding(p, waitOnly, prefix+message, "correct the bundle, then run the command again")
	switch m := regexp.MustCompile(refusedPattern).FindStringSubmatch(message); {
	case m != nil && m[1] == "CustomResourceDefinition":
		f.after, f.Problem = patient, fmt.Sprintf("the API server refuses %s %s: %s", m[1], m[2], m[3])
		f.Hint = "correct the markers of the Go type, then run 'mysdk generate' and 'mysdk bundle generate'; 'mysdk bundle validate' finds the same"
	case m != nil:
		f.after, f.Problem = patient, fmt.Sprintf("the API server refuses %s %s: %s", m[1], m[2], m[3])
	case strings.Contains(message, "conversion webhook"): // that OLM has yet to write its own Service into
		f.Hint = fmt.Sprintf("OLM reads the objects that exist through the conversion webhook: check that the operator's pods are ready with 'mysdk kubectl get pods -n %s'", c.namespace)
	case strings.Contains(message, "existing CRs") || strings.Contains(message, "storage version") || strings.Contains(message, "validation"):
		f.after, f.Hint = patient, "the new CRD does not take objects that exist: change them, or keep the schema compatible"
	case strings.Contains(message, "forbidden"):
		f.Hint = "the OperatorGroup's service account lacks a right that the bundle needs"
	}
	return f
}
