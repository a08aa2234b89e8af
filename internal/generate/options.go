package generate

import (
	"path/filepath"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
)

// Where the outputs go, relative to the project: the places that kubebuilder's
// Makefile gives controller-gen.
const (
	deepcopyFile = "zz_generated.deepcopy.go" // beside the package's sources
	crdDir       = "config/crd/bases"
	rbacDir      = "config/rbac"
	webhookDir   = "config/webhook"
)

// Defaults of Options, as kubebuilder's Makefile has them.
const (
	DefaultHeader   = "hack/boilerplate.go.txt"
	DefaultRoleName = "manager-role"
)

// Options say what to render and from where.
type Options struct {
	// Host gives the environment, the go command and the files of the cache.
	Host host.Host
	// Dir is the project's root, absolute. Outputs are placed below it.
	Dir string
	// Overlay holds files of a change that is not on disk yet. They are seen
	// in place of what the disk has.
	Overlay fileset.Set

	// Deepcopy, CRDs, RBAC and Webhooks select the outputs; none selected
	// means all of these.
	Deepcopy, CRDs, RBAC, Webhooks bool
	// ApplyConfigurations selects those of packages with the marker
	// +kubebuilder:ac:generate=true; it costs nothing where there is none. Their
	// generator sees neither an overlay nor a project other than the one in the
	// directory of the process, so they have to be asked for.
	ApplyConfigurations bool

	// Paths are directories relative to Dir; one that ends in /... stands for
	// the tree below it. Empty means ./...
	Paths []string
	// Header is the file, relative to Dir, that the generated Go code starts
	// with. Empty means DefaultHeader where that exists.
	Header string
	// Year replaces YEAR in the header.
	Year string
	// RoleName names the role for RBAC markers without a roleName of their
	// own. Empty means DefaultRoleName.
	RoleName string
	// Schema tunes the schemas of the CRDs.
	Schema SchemaOptions

	// Lax turns errors in markers into warnings.
	Lax bool
	// CacheDir is where fingerprints of earlier runs are kept, so that a run
	// that finds nothing changed is quick. Empty turns that off.
	CacheDir string
	// ToolVersion is the version of mysdk, part of the fingerprint.
	ToolVersion string
}

// SchemaOptions are controller-gen's options of the same names; the zero value
// is its default.
type SchemaOptions struct {
	// MaxDescLen cuts descriptions to as many characters; nil leaves them
	// whole and 0 drops them.
	MaxDescLen *int
	// AllowDangerousTypes permits float32 and float64.
	AllowDangerousTypes bool
	// IgnoreUnexportedFields leaves out fields that Go does not export.
	IgnoreUnexportedFields bool
	// GenerateEmbeddedObjectMeta describes the fields of embedded metadata.
	GenerateEmbeddedObjectMeta bool
}

// Result is what Render found.
type Result struct {
	// Set holds the outputs that differ from what the project has.
	Set fileset.Set
	// Unchanged is true when the inputs and outputs are those of an earlier
	// run, so that nothing had to be loaded.
	Unchanged bool
	// Warnings are findings that stop nothing, one line each.
	Warnings []string
	// Applied is true when packages ask for apply configurations, selected or
	// not.
	Applied bool
	// Inputs is the fingerprint of all that was read: options, tools, modules
	// and Go files. It is empty where it is not known.
	Inputs string
}

// withDefaults returns o with every default filled in, or an error for a
// value that cannot be used.
func (o Options) withDefaults(t *tree) (Options, error) {
	if !filepath.IsAbs(o.Dir) {
		return o, clierr.Usagef("", "generate: project directory %q is not absolute", o.Dir)
	}
	if !o.Deepcopy && !o.CRDs && !o.RBAC && !o.Webhooks && !o.ApplyConfigurations {
		o.Deepcopy, o.CRDs, o.RBAC, o.Webhooks = true, true, true, true
	}
	if len(o.Paths) == 0 {
		o.Paths = []string{"./..."}
	}
	if o.RoleName == "" {
		o.RoleName = DefaultRoleName
	}
	if o.Header == "" && t.exists(DefaultHeader) {
		o.Header = DefaultHeader
	}
	if o.Header != "" && !t.exists(o.Header) {
		return o, clierr.Usagef("name an existing file, or leave the header out",
			"generate: header file %s does not exist in %s", o.Header, o.Dir)
	}
	return o, nil
}
