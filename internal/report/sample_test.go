package report

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// The runs below are made by hand, with the figures a run could have; the
// goldens in testdata hold their reports.

func act(count int64, first, last units.Time, sum int64) record.Act {
	return record.Act{Count: count, First: first, Last: last, Sum: sum}
}

func notes() []record.Note {
	return []record.Note{
		{Key: "dcqcn.preset", Value: "nvidia", Source: "NVIDIA DCQCN parameters page"},
		{Key: "rpg_ai_rate", Value: "5 Mb/s", Source: "NVIDIA DCQCN parameters page"},
		{Key: "rpg_byte_reset", Value: "32767 B", Source: "NVIDIA DCQCN parameters page"},
		{Key: "rpg_time_reset", Value: "300 us", Source: "NVIDIA DCQCN parameters page"},
		{Key: "switch.ecn.kmin", Value: "400 KB", Source: "Zhu et al., SIGCOMM 2015, scaled by link rate"},
		{Key: "switch.ecn.kmax", Value: "1.6 MB", Source: "Zhu et al., SIGCOMM 2015, scaled by link rate"},
		{Key: "switch.ecn.pmax", Value: "20 %", Source: "Zhu et al., SIGCOMM 2015, scaled by link rate"},
		{Key: "pfc.headroom", Value: "49.6 KB per port and class", Source: "physical bound for 5 m at 400 Gb/s, MTU 4096"},
	}
}

// oneFlow is a single message over an idle star.
func oneFlow() *record.Run {
	return &record.Run{
		Scenario: "single", Stack: "rocev2", Seed: 1, EndPS: 21_400_000, Stopped: "quiescence",
		Fingerprint: "9d3fb1a04c77e210", Events: 5000, PacketHops: 1472, Notes: notes(),
		Messages: []record.Message{{Src: "h0", Dst: "h1", QP: 17, Workload: "stream", Verb: "WRITE", Bytes: 1_000_000,
			CompletionPS: 21_312_480, Status: "success", IdealPS: 21_312_480}},
		QPs: []record.QP{
			{Host: "h0", QP: 17, Peer: record.HostAt("h1"), Workload: "stream", State: "RTS", SentPackets: 245, SentBytes: 1_000_000, FinalRateBps: 400 * units.Gbps},
			{Host: "h1", QP: 17, Peer: record.HostAt("h0"), Workload: "stream", State: "RTS", DeliveredBytes: 1_000_000},
		},
		Ports: []record.Port{
			{Node: "h0", Port: 1, Peer: record.PortID{Node: "sw", Port: 1}, Class: 3, RateBps: 400 * units.Gbps, PeakQueueBytes: 4158, TxPackets: 245, TxBytes: 1_015_190, Utilisation: 0.95},
			{Node: "sw", Port: 2, Peer: record.PortID{Node: "h1", Port: 1}, Class: 3, RateBps: 400 * units.Gbps, PeakQueueBytes: 4158, PeakIngress: 0, TxPackets: 245, TxBytes: 1_015_190, Utilisation: 0.95},
			{Node: "sw", Port: 1, Peer: record.PortID{Node: "h0", Port: 1}, Class: 3, RateBps: 400 * units.Gbps, PeakQueueBytes: 66, PeakIngress: 4158, TxPackets: 245, TxBytes: 16_170, Utilisation: 0.02},
			{Node: "sw", Port: 3, Peer: record.PortID{Node: "h2", Port: 1}, Class: 3, RateBps: 400 * units.Gbps},
		},
	}
}

