package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// jobs writes what came of jobs.
func (t *text) jobs() {
	for i := range t.r.Jobs {
		t.job(i)
	}
}

// job writes what came of job i.
func (t *text) job(i int) {
	j := &t.r.Jobs[i]
	t.section()
	t.prose(StepLine(t.l, j), t.paint.bold)
	if len(j.Open) > 0 {
		t.prose(openLine(t.l, j), t.paint.warn)
	}
	if c := metrics.JobCauseIn(t.l, t.r, i); c.Text != "" {
		t.prose(j.Workload+t.l.Of(": ")+c.Text, t.paint.bold)
	}
	if text := Bubble(t.l, j); text != "" {
		t.prose(text, plain)
	}
	total := metrics.JobTotal(j)
	tab := &table{
		columns: []column{
			{title: "Where ranks' time goes"},
			{title: "Mean", right: true},
			{title: "Share", right: true},
			{
				title: "Least",
				right: true,
				drop:  2,
			},
			{title: "Rank", right: true, drop: 2},
			{title: "Most", right: true, drop: 1},
			{title: "Rank", right: true, drop: 1},
		},
	}
	for _, s := range metrics.JobShares(j) {
		least := "-"
		if s.LeastRank >= 0 {
			least = integer(s.LeastRank)
		}
		tab.add(shareName(t.l, &s), metrics.FormatTimeDigits(s.Mean, 4), shareOf(s.Mean, total),
			metrics.FormatTimeDigits(s.Least, 4), least, metrics.FormatTimeDigits(s.Most, 4), integer(s.MostOf))
	}
	t.table(tab)
	t.jobCalls(j)
	t.jobPath(j)
}

// openLine says what was under way in a job at the end of the run, and what that waits for.
func openLine(l lang.Language, j *record.Job) string {
	var all []string
	for i := range j.Open {
		o := &j.Open[i]
		text := l.Sprintf("rank %d is in %s of step %d since %s", o.Rank, o.Operation, o.Step+1,
			metrics.FormatTime(o.SincePS))
		if o.Awaits >= 0 {
			text += l.Sprintf(", to which rank %d has not come", o.Awaits)
		}
		all = append(all, text)
	}
	return j.Workload + l.Of(": ") + l.Of("not over: ") + strings.Join(all, "; ")
}

// Bubble says how much of its time the pipeline of a job leaves unused, and how much its closed form does; "": there
// is none.
func Bubble(l lang.Language, j *record.Job) string {
	share, closed := metrics.JobBubble(j)
	if closed == 0 {
		return ""
	}
	form := l.Sprintf("(p-1)/m of %d stages with %d micro-batches", j.Stages, j.MicroBatches)
	if j.Chunks > 1 {
		form = l.Sprintf("(p-1)/(m v) of %d stages of %d chunks with %d micro-batches", j.Stages, j.Chunks, j.MicroBatches)
	}
	return l.Sprintf("bubble: ranks have nothing to do for %.2f %% of the rest of the time, in the mean; %s is %.2f %%",
		100*share, form, 100*closed)
}

// StepLine is how long the steps of a job took.
func StepLine(l lang.Language, j *record.Job) string {
	steps := metrics.StepTimes(j)
	out := l.Sprintf("%s: %s over %s", j.Workload, howMany(l, len(j.EndPS), "step"), howMany(l, j.Ranks, "rank"))
	switch {
	case len(steps) == 0:
		return out + l.Of(", none over at the end of the run")
	case len(j.EndPS) == 1:
		return out + l.Sprintf(", %s, rank %d last", metrics.FormatTimeDigits(steps[0], 4), j.LastRank[0]) + alone(l, j) +
			utilisation(l, j, steps)
	}
	out += l.Sprintf(", %s each in the mean (%s to %s)", metrics.FormatTimeDigits(mean(steps), 4),
		metrics.FormatTimeDigits(slices.Min(steps), 4), metrics.FormatTimeDigits(slices.Max(steps), 4))
	if missing := len(j.EndPS) - len(steps); missing > 0 {
		out += l.Sprintf("; %d not over at the end of the run", missing)
	}
	return out + alone(l, j) + utilisation(l, j, steps)
}

