package legacy

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// addOptions are the flags of add api, add controller and add crd.
type addOptions struct {
	apiVersion, kind, customImport string
	skipGeneration                 bool
}

func newAdd(f *cli.Factory) *cobra.Command {
	c := hidden(&cobra.Command{
		Use: "add", Short: "Add an API, a controller or a CRD to the project",
		Example: "  mysdk add api --api-version=cache.example.com/v1alpha1 --kind=Memcached",
	})
	c.AddCommand(newAddAPI(f), newAddController(f), newAddCRD(f))
	return c
}

func newAddAPI(f *cli.Factory) *cobra.Command {
	o := &addOptions{}
	c := &cobra.Command{
		Use: "api", Short: "Write a kind's types, manifests and sample, without a controller",
		Long: `Write a kind's types, manifests and sample, without a controller.

The types are in api/<version>, and the sample is in config/samples. The group
ends in the project's domain, which the first API sets if 'mysdk new' did not. A
second group switches the project to the multi-group layout.`,
		Example: `  mysdk add api --api-version=cache.example.com/v1alpha1 --kind=Memcached`,
	}
	o.bindSkip(c)
	return o.finish(f, oldVerb(c), func(ctx context.Context, p *project.Project) error {
		return addAPI(ctx, f, p, o, "add api")
	})
}

// newAddCRD is the verb add crd.
func newAddCRD(f *cli.Factory) *cobra.Command {
	o := &addOptions{}
	c := &cobra.Command{
		Use: "crd", Short: "Write a kind's CRD and sample, and the types that they are made of",
		Long: `Write a kind's CRD and sample, and the types that they are made of.

A CRD is generated from Go types. If the project has them, it is generated
again; otherwise they are written with it, as 'mysdk add api' does.`,
		Example: "  mysdk add crd --api-version=cache.example.com/v1alpha1 --kind=Memcached",
	}
	o.bindSkip(c)
	return o.finish(f, oldVerb(c), func(ctx context.Context, p *project.Project) error {
		full, version, err := splitAPIVersion(o.apiVersion)
		if err != nil {
			return err
		}
		if _, ok := findAPI(p, full, version, o.kind); ok {
			return translate(ctx, f, "add crd", mysdkStep("generate", "crds"))
		}
		return addAPI(ctx, f, p, o, "add crd")
	})
}

func newAddController(f *cli.Factory) *cobra.Command {
	o := &addOptions{}
	c := &cobra.Command{
		Use: "controller", Short: "Write a controller for a kind of the project, of Kubernetes or of another project",
		Long: `Write a controller for a kind of the project, of Kubernetes or of another
project.

The controller is in internal/controller and is started by cmd/main.go. Its
Reconcile is empty.`,
		Example: `  mysdk add controller --api-version=cache.example.com/v1alpha1 --kind=Memcached

  # of a kind that is built into Kubernetes
  mysdk add controller --api-version=apps/v1 --kind=Deployment --custom-api-import=k8s.io/api/apps`,
	}
	c.Flags().StringVar(&o.customImport, "custom-api-import", "", "Go package of the group, without the version, for kinds of other projects: host.com/repo/path[=identifier]")
	return o.finish(f, oldVerb(c), func(ctx context.Context, p *project.Project) error {
		args, err := o.controllerArgs(p)
		if err != nil {
			return err
		}
		return translate(ctx, f, "add controller", mysdkStep(args...))
	})
}

func (o *addOptions) bindSkip(c *cobra.Command) {
	c.Flags().BoolVar(&o.skipGeneration, "skip-generation", false, "do not generate code and manifests")
}

// finish gives c what all three have, and the work to do on the project here.
func (o *addOptions) finish(f *cli.Factory, c *cobra.Command, run func(context.Context, *project.Project) error) *cobra.Command {
	c.Flags().StringVar(&o.apiVersion, "api-version", "", "group and version, such as cache.example.com/v1alpha1")
	c.Flags().StringVar(&o.kind, "kind", "", "kind, such as Memcached")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if o.kind == "" {
			return clierr.Usagef("such as: mysdk "+strings.TrimPrefix(c.CommandPath(), "mysdk ")+" --api-version=cache.example.com/v1alpha1 --kind=Memcached", "no --kind was given")
		}
		// What an interrupted command left is ended by the one of today, which
		// may be that very command.
		file, err := project.Load(f.Host.Dir)
		if err != nil {
			return err
		}
		return run(c.Context(), file.Project())
	}
	return c
}

// addAPI writes an API without a controller, after giving the project its
// domain where it has none yet.
func addAPI(ctx context.Context, f *cli.Factory, p *project.Project, o *addOptions, verb string) error {
	full, version, err := splitAPIVersion(o.apiVersion)
	if err != nil {
		return err
	}
	place, ok := placeGroup(p, full)
	if !ok {
		return otherDomain(p, full)
	}
	if err := place.check(version, o.kind); err != nil {
		return err // before the project is changed for it
	}
	var steps []step
	if place.domain != p.Domain {
		steps = append(steps, before("mysdk edit --domain "+host.ShellQuote(p.Domain), "edit", "--domain", place.domain))
	}
	if _, there := findAPI(p, full, version, o.kind); !there && secondGroup(p, place) {
		steps = append(steps, before("mysdk edit --multigroup=false", "edit", "--multigroup"))
	}
	args := append([]string{"create", "api"}, gvkArgs(place.group, version, o.kind)...)
	args = append(args, "--controller=false")
	if o.skipGeneration {
		args = append(args, "--make=false")
	}
	return translate(ctx, f, verb, append(steps, mysdkStep(args...))...)
}

