package legacy

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
)

// goOnly and otherTool say of operators that are not written in Go why there
// are none, and what to use.
const (
	goOnly    = "mysdk writes operators in Go"
	otherTool = "for Helm and Ansible use operator-sdk: operator-sdk init --plugins=helm, or --plugins=ansible"
	leaveOut  = "leave the flag out"
)

// goneVerbs are the verbs that have nothing to become, or more than one command.
var goneVerbs = []struct{ verb, short, why, instead string }{
	{"print-deps", "print the go.mod of a new project", "dependencies are listed in the project's go.mod", "for this project's modules: go list -m all"},
	{"exec-entrypoint", "run an operator of Ansible or Helm", goOnly + ", which 'mysdk run local' runs", otherTool},
	{"run ansible", "run an operator of Ansible", goOnly, otherTool},
	{"run helm", "run an operator of Helm", goOnly, otherTool},
	{"generate packagemanifests", "write package manifests (replaced by bundles)", "package manifests are read, and no longer written", "write a bundle: mysdk bundle generate"},
	{"generate crd", "write a kind's CRD", "a CRD is made of Go types", "did you mean \"crds\"? Or add a kind: mysdk create api --group GROUP --version VERSION --kind KIND --controller=false"},
	{"generate olm-catalog", "write a ClusterServiceVersion", "the ClusterServiceVersion is part of a bundle", "mysdk bundle generate --version VERSION --image IMAGE"},
	{"bundle create", "write a bundle and build its image", "it is two commands", "mysdk bundle generate && mysdk bundle build --image IMAGE"},
	{"cleanup packagemanifests", "remove an operator that OLM has installed", "the package is named", "mysdk cleanup PACKAGE"},
	{"test local", "run the tests in a directory", "tests start the manager, and make what they need themselves", "mysdk test ./DIR, with the flags of go test"},
	{"test cluster", "run an image of tests in a cluster", "tests are no longer built into images", "run them against a whole cluster of their own: mysdk test --controllers"},
	{"alpha kubebuilder", "kubebuilder's commands", "kubebuilder's commands are mysdk's own", "see 'mysdk --help': init, create api, create webhook, edit"},
	{"alpha update", "update the scaffold from a release of kubebuilder", "the scaffold is updated by 'mysdk upgrade', without a download", "mysdk upgrade --plan"},
	{"alpha generate", "write the project again from PROJECT", "'mysdk upgrade' brings the files of a project up to date and keeps your changes", "mysdk upgrade --plan"},
	{"alpha config-3alpha-to-3", "convert PROJECT from version 3-alpha", "PROJECT of version 3-alpha is converted by 'mysdk migrate', with the project's layout", "mysdk migrate"},
}

