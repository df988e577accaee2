// Package units holds the scalar types that every other package speaks:
// picosecond time, bit rates, byte counts and cable lengths.
package units

// Time is an instant or a duration in picoseconds. At 400 Gb/s a byte takes
// exactly 20 ps. The int64 range is 106 days.
type Time int64

// Durations.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Never is later than any instant a run can reach.
const Never Time = 1<<63 - 1

// Rate is a bit rate in bits per second.
type Rate int64

// Rates, decimal as the standards count them.
const (
	Bps  Rate = 1
	Kbps      = 1000 * Bps
	Mbps      = 1000 * Kbps
	Gbps      = 1000 * Mbps
	Tbps      = 1000 * Gbps
)

// Bytes is a byte count. MB is 10^6 and MiB is 2^20 everywhere.
type Bytes int64

// Sizes.
const (
	Byte Bytes = 1
	KB         = 1000 * Byte
	MB         = 1000 * KB
	GB         = 1000 * MB
	KiB        = 1024 * Byte
	MiB        = 1024 * KiB
	GiB        = 1024 * MiB
)

// Length is a cable length in millimetres.
type Length int64

// Lengths.
const (
	Millimetre Length = 1
	Metre             = 1000 * Millimetre
	Kilometre         = 1000 * Metre
)

// PicosecondsPerMetre is the propagation delay of fibre and copper alike:
// 5 ns per metre, two thirds of the speed of light (models.md 2.4).
const PicosecondsPerMetre = 5000

// Delay returns the propagation delay of a cable of length l.
func (l Length) Delay() Time { return Time(int64(l) * PicosecondsPerMetre / 1000) }

// TxTime returns the time n bytes take at rate r, rounded up to a whole
// picosecond. r must be positive and n*8e12 must fit in an int64 (n below
// 1.15 MB); longer transfers use TxTimeLong.
func (r Rate) TxTime(n Bytes) Time {
	return Time((int64(n)*8e12 + int64(r) - 1) / int64(r))
}
