// Package generate has the commands that generate code and manifests: generate,
// with what is below it, and controller-gen.
package generate

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/adopt"
	"github.com/example/mysdk/internal/cli"
	bundlecmd "github.com/example/mysdk/internal/cli/bundle"
	chartcmd "github.com/example/mysdk/internal/cli/chart"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/generate/calls"
	"github.com/example/mysdk/internal/openapi"
	"github.com/example/mysdk/internal/project"
)

// generateCommand is what was asked of generate.
type generateCommand struct {
	what   []string // of generators; empty is everything
	args   []string // of controller-gen, in place of the project's calls
	check  bool
	lax    bool
	strict bool
	dryRun bool
	compat string // reference of --check-compat
	lint   bool
	fix    bool
	output string // format of what --check-compat and --lint report
}

// generators are the arguments that generate takes.
func generators() []string {
	return []string{"deepcopy", "crds", "rbac", "webhooks", "openapi", "applyconfigurations"}
}

// generateLong is the help of generate.
const generateLong = `Generate code and manifests from the Go types and their markers.

Without arguments everything is generated: DeepCopy methods, CRDs below
config/crd/bases, RBAC roles in config/rbac and webhook configurations in
config/webhook. Markers are those of controller-gen, and so is the output, byte
for byte. Files that would not change are not written.

OpenAPI definitions, for programs that serve the schemas of the types, are
written with the argument openapi, as zz_generated.openapi.go beside the types.
Once they exist, 'mysdk generate' updates them too.

Apply configurations, for clients that apply objects of the kinds by server-side
apply, are generated for packages with the marker +kubebuilder:ac:generate=true,
into the directory applyconfiguration beside the types, or the one that
+kubebuilder:ac:output:package names.

Options of controller-gen are taken from the project's own calls of it, in the
Makefile, in //go:generate lines and in the scripts of hack, or from
generate.controller-gen in .mysdk.yaml, which lists them as they are typed:

  generate:
    controller-gen:
      - crd:maxDescLen=0 rbac:roleName=manager-role webhook paths=./api/...
      - object:headerFile=hack/boilerplate.go.txt paths=./...

Arguments after -- replace them. 'mysdk adopt' shows what was found.

A Helm chart is not part of everything: 'mysdk generate chart' writes it, and
this command warns if it is out of date.

Unknown markers are errors in projects that mysdk created, and warnings in
others; --strict and --lax override this.

CRDs that an API server would refuse are errors: rules that do not compile or
cost too much, bad patterns, defaults that do not validate. They are checked
with the API server's own code, which is in mysdk-cluster. --lax only warns.

--check-compat compares the CRDs of the current types with those of the newest
tag that is reachable from HEAD, or of HEAD if there is none, or with those of
another git reference, a directory, or a bundle: a directory, an archive or an
image. Changes that break existing objects or clients, by the rules of crdify,
are listed with the line of the Go type, and the exit code is 3. Descriptions
may change, and so may versions that a webhook converts.

--lint checks the types against the conventions of the Kubernetes API with the
linters of kube-api-linter, and exits with 3 if it finds anything. --fix
corrects what the linters can. generate.lint in .mysdk.yaml has kube-api-linter's
settings:

  generate:
    lint:
      linters: {enable: [maxlength], disable: [nophase]}
      lintersConfig: {jsontags: {jsonTagRegex: '^[a-z][a-zA-Z0-9]*$'}}`

// New is 'mysdk generate', with what is below it.
func New(f *cli.Factory) *cobra.Command {
	o := &generateCommand{}
	c := &cobra.Command{
		Use:   "generate [deepcopy] [crds] [rbac] [webhooks] [openapi] [applyconfigurations]",
		Short: "Generate code and manifests from the Go types and their markers", GroupID: "write",
		Long: generateLong,
		Example: `  # everything
  mysdk generate

  # the CRDs and the roles only
  mysdk generate crds rbac

  # fail with exit code 3 and a diff if anything is out of date
  mysdk generate --check

  # changes of the API that break objects and clients of the last release
  mysdk generate --check-compat
  mysdk generate --check-compat=v0.1.0 -o json

  # the conventions of the Kubernetes API
  mysdk generate --lint
  mysdk generate --lint --fix

  # with options of controller-gen
  mysdk generate -- crd:maxDescLen=0 paths=./api/... output:crd:dir=deploy/crds`,
		Args: func(c *cobra.Command, args []string) error {
			if dash := c.ArgsLenAtDash(); dash >= 0 {
				args, o.args = args[:dash], args[dash:]
			}
			o.what = args
			if c.Flags().Changed("check-compat") && o.compat == "" {
				return clierr.Usagef("name one, or leave out the = for the newest tag", "--check-compat= names no reference")
			}
			return o.checkArgs(c.Flags().Changed("output"))
		},
		ValidArgs: generators(),
		RunE: func(c *cobra.Command, _ []string) error {
			return runGenerate(c.Context(), f, o)
		},
	}
	fs := c.Flags()
	fs.BoolVar(&o.check, "check", false, "show a diff and exit with 3 if anything is out of date; write nothing")
	fs.StringVar(&o.compat, "check-compat", "", "list changes of the CRDs that break objects or clients "+
		"of those of `REFERENCE`, a git reference, directory or bundle, and exit with 3 if there are any; write nothing")
	fs.Lookup("check-compat").NoOptDefVal = newestTag
	fs.BoolVar(&o.lint, "lint", false, "check the API types against the conventions of the Kubernetes API "+
		"and exit with 3 if there are findings; write nothing")
	fs.BoolVar(&o.fix, "fix", false, "with --lint: correct the Go files as far as the linters can")
	cli.OutputFlag(c, &o.output, "sarif")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	fs.BoolVar(&o.lax, "lax", false, "only warn about invalid markers, and CRDs that an API server would refuse")
	fs.BoolVar(&o.strict, "strict", false, "fail on unknown markers in any project")
	c.AddCommand(newDocs(f), bundlecmd.NewGenerateKustomize(f), bundlecmd.NewGenerate(f, "bundle"), chartcmd.New(f))
	return c
}

