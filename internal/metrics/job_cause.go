package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// JobHold says what takes most of the steps of a job.
type JobHold uint8

// What may take most of them.
const (
	HoldNone      JobHold = iota // no step was over
	HoldComputing                // computations
	HoldOthers                   // other traffic at ports that it takes: alone it is faster
	HoldPipeline                 // bubbles, and waiting for the end of the step
	HoldCopies                   // copies inside hosts
	HoldSlowRank                 // a rank that comes late to collectives
	HoldControl                  // exposed communication: congestion control holds messages back
	HoldWindow                   // likewise: a window
	HoldPaused                   // likewise: pauses, or waits for credits
	HoldInside                   // likewise: data move inside servers
	HoldLaunch                   // likewise: kernels are launched, called and synchronised
	HoldProxies                  // likewise: proxies, cores and cards work
	HoldPort                     // likewise: a port to which more comes than it sends
	HoldLine                     // likewise: sending at the rate of the lines
)

// JobCause is what takes most of the steps of a job, as far as it can be told.
type JobCause struct {
	Hold   JobHold
	Share  float64        // of the job's time
	Places []record.Place // ports of switches at which its packets queue, the worst first
	Rank   int            // the slow rank
	By     []string       // workloads that slow it, who sends most first
	// Slow: beside that, waiting for ranks that come late takes a fifth or more of its time.
	Slow bool
	Text string
}

// telling is the share of a job's time, or of its communication, from which something is named.
const telling = 0.2

// JobCauseOf is that of job k of a run.
func JobCauseOf(r *record.Run, k int) JobCause { return JobCauseIn(lang.English, r, k) }

// JobCauseIn is JobCauseOf with the sentence in a language.
func JobCauseIn(l lang.Language, r *record.Run, k int) JobCause {
	j := &r.Jobs[k]
	total := JobTotal(j)
	if total == 0 || len(StepTimes(j)) == 0 {
		return JobCause{}
	}
	waits := units.Time(0)
	for i := range j.Times {
		if j.Times[i].Kind == record.JobWaits {
			waits += j.Times[i].TimePS
		}
	}
	c := mainCause(l, r, j, total)
	late := float64(waits) / float64(total) / float64(j.Ranks)
	if c.Hold != HoldSlowRank && late >= telling {
		slow := slowRank(l, j, late)
		c.Slow, c.Rank, c.Text = true, slow.Rank, c.Text+"; "+slow.Text
	}
	return c
}

// mainCause is what takes most.
func mainCause(l lang.Language, r *record.Run, j *record.Job, total units.Time) JobCause {
	if v := (victim{j.Workload, j.StepPS(), j.AlonePS, true}); v.slowed() {
		c := JobCause{Hold: HoldOthers, Share: 1 - float64(v.alone)/float64(v.took)}
		var at Cause
		if c.Text, at, c.By = newIndexIn(l, r).sayHindered(&v); len(c.By) > 0 {
			c.Places = []record.Place{at.Place}
			return c
		}
	}
	var sums [5]units.Time // computing, exposed, waits, bubbles, copies
	exposed := map[string]units.Time{}
	for i := range j.Times {
		switch t := &j.Times[i]; t.Kind {
		case record.JobComputes, record.JobHost:
			sums[0] += t.TimePS
		case record.JobExposed:
			sums[1] += t.TimePS
			exposed[t.What] += t.TimePS
		case record.JobCopies:
			sums[4] += t.TimePS
		case record.JobWaits:
			sums[2] += t.TimePS
		case record.JobMessage, record.JobIdle:
			sums[3] += t.TimePS
		}
	}
	share := func(n int) float64 { return float64(sums[n]) / float64(total) / float64(j.Ranks) }
	most := 1
	for n := 2; n < len(sums); n++ {
		if sums[n] > sums[most] {
			most = n
		}
	}
	if share(most) < telling {
		return JobCause{Hold: HoldComputing, Share: share(0), Text: l.Sprintf("computations take %.0f %% of its time; "+
			"nothing that they wait for takes a fifth", 100*share(0))}
	}
	switch most {
	case 2:
		return slowRank(l, j, share(2))
	case 3:
		return JobCause{Hold: HoldPipeline, Share: share(3), Text: l.Sprintf("bubbles and the wait for the end of the "+
			"step take %.0f %% of its time: more micro-batches, or chunks of stages, help", 100*share(3))}
	}
	if most == 4 {
		return JobCause{Hold: HoldCopies, Share: share(4), Text: l.Sprintf("copies inside hosts, beside no computation, "+
			"take %.0f %% of its time", 100*share(4))}
	}
	what := ""
	for i := range j.Calls {
		if n := j.Calls[i].Name; what == "" || exposed[n] > exposed[what] {
			what = n
		}
	}
	said := l.Sprintf("%s is exposed for %.0f %% of its time", what, 100*share(1))
	if own := float64(exposed[what]) / float64(total) / float64(j.Ranks); exposed[what] < sums[1] {
		said = l.Sprintf("communication is exposed for %.0f %% of its time, of which %s has %.0f %%", 100*share(1), what,
			100*own)
	}
	return newIndexIn(l, r).exposedCause(j, said, share(1))
}

