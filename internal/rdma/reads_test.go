package rdma

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// anyRecovery is a transport profile that the property test draws.
func anyRecovery(t *testing.T, seed uint64) Config {
	cfg := mustPreset(t, "nic")
	cfg.MTU, cfg.AckEvery, cfg.NAKConsumesRetry = 256, 1+int(seed%5), false
	cfg.Timeout = TimeoutCode(4) // 65.5 us
	cfg.MinRNRTimer = 1          // 10 us
	switch seed % 4 {
	case 1:
		cfg.Recovery = GoBack0
	case 2:
		cfg.Recovery, cfg.Bitmap = SelectiveRepeat, []int{8, 100, 512}[seed%3]
	case 3:
		cfg.Recovery, cfg.Bitmap = IRN, 128
		cfg.TimeoutLow, cfg.LowInFlight = 20*us, 3
	}
	if seed%3 == 1 {
		cfg.Window, cfg.WindowBytes = WindowBytes, 2000
	}
	return cfg
}

// TestMixedVerbs: all verbs, both ways, with fences and slow receivers, under loss, duplication and
// reordering of everything, whatever the recovery: each completes once and in
// order, every byte arrives once, every atomic is executed once.
func TestMixedVerbs(t *testing.T) {
	notReady, again := int64(0), int64(0)
	for seed := range uint64(240) {
		rng := rand.New(rand.NewPCG(seed, 11))
		a, b := attrs(), attrs()
		word := make([]byte, 64)
		b.Memory = memoryOf(Region{Base: base, Length: 64, Access: RemoteAll, Data: word})
		if err := b.Memory.RegisterAs(rkey+256, Region{Base: base, Length: 1 << 30, Access: RemoteAll}); err != nil {
			t.Fatal(err)
		}
		a.SQPSN, b.RQPSN = psnMask-100, psnMask-100
		a.MaxRdAtomic, b.MaxDestRdAtomic = 1+uint8(seed%5), 1+uint8(seed%5)
		cfg := anyRecovery(t, seed)
		received := new(CompletionQueue)
		l := newLoop(t, cfg, a, b)
		l.qp[1].cold.reception = &Reception{cq: received, conn: l.qp[1].conn}
		if seed%5 == 2 { // receives come slowly
			l.qp[1].cold.reception.queue = NewReceiveQueue(2, 0)
		}
		var expected []Completion
		reorder := seed%8 < 4 && cfg.Recovery != GoBack0
		l.fate = func(_ int, p *packet.Packet) fate {
			f := fate{lose: rng.IntN(50) == 0, twice: rng.IntN(30) == 0}
			if reorder && rng.IntN(30) == 0 {
				f.late = units.Time(rng.IntN(3000)) * units.Nanosecond
			}
			if p.Kind == packet.Ack && p.AETH>>29 == uint32(SynRNR>>5) {
				l.qp[1].PostReceive(1)
			}
			return f
		}
		written, read, added := int64(0), int64(0), uint64(0)
		const messages = 80
		for i := range uint32(messages) {
			r := WorkRequest{ID: i, Verb: Verb(rng.IntN(int(numVerbs))), Bytes: units.Bytes(rng.Int64N(3000)), RKey: rkey + 256, Fence: rng.IntN(8) == 0}
			switch r.Verb {
			case CompareSwap, FetchAdd:
				r.Bytes, r.RKey, r.Swap, r.Compare = AtomicBytes, rkey, rng.Uint64N(1000), rng.Uint64()
				if r.Verb == FetchAdd {
					added += r.Swap
				}
			case Read:
				read += int64(r.Bytes)
			default:
				written += int64(r.Bytes)
			}
			switch r.Verb {
			case Send, SendImm, SendInv, WriteImm:
				c := Completion{ID: uint32(len(expected)), Conn: 7, Receive: true, Verb: r.Verb, Bytes: r.Bytes}
				if r.Verb == SendInv {
					r.Imm, _ = b.Memory.Register(Region{Base: base, Length: 1, Invalidatable: true})
				} else if r.Verb != Send {
					r.Imm = rng.Uint32()
				}
				c.Imm = r.Imm
				expected = append(expected, c)
			}
			l.post(0, r)
			if rng.IntN(3) == 0 {
				l.post(1, WorkRequest{ID: i, Verb: []Verb{Write, Read}[i%2], Bytes: 1000})
			}
		}
		l.run(10 * units.Second)
		if got := binary.LittleEndian.Uint64(word); got != added {
			t.Errorf("seed %d: %d after the atomics, want %d", seed, got, added)
		}
		if d, r := l.qp[1].Delivered(), l.qp[0].ReadBytes(); d != written || r != read {
			t.Errorf("seed %d: %d of %d written, %d of %d read, states %s, %s", seed, d, written, r, read, l.qp[0].State(), l.qp[1].State())
		}
		if len(l.cq[0].Entries) != messages || l.qp[1].Open() != 0 {
			t.Fatalf("seed %d: %d completions, %d open on the other side", seed, len(l.cq[0].Entries), l.qp[1].Open())
		}
		for i, c := range l.cq[0].Entries {
			if c.ID != uint32(i) || c.Status != Success {
				t.Fatalf("seed %d: completion %d is %+v", seed, i, c)
			}
		}
		for i := range received.Entries {
			received.Entries[i].Time = 0
		}
		if !slices.Equal(received.Entries, expected) {
			t.Errorf("seed %d: received\n%+v, want\n%+v", seed, received.Entries, expected)
		}
		if got := l.qp[1].MSN(); got != messages {
			t.Errorf("seed %d: MSN %d, want %d", seed, got, messages)
		}
		notReady += l.qp[1].Acts().RNR.Count
		again += l.qp[1].Acts().RetransRead.Count
	}
	if notReady < 100 || again < 1000 {
		t.Errorf("only %d RNR NAKs and %d responses sent again", notReady, again)
	}
}

