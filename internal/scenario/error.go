package scenario

import (
	"fmt"
	"strings"
)

// Error is what is wrong with a scenario: one line that says where, what, and
// what would be right.
type Error struct {
	File      string // file name, or the text of the --set that caused it
	Line, Col int    // 1-based; 0 when there is no place to point at
	Msg       string
}

func (e *Error) Error() string {
	file := strings.NewReplacer("\n", " ", "\r", " ").Replace(e.File)
	switch {
	case e.File == "":
		return e.Msg
	case e.Line == 0:
		return file + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d:%d: %s", file, e.Line, e.Col, e.Msg)
}

// pos is a place in a file; line 0 means the file as a whole.
type pos struct {
	file      string
	line, col int
}

func (p pos) errorf(format string, args ...any) *Error {
	msg := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	return &Error{File: p.file, Line: p.line, Col: p.col, Msg: msg}
}

// nearest returns the word of the list that begins with s or is the fewest edits from it, or ""
// when none is near enough to be what was meant. Ties go to the earlier word.
func nearest(s string, words []string) string {
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
	return best
}

// initials are the first letters of a name's parts.
func initials(name string) (out string) {
	for _, part := range strings.FieldsFunc(name, func(c rune) bool { return c == '-' || c == '_' || c == ' ' }) {
		out += part[:1]
	}
	return out
}

// suggest words the second half of an error about an unknown word: the nearest
// right one, or all of them.
func suggest(s string, words []string) string {
	if w := nearest(s, words); w != "" {
		return fmt.Sprintf("did you mean %q?", w)
	}
	return "use one of " + strings.Join(words, ", ")
}

// Nearest is the word of a list that s was probably meant to be, "" when none is near
// enough.
func Nearest(s string, words []string) string { return nearest(s, words) }

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
