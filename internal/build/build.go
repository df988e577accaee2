// Package build turns a checked scenario into a running world. It is the only
// package that sees both scenario files and devices.
package build

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/dma"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/fold"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/hopscope/hopscope/wire"
)

// World is everything that runs.
type World struct {
	Valid      *scenario.Valid
	Engine     *sim.Engine[packet.Packet]
	Nets       []*fabric.Net  // by partition
	Hosts      []*nic.Host    // by node index; nil for switches
	Messages   []nic.Message  // by number of the message
	accounts   []nic.Noted    // likewise
	Locals     []nic.LocalRun // by index in Plan.Locals
	Responders []Responder    // by index in Plan.Conns
	Place      []Place        // where each port is, by global number
	Carried    *Carried       // nil unless the run carries data
	Servers    []*dma.Engine  // insides of hosts by node index; nil where there is none
	// Fold, when not nil, says which hosts run for others. Hosts, Servers and Place have those that run in the
	// place of the others then, each of which does what its own would do.
	Fold *fold.Fold
}

// Fault is what a congestion controller did that none may, the first of several; nil: none did.
func (w *World) Fault() (first *congestion.Fault) {
	for _, n := range w.Nets {
		if f := n.Fault(); f != nil && (first == nil || f.Before(first)) {
			first = f
		}
	}
	return first
}

// Responder is the queue pair that answers a connection's requests.
type Responder struct {
	Node      int
	QP        uint32
	Requester uint32 // its peer, at the connection's source
}

// Place is where a port lives.
type Place struct {
	Node, Local int
	Part, Index int // partition and index in its Net
}

// Options change how a world is laid out, never what it does.
type Options struct {
	Workers    int  // that will run it; the network is cut into as few partitions as they need
	Partitions int  // how many instead; 0: as the workers need
	Singly     bool // every turn of a copy over NVLink is an event, as tests compare it
	Slow       bool // every port takes the slow path
	Fold       *fold.Fold
}

// MaxLookahead is longer than any window between two barriers.
const MaxLookahead = units.Millisecond

// builder carries what the steps of New share.
type builder struct {
	*World
	v          *scenario.Valid
	g          *topology.Graph
	part       []int // partition of each node
	cell       []int // cell of each node within its partition
	source     []uint32
	port       []int // global number of each node's port 0
	memory     []memory
	insides    []inside                    // by node index
	handles    []*rdma.AddressHandle       // by connection; nil but with UD
	invalid    []uint32                    // by message: the key that it invalidates; nil without such messages
	srqs       []*rdma.ReceiveQueue        // by index in Plan.SRQs
	regionKey  []uint32                    // by connection: the R_Key of its region at the responder
	regionSize []units.Bytes               // by connection: the memory of its messages at either side
	lifetimes  bool                        // some switch has lifetime limits
	reactions  map[[2]int]*congestion.IBCC // by global port and service level, where queue pairs share them
	kinds      map[nic.QPKind]*nic.QPKind  // for queue pairs to share
	pairKinds  [][]pairKinds               // by program and rank
	// By connection, of those of TCP; nil without any.
	streamEnds   []nic.StreamEnds
	streamSizes  [][2]int64 // of each message, in bytes: there and back; 0: none
	streamCounts [][2]int   // messages, likewise

	// By global port, and that of the other end or -1, where queue pairs share them.
	notifications map[[2]int]*congestion.NP
}

// New builds the world of a checked scenario. It fails only when the network
// is larger than the engine can number.
func New(v *scenario.Valid, opt Options) (*World, error) {
	b, err := build(v, opt)
	if err != nil {
		return nil, err
	}
	return b.World, nil
}

