package upgrade

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // the fingerprints
	"fmt"
	"maps"
	"math/big"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/goedit"
	"github.com/example/mysdk/internal/rewrite/merge3"
)

// peers has in its first line the versions of kubebuilder and operator-sdk that
// it tells of. Each other line is for a text that they have written at a place
// where our scaffold has a file too, or for a section of a Makefile:
// fingerprint, path, and the versions as a hexadecimal number whose lowest bit
// stands for the first of them.
//
//go:embed peers.txt
var peers string

// fingerprint is a text that a tool is known to have written.
type fingerprint struct {
	sum      string
	versions []string // such as "kubebuilder v4.5.2"
}

// foreign is what is known of a project that another tool has written.
type foreign struct {
	known   map[string][]fingerprint // by path, or Makefile#section
	version string                   // the most likely one, such as "kubebuilder v4.5.2"
	facts   facts
}

// facts are the names in a scaffold that differ from project to project.
type facts struct{ repo, name, domain string }

func parsePeers(table string) (map[string][]fingerprint, error) {
	head, rest, _ := strings.Cut(table, "\n")
	versions := strings.Split(head, ",")
	out := map[string][]fingerprint{}
	for line := range strings.Lines(rest) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		bits, ok := new(big.Int).SetString(fields[len(fields)-1], 16)
		if len(fields) != 3 || !ok || bits.BitLen() > len(versions) {
			return nil, fmt.Errorf("the table of fingerprints has the line %q", line)
		}
		f := fingerprint{sum: fields[0]}
		for i, v := range versions {
			if bits.Bit(i) == 1 {
				f.versions = append(f.versions, v)
			}
		}
		out[fields[1]] = append(out[fields[1]], f)
	}
	return out, nil
}

var (
	licenseComment = lazy.Delayed(`(?s)^\s*/\*.*?\*/\s*`)
	copyrightLine  = lazy.Delayed(`(?m)^Copyright .*$`)
)

// normal is a text of a project with its own names taken out.
func (n facts) normal(name string, data []byte) string {
	text := string(data)
	if path.Ext(name) == ".go" {
		text = licenseComment.ReplaceAllString(text, "")
	}
	if name == mainFile {
		text = splitMain(text, n.repo).rest
	}
	text = copyrightLine.ReplaceAllString(text, "Copyright")
	text = replaceWord(text, n.repo, "{repo}")
	text = replaceWord(text, n.domain, "{domain}")
	text = replaceWord(text, "example.com", "{domain}") // examples are of it, and so are many projects
	return strings.TrimSpace(replaceWord(text, n.name, "{name}"))
}

