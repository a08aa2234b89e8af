package project_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
)

func TestCheckNames(t *testing.T) {
	long := strings.Repeat("x", 264)
	checkKind := func(kind string) error {
		return project.CheckGVK(resource.GVK{Group: "cache", Domain: "example.com", Version: "v1", Kind: kind})
	}
	for name, c := range map[string]struct {
		check      func(string) error
		value      string
		want, hint string // want "" means accepted
	}{
		"domain":                     {project.CheckDomain, "example.com", "", ""},
		"domain of one label":        {project.CheckDomain, "localhost", "", ""},
		"domain in upper case":       {project.CheckDomain, "Example.com", "upper-case", "--domain example.com"},
		"domain with underscore":     {project.CheckDomain, "bad_domain.com", "lower-case letters", "domain you own"},
		"domain with two dots":       {project.CheckDomain, "example..com", "each part begins", "domain you own"},
		"domain empty":               {project.CheckDomain, "", "empty", "--domain"},
		"domain with slash":          {project.CheckDomain, "example.com/", "lower-case letters", "--domain"},
		"domain with scheme":         {project.CheckDomain, "https://example.com", "scheme", "--domain"},
		"domain with space":          {project.CheckDomain, "exam ple.com", "lower-case letters", "--domain"},
		"domain too long":            {project.CheckDomain, long, "the maximum is 189", "shorter"},
		"domain of Kubernetes":       {project.CheckDomain, "x.k8s.io", "approval", "domain you own"},
		"domain like Kubernetes'":    {project.CheckDomain, "x-k8s.io", "", ""},
		"repo":                       {project.CheckRepo, "github.com/x/y", "", ""},
		"repo of one word":           {project.CheckRepo, "op", "", ""},
		"repo with scheme":           {project.CheckRepo, "https://github.com/x/y.git", "no scheme", "--repo github.com/x/y"},
		"repo with space":            {project.CheckRepo, "github.com/x y", "invalid char", "--repo"},
		"repo empty":                 {project.CheckRepo, "", "empty", "--repo"},
		"repo absolute":              {project.CheckRepo, "/x", "empty path element", "--repo"},
		"repo climbing":              {project.CheckRepo, "a/../b", "invalid path element", "--repo"},
		"repo with vendor":           {project.CheckRepo, "example.com/vendor/x", "vendor", "--repo"},
		"repo in a hidden directory": {project.CheckRepo, "example.com/.x", "\".x\"", "--repo"},
		"repo of the toolchain":      {project.CheckRepo, "cmd/x", "reserved", "--repo"},
		"project name":               {project.CheckName, "memcached-operator", "", ""},
		"project name in upper case": {project.CheckName, "UPPER", "lower-case", "--project-name"},
		"project name with dot":      {project.CheckName, "a.b", "lower-case letters, digits and dashes", "--project-name"},
		"project name too long":      {project.CheckName, strings.Repeat("a", 29), "the maximum is 28", "shorter"},
		"project name at the limit":  {project.CheckName, strings.Repeat("a", 28), "", ""},
		"project name empty":         {project.CheckName, "", "begins with a letter", "--project-name"},
		"project name with digit":    {project.CheckName, "9lives", "begins with a letter", "--project-name"},
		"kind":                       {checkKind, "Cron", "", ""},
		"kind of two words":          {checkKind, "mem-cached", "only ASCII letters", "--kind MemCached"},
		"kind with an accent":        {checkKind, "Crön", "only ASCII letters", "in CamelCase, such as"},
		"kind in another script":     {checkKind, "Кот", "only ASCII letters", "in CamelCase, such as"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.check(c.value)
			if c.want == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if h := clierr.HintOf(err); !strings.Contains(h, c.hint) {
				t.Errorf("hint %q, want %q", h, c.hint)
			}
			if clierr.CodeOf(err) != clierr.CodeUsage {
				t.Errorf("exit code %d", clierr.CodeOf(err))
			}
		})
	}
}

func TestNameFromDir(t *testing.T) {
	for dir, want := range map[string]string{
		"/home/me/Memcached Operator": "memcached-operator", "/x/UPPER_case.d": "upper-case-d", "/x/9lives": "lives",
		"/x/---": "", "/x/日本": "", "/x/" + strings.Repeat("ab-", 20): "ab-ab-ab-ab-ab-ab-ab-ab-ab-a",
	} {
		if got := project.NameFromDir(dir); got != want {
			t.Errorf("NameFromDir(%q) = %q, want %q", dir, got, want)
		}
	}
}

// FuzzNameFromDir: whatever a directory is called, the name made of it is one.
func FuzzNameFromDir(f *testing.F) {
	for _, s := range []string{"My Project", "..", "/", "a--b", "ünïcode", strings.Repeat("a-", 40)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, dir string) {
		name := project.NameFromDir(dir)
		if name == "" {
			return
		}
		if err := project.CheckName(name); err != nil {
			t.Errorf("NameFromDir(%q) = %q: %v", dir, name, err)
		}
	})
}
