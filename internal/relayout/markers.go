package relayout

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

var (
	rbacMarker   = lazy.Delayed(`^\s*//\s*\+kubebuilder:rbac:`)
	rbacResource = lazy.Delayed(`(^|[:,])resources="?([^,"]*)"?`)

	webhookMarker = lazy.Delayed(`(?m)^\s*//\s*\+kubebuilder:webhook:.*$`)
	webhookURL    = lazy.Delayed(`[:,]path="?([^,"\s]+)`)
	webhookName   = lazy.Delayed(`[:,]name="?([^,"\s]+)`)
)

// ClusterScoped lists resources of Kubernetes itself that no Role can grant.
func ClusterScoped() []string {
	return []string{
		"apiservices", "certificatesigningrequests", "clusterrolebindings", "clusterroles", "clustertrustbundles",
		"componentstatuses", "csidrivers", "csinodes", "customresourcedefinitions", "deviceclasses", "flowschemas",
		"ingressclasses", "ipaddresses", "mutatingadmissionpolicies", "mutatingwebhookconfigurations", "namespaces",
		"nodes", "persistentvolumes", "priorityclasses", "prioritylevelconfigurations", "resourceslices",
		"runtimeclasses", "selfsubjectaccessreviews", "selfsubjectreviews", "selfsubjectrulesreviews", "servicecidrs",
		"storageclasses", "subjectaccessreviews", "tokenreviews", "validatingadmissionpolicies",
		"validatingadmissionpolicybindings", "validatingwebhookconfigurations", "volumeattachments",
		"volumeattributesclasses",
	}
}

// RestrictMarkers gives every +kubebuilder:rbac marker of a Go file without a
// namespace the given one, so that its rule goes into a Role. Rules that a
// Role cannot hold, on URLs and on cluster-scoped resources, stay; notes name
// them, as file:line and what is wrong.
func RestrictMarkers(name string, src []byte, namespace string) (out []byte, notes []string) {
	n := 0
	for line := range bytes.Lines(src) {
		n++
		text := string(line)
		if !rbacMarker.MatchString(text) || strings.Contains(text, "namespace=") {
			out = append(out, line...)
			continue
		}
		at := rbacResource.FindStringSubmatchIndex(text)
		scope := ""
		switch {
		case at == nil:
			scope = "a rule on URLs"
		default:
			scope = clusterResource(text[at[4]:at[5]])
		}
		if scope != "" {
			notes = append(notes, fmt.Sprintf("%s:%d: %s stays cluster-wide, and needs a ClusterRole", name, n, scope))
			out = append(out, line...)
			continue
		}
		before := at[3] // behind the colon or comma before resources=
		out = append(out, text[:before]+"namespace="+namespace+","+text[before:]...)
	}
	return out, notes
}

// clusterResource returns the first of several resources, joined by
// semicolons, that is cluster-scoped.
func clusterResource(list string) string {
	for _, r := range strings.Split(list, ";") {
		r, _, _ = strings.Cut(r, "/")
		if slices.Contains(ClusterScoped(), r) {
			return r
		}
	}
	return ""
}

// WidenMarkers takes back what RestrictMarkers did. Markers with another
// namespace stay.
func WidenMarkers(src []byte, namespace string) []byte {
	field := `namespace="?` + regexp.QuoteMeta(namespace) + `"?`
	first := regexp.MustCompile(`:` + field + `,`)
	later := regexp.MustCompile(`,` + field + `(,|\s|$)`)
	var out []byte
	for line := range bytes.Lines(src) {
		if rbacMarker.Match(line) {
			line = later.ReplaceAll(first.ReplaceAll(line, []byte(":")), []byte("$1"))
		}
		out = append(out, line...)
	}
	return out
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
