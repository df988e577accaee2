package scenario

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// memoryPreset is the memory of a switch as it is shipped.
type memoryPreset struct {
	name, about string
	memory      func() memorySettings
	spectrum    units.Bytes // the cell of Spectrum's headroom rule; 0: the switch has tables of its own
}

// memoryPresets lists them. Numbers are those of SONiC's files, sonic-buildimage of August
// 2026: buffers_defaults_*.j2 for pools and profiles, pg_profile_lookup.ini for the rows by
// cable.
func memoryPresets() []memoryPreset {
	return []memoryPreset{
		{"tomahawk", "Broadcom Tomahawk, 16 MB in four parts, as the Arista 7060CX-32S at T0", tomahawk, 0},
		{"tomahawk5", "Broadcom Tomahawk 5, 165 MB in two parts, as the Arista 7060X6-64PE P32O64 at T1", tomahawk5, 0},
		{"trident3", "Broadcom Trident 3, 32 MB, as the Arista 7050CX3-32S at T0", trident3, 0},
		{"spectrum4", "NVIDIA Spectrum-4, 160 MB, as the SN5600, headroom by Spectrum's rule", spectrum4, spectrum4Cell},
		{"azure", "the sample of Azure's SONiC switches: 24 MB, 6 MB of it headroom that groups share (NSDI 2023, appendix A)", azure, 0},
	}
}

// MemoryPresets lists the names of the memories that switches are shipped with.
func MemoryPresets() (names []string) {
	for _, p := range memoryPresets() {
		names = append(names, p.name)
	}
	return names
}

// takeMemory replaces the memory of a switch by a preset's.
func (s *switchSettings) takeMemory(name string) {
	for _, p := range memoryPresets() {
		if p.name != name {
			continue
		}
		obj := s.memory.obj
		s.memory = p.memory()
		s.memory.preset, s.memory.obj = name, obj
		if p.spectrum > 0 {
			s.pfc.rule, s.pfc.cell = spectrumRule, p.spectrum
		}
	}
}

// lossless is the profile of lossless groups.
func lossless(pool string, num, den int64, reserved, xon, xonOffset units.Bytes, rows []cableRow) profileSettings {
	for i := range rows {
		rows[i].reserved, rows[i].xon, rows[i].xonOffset = reserved, xon, xonOffset
	}
	return profileSettings{name: losslessGroup, pool: pool, reserved: reserved, headroom: notGiven, xon: xon, xonOffset: xonOffset,
		num: num, den: den, limited: true, rows: rows}
}

// fixed is a profile with a fixed threshold; 0: none.
func fixed(name, pool string, reserved, static units.Bytes) profileSettings {
	return profileSettings{name: name, pool: pool, reserved: reserved, headroom: notGiven, xon: notGiven, xonOffset: notGiven, static: static, limited: true}
}

// dynamic is a profile with a dynamic threshold.
func dynamic(name, pool string, reserved units.Bytes, num, den int64) profileSettings {
	p := fixed(name, pool, reserved, 0)
	p.num, p.den = num, den
	return p
}

// byCable makes rows of headroom: for each rate, at each length in turn.
func byCable(lengths []units.Length, rates []units.Rate, headroom ...[]units.Bytes) (rows []cableRow) {
	for i, rate := range rates {
		for k, length := range lengths {
			if headroom[i][k] > 0 {
				rows = append(rows, cableRow{rate: rate * units.Gbps, length: length * units.Metre, headroom: headroom[i][k]})
			}
		}
	}
	return rows
}

func tomahawk() memorySettings {
	rows := byCable([]units.Length{5, 40, 300}, []units.Rate{10, 25, 40, 50, 100},
		[]units.Bytes{35_776, 37_024, 46_176}, []units.Bytes{53_248, 53_248, 79_040}, []units.Bytes{66_560, 71_552, 108_160},
		[]units.Bytes{90_272, 96_096, 141_856}, []units.Bytes{165_568, 177_632, 268_736})
	return memorySettings{size: 16 * units.MiB, cell: 208, parts: 4,
		pools: []poolSettings{
			{name: losslessPool, size: 10_875_072, xoff: 4_194_112},
			{name: egressLossyPool, egress: true, size: 9_243_812},
			{name: egressLosslessPool, egress: true, static: true, size: 15_982_720},
		},
		profiles: []profileSettings{
			lossless(losslessPool, 1, 1, 1248, 2288, 2288, rows),
			dynamic(lossyGroup, losslessPool, 0, 8, 1),
			fixed(losslessQueue, egressLosslessPool, 1518, 15_982_720),
			dynamic(lossyQueue, egressLossyPool, 1518, 8, 1),
		},
	}
}

// tomahawk5 keeps 69 cells of 254 B for every port in each half, and lossy queues find
// their threshold by what is left of the pool then: what qos_params.th5.yaml of sonic-mgmt
// measures says both.
func tomahawk5() memorySettings {
	const size, xoff, perPort = 147_226_020, 38_843_712, 2 * 69 * 254
	rows := byCable([]units.Length{5, 30, 40, 300, 500}, []units.Rate{100, 400, 800},
		[]units.Bytes{0, 0, 0, 0, 1_136_396}, []units.Bytes{425_958, 425_958, 0, 839_216, 1_136_396}, []units.Bytes{724_662, 0, 833_536, 1_621_536, 0})
	return memorySettings{size: 164_869_876, cell: 254, parts: 2,
		pools: []poolSettings{
			{name: losslessPool, size: size, xoff: xoff, within: true, reserved: perPort},
			{name: egressLosslessPool, egress: true, static: true, size: size, xoff: xoff, within: true, reserved: perPort},
		},
		profiles: []profileSettings{
			lossless(losslessPool, 1, 1, 8636, 0, 3556, rows),
			fixed(lossyGroup, losslessPool, 0, 82_434_938),
			fixed(losslessQueue, egressLosslessPool, 0, 82_434_938),
			dynamic(lossyQueue, egressLosslessPool, 1778, 1, 1),
		},
	}
}

