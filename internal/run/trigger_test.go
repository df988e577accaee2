package run_test

import (
	"context"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// A chain, a barrier and a multishot over 16 hosts in four racks.
const triggerScenario = `
name: triggers
noise: off
topology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 4, link: 100Gbps}}
triggers:
  one: {kind: oneshot}
  all: {kind: barrier, count: 2}
  next: {kind: multishot}
workload:
  - flow: {name: first, from: h0, to: h4, size: 100KB, start: 1us, send_done: one}
  - flow: {name: after the sender, from: h0, to: h8, size: 100KB, trigger: one, recv_done: all}
  - flow: {name: beside it, from: h1, to: h9, size: 300KB, trigger: one, recv_done: all}
  - flow: {name: after both, from: h9, to: h12, size: 50KB, trigger: all, send_done: next}
  - flow: {name: also after both, from: h13, to: h2, size: 200KB, trigger: all, send_done: next}
  - flow: {name: next 1, from: h13, to: h3, size: 10KB, trigger: next}
  - flow: {name: next 2, from: h5, to: h3, size: 10KB, trigger: next}
`

// Every triggered message starts at the very instant of what starts it, at any
// number of partitions and workers.
func TestTriggers(t *testing.T) {
	v, err := scenario.Parse("triggers", []byte(triggerScenario), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	base := simulate(t, v, 1, 1)
	for _, c := range []struct{ parts, workers int }{{2, 1}, {4, 2}, {16, 4}} {
		if bad := differ(t, base, simulate(t, v, c.parts, c.workers)); bad != "" {
			t.Errorf("%d partitions give another result: %s", c.parts, bad)
		}
	}
	r := runOf(t, v)
	flow := map[string]record.Message{}
	for _, f := range r.Messages {
		if f.Status != "success" {
			t.Errorf("%s: %s", f.Workload, f.Status)
		}
		flow[f.Workload] = f
	}
	end := func(name string) units.Time { return flow[name].StartPS + flow[name].CompletionPS }
	for _, c := range []struct {
		name string
		want units.Time
	}{
		{"first", units.Microsecond},
		{"after the sender", end("first")},
		{"beside it", end("first")},
		{"also after both", flow["after both"].StartPS},
		{"next 1", min(end("after both"), end("also after both"))},
		{"next 2", max(end("after both"), end("also after both"))},
	} {
		if got := flow[c.name].StartPS; got != c.want {
			t.Errorf("%s started at %d ps, want %d", c.name, got, c.want)
		}
	}
	// The receiver has the last byte before the sender hears of it: by what an
	// ACK of 66+20 B takes over four links of 100 Gb/s and 5 m (25 ns) and three
	// switches of 300 ns, when nothing is in its way.
	ack := 4*(86*8*units.Time(10)+25*units.Nanosecond) + 3*300*units.Nanosecond
	if got, want := flow["after both"].StartPS, end("beside it")-ack; got != want {
		t.Errorf("the barrier opened at %d ps, want %d: the later of both received", got, want)
	}
}

// Every message of a connection activates its trigger where it is received: the
// k-th answer starts as the k-th question is there, on queue pairs and on TCP,
// over lossy links too, at any number of partitions and workers.
const questionScenario = `
name: questions
topology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 4, link: 100Gbps}}
triggers: {asked: {kind: multishot}, told: {kind: multishot}}
nic: {timeout: 5}
workload:
  - flow: {name: question, from: h0, to: h4, size: 6KB, count: 50, every: 4us, recv_done: asked}
  - flow: {name: answer, from: h4, to: h0, size: 3KB, count: 50, trigger: asked}
  - flow: {name: tcp question, from: h1, to: h5, size: 6KB, count: 50, every: 4us, stack: tcp, recv_done: told}
  - flow: {name: tcp answer, from: h5, to: h1, size: 3KB, count: 50, trigger: told, stack: tcp}
  - flow: {name: beside, from: h8, to: h4, size: 1MB}
`

func TestEveryMessageActivates(t *testing.T) {
	for _, set := range [][]string{nil, {"topology.leaf_spine.link.loss=0.005"}} {
		v, err := scenario.Parse("questions", []byte(questionScenario), set, nil)
		if err != nil {
			t.Fatal(err)
		}
		base := simulate(t, v, 1, 1)
		for _, c := range []struct{ parts, workers int }{{2, 1}, {4, 2}, {16, 4}} {
			if bad := differ(t, base, simulate(t, v, c.parts, c.workers)); bad != "" {
				t.Errorf("%v: %d partitions give another result: %s", set, c.parts, bad)
			}
		}
		resent := map[string]int64{}
		for _, q := range base.QPs {
			resent[q.Service.String()] += q.Retransmitted
		}
		if lossy := set != nil; lossy != (resent["RC"] > 0) || lossy != (resent["TCP"] > 0) {
			t.Errorf("%v: retransmitted %v", set, resent)
		}
		flows := map[string][]record.Message{}
		for _, f := range base.Messages {
			if f.Status != "success" {
				t.Errorf("%v: %s: %s", set, f.Workload, f.Status)
			}
			flows[f.Workload] = append(flows[f.Workload], f)
		}
		for k, q := range flows["question"] {
			if got, want := flows["answer"][k].StartPS-q.StartPS, accepted(q.Account.Stages()); got != want {
				t.Errorf("%v: answer %d started %d ps after its question, which was accepted after %d", set, k, got, want)
			}
		}
		for k, q := range flows["tcp question"] {
			if got := flows["tcp answer"][k].StartPS - q.StartPS; got != q.CompletionPS {
				t.Errorf("%v: TCP's answer %d started %d ps after its question, which was read after %d", set, k, got, q.CompletionPS)
			}
		}
	}
}

// accepted is the part of an account before the responder's acknowledgement.
func accepted(a record.Account) (sum units.Time) {
	for _, s := range a {
		switch {
		case s.Stage.Leg() == catalog.LegAck:
			return sum
		}
		sum += s.Time
	}
	return sum
}

// Which message of a connection comes first may be up to triggers; each activates
// its own.
func TestMessagesPostedInAnotherOrder(t *testing.T) {
	v, err := scenario.Parse("order", []byte(`
name: order
topology: {star: {hosts: 6, link: 100Gbps}}
triggers: {late: {kind: oneshot}, early: {kind: oneshot}, a: {kind: oneshot}, b: {kind: oneshot}}
workload:
  - flow: {name: starts late, from: h4, to: h5, size: 300KB, send_done: late}
  - flow: {name: starts early, from: h4, to: h5, size: 100KB, send_done: early}
  - flow: {name: conn, from: h0, to: h1, size: 9KB, count: 2, trigger: late, recv_done: a}
  - flow: {name: after a, from: h1, to: h2, size: 1KB, trigger: a}
  - flow: {name: after b, from: h1, to: h3, size: 1KB, trigger: b}
  - flow: {name: starts a, from: h2, to: h3, size: 1KB, recv_done: b}
`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := v.Plan
	var conn []*workload.Message
	plan.Single()
	for i := range plan.Series {
		m := &plan.Series[i].Message
		switch plan.Entries[plan.Conns[m.Conn].Entry] {
		case "conn":
			conn = append(conn, m)
		case "starts a":
			m.RecvDone = 0
		}
	}
	conn[1].Trigger, conn[1].RecvDone = 2, 4 // early, b
	if err := plan.Finish(v.Graph); err != nil {
		t.Fatal(err)
	}
	r := runOf(t, v)
	var sent []record.Message
	flow := map[string]record.Message{}
	for _, f := range r.Messages {
		flow[f.Workload] = f
		if f.Workload == "conn" {
			sent = append(sent, f)
		}
	}
	if sent[0].StartPS <= sent[1].StartPS {
		t.Fatalf("the first of the plan was posted at %d, the second at %d: they should have changed places", sent[0].StartPS, sent[1].StartPS)
	}
	for k, name := range []string{"after a", "after b"} {
		if got, want := flow[name].StartPS, sent[k].StartPS+accepted(sent[k].Account.Stages()); got != want {
			t.Errorf("%s started at %d ps, want %d", name, got, want)
		}
	}
}

func runOf(t *testing.T, v *scenario.Valid) *record.Run {
	t.Helper()
	w, err := build.New(v, build.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run.Simulate(context.Background(), w, run.Options{Workers: 1})
}

// A message that its trigger has not started by the stop time is open, and its
// start is not made up.
func TestTriggerAfterStop(t *testing.T) {
	v, err := scenario.Parse("triggers", []byte(triggerScenario), []string{"stop=5us"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := runOf(t, v)
	if r.Stopped != "stop time" || r.OpenMessages != 7 {
		t.Errorf("stopped by %q with %d open messages, want stop time and 7", r.Stopped, r.OpenMessages)
	}
	for _, f := range r.Messages[1:] {
		if f.StartPS != 5*units.Microsecond || f.CompletionPS != -1 || f.Status != "open" {
			t.Errorf("%s: start %d, completion %d, %s; want the end of the run, -1, open", f.Workload, f.StartPS, f.CompletionPS, f.Status)
		}
	}
}
