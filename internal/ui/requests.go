package ui

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/recording"
)

// rowsShown bounds a table: more would be slow to render and to read.
const rowsShown = 200

type requestFilter struct {
	Kind string // resource.group, resource or kind
	Verb string
	Code string // such as 409 or 4xx
	By   string // all: not only the operator
	Name string // part of the object's
}

type requestList struct {
	part[recording.Request]
	Filter              requestFilter
	Kinds, Verbs, Codes []string // to choose from, with what is chosen and "" for all
	Total, Matching     int
}

// listRequests picks requests; ?before=SEQ pages through them.
func listRequests(rec recording.Recording, query url.Values) requestList {
	f := requestFilter{Kind: query.Get("kind"), Verb: query.Get("verb"), Code: query.Get("code"), By: query.Get("by"), Name: query.Get("name")}
	out := requestList{part: partOf[recording.Request](query), Filter: f}
	kinds, verbs, codes := map[string]bool{"": true, f.Kind: true}, map[string]bool{"": true, f.Verb: true}, map[string]bool{"": true, f.Code: true}
	for _, q := range slices.Backward(rec.Requests) {
		if f.By != "all" && q.User != rec.Operator {
			continue
		}
		out.Total++
		kinds[resourceOf(q)], verbs[q.Verb], codes[strconv.Itoa(q.Code)], codes[codeClass(q.Code)] = true, true, true, true
		if !f.matches(q) {
			continue
		}
		out.Matching++
		out.add(q, q.Seq)
	}
	out.Kinds, out.Verbs, out.Codes = sorted(kinds), sorted(verbs), sorted(codes)
	return out
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

func (f requestFilter) matches(q recording.Request) bool {
	kind := f.Kind == "" || f.Kind == resourceOf(q) || strings.EqualFold(f.Kind, q.Resource) || strings.EqualFold(f.Kind, q.Kind)
	code := f.Code == "" || f.Code == strconv.Itoa(q.Code) || f.Code == codeClass(q.Code)
	return kind && code && (f.Verb == "" || f.Verb == q.Verb) && strings.Contains(q.Name, f.Name)
}

func codeClass(code int) string { return strconv.Itoa(code/100) + "xx" }

func codeText(code int) string { return strings.ToLower(http.StatusText(code)) }

// resourceOf is what a request is about, such as deployments.apps/scale.
func resourceOf(q recording.Request) string {
	if q.Resource == "" {
		return q.Path
	}
	name := q.Resource
	if q.Group != "" {
		name += "." + q.Group
	}
	if q.Subresource != "" {
		name += "/" + q.Subresource
	}
	return name
}

func unchanged(q recording.Request) bool { return q.Writes() && q.Effect() == "unchanged" }
