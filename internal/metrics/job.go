package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// JobShare is how long ranks of a job did something, each rank in all its steps.
type JobShare struct {
	Kind, What        string // as of record.JobTime
	Mean              units.Time
	Least, Most       units.Time
	LeastRank, MostOf int // ranks
}

// jobKinds is the order in which shares are told.
func jobKinds() []string {
	return []string{
		record.JobComputes,
		record.JobExposed,
		record.JobWaits,
		record.JobMessage,
		record.JobIdle,
		record.JobStuck,
	}
}

// JobShares adds up what the ranks of a job did, computations first. A rank that did not do something
// counts with no time.
func JobShares(j *record.Job) []JobShare {
	type key struct{ kind, what string }
	index := make(map[key]int) // looked up, never iterated
	var out []JobShare
	var seen []int // by share: ranks that did it
	for i := range j.Times {
		t := &j.Times[i]
		k := key{t.Kind, t.What}
		n, known := index[k]
		if !known {
			n = len(out)
			index[k] = n
			out, seen = append(out, JobShare{Kind: t.Kind, What: t.What, Least: t.TimePS, LeastRank: t.Rank,
				MostOf: t.Rank}), append(seen, 0)
		}
		s := &out[n]
		seen[n]++
		s.Mean += t.TimePS
		if t.TimePS > s.Most {
			s.Most, s.MostOf = t.TimePS, t.Rank
		}
		if t.TimePS < s.Least {
			s.Least, s.LeastRank = t.TimePS, t.Rank
		}
	}
	for n := range out {
		if seen[n] < j.Ranks {
			out[n].Least, out[n].LeastRank = 0, -1
		}
		out[n].Mean /= units.Time(j.Ranks)
	}
	order := jobKinds()
	slices.SortStableFunc(out, func(a, b JobShare) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	return out
}

// JobTotal is the time that a job's records cover: from its start to its last step's end, or to the
// end of the run.
func JobTotal(j *record.Job) (total units.Time) {
	if len(j.Times) == 0 {
		return 0
	}
	for i := range j.Times {
		if j.Times[i].Rank == j.Times[0].Rank {
			total += j.Times[i].TimePS
		}
	}
	return total
}

// StepTimes are how long the steps of a job took that are over: from the end of the one before.
func StepTimes(j *record.Job) (out []units.Time) {
	at := j.StartPS
	for _, end := range j.EndPS {
		if end < 0 {
			break
		}
		out = append(out, end-at)
		at = end
	}
	return out
}
