package metrics

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Control says what the settings of DCQCN and of routing meant for this run: where queue pairs shared
// a limiter of CNPs, how rarely each could hear; whose CNPs were lost; where rates left a line idle,
// what fills it and what that costs; what receivers held of packets that overtook others. Empty
// where there is nothing of the kind.
func Control(r *record.Run) []string { return control(lang.English, r) }

func control(l lang.Language, r *record.Run) []string {
	return slices.Concat(sharedLimiters(l, r), coalescedTwice(l, r), lostCNPs(l, r), idleLine(l, r), resequenced(l, r))
}

// resequenced says what receivers of packets in any order had to hold, and for how long messages waited for
// packets that others had overtaken.
func resequenced(l lang.Language, r *record.Run) []string {
	late := int64(0)
	for i := range r.Ledger {
		if e := &r.Ledger[i]; e.Mechanism == catalog.Reordering {
			late += e.Count
		}
	}
	most := -1
	for i := range r.QPs {
		if q := &r.QPs[i]; q.PeakAhead > 0 && (most < 0 || q.PeakAhead > r.QPs[most].PeakAhead) {
			most = i
		}
	}
	if late == 0 || most < 0 {
		return nil
	}
	q := &r.QPs[most]
	bitmap := ""
	if n := q.Limits.BitmapPackets; n > 0 {
		bitmap = l.Sprintf(" of a bitmap of %s", FormatCount(n))
	}
	return []string{l.Sprintf("%s came behind later ones; %s held at most %s%s until an earlier one came",
		plural(l, late, "packet"), q.Place(), plural(l, int64(q.PeakAhead), "packet"), bitmap)}
}

// lostCNPs names the hosts of which a tenth of the CNPs or more did not reach the senders they
// were for; fewer may still have been on their way.
func lostCNPs(l lang.Language, r *record.Run) (out []string) {
	var all, heard int64
	for i := range r.QPs {
		all, heard = all+r.QPs[i].CNPsSent, heard+r.QPs[i].CNPsReceived
	}
	if all-heard < 2 {
		return nil
	}
	received := map[record.Place]int64{} // looked up, never iterated
	for i := range r.QPs {
		received[r.QPs[i].Place()] += r.QPs[i].CNPsReceived
	}
	var hosts []string
	sent, lost := map[string]int64{}, map[string]int64{} // looked up, never iterated
	for i := range r.QPs {
		q := &r.QPs[i]
		if _, known := sent[q.Host]; !known {
			hosts = append(hosts, q.Host)
		}
		sent[q.Host] += q.CNPsSent
		if n, known := received[q.Peer]; known {
			lost[q.Host] += max(0, q.CNPsSent-n)
		}
	}
	for _, host := range hosts {
		if n := lost[host]; n*10 >= sent[host] && n > 1 {
			out = append(out, l.Sprintf("%s of the %s that %s sent did not reach senders, which went on at their rates: %s",
				FormatCount(n), plural(l, sent[host], "CNP"), host, tookCNPs(l, r)))
		}
	}
	return out
}

// tookCNPs says where lost CNPs are to be looked for: on links, if no buffer dropped anything.
func tookCNPs(l lang.Language, r *record.Run) string {
	var most *record.Port
	by, frames := catalog.NoDrop, int64(0)
	for i := range r.Ports {
		for _, d := range r.Ports[i].DropCauses {
			switch {
			case d.Cause.Sign() != catalog.NoMechanism, d.Cause == catalog.DropStorm:
				return l.Of("look at drops of the class that CNPs travel in (nic.cnp_class)")
			case (d.Cause.OnLink() || d.Cause == catalog.DropPortDown) && d.Count > frames:
				most, by, frames = &r.Ports[i], d.Cause, d.Count
			}
		}
	}
	if most == nil {
		return l.Of("look at drops of the class that CNPs travel in (nic.cnp_class)")
	}
	return l.Sprintf("no buffer dropped any; look at the link %s - %s, which lost %s (%s)", most.ID(), most.Peer,
		plural(l, frames, "frame"), by)
}

