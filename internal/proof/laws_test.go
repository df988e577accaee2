package main

import (
	"os"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// drawn runs the scenarios of the record, fewer of them in short form.
func drawn(t *testing.T, run func(n int, family string, r *record.Run)) {
	n := 64
	switch {
	case os.Getenv("HOPSCOPE_LONG") != "":
		n = 640
	case testing.Short():
		n = 16
	}
	for k := range n {
		fam, text, _ := drawScenario(k)
		_, l := sentences(t, text, 0)
		run(k, fam, l.Run)
	}
}

// TestNamedQueues: where a sentence lays a wait at the queue of a port, something happened at that
// port in the life of the message: its account, what its packets met or lost, what filled a
// buffer that told of a pause, or the ledger tells of it.
func TestNamedQueues(t *testing.T) {
	asked := 0
	drawn(t, func(n int, family string, r *record.Run) {
		for i := range r.Messages {
			d, c := metrics.Explain(r, i)
			if d.Cause.Kind == catalog.CausePort {
				if asked++; !happened(r, i, d.Cause.Place) {
					t.Errorf("scenario %d, %s, message %d: nothing happened at %s: %s", n, family, i, d.Cause.Place, d.How)
				}
			}
			if c != nil && c.Of.Kind == catalog.CausePort {
				if asked++; !happened(r, i, c.Of.Place) {
					t.Errorf("scenario %d, %s, message %d, missing: nothing happened at %s: %s", n, family, i, c.Of.Place, c.How)
				}
			}
		}
	})
	if asked == 0 {
		t.Error("no sentence names a port")
	}
}

// happened reports whether something happened at a port and class in the life of message i.
func happened(r *record.Run, i int, at record.Place) bool {
	f, port := &r.Messages[i], at.PortID()
	from, to := f.StartPS, r.EndPS
	if f.CompletionPS >= 0 {
		to = f.StartPS + f.CompletionPS
	}
	within := func(first, last units.Time) bool { return first <= to && last >= from }
	for _, s := range f.Account.Stages() {
		if where := s.Place(); where.PortID() == port && s.Time > 0 {
			return true
		}
	}
	for k := range r.Ledger {
		if e := &r.Ledger[k]; e.Actor == at && e.Count > 0 && within(e.First, e.Last) {
			return true
		}
	}
	e := r.Evidence
	for _, m := range e.Met(i) {
		if int(m.Port) < len(e.Ports) && e.Ports[m.Port] == port && m.Wait+m.Held+units.Time(m.Marks) > 0 {
			return true
		}
	}
	for _, l := range e.Lost(i) {
		if int(l.Port) < len(e.Ports) && e.Ports[l.Port] == port {
			return true
		}
	}
	for k := range e.Fills {
		for _, by := range e.Fills[k].By(from, to) {
			if e.Ports[by.Port] == port {
				return true
			}
		}
	}
	return false
}

// TestAgree: answers, mechanisms and explanations of a run do not contradict each other.
func TestAgree(t *testing.T) {
	drawn(t, func(n int, family string, r *record.Run) {
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf("scenario %d, %s: "+format, append([]any{n, family}, args...)...)
		}
		s := metrics.Summarise(r)
		answers := map[catalog.Question]*metrics.Answer{}
		for k := range s.Answers {
			a := &s.Answers[k]
			answers[a.Question] = a
			if !a.Happened && a.Why == "" {
				fail("%s: nobody, and no word of why", a.Question)
			}
			if off := strings.Contains(a.Why, "PFC is off"); off && s.Totals.PausesSent > 0 {
				fail("%s, but %d pauses were sent", a.Why, s.Totals.PausesSent)
			}
		}
		acts := map[catalog.Mechanism]int64{}
		at := map[record.Place]map[catalog.Mechanism]bool{}
		for k := range r.Ledger {
			e := &r.Ledger[k]
			acts[e.Mechanism] += e.Count
			if at[e.Actor] == nil {
				at[e.Actor] = map[catalog.Mechanism]bool{}
			}
			at[e.Actor][e.Mechanism] = true
			if a := answers[e.Question]; e.Count > 0 && !a.Happened {
				fail("%s %s, but %s: %s", e.Actor, e.Mechanism, e.Question, a.Why)
			}
		}
		for _, m := range metrics.Mechanisms(r, 0) {
			switch count := acts[m.Mechanism]; {
			case count > 0 && m.Armed == 0:
				fail("%s acted %d times and is off: %s", m.Mechanism, count, m.Why)
			case m.Mechanism.Role() == catalog.RoleMark && m.Count != count:
				fail("%s: %d times of mechanisms, %d of the ledger", m.Mechanism, m.Count, count)
			}
		}
		held := answers[catalog.Held]
		for i := range r.Messages {
			d, c := metrics.Explain(r, i)
			if d.TimePS == 0 {
				continue
			}
			for _, p := range r.Messages[i].Account.Stages() {
				if b := p.Stage.Base(); (b == catalog.StagePaused || b == catalog.StageCredits) && p.Time > 0 && !held.Happened {
					fail("message %d was %s at %s for %s, but nothing was held: %s", i, p.Stage, p.Place(), metrics.FormatTime(p.Time), held.Why)
				}
			}
			said := d.How
			if c != nil {
				said += "; " + c.How
			}
			for k := range r.Ports {
				p := &r.Ports[k]
				mark := p.Layer.Vocabulary().Mark
				if strings.Contains(said, p.ID().String()+" marked ") && p.Marked > 0 && !at[p.Place()][mark] {
					fail("message %d: %s; but the ledger has no mark there", i, said)
				}
				if strings.Contains(said, p.ID().String()+" dropped ") && !answers[catalog.Detected].Happened {
					fail("message %d: %s; but nothing was detected", i, said)
				}
			}
			if strings.Contains(said, " CNPs from ") && acts[catalog.RateCut] == 0 {
				fail("message %d: %s; but no rate was cut", i, said)
			}
			if strings.Contains(said, " marked ") && acts[catalog.ECNMark]+acts[catalog.FECNMark] == 0 {
				fail("message %d: %s; but nothing marked", i, said)
			}
		}
	})
}
