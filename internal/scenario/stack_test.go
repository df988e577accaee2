package scenario

import (
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/mmu"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Each stack switches on what it says and nothing else.
func TestStacks(t *testing.T) {
	for _, s := range Stacks() {
		v := parse(t, "stack: "+s.Name+"\n"+base)
		if (v.DCQCN != nil) != s.CC || v.Transports[0].SendCNP != s.CC || v.Transports[0].ECT != s.CC {
			t.Errorf("%s: DCQCN %v, CNPs %v, ECT %v", s.Name, v.DCQCN != nil, v.Transports[0].SendCNP, v.Transports[0].ECT)
		}
		sw := switchNamed(t, v, "leaf1")
		mask := uint8(0)
		if s.PFC {
			mask = 1 << dataClass
		}
		if losslessOf(sw) != mask || sw.Ports[0].PFC.Enabled != mask {
			t.Errorf("%s: lossless %b, PFC %b, want %b", s.Name, losslessOf(sw), sw.Ports[0].PFC.Enabled, mask)
		}
		for n := range v.Graph.Nodes {
			if v.Graph.Nodes[n].Kind == topology.Host && v.NICs[n].Ports[0].PFC.Enabled != mask {
				t.Errorf("%s: PFC of %s is %b", s.Name, v.Graph.Nodes[n].Name, v.NICs[n].Ports[0].PFC.Enabled)
			}
		}
		class := dataClass
		if _, isTCP := profileOf(s.Name); isTCP {
			class = 0
		}
		if marks := sw.Ports[0].RED[class] != (fabric.RED{}); marks != s.ECN {
			t.Errorf("%s: marking %v", s.Name, marks)
		}
		if (sw.SL2VL != nil) != s.Credits || (sw.Ports[0].Credit != nil) != s.Credits || (v.Wire.Block > 0) != s.Credits {
			t.Errorf("%s: credits %v", s.Name, sw.Ports[0].Credit != nil)
		}
		if !s.PFC && !s.Credits && (sw.Memory.Queues[0][dataClass].Limit != mmu.Threshold{Num: 1, Den: 2} || sw.Memory.Groups[0][dataClass].Headroom != 0) {
			t.Errorf("%s: egress threshold %v, headroom %v", s.Name, sw.Memory.Queues[0][dataClass].Limit, sw.Memory.Groups[0][dataClass].Headroom)
		}
		if len(v.Warnings) > 0 {
			t.Errorf("%s alone warns: %v", s.Name, v.Warnings)
		}
	}
}

// A stack's recovery holds unless the scenario has another; IRN brings its
// window and timeouts, a BDP of the idle path and 320 and 100 us (SIGCOMM 2018).
func TestRecovery(t *testing.T) {
	const irnLow, irnHigh = 100 * units.Microsecond, 320 * units.Microsecond
	for _, c := range []struct {
		text      string
		recovery  rdma.Recovery
		window    bool
		low, high units.Time
		bitmap    int
	}{
		{"", rdma.GoBackN, false, 0, rdma.TimeoutCode(14), 0},
		{"stack: rocev2-lossy\n", rdma.SelectiveRepeat, false, 0, rdma.TimeoutCode(14), 512},
		{"stack: rocev2-lossy\nnic: {recovery: go-back-n}\n", rdma.GoBackN, false, 0, rdma.TimeoutCode(14), 0},
		{"stack: rocev2-lossy\nnic: {timeout: 8, bitmap: 64}\n", rdma.SelectiveRepeat, false, 0, rdma.TimeoutCode(8), 64},
		{"stack: rocev2-irn\n", rdma.IRN, true, irnLow, irnHigh, 512},
		{"nic: {recovery: irn}\n", rdma.IRN, true, irnLow, irnHigh, 512},
		{"nic: {recovery: irn, window: none}\n", rdma.IRN, false, irnLow, irnHigh, 512},
		{"nic: {recovery: irn, timeout: 8}\n", rdma.IRN, true, irnLow, rdma.TimeoutCode(8), 512},
		{"nic: {recovery: irn, timeout: 3}\n", rdma.IRN, true, rdma.TimeoutCode(3), rdma.TimeoutCode(3), 512},
		{"nic: {recovery: irn, window: 4MB}\n", rdma.IRN, true, irnLow, irnHigh, 977},
		{"nic: {recovery: irn, window: 500 bdp}\n", rdma.IRN, true, irnLow, irnHigh, 0},
	} {
		v := parse(t, c.text+base)
		got := v.Transports[0]
		if c.bitmap == 0 && got.Selective() { // what the largest window needs
			for _, w := range v.Windows {
				c.bitmap = max(c.bitmap, int((w+4095)/4096))
			}
		}
		if got.Recovery != c.recovery || (got.Window != rdma.WindowNone) != c.window || got.TimeoutLow != c.low || got.Timeout != c.high || got.Bitmap != c.bitmap {
			t.Errorf("%q: %v, window %v, timeouts %d and %d, bitmap %d, want %+v", c.text, got.Recovery, got.Window, got.TimeoutLow, got.Timeout, got.Bitmap, c)
		}
	}
}

// What a file says of PFC does not switch it on in a stack without.
func TestStackWithoutPFCOverrides(t *testing.T) {
	v := parse(t, "stack: rocev2-none\n"+base+"switch: {pfc: {enabled: [3, 4]}}\nswitches: {leaf1: {pfc: {enabled: [3]}}}\nhosts: {h0: {pfc: {enabled: [3]}}}\n")
	if sw := switchNamed(t, v, "leaf1"); sw.Memory.Groups[0][dataClass].Lossless || sw.Ports[0].PFC.Enabled != 0 {
		t.Error("PFC is on")
	}
	n, _ := v.Graph.NodeByName("h0")
	if v.NICs[n].Ports[0].PFC.Enabled != 0 {
		t.Error("PFC of h0 is on")
	}
	for _, n := range v.Notes {
		if n.Key == "switch.pfc" && n.Source != "stack rocev2-none" {
			t.Errorf("%+v", n)
		}
	}
}

// A file written for one stack runs over another, and what is kept of it for
// the run directory reads back as the same.
func TestParseStack(t *testing.T) {
	src := "stack: rocev2\ndcqcn: {preset: paper}\n" + base
	for _, s := range Stacks() {
		v, err := parseStack("s.yaml", []byte(src), s.Name, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		again := parse(t, string(v.Source))
		if again.Stack != s.Name || (again.DCQCN != nil) != s.CC {
			t.Errorf("%s: reads back as %s", s.Name, again.Stack)
		}
		if s.CC && v.DCQCN.Name != "paper" {
			t.Errorf("%s: DCQCN %s", s.Name, v.DCQCN.Name)
		}
	}
	if _, err := parseStack("s.yaml", []byte(src), "rocev3", nil, nil); errText(err) != `--stacks: "rocev3" is not a stack; did you mean "rocev2"?` {
		t.Error(err)
	}
}

// Every parameter shown has a value and a source, and a sheet's keys differ.
func TestSheets(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range (Known{}).Sheets() {
		if name := s.Kind + "." + s.Name; seen[name] || s.Summary == "" {
			t.Errorf("%s: twice or without summary", name)
		} else {
			seen[name] = true
		}
		if least := map[bool]int{true: 3, false: 5}[s.Kind == "controller"]; len(s.Notes) < least {
			t.Errorf("%s %s: %d parameters", s.Kind, s.Name, len(s.Notes))
		}
		keys := map[string]bool{}
		for _, n := range s.Notes {
			if n.Key == "" || n.Value == "" || n.Source == "" || n.Source == fromScenario {
				t.Errorf("%s %s: %+v", s.Kind, s.Name, n)
			}
			if keys[n.Key+n.Value] {
				t.Errorf("%s %s: %s stands twice", s.Kind, s.Name, n.Key)
			}
			keys[n.Key+n.Value] = true
		}
	}
	for _, name := range append(StackNames(), "nvidia", "paper", "strawman", "nic", "go-back-0", "selective-repeat", "irn", "ethernet", "buffer", "ecn", "headroom", "pfc-response") {
		if got, err := (Known{}).Show(name, nil); err != nil || len(got) != 1 {
			t.Errorf("%s: %d sheets, %v", name, len(got), err)
		}
	}
	if got, _ := (Known{}).Show("ns3", nil); len(got) != 3 {
		t.Errorf("ns3: %d sheets", len(got))
	}
	if got, _ := (Known{}).Show("wire.ns3", nil); len(got) != 1 {
		t.Errorf("wire.ns3: %d sheets", len(got))
	}
	if _, err := (Known{}).Show("ethernot", nil); err == nil || !strings.Contains(err.Error(), `did you mean "ethernet"?`) {
		t.Error(err)
	}
}

// Of a scenario what is shown is what runs with --set; of the rest nothing is set, and an
// empty value sets nothing.
func TestShowWithChanges(t *testing.T) {
	got, err := (Known{}).Show("incast-4to1", []string{"noise=off", "switch.memory=spectrum4"})
	if err != nil || len(got) != 1 {
		t.Fatal(len(got), err)
	}
	for _, key := range []string{"noise", "switch.memory.preset"} {
		if i := slices.IndexFunc(got[0].Notes, func(n record.Note) bool { return n.Key == key }); i < 0 || got[0].Notes[i].Source != fromScenario {
			t.Errorf("%s: %d", key, i)
		}
	}
	for set, want := range map[string]string{"switch.memory=": "has no value", "noise=": "has no value", "nose=off": `did you mean "noise"?`} {
		if _, err := (Known{}).Show("incast-4to1", []string{set}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", set, err)
		}
	}
	if _, err := (Known{}).Show("rocev2", []string{"noise=off"}); err == nil || !strings.Contains(err.Error(), `"rocev2" is none`) {
		t.Error(err)
	}
}

// What is shown is what a scenario gets.
func TestSheetsAreTheDefaults(t *testing.T) {
	v := parse(t, base) // 100 Gb/s
	shown := map[string]string{}
	sheets, _ := (Known{}).Show("rocev2", nil)
	for _, n := range sheets[0].Notes {
		shown[n.Key] = n.Value
	}
	for _, n := range v.Notes {
		if strings.HasPrefix(n.Key, "switch.memory.") {
			continue // of the buffer and the number of ports
		}
		used := n.Value
		if strings.HasPrefix(n.Key, "switch.pfc.headroom (") { // shown by both rules
			used, shown[n.Key] = "physical "+used, strings.Split(shown[n.Key], ",")[0]
		}
		if got := shown[n.Key]; got != used {
			t.Errorf("%s: shown %q, used %q", n.Key, got, used)
		}
	}
}

// A stack's sheet has what its NICs and frames are, once.
func TestStackSheetIsWhole(t *testing.T) {
	sheets, err := (Known{}).Show("rocev2", nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, n := range sheets[0].Notes {
		seen[n.Key]++
	}
	for _, key := range []string{"nic.class", "nic.dscp", "nic.cnp_class", "nic.cnp_dscp", "nic.rx_buffer", "nic.ttl", "nic.mtu", "mtu", "wire"} {
		if seen[key] != 1 {
			t.Errorf("%s stands there %d times", key, seen[key])
		}
	}
}

// In a comparison with TCP hosts are alike in all columns, unless the scenario says
// what they are; what is kept of a column reads back as the same. Without TCP they
// stay as they are.
func TestHostsAlikeInAllColumns(t *testing.T) {
	const flow = "topology: {star: {hosts: 4, link: 100Gbps}}\nworkload:\n  - flow: {from: h0, to: h1, size: 1KB}\n"
	const entry = flow + "  - flow: {from: h2, to: h3, size: 1KB, stack: tcp}\n"
	for _, c := range []struct {
		text   string
		stacks []string
		cores  int // of h0, in the column rocev2
	}{
		{flow, nil, 1},
		{flow, []string{"rocev2", "rocev2-none"}, 1},
		{flow, []string{"rocev2", "tcp"}, 24},
		{flow, []string{"dctcp", "rocev2"}, 24},
		{entry, []string{"rocev2", "rocev2-none"}, 24},
		{flow + "host: {cores: 4}\n", []string{"rocev2", "tcp"}, 4},
		{flow + "host:\n", []string{"rocev2", "tcp"}, 24},
		{flow + "host: {preset: free}\n", []string{"rocev2", "tcp"}, 1},
		{flow + "hosts: {h0: {preset: free}}\n", []string{"rocev2", "tcp"}, 1},
	} {
		v, err := loadColumn("s.yaml", []byte(c.text), "rocev2", c.stacks, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := v.NICs[mustNode(t, v, "h0")].Host
		if got.Cores != c.cores {
			t.Errorf("%s%v: %d cores, want %d", c.text, c.stacks, got.Cores, c.cores)
		}
		if again := parse(t, string(v.Source)); again.NICs[mustNode(t, again, "h0")].Host != got {
			t.Errorf("%s%v: reads back as %+v", c.text, c.stacks, again.NICs[0].Host)
		}
	}
}

// parseStack is Parse with another stack.
func parseStack(file string, src []byte, stack string, set []string, seed *uint64) (*Valid, error) {
	return Read(Source{Name: file, Text: src, Stack: stack, Set: set, Seed: seed})
}

// loadColumn is parseStack for a column beside others.
func loadColumn(file string, src []byte, stack string, stacks, set []string, seed *uint64) (*Valid, error) {
	return Read(Source{Name: file, Text: src, Stack: stack, Stacks: stacks, Set: set, Seed: seed})
}
