package scenario

import (
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/fabric"
)

// bounceKey says in which priority frames go on that bounce.
func (r *resolver) bounceKey(s *switchSettings) key {
	forms := []jsonSchema{mapOf(wholeNumber(0, 7))}
	return otherKey("bounce", "mapping of 0 to 7 to 0 to 7", forms, func(o object, name string) bool {
		s.bounce, s.bounceAt = [8]uint8{}, o.at(name)
		v := o.n.Get(name)
		if v.Kind != mappingNode {
			o.fail(name, "is %s; it maps priorities to those of frames that go up after they came down, such as {3: 4}", v.Kind)
			return false
		}
		for _, f := range v.Fields {
			from, err := strconv.ParseUint(f.Key, 10, 8)
			to, bad := strconv.ParseUint(f.Value.Text, 10, 8)
			switch {
			case err != nil || from > 7:
				r.d.fail(f.Pos, "%s: %q is not a priority from 0 to 7", o.join(name), f.Key)
			case f.Value.Kind != scalarNode || bad != nil || to > 7:
				r.d.fail(f.Value.Pos, "%s: %q is not a priority from 0 to 7", o.join(name), f.Value.Text)
			case from == to:
				r.d.fail(f.Value.Pos, "%s: %d stays %d anyway; give another priority, or leave it out", o.join(name), from, to)
			default:
				s.bounce[from] = uint8(to) + 1
				continue
			}
			return false
		}
		return true
	}, "Priority in which frames go on that go up after they came down, by that in which they came, such as "+
		"`{3: 4}`, and the DSCP that says so to the next switch: a second lossless class, in which waits close no circle "+
		"([model](../models/ethernet.md#a-second-class-after-a-bounce)).").
		otherwise("none").unless(r.noEthernet).
		unless(func() string { return when(!r.stack().PFC && !r.compared, "the stack "+r.v.Stack+" has no pauses") })
}

// bounceOf is what switch n does to frames that bounce; nil: nothing.
func (r *resolver) bounceOf(n int) *fabric.BounceParams {
	s, g := &r.switches[n], r.v.Graph
	if s.bounce == ([8]uint8{}) || !r.stack().PFC {
		return nil
	}
	if r.vlan {
		r.d.fail(s.bounceAt, "bounce: frames have VLAN tags, whose priority would have to change as well; leave out one of "+
			"vlan and bounce")
		return nil
	}
	order := g.Order()
	b := &fabric.BounceParams{Above: make([]bool, len(g.Nodes[n].Ports))}
	for p, port := range g.Nodes[n].Ports {
		b.Above[p] = order[port.Peer] >= 0 && order[port.Peer] < order[n]
	}
	for from := range s.bounce {
		b.To[from] = uint8(from)
		if s.bounce[from] > 0 && !r.lift(s, b, uint8(from), s.bounce[from]-1) {
			return nil
		}
	}
	return b
}

// lift has frames of a priority that bounce go on in another.
func (r *resolver) lift(s *switchSettings, b *fabric.BounceParams, from, to uint8) bool {
	dscp := slices.Index(s.dscp[:], to)
	if s.dscp[8*to] == to {
		dscp = 8 * int(to)
	}
	switch pfc := s.pfc.enabled; {
	case dscp < 0:
		r.d.fail(s.bounceAt, "bounce: no DSCP leads to priority %d, so that the next switch could not tell; give one in "+
			"dscp_to_priority", to)
		return false
	case pfc>>from&1 == 0:
		r.d.fail(s.bounceAt, "bounce: priority %d is lossy, and waits for nobody; give one of pfc.enabled, %s", from,
			maskText(pfc))
		return false
	case pfc>>to&1 == 0:
		r.d.fail(s.bounceAt, "bounce: priority %d is lossy, and would lose what priority %d must not; give "+
			"pfc: {enabled: [%d, %d]}", to, from, from, to)
		return false
	}
	b.To[from], b.DSCP[from] = to, uint8(dscp)
	r.note("switch.bounce", strconv.Itoa(int(from))+" to "+strconv.Itoa(int(to)), fromScenario)
	return true
}
