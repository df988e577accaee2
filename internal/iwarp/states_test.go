package iwarp

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// tables reads the tables of docs/models/iwarp.md: by first header cell, row name -> column name -> cell.
func tables(t *testing.T) map[string]map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/models/iwarp.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]map[string]string{}
	var header []string
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "|") {
			header = nil
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case header == nil:
			header = cells
			all[header[0]] = map[string]map[string]string{}
		case !strings.HasPrefix(cells[0], "-"):
			row := map[string]string{}
			for i, c := range cells[1:] {
				row[header[i+1]] = c
			}
			all[header[0]][cells[0]] = row
		}
	}
	return all
}

// TestTransitions: every row of the table of transitions names exactly the states that legal allows, and to refuses
// the rest.
func TestTransitions(t *testing.T) {
	table := tables(t)["from"]
	for from := range numStates {
		var want []string
		for to := range numStates {
			if legal(from, to) {
				want = append(want, to.String())
			}
			if got := changesTo(&QP{state: from}, to); got != legal(from, to) {
				t.Errorf("%s to %s: changed %v", from, to, got)
			}
		}
		said := strings.Join(want, ", ")
		if said == "" {
			said = "-"
		}
		if got := table[from.String()]["to"]; got != said {
			t.Errorf("%s: the page says %q, want %q", from, got, said)
		}
	}
}

func changesTo(q *QP, s State) (ok bool) {
	defer func() { recover() }()
	q.to(s)
	return q.state == s
}

// inState returns a bed whose end 0 is in state s, by real exchanges, with one SEND posted that no acknowledgement has
// come for; nothing is on the wire. Its peer gives nothing but what events say.
func inState(t *testing.T, s State) *bed {
	c := mustPreset(t, "offload")
	c.PeerToPeer = false
	x := newBed(t, c, c, free, true)
	passive := s == AwaitRequest || s == AwaitFirst
	if passive { // end 0 is the one that listens
		x.q[0].Connect(&x.setup[0], x.owner(0), &Spec{Config: &x.cfg[0], Segment: packet.Packet{Conn: 7}, ISS: iss[0]}, 0)
		x.q[1].Connect(&x.setup[1], x.owner(1), &Spec{Config: &x.cfg[1], Segment: packet.Packet{Conn: 7}, ISS: iss[1], Active: true}, 0)
	} else if s != Idle {
		x.connect(false)
	}
	if s == Idle {
		return x
	}
	if s == AwaitRequest { // the end of the handshake without the request behind it
		x.touch = func(i int, s *segment) (int, units.Time) {
			s.p.Payload, s.hasSide = 0, false
			return 1, 0
		}
	}
	x.post(0, rdma.Send, 0, 10, nil)
	for x.poll(); x.q[0].State() != s; {
		if s == Terminating || s == Ended {
			if x.q[0].State() == Operating {
				break
			}
		}
		if !x.step() {
			t.Fatalf("stuck in %s, want %s", x.q[0].State(), s)
		}
	}
	x.flight = nil
	switch s {
	case Terminating:
		events["bad FPDU"](x)
	case Ended:
		x.q[0].Close(x.now)
	}
	x.pollOne(0)
	x.flight, x.touch = nil, nil
	x.cq[0].Clear()
	return x
}

// events are what happens to a stream in each state.
var events = map[string]func(x *bed){
	"post": func(x *bed) {
		if x.q[0].State() != Idle { // not connected: there is no queue pair
			x.post(0, rdma.Write, 0, 10, nil)
		}
	},
	"connected": func(x *bed) { // a SYN-ACK
		var p packet.Packet
		h := wire.TCP{Flags: tcp.SYN | tcp.ACK, Seq: iss[1], Ack: iss[0] + 1, Window: 30000, Options: wire.TCPOptions{MSS: 1460}}
		tcp.SetHeader(&p, nil, &h, 0)
		x.q[0].Receive(x.now, &p, nil)
	},
	"request": func(x *bed) { x.say((&wire.MPAFrame{CRC: true, Revision: 1}).Append(nil)) },
	"reply": func(x *bed) {
		x.say((&wire.MPAFrame{Reply: true, CRC: true, Revision: 2, Enhanced: true, IRD: 4}).Append(nil))
	},
	"rejecting reply": func(x *bed) {
		x.say((&wire.MPAFrame{Reply: true, Reject: true, CRC: true, Revision: 2, Enhanced: true}).Append(nil))
	},
	"FPDU":     func(x *bed) { x.sayFPDU(x.keys[0].open) },
	"bad FPDU": func(x *bed) { x.sayFPDU(12345) },
	"damaged FPDU": func(x *bed) {
		b := x.fpduBytes(x.keys[0].open)
		b[len(b)-6] ^= 1
		x.say(b)
	},
	"Terminate": func(x *bed) {
		d := wire.DDP{Last: true, Opcode: wire.RDMAPTerminate, QN: wire.QNTerminate, MSN: 1}
		term := wire.Terminate{Code: wire.TermSTag}
		x.say(wire.Framing{CRC: true}.Append(nil, 0, d.Append(nil), term.Append(nil)))
	},
	"FIN":   func(x *bed) { x.forge(tcp.ACK|tcp.FIN, nil) },
	"RST":   func(x *bed) { x.forge(tcp.RST, nil) },
	"close": func(x *bed) { x.q[0].Close(x.now) },
	"timer": func(x *bed) {
		if d := x.q[0].startAt; d != units.Never && x.q[0].State() != Idle {
			x.now = d
			x.q[0].Expire(d)
		}
	},
}

