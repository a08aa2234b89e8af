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

// check is what is found out about one command.
type check struct {
	name  string
	noGo  string // what it says where there is no Go code; empty for one that needs none
	reads bool   // it reads PROJECT
	run   func(name string) (Command, error)
}

func (in *inspection) checks() []check {
	const noGo = "the project has no Go code (no go.mod)"
	return []check{
		{"generate", noGo, false, in.generated},
		{"create api", noGo, true, in.createsAPI},
		{"create webhook", noGo, true, in.createsWebhook},
		{"run local", noGo, true, in.runLocal},
		{"install", "", true, in.install},
		{"deploy", "", true, in.deploy},
		{"test", noGo, false, in.test},
		{"image build", noGo + "; its Dockerfile goes on working", true, in.image},
		{"bundle", "", true, in.bundle},
	}
}

// make makes the check, unless what the command works on is not there.
func (in *inspection) make(c check) (Command, error) {
	switch {
	case c.noGo != "" && !in.isGo():
		return Command{Name: c.name, Status: No, Detail: c.noGo}, nil
	case c.reads && in.broken != nil:
		return needs(c.name, "mysdk cannot read the project file:", advice(in.broken)...), nil
	}
	return c.run(c.name)
}

// needs is a command that something is missing for.
func needs(name, detail string, do ...string) Command {
	return Command{Name: name, Status: Needs, Detail: detail, Do: do}
}

func works(name, format string, args ...any) Command {
	return Command{Name: name, Status: Works, Detail: fmt.Sprintf(format, args...)}
}

// advice is what an engine said is wrong, and its hint.
func advice(err error) []string {
	list := strings.Split(strings.TrimSpace(err.Error()), "\n")
	if hint := clierr.HintOf(err); hint != "" {
		list = append(list, strings.Split(hint, "\n")...)
	}
	return list
}

func (in *inspection) createsAPI(name string) (Command, error) {
	if c := in.layout(name); c.Name != "" {
		return c, nil
	}
	err := in.CreateAPI("")
	switch {
	case err == nil && in.failing:
		return generatesLast(name), nil
	case err == nil:
		return works(name, "the markers in cmd/main.go and the kustomizations are there"), nil
	case !in.failing:
		// What is in the way of both patterns comes first.
		blank := in.CreateAPI("blank")
		if blank == nil {
			return works(name+" --pattern blank", "the other pattern does not fit: %s", err), nil
		}
		err = blank
	}
	return needs(name, "it would be refused:", advice(err)...), nil
}

func (in *inspection) createsWebhook(name string) (Command, error) {
	if c := in.layout(name); c.Name != "" {
		return c, nil
	}
	switch err := in.CreateWebhook(); {
	case errors.Is(err, ErrNothingToTry):
		return works(name, "not tried: every kind already has webhooks"), nil
	case err != nil:
		return needs(name, "it would be refused:", advice(err)...), nil
	case in.failing:
		return generatesLast(name), nil
	}
	return works(name, "the places that it edits are as it expects"), nil
}

// generatesLast is a command that comes as far as to generate.
func generatesLast(name string) Command {
	return needs(name, "its files fit, and then it generates: correct what stops 'generate', or add --make=false")
}

// ErrNothingToTry is returned by a probe that found nothing to try itself on.
var ErrNothingToTry = errors.New("nothing to try it on")

// layout says why create cannot work on a project of that layout; nothing where it
// can.
func (in *inspection) layout(name string) Command {
	isAny := func(keys ...string) bool {
		return slices.ContainsFunc(in.report.Layout, func(key string) bool { return slices.Contains(keys, key) })
	}
	switch {
	case len(in.report.Layout) == 0:
		return needs(name, "the project file names no layout:", "PROJECT: add 'layout: [go.kubebuilder.io/v4]', if the project is laid out so")
	case isAny("go.kubebuilder.io/v4", "base.go.kubebuilder.io/v4"):
		return Command{}
	}
	todo := []string{
		"start a project beside it with 'mysdk init', run 'create api' for every kind, and carry types and controllers over",
		"https://book.kubebuilder.io/migrations lists what moved where",
	}
	if isAny("go.kubebuilder.io/v2", "go.kubebuilder.io/v3", "go.kubebuilder.io/v3-alpha") {
		todo = []string{"'mysdk migrate --output-dir DIR' writes the project in that layout beside this one, and 'mysdk migrate --apply' over it"}
	}
	if pkg, err := mainpkg.Find(in.Host.Files, in.Dir); err == nil && pkg == "./cmd" {
		todo = []string{"PROJECT: change the layout to go.kubebuilder.io/v4: the project is laid out so, with cmd/main.go"}
	}
	return needs(name, fmt.Sprintf("it adds to the layout go.kubebuilder.io/v4, and this is %s:", strings.Join(in.report.Layout, ", ")), todo...)
}

