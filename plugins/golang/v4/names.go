package v4

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/clierr"
)

var (
	subdomainPattern = lazy.Delayed(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	labelPattern     = lazy.Delayed(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	modulePattern    = lazy.Delayed(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)
	versionPattern   = lazy.Delayed(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	kindPattern      = lazy.Delayed(`^[A-Z][A-Za-z0-9]*$`)

	// windowsPattern matches what Windows takes for a device, and Go therefore
	// refuses as an element of an import path.
	windowsPattern = lazy.Delayed(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
)

// maxLabel is the length of a DNS-1123 label, maxSubdomain that of a name of
// several of them (RFC 1123).
const (
	maxLabel     = 63
	maxSubdomain = 253
)

// usage is an error about a flag or a name, with a hint. Its exit code is the
// driver's to say.
func usage(hint, format string, args ...any) error {
	return &clierr.Error{Err: fmt.Errorf(format, args...), Hint: hint}
}

// describe names a kind as the user does.
func describe(gvk resource.GVK) string {
	return fmt.Sprintf("%s/%s %s", gvk.QualifiedGroup(), gvk.Version, gvk.Kind)
}

func checkDomain(domain string) error {
	if !subdomainPattern.MatchString(domain) || len(domain) > maxSubdomain-20 {
		return usage("use a domain in lower case, such as --domain example.com", "domain %q is not a DNS name", domain)
	}
	return nil
}

func checkRepo(repo string) error {
	if !modulePattern.MatchString(repo) {
		return usage("use a path such as --repo github.com/you/shop-operator", "%q is not a Go module path", repo)
	}
	return nil
}

func checkProjectName(name string) error {
	if !labelPattern.MatchString(name) || len(name) > maxLabel-len("-system") {
		return usage("use lower-case letters, digits and dashes, such as --project-name shop-operator", "project name %q is not a DNS label", name)
	}
	return nil
}

// checkGVK refuses names that Kubernetes or Go would refuse later on.
func checkGVK(gvk resource.GVK) error {
	switch {
	case gvk.Group != "" && !subdomainPattern.MatchString(gvk.Group):
		return usage("use lower-case letters, digits and dashes, such as --group cache", "group %q is not a DNS name", gvk.Group)
	case !subdomainPattern.MatchString(gvk.QualifiedGroup()) && gvk.QualifiedGroup() != "":
		return usage("use a DNS name in lower case", "group %q is not a DNS name", gvk.QualifiedGroup())
	case !versionPattern.MatchString(gvk.Version):
		return usage("use a version such as v1alpha1, v1beta1 or v1", "version %q is not a Kubernetes API version", gvk.Version)
	case !kindPattern.MatchString(gvk.Kind) || len(gvk.Kind) > maxLabel-len("List"):
		return usage("use a name in CamelCase, such as --kind Memcached", "kind %q is not a Go name that begins with an upper-case letter and has at most %d letters and digits", gvk.Kind, maxLabel-len("List"))
	case gvk.Kind == "List": // client-go's RESTMapper has it as cluster-scoped
		return usage("use another name, such as --kind ItemList", "kind %q is taken: clients of Kubernetes know a %s of their own in every API group", gvk.Kind, gvk.Kind)
	case slices.Contains(metaKinds, gvk.Kind):
		return usage("use another name", "kind %q is taken: Kubernetes registers a %s of its own in every API group", gvk.Kind, gvk.Kind)
	}
	return nil
}

// metaKinds are in every group version, put there by metav1.AddToGroupVersion.
var metaKinds = []string{
	"WatchEvent", "InternalEvent", "ListOptions", "GetOptions", "DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions",
}

// declared lists the names that the types of a kind declare in their package.
func declared(kind string) []string {
	return []string{kind, kind + "Spec", kind + "Status", kind + "List"}
}

// checkNames refuses names that collide with each other or with what the
// project has.
func (s *createAPISubcommand) checkNames() error {
	res := s.resource
	if len(res.Plural)+1+len(res.QualifiedGroup()) > maxSubdomain {
		return usage("use shorter names", "%s.%s has more than %d characters", res.Plural, res.QualifiedGroup(), maxSubdomain)
	}
	if !labelPattern.MatchString(res.Plural) || len(res.Plural) > maxLabel {
		return usage("use lower-case letters, such as --plural people", "plural %q is not a DNS label", res.Plural)
	}
	if res.Plural == "watch" || res.Plural == "proxy" {
		return usage("give another plural with --plural", "plural %q is a verb in the paths of the API server", res.Plural)
	}
	if err := s.checkGroupDirectory(); err != nil {
		return err
	}
	if s.controllerName != "" && (!labelPattern.MatchString(s.controllerName) || len(s.controllerName) > maxLabel) {
		return usage("use lower-case letters, digits and dashes, such as captain-backup", "controller name %q is not a DNS label", s.controllerName)
	}
	if s.managerNamespaced && !s.doResource && ClusterScoped(res.Group, res.Domain, res.Kind) {
		return usage("make a project without --namespaced for it",
			"kind %s is cluster-scoped, but the manager of this project may only see objects in namespaces", res.Kind)
	}
	if !s.doResource {
		return nil
	}
	if s.managerNamespaced && !s.namespaced {
		return usage("leave out --namespaced=false, or make a project without --namespaced",
			"kind %s is cluster-scoped, but the manager of this project may only see objects in namespaces", res.Kind)
	}
	for _, name := range declared(res.Kind) {
		if slices.Contains([]string{"SchemeGroupVersion", "GroupVersion", "SchemeBuilder", "AddToScheme"}, name) {
			return usage("use another name", "kind %q is taken: groupversion_info.go declares %s", res.Kind, name)
		}
	}
	return s.checkAgainst()
}

// checkGroupDirectory refuses groups that cannot be a directory of a Go
// package that others import, where the layout makes them one.
func (s *createAPISubcommand) checkGroupDirectory() error {
	group := s.resource.Group
	if !s.byGroup() {
		return nil
	}
	switch {
	case group == "internal" || group == "vendor" || group == "testdata":
		return usage("use another name", "group %q would be a directory that Go gives a meaning of its own", group)
	case windowsPattern.MatchString(group):
		return usage("use another name", "group %q would be a directory that Go refuses: Windows takes it for a device", group)
	}
	return nil
}

// checkAgainst compares a new API with those that the project has.
func (s *createAPISubcommand) checkAgainst() error {
	res := s.resource
	for _, r := range s.all {
		if r.GVK == res.GVK || !r.HasAPI() {
			continue
		}
		sameGroup := r.QualifiedGroup() == res.QualifiedGroup()
		switch {
		case !s.config.IsMultiGroup() && r.Group != res.Group && res.Group == "":
			return usage("add --group "+r.Group, "this project uses a single-group layout (group %q)", r.Group)
		case !s.config.IsMultiGroup() && r.Group != res.Group:
			return usage(fmt.Sprintf("run 'mysdk edit --multigroup' and then this again: the API goes to api/%s/%s", res.Group, res.Version),
				"this project uses a single-group layout (group %q)", r.Group)
		case sameGroup && r.Kind != res.Kind && strings.EqualFold(r.Kind, res.Kind):
			return usage("use --kind "+r.Kind+", or another name", "kind %q differs from %s only in upper and lower case", res.Kind, r.Kind)
		case sameGroup && r.Kind != res.Kind && r.Plural == res.Plural:
			return usage("give another plural with --plural", "plural %q is that of %s already", res.Plural, r.Kind)
		case sameGroup && r.Kind == res.Kind && r.Plural != res.Plural:
			return usage("use --plural "+r.Plural, "plural %q differs from %q, that of %s in %s", res.Plural, r.Plural, r.Kind, r.Version)
		case sameGroup && r.Kind == res.Kind && r.API.Namespaced != res.API.Namespaced:
			return usage(fmt.Sprintf("use --namespaced=%t", r.API.Namespaced), "all versions of %s have the scope of %s", r.Kind, r.Version)
		case r.Path != res.Path:
			continue
		}
		for _, name := range declared(r.Kind) {
			if r.Kind != res.Kind && slices.Contains(declared(res.Kind), name) {
				return usage("use another name", "kind %q collides with %s: both declare the Go type %s", res.Kind, r.Kind, name)
			}
		}
	}
	return nil
}

// packageName returns the name of the controller package of a group. It is
// the group's where Go allows that.
func packageName(gvk resource.GVK) string {
	name := groupName(gvk)
	switch {
	case token.IsKeyword(name) || name == "main" || name == "init":
		return name + "controller"
	default:
		return name
	}
}

// importAlias returns the name under which files import an API package: group
// and version, as kubebuilder has it, unless the scaffolded files import
// something else under that name.
func importAlias(gvk resource.GVK, core bool) string {
	group := groupName(gvk)
	alias := group + gvk.Version
	if !core && slices.Contains([]string{"appsv1", "corev1", "metav1", "apiextensionsv1"}, alias) {
		return group + "api" + gvk.Version
	}
	return alias
}

// groupName returns the group as the start of a Go identifier.
func groupName(gvk resource.GVK) string {
	name := strings.NewReplacer("-", "", ".", "").Replace(or(gvk.Group, gvk.Domain))
	if name[0] >= '0' && name[0] <= '9' {
		return "group" + name
	}
	return name
}

// camelCase makes an exported Go name of a controller name: captain-backup
// becomes CaptainBackup.
func camelCase(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
