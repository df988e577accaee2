package vary

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/rng"
)

// Sample takes n samples of all axes together by Latin hypercube sampling (M. D. McKay, R. J. Beckman, W. J.
// Conover, Technometrics 21(2), 1979): the values of each axis are cut into n parts of equal probability, and one
// sample lies in each, at random within it; which parts of several axes meet is random. Of a list each value
// comes equally often, but for the rest of the division. The same axes and n give the same samples. Row i of the
// result has a value per axis.
func Sample(axes []*Axis, n int) [][]Value {
	out := make([][]Value, n)
	for i := range out {
		out[i] = make([]Value, len(axes))
	}
	for k, a := range axes {
		s := rng.New(uint64(n), "sweep/"+a.Key)
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		for i := n - 1; i > 0; i-- { // Fisher and Yates
			j := s.IntN(i + 1)
			order[i], order[j] = order[j], order[i]
		}
		for i, part := range order {
			out[i][k] = a.sample((float64(part)+s.Float64())/float64(n), 1/float64(n))
		}
	}
	return out
}

// sample is the value at a share, at least 0 and less than 1, of the values of an axis in their order; part is the
// share that one sample stands for.
func (a *Axis) sample(share, part float64) Value {
	if i := a.items[0]; a.Ranged() && i.step == 0 {
		if i.whole { // of the whole numbers each as often
			wide := (i.b-i.a)/a.Kind.whole() + 1
			if !i.log {
				return a.Kind.value(i.a + int64(share*float64(wide))*a.Kind.whole())
			}
		}
		return a.Kind.value(i.round(a.Kind, i.at(share), part))
	}
	return a.Values[int(share*float64(len(a.Values)))]
}

// MostSeeds bounds how many seeds there are.
const MostSeeds = 100_000

// Seeds reads the seeds of runs: how many, counting up from first, or which, as a list or range of whole numbers.
func Seeds(given string, first uint64) (out []uint64, err error) {
	if n, err := strconv.ParseUint(given, 10, 64); err == nil {
		if n < 1 || n > MostSeeds {
			return nil, fmt.Errorf("%s: give 1 to %d seeds", given, MostSeeds)
		}
		if first+(n-1) < first {
			return nil, fmt.Errorf("seed %d leaves no room for %d seeds; give at most %d", first, n, math.MaxUint64-(n-1))
		}
		for k := range n {
			out = append(out, first+k)
		}
		return out, nil
	}
	for part := range strings.SplitSeq(given, ",") {
		from, to, ranged := strings.Cut(strings.TrimSpace(part), "..")
		if !ranged {
			to = from
		}
		a, err1 := strconv.ParseUint(from, 10, 64)
		b, err2 := strconv.ParseUint(to, 10, 64)
		if err1 != nil || err2 != nil || b < a {
			return nil, fmt.Errorf("%s: give how many seeds, as 5, or which, as 1,2,7 or 11..20", given)
		}
		if b-a >= MostSeeds || len(out) >= MostSeeds {
			return nil, fmt.Errorf("%s: give at most %d seeds", given, MostSeeds)
		}
		for k := range b - a + 1 {
			out = append(out, a+k)
		}
	}
	seen := make(map[uint64]bool, len(out))
	for _, s := range out {
		if seen[s] {
			return nil, fmt.Errorf("%s: the seed %d is there twice; the same seed gives the same run", given, s)
		}
		seen[s] = true
	}
	return out, nil
}
