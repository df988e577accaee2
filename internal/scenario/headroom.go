package scenario

import (
	"math"
	"math/bits"

	"github.com/hopscope/hopscope/internal/units"
)

// quantumBits is the unit of a PFC pause time (IEEE 802.3 31B.2: 512 bit
// times).
const quantumBits = 512

// responseRow is the response time of one operating rate in pause quanta.
type responseRow struct {
	rate   units.Rate
	quanta int64
}

// responseRows is IEEE 802.3 31B.3.7 per operating rate, as the SONiC headroom
// calculator lists it (models 2.2).
func responseRows() []responseRow {
	return []responseRow{
		{10 * units.Gbps, 67}, {25 * units.Gbps, 80}, {40 * units.Gbps, 118}, {50 * units.Gbps, 147},
		{100 * units.Gbps, 394}, {200 * units.Gbps, 453}, {400 * units.Gbps, 905},
	}
}

// responseQuanta is the largest time a receiver may take from the end of a PFC
// frame to the end of its last own frame start, in pause quanta. A rate between
// two rows takes the faster row's, one above the table the last row's.
func responseQuanta(r units.Rate) int64 {
	table := responseRows()
	for _, row := range table {
		if r <= row.rate {
			return row.quanta
		}
	}
	return table[len(table)-1].quanta
}

// quantaTime is how long n pause quanta last at rate r, rounded up.
func quantaTime(n int64, r units.Rate) units.Time {
	return r.TxTimeLong(units.Bytes(n * quantumBits / 8))
}

// bytesIn is how many bytes pass at rate r within t, rounded up. It saturates
// far above any buffer.
func bytesIn(r units.Rate, t units.Time) units.Bytes {
	if r <= 0 || t <= 0 {
		return 0
	}
	const bitPicos = 8e12
	hi, lo := bits.Mul64(uint64(r), uint64(t))
	if hi >= bitPicos/1e6 {
		return 1 << 60
	}
	q, rem := bits.Div64(hi, lo, bitPicos)
	if q >= 1<<60 {
		return 1 << 60
	}
	if rem > 0 {
		q++
	}
	return units.Bytes(q)
}

// cable is what a headroom depends on.
type cable struct {
	rate     units.Rate
	delay    units.Time   // propagation, one way
	response units.Time   // of the peer, from the end of a PFC frame to its gate
	latency  units.Time   // pipeline of this switch, which precedes admission
	frame    units.Bytes  // largest lossless frame
	pfcWire  units.Bytes  // a PFC frame on the wire
	length   units.Length // for Spectrum's rule
	portMTU  units.Bytes
	pathMTU  units.Bytes
	cell     units.Bytes // of Spectrum's rule
	taken    units.Bytes // cell that the memory is given out in; 0 or 1: bytes
	jitter   units.Time  // of the peer's card and of this switch's pipeline together
	fast     int         // the peer's clock may be fast by so many parts per million
}

// physicalHeadroom bounds what can still arrive after XOFF was crossed:
// C*(2*tprop + tresp) + 3*maxframe + the PFC frame (models F10). The frames
// are the one that crosses, the one that blocks the PFC frame here, and the
// one that has just started at the peer. What sits in this switch's own
// pipeline at the moment of crossing comes on top: C*latency. So does, where frames are
// delayed at random, C*jitter: what was held back when those before it crossed XOFF.
//
// Where the memory is given out in cells, what is in flight may be frames that waste most:
// the smallest, or those a byte longer than a cell, each with its preamble and gap.
func physicalHeadroom(c cable) units.Bytes {
	inFlight := bytesIn(fastest(c), 2*c.delay+c.response+c.latency+c.jitter)
	if c.taken <= 1 {
		return inFlight + 3*c.frame + c.pfcWire
	}
	const least, between = 64, 20
	wasteful := max(units.Bytes(least), c.taken+1)
	cells := func(b units.Bytes) units.Bytes { return (b + c.taken - 1) / c.taken * c.taken }
	worst := max(scaleUp(inFlight, cells(least), least+between), scaleUp(inFlight, cells(wasteful), wasteful+between), inFlight)
	return cells(worst) + 3*cells(c.frame) + cells(c.pfcWire)
}

