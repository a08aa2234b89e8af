package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/bundle/validate"
	"github.com/example/mysdk/internal/cli"
	imagecmd "github.com/example/mysdk/internal/cli/image"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/registry"
)

type bundleValidateOptions struct {
	bundle   string
	selector string
	values   []string
	target   string
	external string
	builder  string
	replaced string
	list     bool
	useHTTP  bool
	output   string
}

func newValidate(f *cli.Factory) *cobra.Command {
	o := &bundleValidateOptions{}
	c := &cobra.Command{
		Use: "validate DIR|IMAGE|ARCHIVE", Short: "Validate a bundle for OLM and for catalogs",
		Long: `Validate a bundle for OLM and for catalogs.

The bundle is a directory, an image on this machine or in a registry, or an
archive: an image that 'mysdk image save' or 'docker save' wrote, or a tar file
of the directory. Every finding has the rule, the file, the line and the column,
and what to do.

What keeps OLM from installing the bundle is an error, and the exit code is 1.
What only catalogs require is a warning, unless --select-optional or --target
selects it.`,
		Example: `  mysdk bundle validate ./bundle

  # what a catalog asks for
  mysdk bundle validate ./bundle --target operatorhub
  mysdk bundle validate ./bundle --select-optional suite=operatorframework --optional-values k8s-version=1.25

  # and check that existing objects still work with its CRDs
  mysdk bundle validate ./bundle --check-compat example.com/shop-bundle:v0.1.0

  # for a code host, which shows the findings beside the lines
  mysdk bundle validate ./bundle -o sarif`,
		Args: cli.AtMostOne("a directory, an image or an archive"),
		RunE: func(c *cobra.Command, args []string) error {
			o.bundle = strings.Join(args, "")
			return runValidate(c.Context(), f, o)
		},
	}
	fs := c.Flags()
	fs.StringVar(&o.selector, "select-optional", "", "label selector of optional validators to run, such as name=operatorhubv2; their errors count")
	fs.BoolVar(&o.list, "list-optional", false, "list the optional validators and check nothing")
	fs.StringSliceVar(&o.values, "optional-values", nil, "KEY=VALUE for the optional validators, such as k8s-version=1.25")
	fs.StringVar(&o.target, "target", "", "where the bundle will be published: "+strings.Join(validate.Targets(), ", "))
	fs.StringVar(&o.replaced, "check-compat", "", "`BUNDLE` that this one replaces: changes of its CRDs that break objects or clients are errors")
	fs.StringVar(&o.external, "alpha-select-external", "", "additional validators to run, in a list like PATH; each gets the bundle's directory")
	fs.VarP(cli.Choice(&o.builder, "docker", "podman", "none"), "image-builder", "b", "no effect: no container tool is needed")
	cli.OutputFlag(c, &o.output, "json-alpha1", "sarif")
	imagecmd.UseHTTPFlag(c, &o.useHTTP)
	return c
}

// runValidate judges a bundle. What is compared with, the CRDs of the bundle that it
// replaces, is read first: without a network it fails before the long part.
func runValidate(ctx context.Context, f *cli.Factory, o *bundleValidateOptions) error {
	if o.list {
		return listOptional(f, o)
	}
	if o.bundle == "" {
		return clierr.Usagef("mysdk bundle validate ./bundle", "specify the bundle to check")
	}
	opts, err := validateOptions(f, o)
	if err != nil {
		return err
	}
	access := registry.Access{UseHTTP: o.useHTTP}
	if o.replaced != "" {
		if opts.Replaced, err = ReadCRDs(ctx, f, o.replaced, access); err != nil {
			return err
		}
	}
	files, root, err := OpenBundle(ctx, f, o.bundle, image.OpenOptions{Access: access})
	if err != nil {
		return err
	}
	if o.external != "" {
		if opts.External, err = externalValidators(f, o.external); err != nil {
			return err
		}
	}
	report, err := validate.Run(ctx, files, opts)
	if err != nil {
		return err
	}
	if err := reportFindings(f, report, root, o.output); err != nil || report.Passed {
		return err
	}
	return clierr.Failedf("correct what is listed above and run the command again", "%s is not valid: %s and %s",
		o.bundle, cli.Count(report.Count(validate.Error), "error"), cli.Count(report.Count(validate.Warning), "warning"))
}

