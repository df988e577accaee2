package report

import (
	"strings"
	"unicode"
)

// Visible replaces the control characters of names from files, which would act on a terminal:
// escape sequences move its cursor, and change its colours and title. Spaces stay.
func Visible(s string) string {
	hidden := func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
