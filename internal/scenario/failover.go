package scenario

import (
	"cmp"
	"errors"
	"slices"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/subnet"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// failoverSettings is the `failover` section: how switches, or the subnet manager,
// learn that a link failed, and what Ethernet does with the flows of a group that
// shrinks.
type failoverSettings struct {
	topology.Failover
	resilient bool
	obj       object
}

// Words of failover.hashing.
const (
	hashResilient = "resilient"
	hashThreshold = "hash-threshold"
)

// Sources of the section's defaults.
const (
	fromLossOfSignal = "loss of signal: point-to-point fibre shows it in milliseconds (RFC 7938, 7.1); 1 ms is assumed. BFD at its usual 3 x 300 ms takes 900 ms"
	fromConvergence  = "assumed: an update, a computation and a table write at every switch; depends on routing protocol, size and vendor"
	fromSweep        = "4 packets of 50 us on the way at once, 10 ns per entry (docs/models/infiniband.md)"
	fromResilient    = "flows on links that are left stay; switches without resilient hashing: hash-threshold (RFC 2992)"
)

// readFailover reads the section.
func (r *resolver) readFailover(o object) {
	keys := r.failoverKeys()
	r.failover.obj = o.object("failover", keys)
	r.failover.obj.read(keys)
}

// failoverKeys are the keys of the section.
func (r *resolver) failoverKeys() []key {
	s := &r.failover
	return []key{
		timeKey("detect", &s.Detect, "From the failure until the switches at both ends withdraw the port, or the subnet manager knows; one that is over by then is not noticed. `never`: nobody notices. Loss of signal "+
			"takes milliseconds (RFC 7938, 7.1), BFD three intervals (900 ms at the usual 300 ms).").or("never", func() { s.Detect = units.Never }),
		timeKey("converge", &s.Converge, "From then until all other switches have tables without the link; `never`: they keep theirs. An assumption to vary.").
			otherwise("10ms; InfiniBand: what the sweep takes").or("never", func() { s.Converge = units.Never }),
		timeKey("per_hop", &s.PerHop, "What news take on from each switch to its neighbours: the ends of the link have new "+
			"tables after `converge`, switches n hops from them n times this later. Meanwhile packets may go round in loops "+
			"([model](../models/ethernet.md#news-that-spread-slowly)).").otherwise("0: all at once").unless(r.noEthernet).
			within(0, int64(10*units.Second), "is no time for news to take; give at most 10s"),
		eitherKey("hashing", &s.resilient, hashThreshold, hashResilient,
			"Flows stay where their link is left; or the group is hashed anew (RFC 2992).").unless(func() string {
			return when(r.stack().Credits && !r.compared, "InfiniBand's tables have one port per destination")
		}),
	}
}

// anyDown reports whether a link fails.
func (r *resolver) anyDown() bool {
	return slices.ContainsFunc(r.v.Graph.Links, func(k topology.Link) bool { return len(k.Outages) > 0 })
}

// noteDownAt remembers where the time of a failure stands.
func (r *resolver) noteDownAt(t units.Time, at pos) {
	if r.downAt == nil {
		r.downAt = map[units.Time]pos{}
	}
	if _, there := r.downAt[t]; !there {
		r.downAt[t] = at
	}
}

// resolveFailover computes the tables that failures bring.
func (r *resolver) resolveFailover(at pos) {
	if r.d.err != nil || !r.anyDown() {
		return
	}
	if r.stack().Credits {
		r.staysDown()
	}
	var err error
	s := &r.failover
	if r.ib.subnet.tables != nil {
		err = r.sweeps()
	} else {
		r.programming()
		r.v.Failover, r.v.Resilient = s.Failover, s.resilient
		r.v.Tables, err = s.Changes(r.v.Graph, r.v.Routes)
		r.ethernetFailures()
		if err == nil && s.FansOut() {
			r.v.Loops = topology.Loops(r.v.Graph, r.v.Routes, r.v.Tables)
		}
	}
	if err != nil {
		var sweep *subnet.SweepError
		if errors.As(err, &sweep) {
			at = r.downAt[sweep.At]
		}
		r.d.fail(at, "%v", err)
		return
	}
	r.failoverNotes()
}

// programming gathers what switches take to write their tables.
func (r *resolver) programming() {
	for n := range r.switches {
		if t := r.switches[n].programming; t > 0 {
			if r.failover.Programming == nil {
				r.failover.Programming = make([]units.Time, len(r.switches))
			}
			r.failover.Programming[n] = t
			r.note("switch.programming", t.String(), fromScenario)
		}
	}
}

// ethernetFailures notes when each failure is noticed and rerouted.
func (r *resolver) ethernetFailures() {
	s := &r.failover
	for _, x := range r.failing() {
		f := failure(r.v.Graph, x)
		if s.Notices(x.Outage) {
			f.NoticedPS = f.DownPS + s.Detect
			f.Phases = append(f.Phases, record.Phase{Name: record.PhaseDetection, PS: s.Detect})
			if s.Converge != units.Never {
				f.ReroutedPS = f.NoticedPS + s.Converge
				f.Phases = append(f.Phases, record.Phase{Name: record.PhaseConvergence, PS: s.Converge})
				if last := slices.Max(s.Delays(r.v.Graph, x.link)); last > 0 {
					f.ReroutedPS += last
					f.Phases = append(f.Phases, record.Phase{Name: record.PhaseFanOut, PS: last})
				}
			}
		}
		r.v.Failures = append(r.v.Failures, f)
	}
}

// outage is one outage of a link.
type outage struct {
	link, nth int
	topology.Outage
}

// failing lists the outages of all links, by time.
func (r *resolver) failing() (all []outage) {
	for i := range r.v.Graph.Links {
		for k, o := range r.v.Graph.Links[i].Outages {
			all = append(all, outage{i, k, o})
		}
	}
	slices.SortStableFunc(all, func(a, b outage) int { return cmp.Compare(a.Down, b.Down) })
	return all
}

// staysDown has links with credits fail once, for good: nothing initialises those
// anew.
func (r *resolver) staysDown() {
	for i := range r.v.Graph.Links {
		if k := &r.v.Graph.Links[i]; len(k.Outages) > 0 && k.Outages[0].Up != units.Never {
			r.warn("up", "the link %s to %s stays down from %v on: that it works again has no effect on InfiniBand, where links do not initialise their credits anew",
				r.v.Graph.Nodes[k.A].Name, r.v.Graph.Nodes[k.B].Name, k.FailsAt())
			k.Outages = []topology.Outage{{Down: k.FailsAt(), Up: units.Never}}
		}
	}
}

// sweeps computes what the subnet manager does about failures. With a converge it
// takes that in place of its sweep, computation and programming.
func (r *resolver) sweeps() error {
	s, g, first := &r.failover, r.v.Graph, r.ib.subnet.tables
	var failures []subnet.Failure
	for _, x := range r.failing() {
		failures = append(failures, subnet.Failure{Link: x.link, At: x.Down})
		r.v.Failures = append(r.v.Failures, failure(g, x))
	}
	if s.Detect == units.Never {
		return nil
	}
	given := s.obj.has("converge")
	if given && s.Converge == units.Never {
		for k := range failures {
			f := &r.v.Failures[k]
			f.NoticedPS = f.DownPS + s.Detect
			f.Phases = append(f.Phases, record.Phase{Name: record.PhaseDetection, PS: s.Detect})
		}
		return nil
	}
	timing := subnet.DefaultTiming()
	timing.Detect = s.Detect
	if given {
		timing.SMP, timing.Compute = 0, 0
	}
	opt, _, err := r.subnetOptions(first.Fabric)
	if err != nil {
		return err
	}
	all, err := first.Sweeps(failures, opt, timing)
	if err != nil {
		return err
	}
	for k := range all {
		if given {
			r.after(&all[k], s.Converge)
		}
		if err := r.newTables(&all[k]); err != nil {
			return err
		}
		r.warnSplit(first.Fabric, &all[k])
	}
	for k, f := range failures {
		r.swept(&r.v.Failures[k], f, all)
	}
	slices.SortStableFunc(r.v.Tables, func(a, b topology.Tables) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Node, b.Node))
	})
	return nil
}