func build(v *scenario.Valid, opt Options) (*builder, error) {
	b := &builder{World: &World{Valid: v, Fold: opt.Fold}, v: v, g: v.Graph, lifetimes: haveLifetimes(v.Switches)}
	if err := b.number(); err != nil {
		return nil, err
	}
	b.layOut(opt)
	pins := b.pins()
	for i := range b.Engine.Parts() {
		net := fabric.NewNet(b.Engine.Parts()[i], v.TimeQuantum, pins)
		net.Warming, net.Slow = len(b.Place) >= warmPorts, opt.Slow || opt.Fold != nil
		b.Nets = append(b.Nets, net)
	}
	for _, n := range b.Nets {
		n.SetPeers(b.Nets)
	}
	ports := make([]int, len(b.Nets))
	for node := range b.g.Nodes {
		ports[b.part[node]] += len(b.g.Nodes[node].Ports)
	}
	for i, n := range b.Nets {
		n.Reserve(ports[i])
	}
	b.buildHosts(opt.Singly)
	for node := range b.g.Nodes {
		b.Engine.Parts()[b.part[node]].SetCell(b.cell[node])
		b.buildNode(node)
	}
	b.Engine.Prime()
	b.fold()
	return b, nil
}

// number gives every port and every source of events its global number.
func (b *builder) number() error {
	ports, sources := 0, 0
	for _, n := range b.g.Nodes {
		b.port = append(b.port, ports)
		b.source = append(b.source, uint32(sources))
		ports += len(n.Ports)
		sources += fabric.Sources(len(n.Ports))
	}
	if sources > sim.MaxSource {
		return fmt.Errorf("topology: %d ports are more than a run can number; at most about %d", ports, sim.MaxSource/3)
	}
	b.Place = make([]Place, ports)
	return nil
}

// layOut cuts the network into partitions and those into cells. What a link adds to
// the width of a window is its lookahead: its delay and the smallest time from the
// start of a transmission to an event at the peer.
func (b *builder) layOut(opt Options) {
	n := opt.Partitions
	if n == 0 {
		n = partitionCount(len(b.Place), opt.Workers)
	}
	ahead := make([]units.Time, len(b.g.Links))
	zero := make([]bool, len(b.g.Links))
	for l := range b.g.Links {
		k := &b.g.Links[l]
		ahead[l] = k.Delay + b.shortest(b.v.WireAt(k.A, k.PortA), max(k.RateFrom(b.g, k.A), k.RateFrom(b.g, k.B)))
		zero[l] = ahead[l] < sim.MinLookahead
	}
	joined := triggerGroups(b.v.Plan, b.g)
	var parts int
	load := loads(b.g, b.hasServer)
	b.part, parts = partition(b.g, load, min(n, sim.MaxParts), zero, joined)
	cell, width := cells(b.g, load, b.part, ahead, joined)
	b.Engine = sim.New[packet.Packet](parts, width)
	b.numberCells(cell, load)
	count := make([]int, parts)
	for node, nd := range b.g.Nodes {
		p := b.part[node]
		for local := range nd.Ports {
			b.Place[b.port[node]+local] = Place{node, local, p, count[p]}
			count[p]++
		}
	}
}

// numberCells numbers the cells of each partition, which cell names by any of their
// nodes. Where they are more than an engine can number, small ones of the same partition
// become one: a switch keeps its own, as its events find its memory in the cache.
func (b *builder) numberCells(cell, load []int) {
	parts := b.Engine.Parts()
	of := make([]int, len(cell)) // load of each cell
	found, total := make([]int, len(parts)), make([]int, len(parts))
	for node, c := range cell {
		p := b.part[node]
		if of[c] == 0 {
			found[p]++
		}
		of[c] += load[node]
		total[p] += load[node]
	}
	number := make(map[int]int)
	filled := make([]int, len(parts)) // load of the cell that was added last
	b.cell = make([]int, len(cell))
	for node, c := range cell {
		p := b.part[node]
		k, ok := number[c]
		if !ok {
			if k = parts[p].Cells() - 1; k < 0 || found[p] <= sim.MaxCells || filled[p]+of[c] > cellLoad(total[p]) {
				k, filled[p] = parts[p].AddCell(), 0
			}
			number[c] = k
			filled[p] += of[c]
		}
		b.cell[node] = k
	}
}

// cellLoad is what cells may hold that are filled one after the other, so that they are no
// more than an engine can number: any two that follow one another hold more.
func cellLoad(total int) int { return 2*total/(sim.MaxCells-1) + 1 }

