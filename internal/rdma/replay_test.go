package rdma

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/roce"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Replay of an exchange between two queue pairs, captured or made. One of the
// two is replaced by ours, once as responder and once as requester; what ours
// sends must be, byte for byte, what the one that it stands for sent. The
// capture's times do not count, as timers of software are not those of the
// standard: the clock moves on by a little for every frame, and to the end of
// a timer where the exchange shows that one ran out.

// captured is one RoCEv2 frame of an exchange.
type captured struct {
	number int // in the capture, from 1
	at     units.Time
	from   int // 0: the side that sent the first frame, 1: the other
	intact bool
	frame  wire.Frame
	p      packet.Packet
	s      packet.Side
}

func (c *captured) String() string { return fmt.Sprintf("frame %d", c.number) }

// request says whether the frame is a request, else it is an answer.
func (c *captured) request() bool { return c.p.Kind == packet.Data }

// flags are those of the opcode, whose lower five bits mean the same in every
// service (IBTA 9.2.1).
func (c *captured) flags() uint8 { return opFlags(c.p.Opcode & 0x1f) }

// exchange is the RoCEv2 frames of two queue pairs in order.
type exchange []captured

// add appends a frame; frames that are not RoCEv2 are left out.
func (x *exchange) add(number int, at units.Time, b []byte) error {
	c := captured{number: number, at: at}
	var err error
	if c.frame, err = wire.DecodeFrame(b); err != nil {
		return err
	}
	if c.frame.Kind != wire.FrameRoCEv2 {
		return nil
	}
	if _, err = roce.Read(&c.frame, &c.p, &c.s); err != nil {
		return err
	}
	c.intact = c.frame.CheckICRC() == nil
	if len(*x) > 0 && c.frame.Ethernet.Src != (*x)[0].frame.Ethernet.Src {
		c.from = 1
	}
	*x = append(*x, c)
	return nil
}

// readExchange reads a capture file.
func readExchange(name string) (x exchange, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := pcapgo.NewReader(file)
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		b, info, err := r.ReadPacketData()
		if err == io.EOF {
			return x, nil
		}
		if err != nil {
			return nil, err
		}
		if err := x.add(n, units.Time(info.Timestamp.UnixMicro())*units.Microsecond, b); err != nil {
			return nil, fmt.Errorf("frame %d: %w", n, err)
		}
	}
}

// part is what an exchange does not tell about one of its queue pairs, and
// where ours differs from it. The numbers are those of frames.
type part struct {
	memory   opened // open to the peer; without key: all that the peer names
	noWrite  bool   // no REMOTE_WRITE on the queue pair
	receives int64  // posted, if counted
	counted  bool
	room     units.Bytes // of each; 0: enough
	spoilt   Status      // of the receive of the message that is refused, if it takes one
	rnrRetry uint8       // 0: without end
	status   Status      // of the last work request; those before succeed
	open     int         // work requests that do not complete
	// without are the roles that are not replayed, with the reason.
	without map[role]string
	lossy   map[role]bool // packets of several are lost: the recovery shows
	except  map[role]exceptions
	expire  bool // the timer runs out at the end
}

// exceptions are where an exchange differs from what ours does, or did not go
// as it looks: by frame, with the reason.
type exceptions struct {
	not     map[int]string // ours does not send it
	dropped map[int]string // the side took no notice of it
	lost    map[int]string // before it ours sends one that is not in the capture
	instead map[int]other  // ours sends it with another syndrome
}

// other is a syndrome in place of the captured one, with the reason.
type other struct {
	syndrome uint8
	why      string
}

func (e *exceptions) count() int { return len(e.not) + len(e.dropped) + len(e.lost) + len(e.instead) }

// replay is one replay of one side.
type replay struct {
	x    exchange
	side int
	part part
	exceptions
	mtu       int
	preset    string // of the transport
	now       units.Time
	q         QP
	receiveCQ CompletionQueue
	cq        CompletionQueue
	diffs     []string
	used      int // exceptions met
	w         roce.Writer
	sent      int // of ours, compared
	// Memory open to the peer, memory for its SENDs, and that of our own messages.
	open, inbox, local opened
	before             []byte      // the first, as it was
	back               map[int]int // where in our memory what frames asked for goes
	ah                 AddressHandle
	// The latest answer taken, by our clock and by the capture's.
	heard, heardAt units.Time
}

func (r *replay) differ(format string, args ...any) {
	r.diffs = append(r.diffs, fmt.Sprintf(format, args...))
}

// connect sets up our queue pair as the side it stands for.
func (r *replay) connect() {
	c, err := Preset(r.preset)
	if err != nil {
		panic(err)
	}
	c.MTU, c.ECT, c.AckEvery, c.RNRRetry = units.Bytes(r.mtu), false, 1<<20, 7
	if r.part.rnrRetry > 0 {
		c.RNRRetry = r.part.rnrRetry
	}
	s := Setup{Config: &c, CQ: &r.cq, ReceiveCQ: &r.receiveCQ, Line: 400 * units.Gbps, Attrs: r.attrs()}
	for i := range r.x {
		if f := &r.x[i]; f.from == r.side {
			s.Data = packet.Packet{DestQP: f.p.DestQP, DSCP: f.p.DSCP, ECN: f.p.ECN, TTL: f.p.TTL}
			s.Ack, s.CNP = s.Data, s.Data
			s.Service = serviceOf(f)
			s.QKey, s.QPN = f.s.QKey, f.s.SrcQP
			r.ah = AddressHandle{Data: s.Data, QKey: f.s.QKey}
			break
		}
	}
	r.q.Connect(&s, 0)
}

