package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
)

// why says what kept a question's mechanisms from firing, as far as the records
// show it. before holds the answers to the questions ahead of q, states
// those of all mechanisms.
func (x *index) why(q catalog.Question, t Totals, before []Answer, states []State) string {
	r := x.r
	switch q {
	case catalog.Detected:
		return whyNotDetected(x.l, r, states)
	case catalog.FedBack:
		return whyNotFedBack(x.l, r, t, before[0])
	case catalog.Slowed:
		if allOff(r, states, func(v catalog.Vocabulary) catalog.Mechanism { return v.Slow }) {
			return cmp.Or(x.neverCut(), x.l.Of("no sender has congestion control"))
		}
		return whyNotSlowed(x.l, r, before[1])
	case catalog.Held:
		return whyNotHeld(x.l, r, t, states)
	case catalog.Recovered:
		return whyNotRecovered(x.l, r, t, before[0])
	default:
		return whyNotRerouted(x.l, r)
	}
}

func whyNotDetected(l lang.Language, r *record.Run, states []State) string {
	return refused(l, r) + unnoticed(l, r) + whyNoCongestion(l, r, states)
}

// refused names the first requester whose request the responder answered with
// a NAK for what it asked, which is no congestion (IBTA 9.7.5.2: remote access,
// invalid request, remote operation), in words that the next ones follow; ""
// when none was.
func refused(l lang.Language, r *record.Run) string {
	for i := range r.Messages {
		f := &r.Messages[i]
		if f.Refused() {
			return l.Sprintf("no congestion, but %s refused a request of %s (%s); ", f.Dst, f.Src, f.Status)
		}
	}
	return ""
}

func whyNoCongestion(l lang.Language, r *record.Run, states []State) string {
	p := deepest(r.Ports, func(p *record.Port) int64 { return p.PeakQueueBytes })
	if p == nil {
		return l.Of("no frame was ever queued")
	}
	peak := l.Sprintf("the deepest held %s (%s)", FormatBytes(p.PeakQueueBytes), p.Place())
	for _, layer := range Layers(r) {
		m := nearest(states, layer.Vocabulary().Mark)
		if m == nil {
			continue
		}
		said := l.Of("no queue passed ") + layer.Words(l).Limit
		if m.Value > m.Threshold {
			said = l.Of("no packet was marked, although a queue passed ") + layer.Words(l).Limit
		}
		return l.Sprintf("%s (%s): the deepest held %s (%s), because %s", said, FormatBytes(m.Threshold),
			FormatBytes(m.Value), m.Where, m.Why)
	}
	if known(states, catalog.CreditsOut) {
		return whyNotStarved(l, states)
	}
	if m := nearest(states, catalog.XOFFCross); m != nil {
		return l.Sprintf("nothing marks, and no buffer reached XOFF: the nearest held %s of %s (%s), because %s",
			FormatBytes(m.Value), FormatBytes(m.Threshold), m.Where, m.Why)
	}
	return l.Of("no queue marked, crossed XOFF or dropped: ") + peak
}

// nearest is the place that came nearest to a mechanism that did not act; nil
// where the mechanism is off.
func nearest(states []State, m catalog.Mechanism) *Place {
	for _, s := range states {
		if s.Mechanism == m && s.Armed > 0 && s.Fired == 0 {
			return &s.Places[0]
		}
	}
	return nil
}

// isOff reports whether a mechanism could act nowhere, as far as the record
// knows what limits its queue pairs.
func isOff(r *record.Run, states []State, m catalog.Mechanism) bool {
	known := false
	for i := range r.QPs {
		known = known || len(r.QPs[i].Limits.Path) > 0
	}
	if !known {
		return false
	}
	for _, s := range states {
		if s.Mechanism == m {
			return s.Armed == 0
		}
	}
	return false
}

