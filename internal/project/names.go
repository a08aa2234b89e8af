package project

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/mod/module"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/clierr"
)

// maxName is the longest project name: the Service of the metrics endpoint is
// called <name>-controller-manager-metrics-service, and a Service's name has
// at most 63 characters.
const maxName = 63 - len("-controller-manager-metrics-service")

// maxKind is the longest kind: a CRD's kind and that of its list have at most
// 63 characters.
const maxKind = 63 - len("List")

// maxDomain leaves room for a plural and a group in the name of a CRD, which
// is <plural>.<group>.<domain> and has at most 253 characters.
const maxDomain = 253 - 64

// subdomainRule is RFC 1123 in the user's words.
const subdomainRule = "it may have lower-case letters, digits, '-' and '.', and each part begins and ends with a letter or a digit"

// CheckDomain refuses what cannot be the end of an API group: it must be a
// DNS-1123 subdomain (RFC 1123).
func CheckDomain(domain string) error {
	hint := "use a domain you own, in lower case, such as --domain example.com"
	switch {
	case domain == "":
		return clierr.Usagef(hint, "the domain is empty")
	case strings.Contains(domain, "://"):
		return clierr.Usagef(hint, "domain %q: a domain has no scheme such as https://", domain)
	}
	if fixed := strings.ToLower(domain); fixed != domain && len(validation.IsDNS1123Subdomain(fixed)) == 0 {
		return clierr.Usagef("use --domain "+fixed, "domain %q: upper-case letters are not allowed", domain)
	}
	switch {
	case len(domain) > maxDomain:
		return clierr.Usagef("use a shorter one", "domain %q has %d characters: the maximum is %d, as plural and group come before it", domain, len(domain), maxDomain)
	case len(validation.IsDNS1123Subdomain(domain)) > 0:
		return clierr.Usagef(hint, "domain %q: %s", domain, subdomainRule)
	}
	for _, taken := range []string{"k8s.io", "kubernetes.io"} {
		if domain == taken || strings.HasSuffix(domain, "."+taken) {
			return clierr.Usagef(hint, "domain %q: the API server takes CRDs of %s only with an approval of the Kubernetes project", domain, taken)
		}
	}
	return nil
}

// CheckRepo refuses what cannot be a Go module path.
func CheckRepo(repo string) error {
	if _, path, ok := strings.Cut(repo, "://"); ok {
		path = strings.TrimSuffix(path, ".git")
		return clierr.Usagef("use --repo "+path, "module path %q: a module path has no scheme", repo)
	}
	if err := module.CheckImportPath(repo); err != nil {
		if e, ok := errors.AsType[*module.InvalidPathError](err); ok {
			err = e.Err // it is said already of which path
		}
		return clierr.Usagef("use a path such as --repo github.com/you/my-operator", "module path %q: %w", repo, err)
	}
	elements := strings.Split(repo, "/")
	for _, e := range elements {
		if e == "vendor" || strings.HasPrefix(e, ".") || strings.HasPrefix(e, "_") {
			return clierr.Usagef("use a path such as --repo github.com/you/my-operator", "module path %q: the go command does not import from a directory %q", repo, e)
		}
	}
	first := elements[0]
	if first == "std" || first == "cmd" || first == "internal" {
		return clierr.Usagef("use a path such as --repo github.com/you/my-operator", "module path %q: %q is reserved for the Go toolchain", repo, first)
	}
	return nil
}

// checkMajor refuses a module path that 'go mod init' refuses, although what is there
// builds with it: one that stands in a go.mod may stay.
func checkMajor(dir, repo string) error {
	_, _, ok := module.SplitPathVersion(repo)
	if _, err := os.Lstat(filepath.Join(dir, "go.mod")); ok || err == nil {
		return nil
	}
	if strings.HasPrefix(repo, "gopkg.in/") {
		return clierr.Usagef("add the version, as in gopkg.in/foo.v1", "module path %q: a path of gopkg.in ends in a version", repo)
	}
	return clierr.Usagef("use --repo "+path.Dir(repo), "module path %q: only /v2 and higher are major versions", repo)
}

// CheckName refuses what cannot be a project's name: it becomes part of the
// names of Namespaces, Services and Deployments.
func CheckName(name string) error {
	hint := "use --project-name with lower-case letters, digits and dashes, such as memcached-operator"
	if len(name) > maxName {
		return clierr.Usagef("give a shorter one with --project-name", "project name %q has %d characters: the maximum is %d, as %s-controller-manager-metrics-service must fit into 63",
			name, len(name), maxName, "<name>")
	}
	if len(validation.IsDNS1035Label(name)) > 0 {
		return clierr.Usagef(hint, "project name %q: it may have lower-case letters, digits and dashes, begins with a letter and does not end with a dash", name)
	}
	return nil
}

// NameFromDir makes a project name of a directory's: lower case, anything that
// a name cannot have becomes a dash. It returns "" where nothing is left.
func NameFromDir(dir string) string {
	s := strings.ToLower(filepath.Base(dir))
	s = regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(s, "-")
	s = strings.TrimLeft(s, "-0123456789")
	if len(s) > maxName {
		s = s[:maxName]
	}
	return strings.Trim(s, "-")
}

// CheckGVK refuses names that cannot be an API's group, version and kind. The
// group's domain is for CheckDomain.
func CheckGVK(gvk resource.GVK) error {
	hint := "use lower-case letters, digits and dashes, such as --group cache"
	switch {
	case gvk.Group != "" && len(validation.IsDNS1123Subdomain(gvk.Group)) > 0:
		if fixed := strings.ToLower(gvk.Group); len(validation.IsDNS1123Subdomain(fixed)) == 0 {
			hint = "use --group " + fixed
		}
		return clierr.Usagef(hint, "group %q: %s", gvk.Group, subdomainRule)
	case gvk.Group == "" && !strings.Contains(gvk.Domain, "."):
		return clierr.Usagef("give a group, such as --group cache", "without a --group the API group is the domain %q, which has no dot in it as CRDs need", gvk.Domain)
	case !regexp.MustCompile(`^v[1-9][0-9]{0,8}((alpha|beta)[1-9][0-9]{0,8})?$`).MatchString(gvk.Version):
		return clierr.Usagef("use a version such as v1, v1beta1 or v1alpha1", "version %q is not a Kubernetes API version", gvk.Version)
	}
	return checkKind(gvk.Kind)
}

func checkKind(kind string) error {
	hint := "use a kind in CamelCase, such as --kind Memcached"
	if kind == "" {
		return clierr.Usagef(hint, "no kind was given")
	}
	if !regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`).MatchString(kind) {
		if fixed := camel(kind); fixed != "" {
			hint = "use --kind " + fixed
		}
		return clierr.Usagef(hint, "kind %q: a kind begins with an upper-case letter and has only ASCII letters and digits", kind)
	}
	if len(kind) > maxKind {
		return clierr.Usagef("use a shorter one", "kind %q has %d characters: the maximum is %d, as <kind>List must fit into 63", kind, len(kind), maxKind)
	}
	return nil
}

// camel makes a kind of whatever was typed, or "" where nothing is left, and of words
// in another script or with accents: without these letters they are no words.
func camel(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) {
		return ""
	}
	var out strings.Builder
	for _, word := range regexp.MustCompile(`[A-Za-z0-9]+`).FindAllString(s, -1) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	if kind := strings.TrimLeft(out.String(), "0123456789"); kind != "" {
		return strings.ToUpper(kind[:1]) + kind[1:]
	}
	return ""
}

func describe(group, version, kind string) string {
	return fmt.Sprintf("%s/%s %s", group, version, kind)
}
