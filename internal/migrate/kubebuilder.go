package migrate

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/rewrite/goedit"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// fromKubebuilder migrates the layouts go/v2 and go/v3 of kubebuilder and of
// operator-sdk v1.
func (m *migration) fromKubebuilder() error {
	text, err := m.readProject()
	if err != nil {
		return err
	}
	if err := m.nestedModules(); err != nil {
		return err
	}
	m.dropVendor()
	if err := m.renderBare(text); err != nil {
		return err
	}
	return m.run(m.wireMain, m.code, m.mainRules, m.kubebuilderConfig, m.rootFiles, m.rest, m.buildContext, m.modules)
}

// readProject reads the old PROJECT, decides where packages go, and returns
// the new one.
func (m *migration) readProject() ([]byte, error) {
	var p map[string]any
	if err := yaml.Unmarshal(m.files[project.FileName].data, &p); err != nil {
		return nil, clierr.Failedf("fix it, or restore it from version control", "PROJECT: %w", err)
	}
	var err error
	if m.module, err = modulePath(m.files); err != nil {
		return nil, err
	}
	m.multigroup = p["multigroup"] == true
	m.namespaced = p["namespaced"] == true
	if m.recorded = text(p, "projectName"); m.recorded == "" {
		p["projectName"] = cmp.Or(m.oldName(), m.projectName())
	}
	if p["componentConfig"] != nil {
		delete(p, "componentConfig")
		m.know("The manager read its options from a file (componentConfig), which controller-runtime no longer does: set them as flags of cmd/main.go.")
	}
	p["version"], p["repo"] = "3", m.module
	p["layout"] = []string{string(LayoutCurrent)}
	p["plugins"] = m.plugins(p["plugins"])
	m.moves = map[string]string{"controllers": "internal/controller"}
	m.moveCommand()
	list, _ := p["resources"].([]any)
	var entries []map[string]any
	for i, item := range list {
		r, ok := item.(map[string]any)
		if !ok {
			return nil, clierr.Failedf("repair the file", "PROJECT: resource %d is not a mapping", i+1)
		}
		if !m.isGone(r) {
			entries = append(entries, r)
		}
	}
	if len(entries) < len(list) {
		p["resources"] = entries
	}
	m.resources(entries, text(p, "domain"))
	m.conversions(entries)
	return projectText(p)
}

func projectText(p map[string]any) ([]byte, error) {
	text, err := yamledit.Encode(p)
	if err != nil {
		return nil, err
	}
	f, err := project.Parse(text)
	if err != nil {
		return nil, err
	}
	return f.Bytes()
}

// text is the value of a key that is one, empty for none.
func text(of map[string]any, key string) string {
	s, _ := of[key].(string)
	return s
}

// isOwnType says whether the types of an entry of PROJECT are the project's, by the
// path that it has for them.
func (m *migration) isOwnType(r map[string]any) bool {
	at := text(r, "path")
	return at == "" || strings.HasPrefix(at, m.module+"/")
}

// plugins are the entries of PROJECT's plugins that go with the new layout.
func (m *migration) plugins(old any) map[string]any {
	out := map[string]any{}
	entries, _ := old.(map[string]any)
	sdk := entries == nil
	for key, value := range entries {
		if strings.HasPrefix(key, "go.sdk.operatorframework.io/") || strings.HasPrefix(key, "go.operator-sdk.io/") {
			sdk = true
			continue
		}
		out[key] = value
	}
	if sdk {
		out["manifests.sdk.operatorframework.io/v2"] = map[string]any{}
		out["scorecard.sdk.operatorframework.io/v2"] = map[string]any{}
	}
	return out
}

// resources brings the entries of PROJECT to version 3.
func (m *migration) resources(entries []map[string]any, domain string) {
	for _, r := range entries {
		m.setDomain(r, domain)
	}
	groups := m.groupsInCode(entries)
	for _, was := range slices.Sorted(maps.Keys(groups)) {
		m.know("PROJECT had the group %s for types whose +groupName says %s, which it has now.", was, groups[was])
	}
	for _, r := range entries {
		m.resource(r, groups)
	}
}

