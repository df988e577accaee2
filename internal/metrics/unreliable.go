package metrics

import (
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
)

// discardWords says why responders threw messages away, in order of
// catalog.MessageDrops.
func discardWords(l lang.Language, d *record.Discards) string {
	var out []string
	for i, n := range [...]int64{d.NoReceive, d.TooLong, d.BadQKey, d.Refused, d.Broken} {
		cause := l.Of(catalog.MessageDrops[i].Cause())
		switch {
		case n == d.Total():
			return cause
		case n > 0:
			out = append(out, FormatCount(n)+" "+cause)
		}
	}
	return strings.Join(out, ", ")
}

// discarded adds up what all responders threw away.
func discarded(r *record.Run) (sum record.Discards) {
	for i := range r.QPs {
		addDiscards(&sum, r.QPs[i].Discards)
	}
	return sum
}

// addDiscards adds d, nil: nothing.
func addDiscards(sum, d *record.Discards) {
	if d == nil {
		return
	}
	sum.NoReceive += d.NoReceive
	sum.TooLong += d.TooLong
	sum.BadQKey += d.BadQKey
	sum.Refused += d.Refused
	sum.Broken += d.Broken
}

// NotDelivered says what became of the messages of UC and UD that completed and
// were not delivered, in words that follow; "" when all were. A message of which
// packets are missing was lost on the way, whatever its responder did with the
// rest.
func NotDelivered(l lang.Language, r *record.Run) string {
	lost := int64(messages(r.Messages).Lost)
	if lost == 0 {
		return ""
	}
	var parts, hosts []string
	byHost := map[string]*record.Discards{} // looked up, never iterated
	for i := range r.QPs {
		q := &r.QPs[i]
		if q.Discards == nil {
			continue
		}
		if byHost[q.Host] == nil {
			hosts = append(hosts, q.Host)
			byHost[q.Host] = &record.Discards{}
		}
		addDiscards(byHost[q.Host], q.Discards)
	}
	for _, host := range hosts {
		d := byHost[host]
		d.Broken = 0
		if n := d.Total(); n > 0 {
			parts = append(parts, l.Sprintf("%s dropped %s (%s)", host, FormatCount(n), discardWords(l, d)))
			lost -= n
		}
	}
	if refused := refusedByStreams(r); refused > 0 {
		parts = append(parts, FormatCount(refused)+l.Of(" refused, as TCP had acknowledged them"))
		lost -= refused
	}
	if lost > 0 && len(parts) > 0 {
		parts = append(parts, FormatCount(lost)+l.Of(" lost on the way"))
	} else if lost > 0 {
		parts = []string{l.Of("lost on the way")}
	}
	return strings.Join(parts, ", ")
}

// refusedByStreams counts messages of iWARP that succeeded for their requester and that the responder refused.
func refusedByStreams(r *record.Run) (n int64) {
	for i := range r.Messages {
		if f := &r.Messages[i]; f.Is(catalog.Acknowledges) && Lost(f) {
			n++
		}
	}
	return n
}

// unreliable names the services without acknowledgements that carried something:
// "UC", "UD" or "UC and UD"; only reports whether nothing else did.
func unreliable(r *record.Run) (names string, only bool) {
	var found []string
	only = true
	for i := range r.Messages {
		switch s := r.Messages[i].Service; {
		case s.Is(catalog.Acknowledges):
			only = false
		case !slices.Contains(found, s.String()):
			found = append(found, s.String())
		}
	}
	slices.Sort(found)
	return strings.Join(found, " and "), only && len(found) > 0
}

// unordered names the services that carried something, where none of them looks for gaps;
// else "".
func unordered(r *record.Run) string {
	names, only := unreliable(r)
	looks := slices.ContainsFunc(r.Messages, func(m record.Message) bool { return m.Is(catalog.Orders) })
	if !only || looks {
		return ""
	}
	return names
}

// gapOff says why no responder looks for gaps.
func gapOff(l lang.Language, r *record.Run) string {
	if names := unordered(r); names != "" {
		return names + l.Of(" looks at no PSNs: what is lost is not missed")
	}
	return l.Of("nothing was sent")
}

// timerOff says why no retransmission timer runs.
func timerOff(l lang.Language, r *record.Run) string {
	if names, only := unreliable(r); only {
		return l.Of("nothing waits for an acknowledgement on ") + names + l.Of(": a message completes when it has left")
	}
	return l.Of("no sender has a retransmission timer")
}

// rnrOff says why no responder sends an RNR NAK.
func rnrOff(l lang.Language, r *record.Run) string {
	if names, only := unreliable(r); only {
		return l.Of("no NAK is sent on ") + names + l.Of(": a message that finds no receive work request is dropped")
	}
	return l.Of("every responder has receive work requests enough")
}

// discardPlaces are the responders of UC and UD.
func (x *index) discardPlaces() *places {
	return x.onQPs(catalog.MessageDrop, func(q *record.QP, place *Place) bool {
		if q.Is(catalog.Acknowledges) || !x.responder(q) {
			return false
		}
		if a := q.Limits.ReceivesPeak; a != nil {
			place.approach(a)
		}
		place.Unit = InRequests
		if d := q.Discards; d != nil {
			act := x.discardAct(q.Place())
			place.Count, place.FirstPS, place.Why = act.Count, act.First, discardWords(x.l, d)
		}
		place.reason = func() string {
			return x.l.Of("every message that arrived whole had the rights, and found the receive, that it needs")
		}
		return true
	})
}

// discardAct adds up the drops of messages of one queue pair.
func (x *index) discardAct(actor record.Place) (sum record.Act) {
	for _, m := range catalog.MessageDrops {
		sum = sum.Merge(x.acts[actKey{m, actor}])
	}
	return sum
}

// dropsMessages reports whether a responder threw a message away.
func (a *Answer) dropsMessages() bool {
	return slices.ContainsFunc(a.Mechanisms, func(m Mechanism) bool {
		return m.Mechanism.Role() == catalog.RoleDiscard
	})
}

// whyNothingAgain says why nothing was sent again where only services without
// acknowledgements lost something; "" elsewhere.
func whyNothingAgain(l lang.Language, r *record.Run, t Totals) string {
	names, only := unreliable(r)
	d := discarded(r)
	var lost []string
	if t.Dropped > 0 {
		lost = append(lost, were(l, int(t.Dropped), "frame"))
	}
	if n := d.Total(); n > 0 {
		lost = append(lost, were(l, int(n), "message"))
	}
	if len(lost) == 0 || !only && t.Dropped > 0 {
		return ""
	}
	return strings.Join(lost, " and ") + l.Of(" dropped, and nothing is sent again on ") + names
}

// unnoticed says that frames were lost where nobody looks for gaps, in words that
// others follow; "" elsewhere.
func unnoticed(l lang.Language, r *record.Run) string {
	names, lost := unordered(r), whatWasLost(l, r)
	if names == "" || lost == "" {
		return ""
	}
	return l.Sprintf("nobody missed what was lost (%s), for %s looks at no PSNs; ", lost, names)
}
