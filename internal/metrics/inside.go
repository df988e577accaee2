package metrics

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// sayInside tells of the stages that pass inside a host, "" of others; where is the
// place of the stage and q the queue pair whose data they are.
func (x *index) sayInside(f *record.Message, where string, stage catalog.Stage, q *record.QP) string {
	switch stage {
	case catalog.StageWorkFetch:
		return "the card had not got the work request of " + qpActor(q)
	case catalog.StageRead:
		return "payload of " + qpActor(q) + " was still being read from memory" + overLink(f, q, false)
	case catalog.StagePlace:
		return "the card wrote it to memory" + overLink(f, q, true)
	case catalog.StageCopyOut:
		return fmt.Sprintf("without GPUDirect, %s copied it out of the GPU first", q.Host)
	case catalog.StageCopyIn:
		return fmt.Sprintf("without GPUDirect, %s copied it into the GPU", where)
	}
	return ""
}

// overLink names what bounds the card's reads at the sender, or its writes at the
// receiver, in words that follow. Of a message of one packet that is the latency of the
// way, whatever its rate.
func overLink(f *record.Message, q *record.QP, write bool) string {
	if f.Bytes <= q.Limits.MTUBytes {
		return ", which takes one packet the latency of that way, whatever its rate"
	}
	for i := range q.Limits.Inside {
		if l := &q.Limits.Inside[i]; l.Write == write {
			return fmt.Sprintf(", %s at most%s: %s of %s", FormatRate(l.Bps), InsideBut(l), l, l.Host)
		}
	}
	return ""
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
