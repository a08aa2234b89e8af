package cmd

import "github.com/spf13/cobra"

// legacyScorecard gives the command scorecard the flags that it had when it
// watched the operator through a proxy, or refuses them.
func legacyScorecard(a *app, c *cobra.Command) {
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
		if err := first(a.checkRefused(c.Flags(), refused), a.isBundle(c)); err != nil {
			return err
		}
		a.noticeIgnored(c.Flags(), map[string]string{"version": "there is one version of the configuration, v1alpha3"})
		if len(args) == 0 && *dir != "" {
			args = []string{*dir}
			a.say("Note: 'scorecard --bundle' is now: %s", spell([]step{mysdkStep("scorecard", *dir)}))
		}
		return run(c, args)
	}
}

// isBundle refuses a directory as the storage image: -b, now the image's, was
// short for --bundle.
func (a *app) isBundle(c *cobra.Command) error {
	f := c.Flags().Lookup("storage-image")
	dir := f.Value.String()
	if info, err := a.host.Files.Lstat(a.host.Path(dir)); !a.given[f.Name] || err != nil || !info.IsDir() {
		return nil //nolint:nilerr // what is not there is no directory
	}
	return useInstead("-b "+dir, "it is for the image that keeps the files of tests, and "+dir+" is a directory", "use 'mysdk scorecard "+shellQuote(localPath(dir))+"'")
}
