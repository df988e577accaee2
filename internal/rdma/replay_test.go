package rdma

import (
	"bytes"
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
			take(&out.P[k], &packet.Side{}, f)
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
