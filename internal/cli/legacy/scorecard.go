package legacy

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
)

// oldScorecard gives the command scorecard the flags that it had when it
// watched the operator through a proxy, or refuses them.
func oldScorecard(f *cli.Factory, c *cobra.Command) {
	const (
		manifests = "the bundle holds the manifests"
		generate  = "run 'mysdk bundle generate', then 'mysdk scorecard'"
		proxy     = "no proxy takes part"
		suites    = "tests are chosen by their labels"
	)
	refused := []refusal{
		{flag: "cr-manifest", why: manifests, instead: generate}, {flag: "csv-path", why: manifests, instead: generate},
		{flag: "crds-dir", why: manifests, instead: generate}, {flag: "global-manifest", why: manifests, instead: generate},
		{flag: "namespaced-manifest", why: manifests, instead: generate},
		{flag: "olm-deployed", why: manifests, instead: generate, isSwitch: true},
		{flag: "proxy-image", why: proxy, instead: "leave the flag out"}, {flag: "proxy-pull-policy", why: proxy, instead: "leave the flag out"},
		{flag: "init-timeout", why: proxy, instead: "use --wait-time"},
		{flag: "basic-tests", why: suites, instead: "use --selector suite=basic", isSwitch: true},
		{flag: "olm-tests", why: suites, instead: "use --selector suite=olm", isSwitch: true},
	}
	fs := c.Flags()
	bindRefused(fs, refused)
	dir := fs.String("bundle", "", "directory of the bundle")
	fs.String("version", "v1alpha2", "without effect")
	for _, name := range []string{"bundle", "version"} {
		fs.Lookup(name).Hidden = true
	}
	for _, r := range refused {
		fs.Lookup(r.flag).Hidden = true
	}
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cmp.Or(checkRefused(f, c.Flags(), refused), isBundle(f, c)); err != nil {
			return err
		}
		noticeIgnored(f, c.Flags(), map[string]string{"version": "there is one version of the configuration, v1alpha3"})
		if len(args) == 0 && *dir != "" {
			args = []string{*dir}
			f.Say("Note: 'scorecard --bundle' is now: %s", spell([]step{mysdkStep("scorecard", *dir)}))
		}
		return run(c, args)
	}
}

// isBundle refuses a directory as the storage image: -b, now the image's, was
// short for --bundle.
func isBundle(f *cli.Factory, c *cobra.Command) error {
	flag := c.Flags().Lookup("storage-image")
	dir := flag.Value.String()
	if info, err := f.Host.Files.Lstat(f.Host.Path(dir)); !f.Given[flag.Name] || err != nil || !info.IsDir() {
		return nil //nolint:nilerr // what is not there is no directory
	}
	return useInstead("-b "+dir, "it is for the image that keeps the files of tests, and "+dir+" is a directory", "use 'mysdk scorecard "+cli.ShellQuote(localPath(dir))+"'")
}
