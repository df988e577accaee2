package metrics

import (
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// FailureSteps says how long after a failure it was noticed and no table led over the link any
// more, and what that time was made of: "noticed after 1 ms, converged after 11 ms (1 ms
// detection, 10 ms convergence)". Whether another way was left is not part of it.
func FailureSteps(l lang.Language, f *record.Failure) string {
	return failureSteps(l, f, l.Of("the run"))
}

// failureSteps is FailureSteps up to the end of what it names.
func failureSteps(l lang.Language, f *record.Failure, until string) string {
	switch {
	case f.Silent && f.UpPS > 0:
		return l.Sprintf("a black hole for %s, which nobody noticed", FormatTime(f.UpPS-f.DownPS))
	case f.Silent:
		return l.Of("a black hole, which nobody noticed")
	case f.NoticedPS < 0 && f.UpPS > 0:
		return l.Sprintf("over after %s, before it was noticed", FormatTime(f.UpPS-f.DownPS))
	case f.NoticedPS < 0:
		return l.Of("not noticed before ") + until + l.Of(" ended")
	}
	said := l.Of("noticed after ") + FormatTime(f.NoticedPS-f.DownPS)
	if f.ReroutedPS < 0 {
		return said + l.Of(", not converged before ") + until + l.Of(" ended")
	}
	var parts []string
	for _, p := range f.Phases {
		parts = append(parts, FormatTime(p.PS)+" "+l.Of(p.Name))
	}
	said = l.Sprintf("%s, converged after %s (%s)", said, FormatTime(f.ReroutedPS-f.DownPS), strings.Join(parts, ", "))
	if f.UpPS > 0 && f.UpPS < f.ReroutedPS {
		said += l.Sprintf(", %s after the link worked again", FormatTime(f.ReroutedPS-f.UpPS))
	}
	return said
}

// SayLoop tells of a forwarding loop, in words that follow what went round in it.
func SayLoop(l lang.Language, o *record.Loop) string {
	when := l.Of("from ") + FormatTime(o.FromPS) + l.Of(" on")
	if o.ToPS >= 0 {
		when = l.Sprintf("for %s from %s on, until all of them had new tables", FormatTime(o.ToPS-o.FromPS),
			FormatTime(o.FromPS))
	}
	return l.Sprintf("went round in a loop of %s %s", strings.Join(o.Nodes, " and "), when)
}

// loopAt is the loop that packets which ended their TTL at a switch went round in, the one in which most
// did; nil: none is known.
func (x *index) loopAt(node string) (most *record.Loop) {
	for i := range x.r.Loops {
		if l := &x.r.Loops[i]; slices.Contains(l.Nodes, node) && l.Expired > 0 && (most == nil || l.Expired > most.Expired) {
			most = l
		}
	}
	return most
}

// sayFailure tells of a failure, in words that follow a semicolon.
func (x *index) sayFailure(f *record.Failure) string {
	x.tells |= tellsDrops
	told, until := *f, x.l.Of("the run")
	if to := x.known.to; to > 0 { // what came later is not part of what is told
		if told.NoticedPS > to {
			told.NoticedPS = -1
		}
		if told.ReroutedPS > to {
			told.ReroutedPS = -1
		}
		if told.UpPS > to {
			told.UpPS = 0
		}
		until = x.l.Of("the message")
	}
	with := ""
	switch {
	case f.SwitchDown != "":
		with = x.l.Of(" with the switch ") + f.SwitchDown
	case f.LostFrom != "":
		with = x.l.Of(" for what ") + f.LostFrom + x.l.Of(" sends")
	}
	return x.l.Sprintf("the link %s failed%s%s at %s, %s", f.Link, with, x.timesUpTo(f),
		FormatTime(f.DownPS-x.r.FirstPost()), failureSteps(x.l, &told, until))
}

// timesUpTo counts the failures of a link in the time that is asked about of which one is the last, in words that
// follow "failed"; "": it is the only one.
func (x *index) timesUpTo(last *record.Failure) string {
	n := 0
	for i := range x.r.Failures {
		if f := &x.r.Failures[i]; f.Link == last.Link && f.DownPS <= last.DownPS && (f.UpPS == 0 || f.UpPS > x.known.from) {
			n++
		}
	}
	if n < 2 {
		return ""
	}
	return x.l.Sprintf(" %d times, the last", n)
}

// sayFailed names the switch that failed, if all links did with it that took time of messages, or the link that
// took most.
func (x *index) sayFailed(v *Verdict, d *defect) string {
	with := ""
	for n, link := range d.links() {
		k := slices.IndexFunc(x.r.Failures, func(f record.Failure) bool { return f.Link.Ends(link.PortID()) })
		if k < 0 || x.r.Failures[k].SwitchDown == "" || n > 0 && x.r.Failures[k].SwitchDown != with {
			with = ""
			break
		}
		if with = x.r.Failures[k].SwitchDown; n == 0 {
			v.Cause.Place = x.r.Failures[k].Link
		}
	}
	if with == "" {
		return x.nameOf(&v.Cause) + x.l.Of(" failed") + x.outages(v.Cause.Place) + andMore(x.l, len(d.links())-1, "link")
	}
	return x.l.Of("the switch ") + with + x.l.Of(" failed") + strings.Replace(x.outages(v.Cause.Place),
		x.l.Of(" with the switch ")+with, "", 1)
}

// failureOn is the latest failure that a message met on the way of its queue pair's
// packets, as that was at the start, or else on that of its peer's; nil: it met none.
func (x *index) failureOn(q *record.QP, f *record.Message) *record.Failure {
	on := func(q *record.QP) *record.Failure {
		return x.failed(f, func(link record.Place) bool {
			return slices.ContainsFunc(q.Limits.Path, func(h *record.PathHop) bool { return link.Joins(h.Port, h.Peer) })
		})
	}
	k, ok := x.peer(q)
	if met := on(q); met != nil || !ok {
		return met
	}
	return on(&x.r.QPs[k])
}

// failureAt is the latest failure that a message met of the link at a port, without a
// message the latest of all; nil: it met none.
func (x *index) failureAt(port record.PortID, f *record.Message) *record.Failure {
	return x.failed(f, func(link record.Place) bool { return link.Ends(port) })
}

// failedBefore is the latest failure that had come when a message ended, though the link may have worked
// again when it was posted: tables and those who send again take their time.
func (x *index) failedBefore(f *record.Message) (latest *record.Failure) {
	for i := range x.r.Failures {
		k := &x.r.Failures[i]
		if k.DownPS <= f.StartPS+f.Life() && (latest == nil || k.DownPS > latest.DownPS) {
			latest = k
		}
	}
	return latest
}

// failed is the latest failure of some links that had not passed when message f was
// posted and had come when it ended.
func (x *index) failed(f *record.Message, of func(link record.Place) bool) (latest *record.Failure) {
	for i := range x.r.Failures {
		k := &x.r.Failures[i]
		if f != nil && (k.UpPS > 0 && k.UpPS < f.StartPS || f.CompletionPS > 0 && k.DownPS > f.StartPS+f.CompletionPS) {
			continue
		}
		if of(k.Link) && (latest == nil || k.DownPS > latest.DownPS) {
			latest = k
		}
	}
	return latest
}

// whyNotRerouted says why no flow changed its path.
func whyNotRerouted(l lang.Language, r *record.Run) string {
	if len(r.Failures) == 0 {
		return l.Of("no flow changed its path")
	}
	f := &r.Failures[0]
	said := l.Sprintf("%s failed, %s", f.Link, FailureSteps(l, f))
	if f.NoticedPS < 0 {
		return said
	}
	if f.Switches == 0 && f.ReroutedPS < 0 {
		return said
	}
	if f.Switches == 0 {
		return said + l.Of("; no table of a switch had to change for it")
	}
	tables := plural(l, int64(f.Switches), "switch table")
	if at, frames := noRoute(r); frames > 0 {
		return l.Sprintf("%s; %s changed, but no other way was left: %s then dropped %s", said, tables, at,
			plural(l, frames, "frame"))
	}
	return l.Sprintf("%s; %s changed, but no packet met another path there", said, tables)
}

// noRoute is where the most frames were dropped that came in by it and had no route on, and how many
// such there were in all.
func noRoute(r *record.Run) (at record.Place, frames int64) {
	most := int64(0)
	for i := range r.Ports {
		for _, d := range r.Ports[i].DropCauses {
			if d.Cause != catalog.DropNoRoute {
				continue
			}
			if frames += d.Count; d.Count > most {
				most, at = d.Count, r.Ports[i].Place()
			}
		}
	}
	return at, frames
}

// FirstLoss is when the first frame was lost on a link that failed, from then on; false: none was.
func FirstLoss(r *record.Run, f *record.Failure) (at units.Time, any bool) {
	for i := range r.Ports {
		p := &r.Ports[i]
		if !f.Link.Ends(p.ID()) {
			continue
		}
		for _, d := range p.DropCauses {
			if linkFailed(d.Cause) && d.Last >= f.DownPS && (!any || d.First < at) {
				at, any = max(d.First, f.DownPS), true
			}
		}
	}
	return at, any
}

// failurePlaces are the links that failed; the acts are the tables that changed.
func (x *index) failurePlaces() *places {
	out := &places{most: x.places}
	for i := range x.r.Failures {
		f := &x.r.Failures[i]
		p := Place{Where: f.Link, Count: int64(f.Switches), Unit: InTime,
			reason: func() string { return FailureSteps(x.l, f) }}
		if f.NoticedPS >= 0 {
			p.FirstPS = f.NoticedPS
		}
		out.add(p)
	}
	return out
}
