package run_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

const rpcScenario = `
name: rpc
topology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 4, link: 100Gbps, length: 5m}}
nic: {timeout: 5}
workload:
  - rpc: {name: control, between: [h0, h4], size: 2KB, every: 50us, count: 40, stack: tcp}
  - rpc: {name: data, between: [h1, h5], request: 100B, reply: 20KB, every: 7us, count: 60, think: 3us}
  - rpc: {name: one, between: [h2, h9], request: 1B, reply: 9KB, start: 5us, stack: tcp}
`

// A call's latency on an idle network in closed form: each frame's time on four
// links of 100 Gb/s and 5 m, and three switches of 300 ns, there and back. A server
// that replies at once does so behind its acknowledgement of the request; that of
// TCP rides on the reply once the kernel has seen that this end answers with data.
func TestCallLatency(t *testing.T) {
	wait := func(bytes ...units.Bytes) units.Time { // of the frames with their overhead on the wire
		last := bytes[len(bytes)-1]
		d := 3*units.Rate(100*units.Gbps).TxTime(last) + 4*25*units.Nanosecond + 3*300*units.Nanosecond
		for _, b := range bytes {
			d += units.Rate(100 * units.Gbps).TxTime(b)
		}
		return d
	}
	const (
		tcp  = 14 + 20 + 32 + 4 + 20 // Ethernet, IP, TCP with timestamps, FCS, preamble and gap
		roce = 14 + 20 + 8 + 12 + 4 + 4 + 20
	)
	behind := func(ack units.Bytes) units.Time { return units.Rate(100 * units.Gbps).TxTime(ack) }
	for _, c := range []struct {
		name, rpc      string
		request, think units.Time
		reply          units.Time
	}{
		{"TCP", "size: 2KB, stack: tcp", wait(2000 + tcp), 0, behind(tcp) + wait(2000+tcp)},
		{"TCP once it answers with data", "size: 2KB, stack: tcp, count: 3, every: 20us", wait(2000 + tcp), 0, wait(2000 + tcp)},
		{"TCP, two segments back", "request: 1B, reply: 10000B, stack: tcp, think: 1500ns", wait(1 + tcp), 1500 * units.Nanosecond,
			wait(8948+tcp, 1052+tcp) + 3*(units.Rate(100*units.Gbps).TxTime(8948+tcp)-units.Rate(100*units.Gbps).TxTime(1052+tcp))},
		{"SEND", "size: 2KB", wait(2000 + roce), 0, behind(roce+4) + wait(2000+roce)},
		{"SEND, two packets back", "request: 1B, reply: 8192B, think: 1us", wait(1 + 3 + roce), units.Microsecond, wait(4096+roce, 4096+roce)},
	} {
		v, err := scenario.Parse("rpc", []byte("name: x\nnoise: off\nhost: {preset: free}\ntopology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 4, link: 100Gbps, length: 5m}}\n"+
			"workload:\n  - rpc: {between: [h0, h4], "+c.rpc+"}\n"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := runOf(t, v)
		all := metrics.CallsOf(r)
		if x := all[len(all)-1]; x.RequestPS != c.request || x.ThinkPS != c.think || x.ReplyPS != c.reply || x.LatencyPS != c.request+c.think+c.reply {
			t.Errorf("%s: request %d, think %d, reply %d, latency %d ps; want %d, %d, %d and their sum",
				c.name, x.RequestPS, x.ThinkPS, x.ReplyPS, x.LatencyPS, c.request, c.think, c.reply)
		}
	}
}

// The accounts of a call's request and reply, up to where each was received, and
// the server's time between them add up to its latency, with losses too; and
// results do not depend on how the network is cut.
func TestCallAccountsAddUp(t *testing.T) {
	for _, set := range [][]string{nil, {"topology.leaf_spine.link.loss=0.005"}, {"host.preset=free"}, {"tcp.close=last-message"}, {"server=dgx-h100"}} {
		v, err := scenario.Parse("rpc", []byte(rpcScenario), set, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := simulate(t, v, 1, 1)
		for _, c := range []struct{ parts, workers int }{{2, 1}, {4, 2}, {16, 4}} {
			if bad := differ(t, r, simulate(t, v, c.parts, c.workers)); bad != "" {
				t.Errorf("%v: %d partitions give another result: %s", set, c.parts, bad)
			}
		}
		think := map[string]units.Time{"data": 3 * units.Microsecond}
		all := metrics.CallsOf(r)
		if len(all) != 101 {
			t.Errorf("%v: %d calls, want 101", set, len(all))
		}
		for _, c := range all {
			q, p := &r.Messages[c.Request], &r.Messages[c.Reply]
			if q.Src != p.Dst || q.Dst != p.Src || q.Call != p.Call || q.Status != "success" || p.Status != "success" {
				t.Errorf("%v: call of %+v and %+v", set, q, p)
			}
			if sum := received(q) + think[c.Workload] + received(p); sum != c.LatencyPS || p.StartPS+received(p) != q.StartPS+c.LatencyPS {
				t.Errorf("%v: %s at %d: accounts add up to %d ps, latency %d", set, c.Workload, c.StartPS, sum, c.LatencyPS)
			}
		}
	}
}

// received is the part of a message's account up to where its peer had all of it.
func received(f *record.Message) units.Time {
	if f.Service == catalog.TCP {
		return f.Account.Stages().Total()
	}
	return accepted(f.Account.Stages())
}

// Calls begin on time whether or not those before are done, and what the run's
// stop cuts off is open.
func TestCallsAreAnOpenLoop(t *testing.T) {
	v, err := scenario.Parse("rpc", []byte(`
name: rpc
stop: 100us
host: {preset: free}
topology: {star: {hosts: 3, link: 10Gbps, length: 500m}}
workload:
  - rpc: {between: [h0, h1], size: 20KB, every: 10us, start: 3us, stack: tcp}
`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := runOf(t, v)
	all := metrics.CallsOf(r)
	if len(all) != 10 {
		t.Fatalf("%d calls begin before the stop, want 10", len(all))
	}
	done := 0
	for k, c := range all {
		if want := 3*units.Microsecond + units.Time(k)*10*units.Microsecond; c.StartPS != want {
			t.Errorf("call %d began at %d ps, want %d", k, c.StartPS, want)
		}
		if c.LatencyPS >= 0 {
			done++
		}
	}
	s := metrics.Summarise(r).Calls
	if len(s) != 1 || s[0].Calls != 10 || s[0].Completed != done || done == 0 || done == 10 || s[0].LatencyPS.N != done {
		t.Errorf("summary %+v, %d done: some and not all should be", s, done)
	}
}

// TestCallsOfFailedConnection: with the connection, which gives up after Linux's 15
// retries (924.6 s from the first timeout on, tcp_retries2), end the requests that did
// not arrive and the replies that will never be asked for. RC's replies stay open, and
// the run says what they wait for.
func TestCallsOfFailedConnection(t *testing.T) {
	const text = `
name: cut off
topology: {star: {hosts: 2, link: 100Gbps}, links: [{between: [h1, sw], down_at: 1ms}]}
nic: {timeout: 8, retry: 2}
workload:
  - rpc: {between: [h0, h1], size: 2KB, every: 50us, count: 40, stack: %s}
`
	v, err := scenario.Parse("cut", []byte(strings.ReplaceAll(text, "%s", "tcp")), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := simulate(t, v, 1, 1)
	failed := map[bool]int{} // by whether it is a reply
	for i := range r.Messages {
		if f := &r.Messages[i]; f.Status == "connection timed out" {
			failed[f.Reply]++
		}
	}
	if r.Stopped != "quiescence" || r.OpenMessages != 0 || failed[false] != 20 || failed[true] != 20 {
		t.Errorf("ended by %s with %d open; failed: %v", r.Stopped, r.OpenMessages, failed)
	}
	if end := float64(r.EndPS) / 1e12; end < 924.6 || end > 926 {
		t.Errorf("ended at %g s", end)
	}
	if bad := differ(t, r, simulate(t, v, 2, 2)); bad != "" {
		t.Errorf("two partitions give another result: %s", bad)
	}
	r = simulate(t, parse(t, strings.ReplaceAll(text, "%s", "rocev2")), 1, 1)
	if why := metrics.WhyStalled(lang.English, r); r.Stopped != "stalled" || !strings.HasPrefix(why, "20 replies were never posted, as their requests never arrived (h1 -> h0, ") {
		t.Errorf("ended by %s: %s", r.Stopped, why)
	}
}
