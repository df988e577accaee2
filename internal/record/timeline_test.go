package record

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Folding curves of random changes gives what joining their samples pair by pair does.
func TestFold(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, q := range []Quantity{SeriesQueue, SeriesPaused, SeriesRate, SeriesGoodput, SeriesWindow} {
		for range 200 {
			n := 2*rng.IntN(40) + 1
			s := Series{EveryPS: 10, Samples: n, Curves: []Curve{{Quantity: q, Node: "n"}}}
			was, v := make([]int64, n), int64(0)
			for i := range n {
				if rng.IntN(3) == 0 {
					v = rng.Int64N(4)
				}
				was[i] = v
				s.Curves[0].Add(i, v)
			}
			s.Fold()
			want := []int64{was[0]}
			for j := 1; j < n; j += 2 {
				want = append(want, q.join(was[j], was[j+1]))
			}
			var got []int64
			s.Curves[0].Values(s.Samples, func(_ int, v int64) { got = append(got, v) })
			if !slices.Equal(got, want) || s.EveryPS != 20 {
				t.Fatalf("%s: %v folds to %v, want %v", q, was, got, want)
			}
			if at := s.Curves[0].at; len(at) > 0 && int(at[len(at)-1]) >= s.Samples {
				t.Fatalf("a change at %d of %d samples", at[len(at)-1], s.Samples)
			}
		}
	}
}
