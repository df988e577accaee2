package scenario

import (
	"strings"
	"testing"
)

// base is a small right scenario; the cases change it.
const base = `name: t
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 100Gbps}
workload:
  - incast: {from: [h0, h1], to: h3, size: 1MB}
`

// Every kind of bad input ends in one line that says where, what, and what
// would be right.
// outages has a place for what a link says of them.
const outages = "topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, link: 100Gbps}, links: [{between: [leaf1, spine1], %}]}\n" +
	"workload: [flow: {from: h0, to: h1, size: 1MB}]\n"

func TestBadInput(t *testing.T) {
	cases := []struct {
		name, src string
		want      string
	}{
		{"unknown key", "topolgy: {}\n" + base, `s.yaml:1:1: unknown key "topolgy" in the scenario; did you mean "topology"?`},
		{"unknown inner key", base + "switch:\n  pfc: {xof: 10KB}\n", `s.yaml:7:9: unknown key "xof" in switch.pfc; did you mean "xoff"?`},
		{"not yaml", "topology: {star: [\n", `s.yaml:1:18: not YAML: sequence end token ']' not found; check brackets, quotes and indentation`},
		{"nested", "a: " + strings.Repeat("[", 200), `s.yaml:1:132: nested more than 32 levels deep; no scenario value is`},
		{"nested lists", strings.Repeat("- ", 200) + "x", `s.yaml:1:258: nested more than 32 levels deep; no scenario value is`},
		{"empty", "", `s.yaml:1:1: the file is empty; it needs at least topology and workload`},
		{"a list", "- a\n", `s.yaml:1:1: a scenario is a mapping with the keys topology and workload; this is a list`},
		{"two documents", base + "---\n" + base, `s.yaml:1:1: the file holds 2 YAML documents; a scenario is one`},
		{"duplicate key", base + "name: u\n", `s.yaml:6:1: "name" stands here twice; keep one`},
		{"alias", "name: &a x\ndescription: *a\n" + base[8:], `s.yaml:1:7: YAML anchor is not used in scenarios; write the value out`},
		{"no topology", base[:8] + "workload: []\n", `s.yaml:1:1: topology is missing; the shortest is topology: {star: {hosts: 5, link: 400Gbps}}`},
		{"two shapes", "topology: {star: {hosts: 2, link: 1Gbps}, rail: {servers: 2, rails: 1, link: 1Gbps}}\nworkload: []\n", `s.yaml:1:12: topology gives star and rail; give one of star, leaf_spine, fat_tree, clos, rail, or hosts, switches and links`},
		{"no shape", "topology: {}\nworkload: []\n", `s.yaml:1:11: topology gives nothing; give one of star, leaf_spine, fat_tree, clos, rail, or hosts, switches and links`},
		{"missing link", "topology: {star: {hosts: 3}}\n", `s.yaml:1:19: topology.star has no link; give a rate such as link: 400Gbps`},
		{"missing hosts", "topology: {star: {link: 1Gbps}}\n", `s.yaml:1:19: topology.star has no hosts; give a whole number from 1 to 262144`},
		{"bad unit", "topology: {star: {hosts: 3, link: 400Gbit}}\n", `s.yaml:1:35: topology.star.link: "400Gbit" has the unknown unit "Gbit"; a rate ends in one of bps, Kbps, Mbps, Gbps, Tbps`},
		{"no unit", "topology: {star: {hosts: 3, link: 400}}\n", `s.yaml:1:35: topology.star.link: "400" has no unit; a rate ends in one of bps, Kbps, Mbps, Gbps, Tbps`},
		{"outages overlap", strings.Replace(outages, "%", "down: [{at: 1ms, until: 3ms}, {at: 2ms}]", 1),
			`s.yaml:1:123: topology.links[0]: the link fails at 1ms and works again at 3ms, but fails at 2ms too; let the next outage begin after that`},
		{"outage after the last", strings.Replace(outages, "%", "down_at: 2ms, down: [{at: 5ms, until: 6ms}]", 1),
			`s.yaml:1:137: topology.links[0]: the link fails at 2ms and does not work again before it fails at 5ms; say when it works again`},
		{"outage backwards", strings.Replace(outages, "%", "down: [{at: 2ms, until: 1ms}]", 1), `s.yaml:1:141: topology.links[0].down[0].until: 1ms is not after at, 2ms; give a later time`},
		{"outage without a time", strings.Replace(outages, "%", "down: [{until: 1ms}]", 1), `s.yaml:1:125: topology.links[0].down[0] has no at; say when the link fails such as at: 1ms`},
		{"flaps faster than it fails", strings.Replace(outages, "%", "flap: {from: 1ms, every: 1ms, down_for: 2ms, times: 3}", 1),
			`s.yaml:1:157: topology.links[0].flap.down_for: 2ms is not shorter than every, 1ms: the link would not work again before it fails again; give less`},
		{"flaps without end", strings.Replace(outages, "%", "flap: {from: 1ms, every: 3ms, down_for: 2ms}", 1),
			`s.yaml:1:124: topology.links[0].flap has no times; say how many times the link fails such as times: 10`},
		{"flaps for ever", strings.Replace(outages, "%", "flap: {from: 1ms, every: 3ms, down_for: 2ms, times: 5000}", 1),
			`s.yaml:1:169: topology.links[0].flap.times: "5000" is not a whole number from 1 to 1000`},
		{"a watchdog's action", base + "switch: {watchdog: shout}\n", `s.yaml:6:20: switch.watchdog: "shout" is not known; use one of drop, forward, alert`},
		{"a watchdog's interval", base + "switch: {watchdog: {poll: 1us}}\n", `s.yaml:6:27: switch.watchdog.poll: 1us is no interval of a watchdog; give 10us to 60s, such as 200ms`},
		{"a watchdog's rule", base + "switch: {watchdog: {rule: broadcon}}\n", `s.yaml:6:27: switch.watchdog.rule: "broadcon" is not known; did you mean "broadcom"?`},
		{"a fault that ends first", base + "nic: {faults: [{hang: {from: 2ms, until: 1ms}}]}\n", `s.yaml:6:42: nic.faults[0].hang.until: 1ms is not after from, 2ms; give a later time`},
		{"two kinds of fault", base + "nic: {faults: [{hang: {}, pauses: {}}]}\n", `s.yaml:6:17: nic.faults[0] gives 2 kinds of fault; give one of hang, pauses, slow`},
		{"faults that contradict", base + "nic: {faults: [{hang: {from: 1ms}}, {slow: {from: 2ms, rate: 1Gbps}}]}\n",
			`s.yaml:6:38: nic.faults[1] overlaps another fault of the card that begins at 1ms; let one end before the other begins`},
		{"a slow card without a rate", base + "nic: {faults: [{slow: {from: 2ms}}]}\n", `s.yaml:6:24: nic.faults[0].slow has no rate; say what the host takes such as rate: 1Gbps`},
		{"a fault that is none", base + "nic: {faults: [{hung: {from: 2ms}}]}\n", `s.yaml:6:17: unknown key "hung" in nic.faults[0]; did you mean "hang"?`},
		{"lost from elsewhere", strings.Replace(outages, "%", "down: [{at: 1ms, lost_from: leaf2}]", 1),
			`s.yaml:1:125: topology.links[0]: lost_from "leaf2" is neither of the link's nodes; give leaf1 or spine1`},
		{"an unknown FEC", "topology: {star: {hosts: 3, link: 400Gbps, ber: 1e-5, fec: rs255}}\n", `s.yaml:1:60: topology.star.fec: "rs255" is not known; did you mean "rs528"?`},
		{"a switch down backwards", base + "switches: {leaf1: {down: [{at: 2ms, until: 1ms}]}}\n", `s.yaml:6:44: switches.leaf1.down[0].until: 1ms is not after at, 2ms; give a later time`},
		{"absurd cable", "topology: {star: {hosts: 3, link: 400Gbps, length: 50000km}}\n", `s.yaml:1:52: topology.star.length: a cable of 50000km is absurd; the longest accepted is 20000km`},
		{"absurd delay", "topology: {star: {hosts: 3, link: 400Gbps, delay: 2s}}\n", `s.yaml:1:51: topology.star.delay: a cable with a delay of 2s is absurd; the longest accepted is 100ms`},
		{"length and delay", "topology: {star: {hosts: 3, link: 400Gbps, delay: 2us, length: 3m}}\n", `s.yaml:1:51: topology.star.delay: a link has a length or a delay; keep one`},
		{"zero rate", "topology: {star: {hosts: 3, link: 0Gbps}}\n", `s.yaml:1:35: topology.star.link: a link of 0bps is not simulated; give 1Mbps to 100Tbps`},
		{"no host", "topology: {star: {hosts: 0, link: 1Gbps}}\n", `s.yaml:1:26: topology.star.hosts: "0" is not a whole number from 1 to 262144`},
		{"odd k", "topology: {fat_tree: {k: 3, link: 1Gbps}}\n", `s.yaml:1:23: fat-tree: k 3 must be an even number from 2 to 128`},
		{"ratio", "topology: {leaf_spine: {leaves: 2, hosts_per_leaf: 3, oversubscription: 2:1, link: 1Gbps}}\n", `s.yaml:1:73: topology.leaf_spine.oversubscription: leaf-spine: 3 hosts at 1Gbps per leaf with oversubscription 2:1 do not need a whole number of 1Gbps uplinks; change hosts per leaf, rates or ratio`},
		{"no spines", "topology: {leaf_spine: {leaves: 2, hosts_per_leaf: 3, link: 1Gbps}}\n", `s.yaml:1:25: topology.leaf_spine: the number of spines is missing; give spines, or oversubscription such as 2:1`},
		{"duplicate names", "topology: {hosts: [a, b, a], switches: [s], links: []}\n", `s.yaml:1:26: host "a" has the name of another host; names must be unique`},
		{"host and switch of one name", "topology: {hosts: [a, b], switches: [a], links: []}\n", `s.yaml:1:38: switch "a" has the name of another host; names must be unique`},
		{"unlinked host", "topology: {hosts: [a, b], switches: [s], links: [{between: [a, s], rate: 1Gbps}]}\n", `s.yaml:1:12: host b has no link; connect it or leave it out`},
		{"unknown link end", "topology: {hosts: [a, b], switches: [s], links: [{between: [a, x], rate: 1Gbps}]}\n", `s.yaml:1:60: link a to x: there is no node "x"; declare it first`},
		{"link without rate", "topology: {hosts: [a, b], switches: [s], links: [{between: [a, s]}]}\n", `s.yaml:1:51: topology.links[0] has no rate; give one such as rate: 400Gbps`},
		{"disconnected pair", "topology: {hosts: [a, b], switches: [s, u], links: [{between: [a, s], rate: 1Gbps}, {between: [b, u], rate: 1Gbps}]}\n", `s.yaml:1:12: hosts a and b are not connected; add the missing links`},
		{"changed link that is none", "topology: {star: {hosts: 3, link: 1Gbps}, links: [{between: [h0, h1], loss: 1%}]}\n", `s.yaml:1:61: topology.links[0]: there is no link between h0 and h1; name two neighbours`},
		{"initials", "dcqcn: {cnp_limiter: qp}\n" + base, `s.yaml:1:22: dcqcn.cnp_limiter: "qp" is not known; did you mean "queue-pair"?`},
		{"stack unknown", "stack: rocev3\n" + base, `s.yaml:1:8: stack: "rocev3" is not a stack; did you mean "rocev2"?`},
		{"bad seed", "seed: -1\n" + base, `s.yaml:1:7: seed: "-1" is not a whole number from 0 to 2^64-1`},
		{"packet payload", "mtu: 1024\npacket_payload: 2KB\n" + base, `s.yaml:2:17: packet_payload: 2KB is not from 1B to the path MTU of 1024 B; RC packets other than a message's last carry exactly the path MTU unless this says less`},
		{"quantum longer than a frame", "time_quantum: 1us\n" + base, `s.yaml:1:15: time_quantum: 1us is longer than a full frame takes at 100Gbps; give at most 335.52ns`},
		{"too much to carry", "carry_data: true\n" + strings.Replace(base, "1MB", "300MB", 1), `s.yaml:1:13: carry_data: 2 messages need more than 1 GB of memory for their bytes, at either end; send fewer or smaller ones, or leave carry_data out`},
		{"carry what", "carry_data: yes\n" + base, `s.yaml:1:13: carry_data: "yes" is neither true nor false`},
		{"mtu", "mtu: 9000\n" + base, `s.yaml:1:6: mtu: "9000" is not a path MTU that a RoCEv2 packet can have; use 256, 512, 1024, 2048 or 4096 (IBTA)`},
		{"mtu no frame can carry", "switch: {mtu: 1500}\n" + base, `s.yaml:1:15: a packet of path MTU 4096 is 4156 B long and does not fit the port MTU 1500 of leaf1; lower mtu or raise the port MTU`},
		{"kmin above kmax", base + "switch: {ecn: {kmin: 2MB, kmax: 1MB}}\n", `s.yaml:6:22: switch.ecn: kmin 2MB is above kmax 1MB; marking starts at kmin and is certain above kmax`},
		{"kmin alone", base + "switch: {ecn: {kmin: 2MB}}\n", `s.yaml:6:22: switch.ecn: kmin 2MB is above kmax 1.6MB; marking starts at kmin and is certain above kmax`},
		{"pmax", base + "switch: {ecn: {kmin: 1MB, kmax: 1MB, pmax: 2}}\n", `s.yaml:6:44: switch.ecn.pmax: "2" is not a probability; write a number from 0 to 1 or a percentage such as 1%`},
		{"xon at xoff", base + "switch: {pfc: {xoff: 100KB, xon_offset: 100KB}}\n", `s.yaml:6:41: xon_offset 100KB of leaf1 is not below XOFF 100KB; XON = XOFF - xon_offset must stay above 0`},
		{"xoff and alpha", base + "switch: {pfc: {xoff: 100KB, alpha: 1/8}}\n", `s.yaml:6:22: switch.pfc.xoff: alpha and xoff are two ways to say the threshold; keep one`},
		{"alpha", base + "switch: {pfc: {alpha: 0}}\n", `s.yaml:6:23: switch.pfc.alpha: "0" is not a positive ratio such as 1/8, 2 or 0.5 (numerator and denominator up to 65536)`},
		{"minimum rate above the maximum", base + "dcqcn: {rpg_min_rate: 50Gbps, rpg_max_rate: 10Gbps}\n",
			`s.yaml:6:23: dcqcn: rpg_min_rate is 50Gbps, want no more than rpg_max_rate 10Gbps`},
		{"maximum rate below the preset's minimum", base + "dcqcn: {rpg_max_rate: 100Kbps}\n",
			`s.yaml:6:23: dcqcn: rpg_min_rate is 1Mbps, want no more than rpg_max_rate 100Kbps`},
		{"noise that nobody measured", base + "noise: {pipeline: 11us}\n", `s.yaml:6:19: noise.pipeline: 11us is more than anything measured; give at most 10us, such as 150ns`},
		{"noise of a card", base + "noise:\n  card: 1ms\n", `s.yaml:7:9: noise.card: 1ms is more than anything measured; give at most 10us, such as 70ns`},
		{"noise of a kernel", base + "noise: {host: 20us}\n", `s.yaml:6:15: noise.host: 20us is more than anything measured; give at most 10us, such as 2us`},
		{"noise on", base + "noise: on\n", `s.yaml:6:8: noise: "on" is not known; give off, or a mapping with the keys pipeline, card, clocks, host, arbitration`},
		{"clocks", base + "noise: {clocks: 5000}\n", `s.yaml:6:17: noise.clocks: "5000" is not a whole number from 0 to 1000`},
		{"xoff above pool", base + "switch: {pfc: {xoff: 100MB}}\n", `s.yaml:6:22: xoff 100MB of leaf1 is above the shared pool of 33.358244MB; XOFF would never be reached`},
		{"buffer below headrooms", base + "switch: {buffer: 100KB}\n", `s.yaml:6:18: switch.buffer 100KB of leaf1 is smaller than its reserves and headrooms, 196.188KB in all; give more than that, shorter cables, or fewer lossless priorities`},
		{"headrooms of a long cable", "topology: {star: {hosts: 3, link: 400Gbps, length: 1000km}}\nworkload:\n  - flow: {from: h0, to: h1, size: 1MB}\n", `s.yaml:1:12: the default buffer of sw, 128MiB, is smaller than the reserves and headrooms of its 3 ports, 1.500451893GB in all; give switch.buffer more than that, shorter cables, or fewer lossless priorities`},
		{"max_rd_atomic", base + "nic: {max_rd_atomic: 0}\n", `s.yaml:6:22: nic.max_rd_atomic: 0 would let no READ or atomic through; give 1 to 128, such as 16`},
		{"max_dest_rd_atomic", base + "hosts: {h3: {max_dest_rd_atomic: 200}}\n", `s.yaml:6:34: hosts.h3.max_dest_rd_atomic: "200" is not a whole number from 1 to 128`},
		{"inline", base + "  - flow: {from: h0, to: h1, size: 1KB, inline: true}\n", `s.yaml:6:5: workload[1]: 1KB inline is more than the 220B that a work request of h0 takes; send less, raise max_inline, or leave inline out`},
		{"max_inline", base + "nic: {max_inline: 1MB}\n", `s.yaml:6:19: nic.max_inline: 1MB is more than any card takes; give at most 4KiB`},
		{"no cache entry", base + "nic: {mtt_cache: 0}\n", `s.yaml:6:18: nic.mtt_cache: "0" is not a whole number from 1 to 4194304`},
		{"fetch of no time", base + "nic: {qpc_cache: 100, cache_miss: 0}\n", `s.yaml:6:35: nic.cache_miss: 0 is no fetch over PCIe; give a time such as 547ns, or leave the caches out`},
		{"verb", base + "  - flow: {from: h0, to: h1, size: 1KB, verb: writ}\n", `s.yaml:6:47: workload[1].flow.verb: "writ" is not known; did you mean "write"?`},
		{"UD with WRITE", base + "  - flow: {from: h0, to: h1, size: 1KB, service: ud}\n", `s.yaml:6:50: workload[1].flow.service: UD carries no WRITE, only send or send-imm; use service: rc`},
		{"UC with READ", base + "  - flow: {from: h0, to: h1, size: 1KB, verb: read, service: uc}\n", `s.yaml:6:62: workload[1].flow.service: UC carries no READ, only write, send, write-imm or send-imm; use service: rc`},
		{"UD of two packets", base + "  - flow: {from: h0, to: h1, size: 8KB, verb: send, service: ud}\n", `s.yaml:6:36: workload[1].flow.size: 8KB does not fit a datagram, which is one packet of at most 4096 B (mtu); send less, or use service: rc`},
		{"fence on UC", base + "  - flow: {from: h0, to: h1, size: 8KB, service: uc, fence: true}\n", `s.yaml:6:61: workload[1].flow.fence: waits for READs and atomics, which UC has none of; use service: rc`},
		{"size of an atomic", base + "  - flow: {from: h0, to: h1, size: 8B, verb: cas}\n", `s.yaml:6:36: workload[1].flow.size: a CMP_SWAP works on 8 bytes, always (IBTA); leave size out`},
		{"inline READ", base + "  - flow: {from: h0, to: h1, size: 8B, verb: read, inline: true}\n", `s.yaml:6:60: workload[1].flow.inline: a READ carries no payload to put into the work request; use write or send`},
		{"too many receives", base + "  - flow: {from: h0, to: h1, size: 8B, verb: send, receives: 1048577}\n", `s.yaml:6:62: workload[1].flow.receives: "1048577" is not a whole number from 0 to 1048576`},
		{"receives twice", base + "  - flow: {from: h0, to: h1, size: 8B, verb: send, srq: 4, receives: 4}\n", `s.yaml:6:57: workload[1].flow.srq: is the receives that all responders share, and receives those of each; keep one`},
		{"rights", base + "  - flow: {from: h0, to: h1, size: 1KB, remote_access: [write, reed]}\n", `s.yaml:6:64: workload[1].flow.remote_access: "reed" is no right; give all, none, or a list of write, read and atomic`},
		{"offset without region", base + "  - flow: {from: h0, to: h1, size: 1KB, offset: random}\n", `s.yaml:6:49: workload[1].flow.offset: random places messages in a region and none is given; give region as well, such as region: 64MB`},
		{"region below the message", base + "  - flow: {from: h0, to: h1, size: 1MB, offset: random, region: 1KB}\n", `s.yaml:6:36: workload[1].flow.size: 1MB does not fit the region of 1KB; give a larger region`},
		{"region below an atomic", base + "  - flow: {from: h0, to: h1, verb: cas, region: 4B}\n", `s.yaml:6:49: workload[1].flow.region: 4B does not hold the 8 bytes that a CMP_SWAP works on; give 8B or more`},
		{"offset", base + "  - flow: {from: h0, to: h1, size: 1MB, offset: 5TB}\n", `s.yaml:6:49: workload[1].flow.offset: 5TB is farther than 1TiB, the longest region`},
		{"page size", base + "host: {page_size: 1MB}\n", `s.yaml:6:19: host.page_size: "1MB" is not known; did you mean "2MB"?`},
		{"registration", base + "host: {register: once, registration: {base: 1m}}\n", `s.yaml:6:45: host.registration.base: "1m" has the unknown unit "m"; a time ends in one of ps, ns, us, ms, s`},
		{"cost", base + "hosts: {h0: {repost: 11s}}\n", `s.yaml:6:22: hosts.h0.repost: 11s is longer than anything a host does for one message; give at most 10s`},
		{"priority", base + "switch: {pfc: {enabled: [8]}}\n", `s.yaml:6:26: switch.pfc.enabled: "8" is not a priority from 0 to 7`},
		{"dscp", base + "switch: {dscp_to_priority: {64: 3}}\n", `s.yaml:6:29: switch.dscp_to_priority: "64" is not a DSCP from 0 to 63`},
		{"trust", base + "switch: {trust: vlan}\n", `s.yaml:6:17: switch.trust: "vlan" is not known; use one of dscp, pcp`},
		{"trust pcp without tag", base + "switch: {trust: pcp}\n", `s.yaml:6:17: switch.trust: pcp classifies by the VLAN tag, and frames carry none; add vlan: true, or trust dscp`},
		{"trust pcp of one switch", base + "switches: {leaf2: {trust: pcp}}\n", `s.yaml:6:27: switches.leaf2.trust: pcp classifies by the VLAN tag, and frames carry none; add vlan: true, or trust dscp`},
		{"pcp", base + "vlan: true\nswitch: {pcp_to_priority: {8: 3}}\n", `s.yaml:7:28: switch.pcp_to_priority: "8" is not a PCP from 0 to 7`},
		{"vlan", base + "vlan: 7\n", `s.yaml:6:7: vlan: "7" is neither true nor false`},
		{"weight", base + "switch: {scheduler: {weights: {3: 0}}}\n", `s.yaml:6:35: switch.scheduler.weights: "0" is not a weight from 1 to 255`},
		{"unknown switch", base + "switches: {leaf3: {buffer: 1MB}}\n", `s.yaml:6:12: switches: there is no switch "leaf3"; did you mean "leaf1"?`},
		{"host under switches", base + "switches: {h0: {buffer: 1MB}}\n", `s.yaml:6:12: switches: h0 is a host; put it under hosts`},
		{"nic xon at xoff", base + "nic: {rx_buffer: 1MB, rx_xoff: 500KB, rx_xon: 500KB}\n", `s.yaml:6:47: nic.rx_xon: 500KB is not below rx_xoff 500KB; XON must lie below XOFF`},
		{"nic xoff above buffer", base + "nic: {rx_buffer: 1MB, rx_xoff: 2MB}\n", `s.yaml:6:32: nic.rx_xoff: 2MB is above rx_buffer 1MB; XOFF must leave headroom below the buffer's end`},
		{"nic buffer below headroom", base + "hosts: {h3: {rx_buffer: 16KB, drain_rate: 1Gbps}}\n", `s.yaml:6:25: rx_buffer 16KB of h3 leaves no room below its headroom of 38.447KB; give at least 46.795KB`},
		{"retry", base + "nic: {retry: 8}\n", `s.yaml:6:14: nic.retry: "8" is not a whole number from 0 to 7`},
		{"window without unit", base + "nic: {window: 64000}\n", `s.yaml:6:15: nic.window: "64000" has no unit; write none, a size such as 64KB, or a multiple such as 1 bdp`},
		{"recovery", base + "nic: {recovery: sack}\n", `s.yaml:6:17: nic.recovery: "sack" is not known; use one of go-back-n, go-back-0, selective-repeat, irn`},
		{"no bitmap", base + "nic: {recovery: irn, bitmap: 0}\n", `s.yaml:6:30: nic.bitmap: "0" is not a whole number from 1 to 8192`},
		{"bitmap below the window", base + "nic: {recovery: selective-repeat, bitmap: 15, window: 64KB}\n", `s.yaml:6:43: a bitmap of 15 packets is smaller than the window of 64KB, which is 16 packets of 4096 B; give a bitmap of at least 16, or a smaller window`},
		{"bitmap below the window in BDPs", base + "nic: {recovery: irn, bitmap: 15, window: 64 bdp}\n", `s.yaml:6:30: a bitmap of 15 packets is smaller than the window of 2.69568MB, which is 659 packets of 4096 B; give a bitmap of at least 659, or a smaller window`},
		{"bitmap below IRN's own window", "mtu: 256\n" + base + "nic: {recovery: irn, bitmap: 15}\n", `s.yaml:7:30: a bitmap of 15 packets is smaller than the window of 26.76KB, which is 105 packets of 256 B; give a bitmap of at least 105, or a smaller window`},
		{"window above any bitmap", base + "nic: {recovery: selective-repeat, window: 64MB}\n", `s.yaml:6:43: a window of 64MB is 15625 packets of 4096 B, and no bitmap is larger than 8192; give a smaller window or a larger mtu`},
		{"recovery of one end", base + "hosts: {h3: {recovery: irn}}\n", `s.yaml:6:24: h0 recovers by go-back-n and its peer h3 by irn; both ends of a connection need the same`},
		{"bitmap of one end", base + "stack: rocev2-lossy\nhosts: {h3: {bitmap: 64}}\n", `s.yaml:7:22: the bitmap of h3, 64 packets, is smaller than what its peer h0 may have outstanding, 512; give both ends the same`},
		{"adaptive timeout", base + "nic: {adaptive_timeout: maybe}\n", `s.yaml:6:25: nic.adaptive_timeout: "maybe" is neither true nor false`},
		{"adaptive timeout below firmware's", base + "nic: {adaptive_timeout: {min: 3us}}\n", `s.yaml:6:31: nic.adaptive_timeout.min: 3us is shorter than firmware allows; give 4us or more`},
		{"adaptive timeout above the timeout", base + "nic: {timeout: 8, adaptive_timeout: {min: 2ms}}\n", `s.yaml:6:38: the shortest timeout, 2ms, is longer than the timeout of 1.048576ms, which is the longest; give a smaller min or a larger timeout`},
		{"adaptive timeout of no retries", base + "nic: {adaptive_timeout: {retries: 0}}\n", `s.yaml:6:35: nic.adaptive_timeout.retries: "0" is not a whole number from 1 to 16`},
		{"adaptive timeout that shrinks by 3", base + "nic: {adaptive_timeout: {decrease: 3}}\n", `s.yaml:6:36: nic.adaptive_timeout.decrease: "3" is not known; use one of half, quarter, reset`},
		{"slow restart after no idle", base + "nic: {slow_restart: {idle: 0us}}\n", `s.yaml:6:28: nic.slow_restart.idle: 0 is no time; give one such as 100us, or leave it out to restart slowly after timeouts only`},
		{"slow restart key", base + "nic: {slow_restart: {packets: 2}}\n", `s.yaml:6:22: unknown key "packets" in nic.slow_restart; use one of idle`},
		{"window in nonsense", base + "nic: {window: x bdp}\n", `s.yaml:6:15: nic.window: "x bdp" is not a multiple of the BDP; write 1 bdp, 1.5 bdp`},
		{"dcqcn preset", base + "dcqcn: nvida\n", `s.yaml:6:8: dcqcn: "nvida" is not known; did you mean "nvidia"?`},
		{"dcqcn key", base + "dcqcn: {rpg_ai: 5Mbps}\n", `s.yaml:6:9: unknown key "rpg_ai" in dcqcn; did you mean "rpg_ai_rate"?`},
		{"dcqcn value", base + "dcqcn: {rpg_time_reset: 0us}\n", `s.yaml:6:25: dcqcn: rpg_time_reset is 0s, want a positive time`},
		{"dcqcn in pfc only", "stack: rocev2-pfc-only\n" + base + "dcqcn: paper\n", `s.yaml:7:8: dcqcn: the stack rocev2-pfc-only runs without congestion control; take the stack rocev2, or leave dcqcn out`},
		{"measure", base + "measure: {from: 2ms, to: 1ms}\n", `s.yaml:6:26: measure.to: 1ms is not after from 2ms`},
		{"measure from the stop on", base + "measure: {from: 2ms, to: 3ms}\nstop: 2ms\n", `s.yaml:6:17: measure.from: 2ms is not before stop 2ms`},
		{"tab", "topology:\n\tstar: {hosts: 2}\n", `s.yaml:2:1: not YAML: a tab stands where only spaces may; indent with spaces`},
		{"raw escape in a name", "name: a\x1b[2Jb\n" + base, `s.yaml:1:8: not YAML: the control character U+001B; in double quotes write it as "\u001b", or leave it out`},
		{"escape in a text", "description: |\n  a\x1b[2Jb\n" + base, `s.yaml:2:4: not YAML: the control character U+001B; in double quotes write it as "\u001b", or leave it out`},
		{"section of an unknown switch", base + "switches: {zz: {mtu: 4200}}\n", `s.yaml:6:12: switches: there is no switch "zz"; the first is "leaf1" and the last "spine2"`},
		{"section of an unknown host", base + "hosts: {zz: {mtu: 4200}}\n", `s.yaml:6:9: hosts: there is no host "zz"; the first is "h0" and the last "h3"`},
		{"time overflow", base + "stop: 200000000s\n", `s.yaml:6:7: stop: "200000000s" is too large; the largest time is 9223372.036854775806s`},
		{"no workload", base[:8] + "topology: {star: {hosts: 2, link: 1Gbps}}\n", `s.yaml:1:1: workload has no entries; give a list such as - incast: {from: [h0, h1], to: h4, size: 64MB}`},
		{"flow to itself", base + "  - flow: {from: h0, to: h0, size: 1MB}\n", `s.yaml:6:5: workload flow: h0 sends to itself; source and destination must differ`},
		{"flow to a switch", base + "  - flow: {from: h0, to: leaf1, size: 1MB}\n", `s.yaml:6:26: workload[1].flow.to: leaf1 is a switch; name a host`},
		{"flow to nobody", base + "  - flow: {from: h0, to: h9, size: 1MB}\n", `s.yaml:6:26: workload[1].flow.to: there is no host "h9"; did you mean "h0"?`},
		{"no size", base + "  - flow: {from: h0, to: h1}\n", `s.yaml:6:12: workload[1].flow has no size; give the bytes of a message such as size: 64MB`},
		{"message too long", base + "  - flow: {from: h0, to: h1, size: 3GB}\n", `s.yaml:6:36: workload[1].flow.size: 3GB is longer than any message; give 0B to 2GiB (2^31 bytes, IBTA), and count for more`},
		{"two patterns", base + "  - {flow: {from: h0, to: h1, size: 1B}, incast: {to: h0, size: 1B}}\n", `s.yaml:6:6: workload[1] has 2 patterns; give one of incast, permutation, flow, all_to_all, flows, poisson, rpc or collective per list item`},
		{"unknown pattern", base + "  - incst: {to: h0, size: 1B}\n", `s.yaml:6:5: unknown key "incst" in workload[1]; did you mean "incast"?`},
		{"every alone", base + "  - flow: {from: h0, to: h1, size: 1B, every: 1us}\n", `s.yaml:6:47: workload[1].flow.every: without count there is only one message; give count as well`},
		{"times that overflow", base + "  - flow: {from: h0, to: h1, size: 1B, every: 9000000s, count: 1000}\n", `s.yaml:6:12: workload[1].flow: 1000 messages every 9000000s end later than 4611686.018427387903s, the latest possible; use fewer`},
		{"path with no link", base + "  - flow: {from: h0, to: h3, size: 1B, path: [h0, leaf1, leaf2, h3]}\n", `s.yaml:6:46: workload[1].flow.path: path has no link from leaf1 to leaf2; leaf1 is linked to h0, h1, spine1, spine2`},
		{"path elsewhere", base + "  - flow: {from: h0, to: h3, size: 1B, path: [h0, leaf1, spine1, leaf2, h2]}\n", `s.yaml:6:5: workload flow: the path does not begin at the host of h0 and end at the host of h3`},
		{"path through nowhere", base + "  - flow: {from: h0, to: h3, size: 1B, path: [h0, leaf1, spin1, leaf2, h3]}\n", `s.yaml:6:58: workload[1].flow.path: there is no node "spin1"; did you mean "spine1"?`},
		{"stack of an entry", base + "  - flow: {from: h0, to: h3, size: 1B, stack: rocev2-irn}\n", `s.yaml:6:47: workload[1].flow.stack: "rocev2-irn" beside "rocev2": a fabric is set up for one stack, beside which only tcp and dctcp can run; leave stack out here`},
		{"TCP on InfiniBand", "stack: infiniband\n" + base + "  - flow: {from: h0, to: h3, size: 1B, stack: tcp}\n", `s.yaml:7:47: workload[1].flow.stack: "tcp" needs Ethernet, and the stack infiniband has none; give its hosts ports on a network of their own, or take an RoCEv2 stack`},
		{"a call to oneself", base + "  - rpc: {between: [h0, h0], size: 2KB}\n", `s.yaml:6:25: workload[1].rpc.between: client and server are the same host, h0; give two`},
		{"a call among three", base + "  - rpc: {between: [h0, h1, h2], size: 2KB}\n", `s.yaml:6:20: workload[1].rpc.between: names 3 hosts; give two, the client and the server, such as [h0, h4]`},
		{"a call to nobody", base + "  - rpc: {size: 2KB}\n", `s.yaml:6:11: workload[1].rpc has no between; name the client and the server such as between: [h0, h4]`},
		{"calls all at once", base + "  - rpc: {between: [h0, h1], size: 2KB, every: 0s, count: 9}\n", `s.yaml:6:48: workload[1].rpc.every: 0 would begin all calls at once; give the time from one to the next such as 50us`},
		{"calls of the past", base + "  - rpc: {between: [h0, h1], size: 2KB, every: -5us, count: 9}\n", `s.yaml:6:48: workload[1].rpc.every: "-5us" is a negative time; it must be at least 0`},
		{"calls for ever", base + "  - rpc: {between: [h0, h1], size: 2KB, every: 5us}\n", `s.yaml:6:48: workload[1].rpc.every: without count there are calls until the run stops, and no stop is given; give count, or stop`},
		{"calls without every", base + "  - rpc: {between: [h0, h1], size: 2KB, count: 9}\n", `s.yaml:6:48: workload[1].rpc.count: 9 calls need to know how far apart they begin; give every as well, such as every: 50us`},
		{"calls after the stop", "stop: 1ms\n" + base + "  - rpc: {between: [h0, h1], size: 2KB, every: 5us, start: 1ms}\n", `s.yaml:7:60: workload[1].rpc.start: 1ms is not before the run stops, at 1ms; begin earlier`},
		{"too many messages", base + "  - flow: {from: h0, to: h1, size: 1KB, count: 1000000000}\n", `s.yaml:6:12: workload[1].flow: 1000000000 messages on each of 1 QPs take about 640 GB of memory; at most 16777216 messages are possible in all, which take about 10.7 GB: use fewer`},
		{"too many calls", "stop: 1000s\n" + base + "  - rpc: {between: [h0, h1], size: 2KB, every: 1ns}\n", `s.yaml:7:48: workload[1].rpc.every: 1000000000000 calls until the run stops are more than 16777216 messages; take a longer time`},
		{"an empty call", base + "  - rpc: {between: [h0, h1], size: 0B}\n", `s.yaml:6:36: workload[1].rpc.size: a request of 0B asks or tells nothing; give at least 1B`},
		{"an empty reply", base + "  - rpc: {between: [h0, h1], size: 2KB, reply: 0B, stack: tcp}\n", `s.yaml:6:48: workload[1].rpc.reply: a reply of 0B asks or tells nothing; give at least 1B`},
		{"a call without size", base + "  - rpc: {between: [h0, h1], request: 2KB}\n", `s.yaml:6:11: workload[1].rpc has no reply; give the bytes of both messages such as size: 2KB, or request and reply apart`},
		{"a call with three sizes", base + "  - rpc: {between: [h0, h1], request: 2KB, reply: 1KB, size: 3KB}\n", `s.yaml:6:62: workload[1].rpc.size: is of both messages, which have request and reply; leave it out`},
		{"a long call", base + "  - rpc: {between: [h0, h1], size: 3GB}\n", `s.yaml:6:36: workload[1].rpc.size: 3GB is longer than any message; give 1B to 2GiB (2^31 bytes, IBTA)`},
		{"a call by READ", base + "  - rpc: {between: [h0, h1], size: 2KB, verb: read}\n", `s.yaml:6:47: workload[1].rpc.verb: a READ brings the other side nothing that it could answer; use send, send-imm, send-inv, write or write-imm`},
		{"a call by datagram", base + "  - rpc: {between: [h0, h1], size: 2KB, service: ud}\n", `s.yaml:6:50: workload[1].rpc.service: UD may lose a message, and then a call never ends; use service: rc`},
		{"a call over an unknown stack", base + "  - rpc: {between: [h0, h1], size: 2KB, stack: tpc}\n", `s.yaml:6:48: workload[1].rpc.stack: "tpc" is not a stack; did you mean "tcp"?`},
		{"a call that triggers", base + "  - rpc: {between: [h0, h1], size: 2KB, recv_done: t}\n", `s.yaml:6:41: unknown key "recv_done" in workload[1].rpc; use one of between, size, request, reply, think, nodelay, name, enabled, stack, start, count, every, qps, class, dscp, path, src_port, dst_port, gpudirect, verb, service, inline, initial_rate`},
		{"MSS above the MTU", base + "tcp: {mtu: 1500, mss: 1461}\n", `s.yaml:6:23: tcp.mss: 1461 does not fit the MTU of 1500 B; give at most 1460, which leaves room for the headers of IP and TCP, or raise tcp.mtu`},
		{"no send buffer", base + "tcp: {sndbuf: 0B}\n", `s.yaml:6:15: tcp.sndbuf: 0B is no socket buffer; give 1B to 1GiB (RFC 7323 2.3) of payload, such as 4MB`},
		{"no receive buffer", base + "tcp: {rcvbuf: 0B}\n", `s.yaml:6:15: tcp.rcvbuf: 0B is no socket buffer; give 1B to 1GiB (RFC 7323 2.3) of payload, such as 4MB`},
		{"closing when", base + "tcp: {close: always}\n", `s.yaml:6:14: tcp.close: "always" is not known; use one of never, last-message`},
		{"unknown congestion control", base + "tcp: {cc: bbr}\n", `s.yaml:6:11: tcp.cc: "bbr" is not known; use one of cubic, reno, none`},
		{"DCTCP as congestion control", "stack: tcp\n" + base + "tcp: {cc: dctcp}\n", `s.yaml:7:11: tcp.cc: dctcp needs switches that mark, so it is a stack of its own; give stack: dctcp, and leave cc out`},
		{"super-segments that nothing cuts", "stack: tcp\n" + base + "tcp: {tso: true}\nhosts: {h2: {offloads: plain}}\n", `s.yaml:7:12: tcp.tso: h2 has neither TSO nor GSO (offloads: plain); leave tso out, or give offloads: connectx-5`},
		{"a key with another name now", base + "host: {card: plain}\n", `s.yaml:6:8: host.card is host.offloads now`},
		{"a key of one host with another name now", base + "hosts: {h2: {card: plain}}\n", `s.yaml:6:14: hosts.h2.card is hosts.h2.offloads now`},
		{"a word in place of a section", base + "switch: {pfc: off}\n", `s.yaml:6:15: switch.pfc: "off" is not known; give none, or a mapping with the keys enabled, alpha, xoff, xon_offset, reserved, headroom, headroom_rule, cell, silent, quanta, refresh, response`},
		{"sockets of a host without TCP", base + "host: {numa: {sockets: 2}}\n", `s.yaml:6:15: host.numa: 2 sockets with 1 core in all; a socket has at least one, so give cores: 2 or more`},
		{"large MTU of TCP", "stack: tcp\n" + base + "tcp: {mtu: 9500}\n", `s.yaml:7:12: an IP packet of tcp.mtu, 9500 B, does not fit the port MTU 9216 of leaf1; lower tcp.mtu or raise the port MTU`},
		{"CUBIC of Reno", base + "tcp: {cc: reno, cubic: linux}\n", `s.yaml:6:24: tcp.cubic: Reno has no part of CUBIC; leave cubic out, or take cc: cubic`},
		{"HyStart of Reno", base + "tcp: {cc: reno, hystart: linux}\n", `s.yaml:6:26: tcp.hystart: linux is part of Linux's CUBIC; give rfc9406 or off, or take cc: cubic`},
		{"HyStart on", base + "tcp: {hystart: true}\n", `s.yaml:6:16: tcp.hystart: "true" is not known; use one of off, rfc9406, linux`},
		{"long delayed ACK", base + "tcp: {delayed_ack: 500ms}\n", `s.yaml:6:20: tcp.delayed_ack: 500ms is too long; an acknowledgement waits for less than 500ms (RFC 9293 3.8.6.3)`},
		{"no timeout", base + "tcp: {rto_min: 0}\n", `s.yaml:6:16: tcp.rto_min: 0 would time out at once; give a time such as 200ms`},
		{"bounds of the timeout", base + "tcp: {rto_max: 100ms}\n", `s.yaml:6:16: tcp.rto_max: 100ms is below rto_min 200ms or rto_initial 1s; it bounds both`},
		{"MTU of TCP above the port's", "stack: tcp\nswitch: {mtu: 1500}\n" + base, `s.yaml:2:15: an IP packet of tcp.mtu, 9000 B, does not fit the port MTU 1500 of leaf1; lower tcp.mtu or raise the port MTU`},
	}
	for _, c := range cases {
		_, err := Parse("s.yaml", []byte(c.src), nil, nil)
		if got := errText(err); got != c.want {
			t.Errorf("%s:\n got  %s\n want %s", c.name, got, c.want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

// --set arguments are named in the errors they cause.
func TestBadSet(t *testing.T) {
	cases := []struct{ set, want string }{
		{"topology.leaf_spine.leafs=3", `--set topology.leaf_spine.leafs=3: unknown key "leafs" in topology.leaf_spine; did you mean "leaves"?`},
		{"nothing", `--set nothing: no value; write --set key=value, such as --set topology.star.hosts=8`},
		{"a..b=3", `--set a..b=3: "a..b" has an empty part; a path reads like workload[0].incast.size`},
		{"workload[3].incast.size=1MB", `--set workload[3].incast.size=1MB: there is no item [3] here; the list has 1`},
		{"workload[x].incast.size=1MB", `--set workload[x].incast.size=1MB: "[x]" is not a list index such as [0]; a path reads like workload[0].incast.size`},
		{"workload[0].incast.size=1XB", `--set workload[0].incast.size=1XB: workload[0].incast.size: "1XB" has the unknown unit "XB"; a size ends in one of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB`},
		{"workload[0].incast.to={a: b}", `--set workload[0].incast.to={a: b}: workload[0].incast.to: a host is a name, and this is a mapping`},
		{"switch.ecn.kmin=3MB", `--set switch.ecn.kmin=3MB: switch.ecn: kmin 3MB is above kmax 1.6MB; marking starts at kmin and is certain above kmax`},
		{"name.x=3", `--set name.x=3: "name" is a single value and has no key "x"`},
		{"topology.leaf_spine.link.length=90000km", `--set topology.leaf_spine.link.length=90000km: topology.leaf_spine.link.length: a cable of 90000km is absurd; the longest accepted is 20000km`},
		{"mtu=", `--set mtu=: mtu has no value; write one behind the =, or null for what holds without the key`},
		{"mtu=[", `--set mtu=[: not YAML: sequence end token ']' not found; check brackets, quotes and indentation`},
	}
	for _, c := range cases {
		_, err := Parse("s.yaml", []byte(base), []string{c.set}, nil)
		if got := errText(err); got != c.want {
			t.Errorf("%s:\n got  %s\n want %s", c.set, got, c.want)
		}
	}
}

// What would take the parser minutes or gigabytes is refused before it begins. The lines of a
// text in a block, such as a list of flows, are one value.
func TestLargeFiles(t *testing.T) {
	const head = "topology: {star: {hosts: 2, link: 100Gbps}}\nworkload:\n"
	for _, tt := range []struct{ name, src, want string }{
		{"values", head + strings.Repeat("  - flow: {from: h0, to: h1, size: 1KB}\n", 60000), "s.yaml:50001:1: more than 125000 values up to here"},
		{"keys", strings.Repeat("a: b\n", 30000), "s.yaml:20001:1: more than 20000 keys in one mapping"},
		{"colons", strings.Repeat("a: ", 100), "s.yaml:1:1: not YAML: more than 64 colons in one value"},
		{"a list of flows", head + "  - flows:\n      rows: |\n        from,to,size\n" + strings.Repeat("        h0,h1,1KB\n", 60000) + "x: 1\n", `s.yaml:60006:1: unknown key "x"`},
	} {
		_, err := Parse("s.yaml", []byte(tt.src), nil, nil)
		if got := errText(err); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// One host is a network where all that is sent stays inside it, and needs no link then.
func TestOneHost(t *testing.T) {
	const inside = "topology: {star: {hosts: 1}}\nserver: dgx-h100\nworkload:\n  - collective: {op: allreduce, size: 1MiB}\n"
	v, err := Parse("s.yaml", []byte(inside), nil, nil)
	if err != nil || v.Graph.NumEndpoints() != 1 {
		t.Errorf("%v", err)
	}
	_, err = Parse("s.yaml", []byte(strings.Replace(inside, "collective: {op: allreduce, size: 1MiB}", "permutation: {size: 1MB}", 1)), nil, nil)
	if got := errText(err); !strings.Contains(got, "permutation needs at least two endpoints and has 1") {
		t.Error(got)
	}
	_, err = Parse("s.yaml", []byte(strings.Replace(inside, "hosts: 1", "hosts: 2", 1)), nil, nil)
	if got := errText(err); !strings.Contains(got, "topology.star has no link; give a rate such as link: 400Gbps") {
		t.Error(got)
	}
}
