package rdma

import (
	"bytes"
	"encoding/binary"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// What an exchange says of memory and of messages: the regions that it needs,
// what lies in them before and after, the work requests behind its packets.

// attrs takes the first PSNs from the exchange, and the memory from what the
// peer names.
func (r *replay) attrs() Attrs {
	a := Attrs{Receives: -1, Access: RemoteAll, Memory: &Memory{}, MaxRdAtomic: DefaultRdAtomic, MaxDestRdAtomic: DefaultRdAtomic}
	if r.part.noWrite {
		a.Access = LocalWrite
	}
	if r.part.counted {
		a.Receives, a.ReceiveSize = r.part.receives, r.part.room
	}
	for i := len(r.x) - 1; i >= 0; i-- { // the first of each counts
		if f := &r.x[i]; f.request() && f.from == r.side {
			a.SQPSN = f.p.PSN
		} else if f.request() {
			a.RQPSN = f.p.PSN
		}
	}
	if r.open = r.memory(); r.open.key != 0 {
		r.open.Access, r.open.Data = RemoteAll, make([]byte, r.open.Length)
		r.bringsBack(1-r.side, func(asked *captured, at int, b []byte) {
			copy(r.open.Data[asked.p.VA-r.open.Base+uint64(at):], b)
		})
		r.before = bytes.Clone(r.open.Data)
		if err := a.Memory.RegisterAs(r.open.key, r.open.Region); err != nil {
			r.differ("%v", err)
		}
	}
	r.local, a.Inbox = opened{}, &Inbox{}
	r.inbox.Data = make([]byte, r.payload(1-r.side))
	r.local.Data = make([]byte, 0, r.payload(r.side))
	a.Inbox.LKey = r.register(a.Memory, r.inbox.Data)
	r.local.key = r.register(a.Memory, r.local.Data[:cap(r.local.Data)])
	return a
}

// payload is how many bytes a side's requests carry or ask for.
func (r *replay) payload(side int) (n uint32) {
	for i := range r.x {
		if f := &r.x[i]; f.request() && f.from == side {
			n += f.p.Payload + uint32(f.asksFor()) + f.grhRoom()
		}
	}
	return n
}

// asksFor is how many bytes a READ or an atomic brings back; else 0.
func (c *captured) asksFor() int {
	switch ext := c.frame.BTH.Opcode.Ext(); {
	case c.frame.BTH.Opcode == wire.RCReadRequest:
		return int(c.p.DMALen)
	case ext&wire.ExtAtomicETH != 0:
		return int(AtomicBytes)
	}
	return 0
}

// grhRoom is what a datagram takes in a receive buffer besides its payload.
func (c *captured) grhRoom() uint32 {
	if serviceOf(c) == UD {
		return GRHRoom
	}
	return 0
}

// packets is how many PSNs a request takes.
func (r *replay) packets(f *captured) uint32 {
	return uint32(max(1, (f.asksFor()+r.mtu-1)/r.mtu))
}

// bringsBack calls do for each answer to a READ or an atomic of side: with the
// request, where in its bytes the answer belongs, and the bytes.
func (r *replay) bringsBack(side int, do func(asked *captured, at int, b []byte)) {
	for i := range r.x {
		f := &r.x[i]
		if f.from == side || f.request() {
			continue
		}
		b := f.s.Data
		if f.frame.BTH.Opcode == wire.RCAtomicAck {
			b = binary.LittleEndian.AppendUint64(nil, f.s.Orig)
		}
		for k := range i {
			asked := &r.x[k]
			n := psnDiff(f.p.PSN, asked.p.PSN)
			if asked.from == side && asked.asksFor() > 0 && n >= 0 && n < int64(r.packets(asked)) && len(b) > 0 {
				do(asked, int(n)*r.mtu, b)
				break
			}
		}
	}
}

// register makes bytes local memory, at address 0.
func (r *replay) register(m *Memory, b []byte) uint32 {
	key, err := m.Register(Region{Length: uint64(len(b)), Access: LocalWrite, Data: b})
	if err != nil {
		r.differ("%v", err)
	}
	return key
}

// opened is memory open to the peer.
type opened struct {
	key uint32
	Region
}

// memory is the part's, or all that the peer names by the first key it uses.
func (r *replay) memory() (m opened) {
	if r.part.memory.key != 0 {
		return r.part.memory
	}
	for i := range r.x {
		f := &r.x[i]
		if !f.request() || f.from == r.side || f.p.RKey == 0 {
			continue
		}
		n := max(uint64(f.p.DMALen), uint64(f.asksFor()))
		if m.key == 0 {
			m.key, m.Base = f.p.RKey, f.p.VA
		}
		end := max(m.Base+m.Length, f.p.VA+n)
		m.Base = min(m.Base, f.p.VA)
		m.Length = end - m.Base
	}
	return m
}

// placed compares memory with what the requests that the side took make of it:
// up to the last that it acknowledged, each PSN once; all of an unreliable service.
func (r *replay) placed() {
	open, inbox := bytes.Clone(r.before), []byte{}
	var taken []Completion
	delivered := int64(0)
	var next, length uint32
	var va uint64
	started, last := false, r.acknowledged()
	for i := range r.x {
		f := &r.x[i]
		if f.from == r.side || !f.request() || started && f.p.PSN != next {
			continue
		}
		if r.q.service == RC && (last == nil || psnDiff(f.p.PSN, *last) > 0) {
			continue
		}
		started, next = true, (f.p.PSN+r.packets(f))&psnMask
		if f.flags()&opFirst != 0 {
			length = 0
		}
		length += f.p.Payload
		delivered += int64(f.p.Payload)
		if v := verbOf(f); f.flags()&opLast != 0 && v != Write && v < Read {
			taken = append(taken, Completion{Receive: true, Verb: v, Bytes: units.Bytes(length + f.grhRoom()), Imm: f.s.Imm})
		}
		if f.frame.BTH.Opcode.Ext()&wire.ExtRETH != 0 {
			va = f.p.VA
		}
		switch n := uint64(len(f.s.Data)); {
		case f.frame.BTH.Opcode.Ext()&wire.ExtAtomicETH != 0:
			atomic(open[f.p.VA-r.open.Base:], f)
		case f.flags()&opWrite == 0:
			inbox = append(append(inbox, make([]byte, f.grhRoom())...), f.s.Data...)
		case n > 0:
			copy(open[va-r.open.Base:], f.s.Data)
			va += n
		}
	}
	r.received(taken)
	if have := r.q.Delivered(); have != delivered {
		r.differ("%d bytes delivered, want %d", have, delivered)
	}
	if !bytes.Equal(open, r.open.Data) {
		r.differ("the memory open to the peer is not what it wrote")
	}
	if inbox = append(inbox, make([]byte, len(r.inbox.Data)-len(inbox))...); !bytes.Equal(inbox, r.inbox.Data) {
		r.differ("what the peer sent does not lie in memory")
	}
}

// received compares the completions of receives: those of the messages taken, and
// if ours is in error the rest.
func (r *replay) received(want []Completion) {
	if r.q.State() == Err && r.part.counted {
		if r.part.spoilt != Success {
			want = append(want, Completion{Receive: true, Verb: Send, Status: r.part.spoilt})
		}
		for int64(len(want)) < r.part.receives {
			want = append(want, Completion{Receive: true, Verb: Send, Status: WRFlush})
		}
	}
	have := r.receiveCQ.Entries
	if len(have) != len(want) {
		r.differ("%d receives completed, want %d", len(have), len(want))
		return
	}
	for i := range want {
		want[i].ID, have[i].Time = uint32(i), 0
		if have[i] != want[i] {
			r.differ("receive %d completed as %+v, want %+v", i, have[i], want[i])
		}
	}
}

// atomic does to b what the request asks for (IBTA 9.4.5).
func atomic(b []byte, f *captured) {
	v := binary.LittleEndian.Uint64(b)
	switch {
	case f.frame.BTH.Opcode == wire.RCFetchAdd:
		v += f.s.Swap
	case v == f.s.Compare:
		v = f.s.Swap
	}
	binary.LittleEndian.PutUint64(b, v)
}

// acknowledged is the last PSN that the side acknowledged, nil if none.
func (r *replay) acknowledged() (last *uint32) {
	for i := range r.x {
		if f := &r.x[i]; f.from == r.side && f.frame.BTH.Opcode.Ext()&wire.ExtAETH != 0 && f.frame.AETH.IsACK() {
			last = &f.p.PSN
		}
	}
	return last
}

// workRequest is what the side was asked to do by the message that begins with
// frame i: its bytes are those of all its packets.
func (r *replay) workRequest(i int) WorkRequest {
	first := &r.x[i]
	w := WorkRequest{VA: first.p.VA, RKey: first.p.RKey, LKey: r.local.key, LVA: uint64(len(r.local.Data)), AH: &r.ah}
	if n := first.asksFor(); n > 0 || first.frame.BTH.Opcode == wire.RCReadRequest {
		w.Bytes, w.Swap, w.Compare = units.Bytes(n), first.s.Swap, first.s.Compare
		r.back[first.number] = len(r.local.Data)
		r.local.Data = append(r.local.Data, make([]byte, n)...)
		w.Verb = verbOf(first)
		return w
	}
	psn := first.p.PSN
	for k := i; k < len(r.x); k++ {
		f := &r.x[k]
		if f.from != r.side || !f.request() || f.p.PSN != psn {
			continue
		}
		r.local.Data = append(r.local.Data, f.s.Data...)
		w.Bytes += units.Bytes(f.p.Payload)
		psn = (psn + 1) & psnMask
		if f.flags()&opLast != 0 {
			w.Verb, w.Imm = verbOf(f), f.s.Imm
			break
		}
	}
	return w
}

// verbOf is the verb that the last packet of a message tells.
func verbOf(f *captured) Verb {
	write, ext := f.flags()&opWrite != 0, f.frame.BTH.Opcode.Ext()
	switch {
	case f.frame.BTH.Opcode == wire.RCReadRequest:
		return Read
	case f.frame.BTH.Opcode == wire.RCCmpSwap:
		return CompareSwap
	case f.frame.BTH.Opcode == wire.RCFetchAdd:
		return FetchAdd
	case write && ext&wire.ExtImmDt != 0:
		return WriteImm
	case write:
		return Write
	case ext&wire.ExtImmDt != 0:
		return SendImm
	case ext&wire.ExtIETH != 0:
		return SendInv
	}
	return Send
}
