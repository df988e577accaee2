package compare

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

const (
	us = units.Microsecond
	ms = units.Millisecond
)

func entry(m catalog.Mechanism, node string, count int64, first, last, sum int64) record.Entry {
	return record.Entry{Mechanism: m, Actor: record.PortAt(node, 1),
		Act: record.Act{Count: count, First: units.Time(first), Last: units.Time(last), Sum: sum}}
}

// flows returns one completed message per host of from, of 1 ms each.
func flows(from ...string) (out []record.Message) {
	for _, h := range from {
		out = append(out, record.Message{Src: h, Dst: "h9", Bytes: 1000, CompletionPS: ms, Status: "success"})
	}
	return out
}

func qps(hosts ...string) (out []record.QP) {
	for _, h := range hosts {
		out = append(out, record.QP{Host: h, Peer: record.HostAt("h9")})
	}
	return out
}

// busyCores is a host whose cores worked for these times and polled in vain for the
// rest of a millisecond.
func busyCores(name string, work ...units.Time) record.Processors {
	p := record.Processors{Host: name, Cores: 4}
	for i, t := range work {
		p.ByCore = append(p.ByCore, record.CoreTimes{Core: i, InTimePS: t, Times: []record.CPUTime{{Direction: "receive", Cause: "copy", PS: t}, {Direction: "receive", Cause: record.BusyPoll, PS: ms - t}}})
	}
	return p
}

