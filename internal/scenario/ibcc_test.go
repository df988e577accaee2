package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/units"
)

// Congestion control is off unless asked for; a preset's name, or a mapping that
// changes one, sets both switches and adapters.
func TestIBCCKeys(t *testing.T) {
	for _, section := range []string{"", "congestion_control: none"} {
		v := parse(t, ibScenario(section, ""))
		if sw := switchNamed(t, v, "sw"); sw.MarkAtEnqueue || sw.Ports[0].FECN != nil || v.Transports[0].IBCC != nil {
			t.Errorf("%q: congestion control is on", section)
		}
	}
	v := parse(t, ibScenario("buffer: 64KiB, congestion_control: ofed", ""))
	sw, cc := switchNamed(t, v, "sw"), v.Transports[0].IBCC
	f := sw.Ports[0].FECN
	if !sw.MarkAtEnqueue || f == nil || f.Threshold != 4096 || f.MarkingRate != 10 || f.PacketSize != 512 || !sw.Ports[0].Victim {
		t.Errorf("switch %+v", f)
	}
	if cc == nil || cc.Increase != 1 || cc.Timer != 150 || len(cc.CCT) != 128 || cc.PerSL || cc.TriggerThreshold != 2 {
		t.Errorf("adapter %+v", cc)
	}
	v = parse(t, ibScenario(`congestion_control: {threshold: 8, marking_rate: 0, packet_size: 64B, victim_mask: none, ccti_increase: 4,
  ccti_min: 1, ccti_timer: 7, trigger_threshold: 9, based_on: sl, cct: "0,1,1:3,3:16383", ccti_limit: 2}`, ""))
	sw, cc = switchNamed(t, v, "sw"), v.Transports[0].IBCC
	if f = sw.Ports[0].FECN; f.Threshold != 64*units.KiB || f.MarkingRate != 0 || f.PacketSize != 64 || sw.Ports[0].Victim {
		t.Errorf("switch %+v", f)
	}
	want := []congestion.CCTEntry{{}, {Multiplier: 1}, {Shift: 1, Multiplier: 3}}
	if len(cc.CCT) != 3 || cc.CCT[1] != want[1] || cc.CCT[2] != want[2] || cc.Increase != 4 || cc.Min != 1 || cc.Timer != 7 || !cc.PerSL {
		t.Errorf("adapter %+v", cc)
	}
	if v = parse(t, ibScenario("congestion_control: {threshold: 0, ccti_limit: 300}", "")); switchNamed(t, v, "sw").MarkAtEnqueue || len(v.Transports[0].IBCC.CCT) != 301 {
		t.Error("threshold 0 marks, or ccti_limit makes no longer table")
	}
}

func TestIBCCMistakes(t *testing.T) {
	for _, c := range []struct{ section, want string }{
		{"congestion_control: fast", `infiniband.congestion_control: "fast" is not known; use`},
		{"congestion_control: {threshold: 16}", `infiniband.congestion_control.threshold: "16" is not a whole number from 0 to 15`},
		{"congestion_control: {packet_size: 20KiB}", "infiniband.congestion_control.packet_size: 20KiB does not fit the 8 bits of Packet_Size"},
		{"congestion_control: {victim_mask: leafs}", `infiniband.congestion_control.victim_mask: "leafs" is not known; use one of none, hosts, all`},
		{"congestion_control: {ccti_min: 128}", "infiniband.congestion_control: ccti_min is 128, want 0 to 255 and to the last index of cct"},
		{"congestion_control: {ccti_timer: 0}", `infiniband.congestion_control.ccti_timer: "0" is not a whole number from 1 to 65535`},
		{`congestion_control: {cct: "0,4:1"}`, `infiniband.congestion_control.cct: "4:1" is no entry; write linear`},
		{`congestion_control: {cct: "0,16384"}`, `infiniband.congestion_control.cct: "16384" is no entry`},
		{`congestion_control: {cct: "0,1", ccti_limit: 2}`, "infiniband.congestion_control.ccti_limit: 2 is beyond the table, which cct ends at index 1"},
		{"congestion_control: {ccti: 2}", `unknown key "ccti" in infiniband.congestion_control`},
	} {
		_, err := Parse("s.yaml", []byte(ibScenario(c.section, "")), nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "s.yaml:") {
			t.Errorf("%s: %v\nwant %s", c.section, err, c.want)
		}
	}
}
