package metrics

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// sayInside tells of the stages that pass inside a host, "" of others; where is the
// place of the stage and q the queue pair whose data they are.
func (x *index) sayInside(f *record.Message, where string, stage catalog.Stage, q *record.QP) string {
	switch stage {
	case catalog.StageWorkFetch:
		return "the card had not got the work request of " + qpActor(q)
	case catalog.StagePlace:
		return "the card wrote it to memory" + overLink(f, q, true)
	case catalog.StageCopyOut:
		return fmt.Sprintf("without GPUDirect, %s copied it out of the GPU first", q.Host)
	case catalog.StageCopyIn:
		return fmt.Sprintf("without GPUDirect, %s copied it into the GPU", where)
	}
	return ""
}

// sayRead tells what the payload of queue pair q waited for in memory. A link inside the host
// that is no slower than the line holds up only who shares it with others; where the receiver
// could not take much more than it got, its links are next.
func (x *index) sayRead(f *record.Message, q *record.QP, own Cause) (cause Cause, how string) {
	how = "payload of " + qpActor(q) + " was still being read from memory" + overLink(f, q, false)
	l := insideLimit(q, false)
	if l == nil || len(q.Limits.Path) == 0 || f.Bytes <= q.Limits.MTUBytes {
		return own, how
	}
	first, last := q.Limits.Path[0], q.Limits.Path[len(q.Limits.Path)-1]
	if n := x.beside(first.Port, q, false); n > 0 && l.Bps >= q.Limits.LineBps {
		others := plural(n, "other queue pair")
		return x.portCause(first.Port, q), fmt.Sprintf("%s, no less than the line, which it shares with %s", how, others)
	}
	cause = Cause{Kind: catalog.CauseInside, Place: record.InsideAt(l.Host, l.String())}
	w := insideLimit(q, true)
	if w == nil {
		return cause, how
	}
	// What it saves to read faster is what the receiver takes beyond what it got.
	takes := w.Bps / units.Rate(1+x.beside(last.Port, q, false))
	got := Goodput(f)
	saves := mulDiv(int64(f.Life()), int64(max(takes-got, 0)), int64(takes))
	if got > 0 && 2*saves < int64(x.heldIn(f, catalog.StageRead)) {
		cause.Then = &Cause{Kind: catalog.CauseInside, Place: record.InsideAt(w.Host, w.String())}
		how += fmt.Sprintf("; then %s of %s", w, w.Host)
	}
	return cause, how
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

// insideLimit is what bounds the card's reads at the sender, or its writes at the receiver;
// nil: nothing does.
func insideLimit(q *record.QP, write bool) *record.InsideLimit {
	for i := range q.Limits.Inside {
		if l := &q.Limits.Inside[i]; l.Write == write {
			return l
		}
	}
	return nil
}

// overLink names what bounds the card's reads at the sender, or its writes at the
// receiver, in words that follow. Of a message of one packet that is the latency of the
// way, whatever its rate.
func overLink(f *record.Message, q *record.QP, write bool) string {
	if f.Bytes <= q.Limits.MTUBytes {
		return ", which takes one packet the latency of that way, whatever its rate"
	}
	l := insideLimit(q, write)
	if l == nil {
		return ""
	}
	return fmt.Sprintf(", %s at most%s: %s of %s", FormatRate(l.Bps), InsideBut(l), l, l.Host)
}

// InsideBut says under what a limit inside a host stands, in words that follow its rate:
// that both ways share it, and misses of the IOTLB.
func InsideBut(l *record.InsideLimit) (s string) {
	switch {
	case l.Both && l.Write:
		s = " while it reads as much"
	case l.Both:
		s = " while it writes as much"
	}
	if l.IOTLBMisses > 0 {
		s += fmt.Sprintf(", less what %s of the IOTLB cost, %s each", count(l.IOTLBMisses, "miss"), FormatTime(l.WalkPS))
	}
	return s
}

// count is a number of things with its thousands: "1 miss", "3,907 misses".
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return FormatCount(n) + " " + what + "es"
}
