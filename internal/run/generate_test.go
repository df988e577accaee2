package run_test

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/rng"
)

// draw is a random scenario and what the properties need to know of it.
type draw struct {
	text     string
	lossy    bool // links lose frames, or fail
	lossless bool // PFC covers all data, headroom as computed
	spread   bool // packets may overtake each other
	cut      bool // a stop time may leave messages open
}

// generator writes a random scenario as a user would.
type generator struct {
	anyOrder bool // adapters expect packets in any order
	rng.Stream
	b strings.Builder
	draw
	hosts []string // endpoints
	rate  string   // of the hosts' links
	tail  string   // another section
}

// drawScenario returns the scenario of a seed.
func drawScenario(seed uint64) draw {
	g := &generator{Stream: rng.New(seed, "property")}
	g.line("name: property-%d", seed)
	g.line("seed: %d", seed)
	g.lossy = g.one(5)
	g.lossless = !g.one(8)
	switch g.IntN(10) {
	case 0, 1:
		g.line("stack: rocev2-pfc-only")
	case 2:
		g.line("stack: rocev2-irn")
		g.lossless = false
	default:
		g.line("dcqcn: %s", g.pick("nvidia", "paper", "ns3", "none"))
	}
	g.routing(seed)
	g.line("mtu: %s", g.pick("4096", "4096", "1024", "2048", "256"))
	g.topology()
	if g.tail != "" {
		g.line("%s", g.tail)
	}
	g.switches()
	g.nics()
	if g.one(3) {
		from := g.IntN(20)
		g.line("measure: {from: %dus, to: %dus}", from, from+5+g.IntN(40))
	}
	if g.cut = g.one(6); g.cut {
		g.line("stop: %dns", g.between(20000, 200000))
	}
	g.workload()
	if g.one(3) {
		g.line("carry_data: true")
	}
	g.text = g.b.String()
	return g.draw
}

func (g *generator) line(format string, args ...any) { fmt.Fprintf(&g.b, format+"\n", args...) }

// one reports true once in n.
func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

func (g *generator) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g *generator) between(lo, hi int) int { return lo + g.IntN(hi-lo+1) }

func (g *generator) anyRate() string {
	// 56 Gb/s does not divide a second into whole picoseconds per byte.
	return g.pick("25Gbps", "40Gbps", "56Gbps", "100Gbps", "200Gbps", "400Gbps")
}

// cable is the distance key of a link: sometimes none, so that frames alone
// make the lookahead.
func (g *generator) cable() string {
	if g.one(4) {
		return fmt.Sprintf("delay: %dns", g.IntN(2000))
	}
	return fmt.Sprintf("length: %dm", g.between(1, 300))
}

func (g *generator) impairment() string {
	if !g.lossy {
		return ""
	}
	return g.pick(", loss: 0.001", ", loss: 0.01", ", ber: 1e-8", ", drop_every: 97")
}

// failing is the end of a topology of leaves and spines in which links fail, all
// of them between two switches or one, perhaps for a while; and how soon that is
// noticed.
func (g *generator) failing(leaves, spines int) string {
	if !g.one(2) {
		return ""
	}
	g.lossy = true
	g.tail = fmt.Sprintf("failover: {detect: %dns, converge: %dns, hashing: %s}", g.IntN(40000), g.IntN(40000), g.pick("resilient", "hash-threshold"))
	var links []string
	for range g.between(1, 2) {
		at := g.between(1000, 60000)
		end := ""
		if g.one(3) {
			end = fmt.Sprintf(", up_at: %dns", at+g.between(1, 90000))
		}
		between := fmt.Sprintf("{between: [leaf%d, spine%d], ", g.between(1, leaves), g.between(1, spines))
		if len(links) > 0 && strings.HasPrefix(links[0], between) {
			continue // the times of one link's failures must not overlap
		}
		links = append(links, fmt.Sprintf("%sdown_at: %dns%s}", between, at, end))
	}
	return fmt.Sprintf(", links: [%s]", strings.Join(links, ", "))
}

