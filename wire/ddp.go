package wire

import "encoding/binary"

// Lengths of DDP and RDMAP headers in bytes (RFC 5041, 5040).
const (
	DDPTaggedLen   = 14
	DDPUntaggedLen = 18
	ReadRequestLen = 28
	TerminateLen   = 4 // without what was terminated
)

// Operations of RDMAP (RFC 5040 4.3; from 8 on RFC 7306 4).
const (
	RDMAPWrite uint8 = iota
	RDMAPReadRequest
	RDMAPReadResponse
	RDMAPSend
	RDMAPSendInv
	RDMAPSendSE
	RDMAPSendSEInv
	RDMAPTerminate
	RDMAPImmediate
)

// Untagged queues (RFC 5040 4.1).
const (
	QNSend uint32 = iota
	QNReadRequest
	QNTerminate
)

const (
	ddpTagged  = 0x80
	ddpLast    = 0x40
	ddpVersion = 1
)

// DDP is the header of a DDP segment, with the control byte of RDMAP in it (RFC 5041 4, RFC 5040 4).
type DDP struct {
	Tagged, Last bool
	Opcode       uint8  // of RDMAP, 4 bits
	STag         uint32 // of the tagged buffer, or that which a SEND with invalidate names
	TO           uint64 // tagged offset
	// Untagged: queue, message of it from 1, offset within.
	QN, MSN, MO uint32
}

// ParseDDP reads a header and returns the bytes after it. Versions other than 1 are a ValueError. Reserved bits are
// ignored.
func ParseDDP(b []byte) (h DDP, rest []byte, err error) {
	if len(b) < DDPTaggedLen {
		return h, b, truncated("DDP", DDPTaggedLen, b)
	}
	h.Tagged, h.Last, h.Opcode = b[0]&ddpTagged != 0, b[0]&ddpLast != 0, b[1]&15
	if v := b[0] & 3; v != ddpVersion {
		return h, b, badValue("DDP", "version", int(v), "1")
	}
	if v := b[1] >> 6; v != ddpVersion {
		return h, b, badValue("RDMAP", "version", int(v), "1")
	}
	h.STag = binary.BigEndian.Uint32(b[2:])
	if h.Tagged {
		h.TO = binary.BigEndian.Uint64(b[6:])
		return h, b[DDPTaggedLen:], nil
	}
	if len(b) < DDPUntaggedLen {
		return h, b, truncated("DDP", DDPUntaggedLen, b)
	}
	h.QN, h.MSN, h.MO = binary.BigEndian.Uint32(b[6:]), binary.BigEndian.Uint32(b[10:]), binary.BigEndian.Uint32(b[14:])
	return h, b[DDPUntaggedLen:], nil
}

// Append writes the header behind b.
func (h DDP) Append(b []byte) []byte {
	b = append(b, bit(h.Tagged, ddpTagged)|bit(h.Last, ddpLast)|ddpVersion, ddpVersion<<6|h.Opcode&15)
	b = binary.BigEndian.AppendUint32(b, h.STag)
	if h.Tagged {
		return binary.BigEndian.AppendUint64(b, h.TO)
	}
	b = binary.BigEndian.AppendUint32(b, h.QN)
	b = binary.BigEndian.AppendUint32(b, h.MSN)
	return binary.BigEndian.AppendUint32(b, h.MO)
}

// Len is the length in bytes.
func (h DDP) Len() int {
	if h.Tagged {
		return DDPTaggedLen
	}
	return DDPUntaggedLen
}

// ReadRequest is what the untagged message of an RDMA READ says (RFC 5040 4.4).
type ReadRequest struct {
	SinkSTag   uint32
	SinkTO     uint64
	Size       uint32
	SourceSTag uint32
	SourceTO   uint64
}

// ParseReadRequest reads a request and returns the bytes after it.
func ParseReadRequest(b []byte) (h ReadRequest, rest []byte, err error) {
	if len(b) < ReadRequestLen {
		return h, b, truncated("RDMA READ request", ReadRequestLen, b)
	}
	h.SinkSTag, h.SinkTO = binary.BigEndian.Uint32(b), binary.BigEndian.Uint64(b[4:])
	h.Size = binary.BigEndian.Uint32(b[12:])
	h.SourceSTag, h.SourceTO = binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint64(b[20:])
	return h, b[ReadRequestLen:], nil
}

// Append writes the request behind b.
func (h ReadRequest) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, h.SinkSTag)
	b = binary.BigEndian.AppendUint64(b, h.SinkTO)
	b = binary.BigEndian.AppendUint32(b, h.Size)
	b = binary.BigEndian.AppendUint32(b, h.SourceSTag)
	return binary.BigEndian.AppendUint64(b, h.SourceTO)
}

