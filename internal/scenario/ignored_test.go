package scenario

import (
	"strings"
	"testing"
)

const (
	starOf2    = "topology: {star: {hosts: 2, link: 100Gbps}}\n"
	twoNICs    = "topology: {hosts: [a, b], switches: [s], links: [{between: [a, s], rate: 100Gbps, parallel: 2}, {between: [b, s], rate: 100Gbps, parallel: 2}]}\n"
	oneFlow    = "workload: [flow: {from: h0, to: h1, size: 1MB}]\n"
	leafSpines = "topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, link: 100Gbps}, links: [{between: [leaf1, spine1], down_at: 10us}]}\n"
)

// Settings without effect, and runs that cannot end, warn; next to each the
// setting under which the warning goes.
func TestIdleAndEndless(t *testing.T) {
	for _, c := range []struct {
		name, text string
		set        []string
		want       string   // in the warning
		unless     []string // --set after which it does not come
	}{
		{"initial_rate without congestion control", starOf2 + oneFlow, []string{"stack=rocev2-pfc-only", "workload[0].flow.initial_rate=5Gbps"},
			"workload[0].flow.initial_rate has no effect: the stack rocev2-pfc-only runs without congestion control", []string{"stack=rocev2"}},
		{"initial_rate with dcqcn none", starOf2 + oneFlow, []string{"dcqcn=none", "workload[0].flow.initial_rate=5Gbps"},
			"workload[0].flow.initial_rate has no effect: dcqcn: none", []string{"dcqcn=paper"}},
		{"initial_rate above the port's", starOf2 + oneFlow, []string{"workload[0].flow.initial_rate=1Tbps"},
			"initial_rate 1Tbps is above the 100Gbps of h0's port", []string{"workload[0].flow.initial_rate=100Gbps"}},
		{"dcqcn.initial_rate above the port's", starOf2 + oneFlow, []string{"dcqcn.initial_rate=1Tbps"},
			"initial_rate 1Tbps is above the 100Gbps of h0's port", []string{"dcqcn.initial_rate=10Gbps"}},
		{"tiers of one hash", strings.Replace(starOf2+oneFlow, "star: {hosts: 2, link: 100Gbps}", "fat_tree: {k: 4, link: 100Gbps}", 1), []string{"switch.ecmp.hash=mix"},
			"choose by the same hash and seed: of the 2 links up of pod0-agg0, flows that come from pod0-leaf0 take 1 in 2", []string{"switch.ecmp={hash: mix, tiers: [{seed: 1}, {seed: 2}]}"}},
		{"tiers of one CRC", strings.Replace(starOf2+oneFlow, "star: {hosts: 2, link: 100Gbps}", "fat_tree: {k: 4, link: 100Gbps}", 1), []string{"switch.ecmp={hash: crc32, tiers: [{seed: 1}, {seed: 2}]}"},
			"choose by the same CRC, of which another initial value changes nothing", []string{"switch.ecmp={tiers: [{hash: crc32}, {hash: crc32c}]}"}},
		{"a seed of one's own", starOf2 + oneFlow, []string{"switch.ecmp.seed=4"},
			"switch.ecmp.seed has no effect: own seeds differ from switch to switch; give another hash", []string{"switch.ecmp.hash=mix"}},
		{"a fault after the end", starOf2 + oneFlow, []string{"stop=1ms", "nic.faults=[{hang: {from: 2ms}}]"},
			"h0: the fault hang from 2ms is never seen: the run stops at 1ms", []string{"stop=3ms"}},
		{"a pause storm without PFC", starOf2 + oneFlow, []string{"nic.faults=[{pauses: {}}]", "stack=rocev2-lossy"},
			"h0: the fault pauses has no effect: no priority of its port has PFC", []string{"stack=rocev2"}},
		{"a watchdog without PFC", starOf2 + oneFlow, []string{"switch.watchdog=drop", "stack=rocev2-ecn-only"},
			"switch.watchdog has no effect: the stack rocev2-ecn-only runs without PFC", []string{"stack=rocev2"}},
		{"a watchdog that polls too seldom", starOf2 + oneFlow, []string{"switch.watchdog={detection: 200ms, poll: 400ms}"},
			"sw: the watchdog polls every 400ms, longer than its detection time of 200ms; a storm is found at the first poll that looks like one, up to 800ms after it began", []string{"switch.watchdog.poll=200ms"}},
		{"a watchdog that comes too late", starOf2 + oneFlow, []string{"switch.watchdog=alert", "stop=150ms"},
			"sw: the run stops at 150ms, before the watchdog can find a storm: that takes 200ms", []string{"stop=300ms"}},
		{"a watchdog as nobody has it", starOf2 + oneFlow, []string{"switch.watchdog={poll: 1ms}"},
			"sw: watchdog.poll: 1ms is not what SONiC's pfcwd takes, 100ms to 1s", []string{"switch.watchdog.poll=100ms"}},
		{"receives of a WRITE", starOf2 + oneFlow, []string{"workload[0].flow.receives=2"},
			"workload[0].flow.receives has no effect: an RDMA WRITE takes no receive", []string{"workload[0].flow.verb=send"}},
		{"receives of a READ", starOf2 + oneFlow, []string{"workload[0].flow.verb=read", "workload[0].flow.receives=4"},
			"workload[0].flow.receives has no effect: an RDMA READ takes no receive", []string{"workload[0].flow.verb=write-imm"}},
		{"tcp without a connection", starOf2 + oneFlow, []string{"tcp.mtu=1500"}, "tcp has no effect: no connection runs over TCP", []string{"stack=tcp", "stack=dctcp", "workload[0].flow.stack=tcp"}},
		{"kernel without TCP", starOf2 + oneFlow, []string{"host.cores=4", "host.costs={doorbell: 100ns, input: 1us}"}, "host.cores has no effect: no connection there runs over TCP, and RDMA passes the kernel by; give stack: tcp or dctcp, or leave it out (and 1 more like it)",
			[]string{"stack=tcp", "stack=dctcp", "workload[0].flow.stack=tcp"}},
		{"kernel of a host without TCP", "topology: {star: {hosts: 4, link: 100Gbps}}\nworkload: [flow: {from: h0, to: h1, size: 1MB, stack: tcp}, flow: {from: h2, to: h3, size: 1MB}]\n", []string{"hosts.h2={gro: false, ring: 64}", "host.cores=8"},
			"hosts.h2.gro has no effect: no connection there runs over TCP, and RDMA passes the kernel by; give stack: tcp or dctcp, or leave it out (and 1 more like it)", []string{"workload[1].flow.stack=dctcp"}},
		{"cc of DCTCP", starOf2 + oneFlow, []string{"stack=dctcp", "tcp.cc=reno"}, "tcp.cc has no effect: the stack dctcp has", []string{"stack=tcp"}},
		{"verb of a stream", starOf2 + oneFlow, []string{"stack=tcp", "workload[0].flow.verb=read"}, "workload[0].flow.verb has no effect: TCP carries a stream of bytes", []string{"stack=rocev2"}},
		{"marks behind drops", starOf2 + oneFlow, []string{"stack=dctcp", "switch.buffer=2MB"}, "DCTCP never sees a mark", []string{"switch.buffer=32MB", "switch.ecn.kmin=100KB"}},
		{"class of DCTCP and RDMA", starOf2 + "workload: [flow: {from: h0, to: h1, size: 1MB}, flow: {from: h1, to: h0, size: 1MB, stack: dctcp, class: 3}]\n", nil,
			"priority 3 carries DCTCP and RDMA", []string{"workload[1].flow.class=1", "workload[1].flow.stack=tcp"}},
		{"initial rate of UC", starOf2 + oneFlow, []string{"workload[0].flow.service=uc", "workload[0].flow.initial_rate=1Gbps"},
			"workload[0].flow.initial_rate has no effect: UC has no congestion control", []string{"workload[0].flow.service=rc"}},
		{"region of a SEND", starOf2 + oneFlow, []string{"workload[0].flow.verb=send", "workload[0].flow.region=4MB"},
			"workload[0].flow.region has no effect: a SEND names no memory", []string{"workload[0].flow.verb=write"}},
		{"offset of a SEND", starOf2 + oneFlow, []string{"workload[0].flow.verb=send", "workload[0].flow.offset=4KB"},
			"workload[0].flow.offset has no effect: a SEND names no memory", []string{"nic.mtt_cache=8"}},
		{"region of a SEND that is registered", starOf2 + oneFlow, []string{"workload[0].flow.verb=send", "workload[0].flow.region=4MB", "host.register=once"},
			"workload[0].flow.region has no effect: a SEND names no memory", []string{"host.registration.base=1us"}},
		{"receive_size of a WRITE with immediate", starOf2 + oneFlow, []string{"workload[0].flow.verb=write-imm", "workload[0].flow.receive_size=1KB"},
			"workload[0].flow.receive_size has no effect: the data of a WRITE_IMM go to the memory that it names", []string{"workload[0].flow.verb=send-imm"}},
		{"fence among WRITEs", starOf2 + oneFlow, []string{"workload[0].flow.fence=true"},
			"workload[0].flow.fence has no effect: it waits for READs and atomics", []string{"workload[0].flow.verb=read"}},
		{"R_Key of a SEND", starOf2 + oneFlow, []string{"workload[0].flow.verb=send", "workload[0].flow.rkey=wrong"},
			"workload[0].flow.rkey has no effect: a SEND carries no R_Key", []string{"workload[0].flow.verb=send-inv"}},
		{"one too many", starOf2 + oneFlow, []string{"workload[0].flow.verb=write-imm", "workload[0].flow.receives=none"},
			": 1 WRITE_IMM work request per queue pair against 0 receives: ", []string{"workload[0].flow.receives=1"}},
		{"fetches of nothing", starOf2 + oneFlow, []string{"nic.cache_miss=1us"},
			"nic.cache_miss has no effect: nothing is ever missed", []string{"nic.qpc_cache=8"}},
		{"registration ahead", starOf2 + oneFlow, []string{"host.registration.base=1us"},
			"host.registration has no effect: memory is registered ahead", []string{"host.register=once"}},
		{"registration for nothing", starOf2 + oneFlow, []string{"host.register=once"},
			"host.register has no effect: registering costs nothing", []string{"host.registration.per_page=1us"}},
		{"R_Key of a SEND", starOf2 + oneFlow, []string{"workload[0].flow.verb=send", "workload[0].flow.rkey=wrong"},
			"workload[0].flow.rkey has no effect: a SEND carries no R_Key", []string{"workload[0].flow.verb=write"}},
		{"remote access of a SEND", starOf2 + oneFlow, []string{"workload[0].flow.verb=send", "workload[0].flow.remote_access=none"},
			"workload[0].flow.remote_access has no effect", []string{"workload[0].flow.verb=write"}},
		{"receive buffer of a fast host", starOf2 + oneFlow, []string{"nic.rx_buffer=2MB"},
			"nic.rx_buffer has no effect: without drain_rate", []string{"hosts.h1.drain_rate=10Gbps"}},
		{"receive buffer of one fast host", starOf2 + oneFlow, []string{"hosts.h1.rx_xoff=200KB"},
			"hosts.h1.rx_xoff has no effect: without drain_rate", []string{"hosts.h1.drain_rate=10Gbps"}},
		{"PCP map without PCP", starOf2 + oneFlow + "vlan: true\n", []string{"switch.pcp_to_priority={4: 3}"},
			"switch.pcp_to_priority has no effect: switches trust the DSCP", []string{"switch.trust=pcp"}},
		{"bitmap with go-back-N", starOf2 + oneFlow, []string{"nic.bitmap=64"},
			"nic.bitmap has no effect: go-back-n keeps nothing that arrives ahead", []string{"stack=rocev2-lossy"}},
		{"adaptive timeout with IRN's two", starOf2 + oneFlow, []string{"stack=rocev2-irn", "nic.adaptive_timeout=true"},
			"nic.adaptive_timeout has no effect: irn has two timeouts of its own", []string{"stack=rocev2-lossy"}},
		{"adaptive timeout without timer", starOf2 + oneFlow, []string{"nic.timeout=0", "nic.adaptive_timeout=true"},
			"nic.adaptive_timeout has no effect: timeout 0 is no timer", []string{"nic.timeout=14"}},
		{"Kmin without marking", starOf2 + oneFlow, []string{"stack=rocev2-pfc-only", "switch.ecn.kmin=8KB"},
			"switch.ecn.kmin has no effect: the stack rocev2-pfc-only marks nothing", []string{"stack=rocev2-ecn-only"}},
		{"headroom without PFC", starOf2 + oneFlow, []string{"stack=rocev2-none", "switch.pfc.headroom=50KB"},
			"switch.pfc.headroom has no effect: the stack rocev2-none runs without PFC", []string{"stack=rocev2-pfc-only"}},
		{"alpha without PFC", starOf2 + oneFlow, []string{"stack=rocev2-ecn-only", "switch.pfc.alpha=1"},
			"switch.pfc.alpha has no effect: the stack rocev2-ecn-only runs without PFC", []string{"stack=rocev2"}},
		{"priorities without PFC", starOf2 + oneFlow, []string{"stack=rocev2-none", "nic.pfc.enabled=[3]"},
			"nic.pfc.enabled has no effect: the stack rocev2-none runs without PFC", []string{"stack=rocev2"}},
		{"XOFF of a slow host without PFC", starOf2 + oneFlow, []string{"stack=rocev2-none", "hosts.h1.drain_rate=10Gbps", "hosts.h1.rx_xoff=500KB"},
			"hosts.h1.rx_xoff has no effect: without PFC a full receive buffer drops", []string{"stack=rocev2"}},
		{"CNPs without congestion control", starOf2 + oneFlow, []string{"dcqcn=none", "nic.cnp_coalesce=sender"},
			"nic.cnp_coalesce has no effect: without congestion control no CNP is sent", []string{"dcqcn=nvidia"}},
		{"limiter of CNPs with coalescing senders", starOf2 + oneFlow, []string{"dcqcn.cnp_limiter=queue-pair", "dcqcn.cnp_coalesce=sender"},
			"dcqcn.cnp_limiter has no effect: the senders keep CNPs apart", []string{"dcqcn.cnp_coalesce=receiver"}},
		{"limiter of CNPs without an interval", starOf2 + oneFlow, []string{"dcqcn.cnp_limiter=queue-pair", "dcqcn.min_time_between_cnps=0"},
			"dcqcn.cnp_limiter has no effect: min_time_between_cnps 0", []string{"dcqcn.min_time_between_cnps=4us"}},
		{"a port's limiter with one queue pair", starOf2 + oneFlow, []string{"dcqcn.cnp_limiter=port"},
			"dcqcn.cnp_limiter: port is the same as queue-pair here", []string{"workload[0].flow.qps=2"}},
		{"targets that fall with every cut", starOf2 + oneFlow, []string{"dcqcn.clamp_tgt_rate=true"},
			"5Mbps per 300us, which takes 3 s to half of a line of 100Gbps", []string{"dcqcn.rpg_ai_rate=5Gbps"}},
		{"first of two ports", twoNICs + "workload: [flow: {from: a, to: b, size: 1MB, qps: 4}]\n", nil,
			"workload: a means its first port, a:1, whatever qps is; write a:2", []string{"workload[0].flow.from='a:2'", "workload[0].flow.to='b:2'"}},
		{"no receives", starOf2 + oneFlow, []string{"workload[0].flow.verb=send", "workload[0].flow.receives=none"},
			"1 SEND work request per queue pair against 0 receives: with rnr_retry 7 the sender tries for ever", []string{"stop=1ms"}},
		{"too few receives", starOf2 + oneFlow, []string{"workload[0].flow.verb=send", "workload[0].flow.receives=2", "workload[0].flow.count=3"},
			"3 SEND work requests per queue pair against 2 receives", []string{"nic.rnr_retry=6"}},
		{"enough receives but for one", starOf2 + oneFlow, []string{"workload[0].flow.verb=send", "workload[0].flow.receives=2", "workload[0].flow.count=3"},
			"3 SEND work requests per queue pair against 2 receives", []string{"workload[0].flow.receives=3"}},
		{"fails again while it is down", strings.Replace(outages, "%", "down_at: 2ms}, {between: [leaf1, spine1], down_at: 5ms", 1), nil,
			"topology.links[1]: the link fails at 2ms and does not work again; that it fails at 5ms has no effect: say when it works again", []string{"topology.links[0].up_at=3ms"}},
		{"a timeout shorter than the round trip", starOf2 + oneFlow, []string{"stack=rocev2-none", "topology.star.delay=10ms", "nic.timeout=12"},
			"a timeout of 16.777216ms expires before the answer can come", []string{"nic.timeout=14"}},
		{"go-back-0 and periodic drops", starOf2 + oneFlow, []string{"nic.recovery=go-back-0", "topology.star.drop_every=100"},
			"go-back-0 sends all 245 packets of a message again after each loss, and a link drops every 100th", []string{"topology.star.drop_every=246"}},
		{"go-back-0 and loss", starOf2 + oneFlow, []string{"nic.recovery=go-back-0", "topology.star.loss=0.1"},
			"a link loses 24.5 of them in each pass", []string{"nic.recovery=go-back-n"}},
		{"pauses that lapse", starOf2 + oneFlow, []string{"switch.pfc.quanta=1"},
			"a pause of 1 quanta ends after 5.12ns and may not be refreshed before that", []string{"switch.pfc.quanta=200"}},
		{"pauses without refresh", starOf2 + oneFlow, []string{"switch.pfc.refresh=never"},
			"is not refreshed before that", []string{"switch.pfc.quanta=0"}},
		{"TTL too small", starOf2 + oneFlow, []string{"nic.ttl=1"},
			"flow: ttl 1 expires on the way from h0 to h1, which crosses 1 switches: nothing arrives; give at least 2", []string{"nic.ttl=2"}},
		{"TTL too small for a pinned path", leafSpines + "workload: [flow: {from: h0, to: h1, size: 1MB, path: [h0, leaf1, spine2, leaf2, h1]}]\n", []string{"nic.ttl=3"},
			"crosses 3 switches: nothing arrives; give at least 4", []string{"nic.ttl=4"}},
		{"no switch", "topology: {hosts: [h0, h1], links: [{between: [h0, h1], rate: 100Gbps}]}\n" + oneFlow, nil,
			"no switch joins the hosts, so nothing marks", []string{"dcqcn=none"}},
		{"DCTCP without marks", starOf2 + oneFlow, []string{"stack=dctcp", "switch.ecn=none"},
			"DCTCP runs but no switch marks its class", []string{"switch.ecn={kmin: 100KB, kmax: 100KB}"}},
		{"link that fails unnoticed", leafSpines + oneFlow, []string{"failover.detect=never"},
			"the link leaf1 to spine1 fails at 10us and nobody notices (failover.detect: never)", []string{"failover.detect=1ms"}},
		{"link of a host that fails", starOf2 + oneFlow, []string{"topology.links=[{between: [h1, sw], down_at: 1ms}]"},
			"the link h1 to sw fails at 1ms: no other leads to that port of a host", []string{"topology.links=[]"}},
		{"no path left", leafSpines + oneFlow, []string{"topology.links=[{between: [leaf1, spine1], down_at: 1ms}, {between: [leaf2, spine2], down_at: 1ms}]"},
			"the links that fail leave no path from h0 to h1", []string{"topology.links=[{between: [leaf1, spine1], down_at: 1ms}, {between: [leaf2, spine2], down_at: 1ms, up_at: 2ms}]"}},
		{"pinned path over a link that fails", leafSpines + "workload: [flow: {from: h0, to: h1, size: 1MB, path: [h0, leaf1, spine1, leaf2, h1]}]\n", nil,
			"the path of h0 to h1 is given and takes the link leaf1 to spine1, which fails at 10us", []string{"topology.links=[]"}},
		{"failover without failures", starOf2 + oneFlow, []string{"failover.detect=2ms"},
			"failover has no effect: no link has a down_at", []string{"topology.links=[{between: [h1, sw], down_at: 1ms}]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n := warned(t, c.text, c.set, c.want); n != 1 {
				t.Errorf("%d warnings say %q, want 1", n, c.want)
			}
			if n := warned(t, c.text, append(c.set, c.unless...), c.want); n != 0 {
				t.Errorf("with %v it warns of %q as well", c.unless, c.want)
			}
		})
	}
}

