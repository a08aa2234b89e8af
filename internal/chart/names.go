package chart

import (
	"maps"
	"path"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// nameIn is what may be a name within a longer text, such as a host name or
// namespace/name.
var nameIn = lazy.Delayed(`[A-Za-z0-9][-A-Za-z0-9]*`)

// reference is a field that holds the name of an object.
var reference = lazy.Delayed(`(\.(metadata|subjects|service|configMap|\w*Ref|\w*[sS]ecrets?)\.name|\.\w+Name|\.resourceNames|\.args|\.env\.value)$`)

// address gives certificates and ServiceMonitors the name of the Service, where
// config/default leaves kubebuilder's placeholders in them.
func (c *chart) address() {
	for _, o := range c.objects {
		suffix := "webhook-service"
		if o.kind == "ServiceMonitor" || strings.HasSuffix(o.name, "metrics-certs") {
			suffix = "metrics-service"
		}
		i := slices.IndexFunc(c.objects, func(s *object) bool { return s.kind == "Service" && strings.HasSuffix(s.name, suffix) })
		if i < 0 {
			continue
		}
		names := strings.NewReplacer("SERVICE_NAMESPACE", c.ns, "SERVICE_NAME", c.objects[i].name)
		for _, n := range append(at(o.node, "spec.dnsNames.*"), at(o.node, "spec.endpoints.*.tlsConfig.serverName")...) {
			n.Value = names.Replace(n.Value)
		}
	}
}

// rename puts the release's names in place of kustomize's: of the objects with
// the prefix, wherever they occur, and of the namespace. Of CRDs only the parts
// that name other objects count: the rest is the API's.
func (c *chart) rename() {
	names := map[string]string{}
	name := func(helper, suffix string) string {
		return c.word(c.call(helper, `(dict "suffix" "`+suffix+`" "context" $)`))
	}
	for _, o := range c.objects {
		if suffix, ok := strings.CutPrefix(o.name, c.prefix); ok && o.dir != "" && !o.crd {
			names[o.name] = name("resourceName", suffix)
		}
		if secret := text(o.node, "spec.secretName"); o.group == "cert-manager.io" && secret != "" {
			names[secret] = name("secretName", secret)
			if suffix, ok := strings.CutPrefix(secret, c.prefix); ok {
				names[secret] = name("resourceName", suffix)
			}
		}
	}
	if c.values.Accounts {
		names[c.prefix+managerName] = name("resourceName", managerName)
	}
	for _, o := range c.objects {
		parts := []*yaml.Node{o.node}
		if o.crd {
			parts = slices.Concat(at(o.node, "metadata.annotations"), at(o.node, "spec.conversion"))
		}
		for _, part := range parts {
			eachScalar(part, "", func(key string, n *yaml.Node) { c.renameIn(o, key, n, names) })
		}
	}
	for _, value := range []string{"manager.args", "manager.env"} { // which are templates
		eachScalar(c.values.defaults[value], value, func(key string, n *yaml.Node) {
			c.renameIn(c.manager, key, n, names)
			n.Value = string(c.substitute([]byte(n.Value)))
		})
	}
}

func (c *chart) call(helper, args string) string {
	return `{{ include "` + c.Name + "." + helper + `" ` + args + ` }}`
}

func (c *chart) renameIn(o *object, key string, n *yaml.Node, names map[string]string) {
	account := c.word(c.call("serviceAccountName", "$"))
	switch {
	case n.Tag != "!!str" && n.Tag != "":
		return
	case path.Ext(key) == ".namespace" && n.Value == c.ns:
		n.Value = c.word("{{ .Release.Namespace }}")
		return
	case c.values.Accounts && n.Value == c.prefix+managerName && (path.Ext(key) == ".serviceAccountName" || o.kind == "ServiceAccount" || o.group == rbacGroup):
		n.Value = account
		return
	}
	if c.prefix == "" && !c.mayName(key, n.Value, names) {
		return
	}
	named := strings.HasPrefix(c.ns, c.prefix) || slices.ContainsFunc(nameIn.FindAllString(n.Value, -1), func(w string) bool { return names[w] != "" })
	n.Value = nameIn.ReplaceAllStringFunc(n.Value, func(w string) string {
		if to := names[w]; to != "" && (w != c.ns || w == n.Value) {
			return to
		}
		if w == c.ns && named && c.ns != "" {
			return c.word("{{ .Release.Namespace }}")
		}
		return w
	})
}

// mayName says whether a value has the name of an object where names have no prefix,
// and so are words like others: in a field for names, or with the namespace, as in
// name.namespace.svc and namespace/name.
func (c *chart) mayName(key, value string, names map[string]string) bool {
	value = value[strings.LastIndex(value, "=")+1:]
	if names[value] != "" && reference.MatchString(key) {
		return true
	}
	withNamespace := func(name string) bool {
		return strings.Contains(value, name+"."+c.ns+".svc") || value == c.ns+"/"+name && path.Ext(key) != ".image"
	}
	return c.ns != "" && slices.ContainsFunc(slices.Collect(maps.Keys(names)), withNamespace)
}

// label gives the object the labels of its release. Those that select pods stay
// few: they can never be changed.
func (c *chart) label(o *object) {
	for _, path := range []string{"metadata.labels", "spec.selector", "spec.selector.matchLabels", "spec.podSelector.matchLabels", "spec.template.metadata.labels"} {
		labels := yamledit.Lookup(o.node, path)
		if name := yamledit.Value(labels, "app.kubernetes.io/name"); name != nil && name.Value == c.Name {
			*name = *c.scalar(c.call("name", "$"))
		}
		if by := yamledit.Value(labels, "app.kubernetes.io/managed-by"); by != nil && path == "metadata.labels" {
			*by = *c.scalar("{{ .Release.Service }}")
			yamledit.Set(labels, "app.kubernetes.io/instance", c.scalar("{{ .Release.Name }}"))
			yamledit.Set(labels, "helm.sh/chart", c.scalar(`{{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}`))
		}
	}
}
