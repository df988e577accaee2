package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

const ibStar = "topology: {star: {hosts: 3, link: NDR}}\nworkload:\n  - flow: {from: h0, to: h1, size: 1MB%s}\n"

func ibScenario(section, options string) string {
	text := "stack: infiniband\n" + strings.Replace(ibStar, "%s", options, 1)
	if section != "" {
		text += "infiniband: {" + section + "}\n"
	}
	return text
}

// The defaults: eight VLs, 2048 blocks each (IBTA 7.9.4: what a flow-control
// packet can grant), OpenSM's tables, cut-through.
func TestInfiniBandDefaults(t *testing.T) {
	v := parse(t, ibScenario("", ""))
	sw := switchNamed(t, v, "sw")
	if v.Wire != wire.InfiniBand || v.Graph.Links[0].Rate != 400*units.Gbps || !sw.CutThrough || sw.Latency != 150*units.Nanosecond {
		t.Errorf("wire %s, link %v, cut-through %v, latency %v", v.Wire.Name, v.Graph.Links[0].Rate, sw.CutThrough, sw.Latency)
	}
	p := sw.Ports[0]
	for vl := range fabric.Classes {
		if p.Credit.Blocks[vl] != 2048 || p.Credit.Update[vl] != 512 {
			t.Errorf("VL %d: %d blocks, update after %d", vl, p.Credit.Blocks[vl], p.Credit.Update[vl])
		}
	}
	if a := p.VLArb; len(a.High) != 1 || a.High[0] != (fabric.VLWeight{VL: 0, Weight: 4}) || len(a.Low) != 7 || a.Low[6] != (fabric.VLWeight{VL: 7, Weight: 4}) || a.HighLimit != 0 {
		t.Errorf("arbitration %+v", a)
	}
	if sw.SL2VL[15] != 7 || sw.SL2VL[3] != 3 || sw.HOQLife != 0 || sw.PacketLife != 0 {
		t.Errorf("SL to VL %v, lifetimes %v and %v", sw.SL2VL, sw.HOQLife, sw.PacketLife)
	}
	if c := v.Plan.Conns[0]; c.Class != 0 || c.DSCP != 0 {
		t.Errorf("data on VL %d with service level %d", c.Class, c.DSCP)
	}
	for rate, want := range map[string]units.Time{"QDR": 170, "FDR": 170, "EDR": 90, "HDR": 130, "2xHDR": 130, "2xNDR": 150, "XDR": 150} {
		v := parse(t, strings.Replace(ibScenario("", ""), "NDR", rate, 1))
		if got := switchNamed(t, v, "sw").Latency; got != want*units.Nanosecond {
			t.Errorf("%s: latency %v, want %d ns", rate, got, want)
		}
	}
}

func TestInfiniBandKeys(t *testing.T) {
	v := parse(t, ibScenario(`vls: 4, buffer: 64KiB, hca_buffer: 32KiB, update: 4160B, sl2vl: "0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,1", vlarb_high: "0:192,1:64", vlarb_low: "3:1", high_limit: 255, hoq_life: 10, packet_life: 18, grh: true`, ", class: 5"))
	host, _ := v.Graph.NodeByName("h0")
	sw, nic := switchNamed(t, v, "sw"), &v.NICs[host]
	if v.Wire != wire.InfiniBandGRH || sw.SL2VL[15] != 1 || sw.HOQLife != 4_194_304_000 || sw.PacketLife != 1_073_741_824_000 {
		t.Errorf("wire %s, SL 15 on VL %d, lifetimes %v, %v", v.Wire.Name, sw.SL2VL[15], sw.HOQLife, sw.PacketLife)
	}
	s, h := sw.Ports[0].Credit, nic.Ports[0].Credit
	if s.Blocks != [8]uint16{1024, 1024, 1024, 1024} || s.Update[0] != 65 || h.Blocks[3] != 512 || h.Blocks[4] != 0 {
		t.Errorf("switch %v, update %v, host %v", s.Blocks, s.Update, h.Blocks)
	}
	if a := sw.Ports[0].VLArb; a.HighLimit != 255 || len(a.High) != 2 || a.High[0].Weight != 192 || len(a.Low) != 1 || nic.Ports[0].VLArb != a {
		t.Errorf("arbitration %+v", a)
	}
	if c := v.Plan.Conns[0]; c.Class != 1 || c.DSCP != 5 {
		t.Errorf("service level 5 on VL %d, level %d", c.Class, c.DSCP)
	}
}

// The default of update is a quarter of what can be granted, so that a larger buffer
// does not tell of its room later.
func TestUpdateOfLargeBuffers(t *testing.T) {
	for buffer, want := range map[string]uint16{"64KiB": 256, "128KiB": 512, "512KiB": 512, "2MiB": 512} {
		if got := switchNamed(t, parse(t, ibScenario("buffer: "+buffer, "")), "sw").Ports[0].Credit.Update[0]; got != want {
			t.Errorf("buffer %s: update after %d blocks, want %d", buffer, got, want)
		}
	}
	_, err := Parse("s.yaml", []byte(ibScenario("buffer: 512KiB, update: 128KiB", "")), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "give 64B to 126.912KB") {
		t.Errorf("update of all that is ever granted: %v", err)
	}
}

