package scenario

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// models.md 2.3: worked xoff values for cell 144, port MTU 9100, lossless MTU
// 1024, in units of 1000 bytes.
func TestVendorHeadroomWorkedValues(t *testing.T) {
	cases := []struct {
		gbps, metres int64
		kb           float64
	}{
		{100, 5, 81.9}, {100, 40, 92.2}, {100, 100, 108.5}, {100, 300, 163.8},
		{400, 5, 159.7}, {400, 40, 198.7}, {400, 100, 265.2}, {400, 300, 487.4},
		{40, 300, 73.7},
	}
	for _, c := range cases {
		got := vendorHeadroom(cable{rate: units.Rate(c.gbps) * units.Gbps, length: units.Length(c.metres) * units.Metre,
			portMTU: 9100, pathMTU: 1024, cell: 144})
		if lo, hi := c.kb-0.05, c.kb+0.05; float64(got)/1000 < lo || float64(got)/1000 > hi {
			t.Errorf("%dG %dm: %d B, want %.1f KB", c.gbps, c.metres, got, c.kb)
		}
	}
}

// models.md 2.4 and F10: C*(2*tprop+tresp) + frames + 84 B. The table there is
// for two frames of 4220 B; the third frame is F10's.
func TestPhysicalHeadroom(t *testing.T) {
	resp := func(r units.Rate) units.Time { return quantaTime(responseQuanta(r), r) }
	cases := []struct {
		name string
		c    cable
		want units.Bytes
	}{
		{"100G 100m no response", cable{rate: 100 * units.Gbps, delay: 500 * units.Nanosecond, frame: 4158, pfcWire: 84}, 12500 + 3*4158 + 84},
		{"100G 100m IEEE", cable{rate: 100 * units.Gbps, delay: 500 * units.Nanosecond, response: resp(100 * units.Gbps), frame: 4158, pfcWire: 84}, 12500 + 25216 + 3*4158 + 84},
		{"400G 100m IEEE", cable{rate: 400 * units.Gbps, delay: 500 * units.Nanosecond, response: resp(400 * units.Gbps), frame: 4158, pfcWire: 84}, 50000 + 57920 + 3*4158 + 84},
		{"pipeline", cable{rate: 100 * units.Gbps, delay: 500 * units.Nanosecond, latency: 300 * units.Nanosecond, frame: 4158, pfcWire: 84}, 12500 + 3750 + 3*4158 + 84},
	}
	for _, c := range cases {
		if got := physicalHeadroom(c.c); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// models.md 2.2: 2.02 us at 100G, 1.16 us at 400G; 2.1: 65535 quanta last
// 838.8 us at 40G and 83.9 us at 400G.
func TestPauseQuanta(t *testing.T) {
	cases := []struct {
		quanta int64
		rate   units.Rate
		want   units.Time
	}{
		{responseQuanta(100 * units.Gbps), 100 * units.Gbps, 2017280},
		{responseQuanta(400 * units.Gbps), 400 * units.Gbps, 1158400},
		{65535, 40 * units.Gbps, 838848000},
		{65535, 400 * units.Gbps, 83884800},
	}
	for _, c := range cases {
		if got := quantaTime(c.quanta, c.rate); got != c.want {
			t.Errorf("%d quanta at %v: %v, want %v", c.quanta, c.rate, got, c.want)
		}
	}
}
