package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/bundle/validate"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/project"
)

// Every flag with a value is in one of these tables, or is a choice, a number or
// a duration: a test walks the command tree.
var (
	// fileFlags take files, with these extensions or any; dirFlags directories.
	fileFlags = map[string][]string{
		"alpha-select-external": nil, "apply": {"yaml", "yml", "json"}, "bundles": nil, "config": {"yaml", "yml"}, "file": nil,
		"from-index": nil, "header-file": nil, "kubeconfig": nil, "license-file": nil, "manifests": nil,
	}
	dirFlags = map[string]bool{
		"apis-dir": true, "baselines": true, "bundle": true, "chdir": true, "crd-dir": true, "crds-dir": true, "deploy-dir": true,
		"directory": true, "input-dir": true, "kustomize-dir": true, "oci-layout": true, "output-dir": true, "test-output": true,
	}
)

var (
	// textFlags take what nobody but the user knows.
	textFlags = strings.Fields(`api-version base build-cmd bundle-upgrade ca-secret-name catalog-image channels controller-name csv-channel csv-version
		custom-api-import decompression-image default-channel defaulting-path domain env explain external-api-domain
		external-api-module external-api-path extra-service-accounts from-version go-build-args go-ldflags go-test-flags
		image image-container-command image-container-port image-registry image-tag-base index-image label
		operator-flags operator-name operator-version optional-values owner package plural project-name pull-secret-name
		registry-image repo run-as-user selector service-account sha256 storage-image tag untar-image validation-path webhook-host webhook-listen load-build-tags
		helm-chart helm-chart-repo helm-chart-version docker-build-args image-build-args csv-config global-manifest namespaced-manifest
		local-operator-flags molecule-test-flags max-workers reconcile-period watches-file`)
	// valueFlags take one of these.
	valueFlags = map[string]func(a *app, c *cobra.Command) []string{
		"certs":              oneOf("self", "cert-manager", "olm"),
		"cluster":            (*app).clusterNames,
		"context":            (*app).contextNames,
		"crd-version":        oneOf("v1"),
		"from":               (*app).earlierVersions,
		"group":              (*app).groups,
		"install-mode":       oneOf("AllNamespaces", "OwnNamespace", "SingleNamespace=", "MultiNamespace="),
		"kind":               (*app).kindNames,
		"license":            oneOf("apache2", "none"),
		"namespace":          (*app).namespaces,
		"olm-namespace":      (*app).namespaces,
		"operator-namespace": (*app).namespaces,
		"pattern":            oneOf("deployment", "blank"),
		"platform":           oneOf("linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x"),
		"plugins":            (*app).pluginKeys,
		"project-version":    oneOf("3"),
		"select-optional":    func(*app, *cobra.Command) []string { return optionalValidators() },
		"spoke":              (*app).versionNames,
		"target":             oneOf(validate.Targets()...),
		"version":            (*app).versionNames,
		"watch-namespace":    (*app).namespaces,
	}
	// pathArguments are the commands whose arguments are files or directories.
	pathArguments = strings.Fields(`adopt bundle-build bundle-catalog bundle-validate controller-gen image-build image-save pkgman-to-bundle
		run-bundle run-bundle-upgrade run-packagemanifests scorecard test test-local cleanup-packagemanifests`)
)

// completing reports whether a command line is a shell's question.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// completeFlags has each flag below c completed with its values, and nothing with
// file names that is not a file.
func (a *app) completeFlags(c *cobra.Command) {
	if !c.HasParent() {
		c.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	}
	if slices.Contains(pathArguments, strings.ReplaceAll(commandName(c), " ", "-")) {
		c.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault)
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Value.Type() == "bool" {
			return
		}
		_ = c.RegisterFlagCompletionFunc(f.Name, a.completer(f)) // an error: it has one
	})
	for _, sub := range c.Commands() {
		a.completeFlags(sub)
	}
}

func (a *app) completer(f *pflag.Flag) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		if extensions, ok := fileFlags[f.Name]; ok && len(extensions) > 0 {
			return extensions, cobra.ShellCompDirectiveFilterFileExt
		} else if ok {
			return nil, cobra.ShellCompDirectiveDefault
		}
		if dirFlags[f.Name] {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		if err := a.changeDir(c); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var values []string
		if chosen, ok := f.Value.(*choiceValue); ok {
			values = chosen.choices
		} else if find, ok := valueFlags[f.Name]; ok {
			values = find(a, c)
		}
		return matching(f, values, typed)
	}
}

// matching are the values that begin with what is typed, behind the last comma
// of a list.
func matching(f *pflag.Flag, values []string, typed string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	before := ""
	if f == nil {
		// an argument
	} else if _, isList := f.Value.(pflag.SliceValue); isList {
		before = typed[:strings.LastIndex(typed, ",")+1]
	}
	var found []string
	for _, v := range values {
		if strings.HasPrefix(before+v, typed) && !slices.Contains(found, before+v) {
			found = append(found, before+v)
		}
		if strings.HasSuffix(v, "=") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
	}
	return found, directive
}

