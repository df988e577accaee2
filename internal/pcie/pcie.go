// Package pcie is the arithmetic of a PCI Express link: how many bytes of a link's
// raw rate a transfer takes once it is cut into transaction layer packets (TLPs).
// It holds no state. The model is that of Neugebauer et al., "Understanding PCIe
// performance for end host networking" (SIGCOMM 2018), as its authors' pcie-model
// computes it: TLP headers and framing, and the link-layer packets and SKP ordered
// sets that share the link, spread over the TLPs.
package pcie

import (
	"fmt"
	"math/bits"

	"github.com/hopscope/hopscope/internal/units"
)

// Link is one PCI Express link as it was negotiated. Both directions are alike.
type Link struct {
	Gen   int         // 1 to 6
	Width int         // lanes: 1, 2, 4, 8, 12 or 16
	MPS   units.Bytes // maximum payload size of a TLP: a power of 2 from 128 to 4096 B
	MRRS  units.Bytes // maximum read request size: a power of 2 from 128 to 4096 B
	// Cut is the payload that TLPs arrive with, where something before the link cut them
	// smaller than MPS; 0: MPS.
	Cut units.Bytes
	// Speedup is how many times faster the link is than one of its kind; 0: 1.
	Speedup int
}

// Sizes of what a TLP takes beside its payload (PCIe Base Specification 5.0,
// chapters 2 and 3). Up to generation 5 a TLP has 8 B of framing: STP or start and
// end symbol, sequence number and LCRC. Generation 6 sends flits, which carry those
// once for 256 B.
const (
	framing          = 8
	requestHeader    = 16 // memory request with a 64-bit address
	completionHeader = 12
	dllp             = 8    // a link-layer packet: 2 B of framing, 4 B, 2 B of CRC
	skpLength        = 4    // per lane
	skpInterval      = 1538 // symbols between SKP ordered sets, at most (4.2.7)
	updatesPerLimit  = 2    // an acknowledgement and a flow control update
	latencyOverhead  = 28   // TLP overhead in the formula of the limit (table 3-7)
)

// Default sizes: what servers negotiate (MPS of a root port, MRRS of a card).
const (
	DefaultMPS  = 256 * units.Byte
	DefaultMRRS = 512 * units.Byte
)

// New returns a link of a generation and width with the default sizes.
func New(gen, width int) Link {
	return Link{Gen: gen, Width: width, MPS: DefaultMPS, MRRS: DefaultMRRS}
}

// Check reports what makes l a link that nobody builds.
func (l Link) Check() error {
	switch {
	case l.Gen < 1 || l.Gen > 6:
		return fmt.Errorf("PCIe generation %d does not exist; it is 1 to 6", l.Gen)
	case l.Width != 12 && (l.Width < 1 || l.Width > 16 || !power(int64(l.Width))):
		return fmt.Errorf("a PCIe link of %d lanes does not exist; it has 1, 2, 4, 8, 12 or 16", l.Width)
	case !size(l.MPS):
		return fmt.Errorf("a maximum payload size of %v does not exist; it is a power of 2 from 128B to 4096B", l.MPS)
	case !size(l.MRRS):
		return fmt.Errorf("a maximum read request size of %v does not exist; it is a power of 2 from 128B to 4096B", l.MRRS)
	}
	return nil
}

func power(n int64) bool { return bits.OnesCount64(uint64(n)) == 1 }

func size(n units.Bytes) bool { return n >= 128 && n <= 4096 && power(int64(n)) }

// GenOf returns the generation with the given transfer rate per lane in units of
// 100 MT/s ("8 GT/s" is 80), and whether there is one.
func GenOf(hundredMT int) (int, bool) {
	for gen, rate := range transfers() {
		if rate == hundredMT {
			return gen + 1, true
		}
	}
	return 0, false
}

// transfers are the rates per lane by generation, in units of 100 MT/s.
func transfers() [6]int { return [6]int{25, 50, 80, 160, 320, 640} }

// Raw returns the rate of one direction after line coding, rounded down: 8b/10b in
// generations 1 and 2, 128b/130b in 3 to 5, and in 6 the 242 B of each 256 B flit that
// are neither CRC nor forward error correction.
func (l Link) Raw() units.Rate {
	num, den := int64(8), int64(10)
	switch {
	case l.Gen >= 6:
		num, den = 242, 256
	case l.Gen >= 3:
		num, den = 128, 130
	}
	return units.Rate(int64(transfers()[l.Gen-1]) * 100e6 * int64(l.Width) * int64(max(l.Speedup, 1)) * num / den)
}