// shortest is the least time from the start of a transmission to its event at
// the peer: that of the shortest frame, or of the header that a cut-through
// switch acts on, which has no gap behind it.
func (b *builder) shortest(w *wire.Profile, r units.Rate) units.Time {
	bytes := min(min(w.Control, w.Ack, w.CNP)+w.Overhead, w.Preamble+w.Header)
	t := units.Time(int64(bytes) * 8e12 / int64(r))
	if ppm := b.v.Noise.Clocks; ppm > 0 {
		t -= t*units.Time(ppm)/1_000_000 + 1 // by the fastest clock, rounded down
	}
	if b.v.TimeQuantum > 0 {
		t = max(b.v.TimeQuantum, t-t%b.v.TimeQuantum)
	}
	return t
}

// pins computes the egress ports of the pinned connections at each switch of
// their path, both ways.
func (b *builder) pins() []fabric.Pin {
	pins := make([]fabric.Pin, len(b.v.Plan.Conns))
	for i := range b.v.Plan.Conns {
		c := &b.v.Plan.Conns[i]
		if c.Path == nil {
			continue
		}
		pins[i] = fabric.Pin{There: b.way(c.Src, c.Dst, c.Path), Back: b.way(c.Dst, c.Src, reversed(c.Path))}
	}
	return pins
}

func (b *builder) way(src, dst int, nodes []int) []uint16 {
	ports, err := topology.PinnedPathBetween(b.g, src, dst, nodes)
	if err != nil {
		panic("build: BUG: unchecked pinned path: " + err.Error())
	}
	out := make([]uint16, 0, len(ports)-1)
	for _, p := range ports[1:] { // the host's own port is the connection's
		out = append(out, uint16(p))
	}
	return out
}

func reversed(nodes []int) []int {
	out := make([]int, len(nodes))
	for i, n := range nodes {
		out[len(nodes)-1-i] = n
	}
	return out
}

// buildNode adds a node and its ports to its partition's fabric.
func (b *builder) buildNode(node int) {
	net := b.Nets[b.part[node]]
	nd := &b.g.Nodes[node]
	spec := fabric.PortSpec{Node: nd.Name, NodePorts: len(nd.Ports), Seed: b.v.Seed}
	var id int32
	var host int
	if nd.Kind == topology.Switch {
		id = net.AddSwitch(fabric.SwitchSpec{
			Name: nd.Name, Ports: len(nd.Ports), Params: &b.v.Switches[node],
			Group: b.v.Routes.Group[node], Members: b.v.Routes.Members[node], Changes: b.tables(node), Resilient: b.v.Resilient, Seed: b.v.Seed,
		})
	} else {
		var card fabric.Host = fabric.Absent{}
		if b.Fold.Runs(node) {
			card = b.Hosts[node]
		}
		id, host = net.AddHost(card)
	}
	ports := make([]int, len(nd.Ports))
	for local := range nd.Ports {
		b.describePort(&spec, node, local)
		ports[local] = net.AddPort(id, spec)
	}
	if nd.Kind == topology.Host && b.Fold.Runs(node) {
		b.Hosts[node].Attach(net, host, ports)
	}
}

// describePort fills in what differs from port to port.
func (b *builder) describePort(s *fabric.PortSpec, node, local int) {
	end := b.g.Nodes[node].Ports[local]
	link := &b.g.Links[end.Link]
	peer := &b.g.Nodes[end.Peer]
	place := b.Place[b.port[end.Peer]+end.PeerPort]
	s.ID = uint32(b.port[node] + local)
	s.Source = b.source[node] + uint32(local)
	s.Local, s.Wire = local, b.v.WireAt(node, local)
	s.Peer = record.PortID{Node: peer.Name, Port: end.PeerPort + 1}
	s.Rate, s.Nominal, s.Delay = link.RateFrom(b.g, node), link.Rate, link.Delay
	s.Lanes = link.Width()
	s.PeerPart, s.PeerCell, s.PeerPort = place.Part, b.cell[end.Peer], place.Index
	s.PeerLatency, s.PeerCut = 0, false
	if peer.Kind == topology.Switch {
		s.PeerLatency = b.v.Switches[end.Peer].Latency
		s.PeerCut = b.v.Switches[end.Peer].CutThrough
	}
	s.Noise = b.noise(node, end.Peer)
	s.PeerCredit, s.Lifetimes = b.portParams(end.Peer, end.PeerPort).Credit, b.lifetimes
	if b.g.Nodes[node].Kind == topology.Switch {
		s.Params = &b.v.Switches[node].Ports[local]
		s.Latency = b.v.Switches[node].Latency
	} else {
		s.Params = &b.v.NICs[node].Ports[local]
	}
	s.Loss, s.Spared, s.BER, s.FEC, s.DropEvery, s.Outages = link.Loss, link.Spared, link.BER, link.FEC, link.DropEvery, nil
	for _, o := range link.Outages {
		out := fabric.Outage{Down: o.Down, Up: o.Up, Noticed: units.Never, Back: units.Never}
		if o.Sender == b.g.Nodes[node].Name { // what arrives here is not lost
			out.Up = out.Down
		}
		if detect := b.v.Failover.Detect; b.v.Failover.Notices(o) {
			out.Noticed, out.Back = o.Down+detect, later(o.Up, detect)
		}
		s.Outages = append(s.Outages, out)
	}
}

