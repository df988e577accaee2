package report

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rows"
)

// lines makes a table of one line per row.
func lines(name string, header []string, n int, row func(i int) []string) *rows.Table {
	return &rows.Table{Name: name, N: n, Header: header, Cells: func(i int, put func(...string)) { put(row(i)...) }}
}

// integer writes any of the integer types of the records in base 10.
func integer[T ~int | ~int32 | ~int64](v T) string { return strconv.FormatInt(int64(v), 10) }

// decimal writes v with as many digits as it takes to read it back exactly.
func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// stageTable has a line per stage of each message's time account; message
// counts the rows of messages.csv from 0.
func stageTable(flows []record.Message) *rows.Table {
	var account record.Account
	return &rows.Table{Name: "accounts", N: len(flows), Header: []string{"message", "stage", "where", "time_ps"},
		Cells: func(i int, put func(...string)) {
			flow := strconv.Itoa(i)
			account = flows[i].Account.Append(account[:0])
			for _, s := range account {
				put(flow, s.Stage.String(), s.Place().String(), integer(s.Time))
			}
		}}
}

// callTable has a row per remote procedure call; request and reply count the rows
// of messages.csv from 0. -1: not over by the end.
func callTable(r *record.Run) *rows.Table {
	all := metrics.CallsOf(r)
	header := []string{"workload", "client", "server", "request", "reply", "start_ps", "request_ps", "think_ps",
		"reply_ps", "latency_ps"}
	return lines("rpcs", header, len(all), func(i int) []string {
		c := &all[i]
		f := &r.Messages[c.Request]
		return []string{c.Workload, f.Src, f.Dst, integer(c.Request), integer(c.Reply), integer(c.StartPS),
			integer(c.RequestPS), integer(c.ThinkPS), integer(c.ReplyPS), integer(c.LatencyPS)}
	})
}

// slowdownTable has a row per range of sizes; slowdowns are in thousandths.
func slowdownTable(r *record.Run) *rows.Table {
	all := metrics.Slowdowns(r.Messages)
	header := []string{"from_bytes", "to_bytes", "messages", "best_milli", "p50_milli", "p95_milli", "p99_milli",
		"worst_milli", "mean_milli"}
	return lines("slowdowns", header, len(all), func(i int) []string {
		s := &all[i]
		q := &s.SlowdownMilli
		return []string{integer(s.FromBytes), integer(s.ToBytes), integer(q.N), integer(q.Best), integer(q.P50), integer(q.P95),
			integer(q.P99), integer(q.Worst), integer(q.Mean)}
	})
}

// portTable leaves the extremes of the measure window empty when there is none.
func portTable(ports []record.Port, measured bool) *rows.Table {
	inWindow := func(n int64) string {
		if !measured {
			return ""
		}
		return integer(n)
	}
	header := []string{"node", "port", "peer", "class", "link_layer", "rate_bps", "peak_queue_bytes", "peak_queue_at_ps",
		"mean_queue_bytes", "min_queue_bytes", "max_queue_bytes", "peak_ingress_bytes", "peak_headroom_bytes", "tx_packets", "tx_bytes",
		"utilisation", "marked", "pauses_sent", "pauses_received", "refreshes_sent", "resumes_sent",
		"held_ps", "paused_ps", "asked_pause_ps", "dropped", "dropped_bytes"}
	t := lines("ports", header, len(ports), func(i int) []string {
		p := &ports[i]
		return []string{p.Node, integer(p.Port), p.Peer.String(), integer(p.Class), p.Layer.String(), integer(p.RateBps),
			integer(p.PeakQueueBytes),
			integer(
				p.PeakQueuePS,
			), decimal(p.MeanQueueBytes), inWindow(p.MinQueueBytes), inWindow(p.MaxQueueBytes), integer(p.PeakIngress),
			integer(p.PeakHeadroom), integer(p.TxPackets), integer(p.TxBytes), decimal(p.Utilisation), integer(p.Marked),
			integer(p.PausesSent), integer(p.PausesReceived), integer(p.RefreshesSent), integer(p.ResumesSent),
			integer(p.HeldPS), integer(p.PausedPS), integer(p.AskedPS), integer(p.Dropped), integer(p.DroppedBytes)}
	})
	t.Value = func(i int) any { return &ports[i] }
	return t
}

