package upgrade

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// What PROJECT records of the scaffold: the version that it is of, and while
// conflicts are left the one that it is on the way to. Without the latter
// nothing would tell an upgrade that waits for its end from none at all.
const (
	versionField = "version"
	pendingField = "pending"
)

// recorded is the version of the scaffold that PROJECT names, empty for none.
func (p *planner) recorded() string { return p.file.PluginField(v4.ScaffoldKey, versionField) }

// pending is the version to which an upgrade was begun that has conflicts left,
// empty for none.
func (p *planner) pending() string { return p.file.PluginField(v4.ScaffoldKey, pendingField) }

// scaffolded is the version that the scaffold is of: in what was another tool's
// project the one that was begun, before which there was none.
func (p *planner) scaffolded() string { return cmp.Or(p.recorded(), p.pending()) }

// record notes the new version in PROJECT: as that of the scaffold, or as that
// of an upgrade with an end to come where conflicts are left. A project that
// has none and is up to date does not get one for that alone.
func (p *planner) record() error {
	was := p.recorded()
	touched, err := p.set()
	switch {
	case err != nil:
		return err
	case was == p.now.Version, p.scaffolded() == "" && p.plan.From == p.now.Version && touched.Len() == 0:
		return nil
	case len(p.plan.Conflicts()) > 0 && p.foreign == nil && p.plan.From != p.now.Version:
		return p.writeRecord(p.plan.From, p.now.Version) // --from is not to be asked for again
	case len(p.plan.Conflicts()) > 0:
		return p.writeRecord(was, p.now.Version)
	}
	return p.writeRecord(p.now.Version, "")
}

// writeRecord records a version of the scaffold and one that is pending, each
// unless it is empty.
func (p *planner) writeRecord(version, pending string) error {
	f := p.file
	for _, field := range []struct{ name, was, value string }{{versionField, p.recorded(), version}, {pendingField, p.pending(), pending}} {
		if field.was == field.value {
			continue
		}
		var err error
		if f, err = f.WithPluginField(v4.ScaffoldKey, field.name, field.value); err != nil {
			return err
		}
	}
	data, err := f.Bytes()
	if err != nil {
		return err
	}
	return p.tree.Write(project.FileName, data)
}

// Finish ends an upgrade that had conflicts: it returns the change that
// records the new version. An upgrade to this version that was not begun is an
// error, and so are rejects that are still there. It does not look at how the
// user resolved them: that is for the compiler and the tests.
func (o Options) Finish() (*Plan, error) {
	p := o.planner()
	if err := p.load(); err != nil {
		return nil, err
	}
	p.From = p.now.Version // where it began no longer matters
	if err := p.render(); err != nil {
		return nil, err
	}
	if err := p.begun(); err != nil {
		return nil, err
	}
	left, err := p.rejects()
	if err != nil {
		return nil, err
	}
	if len(left) > 0 {
		return nil, clierr.Failedf("take over what you want of each ('patch -p1 <FILE"+RejectSuffix+"' takes all of it), remove it, and run 'mysdk upgrade --continue' again",
			"unresolved conflicts in: %s", strings.Join(left, ", "))
	}
	p.plan.From = p.recorded()
	if p.plan.From == p.now.Version {
		return p.plan, nil
	}
	if err := p.writeRecord(p.now.Version, ""); err != nil {
		return nil, err
	}
	p.plan.Set, err = p.set()
	return p.plan, err
}

// begun refuses to end what was not begun: the files would stay as they are,
// and no later upgrade would look at them.
func (p *planner) begun() error {
	const hint = "run 'mysdk upgrade' first"
	switch pending := p.pending(); {
	case p.recorded() == p.now.Version, pending == p.now.Version:
		return nil
	case pending != "":
		return clierr.Failedf(hint, "the unfinished upgrade is to %s, and this is %s", pending, p.now.Version)
	}
	return clierr.Failedf(hint, "no upgrade to %s was started", p.now.Version)
}

// rejects lists the rejects of scaffolded files that are in the project.
func (p *planner) rejects() ([]string, error) {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.after)) {
		_, there, err := p.tree.Read(name + RejectSuffix)
		if err != nil {
			return nil, err
		}
		if there {
			out = append(out, name+RejectSuffix)
		}
	}
	return out, nil
}

// undecided adds the files with rejects of an earlier run: the upgrade is not
// at its end while they are there.
func (p *planner) undecided() error {
	left, err := p.rejects()
	for _, reject := range left {
		name := strings.TrimSuffix(reject, RejectSuffix)
		i := slices.IndexFunc(p.plan.Files, func(f File) bool { return f.Path == name })
		if i < 0 {
			p.note(name, Conflict, "")
			i = len(p.plan.Files) - 1
		}
		if f := &p.plan.Files[i]; f.Reject == "" {
			f.Action, f.Detail, f.Reject = Conflict, "left by an earlier run", reject
		}
	}
	return err
}
