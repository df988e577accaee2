package anatomy

import (
	"fmt"

	"github.com/hopscope/hopscope/wire"
)

// message is a packet of iWARP: a frame of MPA's start-up, or an FPDU.
type message struct {
	name, title string
	start       *wire.MPAFrame // nil: an FPDU
	ddp         wire.DDP
	data        bool // it has payload
	read        bool // a READ request behind the header
	term        *wire.Terminate
	answer      bool // from the end that listened
}

// local is the key of the requester's own buffer.
const local = 0x5678

// streamed are the packets of iWARP.
func streamed() []message {
	write := wire.DDP{Tagged: true, Last: true, Opcode: wire.RDMAPWrite, STag: remoteKey, TO: address}
	first := write
	first.Last = false
	response := wire.DDP{Tagged: true, Last: true, Opcode: wire.RDMAPReadResponse, STag: local, TO: address}
	untagged := func(op uint8, queue uint32) wire.DDP {
		return wire.DDP{Last: true, Opcode: op, QN: queue, MSN: 1}
	}
	inv := untagged(wire.RDMAPSendInv, wire.QNSend)
	inv.STag = remoteKey
	read, over := untagged(wire.RDMAPReadRequest, wire.QNReadRequest), untagged(wire.RDMAPTerminate, wire.QNTerminate)
	begin := wire.MPAFrame{CRC: true, Enhanced: true, Revision: 2, IRD: 16, ORD: 16, PeerToPeer: true, RTRRead: true}
	reply := begin
	reply.Reply = true
	reject := reply
	reject.Reject = true
	return []message{
		{name: "mpa-request", title: "MPA request", start: &begin},
		{name: "mpa-reply", title: "MPA reply", start: &reply, answer: true},
		{name: "mpa-reject", title: "MPA reply that rejects", start: &reject, answer: true},
		{name: "send", title: "SEND", ddp: untagged(wire.RDMAPSend, wire.QNSend), data: true},
		{name: "send-inv", title: "SEND with invalidate", ddp: inv, data: true},
		{name: "write", title: "RDMA WRITE", ddp: write, data: true},
		{name: "write-first", title: "RDMA WRITE, a segment before its last", ddp: first, data: true},
		{name: "read", title: "RDMA READ request", ddp: read, read: true},
		{name: "read-response", title: "RDMA READ response", ddp: response, data: true, answer: true},
		{name: "terminate", title: "Terminate: the STag of a WRITE is invalid", ddp: over, answer: true,
			term: &wire.Terminate{Code: wire.TermSTag, HasSegment: true, Segment: write}},
		{name: "terminate-read", title: "Terminate: a READ goes beyond the bounds", ddp: over, answer: true, read: true,
			term: &wire.Terminate{Code: wire.TermReadBounds, HasSegment: true, Segment: read, HasRequest: true}},
		{name: "terminate-crc", title: "Terminate: the CRC of an FPDU does not fit", ddp: over, answer: true,
			term: &wire.Terminate{Code: wire.TermCRC}},
	}
}

// messageNamed is a packet of iWARP by its name.
func messageNamed(op string) (m message) {
	for _, x := range streamed() {
		if x.name == op {
			m = x
		}
	}
	return m
}

// Before are the frames that the two ends of an iWARP connection have sent before a packet, beside TCP's handshake:
// those of MPA's start-up, by which dissectors tell iWARP from other streams of TCP. Other stacks have none.
func Before(stack, op string, o Options) (frames [][]byte) {
	if stack != "iwarp" {
		return nil
	}
	s := sample{o}
	for _, before := range []string{"mpa-request", "mpa-reply"} {
		m := messageNamed(before)
		if x := messageNamed(op); x.start != nil && (!x.answer || m.answer) {
			break
		}
		frames = append(frames, s.iwarp(&m))
	}
	return frames
}

