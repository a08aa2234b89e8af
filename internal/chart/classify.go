package chart

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// class says where objects of a sort go, and what switches them on.
type class struct {
	group, kind string // kind may be several, separated by |; empty: any
	suffixes    string // of the name, likewise
	dir         string // below templates; empty: not in the chart
	when        string // sections of the values that are all to be enabled
}

// classes are in the order in which they are tried; the last one takes all.
var classes = []class{
	{kind: "Namespace"}, // helm makes it: --create-namespace
	{group: "apiextensions.k8s.io", kind: "CustomResourceDefinition", dir: "crd", when: "crd"},
	{kind: "ServiceAccount", suffixes: managerName, dir: "rbac", when: "serviceAccount"},
	{group: rbacGroup, suffixes: "metrics-auth-role|metrics-auth-rolebinding|metrics-reader", dir: "rbac", when: "metrics metrics.secure"},
	{group: rbacGroup, kind: "ClusterRole|Role", suffixes: "-admin-role|-editor-role|-viewer-role", dir: "rbac", when: "rbac.helpers"},
	{group: rbacGroup, dir: "rbac"},
	{kind: "ServiceAccount", dir: "rbac"},
	{group: "admissionregistration.k8s.io", dir: "webhook", when: "webhook"},
	{kind: "Service", suffixes: "webhook-service", dir: "webhook", when: "webhook"},
	{kind: "Service", suffixes: "metrics-service", dir: "metrics", when: "metrics"},
	{group: "cert-manager.io", suffixes: "metrics-certs", dir: "cert-manager", when: "certManager metrics metrics.secure"},
	{group: "cert-manager.io", kind: "Certificate", dir: "cert-manager", when: "certManager webhook"},
	{group: "cert-manager.io", dir: "cert-manager", when: "certManager"},
	{group: "monitoring.coreos.com", dir: "prometheus", when: "prometheus"},
	{group: "networking.k8s.io", kind: "NetworkPolicy", suffixes: "webhook-traffic", dir: "network-policy", when: "networkPolicy webhook"},
	{group: "networking.k8s.io", kind: "NetworkPolicy", dir: "network-policy", when: "networkPolicy"},
	{dir: "extras"},
}

const rbacGroup = "rbac.authorization.k8s.io"

func (k class) takes(o *object) bool {
	return cmp.Or(k.group, o.group) == o.group && (k.kind == "" || slices.Contains(strings.Split(k.kind, "|"), o.kind)) &&
		(k.suffixes == "" || slices.ContainsFunc(strings.Split(k.suffixes, "|"), func(s string) bool { return strings.HasSuffix(o.name, s) }))
}

// classify gives every object its directory and notes the sections of the
// values that the chart has.
func (c *chart) classify() {
	for _, o := range c.objects {
		if o == c.manager {
			o.dir, o.when = "manager", "manager"
			c.values.enable("manager", true)
			continue
		}
		k := classes[slices.IndexFunc(classes, func(k class) bool { return k.takes(o) })]
		o.dir, o.when = k.dir, k.when
		if o.kind == "ClusterRole" && (k.when == "rbac.helpers" || o.name == c.prefix+"manager-role") {
			c.roles = append(c.roles, o.name)
		}
		for section := range strings.FieldsSeq(k.when) {
			c.values.enable(section, !o.optional)
		}
	}
	c.values.Accounts = c.values.Has("serviceAccount")
	c.scope()
}

// scope finds out whether the manager can be restricted to one namespace. It
// cannot where it is already, as a Role is never made a ClusterRole, and where it
// has to do with what is in no namespace, such as URLs of the API server.
func (c *chart) scope() {
	kinds, wide := map[string]bool{}, false
	for _, o := range c.objects {
		wide = wide || o.crd && text(o.node, "spec.scope") == "Cluster"
		if o.group == rbacGroup && o.name == c.prefix+"manager-role" {
			kinds[o.kind] = true
			wide = wide || len(at(o.node, "rules.*.nonResourceURLs")) > 0 || slices.ContainsFunc(at(o.node, "rules.*.resources.*"), func(n *yaml.Node) bool {
				resource, _, _ := strings.Cut(n.Value, "/")
				return slices.Contains(relayout.ClusterScoped, resource)
			})
		}
	}
	c.values.Scoped = kinds["ClusterRole"] && len(kinds) == 1 && !wide
}

