package metrics

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Control says what the settings of DCQCN and of routing meant for this run: where queue pairs shared
// a limiter of CNPs, how rarely each could hear; whose CNPs were lost; where rates left a line idle,
// what fills it and what that costs; what receivers held of packets that overtook others. Empty
// where there is nothing of the kind.
func Control(r *record.Run) []string {
	return slices.Concat(sharedLimiters(r), coalescedTwice(r), lostCNPs(r), idleLine(r), resequenced(r))
}

// resequenced says what receivers of packets in any order had to hold, and for how long messages waited for
// packets that others had overtaken.
func resequenced(r *record.Run) []string {
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
		bitmap = fmt.Sprintf(" of a bitmap of %s", FormatCount(n))
	}
	return []string{fmt.Sprintf("%s came behind later ones; %s held at most %s%s until an earlier one came",
		plural(late, "packet"), q.Place(), plural(int64(q.PeakAhead), "packet"), bitmap)}
}

// lostCNPs names the hosts of which a tenth of the CNPs or more did not reach the senders they
// were for; fewer may still have been on their way.
func lostCNPs(r *record.Run) (out []string) {
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
			out = append(out, fmt.Sprintf("%s of the %s that %s sent did not reach senders, which went on at their rates: %s",
				FormatCount(n), plural(sent[host], "CNP"), host, tookCNPs(r)))
		}
	}
	return out
}

// tookCNPs says where lost CNPs are to be looked for: on links, if no buffer dropped anything.
func tookCNPs(r *record.Run) string {
	var most *record.Port
	by, frames := catalog.NoDrop, int64(0)
	for i := range r.Ports {
		for _, d := range r.Ports[i].DropCauses {
			switch {
			case d.Cause.Sign() != catalog.NoMechanism, d.Cause == catalog.DropStorm:
				return "look at drops of the class that CNPs travel in (nic.cnp_class)"
			case (d.Cause.OnLink() || d.Cause == catalog.DropPortDown) && d.Count > frames:
				most, by, frames = &r.Ports[i], d.Cause, d.Count
			}
		}
	}
	if most == nil {
		return "look at drops of the class that CNPs travel in (nic.cnp_class)"
	}
	return fmt.Sprintf("no buffer dropped any; look at the link %s - %s, which lost %s (%s)", most.ID(), most.Peer,
		plural(frames, "frame"), by)
}

// coalescedTwice tells of CNPs that the receiver's card keeps apart and the sender's card does again, so that
// of those that came some had no effect: by the hosts that ignored them.
func coalescedTwice(r *record.Run) (out []string) {
	limits := map[record.Place]string{} // who keeps apart what it sends, by whom that is for; looked up, never iterated
	for i := range r.QPs {
		if q := &r.QPs[i]; q.Limits.CNPLimiter != nil && q.CNPsSent > 0 {
			limits[q.Peer] = fmt.Sprintf("%s sends at most one per %s", q.Host, microseconds(q.Limits.CNPLimiter.IntervalPS))
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
		out = append(out, fmt.Sprintf("CNPs are kept apart twice: %s, and %s ignores what comes as soon after one that it took"+
			": %s of the %s that came had no effect (nic.cnp_coalesce)", says, q.Host, FormatCount(ignored), plural(came, "CNP")))
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
func (l *limiter) who() string {
	if len(l.from) == l.pairs {
		return "senders"
	}
	return "queue pairs"
}

// sharedLimiters tells of the limiters of several queue pairs that left marks
// unanswered, the busiest first.
func sharedLimiters(r *record.Run) (out []string) {
	all := limitersOf(r)
	for i, l := range all {
		if i == listedLimiters {
			return append(out, fmt.Sprintf("and %s more that share a limiter of CNPs so", plural(int64(len(all)-i), "port")))
		}
		per := "per port"
		if l.to != "" {
			per = "to " + l.to
		}
		out = append(out, fmt.Sprintf("%s: %s CNP/s %s, each of %d %s hears at most one per %s on average "+
			"(min_time_between_cnps %s, cnp_limiter %s); each was sent %s to %s CNPs, and %s got none",
			l.Port, FormatCount(int64(units.Second/l.IntervalPS)), per, l.pairs, l.who(), microseconds(units.Time(l.pairs)*l.IntervalPS),
			microseconds(l.IntervalPS), l.Scope, FormatCount(l.least), FormatCount(l.most), plural(l.limited, "marked packet")))
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
