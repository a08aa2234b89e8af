// Package cli is what the commands of mysdk share: the Factory with the world and
// the global flags, settings, projects, clusters, and how to print and ask. It
// knows no single command; each group of them has a package below.
package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/host"
)

// Factory is what all commands share: the world, and the global flags.
type Factory struct {
	Host    host.Host
	Quiet   bool
	Verbose bool
	Color   string
	Chdir   string          // the directory of -C
	Inside  string          // where the user is, seen from the project's root; empty for the root
	Allowed []string        // contexts of real clusters that may be written to unnamed
	Typed   string          // the command line, for the journal of an interrupted commit and for hints
	AsIs    bool            // take generated files as they are
	OrAsIs  bool            // the same, with a warning, if they cannot be made
	Plugins *pluginRun      // external plugins that take part, nil without any
	Running *cobra.Command  // the one that runs, known once flags are parsed
	Told    map[string]bool // lines that are printed only once
	Given   map[string]bool // names of the flags that were typed; known then, too
	Unknown error           // a subcommand that help was asked for does not exist
	// Open builds the command tree for a command line, for verbs that run others.
	Open func(ctx context.Context, f *Factory, args []string) (root, c *cobra.Command, err error)
}

// In returns a copy whose working directory is dir.
func (f *Factory) In(dir string) *Factory {
	there := *f
	there.Host.Dir = dir
	return &there
}

// BindGlobals binds the flags that every command has.
func (f *Factory) BindGlobals(fs *pflag.FlagSet) {
	fs.BoolVarP(&f.Quiet, "quiet", "q", false, "print only errors and results")
	fs.BoolVarP(&f.Verbose, "verbose", "v", false, "print more details")
	f.Color = "auto"
	fs.Var(Choice(&f.Color, "auto", "always", "never"), "color", "colorize the output: auto, always or never")
	fs.StringVarP(&f.Chdir, "chdir", "C", "", "change to this directory first")
}

// Git runs git in the project. said is what it wrote to stderr.
func (f *Factory) Git(ctx context.Context, in io.Reader, args ...string) (out, said string, err error) {
	if _, err := f.Host.LookPath("git"); err != nil {
		return "", "the git command is not in PATH", err
	}
	var stdout, stderr strings.Builder
	err = host.Run(ctx, f.Host.Exec, host.Cmd{
		Name: "git", Args: args, Dir: f.Host.Dir, Env: append(f.Host.Environ(), "LC_ALL=C"), Stdin: in, Stdout: &stdout, Stderr: &stderr,
	})
	return stdout.String(), stderr.String(), errors.Join(err, ctx.Err())
}
