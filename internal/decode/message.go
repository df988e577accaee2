package decode

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// verb is what a message does.
type verb uint8

// Verbs.
const (
	send verb = iota
	sendImm
	sendInv
	write
	writeImm
	read
	cmpSwap
	fetchAdd
	verbKinds
)

var verbNames = [verbKinds]string{"SEND", "SEND_IMM", "SEND_INV", "WRITE", "WRITE_IMM", "READ", "CMP_SWAP", "FETCH_ADD"}

func (v verb) String() string { return verbNames[v] }

// place of a packet in its message, and the message's verb as far as the packet tells.
type place struct {
	first, last bool
	verb        verb
}

// Lower five bits of opcodes, which mean the same in all services (IBTA 9.2.1).
var places = [32]place{
	0x00: {first: true, verb: send}, 0x01: {verb: send}, 0x02: {last: true, verb: send}, 0x03: {last: true, verb: sendImm},
	0x04: {first: true, last: true, verb: send}, 0x05: {first: true, last: true, verb: sendImm},
	0x06: {first: true, verb: write}, 0x07: {verb: write}, 0x08: {last: true, verb: write}, 0x09: {last: true,
		verb: writeImm},
	0x0a: {first: true, last: true, verb: write}, 0x0b: {first: true, last: true, verb: writeImm},
	0x0c: {first: true, last: true, verb: read}, 0x13: {first: true, last: true, verb: cmpSwap},
	0x14: {first: true, last: true, verb: fetchAdd}, 0x16: {last: true, verb: sendInv},
	0x17: {first: true, last: true, verb: sendInv},
}

// message is one that is not over.
type message struct {
	first, last uint32
	whole       bool // the last packet was seen
	unsized     bool // a READ whose length the capture has cut off
	verb        verb
	bytes       int64
	packets     int64 // seen, each once
	resent      int64
	start       units.Time // of its first packet
	sent        units.Time // of its last packet
}

// asks reports whether a message waits for responses, not acknowledgements.
func (m *message) asks() bool { return m.verb >= read }

// maxOpen bounds the messages of a flow that wait for an answer.
const maxOpen = 4096

// maxRows bounds the messages that are kept one by one.
const maxRows = 100_000

// assemble takes a request that was not seen before.
func (d *Decoder) assemble(f *flow, fr *frame, n uint32, now units.Time) {
	psn, op := fr.t.BTH.PSN, fr.t.BTH.Opcode
	at := places[op&0x1f]
	if at.first {
		m := message{first: psn, last: psn, verb: at.verb, start: now, sent: now, packets: 1, bytes: int64(fr.payload),
			whole: at.last}
		switch at.verb {
		case read:
			m.last, m.bytes, m.unsized = (psn+n-1)&psnMask, int64(fr.t.RETH.DMALen), fr.short
		case cmpSwap, fetchAdd:
			m.bytes = 8
		}
		f.insert(m)
	} else {
		m := f.holding(psn)
		if m == nil {
			if at.last {
				f.partial++
			}
			return
		}
		m.packets++
		m.bytes += int64(fr.payload)
		if at.last {
			m.last, m.whole, m.verb, m.sent = psn, true, at.verb, now
		}
	}
	if at.last && f.service == catalog.UC {
		d.endUC(f, psn, now)
	}
}

// insert puts a message in its place among those that are open.
func (f *flow) insert(m message) {
	if len(f.open) == maxOpen {
		f.open = append(f.open[:0], f.open[1:]...)
		f.lapsed++
	}
	i := len(f.open)
	for i > 0 && psnDiff(f.open[i-1].first, m.first) > 0 {
		i--
	}
	f.open = append(f.open, message{})
	copy(f.open[i+1:], f.open[i:])
	f.open[i] = m
}

// holding is the message that a packet behind its first belongs to, or nil.
func (f *flow) holding(psn uint32) *message {
	for i := len(f.open) - 1; i >= 0; i-- {
		m := &f.open[i]
		if psnDiff(m.first, psn) > 0 {
			continue
		}
		if m.asks() || m.whole && psnDiff(m.last, psn) < 0 {
			return nil
		}
		return m
	}
	return nil
}

// sentAgain notes a packet of a message that is sent again.
func (f *flow) sentAgain(psn uint32, now units.Time) {
	for i := len(f.open) - 1; i >= 0; i-- {
		m := &f.open[i]
		if psnDiff(m.first, psn) > 0 {
			continue
		}
		if m.whole && psnDiff(m.last, psn) < 0 {
			return
		}
		m.resent++
		if m.last == psn {
			m.sent = now
		}
		return
	}
}

