package vary

import (
	"math"
	"strings"
	"testing"
)

func texts(values []Value) string {
	var out []string
	for _, v := range values {
		out = append(out, v.Text)
	}
	return strings.Join(out, " ")
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		given, want string
		kind        Kind
	}{
		{"a,b, c", "a b c", Words},
		{"1..5", "1 2 3 4 5", Number},
		{"1..4,8,16", "1 2 3 4 8 16", Number},
		{"1..10 step 4", "1 5 9", Number},
		{"0.1..0.5 step 0.1", "0.1 0.2 0.3 0.4 0.5", Number},
		{"-2..2 step 2", "-2 0 2", Number},
		{"0..1 linear 5", "0 1", Number}, // whole numbers
		{"0.0..1 linear 5", "0 0.25 0.5 0.75 1", Number},
		{"100KB..500KB step 200KB", "100KB 300KB 500KB", Size},
		{"100KB..1MB step 450KB", "100KB 550KB 1MB", Size},
		{"100KB..1000KB linear 4", "100KB 400KB 700KB 1MB", Size},
		{"10KB..10MB log 4", "10KB 100KB 1MB 10MB", Size},
		{"10KB..10MB log 7", "10KB 31.6KB 100KB 316KB 1MB 3.16MB 10MB", Size}, // 10^(1/2) is 3.1623
		{"1..1000 log 4", "1 10 100 1000", Number},
		{"1..3 log 9", "1 2 3", Number}, // whole, and each once
		{"1us..3us step 500ns", "1us 1.5us 2us 2.5us 3us", Time},
		{"25Gbps,100Gbps,400Gbps", "25Gbps 100Gbps 400Gbps", Rate},
		{"0,100KB", "0 100KB", Size},
		{"0..200KB step 100KB", "0B 100KB 200KB", Size},
		{"5m,300m", "5m 300m", Length},
		{"1%..3% step 1%", "1% 2% 3%", Percent},
		{"none,5us", "none 5us", Words},
		{"dcqcn,hpcc", "dcqcn hpcc", Words},
		{"[h0],[h0, h1]", "[h0] [h0, h1]", Words},
		{`{a: 1, b: 2},"x,y"`, `{a: 1, b: 2} "x,y"`, Words},
		{"h0..h3", "h0..h3", Words},
		{"2.19,2.20", "2.19 2.20", Number},
	} {
		a, err := Parse("some.key=" + c.given)
		if err == nil {
			err = a.Expand()
		}
		if err != nil || texts(a.Values) != c.want || a.Kind != c.kind || a.Key != "some.key" {
			t.Errorf("%s: %v of kind %d, %v; want %s of kind %d", c.given, texts(a.Values), a.Kind, err, c.want, c.kind)
		}
		if got := a.N(); err == nil && got < int64(len(a.Values)) {
			t.Errorf("%s: at most %d values, and there are %d", c.given, got, len(a.Values))
		}
	}
	a, err := Parse("k=100KB..300KB step 100KB")
	if err != nil || a.Expand() != nil || a.Values[1].X != 200e3 || a.Kind.Suffix() != "_bytes" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestBadValues(t *testing.T) {
	for given, want := range map[string]string{
		"":                    "empty value",
		"1,,2":                "empty value",
		"1,2,1":               "the value 1 is there twice",
		"1..3,2":              "the value 2 is there twice",
		"1000KB,1MB":          "the value 1MB is there twice",
		"20..1":               "write 1..20",
		"1..1":                "a single value",
		"1..":                 "has no end",
		"1..x":                `"x" is no number`,
		"1..20KB":             "same kind",
		"100KB..1us":          "same kind",
		"100KB..1MB":          `"100KB..1MB step 100KB"`,
		"1..9 step 0":         "more than 0",
		"1KB..9KB step 1":     "more than 0",
		"1..9 step":           "behind a range",
		"1..9 by 2":           "behind a range",
		"1KB..9KB log 1":      "how many values",
		"0..9 log 3":          "above 0",
		"[a,b":                "no other half",
		"1KB..9KB, 10KB":      "stands alone",
		"1KB..9KB log, 1..20": "",
	} {
		if want == "" {
			continue
		}
		a, err := Parse("k=" + given)
		if err == nil {
			err = a.Expand()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want %q", given, err, want)
		}
	}
	for _, arg := range []string{"", "key", "=1"} {
		if a, err := Parse(arg); err == nil {
			t.Errorf("%q: %+v", arg, a)
		}
	}
}