// warnSplit names switches that a sweep no longer reaches.
func (r *resolver) warnSplit(before *subnet.Fabric, w *subnet.Sweep) {
	for _, s := range before.Splits(w.Tables.Fabric) {
		at := before.Name(s.Manager)
		switch {
		case s.Left == 0:
			r.warn("split "+at, "the links that fail cut the subnet manager at %s off: switches keep the tables they have", at)
		case len(s.Switches) > 0:
			r.warn("split "+at, "the links that fail leave %d of %d switches out of reach of the subnet manager at %s, %s the first: those keep the tables they have",
				len(s.Switches), len(s.Switches)+s.Left, at, before.Nodes[s.Switches[0]].Name)
		}
	}
}

// after puts a given time in place of a sweep's.
func (r *resolver) after(w *subnet.Sweep, converge units.Time) {
	w.Recovery = subnet.Recovery{Detect: w.Detect, Program: converge}
	for node, at := range w.Have {
		if at > 0 {
			w.Have[node] = w.Start + converge
		}
	}
}

// newTables adds the tables of a sweep.
func (r *resolver) newTables(w *subnet.Sweep) error {
	routes, err := w.Tables.Routes(0)
	if err != nil {
		return err
	}
	for node, at := range w.Have {
		if at > 0 {
			r.v.Tables = append(r.v.Tables, topology.Tables{At: at, Node: node, Group: routes.Group[node], Members: routes.Members[node]})
		}
	}
	return nil
}