// slowRank names who comes last to the calls that wait longest.
func slowRank(l lang.Language, j *record.Job, share float64) JobCause {
	c := JobCause{Hold: HoldSlowRank, Share: share, Rank: -1}
	var most *record.JobCall
	for i := range j.Calls {
		if x := &j.Calls[i]; x.LastRank >= 0 && (most == nil || x.WaitPS > most.WaitPS) {
			most = x
		}
	}
	c.Text = l.Sprintf("waiting for ranks that come late takes %.0f %% of its time", 100*share)
	if most != nil {
		c.Rank = most.LastRank
		c.Text += l.Sprintf(": rank %d is last at %d of %d calls of %s, which wait %s for the last one in the mean",
			c.Rank, most.LastCount, most.Count, most.Name, FormatTime(most.WaitPS/units.Time(most.Count)))
		c.Text += slowBy(l, j, c.Rank)
	}
	return c
}

// slowBy says how much longer a rank computes than others do, where that is a twentieth or more.
func slowBy(l lang.Language, j *record.Job, rank int) string {
	sums := make([]units.Time, j.Ranks)
	for i := range j.Times {
		if t := &j.Times[i]; t.Kind == record.JobComputes {
			sums[t.Rank] += t.TimePS
		}
	}
	own := sums[rank]
	slices.Sort(sums)
	usual := sums[(j.Ranks-1)/2]
	if own*20 < usual*21 {
		return ""
	}
	return l.Sprintf("; it computes for %s, the rank in the middle for %s", FormatTime(own), FormatTime(usual))
}

// exposedCause tells what the exposed communication of a job spends its time on, by the critical path: what its
// messages waited for earlier ones counts with what those did.
func (x *index) exposedCause(j *record.Job, said string, share float64) JobCause {
	of, own := holdTimes(j.Critical)
	c := JobCause{Hold: HoldLine, Share: share}
	for h := HoldControl; h < HoldPort; h++ {
		if of[h] > of[c.Hold] {
			c.Hold = h
		}
	}
	ports := x.crowdedPorts(j.Workload)
	if c.Hold == HoldLine && len(ports) > 0 {
		c.Hold = HoldPort
	}
	if own > 0 && c.Hold != HoldLine && c.Hold != HoldPort {
		c.Share = share * of[c.Hold] / own
	}
	for _, p := range ports {
		if c.Hold != HoldInside && c.Hold != HoldLaunch && c.Hold != HoldProxies {
			c.Places = append(c.Places, atPort(p).Place)
		}
	}
	c.Text = said + holdText(x.l, &c, ports, share)
	return c
}

// holdTimes adds up the stages of calls on a critical path by what they are. What messages waited for earlier ones of
// their queue pair counts as what messages did else.
func holdTimes(path []record.CriticalGroup) (of [HoldLine + 1]float64, own float64) {
	for i := range path {
		g := &path[i]
		var sums [HoldLine + 1]float64
		all := 0.0
		for k := range g.Stages {
			h, t := holdOf(g, &g.Stages[k]), float64(g.Stages[k].TimePS)
			sums[h] += t
			if h != HoldNone {
				all += t
			}
		}
		for h := HoldControl; h <= HoldLine && all > 0; h++ {
			t := sums[h] * (1 + sums[HoldNone]/all)
			of[h] += t
			own += t
		}
	}
	return of, own
}