// ackLimit returns the longest time between acknowledgements in symbols:
// (MPS + 28 B) times a factor by the table, over the width, and a delay of the
// generation (PCIe Base Specification 5.0, tables 3-7 to 3-9; 2-46 to 2-48 give the
// same for flow control updates). pcie-model takes one symbol for one byte of the
// whole link, which overrates their cost on wide links; it is kept, because the
// published figures are computed so.
func (l Link) ackLimit() int64 {
	tenths := int64(14)
	switch {
	case l.MPS >= 512 && l.Width <= 8:
		tenths = 10
	case l.MPS >= 512:
		tenths = 20
	case l.Width > 8:
		tenths = 30
	case l.Width == 8:
		tenths = 25
	}
	delay := int64(115)
	switch l.Gen {
	case 1:
		delay = 19
	case 2:
		delay = 70
	}
	return (int64(l.MPS)+latencyOverhead)*tenths/(10*int64(l.Width)) + delay
}

// share returns the part of the raw rate that TLPs get, as a fraction.
func (l Link) share() (num, den int64) {
	if l.Gen >= 6 {
		return 236 * (skpInterval - skpLength), 242 * skpInterval // 6 B of a flit are for DLLPs
	}
	limit := l.ackLimit()
	den = skpInterval * limit
	return den - updatesPerLimit*dllp*skpInterval - skpLength*limit, den
}

// onLink returns the bytes of the raw rate that TLPs of n bytes in all take, rounded
// up. n is below 2^43.
func (l Link) onLink(n units.Bytes) units.Bytes {
	num, den := l.share()
	return units.Bytes((int64(n)*den + num - 1) / num)
}

func (l Link) overhead(header units.Bytes) units.Bytes {
	if l.Gen >= 6 {
		return header
	}
	return framing + header
}

// payload is what a full TLP carries.
func (l Link) payload() units.Bytes {
	if l.Cut > 0 {
		return min(l.Cut, l.MPS)
	}
	return l.MPS
}

func parts(n, by units.Bytes) units.Bytes { return (n + by - 1) / by }

// WriteTLPs returns the bytes of the TLPs, headers and framing included, of posted
// writes of n bytes. They pass the link at TLPRate.
func (l Link) WriteTLPs(n units.Bytes) units.Bytes {
	return n + parts(n, l.payload())*l.overhead(requestHeader)
}

// ReadRequestTLPs is the same for the requests for n bytes, away from the reader.
func (l Link) ReadRequestTLPs(n units.Bytes) units.Bytes {
	return parts(n, l.MRRS) * l.overhead(requestHeader)
}

// CompletionTLPs is the same for the completions that bring n bytes.
func (l Link) CompletionTLPs(n units.Bytes) units.Bytes {
	return n + parts(n, l.payload())*l.overhead(completionHeader)
}

// WriteBytes returns the bytes on the link of posted writes of n bytes: one TLP per
// MPS, with what link-layer packets and SKP ordered sets take beside them.
func (l Link) WriteBytes(n units.Bytes) units.Bytes {
	return l.onLink(l.WriteTLPs(n))
}

// ReadRequestBytes returns the bytes on the link of the requests for n bytes, one TLP
// per MRRS, in the direction away from the reader.
func (l Link) ReadRequestBytes(n units.Bytes) units.Bytes {
	return l.onLink(l.ReadRequestTLPs(n))
}

// CompletionBytes returns the bytes on the link of the completions that bring n bytes,
// one TLP per MPS, in the direction of the reader. Root complexes that cut completions
// at 64 B read completion boundaries are not modelled.
func (l Link) CompletionBytes(n units.Bytes) units.Bytes {
	return l.onLink(l.CompletionTLPs(n))
}

// TLPRate returns the rate that TLPs, headers and framing included, get of one
// direction.
func (l Link) TLPRate() units.Rate {
	num, den := l.share()
	return scale(l.Raw(), num, den)
}

// WriteRate returns the steady-state rate of payload in posted writes of full TLPs.
func (l Link) WriteRate() units.Rate { return l.goodput(requestHeader) }

// ReadRate returns the steady-state rate of payload in completions of full TLPs, with
// reads enough under way.
func (l Link) ReadRate() units.Rate { return l.goodput(completionHeader) }

func (l Link) goodput(header units.Bytes) units.Rate {
	num, den := l.share()
	return scale(l.Raw(), num*int64(l.payload()), den*int64(l.payload()+l.overhead(header)))
}

// scale returns r times num over den, rounded down, over 128 bits.
func scale(r units.Rate, num, den int64) units.Rate {
	hi, lo := bits.Mul64(uint64(r), uint64(num))
	q, _ := bits.Div64(hi, lo, uint64(den))
	return units.Rate(q)
}

// String returns the usual short name: "gen4 x16".
func (l Link) String() string { return fmt.Sprintf("gen%d x%d", l.Gen, l.Width) }
