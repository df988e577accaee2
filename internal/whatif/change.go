// Package whatif answers what would have happened with one thing changed, by complete runs of a
// scenario: what a message, a collective or a workload gains when a receiver, a port, a PCIe
// link, a failure, a pause, a limit or other traffic is taken away and all else stays.
package whatif

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"

	"github.com/hopscope/hopscope/internal/congestion"
)

// Kind says what a change takes away.
type Kind uint8

// Kinds of change. The comment names the places that a change of the kind has.
const (
	Receiver         Kind = iota // Node: a host takes what comes, at the line's rate
	Fault                        // Node: nothing goes wrong with a card
	PCIe                         // Node: nothing inside a host binds
	Core                         // Node: the work of a host's cores takes no time
	Card                         // Node: a card's own pipelines take no time
	Port                         // Node, Port: a switch's port sends Faster times as fast
	Others                       // Node, Port, Conn: no other connection sends through the port
	Entry                        // Entry: an entry of the workload sends nothing
	Earlier                      // Conn, Count: the connection's first messages are not sent
	Classes                      // no class is ahead of another anywhere
	Failure                      // Link: a link never fails
	Loss                         // no link loses or damages frames
	Pauses                       // no pause is ever sent
	Credits                      // Node, Port: who sends through the port never waits for credits
	Window                       // Conn: an RDMA window, or a bitmap, does not bind
	SendBuffer                   // Conn: TCP's send buffer does not bind
	ReceiveWindow                // Conn: TCP's receive window does not bind
	CongestionWindow             // Conn: TCP's congestion window does not bind
	ReadDepth                    // Conn: as many READs outstanding as the protocol can count
	Receives                     // Conn: a receive is always posted
	Control                      // no congestion control of RDMA slows anyone
	Way                          // Conn, Path: the connection takes another way
	Line                         // Conn: all switches' ports on the way of its data send Faster times as fast
	GPUDirect                    // data of GPUs go straight to the card
	Order                        // Conn: no message waits for the order of those before it: no fence, no Nagle's rule
	Alone                        // Conn: no other connection sends anything
	Headroom                     // lossless groups have Faster times the headroom
	Hash                         // switches choose among equal ports by hashes that go together less
	MTU                          // no switch drops packets as too large
	Map                          // Node, Conn: a switch puts what the connection sends in its sender's class
	Watchdog                     // Count: switches have a PFC watchdog that drops (0) or forwards (1); a cure, not a cause
	Lifetime                     // Count: the code of how long packets at the head of a queue live; likewise
	UpDown                       // no path goes up after it came down, pinned ones neither; likewise
	SecondClass                  // Class: frames of it that go up after they came down go on in another; likewise
	Lines                        // every link is twice as fast
	Ports                        // Path: ports of switches, nodes and ports in turn, send Faster times as fast
	Uplinks                      // ports between switches send Faster times as fast
	Compute                      // Entry: computations of a job take no time
	Stragglers                   // Entry: no rank of a job is slow, and computations do not vary
	Kernels                      // nothing but data takes time in calls: launches, steps, proxies
	Cables                       // every cable is half a metre longer: a control that should save nothing
	numKinds
)

// Faster is how many times as fast a port is whose rate is taken away as a cause.
const Faster = 16

// Everywhere stands for all hosts, in place of one.
const Everywhere = -1

// String is the kind in a few words of the field.
func (k Kind) String() string {
	return [...]string{"receiver", "card fault", "PCIe", "core", "card", "port", "others", "workload", "earlier messages",
		"class order", "failure", "loss", "pauses", "credits", "window", "send buffer", "receive window", "congestion window",
		"read depth", "receives", "congestion control", "way", "line", "GPUDirect", "order", "alone", "headroom", "hash",
		"MTU", "DSCP map", "watchdog", "lifetime", "up/down paths", "second class", "lines", "ports", "uplinks",
		"computations", "slow ranks", "kernels", "cables"}[k]
}

// Change takes one thing away. Fields that its kind does not name are zero.
type Change struct {
	Kind       Kind
	Node, Port int   // indices of the graph
	Conn       int   // index into Plan.Conns
	Entry      int   // index into Plan.Entries
	Link       int   // index into the graph's links
	Count      int   // messages
	Class      int   // priority, or virtual lane
	Path       []int // nodes from the connection's source to its destination
}

