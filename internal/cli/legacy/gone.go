package legacy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
)

// goOnly and otherTool say of operators that are not written in Go why there
// are none, and what to use.
const (
	goOnly    = "mysdk writes operators in Go"
	otherTool = "for Helm and Ansible use operator-sdk: operator-sdk init --plugins=helm, or --plugins=ansible"
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
