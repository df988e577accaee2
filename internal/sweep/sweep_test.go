package sweep

import (
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/vary"
)

func axis(t *testing.T, arg string) *vary.Axis {
	t.Helper()
	a, err := vary.Parse(arg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func plan(t *testing.T, s Setup, axes ...string) *Plan {
	t.Helper()
	for _, a := range axes {
		s.Axes = append(s.Axes, axis(t, a))
	}
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPoints(t *testing.T) {
	p := plan(t, Setup{Scenario: "s", Stacks: []string{"x", "y"}, Seeds: []uint64{4, 9}}, "a=1,2,3", "b=u,v")
	if p.Points() != 12 || p.Runs() != 24 || p.String() != "24 runs (2 stacks x 3 of a x 2 of b x 2 seeds)" {
		t.Fatalf("%d points, %s", p.Points(), p)
	}
	seen := map[string]bool{}
	for i := range p.Runs() {
		point, seed := p.RunAt(i)
		pt := p.Point(point)
		if name := pt.Stack + strings.Join(p.Set(pt), " "); i%2 == 0 {
			if seen[name] {
				t.Errorf("point %d is there twice", point)
			}
			seen[name] = true
		}
		if seed != p.Seeds[i%2] {
			t.Errorf("run %d has seed %d", i, seed)
		}
	}
	if pt := p.Point(7); pt.Stack != "y" || pt.Values[0].Text != "1" || pt.Values[1].Text != "v" {
		t.Errorf("point 7 is %+v", pt)
	}
	var all []int
	for k := range 5 {
		all = append(all, p.Shard(k, 5)...)
	}
	if len(all) != 24 {
		t.Errorf("shards have %d runs", len(all))
	}
}

// Names of runs depend on content alone: the same run has the same name in a larger sweep, and another with anything
// else.
func TestID(t *testing.T) {
	id := Identity{Program: "v1", Base: "abc"}
	one := plan(t, Setup{Scenario: "s", Seeds: []uint64{1}}, "a=1", "b=u")
	more := plan(t, Setup{Scenario: "s", Seeds: []uint64{0, 1}}, "a=0,1", "b=u,v")
	where := -1
	seen := map[string]int{}
	for i := range more.Runs() {
		name := more.ID(id, i)
		if other, twice := seen[name]; twice {
			t.Errorf("runs %d and %d have one name", other, i)
		}
		seen[name] = i
		if name == one.ID(id, 0) {
			where = i
		}
	}
	if where < 0 {
		t.Error("the run of the small sweep is not in the larger one")
	}
	for _, other := range []Identity{{Program: "v2", Base: "abc"}, {Program: "v1", Base: "abd"},
		{Program: "v1", Base: "abc", Content: map[string]string{"b=u": "file"}}} {
		if one.ID(other, 0) == one.ID(id, 0) {
			t.Errorf("%+v gives the same name", other)
		}
	}
}

func TestTooMany(t *testing.T) {
	for _, axes := range [][]string{{"a=1..1000000000"}, {"a=1..100000", "b=1..100000", "c=1..100000", "d=1..100000", "e=1..100000"}} {
		s := Setup{Scenario: "s", Seeds: []uint64{1}}
		for _, a := range axes {
			s.Axes = append(s.Axes, axis(t, a))
		}
		if p, err := New(s); err == nil || !strings.Contains(err.Error(), "more") {
			t.Errorf("%v: %v, %v", axes, p, err)
		}
	}
}

// The rank of the interval is that of exact binomial sums; tables have 1 of 6, 2 of 9, 3 of 12, 6 of 20, 18 of 50
// (W. J. Conover, Practical Nonparametric Statistics, 3.2).
func TestRank(t *testing.T) {
	for n, want := range map[int]int{1: 0, 5: 0, 6: 1, 8: 1, 9: 2, 12: 3, 20: 6, 50: 18} {
		if got := rank(n); got != want {
			t.Errorf("%d values: rank %d, want %d", n, got, want)
		}
	}
	for n := 1; n < 80; n++ {
		sum, k, all := new(big.Int), 0, new(big.Int).Lsh(big.NewInt(1), uint(n))
		for i := 0; ; i++ { // 2 sum / 2^n <= 1/20
			sum.Add(sum, new(big.Int).Binomial(int64(n), int64(i)))
			if new(big.Int).Mul(sum, big.NewInt(40)).Cmp(all) > 0 {
				break
			}
			k = i + 1
		}
		if got := rank(n); got != k {
			t.Errorf("%d values: rank %d, want %d", n, got, k)
		}
	}
	s := SpreadOf([]float64{5, 3, 9, 1, 7, 2})
	if s != (Spread{N: 6, Median: 3, Min: 1, Max: 9, Low: 1, High: 9, Sure: true}) {
		t.Errorf("%+v", s)
	}
	if s := SpreadOf(nil); s.N != 0 || s.Sure {
		t.Errorf("%+v", s)
	}
}

func TestLines(t *testing.T) {
	a := Row{ID: "1", Status: "done", Figures: map[string]float64{"p99": 0.1, "n": 1 << 53}, CompletionPS: []units.Time{3, 4}}
	b := Row{ID: "2", Status: "invalid", Error: "kmin\nabove"}
	x, err1 := a.Line()
	y, err2 := b.Line()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	whole := append(append([]byte{}, x...), y...)
	rows, clean := ReadLines(whole)
	if !clean || len(rows) != 2 || !reflect.DeepEqual(rows[0], a) || !Same(&rows[1], &b) || Same(&a, &b) {
		t.Errorf("%+v, %v", rows, clean)
	}
	for cut := len(x) + 1; cut < len(whole); cut++ { // the program was killed while it wrote
		if rows, clean := ReadLines(whole[:cut]); clean || len(rows) != 1 {
			t.Fatalf("cut at %d: %d rows, %v", cut, len(rows), clean)
		}
	}
	if rows, clean := ReadLines(append([]byte("{\"id\":\"0\",\"sta"), whole...)); clean || len(rows) != 1 {
		t.Errorf("%d rows behind a broken line, %v", len(rows), clean)
	}
}

func TestTable(t *testing.T) {
	p := plan(t, Setup{Scenario: "s", Seeds: []uint64{1, 2, 3}}, "a=1,2", "b=u,v")
	rows := make([]*Row, p.Runs())
	for i := range rows {
		point, seed := p.RunAt(i)
		rows[i] = &Row{ID: "x", Status: "done", Fingerprint: string(rune('a'+point/2)) + string(rune('0'+seed)),
			Figures: map[string]float64{"completion_p99_ps": float64(100*(point/2+1)) + float64(seed), "open": 0}}
	}
	rows[4], rows[5] = nil, &Row{ID: "y", Status: "failed", Error: "it broke"}
	table := NewTable(p, rows)
	made, failed := table.Made()
	if made != 11 || failed != 1 || len(table.Figures) != 2 {
		t.Errorf("%d made, %d failed, figures %v", made, failed, table.Figures)
	}
	o := table.Outcomes()[1]
	if o.Made != 2 || o.Done != 1 || o.Status != "mixed" || o.Error != "it broke" || o.Spreads[1].N != 1 {
		t.Errorf("%+v", o)
	}
	if idle := table.Idle(); len(idle) != 0 { // of the one that failed
		t.Errorf("idle: %v", idle)
	}
	rows[5] = &Row{ID: "y", Status: "done", Fingerprint: "a3"}
	if idle := NewTable(p, rows).Idle(); len(idle) != 1 || idle[0] != "b" {
		t.Errorf("idle: %v", idle)
	}
	k := 1
	best, worst, ok := table.Best(k)
	if !ok || table.Figures[k].Name != "completion_p99_ps" || best > 1 || worst < 2 || !table.Varies(k) || table.Varies(0) {
		t.Errorf("%s: best %d, worst %d, %v", table.Figures[k].Name, best, worst, ok)
	}
}

func TestQuantiles(t *testing.T) {
	var all []units.Time
	for i := range 1001 {
		all = append(all, units.Time(i))
	}
	q := Quantiles(all)
	if len(q) != 101 || q[0] != 0 || q[50] != 500 || q[100] != 1000 {
		t.Errorf("%v", q)
	}
	if n := len(Quantiles(all[:7])); n != 7 {
		t.Errorf("%d of 7", n)
	}
}
