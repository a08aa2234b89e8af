package legacy

import (
	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
)

// newGenerateK8s is the verb for DeepCopy methods.
func newGenerateK8s(f *cli.Factory) *cobra.Command {
	return hidden(oldVerb(&cobra.Command{
		Use: "k8s", Short: "Generate the DeepCopy methods of the API types",
		Example: "  mysdk generate k8s",
		RunE: func(c *cobra.Command, _ []string) error {
			return translate(c.Context(), f, "generate k8s", mysdkStep("generate", "deepcopy"))
		},
	}))
}

func newOLMCatalog(f *cli.Factory) *cobra.Command {
	c := hidden(&cobra.Command{
		Use: "olm-catalog", Short: "Generate the bundle that OLM installs the operator from",
		Example: "  mysdk olm-catalog gen-csv --csv-version 0.0.1",
	})
	c.AddCommand(newCSV(f, "gen-csv", "olm-catalog gen-csv"))
	return c
}

// csvFlags are the flags of the verbs that write a CSV, and what each is called
// today.
var csvFlags = []struct{ name, now, usage string }{
	{"csv-version", "--version", "semantic version of the operator, such as 0.0.1"},
	{"operator-name", "--package", "name of the package (default: the project's)"},
	{"csv-channel", "--channels", "channel that the version belongs to"},
	{"output-dir", "--output-dir", "directory to write the bundle to (default: bundle)"},
	{"deploy-dir", "--deploy-dir", "directory with the operator's manifests (default: config)"},
	{"crd-dir", "--crds-dir", "with --deploy-dir: directory with the CRDs"},
}

// newCSV is one of the two verbs that write a CSV.
func newCSV(f *cli.Factory, use, verb string) *cobra.Command {
	c := oldVerb(&cobra.Command{
		Use: use, Short: "Write the operator's ClusterServiceVersion, in a bundle",
		Long: `Write the operator's ClusterServiceVersion, in a bundle.

The bundle is the directory bundle, with the CRDs and metadata for catalogs,
generated from the manifests in config. It replaces the directories in
deploy/olm-catalog.`,
		Example: "  mysdk " + verb + " --csv-version 0.0.1 --csv-channel alpha",
	})
	fs, defaultChannel := c.Flags(), false
	values := map[string]*string{}
	for _, flag := range csvFlags {
		values[flag.name] = fs.String(flag.name, "", flag.usage)
	}
	fs.BoolVar(&defaultChannel, "default-channel", false, "make the channel of --csv-channel the default one")
	c.RunE = func(c *cobra.Command, _ []string) error {
		args := []string{"bundle", "generate"}
		for _, flag := range csvFlags {
			args = withFlags(args, flag.now, *values[flag.name])
		}
		if defaultChannel {
			if *values["csv-channel"] == "" {
				return clierr.Usagef("add --csv-channel with its name", "--default-channel requires --csv-channel")
			}
			args = append(args, "--default-channel", *values["csv-channel"])
		}
		if *values["operator-name"] == "" { // that of the package is the project's
			if _, err := project.Load(f.Host.Dir); err != nil {
				return err
			}
		}
		return translate(c.Context(), f, verb, mysdkStep(args...))
	}
	return c
}
