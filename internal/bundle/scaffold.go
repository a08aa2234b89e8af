package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// ManifestsConfigDir is the kustomization that a project's bundle is made from.
const ManifestsConfigDir = "config/manifests"

// Scaffold says what `generate kustomize manifests` works on.
type Scaffold struct {
	Package    string
	Namespaced bool   // for a new base: the operator is for one or some namespaces
	From, To   string // directories of the kustomization, usually the same
	// KustomizationNames are those that its file may have, that of a new one first.
	KustomizationNames []string
	// Read reads a file of the project; fs.ErrNotExist for none.
	Read func(name string) ([]byte, error)
}

// BaseFile is the base CSV of a package below the kustomization in dir.
func BaseFile(dir, pkg string) string {
	return path.Join(dir, "bases", pkg+".clusterserviceversion.yaml")
}

// recordFile is where the Record of a base is kept, beside it.
func recordFile(dir, pkg string) string { return path.Join(dir, "bases", pkg+".generated.yaml") }

// Render returns the base CSV, its record, and the kustomization that names
// it, in their final form. What would not change is not in the set.
func (s Scaffold) Render(descriptions []Description) (set fileset.Set, m *Merged, err error) {
	if err := CheckPackage(s.Package); err != nil {
		return set, nil, err
	}
	base, old, err := s.readBase()
	if err != nil {
		return set, nil, err
	}
	record, oldRecord, err := s.readRecord()
	if err != nil {
		return set, nil, err
	}
	m = Merge(base, descriptions, record)
	m.Unrecorded = old != nil && record == nil
	data := old
	if old == nil || !reflect.DeepEqual(base.Object, m.Base.Object) {
		if data, err = writeBase(old, m.Base); err != nil {
			return set, nil, err
		}
	}
	text, err := m.Record.bytes(path.Base(BaseFile("", s.Package)))
	if err != nil {
		return set, nil, err
	}
	list, kustomization, before, err := s.kustomization()
	if err != nil {
		return set, nil, err
	}
	moved := s.From != s.To
	err = errors.Join(
		putChanged(&set, BaseFile(s.To, s.Package), data, old, moved),
		putChanged(&set, recordFile(s.To, s.Package), text, oldRecord, moved),
		putChanged(&set, list, kustomization, before, false),
	)
	return set, m, err
}

// putChanged adds a file that differs from what there was.
func putChanged(set *fileset.Set, name string, data, old []byte, always bool) error {
	if !always && bytes.Equal(data, old) && (data == nil) == (old == nil) {
		return nil
	}
	if data == nil {
		if always {
			return nil
		}
		return set.Put(name, fileset.File{Removed: true})
	}
	return set.Put(name, fileset.File{Data: data})
}

// read returns nil for a file that is not there.
func (s Scaffold) read(name string) ([]byte, error) {
	data, err := s.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}

// readBase returns the base and its file's bytes; a new one, and nil, where there is no file.
func (s Scaffold) readBase() (*unstructured.Unstructured, []byte, error) {
	file := BaseFile(s.From, s.Package)
	data, err := s.read(file)
	if err != nil {
		return nil, nil, err
	}
	if data == nil {
		return NewBase(s.Package, s.Namespaced), nil, nil
	}
	base, err := ParseBase(data, file)
	return base, data, err
}

// readRecord returns the record and its file's bytes, nil where there is none.
func (s Scaffold) readRecord() (Record, []byte, error) {
	file := recordFile(s.From, s.Package)
	data, err := s.read(file)
	if err != nil || data == nil {
		return nil, nil, err
	}
	r := Record{}
	if err := sigsyaml.Unmarshal(data, &r); err != nil {
		return nil, nil, clierr.Failedf("remove the file: every text in the base that differs then counts as yours", "%w", yamlProblem(file, err))
	}
	return r, data, nil
}

// bytes writes the record; nil if there is nothing in it.
func (r Record) bytes(base string) ([]byte, error) {
	maps.DeleteFunc(r, func(_ string, hashes map[string]string) bool { return len(hashes) == 0 })
	if len(r) == 0 {
		return nil, nil
	}
	data, err := marshal(r)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("# What mysdk has written into %s, by hash. A value there that\n"+
		"# still has its hash follows the Go types; any other is yours and stays.\n", base)
	return append([]byte(head), data...), nil
}

// writeBase writes the base. The comments of old stay where they are, and what
// stands before the document: then only the owned CRDs are exchanged, which is all
// that Merge changes. A base without comments is written in the form that all
// Kubernetes tools have.
func writeBase(old []byte, base *unstructured.Unstructured) ([]byte, error) {
	head := documentsBefore(old)
	data, err := writeDocument(old[len(head):], base)
	return slices.Concat(head, data), err
}

// documentsBefore is what of a file stands before the document of its object, such
// as a licence in one of its own.
func documentsBefore(data []byte) (head []byte) {
	doc := onlyMapping(data)
	if doc == nil {
		return nil
	}
	n := 0
	for _, line := range bytes.SplitAfter(data, []byte("\n"))[:doc.Content[0].Line-1] {
		if n += len(line); bytes.HasPrefix(line, []byte("---")) {
			head = data[:n]
		}
	}
	return head
}

