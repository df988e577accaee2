package subnet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// Timing is what the time from a link's failure to new tables is made of.
type Timing struct {
	Detect      units.Time // from the failure until the subnet manager knows: trap 128, or the next sweep
	SMP         units.Time // one subnet management packet and its answer
	Outstanding int        // how many of them are on the way at once, at least 1
	Compute     units.Time // per entry of all tables that the engine fills
}

// DefaultTiming returns OpenSM's window of 4 outstanding packets (--maxsmps). The
// times are assumptions, to be replaced by measured ones: 1 ms until a switch has
// seen the link fail and its trap has arrived, 50 us per packet answered by the
// processor of a switch, 10 ns per table entry.
func DefaultTiming() Timing {
	return Timing{Detect: units.Millisecond, SMP: 50 * units.Microsecond, Outstanding: 4, Compute: 10 * units.Nanosecond}
}

// SweepInterval is how often OpenSM looks by itself when no trap came (-s).
const SweepInterval = 10 * units.Second

// Recovery is what it takes to replace the tables after a failure.
type Recovery struct {
	Detect, Sweep, Compute, Program units.Time // the phases, in order
	SweepSMPs                       int        // packets of a heavy sweep
	Blocks                          int        // blocks of 64 LIDs that changed, a packet each
}

// Total is the time from the failure to the last table programmed.
func (r Recovery) Total() units.Time { return r.Detect + r.Sweep + r.Compute + r.Program }

// Without returns the fabric as it is discovered when links have failed: dead
// holds an entry per link. Nodes, links and LIDs keep their numbers; a port whose
// link is dead has no peer. LIDs of ports that lost their link stay reserved, as
// OpenSM's guid2lid file does.
func (f *Fabric) Without(dead []bool) (*Fabric, error) {
	if len(dead) != len(f.Links) {
		return nil, fmt.Errorf("%d links are marked of %d", len(dead), len(f.Links))
	}
	g := &Fabric{Nodes: append([]Node(nil), f.Nodes...), Links: f.Links, Endports: f.Endports, Warnings: f.Warnings,
		managers: f.Managers(), graph: f.graph}
	for i := range g.Nodes {
		g.Nodes[i].Ports = append([]Port(nil), f.Nodes[i].Ports...)
	}
	for i, l := range f.Links {
		if !dead[i] {
			continue
		}
		for _, e := range [2]End{l.A, l.B} {
			p := g.port(e)
			p.Peer, p.PeerPort, p.Link = -1, 0, -1
		}
	}
	return g, nil
}

// Reroute fills the tables anew after links have failed: those of the switches that
// a manager still reaches, by what it sees. The others keep theirs. With minhop and
// updn an entry that is still on a shortest allowed path stays, as OpenSM
// documents; the ranks of updn are found anew from the same roots; ftree routes
// afresh and fails where the fabric is no fat-tree any more and no roots are named.
func (t *Tables) Reroute(dead []bool, opt Options) (*Tables, error) {
	f, err := t.Fabric.Without(dead)
	if err != nil {
		return nil, err
	}
	reached := f.reached()
	seen, err := t.Fabric.Without(f.within(dead, reached))
	if err != nil {
		return nil, err
	}
	now := newTables(f, t.Engine)
	if now.Rank = slices.Clone(t.Rank); f.anySwitch(reached) {
		routed, err := t.refill(seen, opt)
		if err != nil {
			return nil, err
		}
		now.LFT, now.Rank = routed.LFT, routed.Rank
	}
	now.keep(t, reached)
	return now, nil
}

// refill routes what the managers see, from the tables that the switches have.
func (t *Tables) refill(f *Fabric, opt Options) (*Tables, error) {
	switch opt.Engine {
	case "minhop":
		return routeMinHop(f, t, opt), nil
	case "updn":
		if len(opt.Roots) == 0 {
			opt.Roots = t.roots()
		}
		return routeUpDown(f, opt, t)
	}
	return Route(f, opt)
}

// roots lists the switches of rank 0.
func (t *Tables) roots() (roots []int) {
	for n, r := range t.Rank {
		if r == 0 {
			roots = append(roots, n)
		}
	}
	return roots
}

// Change is one entry of a forwarding table that differs.
type Change struct {
	Node     int // the switch
	LID      LID
	Old, New uint8 // ports; NoPort: dropped
}

// Changes lists the entries of new tables that differ from t, by node and LID.
func (t *Tables) Changes(now *Tables) []Change {
	var out []Change
	for n := range t.LFT {
		for l := range now.LFT[n] {
			if a, b := t.Lookup(n, LID(l)), now.LFT[n][l]; a != b {
				out = append(out, Change{n, LID(l), a, b})
			}
		}
	}
	return out
}

// lidsPerBlock is how many entries one packet programs (IBTA volume 1, 14.2.5.11).
const lidsPerBlock = 64

// Recover returns how long it takes until all switches that the manager still
// reaches have the new tables. Several managers are taken for one that does the
// work of all.
func (t *Tables) Recover(now *Tables, timing Timing) Recovery {
	r := Recovery{Detect: timing.Detect, SweepSMPs: now.Fabric.sweepSMPs()}
	entries := 0
	for n, ok := range now.Fabric.reached() {
		if ok {
			entries += len(now.LFT[n])
		}
	}
	for _, blocks := range t.changedBlocks(now) {
		r.Blocks += blocks
	}
	r.Sweep, r.Program = timing.rounds(r.SweepSMPs), timing.rounds(r.Blocks)
	r.Compute = units.Time(entries) * timing.Compute
	return r
}

