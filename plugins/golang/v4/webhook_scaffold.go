package v4

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/spf13/afero"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// webhookData is what only the templates of webhooks get.
type webhookData struct {
	Defaulting, Validation         bool
	Sized                          bool   // spec.size is an int32, as in the pattern deployment
	DefaultingPath, ValidationPath string // of the URL
	Group                          string // as markers have it: "" in quotes for the core group
	Name                           string // of the webhook, without its first letter
	FailurePolicy                  string
}

// spokeData is what the templates of a spoke get.
type spokeData struct{ Package, HubAlias, HubPath, To, From, Helpers string }

// Scaffold implements plugin.Scaffolder. It writes through disk alone, and only
// once it is known that everything works out.
func (s *createWebhookSubcommand) Scaffold(disk machinery.Filesystem) error {
	memory := afero.NewMemMapFs()
	draft := machinery.Filesystem{FS: afero.NewCopyOnWriteFs(afero.NewReadOnlyFs(disk.FS), memory)}
	d, err := s.data(draft.FS)
	if err != nil {
		return err
	}
	for _, step := range []func(machinery.Filesystem, data) error{
		s.writeWebhook, s.writeConversion, s.writeManifests, s.wire, s.writeMigration,
	} {
		if err := step(draft, d); err != nil {
			return err
		}
	}
	if err := s.config.UpdateResource(*s.resource); err != nil {
		return fmt.Errorf("recording the webhooks in PROJECT: %w", err)
	}
	if err := s.recordRun(); err != nil {
		return err
	}
	if err := s.recordMigration(); err != nil {
		return err
	}
	if s.core {
		objects := "every object of the cluster"
		if s.managerNamespaced && !ClusterScoped(s.resource.Group, s.resource.Domain, s.resource.Kind) {
			objects = "every object in the namespace " + d.Namespace
		}
		s.note("The webhook of a built-in kind is asked about %s: it ignores failures, so that the manager itself can start.", objects)
	}
	return copyFiles(disk.FS, memory)
}

// packageDir is the directory of the webhooks, with slashes.
func (s *createWebhookSubcommand) packageDir() string {
	return path.Join(s.groupDir("internal/webhook"), s.resource.Version)
}

// data fills in the dot of the templates.
func (s *createWebhookSubcommand) data(disk afero.Fs) (data, error) {
	res := s.resource
	d, err := s.creation.data(disk)
	if err != nil {
		return d, err
	}
	text, err := readIfThere(disk, defaultPath)
	if err != nil {
		return d, err
	}
	if d.NamePrefix, d.Namespace, err = DeployedNames(text); err != nil {
		return d, err
	}
	d.WebhookPackage, d.RootFromWebhook = res.Version, "../../.."
	if s.byGroup() {
		d.RootFromWebhook = "../../../.."
	}
	d.TestClient, d.TestConfig, d.TestEnv = "k8sClient", "cfg", "testEnv"
	d.Webhook = webhookData{
		Defaulting: s.defaulting, Validation: s.validation,
		DefaultingPath: or(s.defaultingPath, s.usualPath("mutate")), ValidationPath: or(s.validationPath, s.usualPath("validate")),
		Group: or(s.group(), `""`), Name: s.webhookName(), FailurePolicy: "fail",
	}
	if s.core {
		d.Webhook.FailurePolicy = "ignore"
	}
	if !res.HasAPI() {
		return d, nil
	}
	types, err := readPackage(disk, s.apiDir(), false)
	if err != nil {
		return d, err
	}
	if spec, ok := findField(types.types[res.Kind].fields(), goField{name: "Spec"}); ok {
		_, fields, _ := spec.local()
		size, ok := findField(fields.fields(), goField{name: "Size"})
		d.Webhook.Sized = ok && size.foreign() == "int32"
	}
	return d, nil
}

// group is the API group as the API server knows it: empty for core.
func (s *createWebhookSubcommand) group() string {
	if s.core && s.resource.Group == "core" {
		return ""
	}
	return s.resource.QualifiedGroup()
}

// usualPath is where controller-runtime serves a webhook.
func (s *createWebhookSubcommand) usualPath(verb string) string {
	return fmt.Sprintf("/%s-%s-%s-%s", verb, strings.ReplaceAll(s.group(), ".", "-"), s.resource.Version, strings.ToLower(s.resource.Kind))
}

// webhookName is a domain name that no other webhook of the project has. Only the
// resources before this one in PROJECT count: those after it may come later.
func (s *createWebhookSubcommand) webhookName() string {
	domain, res := "kb.io", s.resource
	for _, r := range s.all {
		if r.Kind != res.Kind || r.Version != res.Version {
			continue
		}
		if r.QualifiedGroup() == res.QualifiedGroup() {
			break
		}
		domain = or(s.group(), "core") + ".kb.io"
	}
	return strings.ToLower(res.Kind) + "-" + res.Version + "." + domain
}

