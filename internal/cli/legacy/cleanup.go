package legacy

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/cli"
	olmcmd "github.com/example/mysdk/internal/cli/olm"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
)

// oldCatalogDir is where operator-sdk v0.x wrote package manifests.
const oldCatalogDir = "deploy/olm-catalog"

// oldCleanup gives the command cleanup the two spellings with which it found
// out the package itself: --olm, which was also the default, and packagemanifests.
func oldCleanup(f *cli.Factory, c *cobra.Command) {
	flags := c.Flags()
	refused := []refusal{{flag: "include", why: "what OLM made is detected", instead: "delete other objects with 'mysdk kubectl delete -f FILE'"}}
	old := []string{"olm", "operator-namespace", "manifests", "install-mode", "olm-namespace", "operator-version", "include"}
	flags.Bool("olm", true, "the project's own operator")
	flags.String("operator-namespace", "", "as --namespace")
	flags.String("manifests", "", "directory of the package's manifests")
	for _, name := range []string{"install-mode", "olm-namespace", "operator-version"} {
		flags.String(name, "", "no effect: detected")
	}
	bindRefused(flags, refused)
	for _, name := range old {
		flags.Lookup(name).Hidden = true
	}
	check, run := c.Args, c.RunE
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && slices.ContainsFunc(old, c.Flags().Changed) {
			return nil
		}
		return check(c, args)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		switch err := checkRefused(f, flags, refused); {
		case err != nil:
			return err
		case f.Given["olm"] && flags.Lookup("olm").Value.String() == "false":
			return useInstead("--olm=false", "only what OLM has installed is cleaned up", "use 'mysdk undeploy' for what 'mysdk deploy' installed")
		case len(args) == 0:
			return cleanUpOwn(f, c, "cleanup --olm", "", bundleDir, olmcmd.PackageManifestsDir, oldCatalogDir)
		case flags.Lookup("operator-namespace").Value.String() != "":
			return cleanUp(f, c, "cleanup --operator-namespace", args[0])
		}
		noticeIgnored(f, flags, map[string]string{"manifests": "the package is named"})
		noticeFound(f, c)
		return run(c, args)
	}
	manifests := hidden(oldVerb(&cobra.Command{
		Use: "packagemanifests [DIR]", Short: "Remove the project's own operator, or that of the package in DIR, which OLM has installed",
		Example: "  mysdk cleanup packagemanifests --operator-namespace operators",
		Args:    cli.AtMostOne("the directory of the package manifests"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkRefused(f, flags, refused); err != nil {
				return err
			}
			return cleanUpOwn(f, c, "cleanup packagemanifests", strings.Join(args, ""), olmcmd.PackageManifestsDir, oldCatalogDir, bundleDir)
		},
	}))
	manifests.Flags().AddFlagSet(flags)
	c.AddCommand(manifests)
}

// noticeFound says that the values of old flags are detected.
func noticeFound(f *cli.Factory, c *cobra.Command) {
	const why = "it is detected"
	noticeIgnored(f, c.Flags(), map[string]string{"install-mode": why, "olm-namespace": why, "operator-version": why})
}

// cleanUpOwn removes the operator of the package in dir. Where none is named, it
// is the package in the first of the usual directories that has one, or the
// project here.
func cleanUpOwn(f *cli.Factory, c *cobra.Command, verb, dir string, usual ...string) error {
	dir = cmp.Or(dir, c.Flags().Lookup("manifests").Value.String())
	if dir != "" {
		usual = []string{dir}
	}
	for _, dir := range usual {
		pkg, err := packageIn(f, dir)
		if err != nil {
			return err
		}
		if pkg != "" {
			return cleanUp(f, c, verb, pkg)
		}
	}
	if dir != "" {
		return clierr.Usagef("name a bundle, or a directory with NAME.package.yaml; or the package: mysdk cleanup PACKAGE", "there is no package in %s", dir)
	}
	file, err := project.Load(f.Host.Dir)
	if err != nil {
		return err
	}
	p, err := file.Project()
	if err != nil {
		return err
	}
	return cleanUp(f, c, verb, p.Name)
}

// cleanUp removes the operator of a package, with the flags that were typed.
func cleanUp(f *cli.Factory, c *cobra.Command, verb, pkg string) error {
	noticeFound(f, c)
	line := []string{"cleanup", pkg}
	if !f.Given["namespace"] {
		line = withFlags(line, "--namespace", c.Flags().Lookup("operator-namespace").Value.String())
	}
	return translate(c.Context(), f, verb, mysdkStep(append(line, typedFlags(f, c)...)...))
}

// packageIn is the name of the package whose manifests are in dir, or of the
// bundle there; it is empty where there is neither.
func packageIn(f *cli.Factory, dir string) (string, error) {
	names, err := packageFiles(f, dir)
	switch {
	case err != nil:
		return "", err
	case len(names) > 1:
		return "", clierr.Usagef("name the directory of one of them, or the package: mysdk cleanup PACKAGE", "%s has %d packages: %s", dir, len(names), strings.Join(names, ", "))
	case len(names) == 0:
		names = []string{bundle.AnnotationsFile}
	}
	if path.Base(dir) == bundle.ManifestsDir {
		names = append(names, path.Join("..", bundle.AnnotationsFile))
	}
	for _, name := range names {
		data, err := f.ReadFile(path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", clierr.WithHint(err, "make it a readable file, or name the package: mysdk cleanup PACKAGE")
		}
		var doc struct {
			PackageName string            `json:"packageName"`
			Annotations map[string]string `json:"annotations"`
		}
		if err := yaml.Unmarshal(data, &doc); err != nil {
			return "", clierr.Failedf("repair it, or name the package: mysdk cleanup PACKAGE", "%s: %w", path.Join(dir, name), err)
		}
		if pkg := cmp.Or(doc.PackageName, doc.Annotations[bundle.PackageKey]); pkg != "" {
			return pkg, nil
		}
	}
	return "", nil
}
