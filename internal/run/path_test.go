package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

func pathOf(t *testing.T, text, from, to string, size units.Bytes, load bool, set ...string) *record.Path {
	t.Helper()
	p, err := Path(context.Background(), PathOptions{Options: Options{Scenario: "test", Text: []byte(text), Set: set, Workers: 1}, From: from, To: to, Size: size, Load: load})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// zeroLoad is the completion time of a WRITE alone on an idle network, without the
// simulator: frame by frame over the links of its path (Lindley's recursion: a frame
// starts when it is there and the one before it has left), and an ACK of each back.
// Store-and-forward switches have a frame when its last bit is there, cut-through ones
// when its header is, unless the next link is faster.
func zeroLoad(v *scenario.Valid, there, back []topology.Hop, size units.Bytes) units.Time {
	mtu := v.Transports[0].MTU
	var frames []units.Bytes
	for left, first := size, true; left > 0 || first; first = false {
		n := min(left, mtu)
		left -= n
		frame := units.Bytes(v.Wire.Data) + n
		if v.Wire.Pad > 0 {
			frame += -n & units.Bytes(v.Wire.Pad-1)
		}
		if first {
			frame += units.Bytes(v.Wire.RETH)
		}
		frames = append(frames, max(frame, units.Bytes(v.Wire.MinFrame)))
	}
	at := make([]units.Time, len(frames)) // when each frame may start on the next link
	tandem(v, there, at, func(i int) units.Bytes { return frames[i] })
	tandem(v, back, at, func(int) units.Bytes { return max(units.Bytes(v.Wire.Ack), units.Bytes(v.Wire.MinFrame)) })
	return at[len(at)-1]
}

// tandem sends frames that are there at the given times over the links one after the
// other; at becomes when each arrives.
func tandem(v *scenario.Valid, hops []topology.Hop, at []units.Time, frame func(i int) units.Bytes) {
	for k := range hops {
		free := units.Time(0)
		for i := range at {
			start := max(at[i], free)
			free = start + v.Graph.LinkAt(hops[k].Node, hops[k].Port).Rate.TxTime(frame(i)+units.Bytes(v.Wire.Overhead))
			at[i] = start + crossing(v, hops, k, frame(i))
		}
	}
}

// crossing is from when a frame starts on a link until it may start on the next.
func crossing(v *scenario.Valid, hops []topology.Hop, k int, frame units.Bytes) units.Time {
	link := v.Graph.LinkAt(hops[k].Node, hops[k].Port)
	whole := link.Rate.TxTime(frame + units.Bytes(v.Wire.Overhead))
	if k+1 == len(hops) {
		return whole + link.Delay
	}
	s := &v.Switches[hops[k+1].Node]
	if next := v.Graph.LinkAt(hops[k+1].Node, hops[k+1].Port); s.CutThrough && next.Rate <= link.Rate {
		whole = min(whole, link.Rate.TxTime(units.Bytes(v.Wire.Preamble+v.Wire.Header)))
	}
	return whole + link.Delay + s.Latency
}

// credited reports whether what a message took longer is at most a flow-control packet
// per virtual lane and link: they are sent every 65,536 symbol times (which at 100 Gb/s
// are less than the longest message here takes), and may be in its way.
func credited(v *scenario.Valid, there []topology.Hop, longer units.Time) bool {
	most := units.Time(0)
	for _, h := range there {
		most += fabric.Classes * v.Graph.LinkAt(h.Node, h.Port).Rate.TxTime(units.Bytes(v.Wire.Control+v.Wire.Overhead))
	}
	return v.Wire.Block > 0 && longer > 0 && longer <= most
}

// TestPathZeroLoad: what path says of a message alone is the closed form, to the
// picosecond (with InfiniBand but for flow-control packets), over topologies, stacks and sizes; and what a run of a scenario with just
// that message gives.
func TestPathZeroLoad(t *testing.T) {
	topologies := []string{
		"{star: {hosts: 4, link: 100Gbps, length: 7m}}",
		"{leaf_spine: {leaves: 2, spines: 3, hosts_per_leaf: 2, host_link: 100Gbps, uplink: 400Gbps}}",
		"{leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, host_link: 400Gbps, uplink: 100Gbps}}",
	}
	settings := [][]string{{"stack=rocev2"}, {"stack=rocev2-lossy", "mtu=1024"}, {"stack=infiniband"}, {"stack=rocev2", "switch.forwarding=cut-through"}}
	for _, topo := range topologies {
		for _, set := range settings {
			for _, size := range []units.Bytes{1, 4096, 4097, 64000, 1 << 20} {
				text := fmt.Sprintf("noise: off\ntopology: %s\nworkload:\n  - flow: {from: h0, to: h3, size: %dB}\n", topo, size)
				name := strings.Join(set, " ") + " " + text
				opt := Options{Scenario: "test", Text: []byte(text), Set: set, Workers: 1}
				v, err := Load(opt)
				if err != nil {
					t.Fatal(err)
				}
				w, err := build.New(v, build.Options{})
				if err != nil {
					t.Fatal(err)
				}
				there, back := w.Path(0)
				want := zeroLoad(v, there, back, size)
				p := pathOf(t, text, "h0", "h3", size, false, set...)
				if got := p.Ways[0].Run.Messages[0].CompletionPS; got != want && !credited(v, there, got-want) {
					t.Errorf("%s: %v, the closed form gives %v", name, got, want)
				}
				alone, _, err := Do(context.Background(), opt)
				if err != nil {
					t.Fatal(err)
				}
				if got := alone.Messages[0].CompletionPS; got != p.Ways[0].Run.Messages[0].CompletionPS {
					t.Errorf("%s: the scenario takes %v, the path %v", name, got, p.Ways[0].Run.Messages[0].CompletionPS)
				}
				if len(p.Ways[0].Hops) != len(there) || p.Like != "flow" {
					t.Errorf("%s: %d hops of %d, like %q", name, len(p.Ways[0].Hops), len(there), p.Like)
				}
			}
		}
	}
}

// gpuPair has ends in GPUs.
const gpuPair = `
topology: {star: {hosts: 4, link: 400Gbps}}
server: dgx-h100
workload:
  - flow: {from: h0/gpu0, to: h1/gpu0, size: 64KB}
  - flow: {from: h2, to: h1, size: 1MB}
`

// TestPathWays: GPU ends have three ways, others one and TCP; hops lead from memory to
// memory; what is staged passes DRAM twice at either end.
func TestPathWays(t *testing.T) {
	p := pathOf(t, gpuPair, "h0/gpu0", "h1/gpu0", 64000, false)
	var names []string
	for i := range p.Ways {
		names = append(names, p.Ways[i].Name)
	}
	if got := strings.Join(names, "; "); got != "rocev2, GPUDirect; rocev2, staged; tcp" {
		t.Errorf("ways %s", got)
	}
	want := [][]string{
		{"h0 memory of gpu0", "h0 gpu0 to switch0", "h0 switch0 to nic0", " h0:1", " sw:2", "h1 nic0 to switch0", "h1 switch0 to gpu0", "h1 memory of gpu0"},
		{"h0 memory of gpu0", "h0 gpu0 to switch0", "h0 switch0 to cpu0", "h0 memory of dram0", "h0 memory of dram0", "h0 cpu0 to switch0", "h0 switch0 to nic0", " h0:1", " sw:2",
			"h1 nic0 to switch0", "h1 switch0 to cpu0", "h1 memory of dram0", "h1 memory of dram0", "h1 cpu0 to switch0", "h1 switch0 to gpu0", "h1 memory of gpu0"},
	}
	want = append(want, want[1])
	for i := range p.Ways {
		var hops []string
		for _, h := range p.Ways[i].Hops {
			hops = append(hops, h.Host+" "+h.Name)
		}
		if strings.Join(hops, "; ") != strings.Join(want[i], "; ") {
			t.Errorf("%s:\n%s\nwant\n%s", p.Ways[i].Name, strings.Join(hops, "; "), strings.Join(want[i], "; "))
		}
	}
	if p.Like != "flow" {
		t.Errorf("like %q", p.Like)
	}
	p = pathOf(t, gpuPair, "h3", "h2", 64000, true)
	if len(p.Ways) != 2 || p.Ways[0].Name != "rocev2" || p.Like != "" || p.Loaded == nil || len(p.Loaded.Messages) != 2 {
		t.Errorf("h3 to h2: %d ways, like %q", len(p.Ways), p.Like)
	}
}

// TestPathFollows: the message takes the source port, and with it the ECMP path, and the
// class of the workload's own connection.
func TestPathFollows(t *testing.T) {
	text := `
topology: {leaf_spine: {leaves: 2, spines: 4, hosts_per_leaf: 2, host_link: 100Gbps, uplink: 100Gbps}}
switch: {pfc: {enabled: [3, 4]}}
workload:
  - flow: {from: h0, to: h2, size: 1MB, src_port: %d, class: 4}
`
	seen := map[string]bool{}
	for port := 50000; port < 50016; port++ {
		text := fmt.Sprintf(text, port)
		p := pathOf(t, text, "h0", "h2", 1000, false)
		v, err := Load(Options{Scenario: "test", Text: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		w, err := build.New(v, build.Options{})
		if err != nil {
			t.Fatal(err)
		}
		there, _ := w.Path(0)
		up := fmt.Sprintf("leaf1:%d", there[1].Port+1)
		if got := p.Ways[0].Hops[1]; got.Name != up || got.Class != 4 || got.Rule != "pause" {
			t.Errorf("port %d: %+v, want %s in class 4", port, got, up)
		}
		seen[up] = true
	}
	if len(seen) < 3 {
		t.Errorf("the ports take the ways %v; more are needed for the test to tell", seen)
	}
}

// TestPathErrors are the user's: ends that do not exist, or do not differ.
func TestPathErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"hx", "h1", `SRC: `},
		{"h0", "h9", `DST: `},
		{"h0/gpu9", "h1", `SRC: `},
		{"h0", "h0", "path: "},
	} {
		_, err := Path(context.Background(), PathOptions{Options: Options{Scenario: "test", Text: []byte(gpuPair), Workers: 1}, From: c.from, To: c.to, Size: 1000})
		var bad *scenario.Error
		if !errors.As(err, &bad) || !strings.HasPrefix(bad.Error(), c.want) {
			t.Errorf("%s to %s: %v, want %s", c.from, c.to, err, c.want)
		}
	}
}

