package decode

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// flowKey is what a packet tells of the queue pairs at its ends: the one it goes to and where it comes
// from. A datagram names the one it comes from, too.
type flowKey struct {
	src, dst address
	qp       uint32
	srcQP    uint32 // of datagrams, plus 1; else 0
}

// flow is what one queue pair sends to another: its requests, and its answers to the other's.
type flow struct {
	key     flowKey
	number  int // in the order of first packets, from 0
	service catalog.Service
	// served: a packet told the service. Notifications of congestion do not.
	served bool
	sights []*sight // where it was captured, in the order of first packets
	srcUDP uint16   // of its first packet

	peer    *flow // the other direction, or nil
	paired  pairing
	tries   int    // of pairing by acknowledgements
	srcQP   uint32 // that sends, where srcSure
	srcSure bool
	// ackTimeout is the code of the timer that the connection manager agreed on; 0: not known.
	ackTimeout uint8

	mtu      uint32 // payload of the packets before the last of a message; 0: not seen
	nak, rnr notice // what the peer said last
	// quickest is the least time that an answer took, from the last packet of a message; 0: none came.
	quickest units.Time

	open     []message // in the order of PSNs
	partial  int64     // messages whose beginning was not captured
	broken   int64     // of UC, with packets missing
	failed   int64     // refused by a NAK
	lapsed   int64     // messages that were given up, being too many
	done     times
	bytes    int64 // of messages that are over
	begun    units.Time
	over     units.Time
	verbs    [verbKinds]verbCount
	messages int64 // over
}

// verbCount counts messages of a verb that are over.
type verbCount struct{ messages, bytes int64 }

// pairing is how two directions were found to belong together.
type pairing uint8

// Ways to find the other direction, the surest first.
const (
	unpaired    pairing = iota
	byCM                // the connection manager named both queue pairs
	byPSN               // acknowledgements had the PSNs of these packets, and of no others
	byPort              // likewise, but of several flows the one with the same UDP source port was taken
	byAddresses         // there is no other flow between the two addresses
)

// notice is a NAK or RNR NAK that a requester has to act on.
type notice struct {
	serial int // of the notice; 0: none came
	psn    uint32
	upto   uint32 // the next PSN at the time
	at     units.Time
}

// covers reports whether a packet sent again may be one that the notice asked for, or one that its
// requester begins with, which may lie before that.
func (n *notice) covers(psn uint32) bool { return n.serial > 0 && psnDiff(psn, n.upto) < 0 }

// cause is why a packet was sent again.
type cause uint8

// Causes.
const (
	noCause    cause = iota
	afterNAK         // the responder asked for it
	afterRNR         // the responder was not ready
	afterTimer       // no answer came for longer than any took
	missing          // responses behind missing ones had come
	unseen           // the capture does not show why
	causes
)

var causeMechanism = [causes]catalog.Mechanism{afterNAK: catalog.RetransNAK, afterRNR: catalog.RetransRNR,
	afterTimer: catalog.RetransTimer, missing: catalog.RetransMissing, unseen: catalog.RetransUnseen}

// sent is a packet of a ring: the last with its place there.
type sent struct {
	psn uint32
	tag tag
	at  units.Time
}

// tag is what tells a copy of a packet, captured once more, from one that was sent again.
type tag struct {
	id  uint16 // of IPv4
	ttl uint8
	set bool // the place in the ring is taken
}

// copied reports whether a packet is a copy of one that was captured before: it has the same
// identification, which senders count up, or within less than any timer another TTL, as behind a router. Some
// cards leave the identification at 0.
func (e *sent) copied(psn uint32, t tag, now units.Time) bool {
	return e.tag.set && e.psn == psn && (t.id != 0 && t.id == e.tag.id || t.ttl != e.tag.ttl && now-e.at < leastTimeout)
}

// Sizes of rings, powers of 2: at first, at most, and by how many entries all together may grow.
const (
	ringSize = 256
	maxRing  = 1 << 16
	maxRings = 1 << 22
)

