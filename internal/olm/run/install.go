// Package run installs a bundle on a cluster with OLM, upgrades it and takes it
// away again. It makes the catalog, the OperatorGroup and the Subscription,
// waits until the operator is installed to stay, and when it is not, walks from
// the CatalogSource to the pod and names the first object that is at fault. It
// knows OLM's objects and what they say; it does not know registries, how a
// bundle is written, or the command line.
package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm"
)

// Options say how to run a bundle.
type Options struct {
	From           string        // what the bundle was read from, for hints; empty: unknown
	Namespace      string        // to install into
	Mode           Mode          // zero: what the namespace's OperatorGroup has, else what the CSV supports
	Upgrade        bool          // the package must be installed already
	Rollback       bool          // on a failure, bring back what was before
	Timeout        time.Duration // for the operator to be installed
	PullSecrets    []string      // Secrets with the credentials for images, in Namespace
	ServiceAccount string        // of the catalog's pod
	PullPolicy     string        // of the catalog's pod; empty: IfNotPresent
	CatalogImages  []string      // that PullSecrets are for, besides the operator's
	OPMImage       string        // serves the catalog; empty: the one that mysdk was tested with

	// How the embedded cluster speaks to the registries of bundles that the
	// catalog names: by a Secret in Namespace with their CA's certificate, by
	// any certificate, and by plain http.
	CASecret              string
	SkipVerify, PlainHTTP bool

	// Embedded says that the cluster serves catalogs itself, without pods.
	Embedded bool
	// Publish pushes a catalog as an image, which OLM then serves from the directory
	// dir of it. The image is by digest: so the CatalogSource changes when the catalog
	// does. Without Publish the catalog is kept in ConfigMaps.
	Publish func(ctx context.Context, c *catalog.Catalog) (image, dir string, err error)
	// FetchCatalog reads the catalog of an image back.
	FetchCatalog func(ctx context.Context, image string) (*catalog.Catalog, error)
	// Credentials gives what this machine knows of the registries of images, as
	// a Secret of type kubernetes.io/dockerconfigjson has it; nil: nothing. A
	// Secret of PullSecrets that is not there is made of it.
	Credentials func(images []string) ([]byte, error)
	// Index is a catalog that the bundle is added to; nil: none.
	Index *catalog.Catalog
	// Prepare is called before anything is written, once it is clear that
	// there is something to do, and returns what undoes it.
	Prepare func(ctx context.Context) (undo func(context.Context) error, err error)

	Now      func() time.Time
	Say      func(format string, args ...any) // told each step
	Progress func(kube.Result)                // told each object
}

// command is what installs the bundle into a namespace, for hints.
func (o Options) command(verb, namespace string) string {
	return fmt.Sprintf("mysdk run %s %s -n %s", verb, cmp.Or(o.From, "BUNDLE"), namespace)
}

// Result is what a run did.
type Result struct {
	Package   string `json:"package"`
	CSV       string `json:"csv"`
	Replaced  string `json:"replaced,omitempty"` // the CSV whose place it took
	Namespace string `json:"namespace"`
	Mode      string `json:"installMode"`
	Action    string `json:"action"` // Installed, Upgraded, Reinstalled or Unchanged
}

type installer struct {
	Options
	client  *kube.Client
	reader  Reader // the client, for what only looks
	bundle  *bundle.Bundle
	csv     *unstructured.Unstructured // of the bundle
	before  *survey
	action  string
	group   groupPlan
	channel string
	content string                       // digest of the bundle
	was     string                       // digest of the one that is installed, where the catalog has it
	secrets []*unstructured.Unstructured // pull secrets to be made
	apply   []*unstructured.Unstructured // in this order
	stale   []*unstructured.Unstructured // of the catalog before, not needed any more

	namespaces []*unstructured.Unstructured // that the run has created
}

