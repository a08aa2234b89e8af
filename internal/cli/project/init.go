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
	plugin     plugin.Subcommand
	layout     string   // key of the Go plugin
	chain      []string // keys of all plugins that take part
	domain     string
	repo       string
	name       string
	plugins    []string
	version    string
	multigroup bool
	fetchDeps  bool
	skipGo     bool
	force      bool
	dryRun     bool
}

// NewInit is 'mysdk init'.
func NewInit(f *cli.Factory) *cobra.Command {
	scaffold := f.GoPlugin()
	o := &initOptions{plugin: scaffold.GetInitSubcommand(), layout: plugin.KeyFor(scaffold)}
	o.chain = []string{o.layout}
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
		o.plugin, o.chain = steps, f.Plugins.Chain.Keys()
	}
	fs := c.Flags()
	fs.StringVar(&o.domain, "domain", "my.domain", "domain of the project's API groups, which you own")
	fs.StringVar(&o.name, "project-name", "", "project name, the prefix of its objects in a cluster (default: the directory's name)")
	fs.StringSliceVar(&o.plugins, "plugins", []string{o.layout}, "plugins that lay out the project: go/v4, and external ones")
	fs.StringVar(&o.version, "project-version", "3", "version of the PROJECT file: 3")
	fs.BoolVar(&o.multigroup, "multigroup", false, "lay out APIs by group, for projects with several")
	fs.BoolVar(&o.force, "force", false, "overwrite existing files")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	project.BindFlags(o.plugin, fs)
	// These are the plugin's too, so that it works inside kubebuilder; here
	// the command needs their values.
	for name, usage := range map[string]string{
		"repo":                  "Go module path (default: go.mod, the git remote, GOPATH, or domain and directory)",
		"fetch-deps":            "download the modules that the project needs right away",
		"skip-go-version-check": "do not compare the go command with the version that the project needs",
	} {
		if flag := fs.Lookup(name); flag != nil {
			flag.Usage = usage
		}
	}
	c.PreRunE = func(c *cobra.Command, _ []string) error { return o.read(c) }
	return c
}

// read takes over the values of the flags that the plugin has bound.
func (o *initOptions) read(c *cobra.Command) (err error) {
	if o.repo, err = c.Flags().GetString("repo"); err != nil {
		return err
	}
	switch changed := c.Flags().Changed; {
	case changed("repo") && o.repo == "":
		return clierr.Usagef("leave the flag out, or give a path such as --repo github.com/you/my-operator", "the module path is empty")
	case changed("project-name") && o.name == "":
		return clierr.Usagef("leave the flag out, or give a name such as --project-name shop-operator", "the project name is empty")
	case changed("plugins") && len(o.plugins) == 0:
		return clierr.Usagef("leave the flag out, or use --plugins go/v4", "no plugin was given")
	case o.version != "3":
		return clierr.Usagef("leave --project-version out", "project version %q is not known: 3 is the only one", o.version)
	}
	if o.fetchDeps, err = c.Flags().GetBool("fetch-deps"); err != nil {
		return err
	}
	o.skipGo, err = c.Flags().GetBool("skip-go-version-check")
	return err
}

// runInit scaffolds a project. The version of Go is asked for in the background: the
// go command takes longer to say it than everything else takes.
func runInit(ctx context.Context, f *cli.Factory, o *initOptions) error {
	if done, err := f.Recover(); done || err != nil {
		return err
	}
	if err := project.CheckDomain(o.domain); err != nil {
		return err
	}
	why := "as given"
	if o.repo == "" {
		o.repo, why = project.DefaultRepo(f.Host.Dir, o.domain, gopath(f))
	}
	if o.name == "" {
		if o.name = project.NameFromDir(f.Host.Dir); o.name == "" {
			return clierr.Usagef("give one, such as --project-name shop-operator", "no project name can be made of the directory name %q", filepath.Base(f.Host.Dir))
		}
	}
	goVersion := goVersionInBackground(ctx, f, o)
	set, p, err := project.Init(o.plugin, project.InitOptions{
		Dir: f.Host.Dir, Domain: o.domain, Repo: o.repo, Name: o.name,
		Layout: o.chain, MultiGroup: o.multigroup, Force: o.force,
	})
	if err != nil {
		return err
	}
	ownModules, err := project.MergeModule(f.Tree(), &set)
	if err != nil {
		return err
	}
	var kept []string
	if !o.force {
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
	if err := f.Write(ctx, set, o.dryRun); err != nil || o.dryRun {
		return inTheWay(err)
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

func inTheWay(err error) error {
	var conflict *fileset.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	return clierr.Failedf("move them away, start in an empty directory, or overwrite them with --force", "nothing was written: %w", err)
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