// TestReadLossClosedForm: each 256th response lost, READs of 4 MB, 100 Gb/s, RTT
// 5 us, MTU 1024, as models.md 9 case 3 has it for WRITE. The responder sends, so
// goodput is what the requester takes over what the responder sends. Go-back-N:
// from a lost response until the new request has arrived the responder sends W+1
// packets in vain, W = C*RTT/packet = 56.5: 1-(W+1)/256 = 77.5 % +-4. Selective
// repeat: at most 255/256.
func TestReadLossClosedForm(t *testing.T) {
	for _, c := range []struct {
		preset   string
		min, max float64
	}{{"nic", 0.775 * 0.96, 0.775 * 1.04}, {"selective-repeat", 0.996 * 0.99, 0.9962}, {"irn", 0.996 * 0.99, 0.9962}} {
		cfg := mustPreset(t, c.preset)
		cfg.MTU = 1024
		l := newLoop(t, cfg, attrs(), attrs())
		sent, payload := 0, int64(0)
		l.fate = func(_ int, p *packet.Packet) fate {
			if p.Kind != packet.Response {
				return fate{}
			}
			sent++
			payload += int64(p.Payload)
			return fate{lose: sent%256 == 0}
		}
		for i := range uint32(200) {
			l.post(0, WorkRequest{ID: i, Verb: Read, Bytes: 4 * units.MB})
		}
		l.run(20 * ms)
		goodput := float64(l.qp[0].ReadBytes()) / float64(payload)
		if goodput < c.min || goodput > c.max {
			t.Errorf("%s: goodput %.4f, want %.4f to %.4f", c.preset, goodput, c.min, c.max)
		}
		// 1106 bytes of packet on the wire, 4 more for the AETH of few.
		if busy := float64(sent) * float64(l.line.TxTime(1106)) / float64(20*ms); busy < 0.99 {
			t.Errorf("%s: link busy %.4f", c.preset, busy)
		}
		if q := &l.qp[0]; q.State() != RTS || q.Counters().Timeouts != 0 {
			t.Errorf("%s: state %s, %d timeouts", c.preset, q.State(), q.Counters().Timeouts)
		}
		again := l.qp[1].Counters().Retransmitted // what was not sent for the first time
		if share := goodput + float64(again)/float64(sent); share < 0.999 || share > 1.001 {
			t.Errorf("%s: %d of %d responses sent again, with a goodput of %.4f", c.preset, again, sent, goodput)
		}
		t.Logf("%s: goodput %.4f, sent again %d of %d", c.preset, goodput, again, sent)
	}
}