// secondGroup reports whether the project's layout has no room for the group:
// the one of operator-sdk v0.x had it always.
func secondGroup(p *project.Project, place groupPlace) bool {
	full := project.Resource{Group: place.group, Domain: place.domain}.QualifiedGroup()
	return !p.MultiGroup && slices.ContainsFunc(p.Resources, func(r project.Resource) bool {
		return r.API && r.QualifiedGroup() != full
	})
}

// controllerArgs is add controller's command line of today.
func (o *addOptions) controllerArgs(p *project.Project) ([]string, error) {
	// That of Kubernetes' core has no group.
	full, version, err := "core", o.apiVersion, error(nil)
	if strings.Contains(version, "/") || !strings.HasPrefix(version, "v") {
		full, version, err = splitAPIVersion(o.apiVersion)
	}
	if err != nil {
		return nil, err
	}
	args := []string{"create", "api"}
	pkg, _, _ := strings.Cut(o.customImport, "=")
	builtIn, isBuiltIn := v4.BuiltInGroup(full)
	switch r, own := findAPI(p, full, version, o.kind); {
	case own:
		args = append(args, gvkArgs(r.Group, version, o.kind)...)
	case isBuiltIn && (pkg == "" || strings.HasPrefix(pkg, "k8s.io/api/")):
		args = append(args, gvkArgs(builtIn, version, o.kind)...)
	case pkg != "":
		group, domain, _ := strings.Cut(full, ".")
		args = append(args, gvkArgs(group, version, o.kind)...)
		if domain != "" {
			args = append(args, "--external-api-domain", domain)
		}
		args = append(args, "--external-api-path", path.Join(pkg, version))
	case !strings.Contains(full, "."):
		args = append(args, gvkArgs(full, version, o.kind)...) // which says what there is
	case strings.HasSuffix(full, ".k8s.io"):
		return nil, clierr.Usagef("name its Go package with --custom-api-import",
			"the project has no API %s %s, and it is not built into Kubernetes", o.apiVersion, o.kind)
	default:
		return nil, clierr.Usagef("add it first: mysdk add api --api-version="+o.apiVersion+" --kind="+o.kind+"\nor name its Go package with --custom-api-import",
			"the project has no API %s %s", o.apiVersion, o.kind)
	}
	return append(args, "--resource=false"), nil
}

// findAPI is the API of the project by that group, version and kind.
func findAPI(p *project.Project, full, version, kind string) (project.Resource, bool) {
	for _, r := range p.Resources {
		if r.API && r.QualifiedGroup() == full && r.Version == version && r.Kind == kind {
			return r, true
		}
	}
	return project.Resource{}, false
}

// splitAPIVersion takes an --api-version apart.
func splitAPIVersion(apiVersion string) (group, version string, err error) {
	const such = "such as: --api-version=cache.example.com/v1alpha1"
	group, version, ok := strings.Cut(apiVersion, "/")
	switch {
	case apiVersion == "":
		return "", "", clierr.Usagef(such, "no --api-version was given")
	case !ok, group == "", version == "", strings.Contains(version, "/"):
		return "", "", clierr.Usagef(such, "--api-version %q: it is a group and a version with a / between them", apiVersion)
	}
	return group, version, nil
}

// groupPlace says how a full group is written in a project.
type groupPlace struct{ group, domain string }

// check refuses names that cannot be an API's.
func (g groupPlace) check(version, kind string) error {
	gvk := resource.GVK{Group: g.group, Domain: g.domain, Version: version, Kind: kind}
	return cmp.Or(project.CheckDomain(g.domain), project.CheckGVK(gvk))
}

// placeGroup cuts the project's domain off a full group. The first API of a
// project that was given no domain brings it. ok is false where the group ends
// in another domain.
func placeGroup(p *project.Project, full string) (place groupPlace, ok bool) {
	switch group, below := strings.CutSuffix(full, "."+p.Domain); {
	case below:
		return groupPlace{group, p.Domain}, true
	case full == p.Domain:
		return groupPlace{"", p.Domain}, true
	case !strings.Contains(full, "."):
		return groupPlace{full, p.Domain}, true
	}
	group, domain, _ := strings.Cut(full, ".")
	if p.Domain == defaultDomain && len(p.Resources) == 0 {
		return groupPlace{group, domain}, true
	}
	return groupPlace{}, false
}

// otherDomain is the error for a group that does not end in the project's domain.
func otherDomain(p *project.Project, full string) error {
	group, domain, _ := strings.Cut(full, ".")
	hint := "use --api-version=" + group + "." + p.Domain + "/VERSION, or a project of its own"
	if len(p.Resources) == 0 {
		hint = "change the domain first: mysdk edit --domain " + domain
	}
	return clierr.Usagef(hint, "group %s: the API groups of this project end in %s, its domain", full, p.Domain)
}

// gvkArgs are the flags that name a kind today.
func gvkArgs(group, version, kind string) []string {
	args := []string{"--version", version, "--kind", kind}
	if group == "" {
		return args
	}
	return append([]string{"--group", group}, args...)
}
