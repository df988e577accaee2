package nic

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Measure notes the delivered bytes at the start (from) or the end of the
// measured window.
func (h *Host) Measure(from bool) {
	k := 1
	if from {
		k = 0
	}
	for i := range h.qps {
		if s := &h.qps[i]; s.life != nil { // else it has not taken anything
			s.measured[k] = h.DeliveredTo(uint32(i))
		}
	}
}

// lived is what queue pair q did so far; a zero one if it was never used.
func (h *Host) lived(q uint32) *life {
	if l := h.qps[q].life; l != nil {
		return l
	}
	return new(life)
}

// accountOf is the account of queue pair q's time so far; a zero one if it has none.
func (h *Host) accountOf(q uint32) *account {
	if a := h.lived(q).account; a != nil {
		return a
	}
	return new(account)
}

// Rewinds returns when queue pair q went back to send again, in order.
func (h *Host) Rewinds(q uint32) []Rewind { return h.accountOf(q).log }

// Resends returns the packets that queue pair q sent again alone, in order; see
// Resend.
func (h *Host) Resends(q uint32) []Resend { return h.accountOf(q).resends }

// GlobalPort is the global number of the port that queue pair q uses.
func (h *Host) GlobalPort(q uint32) int {
	return int(h.net.PortID(h.ports[h.qps[q].port].fabricPort))
}

// SentFrames implements fabric.Host.
func (h *Host) SentFrames(i int, class uint8) fabric.Sent { return h.ports[i].sent[class] }

// ReceiveLimits implements fabric.Host.
func (h *Host) ReceiveLimits(i int, class uint8) (l record.PortLimits) {
	rx := &h.ports[i].rx
	l.MessageGapPS = h.card.QPGap
	if !rx.used {
		return l
	}
	l.BufferBytes, l.DrainBps, l.StalledPS = int64(rx.Size), rx.DrainRate, rx.stalled
	if h.path != nil {
		l.ReceivePeak = int64(rx.peak)
	}
	if rx.classes>>class&1 != 0 && rx.XOFF > 0 {
		l.Receive = &record.Approach{Value: int64(rx.peak), Threshold: int64(rx.XOFF), At: rx.peakAt}
	}
	return l
}

// Delivered sums the payload taken in order by all queue pairs.
func (h *Host) Delivered() int64 { return h.delivered }

// Used counts the queue pairs that were used.
func (h *Host) Used() (n int) {
	for i := range h.programs.pairs.listed(len(h.qps)) {
		if h.qps[i].opened() {
			n++
		}
	}
	return n
}

// EndNotes gives back the room for accounts that are being written, if none is any more.
func (h *Host) EndNotes() {
	if len(h.unused) == len(h.open) {
		h.unused, h.open = nil, nil
	}
}

// Retire gives back the queue pairs, of which the record has been made. What accounts are
// made from stays: what was accepted and answered, and what was sent again.
func (h *Host) Retire() {
	for i := range h.qps {
		if h.qps[i].opened() {
			h.end(uint32(i)).retire(uint32(i))
		}
	}
}

// QPs returns what the queue pairs that were used did.
func (h *Host) QPs(now units.Time) []record.QP { return h.AppendQPs(nil, now) }

// AppendQPs appends what QPs returns to a list.
func (h *Host) AppendQPs(out []record.QP, now units.Time) []record.QP {
	for i := range h.programs.pairs.listed(len(h.qps)) {
		if q := uint32(i); h.qps[i].opened() {
			out = append(out, h.end(q).record(now, q))
		}
	}
	return out
}

// AppendCounted appends to a list what the queue pairs that are in use have counted so far. Unlike AppendQPs it changes
// nothing.
func (h *Host) AppendCounted(out []record.QP) []record.QP {
	for i := range h.programs.pairs.listed(len(h.qps)) {
		if q := uint32(i); h.qps[i].opened() {
			out = append(out, h.end(q).counted(q))
		}
	}
	return out
}

// cnpLimiter is what limits the CNPs of queue pair i, which has those counts; nil where
// it had none to send, or the senders limit them.
func (h *Host) cnpLimiter(i int, c *rdma.Counters) *record.CNPLimiter {
	s, cc := &h.qps[i], h.specs[i].Config.CC
	if c.CNPsSent+c.CNPsLimited == 0 || cc.CNPCoalesce != congestion.AtReceiver {
		return nil
	}
	return &record.CNPLimiter{Port: h.net.PortName(h.ports[s.port].fabricPort), Scope: cc.CNPLimiter.String(), IntervalPS: cc.MinTimeBetweenCNPs}
}

// serviceOf is what records call a service.
func serviceOf(s rdma.Service) catalog.Service {
	switch s {
	case rdma.UC:
		return catalog.UC
	case rdma.UD:
		return catalog.UD
	}
	return catalog.RC
}