// TestStrayPackets: nothing a peer can send breaks a queue pair that has all
// verbs in flight, as requester or responder.
func TestStrayPackets(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	steps := 0
	for seed := range uint64(400) {
		cfg := anyRecovery(t, seed)
		a := attrs()
		a.SQPSN, a.RQPSN = psnMask-3, psnMask-3
		a.MaxRdAtomic, a.MaxDestRdAtomic = 1+uint8(seed%4), 1+uint8(seed%4)
		l := newLoop(t, cfg, a, attrs())
		q := &l.qp[0]
		for i := range uint32(60) {
			r := WorkRequest{ID: i, Verb: Verb(rng.IntN(int(numVerbs))), Bytes: units.Bytes(rng.IntN(3000)), VA: base, RKey: rkey, Fence: rng.IntN(9) == 0}
			if r.Verb > Read {
				r.Bytes = AtomicBytes
			}
			if err := q.Post(l.now, r); err != nil {
				t.Fatal(err)
			}
			for range rng.IntN(6) {
				if r, at := q.Poll(l.now, new(packet.Packet)); r == Sent {
					l.now = at
				}
			}
			p := packet.Packet{Kind: packet.Kind(rng.IntN(4)), Opcode: uint8(rng.IntN(0x19)), VA: base + uint64(rng.IntN(3)*4), RKey: rkey,
				DMALen: uint32(rng.IntN(3000)), AETH: uint32(SynACK) << 24, Payload: uint32([]int{0, 256, rng.IntN(300)}[rng.IntN(3)]),
				Flags: uint8(rng.IntN(32)), ECN: uint8(rng.IntN(4))}
			switch {
			case rng.IntN(40) == 0:
				p.PSN, p.AETH = uint32(rng.IntN(1<<24)), rng.Uint32()
			case p.Kind == packet.Data:
				p.PSN = uint32(int(q.epsn)+rng.IntN(12)-5) & psnMask
				if rng.IntN(40) > 0 { // nothing to refuse
					p.Opcode = []uint8{OpSendOnly, OpReadRequest, OpFetchAdd, OpCompareSwap}[rng.IntN(4)]
					p.VA, p.Payload = base, 256
				}
			default:
				p.PSN = uint32(int(q.una)+rng.IntN(12)-3) & psnMask
			}
			var side *packet.Side
			if rng.IntN(40) > 0 {
				side = &packet.Side{Imm: rng.Uint32(), Swap: 1, Orig: 5}
			}
			q.ReceiveWith(l.now, &p, side, new(Replies))
			if rng.IntN(10) == 0 && q.Deadline() != units.Never {
				l.now = max(l.now, q.Deadline())
				q.Expire(l.now)
			}
			if q.una > q.nxt || q.nxt > q.high || q.high > q.cold.posted {
				t.Fatalf("seed %d: una %d nxt %d high %d posted %d", seed, q.una, q.nxt, q.high, q.cold.posted)
			}
			if q.State() == Err {
				break
			}
			steps++
		}
	}
	if steps < 400*8 {
		t.Errorf("%d packets taken in all; most queue pairs should live for some time", steps)
	}
}

// TestReadGoodput: a stream of READs of 1 MiB at MTU 4096 keeps the responder's
// port busy. A message takes 256 packets of 4096 + 82 bytes on the wire (models.md
// 4.5) and 4 bytes of AETH on the first and the last: 98.036 % of the line.
func TestReadGoodput(t *testing.T) {
	l := newLoop(t, mustPreset(t, "nic"), attrs(), attrs())
	for i := range uint32(40) {
		l.post(0, WorkRequest{ID: i, Verb: Read, Bytes: units.MiB})
	}
	l.run(10 * ms)
	done := l.cq[0].Entries
	if len(done) != 40 {
		t.Fatalf("%d of 40 complete", len(done))
	}
	want := 256*l.line.TxTime(4096+82) + 2*l.line.TxTime(4)
	for i := range done[1:] {
		if got := done[i+1].Time - done[i].Time; got != want {
			t.Errorf("READ %d took %d, want %d", i+1, got, want)
		}
	}
	if share := float64(units.MiB*8) / (float64(want) / 1e12) / float64(l.line); share < 0.98035 || share > 0.98037 {
		t.Errorf("%.5f of the line", share)
	}
	if c := l.qp[0].Counters(); c.SentPackets != 40 || c.SentBytes != 0 || c.ReadBytes != 40*int64(units.MiB) {
		t.Errorf("requester %+v", c)
	}
	if c := l.qp[1].Counters(); c.SentPackets != 40*256 || c.SentBytes != 40*int64(units.MiB) || c.DeliveredBytes != 0 {
		t.Errorf("responder %+v", c)
	}
}

