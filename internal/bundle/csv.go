package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// csvBuilder fills a ClusterServiceVersion in, field by field, and remembers where each came from.
type csvBuilder struct {
	in   *Input
	c    *collection
	csv  *unstructured.Unstructured
	from origins
	noted
}

// noted are things to tell the one who makes the bundle.
type noted struct{ notes []string }

func (n *noted) note(format string, args ...any) {
	n.notes = append(n.notes, fmt.Sprintf(format, args...))
}

// set puts a generated value, and takes the field out where there is none.
func (b *csvBuilder) set(value any, origin string, path ...string) {
	if empty(value) {
		unstructured.RemoveNestedField(b.csv.Object, path...)
		return
	}
	put(b.csv.Object, value, path...)
	b.from.say(path, origin)
}

// build makes the CSV from the base and the rest of the input. Whatever is not
// set here is what the base has, known to this package or not. The order
// matters where noted: certificates go by the webhooks, and images are pinned
// at the end, when the Deployments are final.
func (b *csvBuilder) build(g *grants) error {
	if err := b.identify(); err != nil {
		return err
	}
	b.annotate()
	b.install(g)
	b.own()
	if err := b.exemplify(); err != nil {
		return err
	}
	list, notes := webhookDefinitions(b.c)
	b.notes = append(b.notes, notes...)
	hooks := b.withBase(anys(list), "generateName", "spec", "webhookdefinitions")
	b.set(hooks, "generated: the webhook configurations and the CRDs' conversions", "spec", "webhookdefinitions")
	b.checkModes(list)
	b.freeCertificates(list)
	b.leaveCertificates()
	b.dropEmptyIcons()
	if err := b.texts(); err != nil {
		return err
	}
	return b.relate()
}

// identify sets the name and the version.
func (b *csvBuilder) identify() error {
	version, origin := b.in.Version, "--version"
	if version == "" {
		version, origin = "0.0.0", "default: no --version, and none in the base"
		if v := at(b.csv.Object, "spec", "version"); !empty(v) {
			version, origin = fmt.Sprint(v), b.in.BaseName // 1.0 is a number in YAML
		}
	}
	if err := CheckVersion(version); err != nil {
		return err
	}
	b.set(version, origin, "spec", "version")
	name := b.csv.GetName()
	// Bases of very old scaffolds have a placeholder in their name.
	if b.in.Version != "" || name == "" || strings.HasSuffix(name, ".vX.Y.Z") {
		name = b.in.Package + ".v" + version
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			fixed, _, _ := strings.Cut(version, "+")
			return clierr.Usagef("write it as "+strings.ToLower(fixed), "version %q: no cluster accepts a ClusterServiceVersion named %s", version, name)
		}
		b.set(name, origin, "metadata", "name")
	}
	return nil
}

// annotate sets what the tools that read bundles count by.
func (b *csvBuilder) annotate() {
	b.set(builder, "generated", "metadata", "annotations", CSVBuilderKey)
	b.set(layoutOf(b.in.Layout), "PROJECT: layout", "metadata", "annotations", CSVLayoutKey)
	if path := []string{"metadata", "annotations", CapabilitiesKey}; empty(at(b.csv.Object, path...)) {
		b.set("Basic Install", "default", path...)
	}
}

// install sets the install strategy: Deployments and the rights of their service accounts.
func (b *csvBuilder) install(g *grants) {
	b.set("deployment", "generated", "spec", "install", "strategy")
	var list []any
	var names []string
	for _, d := range b.c.deployments {
		entry := object{"name": d.GetName(), "spec": d.Object["spec"]}
		if labels := mapAt(d.Object, "metadata", "labels"); len(labels) > 0 {
			entry["label"] = labels
		}
		watchTargets(d)
		list = append(list, entry)
		names = append(names, kube.RefOf(d).String())
	}
	made := len(list)
	list = b.withBase(list, "name", "spec", "install", "spec", "deployments")
	for _, e := range list[made:] {
		b.c.deployments = append(b.c.deployments, deploymentOf(e.(object))) // withBase adds no other
	}
	b.set(list, "generated: "+strings.Join(names, ", "), "spec", "install", "spec", "deployments")
	if len(list) == 0 {
		put(b.csv.Object, []any{}, "spec", "install", "spec", "deployments") // the field is required
		b.note("there is no Deployment in the input: the bundle installs nothing that runs")
	}
	b.permit(g.permissions, g.sources["RoleBinding"], "permissions")
	b.permit(g.cluster, g.sources["ClusterRoleBinding"], "clusterPermissions")
	b.notes = append(b.notes, g.notes...)
	for _, name := range b.in.ExtraServiceAccounts {
		if len(g.permissions[name]) == 0 && len(g.cluster[name]) == 0 {
			b.note("service account %s: no binding in the input grants it permissions", name)
		}
	}
}

