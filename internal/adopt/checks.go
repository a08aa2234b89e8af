package adopt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/localrun"
	"github.com/example/mysdk/internal/mainpkg"
)

// needs is a command that something is missing for.
func needs(name, detail string, do ...string) (Command, fileset.Set, error) {
	return Command{Name: name, Status: Needs, Detail: detail, Do: do}, fileset.Set{}, nil
}

func works(name, format string, args ...any) (Command, fileset.Set, error) {
	return Command{Name: name, Status: Works, Detail: fmt.Sprintf(format, args...)}, fileset.Set{}, nil
}

func cannot(name, detail string) (Command, fileset.Set, error) {
	return Command{Name: name, Status: No, Detail: detail}, fileset.Set{}, nil
}

// noGo is what all commands say that work on Go code, where there is none.
const noGo = "the project has no Go code (no go.mod)"

// unreadable is what all commands say that read PROJECT, where mysdk cannot.
func (in *inspection) unreadable(name string) (Command, fileset.Set, error) {
	return needs(name, "mysdk cannot read the project file:", advice(in.broken)...)
}

// advice is what an engine said is wrong, and its hint.
func advice(err error) []string {
	list := strings.Split(strings.TrimSpace(err.Error()), "\n")
	if hint := clierr.HintOf(err); hint != "" {
		list = append(list, strings.Split(hint, "\n")...)
	}
	return list
}

func (in *inspection) createsAPI() (Command, fileset.Set, error) {
	name := "create api"
	if c, ok := in.layout(name); !ok {
		return c, fileset.Set{}, nil
	}
	err := in.CreateAPI("")
	switch {
	case err == nil && in.failing:
		return needs(name, "its files fit, and then it generates: correct what stops 'generate', or add --make=false")
	case err == nil:
		return works(name, "the markers in cmd/main.go and the kustomizations are there")
	}
	if !in.failing && in.CreateAPI("blank") == nil {
		return works(name+" --pattern blank", "the other pattern does not fit: %s", err)
	}
	return needs(name, "it would be refused:", advice(err)...)
}

func (in *inspection) createsWebhook() (Command, fileset.Set, error) {
	name := "create webhook"
	if c, ok := in.layout(name); !ok {
		return c, fileset.Set{}, nil
	}
	switch err := in.CreateWebhook(); {
	case errors.Is(err, ErrNothingToTry):
		return works(name, "not tried: every kind already has webhooks")
	case err != nil:
		return needs(name, "it would be refused:", advice(err)...)
	case in.failing:
		return needs(name, "its files fit, and then it generates: correct what stops 'generate', or add --make=false")
	}
	return works(name, "the places that it edits are as it expects")
}

// ErrNothingToTry is returned by a probe that found nothing to try itself on.
var ErrNothingToTry = errors.New("nothing to try it on")

// layout says why create cannot work on the project, and otherwise true.
func (in *inspection) layout(name string) (Command, bool) {
	switch {
	case !in.isGo():
		c, _, _ := cannot(name, noGo)
		return c, false
	case in.broken != nil:
		c, _, _ := in.unreadable(name)
		return c, false
	case len(in.report.Layout) == 0:
		c, _, _ := needs(name, "the project file names no layout:", "PROJECT: add 'layout: [go.kubebuilder.io/v4]', if the project is laid out so")
		return c, false
	case !slices.ContainsFunc(in.report.Layout, func(key string) bool {
		return key == "go.kubebuilder.io/v4" || key == "base.go.kubebuilder.io/v4"
	}):
		todo := []string{
			"start a project beside it with 'mysdk init', run 'create api' for every kind, and carry types and controllers over",
			"https://book.kubebuilder.io/migrations lists what moved where",
		}
		if slices.ContainsFunc(in.report.Layout, func(key string) bool {
			return strings.HasPrefix(key, "go.kubebuilder.io/v3") || key == "go.kubebuilder.io/v2"
		}) {
			todo = []string{"'mysdk migrate --output-dir DIR' writes the project in that layout beside this one, and 'mysdk migrate --apply' over it"}
		}
		if pkg, err := mainpkg.Find(in.Host.Files, in.Dir); err == nil && pkg == "./cmd" {
			todo = []string{"PROJECT: change the layout to go.kubebuilder.io/v4: the project is laid out so, with cmd/main.go"}
		}
		c, _, _ := needs(name, fmt.Sprintf("it adds to the layout go.kubebuilder.io/v4, and this is %s:", strings.Join(in.report.Layout, ", ")), todo...)
		return c, false
	}
	return Command{}, true
}

