package migrate

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

const (
	webhookMarker = "+kubebuilder:webhook:"
	// webhookSuite is what sets up webhooks for the tests of a package of types.
	webhookSuite = "webhook_suite_test.go"
)

// webhookFile is what the package of a kind has of old webhooks, in whatever
// files: methods of the type itself, which the manager called.
type webhookFile struct {
	*apiVersion
	kind    string
	to      string         // directory of the types as it will be
	below   string         // internal/webhook: the group's directory, where there is one
	setUp   string         // the file that sets them up, empty for none
	methods map[string]int // number of results
	files   map[string]bool
	markers []string
	custom  bool   // SetupWebhookWithManager names types of the user's that do the work
	more    bool   // SetupWebhookWithManager does more than that
	other   string // what sets them up in the place of the type, and where; empty for nothing
}

// webhooks reads the webhooks of the project's kinds. The server converts for
// hubs, too, whose types set none up.
func (m *migration) webhooks() []*webhookFile {
	var out []*webhookFile
	for _, a := range m.apis {
		w := &webhookFile{
			apiVersion: a, kind: a.kinds[0].name, to: m.moved(a.dir), methods: map[string]int{}, files: map[string]bool{},
		}
		if m.multigroup {
			w.below = a.label
		}
		for f := range m.parse(m.codeIn(a.dir)) {
			w.read(f)
		}
		switch {
		case w.setUp != "":
		case a.webhooks || a.hub:
			w.other = m.setUpElsewhere(a.dir, w.kind)
			if !a.webhooks {
				w.methods = map[string]int{}
			}
		default:
			continue
		}
		out = append(out, w)
	}
	for _, w := range out {
		for f := range m.parse(m.codeIn(w.dir)) {
			w.readMarkers(f, out)
		}
	}
	return out
}

// setUpElsewhere is the type in another package that sets up the webhooks of a
// kind, with the place of its method; empty for none.
func (m *migration) setUpElsewhere(dir, kindName string) string {
	for f := range m.parse(m.ownCode()) {
		if path.Dir(f.Name) == dir || strings.HasSuffix(f.Name, "_test.go") {
			continue
		}
		for fn := range f.Functions() {
			if fn.Name.Name == setupWebhook && fn.Recv != nil && strings.Contains(f.Text(fn), "."+kindName+"{}") {
				return fmt.Sprintf("%s.%s (%s:%d)", f.Tree.Name.Name, goedit.Receiver(fn), m.along(f.Name), f.Line(fn.Pos()))
			}
		}
	}
	return ""
}

// read finds the methods of the kind in a file.
func (w *webhookFile) read(f *goFile) {
	for fn := range f.Functions() {
		if goedit.Receiver(fn) != w.kind {
			continue
		}
		name := fn.Name.Name
		w.methods[name] = fn.Type.Results.NumFields()
		if name == "Default" || name == setupWebhook || strings.HasPrefix(name, "Validate") {
			w.files[f.Name] = true
		}
		if name == setupWebhook {
			w.setUp, w.custom, w.more = f.Name, isCustom(f.Text(fn)), doesMore(f, fn)
		}
	}
}

// readMarkers finds the markers in a file that are of the kind's webhooks.
func (w *webhookFile) readMarkers(f *goFile, all []*webhookFile) {
	mates := slices.DeleteFunc(slices.Clone(all), func(o *webhookFile) bool { return o.dir != w.dir })
	for _, group := range f.Tree.Comments {
		for _, c := range group.List {
			if strings.Contains(c.Text, webhookMarker) && markedBy(f, c, mates) == w {
				w.markers = append(w.markers, c.Text)
			}
		}
	}
}

// markedBy is the kind that a marker is for: the one that its path ends in, the
// one that stands below it, or the only one there is.
func markedBy(f *goFile, c *ast.Comment, all []*webhookFile) *webhookFile {
	below := func(w *webhookFile) bool {
		i := slices.IndexFunc(f.Tree.Decls, func(d ast.Decl) bool { return d.Pos() > c.Pos() })
		return i >= 0 && w.isOf(f, f.Tree.Decls[i])
	}
	for _, is := range []func(*webhookFile) bool{
		func(w *webhookFile) bool {
			return regexp.MustCompile(`path="?[^,"]*-` + strings.ToLower(w.kind) + `("|,|$)`).MatchString(c.Text)
		},
		below,
		func(w *webhookFile) bool { return w.files[f.Name] },
		func(*webhookFile) bool { return true },
	} {
		found := slices.DeleteFunc(slices.Clone(all), func(w *webhookFile) bool { return !is(w) })
		if len(found) == 1 {
			return found[0]
		}
	}
	return nil
}

