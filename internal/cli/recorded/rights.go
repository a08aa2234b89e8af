package recorded

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/recording"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

type rightsOptions struct {
	name, output string
	check        bool
}

// NewRights is 'mysdk rights'.
func NewRights(f *cli.Factory) *cobra.Command {
	o := &rightsOptions{}
	c := &cobra.Command{
		Use: "rights", Short: "Compare the rights that the operator used with those that its markers grant", GroupID: "run",
		Long: `Compare the rights that the operator used with those that its markers grant.

'mysdk run local' records the operator's requests to the API server. This
command lists the +kubebuilder:rbac markers that are missing, because a request
was refused, and the verbs that no request has used, with the marker to write
instead.

While 'mysdk run local' runs, this covers the current run, otherwise the last
one; a deployed operator is not recorded. What a short run did not use may still
be needed: exercise the operator first.`,
		Example: `  # after trying out the operator
  mysdk rights

  # in CI: exit code 3 when a marker is missing or unused
  mysdk rights --check`,
		RunE: func(c *cobra.Command, _ []string) error { return runRights(c.Context(), f, o) },
	}
	c.Flags().StringVar(&o.name, "cluster", state.DefaultName, "")
	describeCluster(c)
	cli.OutputFlag(c, &o.output)
	c.Flags().BoolVar(&o.check, "check", false, "exit with code 3 when a marker is missing or grants what was not used")
	return c
}

func runRights(ctx context.Context, f *cli.Factory, o *rightsOptions) error {
	p, _, err := f.LoadProject()
	if err != nil {
		return err
	}
	rec, err := load(ctx, f, &o.name)
	if err != nil {
		return err
	}
	if n := rec.Starts(); n > 1 {
		f.Say("The operator was started %d times in this run: what earlier builds asked for is included, with their line numbers.", n)
	}
	rules, err := projectRules(ctx, f, f.Warn)
	if err != nil {
		return err
	}
	rights := recording.CompareRights(rec.Uses, rules)
	err = f.Report(o.output, rights, func(w io.Writer) { writeRights(w, rights, p.RoleNamespace()) })
	if err != nil || !o.check || len(rights.Missing)+len(rights.Unused) == 0 {
		return err
	}
	return clierr.OutOfDatef("change the markers as listed, or run the operator for longer", "%s missing; %s granting more than was used", cli.Count(len(rights.Missing), "right"), cli.Count(len(rights.Unused), "marker"))
}

// projectRules are the rules of the project's markers, and those of its roles
// that are written by hand; warn is told where there are none to read.
func projectRules(ctx context.Context, f *cli.Factory, warn func(format string, args ...any)) ([]recording.Rule, error) {
	opts, err := f.GenerateOptions()
	if err != nil {
		return nil, err
	}
	marked, err := generate.RoleMarkers(ctx, opts)
	if err != nil {
		return nil, err
	}
	_, objs, buildErr := f.OperatorManifests(ctx, "")
	if buildErr != nil {
		warn("config/default: roles that no marker generates are not counted: %v", buildErr)
	}
	cli.WarnOfUnbound(objs, warn)
	home, _ := cli.OperatorAccount(objs)
	unbound := cli.UnboundRoles(objs)
	rules := recording.EveryonesRules()
	for _, m := range marked {
		if isUnbound(unbound, home, m.Namespace) {
			continue
		}
		// The rights of the scaffolded certificates are needed once deployed:
		// under 'run local' mysdk makes the certificates.
		if strings.HasPrefix(m.File, v4.CertsPackage+"/") {
			m.File = ""
		}
		r := recording.Rule{PolicyRule: m.Rule, File: m.File, Line: m.Line, Namespace: m.Namespace}
		if r.Namespace != "" && !hasRole(objs, r.Namespace) && hasRole(objs, home) {
			r.Namespace, r.Marked = home, m.Namespace
		}
		rules = append(rules, r)
	}
	return append(rules, handWritten(objs)...), nil
}

