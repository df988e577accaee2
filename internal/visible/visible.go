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

// Wrap cuts s where lines may end (Unicode UAX #14: between Chinese characters but not before their
// commas; else after blanks only, so that options and paths stay whole) into lines of at most width
// columns; blanks at their ends do not count, and a word that is longer has a line of its own. A
// number and its unit stay together. The lines add up to s.
func Wrap(s string, width int) (lines []string) {
	line, state := "", -1
	for len(s) > 0 {
		var next string
		for { // pieces until a line may end
			var piece string
			piece, s, _, state = uniseg.FirstLineSegmentInString(s, state)
			next += piece
			if s == "" || mayEnd(next, s) {
				break
			}
		}
		if line != "" && Width(line+strings.TrimRight(next, " ")) > width {
			lines, line = append(lines, line), ""
		}
		line += next
	}
	return append(lines, line)
}

// mayEnd reports whether a line may end between two pieces, where Unicode lets it.
func mayEnd(before, after string) bool {
	if strings.HasSuffix(before, " ") {
		return !endsInNumber(before) || !beginsWithUnit(after)
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	return Width(string(last)) > 1 || Width(string(first)) > 1
}

// endsInNumber reports whether what comes before a blank may be a number.
func endsInNumber(s string) bool {
	bare := strings.TrimRight(s, " ")
	return len(bare) < len(s) && bare != "" && bare[len(bare)-1] >= '0' && bare[len(bare)-1] <= '9'
}

// beginsWithUnit reports whether the first word is %, or as short as units are.
func beginsWithUnit(s string) bool {
	letters := strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII || r != '/' && !unicode.IsLetter(r) })
	if letters < 0 {
		letters = len(s)
	}
	return s[0] == '%' || letters > 0 && letters <= 4
}
