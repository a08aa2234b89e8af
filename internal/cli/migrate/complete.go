package migrate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/migrate"
)

// complete adds to the change what takes the project's modules: go.mod and
// go.sum as the go command wants them, what is generated, and to the page what
// does not compile. All of it is made in a copy, and what fails is left for the
// user to repeat. target is where the project is going to be.
func complete(ctx context.Context, f *cli.Factory, o *migrateOptions, p *migrate.Plan, set *fileset.Set, target string) error {
	if o.offline {
		return nil
	}
	dir, err := os.MkdirTemp("", "mysdk-migrate-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // only a copy
	copied, r := p.Result.Clone(), newReplacements(f, target)
	if err := r.turn(&copied, r.absolute); err != nil {
		return err
	}
	if err := copySet(dir, copied); err != nil {
		return err
	}
	there := f.In(dir)
	steps := []func(context.Context, *cli.Factory, *migrate.Plan, *fileset.Set) error{tidy, generated, built, kept, compiled}
	for _, step := range steps {
		if err := step(ctx, there, p, set); err != nil {
			return err
		}
	}
	if err := r.turn(set, r.named); err != nil {
		return err
	}
	report, err := p.Report()
	if err != nil {
		return err
	}
	return replaceIn(set, migrate.ReportName, report)
}

// correctRounds bounds how often the compiler is asked: no correction needs as many,
// but two of them might undo each other.
const correctRounds = 12

// compiled adds to the plan what the compiler says about the copy.
func compiled(ctx context.Context, f *cli.Factory, p *migrate.Plan, set *fileset.Set) error {
	f.Progress("Compiling the result")
	problems, err := corrected(ctx, f, func(string) bool { return true }, func(name string, data []byte) error { return rewritten(f, p, set, name, data) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && problems == nil {
		f.Warn("the result was not compiled: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	p.Problems = append(p.Problems, migrate.Grouped(problems, func(i int) string { return problems[i].Lacks() })...)
	return nil
}

// corrected is what the compiler says about a project, once what its errors leave
// no doubt about is corrected in the files that are chosen. An error may hide
// another one. The problems are nil if and only if the project cannot be compiled.
func corrected(ctx context.Context, f *cli.Factory, chosen func(name string) bool, write func(name string, data []byte) error) ([]migrate.Problem, error) {
	for round := 1; ; round++ {
		errs, err := generate.Compile(ctx, f.Host.Dir, f.Host.Environ())
		if err != nil {
			return nil, err
		}
		all, byFile := make([]migrate.Problem, len(errs)), map[string][]migrate.Problem{}
		for i, e := range errs {
			all[i] = migrate.Problem(e)
			if round < correctRounds && filepath.IsLocal(e.File) && chosen(e.File) {
				byFile[e.File] = append(byFile[e.File], all[i])
			}
		}
		if changed, err := correct(f, byFile, write); err != nil || !changed {
			return all, err
		}
	}
}

// rewritten puts a Go file with another text into the change and the copy, and
// its marks at their new lines into the plan.
func rewritten(f *cli.Factory, p *migrate.Plan, set *fileset.Set, name string, data []byte) error {
	if err := replaceIn(set, name, data); err != nil {
		return err
	}
	p.Remark(name, data)
	return os.WriteFile(filepath.Join(f.Host.Dir, filepath.FromSlash(name)), data, 0o600)
}

// correct changes the files whose errors have one remedy, and says whether there
// were any.
func correct(f *cli.Factory, problems map[string][]migrate.Problem, write func(name string, data []byte) error) (changed bool, err error) {
	for name, list := range problems {
		src, err := f.Host.Files.ReadFile(f.Host.Path(name)) // with the line ends that it has
		if err != nil {
			return false, fmt.Errorf("read %s: %w", name, err)
		}
		data, err := migrate.Corrected(name, src, list)
		if err != nil || bytes.Equal(data, src) {
			continue // what does not parse is the user's to read
		}
		if err := write(name, data); err != nil {
			return false, err
		}
		changed = true
	}
	return changed, nil
}

// tidy runs 'go mod tidy' in the copy and takes its result over, or notes why it
// failed.
func tidy(ctx context.Context, f *cli.Factory, p *migrate.Plan, set *fileset.Set) error {
	f.Progress("Looking for modules: go mod tidy")
	said, err := pinnedTidy(ctx, f, p)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f.Warn("go mod tidy: %s", lastLine(said))
		p.Problems = append(p.Problems, migrate.Problem{File: "go.mod", Text: "go mod tidy: " + lastLine(said)})
		return nil
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(f.Host.Dir, name))
		var problems []migrate.Problem
		if was, _ := set.Get(name); err == nil && name == "go.mod" {
			data, problems, err = migrate.Tidied(was.Data, data, said)
		}
		p.Problems = append(p.Problems, problems...)
		if err == nil {
			err = replaceIn(set, name, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pinnedTidy runs 'go mod tidy', again as long as what it does calls for other
// lines in go.mod.
func pinnedTidy(ctx context.Context, f *cli.Factory, p *migrate.Plan) (said string, err error) {
	name := filepath.Join(f.Host.Dir, "go.mod")
	gomod, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	for {
		var out strings.Builder
		err = host.Run(ctx, f.Host.Exec, host.Cmd{
			Name: "go", Args: []string{"mod", "tidy", "-e"}, Dir: f.Host.Dir, Env: f.Host.Environ(), Stdout: &out, Stderr: &out,
		})
		said = out.String()
		tidied, errRead := os.ReadFile(name)
		if errRead != nil {
			return said, errRead
		}
		pinned, notes, errPin := migrate.Pinned(gomod, tidied, said)
		if errPin != nil {
			return said, errPin
		}
		if len(notes) == 0 {
			return said, err
		}
		p.General = append(p.General, notes...)
		if err := os.WriteFile(name, pinned, 0o600); err != nil {
			return said, err
		}
		gomod = pinned
	}
}

// generators is where problems are that keep the generators from working.
const generators = "mysdk generate"

// generated runs the generators in the copy and takes over what they write.
// Where one thing keeps them all from working, what can be made is: a controller
// that does not compile is no reason to be without the CRDs.
func generated(ctx context.Context, f *cli.Factory, p *migrate.Plan, set *fileset.Set) error {
	opts := f.PlainOptions()
	opts.CacheDir = ""
	r, err := f.Render(ctx, opts)
	if err == nil {
		return takeGenerated(f, set, r)
	}
	parts := make([]generate.Options, 4)
	for i := range parts {
		parts[i] = opts
		parts[i].Lax = true
	}
	parts[0].Deepcopy, parts[1].CRDs, parts[2].RBAC, parts[3].Webhooks = true, true, true, true
	for _, part := range parts {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r, err := generate.Render(ctx, part); err == nil {
			if err := takeGenerated(f, set, r); err != nil {
				return err
			}
		}
	}
	f.Warn("not everything was generated: %v", err)
	p.Problems = append(p.Problems, migrate.Problem{File: generators, Text: strings.Join(strings.Fields(err.Error()), " ")})
	return ctx.Err()
}

// built adds to the plan why the manifests cannot be built. What only mysdk does not
// build is no error of the project.
func built(ctx context.Context, f *cli.Factory, p *migrate.Plan, _ *fileset.Set) error {
	src := kustomize.Source{Dir: f.Host.Dir, Files: f.Host.Files}
	if !src.Has(cli.DeployDir) {
		return nil
	}
	_, err := kustomize.Build(ctx, src, cli.DeployDir)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	text := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "build "+cli.DeployDir+": ")
	if hint := clierr.HintOf(err); hint != "" {
		text += ": " + strings.TrimSuffix(hint, " and run the command again")
	}
	if refused := (*kustomize.RefusedError)(nil); errors.As(err, &refused) {
		p.General = append(p.General, migrate.Note{Text: cli.DeployDir + " was not built: " + text})
		return nil
	}
	p.Problems = append(p.Problems, migrate.Problem{File: cli.DeployDir, Text: text})
	return nil
}

// takeGenerated adds generated files to the change, and to the copy for the
// compiler.
func takeGenerated(f *cli.Factory, set *fileset.Set, r generate.Result) error {
	for _, name := range r.Set.Paths() {
		file, _ := r.Set.Get(name)
		if file.Removed {
			continue
		}
		if err := replaceIn(set, name, file.Data); err != nil {
			return err
		}
	}
	return copySet(f.Host.Dir, r.Set)
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

func copySet(dir string, set fileset.Set) error {
	for _, name := range set.Paths() {
		f, _ := set.Get(name)
		if f.Removed {
			continue
		}
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

func newReplacements(f *cli.Factory, target string) *replacements {
	return &replacements{root: f.Host.Dir, target: target, names: map[string]string{}}
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
