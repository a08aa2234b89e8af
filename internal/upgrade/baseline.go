package upgrade

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// baselines has a file VERSION.zip for every release.
//
//go:embed baselines
var baselines embed.FS

// Baseline is what a version of mysdk writes scaffolds from.
type Baseline struct {
	Version   string
	Templates fs.FS
	Pins      v4.Versions
}

// pinsFile is the file of an archive with the versions that a scaffold pins;
// templateDir is its directory of templates.
//
// An archive is not a copy of a rendered project: one set of templates stands
// for every combination of kinds, groups and webhooks.
const (
	pinsFile    = "versions.json"
	templateDir = "templates"
	archiveExt  = ".zip"
)

// current is the baseline of the running version. A build between two releases
// is named after what it writes from: the same templates have the same name.
func current(p v4.Plugin) (Baseline, error) {
	templates := v4.Templates()
	if p.Templates != nil {
		templates = p.Templates
	}
	b := Baseline{Version: p.CLIVersion, Templates: templates, Pins: v4.CurrentVersions()}
	if p.Pins != nil {
		b.Pins = *p.Pins
	}
	if strings.HasPrefix(b.Version, "v") {
		return b, nil
	}
	archive, err := b.Archive()
	if err != nil {
		return Baseline{}, err
	}
	b.Version = fmt.Sprintf("devel-%.6x", sha256.Sum256(archive))
	return b, nil
}

// Archive packs a baseline. The same baseline always makes the same bytes.
func (b Baseline) Archive() ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	// Headers without times: the archive depends on nothing but its contents.
	add := func(name string, data []byte) error {
		f, err := w.Create(name)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return err
	}
	pins, err := json.MarshalIndent(b.Pins, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := add(pinsFile, pins); err != nil {
		return nil, err
	}
	err = fs.WalkDir(b.Templates, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(b.Templates, name)
		if err != nil {
			return err
		}
		return add(path.Join(templateDir, name), data)
	})
	if err != nil {
		return nil, fmt.Errorf("pack the templates: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Open reads a baseline that Archive has packed.
func Open(version string, archive []byte) (Baseline, error) {
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return Baseline{}, fmt.Errorf("baseline %s: %w", version, err)
	}
	b := Baseline{Version: version}
	pins, err := fs.ReadFile(r, pinsFile)
	if err != nil {
		return b, fmt.Errorf("baseline %s: %w", version, err)
	}
	if err := json.Unmarshal(pins, &b.Pins); err != nil {
		return b, fmt.Errorf("baseline %s: %s: %w", version, pinsFile, err)
	}
	b.Templates, err = fs.Sub(r, templateDir)
	return b, err
}

// Releases are the baselines that this mysdk carries, the oldest first.
func Releases() ([]Baseline, error) {
	sub, err := fs.Sub(baselines, "baselines")
	if err != nil {
		return nil, err
	}
	return openAll(sub)
}

// openAll reads every baseline in a directory, the oldest first.
func openAll(dir fs.FS) ([]Baseline, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	var out []Baseline
	for _, e := range entries {
		version, isArchive := strings.CutSuffix(e.Name(), archiveExt)
		if !isArchive || e.IsDir() {
			continue
		}
		data, err := fs.ReadFile(dir, e.Name())
		if err != nil {
			return nil, err
		}
		b, err := Open(version, data)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b Baseline) int {
		return cmp.Or(semver.Compare(a.Version, b.Version), strings.Compare(a.Version, b.Version))
	})
	return out, nil
}

// known are all baselines there are, today's last.
func (p *planner) known() ([]Baseline, error) {
	all, err := Releases()
	if err != nil {
		return nil, err
	}
	if p.Further != nil {
		more, err := openAll(p.Further)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	all = slices.DeleteFunc(all, func(b Baseline) bool { return b.Version == p.now.Version })
	return append(all, p.now), nil
}

// render writes the project anew as it was and as it would be today.
func (p *planner) render() error {
	all, err := p.known()
	if err != nil {
		return err
	}
	base, err := p.base(all)
	if err != nil {
		return err
	}
	if p.foreign == nil {
		p.plan.From = base.Version
	}
	before, err := p.renderBy(base, p.cli(base))
	if err != nil {
		return err
	}
	after, err := p.renderBy(p.now, p.Plugin.CLIVersion)
	if err != nil {
		return err
	}
	p.before, p.after = before.Files, after.Files
	p.keepSelectors()
	for _, b := range all {
		if b.Version == base.Version || b.Version == p.now.Version {
			continue
		}
		other, err := p.renderBy(b, p.cli(b))
		if err != nil {
			return err
		}
		p.untouched = append(p.untouched, other.Files)
	}
	return p.workflow(base)
}

// cli is the version of mysdk that scaffolded files name: a build between two
// releases names none.
func (p *planner) cli(b Baseline) string {
	if b.Version == p.now.Version {
		return p.Plugin.CLIVersion
	}
	was := p.scaffolded()
	if was == "" || strings.HasPrefix(was, "devel-") {
		return ""
	}
	return b.Version
}

// renderBy writes the project's scaffold from a baseline.
func (p *planner) renderBy(b Baseline, cli string) (*project.Replayed, error) {
	o := project.ReplayOptions{Header: p.header, Scaffolder: func(read func(string) ([]byte, error)) project.Scaffolder {
		out := p.Plugin
		out.Templates, out.Pins, out.CLIVersion, out.ReadFile = b.Templates, &b.Pins, cli, read
		return out
	}}
	if p.foreign == nil {
		if out, err := p.file.Replay(o); err == nil {
			return out, nil
		}
	}
	// Kinds of others, for which another tool may have known more than PROJECT
	// says, have hardly a part in what is merged.
	own, err := p.file.Reshape(project.Shape{Remove: func(r project.Resource) bool { return !r.API }})
	if err != nil {
		return nil, err
	}
	if o.Certs, err = v4.CertsIn(func(name string) ([]byte, error) { return p.original(name), nil }); err != nil {
		return nil, err
	}
	return own.Replay(o)
}

// read returns a file of the project, nothing where it cannot be read.
func (p *planner) read(name string) []byte {
	data, _, err := p.tree.Read(name)
	if err != nil {
		return nil // as good as none: it only cannot be compared
	}
	return data
}

// base is the baseline that the project was written from: the one that was
// asked for, else the one that PROJECT records.
func (p *planner) base(all []Baseline) (Baseline, error) {
	version := cmp.Or(p.From, p.scaffolded())
	var names []string
	for _, b := range all {
		if b.Version == version {
			return b, nil
		}
		names = append(names, b.Version)
	}
	switch {
	case version == "" && (len(all) == 1 || p.foreign != nil):
		return p.now, nil
	case version == "":
		return Baseline{}, clierr.Usagef("name it with --from, one of: "+strings.Join(names, ", "),
			"%s does not record which version of mysdk wrote the scaffold", project.FileName)
	}
	return Baseline{}, clierr.Usagef("name another one with 'mysdk upgrade --from': "+strings.Join(names, ", ")+"; --baselines adds more", "no baseline of version %q is known", version)
}
