package metrics

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Messages condenses a set of messages, all of a run's or one workload
// entry's.
type Messages struct {
	Messages  int `json:"messages"`
	Completed int `json:"completed"` // with success
	Failed    int `json:"failed"`    // with an error completion
	Open      int `json:"open"`      // at the end of the run
	// Lost counts those that completed, on a service without acknowledgements,
	// and were never delivered.
	Lost  int   `json:"lost,omitempty"`
	Bytes int64 `json:"bytes"` // of the completed ones that were not lost
	// SpanPS is from the first post to the last completion of those that
	// completed; GoodputBps is Bytes over it.
	SpanPS     units.Time `json:"span_ps"`
	GoodputBps units.Rate `json:"goodput_bps"`
	// Quantiles over the completed messages. For goodput they count from the
	// fast end: P95 is what 95 % of the messages reached at least, Worst the
	// smallest.
	CompletionPS      Quantiles `json:"completion_ps"`
	MessageGoodputBps Quantiles `json:"message_goodput_bps"`
	// SlowdownMilli is completion over the zero-load completion of the same
	// message, in thousandths, over the messages that carry the latter.
	SlowdownMilli Quantiles `json:"slowdown_milli"`
}

// Quantiles are order statistics by nearest rank: Pq is the smallest value
// that at least q percent of the values do not exceed. All 0 when there is no
// value.
type Quantiles struct {
	N     int   `json:"n"`
	Best  int64 `json:"best"`
	P50   int64 `json:"p50"`
	P95   int64 `json:"p95"`
	P99   int64 `json:"p99"`
	Worst int64 `json:"worst"`
	Mean  int64 `json:"mean"` // rounded down
}

// Entry is one workload entry's messages.
type Entry struct {
	Workload string `json:"workload"`
	Messages
}

// Completed reports whether f completed with success.
func Completed(f *record.Message) bool { return f.CompletionPS >= 0 && f.Status == "success" }

// EndOf is when a run ended; of a deadlock since when nothing moved.
func EndOf(r *record.Run) units.Time {
	if r.StillPS > 0 {
		return r.StillPS
	}
	return r.EndPS
}

// Open reports whether f had no completion entry when the run ended.
func Open(f *record.Message) bool { return f.CompletionPS < 0 || f.Status == "open" }

// Lost reports whether f completed, on a service without acknowledgements, and
// was never delivered.
func Lost(f *record.Message) bool { return Completed(f) && f.DeliveredPS < 0 }

// took is from the post of a completed message until its data was delivered: to
// its completion, or on a service without acknowledgements to its arrival.
func took(f *record.Message) units.Time {
	if f.Is(catalog.Delivers) {
		return f.DeliveredPS
	}
	return f.CompletionPS
}

// Goodput is the payload of a completed message over the time that it took,
// rounded down; 0 for any other, and for a lost one.
func Goodput(f *record.Message) units.Rate {
	if !Completed(f) || Lost(f) {
		return 0
	}
	return RateOf(f.Bytes, took(f))
}

// SlowdownMilli is the completion time in thousandths of the zero-load one; 0
// when either is missing.
func SlowdownMilli(f *record.Message) int64 {
	if !Completed(f) || f.IdealPS <= 0 {
		return 0
	}
	return mulDiv(int64(f.CompletionPS), 1000, int64(f.IdealPS))
}

// RateOf is n bytes over t, in bit/s, rounded down; 0 unless both are positive.
func RateOf(n int64, t units.Time) units.Rate {
	if t <= 0 || n <= 0 {
		return 0
	}
	return units.Rate(mulDiv(n, 8*int64(units.Second), int64(t)))
}

// mulDiv is a*b/c for non-negative a and b and positive c, with a 128-bit
// product; what exceeds an int64 becomes the largest.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}

func messages(flows []record.Message) Messages {
	index := make([]int, len(flows))
	for i := range index {
		index[i] = i
	}
	return condense(flows, index)
}

