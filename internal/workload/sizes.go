package workload

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// Sizes is a distribution of message sizes: points of its cumulative distribution, straight lines
// between them.
type Sizes struct {
	Name   string
	bytes  []float64 // rising
	chance []float64 // that a message is no longer, from 0 to 1; it does not fall
}

// Published lists the names of distributions that PublishedSizes knows.
func Published() []string { return []string{"web-search", "hadoop", "ali-storage"} }

// PublishedSizes is a published distribution, as the traffic generator of the ns-3 RDMA simulators has
// it (alibaba-edu/High-Precision-Congestion-Control, traffic_gen): the web search of DCTCP (Alizadeh et
// al., SIGCOMM 2010), Facebook's Hadoop (Roy et al., SIGCOMM 2015) and Alibaba's storage (of 2019).
func PublishedSizes(name string) (*Sizes, error) {
	text, ok := map[string]string{
		"web-search": "0 0 10000 15 20000 20 30000 30 50000 40 80000 53 200000 60 1000000 70 2000000 80 5000000 90 " +
			"10000000 97 30000000 100",
		"hadoop": "0 0 100 1 200 2 300 5 350 15 400 20 500 30 600 40 700 50 1000 60 2000 67 7000 70 30000 72 50000 82 " +
			"80000 87 120000 90 300000 95 1000000 97.5 2000000 99 10000000 100",
		"ali-storage": "0 0 4000 22.93 8000 69.21 16000 80.61 32000 90.47 64000 93.53 128000 96.77 256000 97.53 2000000 100",
	}[name]
	if !ok {
		return nil, fmt.Errorf("%q is no published distribution; use one of %s, or give a file", name,
			strings.Join(Published(), ", "))
	}
	s := &Sizes{Name: name}
	words := strings.Fields(text)
	for i := 0; i < len(words); i += 2 {
		b, _ := strconv.ParseFloat(words[i], 64)
		c, _ := strconv.ParseFloat(words[i+1], 64)
		s.bytes, s.chance = append(s.bytes, b), append(s.chance, c/100)
	}
	return s, nil
}

// SizesOf is a distribution with these points: sizes in bytes and the share of messages that are no
// longer, up to 1. point is the number, from 0, of what is wrong, -1 of the whole.
func SizesOf(name string, bytes, chance []float64) (s *Sizes, point int, err error) {
	n := len(bytes)
	if n < 2 {
		return nil, -1, fmt.Errorf("a distribution of sizes has at least two points, and this has %d; messages of "+
			"one size have a size instead", n)
	}
	for i := range n {
		switch {
		case bytes[i] < 0 || bytes[i] > float64(MaxBytes):
			return nil, i, fmt.Errorf("a message has 1 to %d bytes", int64(MaxBytes))
		case bytes[i] == 0 && (i > 0 || chance[i] > 0):
			return nil, i, fmt.Errorf("%g %% of the messages have a size of 0; a message has at least 1 byte", 100*chance[i])
		case i > 0 && bytes[i] <= bytes[i-1]:
			return nil, i, fmt.Errorf("the size %g stands behind %g; sizes rise from point to point", bytes[i], bytes[i-1])
		case i > 0 && chance[i] < chance[i-1]:
			return nil, i, fmt.Errorf("the distribution falls from %g to %g; the share of messages that are no longer cannot "+
				"fall", chance[i-1], chance[i])
		}
	}
	if last := chance[n-1]; math.Abs(last-1) > 1e-9 {
		return nil, n - 1, fmt.Errorf("the distribution ends at %g; its last point has 1, or 100 of percent", last)
	}
	return &Sizes{Name: name, bytes: slices.Clone(bytes), chance: slices.Clone(chance)}, 0, nil
}

// OneSize is the distribution of messages that are all alike.
func OneSize(n units.Bytes) *Sizes {
	return &Sizes{Name: n.String(), bytes: []float64{float64(n), float64(n)}, chance: []float64{0, 1}}
}

// Mean is the mean size in bytes.
func (s *Sizes) Mean() (mean float64) {
	mean = s.bytes[0] * s.chance[0]
	for i := 1; i < len(s.bytes); i++ {
		mean += (s.bytes[i] + s.bytes[i-1]) / 2 * (s.chance[i] - s.chance[i-1])
	}
	return mean
}

// draw is a size, by the inverse of the distribution.
func (s *Sizes) draw(stream *rng.Stream) units.Bytes {
	u := stream.Float64()
	i, _ := slices.BinarySearch(s.chance, u)
	i = min(i, len(s.chance)-1)
	if i == 0 {
		return max(units.Bytes(s.bytes[0]), 1)
	}
	share := (u - s.chance[i-1]) / (s.chance[i] - s.chance[i-1])
	return max(units.Bytes(s.bytes[i-1]+share*(s.bytes[i]-s.bytes[i-1])+0.5), 1)
}
