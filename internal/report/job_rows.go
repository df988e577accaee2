package report

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rows"
	"github.com/hopscope/hopscope/internal/units"
)

// stepTable has a row per step of a job that is over.
func stepTable(r *record.Run) *rows.Table {
	header := []string{"workload", "step", "start_ps", "end_ps", "time_ps", "last_rank"}
	return &rows.Table{Name: "job_steps", N: len(r.Jobs), Header: header, Cells: func(i int, put func(...string)) {
		j := &r.Jobs[i]
		at := j.StartPS
		for k, end := range j.EndPS {
			if end < 0 {
				return
			}
			put(j.Workload, integer(k), integer(at), integer(end), integer(end-at), integer(j.LastRank[k]))
			at = end
		}
	}}
}

// rankTable has a row for each thing that a rank of a job did.
func rankTable(r *record.Run) *rows.Table {
	header := []string{"workload", "rank", "kind", "what", "time_ps"}
	return &rows.Table{Name: "job_ranks", N: len(r.Jobs), Header: header, Cells: func(i int, put func(...string)) {
		for k := range r.Jobs[i].Times {
			t := &r.Jobs[i].Times[k]
			put(r.Jobs[i].Workload, integer(t.Rank), t.Kind, t.What, integer(t.TimePS))
		}
	}}
}

// jobCallTable has a row per collective or message that ranks of a job call.
func jobCallTable(r *record.Run) *rows.Table {
	header := []string{"workload", "call", "bytes", "count", "mean_ps", "longest_ps", "mean_wait_ps", "last_rank",
		"last_count"}
	return &rows.Table{Name: "job_calls", N: len(r.Jobs), Header: header, Cells: func(i int, put func(...string)) {
		for k := range r.Jobs[i].Calls {
			c := &r.Jobs[i].Calls[k]
			n := units.Time(c.Count)
			put(r.Jobs[i].Workload, c.Name, integer(c.Bytes), integer(c.Count), integer(c.TimePS/n), integer(c.LongestPS),
				integer(c.WaitPS/n), integer(c.LastRank), integer(c.LastCount))
		}
	}}
}
