package root

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/bundle/validate"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/explore"
	"github.com/example/mysdk/internal/project"
)

var (
	// valueFlags take one of these.
	valueFlags = map[string]func(f *cli.Factory, c *cobra.Command) []string{
		"certs":              oneOf("self", "cert-manager", "olm"),
		"checks":             func(*cli.Factory, *cobra.Command) []string { return explore.CheckNames() },
		"cluster":            (*cli.Factory).ClusterNames,
		"context":            (*cli.Factory).ContextNames,
		"crd-version":        oneOf("v1"),
		"from":               earlierVersions,
		"group":              ofResources(func(r project.Resource) string { return r.Group }),
		"install-mode":       oneOf("AllNamespaces", "OwnNamespace", "SingleNamespace=", "MultiNamespace="),
		"kind":               ofResources(func(r project.Resource) string { return r.Kind }),
		"kubernetes":         func(*cli.Factory, *cobra.Command) []string { return cli.MinorVersions() },
		"license":            oneOf("apache2", "none"),
		"namespace":          namespaces,
		"olm-namespace":      namespaces,
		"operator-namespace": namespaces,
		"pattern":            oneOf("deployment", "blank"),
		"platform":           oneOf("linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x"),
		"plugins":            pluginKeys,
		"project-version":    oneOf("3"),
		"select-optional":    func(*cli.Factory, *cobra.Command) []string { return optionalValidators() },
		"spoke":              versionNames,
		"target":             oneOf(validate.Targets()...),
		"version":            versionNames,
		"watch-namespace":    namespaces,
	}
	// pathArguments are the commands whose arguments are files or directories.
	pathArguments = strings.Fields(`adopt bundle-build bundle-catalog bundle-validate controller-gen image-build image-save pkgman-to-bundle
		run-bundle run-bundle-upgrade run-packagemanifests scorecard test`)
)

// completeFlags has each flag below c completed with its values, and nothing with
// file names that is not a file.
func completeFlags(f *cli.Factory, c *cobra.Command) {
	if !c.HasParent() {
		c.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	}
	if slices.Contains(pathArguments, strings.ReplaceAll(cli.CommandName(c), " ", "-")) {
		c.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault)
	}
	c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Value.Type() == "bool" {
			return
		}
		_ = c.RegisterFlagCompletionFunc(flag.Name, completer(f, flag)) // an error: it has one
	})
	for _, sub := range c.Commands() {
		completeFlags(f, sub)
	}
}

func completer(f *cli.Factory, flag *pflag.Flag) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		if extensions, ok := cli.FileFlags[flag.Name]; ok && len(extensions) > 0 {
			return extensions, cobra.ShellCompDirectiveFilterFileExt
		} else if ok {
			return nil, cobra.ShellCompDirectiveDefault
		}
		if cli.DirFlags[flag.Name] {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		if err := f.ChangeDir(c); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var values []string
		if chosen, ok := flag.Value.(*cli.ChoiceValue); ok {
			values = chosen.Choices
		} else if find, ok := valueFlags[flag.Name]; ok {
			values = find(f, c)
		}
		return cli.Matching(flag, values, typed)
	}
}

func oneOf(list ...string) func(*cli.Factory, *cobra.Command) []string {
	return func(*cli.Factory, *cobra.Command) []string { return list }
}

func optionalValidators() []string {
	var names []string
	for _, v := range validate.Optionals() {
		names = append(names, "name="+v.Name)
	}
	return names
}

// resources are the project's that match --group and --kind as far as typed.
func resources(f *cli.Factory, c *cobra.Command) []project.Resource {
	file, err := project.Load(f.Host.Dir)
	if err != nil {
		return nil
	}
	matches := func(flag, value string) bool { v := cli.TypedValue(c, flag); return v == "" || v == value }
	return slices.DeleteFunc(file.Project().Resources, func(r project.Resource) bool {
		return !matches("group", r.Group) || !matches("kind", r.Kind)
	})
}

// ofResources completes with what pick picks of them.
func ofResources(pick func(project.Resource) string) func(*cli.Factory, *cobra.Command) []string {
	return func(f *cli.Factory, c *cobra.Command) (values []string) {
		for _, r := range resources(f, c) {
			values = append(values, pick(r))
		}
		return values
	}
}

// existingVersions are those of the kind that the project has.
func existingVersions(f *cli.Factory, c *cobra.Command) []string {
	return ofResources(func(r project.Resource) string { return r.Version })(f, c)
}

// versionNames are the versions of the kind, or of a new API. Other versions,
// such as a bundle's, are not known.
func versionNames(f *cli.Factory, c *cobra.Command) []string {
	switch cli.CommandName(c) {
	case "create api":
		return []string{"v1alpha1", "v1beta1", "v1"}
	case "create webhook", "delete api", "delete webhook":
		return existingVersions(f, c)
	}
	return nil
}

// earlierVersions are those that create api can start from.
func earlierVersions(f *cli.Factory, c *cobra.Command) []string {
	if cli.CommandName(c) != "create api" {
		return nil
	}
	return existingVersions(f, c)
}

func pluginKeys(f *cli.Factory, c *cobra.Command) []string {
	if c.Name() == "edit" {
		return []string{"grafana/v1-alpha", "helm/v2-alpha"}
	}
	return append(f.BuiltIn().Aliases[:1:1], project.Installed(f.Host)...)
}

func namespaces(f *cli.Factory, c *cobra.Command) []string {
	return f.Listed(c, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "")
}
