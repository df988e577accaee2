package tour

import (
	"path"
	"regexp"
	"strings"

	"github.com/hopscope/hopscope/internal/visible"
)

// Text is Markdown as a terminal shows it, in lines of at most width columns: headings, lists,
// quotations and paragraphs, which is all that chapters have. Comments are left out, of links
// the text is kept, of a picture where it is and what it shows.
func Text(markdown string, width int, colour bool) string {
	var b strings.Builder
	for _, block := range blocks(comment.ReplaceAllString(markdown, "")) {
		if b.Len() > 0 && !block.item {
			b.WriteString("\n")
		}
		block.write(&b, width, colour)
	}
	return b.String()
}

// block is a paragraph, or an item of a list.
type block struct {
	lead    string // before its first line; those after it are indented as far
	text    string
	heading bool
	item    bool // and not the list's first
	quoted  bool
}

var (
	comment = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
	item    = regexp.MustCompile(`^ *(- |[0-9]+\. )`)
	picture = regexp.MustCompile(`!\[([^\]]*)\]\(([^)]*)\)`)
	// emphasis is *slight*, which is left out; **strong** is not.
	emphasis = regexp.MustCompile(`(^|[^*])\*([^*\s](?:[^*]*[^*\s])?)\*($|[^*])`)
	link     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// blocks splits Markdown at blank lines and before items of lists.
func blocks(markdown string) (out []block) {
	open := false // the next line goes on with the last block
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, " \n")
		if line == "" {
			open = false
			continue
		}
		next := block{text: strings.TrimSpace(line)}
		begins := !open
		if m := item.FindString(line); m != "" {
			last := len(out) - 1
			next = block{lead: m, text: line[len(m):], item: last >= 0 && out[last].lead != ""}
			begins = true
		} else if text, is := strings.CutPrefix(line, "> "); is {
			next = block{lead: "  | ", text: text, quoted: true}
			begins = !open || !out[len(out)-1].quoted
		} else if strings.HasPrefix(line, "#") {
			next = block{text: strings.TrimLeft(line, "# "), heading: true}
			begins = true
		}
		if begins {
			out = append(out, next)
		} else {
			out[len(out)-1].text = join(out[len(out)-1].text, next.text)
		}
		open = !next.heading
	}
	return out
}

// join puts two lines of a paragraph together: with a blank, except between wide characters,
// which are written without.
func join(a, b string) string {
	last, first := []rune(a), []rune(b)
	if visible.Width(string(last[len(last)-1:])) > 1 && visible.Width(string(first[:1])) > 1 {
		return a + b
	}
	return a + " " + b
}

func (p *block) write(b *strings.Builder, width int, colour bool) {
	text := picture.ReplaceAllStringFunc(p.text, func(s string) string {
		m := picture.FindStringSubmatch(s)
		return "[" + path.Join("docs/guide/en", m[2]) + ": " + m[1] + "]"
	})
	text = link.ReplaceAllString(text, "$1")
	text = emphasis.ReplaceAllString(text, "$1$2$3")
	if p.heading {
		text = "**" + text + "**"
	}
	lead := p.lead
	for _, line := range styled(text, width-visible.Width(lead), colour) {
		b.WriteString(lead + line + "\n")
		if !p.quoted {
			lead = strings.Repeat(" ", len(lead))
		}
	}
}

// styled wraps a text whose **strong** words and `code` are marked by escapes, or without colour
// are written as they are: strong ones bare, code with its marks.
func styled(text string, width int, colour bool) (lines []string) {
	const strong, code, reset = "\x1b[1m", "\x1b[36m", "\x1b[0m"
	var plain strings.Builder
	begins := map[int]string{} // by offset in plain; looked up, never iterated
	inCode, bold := false, false
	now := func() string {
		switch {
		case inCode:
			return code
		case bold:
			return strong
		}
		return reset
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '`':
			inCode = !inCode
			if !colour {
				plain.WriteByte('`')
			}
			begins[plain.Len()] = now()
		case !inCode && strings.HasPrefix(text[i:], "**"):
			bold = !bold
			i++
			begins[plain.Len()] = now()
		default:
			plain.WriteByte(text[i])
		}
	}
	at, style := 0, reset
	for _, line := range visible.Wrap(plain.String(), width) {
		var b strings.Builder
		if style != reset {
			b.WriteString(style)
		}
		for i := 0; i < len(line); i++ {
			if s, is := begins[at]; is && colour {
				b.WriteString(s)
				style = s
			}
			if i < len(strings.TrimRight(line, " ")) {
				b.WriteByte(line[i])
			}
			at++
		}
		if style != reset {
			b.WriteString(reset)
		}
		lines = append(lines, b.String())
	}
	return lines
}