// swept fills in the times of a failure from the first sweep that finds it.
func (r *resolver) swept(out *record.Failure, f subnet.Failure, all []subnet.Sweep) {
	for k := range all {
		w := &all[k]
		if !w.Finds(f.Link) {
			continue
		}
		out.NoticedPS = min(f.At+r.failover.Detect, w.Start)
		add := func(name string, d units.Time) {
			if d > 0 {
				out.Phases = append(out.Phases, record.Phase{Name: name, PS: d})
			}
		}
		add(record.PhaseDetection, out.NoticedPS-f.At)
		if !w.Reroutes(f.Link) {
			return
		}
		out.ReroutedPS = w.End()
		add(record.PhaseWaiting, w.Start-out.NoticedPS)
		if r.failover.obj.has("converge") {
			add(record.PhaseConvergence, w.Program)
			return
		}
		add(record.PhaseSweep, w.Recovery.Sweep)
		add(record.PhaseComputation, w.Compute)
		add(record.PhaseProgramming, w.Program)
		return
	}
}

// failoverNotes says what the section and its defaults have put in.
func (r *resolver) failoverNotes() {
	s := &r.failover
	if s.obj.d == nil { // ns-3's files
		r.note("failover", "at once, hash-threshold", "ns-3 RDMA simulators")
		return
	}
	if s.obj.n == nil {
		s.obj.n = &node{}
	}
	r.note("failover.detect", timeOrNever(s.Detect), sourceOf(s.obj, "detect", fromLossOfSignal))
	if r.ib.subnet.tables != nil {
		converge, source := timeOrNever(s.Converge), fromScenario
		if !s.obj.has("converge") {
			converge, source = "the subnet manager's sweep", fromSweep
		}
		r.note("failover.converge", converge, source)
		return
	}
	r.note("failover.converge", timeOrNever(s.Converge), sourceOf(s.obj, "converge", fromConvergence))
	if s.PerHop > 0 {
		r.note("failover.per_hop", s.PerHop.String(), fromScenario)
	}
	hashing := hashResilient
	if !s.resilient {
		hashing = hashThreshold
	}
	r.note("failover.hashing", hashing, sourceOf(s.obj, "hashing", fromResilient))
}

