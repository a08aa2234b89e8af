package cli

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
)

// projectCommands run in the root of the project, wherever below it they are
// started. The others take their paths, or Go's packages, as typed.
func projectCommands() []string {
	return []string{
		"build-installer", "bundle generate", "bundle push", "config view", "create api", "create webhook", "delete api", "delete webhook", "deploy", "doctor",
		"edit", "explore", "generate", "generate bundle", "generate chart", "generate docs", "generate kustomize manifests", "image build", "image push", "install", "rights", "run local",
		"ui", "undeploy", "uninstall", "upgrade", "why",
	}
}

// Enter makes the directory of -C, and then the root of the project, the working
// directory of c. Both are needed before flags are parsed: some of them belong
// to the project's plugins. flags are args without the names of commands.
func (f *Factory) Enter(c *cobra.Command, args, flags []string) error {
	switch {
	case !slices.ContainsFunc(args, isChdir):
	case c.DisableFlagParsing:
		f.ParseGlobals(c.Root(), args)
	default:
		c.FParseErrWhitelist.UnknownFlags = true
		_ = c.ParseFlags(flags) // what is wrong is told when the command runs
	}
	return f.ChangeDir(c)
}

// isChdir reports whether a word may be -C, alone or with other shorthands.
func isChdir(word string) bool {
	return strings.HasPrefix(word, "--chdir") || strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word, "C")
}

// ParseGlobals parses the flags in front of the command's name, and returns what
// follows them. Commands that parse their own flags know none of ours.
func (f *Factory) ParseGlobals(root *cobra.Command, args []string) []string {
	fs := root.PersistentFlags()
	fs.SetInterspersed(false)
	defer fs.SetInterspersed(true)
	if err := fs.Parse(args); err != nil {
		return args // told when the command runs
	}
	return fs.Args()
}

// ChangeDir enters both. A module of its own below a project does not belong to
// it.
func (f *Factory) ChangeDir(c *cobra.Command) error {
	if f.Chdir != "" {
		dir := f.Host.Path(f.Chdir)
		if _, err := f.Host.Files.ReadDir(dir); err != nil {
			return clierr.Usagef("check the path given with -C", "change directory: %w", err)
		}
		f.Host.Dir = dir
	}
	if !slices.Contains(projectCommands(), CommandName(c)) {
		return nil
	}
	root := f.Root()
	if root == f.Host.Dir {
		return nil
	}
	f.Inside, _ = filepath.Rel(root, f.Host.Dir) // which lies below it
	f.Host.Started, f.Host.Dir = f.Host.Dir, root
	return nil
}

// Root is the root of the project that the working directory is in, or the latter.
func (f *Factory) Root() string {
	for _, here := range []string{project.FileName, "go.mod", "cmd/manager/main.go"} {
		if _, err := f.Host.Files.Lstat(f.Host.Path(here)); err == nil {
			return f.Host.Dir
		}
	}
	return cmp.Or(project.Above(f.Host.Dir), f.Host.Dir)
}

// Here is a file of the project as the user types it, who may be below its root.
func (f *Factory) Here(name string) string {
	if rel, err := filepath.Rel(f.Host.Started, f.Host.Path(name)); err == nil && f.Inside != "" {
		return rel
	}
	return name
}

// rebase makes paths that were given below the project's root relative to it.
func (f *Factory) rebase(c *cobra.Command) error {
	if f.Inside == "" {
		return nil
	}
	f.Say("Project: %s", f.Host.Dir)
	var err error
	c.Flags().Visit(func(flag *pflag.Flag) {
		if err != nil || !takesPath(flag) {
			return
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			paths := list.GetSlice()
			for i := range paths {
				paths[i] = f.fromRoot(paths[i])
			}
			err = list.Replace(paths)
			return
		}
		err = flag.Value.Set(f.fromRoot(flag.Value.String()))
	})
	return err
}

// fromRoot is a path as the project's root sees it.
func (f *Factory) fromRoot(path string) string {
	if path == "" || path == "-" || filepath.IsAbs(path) || strings.Contains(path, "://") {
		return path
	}
	return filepath.Join(f.Inside, path)
}

// InRepository is a file of the project as the root of its git repository sees it,
// slash-separated. It stays as it is where there is none, or the file is elsewhere;
// no file is none.
func (f *Factory) InRepository(name string) string {
	if name == "" {
		return ""
	}
	for top := f.Host.Dir; ; top = filepath.Dir(top) {
		if _, err := f.Host.Files.Lstat(filepath.Join(top, ".git")); err == nil {
			rel, err := filepath.Rel(top, f.Host.Path(name))
			if err != nil || !filepath.IsLocal(rel) {
				return name
			}
			return filepath.ToSlash(rel)
		}
		if top == filepath.Dir(top) {
			return name
		}
	}
}

// CommandName is the path of a command below the root, such as "create api".
func CommandName(c *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "mysdk"), " ")
}
