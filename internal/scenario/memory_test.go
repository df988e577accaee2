package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/units"
)

// memoryBase is a star of 8 hosts whose switch has a memory of its own.
const memoryBase = `name: t
topology: {star: {hosts: 8, link: 100Gbps, length: 5m}}
workload:
  - incast: {to: h7, size: 1MB}
switch:
  memory:
`

// What cannot be a packet memory ends in one line with its place.
func TestBadMemory(t *testing.T) {
	for _, c := range []struct{ name, memory, want string }{
		{"pool above memory", "    size: 10MB\n    pools: {ingress_lossless_pool: {size: 12MB}}\n",
			"s.yaml:8:43: switch.memory.pools.ingress_lossless_pool.size: 12MB is larger than the memory of sw, 10MB; give at most that"},
		{"egress pool above memory", "    size: 10MB\n    pools: {egress_lossy_pool: {size: 12MB}}\n",
			"s.yaml:8:39: switch.memory.pools.egress_lossy_pool.size: 12MB is larger than the memory of sw, 10MB; give at most that"},
		{"pools above memory", "    size: 10MB\n    pools: {ingress_lossless_pool: {size: 8MB}, more: {size: 4MB}}\n",
			"s.yaml:7:11: the ingress pools of sw with the reserves and headrooms beside them come to 12.392376MB for its 8 ports, and the memory has 10MB; give smaller pools, less headroom, or a larger switch.memory.size"},
		{"profile without pool", "    profiles: {mine: {alpha: 1}}\n",
			"s.yaml:7:16: switch.memory.profiles.mine has no pool; name one of its pools, such as pool: ingress_lossless_pool"},
		{"profile of unknown pool", "    profiles: {pg_lossless_profile: {pool: ingress_losless_pool}}\n",
			`s.yaml:7:44: switch.memory.profiles.pg_lossless_profile draws on "ingress_losless_pool", which is no pool; did you mean "ingress_lossless_pool"?`},
		{"unused profile of unknown pool", "    profiles: {mine: {pool: ingress_losless_pool, static_th: 1MB}}\n",
			`s.yaml:7:29: switch.memory.profiles.mine draws on "ingress_losless_pool", which is no pool; did you mean "ingress_lossless_pool"?`},
		{"group on an egress pool", "    profiles: {pg_lossless_profile: {pool: egress_lossy_pool}}\n",
			"s.yaml:7:44: switch.memory.profiles.pg_lossless_profile draws on the pool egress_lossy_pool, whose type is egress; priority groups need a pool of type ingress"},
		{"reserves above pool", "    size: 10MB\n    pools: {ingress_lossless_pool: {size: 100KB, reserved: profiles}}\n    profiles: {pg_lossless_profile: {reserved: 20KB}}\n",
			"s.yaml:8:43: switch.memory.pools.ingress_lossless_pool.size: 100KB is no more than its reserves and shared headroom, 160KB in all with the 8 ports of sw; give more, or reserve less"},
		{"headroom above shared headroom", "    size: 10MB\n    pools: {ingress_lossless_pool: {size: 5MB, xoff: 50KB}}\n    profiles: {pg_lossless_profile: {headroom: 100KB}}\n",
			"s.yaml:9:48: switch.memory.profiles.pg_lossless_profile: headroom 100KB of a group at sw port 1 is more than the 50KB that all share (xoff of ingress_lossless_pool); give a larger xoff, or less headroom"},
		{"cell above reserve", "    cell: 256B\n    profiles: {pg_lossless_profile: {reserved: 200B}}\n",
			"s.yaml:8:48: switch.memory.profiles.pg_lossless_profile: reserved 200B is less than a cell of 256B; give whole cells, or 0"},
		{"XON above XOFF", "    size: 10MB\n    profiles: {pg_lossless_profile: {static_th: 1MB, xon: 2MB}}\n",
			"s.yaml:8:59: switch.memory.profiles.pg_lossless_profile: xon 2MB is not below XOFF, at most 1.004096MB at sw port 1; give less"},
		{"XON offset above XOFF", "    size: 10MB\n    profiles: {pg_lossless_profile: {static_th: 1MB, xon_offset: 2MB}}\n",
			"s.yaml:8:66: switch.memory.profiles.pg_lossless_profile: xon_offset 2MB is not below XOFF 1MB; XON = XOFF - xon_offset must stay above 0"},
		{"static threshold above pool", "    size: 10MB\n    pools: {ingress_lossless_pool: {size: 5MB}}\n    profiles: {pg_lossless_profile: {static_th: 6MB}}\n",
			"s.yaml:9:49: switch.memory.profiles.pg_lossless_profile: static_th 6MB is above its pool ingress_lossless_pool of 5MB and would never be reached; give less, or 0 for no threshold"},
		{"static threshold above pool, queue", "    size: 10MB\n    pools: {egress_lossy_pool: {size: 5MB}}\n    profiles: {egress_lossy_profile: {static_th: 6MB}}\n",
			"s.yaml:9:50: switch.memory.profiles.egress_lossy_profile: static_th 6MB is above its pool egress_lossy_pool of 5MB and would never be reached; give less, or 0 for no threshold"},
		{"reserves above pool without size", "    size: 10MB\n    pools: {ingress_lossless_pool: {reserved: 2MB}}\n",
			"s.yaml:8:47: switch.memory.pools.ingress_lossless_pool.reserved: nothing is left to share: 16MB are reserved in all with the 8 ports of sw, " +
				"and the pool has 9.640392MB; reserve less, or give a larger memory"},
		{"lossy pool above memory", "    size: 10MB\n  lossy: {pool: 12MB}\n",
			"s.yaml:8:17: switch.lossy.pool: 12MB is larger than the memory of sw, 10MB; give at most that"},
		{"two thresholds", "    profiles: {pg_lossless_profile: {static_th: 6MB, alpha: 1}}\n",
			"s.yaml:7:49: switch.memory.profiles.pg_lossless_profile.static_th: alpha and static_th say one threshold in different ways; keep one"},
		{"two dynamic thresholds", "    profiles: {pg_lossless_profile: {dynamic_th: 1, alpha: 1/8}}\n",
			"s.yaml:7:50: switch.memory.profiles.pg_lossless_profile.dynamic_th: alpha and dynamic_th say one threshold in different ways; keep one"},
		{"unknown profile", "    queues: [{ports: [1], priorities: [3], profile: none}]\n",
			`s.yaml:7:53: switch.memory.queues[0]: there is no profile "none"; use one of pg_lossless_profile, ingress_lossy_profile, egress_lossless_profile, egress_lossy_profile`},
		{"unknown port", "    groups: [{ports: [9], profile: ingress_lossy_profile}]\n",
			"s.yaml:7:22: switch.memory.groups[0].ports: no switch has a port 9; the largest has 8"},
		{"unknown preset", "    preset: tomahwak\n",
			`s.yaml:7:13: switch.memory.preset: "tomahwak" is not known; did you mean "tomahawk"?`},
		{"row without length", "    profiles: {pg_lossless_profile: {by_cable: [{rate: 100Gbps}]}}\n",
			"s.yaml:7:50: switch.memory.profiles.pg_lossless_profile.by_cable[0] has no length; give the longest cable, such as length: 300m"},
	} {
		_, err := Parse("s.yaml", []byte(memoryBase+c.memory), nil, nil)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
	}
	// More hosts need more reserves and headroom than the memory has.
	_, err := Parse("s.yaml", []byte(memoryBase+"    size: 1MB\n"), []string{"topology.star.hosts=64"}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "s.yaml:7:11: the ingress pools of sw") || !strings.Contains(err.Error(), "64 ports") {
		t.Error(err)
	}
}