// holdOf is what a stage of a critical path counts as; HoldNone: as what other stages do.
func holdOf(g *record.CriticalGroup, s *record.CriticalStage) JobHold {
	message := g.Kind == record.KindMessage || g.Kind == record.KindSlot
	switch {
	case s.Stage == catalog.NoStage && (s.Label == record.StageComputing || s.Label == record.StageCopying):
		return HoldComputing
	case message && s.Stage == catalog.StageEarlierWork:
		return HoldNone
	case message && s.Stage == catalog.StageRate:
		return HoldControl
	case message && s.Stage.Part() == catalog.PartSlowed:
		return HoldWindow
	case message && s.Stage.Part() == catalog.PartHeld:
		return HoldPaused
	}
	switch partOf(g.Kind, s) {
	case PathLaunch, PathSteps:
		return HoldLaunch
	case PathCopies:
		return HoldInside
	case PathHosts:
		return HoldProxies
	}
	return HoldLine
}

// holdText says what is behind exposed communication.
func holdText(l lang.Language, c *JobCause, ports []*record.Port, share float64) string {
	part := func(text string) string { return l.Sprintf("; %s takes %.0f %%", text, 100*c.Share) }
	if c.Share > 0.995*share {
		part = func(text string) string { return l.Of(": ") + text }
	}
	switch c.Hold {
	case HoldControl:
		if len(ports) > 0 && ports[0].Marked > 0 {
			return part(l.Sprintf("congestion control, after marks of %s,", c.Places[0]))
		}
		return part(l.Of("congestion control"))
	case HoldWindow:
		return part(l.Of("a window of its queue pairs"))
	case HoldPaused:
		if len(ports) > 0 {
			return part(l.Sprintf("waiting for leave to send (pauses or credits), most crowded is %s,", c.Places[0]))
		}
		return part(l.Of("waiting for leave to send (pauses or credits)"))
	case HoldInside:
		return part(l.Of("moving data inside servers"))
	case HoldLaunch:
		return part(l.Of("what kernels take beside their data, to start and to step on,"))
	case HoldProxies:
		return part(l.Of("the work of proxies, cores and cards"))
	case HoldPort:
		return l.Sprintf("; more comes to %s than is sent: up to %s wait at the first, in use for %.0f %% of the time",
			listPlaces(l, c.Places), FormatBytes(ports[0].PeakQueueBytes), 100*ports[0].Utilisation)
	}
	return l.Of("; nothing holds its messages for a fifth of that: only a faster way, or fewer bytes, helps")
}

// mostCrowded is how many ports are named.
const mostCrowded = 4

// listPlaces names places.
func listPlaces(l lang.Language, places []record.Place) string {
	var names []string
	for i := range places {
		names = append(names, places[i].In(l))
	}
	return listNames(l, names, mostCrowded)
}

// crowdedPorts are ports of switches that a workload takes at which most waits, the worst first.
func (x *index) crowdedPorts(workload string) (all []*record.Port) {
	for i := range x.r.Ports {
		p := &x.r.Ports[i]
		takes := func(k int32) bool {
			return x.r.QPs[k].SentBytes > 0 && x.jobOf(x.r.QPs[k].Workload) == workload && x.r.QPs[k].Host != p.Node
		}
		if (p.PeakQueueBytes >= crowds || p.Marked > 0) && slices.ContainsFunc(x.class(x.out(p.ID()), p.Class), takes) {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b *record.Port) int {
		return cmp.Or(cmp.Compare(b.Marked, a.Marked), cmp.Compare(b.MeanQueueBytes, a.MeanQueueBytes),
			cmp.Compare(b.PeakQueueBytes, a.PeakQueueBytes))
	})
	return all[:min(len(all), mostCrowded)]
}
