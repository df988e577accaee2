package fidelity

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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

// serverAllReduce, case F29: AllReduce over servers with NVLink inside and a network
// between.
func (c *checker) serverAllReduce() {
	const (
		h100 = "SimAI nic_ratio.csv, 8 nodes with 64 GPUs: share of 8 x 48.5 GB/s"
		a100 = "NVIDIA/nccl#949, two A100 servers with 2 HDR cards each, ACS off"
	)
	bus := func(name string, set ...string) float64 {
		return metrics.Collectives(c.scenario(name, set...))[0].BusBW
	}
	c.near("64 H100, 128 MiB, bus bandwidth, GB/s", 210, bus("f29-h100"), 0.2, h100)
	c.near("16 A100, 256 MiB, bus bandwidth, GB/s", 48, bus("f29-a100"), 0.03, a100)
	if !c.long("64 H100 with 1 and 8 GiB") {
		return
	}
	c.near("64 H100, 1 GiB, bus bandwidth, GB/s", 349, bus("f29-h100", "workload[0].collective.size=1GiB"), 0.08, h100)
	c.near("64 H100, 8 GiB, bus bandwidth, GB/s", 372, bus("f29-h100", "workload[0].collective.size=8GiB"), 0.08, h100)
}

// ncclLog is a published log of nccl-tests: AllReduce over the eight GPUs of a server
// with A100-SXM4-40GB (microsoft/superbenchmark).
const ncclLog = "superbench-nccl_allreduce.log"

// ncclTests, case nccl-tests: the log's machine. One process launches all kernels, one
// after the other.
func (c *checker) ncclTests() {
	path := filepath.Join(c.opt.Data, "nccl-tests", ncclLog)
	if _, err := os.Stat(path); err != nil {
		c.leftOut = append(c.leftOut, LeftOut{Reason: "the data folder has no nccl-tests/" + ncclLog})
		return
	}
	times := c.readLog(path)
	for _, one := range []struct {
		size  string
		bytes int64
		share float64
	}{{"8B", 8, 0.2}, {"1GiB", 1 << 30, 0.05}, {"8GiB", 8 << 30, 0.05}} {
		us, logged := times[one.bytes]
		if !logged {
			c.abort("%s has no line of %d bytes", ncclLog, one.bytes)
		}
		r := c.scenario("nccl-tests", "workload[0].collective.size="+one.size)
		c.near("AllReduce of "+one.size+" over 8 A100, us", us, float64(metrics.Collectives(r)[0].TimePS)/1e6, one.share, "microsoft/superbenchmark, "+ncclLog)
	}
}

// readLog reads the out-of-place times of a log by size in bytes.
func (c *checker) readLog(path string) map[int64]float64 {
	f, err := os.Open(path)
	c.must(err)
	defer f.Close()
	out := map[int64]float64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) < 8 {
			continue
		}
		bytes, notBytes := strconv.ParseInt(w[0], 10, 64)
		us, notTime := strconv.ParseFloat(w[4], 64)
		if notBytes == nil && notTime == nil {
			out[bytes] = us
		}
	}
	return out
}
