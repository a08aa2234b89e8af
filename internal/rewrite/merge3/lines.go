package merge3

import (
	"slices"
	"strings"
)

// Conflict is a place where two changes of a text meet.
type Conflict struct {
	First, Last int // lines of the user's text, counted from 1; Last < First: between two lines
}

// Lines carries the change from base to theirs over to mine, line by line.
// Lines that only one of the two changed become what it made of them; changes
// next to each other do not disturb each other. Where both changed the same
// lines, or put different lines at the same place, mine stays and a Conflict
// says where. No line that mine has and base has not is ever left out.
func Lines(base, mine, theirs []byte) ([]byte, []Conflict) {
	m := &merger{base: splitLines(base), mine: splitLines(mine), theirs: splitLines(theirs)}
	m.run(hunks(m.base, m.mine), hunks(m.base, m.theirs))
	m.place()
	return joinLines(m.out), m.conflicts
}

// joinLines puts lines together. Only the last may be without a line end.
func joinLines(lines []string) []byte {
	var out []byte
	for i, line := range lines {
		out = append(out, line...)
		if i < len(lines)-1 && !strings.HasSuffix(line, "\n") {
			out = append(out, '\n')
		}
	}
	return out
}

// hunk replaces the lines base[from:to] by lines.
type hunk struct {
	from, to int
	lines    []string
}

// meets says whether two changes of the same base have lines in common, or
// insert at the same place or inside of each other.
func (h hunk) meets(o hunk) bool {
	if h.from == h.to && o.from == o.to {
		return h.from == o.from
	}
	return h.from < o.to && o.from < h.to
}

func (h hunk) before(o hunk) bool {
	return h.from < o.from || h.from == o.from && h.to < o.to
}

type merger struct {
	base, mine, theirs []string

	out       []string
	at        int // lines of base that are dealt with
	shift     int // line of mine minus line of base at that place
	conflicts []Conflict
	unplaced  []unplaced
	gone      []hunk // lines that both took out
}

// unplaced is a change that met one of the user's.
type unplaced struct {
	hunk
	conflict Conflict
}

// run walks through both lists of changes, which are sorted.
func (m *merger) run(mine, theirs []hunk) {
	for len(mine)+len(theirs) > 0 {
		var a, b []hunk // changes that meet, directly or through others
		if len(theirs) == 0 || len(mine) > 0 && mine[0].before(theirs[0]) {
			a, mine = mine[:1], mine[1:]
		} else {
			b, theirs = theirs[:1], theirs[1:]
		}
		for {
			switch {
			case len(mine) > 0 && slices.ContainsFunc(b, mine[0].meets):
				a, mine = append(slices.Clip(a), mine[0]), mine[1:]
				continue
			case len(theirs) > 0 && slices.ContainsFunc(a, theirs[0].meets):
				b, theirs = append(slices.Clip(b), theirs[0]), theirs[1:]
				continue
			}
			break
		}
		m.settle(a, b)
	}
	m.out = append(m.out, m.base[m.at:]...)
}

// settle applies changes that meet: a of mine, b of theirs, one of them empty
// where nothing meets.
func (m *merger) settle(a, b []hunk) {
	both := append(slices.Clone(a), b...)
	from, to := both[0].from, both[0].to
	for _, h := range both {
		from, to = min(from, h.from), max(to, h.to)
	}
	m.out = append(m.out, m.base[m.at:from]...)
	m.at = to
	first := from + m.shift
	for _, h := range a {
		m.shift += len(h.lines) - (h.to - h.from)
	}
	mine := apply(m.base, from, to, a)
	if len(a) == 0 {
		m.out = append(m.out, apply(m.base, from, to, b)...)
		return
	}
	m.out = append(m.out, mine...)
	if len(b) == 0 {
		return
	}
	if slices.Equal(mine, apply(m.base, from, to, b)) {
		m.gone = append(m.gone, slices.DeleteFunc(slices.Clone(b), func(h hunk) bool { return len(h.lines) > 0 })...)
		return
	}
	c := Conflict{First: first + 1, Last: first + len(mine)}
	for _, h := range b {
		m.unplaced = append(m.unplaced, unplaced{h, c})
	}
}