// Same reports whether two changes are the same.
func (c Change) Same(d Change) bool {
	return c.Kind == d.Kind && c.Node == d.Node && c.Port == d.Port && c.Conn == d.Conn && c.Entry == d.Entry && c.Link == d.Link &&
		c.Count == d.Count && c.Class == d.Class &&
		slices.Equal(c.Path, d.Path)
}

// fixedText is what changes do that need no names.
var fixedText = [numKinds]string{
	Classes:          "no class ahead of another",
	Loss:             "no link loses frames",
	Pauses:           "no pauses",
	Window:           "no window and no bitmap",
	SendBuffer:       "a send buffer without end",
	ReceiveWindow:    "a receive window without end",
	CongestionWindow: "no congestion window",
	Receives:         "a receive always posted",
	Control:          "no congestion control",
	GPUDirect:        "GPUDirect on",
	Order:            "no fence, and no small segment held back",
	Alone:            "without any other traffic",
	MTU:              "no switch drops packets as too large",
	UpDown:           "paths that never go up after they came down",
	Uplinks:          "all ports between switches at 16 times their rates",
	Lines:            "every link at twice its rate",
	Kernels:          "kernels of calls and their proxies start, step on and copy in no time",
	Cables:           "every cable half a metre longer",
}

// Text says what the change does, in words that end a line "with ..." of a table.
func (c Change) Text(v *scenario.Valid) string {
	g := v.Graph
	node := func() string {
		if c.Node == Everywhere {
			return "all hosts"
		}
		return g.Nodes[c.Node].Name
	}
	port := func() string { return fmt.Sprintf("%s:%d", g.Nodes[c.Node].Name, c.Port+1) }
	switch c.Kind {
	case Receiver:
		return "data taken at the line's rate by " + node()
	case Fault:
		return "without the faults of the card of " + node()
	case PCIe:
		return "nothing inside " + node() + " binds (PCIe, memory, IOMMU)"
	case Core:
		return "the cores of " + node() + " take no time"
	case Card:
		return "the card of " + node() + " takes no time"
	case Port:
		return fmt.Sprintf("%s at %d times its rate", port(), Faster)
	case Others:
		return "without other traffic through " + port()
	case Entry:
		return "without the workload " + v.Plan.Entries[c.Entry]
	case Ports, Compute, Stragglers:
		return c.jobText(v)
	case Earlier:
		return fmt.Sprintf("without the %d messages before it", c.Count)
	case Failure:
		return "the link " + g.Links[c.Link].Name(g) + " never fails"
	case Credits:
		if c.Node == Everywhere {
			return "nobody waits for credits"
		}
		return port() + " never waits for credits"
	case ReadDepth:
		return fmt.Sprintf("%d READs outstanding", maxReads)
	case Way:
		return "the way through " + names(g, c.Path[1:len(c.Path)-1])
	case Line:
		return fmt.Sprintf("all ports of its way at %d times their rates", Faster)
	case Headroom:
		return fmt.Sprintf("%d times the headroom", Faster)
	case Hash:
		if ownHashes(v) {
			return "another draw of the hashes"
		}
		return "a hash of its own at each switch"
	case Map:
		conn := &v.Plan.Conns[c.Conn]
		return fmt.Sprintf("DSCP %d in priority %d at %s", conn.DSCP, conn.Class, node())
	case SecondClass:
		if v.Wire.Block > 0 {
			return fmt.Sprintf("a second virtual lane, %d, after a bounce", second(v, c.Class))
		}
		return fmt.Sprintf("a second lossless class, %d, after a bounce", second(v, c.Class))
	case Lifetime:
		return fmt.Sprintf("packets live %s at the head of a queue (hoq_life %d)",
			metrics.FormatTime(fabric.Lifetime(c.Count)), c.Count)
	case Watchdog:
		return "a PFC watchdog that " + [...]string{"drops", "forwards"}[c.Count]
	}
	return fixedText[c.Kind]
}

// names lists nodes.
func names(g *topology.Graph, nodes []int) (out string) {
	for i, n := range nodes {
		if i > 0 {
			out += ", "
		}
		out += g.Nodes[n].Name
	}
	return out
}

