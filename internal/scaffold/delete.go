package scaffold

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/generate/calls"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// DeleteAPI removes a kind that has no webhooks.
func (s *Scaffold) DeleteAPI(target project.Resource) error {
	if len(s.file.Webhooks(target)) > 0 {
		return clierr.Failedf(fmt.Sprintf("run 'mysdk delete webhook --group %s --version %s --kind %s' first", cmp.Or(target.Group, `""`), target.Version, target.Kind),
			"%s/%s %s has webhooks", target.QualifiedGroup(), target.Version, target.Kind)
	}
	s.noteModule(target)
	var err error
	if s.file, err = s.file.HandOver(target, v4.DeployImageKey); err != nil {
		return err
	}
	drop, err := s.lastCRD(target)
	if err != nil {
		return err
	}
	apply, err := s.applyConfigurations(target)
	if err != nil {
		return err
	}
	drop = append(drop, apply...)
	return s.take(project.Shape{Remove: func(r project.Resource) bool {
		r.Controller = target.Controller // which may have got it handed over
		return r == target
	}}, drop...)
}

// noteModule tells of the module of a kind of another project, which go.mod
// requires for it: whether something else needs that, the go command knows. Those
// of Kubernetes itself every project needs.
func (s *Scaffold) noteModule(target project.Resource) {
	if target.API || target.Path == "" || strings.HasPrefix(target.Path, s.project.Repo+"/") || strings.HasPrefix(target.Path, "k8s.io/api/") {
		return
	}
	s.Notes = append(s.Notes, fmt.Sprintf("Run 'go mod tidy': it takes the module of %s out of go.mod if nothing else needs it.", target.Path))
}

// DeleteWebhooks removes those webhooks of a kind that wanted picks, out of
// defaulting, validation and conversion.
func (s *Scaffold) DeleteWebhooks(target project.Resource, wanted func(name string) bool) error {
	drop := slices.DeleteFunc(s.file.Webhooks(target), func(name string) bool { return !wanted(name) })
	if len(drop) == 0 {
		return nil
	}
	return s.take(project.Shape{Webhooks: func(r project.Resource) []string {
		if r != target {
			return nil
		}
		return drop
	}})
}

// take carries the change from the project to one with less in it. drop are
// generated files that go too.
func (s *Scaffold) take(shape project.Shape, drop ...string) error {
	file, err := s.file.Reshape(shape)
	if err != nil {
		return err
	}
	before, after, err := s.replays(file)
	if err != nil {
		return err
	}
	if err := s.seeOwn(file, before.Files, after.Files); err != nil {
		return err
	}
	if err := s.keepStored(file, before.Files, after.Files); err != nil {
		return err
	}
	change := relayout.Change{Module: s.project.Repo, Before: before.Files, After: after.Files, Drop: drop, Force: s.force}
	asked, err := s.asked()
	if err != nil {
		return err
	}
	if err := s.carry(change); err != nil {
		return err
	}
	if err := s.resetGenerated(asked, after.Files); err != nil {
		return err
	}
	return s.record(file)
}

// seeOwn renders the files that change once more, by the user's types: where a file of
// the project is as it comes out then, he has not touched it.
func (s *Scaffold) seeOwn(file *project.File, before, after map[string][]byte) error {
	was, err := s.replay(s.file, s.tree.Read)
	if err != nil {
		return nil //nolint:nilerr // his types do not parse, or lack the kind: those of the scaffold have to do
	}
	is, err := s.replay(file, s.tree.Read)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	for name, own := range was.Files {
		mine, _, err := s.tree.Read(name)
		if err != nil {
			return err
		}
		next, stays := after[name]
		if _, usual := before[name]; !usual { // it is beside a suite of another tool
			next, stays = is.Files[name]
		}
		// Types that were copied from a version that goes would come out as the pattern's.
		if !bytes.Equal(mine, own) || stays && (project.IsOwn(name) || bytes.Equal(before[name], next)) {
			continue
		}
		before[name] = own
		if stays {
			after[name] = is.Files[name]
		}
	}
	return nil
}