// place puts changes that met one of the user's where he moved the lines to: a
// block that stands in the result just once, as it was in base, or as many
// lines as it becomes, each of which does. Lines that both took out, and mine has at
// another place, go from there. What theirs has elsewhere stays in any case.
func (m *merger) place() {
	for _, h := range m.gone {
		if _, once := only(m.base, m.base[h.from:h.to]); once {
			m.placeSlid(h)
		}
	}
	for _, u := range m.unplaced {
		old := m.base[u.from:u.to]
		at, once := only(m.out, old)
		_, alone := only(m.base, old)
		switch {
		case once && find(m.theirs, old) < 0:
			m.out = slices.Replace(m.out, at, at+len(old), u.lines...)
		case once && alone && len(u.lines) == 0 && find(m.mine, old) >= 0: // both moved it there
		case len(old) == len(u.lines) && m.placeLines(old, u.lines):
		case len(u.lines) == 0 && m.placeSlid(u.hunk):
		case !slices.Contains(m.conflicts, u.conflict):
			m.conflicts = append(m.conflicts, u.conflict)
		}
	}
}

// placeLines replaces line by line, all of them or none.
func (m *merger) placeLines(old, lines []string) bool {
	out := slices.Clone(m.out)
	for i, line := range old {
		if line == lines[i] {
			continue
		}
		at, ok := only(m.out, old[i:i+1])
		if !ok || find(m.theirs, old[i:i+1]) >= 0 {
			return false
		}
		out[at] = lines[i]
	}
	m.out = out
	return true
}

// placeSlid removes lines that could as well be others: of "a b a b", to take
// out "a b" and "b a" is the same.
func (m *merger) placeSlid(h hunk) bool {
	n := h.to - h.from
	for h.from > 0 && m.base[h.from-1] == m.base[h.to-1] {
		h.from, h.to = h.from-1, h.to-1
	}
	for ; ; h.from, h.to = h.from+1, h.to+1 {
		if at, ok := only(m.out, m.base[h.from:h.to]); ok && find(m.theirs, m.base[h.from:h.to]) < 0 {
			m.out = slices.Delete(m.out, at, at+n)
			return true
		}
		if h.to == len(m.base) || m.base[h.from] != m.base[h.to] {
			return false
		}
	}
}

// only finds a block of lines that is in the text exactly once. A block
// without a word in it says too little about where it is.
func only(text, block []string) (at int, ok bool) {
	if !strings.ContainsAny(strings.Join(block, ""), "abcdefghijklmnopqrstuvwxyz") {
		return 0, false
	}
	at = find(text, block)
	return at, at >= 0 && find(text[at+1:], block) < 0
}

// find returns the first line of a block in a text, or -1.
func find(text, block []string) int {
	for i := 0; i+len(block) <= len(text); i++ {
		if slices.Equal(text[i:i+len(block)], block) {
			return i
		}
	}
	return -1
}

// apply returns base[from:to] with changes that lie inside of it.
func apply(base []string, from, to int, changes []hunk) []string {
	var out []string
	for _, h := range changes {
		out = append(append(out, base[from:h.from]...), h.lines...)
		from = h.to
	}
	return append(out, base[from:to]...)
}

// splitLines returns the lines of a text with their line ends.
func splitLines(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }

// maxTable bounds the memory that comparing two texts may take: lines times
// lines. Beyond it everything between the first and the last difference counts
// as changed, which can make a conflict but no mistake.
const maxTable = 16 << 20

// hunks returns what turns a into b, as few lines as possible.
func hunks(a, b []string) []hunk {
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	endA, endB := len(a), len(b)
	for endA > from && endB > from && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	switch n, k := endA-from, endB-from; {
	case n == 0 && k == 0:
		return nil
	case n == 0 || k == 0 || n > maxTable/k:
		return []hunk{{from, endA, b[from:endB]}}
	}
	return differences(a, b, from, endA, endB)
}

// differences compares a[from:endA] with b[from:endB] by their longest common
// subsequence.
func differences(a, b []string, from, endA, endB int) []hunk {
	n, k := endA-from, endB-from
	// length[i*(k+1)+j] is that of the common lines of what follows i and j.
	length := make([]int32, (n+1)*(k+1))
	for i := n - 1; i >= 0; i-- {
		for j := k - 1; j >= 0; j-- {
			if a[from+i] == b[from+j] {
				length[i*(k+1)+j] = length[(i+1)*(k+1)+j+1] + 1
			} else {
				length[i*(k+1)+j] = max(length[(i+1)*(k+1)+j], length[i*(k+1)+j+1])
			}
		}
	}
	var out []hunk
	for i, j := 0, 0; i < n || j < k; {
		if i < n && j < k && a[from+i] == b[from+j] {
			i, j = i+1, j+1
			continue
		}
		i0, j0 := i, j
		for (i < n || j < k) && (i == n || j == k || a[from+i] != b[from+j]) {
			if j == k || i < n && length[(i+1)*(k+1)+j] >= length[i*(k+1)+j+1] {
				i++
			} else {
				j++
			}
		}
		out = append(out, hunk{from + i0, from + i, b[from+j0 : from+j]})
	}
	return out
}
