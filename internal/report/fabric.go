package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/hopscope/hopscope/internal/subnet"
)

// Fabric is what a subnet manager made of a network, for hopscope fabric. Times
// are picoseconds, rates bit/s.
type Fabric struct {
	Version  int            `json:"version"`
	Source   string         `json:"source"` // file or scenario
	Engine   string         `json:"engine"`
	Switches int            `json:"switches"`
	Adapters int            `json:"adapters"`
	Ports    int            `json:"adapter_ports"`
	Links    int            `json:"links"`
	TopLID   int            `json:"top_lid"`
	Roots    []string       `json:"roots,omitempty"` // switches of rank 0
	SLs      int            `json:"service_levels"`
	Warnings []string       `json:"warnings"`
	LIDs     []FabricLID    `json:"lids"`
	Hops     []FabricHops   `json:"hops"`
	Lost     int64          `json:"unreachable_paths"`
	Load     FabricLoad     `json:"load"`
	Deps     int            `json:"dependencies"`
	Knots    []FabricKnot   `json:"credit_loops"`
	Faults   []FabricFault  `json:"faults,omitempty"` // of tables from a file
	Failure  *FabricFailure `json:"failure,omitempty"`
}

// FabricLID is one endport.
type FabricLID struct {
	Node string `json:"node"`
	Kind string `json:"kind"`
	Port int    `json:"port"`
	GUID string `json:"guid"`
	LID  int    `json:"lid"`
	LMC  int    `json:"lmc"`
}

// FabricHops counts paths that cross so many links.
type FabricHops struct {
	Links int   `json:"links"`
	Paths int64 `json:"paths"`
}

// FabricLoad is how many paths go over the channels between switches.
type FabricLoad struct {
	Channels int             `json:"channels"`
	Largest  int64           `json:"largest"`
	Mean     float64         `json:"mean"`
	Bound    float64         `json:"all_to_all_share"` // of its line that every adapter can use
	BoundAt  string          `json:"all_to_all_limit,omitempty"`
	All      []FabricChannel `json:"per_channel"` // fullest first
}

// FabricChannel is one direction of a link between switches.
type FabricChannel struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Rate  int64  `json:"rate_bps"`
	Paths int64  `json:"paths"`
}

// FabricKnot is a set of channels that wait for one another.
type FabricKnot struct {
	SL       int      `json:"sl"`
	Channels int      `json:"channels"`
	Cycle    []string `json:"cycle"` // a shortest one: channels in the order in which each waits for the next
}

// FabricFault is an entry of tables from a file that does not lead to the owner of
// its LID.
type FabricFault struct {
	What   string   `json:"what"` // "no entry", "no link", "not the owner" or "loop"
	Switch string   `json:"switch"`
	LID    int      `json:"lid"`
	Of     string   `json:"of"`             // the LID's owner
	Port   int      `json:"port"`           // 255: none
	Line   int      `json:"line"`           // of the file; 0: the entry is missing
	Loop   []string `json:"loop,omitempty"` // channels in order
}

// FabricFailure is what failed links changed.
type FabricFailure struct {
	Links     []string       `json:"links"`
	Splits    []FabricSplit  `json:"splits"`
	Rerouted  bool           `json:"rerouted"` // a switch at a failed link is reached and has new tables
	Entries   int            `json:"changed_entries"`
	Switches  int            `json:"changed_switches"`
	Blocks    int            `json:"changed_blocks"`
	SweepSMPs int            `json:"sweep_smps"`
	DetectPS  int64          `json:"detect_ps"`
	SweepPS   int64          `json:"sweep_ps"`
	ComputePS int64          `json:"compute_ps"`
	ProgramPS int64          `json:"program_ps"`
	TotalPS   int64          `json:"total_ps"`
	Changes   []FabricChange `json:"changes"`
}

// FabricSplit is what a subnet manager does not reach any more; its switches keep
// their tables.
type FabricSplit struct {
	Manager  string   `json:"manager"`
	Left     int      `json:"switches_left"`
	Switches []string `json:"switches_lost"`
	Others   []string `json:"adapters_lost"`
}

// FabricChange is a table entry that failed links changed; 255 is no port.
type FabricChange struct {
	Switch string `json:"switch"`
	LID    int    `json:"lid"`
	Of     string `json:"of"` // the LID's owner
	Old    int    `json:"old_port"`
	New    int    `json:"new_port"`
}

