package wire

import (
	"encoding/binary"
	"fmt"
)

// InfiniBandPacket is an InfiniBand packet with IBA transport, decoded. Slices
// are parts of the decoded bytes.
type InfiniBandPacket struct {
	LRH LRH
	GRH GRH // counts if LRH.LNH is LNHGlobal
	Transport
	VCRC uint16 // as received

	packet []byte // from LRH to ICRC
}

// DecodeInfiniBand reads a packet from the first byte of its LRH to the last of
// its VCRC: exactly b. CRCs are not verified: see CheckCRCs. After an error the
// packet holds what was read until then.
func DecodeInfiniBand(b []byte) (p InfiniBandPacket, err error) {
	err = p.decode(b)
	return p, err
}

func (p *InfiniBandPacket) decode(b []byte) error {
	h, rest, err := ParseLRH(b)
	if err != nil {
		return err
	}
	p.LRH = h
	n := int(h.PktLen)*4 + VCRCLen
	switch {
	case h.LVer != 0:
		return badValue("LRH", "LVer", int(h.LVer), "0")
	case h.LNH != LNHLocal && h.LNH != LNHGlobal:
		return badValue("LRH", "LNH", int(h.LNH), "2 (local) or 3 (global)")
	case len(b) < n:
		return truncated("InfiniBand packet", n, b)
	case len(b) > n || n < LRHLen+VCRCLen:
		return badValue("LRH", "PktLen", int(h.PktLen), fmt.Sprintf("%d for a packet of %d bytes", (len(b)-VCRCLen)/4, len(b)))
	}
	rest = rest[:len(rest)-VCRCLen]
	if h.LNH == LNHGlobal {
		if rest, err = p.decodeGRH(rest); err != nil {
			return err
		}
	}
	if err := p.Transport.decode(rest); err != nil {
		return err
	}
	end := len(b) - VCRCLen
	p.packet, p.VCRC = b[:end:end], binary.LittleEndian.Uint16(b[end:])
	return nil
}

func (p *InfiniBandPacket) decodeGRH(b []byte) (rest []byte, err error) {
	if p.GRH, rest, err = ParseGRH(b); err != nil {
		return rest, err
	}
	if p.GRH.NxtHdr != NextHeaderBTH {
		return rest, badValue("GRH", "NxtHdr", int(p.GRH.NxtHdr), "27")
	}
	if int(p.GRH.PayLen) != len(rest) {
		return rest, badValue("GRH", "PayLen", int(p.GRH.PayLen), fmt.Sprintf("%d, as the LRH says", len(rest)))
	}
	return rest, nil
}

// CheckCRCs says whether ICRC and VCRC of a decoded packet are right. The bytes
// that were decoded must still be there.
func (p *InfiniBandPacket) CheckCRCs() error {
	if len(p.packet) < ICRCLen {
		return fmt.Errorf("ICRC: not a decoded InfiniBand packet")
	}
	want, err := ICRCInfiniBand(p.packet[:len(p.packet)-ICRCLen])
	if err != nil {
		return err
	}
	if err := compareICRC(p.Transport.ICRC, want); err != nil {
		return err
	}
	if want := VCRC(p.packet); p.VCRC != want {
		return fmt.Errorf("VCRC is 0x%04x, want 0x%04x", p.VCRC, want)
	}
	return nil
}

// Len is the length in bytes of the packet that Append writes.
func (p *InfiniBandPacket) Len() int {
	n := LRHLen + p.Transport.Len() + VCRCLen
	if p.LRH.LNH == LNHGlobal {
		n += GRHLen
	}
	return n
}

// maxPktLen is the largest LRH packet length: 11 bits of 4-byte words.
const maxPktLen = 0x7ff * 4

// Append writes the packet that p describes behind b, from LRH to VCRC.
// LRH.LNH (LNHLocal or LNHGlobal) chooses the headers. Versions, lengths, next
// header, pad count and both CRCs are computed. On error b comes back as it
// was.
func (p *InfiniBandPacket) Append(b []byte) ([]byte, error) { return p.AppendHead(b, p.Len()) }

// AppendHead is Append for the first most bytes of the packet alone: what lies behind
// them is neither copied nor checked.
func (p *InfiniBandPacket) AppendHead(b []byte, most int) ([]byte, error) {
	if err := p.Transport.check(); err != nil {
		return b, err
	}
	l, size := p.LRH, p.Len()-VCRCLen
	if l.LNH != LNHLocal && l.LNH != LNHGlobal {
		return b, badValue("LRH", "LNH", int(l.LNH), "2 (local) or 3 (global)")
	}
	if size > maxPktLen {
		return b, badValue("InfiniBand packet", "length", size, fmt.Sprintf("%d or less before the VCRC", maxPktLen))
	}
	whole, start := b, len(b)
	l.LVer, l.PktLen = 0, uint16(size/4)
	b = l.Append(b)
	if l.LNH == LNHGlobal {
		g := p.GRH
		g.PayLen, g.NxtHdr = uint16(p.Transport.Len()), NextHeaderBTH
		b = g.Append(b)
	}
	end := start + min(most, p.Len())
	b = p.Transport.append(b, end-len(b))
	if most > p.Len()-VCRCLen-ICRCLen {
		crc, err := ICRCInfiniBand(b[start:])
		if err != nil {
			return whole, err
		}
		b = binary.LittleEndian.AppendUint32(b, crc)
		b = binary.LittleEndian.AppendUint16(b, VCRC(b[start:]))
	}
	return b[:end], nil
}
