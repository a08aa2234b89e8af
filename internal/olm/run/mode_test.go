package run

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

func TestParseMode(t *testing.T) {
	tests := map[string]struct {
		in   string
		want Mode
		err  string
		hint string
	}{
		"none":             {in: ""},
		"all":              {in: "AllNamespaces", want: Mode{Type: "AllNamespaces"}},
		"own":              {in: "OwnNamespace", want: Mode{Type: "OwnNamespace"}},
		"single":           {in: "SingleNamespace=a", want: Mode{"SingleNamespace", []string{"a"}}},
		"multi, sorted":    {in: "MultiNamespace=b, a,b", want: Mode{"MultiNamespace", []string{"a", "b"}}},
		"misspelt":         {in: "AllNamespace", err: `there is no install mode "AllNamespace"`, hint: "did you mean AllNamespaces?"},
		"unknown":          {in: "x", err: `there is no install mode "x"`, hint: "--install-mode AllNamespaces"},
		"all with targets": {in: "AllNamespaces=a", err: "AllNamespaces takes no namespaces"},
		"own, empty":       {in: "OwnNamespace=", err: "OwnNamespace takes no namespaces"},
		"single without":   {in: "SingleNamespace", err: "takes one namespace, and got 0"},
		"single with two":  {in: "SingleNamespace=a,b", err: "takes one namespace, and got 2"},
		"multi with one":   {in: "MultiNamespace=a", err: "takes two namespaces or more, and got 1"},
		"bad name":         {in: "SingleNamespace=A_b", err: `"A_b" is not a namespace's name`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseMode(tc.in)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(clierr.HintOf(err), tc.hint) || clierr.CodeOf(err) != clierr.CodeUsage {
					t.Errorf("error %v, hint %q", err, clierr.HintOf(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("mode (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParseMode holds that what is accepted is written back the same.
func FuzzParseMode(f *testing.F) {
	for _, s := range []string{"", "AllNamespaces", "SingleNamespace=a", "MultiNamespace=a,b", "OwnNamespace=", "=", "MultiNamespace=,,a,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseMode(s)
		if err != nil {
			return
		}
		again, err := ParseMode(m.String())
		if err != nil || again.String() != m.String() {
			t.Errorf("%q became %q, and that %q: %v", s, m, again, err)
		}
	})
}

// modes makes the CSV that supports these and no others.
func modes(list ...string) *unstructured.Unstructured {
	u := kube.Named(olmV1alpha1, "ClusterServiceVersion", "", "shop.v1")
	var all []any
	for _, m := range modeTypes {
		all = append(all, map[string]any{"type": m, "supported": slices.Contains(list, m)})
	}
	u.Object["spec"] = map[string]any{"installModes": all}
	return u
}

// group makes an OperatorGroup.
func group(name string, ours bool, targets ...string) *unstructured.Unstructured {
	g := operatorGroup("shop", "ns", Mode{Type: multiNamespace, Targets: targets}, false)
	g.SetName(name)
	if !ours {
		g.SetLabels(nil)
	}
	return g
}

// isolated cuts an OperatorGroup off from the global catalogs.
func isolated(g *unstructured.Unstructured) *unstructured.Unstructured {
	g.SetAnnotations(map[string]string{isolateAnnotation: "true"})
	return g
}

func TestPlanGroup(t *testing.T) {
	tests := map[string]struct {
		req   groupRequest
		mode  string
		apply []string // target namespaces of the group that is applied; nil: none is
		err   string
		hint  string
	}{
		"nothing there":              {req: groupRequest{csv: modes(allNamespaces, ownNamespace)}, mode: "AllNamespaces", apply: []string{}},
		"only own":                   {req: groupRequest{csv: modes(ownNamespace)}, mode: "OwnNamespace", apply: []string{"ns"}},
		"wanted":                     {req: groupRequest{csv: modes(allNamespaces, singleNamespace), want: Mode{singleNamespace, []string{"a"}}}, mode: "SingleNamespace=a", apply: []string{"a"}},
		"several":                    {req: groupRequest{csv: modes(multiNamespace), want: Mode{multiNamespace, []string{"a", "b"}}}, mode: "MultiNamespace=a,b", apply: []string{"a", "b"}},
		"several with its own":       {req: groupRequest{csv: modes(multiNamespace), want: Mode{multiNamespace, []string{"a", "ns"}}}, err: "ns is among the namespaces", hint: "it supports MultiNamespace"},
		"not supported":              {req: groupRequest{csv: modes(allNamespaces), want: Mode{Type: ownNamespace}}, err: "shop.v1 cannot be installed with --install-mode OwnNamespace: it does not support OwnNamespace", hint: "it supports AllNamespaces"},
		"needs a target":             {req: groupRequest{csv: modes(singleNamespace)}, err: "supports only SingleNamespace, which takes the namespaces to watch", hint: "--install-mode SingleNamespace=ns"},
		"nothing supported":          {req: groupRequest{csv: modes()}, err: "supports no install mode", hint: "spec.installModes"},
		"single is its own":          {req: groupRequest{csv: modes(singleNamespace, ownNamespace), want: Mode{singleNamespace, []string{"ns"}}}, err: "ns is the namespace that the operator is installed in", hint: "OwnNamespace"},
		"two groups":                 {req: groupRequest{csv: modes(allNamespaces), groups: objects{group("a", false), group("b", false)}}, err: "2 OperatorGroups (a, b)"},
		"one that fits":              {req: groupRequest{csv: modes(ownNamespace), groups: objects{group("g", false, "ns")}}, mode: "OwnNamespace"},
		"one that fits what is said": {req: groupRequest{csv: modes(ownNamespace), want: Mode{Type: ownNamespace}, groups: objects{group("g", false, "ns")}}, mode: "OwnNamespace"},
		"foreign, does not fit": {req: groupRequest{csv: modes(allNamespaces), groups: objects{group("g", false, "ns")}},
			err: "OperatorGroup ns/g, which decides what the operators of its namespace watch, is for namespace ns, and shop.v1 cannot join it: it does not support OwnNamespace", hint: "mysdk kubectl delete operatorgroup -n ns g"},
		"foreign, another is wanted": {req: groupRequest{csv: modes(allNamespaces, ownNamespace), want: Mode{Type: allNamespaces}, groups: objects{group("g", false, "ns")}},
			err: "--install-mode is AllNamespaces"},
		"ours, changed":      {req: groupRequest{csv: modes(allNamespaces, ownNamespace), want: Mode{Type: allNamespaces}, groups: objects{group("g", true, "ns")}}, mode: "AllNamespaces", apply: []string{}},
		"ours, does not fit": {req: groupRequest{csv: modes(allNamespaces), groups: objects{group("g", true, "ns")}}, mode: "AllNamespaces", apply: []string{}},
		"ours, cut off": {req: groupRequest{csv: modes(ownNamespace), groups: objects{isolated(group("g", true, "ns"))}, others: []string{"cart.v2"}},
			mode: "OwnNamespace", apply: []string{"ns"}},
		"ours, cut off, to stay so": {req: groupRequest{csv: modes(ownNamespace), groups: objects{isolated(group("g", true, "ns"))}, isolated: true}, mode: "OwnNamespace"},
		"foreign, cut off":          {req: groupRequest{csv: modes(ownNamespace), groups: objects{isolated(group("g", false, "ns"))}}, mode: "OwnNamespace"},
		"ours, as is wanted":        {req: groupRequest{csv: modes(ownNamespace), want: Mode{Type: ownNamespace}, groups: objects{group("g", true, "ns")}}, mode: "OwnNamespace"},
		"ours, shared": {req: groupRequest{csv: modes(allNamespaces), groups: objects{group("g", true, "ns")}, others: []string{"cart.v2"}},
			err: "is for namespace ns", hint: "as this one serves cart.v2"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.req.namespace, tc.req.pkg = "ns", "shop"
			got, err := planGroup(tc.req)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(clierr.HintOf(err), tc.hint) {
					t.Errorf("error %v\nhint %q", err, clierr.HintOf(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.mode.String() != tc.mode || (got.apply != nil) != (tc.apply != nil) {
				t.Errorf("mode %s, group %v", got.mode, got.apply)
			}
			if got.apply != nil {
				if got.apply.GetAnnotations()[isolateAnnotation] != "" {
					t.Error("the group is cut off from the global catalogs")
				}
				if diff := cmp.Diff(tc.apply, append([]string{}, texts(got.apply, "spec", "targetNamespaces")...)); diff != "" {
					t.Errorf("targets (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestOverlap: no list is every namespace.
func TestOverlap(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b []string
		want bool
	}{
		"all and all": {nil, nil, true}, "all and one": {nil, []string{"a"}, true}, "one and all": {[]string{"a"}, nil, true},
		"apart": {[]string{"a", "b"}, []string{"c"}, false}, "one in common": {[]string{"a", "b"}, []string{"c", "b"}, true},
	} {
		if got := overlap(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
