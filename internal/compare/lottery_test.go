package compare

import (
	"math"
	"slices"
	"testing"
)

// TestLotteryOfFairness: Jain's index of n flows begins at 1/n, and is judged from there. Of
// shares x and 1-x it is 1/(2(x^2+(1-x)^2)).
func TestLotteryOfFairness(t *testing.T) {
	two := func(x float64) float64 { return 1 / (2 * (x*x + (1-x)*(1-x))) }
	for _, c := range []struct {
		name  string
		n     int
		jains []float64
		want  bool
	}{
		{"two flows, of which one starves or not", 2, []float64{0.58, 0.80, 0.97}, true},
		{"two flows that share alike", 2, []float64{two(0.45), two(0.5), two(0.4)}, false},
		{"two flows, one of which has all always", 2, []float64{two(0), two(0.001), two(0.02)}, false},
		{"many flows", 64, []float64{0.90, 0.95, 0.99}, false},
		{"many flows, of which half starve or not", 64, []float64{0.50, 0.90, 0.99}, true},
	} {
		var runs []*outcome
		for _, j := range c.jains {
			runs = append(runs, &outcome{figures: figures{jain: j, over: c.n, compared: true}})
		}
		f := spreads(runs)
		if got := slices.Contains(lottery(&f, runs), "fairness"); got != c.want {
			t.Errorf("%s: %v, want %v, of %v", c.name, got, c.want, c.jains)
		}
	}
	for _, x := range []float64{0, 0.1, 0.5} {
		// (J - 1/2)/(1 - 1/2) of two shares is 2x(1-x)/(x^2+(1-x)^2).
		if got, want := evenness(two(x), 2), 2*x*(1-x)/(x*x+(1-x)*(1-x)); math.Abs(got-want) > 1e-12 {
			t.Errorf("shares %g and %g: evenness %g, want %g", x, 1-x, got, want)
		}
	}
}
