package project

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/module"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/mysdk/internal/clierr"
)

// maxName is the longest project name: the Service of the metrics endpoint is
// called <name>-controller-manager-metrics-service, and a Service's name has
// at most 63 characters.
const maxName = 63 - len("-controller-manager-metrics-service")

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
	if msgs := validation.IsDNS1123Subdomain(domain); len(msgs) > 0 {
		return clierr.Usagef(hint, "domain %q: %s", domain, reason(msgs))
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
		return clierr.Usagef("use a path such as --repo github.com/you/my-operator", "module path %q: %w", repo, unwrapPath(err))
	}
	first, _, _ := strings.Cut(repo, "/")
	if first == "std" || first == "cmd" || first == "internal" || first == "vendor" {
		return clierr.Usagef("use a path such as --repo github.com/you/my-operator", "module path %q: %q is reserved for the Go toolchain", repo, first)
	}
	return nil
}

// unwrapPath takes the repeated path out of a module error.
func unwrapPath(err error) error {
	if e, ok := err.(*module.InvalidPathError); ok { //nolint:errorlint // CheckImportPath returns it bare
		return e.Err
	}
	return err
}

// CheckName refuses what cannot be a project's name: it becomes part of the
// names of Namespaces, Services and Deployments.
func CheckName(name string) error {
	hint := "use --project-name with lower-case letters, digits and dashes, such as memcached-operator"
	if msgs := validation.IsDNS1123Label(name); len(msgs) > 0 {
		return clierr.Usagef(hint, "project name %q: %s", name, reason(msgs))
	}
	if len(name) > maxName {
		return clierr.Usagef("give a shorter one with --project-name", "project name %q has %d characters: %d are the most, as %s-controller-manager-metrics-service must fit into 63",
			name, len(name), maxName, "<name>")
	}
	if name[0] >= '0' && name[0] <= '9' {
		return clierr.Usagef(hint, "project name %q: a Service's name cannot begin with a digit", name)
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

// checkGVK refuses names that cannot be an API's group, version and kind.
func checkGVK(group, version, kind string) error {
	if msgs := validation.IsDNS1123Subdomain(group); group != "" && len(msgs) > 0 {
		return clierr.Usagef("use lower-case letters, digits and dashes, such as --group cache", "group %q: %s", group, reason(msgs))
	}
	if !regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`).MatchString(version) {
		return clierr.Usagef("use a version such as v1, v1beta1 or v1alpha1", "version %q is not a Kubernetes API version", version)
	}
	return checkKind(kind)
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
		return clierr.Usagef(hint, "kind %q: a kind begins with an upper-case letter and has only letters and digits", kind)
	}
	if len(kind) > 63 {
		return clierr.Usagef(hint, "kind %q has %d characters: 63 are the most", kind, len(kind))
	}
	return nil
}

// camel makes a kind of whatever was typed, or "" where nothing is left.
func camel(s string) string {
	var out strings.Builder
	for _, word := range regexp.MustCompile(`[A-Za-z0-9]+`).FindAllString(s, -1) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	if kind := strings.TrimLeft(out.String(), "0123456789"); kind != "" {
		return strings.ToUpper(kind[:1]) + kind[1:]
	}
	return ""
}

// reason shortens the sentences of apimachinery's validation to the part
// before the examples and the regular expression.
func reason(msgs []string) string {
	s := strings.Join(msgs, "; ")
	if i := strings.Index(s, " (e.g."); i >= 0 {
		s = s[:i]
	}
	return s
}

func describe(group, version, kind string) string {
	return fmt.Sprintf("%s/%s %s", group, version, kind)
}
