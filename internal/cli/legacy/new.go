package legacy

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
)

// defaultDomain is the domain of a project that was given none: there is one,
// as a Go type cannot be written without its group, but nobody meant it.
const defaultDomain = "my.domain"

// newOptions are the flags of new.
type newOptions struct {
	name, repo, domain, headerFile, operator string
	skipValidation                           bool
}

func newNew(f *cli.Factory) *cobra.Command {
	o := &newOptions{operator: "go"}
	c := hidden(oldVerb(&cobra.Command{
		Use: "new NAME", Short: "Create a new operator project in a new directory",
		Long: `Create a new operator project in the new directory NAME.

The project has the current layout: types in api, controllers in
internal/controller, manifests in config. The project's domain, in which its API
groups end, is set by --domain, or by the first 'mysdk add api'.`,
		Example: `  mysdk new memcached-operator --repo=github.com/example-inc/memcached-operator`,
		Args:    cli.ExactlyOne("the name of the project", "mysdk new memcached-operator --repo=github.com/example-inc/memcached-operator"),
	}))
	flags := c.Flags()
	flags.StringVar(&o.repo, "repo", "", "Go module path (default: the git remote, GOPATH, or domain and name)")
	flags.StringVar(&o.domain, "domain", "", "domain of the project's API groups (default: that of the first API)")
	flags.StringVar(&o.headerFile, "header-file", "", "file with the header of Go files, copied to hack/boilerplate.go.txt")
	flags.BoolVar(&o.skipValidation, "skip-validation", false, "do not compare the go command with the version that the project needs")
	flags.Var(cli.Choice(&o.operator, "go", "ansible", "helm"), "type", "operator type; only go is supported")
	c.RunE = func(c *cobra.Command, args []string) error {
		o.name = args[0]
		if err := o.check(); err != nil {
			return err
		}
		return runNew(c.Context(), f, o)
	}
	return c
}

func (o *newOptions) check() error {
	switch {
	case o.operator != "go":
		return clierr.Usagef("leave --type out, or use operator-sdk: operator-sdk init --plugins="+o.operator, "--type %s: %s", o.operator, goOnly)
	case !filepath.IsLocal(o.name) || o.name == ".":
		return clierr.Usagef("such as: mysdk new memcached-operator", "project name %q must be the name of a new directory here", o.name)
	}
	return nil
}

func runNew(ctx context.Context, f *cli.Factory, o *newOptions) error {
	scaffold := mysdkStep(o.args()...)
	scaffold.dir = o.name
	steps := []step{scaffold}
	made := false
	switch info, err := f.Host.Files.Lstat(f.Host.Path(o.name)); {
	case err == nil && info.Mode().IsRegular():
		return clierr.Usagef("choose another name, or move the file away", "%s is a file", o.name)
	case errors.Is(err, fs.ErrNotExist):
		made = true
		mkdir := step{words: []string{"mkdir", o.name}, run: func(context.Context) error {
			return clierr.WithHint(f.Host.Files.Mkdir(f.Host.Path(o.name), 0o755), "make the directory above it, and run the command again")
		}}
		steps = append([]step{mkdir}, steps...)
	}
	err := translate(ctx, f, "new", steps...)
	if err != nil && made {
		// Only where nothing was written into it: then it can be removed.
		_ = f.Host.Files.Remove(f.Host.Path(o.name))
	}
	return err
}

// args is the command line of today, in the new directory.
func (o *newOptions) args() []string {
	header := o.headerFile
	if header != "" && !filepath.IsAbs(header) {
		up, _ := filepath.Rel(o.name, ".") // out of a local path there is a way
		header = filepath.ToSlash(filepath.Join(up, header))
	}
	args := withFlags([]string{"init"}, "--domain", o.domain, "--repo", o.repo, "--license-file", header)
	if o.skipValidation {
		args = append(args, "--skip-go-version-check")
	}
	return args
}
