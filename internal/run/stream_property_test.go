package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/scenario"
)

// drawStreams returns a random scenario with TCP connections, alone or beside
// queue pairs.
func drawStreams(seed uint64) draw {
	g := &generator{Stream: rng.New(seed, "streams")}
	g.line("name: streams-%d", seed)
	g.line("seed: %d", seed)
	g.lossy = g.one(2)
	g.lossless = true
	stack := g.pick("tcp", "tcp", "dctcp", "rocev2", "rocev2-none")
	g.line("stack: %s", stack)
	g.lossless = stack == "rocev2"
	g.topology()
	if g.tail != "" {
		g.line("%s", g.tail)
	}
	g.line("switch: {buffer: %dMB, latency: %dns, forwarding: %s, lossy: {alpha: %s, pool: %dKB}}", g.between(6, 12), g.IntN(1000),
		g.pick("store-and-forward", "cut-through"), g.pick("1/8", "1/2", "2"), g.between(60, 1500))
	if g.one(4) {
		g.line("vlan: true")
	}
	g.tcp(stack, seed%3 == 0)
	g.kernel()
	if seed%5 < 2 {
		g.line("server: {preset: %s, iommu: %s, relaxed_ordering: %s, mps: %s, costs: {read_tags: %s}}",
			g.pick("dgx-a100", "dgx-h100"), g.pick("off", "on"), g.pick("off", "on"), g.pick("128B", "256B", "512B"), g.pick("2", "32", "256"))
		for i := range g.hosts {
			if seed%5 == 0 && g.one(2) {
				g.hosts[i] = fmt.Sprintf(`"%s/gpu%d"`, strings.Trim(g.hosts[i], `"`), g.IntN(8))
			}
		}
	}
	if g.cut = g.one(6); g.cut {
		g.line("stop: %dns", g.between(20000, 500000))
	}
	if g.one(3) {
		g.line("measure: {from: 5us, to: %dus}", g.between(10, 60))
	}
	g.streams(seed, stack)
	if g.one(3) {
		g.line("carry_data: true")
	}
	g.text = g.b.String()
	return g.draw
}

// tcp draws the tcp section. Connections close behind their last message or not.
func (g *generator) tcp(stack string, closes bool) {
	mtu := g.pickInt(9000, 9000, 1500, 4200, 576)
	keys := []string{fmt.Sprintf("mtu: %d", mtu), "rto_min: " + g.pick("200ms", "10ms", "1ms"), "handshake: " + g.pick("ahead", "first-message")}
	if closes {
		keys = append(keys, "close: last-message")
	}
	for _, k := range []struct{ key, a, b string }{
		{"recovery", "newreno", "sack"}, {"tso", "false", "true"}, {"timestamps", "false", "true"}, {"window_scaling", "false", "true"}, {"pacing", "true", "false"},
		{"nagle", "off", "rfc896"}, {"delayed_ack", "none", "1ms"}, {"autotuning", "false", "true"}, {"prr", "false", "true"},
		{"sndbuf", "20KB", "300KB"}, {"rcvbuf", "9000B", "200KB"}, {"ack_every", "1", "4"}, {"initial_window", "1", "40"},
	} {
		if g.one(5) {
			keys = append(keys, k.key+": "+g.pick(k.a, k.b))
		}
	}
	if stack != "dctcp" {
		keys = append(keys, "cc: "+g.pick("cubic", "reno"), "ecn: "+g.pick("off", "classic"))
	}
	g.line("tcp: {%s}", strings.Join(keys, ", "))
}

// kernel draws what hosts cost: nothing, or a server of any kind.
func (g *generator) kernel() {
	if g.one(2) {
		g.line("host: {preset: free}")
		return
	}
	keys := []string{"preset: linux-xeon", fmt.Sprintf("cores: %d", g.pickInt(1, 2, 4, 24))}
	for _, k := range []struct{ key, a, b string }{
		{"moderation", "off", "{time: 7us}"}, {"gro", "false", "true"}, {"tso", "false", "true"}, {"send", "zerocopy", "sendfile"}, {"busy_poll", "true", "false"},
		{"steering", "rss", "arfs"}, {"ddio", "false", "true"}, {"memory_bandwidth", "20Gbps", "100Gbps"}, {"ring", "16", "256"},
		{"costs", "{input: 5us, syscall: 0ns}", "{output: 0ns, wakeup: 0ns, copy_dram: 10Gbps}"},
	} {
		if g.one(4) {
			keys = append(keys, k.key+": "+g.pick(k.a, k.b))
		}
	}
	g.line("host: {%s}", strings.Join(keys, ", "))
}

