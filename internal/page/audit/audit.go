// Package audit compares the figures of a page with the JSON of the same run. Tests read a page's
// elements, from its text or in a browser, and give them to Check.
package audit

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/visible"
)

// Element is one that names its place in the JSON.
type Element struct {
	Path  string `json:"path"`  // JSON pointers with spaces between them
	Kind  string `json:"kind"`  // what the text is of the value
	From  string `json:"from"`  // pointer to what the value is counted from
	Of    string `json:"of"`    // pointer to what the value is a part of
	Value string `json:"value"` // of a mark without text
	Text  string `json:"text"`
}

// tag finds the attributes of an element and the text that follows.
var (
	tag  = regexp.MustCompile(`<[a-z]+( [^<>]*data-path="[^<>]*)>([^<]*)`)
	attr = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
)

// Elements finds those of a page's text.
func Elements(page string) (out []Element) {
	for _, m := range tag.FindAllStringSubmatch(page, -1) {
		e := Element{Text: html.UnescapeString(m[2])}
		for _, a := range attr.FindAllStringSubmatch(m[1], -1) {
			v := html.UnescapeString(a[2])
			switch a[1] {
			case "data-path":
				e.Path = v
			case "data-kind":
				e.Kind = v
			case "data-from":
				e.From = v
			case "data-of":
				e.Of = v
			case "data-value":
				e.Value = v
			}
		}
		out = append(out, e)
	}
	return out
}

// Document is a JSON document that pointers lead into.
type Document struct{ root any }

// Parse reads a document; numbers keep all their digits.
func Parse(data []byte) (*Document, error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var out Document
	err := d.Decode(&out.root)
	return &out, err
}

// At is what a pointer leads to (RFC 6901; no name of a field has a slash or tilde).
func (d *Document) At(pointer string) (v any, err error) {
	v = d.root
	for _, step := range strings.Split(pointer, "/")[1:] {
		switch x := v.(type) {
		case map[string]any:
			if v, err = x[step], nil; v == nil {
				return nil, fmt.Errorf("%s: there is no %s", pointer, step)
			}
		case []any:
			i, e := strconv.Atoi(step)
			if e != nil || i < 0 || i >= len(x) {
				return nil, fmt.Errorf("%s: there is no row %s of %d", pointer, step, len(x))
			}
			v = x[i]
		default:
			return nil, fmt.Errorf("%s: %s is below a value", pointer, step)
		}
	}
	return v, nil
}

// number is what pointers lead to, summed.
func (d *Document) number(pointers string) (sum float64, err error) {
	for _, p := range strings.Fields(pointers) {
		v, err := d.At(p)
		if err != nil {
			return 0, err
		}
		n, ok := v.(json.Number)
		if !ok {
			return 0, fmt.Errorf("%s is %T, no number", p, v)
		}
		f, err := n.Float64()
		if err != nil {
			return 0, err
		}
		sum += f
	}
	return sum, nil
}

// units are those of a kind, in its own.
var units = map[string]map[string]float64{
	"ps":    {"ps": 1, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12},
	"bytes": {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
	"bps":   {"b/s": 1, "bit/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12},
	"share": {"%": 0.01},
	"count": {"": 1}, "number": {"": 1}, "floor": {"": 1},
}

var written = regexp.MustCompile(`-?[0-9][0-9,]*(\.[0-9]+)?`)

// Check says what of the elements is not what the document holds; nothing: all is.
func Check(d *Document, elements []Element) (wrong []string) {
	for _, e := range elements {
		if err := d.check(e); err != nil {
			wrong = append(wrong, fmt.Sprintf("%q at %s: %v", e.Text, e.Path, err))
		}
	}
	return wrong
}

func (d *Document) check(e Element) error {
	switch {
	case e.Value != "":
		want, err := d.number(e.Path)
		if err != nil {
			return err
		}
		if got, err := strconv.ParseFloat(e.Value, 64); err != nil || math.Abs(got-want) > 1e-12*math.Abs(want) {
			return fmt.Errorf("has the value %s, want %g", e.Value, want)
		}
		return nil
	case e.Kind == "text":
		v, err := d.At(e.Path)
		if s, ok := v.(string); err == nil && (!ok || visible.Text(s) != e.Text) {
			return fmt.Errorf("want %q", v)
		}
		return err
	case units[e.Kind] == nil: // a sentence or a curve
		for _, p := range strings.Fields(e.Path) {
			if _, err := d.At(p); err != nil {
				return err
			}
		}
		return nil
	}
	want, err := d.number(e.Path)
	if err != nil {
		return err
	}
	if e.From != "" {
		from, err := d.number(e.From)
		if err != nil {
			return err
		}
		want -= from
	}
	if e.Of != "" {
		of, err := d.number(e.Of)
		if err != nil {
			return err
		}
		want /= of
	}
	return same(e, want)
}

// same reports whether a text is a number, to its last digit.
func same(e Element, want float64) error {
	at := written.FindStringIndex(e.Text)
	if at == nil {
		if want == 0 {
			return nil // a dash
		}
		return fmt.Errorf("has no number, want %g", want)
	}
	digits := strings.ReplaceAll(e.Text[at[0]:at[1]], ",", "")
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return err
	}
	unit, _, _ := strings.Cut(strings.TrimSpace(e.Text[at[1]:]), " ")
	unit = strings.TrimRight(unit, ".,;:")
	if _, plain := units[e.Kind][""]; plain {
		unit = ""
	}
	by, known := units[e.Kind][unit]
	if !known {
		return fmt.Errorf("has the unit %q, which is none of %s", unit, e.Kind)
	}
	decimals := 0
	if _, after, has := strings.Cut(digits, "."); has {
		decimals = len(after)
	}
	slack := 0.5 * math.Pow(10, -float64(decimals)) * by * 1.0001
	if e.Kind == "count" {
		slack = 0
	}
	if e.Kind == "floor" { // the number is at most what it stands for
		v, want = v+slack, want+1e-12
	}
	if e.Kind == "bytes" { // of means whole ones
		want = math.Floor(want)
	}
	if strings.HasPrefix(e.Text, "<") && want > 0 { // less than so much
		want = math.Max(want, v*by-slack)
	}
	if math.Abs(v*by-want) > slack {
		return fmt.Errorf("want %g", want)
	}
	return nil
}
