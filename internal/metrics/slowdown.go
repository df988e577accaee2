package metrics

import (
	"math"

	"github.com/hopscope/hopscope/internal/record"
)

// Slowdown is how much longer the messages of a range of sizes took than alone.
type Slowdown struct {
	FromBytes int64 `json:"from_bytes"` // the least size
	// ToBytes is the largest size; of the last range that of the largest message.
	ToBytes int64 `json:"to_bytes"`
	// SlowdownMilli is in thousandths, as in Messages.
	SlowdownMilli Quantiles `json:"slowdown_milli"`
}

// sizeBounds are the largest sizes of the ranges: three to ten times a decade apart, since
// distributions of message sizes spread over seven decades.
func sizeBounds() []int64 {
	return []int64{1e3, 3e3, 10e3, 30e3, 100e3, 300e3, 1e6, 3e6, 10e6, 30e6, math.MaxInt64}
}

// Slowdowns condenses the slowdowns of all messages that have one, by size. Ranges without any
// are left out.
func Slowdowns(flows []record.Message) (out []Slowdown) {
	bounds := sizeBounds()
	values, largest := make([][]int64, len(bounds)), int64(0)
	for i := range flows {
		f := &flows[i]
		if s := SlowdownMilli(f); s > 0 && !Lost(f) {
			k := 0
			for f.Bytes > bounds[k] {
				k++
			}
			values[k], largest = append(values[k], s), max(largest, f.Bytes)
		}
	}
	from := int64(0)
	for k, v := range values {
		if len(v) > 0 {
			out = append(out, Slowdown{FromBytes: from, ToBytes: min(bounds[k], largest), SlowdownMilli: quantiles(v, false)})
		}
		from = bounds[k] + 1
	}
	return out
}
