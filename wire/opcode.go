package wire

import "fmt"

// Opcode is the opcode of a base transport header: the transport service in
// the upper three bits, the operation in the lower five (IBTA 9.2.1).
type Opcode uint8

// Opcodes of the reliable connection service (IBTA 9.2.1, models.md 4.2).
const (
	RCSendFirst      Opcode = 0x00
	RCSendMiddle     Opcode = 0x01
	RCSendLast       Opcode = 0x02
	RCSendLastImm    Opcode = 0x03
	RCSendOnly       Opcode = 0x04
	RCSendOnlyImm    Opcode = 0x05
	RCWriteFirst     Opcode = 0x06
	RCWriteMiddle    Opcode = 0x07
	RCWriteLast      Opcode = 0x08
	RCWriteLastImm   Opcode = 0x09
	RCWriteOnly      Opcode = 0x0a
	RCWriteOnlyImm   Opcode = 0x0b
	RCReadRequest    Opcode = 0x0c
	RCReadRespFirst  Opcode = 0x0d
	RCReadRespMiddle Opcode = 0x0e
	RCReadRespLast   Opcode = 0x0f
	RCReadRespOnly   Opcode = 0x10
	RCAcknowledge    Opcode = 0x11
	RCAtomicAck      Opcode = 0x12
	RCCmpSwap        Opcode = 0x13
	RCFetchAdd       Opcode = 0x14
	RCSendLastInv    Opcode = 0x16 // with invalidate
	RCSendOnlyInv    Opcode = 0x17
)

// Opcodes of the unreliable connection service.
const (
	UCSendFirst    Opcode = 0x20
	UCSendMiddle   Opcode = 0x21
	UCSendLast     Opcode = 0x22
	UCSendLastImm  Opcode = 0x23
	UCSendOnly     Opcode = 0x24
	UCSendOnlyImm  Opcode = 0x25
	UCWriteFirst   Opcode = 0x26
	UCWriteMiddle  Opcode = 0x27
	UCWriteLast    Opcode = 0x28
	UCWriteLastImm Opcode = 0x29
	UCWriteOnly    Opcode = 0x2a
	UCWriteOnlyImm Opcode = 0x2b
)

// Opcodes of the unreliable datagram service, and of a congestion notification
// packet (IBTA annex A17).
const (
	UDSendOnly    Opcode = 0x64
	UDSendOnlyImm Opcode = 0x65
	CNPOpcode     Opcode = 0x81
)

// IBCNPOpcode is that of InfiniBand's own congestion notification packet, which
// ends with its BTH (annex A10; so the Linux driver hfi1 sends it).
const IBCNPOpcode Opcode = 0x80

// Opcodes of probes of the round trip, among those that IBTA leaves to manufacturers: of as many bytes as
// a CNP.
const (
	ProbeOpcode       Opcode = 0xc0
	ProbeAnswerOpcode Opcode = 0xc1
)

// Ext is a set of extended transport headers.
type Ext uint8

// Extended transport headers, in the order in which they follow a BTH.
const (
	ExtDETH Ext = 1 << iota
	ExtRETH
	ExtAtomicETH
	ExtAETH
	ExtAtomicAckETH
	ExtImmDt
	ExtIETH
	ExtCNP // the reserved bytes of a CNP or a probe
)

// opcodeInfo is a row of the table of opcodes in IBTA 9.2.1.
type opcodeInfo struct {
	name    string
	ext     Ext
	payload bool // it may carry any
}

