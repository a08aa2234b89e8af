package migrate

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// scaffoldTrees is where projects of the old layouts lie.
var scaffoldTrees = flag.String("scaffolds", "", "write files/scaffolds.txt anew from the projects in this `directory`")

// TestScaffolds_Write is how the table of values is made: from the projects
// that kubebuilder's and operator-sdk's repositories have in testdata, at every
// release that wrote go/v2 or go/v3.
func TestScaffolds_Write(t *testing.T) {
	if *scaffoldTrees == "" {
		t.Skip("no -scaffolds directory: the layouts are of the past, and their table is complete")
	}
	projects, err := filepath.Glob(filepath.Join(*scaffoldTrees, "*", "PROJECT"))
	if err != nil || len(projects) == 0 {
		t.Fatalf("no projects below %s: %v", *scaffoldTrees, err)
	}
	table := scaffoldTable(t, projects)
	if err := os.WriteFile("files/scaffolds.txt", []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d values of %d projects", strings.Count(table, "\n"), len(projects))
}

// ofKinds are files that depend on the project's kinds, are generated, or are
// kept as a whole.
var ofKinds = regexp.MustCompile(`^config/(crd/(bases/|patches/|kustomization)|samples/|manifests/|scorecard/|grafana/|rbac/role\.yaml$|rbac/.*_(editor|viewer)_role|webhook/manifests)`)

// scaffoldTable makes the table from projects, given by their PROJECT files.
func scaffoldTable(t *testing.T, projects []string) string {
	t.Helper()
	type place struct {
		scaffoldKey
		way string
	}
	values := map[place]map[string]bool{}
	for _, file := range projects {
		dir := filepath.Dir(file)
		name := peerName(t, file)
		err := filepath.WalkDir(filepath.Join(dir, "config"), func(at string, d os.DirEntry, err error) error {
			rel, _ := filepath.Rel(dir, at)
			if err != nil || d.IsDir() || !isYAML(rel) || ofKinds.MatchString(rel) {
				return err
			}
			data, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			docs, err := readConfig(rel, data)
			if err != nil {
				return err
			}
			for _, doc := range docs {
				key := scaffoldKey{rel, scalar(doc, "kind")}
				if filepath.Base(rel) == "kustomization.yaml" {
					key.kind = ""
				}
				todaysFlags(managerContainer(doc))
				for _, l := range leaves(doc, func(string) bool { return true }) {
					way, text := anonymize(l.way, name), anonymize(value(l.node), name)
					if isNoise(way) || strings.Contains(way, "/env/") || strings.HasPrefix(way, "images/") || strings.HasSuffix(way, "resourceName") || strings.HasSuffix(way, "prometheus]") {
						continue // what the tutorials set or turned on, and what is random
					}
					p := place{key, way}
					if values[p] == nil {
						values[p] = map[string]bool{}
					}
					values[p][text] = true
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	lines := map[scaffoldKey][]string{}
	for p, texts := range values {
		for text := range texts {
			lines[p.scaffoldKey] = append(lines[p.scaffoldKey], fmt.Sprintf("\t%s\t%s\n", p.way, text))
		}
	}
	var out strings.Builder
	keys := slices.SortedFunc(maps.Keys(lines), func(a, b scaffoldKey) int { return strings.Compare(a.file+" "+a.kind, b.file+" "+b.kind) })
	for _, key := range keys {
		out.WriteString(strings.TrimSpace(key.file+" "+key.kind) + "\n")
		list := lines[key]
		out.WriteString(strings.Join(slices.Sorted(slices.Values(list)), ""))
	}
	return out.String()
}

// peerName is what the names of a project's objects begin with.
func peerName(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(file), "config/default/kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(prefixLine.FindStringSubmatch(string(data))[1], "-")
}

func TestWays(t *testing.T) {
	for _, name := range []string{"replicas", "prometheus.io/scrape", "path=a/b~c.yaml", `{"verbs":["a/b"]}`, ""} {
		for part, item := range map[string]bool{keyStep(name): false, itemStep(name): true} {
			if got, isItem := readStep(part); got != name || isItem != item || strings.Contains(part, "/") {
				t.Errorf("%q is read as %q, %t", part, got, isItem)
			}
		}
	}
}
