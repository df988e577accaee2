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
	length   units.Length // for the vendors' rule
	portMTU  units.Bytes
	pathMTU  units.Bytes
	cell     units.Bytes
}

// physicalHeadroom bounds what can still arrive after XOFF was crossed:
// C*(2*tprop + tresp) + 3*maxframe + the PFC frame (models F10). The frames
// are the one that crosses, the one that blocks the PFC frame here, and the
// one that has just started at the peer. What sits in this switch's own
// pipeline at the moment of crossing comes on top: C*latency.
func physicalHeadroom(c cable) units.Bytes {
	inFlight := bytesIn(c.rate, 2*c.delay+c.response+c.latency)
	return inFlight + 3*c.frame + c.pfcWire
}

// vendorHeadroom is the worst-case-cell rule that switch vendors ship (models
// 2.3, the SONiC headroom calculator): a port MTU, the cable both ways at
// 1.98e8 m/s counted in 1/1024ths, 0.8 KiB of MAC and PHY, and the peer's
// response quanta, all of it in the smallest packets that waste most of a
// cell; plus one lossless MTU; rounded up to 1 KiB.
func vendorHeadroom(c cable) units.Bytes {
	const kib = 1024
	wire := float64(c.length) / 1000 * 2 * float64(c.rate) / 8 / 1.98e8 * 1000 / kib
	response := float64(responseQuanta(c.rate) * quantumBits / 8)
	delay := float64(c.portMTU) + wire + 0.8*kib + response
	xoff := float64(c.pathMTU) + delay*cellOccupancy(c.cell)
	return units.Bytes(math.Ceil(xoff/kib)) * kib
}

// cellOccupancy is how much buffer 64-byte packets take per byte: each starts
// a new cell; up to 128-byte cells the worst packet is a little longer than
// one cell.
func cellOccupancy(cell units.Bytes) float64 {
	if cell <= 128 {
		return 2 * float64(cell) / (1 + float64(cell))
	}
	return float64(cell) / 64
}
