package wire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// Lengths of MPA in bytes (RFC 5044), and the distance from marker to marker in the stream of TCP.
const (
	MPAFrameLen   = 20 // a request or reply without private data
	MPAPrivateMax = 512
	MPALengthLen  = 2
	MPACRCLen     = 4
	MPAMarkerLen  = 4
	MPAMarkerGap  = 512
	// FPDUMin is the shortest FPDU: a length of 0, two bytes of padding and the CRC.
	FPDUMin = 8
	// MPAEnhancedLen is what RFC 6581 puts before the private data of an enhanced frame.
	MPAEnhancedLen = 4
)

const (
	mpaRequest = "MPA ID Req Frame"
	mpaReply   = "MPA ID Rep Frame"
)

// Bits of an MPA frame (RFC 5044 7.1; S: RFC 6581 9).
const (
	mpaMarkers  = 0x80
	mpaCRC      = 0x40
	mpaReject   = 0x20
	mpaEnhanced = 0x10
)

// MPAFrame is the request or the reply with which MPA starts (RFC 5044 7.1).
type MPAFrame struct {
	Reply bool
	// Markers: the sender wants the peer's FPDUs to have them. CRC: both sides are to use it, if either says so.
	Markers, CRC bool
	Reject       bool // a reply: there will be no connection
	Enhanced     bool // IRD and ORD stand before the private data (RFC 6581)
	Revision     uint8
	IRD, ORD     uint16 // 14 bits each; only with Enhanced
	// PeerToPeer and the other three are the control bits A to D of RFC 6581 9.1.
	PeerToPeer, RTRSend, RTRWrite, RTRRead bool
	Private                                []byte
}

// ParseMPA reads a request or reply and returns the bytes after it. Private lies in b.
func ParseMPA(b []byte) (f MPAFrame, rest []byte, err error) {
	if len(b) < MPAFrameLen {
		return f, b, truncated("MPA frame", MPAFrameLen, b)
	}
	switch {
	case bytes.Equal(b[:16], []byte(mpaRequest)):
	case bytes.Equal(b[:16], []byte(mpaReply)):
		f.Reply = true
	default:
		return f, b, badValue("MPA frame", "key", int(b[0]), `"`+mpaRequest+`" or "`+mpaReply+`"`)
	}
	flags := b[16]
	f.Markers, f.CRC = flags&mpaMarkers != 0, flags&mpaCRC != 0
	f.Reject, f.Enhanced = flags&mpaReject != 0, flags&mpaEnhanced != 0
	f.Revision = b[17]
	n := int(binary.BigEndian.Uint16(b[18:]))
	if n > MPAPrivateMax {
		return f, b, badValue("MPA frame", "private data length", n, "0 to 512")
	}
	if len(b) < MPAFrameLen+n {
		return f, b, truncated("MPA frame", MPAFrameLen+n, b)
	}
	f.Private, rest = b[MPAFrameLen:MPAFrameLen+n], b[MPAFrameLen+n:]
	if f.Enhanced {
		if n < MPAEnhancedLen {
			return f, b, badValue("MPA frame", "private data length", n, "4 at least, for IRD and ORD")
		}
		ird, ord := binary.BigEndian.Uint16(f.Private), binary.BigEndian.Uint16(f.Private[2:])
		f.PeerToPeer, f.RTRSend = ird&0x8000 != 0, ird&0x4000 != 0
		f.RTRWrite, f.RTRRead = ord&0x8000 != 0, ord&0x4000 != 0
		f.IRD, f.ORD, f.Private = ird&0x3fff, ord&0x3fff, f.Private[MPAEnhancedLen:]
	}
	return f, rest, nil
}

// Append writes the frame behind b.
func (f *MPAFrame) Append(b []byte) []byte {
	if f.Reply {
		b = append(b, mpaReply...)
	} else {
		b = append(b, mpaRequest...)
	}
	flags := bit(f.Markers, mpaMarkers) | bit(f.CRC, mpaCRC) | bit(f.Reject, mpaReject) | bit(f.Enhanced, mpaEnhanced)
	b = append(b, flags, f.Revision)
	b = binary.BigEndian.AppendUint16(b, uint16(f.Len()-MPAFrameLen))
	if f.Enhanced {
		b = binary.BigEndian.AppendUint16(b, f.IRD&0x3fff|uint16(bit(f.PeerToPeer, 0x80)|bit(f.RTRSend, 0x40))<<8)
		b = binary.BigEndian.AppendUint16(b, f.ORD&0x3fff|uint16(bit(f.RTRWrite, 0x80)|bit(f.RTRRead, 0x40))<<8)
	}
	return append(b, f.Private...)
}

// Len is the length in bytes with private data, 20 to 532.
func (f *MPAFrame) Len() int {
	n := MPAFrameLen + len(f.Private)
	if f.Enhanced {
		n += MPAEnhancedLen
	}
	return n
}

// Framing is how MPA frames FPDUs on one direction of a connection.
type Framing struct {
	Markers bool
	CRC     bool // checked; the field is there in any case, and 0 without it
}

// MULPDU is the largest ULPDU of which an FPDU fits into a segment with emss bytes of payload (RFC 5044 4.5).
func (f Framing) MULPDU(emss int) int {
	n := emss - (MPALengthLen + MPACRCLen + emss%4)
	if f.Markers {
		n -= MPAMarkerLen * ((emss + MPAMarkerGap - 1) / MPAMarkerGap)
	}
	return max(n, 0)
}

