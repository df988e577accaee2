package counters

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/visible"
)

// sonic is what SONiC's show commands print at a switch.
func (b *boxes) sonic(node string) string {
	numbers := b.numbers(node)
	var t strings.Builder
	fmt.Fprintf(&t, "# SONiC's show commands; port N of the scenario is Ethernet4*(N-1), so that %s:1 is Ethernet0\n"+
		"# left out: multicast queues, pool and headroom pool watermarks\n", visible.Text(node))
	b.interfaces(&t, node, numbers)
	pfc := func(title string, count func(id record.PortID, c int) int64) {
		tab := grid{head: []string{title}}
		for c := range classes {
			tab.head = append(tab.head, fmt.Sprintf("PFC%d", c))
		}
		for _, n := range numbers {
			id := record.PortID{Node: node, Port: n}
			row := []string{ethernet(n)}
			for c := range classes {
				row = append(row, metrics.FormatCount(count(id, c)))
			}
			tab.rows = append(tab.rows, row)
		}
		t.WriteString(tab.String())
	}
	t.WriteString("\n$ show pfc counters\n")
	pfc("Port Rx", func(id record.PortID, c int) int64 {
		far := b.facing(id, c)
		return pauseFrames(far) - lostPauses(far)
	})
	t.WriteString("\n")
	pfc("Port Tx", func(id record.PortID, c int) int64 {
		own := b.row(id, c)
		return pauseFrames(own)
	})
	b.watermark(&t, node, numbers, "PG", "show priority-group watermark shared", "Ingress shared pool occupancy per PG:",
		func(p *record.Port) int64 { return p.PeakIngress - p.PeakHeadroom })
	b.watermark(&t, node, numbers, "PG", "show priority-group watermark headroom", "Ingress headroom per PG:",
		func(p *record.Port) int64 { return p.PeakHeadroom })
	b.watermark(&t, node, numbers, "UC", "show queue watermark unicast", "Egress shared pool occupancy per unicast queue:",
		func(p *record.Port) int64 { return p.PeakQueueBytes })
	b.queueCounters(&t, node, numbers)
	b.storms(&t, node)
	return t.String()
}

// interfaces writes what ports took in and sent, and what of it they dropped. RX_ERR is what came in damaged,
// RX_OVR what was larger than the MTU, RX_DRP what else was dropped on its way in, TX_DRP on its way out.
func (b *boxes) interfaces(t *strings.Builder, node string, numbers []int) {
	tab := grid{head: []string{"IFACE", "STATE", "RX_OK", "RX_BPS", "RX_UTIL", "RX_ERR", "RX_DRP", "RX_OVR",
		"TX_OK", "TX_BPS", "TX_UTIL", "TX_ERR", "TX_DRP", "TX_OVR"}}
	for _, n := range numbers {
		c := b.interfaceOf(record.PortID{Node: node, Port: n})
		row := []string{ethernet(n), "U"}
		for _, v := range [...]int64{c.in.packets, -1, -1, c.damaged, c.dropIn, c.large,
			c.out.packets, -1, -1, -1, c.dropOut, -1} {
			if v < 0 {
				row = append(row, "N/A")
			} else {
				row = append(row, metrics.FormatCount(v))
			}
		}
		tab.rows = append(tab.rows, row)
	}
	fmt.Fprintf(t, "\n$ show interfaces counters\n%s", tab.String())
}

// iface are the counters of one port of a switch, in frames.
type iface struct {
	in, out                         traffic
	damaged, dropIn, dropOut, large int64
}

// interfaceOf are those of a port.
func (b *boxes) interfaceOf(id record.PortID) (x iface) {
	for c := range classes {
		own, far, in := b.row(id, c), b.facing(id, c), b.received(id, c)
		x.in.packets, x.in.bytes = x.in.packets+in.packets, x.in.bytes+in.bytes
		x.out.packets, x.out.bytes = x.out.packets+own.TxPackets, x.out.bytes+own.TxBytes
		x.damaged += damaged(far)
		for _, d := range own.DropCauses {
			switch {
			case d.Cause == catalog.DropOversize:
				x.large += d.Count
			case d.Cause.Arriving():
				x.dropIn += d.Count
			case !d.Cause.OnLink() && !d.Cause.BySender():
				x.dropOut += d.Count
			}
		}
	}
	return x
}