func (in *inspection) runLocal() (Command, fileset.Set, error) {
	name := "run local"
	if !in.isGo() {
		return cannot(name, noGo)
	}
	if in.broken != nil {
		return in.unreadable(name)
	}
	main, flags, err := localrun.Inspect(in.Host, in.Dir)
	if err != nil {
		return needs(name, "no main package was found:", advice(err)...)
	}
	said := "main package " + main
	for _, flag := range []string{"metrics-bind-address", "health-probe-bind-address", "leader-elect"} {
		if flags[flag] {
			said += ", --" + flag
		}
	}
	if in.facts.namespaces == "" {
		where := cmp.Or(in.facts.manager, main)
		return Command{
			Name: name, Status: Works, Detail: said + "; it watches all namespaces, and for --watch-namespace:",
			Do: []string{where + ": read WATCH_NAMESPACE and set Cache.DefaultNamespaces of the manager's options to the namespaces in it"},
		}, fileset.Set{}, nil
	}
	return works(name, "%s, WATCH_NAMESPACE read at %s", said, in.facts.namespaces)
}

func (in *inspection) install() (Command, fileset.Set, error) {
	const command = "install"
	if in.broken != nil {
		return in.unreadable(command)
	}
	for _, dir := range []string{"config/crd", "config/default"} {
		if _, there, err := in.tree.Read(dir + "/kustomization.yaml"); err != nil || there {
			return in.kustomization(command, dir, "")
		}
	}
	if in.failing || !in.isGo() {
		return needs(command, "there is no config/crd/kustomization.yaml", "config/crd/kustomization.yaml: list the CRDs of config/crd/bases in it")
	}
	return works(command, "it applies the CRDs that 'mysdk generate' makes")
}

func (in *inspection) deploy() (Command, fileset.Set, error) {
	return in.kustomization("deploy", "config/default", "config/default/kustomization.yaml: write one that brings CRDs, RBAC and the manager together")
}

// kustomization builds a directory as the command would.
func (in *inspection) kustomization(command, dir, missing string) (Command, fileset.Set, error) {
	if in.broken != nil {
		return in.unreadable(command)
	}
	if _, there, err := in.tree.Read(dir + "/kustomization.yaml"); err != nil || !there {
		c, set, _ := needs(command, "there is no "+dir+"/kustomization.yaml", missing)
		return c, set, err
	}
	_, err := kustomize.Build(in.ctx, kustomize.Source{Dir: in.Dir, Files: in.Host.Files, Overlay: in.rendered}, dir)
	if in.ctx.Err() != nil {
		return Command{}, fileset.Set{}, in.ctx.Err()
	}
	if err != nil {
		return needs(command, dir+" does not build:", advice(err)...)
	}
	return works(command, "%s builds", dir)
}

func (in *inspection) test() (Command, fileset.Set, error) {
	name := "test"
	switch {
	case !in.isGo():
		return cannot(name, noGo)
	case in.facts.existing != "":
		return needs(name, "a suite needs an existing cluster:",
			in.facts.existing+": leave UseExistingCluster out, so that the suite starts what 'mysdk test' serves")
	case len(in.facts.envtest) > 0:
		return works(name, "envtest suites at %s", strings.Join(in.facts.envtest, ", "))
	case in.facts.tests > 0:
		return works(name, "files with tests: %d, no envtest suite among them", in.facts.tests)
	}
	return works(name, "there are no tests yet")
}

func (in *inspection) image() (Command, fileset.Set, error) {
	name := "image build"
	if !in.isGo() {
		return cannot(name, noGo+"; its Dockerfile goes on working")
	}
	if in.broken != nil {
		return in.unreadable(name)
	}
	main, _, err := localrun.Inspect(in.Host, in.Dir)
	if err != nil {
		return needs(name, "no main package was found:", advice(err)...)
	}
	return works(name, "main package %s; the Dockerfile is not used", main)
}

func (in *inspection) bundle() (Command, fileset.Set, error) {
	name := "bundle"
	if !slices.Contains(in.Commands, name) {
		return cannot(name, "this mysdk makes no bundles; 'make bundle' goes on working where the project has it")
	}
	base := bundle.BaseFile(bundle.ManifestsConfigDir, in.report.Name)
	if _, there, err := in.tree.Read(base); err != nil || !there { // 'bundle generate' has placeholders for it
		data, err := bundle.NewBase(in.report.Name, false).MarshalJSON()
		if err := errors.Join(err, in.rendered.Put(base, fileset.File{Data: data})); err != nil {
			return Command{}, fileset.Set{}, err
		}
	}
	return in.kustomization(name, bundle.ManifestsConfigDir, "config/manifests/kustomization.yaml: 'mysdk generate kustomize manifests' writes it")
}
