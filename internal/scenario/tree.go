package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// nodeKind is the shape of a YAML value.
type nodeKind uint8

const (
	nullNode nodeKind = iota
	scalarNode
	mappingNode
	sequenceNode
)

func (k nodeKind) String() string {
	return [...]string{"nothing", "a single value", "a mapping", "a list"}[k]
}

// node is one YAML value with its place. Scalars are kept as text: what a text
// means is decided by the key it stands under.
type node struct {
	kind   nodeKind
	text   string
	pos    pos
	textAt pos // where the first line of a text of several begins; none: one line
	fields []field
	items  []*node
}

// field is one key of a mapping.
type field struct {
	key   string
	pos   pos
	value *node
}

// maxDepth bounds the nesting of a scenario file; the deepest legal value has
// seven levels.
const maxDepth = 32

// parseTree reads YAML text into a tree.
func parseTree(file string, src []byte) (*node, *Error) {
	if bad := checkNesting(file, src); bad != nil {
		return nil, bad
	}
	if bad := checkTokens(file, src); bad != nil {
		return nil, bad
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff")) // the byte order mark of some editors
	f, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxError(file, err)
	}
	start := pos{file, 1, 1}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return nil, start.errorf("the file is empty; it needs at least topology and workload")
	}
	if len(f.Docs) > 1 {
		return nil, start.errorf("the file holds %d YAML documents; a scenario is one", len(f.Docs))
	}
	return convert(file, f.Docs[0].Body, 0)
}

// checkNesting bounds open brackets and list dashes before the parser sees
// them, whose time grows with the square of the depth.
func checkNesting(file string, src []byte) *Error {
	line, col, depth, dashes, comment := 1, 0, 0, 0, false
	for i, c := range src {
		col++
		switch {
		case c == '\n':
			line, col, dashes, comment = line+1, 0, 0, false
		case comment || c == '#':
			comment = true
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth = max(depth-1, 0)
		case c == ' ' && i > 0 && (src[i-1] == '-' || src[i-1] == '?' || src[i-1] == ':'):
			dashes++ // "- - - x" nests a list per dash
		case c != ' ' && c != '-' && c != '?' && c != ':':
			dashes = 0
		}
		if max(depth, dashes) > 4*maxDepth {
			return pos{file, line, col}.errorf("nested more than %d levels deep; no scenario value is", maxDepth)
		}
	}
	return nil
}

// maxTokens bounds how many pieces the parser makes of a file, each of which takes it some
// 600 bytes.
const maxTokens = 500_000

// The time that the parser takes grows with the square of the keys of a mapping (20,000: 3 s)
// and of the colons of a value.
const (
	maxKeys   = 20_000
	maxColons = 64
)

// checkTokens counts what ends a piece of YAML, except in the lines of a block text such as a
// list of flows, which is one piece.
func checkTokens(file string, src []byte) *Error {
	tokens, line, block := 0, 0, -1 // block: the indentation of the line that begins the text
	var keys [256]int               // lines with a key, by indentation
	for text := range bytes.Lines(src) {
		line++
		trimmed := bytes.TrimSpace(text)
		indent := len(text) - len(bytes.TrimLeft(text, " "))
		if block >= 0 && (len(trimmed) == 0 || indent > block) {
			continue
		}
		if block = -1; len(trimmed) == 0 || trimmed[0] == '#' {
			continue
		}
		tokens++
		colons := 0 // since the last piece ended
		for _, c := range trimmed {
			switch c {
			case ',', '[', ']', '{', '}':
				colons = 0
				tokens++
			case ':':
				colons++
				tokens++
			case '-':
				tokens++
			}
			if colons > maxColons {
				return pos{file, line, 1}.errorf("not YAML: more than %d colons in one value; put it in quotes", maxColons)
			}
		}
		at := min(indent, len(keys)-1)
		clear(keys[at+1:])
		if trimmed[0] != '-' {
			keys[at]++
		}
		if keys[at] > maxKeys {
			return pos{file, line, 1}.errorf("more than %d keys in one mapping; no scenario has", maxKeys)
		}
		if end := trimmed[len(trimmed)-1]; end == '|' || end == '>' || bytes.HasSuffix(trimmed, []byte("|-")) {
			block = indent
		}
		if tokens > maxTokens {
			return pos{file, line, 1}.errorf("more than %d values up to here; no scenario has: put long lists of flows into a "+
				"trace file", maxTokens/4)
		}
	}
	return nil
}