// permit sets one of the lists of rights. Rules that the author has written into
// the base are added to those that the roles give, and said: nobody else would
// notice that they are there.
func (b *csvBuilder) permit(rules map[string][]any, sources []string, field string) {
	path := []string{"spec", "install", "spec", field}
	for _, e := range objectsAt(b.csv.Object, path...) {
		name := textAt(e, "serviceAccountName")
		for _, rule := range listAt(e, "rules") {
			if slices.ContainsFunc(rules[name], func(r any) bool { return reflect.DeepEqual(r, rule) }) {
				continue
			}
			rules[name] = append(rules[name], rule)
			b.note("%s: the base grants service account %s a permission that no role in the input grants", field, name)
		}
	}
	b.set(entries(rules), "generated: "+strings.Join(sources, ", "), path...)
}

// withBase adds to a generated list what the author has written into the same
// list of the base, under a name that nothing generated has.
func (b *csvBuilder) withBase(list []any, key string, path ...string) []any {
	for _, e := range objectsAt(b.csv.Object, path...) {
		name := textAt(e, key)
		if slices.ContainsFunc(list, func(v any) bool { o, ok := v.(object); return ok && textAt(o, key) == name }) {
			continue
		}
		list = append(list, e)
		b.note("%s: %s comes only from the base", path[len(path)-1], name)
	}
	return list
}

// watchTargets makes WATCH_NAMESPACE, where a container has it, follow the
// namespaces that the operator is installed for.
func watchTargets(d *unstructured.Unstructured) {
	for _, c := range containers(d) {
		for _, env := range objectsAt(c, "env") {
			if textAt(env, "name") != "WATCH_NAMESPACE" {
				continue
			}
			delete(env, "value")
			env["valueFrom"] = object{"fieldRef": object{"fieldPath": "metadata.annotations['" + TargetNamespaces + "']"}}
		}
	}
}

// own lists the CRDs' versions as owned, described as the base does and in its
// order: markers may have set that. An API that the base owns and that has no
// CRD is left out, as OLM would never stop waiting for it.
func (b *csvBuilder) own() {
	path := []string{"spec", "customresourcedefinitions", "owned"}
	defined := map[string]bool{}
	var all []object
	for _, d := range Definitions(b.c.crds...) {
		e := object{"name": d.Name, "version": d.Version, "kind": d.Kind}
		all, defined[ownedKey(e)] = append(all, e), true
	}
	var owned []any
	for _, e := range objectsAt(b.csv.Object, path...) {
		if !defined[ownedKey(e)] {
			what := fmt.Sprintf("owned API %s %s in the base", textAt(e, "name"), textAt(e, "version"))
			b.c.left = append(b.c.left, Left{what, "the input has no CRD for it", true})
			continue
		}
		delete(defined, ownedKey(e))
		owned = append(owned, e)
	}
	for _, e := range all {
		if defined[ownedKey(e)] {
			owned = append(owned, e)
		}
	}
	b.set(owned, "generated: the CRDs; descriptions from "+b.in.BaseName, path...)
	for i, e := range objectsAt(b.csv.Object, path...) {
		for field := range e {
			if from, ok := b.in.Described[ownedKey(e)+" "+field]; ok {
				b.from.say(append(slices.Clone(path), fmt.Sprint(i), field), from)
			}
		}
	}
}