// checkArgs refuses generators that do not exist, those of both kinds, and flags
// that do not go together.
func (o *generateCommand) checkArgs(format bool) error {
	switch {
	case o.lint && o.compat != "":
		return clierr.Usagef("run them one after the other", "--lint cannot be combined with --check-compat")
	case o.lint && (o.check || o.dryRun && !o.fix):
		return clierr.Usagef("run them one after the other", "--lint cannot be combined with --check, nor with --dry-run but for --fix")
	case o.lint && o.dryRun && o.output != "text":
		return clierr.Usagef("leave out --fix and --dry-run for the findings in that format", "--dry-run cannot be combined with --output %s", o.output)
	case o.lint && len(o.what) > 0:
		return clierr.Usagef("leave them out", "--lint checks all API types, and takes no generators: %s", strings.Join(o.what, " "))
	case o.fix && !o.lint:
		return clierr.Usagef("add --lint", "--fix requires --lint")
	case o.compat != "":
		return o.checkCompatArgs()
	case format && !o.lint:
		return clierr.Usagef("add --lint or --check-compat", "--output is the format of what --lint and --check-compat report")
	}
	if o.lax && o.strict {
		return clierr.Usagef("leave out one of them", "--lax cannot be combined with --strict")
	}
	if len(o.what) > 0 && len(o.args) > 0 {
		return clierr.Usagef("name the generators of controller-gen only after --", "%s cannot be combined with arguments of controller-gen", strings.Join(o.what, " "))
	}
	for _, arg := range o.what {
		if !slices.Contains(generators(), arg) {
			if generate.IsGenerator(arg) || strings.ContainsAny(arg, ":=") {
				return clierr.Usagef("put arguments of controller-gen after --: mysdk generate -- "+arg, "unknown generator %q", arg)
			}
			return clierr.Usagef(clierr.DidYouMean(arg, generators()), "unknown generator %q", arg)
		}
	}
	return nil
}

// checkCompatArgs takes the word behind --check-compat for its reference, which pflag does not.
func (o *generateCommand) checkCompatArgs() error {
	switch {
	case o.check || o.dryRun:
		return clierr.Usagef("run them one after the other", "--check-compat cannot be combined with --check or --dry-run")
	case len(o.what) == 1 && o.compat == newestTag && !slices.Contains(generators(), o.what[0]):
		o.compat, o.what = o.what[0], nil
	case len(o.what) > 0:
		return clierr.Usagef("leave them out; a reference is given as in --check-compat=v0.1.0", "--check-compat compares the CRDs, and takes no generators: %s", strings.Join(o.what, " "))
	}
	return nil
}

// runGenerate renders everything in memory before it writes anything: code and
// manifests are those of one state of the sources, or stay what they were.
func runGenerate(ctx context.Context, f *cli.Factory, o *generateCommand) error {
	start := f.Host.Now()
	if err := f.OldProject(); err != nil {
		return err
	}
	if o.compat != "" {
		return runCompat(ctx, f, o)
	}
	if o.lint {
		return runLint(ctx, f, o)
	}
	// Any Go module with markers will do; a PROJECT file is not needed.
	if _, err := f.Recover(); err != nil {
		return err
	}
	opts, err := o.options(f)
	if err != nil {
		return err
	}
	warnOfProject(f)
	r, err := f.Render(ctx, opts)
	if err != nil {
		return err
	}
	if slices.Contains(o.what, "applyconfigurations") && !r.Applied {
		return clierr.Failedf("put // +kubebuilder:ac:generate=true above the package clause of groupversion_info.go",
			"generate: no package asks for apply configurations")
	}
	if r, err = withOpenAPI(ctx, f, o, r); err != nil {
		return err
	}
	if r.Set.Len() == 0 {
		o.warnStale(ctx, f)
	}
	done := "everything is up to date (" + f.Since(start) + ")"
	if wrote, err := f.Settle(ctx, r.Set, o.check, o.dryRun, done); !wrote || err != nil {
		return err
	}
	noteModule(f, r.Set)
	f.Detail("generated in %s", f.Since(start))
	o.warnStale(ctx, f)
	return nil
}

