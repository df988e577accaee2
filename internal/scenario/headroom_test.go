package scenario

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// The table that SONiC ships for the SN5600 (pg_profile_lookup.ini of x86_64-nvidia_sn5600):
// Gb/s, metres, and in bytes size, xon, xoff. All xoff come out to the byte for a port MTU of
// 9216 and packets of 1024, and of 9100 and 1350 as well; so does xon. size is xon and xoff,
// rounded together, and a port MTU more on eight lanes: all rows but 40G 5 m, which has 1 KiB
// less than that.
func TestSpectrumHeadroomIsTheShippedTable(t *testing.T) {
	rows := []struct {
		gbps, metres    int64
		size, xon, xoff units.Bytes
	}{
		{10, 5, 64512, 19456, 45056}, {25, 5, 67584, 19456, 48128}, {40, 5, 75776, 19456, 57344}, {50, 5, 82944, 19456, 63488},
		{100, 5, 133120, 19456, 113664}, {200, 5, 150528, 19456, 131072}, {400, 5, 250880, 19456, 231424}, {800, 5, 304128, 38912, 257024},
		{10, 40, 65536, 19456, 46080}, {25, 40, 71680, 19456, 52224}, {40, 40, 81920, 19456, 62464}, {50, 40, 89088, 19456, 69632},
		{100, 40, 146432, 19456, 126976}, {200, 40, 177152, 19456, 157696}, {400, 40, 303104, 19456, 283648}, {800, 40, 410624, 38912, 362496},
		{10, 300, 75776, 19456, 56320}, {25, 300, 96256, 19456, 76800}, {40, 300, 120832, 19456, 101376}, {50, 300, 138240, 19456, 118784},
		{100, 300, 244736, 19456, 225280}, {200, 300, 374784, 19456, 355328}, {400, 300, 697344, 19456, 677888}, {800, 300, 1198080, 38912, 1150976},
	}
	for _, mtu := range [][2]units.Bytes{{9216, 1024}, {9100, 1350}} {
		for _, row := range rows {
			c := cable{rate: units.Rate(row.gbps) * units.Gbps, length: units.Length(row.metres) * units.Metre, portMTU: mtu[0], pathMTU: mtu[1], cell: 192}
			if xoff, xon := spectrumHeadroom(c), spectrumXON(c); xoff != row.xoff || xon != row.xon {
				t.Errorf("MTU %v: %dG %dm: xoff %d, xon %d, the table has %d, %d", mtu, row.gbps, row.metres, xoff, xon, row.xoff, row.xon)
			}
			if size := spectrumSize(c); mtu[0] == 9100 && size != row.size && !(row.gbps == 40 && row.metres == 5 && size == row.size+kib) {
				t.Errorf("%dG %dm: size %d, the table has %d", row.gbps, row.metres, size, row.size)
			}
		}
	}
	if got := spectrumHeadroom(cable{rate: 100 * units.Gbps, length: 5 * units.Metre, portMTU: 9216, pathMTU: 1024, cell: 256}); got != 163_840 {
		t.Errorf("Spectrum-6, 100G 5 m: %d, want 18 KiB more than ceil(1024 + 35882.5*4)", got)
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