// TestPathGPUDirect: a small message from GPU to GPU takes the sum of its parts, none of
// which is asked of the simulator: a store of the doorbell, reads of the work request
// and of the payload by the card, a frame over the network, and a write by the card at
// the far end. The engine rounds the bytes of each link, of which one takes up to 32 ps on
// 16 lanes: 20 ps per hop are allowed, and 16 needed.
func TestPathGPUDirect(t *testing.T) {
	for _, name := range server.Presets() {
		tree, err := server.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(tree.GPUs()) == 0 {
			continue
		}
		for _, acs := range []string{"direct", "redirect"} {
			for _, gpu := range []string{"gpu0", "gpu1"} {
				text := fmt.Sprintf("topology: {star: {hosts: 2, link: 200Gbps}}\nserver: {preset: %s, acs: %s}\nworkload:\n  - flow: {from: h0:1/%s, to: h1:1/%s, size: 64B}\n", name, acs, gpu, gpu)
				v, err := Load(Options{Scenario: "test", Text: []byte(text)})
				if err != nil {
					t.Fatal(err)
				}
				w, err := build.New(v, build.Options{})
				if err != nil {
					t.Fatal(err)
				}
				want, hops := directParts(t, v, w, gpu)
				p := pathOf(t, text, "h0:1/"+gpu, "h1:1/"+gpu, 64, false)
				got := p.Ways[0].Run.Messages[0].CompletionPS
				if off := max(got-want, want-got); off > 20*units.Time(hops) {
					t.Errorf("%s, acs %s, %s: %v, the parts add up to %v: %v apart over %d hops", name, acs, gpu, got, want, off, hops)
				}
			}
		}
	}
}

