package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

const (
	// contentProperty of a bundle in a run's catalog is the digest of what the
	// run installs. It ends up on the CSV, which so tells what OLM has made it
	// of: OLM goes on for half an hour with what it has read of a catalog, until
	// it connects to it again.
	contentProperty = "mysdk.dev/content"
	// propertiesAnnotation is where OLM notes the properties of the bundle that
	// it makes a CSV of.
	propertiesAnnotation = "operatorframework.io/properties"
)

// errOutdated ends the wait for a CSV that OLM makes of what the catalog had before.
var errOutdated = errors.New("OLM installs what it remembers of the catalog, which has changed")

// mark notes on a bundle of a catalog what it was made of.
func mark(c *catalog.Catalog, b *bundle.Bundle, content string) error {
	value, err := json.Marshal(noted{Digest: content})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(c.Bundles, func(x catalog.Bundle) bool { return x.Package == b.Package && x.Name == b.Name() })
	if i < 0 {
		return fmt.Errorf("the catalog lacks %s", b.Name())
	}
	c.Bundles[i].Properties = append(slices.Clone(c.Bundles[i].Properties), catalog.Property{Type: contentProperty, Value: value})
	return nil
}

// markOf is what mark has noted on the bundle of that name; "" without.
func markOf(c *catalog.Catalog, name string) string {
	for _, b := range c.Bundles {
		if digest := notedIn(b.Properties, contentProperty).Digest; b.Name == name && digest != "" {
			return digest
		}
	}
	return ""
}

// noted is what is read of the values of properties.
type noted struct {
	PackageName string `json:"packageName,omitempty"` // of olm.package
	Digest      string `json:"digest,omitempty"`      // of contentProperty
}

// propertyOf is the property of a type among those that OLM has noted; a zero
// one where there is none.
func propertyOf(properties, kind string) noted {
	var list struct{ Properties []catalog.Property }
	// OLM writes it. What is not of that form is not OLM's.
	if json.Unmarshal([]byte(properties), &list) != nil {
		return noted{}
	}
	return notedIn(list.Properties, kind)
}

func notedIn(list []catalog.Property, kind string) noted {
	for _, p := range list {
		var value noted
		if p.Type == kind && json.Unmarshal(p.Value, &value) == nil {
			return value
		}
	}
	return noted{}
}

// packageOf is the package of the bundle that OLM made a CSV of, also where no
// Subscription is there to say so; "" for a CSV that was applied by hand.
func packageOf(csv *unstructured.Unstructured) string {
	return propertyOf(csv.GetAnnotations()[propertiesAnnotation], "olm.package").PackageName
}

// outdated reports whether OLM made a CSV of something else than content; "" is anything.
func outdated(csv *unstructured.Unstructured, content string) bool {
	properties := csv.GetAnnotations()[propertiesAnnotation]
	return content != "" && properties != "" && propertyOf(properties, contentProperty).Digest != content
}

// csvsOf are the CSVs that an InstallPlan makes, as far as they stand in it.
func csvsOf(plan *unstructured.Unstructured) objects {
	var list objects
	for _, step := range entries(plan, "status", "plan") {
		u := &unstructured.Unstructured{}
		// What is not JSON says where the manifest is: not here.
		manifest := []byte(text(step, "resource", "manifest"))
		if text(step, "resource", "kind") == "ClusterServiceVersion" && json.Unmarshal(manifest, &u.Object) == nil {
			list = append(list, u)
		}
	}
	return list
}

// dropCatalog removes the CatalogSource where OLM is to begin with a new one.
// Of one that is only changed OLM remembers the content of before until it
// connects again, which nothing reports: an upgrade waits for that, but a
// recreated Subscription is resolved at once. And where the run turns
// one that is served at an address into one in an image, or back, the address
// of before can stay in its status, and OLM takes its pods being there for all
// being well. What OLM made for the old form goes with it.
func (in *installer) dropCatalog(ctx context.Context, fresh bool) error {
	i := slices.IndexFunc(in.apply, isSource)
	if i < 0 || in.before.source == nil {
		return nil
	}
	now := in.apply[i]
	sameForm := (text(now, "spec", "image") == "") == (text(in.before.source, "spec", "image") == "")
	sameContent := now.GetAnnotations()[contentAnnotation] == in.before.source.GetAnnotations()[contentAnnotation]
	if sameForm && (sameContent || !fresh) {
		return nil
	}
	_, err := in.client.Delete(ctx, []*unstructured.Unstructured{in.before.source}, kube.DeleteOptions{Progress: in.Progress})
	return err
}

// isSource picks the CatalogSource among the objects of a run.
func isSource(u *unstructured.Unstructured) bool { return u.GetKind() == "CatalogSource" }

// split parts objects in the order of a run before its CatalogSource: what
// serves the catalog, and the rest.
func split(list []*unstructured.Unstructured) (serving, rest []*unstructured.Unstructured) {
	i := slices.IndexFunc(list, isSource)
	if i < 0 {
		return nil, list
	}
	return list[:i], list[i:]
}

// bring waits until the CSV named want is installed, of content. Where OLM
// makes it of what the catalog had before, that goes, and OLM begins again with
// a new connection to the catalog. made are the CatalogSource and what comes
// after it, the Subscription last. All of that together has the run's time.
func (in *installer) bring(ctx context.Context, made []*unstructured.Unstructured, want, old, content string) error {
	err := inRounds(in.Now, in.Timeout, func(left time.Duration) error {
		return in.await(ctx, want, old, content, left)
	}, func() error {
		in.Say("Removing %s again: %v", want, errOutdated)
		return in.again(ctx, made, want, old)
	})
	if errors.Is(err, errOutdated) {
		return clierr.Unavailablef("run the command again", "%s: %w", kube.RefOf(kube.Named(olmV1alpha1, "ClusterServiceVersion", in.Namespace, want)), err)
	}
	return err
}

// inRounds waits with the time that is left, and begins again as long as the wait
// ends with errOutdated. One that begins late has time for one look.
func inRounds(now func() time.Time, timeout time.Duration, wait func(left time.Duration) error, again func() error) error {
	deadline := now().Add(timeout)
	for left := timeout; ; left = max(deadline.Sub(now()), inspect) {
		err := wait(left)
		if !errors.Is(err, errOutdated) || !now().Before(deadline) {
			return err
		}
		if err := again(); err != nil {
			return err
		}
	}
}

// again has OLM begin once more with the catalog.
func (in *installer) again(ctx context.Context, made objects, want, old string) error {
	if _, err := in.client.Delete(ctx, made.where(isSource), kube.DeleteOptions{}); err != nil {
		return err
	}
	csvs := []string{want}
	if old != "" {
		csvs = append(csvs, old) // half replaced
	}
	last := len(made) - 1
	if err := removeOperator(ctx, in.client, made[last], in.Namespace, csvs, kube.DeleteOptions{}); err != nil {
		return err
	}
	sub := made[last].DeepCopy()
	if err := unstructured.SetNestedField(sub.Object, want, "spec", "startingCSV"); err != nil {
		return err
	}
	return in.putAll(ctx, append(slices.Clone(made[:last]), sub))
}