// ring holds the last packets of a sequence.
type ring struct{ sent []sent }

func newRing() *ring { return &ring{make([]sent, ringSize)} }

// entry is the place of a PSN.
func (r *ring) entry(psn uint32) *sent { return &r.sent[psn&uint32(len(r.sent)-1)] }

func (r *ring) put(psn uint32, t tag, at units.Time) { *r.entry(psn) = sent{psn, t, at} }

func (r *ring) get(psn uint32) (units.Time, bool) {
	e := r.entry(psn)
	return e.at, e.tag.set && e.psn == psn
}

func (r *ring) size() int { return len(r.sent) }

// grow doubles the ring, if left entries allow it, so that packets further back are found.
func (r *ring) grow(left int) bool {
	if len(r.sent) >= maxRing || len(r.sent) > left {
		return false
	}
	old := r.sent
	r.sent = make([]sent, 2*len(old))
	for _, e := range old {
		if e.tag.set {
			*r.entry(e.psn) = e
		}
	}
	return true
}

// sight is a flow at one capture point.
type sight struct {
	point       int
	packets     int64
	bytes       int64 // on the wire, as the capture counts
	payload     int64
	first, last units.Time
	marked      record.Act
	capable     int64 // of ECN, marked ones among them
	right       int64 // ICRCs
	wrong       record.Act

	req, rsp   sequence
	reqs, rsps *ring
	asked      units.Time // when the last request came
	after      uint32     // the PSN behind the last request
	pass       cause      // of the packets that are being sent again
	serials    [2]int     // of NAK and RNR that the pass before acted on
	handled    [2]uint32
	resent     [causes]record.Act // sum: payload bytes
	firstLost  int64              // of them, those whose first copy was not captured
	askedAgain record.Act         // READ requests for responses that were missing
	timeouts   record.Act         // sum: ps since the packet was last sent
	late       record.Act         // requests behind later ones
	early      int64              // requests with PSNs before the first that was captured
	uncaptured int64              // acknowledged, and not captured
	restarts   int64              // of the sequence

	acks int64
	naks [5]record.Act // by code
	gaps record.Act    // that NAKs told of: of several with one PSN the first
	gap  uint32        // the PSN of the last
	rnr  record.Act
	// rnrSyndrome is that of the last RNR NAK.
	rnrSyndrome uint8
	cnps        record.Act
	cnp         sent // the last
	copies      int64
	becn        record.Act // on acknowledgements
	responses   int64
	answered    record.Act // responses sent again; sum: payload bytes

	way times // from the first point to this one
}

// at is the flow's sight at a capture point.
func (f *flow) at(point int) *sight {
	for _, s := range f.sights {
		if s.point == point {
			return s
		}
	}
	s := &sight{point: point}
	f.sights = append(f.sights, s)
	return s
}

// answers reports whether the flow carries answers, so that the absence of one says something.
func (f *flow) answers() bool {
	for _, s := range f.sights {
		if s.acks+s.rnr.Count+s.responses > 0 {
			return true
		}
		for _, n := range s.naks {
			if n.Count > 0 {
				return true
			}
		}
	}
	return false
}

// role is what an opcode is to a sequence.
type role uint8

const (
	noRole   role = iota
	request       // of RC and UC
	answer        // acknowledgements
	response      // of READs and atomics
	datagram
	notification
)

// roleOf says what a packet is.
func roleOf(op wire.Opcode) role {
	switch {
	case op == wire.CNPOpcode || op == wire.IBCNPOpcode:
		return notification
	case op == wire.RCAcknowledge:
		return answer
	case op >= wire.RCReadRespFirst && op <= wire.RCReadRespOnly || op == wire.RCAtomicAck:
		return response
	case op>>5 == wire.UDSendOnly>>5:
		return datagram
	case op>>5 <= wire.UCSendFirst>>5:
		return request
	}
	return noRole
}
