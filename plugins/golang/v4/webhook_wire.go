package v4

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
)

// Files that webhooks are wired into, beside those of an API.
const (
	webhooksPath   = "config/webhook/kustomization.yaml"
	networkPath    = "config/network-policy/kustomization.yaml"
	targetsPath    = CertsPackage + "/targets.go"
	certManagerDir = "../certmanager"
)

// CertsPackage makes the certificates of a deployed operator with --certs self.
const CertsPackage = "internal/certs"

// NamespacesPatch keeps webhooks to the namespace of a manager that is restricted to
// it, and names them as their markers do.
const NamespacesPatch = "config/webhook/namespaces_patch.yaml"

// ManagerPatch is the patch that gives the manager its port and flags for webhooks.
const ManagerPatch = "config/default/manager_webhook_patch.yaml"

// WithoutPortFlag takes --webhook-port out of ManagerPatch. kubebuilder's main.go has
// no such flag, and listens on the same port.
func WithoutPortFlag(patch string) string {
	return strings.Replace(patch, "- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --webhook-port=9443\n\n", "", 1)
}

// chooseCerts settles where certificates come from. A project has one source.
func (s *createWebhookSubcommand) chooseCerts(disk afero.Fs) error {
	has, err := CertsIn(func(name string) ([]byte, error) { return readIfThere(disk, name) })
	switch {
	case err != nil:
		return err
	case s.certs == "":
		s.certs = or(has, certsSelf)
	case has != "" && s.certs != has:
		return usage("leave out --certs", "the certificates of this project's webhooks come from %s", has)
	}
	switch {
	case has != "":
	case s.certs == certsSelf:
		s.note("The operator makes the webhooks' certificates itself (internal/certs); --certs cert-manager or olm leaves it to them.")
	case s.certs == certsCertManager:
		s.note("cert-manager must be installed in a cluster before the operator is deployed there; the embedded one does without.")
	case s.certs == certsOLM:
		s.note("OLM makes the webhooks' certificates: install the operator as a bundle, since 'mysdk deploy' makes none.")
	}
	return nil
}

// CertsIn says where the certificates of webhooks come from in a project whose
// files read returns, nothing for one that is not there: the value of --certs,
// empty for a project without webhooks.
func CertsIn(read func(name string) ([]byte, error)) (string, error) {
	if targets, err := read(targetsPath); len(targets) > 0 || err != nil {
		return certsSelf, err
	}
	text, err := read(defaultPath)
	if err != nil {
		return "", err
	}
	list, err := resources(defaultPath, string(text))
	switch {
	case err != nil:
		return "", err
	case slices.Contains(list, certManagerDir):
		return certsCertManager, nil
	case slices.Contains(list, "../webhook"):
		return certsOLM, nil
	}
	return "", nil
}

// writeManifests writes what config needs for webhooks, where it is not there.
func (s *createWebhookSubcommand) writeManifests(disk machinery.Filesystem, d data) error {
	trees := []tree{{root: "webhook/config", part: "config/webhook"}, {root: "webhook/certs/" + s.certs}}
	if s.conversion {
		trees = append(trees, tree{"webhook/conversion", "config"})
	}
	if exists, err := afero.Exists(disk.FS, networkPath); err != nil {
		return err
	} else if exists {
		trees = append(trees, tree{"webhook/config", "config/network-policy"})
	}
	paths := strings.NewReplacer("{group_}", s.groupPrefix(), "{plural}", s.resource.Plural)
	all, err := files(d, paths, func(string) machinery.IfExistsAction { return machinery.SkipFile }, trees...)
	if err != nil {
		return err
	}
	main, err := readIfThere(disk.FS, mainPath)
	if err != nil {
		return err
	}
	for _, b := range all {
		if f := b.(*file); f.Path == ManagerPatch && !bytes.Contains(main, []byte(`"webhook-port"`)) {
			f.TemplateBody = WithoutPortFlag(f.TemplateBody)
		}
	}
	if err := execute(disk, all); err != nil {
		return fmt.Errorf("writing the manifests of webhooks: %w", err)
	}
	return nil
}

// wire edits the files that webhooks are wired into.
func (s *createWebhookSubcommand) wire(disk machinery.Filesystem, d data) error {
	w := mainWiring{
		repo: d.Repo, webhookKind: s.resource.Kind,
		webhookPath: d.Repo + "/" + s.packageDir(), webhookAlias: "webhook" + s.resource.Version,
	}
	if s.byGroup() {
		w.webhookAlias = "webhook" + groupName(s.resource.GVK) + s.resource.Version
	}
	if s.certs == certsSelf {
		w.certsPath = d.Repo + "/" + CertsPackage
	}
	if !s.core && !s.resource.HasAPI() {
		w.apiPath, w.apiAlias = s.resource.Path, d.ImportAlias
	}
	if err := edit(disk.FS, mainPath, func(text string) (string, error) { return wireMain(text, w) }); err != nil {
		return err
	}
	if err := s.requireExternal(disk.FS); err != nil {
		return err
	}
	if err := s.editAll(disk.FS, s.edits(d), networkPath); err != nil || !s.managerNamespaced {
		return err
	}
	return s.restrictNamespaces(disk.FS, d)
}

