// Package visible shows text that may hold anything, such as names from files, without obeying it.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Text is s with what would act instead of being read written as Go writes it in strings: \x1b,
// \n, \u202e. That are control characters, among them ends of lines and tabs, bytes that are no
// UTF-8, what turns the direction of text (Unicode UAX #9), and what XML has no place for.
func Text(s string) string {
	if plain(s) || strings.IndexFunc(s, acts) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case !acts(r) || r == utf8.RuneError && size > 1:
			b.WriteRune(r)
		case r == utf8.RuneError:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// acts reports whether a character is to be written otherwise. One that stands for bytes that
// are no UTF-8 may be.
func acts(r rune) bool {
	return r < ' ' || r >= 0x7f && (unicode.IsControl(r) || r == utf8.RuneError || r == 0xFFFE || r == 0xFFFF ||
		r == 0x2028 || r == 0x2029 || unicode.Is(unicode.Bidi_Control, r))
}

// plain reports whether all of s is printable ASCII.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Width is how many columns of a terminal s takes: East Asian wide characters take two, what
// combines with others none (Unicode UAX #11 and #29; ambiguous ones take one).
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	return uniseg.StringWidth(s)
}
