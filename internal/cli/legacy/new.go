package legacy

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
)

// defaultDomain is the domain of a project that was given none: there is one,
// as a Go type cannot be written without its group, but nobody meant it.
const defaultDomain = "my.domain"

// newOptions are the flags of new.
type newOptions struct {
	name, repo, domain, headerFile, kind, apiVersion string
	operator, deps, crdVersion                       string
	vendor, gitInit, skipGit, skipValidation         bool
	skipGeneration                                   bool
}

func newNew(f *cli.Factory) *cobra.Command {
	o := &newOptions{operator: "go", deps: "modules"}
	c := hidden(oldVerb(&cobra.Command{
		Use: "new NAME", Short: "Create a new operator project in a new directory",
		Long: `Start a new operator project in the directory NAME, which is made.

The layout is today's: types in api, controllers in internal/controller,
manifests in config. The project's domain, in which its API groups end, is that
of the first 'mysdk add api', unless --domain says it now.`,
		Example: `  mysdk new memcached-operator --repo=github.com/example-inc/memcached-operator`,
		Args:    cli.ExactlyOne("the name of the project", "mysdk new memcached-operator --repo=github.com/example-inc/memcached-operator"),
	}))
	flags := c.Flags()
	flags.StringVar(&o.repo, "repo", "", "Go module path (default: the git remote, GOPATH, or domain and name)")
	flags.StringVar(&o.domain, "domain", "", "end of the project's API groups (default: that of the first API)")
	flags.BoolVar(&o.vendor, "vendor", false, "copy the modules that the project needs into its directory vendor")
	flags.BoolVar(&o.gitInit, "git-init", false, "make the directory a git repository")
	flags.BoolVar(&o.skipGit, "skip-git-init", false, "make none, which is the default")
	flags.StringVar(&o.headerFile, "header-file", "", "file with the header of Go files, copied to hack/boilerplate.go.txt")
	flags.BoolVar(&o.skipValidation, "skip-validation", false, "do not compare the go command with the version that the project needs")
	flags.StringVar(&o.apiVersion, "api-version", "", "with --kind: add this API too, such as cache.example.com/v1alpha1")
	flags.StringVar(&o.kind, "kind", "", "with --api-version: its kind")
	flags.BoolVar(&o.skipGeneration, "skip-generation", false, "with --kind: do not generate code and manifests")
	flags.Var(cli.Choice(&o.operator, "go", "ansible", "helm"), "type", "sort of operator: go")
	flags.Var(cli.Choice(&o.deps, "modules", "dep"), "dep-manager", "what keeps the dependencies: modules")
	crdVersionFlag(flags, &o.crdVersion)
	refused := otherOperators()
	bindRefused(flags, refused)
	c.RunE = func(c *cobra.Command, args []string) error {
		o.name = args[0]
		if err := cmp.Or(o.check(), checkRefused(f, c.Flags(), refused), checkCRDVersion(o.crdVersion)); err != nil {
			return err
		}
		return runNew(c.Context(), f, o)
	}
	return c
}

// goOnly and otherTool say of operators that are not written in Go why there
// are none, and what to use.
const (
	goOnly    = "mysdk writes operators in Go"
	otherTool = "for Helm and Ansible use operator-sdk: operator-sdk init --plugins=helm, or --plugins=ansible"
)

// newEntrypoint is a verb that ran an operator of Ansible or Helm within
// the tool's own process, in the operator's image.
func newEntrypoint(use string) *cobra.Command {
	return gone(use, "Removed: run an operator of Ansible or Helm", goOnly+", which 'mysdk run local' runs", otherTool, "mysdk run local")
}

// oldMigrate gives the command migrate the flags that it had when it gave an
// operator of Ansible or Helm a main.go, and refuses them.
func oldMigrate(f *cli.Factory, c *cobra.Command) {
	const own = "the project has it, and 'mysdk migrate' keeps it; adding Go to an operator of Ansible or Helm is for operator-sdk v0.19"
	without(f, c, []refusal{
		{flag: "repo", why: "the module path is the one in go.mod", instead: own},
		{flag: "header-file", why: "the header is the one in hack/boilerplate.go.txt", instead: own},
	})
}

// otherOperators are the flags for operators that are not written in Go.
func otherOperators() []refusal {
	const why, instead = goOnly, otherTool
	return []refusal{
		{flag: "helm-chart", why: why, instead: instead}, {flag: "helm-chart-repo", why: why, instead: instead}, {flag: "helm-chart-version", why: why, instead: instead},
		{flag: "generate-playbook", why: why, instead: instead, isSwitch: true},
	}
}

func (o *newOptions) check() error {
	switch {
	case o.operator != "go":
		return useInstead("--type "+o.operator, goOnly, "leave --type out, or use operator-sdk: operator-sdk init --plugins="+o.operator)
	case o.deps != "modules":
		return useInstead("--dep-manager dep", "Go has modules, and dep is no longer kept up", "leave the flag out")
	case o.gitInit && o.skipGit:
		return clierr.Usagef("leave one of them out", "--git-init and --skip-git-init cannot be combined")
	case (o.apiVersion == "") != (o.kind == ""):
		return clierr.Usagef("give both, or none and add the API later with 'mysdk add api'", "--api-version and --kind name an API together")
	case !filepath.IsLocal(o.name) || o.name == ".":
		return clierr.Usagef("such as: mysdk new memcached-operator", "project name %q must be the name of a new directory here", o.name)
	}
	return nil
}

