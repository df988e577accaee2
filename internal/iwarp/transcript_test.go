package iwarp

import (
	"bytes"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/transcript"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

var update = flag.Bool("update", false, "write testdata/*.txt again from what the ends do; commit only what you understand")

// TestTranscripts runs testdata/*.txt (package transcript); -update writes them again. NAME is A, which opens the
// connection, or B; N the number a segment got when it was sent, LIST numbers with commas.
//
//	start [KEY=VALUE...]     a new case: both closed, then A opens; A.KEY sets one side only (transcriptKeys)
//	ahead [KEY=VALUE...]     the same in full operation, with a round trip of 10 us measured
//	post NAME VERB BYTES [off=N] [key=bad] [to=N] [fence] [local=bad]   VERB: write, send, inv or read; from, or to,
//	                         byte off of the own region and of the peer's, or to of that
//	send NAME [COUNT]        send what may be sent, or that many segments
//	deliver NAME [...]       hand over what is on the wire to NAME, which then sends what it may:
//	    only=LIST order=LIST drop=LIST twice=LIST damage=LIST [at=N] (a bit of byte N of TCP's payload is turned)
//	settle                   send and deliver all, both ways, until only timers are left
//	say NAME HEX             hand NAME bytes in place of the peer's frame of the start-up
//	wait TIME, expire NAME, close NAME, reset NAME
//	memory NAME OFF N        what of the peer's bytes is there: from its own region, or in the inbox
//	state NAME
//
// Output: a segment per line with its number, sender and receiver, the bytes of TCP's stream that it holds, what it
// acknowledges, and what it means; completions and changes of states.
func TestTranscripts(t *testing.T) {
	transcript.Run(t, *update, func(t *testing.T) transcript.World { return &transcriptWorld{t: t} })
}

type transcriptWorld struct {
	t     *testing.T
	where string
	out   []string
	x     *bed
	wire  []segment
	n     int
	seen  [2]string
	done  [4]int
}

// transcriptKeys are what start and ahead take.
var transcriptKeys = map[string]func(c *Config, a *rdma.Attrs, n int64){
	"mss":        func(c *Config, _ *rdma.Attrs, n int64) { c.TCP.MSS = int(n) },
	"timestamps": func(c *Config, _ *rdma.Attrs, n int64) { c.TCP.Timestamps = n != 0 },
	"receive_buffer": func(c *Config, _ *rdma.Attrs, n int64) {
		c.TCP.Receive, c.TCP.FirstWindow = tcp.Buffer{Initial: n, Max: n}, n
	},
	"send_buffer":    func(c *Config, _ *rdma.Attrs, n int64) { c.TCP.Send = tcp.Buffer{Initial: n, Max: n} },
	"window":         func(c *Config, _ *rdma.Attrs, n int64) { c.TCP.CC.InitialWindow = int(n) },
	"markers":        func(c *Config, _ *rdma.Attrs, n int64) { c.Markers = n != 0 },
	"refuse_markers": func(c *Config, _ *rdma.Attrs, n int64) { c.RefuseMarkers = n != 0 },
	"crc":            func(c *Config, _ *rdma.Attrs, n int64) { c.CRC = n != 0 },
	"p2p":            func(c *Config, _ *rdma.Attrs, n int64) { c.PeerToPeer = n != 0 },
	"rev":            func(c *Config, _ *rdma.Attrs, n int64) { c.Revision, c.PeerToPeer = uint8(n), c.PeerToPeer && n > 1 },
	"timeout_ms":     func(c *Config, _ *rdma.Attrs, n int64) { c.Timeout = units.Time(n) * units.Millisecond },
	"receives":       func(_ *Config, a *rdma.Attrs, n int64) { a.Receives = n },
	"receive_size":   func(_ *Config, a *rdma.Attrs, n int64) { a.ReceiveSize = units.Bytes(n) },
	"rights":         func(_ *Config, a *rdma.Attrs, n int64) { a.Access = rdma.Access(n) },
	"ord":            func(_ *Config, a *rdma.Attrs, n int64) { a.MaxRdAtomic = uint8(n) },
	"ird":            func(_ *Config, a *rdma.Attrs, n int64) { a.MaxDestRdAtomic = uint8(n) },
}

func (w *transcriptWorld) Do(where, line string) []string {
	w.where, w.out = where, nil
	f := strings.Fields(line)
	switch f[0] {
	case "start", "ahead":
		w.begin(f[1:], f[0] == "ahead")
		return w.out
	case "settle":
		for moved := true; moved; {
			moved = false
			for i := range w.x.q {
				w.send(i, 1<<30)
				if slices.ContainsFunc(w.wire, func(s segment) bool { return s.to == i }) {
					w.deliver(i, nil)
					moved = true
				}
			}
		}
		return w.out
	case "wait":
		w.x.now += w.time(f[1])
		return w.out
	}
	i := int(f[1][0] - 'A')
	switch args := f[2:]; f[0] {
	case "post":
		w.post(i, args)
	case "send":
		n := int64(1 << 30)
		if len(args) > 0 {
			n = w.number(args[0])
		}
		w.send(i, int(n))
	case "deliver":
		w.deliver(i, args)
	case "say":
		w.say(i, args[0])
	case "expire":
		if w.x.q[i].Deadline() == units.Never {
			w.t.Fatalf("%s: no timer runs", where)
		}
		w.x.now = max(w.x.now, w.x.q[i].Deadline())
		w.printf("%s timer at %v", f[1], w.x.now)
		w.x.q[i].Expire(w.x.now)
		w.send(i, 1<<30)
	case "close":
		w.x.q[i].Close(w.x.now)
		w.send(i, 1<<30)
	case "reset":
		w.x.q[i].conn.Abort()
		w.send(i, 1<<30)
	case "memory":
		w.memory(i, int(w.number(args[0])), int(w.number(args[1])))
	case "state":
		q := &w.x.q[i]
		c := q.Counters()
		w.printf("%s: %s%s, %d open, took %d B in %d messages, read %d B; FPDUs sent %d, placed ahead %d, kept ahead %d", f[1], q.State(),
			ending(q), q.Open(), q.Taken(), q.Accepted(), q.ReadBytes(), c.FPDUs, c.PlacedAhead, c.KeptAhead)
	default:
		w.t.Fatalf("%s: unknown command %s", where, f[0])
	}
	w.changes()
	return w.out
}

func ending(q *QP) string {
	o := q.Outcome()
	switch o.End {
	case NotEnded:
		return ""
	case SentTerm, GotTerm:
		return fmt.Sprintf(" (%s: %s)", o.End, o.Term.Code)
	}
	return fmt.Sprintf(" (%s)", o.End)
}

func (w *transcriptWorld) printf(format string, args ...any) {
	w.out = append(w.out, "  "+strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (w *transcriptWorld) number(s string) int64 {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		w.t.Fatalf("%s: %v", w.where, err)
	}
	return n
}

func (w *transcriptWorld) time(s string) units.Time {
	d, err := units.ParseTime(s)
	if err != nil {
		w.t.Fatalf("%s: %v", w.where, err)
	}
	return d
}

func (w *transcriptWorld) begin(args []string, ahead bool) {
	cfg := [2]Config{mustPreset(w.t, "offload"), mustPreset(w.t, "offload")}
	attrs := [2]rdma.Attrs{free, free}
	for i := range cfg {
		cfg[i].TCP.MSS, cfg[i].TCP.Timestamps, cfg[i].PeerToPeer = 1000, false, false
	}
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		side, name, one := strings.Cut(key, ".")
		if !one {
			side, name = "AB", key
		}
		set := transcriptKeys[name]
		if set == nil {
			w.t.Fatalf("%s: unknown key %s", w.where, name)
		}
		for _, s := range side {
			set(&cfg[s-'A'], &attrs[s-'A'], w.number(value))
		}
	}
	w.x = newBed(w.t, cfg[0], cfg[1], free, true)
	for i := range attrs {
		attrs[i].Memory, attrs[i].Inbox = w.x.setup[i].Attrs.Memory, w.x.setup[i].Attrs.Inbox
		w.x.setup[i].Attrs = attrs[i]
	}
	w.x.connect(ahead)
	w.wire, w.n, w.seen, w.done = nil, 0, [2]string{}, [4]int{}
	for i := range w.seen {
		w.seen[i] = w.x.q[i].State().String()
	}
}

func (w *transcriptWorld) post(i int, args []string) {
	verb := map[string]rdma.Verb{"write": rdma.Write, "send": rdma.Send, "inv": rdma.SendInv, "read": rdma.Read}[args[0]]
	off, n := 0, int(w.number(args[1]))
	var changes []func(r *rdma.WorkRequest)
	for _, a := range args[2:] {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "off":
			off = int(w.number(value))
		case "to":
			to := uint64(w.number(value))
			changes = append(changes, func(r *rdma.WorkRequest) { r.VA = bedBase + to })
		case "key":
			changes = append(changes, func(r *rdma.WorkRequest) { r.RKey += 3; r.Imm += 3 })
		case "local":
			changes = append(changes, func(r *rdma.WorkRequest) { r.LKey += 3 })
		case "fence":
			changes = append(changes, func(r *rdma.WorkRequest) { r.Fence = true })
		}
	}
	w.x.post(i, verb, off, n, func(r *rdma.WorkRequest) {
		for _, c := range changes {
			c(r)
		}
	})
}

