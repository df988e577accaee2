package scenario

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/tree"
)

// decoder reads a tree into Go values and keeps the first error. After an
// error every getter is a no-op, so that callers read top to bottom.
type decoder struct {
	file     string
	err      *Error
	readFile func(path string) ([]byte, error) // of the files that a file names
}

// fail keeps the first error. A place that was never given is the file's start.
func (d *decoder) fail(p pos, format string, args ...any) {
	if d.err == nil {
		if p == (pos{}) {
			p = pos{File: d.file, Line: 1, Col: 1}
		}
		d.err = p.Errorf(format, args...)
	}
}

// object is a mapping whose keys are known. path is how --set addresses it.
type object struct {
	d     *decoder
	n     *node // nil: a section that is not given
	path  string
	short bool // a single value that stands for the mapping
}

// object checks that n is a mapping with no keys but these. A missing value
// reads as an empty mapping.
func (d *decoder) object(n *node, path string, keys []key) object {
	if n == nil {
		n = &node{}
	}
	switch n.Kind {
	case mappingNode:
		for _, f := range n.Fields {
			k := find(keys, f.Key)
			switch {
			case k == nil:
				d.fail(f.Pos, "unknown key %q in %s; %s", f.Key, orScenario(path), tree.Suggest(f.Key, keyNames(keys)))
			case k.renamed != "":
				o := object{path: path}
				d.fail(f.Pos, "%s is %s now", o.join(f.Key), o.join(k.renamed))
			}
		}
	case nullNode:
	default:
		d.fail(n.Pos, "%s is %s; it is a mapping with the keys %s", orScenario(path), n.Kind, strings.Join(keyNames(keys), ", "))
		n = &node{Pos: n.Pos}
	}
	return object{d: d, n: n, path: path}
}

func orScenario(path string) string {
	if path == "" {
		return "the scenario"
	}
	return path
}

func contains(words []string, w string) bool {
	for _, x := range words {
		if x == w {
			return true
		}
	}
	return false
}

// join gives the full name of a key.
func (o object) join(key string) string {
	switch {
	case o.path == "":
		return key
	case o.short:
		return o.path
	}
	return o.path + "." + key
}

func (o object) has(key string) bool { return o.n.Get(key) != nil }

// at is the place of the key's value, or of the object when the key is absent.
func (o object) at(key string) pos {
	if v := o.n.Get(key); v != nil {
		return v.Pos
	}
	if o.n == nil {
		return pos{}
	}
	return o.n.Pos
}

func (o object) fail(key, format string, args ...any) {
	o.d.fail(o.at(key), "%s: "+format, append([]any{o.join(key)}, args...)...)
}

// object returns the mapping under key.
func (o object) object(name string, keys []key) object {
	return o.d.object(o.n.Get(name), o.join(name), keys)
}

// scalar returns the text under key; ok is false when the key is absent or an
// error was found.
func (o object) scalar(key string) (text string, ok bool) {
	v := o.n.Get(key)
	if v == nil || o.d.err != nil {
		return "", false
	}
	if v.Kind != scalarNode {
		o.fail(key, "is %s; one value is needed", v.Kind)
		return "", false
	}
	return v.Text, true
}

// read parses the text under key into dst, which stays as it is when the key
// is absent.
func read[T any](o object, key string, dst *T, parse func(string) (T, error)) bool {
	text, ok := o.scalar(key)
	if !ok {
		return false
	}
	v, err := parse(text)
	if err != nil {
		o.fail(key, "%v", err)
		return false
	}
	*dst = v
	return true
}

// list returns the items under key; a single value counts as a list of one.
func (o object) list(key string) []*node {
	v := o.n.Get(key)
	switch {
	case v == nil || o.d.err != nil || v.Kind == nullNode:
		return nil
	case v.Kind == sequenceNode:
		return v.Items
	}
	return []*node{v}
}

// priorities reads a list of priorities 0 to 7 into a mask.
func (o object) priorities(key string, dst *uint8) bool {
	v := o.n.Get(key)
	if v == nil || o.d.err != nil {
		return false
	}
	if v.Kind == scalarNode && v.Text == "none" {
		*dst = 0
		return true
	}
	var mask uint8
	for _, item := range o.list(key) {
		p, err := strconv.ParseUint(item.Text, 10, 8)
		if item.Kind != scalarNode || err != nil || p > 7 {
			o.d.fail(item.Pos, "%s: %q is not a priority from 0 to 7", o.join(key), item.Text)
			return false
		}
		mask |= 1 << p
	}
	*dst = mask
	return true
}

// parseFraction reads a/b or a decimal number, reduced to lowest terms.
func parseFraction(text string) (num, den int64, ok bool) {
	a, b, isRatio := strings.Cut(text, "/")
	if !isRatio {
		whole, frac, _ := strings.Cut(a, ".")
		if len(frac) > 4 {
			return 0, 0, false
		}
		a, b = whole+frac, "1"+strings.Repeat("0", len(frac))
	}
	n, err1 := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
	d, err2 := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	if err1 != nil || err2 != nil || n <= 0 || d <= 0 || n > 1<<30 || d > 1<<30 {
		return 0, 0, false
	}
	x, y := n, d
	for y != 0 {
		x, y = y, x%y
	}
	n, d = n/x, d/x
	return n, d, n <= 65536 && d <= 65536
}

// indexed names a list item as --set addresses it.
func indexed(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// keep keeps the first error.
func (d *decoder) keep(bad *Error) {
	if d.err == nil && bad != nil {
		d.err = bad
	}
}