// IsWebhookName says whether two names are those that webhookName may give a webhook.
func IsWebhookName(a, b string) bool {
	own, _, _ := strings.Cut(a, ".")
	return strings.HasPrefix(b, own+".") && strings.HasSuffix(a, ".kb.io") && strings.HasSuffix(b, ".kb.io")
}

// writeWebhook writes the webhooks and their tests, or adds them to the user's
// files.
func (s *createWebhookSubcommand) writeWebhook(disk machinery.Filesystem, d data) error {
	parts := []string{"base"}
	var calls []chainCall
	var urls []string
	add := func(wanted bool, part, method, before, customPath, url string) {
		if !wanted {
			return
		}
		parts, urls = append(parts, part), append(urls, regexp.QuoteMeta(url))
		typeName := s.resource.Kind + strings.TrimPrefix(method, "With")
		calls = append(calls, chainCall{method, fmt.Sprintf("%s(&%s{})", method, typeName), before})
		if customPath != "" {
			calls = append(calls, chainCall{method + "CustomPath", fmt.Sprintf("%sCustomPath(%q)", method, customPath), before})
		}
	}
	add(s.defaulting, "defaulting", "WithDefaulter", "WithValidator", s.defaultingPath, d.Webhook.DefaultingPath)
	add(s.validation, "validation", "WithValidator", "", s.validationPath, d.Webhook.ValidationPath)
	// What delete webhook disabled counts again.
	disabled := regexp.MustCompile(`(?m)^(//\s*)(kubebuilder:webhook:(.*,)?path=(` + strings.Join(urls, "|") + `)(,|$))`)

	kind := strings.ToLower(s.resource.Kind)
	setup := "Setup" + s.resource.Kind + "WebhookWithManager"
	err := s.mergeFile(disk.FS, d, kind+"_webhook.go", parts, func(g *goedit.File) (*goedit.File, error) {
		g, err := parseGo(g.Name, disabled.ReplaceAllString(string(g.Src), "$1+$2"))
		if err != nil {
			return nil, err
		}
		return addToChain(g, setup, "Complete", calls)
	})
	if err != nil || len(parts) == 1 {
		return err // a conversion has its tests beside the types
	}
	if s.resource.HasAPI() {
		if d, err = s.writeSuite(disk, d); err != nil {
			return err
		}
	}
	return s.mergeFile(disk.FS, d, kind+"_webhook_test.go", parts, nil)
}

// webhookTemplates is the directory of the templates below a part.
const webhookTemplates = "internal/webhook/{group}/{version}/"

// mergeFile renders the parts of a file of the package and adds them to what
// the file has. finish does the rest.
func (s *createWebhookSubcommand) mergeFile(disk afero.Fs, d data, name string, parts []string, finish func(*goedit.File) (*goedit.File, error)) error {
	name = path.Join(s.packageDir(), name)
	pkg, err := readPackage(disk, s.packageDir(), strings.HasSuffix(name, "_test.go"))
	if err != nil {
		return err
	}
	template := webhookTemplates + strings.Replace(path.Base(name), strings.ToLower(s.resource.Kind)+"_", "{kind}_", 1)
	file := pkg.files[path.Base(name)]
	if common := pkg.fileOf("Setup"+s.resource.Kind+"WebhookWithManager", "new"+s.resource.Kind); common != nil {
		if finish != nil && common.ImportName(s.resource.Path) == "" {
			return usage("run 'mysdk edit --multigroup' and then this again", "%s has the webhooks of another kind %s: it does not import %s",
				common.Name, s.resource.Kind, s.resource.Path)
		}
		file, parts = common, parts[1:] // what the webhooks have in common is the user's
	}
	if file != nil {
		name = file.Name
		d.ImportAlias, _ = importName(file, s.resource.Path, d.ImportAlias)
	}
	for _, part := range parts {
		text, err := render(d, "webhook/admission/"+part+"/"+template, name)
		if err != nil {
			return err
		}
		rendered, err := parseGo(name, text)
		if err != nil {
			return err
		}
		if file == nil {
			file = rendered
			continue
		}
		var before []string
		if part == "defaulting" { // the order does not depend on what came first
			validator := s.resource.Kind + "Validator"
			before = []string{validator, "Test" + validator + "_AdmitsEverythingYet"}
		}
		if file, err = mergeGo(file, rendered, pkg.declares, d.Repo, before...); err != nil {
			return err
		}
	}
	if finish != nil {
		if file, err = finish(file); err != nil {
			return err
		}
	}
	return writeFile(disk, name, string(file.Src))
}

