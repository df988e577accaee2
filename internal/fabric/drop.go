package fabric

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// dropStat counts the drops of one port and class by cause.
type dropStat [catalog.NumDrops]record.Act

// drop counts a frame that ends at port i in class c, and frees it.
func (n *Net) drop(now units.Time, i int, c uint8, cause catalog.Drop, slot uint32) {
	pk := n.part.Rec(slot)
	n.countDrop(now, i, c, cause, pk)
	n.FreeSides(pk)
	n.part.Free(slot)
}

// discard drops a frame that a switch will not forward, and gives the room in
// its input buffer back.
func (n *Net) discard(now units.Time, i int, cause catalog.Drop, slot uint32) {
	c, frame := n.part.Rec(slot).Class, n.part.Rec(slot).Frame
	n.drop(now, i, c, cause, slot)
	if n.ports[i].credited {
		n.GiveBack(now, i, c, frame)
	}
}

func (n *Net) countDrop(now units.Time, i int, c uint8, cause catalog.Drop, pk *packet.Packet) {
	if !pk.Kind.Link() && cause != catalog.DropReceive { // a host drops what it has received
		n.dropped++
	}
	if !pk.Kind.Link() {
		n.moved = max(n.moved, now)
		n.noteLoss(pk.Conn)
		n.noteDrop(now, i, c, cause, pk)
		if n.timeline != nil {
			n.noteEnd(now, i, c, cause, pk)
		}
	}
	k := &n.cold[i].drops[c]
	if *k == nil {
		*k = new(dropStat)
	}
	(*k)[cause].Add(now, int64(pk.Frame))
	if cause == catalog.DropLinkDown || cause == catalog.DropPortDown {
		im := n.cold[i].impair
		im.lost[im.current].Add(now, int64(pk.Frame))
	}
}

// noteLoss remembers that something of a connection was dropped.
func (n *Net) noteLoss(conn uint32) {
	if n.lossy == nil {
		n.lossy = make([]uint64, len(n.pins)/64+1)
	}
	if w := conn / 64; int(w) < len(n.lossy) {
		n.lossy[w] |= 1 << (conn % 64)
	}
}

// Lossy adds to conns, a bit per connection, those of which a port of this partition
// dropped something, either way.
func (n *Net) Lossy(conns []uint64) {
	for i, w := range n.lossy {
		conns[i] |= w
	}
}

// impairment is what a link does to the frames that arrive at one end.
type impairment struct {
	rnd    rng.Stream
	loss   float64
	spared uint8 // see topology.Link
	ber    float64
	fec    *correction // nil: none
	every  int
	seen   int
	// late is the pipeline of the switch that notices: an arrival comes that much after the last bit. By what noise
	// adds to it a frame counts as longer on the link.
	late units.Time

	outages []Outage
	first   int          // those before are over for everything that is still to arrive
	current int          // the one that drops what is dropped now
	known   bool         // the node knows that the link is down
	lost    []record.Act // of each outage, in bytes
}

// loses reports whether the link may lose frames while it is up.
func (im *impairment) loses() bool { return im.loss > 0 || im.ber > 0 || im.every > 0 }

// down reports whether what was on the link at an instant not before since is lost by
// an outage. since never goes back.
func (im *impairment) down(at, since units.Time) bool {
	for im.first < len(im.outages) && im.outages[im.first].Up <= since {
		im.first++
	}
	for k := im.first; k < len(im.outages) && im.outages[k].Down <= at; k++ {
		if at < im.outages[k].Up {
			im.current = k
			return true
		}
	}
	return false
}

// failed reports whether the link has gone down by now, perhaps for a while.
func (im *impairment) failed(now units.Time) bool {
	return len(im.outages) > 0 && now >= im.outages[0].Down
}

// LostInOutages returns what each outage of the link of port i took: what arrived at
// this end, and what waited here when the outage was noticed.
func (n *Net) LostInOutages(i int) []record.Act {
	if im := n.cold[i].impair; im != nil {
		return im.lost
	}
	return nil
}

// lost decides whether the link lost or damaged the frame that arrives at port
// i: a frame of b bits survives a bit error rate e with probability (1-e)^b.
func (n *Net) lost(now units.Time, i int, pk *packet.Packet) bool {
	im := n.cold[i].impair
	cause, since := catalog.NoDrop, now-im.late
	if !pk.Kind.Link() {
		now = since
	}
	switch {
	case len(im.outages) > 0 && im.down(now, since):
		cause = catalog.DropLinkDown
	case im.every > 0 && pk.Kind.CarriesData() && im.count():
		cause = catalog.DropEvery
	case im.loss > 0 && im.spared>>(pk.Class&(Classes-1))&1 == 0 && im.rnd.Float64() < im.loss:
		cause = catalog.DropLoss
	case im.ber > 0 && im.rnd.Float64() < im.errors(int(pk.Frame)*8):
		cause = catalog.DropBitError
	default:
		return false
	}
	c := pk.Class
	switch {
	case pk.Kind == packet.Pause:
		c, cause = uint8(bits.TrailingZeros8(uint8(pk.Payload)))&(Classes-1), catalog.DropPFC
		n.linkFrames--
	case pk.Kind == packet.Credit:
		n.creditGone(pk)
		if pk.Flags&packet.Retrans != 0 {
			return true // it said nothing new, and is repeated beyond the run's end
		}
		cause = catalog.DropCredit
	case n.ports[i].credited:
		n.credits[c&(Classes-1)][i].missed += uint16(Blocks(pk.Frame))
	}
	n.countDrop(now, i, c, cause, pk)
	return true
}

// correction is the forward error correction of a link.
type correction struct {
	wire.FEC
	wrong float64 // probability that a codeword cannot be corrected
	bps   int64
}

// fecOf is that of a port's link; nil: there is none.
func fecOf(s *PortSpec) *correction {
	for _, f := range wire.FECs() {
		if f.Name == s.FEC {
			return &correction{f, f.Uncorrectable(s.BER), int64(s.Rate)}
		}
	}
	return nil
}

// errors is the probability that a frame of so many bits is damaged: that one of them is wrong,
// or one of the codewords that it lies in.
func (im *impairment) errors(bits int) float64 {
	f := im.fec
	if f == nil {
		return damaged(im.ber, bits)
	}
	least, interleaved, more := f.Codewords(bits, f.bps)
	return (1-more)*damaged(f.wrong, least) + more*damaged(f.wrong, least+interleaved)
}

func (im *impairment) count() bool {
	im.seen++
	if im.seen < im.every {
		return false
	}
	im.seen = 0
	return true
}

// damaged returns 1-(1-ber)^b by repeated squaring: no library function whose
// last bit may differ between machines decides a frame's fate.
func damaged(ber float64, b int) float64 {
	ok, base := 1.0, 1-ber
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			ok *= base
		}
		base *= base
	}
	return 1 - ok
}
