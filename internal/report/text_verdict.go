package report

import (
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// Limits of what is listed of pauses without Verbose.
const (
	listedTrees    = 2
	listedBranches = 8
	listedVictims  = 5
	// A tree that held its ports for less than one in so many parts of the run is left out.
	seldomHeld = 50
)

// verdict writes what dominates the run, if something does, what messages waited for that nothing
// else shows, and what the seed decided. The header tells of a deadlock.
func (t *text) verdict() {
	if v := t.s.Verdict; v != nil && len(t.r.Cycle) == 0 { // which stands above
		t.prose(t.l.Of("Verdict: ")+v.Text, t.paint.bold)
	}
	for i := range t.s.Waits {
		t.prose(t.l.Of("Waits: ")+t.s.Waits[i].Text, plain)
	}
	if n := t.r.HashedFlows; n > 1 {
		t.prose(
			t.l.Sprintf(
				"Seed: hashes chose the ways of %s flows among several; with another seed than %d they choose otherwise, "+
					"so that this run is one draw of many (run --seeds 10 shows their range)",
				metrics.FormatCount(int64(n)),
				t.r.Seed,
			),
			plain,
		)
	}
}

// spread reports whether pauses went further than the ports next to their root, or held what
// does not go there, for long enough to be told of.
func (t *text) spread(p *metrics.PauseTree) bool {
	longest, deep := units.Time(0), 0
	for i := range p.Branches {
		longest, deep = max(longest, p.Branches[i].HeldPS), max(deep, p.Branches[i].Depth)
	}
	return (deep > 0 || len(p.Victims) > 0) && longest*seldomHeld >= t.r.EndPS-t.base
}

// pauses writes how pauses, or waits for credits, spread: a table per root.
func (t *text) pauses() {
	shown := 0
	for i := range t.s.Pauses {
		p := &t.s.Pauses[i]
		if !t.spread(p) {
			continue
		}
		if shown++; shown > listedTrees && !t.opt.Verbose {
			continue
		}
		t.pauseTree(p)
	}
	if more := shown - listedTrees; more > 0 && !t.opt.Verbose {
		t.prose(t.l.Sprintf("and from %d more places; --verbose lists them", more), plain)
	}
}

func (t *text) pauseTree(p *metrics.PauseTree) {
	words := p.Branches[0].Port.Layer.Words(t.l)
	t.section()
	tab := &table{columns: []column{{title: p.Title(t.l)}, {title: "To", drop: 1}, {title: "Held", right: true},
		{title: strings.ReplaceAll(words.HeldTitle, "\n", " "), right: true, drop: 2}, {title: "Since", right: true}}}
	tab.addNote(p.Why, p.Root.Place.In(t.l))
	shown := p.Branches
	if len(shown) > listedBranches && !t.opt.Verbose {
		shown = shown[:listedBranches]
	}
	for i := range shown {
		b := &shown[i]
		tab.add(strings.Repeat("  ", b.Depth+1)+b.Port.In(t.l), b.Peer.String(), metrics.FormatTime(b.HeldPS),
			metrics.FormatTime(b.PausedPS), t.at(b.FirstPS))
	}
	t.table(tab)
	if n := len(p.Branches) - len(shown); n > 0 {
		t.prose(t.l.Sprintf("and %d more ports; --verbose lists them", n), plain)
	}
	t.victims(p)
}

// victims says which messages were held and do not go to the root.
func (t *text) victims(p *metrics.PauseTree) {
	if len(p.Victims) == 0 {
		t.prose(t.l.Sprintf("held: %s, bound for it", counted(t.l, p.Through, "message")), plain)
		return
	}
	list := p.Victims
	if len(list) > listedVictims && !t.opt.Verbose {
		list = list[:listedVictims]
	}
	var names []string
	for _, i := range list {
		names = append(names, metrics.Arrow(&t.r.Messages[i]))
	}
	if n := len(p.Victims) - len(list); n > 0 {
		names = append(names, t.l.Sprintf("and %d more", n))
	}
	t.prose(t.l.Sprintf("held: %s bound for it; victims, which go elsewhere: %s", counted(t.l, p.Through, "message"),
		strings.Join(names, ", ")), plain)
}