// send puts what end i sends on the wire.
func (w *transcriptWorld) send(i, most int) {
	q := &w.x.q[i]
	for range most {
		s := segment{to: 1 - i}
		why, _ := q.Poll(w.x.now, &s.p)
		if why != Sent {
			if why != Nothing && why != Starting && why != InError {
				w.printf("%s: %s", w.name(i), why)
			}
			break
		}
		w.n++
		s.n = w.n
		if side := q.PolledSide(); side != nil {
			s.side, s.hasSide = *side, true
			s.side.Data = slices.Clone(side.Data)
		}
		w.wire = append(w.wire, s)
		w.printf("%3d %s", s.n, w.text(&s))
	}
	w.changes()
}

func (w *transcriptWorld) name(i int) string { return string(rune('A' + i)) }

// text is one segment.
func (w *transcriptWorld) text(s *segment) string {
	i := 1 - s.to
	from, to := &w.x.q[i], &w.x.q[s.to]
	h := tcp.Header(&s.p, nil)
	text := w.name(i) + ">" + w.name(s.to)
	var flags []string
	for k, name := range []string{"FIN", "SYN", "RST"} {
		if h.Flags&(1<<k) != 0 {
			flags = append(flags, name)
		}
	}
	if s.p.Payload > 0 {
		at := from.conn.SentAt(&s.p)
		text += fmt.Sprintf("  %d:%d", at, at+int64(s.p.Payload))
	}
	if h.Flags&tcp.ACK != 0 {
		text += fmt.Sprintf("  ack %d", int64(h.Ack-to.iss)-1)
	}
	if len(flags) > 0 {
		text += "  " + strings.Join(flags, " ")
	}
	if s.p.Payload > 0 {
		text += "  " + w.meaning(from, s)
	}
	if s.p.Flags&packet.Retrans != 0 {
		text += "  again"
	}
	return text
}

