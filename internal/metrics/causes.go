package metrics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// The functions below say why a queue stayed below a threshold. Each cause is a
// condition on the records under which the threshold cannot be, or was not,
// reached. All that hold are named: with one, changing it alone lets the queue
// grow; with several, each would have been enough.

// queueCauses says why egress port p stayed below limit in its class.
func (x *index) queueCauses(p *record.Port, limit int64) []string {
	qps := x.class(x.out(p.ID()), p.Class)
	if x.strayed() {
		qps = nil
	} else if len(qps) == 0 {
		return []string{x.l.Of("no data of its class takes this port, only ACKs, NAKs or CNPs")}
	}
	var causes []string
	for _, d := range p.DropCauses {
		switch d.Cause {
		case catalog.DropPool:
			causes = append(causes, x.l.Sprintf("%s dropped there for want of room in its pool kept the queue short",
				plural(x.l, d.Count, "frame")))
		case catalog.DropEgress:
			causes = append(causes, x.l.Sprintf("%s dropped there at the egress threshold kept the queue short",
				plural(x.l, d.Count, "frame")))
		}
	}
	if p.TxBytes <= limit {
		causes = append(causes, x.l.Of("only ")+FormatBytes(p.TxBytes)+x.l.Of(" passed ")+x.byTheEnd())
	}
	if len(qps) == 0 {
		return causes
	}
	out := []*record.Port{p}
	return appendNonEmpty(causes, x.windowCause(qps, limit), x.inputCause(out), x.startCause(out))
}

// unlisted reports whether there were queue pairs that the record does not list.
func (x *index) unlisted() bool {
	return slices.ContainsFunc(x.r.Collectives, func(c record.Collective) bool {
		return c.Sums != nil &&
			c.Sums.QueuePairs != nil
	})
}

// strayed reports whether each packet took a way of its own, or queue pairs are not listed: then
// who passes a port is not known from the ways that the record has.
func (x *index) strayed() bool {
	e := x.r.Evidence
	return x.unlisted() || e != nil && slices.ContainsFunc(e.Detours,
		func(d record.Detour) bool { return d.By != catalog.NoMechanism })
}

// ingressCauses says why the ingress buffer behind port p came no nearer to XOFF
// than near.
func (x *index) ingressCauses(p *record.Port, near *record.Approach) []string {
	limit := near.Threshold
	qps := x.class(x.in(p.ID()), p.Class)
	if x.unlisted() || x.strayed() && !x.hosts[p.Peer.Node] {
		return nil
	}
	if len(qps) == 0 {
		return []string{x.l.Of("no data of its class arrives here, only ACKs, NAKs or CNPs")}
	}
	var causes []string
	var out []*record.Port
	if !x.strayed() {
		out = x.egressOf(qps, p.ID(), p.Class)
	}
	for _, e := range out {
		for _, d := range e.DropCauses {
			if d.Cause == catalog.DropPool || d.Cause == catalog.DropEgress {
				causes = append(causes, x.l.Sprintf("%s dropped %s before (%s)", e.ID(), plural(x.l, d.Count, "frame"), d.Cause))
			}
		}
	}
	if n := x.sentFrames(qps); n <= limit && len(causes) == 0 {
		causes = append(causes, x.l.Of("only ")+FormatBytes(n)+x.l.Of(" arrived ")+x.byTheEnd())
	}
	if x.strayed() {
		return appendNonEmpty(causes, x.windowCause(qps, limit), x.cutCause(qps, near.At))
	}
	causes = appendNonEmpty(causes, x.windowCause(qps, limit), x.inputCause(out), x.startCause(out), x.cutCause(qps, near.At))
	return causes
}

// byTheEnd follows an amount: that it is all there was, or all until the run was cut off.
func (x *index) byTheEnd() string {
	if x.r.OpenMessages > 0 && x.r.StillPS == 0 {
		return x.l.Of("before the run ended, with ") + plural(x.l, int64(x.r.OpenMessages), "message") + x.l.Of(" still open")
	}
	return x.l.Of("in all")
}

func appendNonEmpty(to []string, more ...string) []string {
	for _, s := range more {
		if s != "" {
			to = append(to, s)
		}
	}
	return to
}

// anyDropped reports whether packets of one of the queue pairs were dropped.
func (x *index) anyDropped(qps []int32) bool {
	return slices.ContainsFunc(qps, func(i int32) bool { p, _ := x.firstDropped(&x.r.QPs[i]); return p != nil })
}

// sentFrames is what the queue pairs sent, in frame bytes.
func (x *index) sentFrames(qps []int32) (n int64) {
	for _, i := range qps {
		n += x.r.QPs[i].SentBytes + x.r.QPs[i].SentPackets*int64(x.r.FrameHeader)
	}
	return n
}

