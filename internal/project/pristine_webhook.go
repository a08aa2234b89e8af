package project

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// certSources are the sources of certificates, which PROJECT does not record.
func certSources() []string { return []string{"self", "cert-manager", "olm"} }

// webhooks renders the webhooks of all entries, which can stand on any of
// them, and adds what they are made of to out.
func (f *File) webhooks(p Scaffolder, at stage, out *Pristine, runs Runs, read func(string) []byte) (stage, error) {
	entries, err := f.entries()
	if err != nil {
		return at, err
	}
	sources := certSources() // a project has one of them
	for _, e := range entries {
		if e.Webhooks == nil || e.Webhooks.IsEmpty() {
			continue
		}
		id := e.id + " webhooks"
		variants := e.webhookVariants(sources)
		if known, ok := runs[id]; ok {
			variants = [][]Run{e.restrict(known)}
		}
		next, chosen, err := e.best(p, at, variants, read)
		if err != nil {
			return at, fmt.Errorf("render the webhooks of %s again: %w", describe(e.Group, e.Version, e.Kind), err)
		}
		out.Runs[id] = chosen
		out.Steps = append(out.Steps, newStep(id, e.Group, at, next))
		if at = next; len(chosen) > 0 {
			sources = []string{chosen[0].Flags["certs"]}
		}
	}
	return at, nil
}

// webhookVariants lists the runs of create webhook that may have made the
// entry's webhooks: at once, or one after the other.
func (e entry) webhookVariants(sources []string) [][]Run {
	var parts []map[string]string
	for _, w := range webhookFlags() {
		if flags := e.webhookPart(w.field); len(flags) > 0 {
			parts = append(parts, flags)
		}
	}
	all := map[string]string{}
	for _, flags := range parts {
		maps.Copy(all, flags)
	}
	orders := [][]map[string]string{{all}}
	if len(parts) > 1 {
		orders = append(orders, parts, slices.Concat(parts[1:], parts[:1]))
	}
	if len(parts) > 2 {
		last := parts[2]
		both := map[string]string{}
		maps.Copy(both, parts[0])
		maps.Copy(both, parts[1])
		orders = append(orders, []map[string]string{both, last})
	}
	var out [][]Run
	for _, source := range sources {
		for _, order := range orders {
			var runs []Run
			for _, flags := range order {
				flags = maps.Clone(flags)
				flags["certs"] = source
				runs = append(runs, Run{Flags: flags, Webhook: true})
			}
			out = append(out, runs)
		}
	}
	return out
}

// webhookPart are the flags for one of the entry's webhooks, none where it has
// not got it.
func (e entry) webhookPart(field string) map[string]string {
	webhooks, ok := e.fields["webhooks"].(map[string]any)
	if !ok || webhooks[field] != true {
		return nil
	}
	flags := map[string]string{}
	for _, w := range webhookFlags() {
		if w.field != field {
			continue
		}
		flags[w.flag] = strconv.FormatBool(true)
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
	}
	if !e.HasAPI() && e.fields["external"] == true {
		maps.Copy(flags, e.externalFlags())
	}
	return flags
}

// restrict takes out of known runs what the entry no longer has.
func (e entry) restrict(known []Run) []Run {
	var out []Run
	for _, r := range known {
		flags, some := maps.Clone(r.Flags), false
		for _, w := range webhookFlags() {
			if _, ok := flags[w.flag]; !ok {
				continue
			}
			now := e.webhookPart(w.field)
			some = some || len(now) > 0
			delete(flags, w.flag)
			delete(flags, w.detailFlag)
			maps.Copy(flags, now)
		}
		if some {
			out = append(out, Run{Flags: flags, Single: r.Single, Webhook: true})
		}
	}
	return out
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
