package record

import (
	"sort"

	"github.com/hopscope/hopscope/internal/units"
)

// Timeline is what a run sampled of itself for a page: a bounded number of samples, however
// long it took, of the curves that say most.
type Timeline struct {
	FromPS  units.Time `json:"from_ps"`  // of sample 0, at or before the first post
	EveryPS units.Time `json:"every_ps"` // from one sample to the next
	// FirstPostPS is when the first message was posted, from which a page tells time.
	FirstPostPS units.Time  `json:"first_post_ps"`
	Samples     int         `json:"samples"`  // how many
	Curves      []TimeCurve `json:"curves"`   // by quantity, then in the order of the network
	LeftOut     []string    `json:"left_out"` // what was not kept, in words
}

// TimeCurve is one quantity of one port and class, or of one queue pair.
type TimeCurve struct {
	// Quantity is "queue" (bytes that wait, the most since the sample before), "paused"
	// (picoseconds since then), "rate" (bit/s), "goodput" (payload bytes since then) or
	// "window" (bytes).
	Quantity Quantity `json:"quantity"`
	Node     string   `json:"node"`
	Port     int      `json:"port,omitempty"`     // from 1; ports only
	Class    int      `json:"class,omitempty"`    // ports only
	QP       int      `json:"qp,omitempty"`       // queue pairs only: the requester's number at the node
	Workload string   `json:"workload,omitempty"` // queue pairs only
	Peer     string   `json:"peer"`               // "h4:1" of a port, "h4 qp 3" of a queue pair
	// LineBps is the rate of the slowest link that a queue pair sends over, or of a slower receiver; 0: of none.
	LineBps units.Rate `json:"line_bps,omitempty"`
	At      []uint32   `json:"at"`    // samples at which the value changed; 0 before the first
	Value   []int64    `json:"value"` // to what
}

// Time is when a sample was taken, after the first post.
func (t *Timeline) Time(sample int) units.Time {
	return t.FromPS - t.FirstPostPS + units.Time(sample)*t.EveryPS
}

// Most is the largest value of a curve.
func (c *TimeCurve) Most() (most int64) {
	for _, v := range c.Value {
		most = max(most, v)
	}
	return most
}

// Values calls yield with the samples from one, in order, to before another.
func (c *TimeCurve) Values(from, to int, yield func(v int64)) {
	next := sort.Search(len(c.At), func(k int) bool { return int(c.At[k]) > from })
	v := int64(0)
	if next > 0 {
		v = c.Value[next-1]
	}
	for i := from; i < to; i++ {
		if next < len(c.At) && int(c.At[next]) == i {
			v = c.Value[next]
			next++
		}
		yield(v)
	}
}

// Timeline is the samples as a page has them, told from the first post.
func (s *Series) Timeline(firstPost units.Time) *Timeline {
	if s == nil {
		return nil
	}
	t := &Timeline{FromPS: s.FromPS, EveryPS: s.EveryPS, FirstPostPS: firstPost, Samples: s.Samples, Curves: []TimeCurve{},
		LeftOut: append([]string{}, s.LeftOut...)}
	for i := range s.Curves {
		c := &s.Curves[i]
		t.Curves = append(t.Curves, TimeCurve{Quantity: c.Quantity, Node: c.Node, Port: c.Port, Class: c.Class, QP: c.QP,
			Workload: c.Workload, Peer: c.Peer, At: c.at, Value: c.value})
	}
	return t
}

// Fold makes one sample of two: sample j of what join makes of those that were 2j-1 and 2j,
// sample 0 of the first alone. EveryPS doubles. The number of samples must be odd.
func (s *Series) Fold() {
	s.EveryPS *= 2
	s.Samples = s.Samples/2 + 1
	for i := range s.Curves {
		s.Curves[i].fold(s.Samples)
	}
}

// join is what two samples in a row come to.
func (q Quantity) join(a, b int64) int64 {
	switch q {
	case SeriesQueue, SeriesPause, SeriesBuffer:
		return max(a, b)
	case SeriesGoodput, SeriesPaused:
		return a + b
	}
	return b
}

// fold is Series.Fold of one curve, to n samples: only those around a change need a look.
func (c *Curve) fold(n int) {
	at, value := c.at, c.value
	folded := Curve{Quantity: c.Quantity}
	next, before := 0, int64(0) // what comes, and the value of the sample before it
	for next < len(at) {
		j := (at[next] + 1) / 2
		pair := [2]int64{before, before}
		for ; next < len(at) && (at[next]+1)/2 == j; next++ {
			if at[next] < 2*j {
				pair[0] = value[next]
			}
			pair[1], before = value[next], value[next]
		}
		folded.Add(int(j), c.Quantity.join(pair[0], pair[1]))
		if int(j)+1 < n && (next == len(at) || (at[next]+1)/2 > j+1) {
			folded.Add(int(j+1), c.Quantity.join(before, before))
		}
	}
	c.at, c.value = folded.at, folded.value
}

// Changes is how many changes of its value a curve holds.
func (c *Curve) Changes() int { return len(c.at) }

// LastChange is the last sample at which a curve changed; 0: it never did.
func (c *Curve) LastChange() int {
	if len(c.at) == 0 {
		return 0
	}
	return int(c.at[len(c.at)-1])
}

// Nonzero reports whether a curve is ever above 0.
func (c *Curve) Nonzero() bool { return len(c.at) > 0 }