// coalescedTwice tells of CNPs that the receiver's card keeps apart and the sender's card does again, so that
// of those that came some had no effect: by the hosts that ignored them.
func coalescedTwice(l lang.Language, r *record.Run) (out []string) {
	limits := map[record.Place]string{} // who keeps apart what it sends, by whom that is for; looked up, never iterated
	for i := range r.QPs {
		if q := &r.QPs[i]; q.Limits.CNPLimiter != nil && q.CNPsSent > 0 {
			limits[q.Peer] = l.Sprintf("%s sends at most one per %s", q.Host, microseconds(q.Limits.CNPLimiter.IntervalPS))
		}
	}
	done := map[string]bool{} // likewise
	for i := range r.QPs {
		q := &r.QPs[i]
		says := limits[q.Place()]
		if says == "" || q.CNPsIgnored == 0 || done[q.Host] {
			continue
		}
		done[q.Host] = true
		ignored, came := int64(0), int64(0)
		for k := range r.QPs {
			if o := &r.QPs[k]; o.Host == q.Host {
				ignored, came = ignored+o.CNPsIgnored, came+o.CNPsReceived
			}
		}
		out = append(out, l.Sprintf("CNPs are kept apart twice: %s, and %s ignores what comes as soon after one that it took"+
			": %s of the %s that came had no effect (nic.cnp_coalesce)", says, q.Host, FormatCount(ignored), plural(l,
			came, "CNP")))
	}
	return out
}

// listedLimiters is how many limiters have a sentence of their own.
const listedLimiters = 3

// limiter is one limiter of CNPs that several queue pairs shared.
type limiter struct {
	*record.CNPLimiter
	to      string // the host at the other end, with scope destination
	pairs   int
	from    []string // the hosts at the other end
	limited int64
	// Least and most CNPs that one of the queue pairs was sent.
	least, most int64
}

// who are the queue pairs at the other end: senders, where each host has one.
func (m *limiter) who(l lang.Language) string {
	if len(m.from) == m.pairs {
		return l.Of("senders")
	}
	return l.Of("queue pairs")
}

// sharedLimiters tells of the limiters of several queue pairs that left marks
// unanswered, the busiest first.
func sharedLimiters(l lang.Language, r *record.Run) (out []string) {
	all := limitersOf(r)
	for i, m := range all {
		if i == listedLimiters {
			return append(out, l.Sprintf("and %s more that share a limiter of CNPs so", plural(l, int64(len(all)-i), "port")))
		}
		per := l.Of("per port")
		if m.to != "" {
			per = l.Of("to ") + m.to
		}
		out = append(out, l.Sprintf("%s: %s CNP/s %s, each of %d %s hears at most one per %s on average "+
			"(min_time_between_cnps %s, cnp_limiter %s); each was sent %s to %s CNPs, and %s got none",
			m.Port, FormatCount(int64(units.Second/m.IntervalPS)), per, m.pairs, m.who(l),
			microseconds(units.Time(m.pairs)*m.IntervalPS),
			microseconds(m.IntervalPS), m.Scope, FormatCount(m.least), FormatCount(m.most), plural(l, m.limited,
				"marked packet")))
	}
	return out
}

func limitersOf(r *record.Run) []limiter {
	var all []limiter
	for i := range r.QPs {
		q := &r.QPs[i]
		l := q.Limits.CNPLimiter
		if l == nil || l.Scope == "queue-pair" || l.IntervalPS <= 0 {
			continue
		}
		to := ""
		if l.Scope == "destination" {
			to = peerHost(q)
		}
		k := slices.IndexFunc(all, func(o limiter) bool { return o.Port == l.Port && o.to == to })
		if k < 0 {
			k, all = len(all), append(all, limiter{CNPLimiter: l, to: to, least: q.CNPsSent})
		}
		all[k].pairs++
		all[k].least, all[k].most = min(all[k].least, q.CNPsSent), max(all[k].most, q.CNPsSent)
		if from := peerHost(q); !slices.Contains(all[k].from, from) {
			all[k].from = append(all[k].from, from)
		}
		all[k].limited += q.CNPsLimited
	}
	all = slices.DeleteFunc(all, func(l limiter) bool { return l.pairs < 2 || l.limited == 0 })
	slices.SortStableFunc(all, func(a, b limiter) int { return cmp.Compare(b.limited, a.limited) })
	return all
}

// microseconds prints whole microseconds as such.
func microseconds(t units.Time) string {
	if t%units.Microsecond == 0 {
		return fmt.Sprintf("%d us", t/units.Microsecond)
	}
	return FormatTime(t)
}