// endUC ends the message whose last packet came, and gives up those before it.
func (d *Decoder) endUC(f *flow, psn uint32, now units.Time) {
	for len(f.open) > 0 && psnDiff(f.open[0].first, psn) <= 0 {
		m := f.open[0]
		f.open = append(f.open[:0], f.open[1:]...)
		if m.last != psn || m.packets != int64(psnDiff(m.last, m.first))+1 {
			f.broken++
			continue
		}
		d.finish(f, &m, now, "sent")
	}
}

// acknowledge ends the messages that an acknowledgement of all up to psn covers.
func (d *Decoder) acknowledge(f *flow, psn uint32, now units.Time) {
	kept := f.open[:0]
	for i := range f.open {
		m := f.open[i]
		if psnDiff(m.first, psn) > 0 {
			kept = append(kept, f.open[i:]...)
			break
		}
		if !m.whole || m.asks() || psnDiff(m.last, psn) > 0 {
			kept = append(kept, m)
			continue
		}
		d.finish(f, &m, now, "acknowledged")
	}
	f.open = kept
}

// respond ends the READ or atomic whose last response came.
func (d *Decoder) respond(f *flow, psn uint32, now units.Time) {
	for i := range f.open {
		m := f.open[i]
		if !m.asks() || psnDiff(psn, m.first) < 0 || psnDiff(psn, m.last) > 0 && m.verb != read {
			continue
		}
		if i+1 < len(f.open) && psnDiff(psn, f.open[i+1].first) >= 0 {
			continue // of a later one
		}
		f.open = append(f.open[:i], f.open[i+1:]...)
		d.finish(f, &m, now, "answered")
		return
	}
}

// refuse ends the message that a NAK of an error is about.
func (d *Decoder) refuse(f *flow, psn uint32, now units.Time, why string) {
	for i := range f.open {
		m := f.open[i]
		if psnDiff(psn, m.first) < 0 || m.whole && psnDiff(psn, m.last) > 0 {
			continue
		}
		f.open = append(f.open[:i], f.open[i+1:]...)
		f.failed++
		d.row(f, &m, now, why)
		return
	}
}

// finish counts a message that is over.
func (d *Decoder) finish(f *flow, m *message, now units.Time, how string) {
	if f.messages == 0 || m.start < f.begun {
		f.begun = m.start
	}
	f.messages++
	f.over = max(f.over, now)
	f.bytes += m.bytes
	f.verbs[m.verb].messages++
	f.verbs[m.verb].bytes += m.bytes
	if f.service != catalog.UD {
		f.done.add(now - m.start)
	}
	if wait := now - m.sent; f.service == catalog.RC && m.resent == 0 && (f.quickest == 0 || wait < f.quickest) {
		f.quickest = max(wait, 1)
	}
	d.row(f, m, now, how)
}

// row keeps a message for the list.
func (d *Decoder) row(f *flow, m *message, now units.Time, how string) {
	if len(d.rows) == maxRows {
		d.unlisted++
		return
	}
	d.rows = append(d.rows, row{flow: f, verb: m.verb, bytes: m.bytes, packets: m.packets, resent: m.resent,
		start: m.start, took: now - m.start, status: how})
}

// row is a message of the list.
type row struct {
	flow            *flow
	verb            verb
	bytes           int64
	packets, resent int64
	start, took     units.Time
	status          string
}

// readPackets is how many packets the responses of a READ are, and by how much that may be too few
// where the path MTU is not known (256 to 4,096 bytes, IBTA 10.6.5).
func (f *flow) readPackets(length uint32) (n uint32, slack int32) {
	mtu := f.mtu
	if mtu == 0 && f.peer != nil {
		mtu = f.peer.mtu
	}
	if mtu != 0 {
		return max((length+mtu-1)/mtu, 1), 0
	}
	n = max((length+4095)/4096, 1)
	return n, int32(max((length+255)/256, 1) - n)
}

// learn takes the path MTU from a packet that others of its message follow.
func (f *flow) learn(op wire.Opcode, payload int) {
	switch op &^ 0x20 { // of RC and UC
	case wire.RCSendFirst, wire.RCSendMiddle, wire.RCWriteFirst, wire.RCWriteMiddle, wire.RCReadRespFirst,
		wire.RCReadRespMiddle:
		if op>>5 <= 1 {
			f.mtu = uint32(payload)
		}
	}
}
