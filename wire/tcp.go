package wire

import "encoding/binary"

// TCPLen is the length of a TCP header without options in bytes, and TCPMaxLen
// with the most options that its data offset can express.
const (
	TCPLen    = 20
	TCPMaxLen = 60
)

// ProtocolTCP is the IP protocol number of TCP.
const ProtocolTCP = 6

// Control bits of a TCP header (RFC 9293 3.1; ECE and CWR: RFC 3168).
const (
	TCPFin uint8 = 1 << iota
	TCPSyn
	TCPRst
	TCPPsh
	TCPAck
	TCPUrg
	TCPEce
	TCPCwr
)

// Kinds of TCP option (IANA; RFC 9293, 2018, 7323).
const (
	tcpOptEnd           = 0
	tcpOptNop           = 1
	tcpOptMSS           = 2
	tcpOptWindowScale   = 3
	tcpOptSACKPermitted = 4
	tcpOptSACK          = 5
	tcpOptTimestamps    = 8
)

// TCP is a TCP header (RFC 9293). The four reserved bits are ignored when read
// and 0 when written.
type TCP struct {
	SrcPort, DstPort uint16
	Seq, Ack         uint32
	Flags            uint8 // control bits, TCPFin to TCPCwr
	Window           uint16
	Checksum         uint16
	Urgent           uint16
	Options          TCPOptions
}

// TCPOptions are the options that are understood; others are skipped.
type TCPOptions struct {
	MSS            uint16 // maximum segment size in bytes; 0: no option
	HasWindowScale bool
	WindowScale    uint8 // shift count; RFC 7323 allows 0 to 14
	SACKPermitted  bool
	HasTimestamps  bool
	TSVal, TSEcr   uint32 // RFC 7323
	SACKBlocks     uint8  // how many of SACK are there, 0 to 4
	SACK           [4]SACKBlock
}

// SACKBlock is a range of sequence numbers that arrived (RFC 2018): Left is the
// first, Right the one behind the last.
type SACKBlock struct{ Left, Right uint32 }

// ParseTCP reads a header with its options and returns the bytes after it. The
// checksum is not verified.
func ParseTCP(b []byte) (h TCP, rest []byte, err error) {
	if len(b) < TCPLen {
		return h, b, truncated("TCP", TCPLen, b)
	}
	h.SrcPort = binary.BigEndian.Uint16(b[0:2])
	h.DstPort = binary.BigEndian.Uint16(b[2:4])
	h.Seq = binary.BigEndian.Uint32(b[4:8])
	h.Ack = binary.BigEndian.Uint32(b[8:12])
	h.Flags = b[13]
	h.Window = binary.BigEndian.Uint16(b[14:16])
	h.Checksum = binary.BigEndian.Uint16(b[16:18])
	h.Urgent = binary.BigEndian.Uint16(b[18:20])
	n := int(b[12]>>4) * 4
	if n < TCPLen {
		return h, b, badValue("TCP", "data offset", n, "20 to 60")
	}
	if len(b) < n {
		return h, b, truncated("TCP", n, b)
	}
	if err := h.Options.parse(b[TCPLen:n]); err != nil {
		return h, b, err
	}
	return h, b[n:], nil
}

