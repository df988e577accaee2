package counters

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
)

// Counters under the names that exporters for Prometheus give them: node_exporter's infiniband and ethtool collectors
// (github.com/prometheus/node_exporter, collector/infiniband_linux.go and ethtool_linux.go), two exporters for SONiC
// (github.com/STORDIS/monsoon, whose names of interfaces end as counters must, and github.com/vinted/sonic-exporter
// for what queues drop), and the names of SAI that SONiC's database has, for pauses and marks of single priorities.

// Family is a metric: its samples differ by their labels.
type Family struct {
	Name string // of its samples; that of a counter ends in _total
	Type string // "counter", "gauge" or "", as exporters say of what ethtool prints
	Unit string // "bytes", "" for none
	Help string
}

// Exporter tells the counters of runs, or of one run at several times.
type Exporter struct {
	families map[string]*Family
	labels   map[labelled]string
	ethtool  map[string]*Family // by ethtool's name
}

// NewExporter returns one.
func NewExporter() *Exporter {
	return &Exporter{families: map[string]*Family{}, labels: map[labelled]string{}, ethtool: map[string]*Family{}}
}

// labelled is what labels are made of.
type labelled struct {
	node, device, port, second, value string // second: the name of a label after device and port, or interface
}

// family returns that of a name, which is made with the rest when it is new.
func (e *Exporter) family(name, kind, help string) *Family {
	f := e.families[name]
	if f == nil {
		f = &Family{Name: name, Type: kind, Help: help}
		if base := strings.TrimSuffix(name, "_total"); kind != "" && strings.HasSuffix(base, "_bytes") {
			f.Unit = "bytes"
		}
		e.families[name] = f
	}
	return f
}

// label renders labels.
func (e *Exporter) label(x labelled) string {
	s, ok := e.labels[x]
	if !ok {
		s = Label("instance", x.node) + "," + Label("device", x.device)
		if strings.HasPrefix(x.device, "Ethernet") && x.port == sonicInterface {
			s = Label("instance", x.node) + "," + Label("interface", x.device)
		} else if x.port != "" {
			s += "," + Label("port", x.port)
		}
		if x.second != "" {
			s += "," + Label(x.second, x.value)
		}
		e.labels[x] = s
	}
	return s
}

// sonicInterface in place of a port has the device go by the label interface.
const sonicInterface = "interface"

// Label is a label with its value as exposition formats have it: a backslash before quotation marks, backslashes and
// n for a new line.
func Label(name, value string) string {
	value = strings.ToValidUTF8(value, "\uFFFD")
	return name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}

// Points calls yield with every counter of a run, but for those that follow from its messages (see Requests): its
// metric, its labels as text and its value so far.
func (e *Exporter) Points(r *record.Run, yield func(f *Family, labels string, n int64)) {
	b := boxesOf(r)
	b.counted = map[record.PortID]*record.IBCounters{}
	for i := range r.Counters {
		c := &r.Counters[i]
		b.counted[record.PortID{Node: c.Node, Port: c.Port}] = c
	}
	streams := map[string]bool{} // hosts with connections of TCP
	for i := range r.QPs {
		if r.QPs[i].TCP != nil {
			streams[r.QPs[i].Host] = true
		}
	}
	for _, node := range b.nodes {
		for _, n := range b.numbers(node) {
			id := record.PortID{Node: node, Port: n}
			infiniband := b.counted[id]
			switch {
			case infiniband != nil:
				e.subnetPort(b.device(id), infiniband, yield)
			case b.hosts[node]:
				e.ethernetPort(b, id, b.verbs[node] && !streams[node], yield)
			default:
				e.switchPort(b, id, yield)
			}
		}
		if b.hosts[node] && b.verbs[node] {
			for _, c := range b.hardware(node) {
				m := hardwareNames[c.name]
				yield(e.family("node_infiniband_"+m.name+"_total", "counter", m.help),
					e.label(labelled{node: node, device: "mlx5_0", port: "1"}), c.n)
			}
		}
	}
}

// device is how the card, or the switch, of a port is called, and the port there.
func (b *boxes) device(id record.PortID) labelled {
	if b.hosts[id.Node] {
		return labelled{node: id.Node, device: fmt.Sprintf("mlx5_%d", id.Port-1), port: "1"}
	}
	return labelled{node: id.Node, device: "switch", port: fmt.Sprint(id.Port)}
}

// named is the name of a counter there, and what it is.
type named struct{ name, help string }