// Each act becomes a clause with its actor, time and count from the record.
func TestSentence(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  record.Run
		want string
	}{
		{"quiet", record.Run{Messages: flows("h0"), QPs: qps("h0", "h9"), Ports: []record.Port{{Node: "sw", Port: 1, Class: 3, PeakQueueBytes: 5000}}},
			"no queue marked, crossed XOFF or dropped: the deepest held 5.00 KB (sw:1 prio 3); nobody paused and nothing was dropped; the message took 1.00 ms."},
		{"dcqcn", record.Run{Messages: flows("h0", "h1"),
			QPs: []record.QP{{Host: "h0", RateCuts: 3, MinRateBps: 96 * units.Gbps}, {Host: "h1", RateCuts: 1, MinRateBps: 120 * units.Gbps}, {Host: "h9"}},
			Ledger: []record.Entry{entry(catalog.ECNMark, "sw", 1171, 3_100_000, 9_000_000, 0), entry(catalog.CNPSent, "h9", 118, 3_200_000, 9_000_000, 0),
				entry(catalog.RateCut, "h1", 1, 5_000_000, 5_000_000, 1), entry(catalog.RateCut, "h0", 3, 4_000_000, 9_000_000, 1)}},
			"switch sw marked 1,171 packets from 3.10 us on, h9's NIC sent 118 CNPs, 2 senders cut their rates 4 times, the slowest to 96.0 Gb/s; " +
				"nobody paused and nothing was dropped; both messages completed, the slower in 1.00 ms."},
		{"instants count from the first post", record.Run{QPs: qps("h0"),
			Messages: []record.Message{{Src: "h0", Dst: "h9", StartPS: 2 * units.Second, CompletionPS: 5 * us, Status: "success"}},
			Ledger:   []record.Entry{entry(catalog.ECNMark, "sw", 1, int64(2*units.Second+3*us), int64(2*units.Second+3*us), 0)}},
			"switch sw marked 1 packet at 3.00 us; nobody paused and nothing was dropped; the message took 5.00 us."},
		{"one busy core", record.Run{EndPS: ms, Messages: flows("h0"), QPs: qps("h0", "h9"), Processors: []record.Processors{busyCores("h9", 849*us, 799*us)},
			Ports: []record.Port{{Node: "sw", Port: 1, Class: 3, PeakQueueBytes: 5000}}},
			"no queue marked, crossed XOFF or dropped: the deepest held 5.00 KB (sw:1 prio 3); a core of h9 was busy for 84 % of the time; nobody paused and nothing was dropped; the message took 1.00 ms."},
		{"busy cores of two hosts", record.Run{EndPS: ms, Messages: flows("h0"), QPs: qps("h0", "h9"), Processors: []record.Processors{busyCores("h0", 901*us), busyCores("h3", 100*us), busyCores("h9", 10*us, 999*us)},
			Ledger: []record.Entry{entry(catalog.ECNMark, "sw", 1, 9e6, 9e6, 0)}},
			"switch sw marked 1 packet at 9.00 us; 2 cores of h0 and h9 were busy for at least 90 % of the time; nobody paused and nothing was dropped; the message took 1.00 ms."},
		{"many nodes", record.Run{Messages: flows("h0", "h1", "h2"), QPs: qps("h0", "h1", "h2", "h9"),
			Ledger: []record.Entry{entry(catalog.ECNMark, "s1", 1, 9e6, 9e6, 0), entry(catalog.ECNMark, "s2", 2, 4e6, 9e6, 0), entry(catalog.ECNMark, "s3", 3, 5e6, 9e6, 0),
				entry(catalog.CEOnAck, "h9", 6, 4e6, 9e6, 0)}},
			"3 switches marked 6 packets (switch s2 first, at 4.00 us), h9's NIC flagged 6 ACKs; nobody paused and nothing was dropped; all 3 messages completed, the slowest in 1.00 ms."},
		{"another route", record.Run{Messages: flows("h0"), QPs: qps("h0", "h9"), FlowsMoved: 2, Ledger: []record.Entry{entry(catalog.ECMPChange, "leaf1", 3, 7e6, 9e6, 0)}},
			"switch leaf1 took another route for 2 one-way flows from 7.00 us on; nobody paused and nothing was dropped; the message took 1.00 ms."},
		{"who held whom", record.Run{Messages: flows("h0"), QPs: qps("h0", "h9"),
			Ports: []record.Port{{Node: "sw", Peer: record.PortID{Node: "h9", Port: 1}, PausesReceived: 34, HeldPS: 939 * us}, {Node: "h0", Peer: record.PortID{Node: "sw", Port: 1}, PausesReceived: 8, HeldPS: 197 * us},
				{Node: "h9", Peer: record.PortID{Node: "sw", Port: 2}}},
			Ledger: []record.Entry{entry(catalog.PFCSent, "sw", 8, 514e6, 600e6, 0), entry(catalog.PFCSent, "h9", 34, 29e6, 600e6, 0)}},
			"h9's NIC paused switch sw 34 times from 29.0 us on (held 939 us in all), switch sw paused h0's NIC 8 times from 514 us on (held 197 us in all); " +
				"nothing was dropped; the message took 1.00 ms."},
		{"pause that held nothing", record.Run{Messages: flows("h0"), QPs: qps("h0", "h9"),
			Ports:  []record.Port{{Node: "h0", Peer: record.PortID{Node: "sw", Port: 1}, PausesReceived: 1}},
			Ledger: []record.Entry{entry(catalog.PFCSent, "sw", 1, 5e6, 5e6, 0)}},
			"switch sw paused h0's NIC once at 5.00 us (no frame waited); nothing was dropped; the message took 1.00 ms."},
		{"many who paused", record.Run{Messages: flows("h0"), QPs: qps("h0", "h9"),
			Ports: []record.Port{{Node: "h0", Peer: record.PortID{Node: "s1", Port: 1}, PausesReceived: 1, HeldPS: 10 * us}, {Node: "s1", Peer: record.PortID{Node: "s2", Port: 1}, PausesReceived: 1, HeldPS: 30 * us},
				{Node: "s2", Peer: record.PortID{Node: "s3", Port: 1}, PausesReceived: 1, HeldPS: 20 * us}},
			Ledger: []record.Entry{entry(catalog.PFCSent, "s1", 1, 7e6, 7e6, 0), entry(catalog.PFCSent, "s2", 1, 6e6, 6e6, 0), entry(catalog.PFCSent, "s3", 1, 5e6, 5e6, 0)}},
			"3 switches paused 3 devices 3 times (switch s3 first, at 5.00 us; held 60.0 us in all, longest s1 by s2: 30.0 us); nothing was dropped; the message took 1.00 ms."},
		{"loss", record.Run{Messages: flows("h0", "h1"),
			QPs: []record.QP{{Host: "h0", RetransmittedBytes: 4000}, {Host: "h1", RetransmittedBytes: 1000}, {Host: "h9"}},
			Ports: []record.Port{
				{Node: "s2", Dropped: 1, DropCauses: []record.Drop{{Cause: catalog.DropEgress, Act: record.Act{Count: 1, First: 9 * us, Last: 9 * us}}}},
				{Node: "s1", Dropped: 7, DropCauses: []record.Drop{{Cause: catalog.DropEgress, Act: record.Act{Count: 5, First: 8 * us, Last: 9 * us}},
					{Cause: catalog.DropLoss, Act: record.Act{Count: 2, First: 3 * us, Last: 4 * us}}}}},
			Ledger: []record.Entry{entry(catalog.NAKSent, "h9", 2, 9e6, 10e6, 0), entry(catalog.RNR, "h9", 1, 9e6, 9e6, 0),
				entry(catalog.AckTimeout, "h0", 3, 67e9, 99e9, 0)}},
			"switch s1 and switch s2 dropped 6 frames from 8.00 us on (egress threshold), links into switch s1 lost 2 frames from 3.00 us on (link loss), " +
				"h9's NIC sent 2 NAKs from 9.00 us on, h9's NIC had no receive posted once, h0's NIC waited for a timeout 3 times from 67.0 ms on, 5.00 KB were sent again; " +
				"nobody paused; both messages completed, the slower in 1.00 ms."},
		{"errors", record.Run{QPs: qps("h0", "h9"),
			Messages: []record.Message{{Src: "h0", Dst: "h9", CompletionPS: 700 * ms, Status: "RETRY_EXC_ERR"}, {Src: "h1", Dst: "h9", CompletionPS: 600 * ms, Status: "RETRY_EXC_ERR"},
				{Src: "h0", Dst: "h9", CompletionPS: 700 * ms, Status: "WR_FLUSH_ERR"}},
			Ledger: []record.Entry{entry(catalog.AckTimeout, "h0", 8, 67e9, 99e9, 0), entry(catalog.AckTimeout, "h1", 8, 66e9, 99e9, 0)}},
			"2 senders waited for 16 timeouts (the first ended at 66.0 ms); nobody paused and nothing was dropped; no message completed, " +
				"2 messages failed with RETRY_EXC_ERR (first h1 to h9 at 600 ms), 1 message failed with WR_FLUSH_ERR (h0 to h9 at 700 ms)."},
		{"deadlock", record.Run{QPs: qps("h0"), Stopped: "deadlock", EndPS: 10 * ms,
			Messages: append(flows("h0"), record.Message{CompletionPS: -1, Status: "open"}),
			Ports:    []record.Port{{Node: "s2", Peer: record.PortID{Node: "s1", Port: 1}, PausesReceived: 1, HeldPS: 9 * ms}},
			Ledger:   []record.Entry{entry(catalog.PFCSent, "s1", 1, 5e6, 5e6, 0)}},
			"switch s1 paused switch s2 once at 5.00 us (held 9.00 ms in all); nothing was dropped; " +
				"1 of 2 messages completed, the slowest in 1.00 ms, the network deadlocked at 10.0 ms while 1 message was open."},
		{"collectives", record.Run{Messages: flows("h0"), QPs: qps("h0", "h9"), Ports: []record.Port{{Node: "sw", Port: 1, Class: 3, PeakQueueBytes: 5000}},
			Collectives: []record.Collective{{Op: "allreduce", Ranks: 4, Bytes: 1e6, EndPS: []units.Time{ms}}, {Op: "broadcast", Ranks: 4, Bytes: 1e6, StartPS: ms, EndPS: []units.Time{2 * ms, 3 * ms, -1}},
				{Op: "alltoall", Ranks: 4, Bytes: 1e6, EndPS: []units.Time{-1}}}},
			"no queue marked, crossed XOFF or dropped: the deepest held 5.00 KB (sw:1 prio 3); nobody paused and nothing was dropped; the message took 1.00 ms, " +
				"allreduce took 1.00 ms, busbw 1.50 GB/s, broadcast took 1.00 ms in the mean of 2, busbw 1.00 GB/s."},
		{"stalled", record.Run{QPs: qps("h0"), Stopped: "stalled", EndPS: 10 * ms,
			Messages: append(flows("h0"), record.Message{CompletionPS: -1, Status: "open"})},
			"no frame was ever queued; nobody paused and nothing was dropped; " +
				"1 of 2 messages completed, the slowest in 1.00 ms, the run stalled at 10.0 ms while 1 message was open."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Sentence(&tt.run); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// No number in a sentence is made up: changing any count or time in the record
// changes the words.
func TestSentenceFollowsRecord(t *testing.T) {
	base := func() *record.Run {
		return &record.Run{Messages: flows("h0"), QPs: []record.QP{{Host: "h0", RateCuts: 1, MinRateBps: units.Gbps, RetransmittedBytes: 1000}, {Host: "h9"}},
			Ports: []record.Port{{Node: "h0", Peer: record.PortID{Node: "sw", Port: 1}, PausesReceived: 2, HeldPS: 5 * us,
				DropCauses: []record.Drop{{Cause: catalog.DropLoss, Act: record.Act{Count: 2, First: us, Last: 2 * us}}}}},
			Ledger: []record.Entry{entry(catalog.ECNMark, "sw", 2, 3e6, 4e6, 0), entry(catalog.CNPSent, "h9", 2, 3e6, 4e6, 0), entry(catalog.RateCut, "h0", 2, 3e6, 4e6, 0),
				entry(catalog.PFCSent, "sw", 2, 3e6, 4e6, 0), entry(catalog.NAKSent, "h9", 2, 3e6, 4e6, 0), entry(catalog.AckTimeout, "h0", 2, 3e6, 4e6, 0)}}
	}
	was := Sentence(base())
	changes := map[string]func(*record.Run){
		"lowest rate": func(r *record.Run) { r.QPs[0].MinRateBps = 2 * units.Gbps },
		"resent":      func(r *record.Run) { r.QPs[0].RetransmittedBytes = 2000 },
		"held":        func(r *record.Run) { r.Ports[0].HeldPS = 6 * us },
		"held port":   func(r *record.Run) { r.Ports[0].Node = "h7" },
		"drops":       func(r *record.Run) { r.Ports[0].DropCauses[0].Count = 3 },
		"drop cause":  func(r *record.Run) { r.Ports[0].DropCauses[0].Cause = catalog.DropTTL },
		"first drop":  func(r *record.Run) { r.Ports[0].DropCauses[0].First = 2 * us },
		"completion":  func(r *record.Run) { r.Messages[0].CompletionPS = 2 * ms },
		"status":      func(r *record.Run) { r.Messages[0].Status = "RETRY_EXC_ERR" },
	}
	for i, e := range base().Ledger {
		changes[e.Mechanism.String()+" count"] = func(r *record.Run) { r.Ledger[i].Count = 9 }
		changes[e.Mechanism.String()+" actor"] = func(r *record.Run) { r.Ledger[i].Actor.Node = "h7" }
		if e.Mechanism != catalog.CNPSent && e.Mechanism != catalog.RateCut { // their times stand in the table
			changes[e.Mechanism.String()+" time"] = func(r *record.Run) { r.Ledger[i].First = us }
		}
	}
	for name, change := range changes {
		r := base()
		change(r)
		if got := Sentence(r); got == was {
			t.Errorf("%s: the sentence stays %q", name, got)
		}
	}
	if strings.Contains(was, "%!") {
		t.Error(was)
	}
}
