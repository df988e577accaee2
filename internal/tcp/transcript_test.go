package tcp

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/transcript"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

var update = flag.Bool("update", false, "write testdata/*.txt again from what the endpoints do; commit only what you understand")

// TestTranscripts runs testdata/*.txt (package transcript); -update writes them
// again. NAME is A or B, N the number a
// segment got when it was sent, LIST numbers with commas.
//
//	endpoints [KEY=VALUE...]     a new case: A and B, closed; A.KEY sets one side only (transcriptKeys)
//	connected RTT [KEY=VALUE...] the same, with the handshake done and that round trip measured
//	open NAME, listen NAME, close NAME, abort NAME, nodelay NAME
//	write NAME BYTES, read NAME BYTES
//	send NAME [COUNT]            send what may be sent, or that many segments
//	deliver NAME [...]           hand over what is on the wire to NAME, which then sends what it may:
//	    only=LIST                these; the rest stays on the wire
//	    order=LIST               these first, in this order
//	    drop=LIST twice=LIST ce=LIST   lost, delivered twice, CE-marked on the way
//	settle                       send and deliver all, both ways, until only timers are left
//	forge NAME KEY=VALUE...      hand NAME a segment that its peer never sent (forgeKeys)
//	wait TIME                    let time pass; no timer may be due
//	advance TIME                 let time pass and the timers run
//	expire NAME                  let time pass until the next timer of NAME
//	state NAME                   states, windows and counters
//
// Output: a segment per line with its number, sender and receiver, sequence numbers
// from the initial one, acknowledgement, window in bytes and options; changes of
// states; events.
func TestTranscripts(t *testing.T) {
	transcript.Run(t, *update, func(t *testing.T) transcript.World { return &transcriptWorld{t: t} })
}

// transcriptWorld is the endpoints of one case and what is on the wire.
type transcriptWorld struct {
	t     *testing.T
	where string
	out   []string
	quiet bool
	now   units.Time
	ends  [2]transcriptEnd
	wire  []wireSegment
	n     int
}

type transcriptEnd struct {
	Conn
	name string
	cfg  Config
	iss  uint32
	seen string
}

// wireSegment is a segment on its way to endpoint to.
type wireSegment struct {
	n, to int
	p     packet.Packet
	side  packet.Side
	has   bool
}

// Do implements transcript.World.
func (x *transcriptWorld) Do(where, line string) []string {
	x.where, x.out = where, nil
	x.do(line)
	return x.out
}

func (x *transcriptWorld) do(line string) {
	f := strings.Fields(line)
	args := f[1:]
	switch f[0] {
	case "endpoints":
		x.endpoints(args)
		return
	case "connected":
		x.connected(args)
		return
	case "settle":
		x.settle()
		return
	case "wait":
		x.wait(x.time(args[0]))
		return
	case "advance":
		x.advance(x.now + x.time(args[0]))
		return
	}
	i := x.end(args[0])
	e := &x.ends[i]
	args = args[1:]
	switch f[0] {
	case "open":
		e.Open(x.now, e.iss)
	case "listen":
		e.Listen()
	case "close":
		e.Close()
	case "abort":
		e.Abort()
	case "nodelay":
		e.SetNoDelay(true)
	case "write":
		x.printf("took %d B", e.Write(x.now, x.number(args[0])))
	case "read":
		x.printf("got %d B", e.Read(x.now, x.number(args[0])))
	case "send":
		x.send(i, args)
	case "deliver":
		x.deliver(i, args)
	case "forge":
		x.forge(i, args)
	case "expire":
		x.expire(i)
	case "state":
		x.state(i)
	default:
		x.t.Fatalf("%s: unknown command %s", x.where, f[0])
	}
	x.changes(i)
}

func (x *transcriptWorld) printf(format string, args ...any) {
	if !x.quiet {
		x.out = append(x.out, "  "+strings.TrimRight(fmt.Sprintf(format, args...), " "))
	}
}

func (x *transcriptWorld) number(s string) int64 {
	x.t.Helper()
	var n int64
	if _, err := fmt.Sscan(s, &n); err != nil {
		x.t.Fatalf("%s: %s is no number", x.where, s)
	}
	return n
}

func (x *transcriptWorld) time(s string) units.Time {
	x.t.Helper()
	d, err := units.ParseTime(s)
	if err != nil {
		x.t.Fatalf("%s: %v", x.where, err)
	}
	return d
}

func (x *transcriptWorld) end(name string) int {
	i := slices.Index([]string{"A", "B"}, name)
	if i < 0 {
		x.t.Fatalf("%s: no endpoint %s", x.where, name)
	}
	return i
}

