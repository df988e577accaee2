package build

import (
	"encoding/binary"
	"fmt"

	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/workload"
)

// Carried is the memory of a run that carries data.
type Carried struct {
	Messages []CarriedMessage // by number of the message
	Inboxes  []CarriedInbox   // by index in Plan.Conns
}

// CarriedMessage is the memory of one message.
type CarriedMessage struct {
	Source []byte // random; nil for atomics
	// Dest is where the bytes go, zeros at first; shorter than Source where the
	// responder's region ends before the message does. Of READs and atomics it is
	// at the requester, of SENDs nil: they go to their connection's inbox.
	Dest []byte
	Word *CarriedWord // what an atomic works on
	// Compare and Swap are an atomic's operands; FETCH_ADD adds Swap.
	Compare, Swap uint64

	lkey, rkey uint32
}

// CarriedWord is the word of a responder that atomics work on.
type CarriedWord struct {
	Before uint64 // all of them
	Now    []byte // 8 bytes; fewer where the region ends
	key    uint32
}

// CarriedInbox is where the SENDs of a connection go, and what TCP brings.
type CarriedInbox struct {
	Data        []byte
	Back        []byte // what TCP brings to the end that opened the connection
	*rdma.Inbox        // nil of TCP
}

// place is where a word lies.
type place struct {
	node   int
	key    uint32 // of the region that it would be in
	offset uint64
}

// carry registers the memory that messages come from and go to, each apart from
// all others, so that what a message leaves there stays until the end. Only
// atomics meet: those of the same region and offset work on the same word.
func (b *builder) carry() {
	plan := b.v.Plan
	b.Carried = &Carried{Messages: make([]CarriedMessage, plan.Len()), Inboxes: make([]CarriedInbox, len(plan.Conns))}
	words := make(map[place]*CarriedWord)
	sends := make([][2]uint64, len(plan.Conns)) // there and back
	for i, m := range plan.All() {
		random := rng.New(b.v.Seed, fmt.Sprintf("message/%d/data", i))
		tcp := plan.Conns[m.Conn].Service == workload.TCP
		switch {
		case tcp:
			b.Carried.Messages[i].Source = randomBytes(&random, uint64(m.Bytes))
		case m.Verb.Atomic():
			b.carryAtomic(i, m, words, &random)
		default:
			b.carryBytes(i, m, &random)
		}
		if tcp || m.Verb.TakesReceive() && !m.Verb.TakesRKey() {
			sends[m.Conn][index(m.Back)] += uint64(m.Bytes) + uint64(b.GRHRoom(m.Conn))
		}
	}
	for i, n := range sends {
		switch {
		case n[0]+n[1] == 0:
		case plan.Conns[i].Service == workload.TCP:
			b.Carried.Inboxes[i] = CarriedInbox{Data: make([]byte, n[0]), Back: make([]byte, n[1])}
		default:
			b.Carried.Inboxes[i] = b.inbox(&plan.Conns[i], n[0])
		}
	}
}

// carryBytes registers both ends of message i, which is no atomic.
func (b *builder) carryBytes(i int, m *workload.Message, random *rng.Stream) {
	c := &b.Carried.Messages[i]
	requester, responder := b.memories(m)
	there := b.reach(m, uint64(m.Bytes))
	local := rdma.Region{Base: memoryBase, Length: uint64(m.Bytes)}
	remote := rdma.Region{Base: memoryBase + uint64(m.Offset), Length: there, Access: rdma.RemoteAll}
	switch {
	case m.Verb == workload.Read:
		c.Source, c.Dest = randomBytes(random, there), make([]byte, m.Bytes)
		local.Access = rdma.LocalWrite
		local.Data, remote.Data = c.Dest, c.Source
	case m.Verb.TakesRKey():
		c.Source, c.Dest = randomBytes(random, uint64(m.Bytes)), make([]byte, there)
		local.Data, remote.Data = c.Source, c.Dest
	default:
		c.Source = randomBytes(random, uint64(m.Bytes))
		local.Data = c.Source
	}
	if m.Bytes == 0 {
		return // no memory is looked at
	}
	c.lkey = mustRegister(requester, local)
	if m.Verb.TakesRKey() {
		c.rkey = mustRegister(responder, remote)
	}
}