// queueDrops are the frames that a class of a port dropped from its queue, or had no room for there.
func queueDrops(p *record.Port) (t traffic) {
	for _, d := range p.DropCauses {
		if !d.Cause.OnLink() && !d.Cause.Arriving() && !d.Cause.BySender() {
			t.packets, t.bytes = t.packets+d.Count, t.bytes+d.Sum
		}
	}
	return t
}

// ethernet is SONiC's name of a port.
func ethernet(n int) string { return fmt.Sprintf("Ethernet%d", 4*(n-1)) }

// watermark writes a table of peaks by port and class.
func (b *boxes) watermark(t *strings.Builder, node string, numbers []int, column, command, title string, peak func(p *record.Port) int64) {
	tab := grid{head: []string{"Port"}}
	for c := range classes {
		tab.head = append(tab.head, fmt.Sprintf("%s%d", column, c))
	}
	for _, n := range numbers {
		row := []string{ethernet(n)}
		for c := range classes {
			p := b.row(record.PortID{Node: node, Port: n}, c)
			row = append(row, fmt.Sprint(peak(p)))
		}
		tab.rows = append(tab.rows, row)
	}
	fmt.Fprintf(t, "\n$ %s\n%s\n%s", command, title, tab.String())
}

// queueCounters writes what queues sent and dropped.
func (b *boxes) queueCounters(t *strings.Builder, node string, numbers []int) {
	t.WriteString("\n$ show queue counters\n")
	for i, n := range numbers {
		if i > 0 {
			t.WriteString("\n")
		}
		tab := grid{head: []string{"Port", "TxQ", "Counter/pkts", "Counter/bytes", "Drop/pkts", "Drop/bytes"}}
		for c := range classes {
			p := b.row(record.PortID{Node: node, Port: n}, c)
			drops := queueDrops(p)
			tab.rows = append(tab.rows, []string{ethernet(n), fmt.Sprintf("UC%d", c), metrics.FormatCount(p.TxPackets),
				metrics.FormatCount(p.TxBytes), metrics.FormatCount(drops.packets), metrics.FormatCount(drops.bytes)})
		}
		t.WriteString(tab.String())
	}
}

// storms writes what the PFC watchdog counted.
func (b *boxes) storms(t *strings.Builder, node string) {
	type queue struct {
		record.PortID
		class int
	}
	type count struct {
		found, restored        int
		sent, came, last, late int64 // dropped on the way out and in; of the latest storm
	}
	var order []queue
	counts := map[queue]*count{} // looked up, never iterated
	for i := range b.r.Storms {
		s := &b.r.Storms[i]
		if s.Port.Node != node {
			continue
		}
		q := queue{s.Port, s.Class}
		c := counts[q]
		if c == nil {
			c = &count{}
			counts[q], order = c, append(order, q)
		}
		c.found++
		if s.ToPS >= 0 {
			c.restored++
		}
		c.last, c.late = s.Dropped.Count-s.FromPeer, s.FromPeer
		c.sent, c.came = c.sent+c.last, c.came+c.late
	}
	if len(order) == 0 {
		return
	}
	tab := grid{head: []string{"QUEUE", "STATUS", "STORM DETECTED/RESTORED", "TX OK/DROP", "RX OK/DROP", "TX LAST OK/DROP", "RX LAST OK/DROP"}}
	for _, q := range order {
		c := counts[q]
		status := "operational"
		if c.found > c.restored {
			status = "stormed"
		}
		of := func(dropped int64) string { return fmt.Sprintf("N/A/%d", dropped) }
		tab.rows = append(tab.rows, []string{fmt.Sprintf("%s:%d", ethernet(q.Port), q.class), status,
			fmt.Sprintf("%d/%d", c.found, c.restored), of(c.sent), of(c.came), of(c.last), of(c.late)})
	}
	fmt.Fprintf(t, "\n$ show pfcwd stats\n# N/A: packets that a storm let through are not counted\n%s", tab.String())
}