// Install brings b to the cluster and waits until OLM has installed it to stay.
// Everything that can be known to be wrong beforehand is an error before the
// first write. A *Failure in the error's chain says which object is at fault.
func Install(ctx context.Context, c *kube.Client, b *bundle.Bundle, o Options) (Result, error) {
	in := &installer{Options: o, client: c, reader: c, bundle: b}
	if err := in.plan(ctx); err != nil {
		return Result{}, err
	}
	if err := in.render(ctx); err != nil {
		return Result{}, err
	}
	// Last, as nothing but a failed run undoes it.
	undo := func(context.Context) error { return nil }
	if in.Prepare != nil {
		var err error
		if undo, err = in.Prepare(ctx); err != nil {
			return Result{}, err
		}
	}
	err := in.write(ctx)
	if err == nil {
		_, made := split(in.apply)
		wanted := in.content
		if in.action == Unchanged {
			wanted = "" // OLM has made the CSV of it already
		}
		err = in.bring(ctx, made, in.csv.GetName(), in.replaced(), wanted)
	}
	if err != nil {
		return Result{}, in.failed(ctx, err, undo)
	}
	return Result{
		Package: b.Package, CSV: in.csv.GetName(), Replaced: in.replaced(), Namespace: o.Namespace,
		Mode: in.group.mode.String(), Action: in.action,
	}, nil
}

// plan finds out what to do. Nothing is written.
func (in *installer) plan(ctx context.Context) error {
	var err error
	if in.csv = in.bundle.CSVObject(); in.csv == nil || in.csv.GetName() == "" {
		return clierr.Failedf("run 'mysdk bundle validate' on it", "the bundle has no ClusterServiceVersion with a name")
	}
	if err := refused(in.csv); err != nil {
		return err
	}
	if in.bundle.Package == "" {
		return clierr.Failedf("see 'mysdk bundle validate'", "the bundle names no package")
	}
	name, check, hint := catalogName(in.bundle.Package), validation.IsValidLabelValue, "use a shorter name for the package"
	if !in.Embedded && in.Publish == nil {
		name, check, hint = serverName(name), validation.IsDNS1035Label, "leave out --no-push, or use another name for the package"
	}
	if why := check(name); len(why) > 0 {
		return clierr.Failedf(hint, "the name of its catalog, %s: %s", name, why[0])
	}
	if err := requireOLM(ctx, in.reader); err != nil {
		return err
	}
	if in.before, err = takeSurvey(ctx, in.reader, in.Namespace, in.bundle.Package, olm.OwnedCRDs(in.csv)); err != nil {
		return err
	}
	in.channel = in.chooseChannel()
	in.content = digest(in.bundle, in.channel)
	if in.action, err = in.before.decide(in.bundle, in.Options, in.content); err != nil {
		return err
	}
	if err := in.before.refuseForeign(in.bundle.Package); err != nil {
		return err
	}
	// Global catalogs are of use only to a bundle that depends on something, and
	// one that cannot be reached would keep any bundle from being installed.
	needy, err := needsOthers(in.bundle)
	if err != nil {
		return err
	}
	mine := append(csvsOfSubscription(in.before.subscription), in.csv.GetName())
	in.group, err = planGroup(groupRequest{
		csv: in.csv, pkg: in.bundle.Package, namespace: in.Namespace, want: in.Mode, groups: in.before.groups,
		others: otherOperators(in.before.csvs, mine...), isolated: !needy,
	})
	if err != nil {
		return err
	}
	// What is installed and does not support the mode fails as soon as the OperatorGroup
	// has it, and OLM upgrades none that has failed.
	if in.group.moved && (in.action == Unchanged ||
		in.action == Upgraded && supports(modesOf(in.before.installed()), in.group.mode, in.Namespace) != "") {
		in.action = Reinstalled
	}
	if err := in.checkSecrets(ctx); err != nil || in.action != Installed && !in.group.moved {
		return err
	}
	return in.refuseConflict(ctx)
}