// incast is four hosts that send to a fifth, slowed by DCQCN after a few
// pauses.
func incast() *record.Run {
	r := &record.Run{
		Scenario: "incast-4to1", Description: "Four hosts send 64 MB each at once to one host through one switch.",
		Stack: "rocev2", Seed: 1, EndPS: 5_402_118_340, Stopped: "quiescence", Fingerprint: "4c1f09aa7be2d853",
		Events: 900_000, PacketHops: 190_000, Notes: notes(),
		Warnings: []string{"switch sw port 5: Kmin 400 KB lies above the XOFF threshold 310 KB, so PFC acts before ECN marks"},
	}
	for i := range 4 {
		host := fmt.Sprintf("h%d", i)
		took := units.Time(5_310_442_880 + 23_118_000*i)
		r.Messages = append(r.Messages, record.Message{Src: host, Dst: "h4", QP: 1, Workload: "incast", Verb: "WRITE", Bytes: 64_000_000,
			CompletionPS: took, Status: "success", IdealPS: 1_300_112_000})
		r.QPs = append(r.QPs,
			record.QP{Host: host, QP: 1, Peer: record.HostAt("h4"), Workload: "incast", State: "RTS", SentPackets: 15625, SentBytes: 64_000_000,
				CNPsReceived: 301, RateCuts: 300, FinalRateBps: 101 * units.Gbps, MinRateBps: 31 * units.Gbps},
			record.QP{Host: "h4", QP: 1 + i, Peer: record.HostAt(host), Workload: "incast", State: "RTS", DeliveredBytes: 64_000_000, CNPsSent: 301})
		r.Ports = append(r.Ports,
			record.Port{Node: host, Port: 1, Peer: record.PortID{Node: "sw", Port: i + 1}, Class: 3, RateBps: 400 * units.Gbps, PeakQueueBytes: 4158,
				TxPackets: 15625, TxBytes: 64_900_000, PausesReceived: 21, HeldPS: units.Time(298_400_000 + i), PausedPS: 310_000_000, Utilisation: 0.24},
			record.Port{Node: "sw", Port: i + 1, Peer: record.PortID{Node: host, Port: 1}, Class: 3, RateBps: 400 * units.Gbps, PeakQueueBytes: 132, PeakIngress: 345_000,
				PeakHeadroom: 35_000, TxPackets: 3907, TxBytes: 250_048, PausesSent: 21, ResumesSent: 21})
	}
	r.Ports = append(r.Ports,
		record.Port{Node: "sw", Port: 5, Peer: record.PortID{Node: "h4", Port: 1}, Class: 3, RateBps: 400 * units.Gbps, PeakQueueBytes: 1_203_418, PeakQueuePS: 12_800_000,
			MeanQueueBytes: 310_204.4, TxPackets: 62_500, TxBytes: 259_600_000, Marked: 48_211, Utilisation: 0.981},
		record.Port{Node: "h4", Port: 1, Peer: record.PortID{Node: "sw", Port: 5}, Class: 3, RateBps: 400 * units.Gbps, PeakQueueBytes: 66, TxPackets: 15_628, TxBytes: 1_000_192},
		record.Port{Node: "h4", Port: 1, Peer: record.PortID{Node: "sw", Port: 5}, Class: 6, RateBps: 400 * units.Gbps, PeakQueueBytes: 78, TxPackets: 1_204, TxBytes: 93_912})
	r.Ledger = []record.Entry{
		{Question: catalog.Detected, Mechanism: catalog.XOFFCross, Actor: record.ClassAt("sw", 1, 3, catalog.Ethernet), Act: act(21, 11_204_000, 310_000_000, 0)},
		{Question: catalog.Detected, Mechanism: catalog.XOFFCross, Actor: record.ClassAt("sw", 2, 3, catalog.Ethernet), Act: act(21, 11_204_000, 310_000_000, 0)},
		{Question: catalog.Detected, Mechanism: catalog.ECNMark, Actor: record.ClassAt("sw", 5, 3, catalog.Ethernet), Act: act(48_211, 3_104_220, 5_210_000_000, 0)},
		{Question: catalog.FedBack, Mechanism: catalog.CNPSent, Actor: record.QPAt(catalog.RC, "h4", 1), Act: act(602, 3_900_000, 5_211_000_000, 0)},
		{Question: catalog.FedBack, Mechanism: catalog.CNPSent, Actor: record.QPAt(catalog.RC, "h4", 2), Act: act(602, 3_983_160, 5_211_000_000, 0)},
		{Question: catalog.Slowed, Mechanism: catalog.RateCut, Actor: record.QPAt(catalog.RC, "h0", 1), Act: act(600, 4_800_000, 5_212_000_000, 9_000_000_000_000)},
		{Question: catalog.Slowed, Mechanism: catalog.RateCut, Actor: record.QPAt(catalog.RC, "h1", 1), Act: act(600, 4_810_000, 5_212_000_000, 9_000_000_000_000)},
	}
	for i := range 4 {
		r.Ledger = append(r.Ledger, record.Entry{Question: catalog.Held, Mechanism: catalog.PFCPause, Actor: record.ClassAt(fmt.Sprintf("h%d", i), 1, 3, catalog.Ethernet), Act: act(21, 12_014_000, 309_000_000, int64(298_400_000+i))})
	}
	return r
}

