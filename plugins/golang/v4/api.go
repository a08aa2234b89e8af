package v4

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"
)

// The patterns of --pattern.
const (
	patternDeployment = "deployment"
	patternBlank      = "blank"
)

// createAPISubcommand adds an API, a controller, or both to a project.
type createAPISubcommand struct {
	creation
	flags   *pflag.FlagSet
	operand operand

	// From flags.
	controllerName, pattern              string
	from                                 string // version of the kind
	namespaced, doResource, doController bool

	foreignSuite bool               // the tests there have another frame than ours
	source       *resource.Resource // the version that the types start from; nil for those of the pattern
}

// UpdateMetadata implements plugin.UpdatesMetadata.
func (s *createAPISubcommand) UpdateMetadata(cli plugin.CLIMetadata, meta *plugin.SubcommandMetadata) {
	meta.Description = `Add an API (its Go types), a controller for it with tests, a sample and roles, and
wire them into cmd/main.go and config/.

The pattern "deployment" is a complete operator: it keeps a Deployment of
spec.size pods running. The pattern "blank" has an empty Reconcile.
`
	meta.Examples = fmt.Sprintf(`  # An operator that runs memcached
  %[1]s create api --group cache --version v1alpha1 --kind Memcached

  # The same with an image, a command and a port of your own
  %[1]s create api --group shop --version v1 --kind Frontend --image nginx:1.29 \
    --image-container-command nginx,-g,"daemon off;" --image-container-port 8080

  # Types and an empty reconciler, for a cluster-scoped kind
  %[1]s create api --group net --version v1 --kind Zone --pattern blank --namespaced=false

  # A second version of a kind, which starts with the fields of the first
  %[1]s create api --group cache --version v1 --kind Memcached --from v1alpha1

  # A controller for a kind that is built into Kubernetes
  %[1]s create api --group apps --version v1 --kind Deployment --resource=false

  # A controller for a kind of another project
  %[1]s create api --group cert-manager --version v1 --kind Certificate --resource=false \
    --external-api-domain io --external-api-module github.com/cert-manager/cert-manager@v1.20.2 \
    --external-api-path github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1
`, cli.CommandName)
}

// BindFlags implements plugin.HasFlags. --group, --version and --kind are the
// command line's, which also does what --make says.
func (s *createAPISubcommand) BindFlags(flags *pflag.FlagSet) {
	s.flags = flags
	flags.StringVar(&s.plural, "plural", "", "plural of the kind, if it is irregular: people for Person")
	flags.BoolVar(&s.namespaced, "namespaced", true, "objects are in namespaces; false for a cluster-scoped kind")
	flags.BoolVar(&s.doResource, "resource", true, "write the API; false for a controller alone")
	flags.BoolVar(&s.doController, "controller", true, "write the controller")
	flags.StringVar(&s.controllerName, "controller-name", "", "name of the controller, where a kind has several")
	flags.BoolVar(&s.force, "force", false, "recreate files that exist; refuses to remove your lines")
	flags.Bool("make", true, "generate deep copies, CRDs and roles afterwards")
	flags.StringVar(&s.pattern, "pattern", patternDeployment, "what the controller does: deployment (runs pods) or blank (nothing yet)")
	flags.StringVar(&s.from, "from", "", "version of the kind to copy the types and the sample from, instead of using the pattern's")
	s.operand.bindFlags(flags)
	s.bindExternal(flags)
}

// ResourceExtras returns the fields of the resource in a kubebuilder v4
// PROJECT that the resource model of kubebuilder/v3 does not know. What is
// under "controllers" joins the controllers that the resource has
// there; a "controller: true" becomes the first of them, named after the kind.
func (s *createAPISubcommand) ResourceExtras() map[string]any {
	extras := s.extras()
	if s.doController && (s.controllerName != "" || s.field("controllers") != nil) {
		extras["controllers"] = []any{map[string]any{"name": or(s.controllerName, strings.ToLower(s.resource.Kind))}}
	}
	return extras
}

// field is one that PROJECT has, nil where it is that of a kind of another domain.
func (s *createAPISubcommand) field(name string) any {
	if text(s.recorded["domain"]) != s.resource.Domain {
		return nil
	}
	return s.recorded[name]
}