// builtIn are the domains of Kubernetes' own groups, by what PROJECT calls them.
var builtIn = map[string]string{
	"apps": "", "autoscaling": "", "batch": "", "core": "", "extensions": "", "policy": "", "admissionregistration": "k8s.io", "certificates": "k8s.io", "coordination": "k8s.io",
	"discovery": "k8s.io", "events": "k8s.io", "networking": "k8s.io", "node": "k8s.io", "rbac.authorization": "k8s.io", "scheduling": "k8s.io", "storage": "k8s.io",
}

// setDomain gives an entry of PROJECT the project's domain, unless its types are
// others': PROJECT 2 has kinds of Kubernetes as if they were the project's.
func (m *migration) setDomain(r map[string]any, domain string) {
	if r["domain"] != nil || !m.isOwnType(r) {
		return
	}
	group := text(r, "group")
	if theirs, ok := builtIn[group]; ok && !m.declares(m.typesOf(r), fmt.Sprint(r["kind"])) {
		dir, _, _ := strings.Cut(group, ".")
		domain, r["path"] = theirs, path.Join("k8s.io/api", dir, fmt.Sprint(r["version"]))
	}
	if domain != "" {
		r["domain"] = domain
	}
}

// isGone says whether an entry of PROJECT is for a kind of the project's own that
// has no type any more, and nothing that reconciles it.
func (m *migration) isGone(r map[string]any) bool {
	kindName := fmt.Sprint(r["kind"])
	if r["api"] == nil || !m.isOwnType(r) || slices.ContainsFunc(m.ownCode(), func(name string) bool {
		src := string(m.files[name].data)
		return strings.Contains(src, "type "+kindName+" ") || strings.Contains(src, "type "+kindName+"Reconciler ")
	}) {
		return false
	}
	m.know("PROJECT had the kind %s, for which the project has no type: the entry is left out.", kindName)
	return true
}

// groupsInCode are the groups that the CRDs of types are generated for where
// PROJECT has another one, by that.
func (m *migration) groupsInCode(entries []map[string]any) map[string]string {
	out := map[string]string{}
	for _, r := range entries {
		dir := m.typesOf(r)
		if !m.declares(dir, fmt.Sprint(r["kind"])) {
			continue // a kind of others
		}
		for _, name := range m.codeIn(dir) {
			if marker := project.GroupMarker.FindSubmatch(m.files[name].data); marker != nil && string(marker[1]) != qualified(r) {
				out[qualified(r)] = string(marker[1])
			}
		}
	}
	return out
}

// qualified is the group of an entry of PROJECT with its domain.
func qualified(r map[string]any) string {
	return strings.Trim(text(r, "group")+"."+text(r, "domain"), ".")
}

// resource brings one entry to version 3, and notes where its types are. groups
// are those that PROJECT has wrong.
func (m *migration) resource(r map[string]any, groups map[string]string) {
	e := &apiVersion{version: fmt.Sprint(r["version"])}
	kindName, from := fmt.Sprint(r["kind"]), m.typesOf(r)
	if own := groups[qualified(r)]; own != "" {
		r["group"], r["domain"], _ = strings.Cut(own, ".")
	}
	e.label = text(r, "group")
	to := path.Join("api", e.version)
	if m.multigroup {
		to = path.Join("api", e.label, e.version)
	}
	api, _ := r["api"].(map[string]any)
	if k := m.typeOf(from, kindName); k != nil { // its CRD is made of it
		if api = map[string]any{}; !k.clustered {
			api["namespaced"] = true
		}
		r["api"] = api
	}
	if api != nil {
		api["crdVersion"] = "v1"
	}
	if r["controller"] == nil && r["controllers"] == nil && m.hasController(kindName) {
		r["controller"] = true
	}
	m.webhookEntry(r, from, kindName)
	if w, ok := r["webhooks"].(map[string]any); ok {
		e.webhooks = w["defaulting"] == true || w["validation"] == true
	}
	if r["path"] == nil && r["api"] != nil || strings.HasPrefix(text(r, "path"), m.module+"/") {
		r["path"] = path.Join(m.module, to)
	}
	if from != to {
		m.moves[from] = to
	}
	e.dir, e.group = from, qualified(r)
	e.kinds = []kind{{name: kindName}}
	m.apis = append(m.apis, e)
}