// validateOptions reads the flags that choose what to judge by.
func validateOptions(f *cli.Factory, o *bundleValidateOptions) (validate.Options, error) {
	opts := validate.Options{Target: o.target, Engine: f.Judge, Compare: f.CompareCRDs}
	var err error
	if opts.Select, err = validate.ParseSelector(o.selector); err != nil {
		return opts, err
	}
	if opts.Select, err = validate.ForTarget(o.target, opts.Select); err != nil {
		return opts, err
	}
	if opts.Values, err = validate.ParseValues(o.values); err != nil {
		return opts, err
	}
	if file := opts.Values["index-path"]; file != "" {
		opts.Values["index-path"] = f.Host.Path(file)
	}
	opts.Platforms = func(ctx context.Context, ref string) ([]validate.Platform, error) {
		f.Stage("asking for the platforms of " + ref)
		found, err := image.Platforms(ctx, f.Host, ref, o.useHTTP)
		var out []validate.Platform
		for _, p := range found {
			out = append(out, validate.Platform(p))
		}
		return out, err
	}
	return opts, nil
}

// OpenBundle finds the files of a bundle and what to call their root. A directory
// may be half-written while a command that was killed is not finished.
func OpenBundle(ctx context.Context, f *cli.Factory, arg string, o image.OpenOptions) (fs.FS, string, error) {
	at := f.Host.Path(arg)
	info, err := f.Host.Files.Lstat(at)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		info, err = os.Stat(at)
	case errors.Is(err, fs.ErrNotExist) && isPath(arg):
		return nil, "", clierr.Usagef("write it with 'mysdk bundle generate'", "there is no %s", arg)
	case absent(arg, err):
		named := image.IsExplicit(arg) // else it is meant to be a directory, or an image of this machine
		o.Image, o.Offline, o.Roots, o.Progress, o.Warn = arg, !named, bundleRoots, f.Progress, f.WarnLine
		c, err := image.Open(ctx, f.Host, o)
		if err != nil && !named {
			return nil, "", clierr.Usagef(fmt.Sprintf("write the bundle with 'mysdk bundle generate'; an image in a registry needs its tag, as in %s:v0.0.1", arg), "there is no directory or archive %s", arg)
		}
		if err != nil {
			return nil, "", clierr.WithHint(err, "name a directory, an archive or an image")
		}
		return c.Files.FS(), "", nil
	}
	var c *image.Contents
	switch {
	case err != nil:
		return nil, "", err
	case !info.IsDir():
		c, err = image.OpenArchive(f.Host, at, bundleRoots, bundle.MetadataDir, bundle.ManifestsDir)
	case image.IsLayout(at):
		c, err = image.OpenLayout(at, bundleRoots)
	default:
		if err := f.RefusePending(); err != nil {
			return nil, "", err
		}
		return os.DirFS(at), filepath.ToSlash(filepath.Clean(arg)), nil
	}
	if err != nil {
		return nil, "", err
	}
	return c.Files.FS(), "", nil
}

// isPath reports whether the argument cannot be the name of an image.
func isPath(arg string) bool { return strings.HasPrefix(arg, ".") || filepath.IsAbs(arg) }

// absent reports whether there is no file of that name, by what looking for it came
// to. Windows calls a path with a colon, as images have, invalid and not missing.
func absent(arg string, err error) bool {
	return errors.Is(err, fs.ErrNotExist) || err != nil && strings.Contains(arg, ":") && image.IsExplicit(arg) && !isPath(arg)
}

// bundleRoots are where an image has its bundle, by its labels.
func bundleRoots(labels map[string]string) []string {
	roots := []string{bundle.ManifestsDir, bundle.MetadataDir, bundle.TestsDir}
	for _, key := range []string{bundle.ManifestsKey, bundle.MetadataKey, bundle.TestConfigKey} {
		if dir := labels[key]; dir != "" {
			roots = append(roots, dir)
		}
	}
	return roots
}

func reportFindings(f *cli.Factory, r *validate.Report, root, format string) error {
	var data []byte
	var err error
	switch format {
	case "json", "yaml":
		return f.Report(format, r, nil)
	case "json-alpha1":
		data, err = r.Alpha1()
	case "sarif":
		data, err = r.SARIF(f.InRepository(root), cli.ThisBuild().Version)
	default:
		return f.Print([]byte(findingsText(r, root)))
	}
	if err != nil {
		return err
	}
	return f.Print(append(data, '\n'))
}

