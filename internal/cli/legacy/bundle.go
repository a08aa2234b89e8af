package legacy

import (
	"cmp"
	"errors"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/project"
)

// bundleDir is where a project's bundle is.
const bundleDir = "bundle"

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

// newGeneratePackageManifests says what became of the format before
// bundles.
func newGeneratePackageManifests() *cobra.Command {
	return gone("packagemanifests", "Removed: package manifests, of which bundles took the place",
		"package manifests are read, and no longer written", "write a bundle: mysdk bundle generate", "mysdk bundle generate")
}

// newGenerateCRD is the verb of operator-sdk v0.0 for one kind's CRD.
func newGenerateCRD(f *cli.Factory) *cobra.Command {
	c := hidden(newAddCRD(f, "generate crd"))
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(f.Given) == 0 {
			return clierr.Usagef("did you mean \"crds\"? Or name the kind:"+strings.TrimPrefix(c.Example, " "), "no --kind was given")
		}
		return run(c, args)
	}
	return c
}

// newGenerateCatalog is the verb of operator-sdk v0.0 for a CSV.
func newGenerateCatalog(f *cli.Factory) *cobra.Command {
	var image, version string
	c := hidden(oldVerb(&cobra.Command{
		Use: "olm-catalog", Short: "Write the operator's ClusterServiceVersion, in a bundle",
		Example: "  mysdk generate olm-catalog --image quay.io/example/memcached-operator:v0.0.1 --version 0.0.1",
	}))
	c.Flags().StringVar(&image, "image", "", "the operator's image")
	c.Flags().StringVar(&version, "version", "", "semantic version of the operator, such as 0.0.1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if image == "" || version == "" {
			return clierr.Usagef("such as:"+strings.TrimPrefix(c.Example, " "), "--image and --version are both needed")
		}
		return translate(c.Context(), f, "generate olm-catalog", mysdkStep("bundle", "generate", "--version", version, "--image", image))
	}
	return c
}

// oldGenerate gives the command generate the flag for the version of the
// CRDs' own API.
func oldGenerate(c *cobra.Command) {
	var version string
	crdVersionFlag(c.Flags(), &version)
	c.Flags().Lookup("crd-version").Hidden = true
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkCRDVersion(version); err != nil {
			return err
		}
		return run(c, args)
	}
}

// oldGenerateBundle gives the command generate bundle the flags that it had
// in operator-sdk v0.x.
func oldGenerateBundle(f *cli.Factory, c *cobra.Command) {
	fs := c.Flags()
	fs.String("operator-name", "", "name of the package, as --package")
	fs.Bool("interactive", false, "no effect: what a CSV tells people is in config/manifests/bases")
	for _, name := range []string{"operator-name", "interactive"} {
		fs.Lookup(name).Hidden = true
	}
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		noticeIgnored(f, fs, map[string]string{"interactive": "edit config/manifests/bases instead"})
		if name := fs.Lookup("operator-name").Value.String(); name != "" {
			line := withFlags([]string{"bundle", "generate"}, "--package", name)
			return translate(c.Context(), f, "generate bundle", mysdkStep(append(line, typedFlags(f, c)...)...))
		}
		return run(c, args)
	}
	without(f, c, []refusal{{flag: "apis-dir", why: "types are found wherever they are", instead: "leave the flag out"}})
}

// csvOptions are the flags of generate csv and olm-catalog gen-csv.
type csvOptions struct {
	version, channel, name, outputDir, deployDir, crdDir string
	defaultChannel, updateCRDs, makeManifests            bool
	interactive                                          bool
}

// csvRefusals are flags of both verbs that mean nothing any more.
func csvRefusals() []refusal {
	return []refusal{
		{flag: "csv-config", why: "nothing is configured apart from the manifests", instead: "put what every CSV should contain into config/manifests/bases"},
		{flag: "from-version", why: "a bundle holds one version, and the base of its CSV is in config/manifests/bases", instead: "set spec.replaces there"},
		{flag: "apis-dir", why: "types are found wherever they are", instead: "leave the flag out"},
	}
}