// qpTable leaves the columns of TCP and iWARP empty for others.
func qpTable(qps []record.QP) *rows.Table {
	header := []string{"host", "qp", "peer", "workload", "link_layer", "service", "state", "sent_packets", "sent_bytes",
		"delivered_bytes",
		"retransmitted_packets", "retransmitted_bytes", "cnps_sent", "cnps_received", "rate_cuts", "naks_sent", "timeouts",
		"final_rate_bps", "min_rate_bps", "measured_bytes", "posts", "polls", "receive_polls", "receive_posts", "cpu_ps",
		"context_misses", "translation_misses", "peak_ccti", "messages_dropped", "refused_since_ps",
		"cnps_limited", "at_min_rate_ps", "peak_ahead_packets", "cnps_ignored"}
	for _, c := range tcpColumns(&record.TCP{}) {
		header = append(header, c.name)
	}
	for _, c := range iwarpColumns(&record.IWARP{}) {
		header = append(header, c.name)
	}
	t := lines("qps", header, len(qps), func(i int) []string {
		q := &qps[i]
		var last []string
		for _, c := range tcpColumns(cmp.Or(q.TCP, &record.TCP{})) {
			if !q.Is(catalog.Segments) {
				c.value = ""
			}
			last = append(last, c.value)
		}
		for _, c := range iwarpColumns(cmp.Or(q.OverTCP(), &record.IWARP{})) {
			if q.OverTCP() == nil {
				c.value = ""
			}
			last = append(last, c.value)
		}
		return append([]string{q.Host, integer(q.QP), q.Peer.String(), q.Workload, q.Layer.String(), q.Service.String(),
			q.State, integer(q.SentPackets), integer(q.SentBytes),
			integer(
				q.DeliveredBytes,
			), integer(q.Retransmitted), integer(q.RetransmittedBytes), integer(q.CNPsSent), integer(q.CNPsReceived),
			integer(q.RateCuts), integer(q.NAKsSent), integer(q.Timeouts), integer(q.FinalRateBps),
			integer(q.MinRateBps), integer(q.MeasuredBytes), integer(q.Posts), integer(q.Polls), integer(q.Receives),
			integer(
				q.Reposts,
			), integer(q.CPUPS), integer(q.ContextMisses), integer(q.TranslationMisses), integer(q.PeakCCTI), integer(q.Discards.Total()), integer(q.RefusedPS),
			integer(q.CNPsLimited), integer(q.AtMinRatePS), integer(q.PeakAhead),
			integer(q.CNPsIgnored)}, last...)
	})
	t.Value = func(i int) any { return &qps[i] }
	return t
}

// iwarpColumns are those of qps.csv that only iWARP fills.
func iwarpColumns(w *record.IWARP) []tcpColumn {
	return []tcpColumn{{"fpdus", integer(w.FPDUs)}, {"placed_ahead", integer(w.PlacedAhead)},
		{"kept_ahead", integer(w.KeptAhead)}, {"markers", strconv.FormatBool(w.Markers)}, {"ended", w.Ended},
		{"ended_ps", integer(w.EndedPS)}, {"end_reason", w.Reason}}
}

// tcpColumn is a column of qps.csv that only TCP fills.
type tcpColumn struct{ name, value string }