// replaceWord replaces a name where it does not stand within a longer word.
func replaceWord(text, name, by string) string {
	if name == "" {
		return text
	}
	var out strings.Builder
	end := 0
	for _, at := range regexp.MustCompile(regexp.QuoteMeta(name)).FindAllStringIndex(text, -1) {
		out.WriteString(text[end:at[0]])
		end = at[1]
		if at[0] > 0 && isWord(text[at[0]-1]) || end < len(text) && isWord(text[end]) {
			out.WriteString(name)
		} else {
			out.WriteString(by)
		}
	}
	return out.String() + text[end:]
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func sum(text string) string { return fmt.Sprintf("%.6x", sha256.Sum256([]byte(text))) }

// match returns the fingerprint of a file or section, nil if it is not known.
func (f *foreign) match(name, text string) *fingerprint {
	s := sum(text)
	i := slices.IndexFunc(f.known[name], func(p fingerprint) bool { return p.sum == s })
	if i < 0 {
		return nil
	}
	return &f.known[name][i]
}

// covered says whether a file is one that the fingerprints tell of: one that
// depends on nothing but the project's names.
func covered(name string) bool {
	switch {
	case isCode(name), relayout.IsGenerated(name), name == "go.mod", name == "go.sum":
		return false
	case strings.HasSuffix(name, "suite_test.go"), strings.HasPrefix(name, "test/"), strings.HasPrefix(name, "api/"):
		return false
	}
	switch path.Dir(name) {
	case "config/crd", "config/crd/patches", "config/samples", "config/webhook":
		return false
	case "config/rbac":
		return name != "config/rbac/kustomization.yaml"
	}
	return true
}

// detect says whether another tool has written the project, and which version
// of it is the most likely: the one with the most files in the project.
func (p *planner) detect(recorded string) error {
	makefile := string(p.read("Makefile"))
	if recorded != "" || p.From != "" || strings.Contains(makefile, "MYSDK") {
		return nil
	}
	known, err := parsePeers(cmp.Or(p.peers, peers))
	if err != nil {
		return err
	}
	f := &foreign{known: known, facts: facts{p.project.Repo, p.project.Name, p.project.Domain}}
	// PROJECT's cliVersion would say less: a build of one's own has none, and
	// operator-sdk writes none at all.
	votes := map[string]int{}
	for name := range known {
		text := ""
		if file, key, isSection := strings.Cut(name, "#"); isSection {
			if s := merge3.Find(merge3.Makefile(p.read(file)), key); s != nil {
				text = f.facts.normal(file, []byte(s.String()))
			}
		} else {
			text = f.facts.normal(name, p.read(name))
		}
		if fp := f.match(name, text); fp != nil {
			for _, v := range fp.versions {
				votes[v]++
			}
		}
	}
	for _, v := range slices.Sorted(maps.Keys(votes)) {
		if votes[v] >= votes[f.version] {
			f.version = v
		}
	}
	if votes[f.version] < enough {
		return clierr.Failedf("see what works as it is with 'mysdk adopt'; if mysdk wrote it, name the version with --from",
			"neither mysdk nor a known version of kubebuilder or operator-sdk has left enough of what it wrote to tell who made this project")
	}
	p.foreign = f
	p.plan.Tool, p.plan.From = toolOf(f.version), f.version
	return nil
}

// enough is how many files and targets must be as a version writes them for the
// project to be taken for its: two tools may agree on a short one.
const enough = 5

func toolOf(version string) string {
	tool, _, _ := strings.Cut(version, " ")
	return tool
}

// wrote says whether that version of the tool wrote a file of that name.
func (f *foreign) wrote(name string) bool {
	return slices.ContainsFunc(f.known[name], func(p fingerprint) bool { return slices.Contains(p.versions, f.version) })
}

// decideForeign settles what becomes of a file in a project of another tool.
func (p *planner) decideForeign(name string, mine []byte, there bool, after []byte) error {
	switch {
	case name == "Makefile": // has fingerprints by section
		ours, why := p.makefile()
		switch {
		case !there:
			return nil
		case why != "":
			p.note(name, Kept, why+"; mysdk's commands need no Makefile")
			return nil
		}
		return p.update(name, ours)
	case !there && covered(name) && !p.foreign.wrote(name) && !roleOfKind.MatchString(name) && !p.unlisted(name) && !p.needsMakefile(name, after):
		if other := p.definedBy(name, after); other != "" {
			p.note(other, Kept, path.Base(name)+" is left out: it would define the same objects")
			return nil
		}
		return p.added(name, after)
	case !there || len(p.foreign.known[name]) == 0 || bytes.Equal(mine, after):
		return nil // of kinds and webhooks, which stay
	}
	if why := p.obstacle(name, mine, after); why != "" {
		p.note(name, Kept, why)
		return nil
	}
	if name == ".dockerignore" {
		if dir, err := p.hidden(after); err != nil || dir != "" {
			p.note(name, Kept, "ours would keep "+dir+", which your code imports, out of the image build")
			return err
		}
	}
	if name == "Dockerfile" && bytes.Contains(p.original("Makefile"), []byte("FROM --platform=")) {
		// A docker-buildx that stays adds the flag, which docker refuses if it is there twice.
		if _, stays := p.makefile(); stays != "" {
			after = bytes.Replace(after, []byte("FROM --platform=$BUILDPLATFORM "), []byte("FROM "), 1)
		}
	}
	if name == mainFile {
		carried, ok := splitMain(string(mine), p.project.Repo).into(string(after), p.project.Repo)
		if !ok || !merge3.Valid(name, []byte(carried)) {
			p.note(name, Kept, "what is wired into it could not be carried over")
			return nil
		}
		after = merge3.Tidy(name, p.after[name], []byte(carried))
	}
	return p.update(name, after)
}

// roleOfKind matches the roles for the users of a kind. They are in no
// fingerprint: those that the project has are enough.
var roleOfKind = lazy.Delayed(`^config/rbac/.*_(admin|editor|viewer)_role\.yaml$`)

// unlisted says whether no kustomization would know of a new file: the one
// beside it stays as it is, or the user has removed it. That of config/rbac is
// added to.
func (p *planner) unlisted(name string) bool {
	list := path.Join(path.Dir(name), "kustomization.yaml")
	mine := p.original(list)
	switch {
	case len(mine) == 0:
		return len(p.after[list]) > 0 && (!covered(list) || p.foreign.wrote(list))
	case path.Dir(name) == "config/rbac":
		return false
	}
	return len(p.foreign.known[list]) == 0 || p.obstacle(list, mine, p.after[list]) != ""
}

// original returns a file as it is on disk, whatever has been decided of it.
func (p *planner) original(name string) []byte {
	data, err := p.lf().ReadFile(p.path(name))
	if err != nil {
		return nil // as good as none
	}
	return data
}

// obstacle says why a file of the other tool cannot be replaced by ours, empty
// where it can.
func (p *planner) obstacle(name string, mine, after []byte) string {
	const wiring, proxy = "config/default/kustomization.yaml", "config/default/manager_auth_proxy_patch.yaml"
	if p.foreign.match(name, p.foreign.facts.normal(name, mine)) == nil {
		return "not as " + p.plan.Tool + " wrote it"
	}
	if p.needsMakefile(name, after) {
		return "kept along with your Makefile"
	}
	if strings.HasPrefix(name, "config/") && isYAML(name) && !holds(after, mine) {
		return "it configures what ours does not"
	}
	if name == wiring {
		if extra := turnsOn(mine, after); len(extra) > 0 {
			return "ours also turns on " + strings.Join(extra, ", ")
		}
	}
	if name == mainFile && len(p.original(proxy)) > 0 && p.obstacle(wiring, p.original(wiring), p.after[wiring]) != "" {
		return "config/default puts kube-rbac-proxy before its metrics, which ours protects itself"
	}
	return ""
}

// hidden is a directory that the project's code imports and a .dockerignore of
// ours does not let through, empty for none.
func (p *planner) hidden(ignore []byte) (dir string, err error) {
	err = p.tree.EachGo(func(name string, src []byte) error {
		f, err := goedit.Parse(name, src)
		if err != nil || strings.HasSuffix(name, "_test.go") {
			return nil //nolint:nilerr // the compiler tells
		}
		for _, spec := range f.Tree.Imports {
			rest, own := strings.CutPrefix(goedit.PathOf(spec), p.project.Repo+"/")
			if top, _, _ := strings.Cut(rest, "/"); own && !bytes.Contains(ignore, []byte("\n!"+top+"\n")) {
				dir = top
			}
		}
		return nil
	})
	return dir, err
}

func isYAML(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" }

// turnsOn are the directories that today's config/default has and the project's
// has not: what they need, such as cert-manager, may not be in the cluster.
func turnsOn(mine, after []byte) []string {
	has := resources(mine)
	return slices.DeleteFunc(resources(after), func(dir string) bool {
		return !strings.HasPrefix(dir, "../") || slices.Contains(has, dir)
	})
}

// resources are what a kustomization lists as its resources and components.
func resources(text []byte) []string {
	var out []string
	for _, o := range objectsIn(text) {
		for _, key := range []string{"resources", "components"} {
			list, _ := o[key].([]any)
			for _, e := range list {
				out = append(out, fmt.Sprint(e))
			}
		}
	}
	return out
}

// holds says whether a YAML file has every field and every entry of a list that
// another one has. What is configured in a kustomization, by comments taken
// away or by a plugin, must not get lost with the file, and neither must the
// name of an image.
func holds(whole, part []byte) bool {
	w, p := decodeAll(whole), decodeAll(part)
	return len(p) <= len(w) && holdsValue(w[:len(p)], p)
}

// decodeAll reads the documents of a file, as far as it can be parsed.
func decodeAll(text []byte) []any {
	var out []any
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc any
		if err := dec.Decode(&doc); err != nil {
			return out
		}
		out = append(out, doc)
	}
}

func holdsValue(whole, part any) bool {
	switch p := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		for key, value := range p {
			other, there := w[key]
			ok = ok && there && holdsValue(other, value) && (key != "images" || reflect.DeepEqual(other, value))
		}
		return ok
	case []any:
		w, ok := whole.([]any)
		for _, value := range p {
			ok = ok && slices.ContainsFunc(w, func(other any) bool {
				if isScalar(value) {
					return other == value
				}
				return holdsValue(other, value)
			})
		}
		return ok
	}
	return isScalar(whole)
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// added writes a file that the other tool's scaffold did not have. Tests of
// files that stay the other tool's do not come.
func (p *planner) added(name string, after []byte) error {
	if strings.HasSuffix(name, "_test.go") {
		subject := strings.TrimSuffix(name, "_test.go") + ".go"
		i := slices.IndexFunc(p.plan.Files, func(f File) bool { return f.Path == subject })
		if i < 0 || p.plan.Files[i].Action != Updated {
			return nil
		}
	}
	return p.create(name, after)
}
