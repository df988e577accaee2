package scenario

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/subnet"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// rerouteSettings say when switches withdraw a failed link.
type rerouteSettings struct {
	after units.Time // from the failure to new tables at all switches; Never: they stay
	sweep bool       // InfiniBand: the time the subnet manager takes
}

// readReroute reads the key reroute: never, sweep or a time.
func (r *resolver) readReroute(o object) {
	s := &r.reroute
	s.after = units.Never
	o.note("reroute", wordsOf("sweep"))
	if text, ok := o.scalar("reroute"); ok && text == "sweep" {
		s.sweep = true
		return
	}
	readOr(o, "reroute", "never", units.Never, &s.after, units.ParseTime)
}

// failures returns the instants at which links fail, in order, each once.
func failures(g *topology.Graph) (at []units.Time) {
	for i := range g.Links {
		if g.Links[i].DownAt != units.Never {
			at = append(at, g.Links[i].DownAt)
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// deadAt marks the links that have failed by an instant.
func deadAt(g *topology.Graph, at units.Time) []bool {
	dead := make([]bool, len(g.Links))
	for i := range dead {
		dead[i] = g.Links[i].DownAt <= at
	}
	return dead
}

// withdraw adds the tables that replace the first ones after each failure.
// tables are the subnet manager's, nil on Ethernet.
func (r *resolver) withdraw(o object, tables *subnet.Tables) {
	s := &r.reroute
	if s.sweep && tables == nil {
		o.fail("reroute", "sweep is the time that a subnet manager takes, and the stack %s has none; give a time such as 10ms", r.v.Stack)
		return
	}
	if s.after == units.Never && !s.sweep {
		return
	}
	g := r.v.Graph
	for _, at := range failures(g) {
		dead := deadAt(g, at)
		next := Reroute{At: at + s.after}
		var err error
		if tables == nil {
			next.Routes, err = topology.RoutesWithout(g, dead)
		} else {
			next, tables, err = r.sweep(tables, dead, at)
		}
		if err != nil {
			o.fail("reroute", "after the failure at %v: %v", at, err)
			return
		}
		if n := len(r.v.Reroutes); n > 0 && next.At < r.v.Reroutes[n-1].At {
			next.At = r.v.Reroutes[n-1].At // the later sweep overtakes the earlier one
		}
		r.v.Reroutes = append(r.v.Reroutes, next)
		r.noteReroute(o, at, next.At-at)
	}
	if len(r.v.Reroutes) == 0 {
		r.ignored(o, "reroute", "no link fails; give one down_at")
	}
}

// sweep is withdraw for one failure on InfiniBand: the subnet manager keeps the
// entries that still serve.
func (r *resolver) sweep(before *subnet.Tables, dead []bool, at units.Time) (next Reroute, now *subnet.Tables, err error) {
	opt, _, err := r.subnetOptions(before.Fabric)
	if err != nil {
		return next, nil, err
	}
	if now, err = before.Reroute(dead, opt); err != nil {
		return next, nil, err
	}
	next.At = at + r.reroute.after
	if r.reroute.sweep {
		next.At = at + before.Recover(now, subnet.DefaultTiming()).Total()
	}
	next.Routes, err = now.Routes(0)
	return next, now, err
}

func (r *resolver) noteReroute(o object, at, after units.Time) {
	source := fromScenario
	if r.reroute.sweep {
		source = "detection 1 ms, a sweep with 4 packets of 50 us on the way, the tables that change (docs/models/infiniband.md)"
	}
	r.note("reroute", fmt.Sprintf("%v after the failure at %v", after, at), source)
}
