package rdma

import (
	"os"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// tables reads the tables of docs/models/rc.md: for each, by its first header
// cell, row name -> column name -> cell.
func tables(t *testing.T) map[string]map[string]map[string]string { return tablesOf(t, "rc.md") }

// tablesOf reads those of another page.
func tablesOf(t *testing.T, page string) map[string]map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/models/" + page)
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

// TestTransitions: every (from, to) cell of docs/models/rc.md.
func TestTransitions(t *testing.T) {
	table := tables(t)[`from \ to`]
	cells := 0
	for from := range numStates {
		for to := range numStates {
			l := newLoop(t, mustPreset(t, "nic"), attrs(), attrs())
			q := &l.qp[0]
			q.state = from
			got := "no"
			if q.Modify(to, 0) == nil {
				got = "yes"
			}
			if want := table[from.String()][to.String()]; got != want {
				t.Errorf("%s to %s: %s, the page says %q", from, to, got, want)
			}
			if after := q.State(); got == "no" && after != from || got == "yes" && after != to {
				t.Errorf("%s to %s: now %s", from, to, after)
			}
			cells++
		}
	}
	if cells != 49 || len(table) != 7 {
		t.Errorf("%d cells, %d rows", cells, len(table))
	}
}

// enter returns a loop whose queue pair 0 is in state s, in RTS and SQD with
// one of three packets of the first message sent and a second message waiting.
func enter(t *testing.T, s State) *loop {
	cfg := mustPreset(t, "nic")
	cfg.CC = dcqcn(t, "paper")
	l := newLoop(t, cfg, attrs(), attrs())
	q := &l.qp[0]
	if s == RTS || s == SQD {
		l.post(0, WorkRequest{ID: 1, Bytes: 3 * 4096})
		l.post(0, WorkRequest{ID: 2, Bytes: 4096})
		if r, at := q.Poll(0, new(packet.Packet)); r != Sent {
			t.Fatal(r)
		} else {
			l.now = at
		}
	}
	if s == SQD {
		q.mustModify(SQD, 0)
	}
	q.state = s // those Modify does not reach from RTS
	return l
}

// TestStateEvents: every (state, event) cell of docs/models/rc.md.
func TestStateEvents(t *testing.T) {
	table := tables(t)[`state \ event`]
	observe := map[string]func(*testing.T, *loop) string{
		"post":        observePost,
		"poll":        observePoll,
		"request":     observeRequest,
		"READ":        observeRead,
		"bad request": observeBadRequest,
		"ACK":         observeAck,
		"responses":   observeResponses,
		"fatal NAK":   observeFatal,
		"CNP":         observeCNP,
		"timeout":     observeTimeout,
	}
	for s := range numStates {
		row := table[s.String()]
		if len(row) != len(observe) {
			t.Fatalf("%s: %d cells, want %d", s, len(row), len(observe))
		}
		for event, want := range row {
			if got := observe[event](t, enter(t, s)); got != want {
				t.Errorf("%s, %s: %s, the page says %q", s, event, got, want)
			}
		}
	}
}

func observePost(t *testing.T, l *loop) string {
	q := &l.qp[0]
	open := q.Open()
	if err := q.Post(l.now, WorkRequest{ID: 5}); err != nil {
		return "error"
	}
	if n := len(l.cq[0].Entries); n > 0 && l.cq[0].Entries[n-1] == (Completion{ID: 5, Conn: 7, Status: WRFlush, Time: l.now}) {
		return "flushed"
	}
	if q.Open() == open+1 {
		return "queued"
	}
	return "lost"
}

func observePoll(t *testing.T, l *loop) string {
	q := &l.qp[0]
	n := 0
	for {
		r, at := q.Poll(l.now, new(packet.Packet))
		switch {
		case r == Sent:
			n++
			l.now = at
			continue
		case r == InError:
			return "error"
		case r == Idle && n == 3: // the rest of both messages
			return "sends"
		case r == Idle && n == 2 && q.State() == SQD:
			if q.mustModify(RTS, l.now); q.ReadyAt() == units.Never {
				return "finishes started and never resumes"
			}
			return "finishes started"
		}
		return r.String()
	}
}

func observeRequest(t *testing.T, l *loop) string {
	var out Replies
	l.qp[0].Receive(l.now, &packet.Packet{Opcode: OpSendOnly, Payload: 10, Flags: packet.AckReq}, &out)
	switch {
	case out.N == 1 && out.P[0].Kind == packet.Ack && l.qp[0].Delivered() == 10:
		return "answered"
	case out.N == 0 && l.qp[0].Delivered() == 0 && l.qp[0].Counters().Discarded == 1:
		return "ignored"
	}
	return "strange"
}

func observeRead(t *testing.T, l *loop) string {
	q := &l.qp[0]
	discarded := q.Counters().Discarded
	q.Receive(l.now, &packet.Packet{Opcode: OpReadRequest, VA: base, RKey: rkey, DMALen: 10, Flags: packet.AckReq}, new(Replies))
	var p packet.Packet
	l.now += us
	switch r, _ := q.Poll(l.now, &p); {
	case r == Sent && p.Opcode == OpReadRespOnly && p.Payload == 10 && p.PSN == 0:
		return "answered"
	case p.Kind != packet.Response && q.Counters().Discarded == discarded+1:
		return "ignored"
	}
	return "strange"
}

// observeResponses: as enter, but the message sent in part is a READ.
func observeResponses(t *testing.T, l *loop) string {
	s := l.qp[0].state
	l = newLoop(t, mustPreset(t, "nic"), attrs(), attrs())
	q := &l.qp[0]
	l.post(0, WorkRequest{ID: 1, Verb: Read, Bytes: 2 * 4096})
	l.poll1()
	q.state = s
	q.Receive(l.now, &packet.Packet{Kind: packet.Response, Opcode: OpReadRespFirst, Payload: 4096}, new(Replies))
	q.Receive(l.now, &packet.Packet{Kind: packet.Response, Opcode: OpReadRespLast, PSN: 1, Payload: 4096}, new(Replies))
	switch got := l.statuses(0); {
	case len(got) == 1 && got[0] == Success && q.ReadBytes() == 2*4096:
		return "completes"
	case len(got) == 0 && q.ReadBytes() == 0 && q.Counters().Discarded == 2:
		return "ignored"
	}
	return "strange"
}

func observeBadRequest(t *testing.T, l *loop) string {
	before := l.qp[0].State()
	var out Replies
	l.qp[0].Receive(l.now, &packet.Packet{Opcode: OpSendLast, Payload: 10, Flags: packet.AckReq}, &out)
	switch after := l.qp[0].State(); {
	case out.N == 1 && out.P[0].AETH>>24 == uint32(SynNAKInv) && after == Err:
		return "NAK, to ERR"
	case out.N == 0 && after == before:
		return "ignored"
	}
	return "strange"
}

func (l *loop) ack(syndrome uint8, psn uint32) {
	l.qp[0].Receive(l.now, &packet.Packet{Kind: packet.Ack, Opcode: OpAck, PSN: psn, AETH: uint32(syndrome) << 24}, new(Replies))
}

func observeAck(t *testing.T, l *loop) string {
	l.qp[0].Poll(l.now, new(packet.Packet))
	l.now += 1000 * units.Nanosecond
	l.qp[0].Poll(l.now, new(packet.Packet))
	l.ack(SynACK, 2)
	if len(l.statuses(0)) == 1 && l.statuses(0)[0] == Success && l.qp[0].Open() == 1 {
		return "completes"
	}
	if l.qp[0].Counters().Discarded == 1 && len(l.statuses(0)) == 0 {
		return "ignored"
	}
	return "strange"
}

func observeFatal(t *testing.T, l *loop) string {
	before := l.qp[0].State()
	l.ack(SynNAKOp, 0)
	s := l.statuses(0)
	switch after := l.qp[0].State(); {
	case after == before && len(s) == 0:
		return "ignored"
	case after == Err && len(s) == 2 && s[0] == RemOp && s[1] == WRFlush:
		return "to ERR"
	}
	return "strange"
}

func observeCNP(t *testing.T, l *loop) string {
	q := &l.qp[0]
	q.Receive(l.now, &packet.Packet{Kind: packet.CNP, Opcode: OpCNP}, new(Replies))
	switch c := q.Counters(); {
	case c.CNPsReceived == 1 && q.CC().Cuts.Count == 1:
		return "slows"
	case c.Discarded == 1 && q.CC().Cuts.Count == 0:
		return "ignored"
	}
	return "strange"
}

func observeTimeout(t *testing.T, l *loop) string {
	q := &l.qp[0]
	at := q.Deadline()
	if at == units.Never {
		return "none"
	}
	if at != TimeoutCode(14) {
		return "at another time"
	}
	q.Expire(at)
	var p packet.Packet
	if r, _ := q.Poll(at, &p); r == Sent && p.PSN == 0 && p.Flags&packet.Retrans != 0 {
		return "resends"
	}
	return "strange"
}

// TestRequesterStates: every cell of the requesters' tables.
func TestRequesterStates(t *testing.T) {
	requesterStates(t, "nic", `requester \ event`)
	requesterStates(t, "selective-repeat", `selective requester \ event`)
	requesterStates(t, "irn", `selective requester \ event`)
}

func requesterStates(t *testing.T, preset, page string) {
	table := tables(t)[page]
	enter := map[string]func(*loop){
		"send":     func(l *loop) {},
		"resend":   func(l *loop) { l.nak(1, span{0, 2}); l.poll1() },
		"rnr-wait": func(l *loop) { l.ack(SynRNR|12, 1) },
	}
	events := map[string]func(*loop){
		"ACK of all sent": func(l *loop) { l.ack(SynACK, 3) },
		"NAK 0x60":        func(l *loop) { l.nak(2, span{0, 1}) },
		"RNR NAK":         func(l *loop) { l.ack(SynRNR|12, 2) },
		"timeout":         func(l *loop) { l.expireBefore(l.qp[0].rtoAt) },
		"RNR timer":       func(l *loop) { l.expireBefore(l.qp[0].rnrUntil) },
	}
	cells := 0
	for state, prepare := range enter {
		for event, act := range events {
			l := newLoop(t, mustPreset(t, preset), attrs(), attrs())
			l.post(0, WorkRequest{Bytes: 10 * 4096})
			for range 4 {
				l.poll1()
			}
			prepare(l)
			if got := l.qp[0].reqState.String(); got != state {
				t.Fatalf("%s: prepared %s, got %s", preset, state, got)
			}
			act(l)
			if got, want := l.qp[0].reqState.String(), table[state][event]; got != want {
				t.Errorf("%s: %s, %s: %s, the page says %q", preset, state, event, got, want)
			}
			cells++
		}
	}
	if cells != 15 || len(table) != 3 {
		t.Errorf("%d cells, %d rows", cells, len(table))
	}
}

// nak is a sequence error NAK; go-back-N reads no ranges.
func (l *loop) nak(psn uint32, missing span) {
	g := gaps{latest: missing.from + missing.n, n: 1, r: [nakRanges]span{missing}}
	word := g.pack()
	l.qp[0].Receive(l.now, &packet.Packet{Kind: packet.Ack, Opcode: OpAck, PSN: psn, AETH: uint32(SynNAKSeq) << 24,
		DMALen: uint32(word), Payload: uint32(word >> 32)}, new(Replies))
}

func (l *loop) poll1() {
	l.t.Helper()
	r, at := l.qp[0].Poll(l.now, new(packet.Packet))
	if r != Sent {
		l.t.Fatalf("poll: %s", r)
	}
	l.now = at
}

// expireBefore runs the timers at the given time, if it is armed.
func (l *loop) expireBefore(at units.Time) {
	if at != units.Never {
		l.now = at
		l.qp[0].Expire(at)
	}
}

// TestResponderStates: every cell of the responders' tables.
func TestResponderStates(t *testing.T) {
	responderStates(t, "nic", `responder \ packet`)
	responderStates(t, "selective-repeat", `selective responder \ packet`)
	responderStates(t, "irn", `selective responder \ packet`)
}

func responderStates(t *testing.T, preset, page string) {
	table := tables(t)[page]
	send := func(q *QP, psn uint32) (out Replies) {
		q.Receive(0, &packet.Packet{Opcode: OpSendOnly, PSN: psn, Payload: 1, Flags: packet.AckReq}, &out)
		return out
	}
	enter := map[string]func(q *QP){
		"ready":    func(q *QP) {},
		"nak-sent": func(q *QP) { send(q, 7) },
		"rnr-sent": func(q *QP) {
			q.setReceives(0)
			send(q, 5)
			q.setReceives(-1)
		},
	}
	cells := 0
	for state, prepare := range enter {
		for _, event := range []string{"expected", "ahead", "duplicate", "SEND, no receive"} {
			l := newLoop(t, mustPreset(t, preset), attrs(), attrs())
			q := &l.qp[0]
			for psn := range uint32(5) {
				send(q, psn)
			}
			prepare(q)
			if got := q.rspState.String(); got != state {
				t.Fatalf("prepared %s, got %s", state, got)
			}
			psn := map[string]uint32{"expected": 5, "ahead": 9, "duplicate": 2, "SEND, no receive": 5}[event]
			if event == "SEND, no receive" {
				q.setReceives(0)
			}
			out := send(q, psn)
			got := q.rspState.String() + ", " + answer(&out)
			if want := table[state][event]; got != want {
				t.Errorf("%s: %s, %s: %s, the page says %q", preset, state, event, got, want)
			}
			if event == "duplicate" && out.P[0].PSN != 4 {
				t.Errorf("%s: duplicate answered with PSN %d, want the latest accepted", state, out.P[0].PSN)
			}
			cells++
		}
	}
	if cells != 12 || len(table) != 3 {
		t.Errorf("%d cells, %d rows", cells, len(table))
	}
}

func answer(out *Replies) string {
	if out.N == 0 {
		return "silent"
	}
	switch s := uint8(out.P[0].AETH >> 24); {
	case s == SynACK:
		return "ACK"
	case s == SynNAKSeq:
		return "NAK 0x60"
	case s == SynRNR|12:
		return "RNR NAK"
	}
	return "strange"
}

// TestReadingRequester: every cell of the tables of a requester with a READ
// outstanding.
func TestReadingRequester(t *testing.T) {
	readingRequester(t, "nic", `reading requester \ event`)
	readingRequester(t, "selective-repeat", `selective reading requester \ event`)
	readingRequester(t, "irn", `selective reading requester \ event`)
}

func readingRequester(t *testing.T, preset, page string) {
	table := tables(t)[page]
	response := func(l *loop, psn uint32) {
		p := packet.Packet{Kind: packet.Response, Opcode: OpReadRespMiddle, PSN: psn, Payload: 4096}
		if psn == 2 {
			p.Opcode = OpReadRespLast
		}
		l.qp[0].Receive(l.now, &p, new(Replies))
	}
	enter := map[string]func(*loop){
		"send":   func(l *loop) {},
		"resend": func(l *loop) { l.expireBefore(l.qp[0].rtoAt) },
	}
	events := map[string]func(*loop){
		"next response":        func(l *loop) { response(l, 1) },
		"response ahead":       func(l *loop) { response(l, 2) },
		"ACK of the WRITE":     func(l *loop) { l.ack(SynACK, 3) },
		"NAK behind the WRITE": func(l *loop) { l.nak(4, span{0, 1}) },
		"timeout":              func(l *loop) { l.expireBefore(l.qp[0].rtoAt) },
	}
	cells := 0
	for state, prepare := range enter {
		for event, act := range events {
			l := newLoop(t, mustPreset(t, preset), attrs(), attrs())
			l.post(0, WorkRequest{Verb: Read, Bytes: 3 * 4096})
			l.post(0, WorkRequest{Verb: Write, Bytes: 10})
			l.post(0, WorkRequest{Verb: Write, Bytes: 10})
			for range 3 {
				l.poll1()
			}
			response(l, 0)
			prepare(l)
			if got := l.qp[0].reqState.String(); got != state {
				t.Fatalf("%s: prepared %s, got %s", preset, state, got)
			}
			act(l)
			if got, want := l.qp[0].reqState.String(), table[state][event]; got != want {
				t.Errorf("%s: %s, %s: %s, the page says %q", preset, state, event, got, want)
			}
			if n := len(l.cq[0].Entries); n != 0 {
				t.Errorf("%s: %s, %s: %d completions before the READ is whole", preset, state, event, n)
			}
			cells++
		}
	}
	if cells != 10 || len(table) != 2 {
		t.Errorf("%d cells, %d rows", cells, len(table))
	}
}

// TestAnsweringResponder: every cell of the table of a responder with READs.
func TestAnsweringResponder(t *testing.T) {
	for _, preset := range []string{"nic", "go-back-0", "selective-repeat", "irn"} {
		answeringResponder(t, preset)
	}
}

func answeringResponder(t *testing.T, preset string) {
	table := tables(t)[`answering responder \ event`]
	ask := func(op uint8, psn, n uint32) func(l *loop) Replies {
		return func(l *loop) (out Replies) {
			p := packet.Packet{Opcode: op, PSN: psn, VA: base, RKey: rkey, DMALen: n, Flags: packet.AckReq}
			l.qp[0].ReceiveWith(l.now, &p, &packet.Side{Swap: 1}, &out)
			return out
		}
	}
	drain := func(l *loop) (out Replies) {
		for l.qp[0].Responding() {
			l.now += us
			l.qp[0].Poll(l.now, new(packet.Packet))
		}
		return out
	}
	// An atomic and a READ that are answered, and one READ that may not be.
	enter := map[string]func(*loop){
		"idle":      func(l *loop) { ask(OpReadRequest, 3, 2*4096)(l); drain(l) },
		"answering": func(l *loop) { ask(OpReadRequest, 3, 2*4096)(l); l.now += us; l.poll1() },
		"refused":   func(l *loop) { ask(OpReadRequest, 3, 2*4096)(l); l.now += us; l.poll1(); ask(OpSendLast, 5, 0)(l) },
	}
	events := map[string]func(*loop) Replies{
		"READ":             ask(OpReadRequest, 5, 10),
		"atomic":           ask(OpFetchAdd, 5, 0),
		"SEND":             ask(OpSendOnly, 5, 0),
		"bad request":      ask(OpSendLast, 5, 0),
		"duplicate READ":   ask(OpReadRequest, 1, 2*4096),
		"duplicate atomic": ask(OpFetchAdd, 0, 0),
		"all sent":         drain,
	}
	cells := 0
	for state, prepare := range enter {
		for event, act := range events {
			l := newLoop(t, mustPreset(t, preset), attrs(), attrs())
			q := &l.qp[0]
			ask(OpFetchAdd, 0, 0)(l)
			ask(OpReadRequest, 1, 2*4096)(l)
			drain(l)
			prepare(l)
			if got := answeringState(q); got != state {
				t.Fatalf("%s: prepared %s, got %s", preset, state, got)
			}
			discarded, held := q.Counters().Discarded, q.cold.answers.holding
			out := act(l)
			got := answeringState(q)
			switch {
			case out.N > 0 && out.P[0].AETH>>24 == uint32(SynACK):
				got += ", ACK"
			case out.N > 0:
				got += ", NAK"
			case q.Counters().Discarded > discarded:
				got += ", ignored"
			case q.cold.answers.holding && !held:
				got += ", held"
			}
			if want := table[state][event]; got != want {
				t.Errorf("%s: %s, %s: %s, the page says %q", preset, state, event, got, want)
			}
			cells++
		}
	}
	if cells != 21 || len(table) != 3 {
		t.Errorf("%d cells, %d rows", cells, len(table))
	}
}

func answeringState(q *QP) string {
	switch {
	case q.State() == Err:
		return "ERR"
	case !q.Responding():
		return "idle"
	case q.cold.answers.refused:
		return "refused"
	}
	return "answering"
}