// trident3's pool of 32.7 MB can only include its headroom pool: the chip has 32 MiB.
func trident3() memorySettings {
	rows := byCable([]units.Length{300}, []units.Rate{50, 100}, []units.Bytes{160_000}, []units.Bytes{160_000})
	return memorySettings{size: 32 * units.MiB, cell: 256, parts: 1,
		pools: []poolSettings{
			{name: losslessPool, size: 32_732_160, xoff: 1_622_016, within: true},
			{name: egressLossyPool, egress: true, size: 24_709_632},
			{name: egressLosslessPool, egress: true, static: true, size: 32_599_040},
		},
		profiles: []profileSettings{
			lossless(losslessPool, 1, 1, 4608, 4608, 4608, rows),
			fixed(lossyGroup, losslessPool, 0, 32_732_160),
			fixed(losslessQueue, egressLosslessPool, 0, 32_599_040),
			dynamic(lossyQueue, egressLossyPool, 1792, 8, 1),
		},
	}
}

// spectrum4 has pools for lossless and lossy traffic apart, and computes reserves, headroom
// and XON from the cable. The limits of whole ports (alpha 128) are left out: they bind
// nothing that the groups' own do not.
func spectrum4() memorySettings {
	const lossyPool = "ingress_lossy_pool"
	return memorySettings{size: 160 * units.MiB, cell: 192, parts: 1,
		pools: []poolSettings{
			{name: losslessPool, size: 67_737_959},
			{name: lossyPool, size: 67_737_959},
			{name: egressLosslessPool, egress: true, size: notGiven},
			{name: egressLossyPool, egress: true, size: 67_737_959},
		},
		profiles: []profileSettings{
			lossless(losslessPool, 1, 1, 0, notGiven, notGiven, nil),
			dynamic(lossyGroup, lossyPool, 0, 8, 1),
			dynamic(losslessQueue, egressLosslessPool, 0, 128, 1),
			dynamic(lossyQueue, egressLossyPool, 0, 8, 1),
		},
	}
}

// azure lets lossless packets by at the egress.
func azure() memorySettings {
	p := lossless(losslessPool, 1, 8, 0, notGiven, 2496, nil)
	p.headroom = 96_928
	return memorySettings{size: 24 * units.MB, cell: 208, parts: 1,
		pools: []poolSettings{
			{name: losslessPool, size: 18 * units.MB, xoff: 6 * units.MB},
			{name: egressLosslessPool, egress: true, static: true, size: notGiven},
			{name: egressLossyPool, egress: true, size: 14 * units.MB},
		},
		profiles: []profileSettings{
			p,
			fixed(lossyGroup, losslessPool, 0, 0),
			fixed(losslessQueue, egressLosslessPool, 0, 0),
			dynamic(lossyQueue, egressLossyPool, 0, 1, 2),
		},
	}
}

// notes lists a memory as its keys would say it.
func (m *memorySettings) notes() (out []record.Note) {
	const source = "sonic-buildimage"
	say := func(key, value string) { out = append(out, note("switch.memory."+key, value, source)) }
	say("size", m.size.String())
	say("cell", m.cell.String())
	say("parts", fmt.Sprint(m.parts))
	for i := range m.pools {
		say("pools."+m.pools[i].name, m.pools[i].text())
	}
	for i := range m.profiles {
		p := &m.profiles[i]
		say("profiles."+p.name, p.text())
		for _, row := range p.rows {
			say(fmt.Sprintf("profiles.%s (%v, %v)", p.name, row.rate, row.length), fmt.Sprintf("headroom %v", row.headroom))
		}
	}
	return out
}

// text says what a pool is.
func (p *poolSettings) text() string {
	text := map[bool]string{true: "egress", false: "ingress"}[p.egress] + ", " + map[bool]string{true: "static", false: "dynamic"}[p.static]
	if p.size >= 0 {
		text += fmt.Sprintf(", size %v", p.size)
	} else {
		text += ", size of the memory"
	}
	if p.xoff > 0 {
		text += fmt.Sprintf(", xoff %v %s", p.xoff, map[bool]string{true: "of it", false: "beside it"}[p.within])
	}
	if p.reserved > 0 {
		text += fmt.Sprintf(", reserved %v a port", p.reserved)
	}
	return text
}

// text says what a profile lets use.
func (p *profileSettings) text() string {
	text := "pool " + p.pool + ", "
	if p.reserved > 0 {
		text += fmt.Sprintf("reserved %v, ", p.reserved)
	}
	text += thresholdText(mmu.Threshold{Num: p.num, Den: p.den, Static: p.static})
	for _, m := range []struct {
		name string
		size units.Bytes
	}{{"headroom", p.headroom}, {"xon", p.xon}, {"xon_offset", p.xonOffset}} {
		if m.size > 0 {
			text += fmt.Sprintf(", %s %v", m.name, m.size)
		}
	}
	return text
}
