package names

import (
	"slices"
	"strconv"
	"testing"
)

// Whatever a node is called, its name is found again in that of a port, a place and a message.
func TestQuoted(t *testing.T) {
	all := []string{"h0", "pod0-leaf0", "fe80::1", "a/b", "x->y", "x<-y", `"q`, `say "hi"`, " a", "a ", "sw 1", `\`, `\/`, `"\"/:`, "数据", "=1+1",
		"<svg onload=x>", "two\nlines", "\x1b[31m", ">", "<", "-", "a-", "a<", "<a", "-a", "->", "\"", "a\\", "h4:2", "h4/gpu0", `"a/b"`}
	seen := map[string]string{}
	for _, name := range all {
		q := Quoted(name)
		if was, is := seen[q]; is {
			t.Errorf("%q and %q are both written %q", was, name, q)
		}
		seen[q] = name
		for _, end := range []string{q, q + ":2", q + "/gpu3", q + ":2/gpu3"} {
			if got := Node(end); got != q {
				t.Errorf("%q: the node is %q, want %q", end, got, q)
			}
		}
		if port, inside := Inside(q + ":2/gpu3"); port != q+":2" || inside != "gpu3" {
			t.Errorf("%q: %q and %q", q, port, inside)
		}
		if port, inside := Inside(q); port != q || inside != "" {
			t.Errorf("%q: %q and %q", q, port, inside)
		}
		for _, other := range all {
			other = Quoted(other)
			for _, text := range []string{q + "->" + other, q + " -> " + other, other + " <- " + q} {
				if from, to := Pair(text); from != q || to != other {
					t.Errorf("%q: from %q to %q", text, from, to)
				}
			}
		}
	}
	if from, to := Pair("h0"); from+to != "" {
		t.Errorf("from %q to %q", from, to)
	}
	for name, want := range map[string]string{"sw 1": "sw 1", "a:b": `"a:b"`, `c:\d`: `"c:\\d"`, `"`: `"\""`} {
		if got := Quoted(name); got != want {
			t.Errorf("%s: %s, want %s", strconv.Quote(name), got, want)
		}
	}
}

func TestList(t *testing.T) {
	for text, want := range map[string][]string{
		"leaf1:3,leaf2": {"leaf1:3", "leaf2"}, `"a,b:c":1,h0`: {`"a,b:c":1`, "h0"}, "all": {"all"}, "": {""}, "a,": {"a", ""}, `"a`: {`"a`},
		`x"y,z"`: {`x"y`, `z"`}, `"\",":2,"b":3`: {`"\",":2`, `"b":3`},
	} {
		if got := List(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
