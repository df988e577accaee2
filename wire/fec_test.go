package wire

import (
	"math"
	"testing"
)

// TestFEC: IEEE 802.3 clause 124.1.1 has a bit error rate of 2.4e-4 before RS(544,514) at 400 Gb/s
// stand for a frame loss ratio of 1.7e-12 for frames of 64 octets. The other values are sums of the
// binomial distribution by logarithms.
func TestFEC(t *testing.T) {
	rs528, rs544 := FECs()[0], FECs()[1]
	least, interleaved, more := rs544.Codewords(64*8, 400e9)
	loss := (float64(least) + more*float64(interleaved)) * rs544.Uncorrectable(2.4e-4)
	if math.Round(loss*1e13) != 17 {
		t.Errorf("frame loss ratio %.3g at 2.4e-4, the standard has 1.7e-12", loss)
	}
	for _, c := range []struct {
		f    *FEC
		ber  float64
		want float64
	}{
		{&rs544, 0, 0}, {&rs544, 1, 1}, {&rs544, 0.5, 1},
		{&rs544, 1e-3, binomialTail(544, 15, 1e-3)},
		{&rs544, 1e-2, binomialTail(544, 15, 1e-2)},
		{&rs528, 5e-5, binomialTail(528, 7, 5e-5)},
		{&rs528, 1e-3, binomialTail(528, 7, 1e-3)},
	} {
		if got := c.f.Uncorrectable(c.ber); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%s at %g: %.12g, want %.12g", c.f.Name, c.ber, got, c.want)
		}
	}
	for _, c := range []struct {
		bits  int
		bps   int64
		least int
		more  float64
	}{{512, 100e9, 1, 511. / 5140}, {512, 400e9, 2, 511. / 10280}, {512, 800e9, 4, 511. / 20560}, {5141, 100e9, 2, 0}, {9000 * 8, 400e9, 16, 39. / 10280}} {
		if least, _, more := rs544.Codewords(c.bits, c.bps); least != c.least || more != c.more {
			t.Errorf("%d bits at %d b/s lie in %d codewords, with %g in more; want %d, %g", c.bits, c.bps, least, more, c.least, c.more)
		}
	}
}

// binomialTail is the probability of more than k wrong symbols of n, by logarithms.
func binomialTail(n, k int, ber float64) (sum float64) {
	p := -math.Expm1(10 * math.Log1p(-ber))
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	for i := k + 1; i <= n; i++ {
		sum += math.Exp(lg(n) - lg(i) - lg(n-i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}
