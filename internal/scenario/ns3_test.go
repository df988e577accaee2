package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
)

// Small files of our own in the simulators' formats.
const (
	ns3ConfigText = `ENABLE_QCN 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
SIMULATOR_STOP_TIME 4.00
CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 20Mb/s
RATE_HAI 200Mb/s
MIN_RATE 1000Mb/s
HAS_WIN 1
GLOBAL_T 1
VAR_WIN 1
ACK_HIGH_PRIO 1
LINK_DOWN 0 0 0
KMAX_MAP 2 100000000000 1600 400000000000 6400
KMIN_MAP 2 100000000000 400 400000000000 1600
PMAX_MAP 2 100000000000 0.20 400000000000 0.20
BUFFER_SIZE 32
`
	ns3TopologyText = "4 1 3\n3\n0 3 100Gbps 1000ns 0\n1 3 100Gbps 1000ns 0\n2 3 100Gbps 1us 0.0\n"
	ns3FlowText     = "2\n1 0 3 100 5500 2.000000000\n1 0 3 100 5500 2.0000000271\n"
)

// writeNS3 writes the three files into a fresh folder and returns it.
func writeNS3(t testing.TB, config, topo, flow string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"config.txt": config, "topology.txt": topo, "flow.txt": flow} {
		if text == "missing" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// peers.md B1: headroom 37500 B at 100 Gb/s over 1 us; base RTT 4160 ns and
// BDP 52000 B in a star at 100 Gb/s with 1 us links; K in units of 1000 B;
// B less headrooms and 4096 B per port; sport 10000+k; times in ns.
func TestNS3Values(t *testing.T) {
	dir := writeNS3(t, ns3ConfigText, ns3TopologyText, ns3FlowText)
	v, err := LoadNS3(filepath.Join(dir, "config.txt"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	sw := v.Switches[3]
	pg := sw.Memory.Groups[0][3]
	red := sw.Ports[0].RED[3]
	tr := v.Transports[0]
	checks := []struct {
		what      string
		got, want any
	}{
		{"headroom", pg.Headroom, units.Bytes(37500)},
		{"reserve", pg.Reserved, units.Bytes(4096)},
		{"alpha", [2]int64{pg.Limit.Num, pg.Limit.Den}, [2]int64{1, 8}},
		{"xon", pg.XONOffset, units.Bytes(3072)},
		{"shared", sw.Memory.Ingress[0].Shared, 32*units.MiB - 3*(37500+4096)},
		{"kmin", red.KMin, 400 * units.KB},
		{"kmax", red.KMax, 1600 * units.KB},
		{"pmax", red.PMax, 0.2},
		{"no timer", sw.Ports[0].PFC.Quanta, uint16(0)},
		{"unaccounted", sw.Unaccounted, uint8(1)},
		{"dequeue", sw.MarkAtEnqueue, false},
		{"mark any", sw.MarkAny, true},
		{"class of ACKs at the host", v.NICs[0].AckClass, uint8(0)},
		{"class of ACKs at the switch", sw.DSCPToPrio[v.Plan.Conns[0].DSCP], uint8(3)},
		{"window", tr.Window, rdma.WindowVar},
		{"window bytes", tr.WindowBytes, units.Bytes(52000)},
		{"timeout", tr.Timeout, units.Time(0)},
		{"quantum", v.TimeQuantum, units.Nanosecond},
		{"first start", v.Plan.Series[0].Start, 2 * units.Second},
		{"second start", v.Plan.Series[1].Start, 2*units.Second + 27*units.Nanosecond},
		{"first port", v.Plan.Conns[0].SrcPort, uint16(10000)},
		{"second port", v.Plan.Conns[1].SrcPort, uint16(10001)},
		{"stop", v.Stop, 4 * units.Second},
		{"gain", v.DCQCN.DCETCPG, int64(1020)},
		{"increase timer", v.DCQCN.RPGTimeReset, 300 * units.Microsecond},
		{"AI", v.DCQCN.RPGAIRate, 20 * units.Mbps},
		{"min rate", v.DCQCN.RPGMinRate, units.Gbps},
	}
	for _, c := range checks {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// Alpha doubles with every doubling of the port's rate above the NICs':
// 400G ports over 100G NICs have 1/2 (peers.md B1 2.6).
func TestNS3AlphaByRate(t *testing.T) {
	for _, c := range []struct {
		rate units.Rate
		den  int64
	}{{100 * units.Gbps, 8}, {40 * units.Gbps, 8}, {200 * units.Gbps, 4}, {400 * units.Gbps, 2}, {3200 * units.Gbps, 1}} {
		if pg := ns3Groups(0, c.rate, 100*units.Gbps); pg[3].Limit.Den != c.den {
			t.Errorf("%v: alpha 1/%d, want 1/%d", c.rate, pg[3].Limit.Den, c.den)
		}
	}
}

func TestNS3WithoutQCN(t *testing.T) {
	dir := writeNS3(t, ns3ConfigText, ns3TopologyText, ns3FlowText)
	v, err := LoadNS3(filepath.Join(dir, "config.txt"), []string{"ENABLE_QCN=0", "BUFFER_SIZE=4"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.DCQCN != nil || v.Transports[0].CC != nil {
		t.Error("congestion control runs with ENABLE_QCN 0")
	}
	if red := v.Switches[3].Ports[0].RED[3]; red.KMax != 0 {
		t.Errorf("marking at %v with ENABLE_QCN 0", red.KMax)
	}
	if want := 4*units.MiB - 3*(37500+4096); v.Switches[3].Memory.Ingress[0].Shared != want {
		t.Errorf("shared %v after --set BUFFER_SIZE=4, want %v", v.Switches[3].Memory.Ingress[0].Shared, want)
	}
}

// The published files load.
func TestNS3RealFiles(t *testing.T) {
	data := os.Getenv("HOPSCOPE_DATA")
	if data == "" {
		t.Skip("HOPSCOPE_DATA does not name the folder of real files")
	}
	configs, err := filepath.Glob(filepath.Join(data, "ns3", "*", "config.txt"))
	if err != nil || len(configs) == 0 {
		t.Fatalf("no config files below %s", data)
	}
	for _, c := range configs {
		name := filepath.Base(filepath.Dir(c))
		v, err := LoadNS3(c, nil, nil)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case v.Plan.Len() == 0:
			t.Errorf("%s: no messages", name)
		}
	}
}

// Hosts with two links, fewer switch ids than announced, and keys of conweave's simulator are read; what
// is left out is said once.
func TestNS3AsTheyAre(t *testing.T) {
	const topo = "6 3 6\n4 5\n0 4 100Gbps 1us 0\n0 5 100Gbps 1us 0\n1 4 100Gbps 1us 0\n1 5 100Gbps 1us 0\n" +
		"2 4 100Gbps 1us 0\n3 5 100Gbps 1us 0\n"
	const flows = "2\n0 1 3 100 5500 2\n0 1 3 100 5500 2.1\n"
	config := ns3ConfigText + "LB_MODE 9\nENABLE_PFC 0\nENABLE_IRN 1\nRANDOM_SEED 5\nLOAD 50\nVOQ_MON_FILE a\nCONN_MON_FILE b\n"
	v, err := LoadNS3(filepath.Join(writeNS3(t, config, topo, flows), "config.txt"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(v.Warnings, "\n")
	for _, want := range []string{"LB_MODE 9 (ConWeave) is left out", "ENABLE_PFC 0 is left out", "ENABLE_IRN 1 is left out",
		"announces 3 switches, and 2 stand here", "host 0 has 2 links"} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%q is not said once in %q", want, v.Warnings)
		}
	}
	a, b := v.Plan.At(0), v.Plan.At(1)
	if x, y := v.Plan.Conns[a.Conn], v.Plan.Conns[b.Conn]; x.Src == y.Src || x.Dst == y.Dst || v.Seed != 5 {
		t.Errorf("flows from endpoints %d and %d to %d and %d, seed %d; want two ports of each host and 5", x.Src, y.Src, x.Dst, y.Dst, v.Seed)
	}
	sameAgainApart(t, v)
}

// sameAgainApart is that the scenario kept of an import loads.
func sameAgainApart(t *testing.T, v *Valid) {
	t.Helper()
	if _, err := Parse("again", v.Source, nil, nil); err != nil {
		t.Error(err)
	}
}
