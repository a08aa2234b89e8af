package generate

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"golang.org/x/mod/modfile"
	"sigs.k8s.io/controller-tools/pkg/applyconfiguration"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/schemapatcher"
	"sigs.k8s.io/controller-tools/pkg/webhook"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
)

// Call is one call of controller-gen.
type Call struct {
	Dir  string   // where it runs, relative to the project's root; empty is the root
	Args []string // as controller-gen takes them
	From string   // file:line where it was found; empty for mysdk's own
}

// String is the call as it would be typed in Dir.
func (c Call) String() string { return strings.Join(c.Args, " ") }

// Configured reports whether the call is in mysdk's own configuration, and not
// one that another tool makes.
func (c Call) Configured() bool { return strings.HasPrefix(c.From, ".mysdk.yaml:") }

// Names of controller-gen's generators, as its arguments have them.
const (
	objectName  = "object"
	crdName     = "crd"
	rbacName    = "rbac"
	webhookName = "webhook"
	applyName   = "applyconfiguration"
	patchName   = "schemapatch"
)

// ThisYear in place of a call's year is that of Options.
const ThisYear = "YEAR"

func replaceInArgs(calls []Call, old, text string) []Call {
	calls = slices.Clone(calls)
	for i, c := range calls {
		calls[i].Args = slices.Clone(c.Args)
		for k, arg := range c.Args {
			calls[i].Args[k] = strings.ReplaceAll(arg, old, text)
		}
	}
	return calls
}

// defaultCalls are those of kubebuilder's Makefile.
func defaultCalls(t *tree) []Call {
	object, apply := objectName, applyName
	if t.exists(DefaultHeader) {
		object += ":headerFile=" + DefaultHeader + ",year=" + ThisYear
		apply += ":headerFile=" + DefaultHeader
	}
	return []Call{
		{Args: []string{rbacName + ":roleName=" + DefaultRoleName, crdName, webhookName, "paths=./...", "output:crd:artifacts:config=" + crdDir}},
		{Args: []string{object, apply, "paths=./..."}},
	}
}

// optionsRegistry knows controller-gen's arguments: to controller-tools they
// are markers that describe nothing.
func optionsRegistry() (r *markers.Registry, err error) {
	r = &markers.Registry{}
	rules := map[string]genall.OutputRule{
		"dir": genall.OutputToDirectory(""), "none": genall.OutputToNothing,
		"stdout": genall.OutputToStdout, "artifacts": genall.OutputArtifacts{},
	}
	define := func(name string, value any) {
		err = errors.Join(err, r.Define(name, markers.DescribesPackage, value))
		if h, ok := value.(genall.HasHelp); ok {
			r.AddHelp(r.Lookup("+"+name, markers.DescribesPackage), h.Help())
		}
	}
	for name, g := range map[string]genall.Generator{
		objectName: deepcopy.Generator{}, crdName: crd.Generator{}, rbacName: rbac.Generator{},
		webhookName: webhook.Generator{}, applyName: applyconfiguration.Generator{}, patchName: schemapatcher.Generator{},
	} {
		define(name, g)
		for rule, value := range rules {
			define("output:"+name+":"+rule, value)
		}
	}
	for rule, value := range rules {
		define("output:"+rule, value)
	}
	return r, errors.Join(err, genall.RegisterOptionsMarkers(r))
}

// job is one generator of a call, with names relative to the project's root.
type job struct {
	name         string // of the generator
	generator    genall.Generator
	paths        []string
	config, code string // directories of the outputs; code is empty for beside the sources
}

// parsedCall is what the arguments of a call say.
type parsedCall struct {
	generators map[string]genall.Generator
	order      []string
	rules      map[string]genall.OutputRule // by generator; "" is for all
	paths      []string
}

// parse takes the arguments apart as controller-gen does.
func (c Call) parse(options *markers.Registry) (parsedCall, error) {
	p := parsedCall{generators: map[string]genall.Generator{}, rules: map[string]genall.OutputRule{}}
	for _, arg := range c.Args {
		text := "+" + strings.TrimPrefix(arg, "+")
		def := options.Lookup(text, markers.DescribesPackage)
		if def == nil {
			return p, fmt.Errorf("unknown argument %q", arg)
		}
		if msg := malformed(def, text); msg != "" {
			return p, fmt.Errorf("argument %s", strings.TrimPrefix(msg, "marker +"))
		}
		value, err := def.Parse(text)
		if err != nil {
			return p, err
		}
		switch value := value.(type) {
		case genall.Generator:
			switch before := p.generators[def.Name]; {
			case before == nil:
				p.order = append(p.order, def.Name)
			case reflect.DeepEqual(before, value):
				return p, fmt.Errorf("generator %s is given twice", def.Name)
			}
			p.generators[def.Name] = value // writes over what one with other options wrote
		case genall.OutputRule:
			names := strings.Split(def.Name, ":")
			p.rules[strings.Join(names[1:len(names)-1], "")] = value
		case genall.InputPaths:
			p.paths = append(p.paths, value...)
		}
	}
	if len(p.order) == 0 {
		return p, fmt.Errorf("no generator in %q", c.String())
	}
	for name := range p.rules {
		if name != "" && p.generators[name] == nil {
			return p, fmt.Errorf("output:%s is given, and the generator %s is not", name, name)
		}
	}
	return p, nil
}