// Presets have the numbers of SONiC's files (buffers_defaults_*.j2, pg_profile_lookup.ini).
func TestMemoryPresets(t *testing.T) {
	memory := func(text string) *mmu.Params {
		v := parse(t, memoryBase+text)
		return switchNamed(t, v, "sw").Memory
	}
	m := memory("    preset: tomahawk\n")
	if v := parse(t, strings.Replace(memoryBase, "  memory:\n", "  memory: tomahawk\n", 1)); !reflect.DeepEqual(switchNamed(t, v, "sw").Memory, m) {
		t.Error("memory: tomahawk is another memory than that of the preset")
	}
	if g := m.Groups[0][3]; m.Cell != 208 || m.Parts != 4 || m.Ingress[0].Shared != 10_875_072 || m.Ingress[0].Headroom != 4_194_112 ||
		g.Headroom != 165_568 || g.Reserved != 1248 || g.XONOffset != 2288 || g.Limit != (mmu.Threshold{Num: 1, Den: 1}) {
		t.Errorf("tomahawk: %+v, group %+v", m.Ingress, g)
	}
	if q := m.Queues[0][0]; m.Egress[q.Pool].Name != egressLossyPool || q.Reserved != 1518 || q.Limit != (mmu.Threshold{Num: 8, Den: 1}) || m.Groups[0][0].Pool != m.Groups[0][3].Pool {
		t.Errorf("tomahawk: lossy queue %+v, group %+v", q, m.Groups[0][0])
	}
	m = memory("    preset: tomahawk5\n    profiles: {egress_lossy_profile: {alpha: 1/2}}\n")
	if want := units.Bytes(147_226_020 - 38_843_712 - 2*69*254*8); m.Ingress[0].Shared != want || m.Egress[0].Shared != want || m.Queues[0][0].Limit.Den != 2 || m.Groups[0][3].Headroom != 1_136_396 {
		t.Errorf("tomahawk5: %+v %+v %+v, want %d", m.Ingress, m.Queues[0][0], m.Groups[0][3], want)
	}
	m = memory("    preset: trident3\n")
	if m.Cell != 256 || m.Ingress[0].Shared != 32_732_160-1_622_016 || m.Groups[0][3].Headroom != 160_000 {
		t.Errorf("trident3: %+v", m)
	}
	v := parse(t, memoryBase+"    preset: spectrum4\nmtu: 1024\n")
	m = switchNamed(t, v, "sw").Memory
	if g := m.Groups[0][3]; m.Cell != 192 || g.Headroom != 113_664 || g.XON != 19_456 || g.Reserved != 19_456 || g.XONOffset >= 0 || m.Groups[0][0].Pool == g.Pool {
		t.Errorf("spectrum4: %+v", g)
	}
	m = memory("    preset: azure\n")
	if g := m.Groups[0][3]; m.Size != 24_000_000 || m.Ingress[0].Shared != 18_000_000 || m.Ingress[0].Headroom != 6_000_000 ||
		g.Headroom != 96_928 || g.XONOffset != 2496 || g.Limit != (mmu.Threshold{Num: 1, Den: 8}) || m.Egress[m.Queues[0][0].Pool].Shared != 14_000_000 {
		t.Errorf("azure: %+v, group %+v", m, g)
	}
}