// takesPath reports whether the value of a flag is a file or a directory.
func takesPath(f *pflag.Flag) bool {
	_, isFile := fileFlags[f.Name]
	return (isFile || dirFlags[f.Name]) && f.Name != "chdir" && f.Value.Type() != "bool"
}

func oneOf(list ...string) func(*app, *cobra.Command) []string {
	return func(*app, *cobra.Command) []string { return list }
}

func optionalValidators() []string {
	var names []string
	for _, v := range validate.Optionals() {
		names = append(names, "name="+v.Name)
	}
	return names
}

// typedValue is what a flag has on the command line that is being completed.
func typedValue(c *cobra.Command, name string) string {
	if f := c.Flag(name); f != nil && f.Changed {
		return f.Value.String()
	}
	return ""
}

// resources are the project's that match --group and --kind as far as typed.
func (a *app) resources(c *cobra.Command) []project.Resource {
	f, err := project.Load(a.host.Dir)
	if err != nil {
		return nil
	}
	p, err := f.Project()
	if err != nil {
		return nil
	}
	matches := func(flag, value string) bool { v := typedValue(c, flag); return v == "" || v == value }
	return slices.DeleteFunc(p.Resources, func(r project.Resource) bool {
		return !matches("group", r.Group) || !matches("kind", r.Kind)
	})
}

func (a *app) groups(c *cobra.Command) (names []string) {
	for _, r := range a.resources(c) {
		names = append(names, r.Group)
	}
	return names
}

func (a *app) kindNames(c *cobra.Command) (names []string) {
	for _, r := range a.resources(c) {
		names = append(names, r.Kind)
	}
	return names
}

// versionNames are the versions of the kind, or of a new API. Other versions,
// such as a bundle's, are not known.
func (a *app) versionNames(c *cobra.Command) (names []string) {
	switch commandName(c) {
	case "create api":
		return []string{"v1alpha1", "v1beta1", "v1"}
	case "create webhook", "delete api", "delete webhook":
		for _, r := range a.resources(c) {
			names = append(names, r.Version)
		}
	}
	return names
}

// earlierVersions are those that create api can start from.
func (a *app) earlierVersions(c *cobra.Command) (names []string) {
	if commandName(c) != "create api" {
		return nil
	}
	for _, r := range a.resources(c) {
		names = append(names, r.Version)
	}
	return names
}

func (a *app) pluginKeys(_ *cobra.Command) []string {
	return append(a.builtIn().Aliases[:1:1], project.Installed(a.host)...)
}

func (a *app) clusterNames(c *cobra.Command) (names []string) {
	list, err := cluster.List(c.Context(), a.host)
	if err != nil {
		return nil
	}
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names
}

func (a *app) contextNames(c *cobra.Command) []string {
	names, err := kube.Contexts(kube.Options{Host: a.host, Kubeconfig: typedValue(c, "kubeconfig")})
	if err != nil {
		return nil
	}
	return names
}

// keyPatience bounds what a key press waits for a cluster.
const keyPatience = 2 * time.Second

func (a *app) namespaces(c *cobra.Command) []string {
	return a.listed(c, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "")
}

// listed are the names of objects, as found has them.
func (a *app) listed(c *cobra.Command, kind schema.GroupVersionKind, namespace string) (names []string) {
	for _, u := range a.found(c, kind, namespace) {
		names = append(names, u.GetName())
	}
	return names
}

// packages are the operators that OLM has installed.
func (a *app) packages(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if err := a.changeDir(c); err == nil && len(args) == 0 {
		for _, u := range a.found(c, schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "Subscription"}, typedValue(c, "namespace")) {
			name, _, _ := unstructured.NestedString(u.Object, "spec", "name")
			names = append(names, name)
		}
	}
	return matching(nil, names, typed)
}

// found are objects in the cluster that the command line names, or in the
// embedded one if it runs.
func (a *app) found(c *cobra.Command, kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	ctx, cancel := context.WithTimeout(c.Context(), keyPatience)
	defer cancel()
	opts := kube.Options{Host: a.host, Kubeconfig: typedValue(c, "kubeconfig"), Context: typedValue(c, "context"), ReadOnly: true}
	if opts.Kubeconfig == "" && opts.Context == "" {
		name := cluster.DefaultName
		if typed := typedValue(c, "cluster"); typed != "" {
			name = typed
		}
		info, err := cluster.Status(ctx, a.host, name)
		if err != nil || info.State != cluster.Running {
			return nil
		}
		opts.Kubeconfig = info.Kubeconfig
	}
	client, err := kube.Connect(ctx, opts)
	if err != nil {
		return nil
	}
	list, err := client.List(ctx, kind, kube.ListOptions{Namespace: namespace})
	if err != nil {
		return nil
	}
	return list
}