// endpoints makes A and B: preset linux, an MSS of 1000 bytes after options, no
// segmentation offload, no quick ACKs, for a growing window either; initial sequence numbers close to wrapping.
func (x *transcriptWorld) endpoints(args []string) {
	*x = transcriptWorld{t: x.t, where: x.where}
	for i := range x.ends {
		e := &x.ends[i]
		e.name, e.iss = string(rune('A'+i)), []uint32{1<<32 - 1500, 1<<32 - 20}[i]
		e.cfg = mustPreset(x.t, "linux")
		e.cfg.MSS, e.cfg.TSO, e.cfg.QuickAcks, e.cfg.AckOnGrowth = 1012, 0, 0, false
		for _, arg := range args {
			key, value, _ := strings.Cut(arg, "=")
			if who, rest, ok := strings.Cut(key, "."); ok {
				if who != e.name {
					continue
				}
				key = rest
			}
			set, ok := transcriptKeys[key]
			if !ok {
				x.t.Fatalf("%s: unknown key %s", x.where, key)
			}
			set(x, &e.cfg, value)
		}
		if err := e.cfg.Validate(); err != nil {
			x.t.Fatalf("%s: %v", x.where, err)
		}
		e.Init(&e.cfg, packet.Packet{})
	}
	for i := range x.ends {
		x.changes(i)
	}
	x.out = nil
}

// connected does the handshake, each way half the round trip.
func (x *transcriptWorld) connected(args []string) {
	x.endpoints(args[1:])
	rtt := x.time(args[0])
	x.quiet = true
	x.ends[1].Listen()
	x.ends[0].Open(x.now, x.ends[0].iss)
	x.send(0, nil)
	for _, i := range []int{1, 0, 1} {
		x.now += rtt / 2
		x.deliver(i, nil)
	}
	for i := range x.ends {
		x.changes(i)
		x.ends[i].TakeEvents()
	}
	x.quiet, x.n = false, 0
}

// send polls an endpoint until it sends no more, or max segments are out.
func (x *transcriptWorld) send(i int, limit []string) {
	left := int64(-1)
	if len(limit) > 0 {
		left = x.number(limit[0])
	}
	e := &x.ends[i]
	for left != 0 {
		var p packet.Packet
		reason, until := e.Poll(x.now, &p)
		if reason != Sent {
			x.changes(i)
			if reason == Pacing {
				x.printf("%s: %s until %s", e.name, reason, until)
			} else if reason != Idle {
				x.printf("%s: %s", e.name, reason)
			}
			return
		}
		x.n++
		w := wireSegment{n: x.n, to: 1 - i, p: p}
		if s := e.PolledSide(); s != nil {
			w.side, w.has = *s, true
		}
		x.wire = append(x.wire, w)
		x.printf("%s", x.text(&w))
		left--
	}
}

// deliver hands segments on the wire over to endpoint i.
func (x *transcriptWorld) deliver(i int, args []string) {
	lists := map[string][]int{}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		if !slices.Contains([]string{"only", "order", "drop", "twice", "ce"}, key) {
			x.t.Fatalf("%s: unknown key %s", x.where, key)
		}
		for _, n := range strings.Split(value, ",") {
			lists[key] = append(lists[key], int(x.number(n)))
		}
	}
	batch := x.takeOff(i, lists["only"], lists["order"])
	for key, list := range lists {
		for _, n := range list {
			if !slices.ContainsFunc(batch, func(w wireSegment) bool { return w.n == n }) {
				x.t.Fatalf("%s: %s: segment %d is not on the wire to %s", x.where, key, n, x.ends[i].name)
			}
		}
	}
	for _, w := range batch {
		if slices.Contains(lists["drop"], w.n) {
			x.printf("%d lost", w.n)
			continue
		}
		if slices.Contains(lists["ce"], w.n) {
			w.p.ECN = packet.CE
		}
		x.arrive(w)
		if slices.Contains(lists["twice"], w.n) {
			x.arrive(w)
		}
	}
}

// takeOff takes the segments to endpoint i off the wire: all or only some, those
// of order first.
func (x *transcriptWorld) takeOff(i int, only, order []int) (batch []wireSegment) {
	var rest []wireSegment
	for _, w := range x.wire {
		if w.to != i || only != nil && !slices.Contains(only, w.n) {
			rest = append(rest, w)
		} else {
			batch = append(batch, w)
		}
	}
	x.wire = rest
	place := func(w wireSegment) int {
		if k := slices.Index(order, w.n); k >= 0 {
			return k
		}
		return len(order)
	}
	slices.SortStableFunc(batch, func(a, b wireSegment) int { return place(a) - place(b) })
	return batch
}

func (x *transcriptWorld) arrive(w wireSegment) {
	e := &x.ends[w.to]
	x.printf("%s receives %d", e.name, w.n)
	x.receive(w)
}

func (x *transcriptWorld) receive(w wireSegment) {
	e := &x.ends[w.to]
	before := e.counters
	var side *packet.Side
	if w.has {
		side = &w.side
	}
	e.Receive(x.now, &w.p, side, e.iss)
	if d := e.counters.Delivered - before.Delivered; d > 0 {
		x.printf("  %s has %d B more", e.name, d)
	}
	if e.counters.Discarded > before.Discarded {
		x.printf("  %s discards it", e.name)
	}
	x.changes(w.to)
	x.sendQuietly(w.to)
}

