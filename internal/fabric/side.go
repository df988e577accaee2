package fabric

import (
	"slices"

	"github.com/hopscope/hopscope/internal/packet"
)

// A stamped packet numbers a side record: where its stamps stand, where its
// packet.Side stands, or both. Each lies in a slab of its own, so that a packet
// pays only for what it has; packets without either know nothing of this.

// sideRecord is what a stamped packet numbers.
type sideRecord struct {
	stamps uint32 // in the slab of stamps; 0: none
	side   uint32 // in the slab of sides; 0: none
	mark   uint32 // the site that marked it, and one; 0: none did
	told   uint32 // in the slab of telemetry; 0: none
}

// slab holds records by number, from 1, in blocks that never move; freed numbers are
// used again, the latest first.
type slab[R any] struct {
	blocks [][]R
	used   uint32 // numbers given so far, 0 included
	free   []uint32
}

// slabBits is the binary logarithm of a block's records.
const slabBits = 8

func newSlab[R any]() slab[R] { return slab[R]{used: 1} }

// at returns record i; the pointer stays valid.
func (s *slab[R]) at(i uint32) *R { return &s.blocks[i>>slabBits][i&(1<<slabBits-1)] }

// alloc returns the number of a record, which holds what its last user left
// there.
func (s *slab[R]) alloc() uint32 {
	if k := len(s.free); k > 0 {
		i := s.free[k-1]
		s.free = s.free[:k-1]
		return i
	}
	i := s.used
	s.used++
	if int(i>>slabBits) == len(s.blocks) {
		s.blocks = append(s.blocks, make([]R, 1<<slabBits))
	}
	return i
}

func (s *slab[R]) release(i uint32) { s.free = append(s.free, i) }

// inUse counts the records that are not free.
func (s *slab[R]) inUse() int { return int(s.used) - 1 - len(s.free) }

// sideBox is what one window sends to one partition.
type sideBox struct {
	window int64
	sent   []sentSide
	stamps []stamp
	sides  []packet.Side // their payload is in data
	told   []packet.Telemetry
	data   []byte
}

// sentSide is one side record in a sideBox.
type sentSide struct {
	stamped    bool
	way        progress
	first      int // where its stamps are
	mark       uint32
	side       int // in sides; -1: none
	told       int // in told; -1: none
	data, size int // where its payload is, how much; size -1: nil
}

// SetPeers tells a Net the fabrics of all partitions, its own included.
func (n *Net) SetPeers(nets []*Net) {
	n.peers = nets
	for i := range n.sideOut {
		n.sideOut[i] = make([]sideBox, len(nets))
	}
	n.records, n.stamps, n.sides = newSlab[sideRecord](), newSlab[Stamps](), newSlab[packet.SideCopy]()
	n.told = newSlab[packet.Telemetry]()
}

// record returns the side record of pk, a new one if it has none.
func (n *Net) record(pk *packet.Packet) *sideRecord {
	if pk.DSCP&packet.Stamped == 0 {
		i := n.records.alloc()
		*n.records.at(i) = sideRecord{}
		pk.SetStamp(i)
	}
	return n.records.at(pk.Stamp())
}

// AddStamps has pk carry where its time goes; it has no hops yet.
func (n *Net) AddStamps(pk *packet.Packet) {
	r := n.record(pk)
	if r.stamps == 0 {
		r.stamps = n.stamps.alloc()
	} else {
		n.releaseTail(n.stamps.at(r.stamps))
	}
	s := n.stamps.at(r.stamps)
	s.progress, s.next = progress{}, 0
}

// AddSide has pk carry a copy of side, payload included.
func (n *Net) AddSide(pk *packet.Packet, side *packet.Side) {
	r := n.record(pk)
	if r.side == 0 {
		r.side = n.sides.alloc()
	}
	if mutantStaleSide && r.side%16 == 15 {
		return
	}
	n.sides.at(r.side).Set(side)
}

// AddTelemetry has pk carry a copy of t.
func (n *Net) AddTelemetry(pk *packet.Packet, t *packet.Telemetry) {
	r := n.record(pk)
	if r.told == 0 {
		r.told = n.told.alloc()
	}
	*n.told.at(r.told) = *t
}

// TakeTelemetry takes what pk carries for its sender's congestion control off it, and returns its number; 0:
// nothing. It is to be given to another packet.
func (n *Net) TakeTelemetry(pk *packet.Packet) uint32 {
	if pk.DSCP&packet.Stamped == 0 {
		return 0
	}
	r := n.records.at(pk.Stamp())
	i := r.told
	r.told = 0
	return i
}

// GiveTelemetry has pk, which carries none, carry what has number i; without pk it is given up.
func (n *Net) GiveTelemetry(pk *packet.Packet, i uint32) {
	if pk == nil {
		n.told.release(i)
		return
	}
	n.record(pk).told = i
}

// TelemetryOf returns what pk carries for its sender's congestion control, nil if nothing; valid until
// FreeSides.
func (n *Net) TelemetryOf(pk *packet.Packet) *packet.Telemetry {
	if pk.DSCP&packet.Stamped == 0 {
		return nil
	}
	if i := n.records.at(pk.Stamp()).told; i != 0 {
		return n.told.at(i)
	}
	return nil
}

