package v4

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	lazy "go.podman.io/storage/pkg/regexp"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"
)

// Where the certificates of webhooks come from: the values of --certs.
const (
	certsSelf        = "self"
	certsCertManager = "cert-manager"
	certsOLM         = "olm"
)

// createWebhookSubcommand adds webhooks for a kind, to those that it has.
type createWebhookSubcommand struct {
	creation

	// From flags.
	defaulting, validation, conversion bool
	spokes                             []string
	migrate                            bool
	defaultingPath, validationPath     string
	certs                              string
}

// UpdateMetadata implements plugin.UpdatesMetadata.
func (s *createWebhookSubcommand) UpdateMetadata(cli plugin.CLIMetadata, meta *plugin.SubcommandMetadata) {
	meta.Description = `Add webhooks for a kind: defaulting, validation, and conversion between versions,
with tests, certificates and manifests. What a kind has already stays.
`
	meta.Examples = fmt.Sprintf(`  # Fill in defaults and refuse what is wrong
  %[1]s create webhook --group cache --version v1alpha1 --kind Memcached --defaulting --programmatic-validation

  # Convert between v1, which all versions are converted to, and v1alpha1
  %[1]s create webhook --group cache --version v1 --kind Memcached --conversion --spoke v1alpha1
`, cli.CommandName)
}

// BindFlags implements plugin.HasFlags. --group, --version and --kind are the
// command line's, which also does what --make says.
func (s *createWebhookSubcommand) BindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.plural, "plural", "", "plural of the kind, if it is irregular: people for Person")
	flags.BoolVar(&s.defaulting, "defaulting", false, "write a defaulting webhook")
	flags.BoolVar(&s.validation, "programmatic-validation", false, "write a validating webhook")
	flags.BoolVar(&s.conversion, "conversion", false, "convert other versions to this one and back: it becomes the hub")
	flags.StringSliceVar(&s.spokes, "spoke", nil, "versions to convert, separated by commas; default: all others of the kind")
	flags.BoolVar(&s.migrate, "migrate-storage", false, "have the operator rewrite objects that are stored in old versions; with --conversion")
	flags.StringVar(&s.defaultingPath, "defaulting-path", "", "URL path of the defaulting webhook, in place of the usual one")
	flags.StringVar(&s.validationPath, "validation-path", "", "URL path of the validating webhook, in place of the usual one")
	flags.StringVar(&s.certs, "certs", "", "who issues the certificates: self (the operator), cert-manager or olm; default: what the project uses, else self")
	flags.BoolVar(&s.force, "force", false, "recreate missing webhook files")
	flags.Bool("make", true, "generate manifests afterwards")
	s.bindExternal(flags)
}

// recordedPath is the URL path of a webhook in PROJECT, if it is none of the usual ones.
func (s *createWebhookSubcommand) recordedPath(field string) string {
	webhooks, _ := s.recorded["webhooks"].(map[string]any)
	return text(webhooks[field])
}

// recordedSpokes are the versions that are converted to this one, according to PROJECT.
func (s *createWebhookSubcommand) recordedSpokes() (spokes []string) {
	webhooks, _ := s.recorded["webhooks"].(map[string]any)
	list, _ := webhooks["spoke"].([]any)
	for _, item := range list {
		spokes = append(spokes, fmt.Sprint(item))
	}
	return spokes
}

// ResourceExtras returns the fields of the resource in a kubebuilder v4
// PROJECT that the resource model of kubebuilder/v3 does not know. What is
// under "webhooks" is merged with the webhooks that the resource has.
func (s *createWebhookSubcommand) ResourceExtras() map[string]any {
	extras := s.extras()
	webhooks := map[string]any{}
	for _, spoke := range s.allSpokes() {
		list, _ := webhooks["spoke"].([]any)
		webhooks["spoke"] = append(list, spoke)
	}
	if s.defaultingPath != "" {
		webhooks["defaultingPath"] = s.defaultingPath
	}
	if s.validationPath != "" {
		webhooks["validationPath"] = s.validationPath
	}
	if len(webhooks) > 0 {
		extras["webhooks"] = webhooks
	}
	return extras
}

