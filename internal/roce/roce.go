// Package roce turns RoCEv2 frames into packets of the simulation and back. A
// packet holds what devices and transports look at; what it leaves out
// (addresses, UDP source port, P_Key, IP identification) stands in the frame
// that Fill is given.
package roce

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/wire"
)

// Read fills p and s with what a decoded RoCEv2 frame says, and reports whether
// s says anything: a header that p has no room for, or payload. Data is part of
// the frame's bytes. What is no part of a frame is left 0: Conn, Dst, Hash, the
// ports and queues. The solicited event, migration and FECN bits are dropped.
func Read(f *wire.Frame, p *packet.Packet, s *packet.Side) (hasSide bool, err error) {
	if f.Kind != wire.FrameRoCEv2 {
		return false, fmt.Errorf("roce: not a RoCEv2 frame")
	}
	t := &f.Transport
	*p = packet.Packet{Kind: kind(t.BTH.Opcode), Opcode: uint8(t.BTH.Opcode), Payload: uint32(len(t.Payload)),
		DestQP: t.BTH.DestQP, PSN: t.BTH.PSN, Frame: frameBytes(f), DSCP: f.IPv4.DSCP, ECN: f.IPv4.ECN, TTL: f.IPv4.TTL}
	if f.IPVersion == 6 {
		p.DSCP, p.ECN, p.TTL = f.IPv6.DSCP, f.IPv6.ECN, f.IPv6.HopLimit
	}
	if t.BTH.AckReq {
		p.Flags |= packet.AckReq
	}
	if f.Tagged {
		p.Flags |= packet.FlagsOfPCP(f.VLAN.PCP)
	}
	ext := t.BTH.Opcode.Ext()
	if ext&wire.ExtRETH != 0 {
		p.VA, p.RKey, p.DMALen = t.RETH.VA, t.RETH.RKey, t.RETH.DMALen
	}
	if ext&wire.ExtAtomicETH != 0 {
		p.VA, p.RKey = t.AtomicETH.VA, t.AtomicETH.RKey
	}
	if ext&wire.ExtAETH != 0 {
		p.AETH = uint32(t.AETH.Syndrome)<<24 | t.AETH.MSN
	}
	*s = readSide(t)
	return ext&inSide != 0 || len(s.Data) > 0, nil
}

// inSide are the headers that stand in a packet.Side.
const inSide = wire.ExtDETH | wire.ExtAtomicETH | wire.ExtAtomicAckETH | wire.ExtImmDt | wire.ExtIETH

func readSide(t *wire.Transport) (s packet.Side) {
	ext := t.BTH.Opcode.Ext()
	if ext&wire.ExtDETH != 0 {
		s.QKey, s.SrcQP = t.DETH.QKey, t.DETH.SrcQP
	}
	if ext&wire.ExtAtomicETH != 0 {
		s.Swap, s.Compare = t.AtomicETH.SwapAdd, t.AtomicETH.Compare
	}
	if ext&wire.ExtAtomicAckETH != 0 {
		s.Orig = t.AtomicAckETH.Original
	}
	if ext&wire.ExtImmDt != 0 {
		s.Imm = t.ImmDt.Data
	}
	if ext&wire.ExtIETH != 0 {
		s.Imm = t.IETH.RKey
	}
	if len(t.Payload) > 0 {
		s.Data = t.Payload
	}
	return s
}

// frameBytes counts as packet.Packet.Frame does: with FCS and Ethernet padding.
func frameBytes(f *wire.Frame) uint32 { return uint32(max(f.Len()+wire.FCSLen, wire.MinFrameLen)) }

// kind of a packet by its opcode.
func kind(op wire.Opcode) packet.Kind {
	switch op {
	case wire.RCReadRespFirst, wire.RCReadRespMiddle, wire.RCReadRespLast, wire.RCReadRespOnly:
		return packet.Response
	case wire.RCAcknowledge, wire.RCAtomicAck:
		return packet.Ack
	case wire.CNPOpcode, wire.IBCNPOpcode:
		return packet.CNP
	case wire.ProbeOpcode, wire.ProbeAnswerOpcode:
		return packet.Probe
	}
	return packet.Data
}

// Writer makes frames of packets. The zero Writer is ready.
type Writer struct {
	zeros []byte // payload of packets that carry none
}

