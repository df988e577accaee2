package rdma

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// bare is a queue pair of an unreliable service and its completions, MTU 256 and
// 100 Gb/s.
type bare struct {
	QP
	cfg Config
	cq  CompletionQueue
}

func newBare(t *testing.T, service Service, a Attrs) *bare {
	b := &bare{cfg: mustPreset(t, "nic")}
	b.cfg.MTU = 256
	b.cfg.CC = dcqcn(t, "paper") // has no effect
	b.Connect(&Setup{Config: &b.cfg, Service: service, CQ: &b.cq, Line: 100 * units.Gbps, Attrs: a, QKey: 7, QPN: 1,
		Data: packet.Packet{Conn: 7}}, 0)
	return b
}

func (b *bare) handle() *AddressHandle { return &AddressHandle{QKey: 7} }

// TestUnreliableStates: every (state, event) cell of docs/models/uc.md and ud.md.
func TestUnreliableStates(t *testing.T) {
	pages := map[Service]map[string]func(*testing.T, *bare) string{
		UC: {
			"post": bareNow(barePost), "poll": barePoll, "request": bareSend(nil), "bad request": bareSend(func(p *packet.Packet, _ *packet.Side) { p.Opcode-- }),
			"ACK": bareAnswer(packet.Ack), "CNP": bareAnswer(packet.CNP), "departure": bareDeparture, "local error": bareLocalError,
		},
		UD: {
			"post": bareNow(barePost), "poll": barePoll, "datagram": bareSend(nil),
			"other opcode": bareSend(func(p *packet.Packet, _ *packet.Side) { p.Opcode = uint8(wire.UCSendOnly) }),
			"wrong Q_Key":  bareSend(func(_ *packet.Packet, s *packet.Side) { s.QKey = 8 }),
			"no receive":   bareNoReceive, "departure": bareDeparture, "local error": bareLocalError,
		},
	}
	for service, observe := range pages {
		page := map[Service]string{UC: "uc.md", UD: "ud.md"}[service]
		table := tablesOf(t, page)[service.String()+` state \ event`]
		for s := range numStates {
			if len(table[s.String()]) != len(observe) {
				t.Errorf("%s %s: %d cells, want %d", service, s, len(table[s.String()]), len(observe))
			}
			for event, want := range table[s.String()] {
				if got := observe[event](t, enterBare(t, service, s)); got != want {
					t.Errorf("%s: %s, %s: %s, the page says %q", service, s, event, got, want)
				}
			}
		}
	}
}

// enterBare returns a queue pair in state s. In RTS and SQD a message waits, and
// the one before is under way: UC has sent one of its three packets; UD has one
// packet only, which is sent.
func enterBare(t *testing.T, service Service, s State) *bare {
	b := newBare(t, service, attrs())
	if s == RTS || s == SQD {
		n := units.Bytes(3 * 256)
		if service == UD {
			n = 10
		}
		b.mustPost(t, WorkRequest{ID: 1, Verb: Send, Bytes: n})
		b.mustPost(t, WorkRequest{ID: 2, Verb: Send, Bytes: 10})
		if r, _ := b.Poll(0, new(packet.Packet)); r != Sent {
			t.Fatal(r)
		}
	}
	if s == SQD {
		b.mustModify(SQD, 0)
	}
	b.state = s
	return b
}

func (b *bare) mustPost(t *testing.T, r WorkRequest) {
	t.Helper()
	r.AH = b.handle()
	if err := b.Post(0, r); err != nil {
		t.Fatal(err)
	}
}

func bareNow(f func(*bare) string) func(*testing.T, *bare) string {
	return func(_ *testing.T, b *bare) string { return f(b) }
}

func barePost(b *bare) string {
	open := b.Open()
	if b.Post(0, WorkRequest{ID: 5, Verb: Send, AH: b.handle()}) != nil {
		return "error"
	}
	if n := len(b.cq.Entries); n == 1 && b.cq.Entries[0] == (Completion{ID: 5, Conn: 7, Status: WRFlush}) {
		return "flushed"
	}
	if b.Open() == open+1 {
		return "queued"
	}
	return "lost"
}

// drain polls until nothing is left and counts the packets.
func (b *bare) drain() (n int, last Reason) {
	now := units.Time(0)
	for {
		r, at := b.Poll(now, new(packet.Packet))
		switch r {
		case Sent:
			n++
		case RateLimit:
			now = at
		default:
			return n, r
		}
	}
}