// findingsText is one line for each finding, and its hint below.
func findingsText(r *validate.Report, root string) string {
	var b strings.Builder
	for _, finding := range r.Findings {
		if at := finding.Place(); at != "" {
			fmt.Fprintf(&b, "%s: ", path.Join(root, at))
		}
		fmt.Fprintf(&b, "%s: %s (%s)\n", finding.Level, finding.Text, finding.Rule)
		if finding.Hint != "" {
			fmt.Fprintf(&b, "    %s\n", finding.Hint)
		}
	}
	if len(r.Findings) == 0 {
		fmt.Fprintf(&b, "%s is valid\n", r.Bundle)
	} else if r.Passed {
		fmt.Fprintf(&b, "%s is valid, with %s\n", r.Bundle, cli.Count(r.Count(validate.Warning), "warning"))
	}
	return b.String()
}

func listOptional(f *cli.Factory, o *bundleValidateOptions) error {
	list := validate.Optionals()
	format := o.output
	if format != "text" && format != "yaml" {
		format = "json"
	}
	return f.Report(format, list, func(w io.Writer) {
		fmt.Fprintln(w, "NAME\tLABELS\tRUNS\tWHAT IT CHECKS")
		for _, v := range list {
			runs := "when selected"
			if v.Default {
				runs = "always"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", v.Name, strings.Join(v.Labels, ","), runs, v.Does)
		}
	})
}

// ReadCRDs reads the CRDs of a bundle, or of a directory with manifests of another kind.
func ReadCRDs(ctx context.Context, f *cli.Factory, arg string, access registry.Access) (compat.CRDs, error) {
	files, _, err := OpenBundle(ctx, f, arg, image.OpenOptions{Access: access})
	if err != nil {
		return nil, err
	}
	crds, err := compat.Read(files)
	if err == nil && len(crds) == 0 {
		err = clierr.Usagef("name a bundle or a directory that has some", "--check-compat: %s has no CRDs", arg)
	}
	return crds, err
}

// ReadBundle reads the bundle that the user named: a directory, an archive, or
// an image of this machine or of a registry.
func ReadBundle(ctx context.Context, f *cli.Factory, arg string, o image.OpenOptions) (*bundle.Bundle, error) {
	files, _, err := OpenBundle(ctx, f, arg, o)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Load(files)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", arg, err)
	}
	return b, nil
}

// externalValidators are the programs of a list like PATH, each found before anything is checked.
func externalValidators(f *cli.Factory, list string) ([]validate.External, error) {
	var all []validate.External
	for _, program := range filepath.SplitList(list) {
		found, err := f.Host.LookPath(programPath(f, program))
		if err != nil {
			return nil, clierr.Usagef("name programs that can be run, with ':' between them", "--alpha-select-external: %w", err)
		}
		all = append(all, func(ctx context.Context, dir string) ([]validate.Result, error) {
			return runExternal(ctx, f, found, dir)
		})
	}
	return all, nil
}

// programPath leaves a plain name to PATH.
func programPath(f *cli.Factory, program string) string {
	if filepath.Base(program) == program {
		return program
	}
	return f.Host.Path(program)
}

// manifestResult is what a program prints: a ManifestResult of operator-framework/api in JSON.
type manifestResult struct {
	Name             string
	Errors, Warnings []struct {
		Type, Level, Field, Detail string
		BadValue                   any
	}
}

func runExternal(ctx context.Context, f *cli.Factory, program, dir string) ([]validate.Result, error) {
	var out bytes.Buffer
	err := host.Run(ctx, f.Host.Exec, host.Cmd{
		Name: program, Args: []string{dir}, Dir: f.Host.Dir, Env: f.Host.Environ(), Stdout: &out, Stderr: f.Host.IO.Err,
	})
	if err != nil {
		return nil, fmt.Errorf("run the validator %s: %w", program, err)
	}
	var r manifestResult
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return nil, clierr.Failedf("it has to print a ManifestResult of operator-framework/api in JSON", "read what the validator %s printed: %w", program, err)
	}
	var results []validate.Result
	for i, e := range append(r.Errors, r.Warnings...) {
		one := validate.Result{Validator: "external", Object: r.Name, Error: i < len(r.Errors), Type: e.Type, Field: e.Field, Detail: e.Detail}
		if e.BadValue != nil {
			one.Value = fmt.Sprint(e.BadValue)
		}
		results = append(results, one)
	}
	return results, nil
}