// warnOfProject warns of a PROJECT file that other commands would refuse, and of
// kinds in it that no type defines. Generating does without it, and 'mysdk adopt'
// says what works with one of another version.
func warnOfProject(f *cli.Factory) {
	if _, err := f.Host.Files.Lstat(f.Host.Path(project.FileName)); errors.Is(err, fs.ErrNotExist) {
		return
	}
	file, err := project.Load(f.Host.Dir)
	_, version := errors.AsType[*project.VersionError](err)
	switch {
	case version:
	case err != nil:
		f.Warn("%v; other commands stop at this: %s", err, clierr.HintOf(err))
	default:
		for _, found := range adopt.Untyped(f.Host.Files, f.Host.Dir, file.Project()) {
			f.Warn("%s: %s; %s", project.FileName, found, adopt.UntypedHint)
		}
	}
}

// warnStale warns of a chart that is not that of what was generated.
func (o *generateCommand) warnStale(ctx context.Context, f *cli.Factory) {
	if len(o.what)+len(o.args) == 0 {
		chartcmd.WarnStale(ctx, f)
	}
}

// options are those of the project, with what was typed. Generators that were
// named are run even where the project calls none.
func (o *generateCommand) options(f *cli.Factory) (opts generate.Options, err error) {
	if len(o.args) > 0 {
		opts = f.PlainOptions()
		opts.Calls = []generate.Call{{Dir: filepath.ToSlash(f.Inside), Args: o.args}}
		_, err = calls.Into(&opts)
	} else {
		opts, err = f.GenerateOptions()
	}
	opts.Lax, opts.Foreign = o.lax, opts.Foreign && !o.strict
	wanted := func(what string) bool { return len(o.what) == 0 || slices.Contains(o.what, what) }
	// The generator of OpenAPI definitions does not notice types that do not compile;
	// that of deep copies does, and is quick where it has seen them before. The schemas
	// in the CRDs are of the same types, as in operator-sdk v0.x.
	opts.Deepcopy, opts.CRDs = wanted("deepcopy") || wanted("openapi"), wanted("crds") || wanted("openapi")
	opts.RBAC, opts.Webhooks, opts.ApplyConfigurations = wanted("rbac"), wanted("webhooks"), wanted("applyconfigurations")
	if err == nil && len(o.what) > 0 && len(o.args) == 0 {
		opts.Complete()
	}
	return opts, err
}

// withOpenAPI adds the OpenAPI definitions to what was rendered, if they are wanted.
func withOpenAPI(ctx context.Context, f *cli.Factory, o *generateCommand, r generate.Result) (generate.Result, error) {
	asked := slices.Contains(o.what, "openapi")
	if !asked && len(o.what) > 0 {
		return r, nil
	}
	if asked && !slices.Contains(o.what, "deepcopy") {
		for _, name := range r.Set.Paths() {
			if strings.HasSuffix(name, "zz_generated.deepcopy.go") {
				r.Set.Drop(name)
			}
		}
	}
	opts := f.PlainOptions()
	more, err := openapi.Render(ctx, openapi.Options{
		Host: f.Host, Dir: f.Host.Dir, Existing: !asked, Year: opts.Year, CacheDir: opts.CacheDir, Inputs: r.Inputs,
	})
	if err != nil {
		return r, err
	}
	for _, line := range more.Violations {
		f.Detail("%s", line)
	}
	return r, r.Set.Merge(more.Set)
}

// noteModule reports the module that OpenAPI definitions import, where go.mod
// has it for others only: the project builds, and is not tidy.
func noteModule(f *cli.Factory, written fileset.Set) {
	isNew := slices.ContainsFunc(written.Paths(), func(name string) bool { return path.Base(name) == openapi.FileName })
	mod, err := f.Host.Files.ReadFile(f.Host.Path("go.mod"))
	if err != nil || !isNew {
		return // the go command reports a go.mod that cannot be read
	}
	for line := range strings.Lines(string(mod)) {
		if strings.Contains(line, "k8s.io/kube-openapi ") && strings.Contains(line, "// indirect") {
			f.Say("Next: go mod tidy   (the code imports k8s.io/kube-openapi now)")
		}
	}
}