// later is d after t; Never after either is.
func later(t, d units.Time) units.Time {
	if t == units.Never || d == units.Never {
		return units.Never
	}
	return t + d
}

// tables are those that a switch gets in the course of the run.
func (b *builder) tables(node int) (out []fabric.Tables) {
	for i := range b.v.Tables {
		if t := &b.v.Tables[i]; t.Node == node {
			out = append(out, fabric.Tables{At: t.At, Group: t.Group, Members: t.Members})
		}
	}
	return out
}

// portParams is what a port is set to.
func (b *builder) portParams(node, local int) *fabric.PortParams {
	if b.g.Nodes[node].Kind == topology.Switch {
		return &b.v.Switches[node].Ports[local]
	}
	return &b.v.NICs[node].Ports[local]
}

// haveLifetimes reports whether a switch discards packets that stay too long.
func haveLifetimes(switches []fabric.SwitchParams) bool {
	for i := range switches {
		if switches[i].HOQLife > 0 || switches[i].PacketLife > 0 {
			return true
		}
	}
	return false
}

// buildHosts makes the queue pairs of every connection, one at either end, and
// hands each host its work requests.
func (b *builder) buildHosts(singly bool) {
	plan := b.v.Plan
	b.buildServers()
	specs := make([]nic.Spec, len(b.g.Nodes))
	for node, nd := range b.g.Nodes {
		if nd.Kind != topology.Host {
			continue
		}
		n := &b.v.NICs[node]
		specs[node] = nic.Spec{
			Name: nd.Name, Source: b.source[node] + 3*uint32(len(nd.Ports)), Ports: n.Ports,
			Receive: nic.ReceiveSpec{Size: n.RxBuffer, XOFF: n.RxXOFF, XON: n.RxXON, DrainRate: n.DrainRate},
			Card:    n.Card, Faults: n.Faults,
			CPU: b.processors(node), Reposts: n.Host.Reposts,
			Prepare: preparation(&n.Host), Server: b.Servers[node], Singly: singly,
			Cache: nic.CacheSpec{Contexts: n.QPCCache, Translations: n.MTTCache, PageSize: n.Host.PageSize, Miss: n.CacheMiss},
		}
	}
	b.registerMemory()
	b.shareReceives()
	b.sizeStreams()
	b.makeRoom(specs)
	for i := range plan.Conns {
		b.connect(specs, i)
	}
	b.sequence(specs)
	b.programs(specs)
	b.wire(specs)
	b.lendKeys()
	triggers := nic.NewTriggers(plan)
	b.Messages = make([]nic.Message, plan.Len())
	b.accounts = make([]nic.Noted, plan.Len())
	b.Locals = triggers.Runs()
	b.startLocals(specs)
	b.moveLocals(triggers)
	var waiting []int // messages that other operations start
	for i, m := range plan.All() {
		b.Messages[i] = nic.Message{Done: units.Never, Due: units.Never, Posted: units.Never, Polled: units.Never}
		from, to := plan.Ends(m)
		tcp := plan.Conns[m.Conn].Service == workload.TCP
		if tcp {
			specs[b.g.Endpoints[to].Node].Ending++
		}
		if m.Waits() {
			waiting = append(waiting, i)
			continue
		}
		spec := &specs[b.g.Endpoints[from].Node]
		spec.Posts = append(spec.Posts, uint32(i))
		if !tcp {
			spec.Ending++
		}
	}
	placing := slices.ContainsFunc(b.Servers, func(e *dma.Engine) bool { return e != nil })
	b.Hosts = make([]*nic.Host, len(b.g.Nodes))
	payloads := b.payloads()
	for node, nd := range b.g.Nodes {
		if nd.Kind == topology.Host && b.Fold.Runs(node) {
			specs[node].Messages, specs[node].Triggers, specs[node].Placing = b.Messages, triggers, placing
			specs[node].Accounts, specs[node].Requests, specs[node].StreamEnds, specs[node].Payloads = b.accounts, b, b.streamEnds, payloads
			b.Hosts[node] = nic.New(specs[node])
		}
	}
	for _, i := range waiting {
		m := plan.At(i)
		from, _ := plan.Ends(&m)
		triggers.Add(b.Hosts[b.g.Endpoints[from].Node], b.post(i, &m))
	}
}