// A range of very many values costs nothing until it is expanded.
func TestMany(t *testing.T) {
	for given, want := range map[string]int64{"1..1000000000": 1e9, "1..9000000000": 9e9,
		"0B..9000000TB step 1B": math.MaxInt64} {
		a, err := Parse("k=" + given)
		if err != nil || want != math.MaxInt64 && a.N() != want || a.N() < 1e9 {
			t.Errorf("%s: %+v, %v", given, a, err)
		}
	}
}

// Latin hypercube: in each of n parts of each axis lies one sample, and of lists each value comes equally often.
func TestSample(t *testing.T) {
	const n = 40
	var axes []*Axis
	for _, arg := range []string{"size=100KB..1MB", "factor=1KB..1GB log", "share=0.0..1.0", "n=1..20", "word=a,b,c,d",
		"few=10..50 step 10"} {
		a, err := Parse(arg)
		if err != nil {
			t.Fatal(err)
		}
		if !a.Sampled() {
			if err := a.Expand(); err != nil {
				t.Fatal(err)
			}
		}
		axes = append(axes, a)
	}
	all := Sample(axes, n)
	part := map[string]func(x float64) float64{
		"size":   func(x float64) float64 { return (x - 100e3) / 900e3 },
		"factor": func(x float64) float64 { return math.Log(x/1e3) / math.Log(1e6) },
		"share":  func(x float64) float64 { return x },
	}
	for k, a := range axes {
		hit, times := map[int]bool{}, map[string]int{}
		for _, row := range all {
			times[row[k].Text]++
			if of := part[a.Key]; of != nil {
				hit[int(of(row[k].X)*n+1e-9)] = true
			}
		}
		if part[a.Key] != nil && len(hit) < n-1 { // one may be rounded over the edge of its part
			t.Errorf("%s: of %d parts only %d have a sample", a.Key, n, len(hit))
		}
		want := map[string]int{"n": 2, "word": 10, "few": 8}[a.Key]
		for text, got := range times {
			if want > 0 && got != want {
				t.Errorf("%s: %s comes %d times, want %d", a.Key, text, got, want)
			}
		}
	}
	// Axes are independent of each other: ranks are not correlated beyond what chance does (|r| < 3/sqrt(n)).
	r := correlation(all, 0, 2)
	if again := Sample(axes, n); texts(again[7]) != texts(all[7]) {
		t.Error("another sample with the same axes")
	}
	if math.Abs(r) > 3/math.Sqrt(n) {
		t.Errorf("two axes have a correlation of %.2f", r)
	}
}

func correlation(all [][]Value, a, b int) float64 {
	var sx, sy, sxx, syy, sxy, n float64
	for _, row := range all {
		x, y := row[a].X, row[b].X
		sx, sy, sxx, syy, sxy, n = sx+x, sy+y, sxx+x*x, syy+y*y, sxy+x*y, n+1
	}
	return (n*sxy - sx*sy) / math.Sqrt((n*sxx-sx*sx)*(n*syy-sy*sy))
}

func TestSeeds(t *testing.T) {
	for given, want := range map[string][]uint64{"3": {7, 8, 9}, "1,2,5": {1, 2, 5}, "4..6": {4, 5, 6}, "9,1..2": {9, 1, 2}} {
		got, err := Seeds(given, 7)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %v, %v", given, got, err)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", given, got, want)
			}
		}
	}
	for given, want := range map[string]string{"0": "1 to", "": "how many", "x": "how many", "1,2,1": "seed 1 is there twice", "1..3,3": "twice",
		"-1": "how many", "5..2": "how many", "1..1000000000": "at most", "1000000000": "1 to", "1.5": "how many"} {
		if got, err := Seeds(given, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", given, got, err, want)
		}
	}
	if got, err := Seeds("2", math.MaxUint64); err == nil {
		t.Errorf("%v", got)
	}
}