// pad is the padding behind a ULPDU of n bytes.
func pad(n int) int { return -(MPALengthLen + n) & 3 }

// Len is the length of an FPDU that holds a ULPDU of n bytes and whose first byte, which may be a marker's, is byte
// at of the stream since the first FPDU.
func (f Framing) Len(n int, at int64) int {
	n += MPALengthLen + pad(n) + MPACRCLen
	if f.Markers {
		return n + MPAMarkerLen*markers(n, at)
	}
	return n
}

// markers is how many stand among n other bytes from byte at of the stream on. One behind the last byte belongs to
// what follows.
func markers(n int, at int64) int {
	first := int(-at & (MPAMarkerGap - 1)) // other bytes before the first
	if n <= first {
		return 0
	}
	return 1 + (n-first-1)/(MPAMarkerGap-MPAMarkerLen)
}

// crc32c is the CRC of RFC 3720 B.4.
func crc32c(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Append writes the FPDU of a ULPDU, whose parts follow each other, at byte at of the stream. The CRC is that of RFC
// 5044 4.4, over markers too, as iSCSI has it (RFC 3720 B.4): the low byte first.
func (f Framing) Append(b []byte, at int64, ulpdu ...[]byte) []byte {
	n := 0
	for _, p := range ulpdu {
		n += len(p)
	}
	w := markerWriter{b: b, at: at, markers: f.Markers, start: -1}
	length := [MPALengthLen]byte{uint8(n >> 8), uint8(n)}
	w.write(length[:])
	for _, p := range ulpdu {
		w.write(p)
	}
	var zero [3]byte
	w.write(zero[:pad(n)])
	w.marker()
	var crc [MPACRCLen]byte
	if f.CRC {
		binary.LittleEndian.PutUint32(crc[:], crc32c(w.b[len(b):]))
	}
	return append(w.b, crc[:]...)
}

// markerWriter writes bytes of a stream, with markers between them.
type markerWriter struct {
	b       []byte
	at      int64 // in the stream
	markers bool
	start   int64 // of the FPDU's length in the stream; negative: not written yet
}

// marker writes the marker whose turn it is, if it is.
func (w *markerWriter) marker() {
	if !w.markers || w.at&(MPAMarkerGap-1) != 0 {
		return
	}
	back := int64(0)
	if w.start >= 0 {
		back = w.at - w.start
	}
	w.b = binary.BigEndian.AppendUint16(append(w.b, 0, 0), uint16(back))
	w.at += MPAMarkerLen
}

func (w *markerWriter) write(p []byte) {
	for len(p) > 0 {
		w.marker()
		if w.start < 0 {
			w.start = w.at
		}
		n := len(p)
		if w.markers {
			n = min(n, MPAMarkerGap-int(w.at&(MPAMarkerGap-1)))
		}
		w.b, w.at, p = append(w.b, p[:n]...), w.at+int64(n), p[n:]
	}
}

// CRCError says that an FPDU was damaged, MarkerError that a marker points elsewhere than to the FPDU's start.
type (
	CRCError    struct{ Have, Want uint32 }
	MarkerError struct{ Have, Want int }
)

func (e *CRCError) Error() string    { return "FPDU: the CRC does not fit" }
func (e *MarkerError) Error() string { return "FPDU: a marker does not point to its start" }

// Parse reads the FPDU at the start of b, which is byte at of the stream, and returns its ULPDU behind room, and the
// bytes after it. Without markers the ULPDU lies in b. Errors are a TruncatedError, while more bytes are to come, a
// CRCError or a MarkerError.
func (f Framing) Parse(b, room []byte, at int64) (ulpdu, rest []byte, err error) {
	head := 0
	if f.Markers && at&(MPAMarkerGap-1) == 0 {
		head = MPAMarkerLen
	}
	if len(b) < head+MPALengthLen {
		return nil, b, truncated("FPDU", head+MPALengthLen, b)
	}
	n := int(binary.BigEndian.Uint16(b[head:]))
	whole := f.Len(n, at)
	if len(b) < whole {
		return nil, b, truncated("FPDU", whole, b)
	}
	if f.CRC {
		have := binary.LittleEndian.Uint32(b[whole-MPACRCLen:])
		if want := crc32c(b[:whole-MPACRCLen]); have != want {
			return nil, b, &CRCError{have, want}
		}
	}
	if !f.Markers {
		return b[MPALengthLen : MPALengthLen+n : MPALengthLen+n], b[whole:], nil
	}
	out, start := room, at+int64(head)
	for i := 0; i < whole-MPACRCLen; {
		k := min(MPAMarkerGap-int((at+int64(i))&(MPAMarkerGap-1)), whole-MPACRCLen-i)
		if (at+int64(i))&(MPAMarkerGap-1) == 0 {
			want := max(0, int(at+int64(i)-start))
			if back := int(binary.BigEndian.Uint16(b[i+2:])); back != want {
				return nil, b, &MarkerError{back, want}
			}
			i, k = i+MPAMarkerLen, k-MPAMarkerLen
			k = min(k, whole-MPACRCLen-i)
		}
		out = append(out, b[i:i+k]...)
		i += k
	}
	from := len(room) + MPALengthLen
	return out[from : from+n], b[whole:], nil
}
