// Package project has the commands that write a project and keep it up to date:
// init, create, edit, delete, adopt, upgrade and doctor. What they write is made
// by the engines below internal/.
package project

import (
	"context"
	"errors"
	goversion "go/version"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
)

// initOptions are the flags of init that are not the plugin's.
type initOptions struct {
	project.InitOptions
	plugin                    plugin.Subcommand
	plugins                   []string
	version                   string
	fetchDeps, skipGo, dryRun bool
}

// NewInit is 'mysdk init'.
func NewInit(f *cli.Factory) *cobra.Command {
	scaffold := f.GoPlugin()
	o, key := &initOptions{plugin: scaffold.GetInitSubcommand()}, plugin.KeyFor(scaffold)
	o.Layout = []string{key}
	c := &cobra.Command{
		Use: "init", Short: "Create a new operator project in this directory", GroupID: "write",
		Long: `Start a new operator project in this directory.

It writes a Go module that builds at once (go.mod and go.sum are complete, and
nothing is downloaded), the manager's main program, the manifests to deploy it
and a Makefile. The directory need not be empty, as long as no file would be
overwritten: README.md is kept, and go.mod and .gitignore get what they lack.`,
		Example: `  # a project whose API groups end in example.com
  mysdk init --domain example.com

  # choose the module path and look at the files before anything is written
  mysdk init --domain example.com --repo github.com/you/shop-operator --dry-run`,
		RunE: func(c *cobra.Command, _ []string) error { return runInit(c.Context(), f, o) },
	}
	if steps := f.Joined(c, "init"); steps != nil {
		o.plugin, o.Layout = steps, f.Plugins.Chain.Keys()
	}
	fs := c.Flags()
	fs.StringVar(&o.Domain, "domain", "my.domain", "domain of the project's API groups, which you own")
	fs.StringVar(&o.Name, "project-name", "", "project name, the prefix of its objects in a cluster (default: the directory's name)")
	fs.StringSliceVar(&o.plugins, "plugins", []string{key}, "plugins that lay out the project: go/v4, and external ones")
	fs.StringVar(&o.version, "project-version", "3", "version of the PROJECT file: 3")
	fs.BoolVar(&o.MultiGroup, "multigroup", false, "lay out APIs by group, for projects with several")
	fs.BoolVar(&o.Force, "force", false, "overwrite existing files")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	// These are the plugin's too, so that it works inside kubebuilder. It leaves out what is
	// bound before it, and here the command needs their values.
	fs.StringVar(&o.Repo, "repo", "", "Go module path (default: go.mod, the git remote, GOPATH, or domain and directory)")
	fs.BoolVar(&o.fetchDeps, "fetch-deps", false, "download the modules that the project needs right away")
	fs.BoolVar(&o.skipGo, "skip-go-version-check", false, "do not compare the go command with the version that the project needs")
	project.BindFlags(o.plugin, fs)
	c.PreRunE = func(c *cobra.Command, _ []string) error { return o.check(c) }
	return c
}

// check refuses values that mean nothing.
func (o *initOptions) check(c *cobra.Command) error {
	switch changed := c.Flags().Changed; {
	case changed("repo") && o.Repo == "":
		return clierr.Usagef("leave the flag out, or give a path such as --repo github.com/you/my-operator", "the module path is empty")
	case changed("project-name") && o.Name == "":
		return clierr.Usagef("leave the flag out, or give a name such as --project-name shop-operator", "the project name is empty")
	case changed("plugins") && len(o.plugins) == 0:
		return clierr.Usagef("leave the flag out, or use --plugins go/v4", "no plugin was given")
	case o.version != "3":
		return clierr.Usagef("leave --project-version out", "project version %q is not known: 3 is the only one", o.version)
	}
	return nil
}

