package doctor

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/adopt"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/generate/calls"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/openapi"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/upgrade"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

func (e *exam) abs(name string) string { return filepath.Join(e.Dir, filepath.FromSlash(name)) }

func (e *exam) exists(name string) bool {
	_, err := e.Host.Files.Lstat(e.abs(name))
	return err == nil
}

// interrupted looks for a commit that was killed.
func (e *exam) interrupted() {
	const name = "interrupted command"
	command, err := fileset.Tree{FS: e.Host.Files, Root: e.Dir}.Pending(e.ctx)
	switch {
	case err != nil:
		e.failed(Problem, name, err, "make it a readable file of yours, or remove it and look at 'git status'")
	case command != "":
		e.warning(name, "run 'mysdk generate', which finishes it or rolls it back first", "'mysdk %s' was killed while it wrote files", command)
	}
}

// project looks at the project, if there is one.
func (e *exam) project() {
	if !e.exists(project.FileName) {
		e.noProject()
		return
	}
	f, err := project.Load(e.Dir)
	var p *project.Project
	if err != nil {
		e.failed(Problem, project.FileName, err, "correct the file; 'mysdk adopt' says what else there is")
	} else {
		p = f.Project()
		e.ok(project.FileName, "%s, with %s", p.Name, count(len(p.Resources), "kind"))
		e.plugins(p)
		for _, found := range adopt.Untyped(e.Host.Files, e.Dir, p) {
			e.warning(project.FileName, adopt.UntypedHint, "%s", found)
		}
	}
	e.strays()
	isGo := p == nil || e.exists("go.mod") || strings.Contains(strings.Join(p.Layout, " "), "go.kubebuilder.io")
	if isGo && e.modules() && e.cached() {
		e.generated()
	}
	if isGo && p != nil {
		e.scaffold()
	}
	e.manifests()
}

// strays looks for code of an old layout that nothing builds.
func (e *exam) strays() {
	const name = "code"
	dirs, err := adopt.Strays(e.Host.Files, e.Dir)
	if err != nil {
		e.failed(Warning, name, err, "check that the files are readable")
	}
	for _, dir := range dirs {
		e.warning(name, adopt.StraysHint(dir), "%s: %s", dir, adopt.Stray)
	}
}

// noProject says what the directory is instead.
func (e *exam) noProject() {
	const name = "project"
	switch {
	case e.exists("pkg/apis") && e.exists("cmd/manager"):
		e.warning(name, "mysdk migrate", "the layout of operator-sdk v0.x, which mysdk does not support")
	case e.module != nil:
		e.ok(name, "no PROJECT file beside go.mod: 'mysdk generate' works, and scaffolding does not")
	default:
		e.ok(name, "none in %s: it is left out", e.Dir)
	}
}

// plugins looks for the programs and built-in parts that the layout names.
func (e *exam) plugins(p *project.Project) {
	chain, err := project.LayoutChain(e.Host, p.Layout, e.BuiltIn...)
	if err != nil {
		e.failed(Problem, "plugins", err, "correct the layout in PROJECT")
		return
	}
	keys := chain.Keys()
	if len(keys) == 0 {
		e.problem("plugins", "see what there is with 'mysdk adopt'", "mysdk has no plugin of this layout: %s", strings.Join(p.Layout, ", "))
		return
	}
	e.ok("plugins", "%s", strings.Join(keys, ", "))
}

// offline is the project's world without a way to fetch modules or toolchains.
func (e *exam) offline() generate.Options {
	o := e.Generate
	environ := o.Host.Environ
	o.Host.Environ = func() []string {
		return append(environ(), "GOPROXY=off", "GONOPROXY=none", "GOTOOLCHAIN=local")
	}
	return o
}

// generated looks whether the outputs of the generators are up to date.
func (e *exam) generated() {
	const name = "generated files"
	o := e.offline()
	o.Deepcopy, o.CRDs, o.RBAC, o.Webhooks, o.ApplyConfigurations = true, true, true, true, true
	_, err := calls.Into(&o)
	var r generate.Result
	if err == nil {
		r, err = generate.Render(e.ctx, o)
	}
	if err == nil {
		var more openapi.Result
		more, err = openapi.Render(e.ctx, openapi.Options{
			Host: o.Host, Dir: o.Dir, Existing: true, Year: o.Year, CacheDir: o.CacheDir, Inputs: r.Inputs,
		})
		err = errors.Join(err, r.Set.Merge(more.Set))
		e.made = r.Set
	}
	if err == nil {
		r.Set, err = relayout.LF{Files: o.Host.Files}.Changed(r.Set, o.Dir)
	}
	switch {
	case e.ctx.Err() != nil: // Examine tells
	case err != nil && strings.Contains(err.Error(), "GOPROXY=off"):
		e.warning(name, "go mod download", "not looked at: the go command would have to fetch modules first")
	case err != nil:
		e.failed(Problem, name, err, "run 'mysdk generate' for the whole of it")
	case r.Set.Len() > 0:
		e.warning(name, "mysdk generate", "out of date: %s", list(r.Set.Paths()))
	case len(r.Warnings) > 0:
		e.warning(name, "mysdk generate --check", "up to date, with %s, the first %s", count(len(r.Warnings), "warning"), r.Warnings[0])
	default:
		e.ok(name, "up to date")
	}
}