// iwarp is the frame of a packet of iWARP. FPDUs are the first of their direction.
func (s sample) iwarp(m *message) []byte {
	const seq, ack = 1000, 2000
	start := uint32(wire.MPAFrameLen + wire.MPAEnhancedLen)
	h := wire.TCP{SrcPort: sourcePort, DstPort: iwarpPort, Seq: seq, Ack: ack, Flags: wire.TCPAck | wire.TCPPsh,
		Window: 512, Options: wire.TCPOptions{HasTimestamps: true, TSVal: 81, TSEcr: 80}}
	switch {
	case m.start != nil && m.answer:
		h.Seq, h.Ack = ack, seq+start
	case m.answer:
		h.Seq, h.Ack = ack+start, seq+start
	case m.start == nil:
		h.Seq, h.Ack = seq+start, ack+start
	}
	if m.answer {
		h.SrcPort, h.DstPort = h.DstPort, h.SrcPort
	}
	return s.segment(m.answer, &h, s.streamBytes(m))
}

// iwarpPort is the port that the end which listened has in samples.
const iwarpPort = 5201

// streamBytes is the payload of TCP.
func (s sample) streamBytes(m *message) []byte {
	if m.start != nil {
		f := *m.start
		f.Markers = s.Markers
		return f.Append(nil)
	}
	ask := wire.ReadRequest{SinkSTag: local, SinkTO: address, Size: uint32(s.Payload), SourceSTag: remoteKey,
		SourceTO: address}
	var payload []byte
	switch {
	case m.term != nil:
		t := *m.term
		t.Request = ask
		t.Length = uint16(t.Segment.Len() + s.Payload)
		if m.read {
			t.Length = uint16(t.Segment.Len() + wire.ReadRequestLen)
		}
		payload = t.Append(nil)
	case m.read:
		payload = ask.Append(nil)
	case m.data:
		payload = s.data()
	}
	return wire.Framing{Markers: s.Markers, CRC: true}.Append(nil, 0, m.ddp.Append(nil), payload)
}

// stream takes the payload of TCP in a packet of iWARP, of n bytes.
func (w *walker) stream(n int) {
	if _, _, err := wire.ParseMPA(w.rest()[:n]); err == nil {
		w.mpaFrame()
		return
	}
	w.fpdu(w.at / 8)
}

func (w *walker) mpaFrame() {
	w.header("MPA start-up", "RFC 5044 7.1, RFC 6581 9")
	w.bytes("key", 16, fmt.Sprintf("%q", w.rest()[:16]))
	w.bits("markers wanted", 1, yes)
	w.bits("CRC wanted", 1, yes)
	w.bits("rejected", 1, yes)
	w.bits("enhanced", 1, yes)
	w.reserved(4)
	w.bits("revision", 8, nil)
	w.bits("private data length", 16, unit("B"))
	w.bits("peer to peer", 1, yes)
	w.bits("empty SEND to begin with", 1, yes)
	w.bits("IRD", 14, unit("READs of the peer's at a time"))
	w.bits("empty WRITE to begin with", 1, yes)
	w.bits("empty READ to begin with", 1, yes)
	w.bits("ORD", 14, unit("READs of its own at a time"))
}

// marker takes a marker, if one stands here in the stream of TCP, whose first FPDU begins at byte start.
func (w *walker) marker(start int) {
	if !w.markers || (w.at/8-start)%wire.MPAMarkerGap != 0 {
		return
	}
	w.header("marker", "RFC 5044 4.3")
	w.reserved(16)
	w.bits("FPDU pointer", 16, unit("B back to the length of the FPDU"))
}

