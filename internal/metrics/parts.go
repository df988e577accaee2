package metrics

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// AccountPart is the time of one part of an account.
type AccountPart struct {
	Part catalog.Part `json:"part"`
	PS   units.Time   `json:"ps"`
}

// WorstAccount is where the time of a run went that its end depends on: of the first
// collective, over its critical path, of the first job likewise, or else of the message that took longest, the
// first of those that did. It is empty where none completed. The parts that have any
// time add up to that of the whole.
func WorstAccount(r *record.Run) (of string, parts []AccountPart) {
	times := map[catalog.Part]units.Time{}
	for i := range r.Collectives {
		if c := &r.Collectives[i]; len(c.Critical) > 0 {
			addCritical(times, c.Critical)
			return c.Workload + ", critical path", ordered(times)
		}
	}
	for i := range r.Jobs {
		if j := &r.Jobs[i]; len(j.Critical) > 0 {
			addCritical(times, j.Critical)
			return j.Workload + ", critical path", ordered(times)
		}
	}
	worst := -1
	for i := range r.Messages {
		if f := &r.Messages[i]; Completed(f) && (worst < 0 || f.CompletionPS > r.Messages[worst].CompletionPS) {
			worst = i
		}
	}
	if worst < 0 {
		return "", nil
	}
	f := &r.Messages[worst]
	for _, s := range f.Account.Stages() {
		times[s.Stage.Part()] += s.Time
	}
	return f.Src + " -> " + f.Dst, ordered(times)
}

// addCritical adds up a critical path. What is not a message is an operation in a server.
func addCritical(times map[catalog.Part]units.Time, path []record.CriticalGroup) {
	for i := range path {
		g := &path[i]
		for _, s := range g.Stages {
			times[CriticalPart(g, &s)] += s.TimePS
		}
	}
}

// CriticalPart is what a stage of a critical path belongs to.
func CriticalPart(g *record.CriticalGroup, s *record.CriticalStage) catalog.Part {
	if g.Kind == record.KindMessage || g.Kind == record.KindSlot {
		return s.Stage.Part()
	}
	return catalog.PartLocal
}

// ordered lists the parts that have any time.
func ordered(times map[catalog.Part]units.Time) (out []AccountPart) {
	for _, part := range catalog.Parts() {
		if times[part] > 0 {
			out = append(out, AccountPart{part, times[part]})
		}
	}
	return out
}
