package fabric

import (
	"math/bits"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Tables are what a switch forwards by from an instant on, in the form of
// topology.Routes. Whoever computes routes decides when a switch has them.
type Tables struct {
	At      units.Time
	Group   []uint32
	Members []uint16
}

// of returns the local ports by which t sends to endpoint ep.
func (t *Tables) of(ep int) []uint16 {
	offset, n := topology.Unpack(t.Group[ep])
	return t.Members[offset : offset+n]
}

// What an evLink event says in its low word.
const (
	linkFails uint32    = iota // a credited link goes down
	linkBack                   // the node of the port learns that the link works again
	newTables                  // the first new tables; the next ones follow
	linkNoted = 1 << 31        // with the number of the outage: ... that it is down
)

// scheduleLink sets the events of the link of port i, and behind the last port of
// a switch those of its tables.
func (n *Net) scheduleLink(i int, s *PortSpec) {
	p := &n.ports[i]
	at := func(t units.Time, what uint32) {
		if t != units.Never {
			n.part.At(t, sim.Order(t, p.source+2*uint32(p.ports)), sim.MakeRef(evLink|uint32(i), what))
		}
	}
	for k, o := range s.Outages {
		if p.credited {
			at(o.Down, linkFails)
			continue
		}
		at(o.Noticed, linkNoted|uint32(k))
		at(o.Back, linkBack)
	}
	if p.node < 0 || s.Local != s.NodePorts-1 || n.switches[p.node].moves == nil {
		return
	}
	for k, t := range n.switches[p.node].moves.changes {
		at(t.At, newTables+uint32(k))
	}
}

func (n *Net) linkEvent(now units.Time, i int, what uint32) {
	switch {
	case what&linkNoted != 0:
		n.cold[i].impair.current = int(what &^ linkNoted)
		n.portDown(now, i)
	case what == linkFails:
		n.releaseDown(now, i)
	case what == linkBack:
		n.cold[i].impair.known = false
	default:
		n.switches[n.ports[i].node].replaceTables(int(what - newTables))
	}
}

// knownDown reports whether the node of port i knows that its link is down.
func (n *Net) knownDown(i int) bool { return n.ports[i].impaired && n.cold[i].impair.known }

// portDown ends what is pending at a port whose link is found to be down: pauses
// by the peer no longer hold, and a switch discards what waits in its queues.
func (n *Net) portDown(now units.Time, i int) {
	n.cold[i].impair.known = true
	p := &n.ports[i]
	for v := p.shut; v != 0; v &= v - 1 {
		n.open(now, i, uint8(bits.TrailingZeros8(v)))
	}
	if p.node < 0 {
		n.kick(now, i)
		return
	}
	sw := &n.switches[p.node]
	for p.ready != 0 {
		c := uint8(bits.TrailingZeros8(p.ready))
		slot := n.takeHead(now, p, &n.queues[c][i], c)
		n.release(now, sw, i, c, n.part.Rec(slot))
		n.drop(now, i, c, catalog.DropPortDown, slot)
		n.part.NoteWork()
	}
	p.contended = false
	if p.control {
		n.kick(now, i)
	}
}

// moves is what a switch has when its tables change in the run.
type moves struct {
	changes   []Tables
	resilient bool
	ways      []way      // of the destinations that have changed; 0: never reachable
	flows     []uint64   // bit 2k: packets of connection k have left by another port than the first tables say; 2k+1: packets to its requester
	moved     record.Act // flows
	packets   record.Act
}

// way is how packets to a destination find their port.
type way struct {
	first []uint16 // by the tables at the start of the run
	now   choice
}

// choice is a list of ports per change, the latest last: a flow stays with the port
// it had as long as that is in the list, and is hashed anew over it otherwise.
type choice [][]uint16

const noPort = -1

// port is the one for a flow's hash; noPort: there is none.
func (c choice) port(hash uint32, by Hash, salt uint64) (port int) {
	port = noPort
	for k, list := range c {
		switch {
		case len(list) == 0:
			port = noPort
		case port < 0 || !slices.Contains(list, uint16(port)):
			// With the hash that chose the port that is gone, all of its flows would
			// come to lie on the same one.
			port = int(list[by.Choose(hash, salt, uint32(k), uint32(len(list)))])
		}
	}
	return port
}

// next is c after a change to a list. Resilient hashing leaves flows alone whose
// port is left. A list that has grown is hashed as a new one is.
func (c choice) next(list []uint16, resilient bool) choice {
	last := c[len(c)-1]
	if slices.Equal(last, list) {
		return c
	}
	if resilient && len(list) > 0 && len(c) == 1 && repeats(last) {
		return choice{refill(last, list)}
	}
	for _, p := range list {
		if !resilient || !slices.Contains(last, p) {
			return choice{list}
		}
	}
	return append(c[:len(c):len(c)], list)
}

// repeats reports whether a list is a table of slots, in which a port stands as often as it weighs.
func repeats(list []uint16) bool {
	for i, p := range list {
		if slices.Contains(list[:i], p) {
			return true
		}
	}
	return false
}

// refill is a table of slots after its ports have got the weights that they have in list: as few slots
// as can be change hands, as in Linux's resilient groups.
func refill(table, list []uint16) []uint16 {
	var ports []uint16
	var weights []uint64
	for _, p := range list {
		if k := slices.Index(ports, p); k >= 0 {
			weights[k]++
		} else {
			ports, weights = append(ports, p), append(weights, 1)
		}
	}
	out := slices.Clone(table)
	due := topology.Slots(ports, weights, len(table)) // a port for each slot that is to be its own
	for i, p := range table {
		if k := slices.Index(due, p); k >= 0 {
			due = slices.Delete(due, k, k+1)
		} else {
			out[i] = vacant
		}
	}
	for i := range out {
		if out[i] == vacant {
			out[i], due = due[0], due[1:]
		}
	}
	return out
}

// vacant is no port: a node has fewer.
const vacant = 1<<16 - 1

func newMoves(s *SwitchSpec, conns int) *moves {
	if len(s.Changes) == 0 {
		return nil
	}
	return &moves{changes: s.Changes, resilient: s.Resilient, flows: make([]uint64, (2*conns+63)/64)}
}

// replaceTables puts the k-th new tables in force. Destinations whose ports differ
// from the first tables get a way, which routeMoved follows; the others are looked
// up as before.
func (sw *swtch) replaceTables(k int) {
	now := &sw.moves.changes[k]
	ways := []way{{}}
	known := map[uint64]uint32{} // new word by the two that make it; looked up, never iterated
	var members []uint16
	// Words are those of topology.Pack; a way's has its number and no members.
	words := make([]uint32, len(now.Group))
	for ep := range words {
		before := sw.routes.to(uint32(ep))
		key := uint64(before)<<32 | uint64(now.Group[ep])
		word, ok := known[key]
		if !ok {
			w := sw.moves.after(sw, before, now.of(ep))
			if len(w.now) == 1 && slices.Equal(w.first, w.now[0]) {
				word = topology.Pack(len(members), len(w.first))
				members = append(members, w.first...)
			} else {
				word = topology.Pack(len(ways), 0)
				ways = append(ways, w)
			}
			known[key] = word
		}
		words[ep] = word
	}
	sw.moves.ways, sw.members = ways, members
	sw.routes = compact(words)
}

// after returns the way to a destination whose word was before, once its ports are
// list.
func (m *moves) after(sw *swtch, before uint32, list []uint16) way {
	index, count := topology.Unpack(before)
	if count > 0 || index == 0 {
		ports := sw.members[index : index+count]
		return way{ports, choice{ports}.next(list, m.resilient)}
	}
	w := m.ways[index]
	w.now = w.now.next(list, m.resilient)
	return w
}

// routeMoved routes a packet to a destination whose way, number k, has changed.
func (n *Net) routeMoved(sw *swtch, pk *packet.Packet, k uint32) bool {
	m := sw.moves
	if k == 0 {
		return false
	}
	w := &m.ways[k]
	if sw.balancer != nil {
		return n.balanceMoved(sw, pk, w)
	}
	port := w.now.port(pk.Hash, sw.hash, sw.salt)
	if port < 0 {
		return false
	}
	if port != (choice{w.first}).port(pk.Hash, sw.hash, sw.salt) {
		m.note(n.part.Now(), pk)
	}
	pk.Out = uint16(port)
	return true
}

// balanceMoved is routeMoved of a switch whose flows have no port of their own: all
// that go where the ports have changed have moved.
func (n *Net) balanceMoved(sw *swtch, pk *packet.Packet, w *way) bool {
	ports, m := w.now[len(w.now)-1], sw.moves
	if len(ports) == 0 {
		return false
	}
	byHash := (choice{w.first}).port(pk.Hash, sw.hash, sw.salt)
	if byHash >= 0 && slices.Contains(ports, uint16(byHash)) {
		m.noteFlow(n.part.Now(), pk) // which may yet take the port that it would have
	} else {
		m.note(n.part.Now(), pk)
	}
	if len(ports) > 1 {
		n.balance(sw, pk, ports, byHash)
		return true
	}
	pk.Out = ports[0]
	return true
}

// note counts a packet that leaves by another port for a change of tables.
func (m *moves) note(now units.Time, pk *packet.Packet) {
	m.packets.Add(now, 0)
	m.noteFlow(now, pk)
}

// noteFlow counts a flow that has moved.
func (m *moves) noteFlow(now units.Time, pk *packet.Packet) {
	if bit := flowBit(pk); m.flows[bit/64]>>(bit%64)&1 == 0 {
		m.flows[bit/64] |= 1 << (bit % 64)
		m.moved.Add(now, 0)
	}
}

// flowBit numbers the packets of a connection, one way.
func flowBit(pk *packet.Packet) uint32 {
	if pk.Flags&packet.Reverse != 0 {
		return 2*pk.Conn + 1
	}
	return 2 * pk.Conn
}

// Moved adds to flows, a bit per connection and direction, those of which packets
// have left a switch of this partition by another port than before its tables
// changed, and returns the ledger's lines, by switch: on these flows, and on the packets
// that took another port than their flow's hash says.
func (n *Net) Moved(flows []uint64) (out []record.Entry) {
	for k := range n.switches {
		sw := &n.switches[k]
		if sw.strays.Count > 0 {
			out = append(out, sw.strayed())
		}
		if sw.moves == nil {
			continue
		}
		for i, w := range sw.moves.flows {
			flows[i] |= w
		}
		if sw.moves.moved.Count > 0 {
			layer := catalog.Ethernet
			if sw.credited {
				layer = catalog.InfiniBand
			}
			out = append(out, record.Entry{Question: catalog.Rerouted, Mechanism: layer.Vocabulary().Reroute,
				Actor: record.SwitchAt(sw.name), Act: sw.moves.moved})
		}
	}
	return out
}

// Detours appends, by switch, the packets that took another way than by hash and first tables.
func (n *Net) Detours(to *record.Evidence) {
	for k := range n.switches {
		sw := &n.switches[k]
		if sw.moves != nil && sw.moves.packets.Count > 0 {
			to.Detours = append(to.Detours, record.Detour{Node: sw.name, Packets: sw.moves.packets, Flows: sw.moves.moved.Count})
		}
		if sw.strays.Count > 0 {
			to.Detours = append(to.Detours, record.Detour{Node: sw.name, By: sw.balancing.Mechanism(), Packets: sw.strays})
		}
	}
}
