package legacy

import (
	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
)

// retired are flags of operator-sdk and kubebuilder that no longer have a
// meaning, by the command that had them.
func retired() map[string][]refusal {
	const layout = "the plugins of a project are chosen by 'mysdk init' and recorded in PROJECT"
	return map[string][]refusal{
		"mysdk run":            {{flag: "force-registry", why: "each run has a registry of its own, which 'mysdk cleanup' deletes", instead: "leave the flag out", isSwitch: true}},
		"mysdk scorecard":      {{flag: "plugin-dir", why: "tests are images, listed in the bundle's tests/scorecard/config.yaml", instead: "add an image of your own there, or name another file with --config"}},
		"mysdk migrate":        {{flag: "dep-manager", why: "dependencies are Go modules", instead: "leave the flag out"}},
		"mysdk create webhook": {{flag: "plugins", why: layout, instead: "leave the flag out"}, {flag: "legacy", why: "webhooks are written to internal/webhook", instead: "leave the flag out; webhooks in api/ keep working after 'mysdk upgrade'", isSwitch: true}},
		"mysdk generate kustomize manifests": {
			{flag: "operator-name", why: "it is now --package", instead: "use --package NAME"},
		},
	}
}

// retireFlags gives the commands of the tree their retired flags.
func retireFlags(f *cli.Factory, c *cobra.Command) {
	if list := retired()[c.CommandPath()]; len(list) > 0 {
		without(f, c, list)
	}
	for _, sub := range c.Commands() {
		retireFlags(f, sub)
	}
}

// retiredAlpha are the commands of 'alpha' that have another name today, or none.
func retiredAlpha() []*cobra.Command {
	const migrate = "mysdk migrate"
	return []*cobra.Command{
		gone("kubebuilder", "Removed: kubebuilder's commands", "kubebuilder's commands are mysdk's own", "see 'mysdk --help': init, create api, create webhook, edit", "mysdk init --domain example.com"),
		gone("update", "Removed: update the scaffold from a release of kubebuilder", "the scaffold is updated by 'mysdk upgrade', without a download", "mysdk upgrade --plan", "mysdk upgrade --plan"),
		gone("generate", "Removed: write the project again from PROJECT", "a project is not written again from nothing: 'mysdk upgrade' brings its files up to date and keeps your changes", "mysdk upgrade --plan", "mysdk upgrade --plan"),
		gone("config-3alpha-to-3", "Removed: convert PROJECT from version 3-alpha", "PROJECT of version 3-alpha is converted by 'mysdk migrate', with the project's layout", migrate, migrate),
	}
}