// typesOf is the directory that has, or would have, the types of an entry of
// PROJECT: where that says, where the scaffold had them, or wherever there is one
// named after the version that declares the kind.
func (m *migration) typesOf(r map[string]any) string {
	if dir, ok := strings.CutPrefix(text(r, "path"), m.module+"/"); ok && len(inDir(m.files, dir)) > 0 {
		return dir
	}
	version, kindName := fmt.Sprint(r["version"]), fmt.Sprint(r["kind"])
	usual := path.Join("api", version)
	if m.multigroup {
		usual = path.Join("apis", text(r, "group"), version)
	}
	if m.declares(usual, kindName) {
		return usual
	}
	last := ""
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		dir := path.Dir(name)
		if dir != last && path.Base(dir) == version && hasAnyPrefix(name, "api/", "apis/", "pkg/apis/") && m.declares(dir, kindName) {
			return dir
		}
		last = dir
	}
	return usual
}

// declares says whether a package has the type of the kind: PROJECT 2 lists
// kinds of others, which only have a controller, in the same way.
func (m *migration) declares(dir, kindName string) bool { return m.typeOf(dir, kindName) != nil }

// typeOf is the kind as a package declares it, nil where it does not.
func (m *migration) typeOf(dir, kindName string) *kind {
	for f := range m.parse(inDir(m.files, dir)) {
		for _, k := range f.kinds() {
			if k.name == kindName {
				return &k
			}
		}
	}
	return nil
}

// webhookEntry makes an entry's webhooks those that there are, by the methods of
// the type: PROJECT kept those that were taken out by hand. Types have such methods
// for their own use, too: there are no webhooks where PROJECT has none and nothing
// sets them up, and those that PROJECT has where a type of another package does.
func (m *migration) webhookEntry(r map[string]any, dir, kind string) {
	w, recorded := r["webhooks"].(map[string]any)
	methods := m.methodsOf(dir, kind)
	setUp := methods[setupWebhook]
	if !recorded && setUp == "" && !strings.Contains(string(m.files["main.go"].data), "NewWebhookManagedBy") {
		return
	}
	if !recorded {
		w = map[string]any{}
	}
	elsewhere := recorded && setUp == "" && m.setUpElsewhere(dir, kind) != ""
	if !elsewhere {
		w["defaulting"] = methods["Default"] != "" || strings.Contains(setUp, ".WithDefaulter(")
		w["validation"] = methods["ValidateCreate"] != "" || strings.Contains(setUp, ".WithValidator(")
	}
	maps.DeleteFunc(w, func(_ string, v any) bool { return v == false })
	w["webhookVersion"] = "v1"
	r["webhooks"] = w
	if w["defaulting"] != true && w["validation"] != true && w["conversion"] != true {
		delete(r, "webhooks")
	}
}

// hasController says whether there is a reconciler for the kind.
func (m *migration) hasController(kind string) bool {
	return slices.ContainsFunc(m.ownCode(), func(name string) bool {
		return strings.HasPrefix(name, "controllers/") && strings.Contains(string(m.files[name].data), "type "+kind+"Reconciler struct")
	})
}

// renderBare renders the new scaffold of a PROJECT file without the controllers,
// which are wired in by what the user made of them.
func (m *migration) renderBare(text []byte) error {
	m.put(project.FileName, append([]byte(project.FileHeader), text...))
	var bare map[string]any
	if err := yaml.Unmarshal(text, &bare); err != nil {
		return err
	}
	list, _ := bare["resources"].([]any)
	for _, item := range list {
		r, _ := item.(map[string]any)
		delete(r, "controller")
		delete(r, "controllers")
	}
	text, err := yamledit.Encode(bare)
	if err != nil {
		return err
	}
	f, err := project.Parse(text)
	if err != nil {
		return err
	}
	p, err := f.Replay(project.ReplayOptions{Scaffolder: m.Scaffolder, Header: m.files[project.HeaderFile].data, Certs: m.oldCerts()})
	if err != nil {
		return err
	}
	m.rendered = p.Files
	for name, data := range p.Files {
		// The user's types come in the place of the scaffold's, and what calls their
		// methods in that of its webhooks.
		own := hasAnyPrefix(name, "api/", "internal/webhook/") && (m.layout != LayoutSDK0 || strings.HasSuffix(name, "_types.go"))
		tested := strings.HasPrefix(name, "test/e2e/") && hasDir(m.files, "test/e2e")
		if name != project.FileName && !own && !tested {
			m.out[name] = output{file: file{data: data, mode: 0o644}}
		}
	}
	return nil
}