func entries(flows []record.Message) []Entry {
	out := []Entry{}
	members := groupBy(flows, func(f *record.Message) string { return f.Workload })
	for _, m := range members {
		out = append(out, Entry{Workload: flows[m[0]].Workload, Messages: condense(flows, m)})
	}
	return out
}

// condense computes the figures of the flows that index names.
func condense(flows []record.Message, index []int) Messages {
	var m Messages
	completion, goodput := make([]int64, 0, len(index)), make([]int64, 0, len(index))
	var slowdown []int64
	first, last := units.Never, units.Time(0)
	for _, i := range index {
		f := &flows[i]
		m.Messages++
		switch {
		case Open(f):
			m.Open++
			continue
		case !Completed(f):
			m.Failed++
			continue
		}
		m.Completed++
		first = min(first, f.StartPS)
		last = max(last, f.StartPS+f.CompletionPS)
		completion = append(completion, int64(f.CompletionPS))
		if Lost(f) {
			m.Lost++
			continue
		}
		m.Bytes += f.Bytes
		last = max(last, f.StartPS+took(f))
		if f.Bytes > 0 {
			goodput = append(goodput, int64(Goodput(f)))
		}
		if f.IdealPS > 0 {
			slowdown = append(slowdown, SlowdownMilli(f))
		}
	}
	if m.Completed > 0 {
		m.SpanPS = last - first
		m.GoodputBps = RateOf(m.Bytes, m.SpanPS)
	}
	m.CompletionPS = quantiles(completion, false)
	m.MessageGoodputBps = quantiles(goodput, true)
	m.SlowdownMilli = quantiles(slowdown, false)
	return m
}

// quantiles sorts v in place. With largeIsGood the order runs from the largest
// value down.
func quantiles(v []int64, largeIsGood bool) Quantiles {
	if len(v) == 0 {
		return Quantiles{}
	}
	slices.Sort(v)
	if largeIsGood {
		slices.Reverse(v)
	}
	n := len(v)
	rank := func(percent int) int64 { return v[(n*percent+99)/100-1] }
	return Quantiles{N: n, Best: v[0], P50: rank(50), P95: rank(95), P99: rank(99), Worst: v[n-1], Mean: mean(v)}
}

// mean adds quotients and remainders apart, so that it cannot overflow.
func mean(v []int64) int64 {
	n := int64(len(v))
	var whole, rest int64
	for _, x := range v {
		whole += x / n
		rest += x % n
	}
	return whole + rest/n
}

// worst returns the completed messages that took longest.
func worst(flows []record.Message) []int {
	slower := func(i, j int) int { // swapped: slowest first
		return cmp.Compare(flows[j].CompletionPS, flows[i].CompletionPS)
	}
	out := make([]int, 0, WorstMessages+1)
	for i := range flows {
		n := len(out)
		if !Completed(&flows[i]) || n == WorstMessages && slower(out[n-1], i) <= 0 {
			continue
		}
		at := sort.Search(n, func(k int) bool { return slower(out[k], i) > 0 })
		out = slices.Insert(out, at, i)
		out = out[:min(len(out), WorstMessages)]
	}
	return slices.Clip(out)
}

// groupBy returns the indices of flows with equal keys, groups and members in
// order of appearance.
func groupBy[K comparable](flows []record.Message, key func(*record.Message) K) [][]int {
	var size []int
	at := map[K]int{}
	of := make([]int32, len(flows))
	for i := range flows {
		k := key(&flows[i])
		g, ok := at[k]
		if !ok {
			g = len(size)
			at[k] = g
			size = append(size, 0)
		}
		of[i] = int32(g)
		size[g]++
	}
	members := make([]int, len(flows))
	groups := make([][]int, len(size))
	for g, n := range size {
		groups[g], members = members[:0:n], members[n:]
	}
	for i, g := range of {
		groups[g] = append(groups[g], i)
	}
	return groups
}
