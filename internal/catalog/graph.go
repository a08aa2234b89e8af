package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
)

// problem is something wrong with a channel.
type problem struct{ text, hint string }

// channelProblems judges the graph of a channel by the rules of
// operator-registry: there is one head, which nothing replaces or skips; the
// chain of replaces that begins there reaches every entry that is not skipped;
// no bundle replaces itself, at whatever distance. The last of the chain may
// replace what is not there.
func channelProblems(ch Channel) []problem {
	var names []string
	for _, e := range ch.Entries {
		names = append(names, e.Name)
	}
	if len(names) == 0 {
		return []problem{{text: "it has no entries"}}
	}
	var found []problem
	for _, name := range duplicates(names) {
		found = append(found, problem{text: fmt.Sprintf("the entry %s is listed twice", name)})
	}
	for _, e := range ch.Entries {
		if slices.Contains(e.Skips, "") {
			found = append(found, problem{text: fmt.Sprintf("the entry %s skips one without a name", e.Name)})
		}
		if _, err := semver.ParseRange(e.SkipRange); e.SkipRange != "" && err != nil {
			found = append(found, problem{fmt.Sprintf("%s: %q is not a range of versions: %v", e.Name, e.SkipRange, err),
				`write the annotation olm.skipRange like ">=1.0.0 <1.2.0"`})
		}
	}
	if len(found) > 0 {
		return found
	}
	return graphProblems(ch)
}

func graphProblems(ch Channel) []problem {
	heads := heads(ch)
	switch len(heads) {
	case 0:
		return []problem{{"there is no newest bundle, as each is replaced or skipped by another: " + cycle(ch), "correct spec.replaces or spec.skips of one of them"}}
	case 1:
		return chainProblems(ch, heads[0])
	}
	return []problem{{"there are several newest bundles, which nothing replaces: " + strings.Join(heads, ", "),
		"set spec.replaces in the newer one's CSV, or let the versions decide with --mode semver"}}
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

// chainProblems follows the chain of replaces from the head.
func chainProblems(ch Channel, head string) []problem {
	stranded, circle := ch.Stranded(head)
	switch {
	case circle != nil:
		return []problem{{"bundles replace each other in a circle: " + strings.Join(circle, " -> "), "correct spec.replaces of one of them"}}
	case len(stranded) == 0:
		return nil
	}
	slices.Sort(stranded)
	return []problem{{fmt.Sprintf("no chain of updates leads from %s to the newest bundle, %s", strings.Join(stranded, ", "), head),
		"let a newer bundle replace or skip it, or let the versions decide with --mode semver"}}
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
	next := map[string][]string{}
	for _, e := range ch.Entries {
		for _, older := range append([]string{e.Replaces}, e.Skips...) {
			if older != "" {
				next[e.Name] = append(next[e.Name], older)
			}
		}
	}
	// Everything here has a newer one, so walking up must come round.
	newer := func(name string) string {
		for _, e := range ch.Entries {
			if slices.Contains(next[e.Name], name) {
				return e.Name
			}
		}
		return ""
	}
	var path []string
	for at := ch.Entries[0].Name; at != ""; at = newer(at) {
		if i := slices.Index(path, at); i >= 0 {
			path = append(path[i:], at)
			slices.Reverse(path)
			return strings.Join(path, " -> ")
		}
		path = append(path, at)
	}
	return strings.Join(path, ", ")
}
