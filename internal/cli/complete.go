package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
)

// Every flag with a value is in one of these tables, or is a choice, a number or
// a duration: a test walks the command tree.
var (
	// FileFlags take files, with these extensions or any; DirFlags directories.
	FileFlags = map[string][]string{
		"alpha-select-external": nil, "apply": {"yaml", "yml", "json"}, "bundles": nil, "config": {"yaml", "yml"}, "file": nil,
		"from-index": nil, "header-file": nil, "kubeconfig": nil, "license-file": nil, "manifests": nil,
	}
	DirFlags = map[string]bool{
		"apis-dir": true, "baselines": true, "bundle": true, "chdir": true, "crd-dir": true, "crds-dir": true, "deploy-dir": true,
		"directory": true, "input-dir": true, "kustomize-dir": true, "oci-layout": true, "output-dir": true, "test-output": true, "write-tests": true,
	}
)

// Completing reports whether a command line is a shell's question.
func Completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// Matching are the values that begin with what is typed, behind the last comma
// of a list.
func Matching(f *pflag.Flag, values []string, typed string) ([]string, cobra.ShellCompDirective) {
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
	_, isFile := FileFlags[f.Name]
	return (isFile || DirFlags[f.Name]) && f.Name != "chdir" && f.Value.Type() != "bool"
}

// TypedValue is what a flag has on the command line that is being completed.
func TypedValue(c *cobra.Command, name string) string {
	if f := c.Flag(name); f != nil && f.Changed {
		return f.Value.String()
	}
	return ""
}

// ClusterNames are the embedded clusters, for completion.
func (f *Factory) ClusterNames(c *cobra.Command) (names []string) {
	list, err := cluster.List(c.Context(), f.Host)
	if err != nil {
		return nil
	}
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names
}

// ContextNames are the contexts of the user's kubeconfig, for completion.
func (f *Factory) ContextNames(c *cobra.Command) []string {
	names, err := kube.Contexts(kube.Options{Host: f.Host, Kubeconfig: f.fromRoot(TypedValue(c, "kubeconfig"))})
	if err != nil {
		return nil
	}
	return names
}

// keyTimeout bounds what a key press waits for a cluster.
const keyTimeout = 2 * time.Second

// Listed are the names of objects, as found has them.
func (f *Factory) Listed(c *cobra.Command, kind schema.GroupVersionKind, namespace string) (names []string) {
	for _, u := range f.found(c, kind, namespace) {
		names = append(names, u.GetName())
	}
	return names
}

// Packages are the operators that OLM has installed.
func (f *Factory) Packages(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if err := f.ChangeDir(c); err == nil && len(args) == 0 {
		for _, u := range f.found(c, schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "Subscription"}, TypedValue(c, "namespace")) {
			name, _, _ := unstructured.NestedString(u.Object, "spec", "name")
			names = append(names, name)
		}
	}
	return Matching(nil, names, typed)
}

// found are objects in the cluster that the command line names, or in the
// embedded one if it runs.
func (f *Factory) found(c *cobra.Command, kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	ctx, cancel := context.WithTimeout(c.Context(), keyTimeout)
	defer cancel()
	opts := kube.Options{Host: f.Host, Kubeconfig: f.fromRoot(TypedValue(c, "kubeconfig")), Context: TypedValue(c, "context"), ReadOnly: true}
	if opts.Kubeconfig == "" && opts.Context == "" {
		layers, _ := f.ReadConfig(c.Root()) // what is wrong there is told when a command runs
		set, _ := f.Lookup(layers, "cluster")
		name := cmp.Or(TypedValue(c, "cluster"), strings.Join(set.Values, ""), state.DefaultName)
		info, err := cluster.Status(ctx, f.Host, name)
		if err != nil || info.State != cluster.Running {
			return nil
		}
		opts.Kubeconfig, opts.Embedded = info.Kubeconfig, name
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
