package wire

// CNPLen is the length in bytes of a congestion notification packet from BTH
// to the bytes before the ICRC: a BTH and 16 reserved bytes (IBTA annex A17).
const CNPLen = BTHLen + cnpReserved

const cnpReserved = 16

// CNP is a RoCEv2 congestion notification packet without ICRC.
type CNP struct {
	BTH BTH // Opcode CNPOpcode
}

// NewCNP is the notification to the queue pair that sent marked packets: BECN
// set, PSN 0, no acknowledgement asked for (IBTA annex A17).
func NewCNP(destQP uint32, pkey uint16) CNP {
	return CNP{BTH: BTH{Opcode: CNPOpcode, PKey: pkey, BECN: true, DestQP: destQP}}
}

// ParseCNP reads a packet from its BTH on and returns the bytes after its
// reserved ones, which are not looked at.
func ParseCNP(b []byte) (h CNP, rest []byte, err error) {
	if len(b) < CNPLen {
		return h, b, truncated("CNP", CNPLen, b)
	}
	if Opcode(b[0]) != CNPOpcode {
		return h, b, badValue("CNP", "opcode", int(b[0]), "129")
	}
	h.BTH.parse((*[BTHLen]byte)(b))
	return h, b[CNPLen:], nil
}

// Append writes the packet without ICRC behind b. The opcode is always that of
// a CNP.
func (h CNP) Append(b []byte) []byte {
	h.BTH.Opcode = CNPOpcode
	b = h.BTH.Append(b)
	return append(b, make([]byte, cnpReserved)...)
}

// Len is CNPLen.
func (h CNP) Len() int { return CNPLen }