// maxReads is what IBTA's connection messages can count (12.7.29).
const maxReads = 128

// without says what a scenario has to be loaded without for some changes. base is the
// scenario with all of it.
func without(base *ways, changes []Change) (w scenario.Without) {
	skip := make(map[int]int)
	for _, c := range changes {
		switch c.Kind {
		case Entry:
			w.Entries = append(w.Entries, c.Entry)
		case Failure:
			w.Failures = append(w.Failures, c.Link)
		case Earlier:
			skip[c.Conn] = max(skip[c.Conn], c.Count)
		case Others, Alone:
			list := base.through(c.Node, c.Port)
			if c.Kind == Alone {
				list = base.sending()
			}
			for _, conn := range list {
				switch entry := base.v.Plan.Conns[conn].Entry; {
				case conn == c.Conn || base.bound[conn] && entry == base.v.Plan.Conns[c.Conn].Entry:
				case base.bound[conn]:
					w.Entries = append(w.Entries, entry)
				default:
					skip[conn] = workload.MaxMessages
				}
			}
		}
	}
	if len(skip) > 0 {
		w.Messages = func(conn int) int { return skip[conn] }
	}
	return w
}

// apply makes a change to a loaded scenario, as far as it is not loaded without something.
func (c Change) apply(v *scenario.Valid, base *ways) {
	if c.Node == Everywhere {
		c.everywhere(v, base)
		return
	}
	switch c.Kind {
	case Line:
		for _, h := range base.data(c.Conn) {
			speedUp(v.Graph, h)
		}
	case Receiver:
		n := &v.NICs[c.Node]
		n.DrainRate, n.MTTCache, n.QPCCache, n.Faults = 0, 0, 0, nil
	case Fault:
		v.NICs[c.Node].Faults = nil
	case PCIe:
		if n := &v.NICs[c.Node]; n.Server != nil {
			n.Server = n.Server.Unbound()
		}
	case Core:
		h := &v.NICs[c.Node].Host
		h.Costs, h.Reposts = host.Costs{}, false
		h.Moderation = host.Moderation{}
		h.RegisterBase, h.RegisterPage, h.Connect = 0, 0, 0
	case Card:
		v.NICs[c.Node].Card, _ = card.Preset(card.Ideal)
	case Port:
		speedUp(v.Graph, topology.Hop{Node: c.Node, Port: c.Port})
	case Classes:
		equalClasses(v)
	case Loss:
		for i := range v.Graph.Links {
			l := &v.Graph.Links[i]
			l.Loss, l.BER, l.DropEvery = 0, 0, 0
		}
	case Pauses:
		everyPort(v, func(p *fabric.PortParams) { p.PFC.Silent = 255 })
	case Credits:
		end := v.Graph.Nodes[c.Node].Ports[c.Port]
		endless(portOf(v, end.Peer, end.PeerPort))
	case Way:
		v.Plan.Conns[c.Conn].Path = c.Path
	case GPUDirect:
		for i := range v.Plan.Conns {
			v.Plan.Conns[i].SrcStaged, v.Plan.Conns[i].DstStaged = false, false
		}
	case Headroom, Hash, MTU, Map:
		c.setRight(v)
	case Watchdog, Lifetime, UpDown, SecondClass:
		c.cure(v)
	case Lines, Ports, Uplinks, Compute, Stragglers, Kernels:
		c.easeJobs(v)
	case Cables:
		for i := range v.Graph.Links {
			v.Graph.Links[i].Delay += halfMetre.Delay()
		}
	default:
		c.unbind(v)
	}
}

// everywhere makes a change at all hosts, connections or ports.
func (c Change) everywhere(v *scenario.Valid, base *ways) {
	switch c.Kind {
	case Credits:
		everyPort(v, endless)
	case Window:
		for i := range v.Plan.Conns {
			c.Conn = i
			c.unbind(v)
		}
	default:
		for n := range v.Graph.Nodes {
			if v.Graph.Nodes[n].Kind == topology.Host {
				c.Node = n
				c.apply(v, base)
			}
		}
	}
}

