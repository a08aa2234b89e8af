package upgrade

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/rewrite/merge3"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// peerTrees is where projects lie that other tools have scaffolded, as
// TOOL/VERSION/PROJECT.
var peerTrees = flag.String("peers", "", "write peers.txt anew from the projects in this `directory`/TOOL/VERSION/PROJECT")

// TestPeers_Write is how the table of fingerprints is made: from the projects
// that the tools' own repositories have in testdata, at every release, and from
// what their releases scaffold.
func TestPeers_Write(t *testing.T) {
	if *peerTrees == "" {
		t.Skip("no -peers directory: the table is written when a tool has a new release")
	}
	projects, err := filepath.Glob(filepath.Join(*peerTrees, "*", "*", "*", project.FileName))
	if err != nil || len(projects) == 0 {
		t.Fatalf("no projects below %s: %v", *peerTrees, err)
	}
	var peers []peer
	for _, file := range projects {
		dir := filepath.Dir(file)
		version := filepath.Dir(dir)
		peers = append(peers, peer{filepath.Base(filepath.Dir(version)) + " " + filepath.Base(version), func(name string) ([]byte, error) {
			return os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		}})
	}
	table := peerTable(t, peers...)
	if err := os.WriteFile("peers.txt", []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d fingerprints of %d projects", strings.Count(table, "\n")-1, len(projects))
}

// peer is a project that another tool has scaffolded.
type peer struct {
	tool string // and its version
	read func(name string) ([]byte, error)
}

// peer is a shop as a project of another tool.
func (s *shop) peer() peer {
	return peer{"kubebuilder v9.1.0", func(name string) ([]byte, error) {
		return s.disk.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
	}}
}

// peerTable makes the table from projects.
func peerTable(t testing.TB, projects ...peer) string {
	t.Helper()
	versions := map[[2]string][]string{} // by name and fingerprint
	var all []string
	for _, p := range projects {
		all = append(all, p.tool)
		for name, text := range p.texts(t) {
			key := [2]string{name, sum(text)}
			versions[key] = append(versions[key], p.tool)
		}
	}
	slices.SortFunc(all, compareVersions)
	all = slices.Compact(all)
	table := strings.Join(all, ",") + "\n"
	keys := slices.SortedFunc(maps.Keys(versions), func(a, b [2]string) int {
		return strings.Compare(a[0]+"\t"+a[1], b[0]+"\t"+b[1])
	})
	for _, k := range keys {
		bits := new(big.Int)
		for _, v := range versions[k] {
			bits.SetBit(bits, slices.Index(all, v), 1)
		}
		table += fmt.Sprintf("%s\t%s\t%s\n", k[1], k[0], bits.Text(16))
	}
	return table
}

func compareVersions(a, b string) int {
	toolA, versionA, _ := strings.Cut(a, " ")
	toolB, versionB, _ := strings.Cut(b, " ")
	if toolA != toolB {
		return strings.Compare(toolA, toolB)
	}
	return semver.Compare(versionA, versionB)
}

// texts are the normalized texts of the project that our scaffold has files
// for, by name, and the sections of its Makefile.
func (p peer) texts(t testing.TB) map[string]string {
	t.Helper()
	data, err := p.read(project.FileName)
	if err != nil {
		t.Fatal(err)
	}
	f, err := project.Parse(data)
	if err != nil {
		t.Fatalf("%s: %v", p.tool, err)
	}
	made := f.Project()
	names := facts{made.Repo, made.Name, made.Domain}
	out := map[string]string{}
	for _, name := range scaffoldNames(t) {
		data, err := p.read(name)
		switch {
		case err != nil: // it has none
		case name == "Makefile":
			for _, s := range merge3.Makefile(data) {
				out[name+"#"+s.Key] = names.normal(name, []byte(s.String()))
			}
		case covered(name):
			out[name] = names.normal(name, data)
		}
	}
	return out
}

// scaffoldNames are the files that init writes.
func scaffoldNames(t testing.TB) []string {
	t.Helper()
	templates := v4.Templates()
	var names []string
	err := fs.WalkDir(templates, "init", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(path.Clean(name), "init/"), ".tmpl"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
