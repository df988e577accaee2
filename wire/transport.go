package wire

import "encoding/binary"

// Transport is the part of a packet that RoCEv2 and InfiniBand have in common:
// BTH, extended headers, payload, padding, ICRC. Of the extended headers those
// in BTH.Opcode.Ext() count.
type Transport struct {
	BTH          BTH
	DETH         DETH
	RETH         RETH
	AtomicETH    AtomicETH
	AETH         AETH
	AtomicAckETH AtomicAckETH
	ImmDt        ImmDt
	IETH         IETH
	Payload      []byte // part of the decoded bytes; without padding
	ICRC         uint32 // as received
}

// decode reads from the BTH to the last byte of the ICRC: exactly b.
func (t *Transport) decode(b []byte) error {
	_, err := t.DecodeCut(b, len(b))
	return err
}

// DecodeCut reads a packet of length bytes from BTH to ICRC of which only the first are at hand, as
// a capture keeps them: b, all of it or less. It returns the length of the payload in bytes; Payload
// is what there is of that, and ICRC 0 where it was cut off. Headers that are cut are an error.
func (t *Transport) DecodeCut(b []byte, length int) (payload int, err error) {
	rest, err := t.decodeHeaders(b)
	if err != nil {
		return 0, err
	}
	op := t.BTH.Opcode
	left := length - (len(b) - len(rest))
	tail := int(t.BTH.PadCnt) + ICRCLen
	if left < tail {
		return 0, truncated(op.String()+", padding and ICRC", tail, rest)
	}
	if length%4 != 0 {
		return 0, badValue(op.String(), "length", length, "a multiple of 4")
	}
	if !op.HasPayload() && left != ICRCLen {
		return 0, badValue(op.String(), "payload length", left-ICRCLen, "0")
	}
	payload = left - tail
	there := min(payload, len(rest))
	t.Payload, t.ICRC = rest[:there:there], 0
	if len(rest) == left {
		t.ICRC = binary.LittleEndian.Uint32(rest[left-ICRCLen:])
	}
	return payload, nil
}

// decodeHeaders reads BTH and extended headers and returns the bytes after
// them.
func (t *Transport) decodeHeaders(b []byte) (rest []byte, err error) {
	if t.BTH, rest, err = ParseBTH(b); err != nil {
		return rest, err
	}
	if t.BTH.TVer != 0 {
		return rest, badValue("BTH", "TVer", int(t.BTH.TVer), "0")
	}
	if !t.BTH.Opcode.Known() {
		return rest, badValue("BTH", "opcode", int(t.BTH.Opcode), "one of RC, UC, UD or 129 (CNP)")
	}
	ext := t.BTH.Opcode.Ext()
	if ext&ExtDETH != 0 && err == nil {
		t.DETH, rest, err = ParseDETH(rest)
	}
	if ext&ExtRETH != 0 && err == nil {
		t.RETH, rest, err = ParseRETH(rest)
	}
	if ext&ExtAtomicETH != 0 && err == nil {
		t.AtomicETH, rest, err = ParseAtomicETH(rest)
	}
	if ext&ExtAETH != 0 && err == nil {
		t.AETH, rest, err = ParseAETH(rest)
	}
	if ext&ExtAtomicAckETH != 0 && err == nil {
		t.AtomicAckETH, rest, err = ParseAtomicAckETH(rest)
	}
	if ext&ExtImmDt != 0 && err == nil {
		t.ImmDt, rest, err = ParseImmDt(rest)
	}
	if ext&ExtIETH != 0 && err == nil {
		t.IETH, rest, err = ParseIETH(rest)
	}
	if ext&ExtCNP != 0 && err == nil {
		if len(b) < CNPLen {
			return rest, truncated(t.BTH.Opcode.String(), CNPLen, b)
		}
		rest = b[CNPLen:]
	}
	return rest, err
}

// Len is the length in bytes from BTH to ICRC.
func (t *Transport) Len() int {
	return t.BTH.Opcode.HeaderLen() + len(t.Payload) + padding(len(t.Payload)) + ICRCLen
}

// padding is the number of bytes that fill a payload up to a multiple of 4.
func padding(n int) int { return -n & 3 }

// check says whether a packet can be made of t.
func (t *Transport) check() error {
	op := t.BTH.Opcode
	if !op.Known() {
		return badValue("BTH", "opcode", int(op), "one of RC, UC, UD or 129 (CNP)")
	}
	if len(t.Payload) > 0 && !op.HasPayload() {
		return badValue(op.String(), "payload length", len(t.Payload), "0")
	}
	return nil
}

// append writes from BTH to padding: all but the ICRC, and no more payload and padding than
// room, in bytes, has place for behind the headers. The pad count follows from the payload.
func (t *Transport) append(b []byte, room int) []byte {
	h, ext := t.BTH, t.BTH.Opcode.Ext()
	h.PadCnt = uint8(padding(len(t.Payload)))
	b = h.Append(b)
	if ext&ExtDETH != 0 {
		b = t.DETH.Append(b)
	}
	if ext&ExtRETH != 0 {
		b = t.RETH.Append(b)
	}
	if ext&ExtAtomicETH != 0 {
		b = t.AtomicETH.Append(b)
	}
	if ext&ExtAETH != 0 {
		b = t.AETH.Append(b)
	}
	if ext&ExtAtomicAckETH != 0 {
		b = t.AtomicAckETH.Append(b)
	}
	if ext&ExtImmDt != 0 {
		b = t.ImmDt.Append(b)
	}
	if ext&ExtIETH != 0 {
		b = t.IETH.Append(b)
	}
	if ext&ExtCNP != 0 {
		b = append(b, make([]byte, cnpReserved)...)
	}
	room = max(0, room-t.BTH.Opcode.HeaderLen())
	b = append(b, t.Payload[:min(room, len(t.Payload))]...)
	return append(b, make([]byte, min(int(h.PadCnt), max(0, room-len(t.Payload))))...)
}
