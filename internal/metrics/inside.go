package metrics

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/record"
)

// sayInside tells of the stages that pass inside a host, "" of others; where is the
// place of the stage and q the queue pair whose data they are.
func (x *index) sayInside(where, stage string, q *record.QP) string {
	switch stage {
	case record.StageWorkFetch:
		return "the card had not got the work request of " + qpActor(q)
	case record.StageRead:
		return "payload of " + qpActor(q) + " was still being read from memory" + overLink(q, false)
	case record.StagePlace:
		return "the card wrote it to memory" + overLink(q, true)
	case record.StageCopyOut:
		return fmt.Sprintf("without GPUDirect, %s copied it out of the GPU first", q.Host)
	case record.StageCopyIn:
		return fmt.Sprintf("without GPUDirect, %s copied it into the GPU", where)
	}
	return ""
}

// overLink names what bounds the card's reads at the sender, or its writes at the
// receiver, in words that follow.
func overLink(q *record.QP, write bool) string {
	for i := range q.Limits.Inside {
		if l := &q.Limits.Inside[i]; l.Write == write {
			return fmt.Sprintf(", %s at most: %s of %s", FormatRate(l.Bps), l, l.Host)
		}
	}
	return ""
}
