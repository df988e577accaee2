package record

import "github.com/hopscope/hopscope/internal/units"

// Quantity is what a series samples.
type Quantity string

// Quantities of a series.
const (
	SeriesQueue   Quantity = "queue"   // bytes that wait in an egress queue, the frame on the wire apart
	SeriesPause   Quantity = "pause"   // 1 while the peer has paused a class of a port, else 0
	SeriesRate    Quantity = "rate"    // bit/s a queue pair may send at; 0 before its first post
	SeriesGoodput Quantity = "goodput" // payload bytes released in order since the sample before, of a closed gap all at once
	SeriesWindow  Quantity = "window"  // payload bytes that may be unacknowledged; 0: nothing limits them
	// SeriesPaused is of a Timeline only: the picoseconds since the sample before in which the
	// peer had paused a class of a port, or it had no credits.
	SeriesPaused Quantity = "paused"
	// SeriesBuffer is of a Trace only: the bytes that all that waits in a switch takes of its memory.
	SeriesBuffer Quantity = "buffer"
)

// Quantities lists them in the order of files.
var Quantities = [...]Quantity{SeriesQueue, SeriesPause, SeriesRate, SeriesGoodput, SeriesWindow}

// PerPort reports whether the quantity belongs to a port and class, or to a switch, rather than
// to a queue pair.
func (q Quantity) PerPort() bool {
	return q == SeriesQueue || q == SeriesPause || q == SeriesPaused || q == SeriesBuffer
}

// Series are samples of a run, all taken at the same times: FromPS, and every
// EveryPS after it. A sample at t shows the state when everything before t has
// happened and nothing at t.
type Series struct {
	Quantities []Quantity // that were asked for
	EveryPS    units.Time
	FromPS     units.Time // the multiple of EveryPS at or before the first post
	Samples    int
	Curves     []Curve  // by quantity, then in the order of the network
	LeftOut    []string // what was not kept, in words
}

// Of returns the curves of one quantity.
func (s *Series) Of(q Quantity) (out []*Curve) {
	for i := range s.Curves {
		if s.Curves[i].Quantity == q {
			out = append(out, &s.Curves[i])
		}
	}
	return out
}

// Curve is one quantity of one port and class, or of one queue pair.
type Curve struct {
	Quantity Quantity
	Node     string
	Port     int    // 1-based; ports only
	Class    int    // ports only
	QP       int    // queue pairs only: the requester's number at Node
	Workload string // queue pairs only
	Peer     string // "h4:1" of a port, "h4 qp 3" of a queue pair

	at    []uint32 // samples at which the value changed
	value []int64  // to what
}

// Add notes the value of sample i, which follows those noted before. It returns
// whether the value changed; until the first change it is 0.
func (c *Curve) Add(i int, v int64) bool {
	if n := len(c.value); n > 0 && c.value[n-1] == v || n == 0 && v == 0 {
		return false
	}
	c.at, c.value = append(c.at, uint32(i)), append(c.value, v)
	return true
}

// Values calls yield with each of n samples in order.
func (c *Curve) Values(n int, yield func(i int, v int64)) {
	v, next := int64(0), 0
	for i := range n {
		if next < len(c.at) && int(c.at[next]) == i {
			v = c.value[next]
			next++
		}
		yield(i, v)
	}
}

// Max is the largest value.
func (c *Curve) Max() (m int64) {
	for _, v := range c.value {
		m = max(m, v)
	}
	return m
}

// Sum adds up n samples.
func (c *Curve) Sum(n int) (sum int64) {
	for k, v := range c.value {
		end := n
		if k+1 < len(c.at) {
			end = int(c.at[k+1])
		}
		sum += v * int64(end-int(c.at[k]))
	}
	return sum
}

// Above counts those of n samples whose value is above 0.
func (c *Curve) Above(n int) (above int) {
	for k, v := range c.value {
		end := n
		if k+1 < len(c.at) {
			end = int(c.at[k+1])
		}
		if v > 0 {
			above += end - int(c.at[k])
		}
	}
	return above
}
