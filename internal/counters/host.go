package counters

import (
	"fmt"
	"strconv"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// ethtool is what `ethtool -S` prints at a host with mlx5 cards (Linux,
// Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst).
func (b *boxes) ethtool(host string) string {
	var l lines
	fmt.Fprintf(&l, "# ethtool -S, of cards that count as mlx5 does\n"+
		"# left out: ring counters (rx0_packets ...), vport and PCIe counters, errors of links that the model does not tell apart\n")
	for _, n := range b.numbers(host) {
		fmt.Fprintf(&l, "\n$ ethtool -S eth%d\nNIC statistics:\n", n-1)
		for _, c := range b.card(record.PortID{Node: host, Port: n}) {
			l.add(c.name, c.n)
		}
	}
	return l.String()
}

// count is a counter under the name that its command gives it.
type count struct {
	name string
	n    int64
}

// card are the counters of one port of a host, in the order in which ethtool prints them.
func (b *boxes) card(id record.PortID) (out []count) {
	add := func(name string, n int64) { out = append(out, count{name, n}) }
	var rx, tx traffic
	var pauses, pausesSent, crc, discards int64
	for c := range classes {
		own, in, far := b.row(id, c), b.received(id, c), b.facing(id, c)
		rx.packets, rx.bytes = rx.packets+in.packets, rx.bytes+in.bytes
		tx.packets, tx.bytes = tx.packets+own.TxPackets, tx.bytes+own.TxBytes
		pauses += pauseFrames(far) - lostPauses(far)
		pausesSent += pauseFrames(own)
		crc += damaged(far)
		for _, d := range own.DropCauses {
			if d.Cause == catalog.DropReceive {
				discards += d.Count
			}
		}
	}
	add("rx_packets_phy", rx.packets)
	add("rx_bytes_phy", rx.bytes)
	add("tx_packets_phy", tx.packets)
	add("tx_bytes_phy", tx.bytes)
	add("rx_crc_errors_phy", crc)
	add("rx_discards_phy", discards)
	add("rx_pause_ctrl_phy", pauses)
	add("tx_pause_ctrl_phy", pausesSent)
	prio := func(way string, c int, what string, n int64) {
		add(way+"_prio"+strconv.Itoa(c)+"_"+what, n)
	}
	for c := range classes {
		own, in := b.row(id, c), b.received(id, c)
		prio("rx", c, "bytes", in.bytes)
		prio("rx", c, "packets", in.packets)
		prio("tx", c, "bytes", own.TxBytes)
		prio("tx", c, "packets", own.TxPackets)
	}
	for _, c := range b.r.PauseClasses {
		own, far := b.row(id, c), b.facing(id, c)
		prio("rx", c, "pause", pauseFrames(far)-lostPauses(far))
		prio("rx", c, "pause_duration", us(own.PausedPS))
		prio("tx", c, "pause", pauseFrames(own))
		prio("tx", c, "pause_duration", us(own.AskedPS))
		prio("rx", c, "pause_transition", own.PausesReceived)
	}
	return out
}

// damaged is how many of the frames that a port sent arrived damaged.
func damaged(p *record.Port) (n int64) {
	for _, d := range p.DropCauses {
		if d.Cause.Damages() {
			n += d.Count
		}
	}
	return n
}

// rdma is what `rdma statistic` prints at a host with mlx5 cards: the counters of
// /sys/class/infiniband/*/ports/*/hw_counters.
func (b *boxes) rdma(host string) string {
	text := "# rdma statistic, of cards that count as mlx5 does\n" +
		"# left out: rp_cnp_ignored, duplicate_request, implied_nak_seq_err, resp_* and req_* errors, rx_icrc_encapsulated\n" +
		"# requests count when they are complete\n\n" +
		"$ rdma statistic show link mlx5_0/1\nlink mlx5_0/1"
	for _, c := range append(b.requests(host), b.hardware(host)...) {
		text += fmt.Sprintf(" %s %d", c.name, c.n)
	}
	return text + "\n"
}

// hardware are the counters of a host's cards of what queue pairs met, in the order in which rdma prints them.
func (b *boxes) hardware(host string) []count {
	if b.met == nil {
		b.meet()
	}
	var n [8]int64
	if met := b.met[host]; met != nil {
		n = *met
	}
	return []count{
		{"out_of_buffer", n[0]}, {"out_of_sequence", n[1]}, {"packet_seq_err", n[2]}, {"local_ack_timeout_err", n[3]},
		{"roce_slow_restart", n[4]}, {"np_cnp_sent", n[5]}, {"np_ecn_marked_roce_packets", n[6]}, {"rp_cnp_handled", n[7]},
	}
}

// meet adds up those of all hosts, in that order.
func (b *boxes) meet() {
	b.met = map[string]*[8]int64{}
	at := func(host string, k int, n int64) {
		if b.met[host] == nil {
			b.met[host] = new([8]int64)
		}
		b.met[host][k] += n
	}
	for i := range b.r.QPs {
		q := &b.r.QPs[i]
		if q.TCP != nil {
			continue
		}
		at(q.Peer.Node, 2, q.NAKsSent)
		at(q.Host, 3, q.Timeouts)
		at(q.Host, 5, q.CNPsSent)
		at(q.Host, 6, q.CNPsSent+q.CNPsLimited)
		at(q.Host, 7, q.CNPsReceived)
	}
	for i := range b.r.Ledger {
		switch e := &b.r.Ledger[i]; e.Mechanism {
		case catalog.RNR:
			at(e.Actor.Node, 0, e.Count)
		case catalog.SequenceGap:
			at(e.Actor.Node, 1, e.Count)
		case catalog.SlowRestart:
			at(e.Actor.Node, 4, e.Count)
		}
	}
}

// requests are the counters of the requests that a host answered.
func (b *boxes) requests(host string) []count {
	out := []count{{name: "rx_write_requests"}, {name: "rx_read_requests"}, {name: "rx_atomic_requests"}}
	for i := range b.r.Messages {
		if m := &b.r.Messages[i]; record.HostOf(m.Dst) == host && m.CompletionPS >= 0 {
			if k := request(m); k >= 0 {
				out[k].n++
			}
		}
	}
	return out
}

// request is which of the requests counts a message; -1: none does.
func request(m *record.Message) int {
	switch m.Verb {
	case "WRITE", "WRITE_IMM":
		return 0
	case "READ":
		return 1
	case "FETCH_ADD", "CMP_SWAP":
		return 2
	}
	return -1
}
