// Package typo finds the word that was meant by one that is unknown.
package typo

import "strings"

// Nearest returns the word of the list that begins with s or is the fewest edits from it, or ""
// when none is near enough to be what was meant. Ties go to the earlier word.
func Nearest(s string, words []string) string {
	for _, w := range words {
		if len(s) > 2 && strings.HasPrefix(w, s) {
			return w
		}
	}
	best, bestDist := "", len(s)/2+1
	for _, w := range words {
		if d := editDistance(strings.ToLower(s), strings.ToLower(w)); d < bestDist {
			best, bestDist = w, d
		}
	}
	for _, w := range words {
		if best == "" && len(s) > 1 && s == initials(w) {
			best = w
		}
	}
	if best != "" {
		return best
	}
	bestDist = len(s)/4 + 1 // of a beginning, as "incst" is of incast-4to1
	for _, w := range words {
		if head := firstPart(w); head != w {
			if d := editDistance(strings.ToLower(s), strings.ToLower(head)); d < bestDist {
				best, bestDist = w, d
			}
		}
	}
	return best
}

// initials are the first letters of a name's parts.
func initials(name string) (out string) {
	for _, part := range strings.FieldsFunc(name, func(c rune) bool { return c == '-' || c == '_' || c == ' ' }) {
		out += part[:1]
	}
	return out
}

// firstPart is a name up to its first dash.
func firstPart(name string) string {
	head, _, _ := strings.Cut(name, "-")
	return head
}

// editDistance is the fewest letters put in, left out, replaced or swapped with their
// neighbour that make b of a (optimal string alignment, R. A. Wagner and M. J. Fischer 1974
// with Damerau's swaps), in bytes.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := last[j-1]
			if a[i-1] != b[j-1] {
				cost++
			}
			row[j] = min(cost, row[j-1]+1, last[j]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