// There are 16 service levels (IBTA 7.6.5) and eight priorities.
func TestServiceLevels(t *testing.T) {
	if c := parse(t, ibScenario("", ", class: 13")).Plan.Conns[0]; c.DSCP != 13 || c.Class != 5 {
		t.Errorf("service level %d on VL %d, want 13 on 5", c.DSCP, c.Class)
	}
	for stack, want := range map[string]string{"infiniband": "from 0 to 15", "rocev2": "from 0 to 7"} {
		text := strings.Replace(ibScenario("", ", class: 16"), "infiniband", stack, 1)
		if _, err := Parse("s.yaml", []byte(text), nil, nil); err == nil || !strings.Contains(err.Error(), `class: "16" is not a whole number `+want) {
			t.Errorf("%s: %v", stack, err)
		}
	}
}

// A name that no speed or width has is answered with those there are.
func TestLinkSpeedNames(t *testing.T) {
	for _, name := range []string{"UDR", "3xNDR", "FDR12", "16x EDR"} {
		_, err := Parse("s.yaml", []byte(strings.Replace(ibScenario("", ""), "NDR", name, 1)), nil, nil)
		if err == nil || !strings.Contains(err.Error(), `s.yaml:2:35: topology.star.link: "`+name+`" is no speed of InfiniBand links; write one of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR, with a width of 1x, 2x, 4x, 8x, 12x`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// DCQCN is Ethernet's: given beside InfiniBand it is checked and has no effect.
func TestDCQCNWithInfiniBand(t *testing.T) {
	for text, want := range map[string]string{"paper": "dcqcn has no effect: InfiniBand has congestion control of its own", "{rpg_gd: 11}": "dcqcn has no effect", "none": ""} {
		v := parse(t, ibScenario("", "")+"dcqcn: "+text+"\n")
		if warned := strings.Join(v.Warnings, "\n"); v.DCQCN != nil || want == "" && warned != "" || !strings.Contains(warned, want) {
			t.Errorf("dcqcn: %s: %q, DCQCN %v", text, warned, v.DCQCN)
		}
	}
	if _, err := Parse("s.yaml", []byte(ibScenario("", "")+"dcqcn: papr\n"), nil, nil); err == nil {
		t.Error("a preset that does not exist is taken")
	}
}

// What the sheet of the stack shows of latency is said to follow the speed.
func TestShowLatencyBySpeed(t *testing.T) {
	sheets, err := (Known{}).Show("infiniband", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range sheets[0].Notes {
		if strings.HasPrefix(n.Key, "switch.latency") {
			got = append(got, n.Key+" "+n.Value[:5])
		}
	}
	if want := "switch.latency (up to FDR) 170ns|switch.latency (EDR) 90ns |switch.latency (HDR) 130ns|switch.latency (NDR and faster) 150ns"; strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}
}

func TestInfiniBandMistakes(t *testing.T) {
	for _, c := range []struct{ section, options, want string }{
		{"vls: 3", "", "infiniband.vls: 3 is no number of data VLs that a port can operate; give 1, 2, 4 or 8"},
		{`vls: 4, sl2vl: "0,1,2,3,4,1,2,3,0,1,2,3,0,1,2,3"`, "", `infiniband.sl2vl: service level 4 has no VL: "4" is not one of 0 to 3, which vls: 4 operates`},
		{`sl2vl: "0,1,2"`, "", "infiniband.sl2vl: has 3 entries; give the VL of each of the 16 service levels"},
		{`vlarb_low: "1:300"`, "", `infiniband.vlarb_low: "1:300" is no entry; write VL:weight`},
		{`vlarb_high: "8:1"`, "", `infiniband.vlarb_high: "8:1" is no entry`},
		{`vlarb_low: "1:4"`, ", class: 2", "infiniband.vlarb_low: VL 2, which service level 2 uses, has no weight"},
		{"buffer: 1KiB", "", "infiniband.buffer: 1KiB is no input buffer of a VL; give 4.16KB, for one packet of path MTU 4096, to 2MiB"},
		{"buffer: 8KiB, update: 8KiB", "", "infiniband.update: 8KiB leaves a sender waiting"},
		{"hoq_life: 21", "", `infiniband.hoq_life: "21" is not a whole number from 0 to 20`},
		{"high_limit: 256", "", `infiniband.high_limit: "256" is not a whole number from 0 to 255`},
		{"vl: 4", "", `unknown key "vl" in infiniband; did you mean "vls"?`},
	} {
		_, err := Parse("s.yaml", []byte(ibScenario(c.section, c.options)), nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.section, err, c.want)
		}
	}
}

// What a stack does not have is said to have no effect, but not in comparisons.
func TestInfiniBandIgnored(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{ibScenario("", "") + "switch: {buffer: 8MB}\n", "switch.buffer has no effect: InfiniBand has input buffers"},
		{ibScenario("", "") + "vlan: true\n", "vlan has no effect: InfiniBand has no VLAN tags"},
		{strings.Replace(ibScenario("vls: 4", ""), "stack: infiniband\n", "", 1), "infiniband has no effect: the stack rocev2 has no credits"},
	} {
		v := parse(t, c.text)
		if !strings.Contains(strings.Join(v.Warnings, "\n"), c.want) {
			t.Errorf("%s\nwarns %q, want %s", c.text, v.Warnings, c.want)
		}
		v, err := parseStack("s.yaml", []byte(c.text), stackPFCOnly, nil, nil)
		if err != nil || strings.Contains(strings.Join(v.Warnings, "\n"), "infiniband") {
			t.Errorf("compared: %v, %q", err, v.Warnings)
		}
	}
}