// manyFlows is two workload entries of many messages each on a fabric whose
// names are long, with more congested ports than are listed.
func manyFlows() *record.Run {
	r := &record.Run{Scenario: "leaf-spine-mix", Stack: "rocev2", Seed: 7, EndPS: 14_050_000_000, Stopped: "stop time", OpenMessages: 3,
		Fingerprint: "00ab44de19c2f6b7", Notes: notes()}
	for i := range 200 {
		f := record.Message{Src: fmt.Sprintf("server-%02d", i%16), Dst: fmt.Sprintf("server-%02d", (i*7+3)%16), QP: 1 + i/16, Workload: "shuffle",
			Verb: "WRITE", Bytes: 8_000_000, StartPS: 0, CompletionPS: units.Time(700_000_000 + i*i*40_000), Status: "success", IdealPS: 643_000_000}
		if i%4 == 3 {
			f.Workload, f.Verb, f.Bytes, f.IdealPS = "rpc", "SEND", 2_000, 4_210_000
			f.StartPS, f.CompletionPS = units.Time(i)*50_000_000, units.Time(4_300_000+i*90_000)
		}
		if i >= 197 {
			f.Status, f.CompletionPS = "open", -1
		}
		r.Messages = append(r.Messages, f)
	}
	for leaf := range 4 {
		for port := 1; port <= 6; port++ {
			n := int64(leaf*6 + port)
			r.Ports = append(r.Ports, record.Port{Node: fmt.Sprintf("leaf-%d", leaf), Port: port, Peer: record.PortID{Node: fmt.Sprintf("server-%02d", leaf*4+port-1), Port: 1},
				Class: 3, RateBps: 100 * units.Gbps, PeakQueueBytes: n * 40_000, MeanQueueBytes: float64(n) * 9_000.5, TxPackets: 100_000 * n,
				TxBytes: 415_000_000, Marked: max(0, (n-8)*1_234_567), PausesSent: max(0, n-12), PausesReceived: max(0, n-20),
				HeldPS: units.Time(max(0, n-20) * 1_234_567_000), PausedPS: units.Time(max(0, n-20) * 1_500_000_000), Utilisation: 0.5})
		}
	}
	r.Ledger = []record.Entry{
		{Question: catalog.Detected, Mechanism: catalog.ECNMark, Actor: record.ClassAt("leaf-3", 6, 3, catalog.Ethernet), Act: act(19_753_072, 61_204_000, 14_000_000_000, 0)},
		{Question: catalog.FedBack, Mechanism: catalog.CNPSent, Actor: record.QPAt(catalog.RC, "server-11", 4), Act: act(120_400, 62_000_000, 14_000_900_000, 0)},
		{Question: catalog.Slowed, Mechanism: catalog.RateCut, Actor: record.QPAt(catalog.RC, "server-02", 4), Act: act(119_000, 63_000_000, 14_001_900_000, 0)},
		{Question: catalog.Held, Mechanism: catalog.PFCPause, Actor: record.ClassAt("leaf-3", 6, 3, catalog.Ethernet), Act: act(4, 163_000_000, 13_000_000_000, 4_938_268_000)},
	}
	return r
}

// deadlock is a cycle of holds between three switches.
func deadlock() *record.Run {
	r := &record.Run{Scenario: "ring-deadlock", Stack: "rocev2-pfc-only", Seed: 1, EndPS: 812_400_000, Stopped: "deadlock", OpenMessages: 3,
		Fingerprint: "77aa01d2c3e4f506"}
	for i := range 3 {
		next := (i + 1) % 3
		name := fmt.Sprintf("s%d", i)
		r.Messages = append(r.Messages, record.Message{Src: fmt.Sprintf("h%d", i), Dst: fmt.Sprintf("h%d", (i+2)%3), QP: 1, Workload: "ring",
			Verb: "WRITE", Bytes: 10_000_000, CompletionPS: -1, Status: "open"})
		r.Ports = append(r.Ports, record.Port{Node: name, Port: 2, Peer: record.PortID{Node: fmt.Sprintf("s%d", next), Port: 1}, Class: 3, RateBps: 100 * units.Gbps,
			PeakQueueBytes: 300_000, MeanQueueBytes: 290_000, TxPackets: 80, TxBytes: 330_000, PausesReceived: 1, PausesSent: 1,
			HeldPS: 790_000_000, PausedPS: 790_000_000})
		r.Ledger = append(r.Ledger,
			record.Entry{Question: catalog.Detected, Mechanism: catalog.XOFFCross, Actor: record.ClassAt(name, 1, 3, catalog.Ethernet), Act: act(1, units.Time(20_000_000+i), units.Time(20_000_000+i), 0)},
			record.Entry{Question: catalog.Held, Mechanism: catalog.PFCPause, Actor: record.ClassAt(name, 2, 3, catalog.Ethernet), Act: act(1, 22_400_000, 22_400_000, 790_000_000)})
	}
	return r
}

