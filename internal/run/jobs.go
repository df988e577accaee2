package run

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/record"
)

// Collectives that are run alone, to tell what they lose to others: so many, of so many bytes each at most.
const (
	mostJobs     = 4
	mostJobBytes = 64 << 20
)

// mostStepBytes is how many bytes a job sends at most that is run alone.
const mostStepBytes = 1 << 30

// crowded is how many bytes wait at a port at which jobs are in each other's way.
const crowded = 64 << 10

// jobsAlone runs the collectives and jobs alone that met others at a crowded port, as the scenario has all else.
func (r *runner) jobsAlone(out *record.Run) {
	plan := r.Valid.Plan
	if r.opt.alone || len(plan.Entries) < 2 || len(plan.Collectives)+len(plan.Jobs) == 0 {
		return
	}
	meet := meetings(out)
	for k := range out.Jobs {
		j := &out.Jobs[k]
		if j.StepPS() == 0 || !meet[j.Workload] || sentBy(out, j.Workload, j.Workload+" slots") > mostStepBytes {
			continue
		}
		if alone := r.aloneOf(plan.Jobs[k].Entry); alone != nil && len(alone.Jobs) == 1 {
			j.AlonePS = alone.Jobs[0].StepPS()
		}
	}
	ran := 0
	for k := range out.Collectives {
		c := &out.Collectives[k]
		if ran == mostJobs || c.TookPS() == 0 || !meet[c.Workload] || sentBy(out, c.Workload, c.Slots) > mostJobBytes {
			continue
		}
		ran++
		if alone := r.aloneOf(plan.Collectives[k].Entry); alone != nil && len(alone.Collectives) == 1 {
			c.AlonePS = alone.Collectives[0].TookPS()
		}
	}
}

// aloneOf runs one entry of the scenario without the others; nil: it cannot, or the user has stopped it.
func (r *runner) aloneOf(entry int) *record.Run {
	one := *r.Valid
	if one.Plan = r.Valid.Plan.Only(entry); one.Plan == nil || one.Plan.Finish(one.Graph) != nil {
		return nil
	}
	w, err := build.New(&one, build.Options{})
	if err != nil {
		return nil
	}
	alone := Simulate(r.ctx, w, Options{Workers: 1, alone: true})
	if r.ctx.Err() != nil {
		return nil
	}
	return alone
}

// sentBy is the payload that the queue pairs of a workload sent, with those of the news of its slots.
func sentBy(out *record.Run, workload, slots string) (n int64) {
	for i := range out.QPs {
		if q := &out.QPs[i]; q.Workload == workload || q.Workload == slots {
			n += q.SentBytes
		}
	}
	return n
}

// meetings are the workloads of which packets waited at a port of a switch that others take, too.
func meetings(out *record.Run) map[string]bool {
	type portClass struct {
		port  record.PortID
		class int
	}
	job := map[string]string{} // by the workload of the news of slots
	for i := range out.Collectives {
		job[out.Collectives[i].Slots] = out.Collectives[i].Workload
	}
	for i := range out.Jobs {
		job[out.Jobs[i].Workload+" slots"] = out.Jobs[i].Workload
	}
	at := map[portClass][]string{}
	for i := range out.Ports {
		p := &out.Ports[i]
		if p.PeakQueueBytes > crowded || p.Marked > 0 || p.HeldPS > 0 || p.Dropped > 0 {
			at[portClass{p.ID(), p.Class}] = []string{}
		}
	}
	for i := range out.QPs {
		q := &out.QPs[i]
		if q.SentBytes == 0 {
			continue
		}
		name := cmp.Or(job[q.Workload], q.Workload)
		for _, h := range q.Limits.Path {
			key := portClass{h.Port, q.Limits.Class}
			if who, is := at[key]; is && !slices.Contains(who, name) {
				at[key] = append(who, name)
			}
		}
	}
	meet := map[string]bool{}
	for i := range out.Ports {
		if who := at[portClass{out.Ports[i].ID(), out.Ports[i].Class}]; len(who) > 1 {
			for _, w := range who {
				meet[w] = true
			}
		}
	}
	return meet
}