// edits returns the changes of manifests, and of the package that makes the
// certificates.
func (s *createWebhookSubcommand) edits(d data) map[string]func(string) (string, error) {
	all := map[string]func(string) (string, error){
		defaultPath: s.enableInDefault,
		networkPath: func(text string) (string, error) {
			return appendResources(networkPath, text, "allow-webhook-traffic.yaml")
		},
	}
	if s.defaulting || s.validation {
		all[webhooksPath] = func(text string) (string, error) {
			return prependItem(webhooksPath, text, "resources", "manifests.yaml") // as the template has it
		}
	}
	if s.conversion {
		all[crdPath] = s.enableInCRDs
	}
	if s.certs == certsSelf {
		all[rbacPath] = func(text string) (string, error) {
			return appendResources(rbacPath, text, "webhook_certs_role_binding.yaml")
		}
		all[targetsPath] = func(text string) (string, error) { return s.addTargets(text, d) }
	}
	return all
}

// crdName is the name of the kind's CRD.
func (s *createWebhookSubcommand) crdName() string {
	return s.resource.Plural + "." + s.resource.QualifiedGroup()
}

// enableInDefault makes the parts of config/default count that webhooks need.
func (s *createWebhookSubcommand) enableInDefault(text string) (string, error) {
	text, err := uncommentResource(defaultPath, text, "../webhook")
	if err != nil {
		return "", err
	}
	blocks := []string{"- path: manager_webhook_patch.yaml"}
	if s.certs == certsCertManager {
		if text, err = uncommentResource(defaultPath, text, certManagerDir); err != nil {
			return "", err
		}
		blocks = append(blocks, "replacements:", " - source: # Uncomment the following block if you have any webhook")
		if s.validation {
			blocks = append(blocks, " - source: # Uncomment the following block if you have a ValidatingWebhook (--programmatic-validation)")
		}
		if s.defaulting {
			blocks = append(blocks, " - source: # Uncomment the following block if you have a DefaultingWebhook (--defaulting )")
		}
		if s.conversion {
			blocks = append(blocks, " - source: # Uncomment the following block if you have a ConversionWebhook (--conversion)")
		}
	}
	for _, first := range blocks {
		if text, err = uncommentBlock(defaultPath, text, first); err != nil {
			return "", err
		}
	}
	if s.certs == certsCertManager && s.conversion {
		for index, marker := range []string{"crdkustomizecainjectionns", "crdkustomizecainjectionname"} {
			if text, err = insertLines(defaultPath, text, marker, injection(s.crdName(), index)); err != nil {
				return "", err
			}
		}
	}
	if _, err := resources(defaultPath, text); err != nil { // it was valid before
		return "", usage("take the # off these parts, as 'mysdk init' writes them, and run the command again:\n"+strings.Join(blocks, "\n"),
			"%s: its lists are not as 'mysdk init' writes them", defaultPath)
	}
	return text, nil
}

// injection is the target by which cert-manager's CA gets into a CRD: the
// namespace of the Certificate has index 0, its name 1.
func injection(crd string, index int) string {
	return fmt.Sprintf(`     - select:
         kind: CustomResourceDefinition
         name: %s
       fieldPaths:
         - .metadata.annotations.[cert-manager.io/inject-ca-from]
       options:
         delimiter: '/'
         index: %d
         create: true`, crd, index)
}

// enableInCRDs makes the CRD's conversion a webhook's.
func (s *createWebhookSubcommand) enableInCRDs(text string) (string, error) {
	text, err := insertLines(crdPath, text, "crdkustomizewebhookpatch", "- path: patches/webhook_in_"+s.groupPrefix()+s.resource.Plural+".yaml")
	if err != nil {
		return "", err
	}
	if text, err = uncommentBlock(crdPath, text, "configurations:"); err != nil {
		return "", err
	}
	_, err = resources(crdPath, text)
	return text, err
}

