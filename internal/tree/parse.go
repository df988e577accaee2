package tree

import (
	"bytes"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth bounds the nesting of a scenario file; the deepest legal value has
// seven levels.
const maxDepth = 32

// Parse reads YAML text into a tree.
func Parse(file string, src []byte) (*Node, *Error) {
	if bad := checkNesting(file, src); bad != nil {
		return nil, bad
	}
	if bad := checkTokens(file, src); bad != nil {
		return nil, bad
	}
	if bad := checkCharacters(file, src); bad != nil {
		return nil, bad
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff")) // the byte order mark of some editors
	f, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxError(file, err)
	}
	start := Pos{file, 1, 1}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return nil, start.Errorf("the file is empty; it needs at least topology and workload")
	}
	if len(f.Docs) > 1 {
		return nil, start.Errorf("the file holds %d YAML documents; a scenario is one", len(f.Docs))
	}
	return convert(file, f.Docs[0].Body, 0)
}

// checkCharacters refuses what YAML does not take as it is (YAML 1.2.2, 5.1), where the parser
// takes some of it.
func checkCharacters(file string, src []byte) *Error {
	line, col := 1, 0
	for len(src) > 0 {
		c, size := utf8.DecodeRune(src)
		src = src[size:]
		col++
		switch {
		case c == '\n':
			line, col = line+1, 0
		case c == utf8.RuneError && size == 1:
			return Pos{file, line, col}.Errorf("not YAML: a byte that is no UTF-8; save the file as UTF-8")
		case c == 0xFFFE || c == 0xFFFF || unicode.IsControl(c) && c != '\t' && c != '\r' && c != '\u0085':
			return Pos{file, line, col}.Errorf("not YAML: the control character U+%04X; in double quotes write it as \"\\u%04x\", "+
				"or leave it out", c, c)
		}
	}
	return nil
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
			return Pos{file, line, col}.Errorf("nested more than %d levels deep; no scenario value is", maxDepth)
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
				return Pos{file, line, 1}.Errorf("not YAML: more than %d colons in one value; put it in quotes", maxColons)
			}
		}
		at := min(indent, len(keys)-1)
		clear(keys[at+1:])
		if trimmed[0] != '-' {
			keys[at]++
		}
		if keys[at] > maxKeys {
			return Pos{file, line, 1}.Errorf("more than %d keys in one mapping; no scenario has", maxKeys)
		}
		if end := trimmed[len(trimmed)-1]; end == '|' || end == '>' || bytes.HasSuffix(trimmed, []byte("|-")) {
			block = indent
		}
		if tokens > maxTokens {
			return Pos{file, line, 1}.Errorf("more than %d values up to here; no scenario has: put long lists of flows into a "+
				"trace file", maxTokens/4)
		}
	}
	return nil
}

// syntaxError turns the parser's error into one line with a place.
func syntaxError(file string, err error) *Error {
	p := Pos{File: file}
	msg := err.Error()
	var s *yaml.SyntaxError
	if errors.As(err, &s) {
		msg = s.Message
		p = tokenPos(file, s.Token)
	}
	if strings.Contains(msg, "'\t'") {
		return p.Errorf("not YAML: a tab stands where only spaces may; indent with spaces")
	}
	return p.Errorf("not YAML: %s; check brackets, quotes and indentation", msg)
}

func tokenPos(file string, t *token.Token) Pos {
	if t == nil || t.Position == nil {
		return Pos{File: file}
	}
	return Pos{file, t.Position.Line, t.Position.Column}
}

// convert turns the parser's Node into ours. Anchors, aliases, tags and merge
// keys are refused: a scenario is data to be read, and --set must be able to
// address every value.
func convert(file string, n ast.Node, depth int) (*Node, *Error) {
	if n == nil {
		return &Node{Kind: Null, Pos: Pos{File: file}}, nil
	}
	at := tokenPos(file, n.GetToken())
	if depth > maxDepth {
		return nil, at.Errorf("nested more than %d levels deep; no scenario value is", maxDepth)
	}
	switch n := n.(type) {
	case *ast.NullNode:
		return &Node{Kind: Null, Pos: at}, nil
	case *ast.StringNode:
		return &Node{Kind: Scalar, Text: n.Value, Pos: at}, nil
	case *ast.LiteralNode:
		s := strings.TrimRight(n.Value.Value, "\n")
		return &Node{Kind: Scalar, Text: s, Pos: at, TextAt: literalStart(at, n)}, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return &Node{Kind: Scalar, Text: n.GetToken().Value, Pos: at}, nil
	case *ast.MappingNode:
		return convertMapping(file, at, n.Values, depth)
	case *ast.MappingValueNode:
		return convertMapping(file, at, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := &Node{Kind: Sequence, Pos: at}
		for _, v := range n.Values {
			item, err := convert(file, v, depth+1)
			if err != nil {
				return nil, err
			}
			if item.Pos.Line == 0 {
				item.Pos = at
			}
			out.Items = append(out.Items, item)
		}
		return out, nil
	}
	return nil, at.Errorf("YAML %s is not used in scenarios; write the value out", strings.ToLower(n.Type().String()))
}

// literalStart is the place of a block's first character: the line after the
// bar, at the block's indentation.
func literalStart(bar Pos, n *ast.LiteralNode) Pos {
	raw := strings.TrimLeft(n.Value.GetToken().Origin, "\n")
	indent := len(raw) - len(strings.TrimLeft(raw, " "))
	return Pos{bar.File, bar.Line + 1, indent + 1}
}

func convertMapping(file string, at Pos, values []*ast.MappingValueNode, depth int) (*Node, *Error) {
	out := &Node{Kind: Mapping, Pos: at}
	seen := map[string]bool{}
	for i, v := range values {
		k := tokenPos(file, v.Key.GetToken())
		if i == 0 {
			out.Pos = k
		}
		key, ok := v.Key.(ast.ScalarNode)
		if !ok || v.Key.IsMergeKey() {
			return nil, k.Errorf("a key must be a plain word")
		}
		name := key.GetToken().Value
		if seen[name] {
			return nil, k.Errorf("%q stands here twice; keep one", name)
		}
		seen[name] = true
		value, err := convert(file, v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if value.Kind == Null {
			value.Pos = k
		}
		out.Fields = append(out.Fields, Field{name, k, value})
	}
	return out, nil
}