// endless has the input buffers of a port take whatever comes.
func endless(p *fabric.PortParams) {
	if p.Credit != nil {
		all := *p.Credit
		all.Endless = true
		p.Credit = &all
	}
}

// speedUp has a port send Faster times as fast.
func speedUp(g *topology.Graph, at topology.Hop) {
	l, end := g.LinkAt(at.Node, at.Port), 0
	if l.B == at.Node {
		end = 1
	}
	l.Speedup[end] = Faster
}

// halfMetre is what every cable is longer by in the control.
const halfMetre = units.Metre / 2

// unbind takes a limit of a connection, or of all, away.
func (c Change) unbind(v *scenario.Valid) {
	conn := &v.Plan.Conns[c.Conn]
	hosts := [2]int{v.Graph.HostOf(conn.Src), v.Graph.HostOf(conn.Dst)}
	switch c.Kind {
	case Window:
		for _, n := range hosts {
			ownTransport(v, n, func(t *rdma.Config) {
				t.Window, t.SlowRestart = rdma.WindowNone, rdma.SlowRestart{}
				if t.Selective() {
					t.Bitmap = rdma.MaxBitmap
				}
			})
		}
		if v.Windows != nil {
			v.Windows[c.Conn] = 0
		}
	case SendBuffer:
		ownProfile(v, conn, func(p *tcp.Config) { p.Send.Initial, p.Send.Max = tcp.MaxWindow, tcp.MaxWindow })
	case ReceiveWindow:
		ownProfile(v, conn, func(p *tcp.Config) {
			p.Receive.Initial, p.Receive.Max, p.FirstWindow, p.WindowScaling = tcp.MaxWindow, tcp.MaxWindow, tcp.MaxWindow, true
		})
	case CongestionWindow:
		ownProfile(v, conn, func(p *tcp.Config) { p.CC.Algorithm, p.Pacing = congestion.NoWindow, false })
	case ReadDepth:
		for _, n := range hosts {
			v.NICs[n].MaxRdAtomic, v.NICs[n].MaxDestRdAtomic = maxReads, maxReads
		}
	case Order:
		conn.Fence, conn.NoDelay = false, true
	case Receives:
		conn.Receives, conn.SRQ = -1, 0
	case Control:
		for i := range v.Transports {
			v.Transports[i].CC, v.Transports[i].IBCC, v.Transports[i].Control = nil, nil, nil
		}
		for i := range v.Plan.Conns {
			v.Plan.Conns[i].InitialRate = 0
		}
	}
}

// ownTransport gives a host a transport of its own, changed.
func ownTransport(v *scenario.Valid, node int, change func(*rdma.Config)) {
	own := v.Transports[v.NICs[node].Transport]
	change(&own)
	v.NICs[node].Transport = len(v.Transports)
	v.Transports = append(slices.Clip(v.Transports), own)
}

// ownProfile gives a connection over TCP a profile of its own, changed.
func ownProfile(v *scenario.Valid, c *workload.Conn, change func(*tcp.Config)) {
	if c.Profile == 0 {
		return
	}
	own := v.TCP[c.Profile-1]
	change(&own)
	v.TCP = append(slices.Clip(v.TCP), own)
	c.Profile = len(v.TCP)
}

// portOf is what a port is set to.
func portOf(v *scenario.Valid, node, port int) *fabric.PortParams {
	if v.Graph.Nodes[node].Kind == topology.Switch {
		return &v.Switches[node].Ports[port]
	}
	return &v.NICs[node].Ports[port]
}

// everyPort changes all ports.
func everyPort(v *scenario.Valid, change func(*fabric.PortParams)) {
	for n := range v.Graph.Nodes {
		for p := range v.Graph.Nodes[n].Ports {
			change(portOf(v, n, p))
		}
	}
}

// equalClasses has all classes, or virtual lanes, share every port alike.
func equalClasses(v *scenario.Valid) {
	equal := new(fabric.VLArbitration)
	for vl := range uint8(fabric.Classes) {
		equal.Low = append(equal.Low, fabric.VLWeight{VL: vl, Weight: 4})
	}
	everyPort(v, func(p *fabric.PortParams) {
		p.Strict, p.Weight = 0, [fabric.Classes]uint8{}
		if p.VLArb != nil {
			p.VLArb = equal
		}
	})
}
