package olm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
)

// Status is how an OLM is.
type Status struct {
	Installed bool `json:"installed"`
	Healthy   bool `json:"healthy"`
	Found
	Objects []Object `json:"objects,omitempty"`
}

// Object is one of OLM's objects and how it is.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	State     string `json:"state"`            // in a word or two, such as "Succeeded" or "1/1 available"
	Healthy   bool   `json:"healthy"`          // nothing is missing
	Reason    string `json:"reason,omitempty"` // why it is not
}

// Unhealthy are the objects that are not healthy.
func (s Status) Unhealthy() []Object {
	return slices.DeleteFunc(slices.Clone(s.Objects), func(o Object) bool { return o.Healthy })
}

// Check looks at every object of the OLM in the cluster, at the catalogs that
// all namespaces see, and at the API of the packageserver.
func Check(ctx context.Context, c *kube.Client) (Status, error) {
	there, err := Find(ctx, c)
	if err != nil || there.Version == "" {
		return Status{}, err
	}
	s := Status{Installed: true, Found: there}
	wanted, err := expected(there)
	if err != nil {
		return s, err
	}
	for _, u := range wanted {
		o, err := look(ctx, c, u)
		if err != nil {
			return s, err
		}
		s.Objects = append(s.Objects, o)
	}
	catalogs, err := c.List(ctx, kind("CatalogSource"), kube.ListOptions{Namespace: there.catalogs()})
	if err != nil {
		return s, err
	}
	for _, u := range catalogs {
		s.Objects = append(s.Objects, judge(u))
	}
	s.Healthy = len(s.Unhealthy()) == 0
	return s, nil
}

// catalogs is the namespace whose catalogs all others see. Those elsewhere are of
// people who run operators, and none of OLM's objects.
func (f Found) catalogs() string {
	if f.Platform {
		return "openshift-marketplace"
	}
	return f.Namespace
}

// expected are the objects that an OLM is made of: all of them for the version
// that this package knows, else those that every version has. Platforms have a
// namespace for global operators of another name.
func expected(there Found) ([]*unstructured.Unstructured, error) {
	m, err := BuiltIn(there.Namespace)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(m.All(), func(u *unstructured.Unstructured) bool {
		if there.Platform && (u.GetNamespace() == globalNamespace || u.GetKind() == "Namespace" && u.GetName() == globalNamespace) {
			return true
		}
		switch u.GetKind() {
		case "CatalogSource":
			return true // each is listed as it is
		case "NetworkPolicy", "OLMConfig":
			return there.Version != Version
		case "ClusterServiceVersion":
			return there.Version == "unknown"
		}
		return false
	})
	return append(list, kube.Named("apiregistration.k8s.io/v1", "APIService", "", "v1.packages."+group)), nil
}

// look reads an object and judges it.
func look(ctx context.Context, c *kube.Client, u *unstructured.Unstructured) (Object, error) {
	o := Object{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), State: "Missing", Reason: "it does not exist"}
	served, err := c.Serves(ctx, u.GroupVersionKind())
	if err != nil || !served {
		return o, err
	}
	live, err := c.Read(ctx, u)
	if err != nil || live == nil {
		return o, err
	}
	return judge(live), nil
}

// judge reports how an object is by its status.
func judge(u *unstructured.Unstructured) Object {
	o := Object{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), State: "Present"}
	switch u.GetKind() {
	case "Namespace":
		o.State, _, _ = unstructured.NestedString(u.Object, "status", "phase")
		if o.State != "Active" {
			o.Reason = "being deleted"
		}
	case "CustomResourceDefinition":
		o.State, o.Reason = conditionState(u, "Established")
	case "APIService":
		o.State, o.Reason = conditionState(u, "Available")
	case "Deployment":
		o.State, o.Reason = deploymentState(u)
	case "ClusterServiceVersion":
		o.State, _, _ = unstructured.NestedString(u.Object, "status", "phase")
		o.Reason = csvTrouble(u)
	case "CatalogSource":
		o.State, o.Reason = catalogState(u)
	}
	if u.GetDeletionTimestamp() != nil {
		o.State, o.Reason = "Terminating", "finalizers "+strings.Join(u.GetFinalizers(), ", ")
	}
	o.State = cmp.Or(o.State, "Unknown")
	o.Healthy = o.Reason == ""
	return o
}

// conditionState is the name of a condition that is True, or "Not" and it.
func conditionState(u *unstructured.Unstructured, name string) (state, reason string) {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range list {
		c, ok := item.(map[string]any)
		if !ok || c["type"] != name {
			continue
		}
		if c["status"] == "True" {
			return name, ""
		}
		return "Not" + name, fmt.Sprint(c["message"])
	}
	return "Not" + name, "not processed yet"
}

func deploymentState(u *unstructured.Unstructured) (state, reason string) {
	want, ok, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	if !ok {
		want = 1
	}
	have, _, _ := unstructured.NestedInt64(u.Object, "status", "availableReplicas")
	state = fmt.Sprintf("%d/%d available", have, want)
	if have >= want && want > 0 {
		return state, ""
	}
	if _, reason = conditionState(u, "Available"); reason == "" {
		reason = "not all of its pods are"
	}
	return state, reason
}

// catalogState is the state of OLM's connection to a catalog.
func catalogState(u *unstructured.Unstructured) (state, reason string) {
	connection, _, _ := unstructured.NestedMap(u.Object, "status", "connectionState")
	state, _ = connection["lastObservedState"].(string)
	if state == "READY" {
		return state, ""
	}
	message, _, _ := unstructured.NestedString(u.Object, "status", "message")
	address, _ := connection["address"].(string)
	switch {
	case message != "":
		return state, message
	case address == "":
		return state, "OLM has not connected to it yet"
	}
	return state, "OLM has no connection to " + address
}