// isOf says whether a declaration is a method of the kind, or a variable that
// says what its type is.
func (w *webhookFile) isOf(f *goFile, d ast.Decl) bool {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return goedit.Receiver(d) == w.kind
	case *ast.GenDecl:
		return strings.Contains(squeeze(f.Text(d)), "&"+w.kind+"{}")
	}
	return false
}

// isUselessSuite says whether a file is the set-up of an environment that no
// test needs any more. That of webhooks sets up what is in internal/webhook
// now.
func (m *migration) isUselessSuite(name string) bool {
	base := path.Base(name)
	return (base == webhookSuite || base == "suite_test.go" && !m.hasSpecs(path.Dir(name))) && !m.isSpec(name)
}

// isSpec says whether a file of a suite tests something itself.
func (m *migration) isSpec(name string) bool {
	f, err := parseGo(name, m.files[name].data)
	if err != nil {
		return true
	}
	for fn := range f.Functions() {
		if fn.Recv == nil && len(fn.Body.List) > 0 && hasAnyPrefix(fn.Name.Name, "Test", "Benchmark", "Fuzz", "Example") &&
			fn.Name.Name != "TestMain" && !strings.Contains(f.Text(fn), "RunSpecs") {
			return true
		}
	}
	return goedit.Has(f.Tree, func(call *ast.CallExpr) bool {
		return slices.Contains([]string{"Describe", "Context", "When", "It", "Specify", "DescribeTable", "Entry"}, callee(call))
	})
}

// methodsOf are the texts of a type's methods, by their names.
func (m *migration) methodsOf(dir, kind string) map[string]string {
	out := map[string]string{}
	for f := range m.parse(inDir(m.files, dir)) {
		for fn := range f.Functions() {
			if goedit.Receiver(fn) == kind {
				out[fn.Name.Name] = f.Text(fn)
			}
		}
	}
	return out
}

// conversions finds out by the types' methods which versions are converted to
// which: PROJECT did not always know, and never of the spokes. The entries are
// those of PROJECT, in the order of m.apis.
func (m *migration) conversions(entries []map[string]any) {
	for i, hub := range m.apis {
		webhooks, _ := entries[i]["webhooks"].(map[string]any)
		claimed := webhooks["conversion"] == true
		delete(webhooks, "conversion")
		kindName := hub.kinds[0].name
		var spokes []string
		for j, other := range m.apis {
			if i != j && other.group == hub.group && other.kinds[0].name == kindName && m.methodsOf(other.dir, kindName)["ConvertTo"] != "" {
				spokes = append(spokes, other.version)
			}
		}
		switch isHub := m.methodsOf(hub.dir, kindName)["Hub"] != ""; {
		case isHub && len(spokes) > 0:
			if webhooks == nil {
				webhooks = map[string]any{}
				entries[i]["webhooks"] = webhooks
			}
			webhooks["conversion"], webhooks["spoke"], webhooks["webhookVersion"] = true, spokes, "v1"
			hub.hub = true
		case isHub:
			m.know("%s of %s is a hub, and no other version is converted to it: 'mysdk create webhook --conversion' sets the webhook up once there is one.", kindName, hub.version)
		case claimed && !m.hasHub(hub):
			m.know("PROJECT had a conversion webhook for %s, and no version of it has the method Hub: nothing could be converted, and nothing is.", kindName)
		}
		if claimed && !hub.hub && webhooks["defaulting"] != true && webhooks["validation"] != true {
			delete(entries[i], "webhooks")
		}
	}
}

// hasHub says whether some version of the kind is a hub.
func (m *migration) hasHub(of *apiVersion) bool {
	return slices.ContainsFunc(m.apis, func(a *apiVersion) bool {
		return a.group == of.group && a.kinds[0].name == of.kinds[0].name && m.methodsOf(a.dir, a.kinds[0].name)["Hub"] != ""
	})
}