// parse reads options up to the end of b or of the option list.
func (o *TCPOptions) parse(b []byte) error {
	for len(b) > 0 {
		switch b[0] {
		case tcpOptEnd:
			return nil
		case tcpOptNop:
			b = b[1:]
			continue
		}
		if len(b) < 2 {
			return truncated("TCP option", 2, b)
		}
		n := int(b[1])
		if n < 2 {
			return badValue("TCP option", "length", n, "2 or more")
		}
		if len(b) < n {
			return truncated("TCP option", n, b)
		}
		if err := o.option(b[0], b[2:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// option takes one option; v is what follows its length.
func (o *TCPOptions) option(kind uint8, v []byte) error {
	switch kind {
	case tcpOptMSS:
		if len(v) != 2 {
			return badValue("TCP option MSS", "length", len(v)+2, "4")
		}
		o.MSS = binary.BigEndian.Uint16(v)
	case tcpOptWindowScale:
		if len(v) != 1 {
			return badValue("TCP option window scale", "length", len(v)+2, "3")
		}
		o.HasWindowScale, o.WindowScale = true, v[0]
	case tcpOptSACKPermitted:
		if len(v) != 0 {
			return badValue("TCP option SACK permitted", "length", len(v)+2, "2")
		}
		o.SACKPermitted = true
	case tcpOptTimestamps:
		if len(v) != 8 {
			return badValue("TCP option timestamps", "length", len(v)+2, "10")
		}
		o.HasTimestamps = true
		o.TSVal, o.TSEcr = binary.BigEndian.Uint32(v), binary.BigEndian.Uint32(v[4:])
	case tcpOptSACK:
		if len(v) == 0 || len(v)%8 != 0 || len(v) > 8*len(o.SACK) {
			return badValue("TCP option SACK", "length", len(v)+2, "10, 18, 26 or 34")
		}
		o.SACKBlocks = uint8(len(v) / 8)
		o.SACK = [4]SACKBlock{}
		for i := range o.SACKBlocks {
			o.SACK[i] = SACKBlock{binary.BigEndian.Uint32(v[8*i:]), binary.BigEndian.Uint32(v[8*i+4:])}
		}
	}
	return nil
}

// Append writes the header with its options behind b; Checksum as it is. Options
// stand as Linux has them, padded with no-operations so that their values lie on
// 32-bit words. SACK blocks that no longer fit are left out, the last first.
func (h TCP) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, h.SrcPort)
	b = binary.BigEndian.AppendUint16(b, h.DstPort)
	b = binary.BigEndian.AppendUint32(b, h.Seq)
	b = binary.BigEndian.AppendUint32(b, h.Ack)
	b = append(b, uint8(h.Len()/4)<<4, h.Flags)
	b = binary.BigEndian.AppendUint16(b, h.Window)
	b = binary.BigEndian.AppendUint16(b, h.Checksum)
	b = binary.BigEndian.AppendUint16(b, h.Urgent)
	return h.Options.append(b)
}

func (o *TCPOptions) append(b []byte) []byte {
	if o.MSS != 0 {
		b = append(b, tcpOptMSS, 4)
		b = binary.BigEndian.AppendUint16(b, o.MSS)
	}
	if o.SACKPermitted || o.HasTimestamps {
		if o.SACKPermitted && o.HasTimestamps {
			b = append(b, tcpOptSACKPermitted, 2)
		} else {
			b = append(b, tcpOptNop, tcpOptNop)
		}
		if o.HasTimestamps {
			b = append(b, tcpOptTimestamps, 10)
			b = binary.BigEndian.AppendUint32(b, o.TSVal)
			b = binary.BigEndian.AppendUint32(b, o.TSEcr)
		} else {
			b = append(b, tcpOptSACKPermitted, 2)
		}
	}
	if o.HasWindowScale {
		b = append(b, tcpOptNop, tcpOptWindowScale, 3, o.WindowScale)
	}
	if n := o.fitting(); n > 0 {
		b = append(b, tcpOptNop, tcpOptNop, tcpOptSACK, uint8(2+8*n))
		for _, s := range o.SACK[:n] {
			b = binary.BigEndian.AppendUint32(b, s.Left)
			b = binary.BigEndian.AppendUint32(b, s.Right)
		}
	}
	return b
}

// Len is the length in bytes with options, 20 to 60.
func (h TCP) Len() int { return TCPLen + h.Options.Len() }

// Len is the length of the options in bytes as Append writes them, 0 to 40.
func (o *TCPOptions) Len() int {
	n := o.fixed()
	if k := o.fitting(); k > 0 {
		n += 4 + 8*k
	}
	return n
}

// fixed is the length of the options other than SACK.
func (o *TCPOptions) fixed() (n int) {
	if o.MSS != 0 {
		n += 4
	}
	if o.HasTimestamps {
		n += 12
	} else if o.SACKPermitted {
		n += 4
	}
	if o.HasWindowScale {
		n += 4
	}
	return n
}

// fitting is the number of SACK blocks for which there is room.
func (o *TCPOptions) fitting() int {
	return min(int(o.SACKBlocks), len(o.SACK), (TCPMaxLen-TCPLen-4-o.fixed())/8)
}

// TCPChecksumIPv4 is the checksum of a TCP segment (header and data) between two
// IPv4 addresses, over the pseudo-header of RFC 9293 3.1. The checksum field of
// the segment is not looked at.
func TCPChecksumIPv4(src, dst [4]byte, segment []byte) uint16 {
	return tcpChecksum(src[:], dst[:], segment)
}

// TCPChecksumIPv6 is the same between two IPv6 addresses (RFC 8200 8.1).
func TCPChecksumIPv6(src, dst [16]byte, segment []byte) uint16 {
	return tcpChecksum(src[:], dst[:], segment)
}

func tcpChecksum(src, dst, segment []byte) uint16 {
	const field = 16 // where the checksum stands
	sum := onesSum(0, src)
	sum = onesSum(sum, dst)
	sum += ProtocolTCP + uint64(len(segment))
	if len(segment) < field+2 {
		return fold(onesSum(sum, segment))
	}
	return fold(onesSum(onesSum(sum, segment[:field]), segment[field+2:]))
}
