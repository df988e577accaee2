package scenario

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// decoder reads a tree into Go values and keeps the first error. After an
// error every getter is a no-op, so that callers read top to bottom.
type decoder struct {
	file     string
	err      *Error
	readFile func(path string) ([]byte, error) // of the files that a file names
	onKeys   func(path string, keys []string)  // told of every section's keys; nil: nobody
	shape    *shape                            // notes what is asked for and reads nothing; see schema.go
}

// fail keeps the first error. A place that was never given is the file's start.
func (d *decoder) fail(p pos, format string, args ...any) {
	if d.err == nil && d.shape == nil {
		if p == (pos{}) {
			p = pos{d.file, 1, 1}
		}
		d.err = p.errorf(format, args...)
	}
}

// object is a mapping whose keys are known. path is how --set addresses it.
type object struct {
	d    *decoder
	n    *node
	path string
}

// object checks that n is a mapping with no keys but these. A missing value
// reads as an empty mapping.
func (d *decoder) object(n *node, path string, keys ...string) object {
	if n == nil {
		n = &node{}
	}
	if d.onKeys != nil {
		d.onKeys(path, keys)
	}
	if d.shape != nil {
		s := d.shape.at(path)
		for _, k := range keys {
			if !contains(s.keys, k) {
				s.keys = append(s.keys, k)
			}
		}
	}
	switch n.kind {
	case mappingNode:
		for _, f := range n.fields {
			if !contains(keys, f.key) {
				d.fail(f.pos, "unknown key %q in %s; %s", f.key, orScenario(path), suggest(f.key, keys))
			}
		}
	case nullNode:
	default:
		d.fail(n.pos, "%s is %s; it is a mapping with the keys %s", orScenario(path), n.kind, strings.Join(keys, ", "))
		n = &node{pos: n.pos}
	}
	return object{d, n, path}
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
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

func (o object) has(key string) bool { return o.n.get(key) != nil }

// at is the place of the key's value, or of the object when the key is absent.
func (o object) at(key string) pos {
	if v := o.n.get(key); v != nil {
		return v.pos
	}
	return o.n.pos
}

func (o object) fail(key, format string, args ...any) {
	o.d.fail(o.at(key), "%s: "+format, append([]any{o.join(key)}, args...)...)
}

// object returns the mapping under key.
func (o object) object(key string, keys ...string) object {
	return o.d.object(o.n.get(key), o.join(key), keys...)
}

// scalar returns the text under key; ok is false when the key is absent or an
// error was found.
func (o object) scalar(key string) (text string, ok bool) {
	v := o.n.get(key)
	if v == nil || o.d.err != nil {
		return "", false
	}
	if v.kind != scalarNode {
		o.fail(key, "is %s; one value is needed", v.kind)
		return "", false
	}
	return v.text, true
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

func (o object) time(key string, dst *units.Time) bool {
	o.note(key, quantityOf(units.TimePattern()))
	return read(o, key, dst, units.ParseTime)
}

func (o object) rate(key string, dst *units.Rate) bool {
	o.note(key, quantityOf(units.RatePattern()))
	return read(o, key, dst, units.ParseRate)
}

func (o object) size(key string, dst *units.Bytes) bool {
	o.note(key, quantityOf(units.BytesPattern()))
	return read(o, key, dst, units.ParseBytes)
}

func (o object) length(key string, dst *units.Length) bool {
	o.note(key, quantityOf(units.LengthPattern()))
	return read(o, key, dst, units.ParseLength)
}

func (o object) probability(key string, dst *float64) bool {
	o.note(key, jsonSchema{"type": []string{"string", "number"}, "minimum": 0, "maximum": 1})
	return read(o, key, dst, units.ParseProbability)
}

// integer reads a whole number between lo and hi.
func (o object) integer(key string, dst *int, lo, hi int) bool {
	o.note(key, wholeNumber(lo, hi))
	text, ok := o.scalar(key)
	if !ok {
		return false
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < lo || v > hi {
		o.fail(key, "%q is not a whole number from %d to %d", text, lo, hi)
		return false
	}
	*dst = v
	return true
}

func (o object) boolean(key string, dst *bool) bool {
	o.note(key, jsonSchema{"type": "boolean"})
	text, ok := o.scalar(key)
	if !ok {
		return false
	}
	if text != "true" && text != "false" {
		o.fail(key, "%q is neither true nor false", text)
		return false
	}
	*dst = text == "true"
	return true
}

// word reads one of the given words.
func (o object) word(key string, dst *string, words ...string) bool {
	o.note(key, wordsOf(words...))
	text, ok := o.scalar(key)
	if !ok {
		return false
	}
	if !contains(words, text) {
		o.fail(key, "%q is not known; %s", text, suggest(text, words))
		return false
	}
	*dst = text
	return true
}

// list returns the items under key; a single value counts as a list of one.
func (o object) list(key string) []*node {
	if o.describing() {
		return []*node{{}} // so that the reader asks for the keys of an item
	}
	v := o.n.get(key)
	switch {
	case v == nil || o.d.err != nil || v.kind == nullNode:
		return nil
	case v.kind == sequenceNode:
		return v.items
	}
	return []*node{v}
}

// priorities reads a list of priorities 0 to 7 into a mask.
func (o object) priorities(key string, dst *uint8) bool {
	o.note(key, listOf(wholeNumber(0, 7)))
	o.note(key, wholeNumber(0, 7))
	o.note(key, wordsOf("none"))
	v := o.n.get(key)
	if v == nil || o.d.err != nil {
		return false
	}
	if v.kind == scalarNode && v.text == "none" {
		*dst = 0
		return true
	}
	var mask uint8
	for _, item := range o.list(key) {
		p, err := strconv.ParseUint(item.text, 10, 8)
		if item.kind != scalarNode || err != nil || p > 7 {
			o.d.fail(item.pos, "%s: %q is not a priority from 0 to 7", o.join(key), item.text)
			return false
		}
		mask |= 1 << p
	}
	*dst = mask
	return true
}

// fraction reads a positive ratio such as 1/8, 2 or 0.5.
func (o object) fraction(key string, num, den *int64) bool {
	o.note(key, jsonSchema{"type": "string", "pattern": `^ *[0-9]+ */ *[0-9]+ *$|^[0-9]+(\.[0-9]{1,4})?$`})
	o.note(key, jsonSchema{"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.0001})
	text, ok := o.scalar(key)
	if !ok {
		return false
	}
	n, d, ok := parseFraction(text)
	if !ok {
		o.fail(key, "%q is not a positive ratio such as 1/8, 2 or 0.5 (numerator and denominator up to 65536)", text)
		return false
	}
	*num, *den = n, d
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

// keyPos is the place of a key's value, of the object without the key, or the
// file as a whole when the object was never given.
func (o object) keyPos(key string) pos {
	if o.n == nil {
		return pos{}
	}
	return o.at(key)
}

// needInteger is integer for a key that must be there.
func (o object) needInteger(key string, dst *int, lo, hi int) {
	o.need(key)
	if o.d.err == nil && !o.has(key) {
		o.d.fail(o.n.pos, "%s has no %s; give a whole number from %d to %d", o.path, key, lo, hi)
	}
	o.integer(key, dst, lo, hi)
}

// indexed names a list item as --set addresses it.
func indexed(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