func (in *inspection) runLocal(name string) (Command, error) {
	main, flags, err := localrun.Inspect(in.Host, in.Dir)
	if err != nil {
		return needs(name, "no main package was found:", advice(err)...), nil
	}
	said := "main package " + main
	for _, flag := range []string{"metrics-bind-address", "health-probe-bind-address", "leader-elect"} {
		if flags[flag] {
			said += ", --" + flag
		}
	}
	if in.facts.namespaces != "" {
		return works(name, "%s, WATCH_NAMESPACE read at %s", said, in.facts.namespaces), nil
	}
	c := works(name, "%s; it watches all namespaces, and for --watch-namespace:", said)
	where := cmp.Or(in.facts.manager, main)
	c.Do = []string{where + ": read WATCH_NAMESPACE and set Cache.DefaultNamespaces of the manager's options to the namespaces in it"}
	return c, nil
}

func (in *inspection) install(name string) (Command, error) {
	for _, dir := range []string{"config/crd", "config/default"} {
		if _, there, err := in.tree.Read(dir + "/kustomization.yaml"); err != nil || there {
			return in.kustomization(name, dir, "")
		}
	}
	if in.failing || !in.isGo() {
		return needs(name, "there is no config/crd/kustomization.yaml", "config/crd/kustomization.yaml: list the CRDs of config/crd/bases in it"), nil
	}
	return works(name, "it applies the CRDs that 'mysdk generate' makes"), nil
}

func (in *inspection) deploy(name string) (Command, error) {
	return in.kustomization(name, "config/default", "config/default/kustomization.yaml: write one that brings CRDs, RBAC and the manager together")
}

// kustomization builds a directory as the command would.
func (in *inspection) kustomization(name, dir, missing string) (Command, error) {
	if _, there, err := in.tree.Read(dir + "/kustomization.yaml"); err != nil || !there {
		return needs(name, "there is no "+dir+"/kustomization.yaml", missing), err
	}
	_, err := kustomize.Build(in.ctx, kustomize.Source{Dir: in.Dir, Files: in.Host.Files, Overlay: in.rendered}, dir)
	switch {
	case in.ctx.Err() != nil:
		return Command{}, in.ctx.Err()
	case err != nil:
		return needs(name, dir+" does not build:", advice(err)...), nil
	}
	return works(name, "%s builds", dir), nil
}

func (in *inspection) test(name string) (Command, error) {
	switch {
	case in.facts.existing != "":
		return needs(name, "a suite needs an existing cluster:",
			in.facts.existing+": leave UseExistingCluster out, so that the suite starts what 'mysdk test' serves"), nil
	case len(in.facts.envtest) > 0:
		return works(name, "envtest suites at %s", strings.Join(in.facts.envtest, ", ")), nil
	case in.facts.tests > 0:
		return works(name, "files with tests: %d, no envtest suite among them", in.facts.tests), nil
	}
	return works(name, "there are no tests yet"), nil
}

func (in *inspection) image(name string) (Command, error) {
	main, _, err := localrun.Inspect(in.Host, in.Dir)
	if err != nil {
		return needs(name, "no main package was found:", advice(err)...), nil
	}
	return works(name, "main package %s; the Dockerfile is not used", main), nil
}

func (in *inspection) bundle(name string) (Command, error) {
	base := bundle.BaseFile(bundle.ManifestsConfigDir, in.report.Name)
	if _, there, err := in.tree.Read(base); err != nil || !there { // 'bundle generate' has placeholders for it
		data, err := bundle.NewBase(in.report.Name, false).MarshalJSON()
		if err := errors.Join(err, in.rendered.Put(base, fileset.File{Data: data})); err != nil {
			return Command{}, err
		}
	}
	return in.kustomization(name, bundle.ManifestsConfigDir, "config/manifests/kustomization.yaml: 'mysdk generate kustomize manifests' writes it")
}
