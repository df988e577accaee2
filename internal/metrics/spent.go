package metrics

import (
	"sync"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// spent is what the messages of a queue pair spent in its own stages.
type spent struct {
	stages []record.StageTime
	words  string // see longest
}

// addSpent adds up what the messages of each queue pair spent in its own stages. Each
// worker has messages that follow one another, and the sums of those before come first, so
// that stages stand in order of the first message whoever adds them up.
func (x *index) addSpent() {
	n, t := len(x.r.Messages), x.together
	parts := make([]map[spentAt]*spent, t.workers)
	keepers := make([]*stages, t.workers)
	var all sync.WaitGroup
	for k := range t.workers {
		f := x.fork()
		keepers[k] = &f.stages
		all.Go(func() { parts[k] = f.spentBy(n*k/t.workers, n*(k+1)/t.workers, maxKept/t.workers) })
	}
	all.Wait()
	t.spent, t.keepers = parts[0], keepers
	for _, p := range parts[1:] {
		for at, of := range p {
			sum := t.spent[at]
			if sum == nil {
				t.spent[at] = of
				continue
			}
			for _, s := range of.stages {
				sum.stages = addStage(sum.stages, s.Stage, s.Time)
			}
		}
	}
	for _, of := range t.spent {
		of.words = longestOf(x.l, of.stages)
	}
}

// longestOf names the stage that took most time, with its share.
func longestOf(l lang.Language, all []record.StageTime) string {
	most, total := 0, units.Time(0)
	for k := range all {
		total += all[k].Time
		if all[k].Time > all[most].Time {
			most = k
		}
	}
	if total == 0 {
		return ""
	}
	return l.Sprintf("%s (%s of %s)", all[most].Stage, FormatTime(all[most].Time), FormatTime(total))
}

// spentBy adds up what messages from first to last, exclusive, spent, and keeps their
// accounts in so many bytes.
func (x *index) spentBy(first, last, room int) map[spentAt]*spent {
	sums := map[spentAt]*spent{}
	book := func(at spentAt, of *spent, s *stageKnown, t units.Time) *spent {
		if of == nil {
			if of = sums[at]; of == nil {
				of = &spent{}
				sums[at] = of
			}
		}
		of.stages = addStage(of.stages, s.base, t)
		return of
	}
	x.stages.kept.first = first
	for i := first; i < last; i++ {
		f := &x.r.Messages[i]
		account := x.stages.keep(f.Account, room)
		requester := flowQP(f)
		if _, ok := x.requester(f); !ok {
			continue
		}
		var mine, peers *spent
		for _, t := range account {
			switch s := &x.stages.known[t.number]; {
			case s.own && s.response:
				q := x.actor(f, true)
				peers = book(spentAt{qpKey{q.Host, q.QP}, catalog.LegResponse}, peers, s, t.time)
			case s.own:
				mine = book(spentAt{qp: requester}, mine, s, t.time)
			}
		}
	}
	return sums
}

func addStage(all []record.StageTime, stage catalog.Stage, d units.Time) []record.StageTime {
	for k := range all {
		if all[k].Stage == stage {
			all[k].Time += d
			return all
		}
	}
	return append(all, record.StageTime{Stage: stage, Time: d})
}
