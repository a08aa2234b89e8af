package generate

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
)

// Where the outputs go, relative to the project: the places that kubebuilder's
// Makefile gives controller-gen.
const (
	deepcopyFile = "zz_generated.deepcopy.go" // beside the package's sources
	crdDir       = "config/crd/bases"
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

	// Deepcopy, CRDs, RBAC and Webhooks select the outputs; none selected means all of these.
	Deepcopy, CRDs, RBAC, Webhooks bool
	// ApplyConfigurations selects those of packages with the marker
	// +kubebuilder:ac:generate=true; it costs nothing where there is none. Their
	// generator sees neither an overlay nor a project other than the one in the
	// directory of the process, so they have to be asked for.
	ApplyConfigurations bool

	// Calls are the calls of controller-gen that the outputs come from; none
	// means those of kubebuilder's Makefile. Of two that write one file, the
	// later wins.
	Calls []Call
	// Year replaces YEAR in headers, where the call says year=YEAR.
	Year string

	jobs    []job    // of the calls, those that are selected
	headers []string // files that the calls put above their outputs, selected or not

	// Lax turns errors in markers into warnings.
	Lax bool
	// Foreign is a project that mysdk did not make: markers that nobody knows
	// are only warned of there, as controller-gen passes over them in silence,
	// and so are mistakes in markers that none of the generators reads.
	Foreign bool
	// Judge says what the API server would refuse of the CRDs; nil is nothing.
	Judge Judge
	// CacheDir is where fingerprints of earlier runs are kept, so that a run
	// that finds nothing changed is quick. Empty turns that off.
	CacheDir string
	// ToolVersion is the version of mysdk, part of the fingerprint.
	ToolVersion string
}

// Result is what Render found.
type Result struct {
	// Set holds the outputs that differ from what the project has.
	Set fileset.Set
	// Outputs are the names of all outputs, changed or not. They may be those
	// of more generators than were selected.
	Outputs []string
	// Stale are CRDs of earlier runs, or of other projects, that no type makes.
	Stale []string
	// Unchanged is true when the inputs and outputs are those of an earlier
	// run, so that nothing had to be loaded.
	Unchanged bool
	// Warnings are findings that stop nothing, one line each.
	Warnings []string
	// Applied is true when packages ask for apply configurations, selected or not.
	Applied bool
	// Inputs is the fingerprint of all that was read: options, tools, modules
	// and Go files. It is empty where it is not known.
	Inputs string
}

// withDefaults returns o with every default filled in, or an error for a value that cannot be used.
func (o Options) withDefaults(t *tree) (Options, error) {
	if !filepath.IsAbs(o.Dir) {
		return o, clierr.Usagef("", "generate: project directory %q is not absolute", o.Dir)
	}
	if !o.Deepcopy && !o.CRDs && !o.RBAC && !o.Webhooks && !o.ApplyConfigurations {
		o.Deepcopy, o.CRDs, o.RBAC, o.Webhooks = true, true, true, true
	}
	if len(o.Calls) == 0 {
		o.Calls = defaultCalls(t)
	}
	o.Calls = replaceInArgs(o.Calls, "year="+ThisYear, fmt.Sprintf("year=%q", o.Year))
	if err := o.plan(t); err != nil {
		return o, fmt.Errorf("generate: %w", err)
	}
	o.ApplyConfigurations = slices.ContainsFunc(o.jobs, func(j job) bool { return j.name == applyName })
	return o, nil
}