func (x *transcriptWorld) settle() {
	for before := -1; before != len(x.out); {
		before = len(x.out)
		for i := range x.ends {
			x.sendQuietly(i)
		}
		for i := range x.ends {
			x.deliver(i, nil)
		}
	}
}

// sendQuietly is send without the line that says why it ended.
func (x *transcriptWorld) sendQuietly(i int) {
	x.send(i, nil)
	if n := len(x.out); n > 0 && !x.quiet && strings.HasPrefix(x.out[n-1], "  "+x.ends[i].name+": ") {
		x.out = x.out[:n-1]
	}
}

// forge hands endpoint i a segment: without keys, an ACK that fits.
func (x *transcriptWorld) forge(i int, args []string) {
	e := &x.ends[i]
	h := wire.TCP{Flags: ACK, Seq: uint32(e.rcvNxt), Ack: uint32(e.una), Window: 1000}
	if e.tsOK {
		h.Options.HasTimestamps, h.Options.TSVal, h.Options.TSEcr = true, e.tsNow(x.now), e.tsNow(x.now)
	}
	payload := 0
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "flags":
			h.Flags = 0
			for _, name := range strings.Split(value, ",") {
				h.Flags |= 1 << slices.Index(flagNames, name)
			}
		case "seq":
			h.Seq = uint32(e.irs) + uint32(x.number(value))
		case "ack":
			h.Ack = uint32(e.iss) + uint32(x.number(value))
		case "tsval":
			h.Options.TSVal = uint32(x.number(value))
		case "bytes":
			payload = int(x.number(value))
		default:
			x.t.Fatalf("%s: unknown key %s", x.where, key)
		}
	}
	w := wireSegment{to: i}
	SetHeader(&w.p, nil, &h, payload)
	x.printf("%s", x.text(&w))
	x.receive(w)
}

func (x *transcriptWorld) wait(d units.Time) {
	x.now += d
	for i := range x.ends {
		if at := x.ends[i].Deadline(); at <= x.now {
			x.t.Fatalf("%s: a timer of %s is due at %s", x.where, x.ends[i].name, at)
		}
	}
}

// advance runs the timers due up to and including end, in order.
func (x *transcriptWorld) advance(end units.Time) {
	for {
		i := 0
		if x.ends[1].Deadline() < x.ends[0].Deadline() {
			i = 1
		}
		if x.ends[i].Deadline() > end {
			x.now = end
			return
		}
		x.expire(i)
	}
}

func (x *transcriptWorld) expire(i int) {
	e := &x.ends[i]
	at := e.Deadline()
	if at == units.Never {
		x.printf("%s has no timer running", e.name)
		return
	}
	x.now = max(x.now, at)
	what := e.timer.String()
	if e.delackAt <= x.now {
		what = "delayed ACK"
	}
	x.printf("%s timer (%s) at %s", e.name, what, x.now)
	e.Expire(x.now)
	x.changes(i)
	x.sendQuietly(i)
}

func (x *transcriptWorld) state(i int) {
	e := &x.ends[i]
	in := e.Info()
	k := e.Counters()
	x.printf("%s at %s: %s, %s, cwnd %d, in flight %d, unacknowledged %d, unsent %d, srtt %s, rto %s", e.name, x.now, e.Conn.state, e.ca,
		in.Cwnd, in.InFlight, e.nxt-e.una, e.Unsent(), in.SRTT, in.RTO)
	x.printf("  sent %d, again %d, probes %d, tail loss probes %d; received %d, duplicate %d, ahead %d, discarded %d", k.SentSegments, k.Retransmitted,
		k.Probes, k.TLPs, k.Received, k.Duplicates, k.OutOfOrder, k.Discarded)
	if e.cfg.Recovery == RACK && e.rack.reordered || e.rack.mult > 1 {
		x.printf("  reordering window %s", e.reoWindow())
	}
	if e.cfg.ECN == ECNDCTCP {
		x.printf("  alpha %.4f", float64(e.Alpha())/(1<<20))
	}
}

// changes prints what is new about endpoint i.
func (x *transcriptWorld) changes(i int) {
	e := &x.ends[i]
	if s := e.Conn.state.String() + ", " + e.ca.String(); s != e.seen {
		was, is := strings.Split(e.seen+", , ", ", "), strings.Split(s, ", ")
		for k := range is {
			if is[k] != was[k] {
				x.printf("  %s %s -> %s", e.name, was[k], is[k])
			}
		}
		e.seen = s
	}
	events := e.TakeEvents()
	for k, name := range []string{"connected", "readable", "writable", "peer closed", "finished", "reset", "timed out"} {
		if events&(1<<k) != 0 {
			x.printf("  %s: %s", e.name, name)
		}
	}
}