// NewFabric gathers what the tables of a network amount to.
func NewFabric(source string, t *subnet.Tables) *Fabric {
	f := t.Fabric
	a := t.Analyse()
	r := &Fabric{Version: pageVersion, Source: source, Engine: t.Engine, Switches: f.Count(subnet.Switch),
		Links: len(f.Links), TopLID: len(t.Owner) - 1, SLs: t.Layers, Warnings: f.Warnings, Lost: a.Unreachable}
	r.Adapters = len(f.Nodes) - r.Switches
	r.Ports = len(f.Endports) - r.Switches
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	for n, rank := range t.Rank {
		if rank == 0 {
			r.Roots = append(r.Roots, f.Nodes[n].Name)
		}
	}
	for _, e := range f.Endports {
		p := &f.Nodes[e.Node].Ports[e.Port]
		r.LIDs = append(r.LIDs, FabricLID{f.Nodes[e.Node].Name, f.Nodes[e.Node].Kind.String(), e.Port, p.GUID.String(),
			int(p.LID), int(p.LMC)})
	}
	for links, paths := range a.Hops {
		if paths > 0 {
			r.Hops = append(r.Hops, FabricHops{links, paths})
		}
	}
	r.addLoad(f, a)
	r.addFaults(t)
	for sl := range t.Layers {
		r.addLoops(f, sl, t.CreditLoops(uint8(sl)))
	}
	return r
}

// addLoad lists the channels between switches, the fullest first, equal ones as
// the nodes and ports are numbered.
func (r *Fabric) addLoad(f *subnet.Fabric, a *subnet.Analysis) {
	r.Load = FabricLoad{Channels: len(a.Inter), Largest: a.Worst, Mean: a.Mean(), Bound: a.Bound, All: []FabricChannel{}}
	if a.Bound < 1 {
		r.Load.BoundAt = f.Channel(a.BoundAt)
	}
	for _, e := range a.Inter {
		p := &f.Nodes[e.Node].Ports[e.Port]
		r.Load.All = append(r.Load.All, FabricChannel{f.Name(e), f.Name(subnet.End{Node: p.Peer, Port: p.PeerPort}),
			int64(f.Links[p.Link].Rate), a.Routes[e.Node][e.Port]})
	}
	slices.SortStableFunc(r.Load.All, func(x, y FabricChannel) int { return cmp.Compare(y.Paths, x.Paths) })
}

// addFaults names what tables of a file have wrong.
func (r *Fabric) addFaults(t *subnet.Tables) {
	f := t.Fabric
	for _, x := range t.Faults() {
		what := [...]string{subnet.NoEntry: "no entry", subnet.DeadPort: "no link", subnet.NotHere: "not the owner",
			subnet.Forwarded: "loop"}[x.What]
		fault := FabricFault{What: what, Switch: f.Nodes[x.Node].Name, LID: int(x.LID),
			Of: f.Name(f.Endports[t.Owner[x.LID]]), Port: int(x.Port), Line: x.Line}
		for _, e := range x.Loop {
			fault.Loop = append(fault.Loop, f.Channel(e))
		}
		r.Faults = append(r.Faults, fault)
	}
}

func (r *Fabric) addLoops(f *subnet.Fabric, sl int, l *subnet.Loops) {
	r.Deps += l.Dependencies
	if r.Knots == nil {
		r.Knots = []FabricKnot{}
	}
	for i, cycle := range l.Cycles {
		k := FabricKnot{SL: sl, Channels: l.Sizes[i]}
		for _, e := range cycle {
			k.Cycle = append(k.Cycle, f.Channel(e))
		}
		r.Knots = append(r.Knots, k)
	}
}

// Fail says what the failed links changed: before are the tables without the
// failure, now those r was made of.
func (r *Fabric) Fail(before, now *subnet.Tables, dead []bool, timing subnet.Timing) {
	f := before.Fabric
	x := before.Recover(now, timing)
	sweep := subnet.Sweep{Dead: dead, Tables: now}
	r.Failure = &FabricFailure{Splits: r.splits(f, now.Fabric), Blocks: x.Blocks, SweepSMPs: x.SweepSMPs,
		DetectPS: int64(x.Detect), SweepPS: int64(x.Sweep),
		ComputePS: int64(x.Compute), ProgramPS: int64(x.Program), TotalPS: int64(x.Total()), Changes: []FabricChange{}}
	for i, l := range f.Links {
		if dead[i] {
			r.Failure.Links = append(r.Failure.Links, f.Name(l.A)+" - "+f.Name(l.B))
			r.Failure.Rerouted = r.Failure.Rerouted || sweep.Reroutes(i)
		}
	}
	last := -1
	for _, c := range before.Changes(now) {
		r.Failure.Entries++
		r.Failure.Changes = append(
			r.Failure.Changes,
			FabricChange{f.Nodes[c.Node].Name, int(c.LID), f.Name(f.Endports[now.Owner[c.LID]]), int(c.Old), int(c.New)},
		)
		if c.Node != last {
			last = c.Node
			r.Failure.Switches++
		}
	}
}

// splits names what the managers have lost.
func (r *Fabric) splits(f, now *subnet.Fabric) []FabricSplit {
	out := []FabricSplit{}
	names := func(nodes []int) []string {
		list := []string{}
		for _, n := range nodes {
			list = append(list, f.Nodes[n].Name)
		}
		return list
	}
	for _, s := range f.Splits(now) {
		out = append(out, FabricSplit{f.Name(s.Manager), s.Left, names(s.Switches), names(s.Others)})
	}
	return out
}

// JSON encodes the report, indented, with a newline at the end.
func (r *Fabric) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(r)
	return b.Bytes(), err
}