// meaning is what the payload of a segment is.
func (w *transcriptWorld) meaning(from *QP, s *segment) string {
	if f, _, err := wire.ParseMPA(s.side.Data); err == nil {
		return mpaText(&f)
	}
	d, payload, ok := w.x.fpdu(s)
	if !ok {
		return fmt.Sprintf("part of an FPDU, %d B", s.p.Payload)
	}
	names := map[uint8]string{wire.RDMAPWrite: "WRITE", wire.RDMAPReadRequest: "READ request", wire.RDMAPReadResponse: "READ response",
		wire.RDMAPSend: "SEND", wire.RDMAPSendInv: "SEND with invalidate", wire.RDMAPTerminate: "Terminate"}
	text := fmt.Sprintf("%s %d B", names[d.Opcode], len(payload))
	if d.Tagged && d.STag != 0 {
		text += fmt.Sprintf(" to %#x+%d", d.STag, d.TO-bedBase)
	} else if !d.Tagged {
		text += fmt.Sprintf(" message %d from %d", d.MSN, d.MO)
	}
	if d.Last {
		text += ", last"
	}
	if r, _, err := wire.ParseReadRequest(payload); err == nil && d.Opcode == wire.RDMAPReadRequest && r.Size > 0 {
		text += fmt.Sprintf(" (%d B of %#x+%d)", r.Size, r.SourceSTag, int64(r.SourceTO)-bedBase)
	}
	if t, err := wire.ParseTerminate(payload); err == nil && d.Opcode == wire.RDMAPTerminate {
		text += " (" + t.Code.String() + ")"
	}
	if from.tx.Markers {
		plain := wire.Framing{}.Len(d.Len()+len(payload), 0)
		text += fmt.Sprintf(", %d markers", (int(s.p.Payload)-plain)/wire.MPAMarkerLen)
	}
	return text
}