// failure is the record of an outage, as far as the link alone says.
func failure(g *topology.Graph, x outage) record.Failure {
	k := &g.Links[x.link]
	f := record.Failure{
		Link: record.LinkAt(g.Nodes[k.A].Name, k.PortA+1, g.Nodes[k.B].Name, k.PortB+1),
		Nth:  x.nth, DownPS: x.Down, NoticedPS: -1, ReroutedPS: -1,
		Silent: x.Silent, LostFrom: x.Sender, SwitchDown: x.Switch,
	}
	if x.Up != units.Never {
		f.UpPS = x.Up
	}
	return f
}

func timeOrNever(t units.Time) string {
	if t == units.Never {
		return "never"
	}
	return t.String()
}

// warnDown says what no rerouting helps after a link has failed.
func (r *resolver) warnDown() {
	g := r.v.Graph
	dead := make([]bool, len(g.Links))
	failing := false
	for i := range g.Links {
		k := &g.Links[i]
		if len(k.Outages) == 0 {
			continue
		}
		failing = true
		dead[i] = !k.ComesBack()
		a, b := g.Nodes[k.A].Name, g.Nodes[k.B].Name
		r.warnOutages(a, b, k)
		silent := !slices.ContainsFunc(k.Outages, func(o topology.Outage) bool { return !o.Silent })
		switch {
		case r.failover.Detect == units.Never:
			r.warn("down", "the link %s to %s fails at %v and nobody notices (failover.detect: never): what takes it is lost, even where another path is left", a, b, k.FailsAt())
		case r.stack().Credits && r.failover.Converge == units.Never:
			r.warn("down", "the link %s to %s fails at %v, and the subnet manager notices but never writes new tables (failover.converge: never): what takes it is lost, even where another path is left", a, b, k.FailsAt())
		case silent && (g.Nodes[k.A].Kind == topology.Host || g.Nodes[k.B].Kind == topology.Host):
			r.warn("hole", "the link %s to %s is a black hole from %v on and the only one to that port of a host: "+
				"what takes it is lost, and nobody notices", a, b, k.FailsAt())
		case g.Nodes[k.A].Kind == topology.Host || g.Nodes[k.B].Kind == topology.Host:
			r.warn("downhost", "the link %s to %s fails at %v: no other leads to that port of a host, so nothing can be rerouted", a, b, k.FailsAt())
		}
	}
	if !failing {
		return
	}
	left, err := r.failover.Rules.Without(g, dead)
	if err != nil {
		return
	}
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		if c.Path != nil {
			r.warnPinned(c.Src, c.Dst, c.Path)
		} else if left.CheckPair(g, c.Src, c.Dst) != nil {
			r.warn("cutoff", "the links that fail leave no path from %s to %s", g.EndpointName(c.Src), g.EndpointName(c.Dst))
		}
	}
}

// warnOutages says which failures of a link between a and b the run does not come to, and which are over
// before anybody notices.
func (r *resolver) warnOutages(a, b string, k *topology.Link) {
	for _, o := range k.Outages {
		switch lasts := o.Up - o.Down; {
		case r.v.Stop != units.Never && o.Down >= r.v.Stop:
			r.warn("down after stop", "the link %s to %s fails at %v, which is never seen: the run stops at %v", a, b,
				o.Down, r.v.Stop)
		case o.Up != units.Never && !o.Silent && r.failover.Detect != units.Never && lasts <= r.failover.Detect:
			r.warn("unnoticed", "the link %s to %s fails at %v for %v, no longer than failover.detect, %v: nobody notices, "+
				"nothing is rerouted, and what takes it meanwhile is lost", a, b, o.Down, lasts, r.failover.Detect)
		}
	}
}

// warnPinned points at pinned paths over links that fail: they do not change.
func (r *resolver) warnPinned(src, dst int, path []int) {
	g := r.v.Graph
	ports, err := topology.PinnedPathBetween(g, src, dst, path)
	if err != nil {
		return
	}
	for k, port := range ports {
		if l := g.LinkAt(path[k], port); len(l.Outages) > 0 {
			r.warn("pinned", "the path of %s to %s is given and takes the link %s to %s, which fails at %v: it does not change, and what takes it is lost",
				g.EndpointName(src), g.EndpointName(dst), g.Nodes[l.A].Name, g.Nodes[l.B].Name, l.FailsAt())
			return
		}
	}
}