// hardwareNames are the names that node_exporter gives what mlx5 has in hw_counters.
var hardwareNames = map[string]named{
	"out_of_buffer":         {"out_of_buffer_drops", "Messages that found no receive work request"},
	"out_of_sequence":       {"out_of_sequence_packets_received", "Packets that came out of sequence"},
	"packet_seq_err":        {"packet_sequence_errors", "NAKs for a sequence error that came"},
	"local_ack_timeout_err": {"local_ack_timeout_errors", "Times that the retransmission timer of a queue pair ended"},
	"roce_slow_restart":     {"roce_slow_restart", "Times that a queue pair restarted slowly"},
	"np_cnp_sent":           {"np_cnp_packets_sent", "CNPs sent"},
	"np_ecn_marked_roce_packets": {"np_ecn_marked_roce_packets_received",
		"RoCE packets that came with a mark of congestion"},
	"rp_cnp_handled": {"rp_cnp_packets_handled", "CNPs that came and had an effect"},
}

// subnetPort tells the counters of an InfiniBand port.
func (e *Exporter) subnetPort(at labelled, c *record.IBCounters, yield func(*Family, string, int64)) {
	labels := e.label(at)
	for _, x := range [...]struct {
		name, help string
		n          int64
	}{
		{"port_data_received_bytes", "Bytes received on all lanes", 4 * c.PortRcvData},
		{"port_data_transmitted_bytes", "Bytes sent on all lanes", 4 * c.PortXmitData},
		{"port_packets_received", "Packets received on all lanes", c.PortRcvPkts},
		{"port_packets_transmitted", "Packets sent on all lanes", c.PortXmitPkts},
		{"port_transmit_wait", "Ticks with a packet to send and none sent for want of credits", c.PortXmitWait},
		{"port_discards_transmitted", "Packets that the port discarded", c.PortXmitDiscards},
		{"port_errors_received", "Packets that came in damaged", c.PortRcvErrors},
	} {
		yield(e.family("node_infiniband_"+x.name+"_total", "counter", x.help), labels, x.n)
	}
}

// ethernetPort tells the counters of a host's Ethernet port: of ethtool, and where RDMA alone uses it also those of
// the RDMA device.
func (e *Exporter) ethernetPort(b *boxes, id record.PortID, alone bool, yield func(*Family, string, int64)) {
	device := e.label(labelled{node: id.Node, device: fmt.Sprintf("eth%d", id.Port-1)})
	counts := b.card(id)
	for _, c := range counts {
		f := e.ethtool[c.name]
		if f == nil {
			f = e.family("node_ethtool_"+ethtoolName(c.name), "", "Network interface "+c.name)
			e.ethtool[c.name] = f
		}
		yield(f, device, c.n)
	}
	if !alone {
		return
	}
	labels := e.label(b.device(id))
	for k, x := range [...]named{ // as card begins
		{"port_packets_received", "Packets received by the port"}, {"port_data_received_bytes", "Bytes received by the port"},
		{"port_packets_transmitted", "Packets sent by the port"}, {"port_data_transmitted_bytes", "Bytes sent by the port"},
	} {
		yield(e.family("node_infiniband_"+x.name+"_total", "counter", x.help), labels, counts[k].n)
	}
}

// ethtoolName is the name that node_exporter makes of one of ethtool: rx and tx as words of their own are received
// and transmitted.
func ethtoolName(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		switch w {
		case "rx":
			words[i] = "received"
		case "tx":
			words[i] = "transmitted"
		}
	}
	return strings.Join(words, "_")
}

