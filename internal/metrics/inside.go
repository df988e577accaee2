package metrics

import (
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// sayInside tells of the stages that pass inside a host, "" of others; where is the
// place of the stage and q the queue pair whose data they are.
func (x *index) sayInside(f *record.Message, where string, stage catalog.Stage, q *record.QP) string {
	switch stage {
	case catalog.StageWorkFetch:
		return x.l.Of("the card had not got the work request of ") + qpActor(q)
	case catalog.StagePlace:
		return x.l.Of("the card wrote it to memory") + overLink(x.l, f, q, x.insideLimit(q, true))
	case catalog.StageCopyOut:
		return x.l.Sprintf("without GPUDirect, %s copied it out of the GPU first", q.Host)
	case catalog.StageCopyIn:
		return x.l.Sprintf("without GPUDirect, %s copied it into the GPU", where)
	}
	return ""
}

// sayRead tells what the payload of queue pair q waited for in memory. A link inside the host
// that is hardly slower than the line holds up only who shares it with others; where the receiver
// could not take much more than it got, its links are next.
func (x *index) sayRead(f *record.Message, q *record.QP, own Cause) (cause Cause, how string) {
	if taken := x.takenUp(f, q); taken != "" {
		return Cause{Kind: catalog.CauseMessages, Place: q.Place()}, taken
	}
	if l := x.stagedIn(f, q, false); l != nil {
		how = x.l.Sprintf("payload of %s was still being read from memory: %s", qpActor(q), staging(x.l, l))
		return Cause{Kind: catalog.CauseStaged, Place: q.Place()}, how
	}
	l := x.insideLimit(q, false)
	how = x.l.Of("payload of ") + qpActor(q) + x.l.Of(" was still being read from memory") + overLink(x.l, f, q, l)
	if l == nil || len(q.Limits.Path) == 0 || f.Bytes <= q.Limits.MTUBytes {
		return own, how
	}
	first, last := q.Limits.Path[0], q.Limits.Path[len(q.Limits.Path)-1]
	// What it saves to read at the line's rate, if the others stay.
	saves := mulDiv(int64(f.Life()), int64(max(q.Limits.LineBps-l.Bps, 0)), int64(max(q.Limits.LineBps, 1)))
	if n := x.beside(first.Port, q, false); n > 0 && 2*saves < int64(x.heldIn(f, catalog.StageRead)) {
		cause = x.portCause(first.Port, q)
		shared := x.sharedCard(first.Port, q)
		if shared != "" {
			cause.Why = catalog.ReasonShared
		}
		than := x.l.Of("no less than the line")
		if l.Bps < q.Limits.LineBps {
			than = x.l.Of("little less than the line")
		}
		return cause, x.l.Sprintf("%s, %s, which it shares with %s%s", how, than, plural(x.l, n, "other queue pair"), shared)
	}
	cause = insideCause(l)
	w := x.insideLimit(q, true)
	if w == nil {
		return cause, how
	}
	// What it saves to read faster is what the receiver takes beyond what it got.
	takes := w.Bps / units.Rate(1+x.beside(last.Port, q, false))
	got := Goodput(f)
	saves = mulDiv(int64(f.Life()), int64(max(takes-got, 0)), int64(takes))
	if got > 0 && 2*saves < int64(x.heldIn(f, catalog.StageRead)) {
		then := insideCause(w)
		cause.Then = &then
		how += x.l.Sprintf("; then %s of %s", w, w.Host)
	}
	return cause, how
}

// stagedIn is what bounds the data between a card and the memory of its host that stands in for a GPU's, where
// that is hardly slower than the line: what they wait for is then the copies, which take the same links; nil: it is
// not so.
func (x *index) stagedIn(f *record.Message, q *record.QP, write bool) *record.InsideLimit {
	end, to := DataEnds(f)
	if write {
		end = to
	}
	l := x.insideLimit(q, write)
	if l == nil || !strings.Contains(end, "/gpu") || strings.HasPrefix(l.Memory, "gpu") || q.Is(catalog.Streams) ||
		l.Bps+l.Bps/10 < q.Limits.LineBps {
		return nil
	}
	return l
}

// staging says what is copied at an end.
func staging(l lang.Language, in *record.InsideLimit) string {
	return l.Sprintf("without GPUDirect data of GPUs are copied through %s of %s, over the links that the card takes "+
		"as well", in.Memory, in.Host)
}

// Bounds of what is said of a card's message rate.
const (
	fewTaken   = 8 // work requests of a queue pair at least
	mostlyTook = 4 // less than one in so many parts of the time from the first to the last is left to other things
)

// takenUp says that a queue pair's card takes up its work requests one after another, if their number by the
// least time between two is most of the time that they took in all, and more than the line takes for one; else "".
func (x *index) takenUp(f *record.Message, q *record.QP) string {
	if len(q.Limits.Path) == 0 {
		return ""
	}
	gap := units.Time(0)
	if p := x.ports[portClass{q.Limits.Path[0].Port, q.Limits.Class}]; p != nil {
		gap = p.Limits.MessageGapPS
	}
	if gap == 0 || Reads(f) || gap <= slowest(&q.Limits).TxTime(units.Bytes(f.Bytes)) {
		return ""
	}
	if x.taken == nil {
		x.taken = map[qpKey]taken{}
		for i := range x.r.Messages {
			m := &x.r.Messages[i]
			t, known := x.taken[flowQP(m)]
			if !known {
				t.from = m.StartPS
			}
			t.n, t.from, t.to = t.n+1, min(t.from, m.StartPS), max(t.to, m.StartPS+m.Life())
			x.taken[flowQP(m)] = t
		}
	}
	t := x.taken[qpKey{q.Host, q.QP}]
	if left := t.to - t.from - units.Time(t.n)*gap; t.n < fewTaken || left*mostlyTook > t.to-t.from {
		return ""
	}
	return x.l.Sprintf("the card of %s takes up the work requests of one queue pair every %s, %s of %s each, however "+
		"fast its line; more queue pairs, or larger messages, bring more", q.Host, FormatTime(gap),
		FormatRate(RateOf(f.Bytes, gap)), FormatBytes(f.Bytes))
}

// taken is how many messages a queue pair posted, and from when to when these were under way.
type taken struct {
	n        int
	from, to units.Time
}

// insideCause is what bounds the data between a memory and a card as a cause.
func insideCause(l *record.InsideLimit) Cause {
	return Cause{Kind: catalog.CauseInside, Place: record.InsideAt(l.Host, l.String()), Why: l.Why}
}

// heldIn is how long a message was in a stage.
func (x *index) heldIn(f *record.Message, stage catalog.Stage) (sum units.Time) {
	for _, t := range x.stages.read(f.Account) {
		if x.stages.known[t.number].base == stage {
			sum += t.time
		}
	}
	return sum
}

// insideLimit is what bounded the card's reads at the sender, or its writes at the receiver, in the
// time that is asked about; nil: nothing does.
func (x *index) insideLimit(q *record.QP, write bool) *record.InsideLimit {
	for i := range q.Limits.Inside {
		if l := &q.Limits.Inside[i]; l.Write == write {
			return x.ofItsTime(l)
		}
	}
	return nil
}

// ofItsTime is a limit as it was in the time that is asked about: while the card moved data both ways
// that of both.
func (x *index) ofItsTime(l *record.InsideLimit) *record.InsideLimit {
	if l.Duplex != nil && x.bothWays(l) {
		return l.Duplex
	}
	return l
}

// drain is what limits the rate at which a host took data in the time that is asked about; nil:
// nothing does.
func (x *index) drain(host string) *record.PortLimits {
	d := x.drains[host]
	if d == nil || d.Inside == nil || x.known.to == 0 {
		return d
	}
	var least *record.InsideLimit
	for _, m := range x.trafficOf().inside[host].side(true) {
		if m.limit.Card != d.Inside.Card || !x.sending(m.qp) {
			continue
		}
		if l := x.ofItsTime(m.limit); least == nil || l.Bps < least.Bps {
			least = l
		}
	}
	if least == nil {
		return d
	}
	now := *d
	now.Inside, now.DrainBps = least, least.Bps
	return &now
}

// sharedCard says that a host's card moves data of several devices by a port, or from the port at its
// far end, in the time that is asked about, in words that follow; "": it does not.
func (x *index) sharedCard(port record.PortID, q *record.QP) string {
	for i := range q.Limits.Inside {
		l := &q.Limits.Inside[i]
		hop := q.Limits.Path[0]
		if l.Write {
			hop = q.Limits.Path[len(q.Limits.Path)-1]
		}
		if port != hop.Port {
			continue
		}
		devices := x.devicesOf(l)
		if len(devices) > 1 {
			slices.Sort(devices)
			last := len(devices) - 1
			return x.l.Sprintf(" (a shared card: data of %s and %s take %s of %s)", strings.Join(devices[:last], ", "),
				devices[last], l.Card, l.Host)
		}
	}
	return ""
}

// devicesOf are the devices whose data a card reads, or those that it writes to, in the time that is
// asked about: those with a tenth of the data at least.
func (x *index) devicesOf(l *record.InsideLimit) (devices []string) {
	var bytes []int64
	total, t := int64(0), x.trafficOf()
	from, to := x.timeAsked()
	for _, m := range t.inside[l.Host].side(l.Write) {
		o := m.limit
		if o.Card != l.Card {
			continue
		}
		n := slices.Index(devices, o.Memory)
		if n < 0 {
			n = len(devices)
			devices, bytes = append(devices, o.Memory), append(bytes, 0)
		}
		moved := t.curves[m.qp].within(from, to)
		bytes[n] += moved
		total += moved
	}
	kept := devices[:0]
	for n, d := range devices {
		if 10*bytes[n] >= total {
			kept = append(kept, d)
		}
	}
	return kept
}

// overLink names what bounds the card's reads at the sender, or its writes at the
// receiver, in words that follow. Of a message of one packet that is the latency of the
// way, whatever its rate.
func overLink(l lang.Language, f *record.Message, q *record.QP, in *record.InsideLimit) string {
	if f.Bytes <= q.Limits.MTUBytes {
		return l.Of(", which takes one packet the latency of that way, whatever its rate")
	}
	if in == nil {
		return ""
	}
	return l.Sprintf(", %s at most%s: %s of %s", FormatRate(in.Bps), InsideBut(l, in), in, in.Host)
}

// InsideBut says under what a limit inside a host stands, in words that follow its rate:
// that both ways share it, what makes the way slow, and misses of the IOTLB.
func InsideBut(l lang.Language, in *record.InsideLimit) (s string) {
	switch {
	case in.Both && in.Write:
		s = l.Of(" while it reads as much")
	case in.Both:
		s = l.Of(" while it writes as much")
	}
	switch in.Why {
	case catalog.ReasonACS:
		s += l.Sprintf(", as ACS sends what %s and %s exchange up to the root complex", in.Memory, in.Card)
	case catalog.ReasonSockets:
		s += l.Sprintf(", as %s is at another socket than %s (NUMA)", in.Memory, in.Card)
	case catalog.ReasonSlot:
		s += l.Of(", over a slow slot")
	}
	if in.IOTLBMisses > 0 {
		s += l.Sprintf(", less what misses of the IOTLB cost, %s each", FormatTime(in.WalkPS))
	}
	return s
}