// streams draws the workload.
func (g *generator) streams(seed uint64, stack string) {
	mixed := strings.HasPrefix(stack, "rocev2")
	chained := len(g.hosts) >= 6 && g.one(2)
	if chained {
		g.line("triggers: {gathered: {kind: barrier, count: 2}, next: {kind: oneshot}}")
	}
	g.line("workload:")
	own := ""
	if mixed {
		own = ", stack: " + g.pick("tcp", "dctcp")
	}
	if chained {
		a, b, c := g.hosts[0], g.hosts[2], g.hosts[4]
		g.line("  - flow: {from: %s, to: %s, size: %dB, recv_done: gathered%s}", a, b, g.size(), own)
		g.line("  - flow: {from: %s, to: %s, size: %dB, send_done: gathered%s}", c, b, g.size(), own)
		g.line("  - flow: {from: %s, to: %s, size: %dB, trigger: gathered, send_done: next%s}", b, a, g.size(), own)
		g.line("  - flow: {from: %s, to: %s, size: %dB, trigger: next%s}", c, a, g.size(), own)
	}
	for range g.between(1, 3) {
		opt := fmt.Sprintf("size: %dB, count: %d, every: %dns, start: %dns, qps: %d%s", g.size(), g.pickInt(1, 1, 2, 30), g.IntN(20000), g.IntN(10000), g.pickInt(1, 1, 2), own)
		if mixed && g.one(3) {
			opt += ", class: " + g.pick("1", "3")
		}
		if g.one(2) {
			g.line("  - permutation: {hosts: [%s], %s}", strings.Join(g.hosts, ", "), opt)
		} else {
			g.incast(opt)
		}
	}
	if seed%4 == 1 {
		g.line("  - rpc: {between: [%s, %s], request: %dB, reply: %dB, count: %d, every: %dns, think: %dns, qps: %d, nodelay: %s%s}", g.hosts[0], g.hosts[len(g.hosts)-1],
			g.size(), g.size(), g.pickInt(1, 5, 30), g.between(100, 20000), g.IntN(2)*g.IntN(5000), g.pickInt(1, 1, 3), g.pick("true", "false"), own)
	}
	if mixed {
		g.incast(fmt.Sprintf("size: %dB, verb: write", g.size()))
	}
}

// streamProperties are those of properties that hold with TCP, and its own.
func streamProperties() []property {
	return []property{
		{"every message ends", func(v *scenario.Valid, d draw, r *record.Run) string {
			d.lossless = false // what RDMA loses without PFC may end in an error
			return everyMessageEnds(v, d, r)
		}},
		{"every byte is read once", readOnce},
		{"accounts tile", func(_ *scenario.Valid, _ draw, r *record.Run) string { return streamAccounts(r) }},
		{"bytes into a switch leave it or are dropped", conserved},
		{"no port above its rate", withinRate},
		{"times and queues are ordered", ordered},
		{"each pause sent is received", pausesArrive},
		{"bytes arrive as they were sent", arrivesAsSent},
		{"connections that were to close have", closedInOrder},
		{"calls take what their messages do", callsAddUp},
	}
}

// closedInOrder: behind its last message the end that wrote is in TIME-WAIT and the
// other closed, where all messages of their hosts came to a good end, no link failed
// for ever under their last acknowledgements, and the run was not cut short.
func closedInOrder(v *scenario.Valid, d draw, r *record.Run) string {
	bad, clients := map[string]bool{}, map[string]bool{} // hosts with a message that did not, and with calls
	for _, f := range r.Messages {
		if f.Call > 0 && !f.Reply {
			clients[record.HostOf(f.Src)] = true
		}
		if f.Status != "success" {
			bad[record.HostOf(f.Src)], bad[record.HostOf(f.Dst)] = true, true
		}
	}
	for _, q := range r.QPs {
		if q.Service != catalog.TCP || d.cut || bad[q.Host] || strings.Contains(d.text, "down_at") {
			continue
		}
		want := "ESTABLISHED"
		opened := len(q.Limits.Path) > 0
		if q.Workload == "rpc" { // both ends send
			opened = clients[q.Host]
		}
		switch {
		case v.Close && opened:
			want = "TIME-WAIT"
		case v.Close:
			want = "CLOSED"
		}
		if q.State != want {
			return fmt.Sprintf("%s is %s, want %s", q.Name(), q.State, want)
		}
	}
	return ""
}

// callsAddUp: a reply starts when the server has received the request and thought,
// and the latency of a call is what the accounts of its messages add up to, and that.
func callsAddUp(_ *scenario.Valid, _ draw, r *record.Run) string {
	for _, c := range metrics.CallsOf(r) {
		q, p := &r.Messages[c.Request], &r.Messages[c.Reply]
		if c.LatencyPS < 0 {
			continue
		}
		if sum := q.Account.Stages().Total() + c.ThinkPS + p.Account.Stages().Total(); c.ThinkPS < 0 || sum != c.LatencyPS {
			return fmt.Sprintf("call %d took %d ps, its accounts and thinking %d: %d ps", q.Call, c.LatencyPS, c.ThinkPS, sum)
		}
	}
	return ""
}

