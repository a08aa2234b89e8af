package v4

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
)

// Permissions of what the plugin writes, where the disk has any.
const (
	filePerm = 0o644
	dirPerm  = 0o755
)

// Scaffold implements plugin.Scaffolder. It writes through disk alone, and only
// once it is known that everything works out: until then new files and edits go
// to a memory that lies over it.
func (s *createAPISubcommand) Scaffold(disk machinery.Filesystem) error {
	memory := afero.NewMemMapFs()
	draft := machinery.Filesystem{FS: afero.NewCopyOnWriteFs(afero.NewReadOnlyFs(disk.FS), memory)}

	d, err := s.data(disk)
	if err != nil {
		return err
	}
	all, err := files(d, s.paths(), ifExists(s.force), s.trees()...)
	if err != nil {
		return err
	}
	if err := s.checkNew(disk, all); err != nil {
		return err
	}
	if err := execute(draft, all); err != nil {
		return fmt.Errorf("writing the files of %s: %w", describe(s.resource.GVK), err)
	}
	if err := s.checkDeclared(draft.FS); err != nil {
		return err
	}
	if err := s.startFrom(draft.FS, d); err != nil {
		return err
	}
	if err := s.wire(draft.FS, d); err != nil {
		return err
	}
	recorded := s.resource.Copy()
	if s.controllerName != "" { // ResourceExtras names it
		recorded.Controller = false
	}
	if err := s.config.UpdateResource(recorded); err != nil {
		return fmt.Errorf("recording the resource in PROJECT: %w", err)
	}
	if err := s.recordOperand(); err != nil {
		return err
	}
	return copyFiles(disk.FS, memory)
}

// execute renders templates and writes the files they make.
func execute(disk machinery.Filesystem, all []machinery.Builder) error {
	return machinery.NewScaffold(disk,
		machinery.WithFilePermissions(filePerm), machinery.WithDirectoryPermissions(dirPerm)).Execute(all...)
}

// copyFiles copies every file of one filesystem to another.
func copyFiles(to, from afero.Fs) error {
	return afero.Walk(from, ".", func(name string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := afero.ReadFile(from, name)
		if err != nil {
			return err
		}
		return writeFile(to, filepath.ToSlash(name), string(text))
	})
}

// controllerTemplate is the blank controller, without its test.
const controllerTemplate = "internal/controller/{group}/{kind}_controller.go.tmpl"

// trees returns the directories of templates that this run needs.
func (s *createAPISubcommand) trees() []tree {
	var out []tree
	pattern := "pattern/" + s.pattern
	if s.doResource {
		out = append(out, tree{root: "api"}, tree{pattern, "api"}, tree{pattern, "config"})
	}
	if !s.doController {
		return out
	}
	out = append(out, tree{root: "controller"})
	switch {
	case s.doResource:
		return append(out, tree{pattern, "internal"})
	case s.resource.HasAPI():
		return append(out, tree{"pattern/blank", "internal"})
	default:
		return append(out, tree{"pattern/blank", controllerTemplate}, tree{root: "pattern/foreign"})
	}
}

// paths replaces the placeholders in the paths of templates.
func (s *createAPISubcommand) paths() *strings.Replacer {
	kind := strings.ToLower(s.resource.Kind)
	suite := "suite_test.go"
	if s.foreignSuite {
		suite = "mysdk_suite_test.go"
	}
	return strings.NewReplacer(
		"api/{group}/{version}", s.apiDir(),
		"internal/controller/{group}/{kind}", path.Join(s.controllerDir(), s.controllerFile()),
		"internal/controller/{group}/suite_test.go", path.Join(s.controllerDir(), suite),
		"{group}_{version}_{kind}.yaml", sampleFile(s.resource.GVK),
		"{group_}", s.groupPrefix(),
		"{kind}", kind,
	)
}

// sampleFile is the name of a kind's sample, below config/samples.
func sampleFile(gvk resource.GVK) string {
	name := gvk.Version + "_" + strings.ToLower(gvk.Kind) + ".yaml"
	if gvk.Group != "" {
		name = gvk.Group + "_" + name
	}
	return name
}

// controllerFile is the start of the names of the controller's files.
func (s *createAPISubcommand) controllerFile() string {
	if s.controllerName != "" {
		return strings.ReplaceAll(s.controllerName, "-", "_")
	}
	return strings.ToLower(s.resource.Kind)
}

