package wire

import "encoding/binary"

// Management datagrams of the connection manager (IBTA 13.4.2, 12.6), which go to queue pair 1.
const (
	MADLen     = 256 // of every one, in bytes
	madHeader  = 24
	classCM    = 0x07
	cmREQBytes = 36 // of a REQ up to the queue pair number
	cmREPBytes = 16 // likewise of a REP
)

// GSIQP is the queue pair that management datagrams go to, but for those of the subnet manager.
const GSIQP = 1

// CMKind is what a message of the connection manager is: its attribute identifier (IBTA 12.6).
type CMKind uint16

// Messages that set up a connection and end it.
const (
	CMREQ  CMKind = 0x10 // asks for a connection
	CMREJ  CMKind = 0x12
	CMREP  CMKind = 0x13 // grants it
	CMRTU  CMKind = 0x14 // ready to use
	CMDREQ CMKind = 0x15 // asks to end it
	CMDREP CMKind = 0x16
)

// CM is a message of the connection manager, as far as it tells who is connected with whom.
type CM struct {
	Kind          CMKind
	Local, Remote uint32 // communication identifiers of sender and receiver; Remote 0: none in a REQ
	QPN           uint32 // of REQ and REP: the sender's queue pair, 24 bits; of a DREQ the receiver's
	// AckTimeout is of a REQ that is there as a whole: the code of the timer, 5 bits; 4.096 us * 2^code. 0: not known.
	AckTimeout uint8
}

// ParseCM reads what follows the DETH of a datagram to queue pair 1; ok: it is a message of the
// connection manager, and enough of it is there.
func ParseCM(b []byte) (m CM, ok bool) {
	if len(b) < madHeader+8 || b[0] != 1 || b[1] != classCM {
		return m, false
	}
	m.Kind = CMKind(binary.BigEndian.Uint16(b[16:18]))
	b = b[madHeader:]
	m.Local = binary.BigEndian.Uint32(b)
	if m.Kind != CMREQ {
		m.Remote = binary.BigEndian.Uint32(b[4:])
	}
	const ackTimeout = 95 // byte of a REQ
	switch m.Kind {
	case CMREQ:
		if len(b) < cmREQBytes {
			return m, false
		}
		m.QPN = binary.BigEndian.Uint32(b[32:]) >> 8
		if len(b) > ackTimeout {
			m.AckTimeout = b[ackTimeout] >> 3
		}
	case CMREP:
		if len(b) < cmREPBytes {
			return m, false
		}
		m.QPN = binary.BigEndian.Uint32(b[12:]) >> 8
	case CMDREQ:
		if len(b) >= 12 {
			m.QPN = binary.BigEndian.Uint32(b[8:]) >> 8
		}
	}
	return m, true
}