// Fill sets in f all that p and s know; s may be nil if the opcode needs no
// side record. f keeps its addresses, IP version and identification, VLAN
// identifier, UDP source port and checksum, P_Key, SE, MigReq and FECN. Then
// f.Append writes the bytes with their ICRC. Without data the payload is zeros.
//
// Three things have no standard form and are not in the frame: the congestion
// flag on an ACK (ns-3), More on a READ request, and the ranges of a selective
// NAK, which becomes a plain NAK of the PSN that is missing first.
func (w *Writer) Fill(f *wire.Frame, p *packet.Packet, s *packet.Side) error {
	op := wire.Opcode(p.Opcode)
	if p.Kind.Link() || !op.Known() || kind(op) != p.Kind || op == wire.IBCNPOpcode {
		return fmt.Errorf("roce: a packet of kind %d with %v has no RoCEv2 frame", p.Kind, op)
	}
	f.Kind = wire.FrameRoCEv2
	f.IPv4.DSCP, f.IPv4.ECN, f.IPv4.TTL = p.DSCP&^packet.Stamped, p.ECN, p.TTL
	f.IPv6.DSCP, f.IPv6.ECN, f.IPv6.HopLimit = f.IPv4.DSCP, p.ECN, p.TTL
	f.VLAN.PCP = p.PCP()
	return w.transport(&f.Transport, p, s)
}

// FillInfiniBand is Fill for an InfiniBand packet: LRH, the transport headers with
// FECN and BECN, payload. f keeps LIDs, GRH and LRH.LNH, P_Key, SE and MigReq.
func (w *Writer) FillInfiniBand(f *wire.InfiniBandPacket, p *packet.Packet, s *packet.Side) error {
	op := wire.Opcode(p.Opcode)
	if p.Kind.Link() || !op.Known() || kind(op) != p.Kind || op == wire.CNPOpcode {
		return fmt.Errorf("roce: a packet of kind %d with %v has no InfiniBand packet", p.Kind, op)
	}
	f.LRH.VL, f.LRH.SL = p.Class, p.SL()
	f.GRH.HopLmt = p.TTL
	t := &f.Transport
	t.BTH.FECN = p.ECN == packet.CE
	if err := w.transport(t, p, s); err != nil {
		return err
	}
	t.BTH.BECN = p.Kind == packet.CNP || p.Kind == packet.Ack && p.Flags&packet.CNPFlag != 0
	return nil
}

// transport sets the transport headers and the payload.
func (w *Writer) transport(t *wire.Transport, p *packet.Packet, s *packet.Side) error {
	op := wire.Opcode(p.Opcode)
	if s == nil {
		s = &packet.Side{}
		if op.Ext()&inSide != 0 {
			return fmt.Errorf("roce: %v needs a side record", op)
		}
	}
	t.BTH.Opcode, t.BTH.DestQP, t.BTH.PSN = op, p.DestQP, p.PSN
	t.BTH.AckReq, t.BTH.BECN = p.Flags&packet.AckReq != 0, p.Kind == packet.CNP
	t.RETH = wire.RETH{VA: p.VA, RKey: p.RKey, DMALen: p.DMALen}
	t.AETH = wire.AETH{Syndrome: uint8(p.AETH >> 24), MSN: p.AETH & 0xffffff}
	t.AtomicETH = wire.AtomicETH{VA: p.VA, RKey: p.RKey, SwapAdd: s.Swap, Compare: s.Compare}
	t.AtomicAckETH = wire.AtomicAckETH{Original: s.Orig}
	t.DETH = wire.DETH{QKey: s.QKey, SrcQP: s.SrcQP}
	t.ImmDt, t.IETH = wire.ImmDt{Data: s.Imm}, wire.IETH{RKey: s.Imm}
	return w.payload(t, p, s)
}

func (w *Writer) payload(t *wire.Transport, p *packet.Packet, s *packet.Side) error {
	t.Payload = nil
	if !t.BTH.Opcode.HasPayload() || p.Payload == 0 {
		return nil // elsewhere Payload means something else
	}
	n := int(p.Payload)
	if s.Data != nil {
		if len(s.Data) != n {
			return fmt.Errorf("roce: %d bytes of data with a payload of %d", len(s.Data), n)
		}
		t.Payload = s.Data
		return nil
	}
	if len(w.zeros) < n {
		w.zeros = make([]byte, n)
	}
	t.Payload = w.zeros[:n:n]
	return nil
}

// Pause is the priority flow control frame that a packet of kind packet.Pause
// stands for.
func Pause(p *packet.Packet) wire.PFC {
	h := wire.PFC{Enable: uint8(p.Payload)}
	for i := range h.Time {
		if h.Enable>>i&1 != 0 && p.Payload>>(8+i)&1 != 0 {
			h.Time[i] = uint16(p.DMALen)
		}
	}
	return h
}

// ReadPause is the reverse of Pause. A packet has one pause time, so a frame
// with several that differ is an error.
func ReadPause(h wire.PFC) (packet.Packet, error) {
	p := packet.Packet{Kind: packet.Pause, Frame: wire.MinFrameLen, Payload: uint32(h.Enable)}
	for i, quanta := range h.Time {
		if h.Enable>>i&1 == 0 || quanta == 0 {
			continue
		}
		if p.DMALen != 0 && p.DMALen != uint32(quanta) {
			return p, fmt.Errorf("roce: pause times of %d and %d quanta in one frame, want one", p.DMALen, quanta)
		}
		p.Payload |= 1 << (8 + i)
		p.DMALen = uint32(quanta)
	}
	return p, nil
}
