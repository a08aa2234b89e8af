package v4

import (
	"embed"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"text/template"

	lazy "go.podman.io/storage/pkg/regexp"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
)

// The path of a template below one of the directories here, without .tmpl, is
// the path of the file that it makes.
//
//go:embed all:templates
var templates embed.FS

// Templates are what the plugin writes from, without the directory that they
// lie in.
func Templates() fs.FS {
	own, _ := fs.Sub(templates, "templates") // fails only for a path that is none
	return own
}

// data is the dot of every template.
type data struct {
	Domain, Repo, ProjectName string
	MultiGroup                bool
	Namespaced                bool   // the manager is restricted to namespaces
	Boilerplate               string // license header of Go files, may be empty
	CLIVersion, Owner         string
	Year                      int
	Versions                  Versions

	templates fs.FS // that the files are made from

	// The rest is set by create api and create webhook, as far as they have it.
	Resource           *resource.Resource
	ImportAlias        string // of the API package
	IrregularPlural    string // empty when the CRD generator finds the plural itself
	StorageVersion     bool   // the types file says that this version is stored
	ObjectRegister     bool   // SchemeBuilder is controller-runtime's, which takes objects
	External           bool   // the API is another project's
	SampleFile         string // file name below config/samples
	ControllerPackage  string // package name
	ControllerName     string // as registered with the manager
	Reconciler, Name   string // type name, and the same without "Reconciler"
	Var                string // Name in lower case, the start of unexported names
	MetricName         string
	RootFromController string // "../.." or "../../.."
	TestClient         string // variables that the tests of a package share
	TestConfig         string
	TestEnv            string

	WebhookPackage  string // package name
	RootFromWebhook string // "../../.." or "../../../.."
	Webhook         webhookData
	NamePrefix      string // of what config/default deploys
	Namespace       string // that it deploys to
	Spoke           spokeData

	Image, ImageEnv string // image of the pods, and the variable that overrides it
	Port            int32
	PortName        string
	Command         []string
	RunAsUser       int64
	// The status field with the pods' names, in Go and in JSON.
	PodsField, PodsJSON string
}

// file is one template on its way to becoming a file. It puts data, the dot,
// beside what machinery wants of a template.
type file struct {
	machinery.TemplateMixin
	data
}

// SetTemplateDefaults implements machinery.Template: path, body and action are
// set already.
func (*file) SetTemplateDefaults() error { return nil }

// GetFuncMap implements machinery.UseCustomFuncMap.
func (*file) GetFuncMap() template.FuncMap {
	return template.FuncMap{"lower": strings.ToLower, "quote": strconv.Quote, "yaml": yamlScalar, "hashFNV": hashFNV}
}

// tree is a directory of templates, or a part of one.
type tree struct {
	root string // below templates; paths are relative to it
	part string // below root, empty for all of it
}

// files returns the files that trees of templates make.
func files(d data, paths *strings.Replacer, ifExists func(string) machinery.IfExistsAction, trees ...tree) ([]machinery.Builder, error) {
	var out []machinery.Builder
	for _, t := range trees {
		root := t.root
		err := fs.WalkDir(d.templates, path.Join(root, t.part), func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			body, err := fs.ReadFile(d.templates, name)
			if err != nil {
				return err
			}
			f := &file{data: d}
			f.TemplateBody = string(body)
			f.Path = paths.Replace(strings.TrimSuffix(strings.TrimPrefix(name, root+"/"), ".tmpl"))
			f.IfExistsAction = ifExists(f.Path)
			out = append(out, f)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading the templates of %s: %w", t.root, err)
		}
	}
	return out, nil
}

// shared matches files that several kinds or versions have a part in: the
// first writes them, the next ones leave them or edit them. Any other file that
// exists already stops the scaffold before anything is written.
var shared = lazy.Delayed(`/(groupversion_info\.go|(mysdk_)?suite_test\.go|kustomization\.yaml|kustomizeconfig\.yaml|[^/]*_(admin|editor|viewer)_role\.yaml)$`)

// ifExists is what happens to a file that is there already.
func ifExists(force bool) func(string) machinery.IfExistsAction {
	return func(name string) machinery.IfExistsAction {
		switch {
		case shared.MatchString(name):
			return machinery.SkipFile
		case force:
			return machinery.OverwriteFile
		default:
			return machinery.Error
		}
	}
}

// plainScalar matches what YAML reads as a string without quotes, apart from
// the words in yamlScalar.
var plainScalar = lazy.Delayed(`^[A-Za-z][A-Za-z0-9./-]*$`)

// yamlScalar writes s so that YAML reads it as a string: a project may be
// called 123 or null, and a kind True.
func yamlScalar(s string) string {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return strconv.Quote(s)
	}
	if plainScalar.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// hashFNV returns the 32-bit FNV-1a hash of s in hexadecimal digits.
func hashFNV(s string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // a hash never fails
	return strconv.FormatUint(uint64(h.Sum32()), 16)
}

// RBACNamespace is the part of an RBAC marker that restricts a rule to the
// operator's namespace, for managers that are.
func (d data) RBACNamespace() string {
	if !d.Namespaced {
		return ""
	}
	return "namespace=" + d.ProjectName + "-system,"
}

// RBACNamespaceOfResource is the same for rules on the resource itself, which
// no namespace can hold when it is cluster-scoped.
func (d data) RBACNamespaceOfResource() string {
	if d.Resource.HasAPI() && !d.Resource.API.Namespaced {
		return ""
	}
	return d.RBACNamespace()
}

// OperandNamespace is the Go expression of the namespace for what the
// controller makes.
func (d data) OperandNamespace() string {
	if d.Resource.API.Namespaced {
		return "cr.Namespace"
	}
	return "r.Namespace"
}
