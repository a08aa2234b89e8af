package chart

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// webhookCerts is where controller-runtime has the webhook server's certificate by
// default.
const webhookCerts = "/tmp/k8s-webhook-server/serving-certs"

// setting is a field of the manager's Deployment that a value gives. What the
// build has is the value's default; an empty value leaves the field out.
type setting struct {
	path  string // from the Deployment or its container
	value string // below manager
	empty string // the default where the build has none
}

// Settings of the Deployment with its pod, and of the manager's container.
var (
	deploymentSettings = []setting{
		{"spec.replicas", "replicas", "1"}, {"spec.strategy", "strategy", "{}"},
		{podSpec + ".affinity", "affinity", "{}"}, {podSpec + ".nodeSelector", "nodeSelector", "{}"},
		{podSpec + ".tolerations", "tolerations", "[]"},
		{podSpec + ".topologySpreadConstraints", "topologySpreadConstraints", "[]"},
		{podSpec + ".priorityClassName", "priorityClassName", `""`},
		{podSpec + ".imagePullSecrets", "imagePullSecrets", "[]"},
		{podSpec + ".securityContext", "podSecurityContext", "{}"},
		{podSpec + ".terminationGracePeriodSeconds", "terminationGracePeriodSeconds", "null"},
	}
	containerSettings = []setting{
		{"resources", "resources", "{}"}, {"securityContext", "securityContext", "{}"},
		{"imagePullPolicy", "image.pullPolicy", `""`},
	}
)

// podSpec is the path of the pod in a Deployment.
const podSpec = "spec.template.spec"

// argument is one of the manager's own arguments that values give.
type argument struct {
	flag     string // with what comes before the value
	value    string // what the build has is the default of this value; may be empty
	when     string // sections of the values
	template string // in place of the whole argument
}

var arguments = []argument{
	{"--metrics-bind-address=:", "metrics.port", "", "--metrics-bind-address={{ if .Values.metrics.enabled }}:{{ .Values.metrics.port }}{{ else }}0{{ end }}"},
	{"--health-probe-bind-address=:", "manager.healthProbe.port", "", "--health-probe-bind-address=:{{ .Values.manager.healthProbe.port }}"},
	{"--webhook-port=", "webhook.port", "webhook", "--webhook-port={{ .Values.webhook.port }}"},
	{"--webhook-cert-path=", "", "webhook", ""},
	{"--metrics-cert-path=", "", "certManager metrics metrics.secure", ""},
	{"--metrics-secure=", "metrics.secure", "", "--metrics-secure={{ .Values.metrics.secure }}"},
}

// pod returns the pod's spec and the manager's container.
func (c *chart) pod() (spec, container *yaml.Node, err error) {
	spec = yamledit.Lookup(c.manager.node, podSpec)
	all := at(spec, "containers.*")
	if len(all) == 0 {
		return nil, nil, clierr.Failedf("see config/manager/manager.yaml", "Deployment %s has no containers", c.manager.name)
	}
	i := slices.IndexFunc(all, func(n *yaml.Node) bool { return text(n, "name") == "manager" })
	return spec, all[max(i, 0)], nil
}

// readManager takes the defaults of values from the manager's Deployment and
// puts the values in their place.
func (c *chart) readManager() error {
	spec, container, err := c.pod()
	if err != nil {
		return err
	}
	// The name goes first: a directive has no place behind the dash.
	first(container, "name")

	// Path that certificates are mounted at -> its sections. Where the manager has no
	// argument for those of its webhooks, they are where controller-runtime looks.
	certs := map[string]string{webhookCerts: "webhook"}
	c.args(container, certs)
	c.some(container, "ports", func(port *yaml.Node) string { // none of a webhook server without webhooks
		if text(port, "name") == "webhook-server" {
			return c.enabled("webhook")
		}
		return ""
	})
	c.volumes(spec, container, certs)
	c.environment(container)
	c.image(container)
	for _, s := range deploymentSettings {
		c.set(c.manager.node, s)
	}
	for _, s := range containerSettings {
		c.set(container, s)
	}
	for _, e := range []struct{ path, value string }{
		{"metadata.labels", ".Values.manager.labels"}, {"metadata.annotations", ".Values.manager.annotations"},
		{"spec.template.metadata.labels", "(.Values.manager.pod).labels"}, {"spec.template.metadata.annotations", "(.Values.manager.pod).annotations"},
	} {
		c.extend(c.manager.node, e.path, e.value)
	}
	for _, o := range c.objects {
		if o.kind == "ServiceAccount" && o.when == "serviceAccount" {
			c.extend(o.node, "metadata.labels", ".Values.serviceAccount.labels")
			c.extend(o.node, "metadata.annotations", ".Values.serviceAccount.annotations")
		}
	}
	return nil
}

func first(m *yaml.Node, key string) {
	if value := yamledit.Value(m, key); value != nil {
		yamledit.Remove(m, key)
		m.Content = append([]*yaml.Node{scalar(key), value}, m.Content...)
	}
}