// allSpokes are those of PROJECT and the new ones.
func (s *createWebhookSubcommand) allSpokes() []string {
	all := s.recordedSpokes()
	for _, spoke := range s.spokes {
		if !slices.Contains(all, spoke) {
			all = append(all, spoke)
		}
	}
	return all
}

// InjectResource implements plugin.RequiresResource: it checks flags and names
// and completes the resource.
func (s *createWebhookSubcommand) InjectResource(res *resource.Resource) error {
	s.resource = res
	if err := checkGVK(res.GVK); err != nil {
		return err
	}
	for _, r := range s.all { // the domain of an external API is not the project's
		if r.Group == res.Group && r.Version == res.Version && r.Kind == res.Kind && (s.externalDomain == "" || r.Domain == s.externalDomain) {
			s.existing = &r
		}
	}
	if err := s.checkFlags(); err != nil {
		return err
	}
	if err := s.complete(); err != nil {
		return err
	}
	if err := s.completeSpokes(); err != nil {
		return err
	}
	if err := s.checkRecorded(); err != nil {
		return err
	}
	res.Webhooks = &resource.Webhooks{WebhookVersion: "v1", Defaulting: s.defaulting, Validation: s.validation, Conversion: s.conversion}
	return res.Validate()
}

// webhookPath matches URL paths that need no quoting in a marker.
var webhookPath = lazy.Delayed(`^(/[A-Za-z0-9._~-]+)+$`)

// checkFlags refuses flags that contradict each other.
func (s *createWebhookSubcommand) checkFlags() error {
	switch {
	case !s.defaulting && !s.validation && !s.conversion:
		return usage("add --defaulting, --programmatic-validation or --conversion", "no webhook is asked for")
	case len(s.spokes) > 0 && !s.conversion:
		return usage("add --conversion", "--spoke names a version to convert, and no conversion is asked for")
	case s.defaultingPath != "" && !s.defaulting:
		return usage("add --defaulting", "--defaulting-path is the path of a webhook that is not asked for")
	case s.validationPath != "" && !s.validation:
		return usage("add --programmatic-validation", "--validation-path is the path of a webhook that is not asked for")
	case !slices.Contains([]string{"", certsSelf, certsCertManager, certsOLM}, s.certs):
		return usage("use --certs self, cert-manager or olm", "certs %q is not known", s.certs)
	}
	for _, f := range []struct{ flag, value string }{{"defaulting-path", s.defaultingPath}, {"validation-path", s.validationPath}} {
		if f.value != "" && (!webhookPath.MatchString(f.value) || path.Clean(f.value) != f.value || f.value == convertPath) {
			return usage("use a path such as /mutate-it", "--%s %q is not a URL path of its own", f.flag, f.value)
		}
	}
	if err := s.checkMigration(); err != nil {
		return err
	}
	return s.checkExternal()
}

// convertPath is where controller-runtime serves the conversion of all kinds.
const convertPath = "/convert"

// complete fills in the resource: from PROJECT, from flags, or from what is
// built into Kubernetes.
func (s *createWebhookSubcommand) complete() error {
	res := s.resource
	res.API = nil
	switch {
	case s.existing != nil:
		if s.plural != "" && s.plural != s.existing.Plural {
			return s.otherPlural()
		}
		res.Domain, res.Plural, res.Path = s.existing.Domain, s.existing.Plural, s.existing.Path
		if s.existing.HasAPI() {
			api := s.existing.API.Copy()
			res.API = &api
		}
		s.core = s.recorded["core"] == true || strings.HasPrefix(res.Path, "k8s.io/api/")
	case s.externalPath != "":
		res.Path, res.Domain = s.externalPath, or(s.externalDomain, res.Domain)
		res.Plural = or(s.plural, resource.RegularPlural(res.Kind))
	default:
		found, err := findBuiltin(res.GVK)
		if err != nil {
			return usage(fmt.Sprintf("run 'mysdk create api --group %s --version %s --kind %s' first, or name the Go package of another project's API with --external-api-path", or(res.Group, `""`), res.Version, res.Kind),
				"%s is not in this project", describe(res.GVK))
		}
		s.core, res.Domain, res.Path = true, found.domain, found.path()
		res.Plural = or(s.plural, resource.RegularPlural(res.Kind))
	}
	if s.defaulting { // --force keeps it
		s.defaultingPath = or(s.defaultingPath, s.recordedPath("defaultingPath"))
	}
	if s.validation {
		s.validationPath = or(s.validationPath, s.recordedPath("validationPath"))
	}
	defaulting := or(s.defaultingPath, s.recordedPath("defaultingPath"), s.usualPath("mutate"))
	if defaulting == or(s.validationPath, s.recordedPath("validationPath"), s.usualPath("validate")) { // only one would be served
		return usage("use two paths, or, if the kind has both webhooks, change defaultingPath or validationPath in PROJECT and the path in their Go file", "both webhooks cannot be at %s", defaulting)
	}
	if s.conversion && !res.HasAPI() {
		return usage("leave out --conversion", "%s is not this project's: who has a kind converts it", describe(res.GVK))
	}
	return nil
}

