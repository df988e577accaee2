package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

type item struct {
	Name  string         `json:"name"`
	Tags  map[string]int `json:"tags,omitempty"`
	Empty []int          `json:"empty"`
	Inner *item          `json:"inner,omitempty"`
}

func items(n int) *Table {
	return &Table{Name: "items", N: n, Header: []string{"name", "length"},
		Value: func(i int) any {
			return item{Name: fmt.Sprint("a\"<", i), Tags: map[string]int{"x": i}, Empty: []int{}, Inner: &item{Empty: []int{1}}}
		},
		Cells: func(i int, put func(...string)) { put(fmt.Sprint("a,", i), "1") }}
}

// The bytes are those of encoding/json with the same indentation, but each row stands on a
// line of its own.
func TestJSONLikeTheLibrary(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		table := items(n)
		names, lines := []string{}, []string{}
		for i := range n {
			var line bytes.Buffer
			e := json.NewEncoder(&line)
			e.SetEscapeHTML(false)
			if err := e.Encode(table.Value(i)); err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("row %d", i)
			names, lines = append(names, name), append(lines, `"`+name+`"`, strings.TrimSuffix(line.String(), "\n"))
		}
		var want, got bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		err := e.Encode(struct {
			Version int      `json:"version"`
			Items   []string `json:"items"`
			Nothing *int     `json:"nothing"`
			Last    any      `json:"last"`
		}{1, names, nil, items(1).Value(0)})
		if err != nil {
			t.Fatal(err)
		}
		err = JSON(&got, []Part{{Name: "version", Value: 1}, {Name: "items", Table: table}, {Name: "nothing"}, {Name: "last", Value: items(1).Value(0)}}, 1)
		if text := strings.NewReplacer(lines...).Replace(want.String()); err != nil || got.String() != text {
			t.Errorf("%d rows: %v\n%s\nwant\n%s", n, err, got.String(), text)
		}
	}
}

// Fields writes what Value says.
func TestFields(t *testing.T) {
	slow := &Table{N: 2, Value: func(i int) any {
		return struct {
			S string         `json:"s"`
			N int64          `json:"n"`
			B bool           `json:"b"`
			O map[string]int `json:"o"`
			L []struct{}     `json:"l"`
			E struct{}       `json:"e"`
		}{"é\n\u2028", -1, true, map[string]int{"k <": i}, []struct{}{{}, {}}, struct{}{}}
	}}
	fast := *slow
	fast.Fields = func() func(*Object, int) {
		return func(o *Object, i int) {
			o.String("s", "é\n\u2028")
			o.Int("n", -1)
			o.Bool("b", true)
			o.Begin("o")
			o.Again([]byte(`,"k \u003c":`)) // keys are escaped as json.Marshal does
			o.Number(int64(i))
			o.End()
			o.BeginList("l")
			o.Begin("")
			o.End()
			o.Begin("")
			o.End()
			o.EndList()
			o.Begin("e")
			o.End()
		}
	}
	var a, b bytes.Buffer
	err := errors.Join(JSON(&a, []Part{{Name: "x", Table: slow}}, 1), JSON(&b, []Part{{Name: "x", Table: &fast}}, 3))
	if err != nil || strings.ReplaceAll(a.String(), "k <", "k \\u003c") != b.String() { // keys are escaped as json.Marshal does
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), a.String())
	}
}

// failing takes so many bytes and then fails.
type failing struct{ left int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// Wherever writing fails, that is the error, and what was written is no document.
func TestFailingWriter(t *testing.T) {
	var whole bytes.Buffer
	parts := func() []Part { return []Part{{Name: "items", Table: items(2000)}, {Name: "version", Value: 1}} }
	if err := JSON(&whole, parts(), 1); err != nil {
		t.Fatal(err)
	}
	for left := 0; left < whole.Len(); left += whole.Len()/7 + 1 {
		if err := JSON(&failing{left}, parts(), 1); !errors.Is(err, errFull) {
			t.Errorf("JSON after %d bytes: %v", left, err)
		}
		if json.Valid(whole.Bytes()[:left]) {
			t.Errorf("%d bytes of %d are a document", left, whole.Len())
		}
		if err := CSV(&failing{left / 100}, items(2000)); !errors.Is(err, errFull) {
			t.Errorf("CSV after %d bytes: %v", left/100, err)
		}
	}
}

// What rows take in memory does not grow with their number.
func TestBoundedMemory(t *testing.T) {
	written := func(n int) (largest int) {
		if err := JSON(sizer{&largest}, []Part{{Name: "items", Table: items(n)}}, 1); err != nil {
			t.Fatal(err)
		}
		return largest
	}
	if got := written(20000); got > flushAt+1000 { // and the last row
		t.Errorf("%d bytes are gathered, more than %d", got, flushAt)
	}
}

type sizer struct{ largest *int }

func (s sizer) Write(p []byte) (int, error) {
	*s.largest = max(*s.largest, len(p))
	return len(p), nil
}

func TestCSV(t *testing.T) {
	var b strings.Builder
	if err := CSV(&b, items(2)); err != nil || b.String() != "name,length\n\"a,0\",1\n\"a,1\",1\n" {
		t.Errorf("%v, %q", err, b.String())
	}
	if err := CSV(io.Discard, items(0)); err != nil {
		t.Error(err)
	}
}