// syntaxError turns the parser's error into one line with a place.
func syntaxError(file string, err error) *Error {
	p := pos{file: file}
	msg := err.Error()
	var s *yaml.SyntaxError
	if errors.As(err, &s) {
		msg = s.Message
		p = tokenPos(file, s.Token)
	}
	if strings.Contains(msg, "'\t'") {
		return p.errorf("not YAML: a tab stands where only spaces may; indent with spaces")
	}
	return p.errorf("not YAML: %s; check brackets, quotes and indentation", msg)
}

func tokenPos(file string, t *token.Token) pos {
	if t == nil || t.Position == nil {
		return pos{file: file}
	}
	return pos{file, t.Position.Line, t.Position.Column}
}

// convert turns the parser's node into ours. Anchors, aliases, tags and merge
// keys are refused: a scenario is data to be read, and --set must be able to
// address every value.
func convert(file string, n ast.Node, depth int) (*node, *Error) {
	if n == nil {
		return &node{kind: nullNode, pos: pos{file: file}}, nil
	}
	at := tokenPos(file, n.GetToken())
	if depth > maxDepth {
		return nil, at.errorf("nested more than %d levels deep; no scenario value is", maxDepth)
	}
	switch n := n.(type) {
	case *ast.NullNode:
		return &node{kind: nullNode, pos: at}, nil
	case *ast.StringNode:
		return &node{kind: scalarNode, text: n.Value, pos: at}, noControls(at, n.Value)
	case *ast.LiteralNode:
		return &node{kind: scalarNode, text: strings.TrimRight(n.Value.Value, "\n"), pos: at, textAt: literalStart(at, n)}, noControls(at, n.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return &node{kind: scalarNode, text: n.GetToken().Value, pos: at}, nil
	case *ast.MappingNode:
		return convertMapping(file, at, n.Values, depth)
	case *ast.MappingValueNode:
		return convertMapping(file, at, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := &node{kind: sequenceNode, pos: at}
		for _, v := range n.Values {
			item, err := convert(file, v, depth+1)
			if err != nil {
				return nil, err
			}
			if item.pos.line == 0 {
				item.pos = at
			}
			out.items = append(out.items, item)
		}
		return out, nil
	}
	return nil, at.errorf("YAML %s is not used in scenarios; write the value out", strings.ToLower(n.Type().String()))
}

// noControls refuses characters that would steer the terminal a name is printed
// to. Tabs and ends of lines are text.
func noControls(at pos, s string) *Error {
	for _, c := range s {
		if unicode.IsControl(c) && c != '\t' && c != '\n' && c != '\r' {
			return at.errorf("holds the control character U+%04X; leave it out", c)
		}
	}
	return nil
}

// literalStart is the place of a block's first character: the line after the
// bar, at the block's indentation.
func literalStart(bar pos, n *ast.LiteralNode) pos {
	raw := strings.TrimLeft(n.Value.GetToken().Origin, "\n")
	indent := len(raw) - len(strings.TrimLeft(raw, " "))
	return pos{bar.file, bar.line + 1, indent + 1}
}

func convertMapping(file string, at pos, values []*ast.MappingValueNode, depth int) (*node, *Error) {
	out := &node{kind: mappingNode, pos: at}
	seen := map[string]bool{}
	for i, v := range values {
		k := tokenPos(file, v.Key.GetToken())
		if i == 0 {
			out.pos = k
		}
		key, ok := v.Key.(ast.ScalarNode)
		if !ok || v.Key.IsMergeKey() {
			return nil, k.errorf("a key must be a plain word")
		}
		name := key.GetToken().Value
		if bad := noControls(k, name); bad != nil {
			return nil, bad
		}
		if seen[name] {
			return nil, k.errorf("%q stands here twice; keep one", name)
		}
		seen[name] = true
		value, err := convert(file, v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if value.kind == nullNode {
			value.pos = k
		}
		out.fields = append(out.fields, field{name, k, value})
	}
	return out, nil
}

// get returns the value under key, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.fields {
		if n.fields[i].key == key {
			return n.fields[i].value
		}
	}
	return nil
}

// put sets the value under key.
func (n *node) put(key string, at pos, value *node) {
	for i := range n.fields {
		if n.fields[i].key == key {
			n.fields[i] = field{key, at, value}
			return
		}
	}
	n.fields = append(n.fields, field{key, at, value})
}

// remove takes the value under key away, if there is one.
func (n *node) remove(key string) {
	n.fields = slices.DeleteFunc(n.fields, func(f field) bool { return f.key == key })
}

// applySet edits the tree by one --set argument, path=value. Everything it
// touches is from then on reported under the text of the argument.
func applySet(root *node, arg string) *Error {
	at := pos{file: "--set " + arg}
	path, value, ok := strings.Cut(arg, "=")
	if !ok || path == "" {
		return at.errorf("no value; write --set key=value, such as --set topology.star.hosts=8")
	}
	steps, bad := splitPath(path)
	if bad != "" {
		return at.errorf("%s; a path reads like workload[0].incast.size", bad)
	}
	if strings.TrimSpace(value) == "" {
		return at.errorf("%s has no value; write one behind the =, or null for what holds without the key", path)
	}
	v, err := parseTree("", []byte(value))
	if err != nil {
		return at.errorf("%s", err.Msg)
	}
	relocate(v, at)
	return descend(root, steps, path, at, v)
}

// step is one part of a --set path: a key or a list index.
type step struct {
	key   string
	index int // -1 for a key
}

func splitPath(path string) (steps []step, bad string) {
	for part := range strings.SplitSeq(path, ".") {
		key, rest, _ := strings.Cut(part, "[")
		if key == "" {
			return nil, fmt.Sprintf("%q has an empty part", path)
		}
		steps = append(steps, step{key, -1})
		if len(key) == len(part) {
			continue
		}
		for idx := range strings.SplitSeq(rest, "[") {
			digits, closed := strings.CutSuffix(idx, "]")
			i, err := strconv.Atoi(digits)
			if !closed || err != nil || i < 0 {
				return nil, fmt.Sprintf("%q is not a list index such as [0]", "["+idx)
			}
			steps = append(steps, step{"", i})
		}
	}
	return steps, ""
}

// descend sets a value. The short form of a section on the way, as in `link: 400Gbps`, is
// written out first, so that --set topology.star.link.length=5m refines it.
func descend(n *node, steps []step, path string, at pos, v *node) *Error {
	keys, names := allKeys(), false // names: the next step is one that the scenario has chosen
	for i, s := range steps {
		last := i == len(steps)-1
		if s.index >= 0 {
			if n.kind != sequenceNode || s.index >= len(n.items) {
				return at.errorf("there is no item [%d] here; the list has %d", s.index, len(n.items))
			}
			if last {
				n.items[s.index] = v
				return nil
			}
			n = n.items[s.index]
			continue
		}
		switch n.kind {
		case nullNode:
			n.kind, n.pos = mappingNode, at
		case mappingNode:
		default:
			return at.errorf("%q is %s and has no key %q", strings.TrimSuffix(path, "."+s.key), n.kind, s.key)
		}
		if last {
			n.put(s.key, at, v)
			return nil
		}
		next := n.get(s.key)
		if next == nil {
			next = &node{kind: mappingNode, pos: at}
			n.put(s.key, at, next)
		}
		n = next
		if names {
			names = false
			continue
		}
		k := find(keys, s.key)
		if k == nil {
			keys = nil // an unknown key, which the reader names
			continue
		}
		if k.short != "" && next.kind == scalarNode {
			inner := *next
			*next = node{kind: mappingNode, pos: inner.pos, fields: []field{{k.short, inner.pos, &inner}}}
		}
		keys, names = k.keys(), k.many == namedSections
	}
	return nil
}

// relocate makes every part of a value point at the --set it came from.
func relocate(n *node, at pos) {
	n.pos = at
	for i := range n.fields {
		n.fields[i].pos = at
		relocate(n.fields[i].value, at)
	}
	for _, item := range n.items {
		relocate(item, at)
	}
}