// chooseChannel is the channel of the Subscription, or the bundle's own.
func (in *installer) chooseChannel() string {
	own := append(slices.Clone(in.bundle.Channels), "alpha") // operator-registry's own default
	return cmp.Or(text(in.before.subscription, "spec", "channel"), in.bundle.DefaultChannel, own[0])
}

// digest tells bundles apart, whatever their version says.
func digest(b *bundle.Bundle, channel string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", channel)
	for _, f := range b.Files {
		fmt.Fprintf(h, "%s %d\n", f.Name, len(f.Data))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// render makes the objects to apply, and publishes the catalog. The Subscription is
// the last of them.
func (in *installer) render(ctx context.Context) error {
	now, err := in.before.catalogNow(ctx, in.Options)
	if err != nil {
		return err
	}
	in.was = markOf(now, text(in.before.subscription, "status", "installedCSV"))
	if err := in.addIndex(now); err != nil {
		return err
	}
	if err := errors.Join(compose(now, in.bundle, in.channel, in.replaced()), mark(now, in.bundle, in.content)); err != nil {
		return err
	}
	if in.apply, err = in.catalog(ctx, now); err != nil {
		return err
	}
	in.apply = append(slices.Clone(in.secrets), in.apply...)
	if in.group.apply != nil {
		in.apply = append(in.apply, in.group.apply)
	}
	// startingCSV is read once, when OLM begins: an upgrade goes on from what is installed.
	start := in.csv.GetName()
	if was := text(in.before.subscription, "spec", "startingCSV"); was != "" && in.action != Reinstalled {
		start = was
	}
	sub := subscription(in.bundle.Package, in.Namespace, in.channel, start, in.content)
	if in.before.subscription != nil {
		sub.SetName(in.before.subscription.GetName())
		// What the user has OLM put into the operator's Deployment, and whether it asks.
		for _, f := range []string{"config", "installPlanApproval"} {
			if v, found, _ := unstructured.NestedFieldCopy(in.before.subscription.Object, "spec", f); found {
				if err := unstructured.SetNestedField(sub.Object, v, "spec", f); err != nil {
					return err
				}
			}
		}
	}
	in.apply = append(in.apply, sub)
	in.stale = in.leftOver()
	return nil
}

// addIndex brings the packages of the index into the catalog, in place of those
// of an index before. What runs have made of the bundle's own package stays.
func (in *installer) addIndex(now *catalog.Catalog) error {
	if in.Index == nil {
		return nil
	}
	index, err := keepFor(in.Index, in.bundle)
	if err != nil {
		return err
	}
	has := func(c *catalog.Catalog, pkg string) bool {
		return slices.ContainsFunc(c.Packages, func(p catalog.Package) bool { return p.Name == pkg })
	}
	index = index.Only(func(pkg string) bool { return pkg != in.bundle.Package || !has(now, pkg) })
	*now = *now.Only(func(pkg string) bool { return !has(index, pkg) })
	merge(now, index)
	return nil
}

// catalog makes the CatalogSource and what serves it.
func (in *installer) catalog(ctx context.Context, c *catalog.Catalog) ([]*unstructured.Unstructured, error) {
	data, err := c.Encode(catalog.JSON)
	if err != nil {
		return nil, err
	}
	objs := catalogObjects{in.Options, in.bundle.Package, fmt.Sprintf("%.16x", sha256.Sum256(data))}
	// The embedded cluster serves ConfigMaps itself, sooner than any pod could.
	if in.Publish != nil && !in.Embedded {
		image, dir, err := in.Publish(ctx, c)
		if err != nil {
			return nil, err
		}
		return objects{objs.byImage(image, dir)}, nil
	}
	list, err := pieces(c, in.Embedded)
	if err != nil {
		return nil, err
	}
	made, service := objs.configMaps(list), catalogName(objs.pkg)
	if !in.Embedded {
		server, err := objs.serve(list)
		if err != nil {
			return nil, err
		}
		made, service = append(made, server...), serverName(service)
	}
	return append(made, objs.byAddress(service)), nil
}

// leftOver are the ConfigMaps and servers of the catalog before that are not applied again.
func (in *installer) leftOver() []*unstructured.Unstructured {
	stale := kube.Without(slices.Concat(in.before.contents, in.before.servers), in.apply)
	return slices.DeleteFunc(stale, func(u *unstructured.Unstructured) bool { return !isOurs(u) })
}

// replaced is the CSV whose place the new one takes, "" without one.
func (in *installer) replaced() string {
	if in.action != Upgraded {
		return ""
	}
	return text(in.before.subscription, "status", "installedCSV")
}

func (in *installer) write(ctx context.Context) error {
	for _, ns := range append([]string{in.Namespace}, in.group.mode.namespaces(in.Namespace)...) {
		created, err := in.client.EnsureNamespace(ctx, ns)
		if err != nil {
			return err
		}
		if created {
			in.Say("Namespace %s created", ns)
			in.namespaces = append(in.namespaces, kube.Named("v1", "Namespace", "", ns))
		}
	}
	if err := in.dropCatalog(ctx, in.action == Installed || in.action == Reinstalled || in.before.stalled != nil); err != nil {
		return err
	}
	// What serves the catalog has the time of the removal to read its new content.
	serving, rest := split(in.apply)
	err := in.putAll(ctx, serving)
	if err != nil {
		return err
	}
	switch {
	case in.action == Reinstalled:
		err = in.remove(ctx)
	case in.before.stalled != nil:
		err = in.retreat(ctx, rest[0])
		rest = rest[1:]
	}
	if err != nil {
		return err
	}
	stale, err := failedJobs(ctx, in.reader, in.Namespace)
	if err != nil {
		return err
	}
	if _, err := in.client.Delete(ctx, stale, kube.DeleteOptions{Progress: in.Progress}); err != nil {
		return err
	}
	if err := in.putAll(ctx, rest); err != nil {
		return err
	}
	_, err = in.client.Delete(ctx, in.stale, kube.DeleteOptions{Progress: in.Progress})
	return err
}

// putAll applies the objects one after the other: Apply would sort them by
// kind, and the Subscription is to come when its catalog is there.
func (in *installer) putAll(ctx context.Context, list []*unstructured.Unstructured) error {
	for _, u := range list {
		if err := in.put(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// put applies one object, and waits until OLM reads a CatalogSource that was not there.
func (in *installer) put(ctx context.Context, u *unstructured.Unstructured) error {
	results, err := in.client.Apply(ctx, []*unstructured.Unstructured{u}, kube.ApplyOptions{Force: true, Progress: in.Progress})
	if err != nil || !isSource(u) || len(results) != 1 || results[0].Action != kube.Created {
		return err
	}
	return awaitCatalog(ctx, in.reader, u, min(connects, in.Timeout))
}

// failedJobs are those that could not unpack a bundle: while one is there, OLM
// does not try again.
func failedJobs(ctx context.Context, r Reader, namespace string) ([]*unstructured.Unstructured, error) {
	jobs, err := r.List(ctx, gvk("batch/v1", "Job"), kube.ListOptions{Namespace: namespace, Selector: unpackLabel})
	if err != nil {
		return nil, err
	}
	return objects(jobs).where(func(u *unstructured.Unstructured) bool {
		return conditionOf(u, "Failed").status == "True"
	}), nil
}

// await waits for the CSV named want, of content.
func (in *installer) await(ctx context.Context, want, old, content string, timeout time.Duration) error {
	w := &waiter{
		reader: in.reader, watch: watch{now: in.Now, say: in.Say}, namespace: in.Namespace, pkg: in.bundle.Package,
		want: want, old: old, content: content, timeout: timeout,
		found: in.shareSecrets,
		approve: func(ctx context.Context, plan *unstructured.Unstructured) error {
			return in.client.Edit(ctx, plan, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				if live == nil {
					return nil, nil
				}
				return live, unstructured.SetNestedField(live.Object, true, "spec", "approved")
			})
		},
	}
	return w.wait(ctx)
}
