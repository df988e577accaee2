package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Tests that are weak in known places let exactly the changes there survive.
func TestWeakTests(t *testing.T) {
	t.Parallel()
	survivors, err := mutate(options{packages: []string{module + "internal/mutants/testdata/weak"}, jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range survivors {
		got = append(got, m.what)
	}
	want := []string{"dropped: c.calls++", "a > b -> >=", "a && b without b", "a == 7 -> !="}
	if !slices.Equal(got, want) {
		t.Errorf("%q survived, want %q", got, want)
	}
}

// A handful in the real code, as make mutants runs them by the hundred: the table's
// of package congestion, which its tests once did not notice, and some of lru.
func TestHandful(t *testing.T) {
	t.Parallel()
	for _, o := range []options{
		{packages: []string{module + "internal/congestion"}, table: true, jobs: 2},
		{packages: []string{module + "internal/lru"}, sample: 6, jobs: 2},
	} {
		survivors, err := mutate(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range survivors {
			t.Errorf("no test of %v notices %s", o.packages, m)
		}
	}
}

// The table follows the code: every entry stands once in its file.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, c := range table {
		source, err := os.ReadFile(filepath.Join("..", "..", c.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), c.before); n != 1 {
			t.Errorf("%s has %q %d times, want once", c.file, c.before, n)
		}
	}
}

// Edits nest: what is inside stays inside.
func TestRewrite(t *testing.T) {
	source := "f(a+b < c)"
	list := []*mutant{
		{id: 1, start: 2, end: 9, prefix: "(", suffix: " || hmOn(#N#))"},
		{id: 2, start: 2, end: 5, prefix: "hmAdd(#N#, ", suffix: ")", swapAt: 3, swapTo: 4, swap: ","},
		{id: 3, start: 2, end: 9, prefix: "<", suffix: ">"},
	}
	if got, want := rewrite([]byte(source), list), "f(<(hmAdd(2, a,b) < c || hmOn(1))>)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