// enabled is the template of a condition: all of the sections must be
// enabled, as far as the chart has them.
func (c *chart) enabled(sections string) string {
	var all []string
	for s := range strings.FieldsSeq(sections) {
		if !c.values.Has(s) {
			continue
		}
		v := ".Values." + s + ".enabled"
		if strings.HasSuffix(s, ".secure") {
			v = ".Values." + s
		}
		all = append(all, v)
	}
	if len(all) > 1 {
		return "and " + strings.Join(all, " ")
	}
	return strings.Join(all, "")
}

// condition makes templates of the objects' conditions, and of those for parts
// of any object.
func (c *chart) condition() {
	for _, o := range c.objects {
		off := func(section string) bool { return !c.values.On(section) }
		if !o.optional { // what is installed by default does not depend on what is off by default
			o.when = strings.Join(slices.DeleteFunc(strings.Fields(o.when), off), " ")
		} else if !slices.ContainsFunc(strings.Fields(o.when), off) { // such as a Role for Prometheus
			c.values.enable("prometheus", false)
			o.when += " prometheus"
		}
		o.when = c.enabled(o.when)
		meta := yamledit.Value(o.node, "metadata")
		var kept []string
		if o.crd {
			kept = []string{".Values.crd.keep"}
		}
		c.some(meta, "annotations", func(key *yaml.Node) string {
			if strings.HasPrefix(key.Value, "cert-manager.io/inject-") {
				return c.enabled("certManager webhook")
			}
			return ""
		}, kept...)
		if o.crd {
			c.keep(meta)
			if when := c.enabled("webhook"); when != "" && text(o.node, "spec.conversion.strategy") == "Webhook" {
				c.wrap(yamledit.Value(o.node, "spec"), "conversion", when) // nobody serves it without webhooks
			}
		}
		c.scoped(o, meta)
	}
}

// keep lets helm leave a CRD where it is, with the custom resources.
func (c *chart) keep(meta *yaml.Node) {
	policy := "helm.sh/resource-policy: keep"
	if notes := yamledit.Value(meta, "annotations"); notes != nil {
		meta = notes
	} else {
		policy = "annotations:\n  " + policy
	}
	meta.Content = append(meta.Content, c.lines("{{- if .Values.crd.keep }}\n"+policy+"\n{{- end }}")...)
}

// selectNamespace has the webhooks of a restricted manager asked about its own
// namespace only.
func (c *chart) selectNamespace(o *object) {
	for _, hook := range at(o.node, "webhooks.*") {
		text, keys := "kubernetes.io/metadata.name: {{ .Release.Namespace }}", []string{"namespaceSelector", "matchLabels"}
		for ; len(keys) > 0 && yamledit.Value(hook, keys[0]) != nil; keys = keys[1:] {
			hook = yamledit.Value(hook, keys[0])
		}
		for _, key := range slices.Backward(keys) {
			text = key + ":\n  " + strings.ReplaceAll(text, "\n", "\n  ")
		}
		hook.Content = append(hook.Content, c.lines("{{- if .Values.rbac.namespaced }}\n"+text+"\n{{- end }}")...)
	}
}

// scoped lets rbac.namespaced choose between a Role and a ClusterRole, for the
// manager and for the helpers, and has what binds them follow.
func (c *chart) scoped(o *object, meta *yaml.Node) {
	if c.values.Scoped && strings.HasSuffix(o.kind, "WebhookConfiguration") {
		c.selectNamespace(o)
	}
	if o.group != rbacGroup || !c.values.Scoped || !slices.Contains(c.roles, cmp.Or(text(o.node, "roleRef.name"), o.name)) {
		return
	}
	for _, kind := range append(at(o.node, "kind"), at(o.node, "roleRef.kind")...) {
		if name, ok := strings.CutPrefix(kind.Value, "Cluster"); ok {
			kind.Value = c.word("{{ if not .Values.rbac.namespaced }}Cluster{{ end }}") + name
		}
	}
	if strings.HasPrefix(o.kind, "Cluster") {
		yamledit.Set(meta, "namespace", c.scalar("{{ .Release.Namespace }}"))
		c.wrap(meta, "namespace", ".Values.rbac.namespaced")
	}
}