// sequence has the two ends of each connection know its messages apart, one way
// and the other, where some start something as they are received.
func (b *builder) sequence(specs []nic.Spec) {
	plan := b.v.Plan
	if len(plan.Triggers) == 0 && plan.Graph == nil {
		return
	}
	type way struct {
		messages int
		watched  bool
	}
	ways := make([][2]way, len(plan.Conns)) // there and back
	for i, m := range plan.All() {
		w := &ways[m.Conn][index(m.Back)]
		w.messages++
		w.watched = w.watched || m.RecvDone > 0 || len(plan.Graph.Released(i, workload.Received)) > 0
	}
	for i := range plan.Conns {
		c := &plan.Conns[i]
		requester := &specs[b.g.Endpoints[c.Src].Node].QPs[b.Responders[i].Requester]
		responder := &specs[b.g.Endpoints[c.Dst].Node].QPs[b.Responders[i].QP]
		if w := ways[i][0]; w.watched {
			requester.Posting = nic.NewSequence(w.messages)
			responder.Accepting = requester.Posting
		}
		if w := ways[i][1]; w.watched {
			responder.Posting = nic.NewSequence(w.messages)
			requester.Accepting = responder.Posting
		}
	}
}

// index is 0 for what goes there and 1 for what goes back.
func index(back bool) int {
	if back {
		return 1
	}
	return 0
}

// preparation is what a host does before it posts.
func preparation(h *scenario.Host) nic.Preparation {
	p := nic.Preparation{Connect: h.Connect, PageSize: h.PageSize, Once: h.Register == scenario.RegisterOnce}
	if h.Register != scenario.RegisterAhead {
		p.Base, p.PerPage = h.RegisterBase, h.RegisterPage
	}
	return p
}

// makeRoom gives each host's list of queue pairs the room that it will need, and no more.
func (b *builder) makeRoom(specs []nic.Spec) {
	n := make([]int, len(specs))
	for i := range b.v.Plan.Conns {
		c := &b.v.Plan.Conns[i]
		n[b.g.Endpoints[c.Src].Node]++
		n[b.g.Endpoints[c.Dst].Node]++
	}
	for node := range specs {
		specs[node].QPs = make([]nic.QPSpec, 0, n[node])
	}
	b.Responders = make([]Responder, 0, len(b.v.Plan.Conns))
}

// connect adds connection i's two queue pairs to their hosts.
func (b *builder) connect(specs []nic.Spec, i int) {
	c := &b.v.Plan.Conns[i]
	switch c.Service {
	case workload.TCP:
		b.connectStream(specs, i)
		return
	case workload.IWARP:
		b.connectOffload(specs, i)
		return
	}
	src, dst := b.g.Endpoints[c.Src], b.g.Endpoints[c.Dst]
	qs, qd := uint32(len(specs[src.Node].QPs)), uint32(len(specs[dst.Node].QPs))
	b.Responders = append(b.Responders, Responder{dst.Node, qd, qs})
	there := b.template(c, i, c.Src, c.Dst, qd)
	back := b.template(c, i, c.Dst, c.Src, qs)
	back.Flags |= packet.Reverse
	req, rsp := b.ends(c, i, b.regionSize[i], there, back)
	specs[src.Node].QPs = append(specs[src.Node].QPs, b.queuePair(req, &there, dst.Node))
	specs[dst.Node].QPs = append(specs[dst.Node].QPs, b.queuePair(rsp, &back, src.Node))
	if c.Service == workload.UD {
		data := req.Data
		data.Hash, data.Dst, data.Conn, data.DestQP = there.Hash, there.Dst, there.Conn, qd
		b.handle(i, data)
	}
}