// hasRole reports whether a Role of markers is in the namespace.
func hasRole(objs []*unstructured.Unstructured, namespace string) bool {
	return slices.ContainsFunc(objs, func(u *unstructured.Unstructured) bool {
		return u.GetKind() == "Role" && u.GetNamespace() == namespace && strings.HasSuffix(u.GetName(), generate.DefaultRoleName)
	})
}

// isUnbound reports whether markers with that namespace, or without one, make one of
// the roles that nobody has. Its namespace is home, the operator's, if config/default
// sets one for all.
func isUnbound(unbound []*unstructured.Unstructured, home, namespace string) bool {
	return slices.ContainsFunc(unbound, func(u *unstructured.Unstructured) bool {
		if u.GetKind() == "ClusterRole" {
			return namespace == ""
		}
		return namespace != "" && (u.GetNamespace() == namespace || u.GetNamespace() == home)
	})
}

// handWritten are the rules of the roles that are bound to the operator's account;
// of all roles where a binding's is not among them.
func handWritten(objs []*unstructured.Unstructured) []recording.Rule {
	cli.PlaceTogether(objs)
	namespace, account := cli.OperatorAccount(objs)
	bound := cli.BoundTo(objs, namespace, account)
	if len(bound) == 0 {
		bound = objs
	}
	within := map[string]string{} // the namespace that a role is bound in; empty for all
	for _, u := range bound {
		name, _, _ := unstructured.NestedString(u.Object, "roleRef", "name")
		if namespace, again := within[name]; name != "" && (!again || namespace != "") {
			within[name] = u.GetNamespace()
		}
	}
	var rules []recording.Rule
	for name, namespace := range within {
		for _, r := range everyClusters()[name] {
			rules = append(rules, recording.Rule{PolicyRule: r, Namespace: namespace})
		}
	}
	for _, u := range bound {
		var role rbacv1.ClusterRole // a Role has the same rules
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &role)
		// The generated role's rules are those of the markers.
		if err != nil || strings.HasSuffix(u.GetName(), generate.DefaultRoleName) {
			continue
		}
		for _, r := range role.Rules {
			rules = append(rules, recording.Rule{PolicyRule: r, Namespace: within[u.GetName()]})
		}
	}
	return rules
}

// everyClusters are the rules of the roles that every cluster has and operators are
// bound to most.
func everyClusters() map[string][]rbacv1.PolicyRule {
	all, create := []string{rbacv1.VerbAll}, []string{"create"}
	return map[string][]rbacv1.PolicyRule{
		"cluster-admin": {{Verbs: all, APIGroups: all, Resources: all}, {Verbs: all, NonResourceURLs: all}},
		"system:auth-delegator": {
			{Verbs: create, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}},
			{Verbs: create, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}},
		},
		"extension-apiserver-authentication-reader": {
			{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"extension-apiserver-authentication"}},
		},
	}
}

// writeRights proposes markers for Roles of a namespace, if it is given.
func writeRights(w io.Writer, r recording.Rights, roleNamespace string) {
	if len(r.Missing) > 0 {
		fmt.Fprintln(w, "Missing: no rule grants what was asked for")
		for _, u := range r.Missing {
			fmt.Fprintf(w, "  %s%s\n", u.Right, at(u.Frames))
		}
		fmt.Fprintln(w, "Add:")
		for _, m := range recording.MarkersOf(r.Missing, roleNamespace) {
			fmt.Fprintf(w, "  // %s\n", m)
		}
	}
	if len(r.Unused) > 0 {
		fmt.Fprintln(w, "Unused: granted, and no request needed it")
	}
	for _, u := range r.Unused {
		unused := strings.Join(recording.Summary(u.Rights), "; ")
		if u.All {
			unused = "nothing of this marker was used: remove it"
		}
		fmt.Fprintf(w, "  %s:%d: %s\n", u.File, u.Line, unused)
		for _, m := range u.Markers {
			fmt.Fprintf(w, "    write: // %s\n", m)
		}
	}
	fmt.Fprintf(w, "Used: %s\n", cli.Count(len(r.Used), "right"))
}