// errorCompletions is a lossy path that one of three queue pairs gives up on,
// and a wrong R_Key.
func errorCompletions() *record.Run {
	return &record.Run{Scenario: "failures", Stack: "rocev2", Seed: 3, EndPS: 620_000_000_000, Stopped: "quiescence", Fingerprint: "aa00bb11cc22dd33",
		Messages: []record.Message{
			{Src: "h0", Dst: "h3", QP: 1, Workload: "ok", Verb: "WRITE", Bytes: 4_000_000, CompletionPS: 101_000_000, Status: "success"},
			{Src: "h1", Dst: "h3", QP: 1, Workload: "dead-link", Verb: "WRITE", Bytes: 4_000_000, StartPS: 10_000_000, CompletionPS: 536_870_912_000, Status: "transport retry counter exceeded"},
			{Src: "h2", Dst: "h3", QP: 1, Workload: "bad-key", Verb: "WRITE", Bytes: 4_000_000, CompletionPS: 4_100_000, Status: "remote access error"},
			{Src: "h2", Dst: "h3", QP: 1, Workload: "bad-key", Verb: "WRITE", Bytes: 4_000_000, CompletionPS: 4_100_000, Status: "work request flushed error"},
		},
		Ports: []record.Port{{Node: "sw", Port: 2, Peer: record.PortID{Node: "h1", Port: 1}, Class: 3, RateBps: 100 * units.Gbps, PeakQueueBytes: 90_000, TxPackets: 1000, TxBytes: 4_100_000,
			Dropped: 1012, DroppedBytes: 4_190_000, DropCauses: []record.Drop{
				{Cause: catalog.DropLinkDown, Act: act(1000, 30_000_000, 500_000_000_000, 4_140_000)},
				{Cause: catalog.DropBitError, Act: act(12, 12_000_000, 29_000_000, 50_000)}}}},
		Ledger: []record.Entry{
			{Question: catalog.Detected, Mechanism: catalog.BufferDrop, Actor: record.ClassAt("sw", 2, 3, catalog.Ethernet), Act: act(1012, 12_000_000, 500_000_000_000, 4_190_000)},
			{Question: catalog.Detected, Mechanism: catalog.SequenceGap, Actor: record.QPAt(catalog.RC, "h3", 2), Act: act(1, 12_400_000, 12_400_000, 0)},
			{Question: catalog.Detected, Mechanism: catalog.AckTimeout, Actor: record.QPAt(catalog.RC, "h1", 1), Act: act(8, 97_108_864, 469_762_048_000, 0)},
			{Question: catalog.FedBack, Mechanism: catalog.NAKSent, Actor: record.QPAt(catalog.RC, "h3", 2), Act: act(1, 12_400_000, 12_400_000, 0)},
			{Question: catalog.Recovered, Mechanism: catalog.RetransNAK, Actor: record.QPAt(catalog.RC, "h1", 1), Act: act(31, 13_000_000, 13_900_000, 0)},
			{Question: catalog.Recovered, Mechanism: catalog.RetransTimer, Actor: record.QPAt(catalog.RC, "h1", 1), Act: act(969, 97_108_864, 469_762_048_000, 0)},
		},
	}
}

// late moves a run two seconds on, as the traces of other simulators have it.
func late(r *record.Run) *record.Run {
	const shift = 2 * units.Second
	r.EndPS += shift
	for i := range r.Messages {
		r.Messages[i].StartPS += shift
	}
	for i := range r.Ledger {
		r.Ledger[i].First += shift
		r.Ledger[i].Last += shift
	}
	return r
}