// readOnce: the end that reads has all bytes of the messages that are complete,
// and none of more than were posted.
func readOnce(v *scenario.Valid, _ draw, r *record.Run) string {
	type key struct {
		host string
		qp   int
	}
	done, posted := map[key]int64{}, map[key]int64{}
	peers := map[string]key{}
	for _, q := range r.QPs {
		if q.Service == catalog.TCP {
			peers[q.Name()] = key{q.Host, q.QP}
		}
	}
	reader := map[key]key{}
	for _, q := range r.QPs {
		if q.Service == catalog.TCP {
			reader[key{q.Host, q.QP}] = peers[q.Peer.String()]
		}
	}
	for _, f := range r.Messages {
		if f.Service != catalog.TCP || f.StartPS >= r.EndPS {
			continue
		}
		host, _, _ := strings.Cut(f.Src, "/")
		host, _, _ = strings.Cut(host, ":")
		to := reader[key{host, f.QP}]
		posted[to] += f.Bytes
		if f.Status == "success" {
			done[to] += f.Bytes
		}
	}
	for _, q := range r.QPs {
		k := key{q.Host, q.QP}
		if q.Service == catalog.TCP && (q.DeliveredBytes < done[k] || q.DeliveredBytes > posted[k]) {
			return fmt.Sprintf("%s read %d bytes of %d posted, and messages of %d are complete", q.Name(), q.DeliveredBytes, posted[k], done[k])
		}
	}
	return ""
}

// streamAccounts: the stages of a message over TCP are positive, add up, and none
// appears without its cause.
func streamAccounts(r *record.Run) string {
	retransmitted, timeouts := int64(0), int64(0)
	for _, q := range r.QPs {
		retransmitted += q.Retransmitted
		timeouts += q.Timeouts
	}
	for i, f := range r.Messages {
		if f.Service != catalog.TCP || f.CompletionPS < 0 {
			continue
		}
		if f.Account.Stages().Total() != f.CompletionPS {
			return fmt.Sprintf("message %d: %v is not %v: %v", i, f.Account.Stages().Total(), f.CompletionPS, f.Account.Stages())
		}
		for _, s := range f.Account.Stages() {
			switch {
			case s.Time <= 0:
				return fmt.Sprintf("message %d: stage %v of %v", i, s.Stage.String(), s.Time)
			case s.Stage == catalog.StageIdle:
				return fmt.Sprintf("message %d: idle for %v with bytes to send: %v", i, s.Time, f.Account.Stages())
			case (s.Stage == catalog.StageDetection || s.Stage == catalog.StageResending) && retransmitted == 0:
				return fmt.Sprintf("message %d: %s, and nothing was sent again: %v", i, s.Stage.String(), f.Account.Stages())
			case s.Stage == catalog.StageTimeout && timeouts == 0:
				return fmt.Sprintf("message %d: %s, and no timer expired: %v", i, s.Stage.String(), f.Account.Stages())
			}
		}
	}
	return ""
}

// TestStreamProperties holds what no scenario with TCP may break.
func TestStreamProperties(t *testing.T) {
	t.Parallel()
	seeds := draws(40, 50)
	seen := map[string]int{}
	failed := 0
	for seed := range seeds {
		d := drawStreams(seed)
		r, err := checkSeed(t, seed, d, streamProperties())
		if err != nil {
			t.Errorf("seed %d: %v\nscenario:\n%s", seed, err, d.text)
			if failed++; failed == 3 {
				t.FailNow()
			}
			continue
		}
		if r.Data != nil {
			seen["compared"] += r.Data.Messages
		}
		for _, f := range r.Messages {
			if f.Service != catalog.TCP {
				continue
			}
			seen["messages"]++
			if f.Reply && f.Status == "success" {
				seen["replies"]++
				if r.Data != nil {
					seen["replies compared"]++
				}
			}
			for _, s := range f.Account.Stages() {
				seen[s.Stage.String()]++
			}
		}
		for _, e := range r.Ledger {
			seen[e.Mechanism.String()] += int(e.Count)
		}
	}
	t.Log(seen)
	for _, what := range []string{"compared", "replies", "replies compared", catalog.StageHandshake.String(), catalog.StageSendBuffer.String(), catalog.StageReceiveWindow.String(), catalog.StageCwnd.String(), catalog.StagePacing.String(), catalog.StageNagle.String(),
		catalog.StageDetection.String(), catalog.StageTimeout.String(), catalog.StageReassembly.String(), catalog.StageEarlierWork.String(), catalog.RTO.String(), catalog.RetransTLP.String(), catalog.RetransFast.String(),
		catalog.CutECE.String(), catalog.DupAckSent.String(), catalog.SACKSent.String(), catalog.LossRACK.String(), catalog.LossDupAck.String()} {
		if seen[what] == 0 {
			t.Errorf("no %q in %d scenarios; they have become too tame", what, seeds)
		}
	}
}