// jobs are the generators of the call that write files.
func (c Call) jobs(t *tree, options *markers.Registry) ([]job, error) {
	p, err := c.parse(options)
	if err != nil {
		return nil, clierr.Usagef(toolHint, "%w", err)
	}
	if len(p.paths) == 0 {
		p.paths = []string{"."}
	}
	var paths []string
	for _, pattern := range p.paths {
		local, err := c.path(t, pattern)
		if err != nil {
			return nil, err
		}
		paths = append(paths, local)
	}
	var out []job
	for _, name := range p.order {
		j := job{name: name, paths: paths}
		if j.generator, err = c.rebased(t, p.generators[name]); err != nil {
			return nil, err
		}
		writes, err := j.place(c, t, p.rules)
		if err != nil {
			return nil, err
		}
		if writes {
			out = append(out, j)
		}
	}
	return out, nil
}

// place says where the outputs go, or false where they go nowhere.
func (j *job) place(c Call, t *tree, rules map[string]genall.OutputRule) (bool, error) {
	rule, ok := rules[j.name]
	if !ok {
		rule, ok = rules[""]
	}
	if !ok {
		rule = genall.OutputArtifacts{Config: genall.OutputToDirectory(path.Join("config", j.name))}
	}
	switch rule := rule.(type) {
	case genall.OutputToDirectory:
		j.config, j.code = string(rule), string(rule)
	case genall.OutputArtifacts:
		j.config, j.code = string(rule.Config), string(rule.Code)
	default:
		if rule == genall.OutputRule(genall.OutputToNothing) {
			return false, nil
		}
		return false, clierr.Usagef("'mysdk controller-gen' writes there", "output:stdout is not a file")
	}
	var err error
	if j.config, err = c.within(t, j.config); err == nil && j.code != "" {
		j.code, err = c.within(t, j.code)
	}
	return true, err
}

// within is a file or directory, as the call names it, relative to the root.
func (c Call) within(t *tree, name string) (string, error) {
	abs := filepath.FromSlash(name)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(t.abs(c.Dir), abs)
	}
	rel, ok := t.rel(abs)
	if !ok {
		return "", clierr.Usagef("name a directory of the project", "%s does not lie below the project", name)
	}
	return rel, nil
}

// path is a package pattern relative to the root. One that begins with no dot
// may be an import path of the module that the call is made in.
func (c Call) path(t *tree, pattern string) (string, error) {
	tail := ""
	dir, all := strings.CutSuffix(pattern, "...")
	if all {
		tail = "/..."
	}
	for at := path.Join(".", c.Dir); ; at = path.Dir(at) {
		mod, err := t.read(path.Join(at, "go.mod"))
		if err == nil {
			if below, ok := strings.CutPrefix(dir+"/", modfile.ModulePath(mod)+"/"); ok {
				return path.Join(at, below) + tail, nil
			}
		}
		if err == nil || at == "." || at == path.Dir(at) {
			break
		}
	}
	rel, err := c.within(t, dir)
	if err != nil {
		return "", clierr.Usagef("name a directory such as ./api/...", "path %q does not lie below the project", pattern)
	}
	return rel + tail, nil
}

// rebased is the generator with the files that it reads relative to the root.
func (c Call) rebased(t *tree, g genall.Generator) (genall.Generator, error) {
	v := reflect.New(reflect.TypeOf(g)).Elem()
	v.Set(reflect.ValueOf(g))
	for _, field := range []string{"HeaderFile", "ManifestsPath"} {
		f := v.FieldByName(field)
		if !f.IsValid() || f.String() == "" {
			continue
		}
		rel, err := c.within(t, f.String())
		if err != nil {
			return nil, err
		}
		if field == "HeaderFile" && !t.exists(rel) {
			return nil, clierr.Usagef("name an existing file, or leave the header out", "header file %s does not exist in %s", rel, t.root)
		}
		if field == "ManifestsPath" { // read without an input rule
			rel = t.abs(rel)
		}
		f.SetString(rel)
	}
	out, ok := v.Interface().(genall.Generator)
	if !ok {
		return nil, fmt.Errorf("%T is not a generator", v.Interface())
	}
	return out, nil
}

func (j job) covers(dir string) bool {
	return slices.ContainsFunc(j.paths, func(p string) bool {
		base, all := strings.CutSuffix(p, "/...")
		return dir == base || all && (base == "." || strings.HasPrefix(dir, base+"/"))
	})
}

