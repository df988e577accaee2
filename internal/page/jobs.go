package page

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/figure"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
)

// mostRanks is how many ranks of a job are drawn beside each other.
const mostRanks = 64

// jobs are the steps of jobs: how long they took, where ranks' time went, what ran when, and the critical path.
func (b *builder) jobs() (out []Block) {
	for k := range b.r.Jobs {
		j := &b.r.Jobs[k]
		at := "/jobs/" + strconv.Itoa(k) + "/"
		out = append(out, Block{Sentence: &Figure{Text: report.StepLine(lang.English, j), Path: at + "end_ps", Kind: kindSentence}})
		if text := report.Bubble(lang.English, j); text != "" {
			out = append(out, Block{Sentence: &Figure{Text: text, Path: at + "times", Kind: kindSentence}})
		}
		out = append(out, Block{Table: b.shares(j, k)})
		ranks := drawnRanks(j)
		caption := "Each rank's time, which adds up to that of the steps."
		if len(ranks) < j.Ranks {
			caption += fmt.Sprintf(" These are %d of %s ranks in equal distances, and those that were last; the JSON has all.",
				len(ranks), metrics.FormatCount(int64(j.Ranks)))
		}
		out = append(out, b.drawing(figure.JobTimes(b.r, k, ranks), caption)...)
		out = append(out, b.drawing(figure.JobLanes(b.r, k), fmt.Sprintf("Step %d over time: of some ranks, among them the "+
			"first of each stage and the one that was last, what they spend their time on, and below it their streams. "+
			"Pale: operations too short to be drawn by themselves, and gaps between them; hopscope run --perfetto has each.",
			j.LaneStep))...)
		if len(j.Calls) > 0 {
			out = append(out, Block{Table: b.jobCalls(j, k)})
		}
		if len(j.Critical) > 0 {
			row := criticalRow(j.Workload, j.Critical, figure.Pointer("jobs", k))
			out = append(out, b.drawing(figure.Stacked("job-critical-"+strconv.Itoa(k), "Critical path of "+j.Workload,
				[]figure.Row{row}), "The critical path, from the start to the last end, by what its time went to.")...)
			out = append(out, Block{Open: &Fold{ID: "job-path-" + strconv.Itoa(k), Path: at + "critical_path",
				Title:  "Critical path of " + j.Workload + ", from its start to its last end",
				Blocks: []Block{{Table: jobPath(j, k)}}}})
		}
	}
	return out
}

// drawnRanks are all ranks of a job, or of many some.
func drawnRanks(j *record.Job) (ranks []int) {
	n := min(j.Ranks, mostRanks)
	for i := range n {
		ranks = append(ranks, i*j.Ranks/n)
	}
	for _, r := range j.LastRank {
		if r >= 0 && len(ranks) < mostRanks+8 && !slices.Contains(ranks, r) {
			ranks = append(ranks, r)
		}
	}
	slices.Sort(ranks)
	return ranks
}

// shares are what ranks of a job spent their time on.
func (b *builder) shares(j *record.Job, k int) *Table {
	t := &Table{ID: "job-shares-" + strconv.Itoa(k), Title: "Where ranks' time goes", Columns: []Column{{Title: "What"},
		{"Mean", true}, {"Share", true}, {"Least", true}, {"of rank", true}, {"Most", true}, {"of rank", true}}}
	total := metrics.JobTotal(j)
	places := map[record.JobTime]string{} // of a rank's row; looked up, never iterated
	for i := range j.Times {
		x := j.Times[i]
		x.TimePS = 0
		places[x] = figure.Pointer("jobs", k, "times", strconv.Itoa(i), "time_ps")
	}
	for _, s := range metrics.JobShares(j) {
		most := duration(s.Most, places[record.JobTime{Rank: s.MostOf, Kind: s.Kind, What: s.What}])
		least, rank := Figure{Text: none, Class: "none"}, Figure{Text: none, Class: "none"}
		if s.LeastRank >= 0 {
			least = duration(s.Least, places[record.JobTime{Rank: s.LeastRank, Kind: s.Kind, What: s.What}])
			rank = word(strconv.Itoa(s.LeastRank))
		}
		share := none
		if total > 0 {
			share = fmt.Sprintf("%.1f %%", 100*float64(s.Mean)/float64(total))
		}
		t.Rows = append(t.Rows, Cells{word(record.JobSays(s.Kind, s.What)), word(metrics.FormatTimeDigits(s.Mean, 4)),
			word(share), least, rank, most, word(strconv.Itoa(s.MostOf))})
	}
	return t
}

// jobCalls are what ranks of a job called.
func (b *builder) jobCalls(j *record.Job, k int) *Table {
	t := &Table{ID: "job-calls-" + strconv.Itoa(k), Title: "Calls", Filter: len(j.Calls) > 20, Columns: []Column{
		{Title: "Calls"}, {"Size", true}, {"Times", true}, {"Time, summed", true}, {"Longest", true},
		{"Waited for the last, summed", true}, {"Last most often: rank", true}, {"Times", true}}}
	for i := range j.Calls {
		c := &j.Calls[i]
		at := func(field string) string { return figure.Pointer("jobs", k, "calls", strconv.Itoa(i), field) }
		last, often := Figure{Text: none, Class: "none"}, Figure{Text: none, Class: "none"}
		if c.LastRank >= 0 {
			last = Figure{Text: strconv.Itoa(c.LastRank), Path: at("last_rank"), Kind: kindCount}
			often = count(c.LastCount, at("last_count"))
		}
		t.Rows = append(t.Rows, Cells{name(c.Name, at("name")), size(c.Bytes, at("bytes")), count(c.Count, at("count")),
			duration(c.TimePS, at("time_ps")), duration(c.LongestPS, at("longest_ps")), duration(c.WaitPS, at("wait_ps")),
			last, often})
	}
	return t
}

// jobPath is the critical path of a job, stage by stage.
func jobPath(j *record.Job, k int) *Table {
	t := &Table{ID: "job-path-table-" + strconv.Itoa(k), Columns: []Column{{Title: "Operations"}, {Title: "Stage"},
		{"Times", true}, {"Time", true}}}
	for i := range j.Critical {
		g := &j.Critical[i]
		group := figure.Pointer("jobs", k, "critical_path", strconv.Itoa(i))
		title := name(g.Kind, group+"/kind")
		for n := range g.Stages {
			s := &g.Stages[n]
			at := group + "/stages/" + strconv.Itoa(n) + "/"
			t.Rows = append(t.Rows, Cells{title, {Text: s.Name(), Path: at + "time_ps", Kind: kindSentence},
				count(int64(s.Count), at+"count"), duration(s.TimePS, at+"time_ps")})
			title = word("")
		}
	}
	return t
}
