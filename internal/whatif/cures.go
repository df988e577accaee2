package whatif

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Cure reports whether changes of the kind break circles of waits. They take no cause away.
func (k Kind) Cure() bool {
	return k == Watchdog || k == Lifetime || k == UpDown || k == SecondClass
}

// cures adds what breaks a circle of waits: paths and classes that close none; where links have credits
// a lifetime, else a watchdog.
func (l *Lab) cures(add func(Change)) {
	circle := l.Run.Cycle
	if len(circle) == 0 {
		circle = metrics.BrokenCircle(l.Run)
	}
	if len(circle) == 0 {
		return
	}
	add(Change{Kind: UpDown})
	if first := &circle[0]; second(l.Valid, first.Class) >= 0 {
		add(Change{Kind: SecondClass, Class: first.Class})
	}
	if len(l.Run.Cycle) == 0 { // a watchdog or a lifetime breaks it as it is
		return
	}
	if circle[0].Layer == catalog.InfiniBand {
		code := l.hoqLife()
		add(Change{Kind: Lifetime, Count: code})
		add(Change{Kind: Lifetime, Count: max(code-4, 0)})
		return
	}
	add(Change{Kind: Watchdog})
	add(Change{Kind: Watchdog, Count: 1})
}

// settings are the keys that changes set, as --set takes them.
func settings(v *scenario.Valid, changes []Change) (set []string) {
	for _, c := range changes {
		switch credits := v.Wire.Block > 0; {
		case c.Kind == UpDown && credits:
			set = append(set, "infiniband.routing=updn")
			if root := rootOf(v.Graph); root >= 0 {
				set = append(set, "infiniband.roots=["+v.Graph.Nodes[root].Name+"]")
			}
		case c.Kind == UpDown:
			set = append(set, "paths=up-down")
		case c.Kind == SecondClass && !credits:
			to := second(v, c.Class)
			enabled := fmt.Sprint(c.Class, ", ", to)
			for p := range uint8(fabric.Classes) {
				if int(p) != c.Class && int(p) != to && lossless(v)>>p&1 != 0 {
					enabled += fmt.Sprint(", ", p)
				}
			}
			set = append(set, fmt.Sprintf("switch.bounce={%d: %d}", c.Class, to), "switch.pfc.enabled=["+enabled+"]")
		}
	}
	return set
}

// rootOf is the highest switch of a graph without tiers, in which none stands out; -1: it has some.
func rootOf(g *topology.Graph) int {
	if slices.ContainsFunc(g.Nodes, func(n topology.Node) bool { return n.Tier > 0 }) {
		return -1
	}
	return slices.Index(g.Order(), 0)
}

// lossless are the priorities of which some port of a switch sends pauses.
func lossless(v *scenario.Valid) (mask uint8) {
	for i := range v.Switches {
		for k := range v.Switches[i].Ports {
			mask |= v.Switches[i].Ports[k].PFC.Enabled
		}
	}
	return mask
}

// second is a class, or a virtual lane, that no message of the scenario has, the next above c if that is
// one; -1: there is none.
func second(v *scenario.Valid, c int) int {
	taken := lossless(v)
	for i := range v.Plan.Conns {
		taken |= 1 << v.Plan.Conns[i].Class
	}
	strict := uint8(0)
	for i := range v.Switches {
		for k := range v.Switches[i].Ports {
			p := &v.Switches[i].Ports[k]
			strict |= p.Strict
			for vl := range fabric.Classes {
				if p.Credit != nil && p.Credit.Blocks[vl] == 0 {
					taken |= 1 << vl
				}
			}
		}
	}
	for k := range fabric.Classes {
		if to := (c + 1 + k) % fabric.Classes; (taken|strict)>>to&1 == 0 {
			return to
		}
	}
	return -1
}