func (c *chart) set(n *yaml.Node, s setting) {
	m, key := parent(n, s.path)
	old := yamledit.Value(m, key)
	v := ".Values.manager." + s.value
	c.values.set("manager."+s.value, old, s.empty)
	directive := "{{- with " + v + " }}\n" + key + ":\n  {{- toYaml . | nindent @2 }}\n{{- end }}"
	switch {
	case s.empty == "null" || s.empty == "1": // zero is a number like others
		directive = "{{- if not (kindIs \"invalid\" " + v + ") }}\n" + key + ": {{ " + v + " }}\n{{- end }}"
	case s.empty == `""`:
		directive = "{{- with " + v + " }}\n" + key + ": {{ . | quote }}\n{{- end }}"
	}
	replace(m, key, c.lines(directive))
}

// replace puts other entries in place of a mapping's key, or at its end.
func replace(m *yaml.Node, key string, entries []*yaml.Node) {
	if i := yamledit.Index(m, key); i > 0 {
		m.Content = slices.Replace(m.Content, i-1, i+1, entries...)
	} else {
		m.Content = append(m.Content, entries...)
	}
}

// extend lets a value add entries to a mapping; it cannot change those that are
// there.
func (c *chart) extend(n *yaml.Node, path, value string) {
	m, key := parent(n, path)
	old := yamledit.Value(m, key)
	if old == nil {
		m.Content = append(m.Content, c.lines("{{- with "+value+" }}\n"+key+":\n  {{- toYaml . | nindent @2 }}\n{{- end }}")...)
		return
	}
	own := ""
	for i := 0; i < len(old.Content); i += 2 {
		own += ` "` + old.Content[i].Value + `"`
	}
	old.Content = append(old.Content, c.lines("{{- with omit ("+value+" | default dict)"+own+" }}\n{{- toYaml . | nindent @0 }}\n{{- end }}")...)
}

// args puts values in place of arguments. Those that no value of their own gives
// are manager.args.
func (c *chart) args(container *yaml.Node, certs map[string]string) {
	args := yamledit.Value(container, "args")
	var rest, out []*yaml.Node
	restAt := -1
	if hasArgument(args, "--metrics-bind-address=:") {
		c.values.enable("metrics", true)
	}
	for _, n := range at(args, "*") {
		a, value := argumentOf(n.Value)
		switch {
		case a == nil || !c.takes(a.value):
			if rest = append(rest, n); restAt < 0 {
				restAt = len(out)
			}
			continue
		case strings.HasSuffix(a.flag, "-cert-path="):
			certs[value] = a.when
		default: // YAML finds out the type of the value
			c.values.set(a.value, &yaml.Node{Kind: yaml.ScalarNode, Value: value}, "")
		}
		if a.value == "metrics.secure" {
			c.values.enable(a.value, value == "true")
		}
		if a.template != "" {
			n = c.scalar(a.template)
		}
		if when := c.enabled(a.when); when != "" {
			out = append(out, c.line("{{- if "+when+" }}"), n, c.line("{{- end }}"))
		} else {
			out = append(out, n)
		}
		if a.flag == "--metrics-bind-address=:" && !hasArgument(args, "--metrics-secure") {
			c.values.enable("metrics.secure", true)
			out = append(out, c.line("{{- if not .Values.metrics.secure }}\n- --metrics-secure=false\n{{- end }}"))
		}
	}
	c.values.set("manager.args", &yaml.Node{Kind: yaml.SequenceNode, Content: rest}, "[]")
	each := "{{- range .Values.manager.args }}\n- {{ tpl (toString .) $ | quote }}\n{{- end }}"
	if len(out) == 0 {
		replace(container, "args", c.lines("{{- with .Values.manager.args }}\nargs:\n{{- range . }}\n- {{ tpl (toString .) $ | quote }}\n{{- end }}\n{{- end }}"))
		return
	}
	if restAt < 0 {
		restAt = len(out)
	}
	args.Content = slices.Insert(out, restAt, c.line(each))
}

// takes reports whether the chart has the section of a value, so that the value is
// there for the templates.
func (c *chart) takes(value string) bool {
	section, _, _ := strings.Cut(value, ".")
	return value == "" || c.values.Has(section)
}

func hasArgument(args *yaml.Node, prefix string) bool {
	return slices.ContainsFunc(at(args, "*"), func(n *yaml.Node) bool { return strings.HasPrefix(n.Value, prefix) })
}

func argumentOf(text string) (*argument, string) {
	for _, a := range arguments {
		if value, ok := strings.CutPrefix(text, a.flag); ok {
			return &a, value
		}
		if a.value == "metrics.secure" && text+"=" == a.flag {
			return &a, "true"
		}
	}
	return nil, ""
}

