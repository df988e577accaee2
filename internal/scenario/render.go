package scenario

import (
	"strconv"
	"strings"
)

// render writes a tree as YAML that reads back as the same tree: blocks to the
// second level, flow style below.
func render(root *node) []byte {
	var b strings.Builder
	for _, f := range root.fields {
		b.WriteString(renderText(f.key))
		b.WriteString(":")
		switch {
		case f.value.kind == sequenceNode && len(f.value.items) > 0:
			b.WriteString("\n")
			for _, item := range f.value.items {
				b.WriteString("  - ")
				flow(&b, item)
				b.WriteString("\n")
			}
			continue
		case f.value.kind == mappingNode && len(f.value.fields) > 0:
			b.WriteString("\n")
			for _, g := range f.value.fields {
				b.WriteString("  " + renderText(g.key) + ": ")
				flow(&b, g.value)
				b.WriteString("\n")
			}
			continue
		}
		b.WriteString(" ")
		flow(&b, f.value)
		b.WriteString("\n")
	}
	return []byte(b.String())
}

func flow(b *strings.Builder, n *node) {
	switch n.kind {
	case nullNode:
		b.WriteString("null")
	case scalarNode:
		b.WriteString(renderText(n.text))
	case mappingNode:
		b.WriteString("{")
		for i, f := range n.fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(renderText(f.key) + ": ")
			flow(b, f.value)
		}
		b.WriteString("}")
	case sequenceNode:
		b.WriteString("[")
		for i, item := range n.items {
			if i > 0 {
				b.WriteString(", ")
			}
			flow(b, item)
		}
		b.WriteString("]")
	}
}

// renderText quotes what is not a plain word or number.
func renderText(s string) string {
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
