package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
)

// graph judges the graph of a channel by the rules of operator-registry: there is
// one head, which nothing replaces or skips; the chain of replaces that begins
// there reaches every entry that is not skipped; no bundle replaces itself, at
// whatever distance. The last of the chain may replace what is not there.
func (k *checker) graph(ch Channel) {
	add := func(hint, format string, args ...any) {
		k.add(hint, "channel %s/%s: %s", ch.Package, ch.Name, fmt.Sprintf(format, args...))
	}
	before := len(k.problems)
	var names []string
	for _, e := range ch.Entries {
		names = append(names, e.Name)
	}
	for _, name := range duplicates(names) {
		add("", "the entry %s is listed twice", name)
	}
	for _, e := range ch.Entries {
		if slices.Contains(e.Skips, "") {
			add("", "the entry %s skips one without a name", e.Name)
		}
		if _, err := semver.ParseRange(e.SkipRange); e.SkipRange != "" && err != nil {
			add(`write the annotation olm.skipRange like ">=1.0.0 <1.2.0"`, "%s: %q is not a range of versions: %v", e.Name, e.SkipRange, err)
		}
	}
	if len(k.problems) > before {
		return
	}
	switch heads := heads(ch); {
	case len(ch.Entries) == 0:
		add("", "it has no entries")
	case len(heads) == 0:
		add("correct spec.replaces or spec.skips of one of them", "there is no newest bundle, as each is replaced or skipped by another: %s", cycle(ch))
	case len(heads) > 1:
		add("set spec.replaces in the newer one's CSV, or let the versions decide with --mode semver",
			"there are several newest bundles, which nothing replaces: %s", strings.Join(heads, ", "))
	default:
		stranded, circle := ch.Stranded(heads[0])
		slices.Sort(stranded)
		if circle != nil {
			add("correct spec.replaces of one of them", "bundles replace each other in a circle: %s", strings.Join(circle, " -> "))
		} else if len(stranded) > 0 {
			add("let a newer bundle replace or skip it, or let the versions decide with --mode semver",
				"no chain of updates leads from %s to the newest bundle, %s", strings.Join(stranded, ", "), heads[0])
		}
	}
}

// heads are the entries that no other replaces or skips, sorted.
func heads(ch Channel) []string {
	older := map[string]bool{}
	for _, e := range ch.Entries {
		older[e.Replaces] = true
		for _, s := range e.Skips {
			older[s] = true
		}
	}
	var heads []string
	for _, e := range ch.Entries {
		if !older[e.Name] {
			heads = append(heads, e.Name)
		}
	}
	slices.Sort(heads)
	return heads
}

// Head is the newest bundle of the channel; "" where there is not exactly one.
func (ch Channel) Head() string {
	if list := heads(ch); len(list) == 1 {
		return list[0]
	}
	return ""
}

// Stranded are the entries from which OLM finds no way to the head: they are
// neither skipped nor in the chain of what replaces what, which begins there and
// ends at one that any entry skips. circle is where that chain meets itself.
func (ch Channel) Stranded(head string) (names, circle []string) {
	byName, skipped := map[string]Entry{}, map[string]bool{}
	for _, e := range ch.Entries {
		byName[e.Name] = e
		for _, s := range e.Skips {
			skipped[s] = true
		}
	}
	var path []string
	for at := head; at != ""; {
		i := slices.Index(path, at)
		path = append(path, at)
		if i >= 0 {
			circle = path[i:]
			break
		}
		e, ok := byName[at]
		if !ok || skipped[e.Replaces] {
			break
		}
		at = e.Replaces
	}
	for _, e := range ch.Entries {
		if !skipped[e.Name] && !slices.Contains(path, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names, circle
}

// cycle finds bundles that are each other's predecessors, for the message.
func cycle(ch Channel) string {
	// Everything here has a newer one, so walking up must come round.
	newer := func(name string) string {
		i := slices.IndexFunc(ch.Entries, func(e Entry) bool { return e.Replaces == name || slices.Contains(e.Skips, name) })
		return ch.Entries[i].Name
	}
	var path []string
	for at := ch.Entries[0].Name; ; at = newer(at) {
		i := slices.Index(path, at)
		path = append(path, at)
		if i >= 0 {
			path = path[i:]
			slices.Reverse(path)
			return strings.Join(path, " -> ")
		}
	}
}