// InjectResource implements plugin.RequiresResource: it checks flags and names
// and completes the resource.
func (s *createAPISubcommand) InjectResource(res *resource.Resource) error {
	s.resource = res
	if found, err := s.config.GetResource(res.GVK); err == nil {
		s.existing = &found
		if err := s.keepFlags(); err != nil {
			return err
		}
	} else if !s.doResource && s.external == (external{}) && s.recorded["external"] == true { // its domain is not the project's
		s.externalPath, s.externalDomain = text(s.recorded["path"]), text(s.recorded["domain"])
	}
	if res.Plural == "" || s.plural != "" {
		res.Plural = or(s.plural, resource.RegularPlural(res.Kind))
	}
	if s.from != "" && !s.changed("pattern") {
		s.pattern = patternBlank
	}
	if err := s.checkFlags(); err != nil {
		return err
	}
	if err := checkGVK(res.GVK); err != nil {
		return err
	}
	if err := s.complete(); err != nil {
		return err
	}
	if err := s.completeFrom(); err != nil {
		return err
	}
	s.oneControllerPerKind()
	s.noteHub()
	if !s.doResource && !s.doController {
		return usage("name a second one with --controller-name", "another version of %s has a controller, which serves this one too", res.Kind)
	}
	if err := s.checkNames(); err != nil {
		return err
	}
	return res.Validate()
}

// keepFlags sets the flags that were not given to what the kind was made with:
// --force writes its files again, not those of another pattern.
func (s *createAPISubcommand) keepFlags() error {
	if !s.force || !s.doResource || !s.existing.HasAPI() {
		return nil
	}
	flags, _, err := s.plugin.Recorded(s.config, *s.existing, "")
	if err != nil {
		return err
	}
	delete(flags, "controller") // one that is missing is written
	gvk := s.existing.GVK
	gvk.Version = flags["from"]
	if s.changed("pattern") || !s.config.HasResource(gvk) {
		delete(flags, "from")
	}
	flags["plural"], flags["namespaced"] = s.existing.Plural, strconv.FormatBool(s.existing.API.Namespaced)
	for name, value := range flags {
		if !s.changed(name) {
			err = errors.Join(err, s.flags.Lookup(name).Value.Set(value))
		}
	}
	return err
}

// checkFlags refuses flags that contradict each other.
func (s *createAPISubcommand) checkFlags() error {
	switch {
	case !s.doResource && !s.doController:
		return usage("leave out --resource=false or --controller=false", "neither an API nor a controller was requested")
	case s.pattern != patternDeployment && s.pattern != patternBlank:
		return usage("use --pattern deployment or --pattern blank", "pattern %q is not known", s.pattern)
	case !s.doResource && s.pattern == patternDeployment && s.changed("pattern"):
		return usage("leave out --pattern", "the pattern deployment needs an API of its own, and --resource=false writes none")
	case s.from != "" && !s.doResource:
		return usage("leave out --from", "--from gives the types of a new version, and --resource=false writes none")
	case s.doResource && s.external != external{}:
		return usage("add --resource=false", "an external API has its Go types elsewhere")
	case s.controllerName != "" && !s.doController:
		return usage("leave out --controller=false", "--controller-name names a controller that is not to be written")
	case s.existing != nil && s.existing.HasAPI() && s.doResource && !s.force:
		return usage("edit its types, add a version with --version, add a controller with --resource=false --controller-name, or recreate its files with --force",
			"%s is in this project already", describe(s.resource.GVK))
	case s.existing != nil && s.plural != "" && s.plural != s.existing.Plural:
		return s.otherPlural()
	}
	if err := s.checkExternal(); err != nil {
		return err
	}
	return s.operand.check(s)
}

func (s *createAPISubcommand) changed(flag string) bool {
	return s.flags != nil && s.flags.Changed(flag)
}

// complete fills in what the flags say about the resource.
func (s *createAPISubcommand) complete() error {
	res := s.resource
	res.Controller = s.doController
	switch {
	case s.doResource:
		res.API = &resource.API{CRDVersion: "v1", Namespaced: s.namespaced}
		res.Path = path.Join(s.config.GetRepository(), s.apiDir())
	case s.externalPath != "":
		res.Path = s.externalPath
		res.Domain = or(s.externalDomain, res.Domain)
	case s.existing != nil:
		s.core = s.field("core") == true
		res.Path, res.Plural = s.existing.Path, s.existing.Plural
		if s.existing.HasAPI() {
			api := s.existing.API.Copy()
			res.API = &api
		}
	default:
		found, err := findBuiltin(res.GVK)
		if err != nil {
			return err
		}
		s.core, res.Domain, res.Path = true, found.domain, found.path()
	}
	return nil
}

// controllerDir is the directory of the controller's package, with slashes.
func (s *createAPISubcommand) controllerDir() string { return s.groupDir("internal/controller") }

// oneControllerPerKind leaves out the controller where another version of the
// kind has one: two would fight over the same objects.
func (s *createAPISubcommand) oneControllerPerKind() {
	for _, r := range s.all {
		if r.Group == s.resource.Group && r.Domain == s.resource.Domain && r.Kind == s.resource.Kind &&
			r.Version != s.resource.Version && r.Controller && s.doController && s.controllerName == "" && !s.changed("controller") {
			s.doController, s.resource.Controller = false, false
			s.note("The controller of %s %s serves %s too: no second one was written.", r.Version, r.Kind, s.resource.Version)
		}
	}
}

