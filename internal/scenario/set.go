package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/tree"
)

// applySet edits the tree by one --set argument, path=value. Everything it
// touches is from then on reported under the text of the argument.
func applySet(root *node, arg string, known Known) *Error {
	at := pos{File: "--set " + arg}
	path, value, ok := strings.Cut(arg, "=")
	if !ok || path == "" {
		return at.Errorf("no value; write --set key=value, such as --set topology.star.hosts=8")
	}
	steps, bad := splitPath(path)
	if bad != "" {
		return at.Errorf("%s; a path reads like workload[0].incast.size", bad)
	}
	if strings.TrimSpace(value) == "" {
		return at.Errorf("%s has no value; write one behind the =, or null for what holds without the key", path)
	}
	v, err := tree.Parse("", []byte(value))
	if err != nil {
		return at.Errorf("%s", err.Msg)
	}
	relocate(v, at)
	if steps[0].key == "controller" && v.Kind != nullNode && v.Text != dcqcnName && root.Get("controller") == nil {
		standAside(root)
	}
	return descend(root, steps, path, at, v, known)
}

// standAside takes out a file's section dcqcn, whose place a controller takes that is set; what is set
// of DCQCN as well stays, and is found to be in conflict.
func standAside(root *node) {
	set := func(n *node) bool { return strings.HasPrefix(n.Pos.File, "--set ") }
	n := root.Get("dcqcn")
	if n == nil || set(n) || slices.ContainsFunc(n.Fields, func(f field) bool { return set(f.Value) }) {
		return
	}
	root.Remove("dcqcn")
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
func descend(n *node, steps []step, path string, at pos, v *node, known Known) *Error {
	keys, names := allKeys(known), false // names: the next step is one that the scenario has chosen
	for i, s := range steps {
		last := i == len(steps)-1
		if s.index >= 0 {
			if n.Kind != sequenceNode || s.index >= len(n.Items) {
				return at.Errorf("there is no item [%d] here; the list has %d", s.index, len(n.Items))
			}
			if last {
				n.Items[s.index] = v
				return nil
			}
			n = n.Items[s.index]
			continue
		}
		switch n.Kind {
		case nullNode:
			n.Kind, n.Pos = mappingNode, at
		case mappingNode:
		default:
			if _, err := strconv.Atoi(s.key); err == nil && i > 0 && n.Kind == sequenceNode {
				return at.Errorf("%s is a list, and its items are counted in brackets; write %[1]s[%s]", steps[i-1].key, s.key)
			}
			return at.Errorf("%q is %s and has no key %q", strings.TrimSuffix(path, "."+s.key), n.Kind, s.key)
		}
		if last {
			n.Put(s.key, at, v)
			return nil
		}
		next := n.Get(s.key)
		if next == nil {
			next = &node{Kind: mappingNode, Pos: at}
			n.Put(s.key, at, next)
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
		if k.short != "" && next.Kind == scalarNode {
			inner := *next
			*next = node{Kind: mappingNode, Pos: inner.Pos, Fields: []field{{Key: k.short, Pos: inner.Pos, Value: &inner}}}
		}
		if k.choice && next.Kind == scalarNode { // what is set stands in its place
			*next = node{Kind: mappingNode, Pos: at}
		}
		keys, names = k.keys(), k.many == namedSections
	}
	return nil
}

// relocate makes every part of a value point at the --set it came from.
func relocate(n *node, at pos) {
	n.Pos = at
	for i := range n.Fields {
		n.Fields[i].Pos = at
		relocate(n.Fields[i].Value, at)
	}
	for _, item := range n.Items {
		relocate(item, at)
	}
}
