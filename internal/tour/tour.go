// Package tour reads the chapters of the guide: prose, and commands with what they print. The
// command tour and the test of the guide go through them step by step.
package tour

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/typo"
)

// Chapter is a page of the guide.
type Chapter struct {
	Number  int    // from 1
	File    string // its path in the file system it was read from
	Title   string // of its heading, without the number
	Summary string // its first paragraph: what one sees in it
	Intro   string // Markdown from the summary to the first command's text; "" if there is none
	Steps   []Step
	End     string // Markdown after the last command's output
	Source  string // the whole page
}

// Step is a command and the prose before it.
type Step struct {
	Prose   string // Markdown; of the first step the whole introduction
	Command string // without the prompt, on one line
	Lines   []Range
	Shown   string // what the page shows of its output

	from, to int // where Shown stands in the page
}

// Range is a part of an output: from the first line that begins with From to the first, from
// there on, that begins with To, with the lines that continue it, which are indented more.
// Blanks at the beginning of lines do not count; *text is any line that has the text.
type Range struct{ From, To string }

var (
	fileName = regexp.MustCompile(`^([1-9])-[a-z0-9-]+\.md$`)
	heading  = regexp.MustCompile(`^# ([1-9])\. (.+)$`)
	picks    = regexp.MustCompile(`^<!-- lines: (.*) -->$`)
)