// noteHub tells of the version that the others are converted to: controller-runtime
// refuses to serve a kind of which it cannot convert every version. It also tells
// that the types begin with none of theirs, which nobody sees in the files.
func (s *createAPISubcommand) noteHub() {
	if !s.doResource || s.existing != nil && s.existing.HasAPI() {
		return
	}
	other := ""
	for _, r := range s.otherVersions() {
		if version.CompareKubeAwareVersionStrings(r.Version, other) > 0 {
			other = r.Version
		}
		if r.Webhooks != nil && r.Webhooks.Conversion {
			s.note("%s", notConverted(r.GVK, s.resource.Version))
		}
	}
	if other != "" && s.from == "" {
		s.note("The types of %s are the pattern's, not those of %s: --from %s --force --overwrite begins with its fields.", s.resource.Version, other, other)
	}
}

// notConverted is the note that a version of a hub's kind is not converted yet.
func notConverted(hub resource.GVK, version string) string {
	return fmt.Sprintf("The operator does not start until %s is converted: mysdk create webhook --group %s --version %s --kind %s --conversion --spoke %s",
		version, or(hub.Group, `""`), hub.Version, hub.Kind, version)
}

// PreScaffold implements plugin.HasPreScaffold: it looks at what the scaffold
// will be wired into and built with.
func (s *createAPISubcommand) PreScaffold(disk machinery.Filesystem) error {
	if err := checkMain(disk.FS); err != nil {
		return err
	}
	// Projects of other tools test with Ginkgo. Theirs stays, ours goes beside it.
	suite, err := s.readOwn(disk.FS, path.Join(s.controllerDir(), "suite_test.go"))
	if err != nil {
		return err
	}
	s.foreignSuite = len(suite) > 0 && !strings.Contains(string(suite), "func startManager(")
	if !s.doResource || !s.doController || s.pattern != patternDeployment {
		return nil
	}
	return checkRuntime(disk.FS, "the pattern deployment needs", ", or use --pattern blank")
}

// checkMain refuses a project without a main.go to wire into.
func checkMain(disk afero.Fs) error {
	const hint = "create wires kinds in at the scaffold markers of cmd/main.go: restore the file, or move the operator's main package there"
	info, err := disk.Stat(mainPath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage(hint, "%s is missing", mainPath)
	case err != nil:
		return usage(hint, "reading %s: %w", mainPath, err)
	case info.IsDir():
		return usage(hint, "%s is a directory", mainPath)
	}
	return nil
}

const runtimeModule = "sigs.k8s.io/controller-runtime"

// oldestRuntime is the first minor version of controller-runtime with all
// that the controllers of the pattern deployment and webhooks call.
const oldestRuntime = "v0.23"

// RuntimeVersion is that of the controller-runtime which a go.mod builds with, empty
// where it does not say: a fork or a directory in its place has versions of its own.
func RuntimeVersion(mod []byte) string {
	m, err := modfile.Parse(moduleFile, mod, nil)
	if err != nil {
		m, err = modfile.ParseLax(moduleFile, mod, nil) // of a newer go command; it leaves replaces out
	}
	if err != nil {
		return ""
	}
	version := ""
	for _, r := range m.Require {
		if r.Mod.Path == runtimeModule {
			version = r.Mod.Version
		}
	}
	for _, r := range m.Replace {
		switch {
		case r.Old.Path != runtimeModule || r.Old.Version != "" && r.Old.Version != version:
		case r.New.Path != runtimeModule:
			return ""
		default:
			return r.New.Version
		}
	}
	return version
}

// checkRuntime refuses a controller-runtime before oldestRuntime. what is the
// start of the sentence that says so, otherwise the rest of the hint.
func checkRuntime(disk afero.Fs, what, otherwise string) error {
	text, err := readIfThere(disk, moduleFile)
	if err != nil {
		return err
	}
	found := semver.MajorMinor(RuntimeVersion(text))
	if found == "" || semver.Compare(found, oldestRuntime) >= 0 {
		return nil // of a fork or in a workspace, the compiler will tell
	}
	command := "go get " + runtimeModule + "@" + CurrentVersions().ControllerRuntime
	if strings.Contains(string(text), "=> "+runtimeModule+" ") {
		command = "go mod edit -dropreplace=" + runtimeModule + " && " + command
	}
	return usage(fmt.Sprintf("run '%s' first%s", command, otherwise),
		"the project has controller-runtime %s, and %s %s", found, what, oldestRuntime)
}