func barePoll(_ *testing.T, b *bare) string {
	n, last := b.drain()
	left := 3 // UC: two packets of the first message, one of the second
	if b.service == UD {
		left = 1
	}
	switch {
	case last == Idle && n == left:
		return "sends"
	case last == Idle && n == left-1 && n > 0:
		return "finishes started"
	case n == 0:
		return last.String()
	}
	return "strange"
}

// bareSend observes a SEND of one packet that change has spoilt.
func bareSend(change func(*packet.Packet, *packet.Side)) func(*testing.T, *bare) string {
	return func(_ *testing.T, b *bare) string {
		p, side := packet.Packet{Opcode: uint8(wire.UCSendOnly), Payload: 10}, packet.Side{QKey: 7}
		if b.service == UD {
			p.Opcode = uint8(wire.UDSendOnly)
		}
		if change != nil {
			change(&p, &side)
		}
		before, discarded := b.State(), b.Counters().Discarded
		var out Replies
		b.ReceiveWith(0, &p, &side, &out)
		switch {
		case out.N != 0 || b.State() != before:
			return "strange"
		case b.Delivered() == 10 && b.MSN() == 1:
			return "delivered"
		case b.Delivered() == 0 && b.Counters().Discarded == discarded+1:
			return "ignored"
		}
		return "strange"
	}
}

func bareNoReceive(t *testing.T, b *bare) string {
	b.setReceives(0)
	return bareSend(nil)(t, b)
}

func bareAnswer(kind packet.Kind) func(*testing.T, *bare) string {
	return func(_ *testing.T, b *bare) string {
		rate, discarded := b.Rate(0), b.Counters().Discarded
		b.Receive(0, &packet.Packet{Kind: kind, AETH: uint32(SynACK) << 24}, new(Replies))
		if b.Rate(0) == rate && len(b.cq.Entries) == 0 && b.Counters().Discarded == discarded+1 {
			return "ignored"
		}
		return "strange"
	}
}

func bareDeparture(_ *testing.T, b *bare) string {
	b.drain()
	at := b.Deadline()
	if at == units.Never {
		return "none"
	}
	b.Expire(at)
	if n := len(b.cq.Entries); n == 1 && b.cq.Entries[0] == (Completion{ID: 1, Conn: 7, Time: at}) {
		return "completes"
	}
	return "strange"
}

func bareLocalError(_ *testing.T, b *bare) string {
	state := b.State()
	b.Post(0, WorkRequest{ID: 8, Verb: Send, Bytes: 1, LKey: 0x9900, AH: b.handle()})
	b.Post(0, WorkRequest{ID: 9, Verb: Send, Bytes: 1, AH: b.handle()})
	if b.State() == Err || b.State() == SQE { // both were flushed
		b.cq.Clear()
	}
	b.drain()
	var status []Status
	for _, c := range b.cq.Entries {
		status = append(status, c.Status)
	}
	switch n := len(status); {
	case b.State() == state && n == 0:
		return "none"
	case b.State() == SQE && n == 4 && status[2] == LocProt && status[3] == WRFlush && b.Open() == 0:
		return "to SQE"
	}
	return "strange"
}

// TestUCResponderStates: every cell of the responder's table.
func TestUCResponderStates(t *testing.T) {
	table := tablesOf(t, "uc.md")[`UC responder \ packet`]
	opcodes := map[string]wire.Opcode{"SEND FIRST": wire.UCSendFirst, "SEND ONLY": wire.UCSendOnly, "SEND MIDDLE": wire.UCSendMiddle,
		"SEND LAST": wire.UCSendLast, "WRITE MIDDLE": wire.UCWriteMiddle}
	columns := map[string]uint32{"": 0, ", gap": 3, ", old": psnMask - 5} // distance from the expected PSN
	cells := 0
	for _, state := range []string{"between messages", "in a SEND", "in a WRITE"} {
		for column, want := range table[state] {
			b := newBare(t, UC, attrs())
			psn := uint32(0)
			receive := func(op wire.Opcode, psn uint32) {
				b.Receive(0, &packet.Packet{Opcode: uint8(op), PSN: psn, Payload: 256, VA: base, RKey: rkey, DMALen: 4 * 256}, new(Replies))
			}
			switch state {
			case "in a SEND":
				receive(wire.UCSendFirst, 0)
				psn = 1
			case "in a WRITE":
				receive(wire.UCWriteFirst, 0)
				psn = 1
			}
			name, kind := column, ""
			for suffix := range columns {
				if n := len(column) - len(suffix); suffix != "" && n > 0 && column[n:] == suffix {
					name, kind = column[:n], suffix
				}
			}
			op, ok := opcodes[name]
			if !ok {
				t.Fatalf("column %q", column)
			}
			receive(op, (psn+columns[kind])&psnMask)
			if got := b.ucText(); got != want {
				t.Errorf("%s, %s: %s, the page says %q", state, column, got, want)
			}
			cells++
		}
	}
	if cells != 27 {
		t.Errorf("%d cells, want 27", cells)
	}
}

