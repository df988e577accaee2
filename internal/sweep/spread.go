package sweep

import (
	"math"
	"slices"
)

// Spread is a figure over the seeds of a point.
type Spread struct {
	N                int     // runs that have a value
	Median, Min, Max float64 // the median is the lower of the two in the middle, so that it is one run's value
	// Low and High bound the median of all seeds with a confidence of at least 95 %; Sure: there are runs enough,
	// six, to say so. Otherwise they are Min and Max.
	Low, High float64
	Sure      bool
}

// SpreadOf condenses values, which it sorts.
func SpreadOf(v []float64) Spread {
	n := len(v)
	if n == 0 {
		return Spread{}
	}
	slices.Sort(v)
	s := Spread{N: n, Median: v[(n-1)/2], Min: v[0], Max: v[n-1], Low: v[0], High: v[n-1]}
	if k := rank(n); k > 0 {
		s.Low, s.High, s.Sure = v[k-1], v[n-k], true
	}
	return s
}

// rank is the largest k for which the k-th smallest and the k-th largest of n independent values enclose the median of
// their distribution with a probability of at least 95 %, whatever the distribution: the median lies outside of them
// if fewer than k values lie on one side of it, which has the probability 2 P(B < k), B binomial of n and 1/2 (H. A.
// David, H. N. Nagaraja, Order Statistics, 7.1). 0: there is none.
func rank(n int) int {
	const miss = 0.05
	k, below := 0, 0.0
	logHalf := float64(n) * math.Log(0.5)
	top, _ := math.Lgamma(float64(n) + 1)
	for i := range n/2 + 1 {
		a, _ := math.Lgamma(float64(i) + 1)
		b, _ := math.Lgamma(float64(n-i) + 1)
		below += math.Exp(top - a - b + logHalf)
		if 2*below > miss {
			break
		}
		k = i + 1
	}
	return k
}
