package fabric

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// Table is the forwarding table that a switch has from an instant on.
type Table struct {
	At      units.Time
	Group   []uint32 // topology.Routes of this switch
	Members []uint16
}

// forwarding is a table as a switch reads it.
type forwarding struct {
	routes  []uint16 // per destination endpoint: index into groups
	groups  []uint32 // ECMP groups: offset<<8|count into members
	members []uint16
}

func newForwarding(group []uint32, members []uint16) forwarding {
	routes, groups := compact(group)
	return forwarding{routes, groups, members}
}

// choose returns the local egress port for a packet, routeUnknown when the table
// has none.
func (f *forwarding) choose(pk *packet.Packet, salt uint64) uint16 {
	g := f.groups[f.routes[pk.Dst]]
	switch k := g & 0xff; k {
	case 0:
		return routeUnknown
	case 1:
		return f.members[g>>8]
	default:
		return f.members[g>>8+ECMP(pk.Hash, salt, k)]
	}
}

// rerouting is what a switch keeps whose table changes during the run.
type rerouting struct {
	later []laterTable // still to come, the earliest first
	old   forwarding   // before the last change
	moved []uint64     // a bit per connection and way: counted since the last change
}

type laterTable struct {
	at    units.Time
	table forwarding
}

// setLater makes the switch change its table during the run. conns is the number
// of connections.
func (s *swtch) setLater(tables []Table, conns int) {
	s.changeAt = units.Never
	if len(tables) == 0 {
		return
	}
	s.changeAt = tables[0].At
	s.moves = &rerouting{moved: make([]uint64, (2*conns+63)/64)}
	for _, t := range tables {
		s.moves.later = append(s.moves.later, laterTable{t.At, newForwarding(t.Group, t.Members)})
	}
}

// rerouted is the choice of a switch whose table has changed: it installs what is
// due, the packet that arrives at that very instant being the first to see it, and
// counts every flow, each way apart, that goes by another port than before.
func (n *Net) rerouted(now units.Time, sw *swtch, pk *packet.Packet) uint16 {
	m := sw.moves
	for len(m.later) > 0 && now >= m.later[0].at {
		m.old, sw.forwarding = sw.forwarding, m.later[0].table
		m.later = m.later[1:]
		clear(m.moved)
	}
	out := sw.choose(pk, sw.salt)
	if out == routeUnknown || out == m.old.choose(pk, sw.salt) {
		return out
	}
	bit := 2 * pk.Conn
	if pk.Flags&packet.Reverse != 0 {
		bit++
	}
	if m.moved[bit/64]>>(bit%64)&1 == 0 {
		m.moved[bit/64] |= 1 << (bit % 64)
		n.cold[sw.base+int(out)].moved.Add(now, int64(pk.Frame))
	}
	return out
}