// fastest is the rate of a peer whose clock is as fast as it may be.
func fastest(c cable) units.Rate { return c.rate + c.rate*units.Rate(c.fast)/1_000_000 }

// scaleUp returns b*num/den, rounded up.
func scaleUp(b, num, den units.Bytes) units.Bytes { return (b*num + den - 1) / den }

// physicalBound is physicalHeadroom in words.
func physicalBound(c cable) string {
	jitter := ""
	if c.jitter > 0 {
		jitter = " + jitter"
	}
	return "physical bound: C*(2*tprop + tresp + pipeline" + jitter + ") + 3 frames + 1 PFC frame"
}

// The names of the headroom rules.
const (
	physicalRule = "physical"
	spectrumRule = "spectrum"
)

// Of Spectrum switches, by their cell: 96 B Spectrum-1, 144 B Spectrum-2 and -3, 192 B
// Spectrum-4 and -5, 256 B Spectrum-6 (SONiC, asic_table.j2).
const (
	spectrum3Cell = 144
	spectrum4Cell = 192
	spectrum6Cell = 256
)

const kib units.Bytes = 1024

// upToKiB rounds up to a KiB.
func upToKiB(b float64) units.Bytes { return units.Bytes(math.Ceil(b/float64(kib))) * kib }

// spectrumHeadroom is what SONiC computes for Spectrum switches (buffer_headroom_mellanox.lua
// since 2024-09): a port MTU, the cable both ways at 1.98e8 m/s, 0.8 KiB of MAC and PHY, the
// peer's response quanta and on Spectrum-4 and -5 what waits on the tile, 120 ns of the line;
// all of it in the smallest packets, which take a multiple of their size in whole cells; plus
// one lossless MTU. Spectrum-6 adds 18 KiB.
func spectrumHeadroom(c cable) units.Bytes {
	xoff := upToKiB(spectrumXOFF(c))
	if c.cell == spectrum6Cell {
		xoff += 18 * kib
	}
	return xoff
}

// spectrumXOFF is the rule before it is rounded.
func spectrumXOFF(c cable) float64 {
	wire := 2 * float64(c.length) / 1000 * float64(c.rate) / 8 / 1.98e8
	delay := float64(c.portMTU) + wire + 0.8*float64(kib) + float64(responseQuanta(c.rate)*quantumBits/8)
	return float64(c.pathMTU) + (delay+spectrumTile(c))*cellFactor(c.cell)
}

// spectrumTile is 120 ns of the line on Spectrum-4 and -5, in bytes.
func spectrumTile(c cable) float64 {
	if c.cell != spectrum4Cell {
		return 0
	}
	return float64(c.rate/units.Mbps) / 1000 * 120 / 8
}

// spectrumXON is the pipeline's latency in bytes, below which a group lets its peer go on;
// twice that on ports of eight lanes.
func spectrumXON(c cable) units.Bytes {
	xon := 19 * kib
	if c.cell == spectrum6Cell {
		xon = 42 * kib
	}
	if c.eightLanes() {
		xon *= 2
	}
	return xon
}

// spectrumSize is the room of a group without a shared headroom pool: XON and headroom rounded
// together, and a port MTU more on eight lanes.
func spectrumSize(c cable) units.Bytes {
	size := spectrumXOFF(c) + float64(spectrumXON(c))
	if c.eightLanes() {
		size += float64(c.portMTU)
	}
	return max(upToKiB(size), spectrumHeadroom(c)+spectrumXON(c))
}

// eightLanes tells ports of eight lanes: 400 Gb/s up to Spectrum-3, 800 Gb/s from Spectrum-4 on.
func (c cable) eightLanes() bool {
	return c.rate >= 800*units.Gbps || c.rate >= 400*units.Gbps && c.cell <= spectrum3Cell
}

// cellFactor is how many bytes of memory a byte of 64-byte packets takes: each packet whole
// cells. Up to 128-byte cells the worst packet is a byte longer than one cell.
func cellFactor(cell units.Bytes) float64 {
	if cell <= 128 {
		return math.Ceil(2 * float64(cell) / (1 + float64(cell)))
	}
	return math.Ceil(float64(cell) / 64)
}