// Profiles go to ports and priorities, rows to ports by rate and cable; the last that fits
// holds.
func TestMemoryAssignments(t *testing.T) {
	m := switchNamed(t, parse(t, memoryBase+`    size: 40MB
    cell: 208B
    pools: {other: {size: 1MB, mode: static}, out: {type: egress, size: 2MB}}
    profiles:
      mine: {pool: other, reserved: 2080B, static_th: 500KB}
      slow: {pool: out, dynamic_th: -2}
      pg_lossless_profile: {dynamic_th: 1, by_cable: [{rate: 100Gbps, length: 40m, headroom: 90KB}, {rate: 100Gbps, length: 4m, headroom: 60KB}, {rate: 40Gbps, length: 40m, headroom: 50KB}]}
    groups: [{priorities: [0, 1], profile: mine}, {ports: [2], priorities: [1], profile: ingress_lossy_profile}]
    queues: [{ports: [1, 2], profile: slow}]
`), "sw").Memory
	mine := mmu.GroupProfile{Pool: 1, Reserved: 2080, Limit: mmu.Threshold{Static: 500_000}, XONOffset: notGiven}
	for _, c := range []struct {
		port, class int
		mine        bool
	}{{0, 0, true}, {0, 1, true}, {1, 0, true}, {1, 1, false}, {2, 2, false}} {
		if got := m.Groups[c.port][c.class]; (got == mine) != c.mine {
			t.Errorf("port %d class %d: %+v", c.port+1, c.class, got)
		}
	}
	if g := m.Groups[4][3]; g.Headroom != 90_000 || g.Limit != (mmu.Threshold{Num: 2, Den: 1}) || g.Reserved != 4096 {
		t.Errorf("%+v", g)
	}
	if a, b := m.Queues[1][5], m.Queues[2][5]; a.Limit != (mmu.Threshold{Num: 1, Den: 4}) || m.Egress[a.Pool].Name != "out" || b.Limit.Den != 2 {
		t.Errorf("%+v %+v", a, b)
	}
}

