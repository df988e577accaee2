package metrics

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// A link with credits carries no more than the input buffer at its far end per credit
// loop: the time from when a packet starts until its room can be used again (IBTA 7.9.4;
// docs/models/infiniband.md). Packets are whole, so that what counts is how many of
// the path MTU the buffer takes.

// inputBuffer is how the buffer at the far end of a link is named as a limit or cause.
func inputBuffer(l lang.Language, port record.PortID) string {
	return l.Of("input buffer of ") + port.String()
}

// creditLimits are the hops of a message's path whose credits bound it below their line.
// A message that fits into the buffer whole never waits for a loop.
func (x *index) creditLimits(f *record.Message, l *record.QPLimits, line func(units.Rate) units.Rate) (out []Limit) {
	mtu := max(l.MTUBytes, 1)
	for _, h := range l.Path {
		if h.CreditPackets == 0 || f.Bytes <= h.CreditPackets*mtu {
			continue
		}
		if bound := RateOf(h.CreditPackets*mtu, h.CreditLoopPS); bound < line(h.RateBps) {
			out = append(out, Limit{inputBuffer(x.l, h.Peer), bound, x.l.Sprintf("%s of %s per credit loop of %s",
				plural(x.l, h.CreditPackets, "packet"), FormatBytes(mtu), FormatTime(h.CreditLoopPS))})
		}
	}
	return out
}

// waitedFor is the most of what came in by an ingress port that waited for an egress port in the time that
// is asked about.
func (x *index) waitedFor(root *record.Port, ingress record.PortID, class int) int64 {
	if x.known.to == 0 || !x.witnessed() {
		return root.PeakQueueBytes
	}
	f := x.filledAt(ingress, class)
	if f == nil {
		return 0
	}
	return f.Most(x.known.numbers[root.ID()], x.known.from, x.known.to)
}

// sayLoop tells that the credit loop of a held port is longer than the buffer at its far
// end lasts, where that is what held it: nothing behind it did. root is the egress port
// that the buffer feeds, nil where it is a host's.
func (x *index) sayLoop(held record.PortID, class int, root *record.Port, host string) (cause Cause, because string) {
	h, known := x.loops[portClass{held, class}]
	p := x.ports[portClass{held, class}]
	if !known || p == nil || p.Limits.Near(catalog.CreditsOut) == nil {
		return Cause{}, ""
	}
	granted := p.Limits.Near(catalog.CreditsOut).Threshold
	bound := RateOf(granted, h.CreditLoopPS)
	d := x.drain(host)
	switch {
	case root == nil && bound >= h.RateBps:
		return Cause{}, "" // of what filled it there is no trace, or the host did not take it
	case root != nil && (bound >= h.RateBps || x.waitedFor(root, h.Peer, class) > granted/2):
		return Cause{}, "" // packets waited there
	case d != nil && bound >= min(d.DrainBps, h.RateBps):
		return Cause{}, "" // the host is slower
	case host != "" && x.faultOf(host) != nil:
		return Cause{}, "" // its card took less, or nothing, for a while
	}
	at := record.Place{Kind: catalog.AtInputBuffer, Node: h.Peer.Node, Port: int32(h.Peer.Port)}
	return Cause{Kind: catalog.CauseBuffer, Place: at}, x.l.Sprintf("the input buffer of %s takes %s in a credit loop "+
		"of %s, no more than %s",
		h.Peer, FormatBytes(granted), FormatTime(h.CreditLoopPS), FormatRate(bound))
}
