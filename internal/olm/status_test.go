package olm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		yaml, state, reason string
	}{
		"namespace":             {"{apiVersion: v1, kind: Namespace, metadata: {name: a}, status: {phase: Active}}", "Active", ""},
		"namespace that goes":   {"{apiVersion: v1, kind: Namespace, metadata: {name: a}, status: {phase: Terminating}}", "Terminating", "being deleted"},
		"service account":       {"{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}", "Present", ""},
		"deployment":            {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 2}, status: {availableReplicas: 2}}", "2/2 available", ""},
		"deployment, one":       {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 2}, status: {availableReplicas: 1, conditions: [{type: Available, status: 'False', message: too few}]}}", "1/2 available", "too few"},
		"deployment, new":       {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}", "0/1 available", "not processed yet"},
		"deployment, scaled":    {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 0}, status: {conditions: [{type: Available, status: 'True'}]}}", "0/0 available", "not all of its pods are"},
		"CRD":                   {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, status: {conditions: [{type: Established, status: 'True'}]}}", "Established", ""},
		"API":                   {"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, status: {conditions: [{type: Available, status: 'False', message: no answer}]}}", "NotAvailable", "no answer"},
		"CSV":                   {"{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: a}, status: {phase: Succeeded}}", "Succeeded", ""},
		"CSV that failed":       {"{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: a}, status: {phase: Failed, reason: NoOperatorGroup, message: there is none}}", "Failed", "Failed: NoOperatorGroup there is none"},
		"CSV that is new":       {"{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: a}}", "Unknown", "OLM has not processed it yet"},
		"catalog":               {"{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: a}, status: {connectionState: {address: 'a:1', lastObservedState: READY}}}", "READY", ""},
		"catalog, no answer":    {"{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: a}, status: {connectionState: {address: 'a:1', lastObservedState: TRANSIENT_FAILURE}}}", "TRANSIENT_FAILURE", "OLM has no connection to a:1"},
		"catalog, refused":      {"{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: a}, status: {message: no pod}}", "Unknown", "no pod"},
		"catalog, new":          {"{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: a}}", "Unknown", "OLM has not connected to it yet"},
		"held by its finalizer": {"{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, deletionTimestamp: '2026-01-02T03:04:05Z', finalizers: [x/y]}}", "Terminating", "finalizers x/y"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			u := manifests(t, tc.yaml)[0]
			want := Object{Kind: u.GetKind(), Name: "a", State: tc.state, Reason: tc.reason, Healthy: tc.reason == ""}
			if d := cmp.Diff(want, judge(u)); d != "" {
				t.Errorf("judge() (-want +got):\n%s", d)
			}
		})
	}
}

func TestUnhealthy(t *testing.T) {
	s := Status{Objects: []Object{{Name: "a", Healthy: true}, {Name: "b"}, {Name: "c", Healthy: true}, {Name: "d"}}}
	if d := cmp.Diff([]Object{{Name: "b"}, {Name: "d"}}, s.Unhealthy()); d != "" {
		t.Errorf("Unhealthy() (-want +got):\n%s", d)
	}
	if len(s.Objects) != 4 || s.Objects[0].Name != "a" {
		t.Errorf("Unhealthy() has changed the status: %v", s.Objects)
	}
}

func TestExpectedObjectsOfOtherVersions(t *testing.T) {
	count := func(there Found) map[string]int {
		list, err := expected(there)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		for _, u := range list {
			kinds[u.GetKind()]++
		}
		return kinds
	}
	of := func(version string) map[string]int {
		return count(Found{Version: version, Namespace: DefaultNamespace})
	}
	ours, older, unknown := of(Version), of("0.20.0"), of("unknown")
	if platform := count(Found{"0.20.0", "openshift-operator-lifecycle-manager", true}); platform["Namespace"] != older["Namespace"]-1 || platform["OperatorGroup"] != older["OperatorGroup"]-1 {
		t.Errorf("objects of a platform's: %v, of others: %v", platform, older)
	}
	if ours["NetworkPolicy"] == 0 || ours["CatalogSource"] != 0 || ours["APIService"] != 1 {
		t.Errorf("objects of %s: %v", Version, ours)
	}
	if older["NetworkPolicy"] != 0 || older["Deployment"] != 2 || older["ClusterServiceVersion"] != 1 {
		t.Errorf("objects of an older version: %v", older)
	}
	if unknown["ClusterServiceVersion"] != 0 || unknown["CustomResourceDefinition"] != 8 {
		t.Errorf("objects of an unknown version: %v", unknown)
	}
}

func TestOwnedCRDs(t *testing.T) {
	csv := manifests(t, memcachedCSV("1.0.0", ""))[0]
	if got := strings.Join(OwnedCRDs(csv), ","); got != "memcacheds.cache.example.com" {
		t.Errorf("OwnedCRDs() = %s", got)
	}
	if got := OwnedCRDs(named(kind("ClusterServiceVersion"), "a", "b")); got != nil {
		t.Errorf("OwnedCRDs() of none = %v", got)
	}
}
