package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/subnet"
	"github.com/hopscope/hopscope/internal/units"
)

// Limits of the text of a fabric without Verbose.
const (
	listedChannels = 5
	listedKnots    = 3
	listedFaults   = 5
	listedChanges  = 5
	listedLIDs     = 16
	listedLost     = 4 // nodes out of reach
	listedOdd      = 3 // warnings about the source
)

// Text writes the report for reading.
func (r *Fabric) Text(w io.Writer, opt TextOptions) error {
	t := blank(opt)
	r.head(t)
	r.paths(t)
	r.faults(t)
	r.load(t)
	r.loops(t)
	r.failure(t)
	r.lids(t)
	return t.end(w)
}

// numbered writes a number with its noun.
func numbered(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return metrics.FormatCount(n) + " " + more
}

func (r *Fabric) head(t *text) {
	t.prose(fmt.Sprintf("%s: %s, %s with %s, %s; %s, LIDs to %s of 49,151", r.Source,
		numbered(int64(r.Switches), "switch", "switches"), numbered(int64(r.Adapters), "channel adapter", "channel adapters"),
		numbered(int64(r.Ports), "port", "ports"), numbered(int64(r.Links), "link",
			"links"), r.Engine, metrics.FormatCount(int64(r.TopLID))), t.paint.bold)
	if len(r.Roots) > 0 {
		shown, rest := r.Roots, ""
		if len(shown) > 8 && !t.opt.Verbose {
			rest = fmt.Sprintf(" and %d more", len(shown)-8)
			shown = shown[:8]
		}
		t.prose("roots: "+strings.Join(shown, ", ")+rest, plain)
	}
	for i, warning := range r.Warnings {
		if i == listedOdd && !t.opt.Verbose {
			t.prose(fmt.Sprintf("and %d more warnings: --verbose", len(r.Warnings)-i), t.paint.warn)
			break
		}
		t.prose("warning: "+r.Source+":"+warning, t.paint.warn)
	}
}

// paths shows how far the ports of adapters are from one another.
func (r *Fabric) paths(t *text) {
	t.section()
	total := r.Lost
	for _, h := range r.Hops {
		total += h.Paths
	}
	if total == 0 {
		t.prose("There are no two channel adapters, and so no paths.", plain)
		return
	}
	share := func(n int64) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(total)) }
	tab := &table{columns: []column{{title: "Links crossed"}, {title: "Paths", right: true},
		{title: "Share", right: true}}}
	for _, h := range r.Hops {
		tab.add(fmt.Sprint(h.Links), metrics.FormatCount(h.Paths), share(h.Paths))
	}
	if r.Lost > 0 {
		tab.add("no path", metrics.FormatCount(r.Lost), share(r.Lost))
	}
	t.table(tab)
}

// faults names entries of a file's tables that lead nowhere, or round.
func (r *Fabric) faults(t *text) {
	if len(r.Faults) == 0 {
		return
	}
	t.section()
	t.prose(fmt.Sprintf("The tables have %s:", numbered(int64(len(r.Faults)), "fault", "faults")), t.paint.fail)
	for i := range r.Faults {
		if i == listedFaults && !t.opt.Verbose {
			t.prose(fmt.Sprintf("and %s more: --verbose", metrics.FormatCount(int64(len(r.Faults)-i))), plain)
			return
		}
		t.prose(r.Faults[i].sentence(), plain)
		for _, c := range r.Faults[i].Loop {
			t.line("  " + c)
		}
	}
}

// sentence says where an entry stands and where it leads.
func (x *FabricFault) sentence() string {
	at := fmt.Sprintf("%s, LID %d (%s)", x.Switch, x.LID, x.Of)
	if x.Line > 0 {
		at = fmt.Sprintf("line %d: %s", x.Line, at)
	}
	switch x.What {
	case "no entry":
		return at + " has no entry."
	case "no link":
		return fmt.Sprintf("%s leaves by port %d, which has no link.", at, x.Port)
	case "loop":
		return at + " never arrives: its entries send it round."
	}
	return fmt.Sprintf("%s leaves by port %d, which does not lead to its owner.", at, x.Port)
}

// load shows the channels that carry most when all send to all.
func (r *Fabric) load(t *text) {
	t.section()
	l := &r.Load
	if l.Largest == 0 {
		t.prose("No path goes from switch to switch.", plain)
		return
	}
	t.prose(fmt.Sprintf("All to all: %s between switches carry %s paths at most, %.1f on average.",
		numbered(int64(l.Channels), "channel", "channels"), metrics.FormatCount(l.Largest), l.Mean), plain)
	all := "When all adapters send to all others at once"
	if r.Lost > 0 {
		all = fmt.Sprintf("Of all pairs %s no path. When the others send at once", numbered(r.Lost, "has", "have"))
	}
	if l.BoundAt != "" {
		t.prose(fmt.Sprintf("%s, each can use %.1f %% of its line: %s is full.", all, 100*l.Bound, l.BoundAt), plain)
	} else {
		t.prose(all+", each can use its whole line.", plain)
	}
	tab := &table{columns: []column{{title: "Fullest channels"}, {title: "To"}, {title: "Rate", right: true},
		{title: "Paths", right: true}}}
	for i, c := range l.All {
		if i == listedChannels && !t.opt.Verbose {
			break
		}
		tab.add(c.From, c.To, metrics.FormatRate(units.Rate(c.Rate)), metrics.FormatCount(c.Paths))
	}
	t.table(tab)
	if more := len(l.All) - listedChannels; more > 0 && !t.opt.Verbose {
		t.prose(fmt.Sprintf("and %s more: --verbose", metrics.FormatCount(int64(more))), plain)
	}
}