// exemplify sets alm-examples: the samples, and those of the base for which
// there is no sample. The annotation is a JSON list, indented as operator-sdk
// writes it: people read it in diffs.
func (b *csvBuilder) exemplify() error {
	path := []string{"metadata", "annotations", ExamplesKey}
	written := []object{}
	if text := textAt(b.csv.Object, path...); text != "" {
		if err := k8sjson.Unmarshal([]byte(text), &written); err != nil {
			return clierr.Failedf("correct the annotation, or take it out", "%s: the annotation %s is not a JSON list of objects: %w", b.in.BaseName, ExamplesKey, err)
		}
	}
	examples := []object{}
	name := func(o object) string {
		return textAt(o, "apiVersion") + " " + textAt(o, "kind") + " " + textAt(o, "metadata", "name")
	}
	used := map[string]bool{}
	origin := "generated: the samples of the input"
	for _, u := range b.c.examples {
		o := u.Object
		// What the user wrote for the same object wins.
		if i := slices.IndexFunc(written, func(w object) bool { return name(w) == name(o) }); i >= 0 {
			o, origin = written[i], b.in.BaseName+", and the samples of the input"
		}
		used[name(o)] = true
		b.giveSpec(o)
		examples = append(examples, o)
	}
	for _, w := range written {
		if !used[name(w)] {
			examples = append(examples, w)
			origin = b.in.BaseName + ", and the samples of the input"
		}
	}
	text, err := json.MarshalIndent(examples, "", "  ")
	if err != nil {
		return fmt.Errorf("write the examples: %w", err)
	}
	b.set(string(text), origin, path...)
	b.missExamples(examples)
	return nil
}

// giveSpec makes the spec that an example lacks: every tool that reads them expects one.
func (b *csvBuilder) giveSpec(o object) {
	if o["spec"] != nil {
		return
	}
	for _, d := range Definitions(b.c.crds...) {
		if d.isOf(o) && at(d.schema, "properties", "spec") != nil {
			o["spec"] = object{}
		}
	}
}

// missExamples names the APIs for which there is no example.
func (b *csvBuilder) missExamples(examples []object) {
	for _, d := range Definitions(b.c.crds...) {
		if !slices.ContainsFunc(examples, d.isOf) {
			b.note("%s %s: there is no sample, so the bundle has no example of it", d.Kind, d.Version)
		}
	}
}

// checkModes sees to the install modes where there are conversion webhooks: as
// a CRD is the same in all namespaces, OLM then takes AllNamespaces and no other.
// The modes that NewBase gives a namespaced operator are exchanged; those that
// the author has chosen are only warned of.
func (b *csvBuilder) checkModes(webhooks []object) {
	path := []string{"spec", "installModes"}
	if !slices.ContainsFunc(webhooks, func(w object) bool { return textAt(w, "type") == "ConversionWebhook" }) {
		return
	}
	if reflect.DeepEqual(listAt(b.csv.Object, path...), installModes(true)) {
		b.set(installModes(false), "generated: conversion webhooks need AllNamespaces", path...)
		b.note("the install mode is AllNamespaces: OLM supports no other with a conversion webhook")
		return
	}
	for _, mode := range objectsAt(b.csv.Object, path...) {
		if (mode["supported"] == true) != (textAt(mode, "type") == "AllNamespaces") {
			b.note("a conversion webhook needs the install mode AllNamespaces and no other: OLM refuses the bundle; change spec.installModes of the base")
			return
		}
	}
}

// webhookCertificates is where OLM mounts a webhook server's certificate.
const webhookCertificates = "/tmp/k8s-webhook-server/serving-certs"

// freeCertificates takes out the volumes of Secrets where OLM mounts its own
// certificates: nobody would make those Secrets, and the pods would wait for
// them for ever.
func (b *csvBuilder) freeCertificates(webhooks []object) {
	serving := map[string]bool{}
	for _, w := range webhooks {
		serving[textAt(w, "deploymentName")] = true
	}
	for _, d := range b.c.deployments {
		if !serving[d.GetName()] {
			continue
		}
		pod := mapAt(d.Object, "spec", "template", "spec")
		for _, volume := range objectsAt(pod, "volumes") {
			name, secret := textAt(volume, "name"), textAt(volume, "secret", "secretName")
			if secret == "" || named(b.c.others, secret) != nil || !unmount(d, name) {
				continue
			}
			remove(pod, "volumes", func(v object) bool { return textAt(v, "name") == name })
			b.note("%s: the volume %s is left out, as OLM mounts certificates of its own at %s", kube.RefOf(d), name, webhookCertificates)
		}
	}
}