// AddSample is AddStamps for a packet that is picked to tell what others like it meet.
func (n *Net) AddSample(pk *packet.Packet) {
	n.AddStamps(pk)
	n.stampsOf(pk).sample = true
}

// noteMark remembers where pk was marked, in class c of port i.
func (n *Net) noteMark(i int, c uint8, pk *packet.Packet) {
	n.record(pk).mark = siteOf(n.ports[i].id, c) + 1
}

// MarkOf returns the port, by its global number, and the class that marked pk.
func (n *Net) MarkOf(pk *packet.Packet) (port uint32, c uint8, marked bool) {
	if pk.DSCP&packet.Stamped == 0 {
		return 0, 0, false
	}
	m := n.records.at(pk.Stamp()).mark
	if m == 0 {
		return 0, 0, false
	}
	return (m - 1) >> siteBits, uint8((m - 1) & (Classes - 1)), true
}

// StampsOf returns the stamps of pk that an account is made from, nil if it has none;
// valid until FreeSides.
func (n *Net) StampsOf(pk *packet.Packet) *Stamps {
	if s := n.stampsOf(pk); s != nil && !s.sample {
		return s
	}
	return nil
}

// SampleOf returns the stamps of pk if it is a sample; valid until FreeSides.
func (n *Net) SampleOf(pk *packet.Packet) *Stamps {
	if s := n.stampsOf(pk); s != nil && s.sample {
		return s
	}
	return nil
}

func (n *Net) stampsOf(pk *packet.Packet) *Stamps {
	if pk.DSCP&packet.Stamped == 0 {
		return nil
	}
	if i := n.records.at(pk.Stamp()).stamps; i != 0 {
		return n.stamps.at(i)
	}
	return nil
}

// SideOf returns the packet.Side of pk, nil if it has none; valid until FreeSides.
func (n *Net) SideOf(pk *packet.Packet) *packet.Side {
	if pk.DSCP&packet.Stamped == 0 {
		return nil
	}
	if i := n.records.at(pk.Stamp()).side; i != 0 {
		return &n.sides.at(i).Side
	}
	return nil
}

// FreeSides gives back what pk carries beside itself, if anything.
func (n *Net) FreeSides(pk *packet.Packet) {
	if pk.DSCP&packet.Stamped == 0 {
		return
	}
	n.releaseRecord(pk.Stamp())
	pk.DSCP &^= packet.Stamped
}

func (n *Net) releaseRecord(i uint32) {
	r := *n.records.at(i)
	if r.stamps != 0 {
		n.releaseTail(n.stamps.at(r.stamps))
		n.stamps.release(r.stamps)
	}
	if r.side != 0 {
		n.sides.release(r.side)
	}
	if r.told != 0 {
		n.told.release(r.told)
	}
	n.records.release(i)
}

// releaseTail gives back the blocks of s behind the first.
func (n *Net) releaseTail(s *Stamps) {
	for i := s.next; i != 0; i = n.stamps.at(i).next {
		n.stamps.release(i)
	}
}

// post puts the side record of pk, a stamped packet that leaves for partition
// dst, into the mailbox and returns its number there.
func (n *Net) post(dst int, pk *packet.Packet) uint32 {
	if dst == n.part.ID {
		return 0
	}
	window := n.part.Window()
	box := &n.sideOut[window&1][dst]
	if box.window != window {
		*box = sideBox{window, box.sent[:0], box.stamps[:0], box.sides[:0], box.told[:0], box.data[:0]}
	}
	out := sentSide{side: -1, told: -1, size: -1}
	out.mark = n.records.at(pk.Stamp()).mark
	if s := n.stampsOf(pk); s != nil {
		out.stamped, out.first, out.way = true, len(box.stamps), s.progress
		box.stamps = slices.Grow(box.stamps, int(s.n))
		for k := range s.n {
			box.stamps = append(box.stamps, *n.stampAt(s, k))
		}
	}
	if s := n.SideOf(pk); s != nil {
		out.side = len(box.sides)
		box.sides = append(box.sides, *s)
		if s.Data != nil {
			out.data, out.size = len(box.data), len(s.Data)
			box.data = append(box.data, s.Data...)
		}
	}
	if t := n.TelemetryOf(pk); t != nil {
		out.told = len(box.told)
		box.told = append(box.told, *t)
	}
	box.sent = append(box.sent, out)
	n.releaseRecord(pk.Stamp())
	return uint32(len(box.sent))
}

// Adopt implements sim.Handler.
func (n *Net) Adopt(from, parity int, side, i uint32) {
	box := &n.peers[from].sideOut[parity][n.part.ID]
	in := &box.sent[side-1]
	pk := n.part.Rec(i)
	pk.DSCP &^= packet.Stamped // its number was the sender's
	if in.stamped {
		n.AddStamps(pk)
		s := n.stampsOf(pk)
		for k := range in.way.n {
			n.addStamp(s, box.stamps[in.first+int(k)])
		}
		s.progress = in.way
	}
	if in.mark != 0 {
		n.record(pk).mark = in.mark
	}
	if in.told >= 0 {
		n.AddTelemetry(pk, &box.told[in.told])
	}
	if in.side >= 0 {
		s := box.sides[in.side]
		s.Data = nil
		if in.size >= 0 {
			s.Data = box.data[in.data : in.data+in.size]
		}
		n.AddSide(pk, &s)
	}
}
