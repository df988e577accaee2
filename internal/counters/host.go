package counters

import (
	"fmt"

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
		id := record.PortID{Node: host, Port: n}
		fmt.Fprintf(&l, "\n$ ethtool -S eth%d\nNIC statistics:\n", n-1)
		var rx, tx, pauses, pausesSent traffic
		var crc, discards int64
		for c := range classes {
			own, in := b.row(id, c), b.received(id, c)
			far := b.facing(id, c)
			rx.packets, rx.bytes = rx.packets+in.packets, rx.bytes+in.bytes
			tx.packets, tx.bytes = tx.packets+own.TxPackets, tx.bytes+own.TxBytes
			pauses.packets += pauseFrames(&far) - lostPauses(&far)
			pausesSent.packets += pauseFrames(&own)
			for _, d := range far.DropCauses {
				if d.Cause.Damages() {
					crc += d.Count
				}
			}
			for _, d := range own.DropCauses {
				if d.Cause == catalog.DropReceive {
					discards += d.Count
				}
			}
		}
		l.add("rx_packets_phy", rx.packets)
		l.add("rx_bytes_phy", rx.bytes)
		l.add("tx_packets_phy", tx.packets)
		l.add("tx_bytes_phy", tx.bytes)
		l.add("rx_crc_errors_phy", crc)
		l.add("rx_discards_phy", discards)
		l.add("rx_pause_ctrl_phy", pauses.packets)
		l.add("tx_pause_ctrl_phy", pausesSent.packets)
		for c := range classes {
			own, in := b.row(id, c), b.received(id, c)
			l.add(fmt.Sprintf("rx_prio%d_bytes", c), in.bytes)
			l.add(fmt.Sprintf("rx_prio%d_packets", c), in.packets)
			l.add(fmt.Sprintf("tx_prio%d_bytes", c), own.TxBytes)
			l.add(fmt.Sprintf("tx_prio%d_packets", c), own.TxPackets)
		}
		for _, c := range b.r.PauseClasses {
			own, far := b.row(id, c), b.facing(id, c)
			l.add(fmt.Sprintf("rx_prio%d_pause", c), pauseFrames(&far)-lostPauses(&far))
			l.add(fmt.Sprintf("rx_prio%d_pause_duration", c), us(own.PausedPS))
			l.add(fmt.Sprintf("tx_prio%d_pause", c), pauseFrames(&own))
			l.add(fmt.Sprintf("tx_prio%d_pause_duration", c), us(own.AskedPS))
			l.add(fmt.Sprintf("rx_prio%d_pause_transition", c), own.PausesReceived)
		}
	}
	return l.String()
}

// rdma is what `rdma statistic` prints at a host with mlx5 cards: the counters of
// /sys/class/infiniband/*/ports/*/hw_counters.
func (b *boxes) rdma(host string) string {
	var cnps, handled, marked, timeouts, naks int64
	for i := range b.r.QPs {
		q := &b.r.QPs[i]
		if q.TCP != nil {
			continue
		}
		switch host {
		case q.Host:
			cnps, handled, timeouts = cnps+q.CNPsSent, handled+q.CNPsReceived, timeouts+q.Timeouts
			marked += q.CNPsSent + q.CNPsLimited
		case q.Peer.Node:
			naks += q.NAKsSent
		}
	}
	var writes, reads, atomics int64
	for i := range b.r.Messages {
		m := &b.r.Messages[i]
		if record.HostOf(m.Dst) != host || m.CompletionPS < 0 {
			continue
		}
		switch m.Verb {
		case "WRITE", "WRITE_IMM":
			writes++
		case "READ":
			reads++
		case "FETCH_ADD", "CMP_SWAP":
			atomics++
		}
	}
	text := "# rdma statistic, of cards that count as mlx5 does\n" +
		"# left out: rp_cnp_ignored, duplicate_request, implied_nak_seq_err, resp_* and req_* errors, rx_icrc_encapsulated\n" +
		"# requests count when they are complete\n\n" +
		"$ rdma statistic show link mlx5_0/1\nlink mlx5_0/1"
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"rx_write_requests", writes}, {"rx_read_requests", reads}, {"rx_atomic_requests", atomics},
		{"out_of_buffer", b.ledger(host, catalog.RNR)},
		{"out_of_sequence", b.ledger(host, catalog.SequenceGap)},
		{"packet_seq_err", naks},
		{"local_ack_timeout_err", timeouts},
		{"roce_slow_restart", b.ledger(host, catalog.SlowRestart)},
		{"np_cnp_sent", cnps}, {"np_ecn_marked_roce_packets", marked}, {"rp_cnp_handled", handled},
	} {
		text += fmt.Sprintf(" %s %d", c.name, c.n)
	}
	return text + "\n"
}