func (o *csvOptions) bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.version, "csv-version", "", "semantic version of the operator, such as 0.0.1")
	fs.StringVar(&o.channel, "csv-channel", "", "channel that the version belongs to")
	fs.BoolVar(&o.defaultChannel, "default-channel", false, "make the channel of --csv-channel the default one")
	fs.StringVar(&o.name, "operator-name", "", "name of the package (default: the project's)")
	fs.BoolVar(&o.updateCRDs, "update-crds", true, "update the CRDs in the bundle")
	fs.BoolVar(&o.makeManifests, "make-manifests", true, "write a bundle, which is the only format left")
	fs.BoolVar(&o.interactive, "interactive", false, "no effect: what a CSV tells people is in config/manifests/bases")
	fs.StringVar(&o.outputDir, "output-dir", "", "directory to write the bundle to (default: bundle)")
	fs.StringVar(&o.deployDir, "deploy-dir", "", "directory with the operator's manifests (default: config)")
	fs.StringVar(&o.crdDir, "crd-dir", "", "with --deploy-dir: directory with the CRDs")
	bindRefused(fs, csvRefusals())
}

// args is bundle generate's command line of today.
func (o *csvOptions) args() ([]string, error) {
	switch {
	case o.defaultChannel && o.channel == "":
		return nil, clierr.Usagef("add --csv-channel with its name", "--default-channel requires --csv-channel")
	case !o.updateCRDs:
		return nil, useInstead("--update-crds=false", "a bundle holds the CRDs as they are", "leave the flag out")
	case !o.makeManifests:
		return nil, useInstead("--make-manifests=false", "package manifests are read, and no longer written", "leave the flag out: a bundle is written")
	}
	args := []string{"bundle", "generate"}
	def := ""
	if o.defaultChannel {
		def = o.channel
	}
	for _, f := range []struct{ flag, value string }{
		{"--version", o.version}, {"--package", o.name}, {"--channels", o.channel}, {"--default-channel", def},
		{"--output-dir", o.outputDir}, {"--deploy-dir", o.deployDir}, {"--crds-dir", o.crdDir},
	} {
		if f.value != "" {
			args = append(args, f.flag, f.value)
		}
	}
	return args, nil
}

func newGenerateCSV(f *cli.Factory) *cobra.Command {
	o := &csvOptions{}
	return hidden(o.command(f, "csv", "generate csv", false))
}

func newOLMCatalog(f *cli.Factory) *cobra.Command {
	o := &csvOptions{}
	c := hidden(&cobra.Command{
		Use: "olm-catalog", Short: "Make what OLM installs the operator from",
		Example: "  mysdk olm-catalog gen-csv --csv-version 0.0.1",
	})
	c.AddCommand(o.command(f, "gen-csv", "olm-catalog gen-csv", true))
	return c
}

// command is one of the two verbs that write a CSV.
func (o *csvOptions) command(f *cli.Factory, use, verb string, needsVersion bool) *cobra.Command {
	c := oldVerb(&cobra.Command{
		Use: use, Short: "Write the operator's ClusterServiceVersion, in a bundle",
		Long: `Write the operator's ClusterServiceVersion, in a bundle.

The bundle is the directory bundle, with the CRDs and what an index needs to
know, made of the manifests in config. It takes the place of the directories
below deploy/olm-catalog.`,
		Example: "  mysdk " + verb + " --csv-version 0.0.1 --csv-channel alpha",
	})
	o.bind(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		if needsVersion && o.version == "" {
			return clierr.Usagef("such as: mysdk "+verb+" --csv-version 0.0.1", "no --csv-version was given")
		}
		args, err := o.args()
		if err := cmp.Or(err, checkRefused(f, c.Flags(), csvRefusals())); err != nil {
			return err
		}
		if o.name == "" {
			// The name of the package is the project's.
			if _, err := project.Load(f.Host.Dir); err != nil {
				return err
			}
		}
		noticeIgnored(f, c.Flags(), map[string]string{"interactive": "edit config/manifests/bases instead"})
		return translate(c.Context(), f, verb, mysdkStep(args...))
	}
	return c
}

