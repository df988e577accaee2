package workload

import (
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// Means of the published distributions, added up by hand from their points: of the storage one
// (0+4000)/2*0.2293 + (4000+8000)/2*0.4628 + ... = 40.9 KB.
func TestPublishedSizes(t *testing.T) {
	for name, want := range map[string]float64{"web-search": 1711250, "hadoop": 120420.8, "ali-storage": 40869.8} {
		s, err := PublishedSizes(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Mean(); math.Abs(got/want-1) > 0.001 {
			t.Errorf("%s: mean %.1f B, want %.1f", name, got, want)
		}
		stream, sum, small := rng.New(1, name), 0.0, 0
		const n = 200_000
		for range n {
			b := s.draw(&stream)
			sum += float64(b)
			if float64(b) <= s.bytes[3] {
				small++
			}
		}
		if math.Abs(sum/n/want-1) > 0.02 || math.Abs(float64(small)/n-s.chance[3]) > 0.005 {
			t.Errorf("%s: drawn %.0f B on average, %.3f up to %.0f B", name, sum/n, float64(small)/n, s.bytes[3])
		}
	}
}

// Arrivals at one host: their number, and of a Poisson process the same spread of numbers in slots as
// mean; of one that goes on and off the same number, bunched.
func TestPoisson(t *testing.T) {
	const rate, slots = 100 * units.Gbps, 400
	count := func(on, off units.Time) (n int, dispersion float64) {
		p := &Plan{}
		e := p.AddEntry("x")
		a := Arrivals{Load: 0.6, Sizes: OneSize(10 * units.KB), For: 40 * units.Millisecond, On: on, Off: off}
		err := p.Poisson(e, fakeNet{3, 1}, []int{0}, []int{0, 1, 2}, func(int) units.Rate { return rate },
			func(int) *rng.Stream { s := rng.New(7, "x"); return &s }, a, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		in := make([]float64, slots)
		for _, s := range p.Series {
			in[int(s.Start*slots/a.For)]++
		}
		mean, square := float64(len(p.Series))/slots, 0.0
		for _, k := range in {
			square += (k - mean) * (k - mean)
		}
		return len(p.Series), square / slots / mean
	}
	// 0.6 * 100 Gb/s / 80 kbit = 750,000/s, 30,000 in 40 ms, give or take 173.
	n, d := count(0, 0)
	if n < 29_400 || n > 30_600 || d < 0.8 || d > 1.2 {
		t.Errorf("Poisson: %d messages, variance over mean %.2f; want 30,000 and 1", n, d)
	}
	if n, d = count(200*units.Microsecond, 200*units.Microsecond); n < 25_000 || n > 35_000 || d < 10 {
		t.Errorf("on and off: %d messages, variance over mean %.2f; want about 30,000 and far above 1", n, d)
	}
}

// Distributions that are none.
func TestBadSizes(t *testing.T) {
	for _, c := range []struct {
		bytes, chance []float64
		point         int
	}{
		{[]float64{100}, []float64{1}, -1},
		{[]float64{100, 200, 300}, []float64{0, 0.5, 0.4}, 2},
		{[]float64{100, 200}, []float64{0, 0.9}, 1},
		{[]float64{0, 200}, []float64{0.1, 1}, 0},
		{[]float64{200, 100}, []float64{0, 1}, 1},
	} {
		if _, point, err := SizesOf("x", c.bytes, c.chance); err == nil || point != c.point {
			t.Errorf("%v %v: point %d, %v", c.bytes, c.chance, point, err)
		}
	}
	if _, _, err := SizesOf("x", []float64{0, 100}, []float64{0, 1}); err != nil {
		t.Error(err)
	}
}