// alone is what a step takes where nothing else runs.
func alone(l lang.Language, j *record.Job) string {
	if j.AlonePS == 0 {
		return ""
	}
	return l.Sprintf(", alone %s (%.2fx)", metrics.FormatTimeDigits(j.AlonePS, 4),
		float64(j.StepPS())/float64(j.AlonePS))
}

// utilisation is what ranks compute of the model in a second.
func utilisation(l lang.Language, j *record.Job, steps []units.Time) string {
	if j.Flops == 0 {
		return ""
	}
	second := float64(mean(steps)) / float64(units.Second)
	rate := j.Flops / float64(j.Ranks) / second
	out := l.Sprintf(", %.4g TFLOP/s per rank", rate/1e12)
	if j.Peak > 0 {
		out += l.Sprintf(", MFU %.1f %% of %.4g TFLOP/s", 100*rate/j.Peak, j.Peak/1e12)
	}
	return out
}

func mean(list []units.Time) (sum units.Time) {
	for _, d := range list {
		sum += d
	}
	return sum / units.Time(len(list))
}

// shareName says in words what a rank did.
func shareName(l lang.Language, s *metrics.JobShare) string {
	switch s.Kind {
	case record.JobComputes:
		return l.Of("computes: ") + s.What
	case record.JobExposed:
		return l.Of("exposed communication: ") + s.What
	case record.JobCopies:
		return l.Of("copies: ") + s.What
	case record.JobHost:
		return l.Of("host works: ") + s.What
	case record.JobWaits:
		return l.Of("waits for other ranks: ") + s.What
	case record.JobMessage:
		return l.Of("bubble, other rank has not come: ") + s.What
	case record.JobIdle:
		return l.Of("step over, others are not")
	}
	return l.Of("nothing runs")
}

// StepSays is a line on a step that is over: how long it took and what ranks did, in the mean.
func StepSays(s record.StepOver) string {
	line := fmt.Sprintf("%s: step %d of %d took %s, rank %d last", s.Job, s.Step, s.Of,
		metrics.FormatTimeDigits(s.Took, 4), s.Last)
	kinds := []string{record.JobComputes, record.JobExposed, record.JobCopies, record.JobHost, record.JobWaits,
		record.JobMessage}
	for k, name := range []string{"computes", "exposed communication", "copies", "host works", "waits for others",
		"bubble"} {
		for i := range s.Shares {
			if s.Shares[i].Kind == kinds[k] && s.Shares[i].TimePS > 0 {
				line += fmt.Sprintf(", %s %s", name, shareOf(s.Shares[i].TimePS, s.Took))
			}
		}
	}
	return line
}

// jobCalls writes what ranks call.
func (t *text) jobCalls(j *record.Job) {
	if len(j.Calls) == 0 {
		return
	}
	t.section()
	tab := &table{columns: []column{{title: "Calls"}, {title: "Size", right: true}, {title: "Times", right: true},
		{
			title: "Mean",
			right: true,
		}, {title: "Longest", right: true, drop: 1}, {title: "Waited for the last", right: true, drop: 2},
		{title: "Last most often", right: true, drop: 3}}}
	for i := range j.Calls {
		c := &j.Calls[i]
		last := "-"
		if c.LastRank >= 0 {
			last = t.l.Sprintf("rank %d (%s)", c.LastRank, metrics.FormatCount(c.LastCount))
		}
		tab.add(c.Name, metrics.FormatBytes(c.Bytes), metrics.FormatCount(c.Count),
			metrics.FormatTimeDigits(c.TimePS/units.Time(c.Count), 4), metrics.FormatTimeDigits(c.LongestPS, 4),
			metrics.FormatTimeDigits(c.WaitPS/units.Time(c.Count), 4), last)
	}
	t.table(tab)
}

// jobPath writes the critical path of a job.
func (t *text) jobPath(j *record.Job) {
	if len(j.Critical) == 0 {
		return
	}
	t.critical(&record.Collective{Workload: j.Workload, StartPS: j.StartPS, Critical: j.Critical})
}
