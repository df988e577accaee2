package fidelity

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
)

// ncclTables are published tables of nccl-tests, each with the machine that it is of as
// changes of the case nccl-table. Nothing else of a table is told to the model.
func ncclTables() map[string][]string {
	one := func(server string) []string { return []string{"server=" + server, "topology.rail.servers=1"} }
	several := func(server string, n int) []string {
		return []string{"server=" + server, fmt.Sprint("topology.rail.servers=", n)}
	}
	// The report of b200-16 says what ib_write_bw reaches: 369 Gb/s by four cards, 325 by four,
	// in payload of 4096 B for each 4150 B on the line.
	var links []string
	for rail := range 8 {
		for host := range 2 {
			rate := []int{373900, 329300}[rail/4]
			links = append(links, fmt.Sprintf("{between: [h%d, group1-rail%d], rate: %dMbps}", host, rail+1, rate))
		}
	}
	b200 := append(several("hgx-b200", 2), "topology.links=["+strings.Join(links, ", ")+"]")
	a100 := append(several("hgx-a100", 2), "topology.rail.link=200Gbps", "stack=rocev2")
	return map[string][]string{
		"b200-8-allreduce":  one("hgx-b200"),
		"b200-8-allgather":  one("hgx-b200"),
		"b200-8-alltoall":   one("hgx-b200"),
		"b200-16-allgather": b200,
		// The recipe that such reports are made with (NVIDIA/dgxc-benchmarking,
		// nccl/config/testset.toml) sweeps AllToAll over 1 and 2 channels per peer; the table
		// does not say which, and 1 fits.
		"b200-16-alltoall":    append(slices.Clone(b200), "nccl.env.NCHANNELS_PER_NET_PEER=1"),
		"b200-16-sendrecv":    b200,
		"dgxh100-8-allreduce": one("dgx-h100"),
		"h100-2n-allreduce":   several("dgx-h100", 2),
		"h100-8n-allreduce":   several("dgx-h100", 8),
		"a100-2n-allreduce":   a100, // two ports of 100 Gb/s beside each GPU
		"a100-8-sendrecv":     one("hgx-a100"),
		"b200-2x1-allgather":  append(several("hgx-b200", 2), "topology.rail.rails=1", "stack=rocev2", "workload[0].collective.ranks=[h0/gpu0, h1/gpu0]"),
	}
}

// point is a row of a table with what is predicted for it. Times are microseconds.
type point struct {
	table, op           string
	nodes               int
	size                int64
	measured, predicted float64
	choice              string
}

// off is how far the prediction is off, as a part of what was measured.
func (p *point) off() float64 { return math.Abs(p.predicted/p.measured - 1) }

// regions of sizes, in which errors are judged apart.
var regions = [3]string{"up to 64 KiB", "below 128 MiB", "128 MiB and more"}

func region(size int64) int {
	switch {
	case size <= 64<<10:
		return 0
	case size < 128<<20:
		return 1
	}
	return 2
}

// most is the largest size that is run for so many nodes: larger ones take long and are
// bound by the same links.
func most(nodes int) int64 {
	switch {
	case nodes == 1:
		return 1 << 30
	case nodes == 2:
		return 256 << 20
	}
	return 64 << 20
}

// tablePoints reads the tables' rows of every second power of two that are run.
func (c *checker) tablePoints(path string) (points []point) {
	f, err := os.Open(path)
	c.must(err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	c.must(err)
	known := ncclTables()
	for _, row := range rows[1:] {
		if known[row[0]] == nil {
			continue
		}
		nodes, err1 := strconv.Atoi(row[5])
		size, err2 := strconv.ParseInt(row[6], 10, 64)
		us, err3 := strconv.ParseFloat(row[7], 64)
		if err1 != nil || err2 != nil || err3 != nil {
			c.abort("%s has a row that is no measurement: %s", path, strings.Join(row, ","))
		}
		if log := int(math.Log2(float64(size))); log%2 == 0 && size <= most(nodes) || row[0] == "a100-8-sendrecv" {
			points = append(points, point{table: row[0], op: strings.ReplaceAll(row[3], "_", ""), nodes: nodes, size: size, measured: us})
		}
	}
	return points
}

// predict runs a point.
func (c *checker) predict(p *point) {
	set := append(slices.Clone(ncclTables()[p.table]), "workload[0].collective.op="+p.op, fmt.Sprintf("workload[0].collective.size=%dB", p.size))
	r := c.scenario("nccl-table", set...)
	x := metrics.Collectives(r)[0]
	p.predicted = float64(x.TimePS) / 1e6
	p.choice = fmt.Sprintf("%s %s %d", r.Collectives[0].Algorithm, r.Collectives[0].Protocol, r.Collectives[0].Channels)
}

// targets are what errors are held to, by region: the median, the 90th percentile, and the
// share of rows above tooFar.
func targets() [3]struct{ median, p90 float64 } {
	return [3]struct{ median, p90 float64 }{{.10, .30}, {.14, .30}, {.07, .20}}
}

const (
	tooFar     = .4
	mostTooFar = .03
)

// verdict is what errors of a region come to, and which rows are too far off.
type verdict struct {
	rows        int
	median, p90 float64
	far         []string
}

func judge(points []point) (out [3]verdict) {
	var off [3][]float64
	for i := range points {
		p := &points[i]
		k := region(p.size)
		off[k] = append(off[k], p.off())
		if p.off() > tooFar {
			out[k].far = append(out[k].far, fmt.Sprintf("%s %d B, %.2f times", p.table, p.size, p.predicted/p.measured))
		}
	}
	for k := range off {
		slices.Sort(off[k])
		if n := len(off[k]); n > 0 {
			out[k].rows, out[k].median, out[k].p90 = n, off[k][n/2], off[k][min(n-1, n*9/10)]
		}
	}
	return out
}

// publishedTables, case nccl-tables: every second power of two of published tables of
// nccl-tests, with NCCL's own choice of algorithm, protocol and channels.
func (c *checker) publishedTables() {
	path := c.opt.tablesPath()
	if _, err := os.Stat(path); err != nil {
		c.leftOut = append(c.leftOut, LeftOut{Reason: "the data folder has no nccl-tests/published-tables.csv"})
		return
	}
	points := c.tablePoints(path)
	for i := range points {
		c.predict(&points[i])
	}
	for k, v := range judge(points) {
		const source = "published-tables.csv: tables of nccl-tests with their sources"
		t, name := targets()[k], regions[k]
		c.inRange(fmt.Sprintf("%s, median error of %d times, %%", name, v.rows), 100*v.median, math.Inf(-1), 100*t.median, source)
		c.inRange(name+", 90th percentile, %", 100*v.p90, math.Inf(-1), 100*t.p90, source)
		f := c.inRange(name+", share of times more than 40 % off, %", 100*float64(len(v.far))/float64(v.rows), math.Inf(-1), 100*mostTooFar, source)
		c.because(f, strings.Join(v.far, "; "))
	}
}

// tablesPath is where the published tables lie in the data folder.
func (o *Options) tablesPath() string {
	return filepath.Join(o.Data, "nccl-tests", "published-tables.csv")
}
