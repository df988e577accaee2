package metrics

import (
	"math"
	"reflect"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

func entry(q catalog.Question, m catalog.Mechanism, actor string, count int64, first, last units.Time, sum int64) record.Entry {
	return record.Entry{Question: q, Mechanism: m, Actor: record.HostAt(actor), Act: record.Act{Count: count, First: first, Last: last, Sum: sum}}
}

func TestAnswer(t *testing.T) {
	ledger := []record.Entry{
		entry(catalog.Detected, catalog.XOFFCross, "a", 2, 500, 900, 0),
		entry(catalog.Detected, catalog.ECNMark, "b", 7, 300, 800, 0), // first, before c by the order of the ledger
		entry(catalog.Detected, catalog.ECNMark, "c", 9, 300, 1200, 0),
		entry(catalog.Detected, catalog.ECNMark, "never", 0, 0, 0, 0),
		entry(catalog.FedBack, catalog.CNPSent, "d", 1, 10, 10, 0),
		entry(catalog.Held, catalog.PFCPause, "often", 9, 50, 60, 100),
		entry(catalog.Held, catalog.PFCPause, "long", 1, 40, 40, 5000),
	}
	a := AnswerTo(catalog.Detected, ledger)
	if want := (First{Actor: record.HostAt("b"), Mechanism: catalog.ECNMark, TimePS: 300}); a.First == nil || *a.First != want {
		t.Errorf("first %+v, want %+v", a.First, want)
	}
	if a.Count != 18 || a.SpanPS != 900 || a.HeldPS != 0 {
		t.Errorf("count %d, span %d, held %d; want 18, 900, 0", a.Count, a.SpanPS, a.HeldPS)
	}
	want := []Mechanism{
		{Mechanism: catalog.ECNMark, Actors: 2, Actor: record.HostAt("b"), Act: record.Act{Count: 16, First: 300, Last: 1200}},
		{Mechanism: catalog.XOFFCross, Actors: 1, Actor: record.HostAt("a"), Act: record.Act{Count: 2, First: 500, Last: 900}},
	}
	if !reflect.DeepEqual(a.Mechanisms, want) {
		t.Errorf("mechanisms %+v, want %+v", a.Mechanisms, want)
	}
	if a.Top[0].Actor.Node != "c" || a.Top[1].Actor.Node != "b" || len(a.Top) != 3 {
		t.Errorf("top %+v", a.Top)
	}
	held := AnswerTo(catalog.Held, ledger)
	if held.HeldPS != 5100 || held.First.Actor.Node != "long" || held.Top[0].Actor.Node != "long" {
		t.Errorf("held %+v", held)
	}
	if a := AnswerTo(catalog.Slowed, ledger); a.Happened || a.First != nil || a.Count != 0 {
		t.Errorf("slowed %+v", a)
	}
}

func TestTopActorsAreFew(t *testing.T) {
	var ledger []record.Entry
	for i := range 20 {
		ledger = append(ledger, entry(catalog.Slowed, catalog.RateCut, string(rune('a'+i)), int64(i+1), 0, 1, 0))
	}
	a := AnswerTo(catalog.Slowed, ledger)
	if len(a.Top) != TopActors || a.Top[0].Actor.Node != "t" || a.Count != 210 {
		t.Errorf("%d actors, first %s, count %d", len(a.Top), a.Top[0].Actor, a.Count)
	}
}

func TestWhyNobody(t *testing.T) {
	port := record.Port{Node: "sw", Port: 5, Class: 3, PeakQueueBytes: 310_000, PeakIngress: 120_000}
	with := func(change func(*record.Port)) []record.Port {
		p := port
		change(&p)
		return []record.Port{p}
	}
	for _, tt := range []struct {
		name string
		run  record.Run
		q    int // index into Questions
		want string
	}{
		{"Kmin unknown", record.Run{Ports: []record.Port{port}}, 0, "no queue marked, crossed XOFF or dropped: the deepest held 310 KB (sw:5 prio 3)"},
		{"no frame", record.Run{}, 0, "no frame was ever queued"},
		{"nothing detected", record.Run{}, 1, "nothing was detected"},
		{"marks unanswered", record.Run{Ports: with(func(p *record.Port) { p.Marked = 1234 }),
			Ledger: []record.Entry{entry(catalog.Detected, catalog.ECNMark, "sw:5 prio 3", 1234, 1, 2, 0)}}, 1, "1,234 packets were marked, but no responder sent CNPs"},
		{"XOFF needs no feedback", record.Run{Ledger: []record.Entry{entry(catalog.Detected, catalog.XOFFCross, "x", 1, 1, 1, 0)}}, 1,
			"no packet was marked and no responder missed a PSN"},
		{"feedback of streams", record.Run{QPs: []record.QP{{Service: catalog.IWARP, TCP: new(record.TCP)}},
			Ledger: []record.Entry{entry(catalog.Detected, catalog.RTO, "x", 1, 1, 1, 0)}}, 1,
			"no packet was marked and no receiver missed a segment"},
		{"no feedback", record.Run{}, 2, "no congestion notification was sent"},
		{"a NAK is no congestion notification", record.Run{Ledger: []record.Entry{entry(catalog.FedBack, catalog.NAKSent, "x", 1, 1, 1, 0)}}, 2,
			"no congestion notification was sent"},
		{"feedback without a cut", record.Run{Ledger: []record.Entry{entry(catalog.FedBack, catalog.CNPSent, "x", 1, 1, 1, 0)}}, 2,
			"no sender cut its rate on the notifications it got"},
		{"below XOFF", record.Run{Ports: []record.Port{port}}, 3, "no ingress buffer reached XOFF: the fullest held 120 KB (sw:5 prio 3)"},
		{"paused, nothing waiting", record.Run{Ports: with(func(p *record.Port) { p.PausesSent = 3 })}, 3,
			"3 pauses were sent, but no paused port had a frame waiting"},
		{"nothing lost", record.Run{Ports: []record.Port{port}}, 4, "nothing was lost"},
		{"lost for good", record.Run{Ports: with(func(p *record.Port) { p.Dropped = 4 })}, 4, "4 frames were dropped, but nothing was sent again"},
		{"timed out in vain", record.Run{Ledger: []record.Entry{entry(catalog.Detected, catalog.AckTimeout, "x", 1, 1, 1, 0)}}, 4, "nothing was sent again"},
		{"no reroute", record.Run{}, 5, "no flow changed its path"},
	} {
		a := Summarise(&tt.run).Answers[tt.q]
		if a.Question != catalog.Questions[tt.q] || a.Happened || a.Why != tt.want {
			t.Errorf("%s: %s: %q, want %q", tt.name, a.Question, a.Why, tt.want)
		}
	}
}

// Nearest rank by its definition: of 1..200, p50 is the 100th, p95 the 190th,
// p99 the 198th; of one value, all are that value.
func TestQuantiles(t *testing.T) {
	up := make([]int64, 200)
	for i := range up {
		up[len(up)-1-i] = int64(i + 1)
	}
	for _, tt := range []struct {
		name        string
		values      []int64
		largeIsGood bool
		want        Quantiles
	}{
		{"200 durations", append([]int64{}, up...), false, Quantiles{N: 200, Best: 1, P50: 100, P95: 190, P99: 198, Worst: 200, Mean: 100}},
		{"200 rates", append([]int64{}, up...), true, Quantiles{N: 200, Best: 200, P50: 101, P95: 11, P99: 3, Worst: 1, Mean: 100}},
		{"one", []int64{7}, false, Quantiles{N: 1, Best: 7, P50: 7, P95: 7, P99: 7, Worst: 7, Mean: 7}},
		{"none", nil, false, Quantiles{}},
		{"no overflow", []int64{math.MaxInt64, math.MaxInt64}, false, Quantiles{N: 2, Best: math.MaxInt64, P50: math.MaxInt64,
			P95: math.MaxInt64, P99: math.MaxInt64, Worst: math.MaxInt64, Mean: math.MaxInt64}},
	} {
		if got := quantiles(tt.values, tt.largeIsGood); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func flow(src, workload string, bytes int64, start, took units.Time, status string) record.Message {
	return record.Message{Src: src, Dst: "d", QP: 1, Workload: workload, Bytes: bytes, StartPS: start, CompletionPS: took, Status: status}
}

func TestMessages(t *testing.T) {
	const us = units.Microsecond
	flows := []record.Message{
		flow("a", "x", 1_000_000, 0, 80*us, "success"),      // 100 Gb/s
		flow("b", "x", 1_000_000, 20*us, 160*us, "success"), // 50 Gb/s
		flow("c", "y", 5, 0, us, "remote access error"),
		flow("c", "y", 5, 0, -1, "open"),
	}
	flows[0].IdealPS = 40 * us
	m := messages(flows)
	if m.Messages != 4 || m.Completed != 2 || m.Failed != 1 || m.Open != 1 || m.Bytes != 2_000_000 {
		t.Errorf("counts %+v", m)
	}
	if m.SpanPS != 180*us || m.GoodputBps != 88_888_888_888 { // 16 Mbit in 180 us
		t.Errorf("span %d, goodput %d", m.SpanPS, m.GoodputBps)
	}
	if q := m.MessageGoodputBps; q.Best != 100_000_000_000 || q.Worst != 50_000_000_000 {
		t.Errorf("goodput %+v", q)
	}
	if q := m.SlowdownMilli; q.N != 1 || q.P50 != 2000 {
		t.Errorf("slowdown %+v", q)
	}
	e := entries(flows)
	if len(e) != 2 || e[0].Workload != "x" || e[0].Completed != 2 || e[1].Workload != "y" || e[1].Completed != 0 || e[1].SpanPS != 0 {
		t.Errorf("entries %+v", e)
	}
}

// 9 EB in a second would overflow 64 bits on the way; 106 days must not.
func TestRateOfLargeValues(t *testing.T) {
	for _, tt := range []struct {
		bytes int64
		took  units.Time
		want  units.Rate
	}{
		{50_000_000_000, units.Second, 400 * units.Gbps},
		{math.MaxInt64 / 8, units.Second, 9_223_372_036_854_775_800},
		{math.MaxInt64, units.Picosecond, math.MaxInt64}, // saturates
		{1_000_000, 0, 0},
		{0, units.Second, 0},
		{1, units.Never, 0},
	} {
		if got := RateOf(tt.bytes, tt.took); got != tt.want {
			t.Errorf("RateOf(%d, %d) = %d, want %d", tt.bytes, tt.took, got, tt.want)
		}
	}
}

// Closed forms of Jain's index: equal shares 1, one of n has all 1/n, shares
// 1:2 give 9/10.
func TestJain(t *testing.T) {
	for _, tt := range []struct {
		v    []int64
		want float64
	}{
		{[]int64{5, 5, 5, 5}, 1},
		{[]int64{7, 0, 0, 0}, 0.25},
		{[]int64{1, 2}, 0.9},
		{[]int64{1 << 62, 1 << 61}, 0.9},
		{[]int64{0, 0}, 0},
		{nil, 0},
	} {
		if got := Jain(tt.v); math.Abs(got-tt.want) > 1e-15 {
			t.Errorf("Jain(%v) = %v, want %v", tt.v, got, tt.want)
		}
	}
}

func TestFairness(t *testing.T) {
	const us = units.Microsecond
	r := &record.Run{Messages: []record.Message{
		flow("early", "x", 100, 0, us, "success"),
		flow("a", "x", 100, 5*us, 10*us, "success"),
		flow("b", "x", 100, 5*us, 20*us, "success"),
		flow("b", "x", 100, 5*us, 10*us, "success"), // same queue pair: 200 bytes by 20 us, as fast as a
		flow("open", "x", 100, 5*us, -1, "open"),
	}}
	to := func(host string, qp int, hops ...string) record.QP {
		q := record.QP{Host: host, QP: qp, Workload: "x"}
		for _, h := range append([]string{host}, hops...) {
			q.Limits.Path = append(q.Limits.Path, &record.PathHop{Port: record.PortID{Node: h, Port: 1}})
		}
		return q
	}
	r.QPs = []record.QP{to("early", 1, "sw"), to("a", 1, "sw"), to("b", 1, "sw"), to("c", 1, "sw"), to("far", 1, "other")}
	want := []Fairness{{Jain: 1, Over: 2, StartPS: 5 * us}}
	if got := fairness(newIndex(r)); !reflect.DeepEqual(got, want) {
		t.Errorf("one entry: got %+v, want %+v", got, want)
	}
	// What shares no port with others has no part in it, and two that share none are not compared.
	r.Messages = append(r.Messages, flow("far", "x", 9000, 5*us, 10*us, "success"))
	if got := fairness(newIndex(r)); !reflect.DeepEqual(got, want) {
		t.Errorf("with one apart: got %+v, want %+v", got, want)
	}
	apart := &record.Run{Messages: []record.Message{r.Messages[1], r.Messages[5]}, QPs: r.QPs}
	if got := fairness(newIndex(apart)); len(got) != 0 {
		t.Errorf("two that share no port: got %+v, want none", got)
	}
	// A second entry of one flow that has everything its rivals lack: 200
	// against 80 and 80 Mb/s.
	r.Messages = append(r.Messages, flow("c", "y", 250, 5*us, 10*us, "success"))
	want = []Fairness{
		{Jain: Jain([]int64{80, 80, 200}), Over: 3, StartPS: 5 * us},
		{Workload: "x", Jain: 1, Over: 2, StartPS: 5 * us},
	}
	if got := fairness(newIndex(r)); !reflect.DeepEqual(got, want) {
		t.Errorf("two entries: got %+v, want %+v", got, want)
	}
	r.MeasureFrom, r.MeasureTo = us, 2*us
	of := func(host string, qp int) record.Place { return record.QPAt(catalog.RC, host, qp) }
	r.QPs = append(r.QPs, []record.QP{
		{Host: "d", QP: 1, Peer: of("a", 1), Workload: "x", DeliveredBytes: 10, MeasuredBytes: 10},
		{Host: "d", QP: 2, Peer: of("b", 1), Workload: "x", DeliveredBytes: 30}, // starved in the window
		{Host: "d", QP: 3, Peer: of("c", 1), Workload: "y", DeliveredBytes: 20, MeasuredBytes: 10},
		{Host: "e", QP: 1, Peer: of("far", 1), Workload: "x", DeliveredBytes: 90, MeasuredBytes: 90}, // apart
	}...)
	want = []Fairness{
		{Jain: Jain([]int64{1, 0, 1}), Over: 3, StartPS: us, Measured: true},
		{Workload: "x", Jain: 0.5, Over: 2, StartPS: us, Measured: true},
	}
	if got := fairness(newIndex(r)); !reflect.DeepEqual(got, want) {
		t.Errorf("measured: got %+v, want %+v", got, want)
	}
}

func TestWorst(t *testing.T) {
	flows := []record.Message{
		{CompletionPS: 100, IdealPS: 100, Status: "success"},
		{CompletionPS: 50, IdealPS: 10, Status: "success"}, // slower against what it takes alone, but over sooner
		{CompletionPS: 900, Status: "remote access error"},
	}
	if got := worst(flows); !reflect.DeepEqual(got, []int{0, 1}) {
		t.Errorf("by completion: %v", got)
	}
}

func TestCongestedFirst(t *testing.T) {
	ports := []record.Port{
		{},             // saw nothing: not listed
		{TxPackets: 1}, // 1
		{PeakQueueBytes: 9, TxPackets: 1},
		{Dropped: 1},
		{Marked: 1, PeakQueueBytes: 99},
		{PausesReceived: 1},
		{PausesSent: 2},
		{HeldPS: 1},
		{HeldPS: 1, Marked: 3},
	}
	if got, want := congestedFirst(ports), []int{8, 7, 6, 5, 4, 3, 2, 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTotals(t *testing.T) {
	r := &record.Run{WireOverhead: 20, PFCFrame: 64,
		Ports: []record.Port{{Marked: 1, PausesSent: 2, HeldPS: 3, PausedPS: 4, Dropped: 5, DroppedBytes: 6, TxPackets: 7, TxBytes: 8},
			{Node: "h0", Marked: 10, RefreshesSent: 20, ResumesSent: 30, TxPackets: 100, TxBytes: 9000}},
		QPs: []record.QP{{Host: "h0", DeliveredBytes: 1, CNPsSent: 2, RateCuts: 3}, {Host: "h1", CNPsReceived: 4, NAKsSent: 5, Timeouts: 6, Retransmitted: 7, RetransmittedBytes: 9, RateCuts: 8}},
	}
	want := Totals{TxPackets: 107, TxBytes: 9008, Delivered: 1, Marked: 11, PausesSent: 2, RefreshesSent: 20, ResumesSent: 30, HeldPS: 3,
		PausedPS: 4, Dropped: 5, DroppedBytes: 6, CNPsSent: 2, CNPsReceived: 4, RateCuts: 11, NAKsSent: 5, Timeouts: 6, Retransmitted: 7, ResentBytes: 9,
		// Of the host alone: 100 frames of 9,000 B, 50 PFC frames of 64 B, 20 B more on the wire each.
		HostWireBytes: 9000 + 50*64 + 150*20}
	if got := totals(r); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A responder that refuses a request has detected no congestion, and says why
// it sent a NAK.
func TestRefusedRequest(t *testing.T) {
	r := &record.Run{Messages: []record.Message{{Src: "h0", Dst: "h1", CompletionPS: 1, Status: "REM_ACCESS_ERR"}},
		Ledger: []record.Entry{{Question: catalog.FedBack, Mechanism: catalog.NAKSent, Actor: record.QPAt(catalog.RC, "h1", 0), Act: record.Act{Count: 1}}}}
	got := Summarise(r).Answers[0].Why
	if want := "no congestion, but h1 refused a request of h0 (REM_ACCESS_ERR); no frame was ever queued"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
