package main

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/rng"
)

// family draws scenarios in which one kind of thing is often, not always, what a message
// waits for.
type family struct {
	name string
	draw func(d *draw)
}

// families lists them; scenario n is of family n modulo their number.
func families() []family {
	return []family{
		{"incast, lossless", (*draw).lossless},
		{"incast, lossy", (*draw).lossy},
		{"victims of pauses", (*draw).victims},
		{"ECMP collisions", (*draw).collisions},
		{"slow receivers", (*draw).slowReceivers},
		{"PCIe below the line", (*draw).inside},
		{"TCP buffers", (*draw).buffers},
		{"TCP incast", (*draw).streams},
		{"loaded way of ACKs", (*draw).answers},
		{"strict classes", (*draw).classes},
		{"credits", (*draw).credits},
		{"failures", (*draw).failures},
		{"random loss", (*draw).loss},
		{"READs", (*draw).reads},
		{"collectives", (*draw).collective},
		{"cores", (*draw).cores},
	}
}

// draw is a scenario in the making.
type draw struct {
	rng.Stream
	b       strings.Builder
	hosts   []string
	planted string // what a collective is disturbed by: "receiver", "port", "inside", "failure", "loss", "workload"; "": nothing
}

// drawScenario returns the text of a scenario and what was planted in it.
func drawScenario(n int) (family, text, planted string) {
	all := families()
	f := &all[n%len(all)]
	d := &draw{Stream: rng.New(uint64(n), "proof/"+f.name)}
	d.line("name: proof-%d", n)
	d.line("seed: %d", n+1)
	f.draw(d)
	return f.name, d.b.String(), d.planted
}

