// Package tree is what scenarios are read from and foreign files are turned into: YAML values, each
// with its place, and errors of one line that name one.
package tree

import "slices"

// Kind is the shape of a YAML value.
type Kind uint8

// The shapes.
const (
	Null Kind = iota
	Scalar
	Mapping
	Sequence
)

func (k Kind) String() string {
	return [...]string{"nothing", "a single value", "a mapping", "a list"}[k]
}

// Node is one YAML value with its place. Scalars are kept as text: what a text
// means is decided by the key it stands under.
type Node struct {
	Kind   Kind
	Text   string
	Pos    Pos
	TextAt Pos // where the first line of a text of several begins; none: one line
	Fields []Field
	Items  []*Node
}

// Field is one key of a mapping.
type Field struct {
	Key   string
	Pos   Pos
	Value *Node
}

// Get returns the value under key, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			return n.Fields[i].Value
		}
	}
	return nil
}

// Put sets the value under key.
func (n *Node) Put(key string, at Pos, value *Node) {
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			n.Fields[i] = Field{key, at, value}
			return
		}
	}
	n.Fields = append(n.Fields, Field{key, at, value})
}

// Remove takes the value under key away, if there is one.
func (n *Node) Remove(key string) {
	n.Fields = slices.DeleteFunc(n.Fields, func(f Field) bool { return f.Key == key })
}

// Add appends a field and returns its value.
func (n *Node) Add(key string, value *Node) *Node {
	n.Fields = append(n.Fields, Field{Key: key, Value: value})
	return value
}

// Text is a scalar without a place.
func Text(s string) *Node { return &Node{Kind: Scalar, Text: s} }

// Texts is a list of scalars.
func Texts(list []string) *Node {
	n := &Node{Kind: Sequence}
	for _, s := range list {
		n.Items = append(n.Items, Text(s))
	}
	return n
}

// Begins reports whether a section or a list in it, or an item of one, begins at a place. Of the
// topology: without it nothing else would be judged as it is.
func (n *Node) Begins(place Pos) bool {
	if n == nil {
		return false
	}
	if n.Kind != Scalar && n.Pos == place {
		return true
	}
	for i := range n.Fields {
		f := &n.Fields[i]
		if f.Pos == place && f.Value != nil && f.Value.Kind != Scalar || f.Value.Begins(place) {
			return true
		}
	}
	return slices.ContainsFunc(n.Items, func(item *Node) bool { return item.Pos == place || item.Begins(place) })
}

// TakeOut removes the innermost field or item that begins at a place, or whose value does,
// and returns where the section that had it begins.
func (n *Node) TakeOut(at Pos) (section Pos, ok bool) {
	if n == nil {
		return Pos{}, false
	}
	for i := range n.Fields {
		f := &n.Fields[i]
		if section, ok = f.Value.TakeOut(at); ok {
			return section, true
		}
		if f.Pos == at || f.Value != nil && f.Value.Pos == at {
			n.Fields = slices.Delete(n.Fields, i, i+1)
			return n.Pos, true
		}
	}
	for i, item := range n.Items {
		if section, ok = item.TakeOut(at); ok {
			return section, true
		}
		if item.Pos == at {
			n.Items = slices.Delete(n.Items, i, i+1)
			return n.Pos, true
		}
	}
	return Pos{}, false
}

// PutText gives the single value at a place, or the one whose key begins there, another text.
// It returns the value's own place, and whether there is one.
func (n *Node) PutText(at Pos, text string) (value Pos, ok bool) {
	if n == nil {
		return Pos{}, false
	}
	if n.Kind == Scalar && n.Pos == at {
		n.Text = text
		return at, true
	}
	for i := range n.Fields {
		f := &n.Fields[i]
		if value, ok = f.Value.PutText(at, text); ok {
			return value, true
		}
		if f.Pos == at && f.Value != nil && f.Value.Kind == Scalar {
			return f.Value.PutText(f.Value.Pos, text)
		}
	}
	for _, item := range n.Items {
		if value, ok = item.PutText(at, text); ok {
			return value, true
		}
	}
	return Pos{}, false
}