// perfquery is what `perfquery -x` prints of the ports of an InfiniBand node.
func (b *boxes) perfquery(node string) string {
	var l lines
	l.WriteString("# perfquery of all ports in turn; left out: unicast and multicast apart, and errors of links that the " +
		"model does not tell apart\n\n$ perfquery -x -l\n")
	for i := range b.r.Counters {
		c := &b.r.Counters[i]
		if c.Node != node {
			continue
		}
		fmt.Fprintf(&l, "# Port extended counters: %s port %d\n", visible.Text(node), c.Port)
		line := func(name string, v int64) {
			fmt.Fprintf(&l, "%s%s%d\n", name+":", strings.Repeat(".", 32-len(name)), v)
		}
		line("PortSelect", int64(c.Port))
		line("PortXmitData", c.PortXmitData)
		line("PortRcvData", c.PortRcvData)
		line("PortXmitPkts", c.PortXmitPkts)
		line("PortRcvPkts", c.PortRcvPkts)
		line("PortRcvErrors", c.PortRcvErrors)
		line("PortXmitDiscards", c.PortXmitDiscards)
		line("PortXmitWait", c.PortXmitWait)
	}
	return l.String()
}

// ibdiagnet is what `ibdiagnet --pc` writes of all InfiniBand ports into its database of comma-separated values.
func (b *boxes) ibdiagnet() string {
	var l lines
	l.WriteString("# ibdiagnet --pc; node N of the record, from 1, has the GUID N\n" +
		"# left out: all other sections, and counters of errors of links that the model does not tell apart\n\n" +
		"$ cat ibdiagnet2.db_csv\n" +
		"START_NODES\nNodeDesc,NumPorts,NodeType,NodeGUID\n")
	guid, ports := map[string]int{}, map[string]int{} // looked up, never iterated
	for i := range b.r.Counters {
		ports[b.r.Counters[i].Node]++
	}
	for _, n := range b.nodes {
		if ports[n] == 0 {
			continue
		}
		guid[n] = len(guid) + 1
		kind := 2 // a switch
		if b.hosts[n] {
			kind = 1 // a channel adapter
		}
		name := strings.ReplaceAll(visible.Text(n), `"`, `""`)
		fmt.Fprintf(&l, "\"%s\",%d,%d,%#016x\n", name, ports[n], kind, guid[n])
	}
	l.WriteString("END_NODES\n\nSTART_PM_INFO\nNodeGUID,PortNumber,PortRcvErrors,PortXmitDiscards,PortXmitWait," +
		"PortXmitDataExtended,PortRcvDataExtended,PortXmitPktsExtended,PortRcvPktsExtended\n")
	for i := range b.r.Counters {
		c := &b.r.Counters[i]
		fmt.Fprintf(&l, "%#016x,%d,%d,%d,%d,%d,%d,%d,%d\n", guid[c.Node], c.Port, c.PortRcvErrors, c.PortXmitDiscards,
			c.PortXmitWait, c.PortXmitData, c.PortRcvData, c.PortXmitPkts, c.PortRcvPkts)
	}
	l.WriteString("END_PM_INFO\n")
	return l.String()
}

// grid is a table as Python's tabulate prints it for SONiC: right-aligned, columns wider than their
// titles by two at least, with a rule below these.
type grid struct {
	head []string
	rows [][]string
}

func (g *grid) String() string {
	width := make([]int, len(g.head))
	for i, s := range g.head {
		width[i] = len(s) + 2
	}
	for _, row := range g.rows {
		for i, s := range row {
			width[i] = max(width[i], len(s))
		}
	}
	var t strings.Builder
	write := func(row []string) {
		for i, s := range row {
			if i > 0 {
				t.WriteString("  ")
			}
			fmt.Fprintf(&t, "%*s", width[i], s)
		}
		t.WriteString("\n")
	}
	write(g.head)
	rule := make([]string, len(g.head))
	for i := range rule {
		rule[i] = strings.Repeat("-", width[i])
	}
	write(rule)
	for _, row := range g.rows {
		write(row)
	}
	return t.String()
}