// TestAnswersInOrder: acknowledgements and responses leave in PSN order, also
// with answers that wait, on a link that loses nothing (IBTA 9.7.5.1).
func TestAnswersInOrder(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 5))
		cfg := mustPreset(t, "nic")
		cfg.MTU, cfg.AckEvery = 256, 1+int(seed%3)
		l := newLoop(t, cfg, attrs(), attrs())
		next, held := uint32(0), 0
		l.fate = func(_ int, p *packet.Packet) fate {
			if p.Kind == packet.Data {
				return fate{}
			}
			if psnDiff(p.PSN, next) < 0 {
				t.Fatalf("seed %d: PSN %d after %d", seed, p.PSN, next-1)
			}
			if p.Kind == packet.Ack && l.qp[1].cold.answers != nil && next == p.PSN {
				held++
			}
			next = p.PSN + 1
			return fate{}
		}
		for i := range uint32(100) {
			r := WorkRequest{ID: i, Verb: Verb(rng.IntN(int(numVerbs))), Bytes: units.Bytes(rng.IntN(3000)), Imm: rng.Uint32()}
			if r.Verb == SendInv {
				r.Verb = Send
			}
			if r.Verb > Read {
				r.Bytes = AtomicBytes
			}
			l.post(0, r)
		}
		l.run(units.Second)
		if len(l.cq[0].Entries) != 100 || held == 0 {
			t.Errorf("seed %d: %d completions, %d acknowledgements right behind a response", seed, len(l.cq[0].Entries), held)
		}
	}
}

// TestReadAllocatesNothing: once its tables are made, a READ and an atomic cost no
// allocation, whatever the recovery.
func TestReadAllocatesNothing(t *testing.T) {
	for _, preset := range []string{"nic", "selective-repeat"} {
		l := newLoop(t, mustPreset(t, preset), attrs(), attrs())
		var p packet.Packet
		var out Replies
		pump := func(from int) {
			for {
				r, at := l.qp[from].Poll(l.now, &p)
				if r == RateLimit {
					l.now = at
					continue
				}
				if r != Sent {
					return
				}
				l.qp[1-from].ReceiveWith(l.now, &p, l.qp[from].PolledSide(), &out)
			}
		}
		one := func() {
			l.post(0, WorkRequest{Verb: Read, Bytes: 100_000})
			l.post(0, WorkRequest{Verb: FetchAdd, Bytes: AtomicBytes, Swap: 1})
			pump(0)
			pump(1)
			l.cq[0].Clear()
		}
		one()
		if n := testing.AllocsPerRun(100, one); n != 0 {
			t.Errorf("%s: %v allocations", preset, n)
		}
		if l.qp[0].Open() != 0 || l.qp[0].ReadBytes() != 102*100_000 {
			t.Errorf("%s: %d open, %d bytes read", preset, l.qp[0].Open(), l.qp[0].ReadBytes())
		}
	}
}

// answersOf gives requests to the responder of a fresh connection and returns what
// it then sends: values of atomics, and packets.
func answersOf(t *testing.T, change func(q *QP), requests ...packet.Packet) (values []uint64, sent []packet.Packet) {
	t.Helper()
	b := attrs()
	b.Memory = memoryOf(Region{Base: base, Length: 1 << 16, Access: RemoteAll, Data: make([]byte, 1<<16)})
	l := newLoop(t, mustPreset(t, "nic"), attrs(), b)
	q := &l.qp[1]
	var out Replies
	for _, p := range requests {
		p.Kind, p.VA, p.RKey, p.Flags = packet.Data, base, rkey, packet.AckReq
		q.ReceiveWith(l.now, &p, &packet.Side{Swap: 5}, &out)
		change(q)
	}
	for q.Responding() {
		var p packet.Packet
		reason, at := q.Poll(l.now, &p)
		switch {
		case reason == RateLimit:
			l.now = at
		case p.Opcode == OpAtomicAck:
			values = append(values, q.PolledSide().Orig)
			sent = append(sent, p)
		default:
			sent = append(sent, p)
		}
	}
	return values, sent
}