// fpdu takes an FPDU that is the first of its stream.
func (w *walker) fpdu(start int) {
	w.marker(start)
	w.header("MPA", "RFC 5044 4.2")
	ulpdu := int(w.bits("ULPDU length", 16, unit("B, of what DDP has in it")))
	pad := -(wire.MPALengthLen + ulpdu) & 3
	ddp, _, _ := wire.ParseDDP(w.rest())
	w.ddp()
	n := ulpdu - ddp.Len()
	switch {
	case ddp.Opcode == wire.RDMAPReadRequest:
		w.readRequest()
	case ddp.Opcode == wire.RDMAPTerminate:
		w.terminate()
	default:
		for n > 0 { // a marker may stand between
			k := n
			if w.markers {
				w.marker(start)
				k = min(n, wire.MPAMarkerGap-(w.at/8-start)%wire.MPAMarkerGap)
			}
			w.header("payload", "")
			w.bytes("data", k, fmt.Sprintf("%d B", k))
			n -= k
		}
	}
	if pad > 0 {
		w.header("padding", "RFC 5044 4.2")
		w.bytes("padding", pad, "up to a multiple of 4 B")
	}
	w.marker(start)
	w.header("MPA CRC", "RFC 5044 4.4")
	w.bits("CRC32c", 32, func(uint64) string { return "of all of the FPDU before it, least significant byte first" })
}

// ddp takes a DDP header, with RDMAP's in it.
func (w *walker) ddp() {
	const source = "RFC 5041 4"
	w.header("DDP control", source)
	tagged := w.bits("tagged", 1, yes)
	w.bits("last of the message", 1, yes)
	w.reserved(4)
	w.bits("DDP version", 2, nil)
	w.header("RDMAP control", "RFC 5040 4.1")
	w.bits("RDMAP version", 2, nil)
	w.reserved(2)
	op := w.bits("opcode", 4, named(rdmapNames()))
	if tagged != 0 {
		w.header("DDP tagged buffer", source)
		w.bits("STag", 32, hex)
		w.bits("tagged offset", 64, hex)
		return
	}
	w.header("DDP untagged buffer", source)
	if op == uint64(wire.RDMAPSendInv) {
		w.bits("STag to invalidate", 32, hex)
	} else {
		w.reserved(32)
	}
	w.bits("queue number", 32, named(map[uint64]string{uint64(wire.QNSend): "of SENDs",
		uint64(wire.QNReadRequest): "of READ requests", uint64(wire.QNTerminate): "of Terminate messages"}))
	w.bits("message sequence number", 32, nil)
	w.bits("message offset", 32, unit("B"))
}

// rdmapNames are the operations of RDMAP that samples have.
func rdmapNames() map[uint64]string {
	return map[uint64]string{uint64(wire.RDMAPWrite): "RDMA WRITE", uint64(wire.RDMAPReadRequest): "RDMA READ request",
		uint64(wire.RDMAPReadResponse): "RDMA READ response", uint64(wire.RDMAPSend): "SEND",
		uint64(wire.RDMAPSendInv): "SEND with invalidate", uint64(wire.RDMAPTerminate): "Terminate"}
}

func (w *walker) readRequest() {
	w.header("READ request", "RFC 5040 4.4")
	w.bits("sink STag", 32, hex)
	w.bits("sink tagged offset", 64, hex)
	w.bits("READ message size", 32, unit("B"))
	w.bits("source STag", 32, hex)
	w.bits("source tagged offset", 64, hex)
}

func (w *walker) terminate() {
	code := wire.TermCode(uint16(w.rest()[0])<<8 | uint16(w.rest()[1]))
	w.header("Terminate", "RFC 5040 4.8")
	layer := w.bits("layer", 4, named(map[uint64]string{0: "RDMAP", 1: "DDP", 2: "MPA"}))
	kind := map[uint64]string{0: "local catastrophic error", 1: "remote protection error", 2: "remote operation error"}
	switch layer {
	case 1:
		kind = map[uint64]string{0: "local catastrophic error", 1: "tagged buffer error", 2: "untagged buffer error"}
	case 2:
		kind = map[uint64]string{0: "MPA error"}
	}
	w.bits("error type", 4, named(kind))
	w.bits("error code", 8, likeHex(code.String()))
	length := w.bits("length follows", 1, yes)
	header := w.bits("DDP header follows", 1, yes)
	request := w.bits("READ request follows", 1, yes)
	w.reserved(13)
	if length != 0 {
		w.header("what is to blame", "RFC 5040 4.8")
		w.bits("length of the DDP segment", 16, unit("B"))
	}
	if header != 0 {
		w.ddp()
	}
	if request != 0 {
		w.readRequest()
	}
}