// bundleOptions are the flags of bundle create.
type bundleOptions struct {
	channels, defaultChannel, dir, outputDir, pkg, tag, builder string
	generateOnly, overwrite                                     bool
}

// newBundleCreate is the verb that built an image of a bundle.
func newBundleCreate(f *cli.Factory) *cobra.Command {
	o := &bundleOptions{}
	c := hidden(oldVerb(&cobra.Command{
		Use: "create [IMAGE]", Short: "Write the bundle and build its image IMAGE",
		Long:    "Write the bundle and build its image IMAGE.",
		Example: "  mysdk bundle create quay.io/example/memcached-operator-bundle:v0.0.1 --channels alpha",
		Args:    cli.AtMostOne("the name of the image"),
	}))
	fs := c.Flags()
	fs.StringVarP(&o.channels, "channels", "c", "stable", "channels that the bundle belongs to, separated by commas")
	fs.StringVarP(&o.defaultChannel, "default-channel", "e", "", "default channel of the bundle")
	fs.StringVarP(&o.dir, "directory", "d", "", "directory with the bundle's manifests: bundle/manifests")
	fs.StringVarP(&o.outputDir, "output-dir", "o", "", "directory to write the bundle to (default: bundle)")
	fs.StringVarP(&o.pkg, "package", "p", "", "name of the package (default: the project's)")
	fs.StringVarP(&o.tag, "tag", "t", "", "name of the image, as IMAGE")
	fs.VarP(cli.Choice(&o.builder, "docker", "podman", "buildah"), "image-builder", "b", "no effect: no other program builds the image")
	fs.BoolVarP(&o.generateOnly, "generate-only", "g", false, "write the bundle, and build no image")
	fs.BoolVar(&o.overwrite, "overwrite", false, "no effect: existing files are always overwritten")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			o.tag = args[0]
		}
		steps, err := o.steps(f)
		if err := cmp.Or(f.OldProject(), err); err != nil {
			return err
		}
		noticeIgnored(f, c.Flags(), map[string]string{"image-builder": "mysdk builds the image itself"})
		return translate(c.Context(), f, "bundle create", steps...)
	}
	return c
}

// steps are the command lines of today.
func (o *bundleOptions) steps(f *cli.Factory) ([]step, error) {
	out := cmp.Or(o.outputDir, bundleDir)
	switch {
	case o.tag == "" && !o.generateOnly:
		return nil, clierr.Usagef("such as: mysdk bundle create quay.io/example/memcached-operator-bundle:v0.0.1\nor --generate-only for none", "no name was given for the image")
	case o.dir != "" && strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(o.dir, "/"), "./"), "/manifests") != out:
		return nil, useInstead("--directory "+o.dir, "the bundle is made of config, and written to "+out, "leave the flag out")
	}
	args := []string{"bundle", "generate", "--channels", o.channels}
	args = withFlags(args, "--default-channel", o.defaultChannel, "--package", o.pkg, "--output-dir", o.outputDir)
	generate := bundleStep(f, out, args...)
	if o.generateOnly {
		return []step{generate}, nil
	}
	if err := image.CheckName(o.tag); err != nil {
		return nil, err // before the bundle is written
	}
	build := []string{"bundle", "build"}
	if o.outputDir != "" {
		build = append(build, o.outputDir)
	}
	return []step{generate, mysdkStep(append(build, "--image", o.tag)...)}, nil
}

// bundleStep is a step that writes the bundle to out. What was there before
// only version control can bring back.
func bundleStep(f *cli.Factory, out string, args ...string) step {
	s := mysdkStep(args...)
	for _, name := range []string{out, bundle.DockerfileName} {
		if _, err := f.Host.Files.Lstat(f.Host.Path(name)); !errors.Is(err, fs.ErrNotExist) {
			return s
		}
	}
	return s.undoneBy("rm -r " + cli.ShellQuote(out) + " " + bundle.DockerfileName)
}