// Len is ReadRequestLen.
func (h ReadRequest) Len() int { return ReadRequestLen }

// TermCode is why a stream is terminated: layer, type and code of RFC 5040 4.8 as one number, 0xLTCC.
type TermCode uint16

// Reasons for a Terminate message (RFC 5040 4.8, RFC 5041 7.1, RFC 5044 8).
const (
	TermStream       TermCode = 0x0207 // RDMAP: catastrophic error, localised to the stream
	TermReadSTag     TermCode = 0x0100 // RDMAP, remote protection: invalid STag
	TermReadBounds   TermCode = 0x0101
	TermReadRights   TermCode = 0x0102
	TermInvalidate   TermCode = 0x0109 // RDMAP: the STag cannot be invalidated
	TermRDMAPVersion TermCode = 0x0205
	TermOpcode       TermCode = 0x0206
	TermSTag         TermCode = 0x1100 // DDP, tagged buffer: invalid STag
	TermBounds       TermCode = 0x1101
	TermDDPVersion   TermCode = 0x1104
	TermQN           TermCode = 0x1201 // DDP, untagged buffer: invalid queue
	TermNoBuffer     TermCode = 0x1202
	TermMSN          TermCode = 0x1203
	TermMO           TermCode = 0x1204
	TermTooLong      TermCode = 0x1205
	TermCRC          TermCode = 0x2002 // MPA: the CRC does not fit
	TermMarker       TermCode = 0x2003 // MPA: marker and length do not agree
)

// String is the reason in a few words.
func (c TermCode) String() string {
	for _, r := range termNames {
		if r.code == c {
			return r.name
		}
	}
	return "an unknown reason"
}

var termNames = [...]struct {
	code TermCode
	name string
}{
	{TermStream, "catastrophic error of the stream"}, {TermReadSTag, "invalid STag of a READ"},
	{TermReadBounds, "READ beyond the bounds"}, {TermReadRights, "READ without the right"},
	{TermInvalidate, "STag that cannot be invalidated"}, {TermRDMAPVersion, "RDMAP version"},
	{TermOpcode, "unexpected RDMAP operation"},
	{TermSTag, "invalid STag"}, {TermBounds, "beyond the bounds"}, {TermDDPVersion, "DDP version"},
	{TermQN, "invalid queue number"}, {TermNoBuffer, "no receive work request"}, {TermMSN, "MSN out of range"},
	{TermMO, "message offset out of order"}, {TermTooLong, "message longer than its buffer"},
	{TermCRC, "MPA CRC error"}, {TermMarker, "MPA marker and length disagree"},
}

// Terminate is the message that ends a stream (RFC 5040 4.8).
type Terminate struct {
	Code TermCode
	// HasSegment: Length of the DDP segment that is to blame, and its header, follow. HasRequest: the READ request
	// that is does too.
	HasSegment, HasRequest bool
	Length                 uint16
	Segment                DDP
	Request                ReadRequest
}

// Bits of a Terminate message.
const (
	termLength  = 0x80
	termSegment = 0x40
	termRequest = 0x20
)

// ParseTerminate reads the payload of a Terminate message.
func ParseTerminate(b []byte) (t Terminate, err error) {
	if len(b) < TerminateLen {
		return t, truncated("Terminate", TerminateLen, b)
	}
	t.Code = TermCode(binary.BigEndian.Uint16(b))
	flags := b[2]
	b = b[TerminateLen:]
	if flags&termLength != 0 {
		if len(b) < 2 {
			return t, truncated("Terminate", 2, b)
		}
		t.Length, b = binary.BigEndian.Uint16(b), b[2:]
	}
	if t.HasSegment = flags&termSegment != 0; t.HasSegment {
		if t.Segment, b, err = ParseDDP(b); err != nil {
			return t, err
		}
	}
	if t.HasRequest = flags&termRequest != 0; t.HasRequest {
		t.Request, _, err = ParseReadRequest(b)
	}
	return t, err
}

// Append writes the message's payload behind b.
func (t *Terminate) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(t.Code))
	b = append(b, bit(t.HasSegment, termLength|termSegment)|bit(t.HasRequest, termRequest), 0)
	if t.HasSegment {
		b = t.Segment.Append(binary.BigEndian.AppendUint16(b, t.Length))
	}
	if t.HasRequest {
		b = t.Request.Append(b)
	}
	return b
}

// Len is the length of the message's payload in bytes.
func (t *Terminate) Len() int {
	n := TerminateLen
	if t.HasSegment {
		n += 2 + t.Segment.Len()
	}
	if t.HasRequest {
		n += ReadRequestLen
	}
	return n
}