// serviceOf is the service that the upper three bits of the opcode name.
func serviceOf(f *captured) Service {
	switch f.p.Opcode >> 5 {
	case 1:
		return UC
	case 3:
		return UD
	}
	return RC
}

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

// skip says whether a frame is one of the exceptions.
func (r *replay) skip(exceptions map[int]string, f *captured) bool {
	if _, ok := exceptions[f.number]; !ok {
		return false
	}
	r.used++
	return true
}

// compare holds a packet of ours against the frame that should be it: byte for
// byte, with the frame's addresses and IP identification. A wrong ICRC in the
// capture does not count.
func (r *replay) compare(p *packet.Packet, s *packet.Side, want *captured) {
	r.sent++
	f := wire.Frame{IPVersion: want.frame.IPVersion, Ethernet: want.frame.Ethernet, IPv4: want.frame.IPv4,
		IPv6: want.frame.IPv6, UDP: want.frame.UDP}
	f.BTH.PKey = want.frame.BTH.PKey
	var side packet.Side
	if s != nil {
		side = *s
	}
	if err := r.w.Fill(&f, p, &side); err != nil {
		r.differ("%v: %v", want, err)
		return
	}
	have, err := f.Append(nil)
	if err != nil {
		r.differ("%v: %v", want, err)
		return
	}
	expected := want.frame
	if o, ok := r.instead[want.number]; ok {
		r.used++
		expected.AETH.Syndrome = o.syndrome
	}
	captured, err := expected.Append(nil) // its ICRC made right
	if err != nil || !bytes.Equal(have, captured) {
		r.differ("%v: ours is %s, want %s", want, text(p, &side), text(&want.p, &want.s))
		return
	}
	if length := uint32(max(wire.MinFrameLen, len(have)+wire.FCSLen)); p.Frame != length {
		r.differ("%v: frame of %d bytes, want %d", want, p.Frame, length)
	}
}

// text shows what is compared, bytes of data apart.
func text(p *packet.Packet, s *packet.Side) string {
	return fmt.Sprintf("%v to 0x%x PSN 0x%06x AckReq %t payload %d AETH 0x%08x RETH {0x%x 0x%x %d} side {0x%x 0x%x 0x%x 0x%x 0x%x 0x%x}",
		wire.Opcode(p.Opcode), p.DestQP, p.PSN, p.Flags&packet.AckReq != 0, p.Payload, p.AETH, p.VA, p.RKey, p.DMALen,
		s.Imm, s.QKey, s.SrcQP, s.Swap, s.Compare, s.Orig)
}

// respond replays the side as responder: the peer's requests go in, our answers
// are compared with the side's, in order.
func (r *replay) respond() {
	r.connect()
	var answers []*captured
	for i := range r.x {
		if f := &r.x[i]; f.from == r.side && !f.request() && !r.skip(r.not, f) {
			answers = append(answers, f)
		}
	}
	take := func(p *packet.Packet, s *packet.Side, cause *captured) {
		if len(answers) == 0 {
			r.differ("%v: ours answers with %s, want nothing more", cause, text(p, &packet.Side{}))
			return
		}
		r.compare(p, s, answers[0])
		answers = answers[1:]
	}
	for i := range r.x {
		f := &r.x[i]
		if f.from == r.side || !f.request() || !f.intact || r.skip(r.dropped, f) {
			continue
		}
		var out Replies
		r.now += units.Microsecond
		r.q.ReceiveWith(r.now, &f.p, &f.s, &out)
		for k := range out.N {
			take(&out.P[k], &out.S[k], f)
		}
		r.pollAnswers(func(p *packet.Packet, s *packet.Side) { take(p, s, f) })
	}
	for _, f := range answers {
		r.differ("%v: no answer of ours, want %s", f, text(&f.p, &f.s))
	}
	r.placed()
	if r.refused() && r.q.State() != Err {
		r.differ("after a fatal NAK ours is in %v, want ERR", r.q.State())
	}
}

// pollAnswers takes the responses that are due.
func (r *replay) pollAnswers(take func(*packet.Packet, *packet.Side)) {
	var p packet.Packet
	for {
		switch reason, until := r.q.Poll(r.now, &p); reason {
		case Sent:
			take(&p, r.q.PolledSide())
		case RateLimit:
			r.now = until
		default:
			return
		}
	}
}

