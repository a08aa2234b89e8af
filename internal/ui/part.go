package ui

import (
	"maps"
	"net/url"
	"strconv"
)

// part is a part of a long list, the newest rows first; ?before=NUMBER asks for
// an older one.
type part[T any] struct {
	Rows          []T
	Older, Newest string // addresses of other parts, empty where there is none

	query        url.Values
	before, last uint64
}

// partOf is the part that an address asks for, without rows.
func partOf[T any](query url.Values) part[T] {
	p := part[T]{query: query}
	p.before, _ = strconv.ParseUint(query.Get("before"), 10, 64) // 0: from the newest on
	if p.before > 0 {
		p.Newest = withBefore(query, "")
	}
	return p
}

// add takes the next row, if it is of this part. Numbers descend.
func (p *part[T]) add(row T, number uint64) {
	switch {
	case p.before > 0 && number >= p.before:
	case len(p.Rows) < rowsShown:
		p.Rows, p.last = append(p.Rows, row), number
	case p.Older == "":
		p.Older = withBefore(p.query, strconv.FormatUint(p.last, 10))
	}
}

// withBefore is the page's address with another beginning.
func withBefore(query url.Values, number string) string {
	q := maps.Clone(query)
	if q.Del("before"); number != "" {
		q.Set("before", number)
	}
	return "?" + q.Encode()
}