// ucText says what the responder did and where it stands.
func (b *bare) ucText() string {
	s := "between messages"
	if b.inMessage {
		s = map[bool]string{false: "in a SEND", true: "in a WRITE"}[b.msgWrite]
	}
	if b.Dropped().Broken.Count > 0 {
		s += ", broken"
	}
	if b.MSN() > 0 {
		s += ", delivered"
	}
	if b.Counters().Discarded > 0 {
		s += ", dropped"
	}
	return s
}

// TestUCDelivers: random loss, duplication and reordering. A message counts as
// delivered as often as its packets arrive one directly after the other, and then
// a WRITE's bytes are all there; nothing else is written.
func TestUCDelivers(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var sizes []int
		for range 40 {
			sizes = append(sizes, rng.IntN(1500))
		}
		src := newBuffers(sizes, func(b []byte) { fillRandom(rng, b) })
		dst := newBuffers(sizes, func([]byte) {})
		a, b := attrs(), attrs()
		a.Memory, b.Memory = src.memory(), dst.memory()
		a.SQPSN, b.RQPSN = psnMask-20, psnMask-20
		from, to := newBare(t, UC, a), newBare(t, UC, b)
		for i, n := range sizes {
			from.mustPost(t, WorkRequest{ID: uint32(i), Verb: []Verb{Write, Send, WriteImm, SendImm}[i%4], Bytes: units.Bytes(n),
				VA: dst.va(i), RKey: rkey, LVA: src.va(i), LKey: rkey})
		}
		sent := pollAll(t, from)
		arrivals := impair(rng, sent)
		for _, i := range arrivals {
			p := sent[i].p
			to.ReceiveWith(0, &p, &sent[i].side, new(Replies))
		}
		times := wholeRuns(sent, arrivals, len(sizes))
		bytes, messages := int64(0), uint32(0)
		for i, n := range times {
			bytes += int64(n * sizes[i])
			messages += uint32(n)
			if want := src.data[src.at[i] : src.at[i]+sizes[i]]; n > 0 && i%2 == 0 {
				if err := dst.check(i, want); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		}
		if to.Delivered() != bytes || to.MSN() != messages || messages == 0 || messages > 39 {
			t.Errorf("seed %d: delivered %d B in %d messages, want %d in %d", seed, to.Delivered(), to.MSN(), bytes, messages)
		}
		if len(from.cq.Entries) != len(sizes) || to.State() != RTS {
			t.Errorf("seed %d: %d completions, %s", seed, len(from.cq.Entries), to.State())
		}
	}
}

func fillRandom(rng *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
}

type sentPacket struct {
	p    packet.Packet
	side packet.Side
	id   uint32
}

// pollAll sends everything and runs the timer whenever it is due.
func pollAll(t *testing.T, b *bare) (out []sentPacket) {
	now := units.Time(0)
	for {
		s := sentPacket{}
		r, at := b.Poll(now, &s.p)
		switch r {
		case Sent:
			if side := b.PolledSide(); side != nil {
				s.side = *side
				s.side.Data = bytes.Clone(side.Data)
			}
			s.id = b.Polled()
			out = append(out, s)
		case RateLimit:
			now = at
		case Idle:
			for b.Deadline() != units.Never {
				b.Expire(b.Deadline())
			}
			return out
		default:
			t.Fatal(r)
		}
		for b.Deadline() <= now {
			b.Expire(b.Deadline())
		}
	}
}

// impair returns the indices of the packets in the order in which they arrive:
// few are lost, doubled, or overtaken.
func impair(rng *rand.Rand, sent []sentPacket) (out []int) {
	for i := range sent {
		switch rng.IntN(30) {
		case 0:
		case 1:
			out = append(out, i, i)
		case 2:
			out = append(out, i)
			if n := len(out); n > 3 {
				k := n - 2 - rng.IntN(3)
				out[k], out[n-1] = out[n-1], out[k]
			}
		default:
			out = append(out, i)
		}
	}
	return out
}

