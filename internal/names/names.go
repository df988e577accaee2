// Package names writes the names of nodes, which may hold anything, so that what is joined to
// them can be told from them: "h4:2" is port 2 of h4, "h4/gpu3" a place inside it, "h2->h4" a
// message.
package names

import "strings"

// Quoted is a name as it is written wherever a node is named: as it is, or in double quotes,
// with a backslash before quotes and backslashes in it, when it holds a colon, a slash or an
// arrow, begins with a quote, or ends as an arrow begins or with a blank.
func Quoted(name string) string {
	if strings.ContainsAny(name, ":/") || strings.Contains(name, "->") || strings.Contains(name, "<-") ||
		strings.HasPrefix(name, `"`) || strings.HasSuffix(name, "<") || strings.TrimSpace(name) != name {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
	}
	return name
}

// Node is the name of the node, as Quoted writes it, with which what names a port of it or a
// place inside it begins: "h4" of "h4", "h4:2" and "h4:2/gpu3".
func Node(end string) string { return end[:length(end)] }

// Inside divides "h4:2/gpu3" into "h4:2" and "gpu3", which is "" where no place inside is named.
func Inside(end string) (port, inside string) {
	n := length(end)
	port, inside, _ = strings.Cut(end[n:], "/")
	return end[:n+len(port)], inside
}

// List divides a list at its commas; those in the quotes of a name are part of it.
func List(text string) (items []string) {
	for at := 0; ; {
		n := at
		if strings.HasPrefix(text[at:], `"`) {
			n += length(text[at:])
		}
		next := strings.IndexByte(text[n:], ',')
		if next < 0 {
			return append(items, text[at:])
		}
		items = append(items, text[at:n+next])
		at = n + next + 1
	}
}

// length is that of the node's name with which a text begins, in bytes.
func length(end string) int {
	if strings.HasPrefix(end, `"`) {
		for i := 1; i < len(end); i++ {
			switch end[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
	}
	if n := strings.IndexAny(end, ":/"); n >= 0 {
		return n
	}
	return len(end)
}

// Pair divides "h2->h4", or "h4 <- h2", into where data come from and go to; both are "" where
// there is no arrow.
func Pair(text string) (from, to string) {
	head := 0
	if strings.HasPrefix(text, `"`) {
		head = length(text)
	}
	right, left := strings.Index(text[head:], "->"), strings.Index(text[head:], "<-")
	switch {
	case right >= 0 && (left < 0 || right < left):
		from, to = text[:head+right], text[head+right+2:]
	case left >= 0:
		to, from = text[:head+left], text[head+left+2:]
	}
	return strings.TrimSpace(from), strings.TrimSpace(to)
}
