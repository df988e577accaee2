package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// Noise is as measured unless a scenario says otherwise, and off where a peer is reproduced.
func TestNoiseDefaults(t *testing.T) {
	measured := Noise{Pipeline: 150 * units.Nanosecond, Card: 70 * units.Nanosecond, Host: 2 * units.Microsecond, Clocks: 100, Arbitration: true}
	infiniband := measured
	infiniband.Pipeline, infiniband.Arbitration = 0, false
	given := infiniband
	given.Pipeline = 20 * units.Nanosecond
	long := measured
	long.Card = 10 * units.Microsecond
	for _, c := range []struct {
		what, more string
		want       Noise
	}{
		{"nothing", "", measured},
		{"off", "noise: off\n", Noise{}},
		{"one key", "noise: {card: 10us}\n", long},
		{"InfiniBand", "stack: infiniband\n", infiniband},
		{"InfiniBand with a pipeline", "stack: infiniband\nnoise: {pipeline: 20ns}\n", given},
	} {
		if got := parse(t, base+c.more).Noise; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

// A jitter that headroom must hold is in the rule, and a table that leaves it out is warned of.
func TestHeadroomHasJitter(t *testing.T) {
	quiet := parse(t, base+"noise: off\n").Switches
	loud := parse(t, base+"noise: {pipeline: 1us, card: 500ns, clocks: 0}\n").Switches
	for n := range quiet {
		if quiet[n].Memory == nil {
			continue // a host
		}
		for port := range quiet[n].Memory.Groups {
			if d := loud[n].Memory.Groups[port][3].Headroom - quiet[n].Memory.Groups[port][3].Headroom; d != 18750 { // 1.5 us at 100 Gb/s
				t.Fatalf("node %d port %d: jitter adds %d bytes of headroom", n, port, d)
			}
		}
	}
	v := parse(t, base+"switch: {pfc: {headroom: 43KB}}\n") // enough without noise
	if len(v.Warnings) == 0 || !strings.Contains(v.Warnings[0], "headroom 43KB is short for the cable") {
		t.Errorf("warnings %q", v.Warnings)
	}
	if v := parse(t, base+"noise: off\nswitch: {pfc: {headroom: 43KB}}\n"); len(v.Warnings) > 0 {
		t.Errorf("without noise: warnings %q", v.Warnings)
	}
}
