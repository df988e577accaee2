package wire

import "encoding/binary"

// AETHLen is the length of an ACK extended transport header in bytes.
const AETHLen = 4

// AETH is the ACK extended transport header (IBTA 9.3), on acknowledgements
// and on the first, last or only packet of an RDMA READ response.
type AETH struct {
	Syndrome uint8
	MSN      uint32 // message sequence number, 24 bits
}

// Syndromes of an AETH (IBTA 9.7.5.2.1, models.md 4.3).
const (
	SyndromeACK     uint8 = 0x00 // positive; credit count in the low five bits
	SyndromeNoLimit uint8 = 0x1f // positive, credits not used
	SyndromeRNR     uint8 = 0x20 // receiver not ready; timer code in the low five bits

	SyndromePSNSequence       uint8 = 0x60 // NAK: PSN sequence error
	SyndromeInvalidRequest    uint8 = 0x61 // NAK: invalid request
	SyndromeRemoteAccess      uint8 = 0x62 // NAK: remote access error
	SyndromeRemoteOperational uint8 = 0x63 // NAK: remote operational error
	SyndromeInvalidRD         uint8 = 0x64 // NAK: invalid RD request
)

// The kind of acknowledgement stands above five bits of value; bit 7 is
// reserved.
const (
	syndromeKind  = 0xe0
	syndromeValue = 0x1f
	syndromeNAK   = 0x60
)

// ParseAETH reads a header and returns the bytes after it.
func ParseAETH(b []byte) (h AETH, rest []byte, err error) {
	if len(b) < AETHLen {
		return h, b, truncated("AETH", AETHLen, b)
	}
	word := binary.BigEndian.Uint32(b)
	h.Syndrome, h.MSN = uint8(word>>24), word&0xffffff
	return h, b[AETHLen:], nil
}

// Append writes the header behind b; MSN is cut to 24 bits.
func (h AETH) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(h.Syndrome)<<24|h.MSN&0xffffff)
}

// Len is AETHLen.
func (h AETH) Len() int { return AETHLen }

// IsACK reports a positive acknowledgement.
func (h AETH) IsACK() bool { return h.Syndrome&syndromeKind == SyndromeACK }

// IsRNR reports a receiver-not-ready NAK.
func (h AETH) IsRNR() bool { return h.Syndrome&syndromeKind == SyndromeRNR }

// IsNAK reports a NAK other than receiver not ready.
func (h AETH) IsNAK() bool { return h.Syndrome&syndromeKind == syndromeNAK }

// Value is the low five bits of the syndrome: credit count code of an ACK,
// timer code of an RNR NAK, error code of a NAK.
func (h AETH) Value() uint8 { return h.Syndrome & syndromeValue }
