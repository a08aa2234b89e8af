// Package scaffold changes the scaffold of a project that its user has worked
// in: its license header, layout, scope and domain, and the kinds and webhooks
// in it. It knows PROJECT and the plugin that wrote the scaffold, and has the
// difference carried over; it writes nothing and knows no commands.
package scaffold

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// Scaffold is a project whose scaffold is to change. The zero value is none:
// see Open.
type Scaffold struct {
	// Problems are the places that a change left alone because the user's hand
	// shows there. Notes are for him to know.
	Problems []relayout.Problem
	Notes    []string

	plugin   v4.Plugin
	force    bool
	file     *project.File
	project  *project.Project
	tree     *relayout.Tree
	header   []byte            // license header
	webhooks map[string]string // names in the project, by the paths of their URLs; read by nameWebhooks
	files    relayout.LF
	dir      string
}

// Open reads the project in dir, absolute. force says that files which go may
// be as the user has made them.
func Open(files host.Files, dir string, plugin v4.Plugin, force bool) (*Scaffold, error) {
	file, err := project.Load(dir)
	if err != nil {
		return nil, err
	}
	p, lf := file.Project(), relayout.LF{Files: files}
	var apis []string
	for _, r := range p.Resources {
		if dir, own := strings.CutPrefix(r.Path, p.Repo+"/"); own {
			apis = append(apis, dir)
		}
	}
	s := &Scaffold{plugin: plugin, force: force, file: file, project: p, tree: relayout.NewTree(lf, dir, apis...), files: lf, dir: dir}
	s.header, _, err = s.tree.Read(project.HeaderFile)
	return s, err
}

// Refused is the error that lists the problems, nil where there are none.
func (s *Scaffold) Refused() error {
	if len(s.Problems) == 0 {
		return nil
	}
	list := make([]string, len(s.Problems))
	for i, p := range s.Problems {
		list[i] = "  " + p.String()
	}
	hint := "undo your change and make it again afterwards, or add --force: your lines are kept, but deleted files are lost"
	was, is := s.file.PluginField(v4.ScaffoldKey, "version"), s.plugin.CLIVersion
	switch {
	case !slices.ContainsFunc(s.Problems, func(p relayout.Problem) bool { return !p.Needs }):
		hint = "change or remove these lines first, or add --force: they are kept, but the code may not compile"
	case was != "" && semver.Compare(was, is) < 0:
		hint = fmt.Sprintf("run 'mysdk upgrade' first (the scaffold is of mysdk %s, this is %s), then run this command again", was, is)
	}
	return clierr.Failedf(hint, "nothing was written because of these conflicts:\n%s", strings.Join(list, "\n"))
}

// Set is the whole change so far, PROJECT included, without files that it leaves as
// they are.
func (s *Scaffold) Set() (fileset.Set, error) { return s.files.Changed(s.tree.Set(), s.dir) }

// replay writes the scaffold of a project again, in memory. own reads the project's
// files, see project.ReplayOptions.
func (s *Scaffold) replay(f *project.File, own func(string) ([]byte, bool, error)) (*project.Replayed, error) {
	certs, err := v4.CertsIn(func(name string) ([]byte, error) {
		data, _, err := s.tree.Read(name)
		return data, err
	})
	if err != nil {
		return nil, err
	}
	scaffolder := func(read func(string) ([]byte, error)) project.Scaffolder {
		p := s.plugin
		p.ReadFile, p.Own = read, own
		return p
	}
	out, err := f.Replay(project.ReplayOptions{Scaffolder: scaffolder, Header: s.header, Certs: certs, Own: own})
	if err != nil {
		return nil, err
	}
	mine, _, err := s.tree.Read(v4.ManagerPatch)
	if patch, there := out.Files[v4.ManagerPatch]; there && !bytes.Contains(mine, []byte("--webhook-port")) {
		out.Files[v4.ManagerPatch] = []byte(v4.WithoutPortFlag(string(patch)))
	}
	if err != nil {
		return nil, err
	}
	return out, s.nameWebhooks(out.Files)
}

// replays writes the scaffold as it was and as it is by another PROJECT.
func (s *Scaffold) replays(file *project.File) (before, after *project.Replayed, err error) {
	if before, err = s.replay(s.file, nil); err != nil {
		return nil, nil, err
	}
	after, err = s.replay(file, nil)
	return before, after, err
}

// nameWebhooks gives webhooks of a scaffold the names that they have in the project. Names
// that mysdk makes depend on the other groups with the kind, which may have come or gone
// since. Others are the user's: they go into the scaffold's patch alone, as the API server
// refuses what a patch of another name adds. The patch gets the namespace that is deployed
// to as well.
func (s *Scaffold) nameWebhooks(files map[string][]byte) error {
	if s.webhooks == nil {
		s.webhooks = map[string]string{}
		err := s.tree.EachGo(func(_ string, src []byte) error {
			maps.Copy(s.webhooks, relayout.WebhookNames(src))
			return nil
		})
		if err != nil {
			return err
		}
	}
	patch, restricted := files[v4.NamespacesPatch]
	for name, src := range files {
		if path.Ext(name) != ".go" {
			continue
		}
		for url, was := range relayout.WebhookNames(src) {
			own := s.webhooks[url]
			if own == "" {
				continue
			}
			patch = bytes.ReplaceAll(patch, []byte("- name: "+was+"\n"), []byte("- name: "+own+"\n"))
			if v4.IsWebhookName(own, was) {
				files[name] = bytes.ReplaceAll(files[name], []byte("name="+was+","), []byte("name="+own+","))
			}
		}
	}
	if !restricted {
		return nil
	}
	text, _, err := s.tree.Read("config/default/kustomization.yaml")
	if err != nil {
		return err
	}
	_, namespace, err := v4.DeployedNames(text)
	files[v4.NamespacesPatch] = bytes.ReplaceAll(patch, []byte("metadata.name: "+s.project.SystemNamespace()+"\n"), []byte("metadata.name: "+namespace+"\n"))
	return err
}

func (s *Scaffold) carry(change relayout.Change) error {
	problems, err := change.Carry(s.tree)
	s.Problems = append(s.Problems, problems...)
	return err
}

// record puts PROJECT into the tree.
func (s *Scaffold) record(f *project.File) error {
	data, err := f.Bytes()
	if err != nil {
		return err
	}
	return s.tree.Write(project.FileName, data)
}