// discards are the service of a queue pair and the messages that it threw away as
// responder; nil for RC.
func discards(qp *rdma.QP, s rdma.Service) (catalog.Service, *record.Discards) {
	service := serviceOf(s)
	if service.Is(catalog.Acknowledges) {
		return service, nil
	}
	d := qp.Dropped()
	c := record.Discards{NoReceive: d.NoReceive.Count, TooLong: d.TooLong.Count, BadQKey: d.BadQKey.Count,
		Refused: d.Refused.Count, Broken: d.Broken.Count}
	if c.Total() == 0 {
		return service, nil
	}
	return service, &c
}

// Ledger returns the acts of the queue pairs. lossy has a bit per connection of which
// something was dropped: what the others sent again after NAKs was never lost.
func (h *Host) Ledger(lossy []uint64) []record.Entry {
	h.endPairs()
	return h.programs.pairs.ledger(h.Name, h.AppendActs(nil, lossy))
}

// AppendActs appends to a list the acts so far of the queue pairs that there are. See Ledger.
func (h *Host) AppendActs(out []record.Entry, lossy []uint64) []record.Entry {
	for i := range h.programs.pairs.listed(len(h.qps)) {
		if h.qps[i].opened() {
			out = h.end(uint32(i)).ledger(out, uint32(i), lossy)
		}
	}
	return out
}

// actsOf tells of the acts of a queue pair; lossy: something was dropped of its connection.
func actsOf(qp *rdma.QP, lossy bool, tell func(catalog.Question, catalog.Mechanism, record.Act)) {
	a, d, reads := qp.Acts(), qp.Dropped(), qp.ReadActs()
	cuts, increases, events, _, _ := qp.Slowed()
	var delay, load, loss record.Act
	if by := qp.Slowdowns(); by != nil {
		delay, load, loss = by[congestion.ByDelay], by[congestion.ByTelemetry], by[congestion.ByLoss]
		cuts = by[congestion.NoCause].And(by[congestion.ByMark]).And(by[congestion.ByProgress])
	}
	stamps, telemetry := qp.Echoed()
	onAck, afterNAK := catalog.CEOnAck, catalog.RetransNAK
	if !lossy {
		afterNAK = catalog.RetransReordered
	}
	if _, ok := qp.PeakCCTI(); ok {
		onAck = catalog.BECNOnAck
	}
	for _, e := range [...]struct {
		q catalog.Question
		m catalog.Mechanism
		a record.Act
	}{
		{catalog.Detected, catalog.SequenceGap, a.SequenceGap},
		{catalog.Detected, catalog.Reordering, qp.Reordered()},
		{catalog.Detected, catalog.RNR, a.RNR},
		{catalog.Detected, catalog.AckTimeout, a.AckTimeout},
		{catalog.Detected, catalog.NoReceiveDrop, d.NoReceive},
		{catalog.Detected, catalog.TooLongDrop, d.TooLong},
		{catalog.Detected, catalog.BadQKeyDrop, d.BadQKey},
		{catalog.Detected, catalog.RefusedDrop, d.Refused},
		{catalog.Detected, catalog.BrokenDrop, d.Broken},
		{catalog.Detected, catalog.CCLog, events},
		{catalog.Detected, catalog.DelayRise, delay},
		{catalog.Detected, catalog.LoadRise, load},
		{catalog.FedBack, catalog.CNPSent, a.CNPSent},
		{catalog.FedBack, onAck, a.CEOnAck},
		{catalog.FedBack, catalog.NAKSent, a.NAKSent},
		{catalog.FedBack, catalog.AskedAgain, reads.AskedAgain},
		{catalog.FedBack, catalog.NAKRefused, a.Refused},
		{catalog.FedBack, catalog.StampOnAck, stamps},
		{catalog.FedBack, catalog.INTOnAck, telemetry},
		{catalog.FedBack, catalog.ProbeAnswer, qp.ProbesAnswered()},
		{catalog.Slowed, catalog.RateCut, cuts},
		{catalog.Slowed, catalog.DelayCut, delay},
		{catalog.Slowed, catalog.LoadCut, load},
		{catalog.Slowed, catalog.LossCut, loss},
		{catalog.Slowed, catalog.CCTIIncrease, increases},
		{catalog.Slowed, catalog.SlowRestart, qp.SlowRestarts()},
		{catalog.Recovered, afterNAK, a.RetransNAK},
		{catalog.Recovered, catalog.RetransTimer, a.RetransTimer},
		{catalog.Recovered, catalog.RetransRNR, a.RetransRNR},
		{catalog.Recovered, catalog.RetransMissing, reads.RetransMissing},
		{catalog.Recovered, catalog.RetransRead, a.RetransRead},
	} {
		if e.a.Count > 0 {
			tell(e.q, e.m, e.a)
		}
	}
}
