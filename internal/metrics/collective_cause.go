package metrics

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// HeldUp is what held a collective up, and where that shows most.
type HeldUp struct {
	Cause Cause
	// Message is the index of the message that it cost most, and How says of that message
	// what stands behind it.
	Message int
	How     string
	// Path is the critical path of the collective.
	Path []record.CriticalGroup
}

// CollectiveCause is what the messages of collective k spent most time on that is no part of
// an undisturbed one: of each message the cause that took most of it, together by cause, at the
// queue pair where it lasted longest. Its share is of the collective's time. ok is false where
// nothing takes a fifth of that.
func CollectiveCause(l lang.Language, r *record.Run, k int) (out HeldUp, ok bool) {
	c := &r.Collectives[k]
	out.Path = c.Critical
	end := c.StartPS
	for _, at := range c.EndPS {
		if end = max(end, at); at < 0 {
			end = r.EndPS
			break
		}
	}
	if end <= c.StartPS {
		return out, false
	}
	x := newIndexIn(l, r)
	type at struct {
		cause Cause
		host  string
		qp    int
	}
	spans := make(map[at][]span)
	longest := make(map[Cause]units.Time)
	first := make(map[Cause]int)
	for i := range r.Messages {
		m := &r.Messages[i]
		if !c.Has(m) || m.Account.IsZero() {
			continue
		}
		d := x.ownCause(m)
		if d == nil {
			continue
		}
		cause := d.Cause
		cause.Then = nil
		key := at{cause, m.Src, m.QP}
		stop := m.StartPS + m.Life()
		spans[key] = append(spans[key], span{max(m.StartPS, stop-d.TimePS), stop})
		if d.TimePS > longest[cause] {
			longest[cause], first[cause] = d.TimePS, i
		}
	}
	most := units.Time(0)
	keys := make([]at, 0, len(spans))
	for key := range spans { // sorted below
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b at) int {
		return cmp.Or(cmp.Compare(first[a.cause], first[b.cause]), strings.Compare(a.host, b.host), cmp.Compare(a.qp, b.qp))
	})
	for _, key := range keys {
		if t := covered(spans[key]); t > most {
			most, out.Cause = t, key.cause
		}
	}
	out.Message = first[out.Cause]
	out.Cause.Milli = mulDiv(int64(most), 1000, int64(end-c.StartPS))
	if out.Cause.Milli*lineShare < 1000 {
		return out, false
	}
	x.thorough = true
	m := &r.Messages[out.Message]
	out.How = x.told(m, x.ownCause(m), true).How
	return out, true
}

// ownCause is what took most of a message's own time that could be taken away: not what it waited for
// messages before it, which are of the same collective; nil: nothing took a fifth of its own time.
func (x *index) ownCause(f *record.Message) (most *Dominant) {
	x.causes = x.causes[:0]
	own := units.Time(0)
	for _, t := range x.stages.read(f.Account) {
		k := &x.stages.known[t.number]
		if k.base == catalog.StageEarlierWork {
			continue
		}
		own += t.time
		if s := (spell{of: f, number: t.number, time: t.time}); !k.line {
			x.bookCause(s, k.stage)
		}
	}
	for i := range x.causes {
		d := &x.causes[i]
		switch d.Cause.Kind {
		case catalog.CauseLine, catalog.CauseEarlier, catalog.CauseApplication:
			continue
		}
		if d.TimePS > 0 && (most == nil || d.TimePS > most.TimePS) {
			most = d
		}
	}
	if most == nil || most.TimePS*lineShare < own {
		return nil
	}
	return most
}

// SumsSentence is what is known of what held a collective up whose operations were added up: the stage
// of its messages that took most of its critical path and is none of an undisturbed one.
func SumsSentence(l lang.Language, c *record.Collective) string {
	switch done := len(c.EndPS) > 0 && c.EndPS[len(c.EndPS)-1] >= 0; {
	case !done:
		return l.Of("it was not over at the end of the run, so that it has no critical path")
	case len(c.Critical) == 0:
		return l.Of("its transfers run side by side, and which of them the last step waited for was not kept, so that it " +
			"has " +
			"no critical path")
	}
	var most *record.CriticalStage
	all := units.Time(0)
	for i := range c.Critical {
		g := &c.Critical[i]
		all += g.TimePS
		for k := range g.Stages {
			s := &g.Stages[k]
			held := g.Kind == record.KindMessage && s.Stage.Is(catalog.Own) && s.Stage.Cause() != catalog.CauseLine
			if held && (most == nil || s.TimePS > most.TimePS) {
				most = s
			}
		}
	}
	if most != nil && most.TimePS*lineShare >= all {
		return l.Sprintf("held up for %.0f %% of its critical path: %s, before its messages were sent; where was not kept",
			100*float64(most.TimePS)/float64(all), most.Name())
	}
	return l.Of("nothing holds its messages for a fifth of its critical path before they are sent; what they met on the "+
		"way was not kept; ") + whatHelps(l, c.Critical)
}

// span is a time from one instant to another.
type span struct{ from, to units.Time }

// covered is how long at least one of some spans lasts.
func covered(all []span) (t units.Time) {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	end := units.Time(0)
	for _, s := range all {
		t += max(0, s.to-max(s.from, end))
		end = max(end, s.to)
	}
	return t
}

// Sentence says what held a collective up, or where nothing did what would help.
func (h *HeldUp) Sentence(l lang.Language, held bool) string {
	if !held {
		return l.Of("nothing holds its messages for a fifth of its time; ") + whatHelps(l, h.Path)
	}
	return l.Sprintf("held up for %.0f %% of its time: %s", float64(h.Cause.Milli)/10, h.How)
}
