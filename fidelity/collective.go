package fidelity

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/metrics"
)

// ringAllReduce, case F28: a ring's time is 2(n-1) steps of a + S/(nB).
func (c *checker) ringAllReduce() {
	const source = "closed form 2(n-1)(a + S/(nB)), B = 50 GB/s, a = 2 us; bus bandwidth: nccl-tests, PERFORMANCE.md"
	for _, one := range []struct {
		ranks      int
		size       string
		us, busbw  float64
		chunkBytes string
	}{{8, "64MiB", 2376.8, 49.41, "8MiB"}, {64, "1MiB", 293.3, 7.038, "16KiB"}} {
		r := c.scenario("f28-ring", fmt.Sprintf("topology.star.hosts=%d", one.ranks), "workload[0].collective.size="+one.size,
			"workload[0].collective.chunk="+one.chunkBytes)
		x := metrics.Collectives(r)[0]
		name := fmt.Sprintf("AllReduce of %s over %d ranks", one.size, one.ranks)
		c.near(name+", us", one.us, float64(x.TimePS)/1e6, 0.01, source)
		c.near(name+", bus bandwidth, GB/s", one.busbw, x.BusBW, 0.01, source)
	}
}
