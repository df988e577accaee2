package metrics

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// What congestion controllers of the registry did, and why: each change that lowered something is in the
// ledger under the mechanism that stands for its cause.

// slowing are the mechanisms by which a queue pair's congestion control slows it.
func (x *index) slowing(q *record.QP) []catalog.Mechanism {
	slow := q.Layer.Vocabulary().Slow
	if q.Limits.Control() == "" {
		return []catalog.Mechanism{slow}
	}
	return []catalog.Mechanism{slow, catalog.DelayCut, catalog.LoadCut, catalog.LossCut}
}

// slowed are the acts by which it did.
func (x *index) slowed(q *record.QP) (a record.Act) {
	for _, m := range x.slowing(q) {
		a = a.And(x.actOf(m, q))
	}
	return a
}

// cutsBy says what made a controller slow a queue pair most often; "" where that is marks, or there is no
// controller of the registry.
func (x *index) cutsBy(q *record.QP) string {
	if q.Limits.Control() == "" {
		return ""
	}
	most, says := x.actOf(q.Layer.Vocabulary().Slow, q).Count, ""
	for _, by := range []struct {
		m    catalog.Mechanism
		says string
	}{
		{catalog.DelayCut, "round trips were too long or grew"},
		{catalog.LoadCut, "telemetry told of a port that was busier than it wants"},
		{catalog.LossCut, "packets were lost or came out of order"},
	} {
		if n := x.actOf(by.m, q).Count; n > most {
			most, says = n, by.says
		}
	}
	return says
}

// sayControlled goes on, of a message that a controller held by what it measured, with the port on the way
// where its packets waited most.
func (x *index) sayControlled(f *record.Message, q *record.QP, how string, cause Cause) (Cause, string) {
	var worst *record.Port
	for _, h := range q.Limits.Path {
		p := x.ports[portClass{h.Port, q.Limits.Class}]
		if p != nil && p.PeakQueueBytes > 2*q.Limits.MTUBytes && (worst == nil || p.MeanQueueBytes > worst.MeanQueueBytes) {
			worst = p
		}
	}
	if worst == nil {
		return cause, how
	}
	how += fmt.Sprintf("; on its way %s had the longest queue", worst.ID())
	return x.orMoved(atPort(worst), how+x.filledBy(worst), f)
}
