package tcp

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// tables reads the tables of docs/models/tcp.md: by first header cell, row name
// -> column name -> cell.
func tables(t *testing.T) map[string]map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/models/tcp.md")
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

// TestTransitions: every row of the table of transitions names exactly the states
// that legal allows, and to refuses the rest.
func TestTransitions(t *testing.T) {
	table := tables(t)["from"]
	for from := range numStates {
		var want []string
		for to := range numStates {
			if legal(from, to) {
				want = append(want, to.String())
			}
			c := Conn{state: from}
			if got := changes(&c, to); got != legal(from, to) {
				t.Errorf("%s to %s: changed %v", from, to, got)
			}
		}
		if got := table[from.String()]["to"]; got != strings.Join(want, ", ") {
			t.Errorf("%s: the page says %q, want %q", from, got, strings.Join(want, ", "))
		}
	}
}

// changes reports whether a connection may change to s, or panics.
func changes(c *Conn, s State) (ok bool) {
	defer func() { recover() }()
	c.to(s)
	return c.state == s
}

// inState returns a loop whose endpoint 0 is in state s, by real exchanges;
// nothing is on the wire, and a FIN it sent was not acknowledged unless the state
// says so.
func inState(t *testing.T, s State) *loop {
	l := newLoop(t, mustPreset(t, "linux"))
	c := &l.c[0]
	switch s {
	case Closed:
		return l
	case Listen:
		c.Listen()
		return l
	case SynSent:
		c.Open(0, iss[0])
		l.poll()
		l.flight = nil
		return l
	case SynReceived:
		c.Listen()
		l.c[1].Open(0, iss[1])
		l.poll()
		l.step()
		l.flight = nil
		return l
	}
	l.connect()
	switch s {
	case CloseWait, LastAck, Closing:
		l.c[1].Close()
		l.pollOne(1)
	}
	switch s {
	case FinWait1, FinWait2, Closing, TimeWait:
		c.Close()
		l.pollOne(0)
	}
	if s == FinWait1 {
		l.flight = nil
		return l
	}
	if s == Closing { // the FINs cross; the ACK of ours is lost
		l.flight = slices.DeleteFunc(l.flight, func(a arrival) bool { return a.to == 1 })
		l.step()
		l.flight = nil
		return l
	}
	l.run(l.now + units.Second)
	if s == LastAck {
		c.Close()
		l.pollOne(0)
	}
	if s == TimeWait {
		l.c[1].Close()
		l.pollOne(1)
		l.step()
	}
	l.flight = nil
	if c.State() != s {
		t.Fatalf("in %s, want %s", c.State(), s)
	}
	return l
}

// stateEvents are what happens to a connection in each state; segments fit unless
// their name says otherwise.
var stateEvents = map[string]func(l *loop){
	"OPEN":   func(l *loop) { l.c[0].Open(l.now, iss[0]) },
	"LISTEN": func(l *loop) { l.c[0].Listen() },
	"WRITE":  func(l *loop) { l.c[0].Write(l.now, 100) },
	"CLOSE":  func(l *loop) { l.c[0].Close() },
	"ABORT":  func(l *loop) { l.c[0].Abort() },
	"SYN": func(l *loop) {
		l.inject(wire.TCP{Flags: SYN, Window: 1000, Options: wire.TCPOptions{MSS: 1460}}, 0)
	},
	"SYN-ACK": func(l *loop) {
		l.inject(wire.TCP{Flags: SYN | ACK, Ack: uint32(l.c[0].nxt), Window: 1000, Options: wire.TCPOptions{MSS: 1460}}, 0)
	},
	"ACK":  func(l *loop) { l.inject(wire.TCP{Flags: ACK, Ack: uint32(l.c[0].nxt), Window: 1000}, 0) },
	"data": func(l *loop) { l.inject(wire.TCP{Flags: ACK, Ack: l.acked(), Window: 1000}, 2896) },
	"FIN":  func(l *loop) { l.inject(wire.TCP{Flags: ACK | FIN, Ack: l.acked(), Window: 1000}, 0) },
	"RST": func(l *loop) {
		h := wire.TCP{Flags: RST}
		if l.c[0].state == SynSent {
			h.Flags, h.Ack = RST|ACK, uint32(l.c[0].nxt)
		}
		l.inject(h, 0)
	},
	"RST beside RCV.NXT": func(l *loop) { l.inject(wire.TCP{Seq: 1, Flags: RST}, 0) },
	"timer": func(l *loop) {
		if d := l.c[0].Deadline(); d != units.Never {
			l.now = d
			l.c[0].Expire(d)
		}
	},
}

// acked acknowledges nothing new, but the SYN.
func (l *loop) acked() uint32 {
	if l.c[0].state == SynReceived {
		return uint32(l.c[0].nxt)
	}
	return uint32(l.c[0].una)
}

// inject hands a segment over to endpoint 0; h.Seq counts from RCV.NXT.
func (l *loop) inject(h wire.TCP, payload int) {
	c := &l.c[0]
	h.Seq += uint32(c.rcvNxt)
	if c.tsOK && h.Flags&SYN == 0 {
		h.Options.HasTimestamps, h.Options.TSVal = true, c.tsNow(l.now)
	}
	var p packet.Packet
	SetHeader(&p, nil, &h, payload)
	c.Receive(l.now, &p, nil, iss[0])
}

// outcome is the state that c is in then, if it is another, and what it sends.
func outcome(l *loop, before State) string {
	var out []string
	c := &l.c[0]
	after := c.state
	if after != before {
		out = append(out, after.String())
	}
	if after == Established && before == Established || after == CloseWait && before == CloseWait {
		if c.Unsent() > 0 {
			out = append(out, "queued")
		}
	}
	if c.readable() > 0 {
		out = append(out, "read")
	}
	for {
		var p packet.Packet
		if r, _ := c.Poll(l.now, &p); r != Sent {
			break
		}
		var names []string
		for i, n := range []string{"FIN", "SYN", "RST"} {
			if p.Opcode&(1<<i) != 0 {
				names = append(names, n)
			}
		}
		if p.Payload > 0 {
			names = append(names, "data")
		}
		if len(names) == 0 || names[0] == "SYN" && p.Opcode&ACK != 0 {
			names = append(names, "ACK")
		}
		out = append(out, strings.Join(names, "-"))
	}
	if out == nil {
		return "-"
	}
	return strings.Join(out, "; ")
}

// TestStateEvents: every (state, event) cell of docs/models/tcp.md.
func TestStateEvents(t *testing.T) {
	table := tables(t)[`state \ event`]
	cells := 0
	for s := range numStates {
		row := table[s.String()]
		for event, do := range stateEvents {
			l := inState(t, s)
			do(l)
			if got, want := outcome(l, s), row[event]; got != want {
				t.Errorf("%s, %s: %s, the page says %q", s, event, got, want)
			}
			cells++
		}
	}
	if cells != int(numStates)*len(stateEvents) || len(table) != int(numStates) {
		t.Errorf("%d cells, %d rows", cells, len(table))
	}
}
