package whatif

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// Subject is whose time is asked about: a message, a collective or an entry of the workload.
type Subject struct {
	Name    string
	Message int // index of the message, or of a slow one among those of the collective or entry
	// Collective is the name of a collective, whose mean time counts; "": none.
	Collective string
	// Job is the name of a job, the mean of whose steps counts; "": none. Message is not used then.
	Job string
	// Workload is the name of an entry, of which the slowest message counts; "": none.
	Workload string
}

// value is a subject's time in an outcome, Never where it has none, and how that is said.
func (l *Lab) value(s *Subject, o *Outcome) (took units.Time, extra string) {
	switch {
	case o.Err != nil:
		return units.Never, ""
	case s.Collective != "":
		for _, c := range o.Collectives {
			if c.Workload == s.Collective && c.Done > 0 {
				return c.TimePS, fmt.Sprintf("%.4g GB/s busbw", c.BusBW)
			}
		}
		return units.Never, ""
	case s.Job != "":
		for _, j := range o.Jobs {
			if j.Workload == s.Job && j.Done > 0 && j.Whole() {
				return j.StepPS, "exposed " + metrics.FormatTime(j.ExposedPS)
			}
		}
		return units.Never, ""
	case s.Workload != "":
		var all []units.Time
		for i := range l.keys {
			if l.Valid.Plan.Entries[l.Valid.Plan.Conns[l.keys[i].conn].Entry] == s.Workload {
				all = append(all, l.Took(o, i))
			}
		}
		slices.Sort(all)
		if len(all) == 0 || all[len(all)-1] == units.Never {
			return units.Never, ""
		}
		// The least time that 99 of 100 messages do not exceed.
		return all[len(all)-1], "p99 " + metrics.FormatTime(all[(len(all)*99+99)/100-1])
	}
	return l.Took(o, s.Message), ""
}

// Row is what a set of changes came to.
type Row struct {
	Changes []Change
	Text    string     // what is changed
	TookPS  units.Time // Never: it did not complete
	Extra   string     // busbw of a collective, p99 of a workload
	Gain    float64    // share of the time that is saved; less than 0: it takes longer
	Note    string     // why the row says less than it seems: drops, a deadlock, a refusal
	Named   bool       // it removes what the sentence names
	// Completions are the completion times of all messages, for a drawing.
	Completions []units.Time
}

// Study is what changes one at a time, and pairs of them, came to.
type Study struct {
	Subject Subject
	TookPS  units.Time // as the scenario is
	Extra   string
	Rows    []Row // the largest gain first, of equal ones the shortest time
	Runs    int   // that ended, the first among them
	Left    int   // that were not made, for want of budget or because the user stopped
	// Completions are those of the scenario as it is.
	Completions []units.Time
}

// Budget bounds a study.
type Budget struct {
	Runs    int           // in all, at least 2: the scenario as it is, and one change
	Time    time.Duration // 0: none
	Workers int           // runs at a time
	// Only, if not nil, says which single changes are tried.
	Only func(Change) bool
}

// Ask tries what may matter to a subject: named, what a sentence says, first, each change
// alone, then pairs of the best with what comes next. show is told of progress. What ctx cuts
// short is left out.
func (l *Lab) Ask(ctx context.Context, s Subject, named []Change, budget Budget, show func(done, of int)) *Study {
	out := &Study{Subject: s, Runs: 1, Completions: l.completions(l.base)}
	out.TookPS, out.Extra = l.value(&s, l.base)
	var sets [][]Change
	var all []Change
	switch {
	case s.Job != "":
		all = slices.Concat(named, l.jobCandidates(&s))
	case s.Collective != "":
		all = slices.Concat(named, l.everywhere(), l.Candidates(s.Message))
	default:
		all = slices.Concat(named, l.Candidates(s.Message))
	}
	for _, c := range all {
		alone := []Change{c}
		if (budget.Only == nil || budget.Only(c)) && !l.own(&s, c) &&
			!slices.ContainsFunc(sets, func(o []Change) bool { return o[0].Same(c) }) {
			sets = append(sets, alone)
		}
	}
	sets = sets[:min(len(sets), MostCandidates)]
	of := len(sets) + pairs
	l.series(ctx, out, sets, named, budget, func(done int) { show(done, of) })
	if len(out.Rows) > 1 && ctx.Err() == nil {
		var ports []Change
		if s.Job == "" {
			ports = l.WayPorts(s.Message)
		}
		l.series(ctx, out, out.pairs(ports), named, budget, func(done int) { show(done, of) })
	}
	return out
}

