package congestion

import "github.com/hopscope/hopscope/internal/units"

// In-band network telemetry as the ns-3 RDMA simulators carry it (int-header.h of
// alibaba-edu/High-Precision-Congestion-Control): at the start of a transmission a switch writes
// 8 bytes into the packet.
//
//	bits  0 to 16  queue left behind, in 80 bytes
//	bits 17 to 36  bytes sent by the port before, in 128 bytes
//	bits 37 to 60  time, in nanoseconds
//	bits 61 to 63  the port's rate, by a table
//
// Counters wrap: the time after 16.8 ms, the bytes after 134 MB.

// MaxINT is how many switches find room, and INTBytes the length of the header: their records,
// and 2 bytes that count them.
const (
	MaxINT   = 5
	INTBytes = 8*MaxINT + 2
)

const (
	queueBits, bytesBits, clockBits = 17, 20, 24
	queueUnit, bytesUnit            = 80, 128
)

// HopRecord is what one switch wrote.
type HopRecord uint64

// intRates are the rates that a record can tell: the simulators' five, and three more in their
// free places.
var intRates = [8]units.Rate{25 * units.Gbps, 50 * units.Gbps, 100 * units.Gbps, 200 * units.Gbps, 400 * units.Gbps,
	800 * units.Gbps, 40 * units.Gbps, 10 * units.Gbps}

// INTRates lists them.
func INTRates() []units.Rate { return append([]units.Rate(nil), intRates[:]...) }

// INTRateCode is what stands for a port's rate; ok is false if nothing does.
func INTRateCode(r units.Rate) (code uint8, ok bool) {
	for i, known := range intRates {
		if known == r {
			return uint8(i), true
		}
	}
	return 0, false
}

// NewHopRecord is the record of a port with that rate code, which has sent bytes before now and
// leaves queue bytes behind; scale is Needs.INTScale.
func NewHopRecord(now units.Time, sent int64, queue int64, code uint8, scale int) HopRecord {
	unit := uint64(max(scale, 1))
	return HopRecord(uint64(queue)/(queueUnit*unit)&(1<<queueBits-1) |
		uint64(sent)/(bytesUnit*unit)&(1<<bytesBits-1)<<queueBits |
		uint64(now/units.Nanosecond)&(1<<clockBits-1)<<(queueBits+bytesBits) |
		uint64(code)<<(queueBits+bytesBits+clockBits))
}

// Rate is the port's.
func (h HopRecord) Rate() units.Rate { return intRates[h>>(queueBits+bytesBits+clockBits)] }

// Queue is what the port had left to send in the packet's class, in bytes.
func (h HopRecord) Queue(scale int) int64 {
	return int64(h&(1<<queueBits-1)) * queueUnit * int64(max(scale, 1))
}

// Since is the time and the bytes sent from an earlier record of the same port on, as far as the
// counters have not wrapped more than once in between.
func (h HopRecord) Since(before HopRecord, scale int) (units.Time, int64) {
	field := func(shift, bits int) int64 { return int64((h>>shift - before>>shift) & (1<<bits - 1)) }
	return units.Time(field(queueBits+bytesBits, clockBits)) * units.Nanosecond,
		field(queueBits, bytesBits) * bytesUnit * int64(max(scale, 1))
}

// Fresh is how long a record of a port is worth something: until the first of its counters may
// have wrapped at the port's rate.
func (h HopRecord) Fresh(scale int) units.Time {
	wrap := units.Time(1<<clockBits) * units.Nanosecond
	r := h.Rate()
	if r == 0 {
		return 0
	}
	return min(wrap, r.TxTimeLong(units.Bytes(1<<bytesBits*bytesUnit*int64(max(scale, 1)))))
}