// windowCause holds when all queue pairs have windows that fit below limit
// together.
func (x *index) windowCause(qps []int32, limit int64) string {
	var sum, least, most int64
	for _, i := range qps {
		q := &x.r.QPs[i]
		w := q.Limits.WindowBytes
		if q.Limits.Windowed() { // which moves: it never let out more than this
			w = q.Limits.PeakOutstanding
		}
		if w == 0 {
			return ""
		}
		sum += x.frames(q, w)
		if least == 0 {
			least = w
		}
		least, most = min(least, w), max(most, w)
	}
	if sum > limit {
		return ""
	}
	each := FormatBytes(most)
	if least != most {
		each = x.l.Of("at most ") + each
	}
	if len(qps) == 1 {
		return x.l.Sprintf("the window holds %s to %s", x.who(qps), each)
	}
	return x.l.Sprintf("the window holds each of %s to %s, %s together", senders(x.l, len(qps)), each, FormatBytes(sum))
}

func senders(l lang.Language, n int) string { return plural(l, int64(n), "sender") }

// who names a single queue pair, and counts several.
func (x *index) who(qps []int32) string {
	if len(qps) == 1 {
		return qpActor(&x.r.QPs[qps[0]])
	}
	return senders(x.l, len(qps))
}

// inputCause holds when the ports that feed each of the egress ports are
// together no faster than it, and nothing paused it: what arrives leaves at
// once.
func (x *index) inputCause(out []*record.Port) string {
	if len(out) == 0 || x.r.Evidence != nil && len(x.r.Evidence.Detours) > 0 { // others may feed them, too
		return ""
	}
	for _, p := range out {
		feeds, rate := x.feeds(p)
		if feeds == 0 || rate > p.RateBps || p.PausedPS > 0 {
			return ""
		}
	}
	if len(out) > 1 {
		return x.l.Of("no port it leads to is fed faster than it sends")
	}
	feeds, rate := x.feeds(out[0])
	if feeds == 1 {
		return x.l.Sprintf("one port feeds %s, no faster than it sends (%s)", out[0].ID(), FormatRate(rate))
	}
	return x.l.Sprintf("the %d ports that feed %s bring %s together, no more than it sends (%s)", feeds, out[0].ID(),
		FormatRate(rate), FormatRate(out[0].RateBps))
}

// feeds counts the ports from which data of any class reaches egress port p, and
// adds up their rates: classes share what the port sends.
func (x *index) feeds(p *record.Port) (n int, rate units.Rate) {
	name := p.ID()
	seen := map[record.PortID]bool{}
	for _, i := range x.out(name) {
		k := x.hop(i, name)
		if k < 1 {
			continue
		}
		h := x.r.QPs[i].Limits.Path[k-1]
		if !seen[h.Port] {
			seen[h.Port] = true
			n++
			rate += h.RateBps
		}
	}
	return n, rate
}

// startCause holds when congestion control started every queue pair below the
// line and they never came to send more together than the egress ports take.
func (x *index) startCause(out []*record.Port) string {
	start := units.Rate(0)
	var all []int32
	counted := map[int32]bool{}
	for _, p := range out {
		sum := units.Rate(0)
		for _, i := range x.class(x.out(p.ID()), p.Class) {
			q := &x.r.QPs[i]
			if !q.Limits.CC || q.Limits.InitialBps == 0 || q.RateCuts > 0 {
				return ""
			}
			sum += max(q.Limits.InitialBps, q.FinalRateBps)
			start = max(start, q.Limits.InitialBps)
			if !counted[i] {
				counted[i] = true
				all = append(all, i)
			}
		}
		if sum > p.RateBps {
			return ""
		}
	}
	if len(all) == 0 {
		return ""
	}
	who := x.who(all)
	if len(all) > 1 {
		who = x.l.Of("each of ") + who
	}
	return x.l.Sprintf("congestion control starts %s at %s, together no more than the link", who, FormatRate(start))
}

// cutCause holds when ECN slowed queue pairs before there was most to hold, at
// peak: a later cut is not what kept it from growing.
func (x *index) cutCause(qps []int32, peak units.Time) string {
	cuts, kmin, what := int64(0), int64(0), ""
	var cut []int32
	for _, i := range qps {
		a, of := x.slowed(&x.r.QPs[i]), "rate cut"
		if x.r.QPs[i].Is(catalog.Segments) {
			a, of = x.actOf(catalog.CutECE, &x.r.QPs[i]), "window cut"
		}
		if a.Count == 0 || a.First >= peak {
			continue
		}
		cut, what = append(cut, i), of
		cuts += a.Count
		for _, h := range x.r.QPs[i].Limits.Path {
			if p := x.ports[portClass{h.Port, x.r.QPs[i].Limits.Class}]; p != nil && p.Marked > 0 {
				kmin = max(kmin, p.Limits.KMinBytes)
			}
		}
	}
	if cuts == 0 {
		return ""
	}
	who := x.who(cut)
	if len(cut) < len(qps) {
		who += x.l.Of(" of ") + FormatCount(int64(len(qps)))
	}
	if says := x.cutsBy(&x.r.QPs[cut[0]]); says != "" {
		return x.l.Sprintf("%s of %s slowed %s first, as %s", plural(x.l, cuts, what), x.r.QPs[cut[0]].Limits.Control(),
			who, says)
	}
	if kmin == 0 { // no switch on the way marked anything
		return x.l.Sprintf("%s slowed %s first, %s", plural(x.l, cuts, what), who, x.unmarkedCuts(&x.r.QPs[cut[0]]))
	}
	return x.l.Sprintf("%s slowed %s first, as marks begin at Kmin, %s", plural(x.l, cuts, what), who, FormatBytes(kmin))
}