// data fills in the dot of the templates.
func (s *createAPISubcommand) data(disk machinery.Filesystem) (data, error) {
	res := s.resource
	d, err := s.creation.data(disk.FS)
	if err != nil {
		return d, err
	}
	if !res.IsRegularPlural() {
		d.IrregularPlural = res.Plural
	}
	name := path.Join(s.apiDir(), strings.ToLower(res.Kind)+"_types.go")
	types, err := readIfThere(disk.FS, name)
	if err != nil {
		return d, err
	}
	switch f, err := parseGo(name, string(types)); {
	case len(types) == 0:
	case err == nil:
		d.StorageVersion = hasStorageMarker(f, res.Kind) // --force keeps it
	case !s.force:
		return d, err
	default: // what does not parse is recreated all the same
		d.StorageVersion = strings.Contains(string(types), storageMarker)
	}
	// Older scaffolds have the SchemeBuilder of controller-runtime, whose Register takes objects.
	info, err := s.readOwn(disk.FS, path.Join(s.apiDir(), "groupversion_info.go"))
	if err != nil {
		return d, err
	}
	d.ObjectRegister = strings.Contains(string(info), "scheme.Builder{")

	d.Name = res.Kind
	d.ControllerName = strings.ToLower(res.Kind)
	if s.controllerName != "" {
		d.Name, d.ControllerName = camelCase(s.controllerName), s.controllerName
	}
	d.Reconciler = d.Name + "Reconciler"
	d.Var = strings.ToLower(d.Name)
	d.MetricName = metricName(or(res.Group, res.Domain), or(s.controllerName, strings.ToLower(res.Kind)))
	d.ControllerPackage, d.RootFromController = "controller", "../.."
	if s.byGroup() {
		d.ControllerPackage, d.RootFromController = packageName(res.GVK), "../../.."
		d.ControllerName = res.Group + "-" + d.ControllerName
	}

	d.TestClient, d.TestConfig = "k8sClient", "cfg"
	if s.foreignSuite {
		d.TestClient, d.TestConfig = "testClient", "testConfig"
	}

	d.Image = or(s.operand.image, defaultImage(res.Kind))
	d.ImageEnv = strings.ToUpper(res.Kind) + "_IMAGE"
	d.Port, d.Command, d.RunAsUser = s.operand.portNumber, s.operand.arguments, s.operand.userID
	d.PortName = "main"
	d.PodsField, d.PodsJSON = "PodNames", "podNames"
	if res.Kind == "Memcached" { // the guides about it, ours and others', have this name
		d.PodsField, d.PodsJSON = "Nodes", "nodes"
	}
	return d, nil
}

// metricName starts the names of a controller's metrics: letters, digits and
// underscores, no digit first. Different groups and controllers get different
// names, since a metric can be registered once only.
func metricName(group, controller string) string {
	name := strings.NewReplacer("-", "__", ".", "_").Replace(group + "." + controller)
	if name[0] >= '0' && name[0] <= '9' {
		return "group_" + name
	}
	return name
}

// checkNew lists every file that is in the way, at once.
func (s *createAPISubcommand) checkNew(disk machinery.Filesystem, all []machinery.Builder) error {
	var taken []string
	for _, b := range all {
		if b.GetIfExistsAction() != machinery.Error {
			continue
		}
		exists, err := afero.Exists(disk.FS, b.GetPath())
		if err != nil {
			return err
		}
		if exists {
			taken = append(taken, b.GetPath())
		}
	}
	if len(taken) == 0 {
		return nil
	}
	slices.Sort(taken)
	return usage("move them away, or overwrite them with --force --overwrite", "these files already exist: %s", strings.Join(taken, ", "))
}

// checkDeclared refuses a controller that declares what another file of its package
// declares: the name memcached-backup makes the reconciler of a kind MemcachedBackup.
func (s *createAPISubcommand) checkDeclared(disk afero.Fs) error {
	if !s.doController {
		return nil
	}
	pkg, err := readPackage(disk, s.controllerDir(), false)
	if err != nil {
		return err
	}
	own := s.controllerFile() + "_controller.go"
	names := namesOf(pkg.files[own])
	delete(pkg.files, own)
	names = slices.DeleteFunc(names, func(n string) bool { return n == "init" || n == "_" })
	if other := pkg.fileOf(names...); other != nil {
		return usage("use another --controller-name", "%s declares names of this controller already", other.Name)
	}
	return nil
}

// readIfThere returns a file's content, nothing where there is none.
func readIfThere(disk afero.Fs, name string) ([]byte, error) {
	text, err := afero.ReadFile(disk, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return text, nil
}
