package ui

import (
	"net/url"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/recording"
)

// levels are those of the filter, the most important first.
var levels = []string{recording.LevelError, recording.LevelWarning, recording.LevelInfo, recording.LevelDebug}

type logFilter struct {
	Text      string // part of the line, in whichever case
	Level     string // at least; empty: also lines that do not say theirs
	Reconcile string // recording.Reconcile.LogID
}

// loggedLine is a line with the call that logged it.
type loggedLine struct {
	recording.Line
	Call *recording.Reconcile // nil: not known
	Rest []string             // what goes on behind it, such as a stack
}

// callURL is a call's place on the page Reconciles.
func callURL(c recording.Reconcile) string { return addressOf(c.Object) + "#call-" + c.ID }

// logURL is the address of the lines of one call.
func logURL(logID string) string { return "/logs?" + url.Values{"reconcile": {logID}}.Encode() }

type lineList struct {
	part[loggedLine]
	Filter        logFilter
	Levels        []string
	Of            *recording.Reconcile // of the filter
	Kept, Matches int                  // a line with what goes on behind it counts once
	Lost          uint64
	// Untied says why no line has a link to a reconcile; empty where some have.
	Untied string
}

// listLines picks lines; ?before=NUMBER pages through them.
func listLines(rec recording.Recording, query url.Values) lineList {
	f := logFilter{Text: query.Get("text"), Level: query.Get("level"), Reconcile: query.Get("reconcile")}
	calls := map[string]*recording.Reconcile{}
	for i, c := range rec.Reconciles {
		if c.LogID != "" {
			calls[c.LogID] = &rec.Reconciles[i]
		}
	}
	out := lineList{part: partOf[loggedLine](query), Filter: f, Levels: levels, Of: calls[f.Reconcile], Lost: rec.LinesLost(), Untied: untied(rec, len(calls))}
	var rest []string
	for i, l := range slices.Backward(rec.Lines) {
		if l.More && i > 0 {
			rest = append(rest, l.Text)
			continue
		}
		slices.Reverse(rest)
		line := loggedLine{l, calls[l.LogID], rest}
		rest = nil
		if out.Kept++; !f.matches(line) {
			continue
		}
		out.Matches++
		out.add(line, l.Number)
	}
	return out
}

func (f logFilter) matches(l loggedLine) bool {
	if f.Reconcile != "" && f.Reconcile != l.LogID {
		return false
	}
	if f.Level != "" && (l.Level == "" || slices.Index(levels, l.Level) > slices.Index(levels, f.Level)) {
		return false
	}
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(f.Text)) }
	return has(l.Text) || slices.ContainsFunc(l.Rest, has)
}

// untied says why lines cannot be tied to calls.
func untied(rec recording.Recording, calls int) string {
	switch {
	case len(rec.Lines) == 0 || len(rec.Reconciles) == 0:
		return ""
	case calls == 0:
		return "Lines cannot be tied to reconciles: the operator's controller-runtime is older than 0.14, or replaced by a directory."
	case !slices.ContainsFunc(rec.Lines, func(l recording.Line) bool { return l.LogID != "" }):
		return "No line can be tied to a reconcile: log with the logger of Reconcile's context, log.FromContext(ctx), which adds reconcileID."
	}
	return ""
}