// ends are the kinds of the queue pairs of a connection, the i-th or like it: of the one that posts
// and of its peer. region is the memory of its messages, there and back templates of packets.
func (b *builder) ends(c *workload.Conn, i int, region units.Bytes, there, back packet.Packet) (req, rsp *nic.QPKind) {
	src, dst := b.g.Endpoints[c.Src], b.g.Endpoints[c.Dst]
	line := func(e topology.Endpoint) units.Rate { return b.g.LinkAt(e.Node, e.Port).Rate }
	attrs := rdma.Attrs{Access: access(c), Receives: int64(c.Receives), MaxRdAtomic: b.rdAtomic(c), MaxDestRdAtomic: b.v.NICs[dst.Node].MaxDestRdAtomic,
		MaxInline: b.v.NICs[src.Node].MaxInline, ReceiveSize: c.ReceiveSize}
	if b.v.Windows != nil {
		attrs.Window = b.v.Windows[i]
	}
	if b.v.BaseRTTs != nil {
		attrs.BaseRTT = b.v.BaseRTTs[i]
	}
	entry := b.v.Plan.EntryName(i)
	req = &nic.QPKind{Thread: int(c.SrcThread), Region: region, Inline: c.Inline, Port: src.Port, Entry: entry}
	req.Setup = b.setup(src.Node, there, line(src), c.InitialRate, attrs)
	rsp = &nic.QPKind{Thread: int(c.DstThread), Port: dst.Port, Entry: entry}
	if b.Carried != nil {
		attrs.Inbox = b.Carried.Inboxes[i].Inbox
	}
	rsp.Setup = b.setup(dst.Node, back, line(dst), c.InitialRate, attrs) // READ responses are data
	req.Setup.Notification, rsp.Setup.Notification = b.notification(src, dst, req.Setup.Config), b.notification(dst, src, rsp.Setup.Config)
	req.Setup.Reaction = b.reaction(src, c.DSCP, req.Setup.Config, line(src))
	rsp.Setup.Reaction = b.reaction(dst, c.DSCP, rsp.Setup.Config, line(dst))
	if c.SrcThread > 0 {
		req.Proxy = b.v.NICs[src.Node].Host.Proxy
	}
	if c.DstThread > 0 {
		rsp.Proxy = b.v.NICs[dst.Node].Host.Proxy
	}
	for _, s := range []*rdma.Setup{&req.Setup, &rsp.Setup} {
		s.Service, s.QKey = rdma.Service(c.Service), qKey
	}
	req.Memory, rsp.Memory = b.memoryPath(src, c.SrcDevice, c.SrcStaged), b.memoryPath(dst, c.DstDevice, c.DstStaged)
	if req.Memory.Out != nil {
		req.Config = stagedConfig(req.Config, b.v.NICs[src.Node].Server.Costs.StageChunk)
	}
	if c.SRQ > 0 {
		rsp.Setup.SRQ = b.srqs[c.SRQ-1]
	}
	return req, rsp
}

// kindsOf are those of a connection that a program makes, in place of the i-th.
func (b *builder) kindsOf(c *workload.Conn, i int, region units.Bytes) (req, rsp *nic.QPKind) {
	there, back := b.template(c, i, c.Src, c.Dst, 0), b.template(c, i, c.Dst, c.Src, 0)
	back.Flags |= packet.Reverse
	req, rsp = b.ends(c, i, region, there, back)
	return b.shared(req), b.shared(rsp)
}

