package account

import (
	"fmt"
	"sort"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// stageNames are the stages of a requester's time.
var stageNames = [nic.NumStages]catalog.Stage{
	nic.Idle: catalog.StageIdle, nic.RNRWait: catalog.StageRNRWait, nic.AwaitAck: catalog.StageAwaitAck,
	nic.Window: catalog.StageWindow, nic.SlowRestart: catalog.StageSlowRestart, nic.Bitmap: catalog.StageBitmap,
	nic.Lost: catalog.StageLoss, nic.Fenced: catalog.StageFence, nic.Reads: catalog.StageReads, nic.Rate: catalog.StageRate,
	nic.Fetching: catalog.StageFetch, nic.WorkFetch: catalog.StageWorkFetch, nic.Reading: catalog.StageRead,
	nic.Copying: catalog.StageCopyOut, nic.Paused: catalog.StagePaused, nic.Control: catalog.StageControl,
	nic.Hung:  catalog.StageHung,
	nic.Other: catalog.StageOther, nic.Sending: catalog.StageSending, nic.Resending: catalog.StageResending,
}

// places are what accounts name: ports and their links, by global port number, nodes, and
// the ends of connections, by endpoint.
type places struct {
	ports []port
	nodes []record.Place
	at    []record.Place // by endpoint
}

// port is one of a node, and what leads away from it.
type port struct {
	at             record.Place
	cable          record.Place
	held           catalog.Stage // of what waits at it while it may not send
	peer           int           // the node at the far end
	delay, latency units.Time    // latency: the pipeline's of the switch that it leads to
	ofHost         bool          // the port is a host's
	noisy          bool          // frames may take longer to arrive
}

// placesOf are the places of a world.
func placesOf(r *build.World) (p places) {
	g := r.Valid.Graph
	p.ports = make([]port, 0, len(r.Place))
	for _, at := range r.Place {
		nd := &g.Nodes[at.Node]
		to := nd.Ports[at.Local].Peer
		x := port{at: record.PortAt(nd.Name, at.Local+1), cable: record.CableAt(nd.Name, g.Nodes[to].Name), peer: to,
			held:  r.Nets[at.Part].Layer(at.Index).Vocabulary().Held,
			delay: g.LinkAt(at.Node, at.Local).Delay, ofHost: nd.Kind == topology.Host}
		if g.Nodes[to].Kind == topology.Switch {
			x.latency = r.Valid.Switches[to].Latency
			x.noisy = r.Valid.NoiseAt(to).Pipeline > 0 || x.ofHost && r.Valid.Noise.Card > 0
		}
		p.ports = append(p.ports, x)
	}
	for i := range g.Nodes {
		if g.Nodes[i].Kind == topology.Host {
			p.nodes = append(p.nodes, record.HostAt(g.Nodes[i].Name))
		} else {
			p.nodes = append(p.nodes, record.SwitchAt(g.Nodes[i].Name))
		}
	}
	for i, e := range g.Endpoints {
		end := p.nodes[e.Node]
		if g.EndpointName(i) != end.Node {
			end = record.PortAt(end.Node, e.Port+1)
		}
		p.at = append(p.at, end)
	}
	return p
}

// Places lists those that accounts name.
func (p *places) Places() (out []*record.Place) {
	seen := map[string]bool{}
	add := func(q *record.Place) {
		if name := q.String(); !seen[name] {
			seen[name] = true
			out = append(out, q)
		}
	}
	for i := range p.ports {
		add(&p.ports[i].at)
		add(&p.ports[i].cable)
	}
	for i := range p.nodes {
		add(&p.nodes[i])
	}
	return out
}

// Book joins what requester and responder wrote down about a message
// into one account that tiles its completion time (design, section 8).
type Book struct {
	*Ends
	places
	lossy           []uint64 // a bit per connection of which something was dropped
	names           [nic.NumStages]catalog.Stage
	loss, reordered catalog.Stage  // stages of the waits for what completed a message
	kernel          bool           // what is accounted is of a queue pair that the kernel runs
	out             record.Account // reused by the next account
	message         int            // whose note is at hand, from 1
	carrier, asker  int            // that message's connection, and the node of its requester
	noted           nic.MessageAccount
	took            nic.Acceptance // the responder's note, likewise
	tookNote        int            // which of the responder's it is; see taken
	hops            []fabric.Hop   // of the ways of that message, as far as they were asked for
	at              units.Time     // accounted up to here
	segments        bool           // what is accounted is a TCP connection's
	clip            bool           // what lies before that is left out; else it is a bug
	// delivered is, by connection, when messages of services without
	// acknowledgements arrived, by when their last packet was sent.
	delivered [][]arrival
}

// note is what its requester wrote down of message i, good until that of another is
// asked for.
func (a *Book) note(i int) *nic.MessageAccount {
	if a.message != i+1 {
		a.message, a.hops = i+1, a.hops[:0]
		m := a.Valid.Plan.At(i)
		from, _ := a.Valid.Plan.Ends(&m)
		a.carrier, a.asker = m.Conn, a.Valid.Graph.HostOf(from)
		a.Hosts[a.asker].Account(uint32(i), &a.noted)
	}
	return &a.noted
}

// conn is the connection of message i.
func (a *Book) conn(i int) int {
	a.note(i)
	return a.carrier
}

// Requester is Ends.Requester of message i.
func (a *Book) Requester(i int) int {
	a.note(i)
	return a.asker
}

// wayOf is the way of a packet that a host kept, good as long as the note at hand.
func (a *Book) wayOf(host *nic.Host, w nic.Way) []fabric.Hop {
	first := len(a.hops)
	a.hops = host.Hops(w, a.hops)
	return a.hops[first:len(a.hops):len(a.hops)]
}

// account returns where the time of message i went, which has completed: until its
// end (see ended).
func (a *Book) account(i int) record.Account {
	m := a.note(i)
	c := &a.Valid.Plan.Conns[a.conn(i)]
	switch {
	case !a.Placing(c) || a.Messages[i].Status != rdma.Success:
		return a.toCompletion(i)
	case !a.Is(a.conn(i), catalog.Acknowledges):
		if taken := a.taken(i); taken != nil {
			return a.datagram(i, taken)
		}
		return a.toCompletion(i)
	case m.Verb < rdma.Read && !a.Untold(i):
		return a.received(i)
	}
	a.toCompletion(i)
	a.place(a.Requester(i), a.Messages[i].QP, m.Landed, m.Placed)
	return a.out
}

// toCompletion returns where the time of message i went until the requester's card
// knew that it was complete.
func (a *Book) toCompletion(i int) record.Account {
	m := a.note(i)
	port := a.opening(i)
	switch {
	case a.Messages[i].Status != rdma.Success || !a.Is(a.conn(i), catalog.Acknowledges):
		a.failed(i, port, unknown)
		a.times(&m.Before, port)
		a.rest(m.Rest, port)
		if a.at != m.Done {
			panic(fmt.Sprintf("account: BUG: message %d ended at %d ps, accounted up to %d: %v", i, m.Done, a.at, a.out))
		}
	case a.Untold(i):
		a.times(&m.Before, port)
		a.until(catalog.StageAwaitAck, nil, m.Done)
	case m.Verb == rdma.Read && a.Is(a.conn(i), catalog.Segments):
		a.readOverTCP(i, port)
	case m.Verb == rdma.Read:
		a.read(i, port)
	default:
		taken, way := a.acceptance(i)
		a.failed(i, port, startOf(way))
		a.decisive(i, port, way, taken.At)
		a.acknowledged(i, taken)
	}
	return a.out
}

// opening begins the account of message i with the time until its queue pair came
// to it, and returns the port that it leaves by.
func (a *Book) opening(i int) (port *port) {
	m := a.note(i)
	a.speak(a.conn(i))
	src := a.Valid.Graph.Endpoints[a.Valid.Plan.Conns[a.conn(i)].Src].Node
	a.out, a.at = a.out[:0], a.Messages[i].Due
	host := &a.nodes[src]
	connect, register := a.Hosts[src].Prepared(uint32(i))
	a.add(catalog.StageConnect, host, connect)
	a.add(catalog.StageRegister, host, register)
	a.until(catalog.StageCPU, host, m.Posted)
	a.until(catalog.StageEarlierWork, nil, m.After)
	return &a.ports[a.Hosts[src].GlobalPort(a.Messages[i].QP)]
}

// speak has stages go by the names that those of connection conn, of queue pairs, have.
func (a *Book) speak(conn int) {
	a.names, a.loss, a.reordered, a.kernel = stageNames, catalog.StageLoss, catalog.StageReordered, false
	if a.Is(conn, catalog.Segments) {
		a.kernel = a.Valid.IWARP != nil && a.Valid.IWARP.Kernel
		a.names, a.loss, a.reordered = offloadNames(), catalog.StageDetection, catalog.StageReassembly
	}
}

// unknown stands for the time of a transmission that is not known.
const unknown units.Time = -1

// startOf is when a packet with the given way was sent.
func startOf(way []fabric.Hop) units.Time {
	if len(way) == 0 {
		return unknown
	}
	return way[0].Start
}

// failed books the transmissions of message i's last packet that a rewind made
// void, up to the one at start, which was accepted: only its ACK was late or lost.
func (a *Book) failed(i int, port *port, start units.Time) {
	m := a.note(i)
	for k := range m.Failed {
		f := &m.Failed[k]
		if f.Start == start {
			return
		}
		a.times(&f.Before, port)
		a.void(i, f)
	}
}

// void books the time up to the rewind that made a transmission of message i's last
// packet void.
func (a *Book) void(i int, f *nic.Attempt) {
	if f.Refused > 0 {
		a.until(catalog.StageAwaitRNR, nil, f.Rewound)
		return
	}
	a.missing(i, f.Rewound)
}

// rest books the time from the start of a message's last packet to its error:
// first it was on the wire.
func (a *Book) rest(t *nic.Times, port *port) {
	if t == nil {
		return
	}
	var sent nic.Times
	later := *t
	sent[nic.Sending], later[nic.Sending] = t[nic.Sending], 0
	a.times(&sent, port)
	a.times(&later, port)
}

// missing books the time up to the rewind at the given time, during which what
// message i waited for was not there: up to each rewind on the way what that told
// of, and then the wait that an RNR NAK asked for. Of TCP up to each expiry of the
// retransmission timer, and from the last what else told.
func (a *Book) missing(i int, rewound units.Time) {
	host, q := a.Hosts[a.Requester(i)], a.Messages[i].QP
	for _, at := range host.Timeouts(q) {
		if at > a.at && at <= rewound {
			a.until(catalog.StageTimeout, nil, at)
		}
	}
	log := host.Rewinds(q)
	k := sort.Search(len(log), func(k int) bool { return log[k].At > a.at })
	for ; k < len(log) && log[k].At <= rewound; k++ {
		r := &log[k]
		if r.By != rdma.ByRNR {
			a.until(a.loss, nil, r.At)
			continue
		}
		a.until(catalog.StageAwaitRNR, nil, r.At)
		if r.At < rewound && k+1 < len(log) {
			a.until(catalog.StageRNRWait, nil, min(r.At+log[k+1].Wait-r.Wait, log[k+1].At))
		}
	}
	a.until(a.loss, nil, rewound)
}

// acknowledged books the time from the acceptance of message i to its completion.
func (a *Book) acknowledged(i int, taken *nic.Acceptance) {
	m := a.note(i)
	c := &a.Valid.Plan.Conns[a.conn(i)]
	ack := a.wayOf(a.Hosts[a.Valid.Graph.Endpoints[c.Src].Node], m.Ack)
	responder := &a.places.at[c.Dst]
	switch {
	case m.By == nic.Behind:
		a.until(catalog.StageInOrder, nil, m.Done)
		return
	case m.By == nic.Implied && len(ack) > 0:
		a.until(catalog.StageImplied, responder, ack[0].In)
	case m.By == nic.Implied:
		a.until(catalog.StageImplied, responder, m.Done)
		return
	case taken.Held:
		if taken.Read > a.at {
			a.until(catalog.StageAckRead, responder, min(taken.Read, taken.FirstAck))
		}
		a.until(catalog.StageHeldAck, responder, taken.FirstAck)
	default:
		a.until(catalog.StageCoalesce, responder, taken.FirstAck)
	}
	leg := catalog.LegAck
	if m.Response {
		leg = catalog.LegResponse
	} else {
		stage := catalog.StageAckLost
		if !hasBit(a.lossy, a.conn(i)) {
			stage = catalog.StageAckOvertaken
		}
		a.until(stage, nil, m.AckMade)
	}
	if len(ack) > 0 {
		a.way(leg, ack, m.Done)
	} else {
		a.until(catalog.StageAckWay, nil, m.Done)
	}
}

// acceptance is the responder's note of message i, which succeeded, and the way of
// the packet that ended it.
func (a *Book) acceptance(i int) (*nic.Acceptance, []fabric.Hop) {
	to := a.Responders[a.conn(i)]
	a.took = a.Hosts[to.Node].Acceptance(to.QP, int(a.note(i).Ordinal))
	return &a.took, a.wayOf(a.Hosts[to.Node], a.took.Way)
}

// decisive books the requester's time up to the transmission after which the
// responder had all of message i, and that packet's way until it arrived.
func (a *Book) decisive(i int, port *port, way []fabric.Hop, arrived units.Time) {
	m := a.note(i)
	if own := ownTime(m, way); own != nil {
		a.times(own, port)
		a.way(catalog.LegThere, way, arrived)
		return
	}
	a.times(&m.Before, port)
	again := a.resend(i, way)
	if again == nil || again.Rewound < m.Start {
		a.until(a.reordered, nil, arrived) // the network changed their order
		return
	}
	a.missing(i, again.Rewound)
	a.times(&again.Before, port)
	a.way(catalog.LegThere, way, arrived)
}

// resend is the note of the packet whose way is given, if that was one sent
// again alone (selective repeat).
func (a *Book) resend(i int, way []fabric.Hop) *nic.Resend {
	if len(way) == 0 {
		return nil
	}
	start := way[0].Start
	all := a.Hosts[a.Requester(i)].Resends(a.Messages[i].QP)
	k := sort.Search(len(all), func(k int) bool { return all[k].Start >= start })
	if k == len(all) || all[k].Start != start {
		return nil
	}
	return &all[k]
}

// ownTime is the queue pair's time up to the transmission of the message's last
// packet that took the given way; nil if it was another packet.
func ownTime(m *nic.MessageAccount, way []fabric.Hop) *nic.Times {
	if len(way) == 0 {
		return nil
	}
	for k := range m.Failed {
		if m.Failed[k].Start == way[0].Start {
			return &m.Failed[k].Before
		}
	}
	if m.Start != way[0].Start {
		return nil
	}
	return &m.Before
}

// add books a stage; what took no time is left out.
func (a *Book) add(stage catalog.Stage, where *record.Place, d units.Time) {
	switch {
	case d < 0:
		panic(fmt.Sprintf("account: BUG: stage %q at %v takes %d ps, after %v", stage, where, d, a.out))
	case d > 0:
		a.at += d
		a.out = append(a.out, record.StageTime{Stage: stage, Where: where, Time: d})
	}
}

// until books the time from where the account stands to t.
func (a *Book) until(stage catalog.Stage, where *record.Place, t units.Time) {
	if t > a.at || !a.clip {
		a.add(stage, where, t-a.at)
	}
}

// times books a requester's stages; what the port did stands beside its name.
func (a *Book) times(t *nic.Times, port *port) {
	a.timesUpTo(catalog.LegThere, t, port, a.at+t.Total())
}

// timesUpTo books a queue pair's stages on a leg, which end at the given time, without what
// is accounted already.
func (a *Book) timesUpTo(leg catalog.Leg, t *nic.Times, port *port, end units.Time) {
	skip := t.Total() - (end - a.at)
	for s, d := range t {
		cut := min(max(skip, 0), d)
		skip -= cut
		if d -= cut; d == 0 {
			continue
		}
		stage := a.names[s]
		if nic.Stage(s) == nic.Paused {
			stage = port.held
		}
		var where *record.Place
		if stage.Placed() {
			where = &port.at
		}
		a.add(stage.On(leg), where, d)
	}
}

// way books the hops of a stamped packet, up to its arrival at end.
func (a *Book) way(leg catalog.Leg, hops []fabric.Hop, end units.Time) {
	frame := a.frameOf(hops, end)
	for k := range hops {
		h := &hops[k]
		if h.In > a.at || h.In < a.at && !a.clip {
			panic(fmt.Sprintf("account: BUG: a packet is at hop %d of %v at %d ps, not at %d", k, hops, h.In, a.at))
		}
		p := &a.ports[h.Port]
		if k > 0 && p.ofHost {
			if a.kernel && k == len(hops)-1 && a.softirq(h) {
				a.until(catalog.StageSoftirq.On(leg), &a.nodes[a.Place[h.Port].Node], h.Start)
				continue
			}
			a.until(catalog.StagePipeline.On(leg), &p.at, min(h.In+a.pipeline(h, true), h.Start))
			a.until(catalog.StageReceiveBuffer.On(leg), &p.at, h.Start)
			continue
		}
		a.until(p.held.On(leg), &p.at, h.In+h.Paused)
		if k == 0 {
			a.until(catalog.StagePipeline.On(leg), &p.at, min(max(a.at, h.In+a.pipeline(h, false)), h.Start))
		}
		a.until(catalog.StageQueue.On(leg), &p.at, h.Start)
		switch {
		case h.Start == end: // it waits there still
		case k+1 < len(hops):
			next := a.Place[hops[k+1].Port]
			a.link(leg, h, hops[k+1].In, frame, a.Nets[next.Part].Rate(next.Index))
		case a.endsAtSwitch(h): // a way longer than fabric writes down
			a.until(catalog.StageBeyond.On(leg), nil, end)
		default:
			a.link(leg, h, end, frame, 0)
		}
	}
}

// pipeline is what a packet passes inside the card of a hop as it comes in, or as an answer
// on its way out (see nic.Host.Receive); 0 at switches and for TCP.
func (a *Book) pipeline(h *fabric.Hop, in bool) units.Time {
	at := a.Place[h.Port].Node
	if a.Valid.Graph.Nodes[at].Kind != topology.Host || a.segments {
		return 0
	}
	n := &a.Valid.NICs[at]
	switch {
	case n.Server == nil && in:
		return n.Card.Send + n.Card.Receive
	case in:
		return n.Card.Receive
	case n.Server == nil:
		return 0
	}
	return n.Card.Send
}

// softirq reports whether a host's last hop is its kernel's, which takes what a queue pair receives.
func (a *Book) softirq(h *fabric.Hop) bool { return a.Hosts[a.Place[h.Port].Node].Kernel() }

// endsAtSwitch reports whether a hop's link leads to a switch.
func (a *Book) endsAtSwitch(h *fabric.Hop) bool {
	g, at := a.Valid.Graph, a.Place[h.Port]
	return g.Nodes[g.Nodes[at.Node].Ports[at.Local].Peer].Kind == topology.Switch
}

// frameOf is the length of a stamped packet's frame, which the last link tells where it leads
// from a switch to a host: there is no noise. 0: it tells nothing.
func (a *Book) frameOf(hops []fabric.Hop, end units.Time) uint32 {
	k := len(hops) - 1
	for k > 0 && a.ports[hops[k].Port].ofHost { // it waited in the host's receive buffer, or for its kernel
		end, k = hops[k].In, k-1
	}
	if k < 1 || a.endsAtSwitch(&hops[k]) || hops[k].Start == end {
		return 0
	}
	p := a.Place[hops[k].Port]
	return a.Nets[p.Part].FrameOf(p.Index, end-a.ports[hops[k].Port].delay-hops[k].Start)
}

// link books serialisation, propagation and the next switch's pipeline, and what noise added
// to them; next is the rate of the port that sent the packet on.
func (a *Book) link(leg catalog.Leg, h *fabric.Hop, arrived units.Time, frame uint32, next units.Rate) {
	p := &a.ports[h.Port]
	late := units.Time(0)
	if p.noisy && frame > 0 {
		x := a.Place[h.Port]
		late = max(0, arrived-p.latency-p.delay-a.Nets[x.Part].ArrivalTime(x.Index, frame, next)-h.Start)
	}
	a.until(catalog.StageSerialisation.On(leg), &p.at, arrived-p.delay-p.latency-late)
	a.until(catalog.StagePropagation.On(leg), &p.cable, arrived-p.latency-late)
	a.until(catalog.StageLatency.On(leg), &a.nodes[p.peer], arrived-late)
	a.until(catalog.StageJitter.On(leg), &p.at, arrived)
}