// What one of several stacks compared does not use is no mistake.
func TestComparedStacksAreNotWarned(t *testing.T) {
	for stack, want := range map[string]int{"": 1, "rocev2-pfc-only": 0} {
		v, err := parseStack("test.yaml", []byte("stack: rocev2-pfc-only\n"+starOf2+oneFlow), stack, []string{"switch.ecn.kmin=8KB"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Warnings) != want {
			t.Errorf("stack %q over it: warnings %q, want %d", stack, v.Warnings, want)
		}
	}
}

// warned counts the warnings that contain want.
func warned(t *testing.T, text string, set []string, want string) (n int) {
	t.Helper()
	v, err := Parse("test.yaml", []byte(text), set, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range v.Warnings {
		if strings.Contains(w, want) {
			n++
		}
	}
	return n
}

// What is noted of settings that nobody gave.
func TestNotesOfDefaults(t *testing.T) {
	for _, c := range []struct {
		name, text, set, key, value string
	}{
		{"path MTU as it can be given", starOf2 + oneFlow, "seed=1", "mtu", "4096B"},
		{"marks at dequeue", starOf2 + oneFlow, "seed=1", "switch.ecn.at", "dequeue"},
		{"marks at enqueue", starOf2 + oneFlow, "switch.ecn.at=enqueue", "switch.ecn.at", "enqueue"},
		{"receive buffer with PFC", starOf2 + oneFlow + "hosts: {h1: {drain_rate: 10Gbps}}\n", "seed=1", "hosts.h1.rx_buffer", "1MB, XOFF 961.553KB, XON 480.776KB, drained at 10Gbps"},
		{"receive buffer without PFC", starOf2 + oneFlow + "hosts: {h1: {drain_rate: 10Gbps}}\n", "stack=rocev2-none", "hosts.h1.rx_buffer", "1MB, drops when full (no PFC), drained at 10Gbps"},
	} {
		v, err := Parse("test.yaml", []byte(c.text), []string{c.set}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, n := range v.Notes {
			if n.Key == c.key {
				got = n.Value
			}
		}
		if got != c.value {
			t.Errorf("%s: %s is %q, want %q", c.name, c.key, got, c.value)
		}
	}
}

// The byte order mark that some editors write is no part of the first key.
func TestByteOrderMark(t *testing.T) {
	if _, err := Parse("test.yaml", []byte("\ufeff"+starOf2+oneFlow), nil, nil); err != nil {
		t.Error(err)
	}
}

// What ns-3's LINK_DOWN does here differs from what it does there.
func TestNS3LinkDownWarns(t *testing.T) {
	dir := writeNS3(t, strings.Replace(ns3ConfigText, "LINK_DOWN 0 0 0", "LINK_DOWN 1 0 3", 1), ns3TopologyText, ns3FlowText)
	v, err := LoadNS3(dir+"/config.txt", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Warnings) == 0 || !strings.HasPrefix(v.Warnings[0], "the link h0 to s3 fails at 2.000001s: no other leads to that port of a host") {
		t.Errorf("warnings %q", v.Warnings)
	}
}

// Keys that nothing in the scenario can use are named, and are not where something can.
func TestKeysWithoutUse(t *testing.T) {
	const star = "topology: {star: {hosts: 3, link: 100Gbps}}\nworkload:\n  - flow: {from: h0, to: h2, size: 2MB}\n"
	for _, c := range []struct {
		keys, want string
		with       string // what makes the key have an effect
	}{
		{"noise: {host: 3us}\n", "noise.host has no effect: no host has a kernel", "stack: tcp\n"},
		{"noise: {arbitration: arrival}\n", "noise.arbitration has no effect: all data are of lossless priorities", "stack: rocev2-none\n"},
		{"switch: {pfc: {cell: 192B}}\n", "switch.pfc.cell has no effect", ""},
		{"stack: tcp\nnic: {nak_delay: 5us}\n", "nic.nak_delay has no effect: the workload is TCP's alone", ""},
		{"stack: tcp\nnic: {timeout: 12}\n", "nic.timeout has no effect", ""},
		{"stack: tcp\nnic: {recovery: go-back-0}\n", "nic.recovery has no effect", ""},
		{"stack: tcp\nnic: {nak_cnp: true}\n", "nic.nak_cnp has no effect", ""},
		{"switch: {memory: {pools: {extra: {type: ingress, size: 1MB}}}}\n", "switch.memory.pools.extra: no profile draws on it", ""},
		{"dcqcn: {rpg_min_rate: 500Gbps}\n", "dcqcn.rpg_min_rate: 500Gbps is not below the line of 100Gbps", ""},
	} {
		if said := strings.Join(parse(t, c.keys+star).Warnings, "\n"); !strings.Contains(said, c.want) {
			t.Errorf("%s: %q", c.keys, said)
		}
		if c.with != "" {
			if said := strings.Join(parse(t, c.with+c.keys+star).Warnings, "\n"); strings.Contains(said, "has no effect") {
				t.Errorf("%s%s: %q", c.with, c.keys, said)
			}
		}
	}
	for _, keys := range []string{"switch: {pfc: {cell: 192B, headroom_rule: spectrum}}\n", "nic: {nak_delay: 5us, timeout: 12, recovery: go-back-0}\n",
		"dcqcn: {rpg_min_rate: 1Gbps}\n"} {
		if said := parse(t, keys+star).Warnings; len(said) > 0 {
			t.Errorf("%s: %q", keys, said)
		}
	}
	// What a host does not have is not among the parameters.
	for _, n := range parse(t, "stack: tcp\nnoise: {host: 2us}\nhost: {preset: free}\n"+star).Notes {
		if n.Key == "noise.host" {
			t.Errorf("noise.host %s is listed for hosts that cost nothing", n.Value)
		}
	}
}