// leaveCertificates leaves the Certificates out. One whose Secret is mounted all the
// same, such as that of the metrics, is missed: the pods wait for it for ever.
func (b *csvBuilder) leaveCertificates() {
	for _, u := range b.c.certs {
		secret := textAt(u.Object, "spec", "secretName")
		i := slices.IndexFunc(b.c.deployments, func(d *unstructured.Unstructured) bool {
			return slices.ContainsFunc(objectsAt(d.Object, "spec", "template", "spec", "volumes"), func(v object) bool {
				optional, _, _ := unstructured.NestedBool(v, "secret", "optional")
				return !optional && textAt(v, "secret", "secretName") == secret
			})
		})
		reason, loss := whyNot(u)
		if secret != "" && i >= 0 && named(b.c.others, secret) == nil {
			reason, loss = fmt.Sprintf("%s mounts its Secret %s, and OLM makes certificates of webhooks only: leave both out of the bundle, as by switching [METRICS-WITH-CERTS] off", kube.RefOf(b.c.deployments[i]), secret), true
		}
		b.c.left = append(b.c.left, Left{kube.RefOf(u).String(), reason, loss})
	}
}

// unmount takes out the mounts of the volume, if all of them are where OLM
// mounts, and reports whether there were any.
func unmount(d *unstructured.Unstructured, volume string) bool {
	var holders []object
	for _, c := range containers(d) {
		for _, m := range objectsAt(c, "volumeMounts") {
			if textAt(m, "name") != volume {
				continue
			}
			if strings.TrimSuffix(textAt(m, "mountPath"), "/") != webhookCertificates {
				return false
			}
			holders = append(holders, c)
		}
	}
	for _, c := range holders {
		remove(c, "volumeMounts", func(m object) bool { return textAt(m, "name") == volume })
	}
	return len(holders) > 0
}

// remove takes the items that match out of a sequence, and the sequence when it is empty then.
func remove(m object, field string, match func(object) bool) {
	var keep []any
	for _, v := range listAt(m, field) {
		if o, ok := v.(object); !ok || !match(o) {
			keep = append(keep, v)
		}
	}
	if m[field] = keep; len(keep) == 0 {
		delete(m, field)
	}
}

// dropEmptyIcons takes out the empty icon of older scaffolds, which no catalog accepts.
func (b *csvBuilder) dropEmptyIcons() {
	spec := mapAt(b.csv.Object, "spec")
	if spec == nil || spec["icon"] == nil {
		return
	}
	before := len(listAt(spec, "icon"))
	remove(spec, "icon", func(i object) bool { return textAt(i, "base64data") == "" })
	if len(listAt(spec, "icon")) < before {
		b.note("%s: its icon is empty and is left out", b.in.BaseName)
	}
}

// relate sets spec.relatedImages from the environment of the containers and,
// with digests, from their images. The base's entries win.
func (b *csvBuilder) relate() error {
	pin(b.csv.Object, b.c.deployments, b.in.Digests)
	found, err := relatedImages(b.c.deployments, b.in.Digests != nil)
	if err != nil {
		return err
	}
	list := objectsAt(b.csv.Object, "spec", "relatedImages")
	names := map[string]object{}
	for _, e := range list {
		names[textAt(e, "name")] = e
		if digest, ok := b.in.Digests[textAt(e, "image")]; ok {
			e["image"] = digest
		}
	}
	for _, e := range found {
		old, ok := names[textAt(e, "name")]
		switch {
		case !ok:
			list = append(list, e)
		case textAt(old, "image") != textAt(e, "image"):
			b.note("related image %s: the base has %s, and the Deployment %s", textAt(e, "name"), textAt(old, "image"), textAt(e, "image"))
		}
	}
	b.set(anys(list), "generated: RELATED_IMAGE_* of the containers, and "+b.in.BaseName, "spec", "relatedImages")
	return nil
}

// layoutOf is a project's layout as operator-sdk writes it.
func layoutOf(layout []string) string { return cmp.Or(strings.Join(layout, ","), "unknown") }

// sortedKeys are the keys of m in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