// rounds is the time of so many packets, a window of them at once.
func (t Timing) rounds(smps int) units.Time {
	window := max(t.Outstanding, 1)
	return units.Time((smps+window-1)/window) * t.SMP
}

// changedBlocks counts, by node, the blocks of its table that the manager writes
// anew.
func (t *Tables) changedBlocks(now *Tables) []int {
	out, last := make([]int, len(now.LFT)), -1
	top := len(now.Owner)/lidsPerBlock + 1
	for _, c := range t.Changes(now) {
		if block := c.Node*top + int(c.LID)/lidsPerBlock; block != last {
			last = block
			out[c.Node]++
		}
	}
	return out
}

// Failure is a link that fails at an instant.
type Failure struct {
	Link int
	At   units.Time
}

// Sweep is what the manager does about failures that it has learned of.
type Sweep struct {
	Noticed, Start units.Time // of the failure behind it; later where the manager was still busy
	Recovery
	Dead   []bool // links that it finds dead
	Tables *Tables
	Have   []units.Time // by node: when a switch has its new table; 0: it keeps the old one
}

// End is when the last switch has its new table.
func (s *Sweep) End() units.Time { return s.Start + s.Recovery.Sweep + s.Compute + s.Program }

// SweepError says that the engine finds no tables once links have failed.
type SweepError struct {
	At    units.Time // of the failure behind the sweep
	Links string     // that are dead by then
	Err   error
}

func (e *SweepError) Error() string { return "with " + e.Links + " failed: " + e.Err.Error() }

func (e *SweepError) Unwrap() error { return e.Err }

// names lists links by the ports at their ends.
func (f *Fabric) names(dead []bool) string {
	var out []string
	for i, l := range f.Links {
		if dead[i] {
			out = append(out, f.Name(l.A)+" - "+f.Name(l.B))
		}
	}
	return strings.Join(out, ", ")
}

// Sweeps lists what the manager does about failures, given in order of time. It
// learns of each after the detection time, unless it reaches neither end of the
// link, and handles one after the other; a sweep
// finds all links dead that have failed by its start, and later traps of those bring
// nothing new. Switches are written in node order, block by block.
func (t *Tables) Sweeps(failures []Failure, opt Options, timing Timing) ([]Sweep, error) {
	var out []Sweep
	free := units.Time(0)
	for i, f := range failures {
		if n := len(out); n > 0 && out[n-1].Dead[f.Link] {
			continue
		}
		left, err := t.Fabric.Without(deadAt(len(t.Fabric.Links), failures, i, f.At))
		if err != nil {
			return nil, err
		}
		if !left.notices(f.Link) {
			continue
		}
		s := Sweep{Noticed: f.At + timing.Detect, Have: make([]units.Time, len(t.Fabric.Nodes))}
		s.Start = max(s.Noticed, free)
		s.Dead = deadAt(len(t.Fabric.Links), failures, i, s.Start)
		now, err := t.Reroute(s.Dead, opt)
		if err != nil {
			return nil, &SweepError{f.At, t.Fabric.names(s.Dead), err}
		}
		s.Tables, s.Recovery = now, t.Recover(now, timing)
		written := 0
		for node, blocks := range t.changedBlocks(now) {
			if written += blocks; blocks > 0 {
				s.Have[node] = s.Start + s.Recovery.Sweep + s.Compute + timing.rounds(written)
			}
		}
		free, t = s.End(), now
		out = append(out, s)
	}
	return out, nil
}

// deadAt marks, of so many links, those of failures 0 to i and those that have
// failed by a time.
func deadAt(links int, failures []Failure, i int, at units.Time) []bool {
	dead := make([]bool, links)
	for j, f := range failures {
		dead[f.Link] = dead[f.Link] || j <= i || f.At <= at
	}
	return dead
}

// sweepSMPs counts the packets of a heavy sweep over the nodes that the manager
// reaches: NodeInfo through every linked port of a switch and once for the manager's
// own node, NodeDescription per node, SwitchInfo per switch, PortInfo per port of a
// switch (port 0 too) and per linked port of others.
func (f *Fabric) sweepSMPs() int {
	smps := 0
	for i, ok := range f.reached() {
		if !ok {
			continue
		}
		n := &f.Nodes[i]
		linked := 0
		for p := range n.Ports {
			if n.Ports[p].Peer >= 0 {
				linked++
			}
		}
		smps++ // NodeDescription
		if n.Kind == Switch {
			smps += linked + 1 + len(n.Ports)
		} else {
			smps += linked
		}
	}
	return smps + len(f.Managers())
}

// discover walks the links from the manager's port, an index into Endports, in
// the order in which directed routes find the nodes: nearest first, by port. It
// does not pass through adapters, which do not forward.
func (f *Fabric) discover(sm int) []int {
	e := f.Endports[sm]
	found := []int{e.Node}
	seen := make([]bool, len(f.Nodes))
	seen[e.Node] = true
	for i := 0; i < len(found); i++ {
		n := &f.Nodes[found[i]]
		for p := range n.Ports {
			own := i == 0 && (p == e.Port || n.Kind == Switch)
			if peer := n.Ports[p].Peer; peer >= 0 && !seen[peer] && (own || i > 0 && n.Kind == Switch) {
				seen[peer] = true
				found = append(found, peer)
			}
		}
	}
	return found
}