// completeSpokes checks the versions to convert. Without --spoke they are all
// that the kind has: the API server asks for each of them.
func (s *createWebhookSubcommand) completeSpokes() error {
	if !s.conversion {
		return nil
	}
	var others []string
	for _, r := range s.otherVersions() {
		others = append(others, r.Version)
		if r.Webhooks != nil && r.Webhooks.Conversion {
			return usage(fmt.Sprintf("use --version %s --spoke %s", r.Version, s.resource.Version), "%s is the hub of %s already", r.Version, r.Kind)
		}
	}
	if len(s.spokes) == 0 {
		s.spokes = others
		if len(others) == 0 {
			s.note("%s has one version: after 'mysdk create api' for another one, repeat this command.", s.resource.Kind)
		} else {
			s.note("Versions that are converted: %s.", strings.Join(others, ", "))
		}
	}
	for i, spoke := range s.spokes {
		spoke = strings.TrimSpace(spoke)
		s.spokes[i] = spoke
		switch {
		case spoke == s.resource.Version:
			return usage("name other versions", "--spoke %s is the hub itself", spoke)
		case !slices.Contains(others, spoke):
			hint := fmt.Sprintf("run 'mysdk create api --group %s --version %s --kind %s' first", or(s.resource.Group, `""`), spoke, s.resource.Kind)
			return usage(hint, "%s has no version %q", s.resource.Kind, spoke)
		}
	}
	for _, version := range others {
		if !slices.Contains(s.allSpokes(), version) {
			s.note("%s", notConverted(s.resource.GVK, version))
		}
	}
	return nil
}

// checkRecorded refuses to write what is there, so that a repeated command
// does not look as if it had done something.
func (s *createWebhookSubcommand) checkRecorded() error {
	if s.existing == nil || s.existing.Webhooks == nil || s.force {
		return nil
	}
	has := s.existing.Webhooks
	newSpokes := len(s.allSpokes()) > len(s.recordedSpokes())
	isMigrated, err := migrated(s.config, s.resource.GVK)
	if err != nil {
		return err
	}
	var there []string
	if s.defaulting && has.Defaulting {
		there = append(there, "--defaulting")
	}
	if s.validation && has.Validation {
		there = append(there, "--programmatic-validation")
	}
	if s.conversion && has.Conversion && !newSpokes && (isMigrated || !s.migrate) {
		there = append(there, "--conversion")
	}
	if len(there) == 0 {
		return nil
	}
	return usage("leave that out, or add --force to write again what is missing in its files",
		"%s has the webhook of %s already", describe(s.resource.GVK), strings.Join(there, " and "))
}

// PreScaffold implements plugin.HasPreScaffold: it looks at what the scaffold
// will be wired into and built with.
func (s *createWebhookSubcommand) PreScaffold(disk machinery.Filesystem) error {
	if err := checkMain(disk.FS); err != nil {
		return err
	}
	if err := s.chooseCerts(disk.FS); err != nil {
		return err
	}
	return checkRuntime(disk.FS, "webhooks need", "")
}