// What a pool without a size reserves comes off what it shares.
func TestReservesWithoutSize(t *testing.T) {
	const size = "    size: 10MB\n"
	shared := func(memory string) units.Bytes {
		return switchNamed(t, parse(t, memoryBase+size+memory), "sw").Memory.Ingress[0].Shared
	}
	all := shared("")
	if got, want := shared("    pools: {ingress_lossless_pool: {reserved: 500KB}}\n"), all-8*500_000+8*4096; got != want {
		t.Errorf("%v are shared, want %v", got, want)
	}
	if got := shared("    pools: {ingress_lossless_pool: {reserved: profiles}}\n"); got != all {
		t.Errorf("%v are shared, want %v", got, all)
	}
}

// Groups take a profile as it is written, also lossless ones the lossy profile, which has no
// threshold and no headroom, and lossy ones the lossless profile.
func TestProfilesAsWritten(t *testing.T) {
	m := switchNamed(t, parse(t, memoryBase+"    size: 40MB\n    groups: [{ports: [1], priorities: [3], profile: ingress_lossy_profile}, {ports: [1], priorities: [2], profile: pg_lossless_profile}]\n"), "sw").Memory
	if g := m.Groups[0][3]; !g.Lossless || g.Limit != (mmu.Threshold{}) || g.Headroom != 0 || g.Reserved != 0 {
		t.Errorf("lossless group with the lossy profile: %+v", g)
	}
	if g, want := m.Groups[0][2], m.Groups[1][3]; g.Lossless || g.Limit != want.Limit {
		t.Errorf("lossy group with the lossless profile: %+v, want the threshold of %+v", g, want)
	}
}

// A queue that refuses lossless frames before their peers have stopped is named, and none of
// the presets has one.
func TestLosslessQueueThatDrops(t *testing.T) {
	for _, c := range []struct{ memory, want string }{
		{"    size: 40MB\n", ""},
		{"    size: 40MB\n    profiles: {egress_lossless_profile: {static_th: 1MB}}\n", "class 3: a queue may hold 1MB, and the lossless groups of the 7 other ports up to 1"},
		{"    size: 40MB\n    profiles: {egress_lossless_profile: {static_th: 39MB}}\n", ""},
		{"    size: 40MB\n    pools: {egress_lossless_pool: {size: 2MB}}\n", "class 3: a queue may hold 2MB"},
		{"    size: 40MB\n    queues: [{priorities: [3], profile: egress_lossy_profile}]\n", "give egress_lossy_profile a higher threshold"},
		{"    preset: tomahawk\n", ""}, {"    preset: tomahawk5\n", ""}, {"    preset: trident3\n", ""}, {"    preset: spectrum4\n", ""}, {"    preset: azure\n", ""},
	} {
		got := ""
		for _, w := range parse(t, memoryBase+c.memory).Warnings {
			if strings.Contains(w, "drops lossless frames") {
				got += w
			}
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.memory, got)
		}
	}
}

