package fabric

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// Balancing is a way to choose among equal ports other than by the hash of a flow, with its
// parameters. Values of one type are comparable, so that switches that balance alike can be told.
type Balancing interface {
	// String is what the key routing calls it.
	String() string
	// KeepsOrder reports whether packets of a flow that follow each other closely take one port,
	// so that a receiver that needs order may stand behind it.
	KeepsOrder() bool
	// Mechanism is what the ledger calls it.
	Mechanism() catalog.Mechanism
	// New returns the balancer of one switch, with as many ports. rnd is the switch's own stream of
	// random numbers; no other may be used, or two runs of a seed would differ.
	New(ports int, rnd *rng.Stream) Balancer
}

// Balancer chooses for the packets of one switch, in the order in which they arrive. It may keep
// state, of flows or of ports, and allocates nothing for a packet but where that state grows.
type Balancer interface {
	// Choose returns the candidate that takes the packet. ports is valid during the call alone.
	Choose(pk Arrival, ports Ports) int
}

// Arrival is what a balancer knows of a packet.
type Arrival struct {
	Flow  uint32 // hash of its five-tuple
	Bytes uint32 // of the frame
	Data  bool   // it carries some, or asks for some, and is no ACK, CNP or the like
}

// Ports are the equal ports towards a packet's destination, candidates 0 to Len()-1.
type Ports interface {
	// Now is the time of the choice.
	Now() units.Time
	// Len is how many candidates there are, at least two.
	Len() int
	// Number is that of candidate i at its switch, from 0: groups towards other destinations may hold it, too.
	Number(i int) int
	// ByHash is the candidate that the flow's hash says; -1 if it is gone.
	ByHash() int
	// Up reports whether nothing is known to be wrong with the link of candidate i.
	Up(i int) bool
	// Wait is how long candidate i has to do with the frame on its wire and all that is queued, as if nothing
	// held it back.
	Wait(i int) units.Time
	// Queued is what waits at candidate i, of all classes, without the frame on the wire.
	Queued(i int) units.Bytes
	// Sent is the bytes of all frames that candidate i has begun to send, the link's own apart.
	Sent(i int) units.Bytes
	// Rate is that of the link of candidate i.
	Rate(i int) units.Rate
}

// candidates are Ports of a switch, for the time of one choice.
type candidates struct {
	net    *Net
	base   int
	ports  []uint16
	now    units.Time
	byHash int
}

func (c *candidates) port(i int) int        { return c.base + int(c.ports[i]) }
func (c *candidates) Now() units.Time       { return c.now }
func (c *candidates) Len() int              { return len(c.ports) }
func (c *candidates) Number(i int) int      { return int(c.ports[i]) }
func (c *candidates) Up(i int) bool         { return !c.net.knownDown(c.port(i)) }
func (c *candidates) Wait(i int) units.Time { return c.net.wait(c.now, c.port(i)) }
func (c *candidates) Rate(i int) units.Rate { return c.net.ports[c.port(i)].rate }

func (c *candidates) ByHash() int {
	for i, p := range c.ports {
		if int(p) == c.byHash {
			return i
		}
	}
	return -1
}

func (c *candidates) Queued(i int) units.Bytes { return units.Bytes(c.net.queued(c.port(i))) }

func (c *candidates) Sent(i int) units.Bytes {
	sent := int64(0)
	for k := range Classes {
		sent += c.net.queues[k][c.port(i)].sent.Bytes
	}
	return units.Bytes(sent)
}

// balance has pk leave by one of several ports, of local number byHash by its flow's hash, and counts it
// if it takes another one. Packets of a flow may overtake each other from here on.
func (n *Net) balance(sw *swtch, pk *packet.Packet, ports []uint16, byHash int) {
	now := n.part.Now()
	c := &n.candidates
	*c = candidates{net: n, base: sw.base, ports: ports, now: now, byHash: byHash}
	k := sw.balancer.Choose(Arrival{Flow: pk.Hash, Bytes: pk.Frame, Data: pk.Kind.CarriesData()}, c)
	if uint(k) >= uint(len(ports)) {
		n.part.Bug("%s: routing: %s chose port %d of %d", sw.name, sw.balancing, k, len(ports))
	}
	pk.Out = ports[k]
	if int(pk.Out) != byHash {
		sw.strays.Add(now, 0)
	}
}

// wait is how long port i of a switch has to do with what it has, as if nothing held it back.
func (n *Net) wait(now units.Time, i int) units.Time {
	p := &n.ports[i]
	w := max(0, p.freeAt-now)
	if queued := n.queued(i); queued > 0 {
		w += n.txTime(p, uint32(queued))
	}
	return w
}

// queued is what waits at port i of a switch, of all classes.
func (n *Net) queued(i int) (bytes int32) {
	for v := n.ports[i].ready; v != 0; v &= v - 1 {
		bytes += n.queues[bits.TrailingZeros8(v)&(Classes-1)][i].bytes
	}
	return bytes
}

// strayed is what the ledger says of packets that took another port than their flow's hash says.
func (s *swtch) strayed() record.Entry {
	return record.Entry{Question: catalog.Rerouted, Mechanism: s.balancing.Mechanism(),
		Actor: record.SwitchAt(s.name), Act: s.strays}
}
