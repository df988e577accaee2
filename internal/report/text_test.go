package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hopscope/hopscope/internal/record"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the goldens; commit only what you understand")

type sample struct {
	name string
	run  *record.Run
	opt  TextOptions
}

func samples() []sample {
	return []sample{
		{"one-flow", oneFlow(), TextOptions{}},
		{"incast", incast(), TextOptions{}},
		{"incast-80", incast(), TextOptions{Width: 80}},
		{"incast-120", incast(), TextOptions{Width: 120}},
		{"incast-verbose", incast(), TextOptions{Verbose: true}},
		{"many-flows", manyFlows(), TextOptions{}},
		{"many-flows-80", manyFlows(), TextOptions{Width: 80}},
		{"deadlock", deadlock(), TextOptions{}},
		{"late-start", late(incast()), TextOptions{}},
		{"errors", errorCompletions(), TextOptions{}},
		{"errors-80", errorCompletions(), TextOptions{Width: 80}},
	}
}

func render(t *testing.T, r *record.Run, opt TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGolden(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			got := render(t, s.run, s.opt)
			path := filepath.Join("testdata", s.name+".txt")
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// No line may be wider than the terminal, none may end in blanks, and what is
// not a terminal gets no escape sequences.
func TestTextFitsWidth(t *testing.T) {
	for _, s := range samples() {
		for _, width := range []int{80, 100, 120} {
			opt := s.opt
			opt.Width = width
			for _, line := range strings.Split(render(t, s.run, opt), "\n") {
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s at %d: %d columns: %q", s.name, width, n, line)
				}
				if strings.TrimRight(line, " ") != line || strings.Contains(line, "\x1b") {
					t.Errorf("%s at %d: trailing blank or escape: %q", s.name, width, line)
				}
			}
		}
	}
}

// Colour adds escape sequences and changes nothing else.
func TestTextColour(t *testing.T) {
	for _, s := range samples() {
		opt := s.opt
		opt.Colour = true
		coloured := render(t, s.run, opt)
		if !strings.Contains(coloured, "\x1b[1m") {
			t.Errorf("%s: no bold header", s.name)
		}
		if got := stripSGR(coloured); got != render(t, s.run, s.opt) {
			t.Errorf("%s: colour changed the text:\n%s", s.name, got)
		}
	}
}

func stripSGR(s string) string {
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return s
		}
		s = s[:i] + s[i+strings.IndexByte(s[i:], 'm')+1:]
	}
}

// Prose is wrapped for a narrow terminal; tables keep their columns.
func TestTextNarrow(t *testing.T) {
	for _, s := range samples() {
		opt := s.opt
		opt.Width = 40
		head, _, _ := strings.Cut(render(t, s.run, opt), "\n\n")
		for _, line := range strings.Split(head, "\n") {
			if n := utf8.RuneCountInString(line); n > 40 {
				t.Errorf("%s: %d columns: %q", s.name, n, line)
			}
		}
	}
}
