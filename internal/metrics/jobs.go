package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// hinders is how many times what it takes alone, in hundredths, a collective takes of which others are the verdict.
const hinders = 125

// crowds is how many bytes wait at a port at which collectives are in each other's way, though it does nothing.
const crowds = 64 << 10

// victim is a collective or job that others slow.
type victim struct {
	name        string
	took, alone units.Time
	job         bool
}

// hindered is the collective or job that others slow most, beside what it takes alone; nil: none.
func (x *index) hindered() (most *victim) {
	times := func(v *victim) float64 { return float64(v.took) / float64(max(v.alone, 1)) }
	see := func(v victim) {
		if v.slowed() && (most == nil || times(&v) > times(most)) {
			most = &v
		}
	}
	for i := range x.r.Collectives {
		c := &x.r.Collectives[i]
		see(victim{c.Workload, c.TookPS(), c.AlonePS, false})
	}
	for i := range x.r.Jobs {
		j := &x.r.Jobs[i]
		see(victim{j.Workload, j.StepPS(), j.AlonePS, true})
	}
	return most
}

// slowed reports whether it takes so much longer than alone that others are the verdict.
func (v *victim) slowed() bool { return v.alone > 0 && 100*v.took >= hinders*v.alone }

// otherJobs is the verdict, or what follows it where a port dominates, on a collective or job that others slow.
func (x *index) otherJobs(v *Verdict, of int) *Verdict {
	c := x.hindered()
	if c == nil {
		return v
	}
	said, at, _ := x.sayHindered(c)
	if v == nil {
		v = &Verdict{Kind: catalog.VerdictJobs, Of: of, Text: said, Cause: at}
		v.Cause.Milli = 1000 - mulDiv(int64(c.alone), 1000, int64(c.took))
		return v
	}
	switch v.Kind {
	case catalog.VerdictPort, catalog.VerdictUplinks, catalog.VerdictFull:
		v.Text += x.l.Of("; ") + said
	}
	return v
}

// sayHindered names who fills the ports that a victim shares with others, the most crowded port and who sent most
// there first, and how many times longer it takes than alone.
func (x *index) sayHindered(c *victim) (said string, at Cause, by []string) {
	var ports []*record.Port
	var names []string
	sent := map[string]int64{} // by others on those ports
	for i := range x.r.Ports {
		p := &x.r.Ports[i]
		users := x.class(x.out(p.ID()), p.Class)
		takes := func(k int32) bool { return x.r.QPs[k].SentBytes > 0 && x.jobOf(x.r.QPs[k].Workload) == c.name }
		if !Congested(p) && p.PeakQueueBytes < crowds || !slices.ContainsFunc(users, takes) {
			continue
		}
		met := false
		for _, k := range users {
			q := &x.r.QPs[k]
			name := x.jobOf(q.Workload)
			if name == c.name || q.SentBytes == 0 {
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
	times := x.l.Sprintf("%s takes %.1f times what it takes alone, %s", c.name,
		float64(c.took)/float64(c.alone), FormatTime(c.alone))
	if len(ports) == 0 {
		return times, Cause{}, nil
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
	much := ""
	if c.job {
		much = x.l.Sprintf(" (%s of %s through %s)", FormatBytes(x.sentThrough(ports[0], names[0])), names[0], where[0])
	}
	return listNames(x.l, names, listedNobody) + " " + do + listNames(x.l, where, listedNobody) + much +
		x.l.Of(", which ") + c.name +
		x.l.Of(" takes as well: ") + times, atPort(ports[0]), names
}

// sentThrough is the payload of a workload that leaves by a port.
func (x *index) sentThrough(p *record.Port, workload string) (n int64) {
	for _, k := range x.class(x.out(p.ID()), p.Class) {
		if q := &x.r.QPs[k]; x.jobOf(q.Workload) == workload {
			n += q.SentBytes
		}
	}
	return n
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
