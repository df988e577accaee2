package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

func parse(t testing.TB, src string, set ...string) *Valid {
	t.Helper()
	v, err := Parse("s.yaml", []byte(src), set, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// losslessOf returns the lossless priorities of a switch's first port.
func losslessOf(s fabric.SwitchParams) (mask uint8) {
	if s.Memory == nil {
		return 0
	}
	for c := range s.Memory.Groups[0] {
		if s.Memory.Groups[0][c].Lossless {
			mask |= 1 << c
		}
	}
	return mask
}

// switchNamed returns the parameters of a switch.
func switchNamed(t testing.TB, v *Valid, name string) fabric.SwitchParams {
	t.Helper()
	n, ok := v.Graph.NodeByName(name)
	if !ok {
		t.Fatalf("no node %s", name)
	}
	return v.Switches[n]
}

// The defaults: DCQCN nvidia, no window, path MTU 4096, data in priority 3
// with DSCP 26, CNPs in 6 with DSCP 48 (models 1.3), ACKs with the data, PFC on
// 3; Kmin, Kmax, Pmax of 400 Gb/s (models 3).
func TestDefaults(t *testing.T) {
	v, err := Load("incast-4to1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	sw := switchNamed(t, v, "sw")
	nic := v.NICs[v.Graph.HostOf(0)]
	c, tr := v.Plan.Conns[0], v.Transports[0]
	frame := units.Bytes(4096 + 62 + 16)
	checks := []struct {
		what      string
		got, want any
	}{
		{"stack", v.Stack, "rocev2"},
		{"stop", v.Stop, units.Never},
		{"dcqcn", v.DCQCN.Name, "nvidia"},
		{"window", tr.Window, rdma.WindowNone},
		{"mtu", tr.MTU, units.Bytes(4096)},
		{"timeout", tr.Timeout, 67108864 * units.Nanosecond}, // 4.096 us * 2^14
		{"retry", tr.RetryCount, uint8(7)},
		{"class", c.Class, uint8(3)},
		{"dscp", c.DSCP, uint8(26)},
		{"ack class", nic.AckClass, uint8(3)},
		{"ack dscp", nic.AckDSCP, uint8(255)},
		{"cnp class", nic.CNPClass, uint8(6)},
		{"cnp dscp", nic.CNPDSCP, uint8(48)},
		{"switch class of data", sw.DSCPToPrio[26], uint8(3)},
		{"switch class of CNPs", sw.DSCPToPrio[48], uint8(6)},
		{"lossless", losslessOf(sw), uint8(1 << 3)},
		{"strict", sw.Ports[0].Strict, uint8(1<<6 | 1<<7)},
		{"quanta", sw.Ports[0].PFC.Quanta, uint16(65535)},
		{"refresh", sw.Ports[0].PFC.Refresh, units.Time(41942400)},  // half of 83.88 us (models 2.1)
		{"response", sw.Ports[0].PFC.Response, units.Time(1158400)}, // 1.16 us (models 2.2)
		{"kmin", sw.Ports[0].RED[3], fabric.RED{KMin: 800 * units.KB, KMax: 3200 * units.KB, PMax: 0.2}},
		{"no marking elsewhere", sw.Ports[0].RED[6], fabric.RED{}},
		{"alpha", [2]int64{sw.Memory.Groups[0][3].Limit.Num, sw.Memory.Groups[0][3].Limit.Den}, [2]int64{1, 8}},
		// 1.0001*C*(2*25 ns + 1158.4 ns + 300 ns + 150 ns + 70 ns) + 3 frames + 84 B
		{"headroom", sw.Memory.Groups[0][3].Headroom, units.Bytes(86429) + 3*frame + 84},
		{"no headroom for lossy", sw.Memory.Groups[0][0].Headroom, units.Bytes(0)},
		{"shared", sw.Memory.Ingress[0].Shared, 128*units.MiB - 5*(4096+86429+3*frame+84)},
		{"messages", v.Plan.Len(), 4},
		{"size", v.Plan.Series[0].Bytes, 64 * units.MB},
		{"NIC marks nothing", nic.Ports[0].RED[3], fabric.RED{}},
	}
	for _, k := range checks {
		if k.got != k.want {
			t.Errorf("%s: %v, want %v", k.what, k.got, k.want)
		}
	}
	var keys []string
	for _, n := range v.Notes {
		if n.Source == "" || n.Value == "" {
			t.Errorf("note %q has value %q and source %q", n.Key, n.Value, n.Source)
		}
		keys = append(keys, n.Key)
	}
	all := strings.Join(keys, "\n")
	for _, need := range []string{"switch.buffer (400Gbps)", "switch.ecn (400Gbps)", "switch.pfc.headroom (400Gbps, 5m)", "dcqcn.preset", "dcqcn.rpg_byte_reset_unit", "mtu"} {
		if !strings.Contains(all, need) {
			t.Errorf("no note of %s", need)
		}
	}
}

// The marking curve per link rate (models 3), and rates between its rows.
func TestDefaultMarkingByRate(t *testing.T) {
	var e ecnSettings
	e.pmax = -1
	cases := []struct {
		rate       units.Rate
		kmin, kmax units.Bytes
		pmax       float64
	}{
		{25 * units.Gbps, 100 * units.KB, 400 * units.KB, .2},
		{50 * units.Gbps, 200 * units.KB, 800 * units.KB, .2},
		{100 * units.Gbps, 400 * units.KB, 1600 * units.KB, .2},
		{200 * units.Gbps, 300 * units.KB, 1200 * units.KB, .8},
		{400 * units.Gbps, 800 * units.KB, 3200 * units.KB, .2},
		{10 * units.Gbps, 40 * units.KB, 160 * units.KB, .2},     // 25G scaled
		{40 * units.Gbps, 160 * units.KB, 640 * units.KB, .2},    // 25G scaled
		{800 * units.Gbps, 1600 * units.KB, 6400 * units.KB, .2}, // 400G scaled
	}
	for _, c := range cases {
		if got, want := e.redFor(c.rate).red, (fabric.RED{KMin: c.kmin, KMax: c.kmax, PMax: c.pmax}); got != want {
			t.Errorf("%v: %+v, want %+v", c.rate, got, want)
		}
	}
}

func TestSwitchSections(t *testing.T) {
	src := base + `switch:
  buffer: 16MB
  latency: 0ns
  forwarding: cut-through
  pfc: {enabled: [3, 4], xoff: 200KB, xon_offset: 10KB, reserved: 0B, headroom: 40KB, quanta: 1000, refresh: never, response: 0ns}
  ecn: {kmin: 5KB, kmax: 200KB, pmax: 1%, at: enqueue, priorities: [3]}
  lossy: {alpha: 2, pool: 1MB}
  dscp_to_priority: {46: 5, 26: 4}
  scheduler: {strict: [7], weights: {3: 3, 4: 1}}
switches:
  leaf2: {ecn: none, pfc: {alpha: 1/16, headroom: auto, headroom_rule: spectrum, cell: 192B}, buffer: 8MB}
`
	// leaf2 inherits xoff 200KB, so alpha beside it is not a contradiction of one section.
	v := parse(t, src)
	sw, leaf2 := switchNamed(t, v, "leaf1"), switchNamed(t, v, "leaf2")
	pg := sw.Memory.Groups[0][3]
	checks := []struct {
		what      string
		got, want any
	}{
		{"lossless", losslessOf(sw), uint8(1<<3 | 1<<4)},
		{"static", pg.Limit.Static, 200 * units.KB},
		{"xon", pg.XONOffset, 10 * units.KB},
		{"headroom", sw.Memory.Groups[1][4].Headroom, 40 * units.KB},
		{"shared", sw.Memory.Ingress[0].Shared, 16*units.MB - 4*2*40*units.KB},
		{"quanta", sw.Ports[0].PFC.Quanta, uint16(1000)},
		{"refresh", sw.Ports[0].PFC.Refresh, units.Time(0)},
		{"response", sw.Ports[0].PFC.Response, units.Time(0)},
		{"cut-through", sw.CutThrough, true},
		{"latency", sw.Latency, units.Time(0)},
		{"RED", sw.Ports[0].RED[3], fabric.RED{KMin: 5000, KMax: 200000, PMax: 0.01}},
		{"enqueue", sw.MarkAtEnqueue, true},
		{"lossy", [2]int64{sw.Memory.Queues[0][0].Limit.Num, sw.Memory.Queues[0][0].Limit.Den}, [2]int64{2, 1}},
		{"pool", sw.Memory.Egress[1].Shared, units.MB},
		{"dscp 46", sw.DSCPToPrio[46], uint8(5)},
		{"dscp 26", sw.DSCPToPrio[26], uint8(4)},
		{"dscp 48", sw.DSCPToPrio[48], uint8(6)},
		{"strict", sw.Ports[0].Strict, uint8(1 << 7)},
		{"weight", sw.Ports[0].Weight, [8]uint8{3: 3, 4: 1}},
		{"NIC obeys the same priorities", v.NICs[v.Graph.HostOf(0)].Ports[0].PFC.Enabled, uint8(1<<3 | 1<<4)},
		{"leaf2 marks nothing", leaf2.Ports[0].RED[3], fabric.RED{}},
		{"leaf2 alpha", leaf2.Memory.Groups[0][3].Limit.Den, int64(16)},
		// 100 Gb/s, 5 m, port MTU 9216, path MTU 4096, cells of 192 B by the vendors' rule
		{"leaf2 headroom", leaf2.Memory.Groups[0][3].Headroom, spectrumHeadroom(cable{rate: 100 * units.Gbps, length: 5 * units.Metre, portMTU: 9216, pathMTU: 4096, cell: 192})},
	}
	for _, k := range checks {
		if k.got != k.want {
			t.Errorf("%s: %v, want %v", k.what, k.got, k.want)
		}
	}
}

func TestNICAndWorkloadSections(t *testing.T) {
	v := parse(t, `topology: {star: {hosts: 5, link: 100Gbps, delay: 1us}}
switch: {latency: 0ns}
mtu: 1024
nic: {ack_every: 4, ack_class: 6, cnp_class: 7, timeout: 10, retry: 3, rnr_retry: 1, min_rnr_timer: 1, window: 1 bdp}
hosts:
  h1: {recovery: go-back-0, window: none, drain_rate: 10Gbps, rx_buffer: 300KB, rx_xoff: 200KB, rx_xon: 100KB}
dcqcn: {preset: paper, rpg_time_reset: 100us, dce_tcp_g: 1/256, rpg_byte_reset: 5MB, initial_rate: 4Gbps, cnp_coalesce: sender}
workload:
  - flow: {name: a, from: h0, to: h2, size: 1KB, count: 3, every: 10us, start: 5us, verb: send, receives: none, class: 4}
  - flow: {from: h1, to: h2, size: 1KB, rkey: wrong, remote_access: none, dscp: 40, initial_rate: 1Gbps}
  - flows: {list: [{from: h3, to: h4, size: 2KB, start: 1us, path: [h3, sw, h4]}, {from: h4, to: h3, size: 3KB}]}
  - incast: {to: h0, size: 1KB, qps: 2}
`)
	p, h0, h1 := v.Plan, v.NICs[mustNode(t, v, "h0")], v.NICs[mustNode(t, v, "h1")]
	t0, t1 := v.Transports[h0.Transport], v.Transports[h1.Transport]
	checks := []struct {
		what      string
		got, want any
	}{
		{"ack every", t0.AckEvery, 4},
		{"timeout", t0.Timeout, 4096 * units.Nanosecond << 10},
		{"retry", t0.RetryCount, uint8(3)},
		{"rnr retry", t0.RNRRetry, uint8(1)},
		{"rnr timer", t0.MinRNRTimer, uint8(1)},
		{"recovery", [2]rdma.Recovery{t0.Recovery, t1.Recovery}, [2]rdma.Recovery{rdma.GoBackN, rdma.GoBack0}},
		{"window", [2]rdma.WindowMode{t0.Window, t1.Window}, [2]rdma.WindowMode{rdma.WindowBytes, rdma.WindowNone}},
		{"ack class", h0.AckClass, uint8(6)},
		{"ack dscp", h0.AckDSCP, uint8(48)},
		{"cnp", [2]uint8{h0.CNPClass, h0.CNPDSCP}, [2]uint8{7, 56}},
		{"drain", h1.DrainRate, 10 * units.Gbps},
		{"rx", [3]units.Bytes{h1.RxBuffer, h1.RxXOFF, h1.RxXON}, [3]units.Bytes{300000, 200000, 100000}},
		{"T", v.DCQCN.RPGTimeReset, 100 * units.Microsecond},
		{"B", [2]int64{v.DCQCN.RPGByteReset, v.DCQCN.RPGByteResetUnit}, [2]int64{5000000, 1}},
		{"g", v.DCQCN.DCETCPG, int64(1020)},
		{"entry", p.Entries, []string{"a", "flow", "flows", "incast"}},
		{"classes", [2]uint8{p.Conns[0].Class, p.Conns[1].Class}, [2]uint8{4, 5}},
		{"dscps", [2]uint8{p.Conns[0].DSCP, p.Conns[1].DSCP}, [2]uint8{34, 40}},
		{"receives", p.Conns[0].Receives, 0},
		{"rkey", p.Conns[1].WrongRKey, true},
		{"access", p.Conns[1].Denied, workload.RemoteWrite | workload.RemoteRead | workload.RemoteAtomic},
		{"initial rates", [2]units.Rate{p.Conns[0].InitialRate, p.Conns[1].InitialRate}, [2]units.Rate{4 * units.Gbps, units.Gbps}},
		{"path", p.Conns[2].Path, []int{mustNode(t, v, "h3"), mustNode(t, v, "sw"), mustNode(t, v, "h4")}},
		{"conns", len(p.Conns), 1 + 1 + 2 + 4*2},
		{"messages", p.Len(), 3 + 1 + 2 + 4*2},
		// base RTT: 4 us of propagation, two hops of 1024+78+20 B out and 86 B back,
		// each rounded up: 4,193,280 ps at 100 Gb/s is 52416 B
		{"bdp", v.Windows[0], units.Bytes(52416)},
	}
	for _, k := range checks {
		if !reflect.DeepEqual(k.got, k.want) {
			t.Errorf("%s: %v, want %v", k.what, k.got, k.want)
		}
	}
	starts := []units.Time{}
	for _, m := range p.All() {
		if m.Conn == 0 {
			starts = append(starts, m.Start)
			if m.Verb != workload.Send {
				t.Errorf("verb %v, want SEND", m.Verb)
			}
		}
	}
	if want := []units.Time{5 * units.Microsecond, 15 * units.Microsecond, 25 * units.Microsecond}; !reflect.DeepEqual(starts, want) {
		t.Errorf("starts %v, want %v", starts, want)
	}
}

func mustNode(t testing.TB, v *Valid, name string) int {
	t.Helper()
	n, ok := v.Graph.NodeByName(name)
	if !ok {
		t.Fatalf("no node %s", name)
	}
	return n
}

func TestTopologies(t *testing.T) {
	cases := []struct {
		name, topo             string
		hosts, switches, links int
	}{
		{"star", "{star: {hosts: 5, link: 1Gbps}}", 5, 1, 5},
		{"leaf-spine", "{leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 3, parallel: 2, link: 1Gbps}}", 12, 6, 12 + 16},
		{"oversubscribed", "{leaf_spine: {leaves: 2, hosts_per_leaf: 8, oversubscription: 2:1, host_link: 1Gbps, uplink: 2Gbps}}", 16, 4, 16 + 4},
		{"fat-tree", "{fat_tree: {k: 4, link: 1Gbps}}", 16, 20, 48},
		{"two tiers", "{fat_tree: {k: 4, tiers: 2, link: 1Gbps}}", 8, 6, 8 + 8},
		{"rail", "{rail: {servers: 4, rails: 2, servers_per_group: 2, spines: 2, link: 1Gbps}}", 4, 6, 8 + 8},
		{"explicit", "{hosts: [a, b], switches: [s], links: [{between: [a, s], rate: 1Gbps}, {between: [s, b], rate: 1Gbps, parallel: 2}]}", 2, 1, 3},
	}
	for _, c := range cases {
		v := parse(t, "topology: "+c.topo+"\nworkload:\n  - permutation: {size: 1KB"+map[bool]string{true: ", hosts: [a, b]"}[c.name == "explicit"]+"}\n")
		hosts := 0
		for _, n := range v.Graph.Nodes {
			if n.Kind == 0 {
				hosts++
			}
		}
		if hosts != c.hosts || len(v.Graph.Nodes)-hosts != c.switches || len(v.Graph.Links) != c.links {
			t.Errorf("%s: %d hosts, %d switches, %d links; want %d, %d, %d", c.name, hosts, len(v.Graph.Nodes)-hosts, len(v.Graph.Links), c.hosts, c.switches, c.links)
		}
	}
}

// Lengths give 5 ns per metre; links says what is special of a link.
func TestLinks(t *testing.T) {
	v := parse(t, `topology:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, parallel: 2, host_link: {rate: 100Gbps, delay: 3us}, uplink: {rate: 400Gbps, length: 100m}}
  links:
    - {between: [spine1, leaf2], nth: 2, rate: 200Gbps, loss: 1%, ber: 1e-12, drop_every: 256, down_at: 1ms}
    - {between: [h0, leaf1], length: 2m}
workload:
  - flow: {from: h0, to: h1, size: 1KB}
`)
	type link struct {
		rate  units.Rate
		delay units.Time
		loss  float64
		drop  int
		down  units.Time
	}
	want := []link{
		{100 * units.Gbps, 10 * units.Nanosecond, 0, 0, units.Never},
		{100 * units.Gbps, 3 * units.Microsecond, 0, 0, units.Never},
		{400 * units.Gbps, 500 * units.Nanosecond, 0, 0, units.Never},
		{400 * units.Gbps, 500 * units.Nanosecond, 0, 0, units.Never},
		{400 * units.Gbps, 500 * units.Nanosecond, 0, 0, units.Never},
		{200 * units.Gbps, 500 * units.Nanosecond, 0.01, 256, units.Millisecond},
	}
	for i, w := range want {
		k := v.Graph.Links[i]
		if got := (link{k.Rate, k.Delay, k.Loss, k.DropEvery, k.FailsAt()}); got != w {
			t.Errorf("link %d: %+v, want %+v", i, got, w)
		}
	}
}

func TestSetAndSeed(t *testing.T) {
	v := parse(t, base, "topology.leaf_spine.link.length=100m", "workload[0].incast.size=2MB", "switch.ecn.kmin=300KB",
		"dcqcn.rpg_ai_rate=40Mbps", "mtu=1024", "workload[0].incast.from=[h1]", "nic={ack_every: 2}")
	seed := uint64(7)
	w, err := Parse("s.yaml", []byte(base), nil, &seed)
	if err != nil {
		t.Fatal(err)
	}
	checks := []struct {
		what      string
		got, want any
	}{
		{"length", v.Graph.Links[0].Length, 100 * units.Metre},
		{"rate stays", v.Graph.Links[0].Rate, 100 * units.Gbps},
		{"size", v.Plan.Series[0].Bytes, 2 * units.MB},
		{"from", len(v.Plan.Conns), 1},
		{"kmin", switchNamed(t, v, "leaf1").Ports[0].RED[3], fabric.RED{KMin: 300 * units.KB, KMax: 1600 * units.KB, PMax: 0.2}},
		{"ai", v.DCQCN.RPGAIRate, 40 * units.Mbps},
		{"preset stays", v.DCQCN.Name, "nvidia"},
		{"mtu", v.Transports[0].MTU, units.Bytes(1024)},
		{"ack every", v.Transports[0].AckEvery, 2},
		{"seed", w.Seed, uint64(7)},
		{"salts differ by seed", switchNamed(t, w, "leaf1").Salt == switchNamed(t, v, "leaf1").Salt, false},
	}
	for _, k := range checks {
		if k.got != k.want {
			t.Errorf("%s: %v, want %v", k.what, k.got, k.want)
		}
	}
	// The source kept for the run directory holds the changes and reads back
	// as the same scenario.
	again := parse(t, string(v.Source))
	again.Source, v.Source = nil, nil
	if !reflect.DeepEqual(again, v) {
		t.Errorf("the rendered source reads back differently:\n%+v\n%+v", again, v)
	}
}

func TestWarnings(t *testing.T) {
	cases := []struct{ name, extra, want string }{
		{"headroom", "switch: {pfc: {headroom: 10KB}}\n", "leaf1 port 1: headroom 10KB is short for the cable: 100Gbps over 5m can need 44.951KB; frames may be dropped (and 11 more like it)"},
		{"ecn above xoff", "switch: {pfc: {xoff: 100KB}}\n", "leaf1 port 1: ECN starts at 400KB, above XOFF at 100KB: with one sender PFC acts before any mark (and 11 more like it)"},
		{"mtu", "switches: {spine1: {mtu: 4200}}\n", "port MTUs differ along the path: leaf1 has 9216, spine1 has 4200; the path MTU 4096 fits both, larger ones may not"},
		{"dscp", "switches: {leaf2: {dscp_to_priority: {26: 0}}}\n", "leaf2: DSCP 26 is priority 0 there, while the NIC sends it in priority 3 (and 1 more like it)"},
		{"lossy", "switch: {pfc: {enabled: [4]}}\n", "leaf1: incast uses priority 3 without PFC, so congestion drops its packets (and 7 more like it)"},
		{"pfc mismatch", "hosts: {h3: {pfc: {enabled: none}}}\n", "PFC differs on the link h3 to leaf2: priorities none against 3; pauses of the others are ignored"},
		{"refresh", "switches: {leaf1: {pfc: {refresh: never}}}\n", "h0 to leaf1: a pause of 65535 quanta ends after 335.5392us and is not refreshed before that; the sender starts again while the buffer is full, and headroom does not hold (and 3 more like it)"},
		{"no marks", "switch: {ecn: none}\n", "DCQCN runs but no switch marks the data's class: it will never hear of congestion; give switch.ecn thresholds, or dcqcn: none"},
		{"receive buffer", "hosts: {h3: {drain_rate: 10Gbps, rx_buffer: 100KB, rx_xoff: 90KB}}\n", "h3: 10KB above rx_xoff is short for the cable, which can need 38.447KB; frames may be dropped"},
	}
	for _, c := range cases {
		v := parse(t, base+c.extra)
		if len(v.Warnings) == 0 || v.Warnings[0] != c.want {
			t.Errorf("%s:\n got  %q\n want %q", c.name, v.Warnings, c.want)
		}
	}
}

// Rails without spines are separate networks: a flow across them has no path.
func TestPairWithoutPath(t *testing.T) {
	const topo = "topology: {rail: {servers: 2, rails: 2, link: 1Gbps}}\nworkload:\n  - flow: {from: \"h0:1\", to: \"h1:%\", size: 1KB}\n"
	if _, err := Parse("s.yaml", []byte(strings.Replace(topo, "%", "1", 1)), nil, nil); err != nil {
		t.Error(err)
	}
	_, err := Parse("s.yaml", []byte(strings.Replace(topo, "%", "2", 1)), nil, nil)
	want := "s.yaml:3:5: workload[0]: no path leads from h0:1 to h1:2; hosts do not forward, so join them by switches, or give ends on one rail, such as h0:2 and h1:2"
	if errText(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Rulers in comments and long lines are no nesting.
func TestLongLines(t *testing.T) {
	parse(t, "# "+strings.Repeat("-", 300)+"\n# "+strings.Repeat("[ - ", 300)+"\n"+base)
	flow := "{from: h0, to: h1}, "
	v := parse(t, base+"  - {flows: {size: 1KB, list: ["+strings.Repeat(flow, 500)+"]}}\n")
	if v.Plan.Len() != 502 {
		t.Errorf("%d messages, want 502", v.Plan.Len())
	}
}

func TestNameOf(t *testing.T) {
	for file, want := range map[string]string{"a/b.yaml": "b", "a/scenario.yaml": "a", "scenario.yaml": "scenario", "/x.y.yaml": "x.y"} {
		if got := nameOf(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// A trace file is read beside the scenario and kept in its source.
func TestTraceFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.yaml")
	text := base + "  - flows: {name: trace, file: f.csv, verb: send}\n"
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("s.yaml", text)
	cases := []struct{ csv, want string }{
		{"from,to,size,start\nh0,h2, 3KB ,5us\n\nh1,h3,4KB,0us\n", "no error"},
		{"", "f.csv:1:1: the trace is empty; begin with the header from,to,size,start and give a row per flow"},
		{"from,to,bytes\nh0,h1,1KB\n", `f.csv:1:9: the header names a column "bytes"; name from, to, enabled, size, start, class, dscp, src_port, dst_port, after, trigger, send_done, recv_done`},
		{"from,to,size\nh0,h1\n", "f.csv:2:1: 2 cells where the header has 3 columns (from,to,size); give one each"},
		{"from,to,size\nh0,h1,1\n", `f.csv:2:7: workload[1].flows.rows[0].size: "1" has no unit; a size ends in one of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB`},
		{"from,to,size\nh0,spine1,1KB\n", "f.csv:2:4: workload[1].flows.rows[0].to: spine1 is a switch; name a host"},
	}
	for _, c := range cases {
		write("f.csv", c.csv)
		v, err := Load(file, nil, nil)
		if got := strings.ReplaceAll(errText(err), dir+string(filepath.Separator), ""); got != c.want {
			t.Errorf("%q:\n got  %s\n want %s", c.csv, got, c.want)
		}
		if err != nil {
			continue
		}
		if v.Plan.Len() != 4 || v.Plan.Series[3].Bytes != 3000 || v.Plan.Series[3].Start != 5*units.Microsecond {
			t.Errorf("messages %+v", v.Plan.Series)
		}
		if again := parse(t, string(v.Source)); !reflect.DeepEqual(again.Plan, v.Plan) {
			t.Error("the source kept for the run directory lacks the trace")
		}
	}
}

func TestPFCOnlyStack(t *testing.T) {
	v := parse(t, "stack: rocev2-pfc-only\n"+base)
	if v.DCQCN != nil || v.Transports[0].ECT || v.Transports[0].SendCNP {
		t.Error("congestion control runs in rocev2-pfc-only")
	}
	for _, p := range switchNamed(t, v, "leaf1").Ports {
		if p.RED != ([8]fabric.RED{}) {
			t.Error("ECN marks in rocev2-pfc-only")
		}
	}
	if g := switchNamed(t, v, "leaf1").Memory.Groups[0]; !g[3].Lossless || g[4].Lossless {
		t.Error("PFC is off in rocev2-pfc-only")
	}
}

func TestLoadNames(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "my.yaml")
	if err := os.WriteFile(file, []byte(base), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file, nil, nil); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ name, want string }{
		{"incast-4to2", `incast-4to2: no such file and no shipped scenario of that name; did you mean "incast-4to1"?`},
		{dir, dir + `: is a folder; name a scenario file`},
	} {
		_, err := Load(c.name, nil, nil)
		if errText(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: the error is a %T", c.name, err)
		}
	}
}
