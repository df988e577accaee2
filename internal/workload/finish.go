package workload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// Network is what a workload must know of the topology; *topology.Graph is one.
type Network interface {
	NumEndpoints() int
	HostOf(ep int) int // node index
	EndpointName(ep int) string
}

// EntryError says which workload entry is wrong.
type EntryError struct {
	Entry int    // index into Plan.Entries
	Name  string // of the entry
	Msg   string // what is wrong and what would be right
}

func (e *EntryError) Error() string { return "workload " + e.Name + ": " + e.Msg }

// Finish checks a plan against the network and sorts its messages by (Start,
// entry, order of appending). Errors are *EntryError where an entry is to blame.
func (p *Plan) Finish(net Network) error {
	if len(p.Messages) == 0 && len(p.Locals) == 0 {
		return errors.New("the workload has no message; add at least one flow")
	}
	if len(p.Conns) > MaxConns || len(p.Messages) > MaxMessages {
		return fmt.Errorf("the workload has %d connections and %d messages; at most %d and %d are possible",
			len(p.Conns), len(p.Messages), MaxConns, MaxMessages)
	}
	for i := range p.Conns {
		if err := p.checkConn(net, &p.Conns[i]); err != nil {
			return err
		}
	}
	invalidations := 0
	for i := range p.Messages {
		m := &p.Messages[i]
		if err := p.checkMessage(m); err != nil {
			return err
		}
		if m.Verb == SendInv {
			invalidations++
		}
		if invalidations > MaxInvalidations {
			return p.fail(p.Conns[m.Conn].Entry, "the workload has more than %d SENDs with invalidate, each of which needs an R_Key of its own; use fewer", MaxInvalidations)
		}
	}
	p.sort()
	if err := p.finishGraph(net); err != nil {
		return err
	}
	return p.finishTriggers()
}

// sort puts the messages in order and renames them where operations wait.
func (p *Plan) sort() {
	before := func(a, b *Message) int {
		if c := cmp.Compare(a.Start, b.Start); c != 0 {
			return c
		}
		return cmp.Compare(p.Conns[a.Conn].Entry, p.Conns[b.Conn].Entry)
	}
	if len(p.edges) == 0 {
		slices.SortStableFunc(p.Messages, func(a, b Message) int { return before(&a, &b) })
		return
	}
	order := make([]int32, len(p.Messages))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return before(&p.Messages[a], &p.Messages[b]) })
	sorted, to := make([]Message, len(order)), make([]int32, len(order))
	for i, from := range order {
		sorted[i] = p.Messages[from]
		to[from] = int32(i)
	}
	p.Messages = sorted
	p.renameMessages(to)
}

func (p *Plan) checkConn(net Network, c *Conn) error {
	if c.Entry < 0 || c.Entry >= len(p.Entries) {
		return fmt.Errorf("a connection belongs to workload entry %d, but the entries are 0 to %d", c.Entry, len(p.Entries)-1)
	}
	n := net.NumEndpoints()
	for _, ep := range [...]int{c.Src, c.Dst} {
		if ep < 0 || ep >= n {
			return p.fail(c.Entry, "endpoint %d does not exist; endpoints are 0 to %d", ep, n-1)
		}
	}
	src, dst := net.EndpointName(c.Src), net.EndpointName(c.Dst)
	switch {
	case net.HostOf(c.Src) == net.HostOf(c.Dst) && (c.SrcDevice != NoDevice || c.DstDevice != NoDevice):
		return p.fail(c.Entry, "both ends are in the server of one host, and what workloads send goes from host to host; give an end on another host, or a collective, which uses the links inside as well")
	case c.Src == c.Dst:
		return p.fail(c.Entry, "%s sends to itself; source and destination must differ", src)
	case net.HostOf(c.Src) == net.HostOf(c.Dst):
		return p.fail(c.Entry, "%s and %s are ports of one host; source and destination must be different hosts", src, dst)
	case c.Path != nil && len(c.Path) < 2:
		return p.fail(c.Entry, "the path from %s to %s has %d of at least 2 nodes; list all from source host to destination host", src, dst, len(c.Path))
	case c.Path != nil && (c.Path[0] != net.HostOf(c.Src) || c.Path[len(c.Path)-1] != net.HostOf(c.Dst)):
		return p.fail(c.Entry, "the path does not begin at the host of %s and end at the host of %s", src, dst)
	case c.Class > 15:
		return p.fail(c.Entry, "class %d must be from 0 to 7, or a service level from 0 to 15", c.Class)
	case c.DSCP > 63:
		return p.fail(c.Entry, "DSCP %d must be from 0 to 63", c.DSCP)
	case c.Region < 0 || c.ReceiveSize < 0:
		return p.fail(c.Entry, "region %s and receive size %s must not be negative", c.Region, c.ReceiveSize)
	case c.SRQ < 0 || c.SRQ > len(p.SRQs):
		return p.fail(c.Entry, "shared receive queue %d does not exist; there are %d", c.SRQ, len(p.SRQs))
	case c.InitialRate < 0:
		return p.fail(c.Entry, "initial rate %s must not be negative", c.InitialRate)
	}
	return nil
}

