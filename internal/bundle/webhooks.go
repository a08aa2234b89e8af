package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// webhookDefinitions describes the webhooks of the configurations and the
// conversions of the CRDs as spec.webhookdefinitions of a CSV. OLM makes the
// configurations from them, and the certificates.
func webhookDefinitions(c *collection) (list []object, notes []string) {
	for _, cfg := range c.webhooks {
		for _, w := range objectsAt(cfg.Object, "webhooks") {
			name := textAt(w, "name")
			if mapAt(w, "clientConfig", "service") == nil {
				c.left = append(c.left, Left{"webhook " + name,
					"it calls a URL, and OLM serves only the webhooks of the CSV's Deployments", true})
				continue
			}
			d, dropped := admission(c, strings.Replace(cfg.GetKind(), "WebhookConfiguration", "AdmissionWebhook", 1), w)
			if len(dropped) > 0 {
				notes = append(notes, fmt.Sprintf("webhook %s: a CSV cannot express its %s", name, strings.Join(dropped, " and ")))
			}
			list = append(list, d)
		}
	}
	list = append(list, conversions(c)...)
	slices.SortStableFunc(list, func(a, b object) int { return cmp.Compare(textAt(a, "generateName"), textAt(b, "generateName")) })
	for _, d := range list {
		if name := textAt(d, "deploymentName"); name == "" || named(c.deployments, name) == nil {
			notes = append(notes, fmt.Sprintf("webhook %s: no Deployment of the input serves it", textAt(d, "generateName")))
		}
	}
	return list, notes
}

// admission describes a webhook of a configuration, and says which of its
// fields have no counterpart.
func admission(c *collection, kind string, w object) (d object, dropped []string) {
	// The defaults are operator-sdk's: OLM requires both fields.
	d = object{"type": kind, "generateName": textAt(w, "name"), "sideEffects": "None", "admissionReviewVersions": []any{"v1beta1"}}
	for _, field := range []string{
		"rules", "failurePolicy", "matchPolicy", "objectSelector", "sideEffects", "timeoutSeconds", "admissionReviewVersions", "reinvocationPolicy",
	} {
		if v := w[field]; !empty(v) {
			d[field] = v
		}
	}
	for _, field := range []string{"namespaceSelector", "matchConditions"} {
		if !empty(w[field]) {
			dropped = append(dropped, field)
		}
	}
	c.serve(d, mapAt(w, "clientConfig", "service"))
	return d, dropped
}

// serve says which Deployment answers, at which port and path, for a service reference.
func (c *collection) serve(d, ref object) {
	if path := textAt(ref, "path"); path != "" {
		d["webhookPath"] = path
	}
	name := textAt(ref, "name")
	// What operator-sdk falls back to: <deployment>-service is the old scaffold's name.
	d["deploymentName"] = strings.TrimSuffix(name, "-service")
	svc := named(c.services, name)
	if svc == nil {
		return
	}
	want, ok := number(ref["port"])
	if !ok {
		want = 443
	}
	for _, p := range objectsAt(svc.Object, "spec", "ports") {
		// The Service's port, as operator-sdk has it: OLM makes a Service of its own from the two.
		if n, ok := number(p["port"]); ok && n == want {
			d["containerPort"], d["targetPort"] = n, p["targetPort"]
			if empty(p["targetPort"]) {
				d["targetPort"] = n
			}
			break
		}
	}
	if dep := c.selected(svc); dep != "" {
		d["deploymentName"] = dep
	}
}

// selected is the Deployment whose pods the service selects.
func (c *collection) selected(svc *unstructured.Unstructured) string {
	selector := mapAt(svc.Object, "spec", "selector")
	if len(selector) == 0 {
		return ""
	}
	for _, dep := range c.deployments {
		labels := mapAt(dep.Object, "spec", "template", "metadata", "labels")
		other := func(key string) bool { return labels[key] != selector[key] }
		if !slices.ContainsFunc(sortedKeys(selector), other) {
			return dep.GetName()
		}
	}
	return ""
}

func named(list []*unstructured.Unstructured, name string) *unstructured.Unstructured {
	i := slices.IndexFunc(list, func(u *unstructured.Unstructured) bool { return u.GetName() == name })
	if i < 0 {
		return nil
	}
	return list[i]
}

// conversions describes the conversion webhooks of CRDs, one for each service, port and path.
func conversions(c *collection) []object {
	type group struct {
		webhook object
		crds    []string
	}
	var order []string
	groups := map[string]*group{}
	for _, crd := range c.crds {
		w := mapAt(crd.Object, "spec", "conversion", "webhook")
		ref := mapAt(w, "clientConfig", "service")
		if ref == nil {
			continue
		}
		key := fmt.Sprint(ref["name"], " ", ref["port"], " ", ref["path"])
		if groups[key] == nil {
			groups[key] = &group{webhook: w}
			order = append(order, key)
		}
		groups[key].crds = append(groups[key].crds, crd.GetName())
	}
	var list []object
	for _, key := range order {
		g := groups[key]
		slices.Sort(g.crds)
		d := object{
			"type": "ConversionWebhook", "generateName": conversionName(g.crds), "sideEffects": "None",
			"conversionCRDs": anys(g.crds), "admissionReviewVersions": []any{"v1"},
		}
		if v := listAt(g.webhook, "conversionReviewVersions"); len(v) > 0 {
			d["admissionReviewVersions"] = v
		}
		c.serve(d, mapAt(g.webhook, "clientConfig", "service"))
		list = append(list, d)
	}
	return list
}

// conversionName is the name that operator-sdk gives a conversion webhook: the
// plurals of its CRDs in a row.
func conversionName(crds []string) string {
	plurals := ""
	for _, name := range crds {
		plural, _, _ := strings.Cut(name, ".")
		plurals += plural
	}
	return "c" + plurals + ".kb.io"
}
