package cmd

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/migrate"
)

// complete adds to the change what takes the project's modules: go.mod and
// go.sum as the go command wants them, and what is generated. Both are made in
// a copy, and what fails is left for the user to repeat. target is where the
// project is going to be.
func (a *app) complete(ctx context.Context, o *migrateOptions, p *migrate.Plan, set *fileset.Set, target string) error {
	if o.offline {
		return nil
	}
	dir, err := os.MkdirTemp("", "mysdk-migrate-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // only a copy
	copied, r := p.Result.Clone(), a.newReplacements(target)
	if err := r.turn(&copied, r.absolute); err != nil {
		return err
	}
	if err := copySet(dir, copied); err != nil {
		return err
	}
	there := *a
	there.host.Dir = dir
	if done, err := there.tidy(ctx, set); !done || err != nil {
		return err
	}
	if err := r.turn(set, r.named); err != nil {
		return err
	}
	return there.generated(ctx, set)
}

// tidy runs 'go mod tidy' in the copy and takes its result over. done is false
// where it failed, which is said.
func (a *app) tidy(ctx context.Context, set *fileset.Set) (done bool, err error) {
	a.progress("Looking for modules: go mod tidy")
	var errs strings.Builder
	err = host.Run(ctx, a.host.Exec, host.Cmd{Name: "go", Args: []string{"mod", "tidy", "-e"}, Dir: a.host.Dir, Env: a.host.Environ(), Stdout: &errs, Stderr: &errs})
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		a.warn("go mod tidy: %s", lastLine(errs.String()))
		return false, nil
	}
	if missing := migrate.Unresolved(errs.String()); len(missing) > 0 {
		a.warn("no module was found for %s", strings.Join(missing, ", "))
		if err := noteMissing(set, missing); err != nil {
			return false, err
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(a.host.Dir, name))
		if err != nil {
			return false, err
		}
		if err := replaceIn(set, name, data); err != nil {
			return false, err
		}
	}
	return true, nil
}

// generated runs the generators in the copy and takes over what they write.
func (a *app) generated(ctx context.Context, set *fileset.Set) error {
	opts := a.generateOptions()
	opts.CacheDir = ""
	r, err := a.render(ctx, opts)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.warn("nothing was generated: %v", err)
		return nil
	}
	for _, name := range r.Set.Paths() {
		f, _ := r.Set.Get(name)
		if err := replaceIn(set, name, f.Data); err != nil {
			return err
		}
	}
	return nil
}

// replaceIn sets a file's content in the change, and keeps what else it says
// of it.
func replaceIn(set *fileset.Set, name string, data []byte) error {
	f, ok := set.Get(name)
	if !ok || f.Removed {
		f = fileset.File{}
	}
	f.Data = data
	return set.Put(name, f)
}

// copySet writes files below a directory of mysdk's own.
func copySet(dir string, set fileset.Set) error {
	for _, name := range set.Paths() {
		f, _ := set.Get(name)
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, f.Data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// noteMissing adds what no module was found for to the list of what is left to
// do.
func noteMissing(set *fileset.Set, missing []string) error {
	const report, heading = "MIGRATION.md", "\n## Then\n"
	f, _ := set.Get(report)
	lines := ""
	for _, m := range missing {
		lines += "- [ ] `go.mod`: no module has " + m + ": its importer needs a newer version, or another module in its place\n"
	}
	return replaceIn(set, report, []byte(strings.Replace(string(f.Data), heading, lines+heading, 1)))
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// replacements are the directories outside of the project that go.mod names in
// the place of modules. They are called otherwise from where the project is
// tidied, and from where it is going to be.
type replacements struct {
	root, target string
	names        map[string]string // from the target, by absolute path
}

func (a *app) newReplacements(target string) *replacements {
	return &replacements{root: a.host.Dir, target: target, names: map[string]string{}}
}

// move names the directories in a project's go.mod as seen from the target.
func (r *replacements) move(set *fileset.Set) error {
	if err := r.turn(set, r.absolute); err != nil {
		return err
	}
	return r.turn(set, r.named)
}

// turn writes the go.mod of a set with other names of directories.
func (r *replacements) turn(set *fileset.Set, name func(dir string) string) error {
	f, ok := set.Get("go.mod")
	if !ok || f.Removed {
		return nil
	}
	data, err := migrate.Replaced(f.Data, name)
	if err != nil {
		return err
	}
	return replaceIn(set, "go.mod", data)
}

// absolute is the absolute path of a directory outside of the project. One
// inside goes with the project, and keeps its name.
func (r *replacements) absolute(dir string) string {
	abs := filepath.Join(r.root, filepath.FromSlash(dir))
	if rel, err := filepath.Rel(r.root, abs); filepath.IsAbs(dir) || err != nil || filepath.IsLocal(rel) {
		return dir
	}
	name, err := filepath.Rel(r.target, abs)
	switch {
	case r.root == r.target:
		name = dir
	case err != nil:
		name = abs
	case filepath.IsLocal(name):
		name = "./" + name
	}
	r.names[filepath.ToSlash(abs)] = filepath.ToSlash(name)
	return filepath.ToSlash(abs)
}

func (r *replacements) named(dir string) string { return cmp.Or(r.names[dir], dir) }
