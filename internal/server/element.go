package server

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Error is what is wrong with a file: where, and what would be right.
type Error struct {
	Line, Col int // from 1
	Msg       string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg) }

// maxDepth bounds how deep elements are nested. A hierarchy of PCIe has 256 buses;
// servers have three bridges in a row.
const maxDepth = 64

// maxElements, maxAttrs and maxValue bound what a file makes: NCCL takes 256 elements of 16
// attributes of 255 bytes (NCCL_TOPO_XML_MAX_NODES, MAX_ATTR_COUNT and MAX_STR_LEN in
// src/graph/xml.h).
const (
	maxElements = 8192
	maxAttrs    = 64
	maxValue    = 255
)

// element is an XML element with its place in the file.
type element struct {
	name      string
	attrs     []xml.Attr
	children  []*element
	line, col int    // of its "<", from 1
	tag       []byte // the text of its start tag
}

// attr returns an attribute's value without the white space around it.
func (e *element) attr(name string) (string, bool) {
	for i := range e.attrs {
		if e.attrs[i].Name.Local == name {
			return strings.TrimSpace(e.attrs[i].Value), true
		}
	}
	return "", false
}

// child returns the first child of that name, or nil.
func (e *element) child(name string) *element {
	for _, c := range e.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// errorf is an error at the element.
func (e *element) errorf(format string, args ...any) error {
	return &Error{e.line, e.col, fmt.Sprintf(format, args...)}
}

// attrErrorf is an error at an attribute, or at the element when it lacks it.
func (e *element) attrErrorf(name, format string, args ...any) error {
	line, col := e.place(name)
	return &Error{line, col, fmt.Sprintf(format, args...)}
}

// place finds where an attribute stands.
func (e *element) place(name string) (line, col int) {
	line, col = e.line, e.col
	at := attrAt(e.tag, name)
	if at < 0 {
		return line, col
	}
	for _, b := range e.tag[:at] {
		col++
		if b == '\n' {
			line, col = line+1, 1
		}
	}
	return line, col
}

// attrAt is the offset of an attribute's name in a start tag, or -1. What stands
// between quotes is no name.
func attrAt(tag []byte, name string) int {
	var quote byte
	for i := 0; i < len(tag); i++ {
		b := tag[i]
		switch {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case bytes.HasPrefix(tag[i:], []byte(name)) && strings.IndexByte(" \t\r\n", tag[i-1]) >= 0:
			if rest := bytes.TrimLeft(tag[i+len(name):], " \t\r\n"); len(rest) > 0 && rest[0] == '=' {
				return i
			}
		}
	}
	return -1
}

// integer reads an attribute that is a whole number, in any base that C's strtol
// takes; absent ones are def.
func (e *element) integer(name string, def int64) (int64, error) {
	s, ok := e.attr(name)
	if !ok || s == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		return 0, e.attrErrorf(name, "%s=%q is no whole number", name, clip(s))
	}
	return n, nil
}

// clip shortens what a message repeats from a file.
func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "..."
	}
	return s
}

// parseElements reads text as XML with one root element.
func parseElements(text []byte) (*element, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	var root *element
	var open []*element
	elements := 0
	for {
		line, col := d.InputPos()
		from := d.InputOffset()
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, syntaxError(d, err, open)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := &element{name: x.Name.Local, attrs: x.Attr, line: line, col: col, tag: text[from:d.InputOffset()]}
			if err := admit(e, root, open); err != nil {
				return nil, err
			}
			if elements++; elements > maxElements {
				return nil, e.errorf("element %d of this file; the topology of one server has no more than %d", elements, maxElements)
			}
			if root == nil {
				root = e
			} else {
				parent := open[len(open)-1]
				parent.children = append(parent.children, e)
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.Directive:
			if at := bytes.Index(text[from:d.InputOffset()], []byte("<!ENTITY")); at >= 0 {
				line, col = advance(line, col, text[from:int(from)+at])
				return nil, &Error{line, col, "an entity is declared; NCCL's topology has none: write what it stands for"}
			}
		case xml.CharData:
			if at := bytes.IndexByte(text[from:d.InputOffset()], '&'); at >= 0 && len(bytes.TrimSpace(x)) == 0 {
				line, col = advance(line, col, text[from:int(from)+at])
				return nil, &Error{line, col, "a reference between elements; NCCL's topology has only elements and attributes"}
			}
			if stray := bytes.TrimSpace(x); len(stray) > 0 {
				skipped := bytes.Index(x, stray[:1])
				line, col = advance(line, col, x[:skipped])
				return nil, &Error{line, col, fmt.Sprintf("text %q between elements; NCCL's topology has only elements and attributes", clip(string(stray)))}
			}
		}
	}
	if root == nil {
		return nil, &Error{1, 1, `no element in this file; NCCL's topology begins with <system version="1">`}
	}
	return root, nil
}

// advance is the place after text that begins at line and col.
func advance(line, col int, text []byte) (int, int) {
	for _, b := range text {
		col++
		if b == '\n' {
			line, col = line+1, 1
		}
	}
	return line, col
}

// admit refuses an element that cannot stand where it does.
func admit(e, root *element, open []*element) error {
	switch {
	case root != nil && len(open) == 0:
		return e.errorf("a second root element <%s>; the whole topology stands in one <%s>", clip(e.name), clip(root.name))
	case len(open) >= maxDepth:
		return e.errorf("elements are nested more than %d deep; no server's PCIe tree is", maxDepth)
	case len(e.attrs) > maxAttrs:
		return e.errorf("<%s> has %d attributes; none of a topology has more than %d", clip(e.name), len(e.attrs), maxAttrs)
	}
	for i := range e.attrs {
		if n := len(e.attrs[i].Value); n > maxValue {
			name := e.attrs[i].Name.Local
			return e.attrErrorf(name, "%s has %d bytes; no attribute of a topology has more than %d", clip(name), n, maxValue)
		}
		for j := range i {
			if e.attrs[i].Name == e.attrs[j].Name {
				return e.errorf("<%s> has %s twice; XML allows an attribute once", clip(e.name), clip(e.attrs[i].Name.Local))
			}
		}
	}
	return nil
}

// syntaxError words an error of the XML decoder and says where it is.
func syntaxError(d *xml.Decoder, err error, open []*element) error {
	line, col := d.InputPos()
	line, col = max(line, 1), max(col, 1) // it steps back over a line's end
	var syntax *xml.SyntaxError
	if !errors.As(err, &syntax) {
		return &Error{line, col, "not XML: " + err.Error()}
	}
	if strings.Contains(syntax.Msg, "unexpected EOF") {
		at := "the file ends within a tag"
		if len(open) > 0 {
			last := open[len(open)-1]
			at = fmt.Sprintf("the file ends before </%s> of line %d: is it cut off?", clip(last.name), last.line)
		}
		return &Error{line, col, at}
	}
	return &Error{line, col, "not XML: " + syntax.Msg}
}