func (p *Plan) checkMessage(m *Message) error {
	if m.Conn < 0 || m.Conn >= len(p.Conns) {
		return fmt.Errorf("a message belongs to connection %d, but the connections are 0 to %d", m.Conn, len(p.Conns)-1)
	}
	entry := p.Conns[m.Conn].Entry
	switch {
	case m.Bytes < 0:
		return p.fail(entry, "size %s must not be negative", m.Bytes)
	case m.Bytes == 0 && p.Conns[m.Conn].Service == TCP:
		return p.fail(entry, "size 0B: TCP carries a stream of bytes, in which none is no message; give at least 1B")
	case m.Back && p.Conns[m.Conn].Service != TCP:
		return p.fail(entry, "a message goes against the direction of its connection, which only TCP's can")
	case m.Bytes > MaxBytes:
		return p.fail(entry, "size %s is above %s, the longest message; send several", m.Bytes, MaxBytes)
	case m.Verb > FetchAdd:
		return p.fail(entry, "verb %d is unknown; use one of %s", uint8(m.Verb), strings.Join(VerbNames(), ", "))
	case !p.Conns[m.Conn].Service.Allows(m.Verb):
		return p.fail(entry, "%s has no %s; use service rc", p.Conns[m.Conn].Service, m.Verb)
	case m.Verb.Atomic() && m.Bytes != AtomicSize:
		return p.fail(entry, "%s of %s; an atomic works on %s", m.Verb, m.Bytes, AtomicSize)
	case m.Offset < 0 || m.Offset > MaxOffset:
		return p.fail(entry, "offset %s is not from 0 to %s", m.Offset, MaxOffset)
	case m.Start < 0:
		return p.fail(entry, "start %s must not be negative", m.Start)
	case m.Waits() && m.Start == units.Never:
	case m.Waits():
		return p.fail(entry, "a message starts at %s or by a trigger; keep one", m.Start)
	case m.Start > MaxStart:
		return p.fail(entry, "start %s is later than %s, the latest possible", m.Start, MaxStart)
	}
	return nil
}

func (p *Plan) fail(entry int, format string, args ...any) error {
	return &EntryError{Entry: entry, Name: p.Entries[entry], Msg: fmt.Sprintf(format, args...)}
}

// check refuses options whose messages would not fit the clock or the ports;
// QPs and Count are at least 1 already.
func (o Options) check() error {
	last := units.Time(o.Count - 1)
	switch {
	case o.Start < 0 || o.Every < 0:
		return fmt.Errorf("start %s and every %s must not be negative", o.Start, o.Every)
	case o.Start > MaxStart:
		return fmt.Errorf("start %s is later than %s, the latest possible", o.Start, MaxStart)
	case last > 0 && o.Every > (MaxStart-o.Start)/last:
		return fmt.Errorf("%d messages every %s end later than %s, the latest possible; use fewer", o.Count, o.Every, MaxStart)
	case o.SrcPort != 0 && int(o.SrcPort)+o.QPs-1 > 65535:
		return fmt.Errorf("source ports from %d for %d QPs pass 65535; begin lower", o.SrcPort, o.QPs)
	}
	return nil
}

// checkRoom refuses pairs x QPs connections, or their messages, beyond the
// limits, before anything is allocated.
func (p *Plan) checkRoom(pairs int, o Options) error {
	qps, count := max(o.QPs, 1), max(o.Count, 1)
	if o.QPs < 0 || o.Count < 0 {
		return fmt.Errorf("qps %d and count %d must be at least 1", o.QPs, o.Count)
	}
	if room := MaxConns - len(p.Conns); pairs > room || qps > room/pairs {
		return fmt.Errorf("%d pairs with %d QPs each make more than %d connections in all; use fewer", pairs, qps, MaxConns)
	}
	if room := MaxMessages - len(p.Messages); pairs*qps > room || count > room/(pairs*qps) {
		return fmt.Errorf("%d messages on each of %d QPs make more than %d messages in all; use fewer", count, pairs*qps, MaxMessages)
	}
	return nil
}

// checkSet checks the endpoints of a pattern among equals.
func checkSet(pattern string, net Network, endpoints []int) error {
	if len(endpoints) < 2 {
		return fmt.Errorf("%s needs at least two endpoints and has %d", pattern, len(endpoints))
	}
	seen := make(map[int]bool, len(endpoints))
	for _, ep := range endpoints {
		if ep < 0 || ep >= net.NumEndpoints() {
			return fmt.Errorf("%s: endpoint %d does not exist; endpoints are 0 to %d", pattern, ep, net.NumEndpoints()-1)
		}
		if seen[ep] {
			return fmt.Errorf("%s names %s twice; each endpoint takes part once", pattern, net.EndpointName(ep))
		}
		seen[ep] = true
	}
	return nil
}