// carryAtomic registers the word that atomic i works on, if it is the first to
// do so, and where the value before goes.
func (b *builder) carryAtomic(i int, m *workload.Message, words map[place]*CarriedWord, random *rng.Stream) {
	c := &b.Carried.Messages[i]
	requester, responder := b.memories(m)
	at := place{b.g.Endpoints[b.v.Plan.Conns[m.Conn].Dst].Node, b.regionKey[m.Conn], uint64(m.Offset)}
	w := words[at]
	if w == nil {
		w = &CarriedWord{Now: randomBytes(random, b.reach(m, uint64(workload.AtomicSize)))}
		if len(w.Now) == int(workload.AtomicSize) {
			w.Before = binary.LittleEndian.Uint64(w.Now)
		}
		w.key = mustRegister(responder, rdma.Region{Base: memoryBase + at.offset, Length: uint64(len(w.Now)), Access: rdma.RemoteAll, Data: w.Now})
		words[at] = w
	}
	c.Word, c.Dest, c.rkey = w, make([]byte, workload.AtomicSize), w.key
	c.Swap = random.Uint64()
	if m.Verb == workload.CompareSwap {
		c.Compare = w.Before // whoever comes first succeeds
	}
	c.lkey = mustRegister(requester, rdma.Region{Base: memoryBase, Length: uint64(len(c.Dest)), Access: rdma.LocalWrite, Data: c.Dest})
}

// GRHRoom is how many bytes come before each message in the inbox of connection
// conn.
func (w *World) GRHRoom(conn int) int {
	if w.Valid.Plan.Conns[conn].Service == workload.UD {
		return rdma.GRHRoom
	}
	return 0
}

// payloads are the bytes of messages, by their number; nil unless TCP carries them.
func (b *builder) payloads() (out [][]byte) {
	if b.Carried == nil || b.v.TCP == nil {
		return nil
	}
	for i := range b.Carried.Messages {
		out = append(out, b.Carried.Messages[i].Source)
	}
	return out
}

// inbox registers memory for n bytes of SENDs at a connection's responder.
func (b *builder) inbox(c *workload.Conn, n uint64) CarriedInbox {
	data := make([]byte, n)
	key := mustRegister(b.memory[b.g.Endpoints[c.Dst].Node].Memory, rdma.Region{Base: memoryBase, Length: n, Access: rdma.LocalWrite, Data: data})
	return CarriedInbox{Data: data, Inbox: &rdma.Inbox{VA: memoryBase, LKey: key}}
}

// memories returns those of a message's requester and responder.
func (b *builder) memories(m *workload.Message) (requester, responder *rdma.Memory) {
	c := &b.v.Plan.Conns[m.Conn]
	return b.memory[b.g.Endpoints[c.Src].Node].Memory, b.memory[b.g.Endpoints[c.Dst].Node].Memory
}

// reach is how many of the n bytes that message m names lie in the responder's
// region.
func (b *builder) reach(m *workload.Message, n uint64) uint64 {
	region := uint64(b.v.Plan.Conns[m.Conn].Region)
	switch {
	case region == 0:
		return n
	case uint64(m.Offset) >= region:
		return 0
	}
	return min(n, region-uint64(m.Offset))
}

func randomBytes(random *rng.Stream, n uint64) []byte {
	data := make([]byte, n+7)
	for i := uint64(0); i < n; i += 8 {
		binary.LittleEndian.PutUint64(data[i:], random.Uint64())
	}
	return data[:n:n]
}

// carried gives a work request the local memory and the operands of message i.
func (b *builder) carried(wr *rdma.WorkRequest, i int) {
	if b.Carried != nil {
		c := &b.Carried.Messages[i]
		wr.LVA, wr.LKey, wr.Compare, wr.Swap = memoryBase, c.lkey, c.Compare, c.Swap
	}
}

// remoteKey is the R_Key for message i.
func (b *builder) remoteKey(i int, m *workload.Message) uint32 {
	if b.Carried != nil && b.Carried.Messages[i].rkey != 0 {
		return b.Carried.Messages[i].rkey
	}
	return b.regionKey[m.Conn]
}