// placed compares memory with what the requests that the side took make of it:
// up to the last that it acknowledged, each PSN once; all of an unreliable service.
func (r *replay) placed() {
	open, inbox := bytes.Clone(r.before), []byte{}
	var taken []Completion
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

// refused says whether the side answered with a fatal NAK.
func (r *replay) refused() bool {
	for i := range r.x {
		if f := &r.x[i]; f.from == r.side && f.frame.BTH.Opcode == wire.RCAcknowledge && f.frame.AETH.IsNAK() &&
			f.frame.AETH.Syndrome != wire.SyndromePSNSequence {
			return true
		}
	}
	return false
}

// request replays the side as requester: what it was asked to do is posted, our
// requests are compared with its own as they come, the peer's answers go in.
func (r *replay) request() {
	r.connect()
	next, posted := r.q.nxt, uint32(0)
	for i := range r.x {
		f := &r.x[i]
		r.now += units.Microsecond
		switch {
		case f.from == r.side && f.request():
			if r.skip(r.not, f) {
				continue
			}
			if psnDiff(f.p.PSN, uint32(next)) == 0 && starts(f) {
				w := r.workRequest(i)
				w.ID = posted
				posted++
				if err := r.q.Post(r.now, w); err != nil {
					r.differ("%v: %v", f, err)
					return
				}
				next = r.q.cold.posted
			}
			if r.skip(r.lost, f) {
				r.poll(nil)
			}
			r.poll(f)
		case f.from != r.side && !f.request() && f.intact && !r.skip(r.dropped, f):
			var out Replies
			r.heard, r.heardAt = r.now, f.at
			r.q.ReceiveWith(r.now, &f.p, &f.s, &out)
			if out.N > 0 {
				r.differ("%v: ours answers an answer", f)
			}
		}
	}
	r.end(posted)
	want := bytes.Clone(r.local.Data)
	r.bringsBack(r.side, func(asked *captured, at int, b []byte) {
		if to, ok := r.back[asked.number]; ok {
			copy(want[to+at:], b)
		}
	})
	if have := r.local.Data; !bytes.Equal(have, want) {
		r.differ("what was read is not what the answers hold")
	}
}

// poll has our queue pair send what it has, after the timer that it waits for,
// and compares it with what was captured, if it was.
func (r *replay) poll(want *captured) {
	var p packet.Packet
	for range 4 {
		reason, until := r.q.Poll(r.now, &p)
		switch reason {
		case Sent:
			if want != nil {
				r.compare(&p, r.q.PolledSide(), want)
			}
			return
		case RNRWait:
			if waited := want.at - r.heardAt; waited < until-r.heard {
				r.differ("%v comes %v ps after the RNR NAK, ours %v", want, waited, until-r.heard)
			}
			r.now = until
		case RateLimit:
			r.now = until
		case Idle:
			until = r.q.Deadline()
			if until == units.Never {
				r.differ("%v: ours has nothing to send, want %s", want, text(&want.p, &want.s))
				return
			}
			r.now = max(r.now, until)
			r.q.Expire(r.now)
		default:
			r.differ("%v: ours sends nothing (%v), want %s", want, reason, text(&want.p, &want.s))
			return
		}
	}
	r.differ("%v: ours never sends", want)
}

// end compares the completions: all succeed but the last, which has the part's
// status, and those that stay open.
func (r *replay) end(posted uint32) {
	var p packet.Packet
	if reason, _ := r.q.Poll(r.now, &p); reason == Sent {
		r.differ("at the end: ours sends %s, want nothing", text(&p, &packet.Side{}))
	}
	for r.q.service != RC && r.q.Deadline() != units.Never { // the last bits leave
		r.now = r.q.Deadline()
		r.q.Expire(r.now)
	}
	if r.part.expire {
		r.now = r.q.Deadline()
		r.q.Expire(r.now)
	}
	want := int(posted) - r.part.open
	if r.part.status != Success && r.q.State() != Err {
		r.differ("ours ends in %v, want ERR", r.q.State())
	}
	if len(r.cq.Entries) != want {
		r.differ("%d completions, want %d", len(r.cq.Entries), want)
		return
	}
	for i, e := range r.cq.Entries {
		status := Success
		if i == want-1 {
			status = r.part.status
		}
		if e.ID != uint32(i) || e.Status != status {
			r.differ("completion %d: work request %d, %v; want %v", i, e.ID, e.Status, status)
		}
	}
}

// starts says whether a request begins a message.
func starts(f *captured) bool { return f.flags()&opFirst != 0 }

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

// run replays a side in one role and returns how many packets were compared and
// what differs.
func (x exchange) replay(side, mtu int, preset string, role role, p part) (compared int, diffs []string) {
	r := &replay{back: map[int]int{}, x: x, side: side, mtu: mtu, preset: preset, part: p, exceptions: p.except[role]}
	if role == requester {
		r.request()
	} else {
		r.respond()
	}
	if n := r.count(); r.used != n {
		r.differ("%d exceptions met, want %d", r.used, n)
	}
	return r.sent, r.diffs
}

// role is what our queue pair plays.
type role int

const (
	responder role = iota
	requester
)

func (r role) String() string { return [...]string{"responder", "requester"}[r] }

// has says whether the side plays the role in the exchange.
func (x exchange) has(side int, role role) bool {
	for i := range x {
		f := &x[i]
		if f.request() && (f.from == side) == (role == requester) {
			return true
		}
	}
	return false
}