// plan fills in the generators that the calls have and o selects.
func (o *Options) plan(t *tree) error {
	options, err := optionsRegistry()
	if err != nil {
		return err
	}
	selected := map[string]bool{
		objectName: o.Deepcopy, crdName: o.CRDs, patchName: o.CRDs, rbacName: o.RBAC, webhookName: o.Webhooks, applyName: o.ApplyConfigurations,
	}
	for _, c := range o.Calls {
		jobs, err := c.jobs(t, options)
		if err != nil && c.From != "" {
			return fmt.Errorf("%s: %w", c.From, err)
		}
		if err != nil {
			return err
		}
		for _, j := range jobs {
			if f := reflect.ValueOf(j.generator).FieldByName("HeaderFile"); f.IsValid() && f.String() != "" {
				o.headers = append(o.headers, f.String())
			}
			if g, ok := j.generator.(applyconfiguration.Generator); ok {
				j.generator, j.config = applyStep{g, t, o.Year}, "."
			}
			if selected[j.name] {
				o.jobs = append(o.jobs, j)
			}
		}
	}
	return nil
}

func (o Options) paths() []string {
	var out []string
	for _, j := range o.jobs {
		out = append(out, j.paths...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// CRDDirs are the directories that CRDs are generated into, in the order of the calls.
func (o Options) CRDDirs() (dirs []string, err error) {
	if o, err = o.withDefaults(newTree(o.Dir, o.Overlay)); err != nil {
		return nil, err
	}
	for _, j := range o.jobs {
		if (j.name == crdName || j.name == patchName) && !slices.Contains(dirs, j.config) {
			dirs = append(dirs, j.config)
		}
	}
	return dirs, nil
}

// packages are those among the paths of the job in which its generator may find something.
func (j job) packages(src *sources) []*sourcePackage {
	found := slices.DeleteFunc(slices.Clone(src.packages), func(p *sourcePackage) bool { return !j.covers(p.dir) })
	if j.needsTypes() {
		return typed(found)
	}
	return found
}

// needsTypes reports whether the generator looks at types, not at markers only.
func (j job) needsTypes() bool {
	_, ok := j.generator.(genall.NeedsTypeChecking)
	return ok
}

// IsGenerator reports whether an argument of controller-gen names a generator.
func IsGenerator(arg string) bool {
	return slices.Contains([]string{objectName, crdName, rbacName, webhookName, applyName, patchName}, generatorOf(arg))
}

// generatorOf is the name in an argument of controller-gen, a generator's or another.
func generatorOf(arg string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(arg, "+"), ":")
	name, _, _ = strings.Cut(name, "=")
	return name
}

// removed are arguments that earlier releases of controller-gen had and that
// changed nothing in what is still generated.
var removed = lazy.Delayed(`\b(?:trivialVersions|preserveUnknownFields)(?:=\w+)?,?`)

// Adapt leaves out what ControllerToolsVersion does not know any more, and returns that, too.
func (c Call) Adapt() (adapted Call, left []string) {
	args := slices.Clone(c.Args)
	for i, arg := range args {
		if !strings.HasPrefix(arg, crdName+":") {
			continue
		}
		for _, old := range removed.FindAllString(arg, -1) {
			left = append(left, strings.TrimSuffix(old, ","))
		}
		args[i] = strings.TrimRight(removed.ReplaceAllString(arg, ""), ",:")
	}
	c.Args = args
	return c, left
}

// Check reports why the call cannot be used in the project in dir.
func (c Call) Check(dir string) error {
	options, err := optionsRegistry()
	if err == nil {
		_, err = c.jobs(newTree(dir, fileset.Set{}), options)
	}
	return err
}

// Usual reports whether the calls do what mysdk does by default in the project in dir.
func Usual(calls []Call, dir string) bool {
	t := newTree(dir, fileset.Set{})
	all := Options{Calls: calls, Deepcopy: true, CRDs: true, RBAC: true, Webhooks: true}
	usual := all
	usual.Calls = defaultCalls(t)
	if header, err := t.read(DefaultHeader); err != nil || !bytes.Contains(header, []byte(" "+ThisYear)) {
		// It has no place for one.
		all.Calls, usual.Calls = replaceInArgs(all.Calls, ",year="+ThisYear, ""), replaceInArgs(usual.Calls, ",year="+ThisYear, "")
	}
	if all.plan(t) != nil || usual.plan(t) != nil || len(all.jobs) != len(usual.jobs) {
		return false
	}
	for _, j := range all.jobs {
		same := func(u job) bool { return reflect.DeepEqual(j, u) }
		if !slices.ContainsFunc(usual.jobs, same) {
			return false
		}
	}
	return true
}

// Complete adds the default calls of generators that are selected and that none of the calls has.
func (o *Options) Complete() {
	if len(o.Calls) == 0 {
		return
	}
	had := map[string]bool{}
	for _, c := range o.Calls {
		for _, arg := range c.Args {
			had[generatorOf(arg)] = true
		}
	}
	had[crdName] = had[crdName] || had[patchName] // it fills the CRDs that the project writes
	for _, c := range defaultCalls(newTree(o.Dir, o.Overlay)) {
		c.Args = slices.DeleteFunc(c.Args, func(arg string) bool {
			return IsGenerator(arg) && had[generatorOf(arg)] || generatorOf(arg) == "output" && had[crdName]
		})
		if slices.ContainsFunc(c.Args, IsGenerator) {
			o.Calls = append(o.Calls, c)
		}
	}
}