// PSNs wrap: of two atomics with the same one, a duplicate means the later.
func TestDuplicateAfterWrap(t *testing.T) {
	add := packet.Packet{Opcode: OpFetchAdd}
	n := 0
	values, _ := answersOf(t, func(q *QP) {
		n++
		for n <= 2 && q.Responding() {
			q.Poll(0, new(packet.Packet))
		}
		if n == 1 {
			q.epsn = 0 // 2^24 packets later
		}
	}, add, add, add)
	if !slices.Equal(values, []uint64{5}) {
		t.Errorf("the duplicate is answered with %d, want 5, what the second found", values)
	}
}

// A NAK that waits behind responses stays when a duplicate asks for an
// acknowledgement: what is missing is reported once.
func TestHeldNAKStays(t *testing.T) {
	write := func(psn uint32) packet.Packet {
		return packet.Packet{Opcode: OpWriteOnly, PSN: psn, DMALen: 10, Payload: 10}
	}
	_, sent := answersOf(t, func(*QP) {},
		packet.Packet{Opcode: OpReadRequest, DMALen: 8192}, write(2), write(4), write(2))
	last := sent[len(sent)-1]
	if uint8(last.AETH>>24) != SynNAKSeq || last.PSN != 3 {
		t.Errorf("syndrome %#x with PSN %d behind the responses, want NAK %#x of 3", last.AETH>>24, last.PSN, SynNAKSeq)
	}
}

// A duplicate READ that asks for what the region does not hold is ignored, as is
// one that asks for more than the original did; a right one is answered.
func TestDuplicateReadRights(t *testing.T) {
	for _, c := range []struct {
		name       string
		va, length uint64
		rkey       uint32
		answers    int // packets
	}{
		{"the same", base, 8192, rkey, 2},
		{"its second packet", base + 4096, 4096, rkey, 1},
		{"beyond the region", base + 1<<16, 4096, rkey, 0},
		{"another key", base, 4096, rkey + 1, 0},
		{"more packets than it had", base, 12288, rkey, 0},
	} {
		b := attrsOf(1 << 16)
		l := newLoop(t, mustPreset(t, "selective-repeat"), attrs(), b)
		q := &l.qp[1]
		var out Replies
		ask := func(p packet.Packet) (n int) {
			p.Kind, p.Opcode, p.Flags = packet.Data, OpReadRequest, packet.AckReq
			q.Receive(l.now, &p, &out)
			for q.Responding() {
				reason, at := q.Poll(l.now, &p)
				if reason == Sent {
					n++
				}
				l.now = max(l.now, at)
			}
			return n
		}
		if n := ask(packet.Packet{VA: base, RKey: rkey, DMALen: 8192}); n != 2 {
			t.Fatalf("%d responses", n)
		}
		again := packet.Packet{VA: c.va, RKey: c.rkey, DMALen: uint32(c.length), PSN: uint32(c.va-base) / 4096 % 2}
		if n := ask(again); n != c.answers || q.State() != RTS {
			t.Errorf("%s: %d responses in %s, want %d", c.name, n, q.State(), c.answers)
		}
	}
}

// The receive that a message has taken from a shared queue is flushed when the
// queue pair ends in error; the others stay for other queue pairs.
func TestSharedReceiveFlushed(t *testing.T) {
	var cq, rcq CompletionQueue
	cfg := mustPreset(t, "nic")
	srq := NewReceiveQueue(3, 0)
	var q QP
	q.Connect(&Setup{Config: &cfg, CQ: &cq, ReceiveCQ: &rcq, SRQ: srq, Line: 100 * units.Gbps, Attrs: attrs()}, 0)
	var out Replies
	q.Receive(0, &packet.Packet{Kind: packet.Data, Opcode: OpSendFirst, Payload: 4096}, &out)
	q.mustModify(Err, 0)
	if len(rcq.Entries) != 1 || rcq.Entries[0].Status != WRFlush || srq.Waiting() != 2 {
		t.Errorf("%v, %d receives left, want one flushed and 2 left", rcq.Entries, srq.Waiting())
	}
}