// loops prints each knot's cycle.
func (r *Fabric) loops(t *text) {
	t.section()
	levels := numbered(int64(r.SLs), "service level", "service levels")
	if len(r.Knots) == 0 {
		t.prose(fmt.Sprintf("Credit loops: none (%s, %s of channels).", levels,
			numbered(int64(r.Deps), "dependency", "dependencies")), plain)
		return
	}
	t.prose(
		fmt.Sprintf(
			"Credit loops: %s; frames that fill such a circle wait for ever. Use updn, or --sls to spread paths over service levels.",
			numbered(int64(len(r.Knots)), "group of channels waits in a circle",
				"groups of channels wait in circles"),
		),
		t.paint.fail,
	)
	for i, k := range r.Knots {
		if i == listedKnots && !t.opt.Verbose {
			t.prose(fmt.Sprintf("and %d more: --verbose", len(r.Knots)-i), plain)
			return
		}
		t.prose(fmt.Sprintf("SL %d, %s, of which the shortest circle has %d:", k.SL,
			numbered(int64(k.Channels), "channel", "channels"), len(k.Cycle)), plain)
		for _, c := range k.Cycle {
			t.line("  " + c)
		}
	}
}

// failure says what changed and how long it takes.
func (r *Fabric) failure(t *text) {
	x := r.Failure
	if x == nil {
		return
	}
	t.section()
	t.prose("Without "+strings.Join(x.Links, ", ")+":", t.paint.bold)
	for i := range x.Splits {
		r.split(t, &x.Splits[i])
	}
	if !x.Rerouted {
		t.prose("Nothing is rerouted.", t.paint.fail)
		return
	}
	t.prose(fmt.Sprintf("%s change at %s.", numbered(int64(x.Entries), "table entry", "table entries"),
		numbered(int64(x.Switches), "switch", "switches")), plain)
	tab := &table{columns: []column{{title: "Phase"}, {title: "Time", right: true}, {title: "For"}}}
	tab.add("detection", metrics.FormatTime(units.Time(x.DetectPS)), "")
	tab.add("sweep", metrics.FormatTime(units.Time(x.SweepPS)), numbered(int64(x.SweepSMPs), "packet", "packets"))
	tab.add("computation", metrics.FormatTime(units.Time(x.ComputePS)), "")
	tab.add("programming", metrics.FormatTime(units.Time(x.ProgramPS)),
		numbered(int64(x.Blocks), "block of 64 LIDs", "blocks of 64 LIDs"))
	tab.add("rerouted after", metrics.FormatTime(units.Time(x.TotalPS)), "")
	t.table(tab)
	if len(x.Changes) > 0 {
		r.changes(t)
	}
}

// split says what a subnet manager has lost.
func (r *Fabric) split(t *text, s *FabricSplit) {
	list := func(names []string) string {
		if len(names) > listedLost && !t.opt.Verbose {
			return strings.Join(names[:listedLost], ", ") + fmt.Sprintf(" and %d more", len(names)-listedLost)
		}
		return strings.Join(names, ", ")
	}
	switch {
	case s.Left == 0:
		t.prose(fmt.Sprintf("The subnet manager at %s is cut off from every switch: all keep their tables.", s.Manager),
			t.paint.fail)
		return
	case len(s.Switches) > 0:
		t.prose(
			fmt.Sprintf(
				"The subnet is split: the subnet manager at %s reaches %d of %d switches. The others keep their tables: %s.",
				s.Manager,
				s.Left,
				s.Left+len(s.Switches),
				list(s.Switches),
			),
			t.paint.fail,
		)
	}
	if len(s.Others) > 0 {
		t.prose(fmt.Sprintf("Out of its reach: %s.", list(s.Others)), t.paint.fail)
	}
}

// changes lists table entries that failed links changed.
func (r *Fabric) changes(t *text) {
	port := func(p int) string {
		if p == subnet.NoPort {
			return "none"
		}
		return fmt.Sprint(p)
	}
	tab := &table{columns: []column{{title: "Switch"}, {title: "LID", right: true}, {title: "Of"},
		{title: "Port", right: true}, {title: "Now", right: true}}}
	all := r.Failure.Changes
	for i, c := range all {
		if i == listedChanges && !t.opt.Verbose {
			break
		}
		tab.add(c.Switch, fmt.Sprint(c.LID), c.Of, port(c.Old), port(c.New))
	}
	t.table(tab)
	if more := len(all) - listedChanges; more > 0 && !t.opt.Verbose {
		t.prose(fmt.Sprintf("and %s more: --verbose", metrics.FormatCount(int64(more))), plain)
	}
}

// lids lists the endports.
func (r *Fabric) lids(t *text) {
	t.section()
	tab := &table{columns: []column{{title: "LID", right: true}, {title: "LMC", right: true}, {title: "Node"},
		{title: "Port", right: true}, {title: "Port GUID"}, {title: "Kind"}}}
	for i, e := range r.LIDs {
		if i == listedLIDs && !t.opt.Verbose {
			break
		}
		tab.add(fmt.Sprint(e.LID), fmt.Sprint(e.LMC), e.Node, fmt.Sprint(e.Port), e.GUID, e.Kind)
	}
	t.table(tab)
	if more := len(r.LIDs) - listedLIDs; more > 0 && !t.opt.Verbose {
		t.prose(fmt.Sprintf("and %s more: --verbose", metrics.FormatCount(int64(more))), plain)
	}
}