// volumes drops those of certificates that nobody serves, and makes room for
// more.
func (c *chart) volumes(spec, container *yaml.Node, certs map[string]string) {
	when := map[string]string{} // by the name of the volume
	for _, mount := range at(container, "volumeMounts.*") {
		if sections, ok := certs[text(mount, "mountPath")]; ok {
			when[text(mount, "name")] = c.enabled(sections)
		}
	}
	for _, list := range []struct {
		in         *yaml.Node
		key, value string
	}{{spec, "volumes", "extraVolumes"}, {container, "volumeMounts", "extraVolumeMounts"}} {
		v := ".Values.manager." + list.value
		c.values.set("manager."+list.value, nil, "[]")
		had := yamledit.Value(list.in, list.key)
		if had == nil || len(had.Content) == 0 {
			replace(list.in, list.key, c.lines("{{- with "+v+" }}\n"+list.key+":\n  {{- toYaml . | nindent @2 }}\n{{- end }}"))
			continue
		}
		c.some(list.in, list.key, func(n *yaml.Node) string { return when[text(n, "name")] }, v)
		had.Content = append(had.Content, c.line("{{- with "+v+" }}\n{{- toYaml . | nindent @0 }}\n{{- end }}"))
	}
}

func (c *chart) environment(container *yaml.Node) {
	c.values.set("manager.env", yamledit.Value(container, "env"), "[]")
	replace(container, "env", c.lines("{{- with "+strings.Trim(c.call("managerEnv", "$"), "{} ")+" | fromYamlArray }}\nenv:\n  {{- toYaml . | nindent @2 }}\n{{- end }}"))
}

// Image is the operator's image in the values of a chart.
func Image(files map[string][]byte) (string, error) {
	var values struct {
		Manager struct {
			Image struct{ Repository, Tag string }
		}
	}
	if err := yaml.Unmarshal(files["values.yaml"], &values); err != nil {
		return "", fmt.Errorf("values.yaml: %w", err)
	}
	image := values.Manager.Image
	if image.Tag == "" {
		return image.Repository, nil
	}
	return image.Repository + ":" + image.Tag, nil
}

// image puts the three values of the image in its place.
func (c *chart) image(container *yaml.Node) {
	image := text(container, "image")
	name, tag := image, ""
	if !strings.Contains(image, "@") {
		tag = "latest"
		if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
			name, tag = image[:i], image[i+1:]
		}
	}
	c.values.set("manager.image.repository", scalar(name), "")
	c.values.set("manager.image.tag", scalar(tag), "")
	yamledit.Set(container, "image", c.scalar(strings.TrimSpace(c.call("image", "$"))))
}

// replacement is a scalar of some objects that a value gives, where it is the
// one that the value has by default.
type replacement struct {
	dir, path string
	was       string // name of the value; https: the text itself
}

var replacements = []replacement{
	{"metrics", "spec.ports.*.port", "metrics.port"},
	{"metrics", "spec.ports.*.targetPort", "metrics.port"},
	{"metrics", "spec.ports.*.name", "https"},
	{"prometheus", "spec.endpoints.*.port", "https"},
	{"prometheus", "spec.endpoints.*.scheme", "https"},
	{"network-policy", "spec.ingress.*.ports.*.port", "metrics.port"},
	{"network-policy", "spec.ingress.*.ports.*.port", "webhook.port"},
	{"webhook", "spec.ports.*.targetPort", "webhook.port"},
	{"manager", podSpec + ".containers.*.ports.*.containerPort", "webhook.port"},
	{"manager", podSpec + ".containers.*.ports.*.containerPort", "metrics.port"},
	{"manager", podSpec + ".containers.*.ports.*.containerPort", "manager.healthProbe.port"},
	{"manager", podSpec + ".containers.*.livenessProbe.httpGet.port", "manager.healthProbe.port"},
	{"manager", podSpec + ".containers.*.readinessProbe.httpGet.port", "manager.healthProbe.port"},
}

// parametrize puts values in place of ports and schemes.
func (c *chart) parametrize() {
	for _, r := range replacements {
		was, template := c.values.text(r.was), "{{ .Values."+r.was+" }}"
		if r.was == "https" {
			was, template = r.was, "{{ if .Values.metrics.secure }}https{{ else }}http{{ end }}"
			if !c.values.On("metrics.secure") {
				continue
			}
		}
		for _, o := range c.objects {
			for _, n := range at(o.node, r.path) {
				if o.dir == r.dir && was != "" && n.Value == was {
					*n = *c.scalar(template)
				}
			}
		}
	}
	for _, o := range c.objects {
		if o.dir == "prometheus" && c.values.On("metrics.secure") {
			c.plainMonitor(o)
		}
	}
}

// plainMonitor takes what goes with https out of a ServiceMonitor, and the
// certificates of cert-manager where there are none.
func (c *chart) plainMonitor(o *object) {
	for _, endpoint := range at(o.node, "spec.endpoints.*") {
		first(endpoint, "port") // a directive has no place behind the dash
		if text(endpoint, "port") == "" {
			continue
		}
		secure := ".Values.metrics.secure"
		c.wrap(endpoint, "bearerTokenFile", secure)
		if yamledit.Lookup(endpoint, "tlsConfig.ca") == nil || !c.values.Has("certManager") {
			c.wrap(endpoint, "tlsConfig", secure)
			continue
		}
		c.wrap(endpoint, "tlsConfig", "and "+secure+" .Values.certManager.enabled")
		endpoint.Content = append(endpoint.Content, c.lines("{{- if and "+secure+" (not .Values.certManager.enabled) }}\ntlsConfig:\n  insecureSkipVerify: true\n{{- end }}")...)
	}
}