// A headroom pool that its ports can overrun is named, by what holds of them, in each part.
func TestSharedHeadroomTooSmall(t *testing.T) {
	const star = "topology: {star: {hosts: %s}}\nworkload: [{incast: {to: h0, size: 1MB}}]\nswitch: {memory: %s}\n"
	for _, c := range []struct{ hosts, memory, want string }{
		{"5, link: 100Gbps", "{size: 4MB, pools: {ingress_lossless_pool: {size: 3MB, xoff: 50KB}}}", "sw: the shared headroom of 50KB (xoff of ingress_lossless_pool) holds the headroom of 1 of 5 ports"},
		{"5, link: 100Gbps", "{size: 4MB, pools: {ingress_lossless_pool: {size: 3MB, xoff: 500KB}}}", ""},
		{"33, link: 400Gbps, length: 5m", "trident3", "shared headroom of 1584KiB (xoff of ingress_lossless_pool) holds the headroom of 5 of 33 ports"},
		{"8, link: 100Gbps", "{preset: tomahawk, pools: {ingress_lossless_pool: {xoff: 700KB}}}", "shared headroom of 175KB in each part of the memory (xoff of ingress_lossless_pool) holds the headroom of 1 of 2 ports"},
		{"8, link: 100Gbps", "tomahawk", ""}, {"8, link: 100Gbps", "azure", ""}, {"8, link: 100Gbps", "spectrum4", ""},
	} {
		got := ""
		for _, w := range parse(t, fmt.Sprintf(star, c.hosts, c.memory)).Warnings {
			if strings.Contains(w, "shared headroom") {
				got += w
			}
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %s: %q", c.hosts, c.memory, got)
		}
	}
}

// Sizes of a profile beside a preset's rows hold for all cables, and rows take what they do
// not say from their profile.
func TestSizesBesideRows(t *testing.T) {
	v := parse(t, memoryBase+"    preset: tomahawk\n    profiles: {pg_lossless_profile: {headroom: 1KB, xon: 4160B}}\n")
	g := switchNamed(t, v, "sw").Memory.Groups[0][3]
	if g.Headroom != 1000 || g.XON != 4160 || g.Reserved != 1248 || g.XONOffset != 2288 {
		t.Errorf("beside a preset: %+v", g)
	}
	if !slices.ContainsFunc(v.Warnings, func(w string) bool { return strings.Contains(w, "headroom 1KB is short for the cable") }) {
		t.Errorf("warnings are %q", v.Warnings)
	}
	const rows = "    size: 40MB\n    profiles: {pg_lossless_profile: {headroom: 70KB, by_cable: [{rate: 100Gbps, length: 500m}, {rate: 100Gbps, length: 1m, headroom: 60KB}]}}\n"
	if g := switchNamed(t, parse(t, memoryBase+rows), "sw").Memory.Groups[0][3]; g.Headroom != 70_000 {
		t.Errorf("a row that says nothing of headroom: %+v", g)
	}
}

// Ports whose rate has no row of a profile's table are named.
func TestRatesWithoutRow(t *testing.T) {
	for _, c := range []struct{ memory, rate, want string }{
		{"    preset: tomahawk\n", "100Gbps", ""},
		{"    preset: tomahawk\n", "400Gbps", "sw port 1: pg_lossless_profile has no row by_cable for 400Gbps"},
		{"    profiles: {pg_lossless_profile: {by_cable: [{rate: 100Gbps, length: 5m, headroom: 90KB}]}}\n", "400Gbps", "has no row by_cable for 400Gbps"},
		{"    profiles: {pg_lossless_profile: {headroom: 300KB, by_cable: [{rate: 100Gbps, length: 5m}]}}\n", "400Gbps", ""},
	} {
		got := ""
		for _, w := range parse(t, strings.Replace(memoryBase, "100Gbps", c.rate, 1)+c.memory).Warnings {
			if strings.Contains(w, "no row") {
				got += w
			}
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s at %s: %q", c.memory, c.rate, got)
		}
	}
}

// A class whose threshold is below one frame of what is sent through it is named.
func TestNarrowThresholds(t *testing.T) {
	const jumbo = "topology: {star: {hosts: 2, link: 100Gbps}}\nworkload:\n  - flow: {from: h0, to: h1, size: 1MB}\n"
	for _, c := range []struct{ text, want string }{
		{"stack: tcp\ntcp: {mtu: 9000}\nswitch: {buffer: 20KB}\n" + jumbo,
			"sw port 1 class 0: a queue may hold 5.831KB, less than one frame of 9.018KB: frames of that size are all dropped"},
		{"switch: {buffer: 2MB, pfc: {xoff: 3KB, xon_offset: 1KB, reserved: 0B}}\n" + jumbo,
			"sw port 1 class 3: XOFF at 3KB is below one frame of 4.174KB: each such frame takes headroom and pauses"},
		{"stack: rocev2-none\nswitch: {memory: {profiles: {ingress_lossy_profile: {static_th: 2KB}}}}\n" + jumbo,
			"sw port 1 class 3: a priority group may hold 2KB, less than one frame of 4.174KB: frames of that size are all dropped"},
		{"switch: {buffer: 2MB}\n" + jumbo, ""},
	} {
		v := parse(t, c.text)
		got := ""
		for _, w := range v.Warnings {
			if strings.Contains(w, "one frame") {
				got = w
			}
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q in %q", c.text, got, v.Warnings)
		}
	}
}

