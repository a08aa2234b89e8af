package upgrade

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/project"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// modules brings go.mod and go.sum up to what today's scaffold needs: of each
// module the higher version, and everything else as the user has it.
func (p *planner) modules(mine []byte, there bool) error {
	before, after := p.before["go.mod"], p.after["go.mod"]
	sums, afterSums := p.read("go.sum"), p.after["go.sum"]
	switch {
	case !there:
		return nil // the user keeps his module somewhere else
	case bytes.Equal(mine, after), p.foreign == nil && bytes.Equal(before, after):
		return nil
	case p.pristine("go.mod", mine) && (len(sums) == 0 || p.pristine("go.sum", sums)):
		if err := p.tree.Write("go.sum", afterSums); err != nil {
			return err
		}
		return p.update("go.mod", after)
	}
	if path := modfile.ModulePath(mine); path != "" && path != p.project.Repo {
		return clierr.Failedf("make repo in "+project.FileName+" and the line module in go.mod agree",
			"it says module %s, and %s says repo: %s", path, project.FileName, p.project.Repo)
	}
	// The scaffold may no longer need a module that it needed before. It stays:
	// only the go command can tell whether the user's code imports it.
	var set fileset.Set
	for name, data := range map[string][]byte{"go.mod": after, "go.sum": afterSums} {
		if err := set.Put(name, fileset.File{Data: data}); err != nil {
			return err
		}
	}
	kept, err := project.MergeModule(fileset.Tree{FS: p.lf(), Root: p.Dir}, &set)
	if err != nil {
		return err
	}
	merged, _ := set.Get("go.mod")
	if bytes.Equal(merged.Data, mine) {
		return nil
	}
	detail := "of each module the higher version"
	if kept {
		detail += "; 'go mod tidy' may find more to do"
	}
	p.note("go.mod", Merged, detail)
	p.held(merged.Data)
	for _, name := range set.Paths() {
		f, _ := set.Get(name)
		if err := p.tree.Write(name, f.Data); err != nil {
			return err
		}
	}
	return nil
}

// held tells of modules that a replace keeps below what the scaffold needs.
func (p *planner) held(mod []byte) {
	is, err := modfile.Parse("go.mod", mod, nil)
	wanted, err2 := modfile.Parse("go.mod of the scaffold", p.after["go.mod"], nil)
	if err != nil || err2 != nil {
		return // both were read before
	}
	for _, r := range is.Replace {
		for _, w := range wanted.Require {
			if r.Old.Path == w.Mod.Path && (r.Old.Version == "" || r.Old.Version == w.Mod.Version) && r.New.Version != "" && semver.Compare(r.New.Version, w.Mod.Version) < 0 {
				p.plan.Notes = append(p.plan.Notes, fmt.Sprintf("go.mod:%d: replace holds %s at %s, and the scaffold needs %s", r.Syntax.Start.Line, w.Mod.Path, r.New.Version, w.Mod.Version))
			}
		}
	}
}

// workflow takes the workflow that upgrades the project for a part of the
// scaffold where the project has it.
func (p *planner) workflow(base Baseline) error {
	if _, there, err := p.tree.Read(v4.WorkflowPath); err != nil || !there {
		return err
	}
	for _, side := range []struct {
		from  Baseline
		cli   string
		files map[string][]byte
	}{{base, p.cli(base), p.before}, {p.now, p.Plugin.CLIVersion, p.after}} {
		plugin := p.Plugin
		plugin.Templates, plugin.Pins, plugin.CLIVersion = side.from.Templates, &side.from.Pins, side.cli
		text, err := plugin.Workflow()
		if errors.Is(err, fs.ErrNotExist) {
			continue // that version did not write one
		}
		if err != nil {
			return err
		}
		side.files[v4.WorkflowPath] = text
	}
	return nil
}

// WithWorkflow adds the workflow to a project that has none.
func (o Options) WithWorkflow(p *Plan) error {
	text, err := o.Plugin.Workflow()
	if err != nil {
		return err
	}
	if _, err := o.Files.Lstat(o.path(v4.WorkflowPath)); err == nil {
		return nil
	}
	p.Files = append(p.Files, File{Path: v4.WorkflowPath, Action: New})
	p.sort()
	return p.Set.Put(v4.WorkflowPath, fileset.File{Data: text, New: true})
}