func (d *draw) line(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

func (d *draw) pick(words ...string) string { return words[d.IntN(len(words))] }

func (d *draw) number(n ...int) int { return n[d.IntN(len(n))] }

// chance is true n times in of.
func (d *draw) chance(n, of int) bool { return d.IntN(of) < n }

// star is one switch.
func (d *draw) star(hosts int, link string) {
	d.line("topology: {star: {hosts: %d, link: {rate: %s, length: %s}}}", hosts, link, d.pick("2m", "5m", "30m", "100m"))
	d.named(hosts)
}

// tree is leaves and spines. up is the rate of uplinks.
func (d *draw) tree(leaves, hosts, spines int, link, up string) {
	d.line("topology: {leaf_spine: {leaves: %d, hosts_per_leaf: %d, spines: %d, host_link: %s, uplink: %s, length: %s}}", leaves, hosts, spines, link, up, d.pick("5m", "30m"))
	d.named(leaves * hosts)
}

func (d *draw) named(hosts int) {
	d.hosts = nil
	for i := range hosts {
		d.hosts = append(d.hosts, fmt.Sprintf("h%d", i))
	}
}

// two are two hosts of which neither is in not.
func (d *draw) two(not ...string) (from, to string) {
	for {
		from, to = d.hosts[d.IntN(len(d.hosts))], d.hosts[d.IntN(len(d.hosts))]
		ok := from != to
		for _, n := range not {
			ok = ok && from != n && to != n
		}
		if ok {
			return from, to
		}
	}
}

func (d *draw) size() string { return d.pick("100KB", "300KB", "1MB", "2MB", "4MB") }

// flow adds an entry of the workload.
func (d *draw) flow(name, from, to, more string) {
	d.line("  - {flow: {name: %s, from: %s, to: %s, size: %s, start: %dus%s}}", name, from, to, d.size(), d.number(0, 0, 5, 20, 60), more)
}

// background adds n flows anywhere.
func (d *draw) background(n int, more string) {
	for i := range n {
		from, to := d.two()
		d.flow(fmt.Sprintf("other%d", i), from, to, more)
	}
}

// incast adds flows from n hosts to one, and returns that.
func (d *draw) incast(n int, more string) string {
	to := d.hosts[d.IntN(len(d.hosts))]
	left := n
	for _, h := range d.hosts {
		if h != to && left > 0 {
			d.flow(fmt.Sprintf("in%d", left), h, to, more)
			left--
		}
	}
	return to
}

func (d *draw) rate() string { return d.pick("25Gbps", "100Gbps", "200Gbps", "400Gbps") }

func (d *draw) lossless() {
	d.line("stack: %s", d.pick("rocev2", "rocev2-pfc-only", "rocev2-pfc-only"))
	if d.chance(1, 2) {
		d.star(d.number(4, 6, 8), d.rate())
	} else {
		rate := d.rate()
		d.tree(2, d.number(2, 3), d.number(1, 2), rate, rate)
	}
	if d.chance(1, 2) {
		d.line("switch: {buffer: %s}", d.pick("4MB", "8MB"))
	}
	d.line("workload:")
	d.incast(d.number(2, 3, 5), "")
	d.background(d.number(0, 1, 2), "")
}

func (d *draw) lossy() {
	d.line("stack: %s", d.pick("rocev2-ecn-only", "rocev2-lossy", "rocev2-irn", "rocev2-none"))
	if d.chance(1, 2) {
		d.star(d.number(4, 6, 8), d.rate())
	} else {
		rate := d.rate()
		d.tree(2, d.number(2, 3), d.number(1, 2), rate, rate)
	}
	d.line("switch: {buffer: %s}", d.pick("1MB", "2MB", "8MB"))
	d.line("nic: {timeout: %d}", d.number(5, 8))
	d.line("workload:")
	d.incast(d.number(2, 3, 5), "")
	d.background(d.number(0, 1, 2), "")
}

func (d *draw) victims() {
	d.line("stack: rocev2-pfc-only")
	rate := d.pick("40Gbps", "100Gbps", "200Gbps")
	d.tree(d.number(2, 3), d.number(3, 4), d.number(1, 2), rate, rate)
	d.line("switch: {buffer: %s}", d.pick("2MB", "4MB"))
	to := d.hosts[len(d.hosts)-1]
	if d.chance(1, 3) {
		d.line("hosts: {%s: {drain_rate: %s}}", to, d.pick("10Gbps", "20Gbps"))
	}
	d.line("workload:")
	for i := range d.number(2, 3, 4) {
		d.line("  - {flow: {name: in%d, from: h%d, to: %s, size: %s}}", i, i, to, d.pick("2MB", "4MB"))
	}
	for i := range d.number(1, 2, 3) {
		from, dst := d.two(to)
		d.flow(fmt.Sprintf("victim%d", i), from, dst, "")
	}
}

func (d *draw) collisions() {
	d.line("stack: %s", d.pick("rocev2", "rocev2-pfc-only", "rocev2-ecn-only", "infiniband"))
	rate := d.pick("100Gbps", "200Gbps")
	d.tree(d.number(2, 3), d.number(2, 4), d.number(2, 4), rate, rate)
	d.line("workload:")
	d.line("  - {permutation: {name: all, size: %s}}", d.pick("1MB", "2MB"))
	d.background(d.number(0, 1), "")
}

func (d *draw) slowReceivers() {
	d.line("stack: %s", d.pick("rocev2", "rocev2-pfc-only", "rocev2-ecn-only", "infiniband"))
	d.star(d.number(3, 4, 6), d.pick("100Gbps", "200Gbps"))
	slow := d.hosts[d.IntN(len(d.hosts))]
	d.line("hosts: {%s: {drain_rate: %s}}", slow, d.pick("10Gbps", "20Gbps", "40Gbps", "80Gbps"))
	d.line("nic: {timeout: 8}")
	d.line("workload:")
	for i := range d.number(1, 2) {
		from, _ := d.two(slow)
		d.flow(fmt.Sprintf("slow%d", i), from, slow, "")
	}
	d.background(d.number(0, 1, 2), "")
}

func (d *draw) inside() {
	d.line("stack: %s", d.pick("rocev2", "rocev2-pfc-only", "infiniband"))
	d.star(d.number(2, 3, 4), d.pick("200Gbps", "400Gbps"))
	host := d.hosts[d.IntN(len(d.hosts))]
	preset := d.pick("dgx-h100", "dgx-a100")
	d.line("server: %s", preset)
	switch d.IntN(3) {
	case 0:
		d.line("hosts: {%s: {server: {links: {nic0: {gen: %d, width: %d}}}}}", host, d.number(3, 4), d.number(4, 8, 16))
	case 1:
		d.line("hosts: {%s: {server: {acs: redirect}}}", host)
	}
	d.line("workload:")
	gpu := func() string { return d.pick("/gpu0", "/gpu0", "/gpu1", "/gpu5") }
	for i := range d.number(1, 2, 3) {
		from, to := d.two()
		if d.chance(1, 2) {
			for to = host; from == host; {
				from, _ = d.two()
			}
		}
		d.flow(fmt.Sprintf("f%d", i), from+gpu(), to+gpu(), "")
	}
}

func (d *draw) buffers() {
	d.line("stack: tcp")
	d.line("host: {preset: free}")
	key := d.pick("rcvbuf", "sndbuf", "none")
	if key == "none" {
		d.line("tcp: {autotuning: %s}", d.pick("true", "false"))
	} else {
		d.line("tcp: {%s: %s, autotuning: %s}", key, d.pick("32KiB", "64KiB", "256KiB"), d.pick("true", "false"))
	}
	d.line("topology: {star: {hosts: %d, link: {rate: %s, delay: %s}}}", 4, d.pick("10Gbps", "25Gbps", "100Gbps"), d.pick("1us", "10us", "50us"))
	d.named(4)
	d.line("workload:")
	d.background(d.number(1, 2, 3), "")
}

func (d *draw) streams() {
	d.line("stack: %s", d.pick("tcp", "tcp", "dctcp"))
	d.line("host: {preset: %s}", d.pick("free", "linux-xeon"))
	d.star(d.number(3, 4, 6), d.pick("10Gbps", "25Gbps", "100Gbps"))
	if d.chance(1, 2) {
		d.line("switch: {buffer: %s}", d.pick("500KB", "2MB"))
	}
	d.line("workload:")
	d.incast(d.number(1, 2, 3), "")
	d.background(d.number(0, 1), "")
}

func (d *draw) answers() {
	d.line("stack: %s", d.pick("rocev2", "rocev2-pfc-only", "infiniband", "rocev2-ecn-only", "tcp"))
	rate := d.pick("100Gbps", "200Gbps")
	d.tree(2, d.number(2, 3), 1, rate, rate)
	if d.chance(1, 3) {
		d.line("hosts: {h0: {drain_rate: %s}}", d.pick("20Gbps", "40Gbps"))
	}
	d.line("workload:")
	last := d.hosts[len(d.hosts)-1]
	d.line("  - {flow: {name: asked, from: h0, to: %s, size: %s}}", last, d.pick("4KB", "50KB", "500KB"))
	for i := range d.number(1, 2, 3) {
		to := "h0"
		if i > 0 {
			to = d.hosts[d.IntN(len(d.hosts)/2)]
		}
		d.line("  - {flow: {name: back%d, from: %s, to: %s, size: %s}}", i, d.hosts[len(d.hosts)/2+i%(len(d.hosts)/2)], to, d.pick("500KB", "2MB"))
	}
}

func (d *draw) classes() {
	d.line("stack: %s", d.pick("rocev2-pfc-only", "rocev2", "rocev2-ecn-only"))
	d.line("switch: {buffer: 32MB, scheduler: {strict: [%s]}}", d.pick("3, 6, 7", "4, 6, 7", "5"))
	d.line("nic: {scheduler: {strict: [%s]}}", d.pick("6, 7", "3, 6, 7"))
	d.star(d.number(3, 4), d.pick("25Gbps", "100Gbps"))
	d.line("workload:")
	to := d.hosts[0]
	for i := range d.number(2, 3, 4) {
		from := d.hosts[1+i%(len(d.hosts)-1)]
		more := fmt.Sprintf(", class: %d", d.number(1, 3, 4, 5))
		if d.chance(1, 3) {
			more = ", stack: tcp"
		}
		d.flow(fmt.Sprintf("f%d", i), from, to, more)
	}
}

func (d *draw) credits() {
	d.line("stack: infiniband")
	if d.chance(1, 2) {
		d.line("infiniband: {congestion_control: ofed}")
	} else if d.chance(1, 2) {
		d.line("infiniband: {buffer: %s}", d.pick("16KiB", "32KiB"))
	}
	switch {
	case d.chance(1, 3):
		d.line("topology: {star: {hosts: 3, link: {rate: %s, length: %s}}}", d.pick("200Gbps", "400Gbps"), d.pick("500m", "2km"))
		d.named(3)
	default:
		rate := d.pick("100Gbps", "200Gbps")
		d.tree(2, d.number(2, 3), d.number(1, 2), rate, rate)
	}
	if d.chance(1, 2) {
		d.line("hosts: {%s: {drain_rate: %s}}", d.hosts[d.IntN(len(d.hosts))], d.pick("20Gbps", "50Gbps"))
	}
	d.line("workload:")
	d.background(d.number(2, 3, 4), "")
}

func (d *draw) failures() {
	d.line("stack: %s", d.pick("rocev2", "rocev2-pfc-only", "infiniband", "rocev2-lossy"))
	d.line("topology:")
	d.line("  leaf_spine: {leaves: 2, hosts_per_leaf: 2, spines: 2, link: %s}", d.pick("100Gbps", "200Gbps"))
	d.line("  links: [{between: [leaf%d, spine%d], down_at: %dus}]", d.number(1, 2), d.number(1, 2), d.number(10, 30, 80))
	d.named(4)
	d.line("failover: {detect: %s, converge: %s}", d.pick("50us", "500us"), d.pick("100us", "1ms"))
	d.line("nic: {timeout: %d}", d.number(5, 8, 14))
	d.line("workload:")
	d.background(d.number(2, 3, 4), "")
}

func (d *draw) loss() {
	d.line("stack: %s", d.pick("rocev2", "rocev2-lossy", "rocev2-irn", "tcp"))
	d.line("topology: {star: {hosts: 3, link: {rate: %s, loss: %s}}}", d.pick("25Gbps", "100Gbps"), d.pick("0.0002", "0.001", "0.005"))
	d.named(3)
	d.line("host: {preset: free}")
	d.line("nic: {timeout: %d}", d.number(4, 6, 8))
	d.line("workload:")
	d.background(d.number(1, 2, 3), "")
}

func (d *draw) reads() {
	d.line("stack: %s", d.pick("rocev2", "rocev2-pfc-only", "infiniband"))
	d.line("topology: {star: {hosts: %d, link: {rate: %s, delay: %s}}}", 4, d.pick("100Gbps", "200Gbps"), d.pick("500ns", "2us", "10us"))
	d.named(4)
	d.line("nic: {max_rd_atomic: %d, max_dest_rd_atomic: %d}", d.number(1, 4, 16), d.number(1, 4, 16))
	d.line("workload:")
	for i := range d.number(1, 2, 3) {
		from, to := d.two()
		d.line("  - {flow: {name: read%d, from: %s, to: %s, verb: read, size: %s, count: %d}}", i, from, to, d.pick("4KB", "16KB", "64KB", "1MB"), d.number(4, 16, 64))
	}
	d.background(d.number(0, 1, 2), "")
}

func (d *draw) collective() {
	d.planted = d.pick("receiver", "port", "inside", "failure", "loss", "workload")
	stack := d.pick("rocev2", "rocev2-pfc-only", "infiniband")
	if d.planted == "failure" || d.planted == "loss" {
		stack = "rocev2"
	}
	d.line("stack: %s", stack)
	rate := d.pick("100Gbps", "200Gbps")
	leaves, per := 2, d.number(2, 3)
	d.named(leaves * per)
	d.line("topology:")
	d.line("  leaf_spine: {leaves: %d, hosts_per_leaf: %d, spines: 2, link: %s}", leaves, per, rate)
	victim := d.hosts[d.IntN(len(d.hosts))]
	leaf := fmt.Sprintf("leaf%d", 1+int(victim[1]-'0')/per)
	switch d.planted {
	case "port":
		d.line("  links: [{between: [%s, %s], rate: %s}]", victim, leaf, d.pick("10Gbps", "25Gbps"))
	case "failure":
		d.line("  links: [{between: [%s, %s], down_at: 20us, up_at: %s}]", victim, leaf, d.pick("500us", "2ms"))
	case "loss":
		d.line("  links: [{between: [%s, %s], loss: %s}]", victim, leaf, d.pick("0.002", "0.01"))
	case "receiver":
		d.line("hosts: {%s: {drain_rate: %s}}", victim, d.pick("10Gbps", "20Gbps"))
	case "inside":
		d.line("server: two-socket")
		d.line("hosts: {%s: {server: {links: {nic0: {gen: 1, width: %d}}}}}", victim, d.number(1, 4))
	}
	d.line("nic: {timeout: 8}")
	d.line("workload:")
	op := d.pick("allreduce", "allgather", "reducescatter")
	d.line("  - {collective: {name: together, op: %s, ranks: hosts, size: %s}}", op, d.pick("960KB", "3840KB"))
	if d.planted == "workload" {
		from, _ := d.two(victim)
		d.line("  - {flow: {name: beside, from: %s, to: %s, size: 16MB}}", from, victim)
	}
}

func (d *draw) cores() {
	d.line("stack: tcp")
	d.line("host: {preset: linux-xeon, cores: %d, steering: %s}", d.number(1, 2, 4), d.pick("arfs", "rss"))
	d.star(d.number(2, 3, 4), d.pick("25Gbps", "100Gbps"))
	d.line("workload:")
	if d.chance(1, 2) {
		d.incast(d.number(1, 2), "")
	}
	d.background(d.number(1, 2, 3), "")
}
