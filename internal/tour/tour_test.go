package tour_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hopscope/hopscope/internal/tour"
)

const page = `# 2. Layers

What one
sees.

Text.

<!-- lines: b .. c; e -->
` + "```" + `
$ hopscope run x \
    --set 'a=[{b: c}]'
old
` + "```" + `

The end.
`

func TestParse(t *testing.T) {
	c, err := tour.Parse("guide/en/2-layers.md", page)
	if err != nil {
		t.Fatal(err)
	}
	if c.Number != 2 || c.Title != "Layers" || c.Summary != "What one sees." || c.End != "The end." || len(c.Steps) != 1 {
		t.Fatalf("%+v", c)
	}
	s := c.Steps[0]
	if s.Prose != "Text." || s.Command != "hopscope run x --set 'a=[{b: c}]'" || s.Shown != "old\n" ||
		!slices.Equal(s.Lines, []tour.Range{{"b", "c"}, {"e", ""}}) {
		t.Errorf("%+v", s)
	}
	if words := tour.Words(s.Command); !slices.Equal(words, []string{"hopscope", "run", "x", "--set", "a=[{b: c}]"}) {
		t.Errorf("%q", words)
	}
	if got := c.With([]string{"new\nlines\n"}); got != strings.Replace(page, "old\n", "new\nlines\n", 1) {
		t.Errorf("%s", got)
	}
}

func TestParseRefuses(t *testing.T) {
	const fence = "```"
	for src, want := range map[string]string{
		"# Layers\n":    "guide/en/2-layers.md:1: a chapter is N-name.md and begins with # N. Title",
		"# 3. Layers\n": "guide/en/2-layers.md:1: a chapter is N-name.md and begins with # N. Title",
		"# 2. L\n\nS\n\n" + fence + "\nls\n" + fence:   "guide/en/2-layers.md:6: a block is a command of hopscope and what it prints: $ hopscope ...",
		"# 2. L\n\nS\n\n" + fence + "sh\n":             "guide/en/2-layers.md:5: the fence of a block is ``` alone",
		"# 2. L\n\nS\n\n" + fence + "\n$ hopscope\n":   "guide/en/2-layers.md:6: a block is a command of hopscope and what it prints: $ hopscope ...",
		"# 2. L\n\nS\n\n" + fence + "\n$ hopscope x\n": "guide/en/2-layers.md:6: the last block does not end",
	} {
		if _, err := tour.Parse("guide/en/2-layers.md", src); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", src, err, want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	const printed = "a\nb 1\n   more\nc 2\n\x1b[1md 3\x1b[0m\n  e\n\nf\n"
	for _, c := range []struct {
		want  string
		lines []tour.Range
	}{
		{printed, nil},
		{"a\n...\n", []tour.Range{{"a", ""}}},
		{"...\nb 1\n   more\n...\n", []tour.Range{{"b", ""}}},
		{"...\nb 1\n   more\nc 2\n...\nf\n", []tour.Range{{"b", "c"}, {"f", ""}}},
		{"...\nb 1\n   more\nc 2\n...\n", []tour.Range{{"b", ""}, {"c", ""}}},
		{"a\nb 1\n   more\nc 2\n...\n", []tour.Range{{"a", "* 2"}}},
		{"...\n\x1b[1md 3\x1b[0m\n  e\n...\n", []tour.Range{{"d", ""}}},
	} {
		if got, err := tour.Excerpt(printed, c.lines); err != nil || got != c.want {
			t.Errorf("%v: %q, %v, want %q", c.lines, got, err, c.want)
		}
	}
	for _, lines := range [][]tour.Range{{{"x", ""}}, {{"c", "b"}}, {{"c", ""}, {"a", ""}}} {
		if got, err := tour.Excerpt(printed, lines); err == nil {
			t.Errorf("%v: %q", lines, got)
		}
	}
}

func TestText(t *testing.T) {
	const markdown = `## A heading

A *small* paragraph with **strong** words, ` + "`code`" + ` and a
[link](there.md).
<!-- check: 1 < 2 -->

- one item
  that goes on
- another

> A quotation
> of two lines

![Two curves](../figures/x.svg)

端口只有
一个。
`
	want := `A heading

A small paragraph with strong
words, ` + "`code`" + ` and a link.

- one item that goes on
- another

  | A quotation of two lines

[docs/guide/figures/x.svg: Two
curves]

端口只有一个。
`
	if got := tour.Text(markdown, 30, false); got != want {
		t.Errorf("%s", got)
	}
	want = "A \x1b[1mvery\x1b[0m\n\x1b[1mstrong\x1b[0m word,\n\x1b[36mcode\x1b[0m\n"
	if got := tour.Text("A **very strong** word, `code`", 12, true); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLanguages(t *testing.T) {
	files := fstest.MapFS{"guide/zh/1-a.md": {}, "guide/en/1-a.md": {}, "guide/figures/1-a.svg": {}, "guide/fr/2-b.md": {}}
	if got := tour.Languages(files); !slices.Equal(got, []string{"en", "zh"}) {
		t.Errorf("%v", got)
	}
	if msg := tour.CheckLanguage(files, "fr"); msg != `there is no guide in "fr"; use en or zh` {
		t.Error(msg)
	}
	if msg := tour.CheckLanguage(files, "zh"); msg != "" {
		t.Error(msg)
	}
}
