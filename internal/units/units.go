// Package units holds the scalar types that every other package speaks:
// picosecond time, bit rates, byte counts and cable lengths, and how they are
// read and written ("1.5us", "400Gbps", "64MB", "5m").
package units

import "math/bits"

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
	TB         = 1000 * GB
	KiB        = 1024 * Byte
	MiB        = 1024 * KiB
	GiB        = 1024 * MiB
	TiB        = 1024 * GiB
)

// Length is a cable length in millimetres.
type Length int64

// Lengths.
const (
	Millimetre Length = 1
	Centimetre        = 10 * Millimetre
	Metre             = 1000 * Millimetre
	Kilometre         = 1000 * Metre
)

// PicosecondsPerMetre is the propagation delay of fibre and copper alike:
// 5 ns per metre, two thirds of the speed of light (models.md 2.4).
const PicosecondsPerMetre = 5000

// Delay returns the propagation delay of a cable of length l, Never when that
// does not fit.
func (l Length) Delay() Time {
	const perMillimetre = PicosecondsPerMetre / 1000
	if l > Length(Never/perMillimetre) {
		return Never
	}
	return Time(l) * perMillimetre
}

// TxTime returns the time n bytes take at rate r, rounded up to a whole
// picosecond. r must be positive and n*8e12 must fit in an int64 (n below
// 1.15 MB); longer transfers use TxTimeLong.
func (r Rate) TxTime(n Bytes) Time {
	return Time((int64(n)*8e12 + int64(r) - 1) / int64(r))
}

// TxTimeLong is TxTime for any size: the product has 128 bits. A time that
// does not fit is Never. r must be positive and n not negative.
func (r Rate) TxTimeLong(n Bytes) Time {
	hi, lo := bits.Mul64(uint64(n), 8e12)
	lo, carry := bits.Add64(lo, uint64(r)-1, 0)
	hi += carry
	if hi >= uint64(r) {
		return Never
	}
	q, _ := bits.Div64(hi, lo, uint64(r))
	if q > uint64(Never) {
		return Never
	}
	return Time(q)
}