// cure has all switches break circles of waits, as far as keys do not.
func (c Change) cure(v *scenario.Valid) {
	switch c.Kind {
	case UpDown:
		for i := range v.Plan.Conns {
			v.Plan.Conns[i].Path = nil
		}
		return
	case SecondClass:
		if v.Wire.Block > 0 {
			secondLane(v, c.Class)
		}
		return
	}
	for i := range v.Switches {
		s := &v.Switches[i]
		switch {
		case c.Kind == Lifetime:
			s.HOQLife = fabric.Lifetime(c.Count)
		case s.Watchdog == nil:
			s.Watchdog = watchdog([...]record.WatchdogAction{record.WatchdogDrop, record.WatchdogForward}[c.Count])
		}
	}
}

// secondLane gives packets of a lane that go up after they came down another, by maps of service levels
// to lanes for each pair of ports.
func secondLane(v *scenario.Valid, lane int) {
	const levels = 16
	order, to := v.Graph.Order(), uint8(second(v, lane))
	for n := range v.Switches {
		s, ports := &v.Switches[n], len(v.Graph.Nodes[n].Ports)
		if len(s.SL2VL) != levels {
			continue
		}
		all := make([]uint8, 0, ports*ports*levels)
		for in := range ports {
			for out := range ports {
				for _, vl := range s.SL2VL {
					if int(vl) == lane && v.Graph.Bounces(order, n, in, out) {
						vl = to
					}
					all = append(all, vl)
				}
			}
		}
		s.SL2VL = all
	}
}

// watchdog is SONiC's as it is started by default on switches of 32 ports and fewer.
func watchdog(action record.WatchdogAction) *fabric.WatchdogParams {
	const t = 200 * units.Millisecond
	return &fabric.WatchdogParams{Action: action, Detection: t, Restoration: t, Poll: t}
}

// hoqLife is the code of the longest lifetime, OpenSM's default (0x12, 1.07 s) at most, by which all that the input
// buffers of the circle hold is gone, one after the other, before a sender's first timeout. With longer ones senders
// send again into the circle, and may give up in the end. A sixteenth of it is tried, too, as circles may form anew.
func (l *Lab) hoqLife() int {
	const openSM = 0x12
	v, vl := l.Valid, l.Run.Cycle[0].Class
	first, mtu := units.Never, units.Bytes(0)
	for i := range v.Plan.Conns {
		t := &v.Transports[v.NICs[v.Graph.HostOf(v.Plan.Conns[i].Src)].Transport]
		if mtu = max(mtu, units.Bytes(t.MTU)); t.Timeout > 0 {
			first = min(first, t.Timeout)
		}
	}
	if first == units.Never || mtu == 0 {
		return openSM
	}
	packets := units.Time(len(l.Run.Cycle)) * max(1, units.Time(l.room(vl)/mtu))
	for code := openSM; code > 0; code-- {
		if packets*fabric.Lifetime(code) < first {
			return code
		}
	}
	return 0
}

// cost is what a cure costs beside time and frames, in words; "": nothing.
func (l *Lab) cost(c Change, o *Outcome) string {
	switch {
	case o.Err != nil:
	case c.Kind == UpDown && l.base.links > 0:
		mean := func(o *Outcome) float64 { return float64(o.links) / float64(o.ways) }
		return fmt.Sprintf("ways of %.3g links, %.3g before", mean(o), mean(l.base))
	case c.Kind == SecondClass:
		room := l.room(c.Class)
		if l.Valid.Wire.Block > 0 {
			return "takes a lane's input buffer, " + metrics.FormatBytes(int64(room)) + " a port"
		}
		return "takes " + metrics.FormatBytes(int64(room)) + " more of headroom a port"
	}
	return ""
}

// room is the most that a port keeps for a class: headroom, or the input buffer of a lane.
func (l *Lab) room(class int) (room units.Bytes) {
	for i := range l.Valid.Switches {
		s := &l.Valid.Switches[i]
		for p := range s.Ports {
			if s.Memory != nil {
				room = max(room, s.Memory.Groups[p][class].Headroom)
			} else if b := s.Ports[p].Credit; b != nil {
				room = max(room, units.Bytes(b.Blocks[class])*units.Bytes(l.Valid.Wire.Block))
			}
		}
	}
	return room
}
