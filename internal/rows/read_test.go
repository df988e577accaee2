package rows

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// readItems is ReadList of items.
func readItems(in io.Reader, workers int) (list []item, rest string, err error) {
	buffered := bufio.NewReaderSize(in, 16)
	err = ReadList(buffered, workers, func(row []byte) (it item, err error) {
		err = json.Unmarshal(row, &it)
		return it, err
	}, func(it item) { list = append(list, it) })
	left, _ := io.ReadAll(buffered)
	return list, string(left), err
}

// TestReadListLikeTheLibrary: the rows are those that encoding/json finds, in their order,
// with brackets, quotes and backslashes in strings, however many workers decode them and
// however the bytes come; what stands behind the list is left.
func TestReadListLikeTheLibrary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"[", "]", "{", "}", `"`, `\`, ",", " ", "a", "\u00e9", "\n"}
	for round := range 60 {
		var want []item
		for range rnd.IntN(400) {
			it := item{Empty: []int{}, Inner: &item{Tags: map[string]int{"{": rnd.IntN(9)}, Empty: []int{1, 2}}}
			for range rnd.IntN(30) {
				it.Name += pieces[rnd.IntN(len(pieces))]
			}
			want = append(want, it)
		}
		text, err := json.MarshalIndent(want, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if round%2 == 0 {
			text, _ = json.Marshal(want)
		}
		if want == nil {
			text = []byte("[ ]")
		}
		in := io.Reader(strings.NewReader(" " + string(text) + ", behind"))
		if round%3 == 0 {
			in = iotest.OneByteReader(in)
		}
		got, rest, err := readItems(in, 1+round%4)
		if err != nil || rest != ", behind" || !reflect.DeepEqual(got, want) {
			t.Fatalf("%d rows read of %d, rest %q: %v", len(got), len(want), rest, err)
		}
	}
}

// TestReadListRefuses: what is cut short anywhere, or has anything else between its rows, is
// an error, and of two wrong rows the first is named.
func TestReadListRefuses(t *testing.T) {
	whole := `[{"name": "a]\"{"}, {"name": "b", "empty": [1, 2]}]`
	for n := range len(whole) {
		if list, _, err := readItems(strings.NewReader(whole[:n]), 2); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v, %v", whole[:n], list, err)
		}
	}
	for text, want := range map[string]string{
		`{}`:                   `'{' where '[' is expected`,
		`[1]`:                  `'1' where an object is expected`,
		`[{} {}]`:              `'{' where a comma or the end of a list is expected`,
		`[{},]`:                `']' where an object is expected`,
		`[,{}]`:                `',' where an object is expected`,
		`[{"name": 7}, {"x"}]`: "cannot unmarshal number",
	} {
		if _, _, err := readItems(strings.NewReader(text), 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	many := "[" + strings.Repeat(`{"name": "`+strings.Repeat("x", 5000)+`"},`, 200)
	for k := range 3 {
		many += fmt.Sprintf(`{"name": %d},`, k)
	}
	if list, _, err := readItems(strings.NewReader(many+"{}]"), 3); err == nil || len(list) != 200 {
		t.Errorf("%d rows before the first that is wrong: %v", len(list), err)
	}
}

// A row without an end is refused before it fills the memory.
func TestReadEndlessRow(t *testing.T) {
	s := splitter{in: bufio.NewReader(io.MultiReader(strings.NewReader(`{"a": "`), forever{})), most: 1 << 20}
	var row []byte
	if _, err := s.next(&row); err == nil || err.Error() != "a row of more than 1 MiB, which no run has" || len(row) > 2<<20 {
		t.Errorf("%d bytes were read: %v", len(row), err)
	}
}

// forever is the letter x without end.
type forever struct{}

func (forever) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