// TCP's senders that find room for less than two first windows are warned of, if there are two.
func TestFewTCPFrames(t *testing.T) {
	const star = "topology: {star: {hosts: 3, link: 100Gbps}}\nstack: tcp\nworkload:\n  - flow: {from: h0, to: h2, size: 1MB}\n"
	const second = "  - flow: {from: h1, to: h2, size: 1MB}\n"
	const pool = "switch: {memory: {size: 4MB, pools: {egress_lossy_pool: {size: %s}}, profiles: {egress_lossy_profile: {static_th: 0}}}}\n"
	for _, c := range []struct{ text, want string }{
		{star + second + fmt.Sprintf(pool, "100KB"), "sw port 1: the 100KB that priority 0 may use hold 11 of the largest TCP frames (9.018KB), fewer than the 20"},
		{star + second + fmt.Sprintf(pool, "180KB"), "hold 19 of"},
		{star + second + fmt.Sprintf(pool, "181KB"), ""},
		{"tcp: {mtu: 1500}\n" + star + second + fmt.Sprintf(pool, "100KB"), ""},
		{star + fmt.Sprintf(pool, "100KB"), ""},
		{star + second + "switch: {memory: {profiles: {ingress_lossy_profile: {static_th: 50KB}}}}\n", "hold 5 of"},
		{star + second, ""},
	} {
		got := ""
		for _, w := range parse(t, c.text).Warnings {
			if strings.Contains(w, "largest TCP frames") {
				got += w
			}
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.text, got)
		}
	}
}

// Traffic that cannot be marked in a class that marks is named, with what WRED does to it; by
// default only classes with ECN-capable data mark.
func TestNotECTIsNamed(t *testing.T) {
	const star = "topology: {star: {hosts: 3, link: 100Gbps}}\n"
	const flows = star + "workload:\n  - flow: {from: h0, to: h1, size: 1MB}\n"
	const mixed = flows + "  - flow: {from: h2, to: h1, size: 1MB, stack: tcp, class: %s}\n"
	for _, c := range []struct{ text, want string }{
		{strings.Replace(mixed, "%s", "3", 1), "TCP's packets in priority 3 are not ECN-capable"},
		{strings.Replace(mixed, "%s", "0", 1), ""},
		{"tcp: {ecn: classic}\n" + strings.Replace(mixed, "%s", "3", 1), ""},
		{"dcqcn: none\nswitch: {ecn: {priorities: [3]}}\n" + flows, "RDMA packets in priority 3 are not ECN-capable"},
		{"dcqcn: none\n" + flows, ""},
		{"nic: {ack_class: 4}\nswitch: {ecn: {priorities: [3, 4]}}\n" + flows, "acknowledgements in priority 4 are not ECN-capable"},
		{"switch: {ecn: {priorities: [3, 6]}}\n" + flows, "CNPs in priority 6 are not ECN-capable"},
		{flows, ""},
	} {
		got := ""
		for _, w := range parse(t, c.text).Warnings {
			if strings.Contains(w, "not ECN-capable") {
				got += w
			}
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

// Beside a preset the short form says nothing, and is named.
func TestShortFormBesidePreset(t *testing.T) {
	v := parse(t, memoryBase+"    preset: tomahawk\n  buffer: 4MB\n  pfc: {alpha: 1/2, headroom: 20KB}\n  lossy: {alpha: 1}\n")
	all := strings.Join(v.Warnings, "\n")
	for _, name := range []string{"switch.buffer", "switch.pfc.alpha", "switch.pfc.headroom", "switch.lossy"} {
		if !strings.Contains(all, name+" has no effect: switch.memory") {
			t.Errorf("%s is not named in %q", name, v.Warnings)
		}
	}
}