// goneFlags are flags of operator-sdk v0.x and kubebuilder that no command
// has any more, or those that had them have not.
var goneFlags = []struct{ names, why, instead string }{
	{"helm-chart helm-chart-repo helm-chart-version generate-playbook watches-file reconcile-period max-workers", goOnly, otherTool},
	{"dep-manager", "dependencies are Go modules", leaveOut},
	{"git-init skip-git-init", "no git repository is made", "leave the flag out, and run 'git init' in the new directory"},
	{"vendor", "modules are not vendored", "leave the flag out, and run 'go mod vendor' in the new directory"},
	{"api-version", "an API is added to a project that is there", "mysdk add api --api-version=GROUP/VERSION --kind=KIND"},
	{"repo", "the module path is the one in go.mod", leaveOut},
	{"header-file", "the header is the one in hack/boilerplate.go.txt", leaveOut},
	{"crd-version", "CRDs are of v1: no Kubernetes since 1.22 serves those of v1beta1", leaveOut},
	{"image-builder", "mysdk builds the image itself", leaveOut},
	{"image-build-args docker-build-args", "the build uses no Dockerfile", "run 'docker build' with them: the project has a Dockerfile"},
	{"enable-tests", "images hold the operator alone", "run the tests with 'mysdk test'"},
	{"csv-config", "nothing is configured apart from the manifests", "put what every CSV should contain into config/manifests/bases"},
	{"from-version", "a bundle holds one version, and the base of its CSV is in config/manifests/bases", "set spec.replaces there"},
	{"apis-dir", "types are found wherever they are", leaveOut},
	{"update-crds", "a bundle holds the CRDs as they are", leaveOut},
	{"make-manifests", "package manifests are read, and no longer written", "leave the flag out: a bundle is written"},
	{"interactive", "what a CSV tells people is in config/manifests/bases", "edit that"},
	{"olm manifests", "a bundle is installed by its directory, and cleaned up by the name of its package", "mysdk bundle generate --version VERSION && mysdk run bundle ./bundle, and mysdk cleanup PACKAGE"},
	{"olm-namespace install-mode operator-version", "it is detected", leaveOut},
	{"include", "only what OLM needs is made and removed", "use 'mysdk kubectl apply -f FILE' and 'mysdk kubectl delete -f FILE' for other objects"},
	{"force-registry", "each run has a registry of its own, which 'mysdk cleanup' deletes", leaveOut},
	{"bundle", "it is an argument", "mysdk scorecard DIR"},
	{"cr-manifest csv-path crds-dir global-manifest namespaced-manifest olm-deployed", "the bundle holds the manifests", "run 'mysdk bundle generate', then 'mysdk scorecard'"},
	{"proxy-image proxy-pull-policy", "no proxy is used", leaveOut},
	{"init-timeout", "no proxy is used", "use --wait-time"},
	{"basic-tests", "tests are chosen by their labels", "use --selector suite=basic"},
	{"olm-tests", "tests are chosen by their labels", "use --selector suite=olm"},
	{"plugin-dir", "tests are images, listed in the bundle's tests/scorecard/config.yaml", "add an image of your own there, or name another file with --config"},
	{"plugins", "the plugins of a project are chosen by 'mysdk init' and recorded in PROJECT", leaveOut},
	{"legacy", "webhooks are written to internal/webhook", "leave the flag out; webhooks in api/ keep working after 'mysdk upgrade'"},
}

// goneFlag is the error for an unknown flag that once was one, and that of
// other for any other.
func goneFlag(other func(*cobra.Command, error) error) func(*cobra.Command, error) error {
	return func(c *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if !errors.As(err, &unknown) {
			return other(c, err)
		}
		for _, g := range goneFlags {
			if name := unknown.GetSpecifiedName(); slices.Contains(strings.Fields(g.names), name) {
				return useInstead("--"+name, g.why, g.instead)
			}
		}
		return other(c, err)
	}
}

// addGone adds the verbs that say what to use instead.
func addGone(root *cobra.Command) {
	for _, g := range goneVerbs {
		words := strings.Fields(g.verb)
		parent, _, _ := root.Find(words[:len(words)-1])
		short := "Removed: " + g.short
		parent.AddCommand(hidden(&cobra.Command{
			Use: words[len(words)-1], Short: short, Example: "  mysdk " + g.verb,
			Long:               short + ".\n\nThis command of operator-sdk v0.x or kubebuilder is no longer supported. It\nprints what to use instead.",
			DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
			RunE: func(c *cobra.Command, args []string) error {
				if cli.AsksHelp(args) {
					return c.Help()
				}
				return clierr.Usagef(g.instead, "%s", g.why)
			},
		}))
	}
}

// LeaveWordsToTest takes the old verbs below test out of the tree, unless args
// name one right behind it. Anywhere else the words are values of flags that
// cobra does not know, as in 'mysdk test -tags cluster'.
func LeaveWordsToTest(root *cobra.Command, args []string) {
	for _, c := range root.Commands() {
		if c.Name() != "test" {
			continue
		}
		next := slices.Index(args, c.Name()) + 1
		for _, verb := range c.Commands() {
			if next == 0 || next == len(args) || args[next] != verb.Name() {
				c.RemoveCommand(verb)
			}
		}
	}
}

// oldVerb tells in the help of c what sort of command it is.
func oldVerb(c *cobra.Command) *cobra.Command {
	c.Long = cmp.Or(c.Long, c.Short+".")
	c.Long = strings.TrimRight(c.Long, "\n") + "\n\nThis is a command of operator-sdk v0.x. It prints the current command and runs\nit. All of them: https://github.com/example/mysdk/blob/main/docs/guides/old-verbs.md"
	return c
}