func runNew(ctx context.Context, f *cli.Factory, o *newOptions) error {
	steps, err := o.steps()
	if err != nil {
		return err
	}
	made := false
	switch info, err := f.Host.Files.Lstat(f.Host.Path(o.name)); {
	case err == nil && info.Mode().IsRegular():
		return clierr.Usagef("choose another name, or move the file away", "%s is a file", o.name)
	case errors.Is(err, fs.ErrNotExist):
		made = true
		steps[0] = steps[0].undoneBy("rm -r " + cli.ShellQuote(o.name))
		mkdir := step{words: []string{"mkdir", o.name}, run: func(context.Context) error {
			return clierr.WithHint(f.Host.Files.Mkdir(f.Host.Path(o.name), 0o755), "make the directory above it, and run the command again")
		}}
		steps = append([]step{mkdir}, steps...)
	}
	err = translate(ctx, f, "new", steps...)
	if err != nil && made {
		// Only where nothing was written into it: then it can be removed.
		_ = f.Host.Files.Remove(f.Host.Path(o.name))
	}
	return err
}

// steps are the command lines of today, in the new directory.
func (o *newOptions) steps() ([]step, error) {
	args, group, version := []string{"init"}, "", ""
	if o.kind != "" {
		full, v, err := splitAPIVersion(o.apiVersion)
		if err != nil {
			return nil, err
		}
		p := &project.Project{Domain: o.domain}
		if o.domain == "" {
			p.Domain = defaultDomain
		}
		place, ok := placeGroup(p, full)
		if !ok {
			_, domain, _ := strings.Cut(full, ".")
			return nil, clierr.Usagef("--domain "+domain+", or leave --domain out", "group %s does not end in the domain %s", full, o.domain)
		}
		if err := place.check(v, o.kind); err != nil {
			return nil, err // before there is a directory
		}
		group, version, o.domain = place.group, v, place.domain
	}
	if o.domain != "" {
		args = append(args, "--domain", o.domain)
	}
	if o.repo != "" {
		args = append(args, "--repo", o.repo)
	}
	if o.headerFile != "" {
		file := o.headerFile
		if !filepath.IsAbs(file) {
			up, err := filepath.Rel(o.name, ".")
			if err != nil {
				return nil, err
			}
			file = filepath.ToSlash(filepath.Join(up, file))
		}
		args = append(args, "--license-file", file)
	}
	if o.skipValidation {
		args = append(args, "--skip-go-version-check")
	}
	steps := []step{mysdkStep(args...).in(o.name)}
	if o.kind != "" {
		args := append([]string{"create", "api"}, gvkArgs(group, version, o.kind)...)
		if o.skipGeneration {
			args = append(args, "--make=false")
		}
		steps = append(steps, mysdkStep(args...).in(o.name))
	}
	if o.vendor {
		steps = append(steps, step{words: []string{"go", "mod", "vendor"}, dir: o.name})
	}
	if o.gitInit {
		steps = append(steps, step{words: []string{"git", "init"}, dir: o.name})
	}
	return steps, nil
}

func newPrintDeps(f *cli.Factory) *cobra.Command {
	c := hidden(oldVerb(&cobra.Command{
		Use: "print-deps", Short: "Print the go.mod that a new project gets",
		Long: `Print the go.mod that a new project gets from this version.

It is for comparing with a project's own, which 'go list -m all' shows.`,
		Example: `  mysdk print-deps`,
	}))
	c.Flags().Bool("as-file", true, "print it as a file, which is the only way left")
	c.RunE = func(*cobra.Command, []string) error { return runPrintDeps(f) }
	return c
}

func runPrintDeps(f *cli.Factory) error {
	if err := f.OldProject(); err != nil {
		f.Say("Note: %s", clierr.HintOf(err))
	}
	repo, domain, name := "example.com/my-operator", defaultDomain, "my-operator"
	if own, err := project.Load(f.Host.Dir); err == nil {
		if p, err := own.Project(); err == nil {
			repo, domain, name = p.Repo, p.Domain, p.Name
		}
	}
	scaffold := f.GoPlugin()
	sub := scaffold.GetInitSubcommand()
	project.BindFlags(sub, pflag.NewFlagSet("init", pflag.ContinueOnError))
	set, _, err := project.Init(sub, project.InitOptions{
		Dir: f.Host.Dir, Domain: domain, Repo: repo, Name: name, Layout: []string{plugin.KeyFor(scaffold)}, Force: true,
	})
	if err != nil {
		return err
	}
	file, _ := set.Get("go.mod")
	f.Say("Note: 'print-deps' has no successor: a new project's go.mod follows. This project's modules: go list -m all")
	return f.Print(file.Data)
}