func (x *bed) fpduBytes(key uint32) []byte {
	d := wire.DDP{Tagged: true, Last: true, Opcode: wire.RDMAPWrite, STag: key, TO: bedBase}
	return wire.Framing{CRC: true}.Append(nil, 0, d.Append(nil), make([]byte, 20))
}

func (x *bed) sayFPDU(key uint32) { x.say(x.fpduBytes(key)) }

// say hands end 0 bytes behind all that its peer has said.
func (x *bed) say(b []byte) { x.forge(tcp.ACK|tcp.PSH, b) }

func (x *bed) forge(flags uint8, b []byte) {
	q := &x.q[0]
	var p packet.Packet
	h := wire.TCP{Flags: flags, Seq: iss[1] + 1 + uint32(q.conn.InOrder()), Ack: uint32(int64(iss[0]) + 1), Window: 30000}
	tcp.SetHeader(&p, nil, &h, len(b))
	if b == nil {
		q.Receive(x.now, &p, nil)
		return
	}
	q.Receive(x.now, &p, &packet.Side{Data: b})
}

// outcome is the state that end 0 is in then, if it is another, how requests ended, and what it sends beside
// acknowledgements.
func outcome(x *bed, before State) string {
	var out []string
	if s := x.q[0].State(); s != before {
		out = append(out, s.String())
	}
	if len(x.cq[0].Entries) > 0 {
		all := x.statuses(0)
		if slices.ContainsFunc(all, func(s rdma.Status) bool { return s != rdma.WRFlush }) {
			out = append(out, "completes")
		} else {
			out = append(out, "flushes")
		}
	}
	if x.q[0].Taken() > 0 {
		out = append(out, "delivers")
	}
	x.flight = nil
	x.pollOne(0)
	for _, s := range x.flight {
		var what string
		if s.side.Data != nil {
			if f, _, err := wire.ParseMPA(s.side.Data); err == nil {
				what = map[bool]string{false: "request", true: "reply"}[f.Reply]
			} else if d, _, ok := x.fpdu(&s); ok {
				what = map[uint8]string{wire.RDMAPTerminate: "Terminate", wire.RDMAPSend: "SEND", wire.RDMAPWrite: "WRITE"}[d.Opcode]
			}
		}
		for k, n := range []string{"FIN", "SYN", "RST"} {
			if s.p.Opcode&(1<<k) != 0 {
				what = strings.TrimPrefix(what+"-"+n, "-")
			}
		}
		if what != "" {
			out = append(out, what)
		}
	}
	if out == nil {
		return "-"
	}
	return strings.Join(out, "; ")
}

// TestStateEvents: every (state, event) cell of docs/models/iwarp.md.
func TestStateEvents(t *testing.T) {
	table := tables(t)[`state \ event`]
	cells := 0
	for s := range numStates {
		row := table[s.String()]
		for event, do := range events {
			x := inState(t, s)
			if s == Idle {
				x.q[0].conn.Init(&x.cfg[0].TCP, packet.Packet{})
			}
			do(x)
			if got, want := outcome(x, s), row[event]; got != want {
				t.Errorf("%s, %s: %s, the page says %q", s, event, got, want)
			}
			cells++
		}
	}
	if cells != int(numStates)*len(events) || len(table) != int(numStates) {
		t.Errorf("%d cells, %d rows", cells, len(table))
	}
}
