package diagnose

import "math"

// How far a measured time is from the prediction of a machine's true state, as standard
// deviations of its logarithm.
const (
	// noise is from one size to the next, whatever stands beside it.
	noise = 0.05
	// constants is by how much those of a machine differ from the model's, which moves
	// neighbouring sizes together: over reach doublings of the size the correlation falls to
	// exp(-1/2).
	constants = 0.15
	reach     = 3.0
	// alike is what is left of that in the ratio of two logs of like machines.
	alike = 0.05
	// switching is what the two sizes have in addition between which NCCL takes another algorithm
	// or protocol: its estimates of both are often within a few percent there, less than what
	// the graphs that it found, a card's rate or a patch level move them by, so that the switch may
	// lie a size earlier or later, with a step of that order.
	switching = 0.2
)

// spread is how far a log may be from the curve of the machine's true state: residuals of
// logarithms are taken to be Gaussian with covariance noise^2 for each (more where unsure says so)
// and model^2 exp(-(d/reach)^2/2) for two sizes d doublings apart, a Gaussian process of the
// model's discrepancy (Kennedy and O'Hagan, Bayesian calibration of computer models, J. R. Statist.
// Soc. B 63, 2001). Beyond the largest size that was run all times move together by beyond.
type spread struct {
	noise, model   float64
	unsure, beyond func(bytes float64) float64
}

// weight judges how far times are from predictions.
type weight struct{ lower [][]float64 } // Cholesky factor of the covariance

// newWeight makes the weight for sizes in bytes, above 0 and each other.
func newWeight(sizes []float64, of spread) *weight {
	n := len(sizes)
	w := &weight{lower: make([][]float64, n)}
	for i := range n {
		w.lower[i] = make([]float64, i+1)
		for j := range i + 1 {
			d := math.Log2(sizes[i]/sizes[j]) / reach
			sum := of.model*of.model*math.Exp(-d*d/2) + of.beyond(sizes[i])*of.beyond(sizes[j])
			if i == j {
				more := of.unsure(sizes[i])
				sum += of.noise*of.noise + more*more
			}
			for k := range j {
				sum -= w.lower[i][k] * w.lower[j][k]
			}
			if i == j {
				w.lower[i][i] = math.Sqrt(sum) // at least noise: the rest is positive semidefinite
			} else {
				w.lower[i][j] = sum / w.lower[j][j]
			}
		}
	}
	return w
}

// misfit is r' C^-1 r of residuals: of the true hypothesis one for each size, on average, and
// of two hypotheses the difference is twice the logarithm of their likelihoods' ratio.
func (w *weight) misfit(r []float64) (sum float64) {
	y := make([]float64, len(r))
	for i := range r {
		y[i] = r[i]
		for k := range i {
			y[i] -= w.lower[i][k] * y[k]
		}
		y[i] /= w.lower[i][i]
		sum += y[i] * y[i]
	}
	return sum
}

// Curve is a predicted time by size.
type Curve struct {
	Bytes []float64 // rising
	US    []float64
	// Choice is the algorithm and protocol of each; nil: they are not known.
	Choice []string
}

// switches reports whether a size lies beside or between two of the curve at which NCCL takes
// something else.
func (c *Curve) switches(bytes float64) bool {
	for i := 1; i < len(c.Choice); i++ {
		if c.Choice[i] != c.Choice[i-1] && bytes > c.Bytes[i-1]/1.5 && bytes < c.Bytes[i]*1.5 {
			return true
		}
	}
	return false
}

// beyond is how unsure the time of a size above the curve's largest is, as a standard deviation of
// its logarithm: the straight line goes on with the rate between the curve's last two sizes, which is
// as unsure as that rate still changed over the two doublings before; 0 up to the largest.
func (c *Curve) beyond(bytes float64) float64 {
	last := len(c.Bytes) - 1
	if bytes <= c.Bytes[last] {
		return 0
	}
	unsure := 0.0
	for k := max(last-1, 2); k <= last; k++ {
		if a, b := c.US[k-1]-c.US[k-2], c.US[k]-c.US[k-1]; a > 0 && b > 0 {
			change := math.Log(b / (c.Bytes[k] - c.Bytes[k-1]) * (c.Bytes[k-1] - c.Bytes[k-2]) / a)
			unsure = max(unsure, math.Abs(change))
		}
	}
	return unsure * max(0, 1-c.US[last]/c.At(bytes))
}

// At is the time of a size: between two of the curve by logarithms, beyond its largest, where
// bandwidth alone counts, on the straight line through the last two.
func (c *Curve) At(bytes float64) float64 {
	n := len(c.Bytes)
	if n == 1 {
		return c.US[0]
	}
	k := 1
	for k < n-1 && c.Bytes[k] < bytes {
		k++
	}
	x0, x1, y0, y1 := c.Bytes[k-1], c.Bytes[k], c.US[k-1], c.US[k]
	if bytes > x1 {
		return y1 + (bytes-x1)*(y1-y0)/(x1-x0)
	}
	share := math.Log(max(bytes, x0)/x0) / math.Log(x1/x0)
	return y0 * math.Exp(share*math.Log(y1/y0))
}