// wholeRuns counts for each message how often all its packets arrived directly
// one after the other.
func wholeRuns(sent []sentPacket, arrivals []int, messages int) []int {
	first, packets := make([]int, messages), make([]int, messages)
	for i, s := range sent {
		if packets[s.id] == 0 {
			first[s.id] = i
		}
		packets[s.id]++
	}
	times := make([]int, messages)
	for id := range messages {
		for at := 0; at+packets[id] <= len(arrivals); at++ {
			whole := true
			for k := range packets[id] {
				whole = whole && arrivals[at+k] == first[id]+k
			}
			if whole {
				times[id]++
			}
		}
	}
	return times
}

// TestUCLossClosedForm: with each packet lost with probability 1/64, messages of
// 16 packets arrive with (63/64)^16 = 77.7 %; of 20,000 the standard deviation is
// 0.3 %.
func TestUCLossClosedForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	from, to := newBare(t, UC, attrs()), newBare(t, UC, attrs())
	const messages = 20_000
	for range messages {
		from.mustPost(t, WorkRequest{Verb: Send, Bytes: 16 * 256})
	}
	for _, s := range pollAll(t, from) {
		if rng.IntN(64) != 0 {
			to.Receive(0, &s.p, new(Replies))
		}
	}
	got, want := float64(to.MSN())/messages, math.Pow(63./64, 16)
	t.Logf("%.4f of the messages arrived, want %.4f", got, want)
	if math.Abs(got-want) > 3*math.Sqrt(want*(1-want)/messages) {
		t.Errorf("%.4f of the messages arrived, want %.4f", got, want)
	}
}

// TestUDDelivers: what arrives is delivered, as often as it arrives.
func TestUDDelivers(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	from, to := newBare(t, UD, attrs()), newBare(t, UD, attrs())
	for i := range 500 {
		from.mustPost(t, WorkRequest{ID: uint32(i), Verb: []Verb{Send, SendImm}[i%2], Bytes: units.Bytes(i % 257)})
	}
	sent := pollAll(t, from)
	arrivals := impair(rng, sent)
	want := int64(0)
	for _, i := range arrivals {
		to.ReceiveWith(0, &sent[i].p, &sent[i].side, new(Replies))
		want += int64(i % 257)
	}
	if to.Delivered() != want || int(to.MSN()) != len(arrivals) || len(arrivals) == len(sent) {
		t.Errorf("delivered %d B in %d messages, want %d in %d", to.Delivered(), to.MSN(), want, len(arrivals))
	}
}

// TestUDInbox: payload lies behind the room for a GRH, which is not written.
func TestUDInbox(t *testing.T) {
	src := newBuffers([]int{100}, func(b []byte) { fillRandom(rand.New(rand.NewPCG(3, 3)), b) })
	dst := newBuffers([]int{40, 60, 40, 40}, func(b []byte) { copy(b, bytes.Repeat([]byte{0xee}, len(b))) })
	a, b := attrs(), attrs()
	a.Memory, b.Memory = src.memory(), dst.memory()
	inbox := &Inbox{VA: dst.va(0), LKey: rkey}
	b.Inbox, b.ReceiveSize = inbox, 100
	from, to := newBare(t, UD, a), newBare(t, UD, b)
	for _, n := range []units.Bytes{60, 61, 40} { // the second is too long
		from.mustPost(t, WorkRequest{Verb: Send, Bytes: n, LVA: src.va(0), LKey: rkey})
	}
	for _, s := range pollAll(t, from) {
		to.ReceiveWith(0, &s.p, &s.side, new(Replies))
	}
	room, data := bytes.Repeat([]byte{0xee}, 40), src.data[src.at[0]:]
	want := slices.Concat(room, data[:60], room, data[:40], room)
	if got := dst.data[dst.at[0]:][:len(want)]; !bytes.Equal(got, want) || inbox.Placed != 180 || to.Dropped().TooLong.Count != 1 {
		t.Errorf("placed %d bytes, %+v\n%x, want\n%x", inbox.Placed, to.Dropped(), got, want)
	}
}