// keepStored puts the marker of the stored version where the scaffold now has it, unless
// the user's files have it on another version that stays.
func (s *Scaffold) keepStored(file *project.File, before, after map[string][]byte) error {
	p := file.Project()
	stored, err := s.storedKinds(p)
	if err != nil {
		return err
	}
	for _, r := range p.Resources {
		name := path.Join(strings.TrimPrefix(r.Path, p.Repo+"/"), strings.ToLower(r.Kind)+"_types.go")
		was, ok := before[name]
		if !ok || v4.IsStored(name, was, r.Kind) || !v4.IsStored(name, after[name], r.Kind) {
			continue
		}
		after[name] = was
		mine, there, err := s.tree.Read(name)
		if err == nil && there && !stored[r.Kind+"."+r.QualifiedGroup()] {
			err = s.tree.Write(name, v4.MarkStored(name, mine, r.Kind))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// storedKinds are the kinds, with their groups, of which the user has marked a version as
// the stored one.
func (s *Scaffold) storedKinds(p *project.Project) (map[string]bool, error) {
	stored := map[string]bool{}
	return stored, s.tree.EachGo(func(name string, src []byte) error {
		for _, r := range p.Resources {
			if r.Path == path.Join(p.Repo, path.Dir(name)) && v4.IsStored(name, src, r.Kind) {
				stored[r.Kind+"."+r.QualifiedGroup()] = true
			}
		}
		return nil
	})
}

// applyConfigurations are the generated files of those of a kind, its spec and its
// status, and all of a package whose last kind goes. They would not compile without the
// types.
func (s *Scaffold) applyConfigurations(target project.Resource) (out []string, err error) {
	version, kind := []byte(strconv.Quote(target.QualifiedGroup()+"/"+target.Version)), strings.ToLower(target.Kind)
	dir := strings.TrimPrefix(target.Path, s.project.Repo+"/")
	last := !slices.ContainsFunc(s.project.Resources, func(r project.Resource) bool { return r != target && r.Path == target.Path })
	err = s.tree.EachGo(func(name string, src []byte) error {
		switch {
		case !target.API || !generate.IsApply(src):
		case last && strings.HasPrefix(path.Dir(name), dir+"/"):
			out = append(out, name)
		case path.Base(name) == kind+".go" && bytes.Contains(src, version):
			for _, part := range []string{"", "spec", "status"} {
				out = append(out, path.Join(path.Dir(name), kind+part+".go"))
			}
		}
		return nil
	})
	return out, err
}

// lastCRD are the files of the CRD that goes with the last version of a kind.
func (s *Scaffold) lastCRD(target project.Resource) ([]string, error) {
	if !target.API {
		return nil, nil
	}
	for _, r := range s.project.Resources {
		if r != target && r.API && r.QualifiedGroup() == target.QualifiedGroup() && r.Kind == target.Kind {
			return nil, nil
		}
	}
	o := generate.Options{Host: host.Host{Files: s.files.Files}, Dir: s.dir}
	if _, err := calls.Into(&o); err != nil {
		return nil, err
	}
	dirs, err := o.CRDDirs()
	dirs = append(dirs, "config/crd/bases") // of before the project's own calls
	for i, dir := range dirs {
		dirs[i] = fmt.Sprintf("%s/%s_%s.yaml", dir, target.QualifiedGroup(), target.Plural)
	}
	return slices.Compact(dirs), err
}

// generatedFrom are the files that the generators leave alone when no marker
// asks for them.
func generatedFrom() map[string]string {
	return map[string]string{"config/rbac/role.yaml": "+kubebuilder:rbac:", "config/webhook/manifests.yaml": "+kubebuilder:webhook:"}
}

// asked says which of these files a marker of the project asks for.
func (s *Scaffold) asked() (map[string]bool, error) {
	out := map[string]bool{}
	return out, s.tree.EachGo(func(_ string, src []byte) error {
		for file, marker := range generatedFrom() {
			out[file] = out[file] || bytes.Contains(src, []byte(marker))
		}
		return nil
	})
}

// resetGenerated sees to the files that markers asked for before and no longer
// do: they become what the scaffold has in their place, or go.
func (s *Scaffold) resetGenerated(before map[string]bool, scaffolded map[string][]byte) error {
	now, err := s.asked()
	if err != nil {
		return err
	}
	for file := range generatedFrom() {
		_, there, err := s.tree.Read(file)
		placeholder, has := scaffolded[file]
		switch {
		case err != nil:
			return err
		case !before[file] || now[file] || !there:
			continue
		case has:
			err = s.tree.Write(file, placeholder)
		default:
			err = s.tree.Remove(file)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