// pairs is how many pairs are tried at most.
const pairs = 3

// own reports whether a change takes away the subject itself, or part of it.
func (l *Lab) own(s *Subject, c Change) bool {
	if s.Job != "" {
		return c.Kind == Entry && l.Valid.Plan.Entries[c.Entry] == s.Job
	}
	of := func(conn int) int { return l.Valid.Plan.Conns[conn].Entry }
	entry := of(l.keys[s.Message].conn)
	if c.Kind == Others && s.Workload+s.Collective != "" {
		return slices.ContainsFunc(l.ways.through(c.Node, c.Port), func(conn int) bool {
			return conn != c.Conn && !l.ways.bound[conn] && of(conn) == entry
		})
	}
	return c.Kind == Entry && c.Entry == entry
}

// series tries sets of changes and adds their rows.
func (l *Lab) series(
	ctx context.Context,
	out *Study,
	sets [][]Change,
	named []Change,
	budget Budget,
	show func(done int),
) {
	room := max(budget.Runs-out.Runs, 0)
	out.Left += max(len(sets)-room, 0)
	sets = sets[:min(len(sets), room)]
	before := out.Runs
	done := l.TryAll(ctx, sets, budget.Workers, func(int, *Outcome) {
		out.Runs++
		show(out.Runs - 1)
	})
	out.Left += len(sets) - (out.Runs - before)
	for i, o := range done {
		if o != nil {
			out.Rows = append(out.Rows, l.row(out, sets[i], o, named))
		}
	}
	slices.SortStableFunc(out.Rows, func(a, b Row) int {
		// What never ended as it is gains the same by whatever lets it end.
		return cmp.Or(cmp.Compare(b.Gain, a.Gain), cmp.Compare(a.TookPS, b.TookPS))
	})
}

// completions are the times of the messages that completed in an outcome.
func (l *Lab) completions(o *Outcome) (times []units.Time) {
	for i := range l.keys {
		if t := l.Took(o, i); t != units.Never && t > 0 {
			times = append(times, t)
		}
	}
	return metrics.Thin(times)
}

// row is what one set of changes came to.
func (l *Lab) row(s *Study, changes []Change, o *Outcome, named []Change) Row {
	r := Row{Changes: changes, Completions: l.completions(o)}
	for i, c := range changes {
		if i > 0 {
			r.Text += ", and "
		}
		r.Text += c.Text(l.Valid)
	}
	r.TookPS, r.Extra = l.value(&s.Subject, o)
	r.Gain, r.Note = gain(s.TookPS, r.TookPS), l.Refusal(o)
	if r.TookPS == units.Never && o.Err == nil {
		why := "open at the end"
		if o.Stopped == quiescence {
			why = "fails"
		}
		r.Note = strings.TrimSuffix(why+"; "+r.Note, "; ")
	}
	if r.Note == "" && r.Gain <= -even {
		r.Note = l.WhyLonger(o)
	}
	for _, c := range changes {
		if cost := l.cost(c, o); cost != "" {
			r.Note = strings.TrimPrefix(r.Note+"; "+cost, "; ")
		}
	}
	r.Named = len(changes) == 1 && slices.ContainsFunc(named, changes[0].Same)
	return r
}

// quiescence is why a run ends in which nothing is left to do.
const quiescence = "quiescence"

