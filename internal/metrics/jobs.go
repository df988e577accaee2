package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// hinders is how many times what it takes alone, in hundredths, a collective takes of which others are the verdict.
const hinders = 125

// crowds is how many bytes wait at a port at which collectives are in each other's way, though it does nothing.
const crowds = 64 << 10

// hindered is the collective that others slow most, beside what it takes alone; nil: none.
func (x *index) hindered() (most *record.Collective) {
	times := func(c *record.Collective) float64 { return float64(c.TookPS()) / float64(max(c.AlonePS, 1)) }
	for i := range x.r.Collectives {
		c := &x.r.Collectives[i]
		if c.AlonePS > 0 && 100*c.TookPS() >= hinders*c.AlonePS && (most == nil || times(c) > times(most)) {
			most = c
		}
	}
	return most
}

// otherJobs is the verdict, or what follows it where a port dominates, on a collective that others slow.
func (x *index) otherJobs(v *Verdict, of int) *Verdict {
	c := x.hindered()
	if c == nil {
		return v
	}
	said, at := x.sayHindered(c)
	if v == nil {
		v = &Verdict{Kind: catalog.VerdictJobs, Of: of, Text: said, Cause: at}
		v.Cause.Milli = 1000 - mulDiv(int64(c.AlonePS), 1000, int64(c.TookPS()))
		return v
	}
	switch v.Kind {
	case catalog.VerdictPort, catalog.VerdictUplinks, catalog.VerdictFull:
		v.Text += x.l.Of("; ") + said
	}
	return v
}

// sayHindered names who fills the ports that a collective shares with others, the most crowded port and who sent most
// there first, and how many times longer it takes than alone.
func (x *index) sayHindered(c *record.Collective) (said string, at Cause) {
	var ports []*record.Port
	var names []string
	sent := map[string]int64{} // by others on those ports
	for i := range x.r.Ports {
		p := &x.r.Ports[i]
		users := x.class(x.out(p.ID()), p.Class)
		takes := func(k int32) bool { return x.r.QPs[k].SentBytes > 0 && x.jobOf(x.r.QPs[k].Workload) == c.Workload }
		if !Congested(p) && p.PeakQueueBytes < crowds || !slices.ContainsFunc(users, takes) {
			continue
		}
		met := false
		for _, k := range users {
			q := &x.r.QPs[k]
			name := x.jobOf(q.Workload)
			if name == c.Workload || q.SentBytes == 0 {
				continue
			}
			if sent[name] += q.SentBytes; !slices.Contains(names, name) {
				names = append(names, name)
			}
			met = true
		}
		if met {
			ports = append(ports, p)
		}
	}
	times := x.l.Sprintf("%s takes %.1f times what it takes alone, %s", c.Workload,
		float64(c.TookPS())/float64(c.AlonePS), FormatTime(c.AlonePS))
	if len(ports) == 0 {
		return times, Cause{}
	}
	slices.SortStableFunc(ports, func(a, b *record.Port) int {
		return cmp.Or(cmp.Compare(b.Marked, a.Marked), cmp.Compare(b.MeanQueueBytes, a.MeanQueueBytes))
	})
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(sent[b], sent[a]) })
	where := make([]string, len(ports))
	for i, p := range ports {
		where[i] = p.ID().String()
	}
	do := x.l.Of("fill ")
	if len(names) == 1 {
		do = x.l.Of("fills ")
	}
	return listNames(x.l, names, listedNobody) + " " + do + listNames(x.l, where, listedNobody) +
		x.l.Of(", which ") + c.Workload +
		x.l.Of(" takes as well: ") + times, atPort(ports[0])
}

// slotsOf ends the name of the news of slots; see workload.Plan.SlotsName.
const slotsOf = " slots"

// jobOf is the workload that one belongs to: the collective's of the news of its slots.
func (x *index) jobOf(workload string) string {
	for i := range x.r.Collectives {
		if c := &x.r.Collectives[i]; c.Slots == workload && workload != "" {
			return c.Workload
		}
	}
	for i := range x.r.Jobs {
		if j := &x.r.Jobs[i]; j.Workload+slotsOf == workload {
			return j.Workload
		}
	}
	return workload
}
