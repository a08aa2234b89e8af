package clierr

import (
	"fmt"
	"strings"
)

// beginning is how many letters of a word tell which one it is to become.
const beginning = 3

// Closest returns the candidate that word was probably meant to be, or "" when
// none is near: at most one edit for every three letters, or word is the
// beginning of it and of no other.
func Closest(word string, candidates []string) string {
	best, least := "", max(1, len(word)/3)+1
	var begun []string
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < least {
			best, least = c, d
		}
		if len(word) >= beginning && strings.HasPrefix(strings.ToLower(c), strings.ToLower(word)) {
			begun = append(begun, c)
		}
	}
	if best == "" && len(begun) == 1 {
		return begun[0]
	}
	return best
}

// DidYouMean is the hint for a misspelt word: the nearest candidate, or all of
// them where none is near.
func DidYouMean(word string, candidates []string) string {
	if c := Closest(word, candidates); c != "" {
		return fmt.Sprintf("did you mean %q?", c)
	}
	if len(candidates) == 0 {
		return ""
	}
	return "choose one of: " + strings.Join(candidates, ", ")
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between a and b (optimal string alignment).
func distance(a, b string) int {
	before, last := []int{}, make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
