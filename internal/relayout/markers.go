package relayout

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/generate/arguments"
)

var (
	rbacMarker = lazy.Delayed(`^\s*//\s*\+kubebuilder:rbac:`)

	webhookMarker = lazy.Delayed(`(?m)^\s*//\s*\+kubebuilder:webhook:.*$`)
	webhookURL    = lazy.Delayed(`[:,]path="?([^,"\s]+)`)
	webhookName   = lazy.Delayed(`[:,]name="?([^,"\s]+)`)
)

// ClusterScoped lists resources of Kubernetes itself that no Role can grant.
var ClusterScoped = []string{
	"apiservices", "certificatesigningrequests", "clusterrolebindings", "clusterroles", "clustertrustbundles",
	"componentstatuses", "csidrivers", "csinodes", "customresourcedefinitions", "deviceclasses", "flowschemas",
	"ingressclasses", "ipaddresses", "mutatingadmissionpolicies", "mutatingwebhookconfigurations", "namespaces",
	"nodes", "persistentvolumes", "priorityclasses", "prioritylevelconfigurations", "resourceslices",
	"runtimeclasses", "selfsubjectaccessreviews", "selfsubjectreviews", "selfsubjectrulesreviews", "servicecidrs",
	"storageclasses", "subjectaccessreviews", "tokenreviews", "validatingadmissionpolicies",
	"validatingadmissionpolicybindings", "validatingwebhookconfigurations", "volumeattachments",
	"volumeattributesclasses",
}

// RestrictMarkers gives every +kubebuilder:rbac marker of a Go file without a
// namespace the given one, so that its rule goes into a Role. Rules that a
// Role cannot hold, on URLs and on cluster-scoped resources, stay; notes name
// them, as file:line and what is wrong.
func RestrictMarkers(name string, src []byte, namespace string) (out []byte, notes []string) {
	n := 0
	for line := range bytes.Lines(src) {
		n++
		text, marker := string(line), rbacMarker.FindIndex(line)
		var rule rbacRule
		var err error
		if marker != nil {
			rule, err = arguments.Parse[rbacRule](strings.TrimSpace(text[marker[1]:]))
		}
		before := strings.Index(text, "resources=")
		scope := clusterResource(rule.Resources)
		if before < 0 || len(rule.Resources) == 0 {
			scope = "a rule on URLs"
		}
		switch {
		case marker == nil || err != nil || strings.Contains(text, "namespace="): // of what does not parse, generate tells
			out = append(out, line...)
		case scope != "":
			notes = append(notes, fmt.Sprintf("%s:%d: %s stays cluster-wide, and needs a ClusterRole", name, n, scope))
			out = append(out, line...)
		default:
			out = append(out, text[:before]+"namespace="+namespace+","+text[before:]...)
		}
	}
	return out, notes
}

// rbacRule is what matters here of a +kubebuilder:rbac marker, and its other arguments.
type rbacRule struct {
	Resources []string `marker:",optional"`
	Namespace string   `marker:",optional"`

	Groups, ResourceNames, Verbs []string `marker:",optional"`
	URLs                         []string `marker:"urls,optional"`
	RoleName                     string   `marker:",optional"`
}

// clusterResource returns the first of several resources that is cluster-scoped.
func clusterResource(list []string) string {
	for _, r := range list {
		r, _, _ = strings.Cut(r, "/")
		if slices.Contains(ClusterScoped, r) {
			return r
		}
	}
	return ""
}

// WidenMarkers takes back what RestrictMarkers did. Markers that the user
// restricted stay so; notes name those with the same namespace.
func WidenMarkers(name string, src []byte, namespace string) (out []byte, notes []string) {
	n := 0
	for line := range bytes.Lines(src) {
		n++
		if rbacMarker.Match(line) {
			line = bytes.Replace(line, []byte("namespace="+namespace+",resources="), []byte("resources="), 1)
			if bytes.Contains(append(bytes.ReplaceAll(bytes.TrimSpace(line), []byte(`"`), nil), ','), []byte("namespace="+namespace+",")) {
				notes = append(notes, fmt.Sprintf("%s:%d: stays restricted to the namespace %s, in a Role that role_binding.yaml no longer binds: add a RoleBinding unless there is one, or remove namespace= here and run 'mysdk generate'", name, n, namespace))
			}
		}
		out = append(out, line...)
	}
	return out, notes
}

// WebhookNames are the names in the +kubebuilder:webhook markers of a Go file, by
// the paths of their URLs.
func WebhookNames(src []byte) map[string]string {
	names := map[string]string{}
	for _, marker := range webhookMarker.FindAllString(string(src), -1) {
		url, name := webhookURL.FindStringSubmatch(marker), webhookName.FindStringSubmatch(marker)
		if url != nil && name != nil {
			names[url[1]] = name[1]
		}
	}
	return names
}

// disableWebhooks makes plain comments of the markers in a Go file of those webhooks
// that before has and after has not.
func disableWebhooks(src, before, after []byte) []byte {
	was, is := WebhookNames(before), WebhookNames(after)
	return webhookMarker.ReplaceAllFunc(src, func(marker []byte) []byte {
		for url := range WebhookNames(marker) {
			if was[url] != "" && is[url] == "" {
				return bytes.Replace(marker, []byte("+"), nil, 1)
			}
		}
		return marker
	})
}