// Languages are those that the file system has chapters in, guide/<language>/.
func Languages(fsys fs.FS) (out []string) {
	dirs, _ := fs.Glob(fsys, "guide/*/1-*.md") // the pattern is right
	for _, d := range dirs {
		out = append(out, path.Base(path.Dir(d)))
	}
	slices.SortFunc(out, func(a, b string) int { // English, in which all chapters are written first
		return cmp.Or(cmp.Compare(btoi(a != "en"), btoi(b != "en")), cmp.Compare(a, b))
	})
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// CheckLanguage says what is wrong with a language that there is no guide in, or "".
func CheckLanguage(fsys fs.FS, lang string) string {
	all := Languages(fsys)
	if slices.Contains(all, lang) {
		return ""
	}
	if meant := typo.Nearest(lang, all); meant != "" {
		return fmt.Sprintf("there is no guide in %q; did you mean %s?", lang, meant)
	}
	return fmt.Sprintf("there is no guide in %q; use %s", lang, strings.Join(all, " or "))
}

// Read returns the chapters of a language in their order.
func Read(fsys fs.FS, lang string) ([]Chapter, error) {
	files, err := fs.Glob(fsys, path.Join("guide", lang, "[1-9]-*.md"))
	if err != nil {
		return nil, err
	}
	var out []Chapter
	for _, file := range files {
		src, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, err
		}
		c, err := Parse(file, string(src))
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Parse reads one page. Its errors name file and line.
func Parse(file, src string) (Chapter, error) {
	c := Chapter{File: file, Source: src}
	wrong := func(line int, format string, args ...any) (Chapter, error) {
		return Chapter{}, fmt.Errorf("%s:%d: %s", file, line, fmt.Sprintf(format, args...))
	}
	name := fileName.FindStringSubmatch(path.Base(file))
	first, rest, _ := strings.Cut(src, "\n")
	head := heading.FindStringSubmatch(first)
	if name == nil || head == nil || name[1] != head[1] {
		return wrong(1, "a chapter is N-name.md and begins with # N. Title")
	}
	c.Number, _ = strconv.Atoi(head[1]) // one digit
	c.Title = head[2]
	c.Summary, rest, _ = strings.Cut(strings.TrimLeft(rest, "\n"), "\n\n")
	c.Summary = strings.Join(strings.Fields(c.Summary), " ")

	at := len(src) - len(rest) // where the line begins
	number := strings.Count(src[:at], "\n")
	var prose strings.Builder
	var ranges []Range
	for step := (*Step)(nil); at < len(src); {
		line, _, _ := strings.Cut(src[at:], "\n")
		next := min(at+len(line)+1, len(src))
		number++
		switch {
		case step != nil && line == "```":
			step.to, step.Shown = at, src[step.from:at]
			c.Steps, step = append(c.Steps, *step), nil
		case step != nil && step.from == 0: // the command
			text, more := strings.CutSuffix(line, `\`)
			step.Command += strings.TrimSpace(strings.TrimPrefix(text, "$ "))
			if more {
				step.Command += " "
			} else {
				step.from = next
			}
			if !strings.HasPrefix(step.Command, "hopscope ") {
				return wrong(number, "a block is a command of hopscope and what it prints: $ hopscope ...")
			}
		case step != nil:
		case line == "```":
			step = &Step{Prose: strings.TrimSpace(prose.String()), Lines: ranges}
			prose.Reset()
			ranges = nil
		case picks.MatchString(line):
			for _, r := range strings.Split(picks.FindStringSubmatch(line)[1], "; ") {
				from, to, _ := strings.Cut(r, " .. ")
				ranges = append(ranges, Range{from, to})
			}
		case strings.HasPrefix(line, "```"):
			return wrong(number, "the fence of a block is ``` alone")
		default:
			prose.WriteString(line + "\n")
		}
		at = next
		if at == len(src) && step != nil {
			return wrong(number, "the last block does not end")
		}
	}
	c.End = strings.TrimSpace(prose.String())
	return c, nil
}

// With is the page with other outputs, one for each step.
func (c *Chapter) With(outputs []string) string {
	var b strings.Builder
	at := 0
	for i := range c.Steps {
		b.WriteString(c.Source[at:c.Steps[i].from] + outputs[i])
		at = c.Steps[i].to
	}
	return b.String() + c.Source[at:]
}

// Omitted stands in excerpts for lines that are left out.
const Omitted = "..."

var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Excerpt is what a page shows of an output: the ranges in their order, or all of it.
func Excerpt(printed string, ranges []Range) (string, error) {
	if len(ranges) == 0 {
		return printed, nil
	}
	lines := strings.Split(strings.TrimRight(printed, "\n"), "\n")
	bare := make([]string, len(lines))
	for i, l := range lines {
		bare[i] = escape.ReplaceAllString(l, "")
	}
	begins := func(at int, prefix string) int {
		for ; at < len(bare); at++ {
			anywhere, is := strings.CutPrefix(prefix, "*")
			if is && strings.Contains(bare[at], anywhere) || strings.HasPrefix(strings.TrimLeft(bare[at], " "), prefix) {
				return at
			}
		}
		return -1
	}
	var b strings.Builder
	shown := 0
	for _, r := range ranges {
		from := begins(shown, r.From)
		if from < 0 {
			return "", fmt.Errorf("no line begins with %q, after the part before it", r.From)
		}
		to := from
		if r.To != "" {
			if to = begins(from, r.To); to < 0 {
				return "", fmt.Errorf("no line after %q begins with %q", r.From, r.To)
			}
		}
		for to+1 < len(bare) && indent(bare[to+1]) > indent(bare[from]) {
			to++
		}
		if from > shown {
			b.WriteString(Omitted + "\n")
		}
		for _, l := range lines[from : to+1] {
			b.WriteString(l + "\n")
		}
		shown = to + 1
	}
	if shown < len(lines) {
		b.WriteString(Omitted + "\n")
	}
	return b.String(), nil
}

// indent is how many blanks a line begins with; one that has nothing else continues nothing.
func indent(line string) int {
	trimmed := strings.TrimLeft(line, " ")
	if trimmed == "" {
		return 0
	}
	return len(line) - len(trimmed)
}

// Words splits a command as a shell does, where quotes are '...' and nothing else is special.
func Words(command string) (out []string) {
	word, quoted, open := "", false, false
	for _, r := range command {
		switch {
		case r == '\'':
			quoted, open = !quoted, true
		case r == ' ' && !quoted:
			if open {
				out, word, open = append(out, word), "", false
			}
		default:
			word, open = word+string(r), true
		}
	}
	if open {
		out = append(out, word)
	}
	return out
}