// writeSuite writes what the tests of the package share. Projects of other
// tools test with Ginkgo: theirs stays, ours goes beside it.
func (s *createWebhookSubcommand) writeSuite(disk machinery.Filesystem, d data) (data, error) {
	const usual, beside = "webhook_suite_test.go", "mysdk_suite_test.go"
	name := path.Join(s.packageDir(), usual)
	text, err := s.readOwn(disk.FS, name)
	switch {
	case err != nil:
		return d, err
	case strings.Contains(string(text), "func serveWebhooks("):
		return d, nil
	case len(text) > 0:
		name = path.Join(s.packageDir(), beside)
		d.TestClient, d.TestConfig, d.TestEnv = "testClient", "testConfig", "environment"
		if exists, err := afero.Exists(disk.FS, name); exists || err != nil {
			return d, err
		}
	}
	suite, err := render(d, "webhook/admission/base/"+webhookTemplates+usual, name)
	if err != nil {
		return d, err
	}
	return d, writeFile(disk.FS, name, suite)
}

// render fills in one template. name is that of the file that it is for.
func render(d data, template, name string) (string, error) {
	body, err := fs.ReadFile(d.templates, template+".tmpl")
	if err != nil {
		return "", err
	}
	memory := machinery.Filesystem{FS: afero.NewMemMapFs()}
	f := &file{data: d}
	f.Path, f.TemplateBody = name, string(body)
	if err := execute(memory, []machinery.Builder{f}); err != nil {
		return "", fmt.Errorf("writing %s: %w", name, err)
	}
	text, err := afero.ReadFile(memory.FS, name)
	return string(text), err
}

// writeFile writes a file and the directories that it needs.
func writeFile(disk afero.Fs, name, text string) error {
	if err := disk.MkdirAll(path.Dir(name), dirPerm); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := afero.WriteFile(disk, name, []byte(text), filePerm); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// writeConversion makes this version the hub and writes the conversion of the
// others, with tests.
func (s *createWebhookSubcommand) writeConversion(disk machinery.Filesystem, d data) error {
	if !s.conversion {
		return nil
	}
	res := s.resource
	if err := s.writeHub(disk.FS, d); err != nil {
		return err
	}
	hub, err := readPackage(disk.FS, s.apiDir(), false)
	if err != nil {
		return err
	}
	for _, version := range s.spokes {
		gvk := res.GVK
		gvk.Version = version
		spoke, err := readPackage(disk.FS, s.apiDirOf(gvk), false)
		if err != nil {
			return err
		}
		if spoke.names[res.Kind+".Hub"] {
			return usage("remove its method Hub, or make it the hub with --version "+version, "%s is a hub as well: %s", version, spoke.dir)
		}
		if err := s.writeSpoke(disk.FS, d, hub, spoke, version); err != nil {
			return err
		}
	}
	return s.markStorageVersion(disk.FS)
}

// conversionTemplates is the directory of the templates below hub and spoke.
const conversionTemplates = "/api/{group}/{version}/"

func (s *createWebhookSubcommand) writeHub(disk afero.Fs, d data) error {
	hub, err := readPackage(disk, s.apiDir(), false)
	if err != nil || hub.names[s.resource.Kind+".Hub"] {
		return err
	}
	if hub.names[s.resource.Kind+".ConvertTo"] {
		return usage("make the hub of the project the hub here too", "%s is a spoke already: %s", s.resource.Version, hub.dir)
	}
	return s.mergeConversion(disk, d, hub, "webhook/conversion/hub"+conversionTemplates+"{kind}_conversion.go")
}

func (s *createWebhookSubcommand) writeSpoke(disk afero.Fs, d data, hub, spoke *goPackage, version string) error {
	if spoke.names[s.resource.Kind+".ConvertTo"] {
		return nil
	}
	alias := importAlias(s.resource.GVK, false)
	var err error
	if d.Spoke, err = convert(s.resource.Kind, s.resource.Version, alias, spoke, hub); err != nil {
		return err
	}
	d.Spoke.Package, d.Spoke.HubAlias, d.Spoke.HubPath = version, alias, s.resource.Path
	const templates = "webhook/conversion/spoke" + conversionTemplates
	if err := s.mergeConversion(disk, d, spoke, templates+"{kind}_conversion.go"); err != nil {
		return err
	}
	tests, err := readPackage(disk, spoke.dir, true)
	if err != nil {
		return err
	}
	for _, name := range []string{"{kind}_conversion_test.go", "conversion_helper_test.go"} {
		if err := s.mergeConversion(disk, d, tests, templates+name); err != nil {
			return err
		}
	}
	return nil
}

// mergeConversion renders a template into a package, leaving what is there.
func (s *createWebhookSubcommand) mergeConversion(disk afero.Fs, d data, pkg *goPackage, template string) error {
	base := strings.Replace(path.Base(template), "{kind}", strings.ToLower(s.resource.Kind), 1)
	name := path.Join(pkg.dir, base)
	text, err := render(d, template, name)
	if err != nil {
		return err
	}
	file := pkg.files[base]
	if file != nil {
		rendered, err := parseGo(name, text)
		if err != nil {
			return err
		}
		merged, err := mergeGo(file, rendered, pkg.declares, d.Repo)
		if err != nil {
			return err
		}
		text = string(merged.Src)
	}
	return writeFile(disk, name, text)
}