// TestUnreliableFrames: the frame around 61 bytes of payload and 3 of padding:
// Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4 and the extended headers,
// RETH 16, ImmDt 4, DETH 8 (models.md 4.1); as package wire counts them.
func TestUnreliableFrames(t *testing.T) {
	for _, c := range []struct {
		service Service
		verb    Verb
		opcode  wire.Opcode
		frame   uint32
	}{
		{UC, Send, 0x24, 126},
		{UC, SendImm, 0x25, 130},
		{UC, Write, 0x2a, 142},
		{UC, WriteImm, 0x2b, 146},
		{UD, Send, 0x64, 134},
		{UD, SendImm, 0x65, 138},
	} {
		b := newBare(t, c.service, attrs())
		b.mustPost(t, WorkRequest{Verb: c.verb, Bytes: 61})
		var p packet.Packet
		b.Poll(0, &p)
		byWire := wire.EthernetLen + wire.IPv4Len + wire.UDPLen + c.opcode.HeaderLen() + 64 + wire.ICRCLen + wire.FCSLen
		if wire.Opcode(p.Opcode) != c.opcode || p.Frame != c.frame || int(p.Frame) != byWire {
			t.Errorf("%s %s: %s, %d bytes, want %s, %d (%d)", c.service, c.verb, wire.Opcode(p.Opcode), p.Frame, c.opcode, c.frame, byWire)
		}
	}
}

// TestUnreliableRate: neither marks nor CNPs slow an unreliable service.
func TestUnreliableRate(t *testing.T) {
	for _, service := range []Service{UC, UD} {
		b := newBare(t, service, attrs())
		var out Replies
		p := packet.Packet{Opcode: uint8(wire.UCSendOnly), ECN: packet.CE}
		side := packet.Side{QKey: 7}
		if service == UD {
			p.Opcode = uint8(wire.UDSendOnly)
		}
		b.ReceiveWith(0, &p, &side, &out)
		b.Receive(0, &packet.Packet{Kind: packet.CNP}, new(Replies))
		if out.N != 0 || b.MSN() != 1 || b.Rate(0) != 100*units.Gbps || b.CC() != (*congestion.DCQCN)(nil) {
			t.Errorf("%s: %d answers, %d messages, rate %v", service, out.N, b.MSN(), b.Rate(0))
		}
	}
}

// TestUnreliableAllocatesNothing: once the rings have grown.
func TestUnreliableAllocatesNothing(t *testing.T) {
	for _, service := range []Service{UC, UD} {
		from, to := newBare(t, service, attrs()), newBare(t, service, attrs())
		ah, now := from.handle(), units.Time(0)
		n := testing.AllocsPerRun(200, func() {
			for i := range uint32(2) {
				from.Post(now, WorkRequest{ID: i, Verb: SendImm, Bytes: 256, AH: ah})
			}
			for range 2 {
				var p packet.Packet
				var out Replies
				_, until := from.Poll(now, &p)
				to.ReceiveWith(now, &p, from.PolledSide(), &out)
				now = until
				from.Expire(now)
			}
			from.cq.Clear()
		})
		if n != 0 || to.MSN() == 0 {
			t.Errorf("%s: %v allocations, %d messages", service, n, to.MSN())
		}
	}
}

// TestUCSequence: the expected PSN follows what arrives, forwards with any packet
// and backwards with the first of a message alone (IBTA 9.8.2): so one loss is one
// gap, a late packet none, and a message starts anew at any PSN.
func TestUCSequence(t *testing.T) {
	first, middle, last := uint8(wire.UCSendFirst), uint8(wire.UCSendMiddle), uint8(wire.UCSendLast)
	type in struct {
		opcode uint8
		psn    uint32
	}
	for _, c := range []struct {
		name                    string
		in                      []in
		gaps, broken, delivered int64
	}{
		{"one lost", []in{{first, 0}, {middle, 2}, {middle, 3}, {last, 4}}, 1, 1, 0},
		{"one late", []in{{first, 0}, {middle, 1}, {middle, 2}, {middle, 1}, {middle, 3}, {last, 4}}, 0, 1, 0},
		{"anew further on", []in{{first, 0}, {first, 9}, {last, 10}}, 1, 1, 512},
		{"anew further back", []in{{first, 9}, {last, 10}, {first, 5}, {last, 6}}, 1, 0, 1024},
	} {
		b := newBare(t, UC, attrs())
		for _, p := range c.in {
			b.Receive(0, &packet.Packet{Kind: packet.Data, Opcode: p.opcode, PSN: p.psn, Payload: 256}, new(Replies))
		}
		if g, d := b.Acts().SequenceGap.Count, b.Dropped(); g != c.gaps || d.Broken.Count != c.broken || b.Delivered() != c.delivered {
			t.Errorf("%s: %d gaps, %d broken messages, %d B delivered, want %d, %d and %d", c.name, g, d.Broken.Count, b.Delivered(), c.gaps, c.broken, c.delivered)
		}
	}
}
