package visible

import (
	"slices"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for s, want := range map[string]string{
		"plain h0, 数据 µ é → \u00a0|": "plain h0, 数据 µ é → \u00a0|", "": "",
		"\x1b[31mred": `\x1b[31mred`, "a\nb\tc\rd": `a\nb\tc\rd`, "\x00\x7f": `\x00\x7f`, "\u009b31m": `\u009b31m`,
		"\u202egnp.exe": `\u202egnp.exe`, "a\xffb": `a\xffb`, "\uFFFD": "\uFFFD", "\u2028": `\u2028`, "\uFFFE": `\ufffe`,
		"<svg onload=x> \"q\"": "<svg onload=x> \"q\"", "👩‍🔬": "👩‍🔬",
	} {
		if got := Text(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// Widths as UAX #11 has them: wide and full-width 2, ambiguous and half-width 1.
func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "h0": 2, "数据": 4, "東京h1": 6, "e\u0301": 1, "→µ…": 3, "ＡＢ": 4, "ｱ": 1, "👩‍🔬": 2, "한글": 4} {
		if got := Width(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
}

// Lines end after blanks and between Chinese characters, not before a comma or a closing bracket
// and not between a number and its unit; what they add up to is what was given.
func TestWrap(t *testing.T) {
	for _, c := range []struct {
		s     string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two three", 7, []string{"one two ", "three"}},
		{"one two three", 13, []string{"one two three"}},
		{"it took 6.42 us, no more", 12, []string{"it took ", "6.42 us, no ", "more"}},
		{"see docs/guide, or --set two-stages", 14, []string{"see ", "docs/guide, or ", "--set ", "two-stages"}},
		{"longer than that", 4, []string{"longer ", "than ", "that"}},
		{"队列必然增长，谁也躲不开。", 14, []string{"队列必然增长，", "谁也躲不开。"}},
		{"队列必然增长，谁也躲不开。", 12, []string{"队列必然增", "长，谁也躲不", "开。"}},
		{"首个标记在 6.42 us（ECN）", 15, []string{"首个标记在 ", "6.42 us（ECN）"}},
	} {
		got := Wrap(c.s, c.width)
		if !slices.Equal(got, c.want) || strings.Join(got, "") != c.s {
			t.Errorf("Wrap(%q, %d): %q, want %q", c.s, c.width, got, c.want)
		}
	}
}