func (g *generator) topology() {
	g.rate = g.anyRate()
	up := fmt.Sprintf("{rate: %s, %s}", g.anyRate(), g.cable())
	host := fmt.Sprintf("{rate: %s, %s%s}", g.rate, g.cable(), g.impairment())
	n := 0
	switch g.IntN(4) {
	case 0:
		n = g.between(3, 9)
		g.line("topology: {star: {hosts: %d, link: %s}}", n, host)
	case 1:
		leaves, per, spines := g.between(2, 4), g.between(1, 4), g.between(1, 3)
		n = leaves * per
		g.line("topology: {leaf_spine: {leaves: %d, spines: %d, hosts_per_leaf: %d, parallel: %d, host_link: %s, uplink: %s}%s}",
			leaves, spines, per, g.between(1, 2), host, up, g.failing(leaves, spines))
	case 2:
		n = 16
		tiers := g.between(2, 3)
		if tiers == 2 {
			n = 8
		}
		g.line("topology: {fat_tree: {k: 4, tiers: %d, host_link: %s, leaf_link: %s}}", tiers, host, up)
	default:
		servers := g.between(2, 5)
		g.line("topology: {rail: {servers: %d, rails: 2, servers_per_group: 2, spines: %d, host_link: %s, uplink: %s}}",
			servers, g.between(1, 2), host, up)
		for s := range servers {
			g.hosts = append(g.hosts, fmt.Sprintf(`"h%d:1"`, s), fmt.Sprintf(`"h%d:2"`, s))
		}
	}
	for h := range n {
		g.hosts = append(g.hosts, fmt.Sprintf("h%d", h))
	}
}

func (g *generator) switches() {
	g.line("switch:")
	g.line("  buffer: %dMB", g.between(6, 12))
	g.line("  latency: %dns", g.IntN(1000))
	g.line("  forwarding: %s", g.pick("store-and-forward", "cut-through"))
	if !g.one(4) {
		kmin := g.between(5, 60)
		g.line("  ecn: {kmin: %dKB, kmax: %dKB, pmax: %s, at: %s}", kmin, kmin+g.IntN(300), g.pick("0.01", "0.2", "1"), g.pick("enqueue", "dequeue"))
	}
	if g.one(3) {
		g.line("  scheduler: {strict: [6], weights: {3: %d, 5: %d}}", g.between(1, 4), g.between(1, 4))
	}
	if !g.lossless {
		g.line("  pfc: none")
		g.line("  lossy: {alpha: %s, pool: %dKB}", g.pick("1/8", "1/2"), g.between(100, 500))
		return
	}
	g.line("  pfc:")
	g.line("    enabled: [3, 5]")
	if g.one(2) {
		g.line("    xoff: %dKB", g.between(10, 100))
		g.line("    xon_offset: %dB", g.IntN(8000))
	} else {
		g.line("    alpha: %s", g.pick("1/64", "1/16", "1/8", "1"))
	}
	g.line("    reserved: %dB", g.IntN(8192))
	if g.one(3) {
		g.line("    response: %dns", g.IntN(2000))
	}
	if g.one(4) {
		// Two full frames at 400 Gb/s are 132 quanta: below, a refresh comes too late.
		g.line("    quanta: %d", g.between(140, 2000))
	}
}

// routing has switches choose among equal ports for every packet in some scenarios,
// and adapters expect that in some of them.
func (g *generator) routing(seed uint64) {
	s := rng.New(seed, "spreading")
	if k := s.IntN(8); k < 2 {
		g.line("routing: %s", []string{"adaptive", "spray"}[k])
		g.spread, g.anyOrder = true, s.IntN(2) == 0
	}
}

func (g *generator) nics() {
	g.line("nic:")
	if g.anyOrder {
		g.line("  out_of_order: true")
	}
	g.line("  ack_every: %d", g.pickInt(1, 1, 2, 8))
	if g.one(3) {
		g.line("  window: %s", g.pick("20KB", "64KB", "1 bdp", "2.5 bdp"))
	}
	if g.one(4) {
		g.line("  cnp_coalesce: %s", g.pick("receiver", "sender"))
	}
	if recovery := g.pick("", "go-back-n", "selective-repeat", "selective-repeat", "irn"); recovery != "" {
		g.line("  recovery: %s", recovery)
	}
	if (g.lossy || !g.lossless) && !g.one(4) {
		g.line("  timeout: 8") // 1 ms
	}
	if g.one(4) {
		g.line("  mtt_cache: %d", g.between(1, 64))
		g.line("  qpc_cache: %d", g.between(1, 6))
		g.line("  cache_miss: %dns", g.between(1, 1000))
	}
	if g.one(4) {
		g.line("host: {post: %dns, poll: %dns, repost: %dns, connect: %dns, register: %s, registration: {base: %dns, per_page: %dns}, page_size: %s}",
			g.IntN(500), g.IntN(300), g.IntN(20000), g.IntN(3000), g.pick("ahead", "once", "per-message"), g.IntN(1000), g.IntN(50), g.pick("4KB", "2MB"))
	}
	if g.lossless && g.one(3) {
		h, _, _ := strings.Cut(strings.Trim(g.hosts[g.IntN(len(g.hosts))], `"`), ":")
		g.line("hosts:")
		g.line("  %s: {drain_rate: %s, rx_buffer: %dKB}", h, g.pick("10Gbps", "20Gbps", "40Gbps"), g.between(500, 1000))
	}
}

