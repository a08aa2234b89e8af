package v4

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	lazy "go.podman.io/storage/pkg/regexp"
	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"
)

// boilerplatePath is the license header that goes on every Go file.
const boilerplatePath = "hack/boilerplate.go.txt"

// initSubcommand writes a new project.
type initSubcommand struct {
	plugin Plugin
	config config.Config

	owner, license, licenseFile string
	namespaced                  bool

	// What a command line that does not set these on the config itself leaves
	// to the plugin.
	domain, repo, projectName string
	multiGroup                bool
}

// UpdateMetadata implements plugin.UpdatesMetadata.
func (s *initSubcommand) UpdateMetadata(cli plugin.CLIMetadata, meta *plugin.SubcommandMetadata) {
	meta.Description = `Write a new operator project into this directory: Go module, manager, kustomize
configuration, Makefile and Dockerfile. Nothing is downloaded: go.mod and go.sum
are written complete.
`
	meta.Examples = fmt.Sprintf(`  # A project whose APIs are in groups below example.com
  %[1]s init --domain example.com

  # With a module path and a name on the license header
  %[1]s init --domain example.com --repo github.com/you/shop-operator --owner "Your Name"

  # A manager that works in its own namespace only and needs no cluster-wide rights
  %[1]s init --domain example.com --namespaced
`, cli.CommandName)
}

// BindFlags implements plugin.HasFlags. Flags that the command line has bound
// already are left to it.
func (s *initSubcommand) BindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.owner, "owner", "", "name in the copyright line of the license header")
	flags.StringVar(&s.license, "license", "apache2", "license header of Go files: apache2 or none")
	flags.StringVar(&s.licenseFile, "license-file", "", "file with the license header to use, a Go comment")
	flags.BoolVar(&s.namespaced, "namespaced", false, "watch only the manager's own namespace, with a Role instead of a ClusterRole")

	bind := func(name string, define func()) {
		if flags.Lookup(name) == nil {
			define()
		}
	}
	bind("skip-go-version-check", func() {
		flags.Bool("skip-go-version-check", false, "accepted for compatibility: the go directive of go.mod says what is needed")
	})
	bind("fetch-deps", func() {
		flags.Bool("fetch-deps", false, "accepted for compatibility: go.mod and go.sum are complete, 'go mod download' fetches")
	})
	bind("domain", func() { flags.StringVar(&s.domain, "domain", "my.domain", "domain of the API groups") })
	bind("repo", func() { flags.StringVar(&s.repo, "repo", "", "Go module path, such as github.com/you/shop-operator") })
	bind("project-name", func() { flags.StringVar(&s.projectName, "project-name", "", "name of the project") })
	bind("multigroup", func() {
		flags.BoolVar(&s.multiGroup, "multigroup", false, "lay APIs out by group, in api/<group>/<version>")
	})
}

// InjectConfig implements plugin.RequiresConfig. What the config has already
// counts; the rest comes from the plugin's own flags, and a module path from
// the domain as a last resort.
func (s *initSubcommand) InjectConfig(c config.Config) error {
	s.config = c
	if s.multiGroup {
		if err := c.SetMultiGroup(); err != nil {
			return err
		}
	}
	name := or(c.GetProjectName(), s.projectName, path.Base(s.repo))
	if name == "." || name == "/" {
		name = "operator"
	}
	domain := or(c.GetDomain(), s.domain)
	repo := or(c.GetRepository(), s.repo, domain+"/"+name)
	for _, err := range []error{
		checkDomain(domain), checkRepo(repo), checkProjectName(name), s.checkLicense(),
		c.SetProjectName(name), c.SetDomain(domain), c.SetRepository(repo),
		c.EncodePluginConfig(manifestsKey, struct{}{}), c.EncodePluginConfig(scorecardKey, struct{}{}),
	} {
		if err != nil {
			return err
		}
	}
	if !strings.HasPrefix(s.plugin.CLIVersion, "v") {
		return nil // not a release: what it writes has no name
	}
	return c.EncodePluginConfig(ScaffoldKey, map[string]string{"version": s.plugin.CLIVersion})
}

// operator-sdk looks for these among the plugins of a project before it makes
// a bundle of it.
const (
	manifestsKey = "manifests.sdk.operatorframework.io/v2"
	scorecardKey = "scorecard.sdk.operatorframework.io/v2"
)