// queuePair is a queue pair of a kind towards a peer; p is a template of its packets.
func (b *builder) queuePair(kind *nic.QPKind, p *packet.Packet, peer int) nic.QPSpec {
	return nic.QPSpec{QPKind: b.shared(kind), PeerHost: b.g.Nodes[peer].Name, PeerQP: p.DestQP, Hash: p.Hash,
		Dst: p.Dst, Conn: p.Conn}
}

// shared is the one of a kind that all have.
func (b *builder) shared(kind *nic.QPKind) *nic.QPKind {
	if b.kinds == nil {
		b.kinds = make(map[nic.QPKind]*nic.QPKind)
	}
	same := b.kinds[*kind]
	if same == nil {
		same = kind
		b.kinds[*same] = same
	}
	return same
}

// notification is the notification point that the queue pairs of a port share, all or
// those with the same port at the other end; nil: each has its own, or none.
func (b *builder) notification(at, peer topology.Endpoint, c *rdma.Config) *congestion.NP {
	cc := c.Notification()
	if cc == nil || cc.CNPLimiter == congestion.PerQueuePair {
		return nil
	}
	key := [2]int{b.port[at.Node] + at.Port, -1}
	if cc.CNPLimiter == congestion.PerDestination {
		key[1] = b.port[peer.Node] + peer.Port
	}
	if b.notifications == nil {
		b.notifications = make(map[[2]int]*congestion.NP)
	}
	if b.notifications[key] == nil {
		b.notifications[key] = new(congestion.NP)
	}
	return b.notifications[key]
}

// reaction is the reaction point that the queue pairs of a port and service level
// share; nil: each has its own, or none.
func (b *builder) reaction(at topology.Endpoint, sl uint8, c *rdma.Config, line units.Rate) *congestion.IBCC {
	if c.IBCC == nil || !c.IBCC.PerSL {
		return nil
	}
	key := [2]int{b.port[at.Node] + at.Port, int(sl)}
	if b.reactions == nil {
		b.reactions = make(map[[2]int]*congestion.IBCC)
	}
	if b.reactions[key] == nil {
		b.reactions[key] = congestion.NewIBCC(c.IBCC, line)
	}
	return b.reactions[key]
}

// template is the header of everything a queue pair sends to its peer.
func (b *builder) template(c *workload.Conn, i, from, to int, peerQP uint32) packet.Packet {
	p := packet.Packet{
		Hash: fiveTuple(from, to, c.SrcPort),
		Dst:  uint32(to), Conn: uint32(i), Class: c.Class, DSCP: c.DSCP,
		TTL: b.v.NICs[b.g.Endpoints[from].Node].TTL, DestQP: peerQP,
	}
	if c.Path != nil {
		p.Flags |= packet.Pinned
	}
	return p
}

// fiveTuple is the hash of a connection's addresses and ports that ECMP uses.
func fiveTuple(from, to int, srcPort uint16) uint32 {
	return uint32(rng.Mix64(uint64(from)<<32|uint64(to), uint64(srcPort)<<16|4791) >> 32)
}

// setup completes a queue pair's description with its NIC's rules for ACKs and
// CNPs; of data it takes what nic.QPSpec has not got.
func (b *builder) setup(node int, data packet.Packet, line, initial units.Rate, a rdma.Attrs) rdma.Setup {
	n := &b.v.NICs[node]
	a.Memory = b.memory[node].Memory
	data.Hash, data.Dst, data.Conn, data.DestQP = 0, 0, 0, 0
	s := rdma.Setup{Config: &b.v.Transports[n.Transport], Data: data, Ack: data, CNP: data, Line: line, Initial: initial, Attrs: a}
	if n.AckClass != 255 {
		s.Ack.Class = n.AckClass
	}
	if n.AckDSCP != 255 {
		s.Ack.DSCP = n.AckDSCP
	}
	if s.Config.ECT && s.Ack.Class == s.Data.Class {
		s.Ack.ECN = packet.ECT0
	}
	if n.CNPClass != 255 {
		s.CNP.Class, s.CNP.DSCP = n.CNPClass, n.CNPDSCP
	}
	for _, p := range []*packet.Packet{&s.Data, &s.Ack, &s.CNP} {
		p.Flags |= packet.FlagsOfPCP(p.Class) // what a VLAN tag would say
	}
	return s
}