// directParts adds up what a message of 64 B between two GPUs is made of.
func directParts(t *testing.T, v *scenario.Valid, w *build.World, gpu string) (sum units.Time, hops int) {
	tree := v.NICs[v.Graph.Endpoints[0].Node].Server
	nic := tree.NICs()[0]
	dram := tree.DRAMOf(nic)
	payload, err := tree.Predict(tree.Find(gpu), nic)
	if err != nil {
		t.Fatal(err)
	}
	request, err := tree.Predict(dram, nic)
	if err != nil {
		t.Fatal(err)
	}
	sum = tree.Costs.Doorbell
	for _, h := range request.Path {
		if l := &tree.Links[h.Link]; l.Kind == server.PCIe {
			sum += l.Latency + l.PCIe.Raw().TxTime(l.PCIe.WriteBytes(tree.Costs.DoorbellBytes))
		}
	}
	there, _ := w.Path(0)
	at := []units.Time{0}
	tandem(v, there, at, func(int) units.Bytes { return units.Bytes(v.Wire.Data+v.Wire.RETH) + 64 })
	sum += request.Read.Latency + payload.Read.Latency + at[0] + payload.Write.Latency
	return sum, 2*len(request.Path) + 3*len(payload.Path)
}

// TestPathIsARun: every way takes as long as a run of the scenario with just this
// message, on the stack and with the staging that the way has.
func TestPathIsARun(t *testing.T) {
	for _, c := range []struct{ head, from, to string }{
		{"server: dgx-a100\n", "h0/gpu3", "h1/gpu1"},
		{"server: gb200-nvl72\n", "h0/gpu0", "h1"},
		{"server: two-socket\n", "h0", "h1/dram1"},
		{"", "h0", "h1"},
	} {
		for _, size := range []units.Bytes{64, 300_000} {
			rails := "topology: {rail: {servers: 2, rails: 4, host_link: 100Gbps, spines: 2, uplink: 100Gbps}}\n"
			if strings.Contains(c.head, "two-socket") || c.head == "" {
				rails = "topology: {star: {hosts: 2, link: 100Gbps}}\n"
			}
			text := rails + c.head + "workload:\n  - flow: {from: " + c.from + ", to: " + c.to + fmt.Sprintf(", size: %dB, gpudirect: %%s}\n", size)
			p := pathOf(t, fmt.Sprintf(text, "on"), c.from, c.to, size, false)
			for i := range p.Ways {
				w := &p.Ways[i]
				if w.Why != "" {
					t.Errorf("%s, %s: %s", c.head, w.Name, w.Why)
					continue
				}
				stack, how, _ := strings.Cut(w.Name, ", ")
				direct := map[bool]string{true: "off", false: "on"}[how == "staged"]
				alone, _, err := Do(context.Background(), Options{Scenario: "test", Text: []byte(fmt.Sprintf(text, direct)), Set: []string{"stack=" + stack, "noise=off"}, Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := w.Run.Messages[0].CompletionPS, alone.Messages[0].CompletionPS; got != want || got <= 0 {
					t.Errorf("%s%s to %s, %d B, %s: %v, its run %v", c.head, c.from, c.to, size, w.Name, got, want)
				}
			}
		}
	}
}

// TestPathInside: between two places of one server data go over NVLink, if there is one,
// and PCIe. A long copy takes its bytes over the slowest hop's rate, to 1 %, and at least
// the latencies on top; over PCIe between sockets a Xeon cuts it into TLPs of 64 B on the
// far side, where the closed form is pcie.Link's.
func TestPathInside(t *testing.T) {
	const size = 256 << 20
	text := "topology: {star: {hosts: 2, link: 400Gbps}}\nserver: %s\nworkload:\n  - flow: {from: h0, to: h1, size: 1KB}\n"
	for _, c := range []struct{ preset, from, to, ways, slowest string }{
		{"dgx-h100", "gpu0", "gpu5", "NVLink PCIe", "cpu0 to cpu1"},
		{"dgx-h100", "gpu0", "gpu1", "NVLink PCIe", "cpu0 to switch1"},
		{"dgx-a100", "gpu3", "gpu2", "NVLink PCIe", "gpu3 to switch1"},
		{"dgx-h100", "gpu0", "dram0", "PCIe", "gpu0 to switch0"},
		{"dgx-h100", "dram1", "gpu7", "PCIe", "cpu1 to switch7"},
		{"gb200-nvl72", "gpu0", "gpu3", "NVLink PCIe", "cpu0 to cpu1"},
	} {
		p := pathOf(t, fmt.Sprintf(text, c.preset), "h0/"+c.from, "h0/"+c.to, size, false)
		var names []string
		for i := range p.Ways {
			w := &p.Ways[i]
			names = append(names, w.Name)
			slow, latency := w.Hops[0], units.Time(0)
			for _, h := range w.Hops {
				latency += h.LatencyPS
				if h.RateBps < slow.RateBps {
					slow = h
				}
			}
			least := slow.RateBps.TxTimeLong(size) // of whole TLPs, which the rate is for
			if w.CompletionPS < least+latency-units.Microsecond || w.CompletionPS > least+least/100+latency {
				t.Errorf("%s %s to %s, %s: %v, at %v (%s) %v and %v of latency", c.preset, c.from, c.to, w.Name, w.CompletionPS, slow.RateBps, slow.Name, least, latency)
			}
			if w.Name == "PCIe" && slow.Name != c.slowest {
				t.Errorf("%s %s to %s: the slowest hop is %s, want %s", c.preset, c.from, c.to, slow.Name, c.slowest)
			}
		}
		if got := strings.Join(names, " "); got != c.ways {
			t.Errorf("%s %s to %s: ways %s, want %s", c.preset, c.from, c.to, got, c.ways)
		}
	}
}

// The bare name of a host says no place in its server.
func TestPathBareHost(t *testing.T) {
	text := "topology: {star: {hosts: 2, link: 400Gbps}}\nserver: dgx-h100\nworkload:\n  - flow: {from: h0, to: h1, size: 1KB}\n"
	for _, ends := range [][2]string{{"h0/gpu0", "h0"}, {"h0", "h0/gpu0"}} {
		_, err := Path(context.Background(), PathOptions{Options: Options{Scenario: "s.yaml", Text: []byte(text)}, From: ends[0], To: ends[1], Size: 1 << 10})
		want := ends[0] + " to " + ends[1] + ": both are in h0; name the place in it, such as h0/dram0 or h0/gpu1, or another host"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// What path says of a message is what a run with that message alone takes, to the picosecond: of
// random sizes, verbs, classes, cards and ends, inside the work request or not.
func TestPathAgreesWithRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	for range 24 {
		size, inline, dev := 1+rng.IntN(220), rng.IntN(2) == 0, pick("", "/gpu0", "/gpu3")
		if !inline && rng.IntN(2) == 0 {
			size = 1 + rng.IntN(100000)
		}
		text := fmt.Sprintf("name: p\nnoise: off\nnic: {preset: %s}\nserver: dgx-h100\ntopology: {rail: {servers: 2, rails: 8, link: 400Gbps}}\n"+
			"workload: [flow: {from: h0%s, to: h1%s, size: %dB, verb: %s, class: %s, inline: %v}]\n",
			pick("connectx-7", "connectx-6-dx", "ideal"), dev, dev, size, pick("write", "send", "write-imm"), pick("0", "3", "4"), inline)
		r, _, err := Do(context.Background(), Options{Scenario: "p", Text: []byte(text), Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		way := pathOf(t, text, "h0"+dev, "h1"+dev, units.Bytes(size), false).Ways[0].Run
		if got, want := way.Messages[0].CompletionPS, r.Messages[0].CompletionPS; got != want {
			t.Errorf("path: %v, run: %v of\n%s", got, want, text)
		}
	}
}