func mpaText(f *wire.MPAFrame) string {
	text := "MPA request"
	if f.Reply {
		text = "MPA reply"
	}
	text += fmt.Sprintf(" rev %d", f.Revision)
	for _, x := range []struct {
		on   bool
		name string
	}{{f.Markers, "markers"}, {f.CRC, "CRC"}, {f.Reject, "reject"}, {f.PeerToPeer, "peer to peer"}} {
		if x.on {
			text += ", " + x.name
		}
	}
	if f.Enhanced {
		text += fmt.Sprintf(", IRD %d, ORD %d", f.IRD, f.ORD)
	}
	return text
}

// deliver hands over what is on the wire to end i.
func (w *transcriptWorld) deliver(i int, args []string) {
	list := map[string][]int{}
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		for _, n := range strings.Split(value, ",") {
			list[key] = append(list[key], int(w.number(n)))
		}
	}
	var now, rest []segment
	for _, s := range w.wire {
		if s.to == i && (list["only"] == nil || slices.Contains(list["only"], s.n)) {
			now = append(now, s)
		} else {
			rest = append(rest, s)
		}
	}
	w.wire = rest
	if order := list["order"]; order != nil {
		slices.SortStableFunc(now, func(a, b segment) int {
			place := func(n int) int {
				if k := slices.Index(order, n); k >= 0 {
					return k
				}
				return len(order)
			}
			return place(a.n) - place(b.n)
		})
	}
	for _, s := range now {
		if slices.Contains(list["drop"], s.n) {
			w.printf("%d lost", s.n)
			continue
		}
		if slices.Contains(list["damage"], s.n) {
			s.side.Data = slices.Clone(s.side.Data)
			at := len(s.side.Data) / 2
			if list["at"] != nil {
				at = list["at"][0]
			}
			s.side.Data[at] ^= 4
		}
		times := 1
		if slices.Contains(list["twice"], s.n) {
			times = 2
		}
		for range times {
			var side *packet.Side
			if s.hasSide {
				side = &s.side
			}
			w.printf("%s receives %d", w.name(i), s.n)
			before := w.x.q[i].Counters()
			w.x.q[i].Receive(w.x.now, &s.p, side)
			after := w.x.q[i].Counters()
			if after.PlacedAhead > before.PlacedAhead {
				w.printf("  placed ahead of what is missing")
			}
			if after.KeptAhead > before.KeptAhead {
				w.printf("  kept until its turn")
			}
			w.changes()
			w.send(i, 1<<30)
		}
	}
}

// say hands end i bytes in its peer's stream.
func (w *transcriptWorld) say(i int, text string) {
	b := []byte(text)
	from := &w.x.q[1-i]
	var p packet.Packet
	h := wire.TCP{Flags: tcp.ACK, Seq: from.iss + 1 + uint32(from.wrote), Ack: w.x.q[i].iss + 1 + uint32(w.x.q[i].wrote), Window: 1000}
	tcp.SetHeader(&p, nil, &h, len(b))
	w.x.q[i].Receive(w.x.now, &p, &packet.Side{Data: b})
	w.changes()
	w.send(i, 1<<30)
}

// memory says where bytes of the peer's are.
func (w *transcriptWorld) memory(i, off, n int) {
	x := w.x
	for _, m := range []struct {
		name       string
		have, want []byte
	}{
		{"written", x.open[i][off : off+n], x.own[1-i][off : off+n]},
		{"read", x.own[i][off : off+n], x.open[1-i][off : off+n]},
		{"in the inbox", x.inbox[i][:n], x.own[1-i][off : off+n]},
	} {
		same := 0
		for k := range m.have {
			if m.have[k] == m.want[k] {
				same++
			}
		}
		switch {
		case bytes.Equal(m.have, m.want):
			w.printf("%d bytes %s", n, m.name)
		case same > n/50+1:
			w.printf("%d of %d bytes %s", same, n, m.name)
		}
	}
}

// changes reports completions and states that are new.
func (w *transcriptWorld) changes() {
	x := w.x
	for i := range x.q {
		if s := x.q[i].State().String(); s != w.seen[i] {
			w.printf("%s %s -> %s%s", w.name(i), w.seen[i], s, ending(&x.q[i]))
			w.seen[i] = s
		}
		for k, q := range []*rdma.CompletionQueue{&x.cq[i], &x.rcq[i]} {
			for _, c := range q.Entries[w.done[2*i+k]:] {
				if c.Receive {
					w.printf("%s received %s %d: %s", w.name(i), c.Verb, c.Bytes, c.Status)
				} else {
					w.printf("%s completes %d: %s", w.name(i), c.ID, c.Status)
				}
			}
			w.done[2*i+k] = len(q.Entries)
		}
	}
}