// scaffold looks whether there is something to upgrade.
func (e *exam) scaffold() {
	const name = "scaffold"
	plan, err := upgrade.Options{Files: e.Host.Files, Dir: e.Dir, Plugin: e.Plugin}.New()
	switch {
	case err != nil:
		e.failed(Warning, name, err, "see what mysdk can do with the project: mysdk adopt")
	case len(plan.Conflicts()) > 0 && plan.Empty():
		e.warning(name, "decide, remove the .rej files, and run 'mysdk upgrade --continue'", "an upgrade is not finished: %s", list(plan.Conflicts()))
	case plan.Empty():
		e.ok(name, "that of %s", plan.To)
	default:
		e.warning(name, "mysdk upgrade --plan", "that of %s; 'mysdk upgrade' to %s would write %s", plan.From, plan.To, list(plan.Set.Paths()))
	}
}

// manifests builds the kustomizations that install and deploy apply, as these do
// with what generate would write in place of what it has written.
func (e *exam) manifests() {
	const name = "manifests"
	bad := e.report.Problems
	var built []string
	for _, dir := range []string{"config/crd", "config/default"} {
		if !e.exists(dir) || dir == "config/crd" && !e.source().Has(dir) {
			continue // install applies the CRDs themselves
		}
		data, err := kustomize.Build(e.ctx, e.source(), dir)
		var objects []*unstructured.Unstructured
		if err == nil {
			objects, err = kube.ParseManifests(data, dir)
		}
		if err != nil {
			e.failed(Problem, name, err, "correct the files of "+dir)
			continue
		}
		e.applied = objects // the last one is the whole operator
		built = append(built, dir)
	}
	switch {
	case e.report.Problems > bad:
	case len(built) == 0:
		e.warning(name, "mysdk adopt", "neither config/crd nor config/default has a kustomization.yaml: 'mysdk install' applies the CRDs that 'mysdk generate' makes; 'mysdk deploy' has nothing to apply")
	case len(built) == 1:
		e.ok(name, "%s builds", built[0])
	default:
		e.ok(name, "%s build", strings.Join(built, " and "))
	}
	if slices.Contains(built, "config/default") {
		e.certificates()
	}
}

// certificates looks for the Service for which the operator makes certificates.
func (e *exam) certificates() {
	const file = v4.CertsPackage + "/targets.go"
	text, err := e.Host.Files.ReadFile(e.abs(file))
	m := regexp.MustCompile(`serviceName\s*=\s*"([^"]+)"`).FindSubmatch(text)
	if err != nil || m == nil {
		return
	}
	name := string(m[1])
	deployed := func(is func(string) bool) bool {
		return slices.ContainsFunc(e.applied, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Service" && is(o.GetName()) })
	}
	switch {
	case !deployed(func(s string) bool { return strings.HasSuffix(s, "webhook-service") }):
		e.warning("webhooks", "put ../webhook among the resources of config/default/kustomization.yaml, if the webhooks should be deployed",
			"config/default does not deploy the webhooks, for which %s makes certificates", v4.CertsPackage)
	case !deployed(func(s string) bool { return s == name }):
		e.problem("webhooks", "correct the names in "+file+" and run 'mysdk generate'",
			"config/default deploys no Service %s, for which %s makes certificates", name, v4.CertsPackage)
	}
}

func (e *exam) source() kustomize.Source {
	return kustomize.Source{Dir: e.Dir, Files: e.Host.Files, Overlay: e.made}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// list names files, the first of many.
func list(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// firstLines is what fits into a report's line: an error in one, and of a list
// of errors the first two lines.
func firstLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) == 1 {
		return lines[0]
	}
	return strings.TrimSpace(lines[0]) + ": " + strings.TrimSpace(lines[1])
}
