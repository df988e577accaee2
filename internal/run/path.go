package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/hopscope/hopscope/internal/account"
	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/hopscope/hopscope/wire"
)

// PathOptions say between which ends to look, and with what.
type PathOptions struct {
	Options         // of them Scenario, Text, Stack, Set, Seed, Workers and Progress count
	From, To string // ends, as a workload names them
	Size     units.Bytes
	Load     bool // run the scenario's own workload as well
}

// Path looks at what lies between two ends: the hops, and what a message alone on the
// idle network finds, by every way that these ends have: with GPUDirect and staged where
// an end is a GPU, and over TCP. The message takes the path of the workload's connection
// between the same ends, if there is one.
func Path(ctx context.Context, opt PathOptions) (*record.Path, error) {
	own, err := Load(opt.Options)
	if err != nil {
		return nil, err
	}
	p := &pather{ctx: ctx, opt: opt, out: &record.Path{From: opt.From, To: opt.To, Bytes: int64(opt.Size)}}
	if inside, err := p.inside(own); err != nil {
		return nil, err
	} else if !inside {
		if err := p.across(own); err != nil {
			return nil, err
		}
	}
	if opt.Load {
		p.out.Loaded, _, err = Do(ctx, opt.Options)
		if err == nil && p.out.Loaded.Stopped == interrupted {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return p.out, nil
}

// across sends the message over the network.
func (p *pather) across(own *scenario.Valid) error {
	p.out.Scenario = own.Name
	v, err := p.load("", nil)
	if err != nil {
		return err
	}
	p.follow(own, &v.Plan.Conns[0])
	return p.ways(v)
}

// pather gathers a record.Path.
type pather struct {
	ctx   context.Context
	opt   PathOptions
	out   *record.Path
	graph *topology.Graph
	// like is the workload's connection of the same kind between the ends (RDMA or TCP),
	// and other that of the other kind.
	like, other *workload.Conn
	verb        workload.Verb // of like's messages
	maxInline   units.Bytes   // what the sender's card takes inside a work request
}

// load reads the scenario with the message in its workload's place.
func (p *pather) load(stack string, staged *bool) (*scenario.Valid, error) {
	o := p.opt
	m := scenario.Single{From: o.From, To: o.To, Size: o.Size, Staged: staged, Like: p.like, Graph: p.graph,
		Verb: p.verb, MaxInline: p.maxInline}
	switch {
	case stack == "":
		stack = o.Stack
	case p.other != nil:
		m.Like = p.other
	default:
		m.OtherStack = true
	}
	src := o.source()
	src.Stack, src.Stacks, src.Single = stack, nil, &m
	return scenario.Read(src)
}

// follow finds the workload's first connections between the message's ends.
func (p *pather) follow(own *scenario.Valid, c *workload.Conn) {
	p.graph = own.Graph
	for i := range own.Plan.Conns {
		x := &own.Plan.Conns[i]
		if x.Src != c.Src || x.Dst != c.Dst || x.SrcDevice != c.SrcDevice || x.DstDevice != c.DstDevice {
			continue
		}
		if same := (x.Service == workload.TCP) == (c.Service == workload.TCP); same && p.like == nil {
			p.like, p.out.Like = x, own.Plan.Entries[x.Entry]
			p.verb, p.maxInline = pushing(own.Plan, i), own.NICs[own.Graph.HostOf(x.Src)].MaxInline
		} else if !same && p.other == nil {
			p.other = x
		}
	}
}

// pushing is the verb of a connection's first message, of those that carry data from its source;
// a WRITE else.
func pushing(plan *workload.Plan, conn int) workload.Verb {
	for i := range plan.Series {
		if m := &plan.Series[i].Message; m.Conn == conn {
			if m.Verb == workload.Send || m.Verb == workload.WriteImm {
				return m.Verb
			}
			break
		}
	}
	return workload.Write
}

// ways tries every way: first that of the scenario's stack, then TCP, or of TCP's the
// default RDMA stack.
func (p *pather) ways(v *scenario.Valid) error {
	c := &v.Plan.Conns[0]
	inGPU := isGPU(v, c.Src, c.SrcDevice) || isGPU(v, c.Dst, c.DstDevice)
	tcp := c.Service == workload.TCP
	other := scenario.TCPStack
	if tcp {
		other = scenario.DefaultStack
	}
	main := v.Stack
	for _, stack := range []string{"", other} {
		name := main
		if stack != "" {
			name = stack
		}
		if (stack == "") == tcp || !inGPU {
			if err := p.way(name, stack, nil); err != nil {
				return err
			}
			continue
		}
		for _, staged := range []bool{false, true} {
			how := ", GPUDirect"
			if staged {
				how = ", staged"
			}
			if err := p.way(name+how, stack, &staged); err != nil {
				return err
			}
		}
	}
	return nil
}

// isGPU reports whether data at an endpoint lie in a GPU.
func isGPU(v *scenario.Valid, endpoint int, device int16) bool {
	return device != workload.NoDevice && v.NICs[v.Graph.Endpoints[endpoint].Node].Server.Devices[device].Kind == server.GPU
}

// way sends the message by one way. That the scenario does not allow another stack than
// its own is noted; other errors are the user's.
func (p *pather) way(name, stack string, staged *bool) error {
	way := record.PathWay{Name: name}
	v, err := p.load(stack, staged)
	if err != nil && stack != "" {
		way.Why = err.Error()
		p.out.Ways = append(p.out.Ways, way)
		return nil
	}
	if err != nil {
		return err
	}
	w, err := build.New(v, build.Options{})
	if err != nil {
		return &scenario.Error{Msg: err.Error()}
	}
	way.Run = Simulate(p.ctx, w, Options{Workers: 1})
	if way.Run.Stopped == interrupted {
		return context.Cause(p.ctx)
	}
	if len(way.Run.Messages) != 1 {
		return errors.New("run: BUG: a single message became several")
	}
	there, _ := w.Path(0)
	if there == nil {
		return &scenario.Error{Msg: fmt.Sprintf("there is no path from %s to %s", p.opt.From, p.opt.To)}
	}
	way.Hops = wayHops(w, way.Run, there)
	p.out.Ways = append(p.out.Ways, way)
	return nil
}

// wayHops lists the places that the data of connection 0 pass.
func wayHops(w *build.World, out *record.Run, there []topology.Hop) []record.WayHop {
	v, c := w.Valid, &w.Valid.Plan.Conns[0]
	r := &runner{Ends: account.EndsOf(w)}
	hops := account.ServerHops(v, c.Src, c.SrcDevice, c.SrcStaged, true)
	for _, h := range there {
		hops = append(hops, r.networkHop(h, out))
	}
	return append(hops, account.ServerHops(v, c.Dst, c.DstDevice, c.DstStaged, false)...)
}

// networkHop is a link with the buffer at its end.
func (r *runner) networkHop(h topology.Hop, out *record.Run) record.WayHop {
	v := r.Valid
	link, end := v.Graph.LinkAt(h.Node, h.Port), v.Graph.Nodes[h.Node].Ports[h.Port]
	x := record.WayHop{Name: r.portName(h.Node, h.Port), To: r.portName(end.Peer, end.PeerPort), What: "cable",
		RateBps: link.RateFrom(v.Graph, h.Node), LatencyPS: link.Delay, Class: classAt(out, v.Graph.Nodes[h.Node].Name, h.Port+1)}
	if v.Graph.Nodes[end.Peer].Kind == topology.Switch {
		s := &v.Switches[end.Peer]
		x.What, x.LatencyPS = "cable and switch", link.Delay+s.Latency
		if m := s.Memory; m != nil {
			g, q := &m.Groups[end.PeerPort][x.Class], &m.Queues[end.PeerPort][x.Class]
			x.BufferBytes, x.Rule = int64(m.Ingress[g.Pool].Shared), "pause"
			if !g.Lossless {
				x.BufferBytes, x.Rule = min(x.BufferBytes, int64(m.Egress[q.Pool].Shared)), "drop"
			}
		}
		credits(&x, s.Ports[end.PeerPort].Credit)
		return x
	}
	n := &v.NICs[end.Peer]
	if x.BufferBytes = int64(n.RxBuffer); n.RxBuffer > 0 {
		x.Rule = "drop"
		if n.RxXOFF > 0 && n.Ports[end.PeerPort].PFC.Enabled>>x.Class&1 != 0 {
			x.Rule = "pause"
		}
	}
	credits(&x, n.Ports[end.PeerPort].Credit)
	return x
}

// credits makes the rule of a link with credits theirs.
func credits(x *record.WayHop, c *fabric.CreditParams) {
	if c != nil {
		x.BufferBytes, x.Rule = int64(c.Blocks[x.Class])*wire.CreditBlock, "credit"
	}
}

// classAt is the priority or VL that carried most through a port.
func classAt(out *record.Run, node string, port int) (class int) {
	most := int64(-1)
	for i := range out.Ports {
		if x := &out.Ports[i]; x.Node == node && x.Port == port && x.TxBytes > most {
			class, most = x.Class, x.TxBytes
		}
	}
	return class
}