func plural(l lang.Language, n int64, what string) string {
	return l.Counted(n, FormatCount(n), what)
}

// pauseCause holds when PFC stopped every port that feeds egress port p before
// its queue was longest.
func (x *index) pauseCause(p *record.Port) string {
	fed, xoff := 0, int64(0)
	var others []record.PortID // egress ports whose queues filled the buffers more
	for _, i := range x.class(x.out(p.ID()), p.Class) {
		k := x.hop(i, p.ID())
		if k < 1 {
			continue
		}
		from := x.ports[portClass{x.r.QPs[i].Limits.Path[k-1].Peer, p.Class}]
		if from == nil || from.Limits.XOFF == nil {
			return ""
		}
		if a := x.acts[actKey{catalog.PFCSent, from.Place()}]; a.Count == 0 || a.First >= p.PeakQueuePS {
			return ""
		}
		if full := x.fullest(from.ID(), p.Class); full != nil && full != p && !slices.Contains(others, full.ID()) {
			others = append(others, full.ID())
		}
		fed++
		xoff = max(xoff, from.Limits.XOFF.Threshold)
	}
	if fed == 0 {
		return ""
	}
	said := x.l.Of("PFC stopped its senders first, with XOFF at ") + FormatBytes(xoff) + x.l.Of(" of ingress")
	if len(others) > 0 {
		said += x.l.Of(", filled above all by the queue of ") + listPorts(others)
	}
	return said
}

// egressOf lists the ports by which the queue pairs leave the switch they enter
// at a port.
func (x *index) egressOf(qps []int32, ingress record.PortID, class int) (out []*record.Port) {
	seen := map[record.PortID]bool{}
	for _, i := range qps {
		path := x.r.QPs[i].Limits.Path
		for k := 1; k < len(path); k++ {
			if path[k-1].Peer != ingress || seen[path[k].Port] {
				continue
			}
			seen[path[k].Port] = true
			if p := x.ports[portClass{path[k].Port, class}]; p != nil {
				out = append(out, p)
			}
		}
	}
	return out
}

// because joins causes for a sentence. Where none holds, more came than could
// leave and nothing held it back for good: what met there ended first, or pauses
// on the way thinned it.
func (x *index) because(causes []string, qps []int32) string { return x.becauseOf(causes, qps, 0) }

// becauseOf is because for a queue or buffer of which limit was not reached; 0: there is none.
// Bursts that send no more than twice the limit may have ended before it; of more, n senders
// of a line each would have left at least half behind.
func (x *index) becauseOf(causes []string, qps []int32, limit int64) string {
	if len(causes) > 0 {
		return strings.Join(causes, "; ")
	}
	for _, i := range qps {
		q := &x.r.QPs[i]
		for _, h := range q.Limits.Path {
			if p := x.ports[portClass{h.Port, q.Limits.Class}]; p != nil && p.PausedPS > 0 {
				return fmt.Sprintf(p.Layer.Words(x.l).HeldUp+x.l.Of(" on the way before more had queued up"), h.Port)
			}
		}
	}
	if x.strayed() {
		return x.l.Of("the traffic that met there was over before more had queued up")
	}
	n, span := x.sentFrames(qps), EndOf(x.r)-x.r.FirstPost()
	if limit > 0 && n > 2*limit && span > 0 && !x.anyDropped(qps) {
		return x.l.Sprintf("as much left as came, except for moments: %s from %s in all, %s on average",
			FormatBytes(n), x.who(qps), FormatRate(units.Rate(mulDiv(8*n, int64(units.Second), int64(span)))))
	}
	ended := x.l.Sprintf("the traffic that met there was over before more had queued up: %s from %s in all",
		FormatBytes(n), x.who(qps))
	for _, i := range qps {
		if p, d := x.firstDropped(&x.r.QPs[i]); p != nil {
			return x.l.Sprintf("%s, of which %s dropped %s (%s)", ended, p.ID(), plural(x.l, d.Count, "frame"), d.Cause)
		}
	}
	return ended
}