var opcodes = [256]opcodeInfo{
	RCSendFirst:      {"RC SEND First", 0, true},
	RCSendMiddle:     {"RC SEND Middle", 0, true},
	RCSendLast:       {"RC SEND Last", 0, true},
	RCSendLastImm:    {"RC SEND Last with Immediate", ExtImmDt, true},
	RCSendOnly:       {"RC SEND Only", 0, true},
	RCSendOnlyImm:    {"RC SEND Only with Immediate", ExtImmDt, true},
	RCWriteFirst:     {"RC RDMA WRITE First", ExtRETH, true},
	RCWriteMiddle:    {"RC RDMA WRITE Middle", 0, true},
	RCWriteLast:      {"RC RDMA WRITE Last", 0, true},
	RCWriteLastImm:   {"RC RDMA WRITE Last with Immediate", ExtImmDt, true},
	RCWriteOnly:      {"RC RDMA WRITE Only", ExtRETH, true},
	RCWriteOnlyImm:   {"RC RDMA WRITE Only with Immediate", ExtRETH | ExtImmDt, true},
	RCReadRequest:    {"RC RDMA READ Request", ExtRETH, false},
	RCReadRespFirst:  {"RC RDMA READ response First", ExtAETH, true},
	RCReadRespMiddle: {"RC RDMA READ response Middle", 0, true},
	RCReadRespLast:   {"RC RDMA READ response Last", ExtAETH, true},
	RCReadRespOnly:   {"RC RDMA READ response Only", ExtAETH, true},
	RCAcknowledge:    {"RC Acknowledge", ExtAETH, false},
	RCAtomicAck:      {"RC ATOMIC Acknowledge", ExtAETH | ExtAtomicAckETH, false},
	RCCmpSwap:        {"RC CmpSwap", ExtAtomicETH, false},
	RCFetchAdd:       {"RC FetchAdd", ExtAtomicETH, false},
	RCSendLastInv:    {"RC SEND Last with Invalidate", ExtIETH, true},
	RCSendOnlyInv:    {"RC SEND Only with Invalidate", ExtIETH, true},

	UCSendFirst:    {"UC SEND First", 0, true},
	UCSendMiddle:   {"UC SEND Middle", 0, true},
	UCSendLast:     {"UC SEND Last", 0, true},
	UCSendLastImm:  {"UC SEND Last with Immediate", ExtImmDt, true},
	UCSendOnly:     {"UC SEND Only", 0, true},
	UCSendOnlyImm:  {"UC SEND Only with Immediate", ExtImmDt, true},
	UCWriteFirst:   {"UC RDMA WRITE First", ExtRETH, true},
	UCWriteMiddle:  {"UC RDMA WRITE Middle", 0, true},
	UCWriteLast:    {"UC RDMA WRITE Last", 0, true},
	UCWriteLastImm: {"UC RDMA WRITE Last with Immediate", ExtImmDt, true},
	UCWriteOnly:    {"UC RDMA WRITE Only", ExtRETH, true},
	UCWriteOnlyImm: {"UC RDMA WRITE Only with Immediate", ExtRETH | ExtImmDt, true},

	UDSendOnly:    {"UD SEND Only", ExtDETH, true},
	UDSendOnlyImm: {"UD SEND Only with Immediate", ExtDETH | ExtImmDt, true},
	CNPOpcode:     {"CNP", ExtCNP, false},
	IBCNPOpcode:   {"CNP (InfiniBand)", 0, false},

	ProbeOpcode:       {"probe", ExtCNP, false},
	ProbeAnswerOpcode: {"answer to a probe", ExtCNP, false},
}

// Known reports whether this package knows the opcode's headers: RC, UC, UD,
// CNPs and probes.
func (o Opcode) Known() bool { return opcodes[o].name != "" }

// Ext is the set of extended transport headers that follow the BTH.
func (o Opcode) Ext() Ext { return opcodes[o].ext }

// HasPayload reports whether packets of this opcode may carry payload.
func (o Opcode) HasPayload() bool { return opcodes[o].payload }

// HeaderLen is the length in bytes of BTH and extended headers.
func (o Opcode) HeaderLen() int { return BTHLen + opcodes[o].ext.Len() }

// String is the name that IBTA 9.2.1 gives.
func (o Opcode) String() string {
	if o.Known() {
		return opcodes[o].name
	}
	return fmt.Sprintf("opcode 0x%02x", uint8(o))
}

// Len is the length in bytes of all headers of the set.
func (e Ext) Len() int {
	n := 0
	for i, size := range [8]int{DETHLen, RETHLen, AtomicETHLen, AETHLen, AtomicAckETHLen, ImmDtLen, IETHLen, cnpReserved} {
		if e&(1<<i) != 0 {
			n += size
		}
	}
	return n
}
