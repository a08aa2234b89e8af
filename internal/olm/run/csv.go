package run

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/hostprogram"
)

// workload is a Deployment of the install strategy.
type workload struct {
	hostprogram.Deployment
	serviceAccount string
}

// Deployments are those of the bundle's operator.
func Deployments(b *bundle.Bundle) []hostprogram.Deployment {
	var all []hostprogram.Deployment
	for _, w := range workloadsOf(b.CSVObject()) {
		all = append(all, w.Deployment)
	}
	return all
}

// modesOf tells of each install mode whether a CSV supports it.
func modesOf(u *unstructured.Unstructured) map[string]bool {
	modes := map[string]bool{}
	for _, m := range entries(u, "spec", "installModes") {
		modes[text(m, "type")] = m.Object["supported"] == true
	}
	return modes
}

// refused finds what the API server would not take of a CSV. OLM would try it
// again for a minute.
func refused(u *unstructured.Unstructured) error {
	refuse := func(ref, why string) error {
		return clierr.Failedf("correct the CSV, then run 'mysdk bundle validate'", "the API server would refuse %s: %s", ref, why)
	}
	if why := validation.IsDNS1123Subdomain(u.GetName()); len(why) > 0 {
		return refuse("ClusterServiceVersion "+u.GetName(), "metadata.name: "+why[0])
	}
	if why := validation.IsValidLabelValue(u.GetName()); len(why) > 0 { // OLM labels the operator's objects with it
		return refuse("the label olm.owner="+u.GetName(), why[0])
	}
	for _, m := range entries(u, "spec", "install", "spec", "deployments") {
		var d struct {
			Spec struct {
				Selector *metav1.LabelSelector `json:"selector"`
				Template struct {
					Metadata metav1.ObjectMeta `json:"metadata"`
				} `json:"template"`
			} `json:"spec"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object, &d); err != nil || d.Spec.Selector == nil {
			continue // which bundle validate tells
		}
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err != nil {
			return refuse("Deployment "+text(m, "name"), "spec.selector: "+err.Error())
		}
		if have := labels.Set(d.Spec.Template.Metadata.Labels); !selector.Matches(have) {
			return refuse("Deployment "+text(m, "name"), fmt.Sprintf("spec.selector %q does not match the labels %q of spec.template", selector, have))
		}
	}
	return nil
}

// workloadsOf reads the Deployments of a CSV's install strategy. What is wrong
// with them is bundle validate's business.
func workloadsOf(u *unstructured.Unstructured) []workload {
	var all []workload
	for _, d := range entries(u, "spec", "install", "spec", "deployments") {
		w := workload{hostprogram.Deployment{Name: text(d, "name")}, text(d, "spec", "template", "spec", "serviceAccountName")}
		for key, list := range map[string]*[]hostprogram.Container{"containers": &w.Containers, "initContainers": &w.Init} {
			for _, c := range entries(d, "spec", "template", "spec", key) {
				*list = append(*list, hostprogram.Container{Name: text(c, "name"), Image: text(c, "image")})
			}
		}
		all = append(all, w)
	}
	return all
}

// text is the string at path, or "".
func text(u *unstructured.Unstructured, path ...string) string {
	if u == nil {
		return ""
	}
	s, _, _ := unstructured.NestedString(u.Object, path...) // of another type: as if absent
	return s
}

// number is the integer at path, or 0.
func number(u *unstructured.Unstructured, path ...string) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, path...)
	return n
}

// texts is the list of strings at path.
func texts(u *unstructured.Unstructured, path ...string) []string {
	list, _, _ := unstructured.NestedStringSlice(u.Object, path...)
	return list
}

// entries is the list of objects at path; what is not one is left out.
func entries(u *unstructured.Unstructured, path ...string) []*unstructured.Unstructured {
	if u == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(u.Object, path...)
	var all []*unstructured.Unstructured
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			all = append(all, &unstructured.Unstructured{Object: m})
		}
	}
	return all
}

// condition is a status condition as the API has it.
type condition struct{ kind, status, reason, message string }

// conditionOf returns u's condition of that type; a zero one without.
func conditionOf(u *unstructured.Unstructured, kind string) condition {
	for _, m := range entries(u, "status", "conditions") {
		if text(m, "type") == kind {
			return condition{kind, text(m, "status"), text(m, "reason"), text(m, "message")}
		}
	}
	return condition{}
}

// text is the condition in one line: "Installed=False (reason): message".
func (c condition) text() string {
	s := c.kind + "=" + c.status
	if c.reason != "" {
		s += " (" + c.reason + ")"
	}
	if c.message != "" {
		s += ": " + oneLine(c.message)
	}
	return s
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