// addTargets lists the objects that are to trust the operator's CA.
func (s *createWebhookSubcommand) addTargets(text string, d data) (string, error) {
	type target struct{ group, kind, plural, name string }
	var all []target
	const admission = "admissionregistration.k8s.io"
	if s.defaulting {
		all = append(all, target{admission, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", d.NamePrefix + "mutating-webhook-configuration"})
	}
	if s.validation {
		all = append(all, target{admission, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", d.NamePrefix + "validating-webhook-configuration"})
	}
	if s.conversion {
		all = append(all, target{"apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", s.crdName()})
	}
	for _, t := range all {
		permission := fmt.Sprintf("// +kubebuilder:rbac:groups=%s,resources=%s,resourceNames=%s,verbs=get;update", t.group, t.plural, t.name)
		entry := fmt.Sprintf("\t\t{%q, %q, %q},", t.group, t.kind, t.name)
		for marker, line := range map[string]string{"webhook-ca-rbac": permission, "webhook-ca": entry} {
			var err error
			if text, err = insertSorted(targetsPath, text, marker, line); err != nil {
				return "", err
			}
		}
	}
	g, err := parseGo(targetsPath, text)
	if err != nil {
		return "", err
	}
	if g, err = edited(g); err != nil {
		return "", err
	}
	return string(g.Src), nil
}

// restrictNamespaces keeps the webhooks to the namespace that the manager
// watches: elsewhere another operator of the kind may be at work.
func (s *createWebhookSubcommand) restrictNamespaces(disk afero.Fs, d data) error {
	text, err := readIfThere(disk, NamespacesPatch)
	if err != nil {
		return err
	}
	const separator = "\n---\n"
	var patches []string
	if len(text) > 0 {
		patches = strings.Split(strings.TrimRight(string(text), "\n"), separator)
	}
	for _, w := range []struct {
		wanted       bool
		kind, letter string
	}{{s.defaulting, "Mutating", "m"}, {s.validation, "Validating", "v"}} {
		name := "- name: " + w.letter + d.Webhook.Name + "\n"
		if !w.wanted || strings.Contains(string(text), name) {
			continue
		}
		patches = append(patches, fmt.Sprintf(`# The manager works in one namespace, and so does its webhook.
apiVersion: admissionregistration.k8s.io/v1
kind: %sWebhookConfiguration
metadata:
  name: %s-webhook-configuration
webhooks:
%s  namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: %s`, w.kind, strings.ToLower(w.kind), name, d.Namespace))
	}
	if len(patches) == 0 {
		return nil
	}
	slices.Sort(patches) // the order does not depend on what came first
	if err := writeFile(disk, NamespacesPatch, strings.Join(patches, separator)+"\n"); err != nil {
		return err
	}
	return edit(disk, webhooksPath, func(text string) (string, error) {
		return prependItem(webhooksPath, text, "patches", "path: "+path.Base(NamespacesPatch))
	})
}

// uncommentBlock makes a block of comments count: from its first line to the
// next empty one, markers aside. A block that counts already stays as it is.
func uncommentBlock(name, text, first string) (string, error) {
	lines := strings.Split(text, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.TrimRight(l, " \t") == "#"+first })
	switch {
	case at >= 0:
	case slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(l) == strings.TrimSpace(first) }):
		return text, nil
	default:
		return "", usage(fmt.Sprintf("put this part in as 'mysdk init' writes it, and run the command again:\n%s", first),
			"%s:%d: found no block to make count", name, len(lines))
	}
	indent := ""
	if strings.HasPrefix(first, "-") {
		indent = itemIndent(lines, at)
	}
	for i := at; i < len(lines) && strings.HasPrefix(lines[i], "#"); i++ {
		if i > at && strings.Contains(lines[i], "# Uncomment the following block") {
			break // the next block
		}
		if !strings.Contains(lines[i], markerPrefix) {
			lines[i] = indent + lines[i][1:]
		}
	}
	return strings.Join(lines, "\n"), nil
}

// insertSorted puts a line among those above a marker that are greater, so that
// the order does not depend on what came first.
func insertSorted(name, text, marker, line string) (string, error) {
	text, err := insertLines(name, text, marker, line)
	if err != nil {
		return "", err
	}
	lines := strings.Split(text, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return isMarker(l, marker) }) - 1
	kind := func(l string) string { return strings.TrimLeft(l, " \t")[:1] }
	for ; at > 0 && lines[at] == line && strings.TrimSpace(lines[at-1]) != "" && kind(lines[at-1]) == kind(line) && lines[at-1] > line; at-- {
		lines[at-1], lines[at] = lines[at], lines[at-1]
	}
	return strings.Join(lines, "\n"), nil
}

// insertLines puts lines above a marker, unless the file has them.
func insertLines(name, text, marker, code string) (string, error) {
	lines := strings.Split(text, "\n")
	if hasCode(lines, code) {
		return text, nil
	}
	at := slices.IndexFunc(lines, func(l string) bool { return isMarker(l, marker) })
	if at < 0 {
		return "", usage("put the marker back, or add this there by hand, and run the command again:\n"+code,
			"%s:%d: the marker %q is missing", name, len(lines), markerPrefix+marker)
	}
	if strings.HasPrefix(code, "- ") {
		code = itemIndent(lines, at) + code
	}
	return strings.Join(slices.Insert(lines, at, code), "\n"), nil
}