// checkLicense refuses what would not be a Go comment. A license file is read
// here where that can be done without a file system.
func (s *initSubcommand) checkLicense() error {
	switch {
	case s.license != "apache2" && s.license != "none":
		return usage("use --license apache2 or --license none, or your own text with --license-file", "license %q is not known", s.license)
	case strings.Contains(s.owner, "*/"):
		return usage("leave out the */", "owner %q would end the comment of the license header", s.owner)
	case strings.ContainsFunc(s.owner, unicode.IsControl):
		return usage("use a name on one line", "owner %q has characters that are not printed", s.owner)
	case s.licenseFile == "" || s.plugin.ReadFile == nil:
		return nil
	}
	_, err := s.readLicense(s.plugin.ReadFile)
	return err
}

// or returns the first that is not empty.
func or(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// ProjectExtras returns the top-level PROJECT fields of kubebuilder v4 that
// the config of kubebuilder/v3 does not know.
func (s *initSubcommand) ProjectExtras() map[string]any {
	if !s.namespaced {
		return nil
	}
	return map[string]any{"namespaced": true}
}

// Scaffold implements plugin.Scaffolder.
func (s *initSubcommand) Scaffold(disk machinery.Filesystem) error {
	d := projectData(s.plugin, s.config)
	d.Namespaced, d.Owner = s.namespaced, s.owner
	header, err := s.boilerplate(disk, d)
	if err != nil {
		return err
	}
	d.setHeader(header)

	all, err := files(d, strings.NewReplacer(), ifExists(false), tree{root: "init"})
	if err != nil {
		return err
	}
	// The header is rendered first, as the other files carry it.
	all = slices.DeleteFunc(all, func(b machinery.Builder) bool { return b.GetPath() == boilerplatePath })
	if header != "" {
		f := &file{data: d}
		f.data.Boilerplate = strings.TrimSpace(header)
		f.Path, f.TemplateBody, f.IfExistsAction = boilerplatePath, "{{ .Boilerplate }}\n", machinery.Error
		all = append(all, f)
	}
	if err := execute(disk, all); err != nil {
		return fmt.Errorf("writing the project: %w", err)
	}
	return nil
}

// boilerplate returns the license header, empty for none.
func (s *initSubcommand) boilerplate(disk machinery.Filesystem, d data) (string, error) {
	switch {
	case s.licenseFile != "":
		if s.plugin.ReadFile != nil {
			return s.readLicense(s.plugin.ReadFile)
		}
		return s.readLicense(func(name string) ([]byte, error) { return afero.ReadFile(disk.FS, name) })
	case s.license == "none":
		return "", nil
	}
	return render(d, "init/"+boilerplatePath, boilerplatePath)
}

// comment matches a text that is one block comment, or line comments only.
var comment = lazy.Delayed(`(?s)^(/\*([^*]|\*+[^*/])*\*+/|(//[^\n]*(\n|$))+)$`)

func (s *initSubcommand) readLicense(read func(name string) ([]byte, error)) (string, error) {
	const hint = "give the path of a file with the header as a Go comment"
	text, err := read(s.licenseFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", usage(hint, "license file %s does not exist", s.licenseFile)
	case err != nil:
		return "", usage(hint, "reading the license file: %w", err)
	}
	header := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
	if header != "" && !comment.MatchString(header) {
		return "", usage("put the text between /* and */", "license file %s is not a Go comment", s.licenseFile)
	}
	return header, nil
}

// setHeader has Go files begin with a license header. In kubebuilder's it says YEAR where
// the files have the year.
func (d *data) setHeader(text string) {
	d.Boilerplate = strings.TrimSpace(text)
	if d.Year > 0 {
		d.Boilerplate = strings.ReplaceAll(d.Boilerplate, " YEAR", " "+strconv.Itoa(d.Year))
	}
}

// projectData fills in what every template of a project gets.
func projectData(p Plugin, c config.Config) data {
	d := data{
		Domain:      c.GetDomain(),
		Repo:        c.GetRepository(),
		ProjectName: c.GetProjectName(),
		MultiGroup:  c.IsMultiGroup(),
		CLIVersion:  or(p.CLIVersion, "(devel)"),
		Year:        p.Year,
		Versions:    CurrentVersions(),
		templates:   p.Templates,
	}
	if d.templates == nil {
		d.templates = Templates()
	}
	if p.Pins != nil {
		d.Versions = *p.Pins
	}
	return d
}
