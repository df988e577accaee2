package visible

import "testing"

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