// switchPort tells the counters of an Ethernet port of a switch.
func (e *Exporter) switchPort(b *boxes, id record.PortID, yield func(*Family, string, int64)) {
	at := labelled{node: id.Node, device: ethernet(id.Port), port: sonicInterface}
	with := func(name, value string) string {
		x := at
		x.second, x.value = name, value
		return e.label(x)
	}
	plain, unicast, x := e.label(at), with("delivery_mode", "unicast"), b.interfaceOf(id)
	var came, sent int64 // PFC frames
	for c := range classes {
		own, far := b.row(id, c), b.facing(id, c)
		came, sent = came+pauseFrames(far)-lostPauses(far), sent+pauseFrames(own)
	}
	counter := func(name, labels, help string, n int64) {
		yield(e.family("sonic_interface_"+name+"_total", "counter", help), labels, n)
	}
	counter("received_bytes", plain, "Bytes received by the interface", x.in.bytes)
	counter("received_packets", unicast, "Packets received by the interface", x.in.packets)
	counter("transmitted_bytes", plain, "Bytes sent by the interface", x.out.bytes)
	counter("transmitted_packets", unicast, "Packets sent by the interface", x.out.packets)
	const bad, lost = "receive_error_input_packets", "transmit_error_output_packets"
	counter(bad, with("cause", "error"), "Received packets that were damaged or dropped, and pause frames", x.damaged)
	counter(bad, with("cause", "drop"), "", x.dropIn)
	counter(bad, with("cause", "pause"), "", came)
	counter(lost, with("cause", "discard"), "Packets to be sent that were dropped, and pause frames", x.dropOut)
	counter(lost, with("cause", "pause"), "", sent)
	for c := range classes {
		if p := b.at[key{id, c}]; p != nil {
			e.queue(p, fmt.Sprint(c), with, yield)
		}
	}
	for _, c := range b.r.PauseClasses {
		own, far := b.row(id, c), b.facing(id, c)
		for _, y := range [...]struct {
			name string
			n    int64
		}{
			{"RX_PKTS", pauseFrames(far) - lostPauses(far)}, {"TX_PKTS", pauseFrames(own)},
			{"ON2OFF_RX_PKTS", own.PausesReceived}, {"RX_PAUSE_DURATION_US", us(own.PausedPS)},
			{"TX_PAUSE_DURATION_US", us(own.AskedPS)},
		} {
			name := fmt.Sprintf("SAI_PORT_STAT_PFC_%d_%s", c, y.name)
			yield(e.family(name, "", "SONiC's counter of that name"), plain, y.n)
		}
	}
}

// queue tells what a queue of a switch sent, dropped and marked.
func (e *Exporter) queue(p *record.Port, number string, with func(name, value string) string,
	yield func(*Family, string, int64)) {
	drops := queueDrops(p)
	device := e.label(labelled{node: p.Node, device: ethernet(p.Port), second: "queue", value: number})
	unicast := with("queue", number) + `,delivery_mode="unicast"`
	for _, x := range [...]struct {
		name, labels, help string
		n                  int64
	}{
		{"sonic_interface_queue_processed_packets_total", unicast, "Packets that the queue sent", p.TxPackets},
		{"sonic_interface_queue_processed_bytes_total", unicast, "Bytes that the queue sent", p.TxBytes},
		{"sonic_queue_dropped_packets_total", device, "Packets that the queue dropped", drops.packets},
		{"sonic_queue_dropped_bytes_total", device, "Bytes that the queue dropped", drops.bytes},
		{"sonic_queue_shared_watermark_bytes_total", device, "The most bytes that waited in the queue", p.PeakQueueBytes},
	} {
		yield(e.family(x.name, "counter", x.help), x.labels, x.n)
	}
	marks := e.family("SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", "", "SONiC's counter of that name")
	yield(marks, with("queue", number), p.Marked)
}

// LeftOut says which counters of these exporters no part of the model feeds.
const LeftOut = "of exporters' metrics what no part of the model feeds: state_id, physical_state_id, link_downed, " +
	"symbol_error, multicast, legacy and constraint counters of infiniband; rings, vports and PCIe of ethtool; " +
	"optics, fans, multicast queues and pool watermarks of SONiC"

// Requests calls yield with each counter of requests that hosts answered, and which messages it counts.
func (e *Exporter) Requests(r *record.Run, yield func(f *Family, labels string, messages []*record.Message)) {
	b := boxesOf(r)
	by := map[string]*[3][]*record.Message{}
	for i := range r.Messages {
		m := &r.Messages[i]
		k := request(m)
		if host := record.HostOf(m.Dst); k >= 0 && m.CompletionPS >= 0 {
			if by[host] == nil {
				by[host] = new([3][]*record.Message)
			}
			by[host][k] = append(by[host][k], m)
		}
	}
	for _, node := range b.nodes {
		if !b.hosts[node] || !b.verbs[node] {
			continue
		}
		for k, name := range [...]string{"rx_write_requests", "rx_read_requests", "rx_atomic_requests"} {
			var list []*record.Message
			if by[node] != nil {
				list = by[node][k]
			}
			help := [...]string{"WRITE", "READ", "Atomic"}[k] + " requests that were answered; each counts when it is complete"
			yield(e.family("node_infiniband_"+name+"_total", "counter", help),
				e.label(labelled{node: node, device: "mlx5_0", port: "1"}), list)
		}
	}
}