// runInit scaffolds a project. The version of Go is asked for in the background: the
// go command takes longer to say it than everything else takes.
func runInit(ctx context.Context, f *cli.Factory, o *initOptions) error {
	if done, err := f.Recover(); done || err != nil {
		return err
	}
	if err := project.CheckDomain(o.Domain); err != nil {
		return err
	}
	why := "as given"
	if o.Repo == "" {
		o.Repo, why = project.DefaultRepo(f.Host.Dir, o.Domain, gopath(f))
	}
	if o.Name == "" {
		if o.Name = project.NameFromDir(f.Host.Dir); o.Name == "" {
			return clierr.Usagef("give one, such as --project-name shop-operator", "no project name can be made of the directory name %q", filepath.Base(f.Host.Dir))
		}
	}
	goVersion := goVersionInBackground(ctx, f, o)
	o.Dir = f.Host.Dir
	set, p, err := project.Init(o.plugin, o.InitOptions)
	if err != nil {
		return err
	}
	ownModules, err := project.MergeModule(f.Tree(), &set)
	if err != nil {
		return err
	}
	var kept []string
	if !o.Force {
		if kept, err = project.KeepTexts(f.Tree(), &set); err != nil {
			return err
		}
	}
	if err := checkGo(<-goVersion, set); err != nil {
		return err
	}
	if err := f.LF().End(&set, f.Host.Dir); err != nil {
		return err
	}
	err = f.Write(ctx, set, o.dryRun)
	if _, inTheWay := errors.AsType[*fileset.ConflictError](err); inTheWay {
		return clierr.Failedf("move them away, start in an empty directory, or overwrite them with --force", "nothing was written: %w", err)
	}
	if err != nil || o.dryRun {
		return err
	}
	f.Say("Project %s in %s: %d files, domain %s", p.Name, f.Host.Dir, set.Len(), p.Domain)
	f.Say("Module %s (%s)", p.Repo, why)
	if said := strings.Join(kept, ", and "); said != "" {
		f.Say("%s", strings.ToUpper(said[:1])+said[1:])
	}
	if ownModules {
		f.Say("go.mod keeps the modules it had: run 'go mod tidy' if the build asks for it")
	}
	if o.fetchDeps {
		if err := fetchModules(ctx, f); err != nil {
			return err
		}
	}
	f.Say("Next: mysdk create api --group cache --kind Memcached")
	return nil
}

func gopath(f *cli.Factory) string {
	if p := f.Host.Getenv("GOPATH"); p != "" {
		return p
	}
	if home := f.Host.Getenv("HOME"); home != "" {
		return filepath.Join(home, "go")
	}
	return ""
}

// goVersionInBackground asks the go command for its version while the project
// is rendered: "" where there is none or it is not to be asked. Without a go
// command init still works, as it runs no Go.
func goVersionInBackground(ctx context.Context, f *cli.Factory, o *initOptions) <-chan string {
	result := make(chan string, 1)
	if _, err := f.Host.LookPath("go"); err != nil {
		f.Warn("no go command in PATH: the project needs one to build (https://go.dev/dl)")
		o.skipGo = true
	}
	go func() {
		defer close(result)
		if o.skipGo {
			return
		}
		var out strings.Builder
		err := host.Run(ctx, f.Host.Exec, host.Cmd{
			Name: "go", Args: []string{"env", "GOVERSION"}, Dir: f.Host.Dir, Env: f.Host.Environ(), Stdout: &out,
		})
		// A go command that cannot even tell its version says why at the first
		// build; init does not need it.
		if err == nil {
			result <- strings.TrimSpace(out.String())
		}
	}()
	return result
}

// checkGo compares the go command with what the project's go.mod asks for.
func checkGo(have string, set fileset.Set) error {
	f, _ := set.Get("go.mod")
	m, err := modfile.ParseLax("go.mod", f.Data, nil)
	if err != nil || m.Go == nil || have == "" {
		return err
	}
	if want := "go" + m.Go.Version; goversion.IsValid(have) && goversion.Compare(have, want) < 0 {
		return clierr.Failedf("install Go "+m.Go.Version+" or newer from https://go.dev/dl, or pass --skip-go-version-check",
			"the go command is %s, and the project needs %s", have, want)
	}
	return nil
}

func fetchModules(ctx context.Context, f *cli.Factory) error {
	f.Say("Downloading modules: go mod download")
	err := host.Run(ctx, f.Host.Exec, host.Cmd{
		Name: "go", Args: []string{"mod", "download"}, Dir: f.Host.Dir, Env: f.Host.Environ(), Stdout: f.Host.IO.Err, Stderr: f.Host.IO.Err,
	})
	if err != nil {
		return clierr.Failedf("the project is complete; run 'go mod download' when the module proxy can be reached", "download modules: %w", err)
	}
	return nil
}
