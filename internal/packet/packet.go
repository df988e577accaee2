// Package packet defines the record that travels: one 64-byte slot with the
// decoded headers the fabric and the transports look at, lengths instead of
// bytes, and no pointers, so that a hand-over is one copy of one cache line.
package packet

import "github.com/hopscope/hopscope/wire"

// Kind tells the fabric and the NIC what a frame is before any transport looks
// at its opcode.
type Kind uint8

// Kinds of frame.
const (
	Data     Kind = iota // a request: SEND, RDMA WRITE or READ, an atomic
	Response             // an RDMA READ response
	Ack                  // an acknowledgement, positive or negative; also that of an atomic
	CNP                  // a RoCEv2 congestion notification packet
	Pause                // an IEEE 802.1Qbb priority flow control frame
	Credit               // an InfiniBand flow-control packet
	Segment              // a TCP segment, with or without data
	Probe                // a probe of the round trip, or its answer, as the opcode says
	Framed               // a TCP segment of an iWARP connection, with or without an FPDU
)

// Link reports whether frames of the kind belong to one link: they are built at
// one end, consumed at the other and never forwarded.
func (k Kind) Link() bool { return k == Pause || k == Credit }

// CarriesData reports whether a frame belongs to the data class of its queue
// pair: requests (a READ's own is one) and READ responses, as against what
// acknowledges, notifies or pauses. All segments of a TCP connection do, as they
// share its class.
func (k Kind) CarriesData() bool { return k <= Response || k == Segment || k == Framed }

// Flags of a packet.
const (
	AckReq  uint8 = 1 << iota // BTH AckReq bit
	CNPFlag                   // ns-3 profile: the ACK carries the congestion flag; on a READ request: More
	Pinned                    // the flow's route is pinned: look it up by flow, not by hash
	Retrans                   // sent before: counted apart, never looked at by the responder
	Reverse                   // pinned route: on the responder-to-requester half

	// More, on a READ request, says that later requests ask for the rest of the
	// message. It is no field of the wire: the responder counts messages by it.
	More = CNPFlag

	pcpShift = 5 // the 802.1Q priority code point, or the VL, stands above the flags
	flagMask = 1<<pcpShift - 1
)

// FlagsOfPCP returns the Flags bits of a VLAN tag's priority code point, 0 to 7.
func FlagsOfPCP(pcp uint8) uint8 { return pcp << pcpShift }

// PCP returns the priority code point of the frame's VLAN tag; 0 without one.
func (p *Packet) PCP() uint8 { return p.Flags >> pcpShift }

// VL is the virtual lane on which an InfiniBand packet came into the switch that
// holds it, 0 to 7: InfiniBand has no VLAN tags, and the lane on which it leaves
// is its Class.
func (p *Packet) VL() uint8 { return p.Flags >> pcpShift }

// SetVL notes the lane on which p came in.
func (p *Packet) SetVL(vl uint8) { p.Flags = p.Flags&flagMask | vl<<pcpShift }

// SL is the service level of an InfiniBand packet, 0 to 15, which stands in the
// place of the DSCP.
func (p *Packet) SL() uint8 { return p.DSCP & 15 }

// Side is what few packets carry beyond a Packet. It lives in the side record
// that a stamped packet numbers, and is copied where the packet is handed over.
type Side struct {
	Imm           uint32 // ImmDt, or the R_Key that IETH invalidates
	QKey, SrcQP   uint32 // DETH
	Swap, Compare uint64 // AtomicETH; FETCH_ADD has its addend in Swap
	Orig          uint64 // AtomicAckETH: the value before
	// SACK are the selective acknowledgements of a TCP segment, as many as its
	// option holds, the latest first (RFC 2018, 2883).
	SACK  [4]SACKBlock
	SACKs uint8
	// ULPDU is the length of the ULPDU, 0 for none, that an FPDU holds whose header is DDP, where an iWARP segment
	// begins with one and its bytes are not in Data.
	ULPDU uint16
	// Unchecked says that the CRC of that FPDU is not used, and Marker, where the stream has markers, how far before
	// the next multiple of their distance it begins, from 1 on; 0: it has none.
	Unchecked bool
	Marker    uint16
	DDP       wire.DDP
	// Data is the payload, as many bytes as Packet.Payload says; nil unless the
	// run carries data.
	Data []byte
}

// Telemetry is what a packet carries for the congestion control of its sender beside its headers, and
// what its acknowledgement takes back. Times are in ps.
type Telemetry struct {
	Start, Out int64 // the packet's first and last bit left the sender's port
	Arrived    int64 // the receiver's port had it
	Replied    int64 // the receiver made the acknowledgement
	// INT says that switches are to write a record each; Wrote is how many did, of which as many as
	// Hop has room for stand there.
	INT   bool
	Wrote uint8
	Hops  uint8 // switches passed, by the TTL
	Hop   [5]uint64
}

// SACKBlock is a range of TCP sequence numbers, Right behind its last.
type SACKBlock struct{ Left, Right uint32 }

// SideCopy is a Side whose payload lies in memory of its own, which is used
// again by the next copy.
type SideCopy struct {
	Side
	room []byte
}

// Set makes c a copy of s.
func (c *SideCopy) Set(s *Side) {
	c.Side = *s
	if s.Data != nil {
		c.room = append(c.room[:0], s.Data...)
		c.Data = c.room
	}
}

// Stamped, in the top bit of DSCP, says that a side record follows the packet
// from hop to hop; Stamp returns its number.
const Stamped uint8 = 0x80

// Stamp is the number of the side record of a stamped packet. It stands in a
// field that the packet's kind does not use.
func (p *Packet) Stamp() uint32 {
	if p.Kind == Data {
		return p.AETH
	}
	return p.RKey
}

// SetStamp attaches side record i.
func (p *Packet) SetStamp(i uint32) {
	p.DSCP |= Stamped
	if p.Kind == Data {
		p.AETH = i
	} else {
		p.RKey = i
	}
}

// ECN code points of the IP header (RFC 3168).
const (
	NotECT uint8 = 0
	ECT1   uint8 = 1
	ECT0   uint8 = 2
	CE     uint8 = 3
)

// Packet is one frame. Field widths follow the headers they stand for; PSN and
// MSN are 24-bit values as on the wire.
type Packet struct {
	// What the fabric reads.
	Frame uint32 // frame bytes from destination address to FCS; what buffers count
	Hash  uint32 // hash of the five-tuple, salted again by every switch
	Next  uint32 // link of the queue that holds the packet
	Dst   uint32 // destination endpoint index
	Conn  uint32 // connection index; identifies pinned routes
	In    uint16 // ingress port, set by the switch that holds the packet
	Class uint8  // priority in the node that holds it
	DSCP  uint8  // and InfiniBand's service level
	ECN   uint8
	TTL   uint8
	Kind  Kind
	Flags uint8
	// Base transport header (IBTA 9.2) and extended headers.
	Payload uint32 // payload bytes; Pause: class-enable vector in bits 0-7, XOFF state in bits 8-15; selective NAK: ranges; Credit: FCTBS in bits 0-11, FCCL in bits 12-23
	DestQP  uint32 // 24 bits
	PSN     uint32 // 24 bits
	AETH    uint32 // syndrome in the top byte, message sequence number in the low 24 bits
	RKey    uint32 // RETH
	DMALen  uint32 // RETH; Pause: pause time in quanta; selective NAK: ranges
	Opcode  uint8  // BTH opcode
	Hop     uint8  // pinned route: switches passed
	Out     uint16 // egress port, set with In
	VA      uint64 // RETH; ACK: when it was made, in ps; Probe: when the probe was
}