func (g *generator) pickInt(n ...int) int { return n[g.IntN(len(n))] }

func (g *generator) workload() {
	chained := len(g.hosts) >= 6 && g.one(2)
	if chained {
		g.line("triggers: {gathered: {kind: barrier, count: 2}, next: {kind: oneshot}}")
	}
	g.line("workload:")
	if chained {
		g.chain()
	}
	for range g.between(1, 3) {
		opt := fmt.Sprintf("%s, count: %d, every: %dns, start: %dns, qps: %d, class: %s",
			g.verb(), g.between(1, 3), g.IntN(20000), g.IntN(10000), g.pickInt(1, 1, 2), g.pick("3", "3", "5"))
		switch g.IntN(4) {
		case 0:
			g.line("  - permutation: {hosts: [%s], %s}", strings.Join(g.hosts, ", "), opt)
		case 1:
			g.line("  - all_to_all: {hosts: [%s], %s}", strings.Join(g.hosts[:min(5, len(g.hosts))], ", "), opt)
		default:
			g.incast(opt)
		}
	}
}

// verb draws what the messages of an entry are, and how large.
func (g *generator) verb() string {
	size := func() string { return fmt.Sprintf("size: %dB", g.size()) }
	switch g.IntN(8) {
	case 0:
		return size() + ", service: uc, verb: " + g.pick("write", "send", "write-imm", "send-imm")
	case 1:
		return fmt.Sprintf("size: %dB, service: ud, verb: %s", g.between(1, 256), g.pick("send", "send-imm"))
	case 2, 3:
		return size() + ", verb: read" + g.pick("", "", ", fence: true")
	case 4:
		return "verb: " + g.pick("cas", "fetch-add") + g.pick("", "", ", fence: true")
	}
	return size() + ", verb: " + g.pick("write", "send", "write-imm", "send-imm", "send-inv")
}

// chain is a message that waits for two, and one that waits for it.
func (g *generator) chain() {
	a, b, c := g.hosts[0], g.hosts[2], g.hosts[4] // of three hosts, whatever their ports
	done := "send_done"                           // activates however the message ends
	if !g.lossy && g.lossless && g.one(2) {
		done = "recv_done"
	}
	g.line("  - flow: {from: %s, to: %s, size: %dB, %s: gathered}", a, b, g.size(), done)
	g.line("  - flow: {from: %s, to: %s, size: %dB, %s: gathered}", c, b, g.size(), done)
	g.line("  - flow: {from: %s, to: %s, size: %dB, trigger: gathered, send_done: next}", b, a, g.size())
	g.line("  - flow: {from: %s, to: %s, size: %dB, trigger: next}", c, a, g.size())
}

// incast lets a few hosts send to one at once.
func (g *generator) incast(opt string) {
	host := func(ep string) string { h, _, _ := strings.Cut(strings.Trim(ep, `"`), ":"); return h }
	to := g.hosts[g.IntN(len(g.hosts))]
	var from []string
	for _, h := range g.hosts {
		if host(h) != host(to) && len(from) < 8 {
			from = append(from, h)
		}
	}
	g.line("  - incast: {from: [%s], to: %s, %s}", strings.Join(from, ", "), to, opt)
}

// size of a message: small ones, odd ones, and some that fill buffers.
func (g *generator) size() int {
	switch g.IntN(4) {
	case 0:
		return g.between(1, 300)
	case 1:
		return g.between(4000, 20000)
	default:
		return g.between(100000, 500000)
	}
}
