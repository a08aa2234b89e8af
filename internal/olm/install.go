package olm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
)

const (
	// DefaultTimeout bounds the waiting of an installation.
	DefaultTimeout = 2 * time.Minute
	// firstPause and lastPause bound the pauses between two looks.
	firstPause = 10 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// InstallOptions say how to install.
type InstallOptions struct {
	Timeout  time.Duration                          // 0: DefaultTimeout
	Now      func() time.Time                       // clock
	Step     func(done string, after time.Duration) // called when a step is done; nil is fine
	Progress func(kube.Result)                      // called for each object; nil is fine
}

// Installed is what Install found and did.
type Installed struct {
	Before  string // that was there before, "" for none
	Changed int    // objects that were made or changed
}

// Install brings m to the cluster and waits until all of it works. What is
// there already is left as it is, so that an interrupted installation goes on
// where it was, and a second one changes nothing. An error at the end of the
// time names what is not ready and why; its code is clierr.CodeUnavailable.
func Install(ctx context.Context, c *kube.Client, m Manifests, o InstallOptions) (Installed, error) {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	i := &installer{Client: c, manifests: m, options: o, deadline: o.Now().Add(o.Timeout)}
	err := i.run(ctx)
	return i.done, err
}

type installer struct {
	*kube.Client
	manifests Manifests
	options   InstallOptions
	deadline  time.Time
	done      Installed
	updated   bool // the packageserver's ClusterServiceVersion was there, and is another one now
}

func (i *installer) run(ctx context.Context) error {
	if err := i.check(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		done string
		do   func(context.Context) error
	}{
		{fmt.Sprintf("%d CRDs are served", len(i.manifests.CRDs)), i.applyCRDs},
		{fmt.Sprintf("%d objects are there", len(i.manifests.Objects)), i.applyObjects},
		{"olm-operator and catalog-operator are available", i.waitOperators},
		{"the packageserver works", i.waitPackageServer},
	} {
		began := i.options.Now()
		if err := step.do(ctx); err != nil {
			return err
		}
		if i.options.Step != nil {
			i.options.Step(step.done, i.options.Now().Sub(began))
		}
	}
	return nil
}

// check refuses what would break an OLM that is there.
func (i *installer) check(ctx context.Context) error {
	there, err := Find(ctx, i.Client)
	if err != nil || there.Version == "" {
		return err
	}
	if err := there.refuse(); err != nil {
		return err
	}
	i.done.Before = there.Version
	uninstall := UninstallFirst(there.Namespace)
	if there.Namespace != i.manifests.Namespace {
		return clierr.Failedf("use that one, or "+uninstall, "OLM %s is already installed in namespace %s", there.Version, there.Namespace)
	}
	if Older(i.manifests.Version, there.Version) {
		return clierr.Failedf("keep it, or "+uninstall, "OLM %s is already installed and newer than %s: OLM cannot be downgraded", there.Version, i.manifests.Version)
	}
	return nil
}

// Older reports whether a version of OLM is lower than another. What is no version is not.
func Older(version, than string) bool {
	a, errA := semver.Parse(version)
	b, errB := semver.Parse(than)
	return errA == nil && errB == nil && a.LT(b)
}

// UninstallFirst is what to do about an OLM that is in the way.
func UninstallFirst(namespace string) string {
	return "uninstall it first with 'mysdk olm uninstall" + NamespaceFlag(namespace) + "'"
}

// applyCRDs applies the CRDs side by side: each keeps the server busy for a
// while, and none needs another.
func (i *installer) applyCRDs(ctx context.Context) error {
	var work sync.WaitGroup
	results, errs := make([][]kube.Result, len(i.manifests.CRDs)), make([]error, len(i.manifests.CRDs))
	for n, crd := range i.manifests.CRDs {
		work.Go(func() {
			results[n], errs[n] = i.Apply(ctx, []*unstructured.Unstructured{crd}, kube.ApplyOptions{Force: true})
		})
	}
	work.Wait()
	for _, r := range results {
		i.count(r)
	}
	if err := errors.Join(errs...); err != nil {
		return clierr.WithHint(err, again)
	}
	return i.WaitEstablished(ctx, i.manifests.CRDs)
}

// applyObjects takes fields over from others: the tool that installed OLM before.
func (i *installer) applyObjects(ctx context.Context) error {
	results, err := i.Apply(ctx, i.manifests.Objects, kube.ApplyOptions{Force: true})
	i.count(results)
	i.updated = slices.ContainsFunc(results, func(r kube.Result) bool {
		return r.Ref.Kind == "ClusterServiceVersion" && r.Action == kube.Configured
	})
	return clierr.WithHint(err, again)
}

// again is the hint for a failure half-way.
const again = "fix the problem and run the command again: it continues where it stopped"

func (i *installer) count(results []kube.Result) {
	for _, r := range results {
		if r.Action != kube.Unchanged {
			i.done.Changed++
		}
		if i.options.Progress != nil {
			i.options.Progress(r)
		}
	}
}

func (i *installer) waitOperators(ctx context.Context) error {
	return i.WaitReady(ctx, i.manifests.ofKind("Deployment"), i.left())
}

func (i *installer) left() time.Duration { return max(i.deadline.Sub(i.options.Now()), firstPause) }

// waitPackageServer waits for the packageserver, which OLM installs: that it
// works shows that OLM does.
func (i *installer) waitPackageServer(ctx context.Context) error {
	servers := i.manifests.ofKind("ClusterServiceVersion")
	if len(servers) == 0 {
		return nil // an OLM without
	}
	server := servers[len(servers)-1]
	var pods []*unstructured.Unstructured
	if i.updated {
		pods = serverPods(server)
	}
	pause := firstPause
	for {
		live, err := i.Read(ctx, server)
		if err != nil {
			return err
		}
		why := "it does not exist"
		if live != nil {
			why = csvTrouble(live)
		}
		// What an update finds in its status can be from before it.
		if why == "" && len(pods) > 0 {
			if why, err = i.behind(ctx, pods); err != nil {
				return err
			}
		}
		if why == "" {
			return i.WaitReady(ctx, pods, i.left())
		}
		if !i.options.Now().Before(i.deadline) {
			return clierr.Unavailablef("see 'mysdk olm status'; running the command again continues where it stopped",
				"%s is not ready after %s: %s", kube.RefOf(server), i.options.Timeout, why)
		}
		if !host.Pause(ctx, pause) {
			return ctx.Err()
		}
		pause = min(pause*3/2, lastPause)
	}
}

// serverPods are the Deployments of the packageserver as OLM makes them; nil
// where the manifests have none.
func serverPods(server *unstructured.Unstructured) []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	specs, _, _ := unstructured.NestedSlice(server.Object, "spec", "install", "spec", "deployments")
	for _, item := range specs {
		spec, _ := item.(map[string]any)
		name, _ := spec["name"].(string)
		d := kube.Named("apps/v1", "Deployment", server.GetNamespace(), name)
		d.Object["spec"] = spec["spec"]
		list = append(list, d)
	}
	return list
}

