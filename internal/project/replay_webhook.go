package project

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// webhookFlags are the flags of create webhook for each field that PROJECT has
// of a resource's webhooks, with the flag and field for its details.
func webhookFlags() []webhookFlag {
	return []webhookFlag{
		{"defaulting", "defaulting", "defaultingPath", "defaulting-path"},
		{"validation", "programmatic-validation", "validationPath", "validation-path"},
		{"conversion", "conversion", "spoke", "spoke"},
	}
}

type webhookFlag struct{ field, flag, detail, detailFlag string }

// withDetails adds to the flags of a run of create webhook what PROJECT has of
// each of its webhooks.
func (e entry) withDetails(flags map[string]string) map[string]string {
	out := maps.Clone(flags)
	for _, w := range webhookFlags() {
		if _, ok := flags[w.flag]; ok {
			maps.Copy(out, e.webhookPart(w))
		}
	}
	return out
}

// webhookPart are the flags for one of the entry's webhooks, none where it has
// not got it.
func (e entry) webhookPart(w webhookFlag) map[string]string {
	webhooks, _ := e.fields["webhooks"].(map[string]any)
	if webhooks[w.field] != true {
		return nil
	}
	flags := map[string]string{w.flag: "true"}
	switch detail := webhooks[w.detail].(type) {
	case string:
		flags[w.detailFlag] = detail
	case []any:
		var list []string
		for _, item := range detail {
			list = append(list, fmt.Sprint(item))
		}
		flags[w.detailFlag] = strings.Join(list, ",")
	}
	if !e.HasAPI() && e.fields["external"] == true {
		maps.Copy(flags, e.externalFlags())
	}
	return flags
}

// dropWebhooks returns the webhooks of an entry without those to drop, nil
// where none are left.
func dropWebhooks(fields map[string]any, drop []string) (left map[string]any) {
	webhooks, _ := fields["webhooks"].(map[string]any)
	left = maps.Clone(webhooks)
	some := false
	for _, w := range webhookFlags() {
		if slices.Contains(drop, w.field) {
			delete(left, w.field)
			delete(left, w.detail)
		}
		some = some || left[w.field] == true
	}
	if !some {
		return nil
	}
	return left
}