func writeDocument(old []byte, base *unstructured.Unstructured) ([]byte, error) {
	doc := onlyMapping(old)
	if doc == nil || !yamledit.Commented(doc) {
		return marshal(base.Object)
	}
	owned := at(base.Object, "spec", "customresourcedefinitions", "owned")
	if owned == nil {
		yamledit.Remove(yamledit.Value(yamledit.Value(doc.Content[0], "spec"), "customresourcedefinitions"), "owned")
		return yamledit.Encode(doc)
	}
	var node yaml.Node
	if err := node.Encode(owned); err != nil {
		return nil, err
	}
	crds := yamledit.Mapping(doc.Content[0], "spec", "customresourcedefinitions")
	if was := yamledit.Value(crds, "owned"); was != nil {
		takeComments(&node, was)
	}
	yamledit.Set(crds, "owned", &node)
	return yamledit.Encode(doc)
}

// takeComments puts the comments of a list or mapping to what stands in its place.
func takeComments(n, old *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = old.HeadComment, old.LineComment, old.FootComment
	for i := range n.Content {
		for j := range old.Content {
			switch {
			case n.Kind != old.Kind:
			case n.Kind == yaml.SequenceNode && itemName(n.Content[i]) == itemName(old.Content[j]):
				takeComments(n.Content[i], old.Content[j])
			case n.Kind == yaml.MappingNode && i%2+j%2 == 0 && n.Content[i].Value == old.Content[j].Value:
				takeComments(n.Content[i], old.Content[j])
				takeComments(n.Content[i+1], old.Content[j+1])
			}
		}
	}
}

// itemName is what an item of a list in owned is told by from the others.
func itemName(n *yaml.Node) string {
	name := n.Value
	for _, key := range []string{"name", "version", "kind", "path"} {
		if v := yamledit.Value(n, key); v != nil {
			name += " " + v.Value
		}
	}
	return name
}

// onlyMapping is the first document of a file that is a mapping, nil without one.
// A document before it may hold nothing but a licence.
func onlyMapping(data []byte) *yaml.Node {
	docs, _ := yamledit.Documents(data) // those before what does not parse
	if len(docs) == 0 {
		return nil
	}
	return docs[0]
}

// list returns the kustomization of a directory; nil, and the name for one, where there is none.
func (s Scaffold) list(dir string) (file string, data []byte, err error) {
	for _, name := range s.KustomizationNames {
		file = path.Join(dir, name)
		if data, err = s.read(file); data != nil || err != nil {
			return file, data, err
		}
	}
	return path.Join(dir, s.KustomizationNames[0]), nil, nil
}

// kustomization returns the file that lists the base among its resources, and what it was.
func (s Scaffold) kustomization() (file string, data, old []byte, err error) {
	if file, old, err = s.list(s.To); err != nil {
		return "", nil, nil, err
	}
	entry := path.Join("bases", path.Base(BaseFile("", s.Package)))
	if old == nil {
		return file, s.newKustomization(entry), nil, nil
	}
	data, err = withResource(old, file, entry)
	return file, data, old, err
}

// newKustomization is for projects that have none: those of kubebuilder.
func (s Scaffold) newKustomization(entry string) []byte {
	var b strings.Builder
	b.WriteString("# Everything that an OLM bundle is made of.\nresources:\n- " + entry + "\n")
	for _, dir := range []string{"default", "samples", "scorecard"} {
		if _, data, err := s.list(path.Join(path.Dir(s.To), dir)); err == nil && data != nil {
			b.WriteString("- ../" + dir + "\n")
		}
	}
	return []byte(b.String())
}

// withResource adds a resource to a kustomization: by taking the comment sign
// off its line where it is commented out, else as the first of the list. The
// file is edited as a text, so that its comments and its order stay; a file that
// is written in an unusual way is left to its author.
func withResource(data []byte, file, entry string) ([]byte, error) {
	before, err := resourcesOf(data)
	if err != nil {
		return nil, clierr.Failedf("correct the file and run the command again", "%w", yamlProblem(file, err))
	}
	listed := func(r string) bool { return path.Clean(r) == entry }
	if slices.ContainsFunc(before, listed) {
		return data, nil
	}
	edited := insertResource(data, entry)
	after, err := resourcesOf(edited)
	if err != nil || !slices.ContainsFunc(after, listed) || len(after) != len(before)+1 {
		return nil, clierr.Failedf("add "+entry+" to the resources by hand", "%s: its resources are written in a way that mysdk does not edit", file)
	}
	return edited, nil
}

func resourcesOf(data []byte) ([]string, error) {
	var k struct {
		Resources []string `json:"resources"`
	}
	err := sigsyaml.Unmarshal(data, &k)
	return k.Resources, err
}

// insertResource is withResource's attempt; it judges by single lines.
func insertResource(data []byte, entry string) []byte {
	item := regexp.MustCompile(`(?m)^([ \t]*)#[ \t]*- ` + regexp.QuoteMeta(entry) + `[ \t]*$`)
	if at := item.FindSubmatchIndex(data); at != nil {
		return slices.Concat(data[:at[3]], []byte("- "+entry), data[at[1]:])
	}
	list := regexp.MustCompile(`(?m)^resources:[ \t]*(#.*)?\n`)
	at := list.FindIndex(data)
	if at == nil {
		return slices.Concat(bytes.TrimRight(data, "\n"), []byte("\nresources:\n- "+entry+"\n"))
	}
	lead := ""
	if first := regexp.MustCompile(`^(?:[ \t]*(?:#.*)?\n)*([ \t]*)- `).FindSubmatch(data[at[1]:]); first != nil {
		lead = string(first[1])
	}
	return slices.Concat(data[:at[1]], []byte(lead+"- "+entry+"\n"), data[at[1]:])
}