func tcpColumns(t *record.TCP) []tcpColumn {
	application, softirq := "", ""
	if t.Cores != nil {
		application, softirq = integer(t.Cores.Application), integer(t.Cores.Softirq)
	}
	return []tcpColumn{
		{"congestion_control", t.CC}, {"pacing", strconv.FormatBool(t.Pacing)}, {"cwnd_bytes",
			integer(t.CwndBytes)}, {"initial_cwnd_bytes", integer(t.InitialCwnd)},
		{"ssthresh_bytes", integer(t.SsthreshBytes)}, {"alpha", decimal(t.Alpha)},
		{"srtt_ps", integer(t.SRTT)}, {"min_rtt_ps", integer(t.MinRTT)}, {"rto_ps", integer(t.RTO)}, {"send_buffer_bytes",
			integer(t.SendBuffer)},
		{"receive_buffer_bytes", integer(t.ReceiveBuffer)}, {"pure_acks", integer(t.PureAcks)}, {"out_of_order_segments",
			integer(t.OutOfOrder)},
		{"duplicate_segments", integer(t.Duplicates)}, {"tail_loss_probes", integer(t.TLPs)}, {"zero_windows_advertised",
			integer(t.ZeroWindows)},
		{"persist_timeouts", integer(t.Persists)}, {"window_updates_lost", integer(t.UpdatesLost)},
		{"handshake_ps", integer(t.HandshakePS)}, {"receive_window_ps", integer(t.ReceiveWindowPS)}, {"send_buffer_ps",
			integer(t.SendBufferPS)}, {"nagle_ps", integer(t.NaglePS)},
		{"loss_detection_ps", integer(t.DetectionPS)}, {"timeout_ps", integer(t.TimeoutPS)}, {"unscaled",
			fmt.Sprint(t.Unscaled)},
		{"application_core", application}, {"softirq_core", softirq},
	}
}

// cpuTable has a line per host, direction and cause.
func cpuTable(hosts []record.Processors) *rows.Table {
	return &rows.Table{Name: "cpu", N: len(hosts), Header: []string{"host", "direction", "cause", "time_ps"},
		Cells: func(i int, put func(...string)) {
			for _, x := range hosts[i].Times {
				put(hosts[i].Host, x.Direction, x.Cause, integer(x.PS))
			}
		}}
}

// serverTable has a row per direction of a link inside a server, and per copy engine.
func serverTable(servers []record.Server) *rows.Table {
	all := insides(servers)
	header := []string{"host", "server", "link", "kind", "rate_bps", "payload_bytes", "bytes", "transfers", "busy_ps",
		"waited_ps", "credits_ps", "peak_wait_ps", "peak_at_ps"}
	return lines("servers", header, len(all), func(i int) []string {
		l := all[i]
		return []string{l.host, l.server, l.Name, l.Kind, integer(l.Rate), integer(l.PayloadBytes), integer(l.Bytes),
			integer(l.Transfers),
			integer(l.BusyPS), integer(l.WaitedPS), integer(l.CreditsPS), integer(l.PeakPS), integer(l.PeakAtPS)}
	})
}

// ledgerTable has a row per question, mechanism and actor.
func ledgerTable(ledger []record.Entry) *rows.Table {
	header := []string{"question", "mechanism", "actor", "node", "count", "first_ps", "last_ps", "sum", "sum_unit"}
	t := lines("ledger", header, len(ledger), func(i int) []string {
		e := &ledger[i]
		return []string{e.Question.String(), e.Mechanism.String(), e.Actor.String(), e.Actor.Node, integer(e.Count),
			integer(e.First), integer(e.Last), integer(e.Sum), e.Mechanism.Unit().String()}
	})
	t.Value = func(i int) any { return &ledger[i] }
	return t
}

// placeTable has a line per mechanism and place where it could act; unit says
// what value and threshold count.
func placeTable(r *record.Run) *rows.Table {
	all := metrics.Mechanisms(r, 0)
	header := []string{"mechanism", "where", "count", "held_ps", "first_ps", "value", "threshold", "unit", "at_ps", "why"}
	return &rows.Table{Name: "mechanisms", N: len(all), Header: header, Cells: func(i int, put func(...string)) {
		for k := range all[i].Places {
			p := &all[i].Places[k]
			put(all[i].Mechanism.String(), p.Where.String(), integer(p.Count), integer(p.HeldPS), integer(p.FirstPS),
				integer(p.Value), integer(p.Threshold), p.Unit, integer(p.AtPS), p.Why)
		}
	}}
}
