// Package lang holds the languages in which reports are written. A sentence stands in the code in English, as the
// format of its values; its form in another language is looked up by that English text, in one table per language.
// A test finds every sentence of the packages that write reports and fails when one has no entry, or an entry no
// sentence. Numbers, units and names of things are the same in all languages, and JSON and CSV are English.
package lang

import (
	"fmt"
	"strings"
	"unicode"
)

// Language is a language of reports. The zero one is English.
type Language string

// Languages.
const (
	English Language = "en"
	Chinese Language = "zh"
)

// Check says in one line what is wrong with the name of a language, or nothing.
func Check(name string) string {
	if Language(name) == English || Language(name) == Chinese {
		return ""
	}
	return fmt.Sprintf("%q is no language of the reports; use en or zh", name)
}

// Speaks is something that has words for itself in a language.
type Speaks interface{ In(Language) string }

// Of is an English text, without values, in the language. What has no entry stays as it is.
func (l Language) Of(s string) string {
	if l != Chinese {
		return s
	}
	for _, t := range chinese {
		if out, ok := t[s]; ok {
			return out
		}
	}
	return s
}

// Sprintf writes values by a format, which is translated, as are values that have words in the language. Entries of
// the table may take values in another order, by their numbers.
func (l Language) Sprintf(format string, args ...any) string {
	if l != Chinese {
		return fmt.Sprintf(format, args...)
	}
	said := make([]any, len(args))
	for i, a := range args {
		if s, ok := a.(Speaks); ok {
			a = s.In(l)
		}
		said[i] = a
	}
	return fmt.Sprintf(l.Of(format), said...)
}

// Counted is a number of things, of which what is one: "3 frames".
func (l Language) Counted(n int64, number, what string) string {
	switch {
	case l == Chinese:
		return number + " " + l.Of(CountPrefix+what)
	case n == 1:
		return "1 " + what
	}
	return number + " " + what + "s"
}

// CountPrefix stands before the key of a thing that is counted: its entry begins with the measure word.
const CountPrefix = "# "

// Spaced puts one space between Chinese and Latin writing or digits, and none between Chinese characters or beside
// full-width punctuation, however a text was put together; commas and the like behind Chinese become full-width ones.
func Spaced(s string) string {
	if strings.IndexFunc(s, wide) < 0 {
		return s
	}
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if k := strings.IndexRune(",:;", r); k >= 0 && i > 0 && atWide(runes, i) {
			r = []rune("，：；")[k]
			runes[i] = r
		}
		if r == ' ' && i > 0 && i+1 < len(runes) {
			before, after := runes[i-1], runes[i+1]
			if full(before) || full(after) || wide(before) && wide(after) {
				continue
			}
		}
		if i > 0 && meet(runes[i-1], r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// atWide reports whether a comma or the like at i stands beside Chinese and before a space, or at the end.
func atWide(runes []rune, i int) bool {
	end := i+1 == len(runes)
	return (end || runes[i+1] == ' ') && (wide(runes[i-1]) || i+2 < len(runes) && wide(runes[i+2]))
}

// meet reports whether two neighbours are of the two ways of writing.
func meet(a, b rune) bool {
	return unicode.Is(unicode.Han, a) && (latin(b) || b == '+') || (latin(a) || a == '%') && unicode.Is(unicode.Han, b)
}

// latin reports whether a character is a letter or digit of ASCII.
func latin(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// full reports whether a character is full-width punctuation, which brings its own space.
func full(r rune) bool {
	return strings.ContainsRune("，。；：、？！（）《》“”【】", r)
}

// wide reports whether a character is Chinese, or the punctuation of Chinese.
func wide(r rune) bool { return unicode.Is(unicode.Han, r) || full(r) }