func whyNotFedBack(l lang.Language, r *record.Run, t Totals, detected Answer) string {
	switch {
	case detected.has(catalog.CreditsOut) && t.Dropped == 0 && t.Marked == 0:
		return l.Of("credit-based: a full input buffer simply stops granting credits")
	case !detected.Happened:
		return l.Of("nothing was detected")
	case t.Marked > 0 && t.CNPsSent == 0 && onlyStreams(r):
		return l.Sprintf("%s packets were marked, but no receiver was to tell", FormatCount(t.Marked))
	case t.Marked > 0:
		return l.Sprintf("%s packets were marked, but no responder sent CNPs", FormatCount(t.Marked))
	case detected.dropsMessages():
		names, _ := unreliable(r)
		return l.Of("no message: there are no acknowledgements on ") + names
	case detected.has(catalog.SequenceGap) && t.NAKsSent == 0:
		if names, _ := unreliable(r); names != "" {
			return l.Of("who missed packets could not tell the sender: there are no acknowledgements on ") + names
		}
		return l.Of("nobody had to be told: who missed a response sent the request again itself")
	case onlyStreams(r):
		return l.Of("no packet was marked and no receiver missed a segment")
	default:
		return l.Of("no packet was marked and no responder missed a PSN")
	}
}

// onlyStreams reports whether nothing but TCP took part.
func onlyStreams(r *record.Run) bool {
	tcp, rdma := streams(r)
	return tcp && !rdma
}

func whyNotSlowed(l lang.Language, r *record.Run, fedBack Answer) string {
	if onlyStreams(r) {
		return l.Of("no sender took anything for lost, and no ECN-Echo came that asked for it")
	}
	if !fedBack.has(catalog.CNPSent) && !fedBack.has(catalog.CEOnAck) && !fedBack.has(catalog.BECNOnAck) {
		return l.Of("no congestion notification was sent") // pauses and NAKs cut no rate
	}
	return l.Of("no sender cut its rate on the notifications it got")
}

func whyNotHeld(l lang.Language, r *record.Run, t Totals, states []State) string {
	if known(states, catalog.CreditsOut) {
		return whyNotStarved(l, states)
	}
	if t.PausesSent > 0 {
		return l.Sprintf("%s pauses were sent, but no paused port had a frame waiting", FormatCount(t.PausesSent))
	}
	if isOff(r, states, catalog.XOFFCross) {
		return cmp.Or(pfcOff(l, r), l.Of("PFC is off"))
	}
	also := ""
	if off := pfcOff(l, r); off != "" && t.Dropped > 0 {
		also = l.Of("; ") + off
	}
	if m := nearest(states, catalog.XOFFCross); m != nil {
		return l.Sprintf("no ingress buffer reached XOFF: the nearest held %s of %s (%s), because %s%s", FormatBytes(m.Value),
			FormatBytes(m.Threshold), m.Where, m.Why, also)
	}
	p := deepest(r.Ports, func(p *record.Port) int64 { return p.PeakIngress })
	if p == nil {
		return l.Of("no ingress buffer reached XOFF")
	}
	return l.Sprintf("no ingress buffer reached XOFF: the fullest held %s (%s)",
		FormatBytes(p.PeakIngress), p.Place())
}

// whyNotStarved says how far from using up its credits the nearest port was.
func whyNotStarved(l lang.Language, states []State) string {
	if m := nearest(states, catalog.CreditsOut); m != nil {
		return l.Sprintf("no port used up its credits: the nearest had %s of %s in use (%s), because %s",
			FormatBytes(m.Value), FormatBytes(m.Threshold), m.Where, m.Why)
	}
	return l.Of("no frame waited for credits")
}

// pfcOff says for which priorities PFC is off though data travel there, and for which it is on; "" where
// it is on for all that do.
func pfcOff(l lang.Language, r *record.Run) string {
	carry := map[int]bool{}
	for i := range r.QPs {
		q := &r.QPs[i]
		fill := q.Layer.Vocabulary().Fill
		if fill == catalog.XOFFCross && q.SentPackets > 0 && !slices.Contains(r.PauseClasses, q.Limits.Class) {
			carry[q.Limits.Class] = true
		}
	}
	var off []int
	for class := range 8 {
		if carry[class] {
			off = append(off, class)
		}
	}
	if len(off) == 0 {
		return ""
	}
	said := l.Sprintf("PFC is off for %s, where the data travel", listPriorities(l, off))
	if len(r.PauseClasses) > 0 {
		said += l.Of(", and on for ") + listPriorities(l, r.PauseClasses)
	}
	return said
}

