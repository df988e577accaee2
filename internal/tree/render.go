package tree

import (
	"strconv"
	"strings"
)

// flowWidth is the longest value that render writes on one line, where it can
// be written over several.
const flowWidth = 100

// Render writes a tree as YAML that reads back as the same tree: a line per
// key, short values in flow style, texts of several lines as blocks.
func Render(root *Node) []byte {
	var b strings.Builder
	blockFields(&b, root.Fields, "", "")
	return []byte(b.String())
}

// blockFields writes a mapping's fields, the first after the indentation first,
// the others after indent.
func blockFields(b *strings.Builder, fields []Field, first, indent string) {
	for i, f := range fields {
		if i > 0 {
			first = indent
		}
		b.WriteString(first + RenderText(f.Key) + ":")
		blockValue(b, f.Value, indent)
	}
}

// blockValue writes what follows a key, or a dash, at the given indentation.
func blockValue(b *strings.Builder, n *Node, indent string) {
	inner := indent + "  "
	switch {
	case n.Kind == Scalar && literal(n.Text):
		b.WriteString(" |\n")
		for line := range strings.SplitSeq(n.Text, "\n") {
			if line != "" {
				line = inner + line
			}
			b.WriteString(line + "\n")
		}
	case n.Kind == Mapping && len(n.Fields) > 0 && spread(n, indent):
		b.WriteString("\n")
		blockFields(b, n.Fields, inner, inner)
	case n.Kind == Sequence && len(n.Items) > 0 && spread(n, indent):
		b.WriteString("\n")
		for _, item := range n.Items {
			b.WriteString(inner + "-")
			blockItem(b, item, inner)
		}
	default:
		b.WriteString(" ")
		flow(b, n)
		b.WriteString("\n")
	}
}

// blockItem writes an item of a list after its dash.
func blockItem(b *strings.Builder, n *Node, indent string) {
	switch {
	case n.Kind == Mapping && len(n.Fields) == 1 || n.Kind == Mapping && len(n.Fields) > 0 && wide(n):
		blockFields(b, n.Fields, " ", indent+"  ")
	case n.Kind == Sequence && wide(n):
		blockValue(b, n, indent)
	default:
		b.WriteString(" ")
		flow(b, n)
		b.WriteString("\n")
	}
}

// spread reports whether a list or mapping takes several lines: the sections of
// the scenario always, values below them only when they are long.
func spread(n *Node, indent string) bool { return indent == "" || wide(n) }

// wide reports whether a value is too long for one line, or holds a text of
// several.
func wide(n *Node) bool {
	room := flowWidth
	return !fits(n, &room)
}

// fits takes the length of n in flow style off room, and reports whether there
// was enough.
func fits(n *Node, room *int) bool {
	if n.Kind == Scalar && literal(n.Text) {
		return false
	}
	*room -= len(n.Text) + 2
	for _, f := range n.Fields {
		*room -= len(f.Key) + 2
		if *room < 0 || !fits(f.Value, room) {
			return false
		}
	}
	for _, item := range n.Items {
		if *room < 0 || !fits(item, room) {
			return false
		}
	}
	return *room >= 0
}

// literal reports whether a text is written as a block: one of several lines
// that a block keeps as they are.
func literal(s string) bool {
	if !strings.Contains(s, "\n") || strings.HasPrefix(s, "\n") || strings.HasSuffix(s, "\n") || strings.HasPrefix(s, " ") {
		return false
	}
	for _, c := range s {
		if c < ' ' && c != '\n' || c > '~' {
			return false
		}
	}
	return !strings.Contains(s, " \n") && !strings.HasSuffix(s, " ")
}

func flow(b *strings.Builder, n *Node) {
	switch n.Kind {
	case Null:
		b.WriteString("null")
	case Scalar:
		b.WriteString(RenderText(n.Text))
	case Mapping:
		b.WriteString("{")
		for i, f := range n.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(RenderText(f.Key) + ": ")
			flow(b, f.Value)
		}
		b.WriteString("}")
	case Sequence:
		b.WriteString("[")
		for i, item := range n.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			flow(b, item)
		}
		b.WriteString("]")
	}
}

// RenderText quotes what is not a plain word or number.
func RenderText(s string) string {
	plain := s != "" && s != "null" && s != "~"
	for _, c := range s {
		ok := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '.' || c == '/' || c == '-'
		plain = plain && ok
	}
	if plain && s[0] != '-' && s[0] != '.' {
		return s
	}
	return strconv.Quote(s)
}