// pairs are what is tried together: ports in a row, where the whole way at a higher rate saves
// more than any one of them; else what is named, or the best, with each of the next.
func (s *Study) pairs(ports []Change) (out [][]Change) {
	first, way, slowest := -1, 0.0, -1
	most := 0.0
	for i := range s.Rows {
		r := &s.Rows[i]
		switch k := r.Changes[0].Kind; {
		case k == Line:
			way = r.Gain
			continue
		case k == Port && slowest < 0:
			slowest = i
		}
		most = max(most, r.Gain)
		if first < 0 || r.Named && !s.Rows[first].Named {
			first = i
		}
	}
	add := func(i, j int) {
		if len(out) < pairs {
			out = append(out, []Change{s.Rows[i].Changes[0], s.Rows[j].Changes[0]})
		}
	}
	if way > most+even && slowest >= 0 {
		for _, p := range ports { // behind the one that something waits at comes one that only then binds
			if len(out) < pairs && !p.Same(s.Rows[slowest].Changes[0]) {
				out = append(out, []Change{s.Rows[slowest].Changes[0], p})
			}
		}
	}
	for i := range s.Rows {
		if k := s.Rows[i].Changes[0].Kind; first >= 0 && i != first && !k.wide() && k != s.Rows[first].Changes[0].Kind &&
			s.Rows[i].Gain > -1 {
			add(first, i)
		}
	}
	return out
}

// even is by how much a gain may differ and still be as good.
const even = 0.02

// Verdict says whether what was named is the best single change, and which pair does more.
func (s *Study) Verdict() string {
	best, named, pair := -1, -1, -1
	for i := range s.Rows {
		r := &s.Rows[i]
		wide := r.Changes[0].Kind.wide() && !r.Named
		switch {
		case len(r.Changes) > 1 && pair < 0:
			pair = i
		case len(r.Changes) > 1:
		case best < 0, s.Rows[best].Changes[0].Kind.wide() && !s.Rows[best].Named && !wide && r.Gain >= even:
			best = i
		}
		if r.Named && named < 0 {
			named = i
		}
	}
	percent := func(i int) string { return fmt.Sprintf("%.0f %%", 100*s.Rows[i].Gain) }
	text := ""
	switch {
	case best < 0:
		return "No change was tried."
	case s.TookPS == units.Never && named >= 0 && s.Rows[named].Changes[0].Kind == Fault &&
		s.Rows[named].TookPS != units.Never:
		return "What lets it end: " + s.Rows[named].Text + "." + s.cures()
	case s.TookPS == units.Never && s.Rows[best].TookPS != units.Never: // a broken card, as above, is mended first
		return "What lets it end: " + s.Rows[best].Text + "." + s.cures()
	case s.TookPS == units.Never:
		return "No change that was tried lets it end before the run does, so what each saves is not known; a later stop may tell."
	case s.Rows[best].Gain < even:
		text = "No single change that was tried saves 2 %."
	case named < 0:
		text = "The best single change: " + s.Rows[best].Text + ", which saves " + percent(best) + "."
	case named != best && s.Rows[named].Gain >= s.Rows[best].Gain-even:
		text = "No single change saves much more than what the report names: " + s.Rows[named].Text + " saves " + percent(
			named,
		) + "."
	case named == best:
		text = "What the report names is the best single change: " + s.Rows[named].Text + " saves " + percent(named) + "."
	default:
		text = "What the report names saves " + percent(
			named,
		) + "; the best single change, " + s.Rows[best].Text + ", saves " + percent(
			best,
		) + "."
	}
	if pair >= 0 && s.Rows[pair].Gain > s.Rows[best].Gain+more {
		text += " Together more: " + s.Rows[pair].Text + " save " + percent(pair) + "."
	}
	return text + s.cures()
}

// cures lists the cures of a deadlock that were tried, the fastest first, in words that follow.
func (s *Study) cures() string {
	var all []string
	for i := range s.Rows {
		if r := &s.Rows[i]; len(r.Changes) == 1 && r.Changes[0].Kind.Cure() && r.TookPS != units.Never {
			all = append(all, r.Text+" ("+metrics.FormatTime(r.TookPS)+")")
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " What cures the circle, with all that is sent: " + strings.Join(all, ", ") + "."
}

// more is by how much a pair must save more than the best single change to be worth a word.
const more = 0.1