// listPriorities names priorities.
func listPriorities(l lang.Language, classes []int) string {
	names := make([]string, len(classes))
	for k, class := range classes {
		names[k] = strconv.Itoa(class)
	}
	if len(names) == 1 {
		return l.Of("priority ") + names[0]
	}
	return l.Of("priorities ") + strings.Join(names, ", ")
}

func whyNotRecovered(l lang.Language, r *record.Run, t Totals, detected Answer) string {
	if why := whyNothingAgain(l, r, t); why != "" {
		return why
	}
	switch {
	case t.Dropped > 0:
		return l.Sprintf("%s frames were dropped, but nothing was sent again", FormatCount(t.Dropped))
	case detected.has(catalog.SequenceGap) || detected.has(catalog.AckTimeout) || detected.has(catalog.RNR):
		return l.Of("nothing was sent again")
	default:
		return l.Of("nothing was lost")
	}
}

// whatWasLost counts the dropped frames and names the causes; "" when none was.
func whatWasLost(l lang.Language, r *record.Run) string {
	var causes []string
	lost := int64(0)
	for i := range r.Ports {
		for _, d := range r.Ports[i].DropCauses {
			lost += d.Count
			if !slices.Contains(causes, d.Cause.In(l)) {
				causes = append(causes, d.Cause.In(l))
			}
		}
	}
	if lost == 0 {
		return ""
	}
	return plural(l, lost, "frame") + l.Of(": ") + strings.Join(causes, ", ")
}

// failures names the messages that ended in error, in words that follow; "" when
// none did.
func failures(l lang.Language, r *record.Run) string {
	var failed []string
	for i := range r.Messages {
		if f := &r.Messages[i]; !Open(f) && !Completed(f) {
			failed = append(failed, fmt.Sprintf("%s: %s", Arrow(f), f.Status))
		}
	}
	if len(failed) == 0 {
		return ""
	}
	return l.Sprintf(", while %s ended in error (%s)", plural(l, int64(len(failed)), "message"), someOf(l, failed))
}

func were(l lang.Language, n int, what string) string {
	if n == 1 {
		return plural(l, 1, what) + l.Of(" was")
	}
	return plural(l, int64(n), what) + l.Of(" were")
}

// someOf lists the first three of names.
func someOf(l lang.Language, names []string) string {
	if n := len(names); n > 3 {
		return l.Sprintf("%s and %d more", strings.Join(names[:3], ", "), n-3)
	}
	return strings.Join(names, ", ")
}

// allOff reports whether none of the run's link layers has a mechanism that could act.
func allOff(r *record.Run, states []State, of func(catalog.Vocabulary) catalog.Mechanism) bool {
	for _, layer := range Layers(r) {
		if !isOff(r, states, of(layer.Vocabulary())) {
			return false
		}
	}
	return true
}

// known reports whether a run has a mechanism.
func known(states []State, m catalog.Mechanism) bool {
	return slices.ContainsFunc(states, func(s State) bool { return s.Mechanism == m })
}

func (a *Answer) has(m catalog.Mechanism) bool {
	for i := range a.Mechanisms {
		if a.Mechanisms[i].Mechanism == m {
			return true
		}
	}
	return false
}

// deepest returns the first port with the largest positive size, or nil.
func deepest(ports []record.Port, size func(*record.Port) int64) *record.Port {
	var best *record.Port
	for i := range ports {
		p := &ports[i]
		if n := size(p); n > 0 && (best == nil || n > size(best)) {
			best = p
		}
	}
	return best
}

// PortName is how reports name a port: node, colon, number.
func PortName(p *record.Port) string { return p.Name() }