// oldCerts is where the certificates of the webhooks came from, as 'mysdk create
// webhook' calls it: the operator makes them where they came from nobody.
func (m *migration) oldCerts() string {
	docs, err := readConfig("", m.files["config/default/kustomization.yaml"].data)
	if err == nil && len(docs) > 0 { // an error is told when the file is carried over
		if list := yamledit.Value(docs[0], "resources"); list != nil && next(list, itemStep("../certmanager")) != nil {
			return "cert-manager"
		}
	}
	return "self"
}

// code moves the Go files that are not moved yet, and brings them to today's APIs.
func (m *migration) code() error {
	var hooks []*webhookFile
	if m.layout != LayoutSDK0 { // which had none
		hooks = m.webhooks()
	}
	for _, w := range hooks {
		w.write(m)
	}
	legacy := m.legacyTests()
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if path.Ext(name) != ".go" || m.dropped[name] != "" || m.isMoved(name) {
			continue
		}
		switch {
		case legacy[name] != "":
			m.legacyTest(name, legacy[name])
		case m.isUselessSuite(name):
			m.drop(name, "it set up an environment that no test of the directory uses")
			if path.Base(name) == webhookSuite && m.hasSpecs(path.Dir(name)) {
				m.dropped[name] = "the webhooks are in internal/webhook now, and 'mysdk create webhook' writes tests for them"
			}
		default:
			more := []pass{oldWatches, kubebuilderWatches, webhookBuilders, reconcileContexts, suites}
			for _, w := range hooks {
				switch _, written := m.out[w.target()]; {
				case w.setUp != "" && w.dir == path.Dir(name):
					more = append(more, w.pass)
				case w.setUp != "" && !w.custom && written:
					more = append(more, w.calls(m))
				}
			}
			m.goFile(name, m.along(name), more...)
		}
	}
	return nil
}

// hasSpecs says whether a directory has tests besides the suite.
func (m *migration) hasSpecs(dir string) bool {
	return slices.ContainsFunc(inDir(m.files, dir), func(name string) bool {
		return strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "suite_test.go")
	})
}

// kubebuilderWatches rewrites the watches of builders: the source became the
// object in it.
func kubebuilderWatches(f *goFile) {
	for fn := range f.Functions() {
		mgr := f.managerParam(fn)
		for call := range goedit.Each[*ast.CallExpr](fn.Body) {
			if callee(call) != "Watches" {
				continue
			}
			w, ok := f.readWatch(call)
			if !ok || w.channel != "" || mgr == "" {
				continue
			}
			f.replaceArgs(call, strings.Join(append([]string{f.Text(w.object), f.handlerText(w.handler, mgr)}, w.predicates...), ", "))
		}
	}
}

// suites carries test suites over from Ginkgo 1, whose setup took a channel
// and a timeout.
func suites(f *goFile) {
	for call := range goedit.Each[*ast.CallExpr](f.Tree) {
		switch callee(call) {
		case "RunSpecsWithDefaultAndCustomReporters":
			if len(call.Args) == 3 {
				f.Replace(call, "RunSpecs("+f.Text(call.Args[0])+", "+f.Text(call.Args[1])+")")
			}
		case "BeforeSuite", "AfterSuite", "BeforeEach", "AfterEach":
			f.asyncSetup(call)
		}
	}
}

func (f *goFile) asyncSetup(call *ast.CallExpr) {
	if len(call.Args) == 0 {
		return
	}
	fn, ok := call.Args[0].(*ast.FuncLit)
	if !ok || len(fn.Type.Params.List) != 1 || f.Text(fn.Type.Params.List[0].Type) != "Done" {
		return
	}
	f.Replace(fn.Type.Params, "()")
	for _, s := range fn.Body.List {
		if squeeze(f.Text(s)) == "close(done)" {
			f.RemoveLines(s)
		}
	}
	if len(call.Args) == 2 {
		f.ReplaceRange(fn.End(), call.Rparen, "")
	}
}
