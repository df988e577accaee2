package workload

import (
	"errors"
	"fmt"
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
	if p.total == 0 && len(p.Locals) == 0 && len(p.Programs) == 0 && len(p.Jobs) == 0 {
		return errors.New("the workload has no message; add at least one flow")
	}
	if len(p.Conns) > MaxConns || p.total > MaxMessages {
		return fmt.Errorf("the workload has %d connections and %d messages, which take about %s of memory; at most %d and %d are possible",
			len(p.Conns), p.total, memoryOf(1, p.total), MaxConns, MaxMessages)
	}
	for i := range p.Conns {
		if err := p.checkConn(net, &p.Conns[i]); err != nil {
			return err
		}
	}
	invalidations := 0
	for i := range p.Series {
		m := &p.Series[i]
		if err := p.checkMessage(&m.Message); err != nil {
			return err
		}
		if m.Verb == SendInv {
			invalidations += m.Count
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
	if len(p.edges) == 0 {
		p.Arrange()
		return
	}
	was := make([]int32, len(p.Series)) // by order of appending; a plan that is finished again is sorted already
	for i := range p.Series {
		was[p.Series[i].nr] = int32(i)
	}
	p.Arrange()
	to := make([]int32, len(p.Series)) // operations that wait, or are waited for, are series of one message
	for i := range p.total {
		to[was[p.Series[p.find(i).series].nr]] = int32(i)
	}
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
	if room := MaxMessages - p.total; pairs*qps > room || count > room/(pairs*qps) {
		return fmt.Errorf("%d messages on each of %d QPs take about %s of memory; at most %d messages are possible in all, which take about %s: use fewer",
			count, pairs*qps, memoryOf(pairs*qps, count), MaxMessages, memoryOf(1, MaxMessages))
	}
	return nil
}

// memoryOf is what messages take on some queue pairs, as text.
func memoryOf(qps, messages int) string {
	gb := float64(qps) * float64(messages) * float64(MessageMemory) / float64(units.GB)
	if gb >= 1000 {
		return fmt.Sprintf("%.3g TB", gb/1000)
	}
	return fmt.Sprintf("%.3g GB", gb)
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