// behind says which of the Deployments OLM has not updated yet; "" for none.
func (i *installer) behind(ctx context.Context, deployments []*unstructured.Unstructured) (string, error) {
	for _, d := range deployments {
		live, err := i.Read(ctx, d)
		if err != nil {
			return "", err
		}
		if live == nil || !slices.Equal(podImages(live), podImages(d)) {
			return fmt.Sprintf("OLM has not updated %s yet", kube.RefOf(d)), nil
		}
	}
	return "", nil
}

// podImages are the images of a Deployment's containers.
func podImages(d *unstructured.Unstructured) []string {
	var images []string
	containers, _, _ := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
	for _, item := range containers {
		c, _ := item.(map[string]any)
		image, _ := c["image"].(string)
		images = append(images, image)
	}
	return images
}

// csvTrouble says why a ClusterServiceVersion does not work; "" if it does.
func csvTrouble(csv *unstructured.Unstructured) string {
	status, _, _ := unstructured.NestedMap(csv.Object, "status") // absent until OLM has seen it
	text := func(field string) string { s, _ := status[field].(string); return s }
	switch phase := text("phase"); phase {
	case "Succeeded":
		return ""
	case "":
		return "OLM has not processed it yet"
	default:
		return strings.TrimSpace(fmt.Sprintf("%s: %s %s", phase, text("reason"), text("message")))
	}
}

// Found is the OLM that is in a cluster.
type Found struct {
	Version   string `json:"version,omitempty"` // "" for none, "unknown" where nothing tells it
	Namespace string `json:"namespace,omitempty"`
	Platform  bool   `json:"-"` // it is part of the cluster, as on OpenShift
}

// refuse is an error for an OLM that is not ours to change.
func (f Found) refuse() error {
	if !f.Platform {
		return nil
	}
	return clierr.Failedf("install operators with 'mysdk run bundle', and remove them with 'mysdk cleanup PACKAGE'",
		"OLM %s in namespace %s is part of this cluster", f.Version, f.Namespace)
}

// Find looks for the OLM that is in the cluster.
func Find(ctx context.Context, c *kube.Client) (Found, error) {
	live, err := c.Read(ctx, kube.Named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", csvCRD))
	if err != nil || live == nil {
		return Found{}, err
	}
	servers, err := c.List(ctx, kind("ClusterServiceVersion"), kube.ListOptions{Selector: versionLabel})
	if err != nil {
		return Found{}, err
	}
	for _, s := range servers {
		if labels := s.GetLabels(); s.GetName() == packageServer {
			return Found{strings.TrimPrefix(labels[versionLabel], "v"), s.GetNamespace(), labels[platformLabel] != ""}, nil
		}
	}
	return Found{Version: "unknown", Namespace: cmp.Or(live.GetAnnotations()[state.OLMNamespaceAnnotation], DefaultNamespace)}, nil
}