// A fatal NAK speaks of its own request: a READ before it whose response was lost
// does not end with its status, but by retries that a responder in error ignores.
func TestFatalNAKBehindLostResponse(t *testing.T) {
	for _, preset := range []string{"nic", "selective-repeat", "irn"} {
		cfg := mustPreset(t, preset)
		cfg.Timeout, cfg.TimeoutLow = TimeoutCode(4), 0
		l := newLoop(t, cfg, attrs(), attrs())
		lost := false
		l.fate = func(_ int, p *packet.Packet) fate {
			lose := p.Kind == packet.Response && p.PSN == 1 && !lost
			lost = lost || lose
			return fate{lose: lose}
		}
		l.post(0, WorkRequest{ID: 1, Verb: Read, Bytes: 3 * 4096})
		l.post(0, WorkRequest{ID: 2, Verb: Write, Bytes: 100, RKey: rkey + 1})
		l.run(units.Second)
		if got := l.statuses(0); !lost || !slices.Equal(got, []Status{RetryExc, WRFlush}) {
			t.Errorf("%s: %v, want %v", preset, got, []Status{RetryExc, WRFlush})
		}
	}
}

// What is asked for again ends where it ended before: behind that the responder
// expects a new request, and would call what it gets a gap. A window of 16 packets
// asks for 4 at a time; the third response to the first request is lost.
func TestReadAgainEndsWhereItEnded(t *testing.T) {
	cfg := mustPreset(t, "nic")
	cfg.MTU, cfg.Window, cfg.WindowBytes = 1024, WindowBytes, 16*1024
	l := newLoop(t, cfg, attrs(), attrs())
	lost := 0
	l.fate = func(_ int, p *packet.Packet) fate {
		lose := p.Kind == packet.Response && p.PSN == 2 && lost == 0
		if lose {
			lost++
		}
		return fate{lose: lose}
	}
	l.post(0, WorkRequest{ID: 1, Verb: Read, Bytes: 64 * 1024})
	l.run(units.Second)
	gaps, naks := l.qp[0].Acts().SequenceGap.Count, l.qp[1].Counters().NAKsSent
	if got := l.statuses(0); !slices.Equal(got, []Status{Success}) || lost != 1 || gaps != 1 || naks != 0 {
		t.Errorf("%v: %d lost, %d gaps, %d NAKs, want one, one and none", got, lost, gaps, naks)
	}
}

// Standing tells of a responder with something to send when that may start: READ
// responses are paced, the ACK of an atomic is not.
func TestStandingOfResponder(t *testing.T) {
	l := newLoop(t, mustPreset(t, "nic"), attrs(), attrs())
	q := &l.qp[1]
	if why, _ := q.Standing(); why != Idle {
		t.Fatalf("%s before any request", why)
	}
	var out Replies
	var p packet.Packet
	q.Receive(0, &packet.Packet{Kind: packet.Data, Opcode: OpReadRequest, VA: base, RKey: rkey, DMALen: 8192}, &out)
	q.ReceiveWith(0, &packet.Packet{Kind: packet.Data, Opcode: OpFetchAdd, PSN: 2, VA: base, RKey: rkey}, &packet.Side{}, &out)
	for i := range 2 {
		_, at := q.Poll(l.now, &p)
		if why, until := q.Standing(); i == 0 && (why != RateLimit || until != at || at <= l.now) || i == 1 && (why != RateLimit || until > l.now) {
			t.Errorf("%s until %s after response %d at %s, which let the next start at %s", why, until, i, l.now, at)
		}
		l.now = at
	}
	q.Poll(l.now, &p)
	if why, _ := q.Standing(); p.Opcode != OpAtomicAck || why != Idle {
		t.Errorf("%s after the last", why)
	}
}
