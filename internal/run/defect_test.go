package run_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
)

// What is set wrong or broken is the verdict, and the same run without it never says so: each defect beside
// what takes it away, or what only looks like it.
func TestVerdictOnDefects(t *testing.T) {
	const (
		far = `
stack: rocev2-pfc-only
topology: {star: {hosts: 4, link: 100Gbps, length: LENGTH}}
nic: {adaptive_timeout: true}
switch: {buffer: 4MB, pfc: {headroom: ROOM}}
workload: [incast: {to: h3, size: 1MB}]
`
		tree = `
topology: {fat_tree: {k: 4, link: 100Gbps}}
switch: {ecmp: ECMP}
workload: [permutation: {size: 250KB, qps: 8}]
`
		ring = `
topology: {star: {hosts: 4, link: 100Gbps}, links: [{between: [h3, sw], LOSS}]}
nic: {preset: connectx-6-dx}
workload: [collective: {op: allreduce, size: 4MB, algorithm: ring}]
`
		many = `
topology: {star: {hosts: 12, link: 100Gbps}}
switch: {buffer: BUFFER, ecn: {kmin: KMIN, kmax: 1600KB, pmax: 20%}}
workload:
  - incast: {from: [h0, h1], to: h8, size: 1MB}
  - incast: {from: [h2, h3], to: h9, size: 1MB}
  - incast: {from: [h4, h5], to: h10, size: 1MB}
  - incast: {from: [h6, h7], to: h11, size: 1MB}
`
		flap = `
seed: SEED
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 100Gbps}
  links: [{between: [leaf1, spine1], DOWN}]
failover: {detect: 100us, converge: 400us}
workload:
  - flows: {size: 10MB, list: [{from: h0, to: h2}, {from: h1, to: h3}, {from: h2, to: h0}, {from: h3, to: h1}]}
`
		twice = "flap: {from: 200us, every: 1ms, down_for: 600us, times: 2}"
		cnps  = `
topology: {star: {hosts: 4, link: 100Gbps}, links: [{between: [h3, sw], LOSS}]}
switch: {buffer: 4MB}
workload: [incast: {to: h3, size: 2MB}]
`
		acks = `
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, link: 100Gbps}}
nic: {ack_class: 0, adaptive_timeout: true}
switch: {buffer: 8MB, ecn: {priorities: 3}}
workload:
  - flow: {from: h0, to: h4, size: 4MB}
  - flows: {class: 0, service: uc, size: 32KB, count: 300, list: [{from: h5, to: h1}, {from: h6, to: h2}]}
`
		dscp = `
stack: rocev2-pfc-only
topology: {star: {hosts: 4, link: 100Gbps}}
nic: {adaptive_timeout: true}
switch: {buffer: 4MB, dscp_to_priority: {26: PRIO}}
workload: [incast: {to: h3, size: 4MB}]
`
		beyond = `
stack: rocev2-pfc-only
seed: SEED
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 6, link: 100Gbps}}
nic: {timeout: 8}
switch: {buffer: 8MB}
switches: {spine1: {dscp_to_priority: {26: PRIO}}}
workload:
  - incast: {from: [h0, h1, h2, h3, h4], to: h6, size: 1MB}
  - flow: {from: h5, to: h7, size: 1MB}
`
		slowHost = `
topology: {star: {hosts: 5, link: 100Gbps}, links: [{between: [h3, sw], RATE}]}
workload: [permutation: {size: 1MB}]
`
		notices = `
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, link: 100Gbps}}
nic: {cnp_class: CLASS}
switch: {buffer: 8MB, ecn: {priorities: 3}}
workload:
  - incast: {from: [h0, h1, h2], to: h4, size: 3MB}
  - flows: {class: 0, service: uc, size: 32KB, count: 250, list: [{from: h5, to: h1}, {from: h6, to: h2}, {from: h7, to: h3}]}
`
		mtu = `
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, link: 100Gbps}}
nic: {timeout: 5, retry: 1}
switches: {spine1: {mtu: SIZE, oversize: drop}}
workload: [flow: {from: h0, to: h2, size: 64KB}]
`
		gpus = `
topology: {star: {hosts: 2, link: 400Gbps}}
server: dgx-h100
gpudirect: DIRECT
workload:
  - flow: {from: h0/gpu0, to: h1/gpu0, size: 4MB}
  - flow: {from: h1/gpu0, to: h0/gpu0, size: 4MB}
`
		host = `
topology: {star: {hosts: 2, link: 400Gbps}}
server: {preset: dgx-h100, iommu: STATE}
workload: [flow: {from: h0, to: h1, size: 16MB}]
`
		queues = `
topology: {star: {hosts: 2, link: 400Gbps}}
nic: {preset: connectx-7}
workload: [flow: {from: h0, to: h1, size: SIZE, count: 100, qps: QPS}]
`
	)
	for _, c := range []struct {
		name, text string
		set        []string // old, new, ...
		kind       catalog.Verdict
		words      string
	}{
		{"slow link", flap, []string{"SEED", "4", "DOWN", "rate: 40Gbps"}, catalog.VerdictSlowLink,
			"gives 40.0 Gb/s, and others of "},
		{"short headroom", far, []string{"LENGTH", "300m", "ROOM", "40KB"}, catalog.VerdictHeadroom,
			"headroom of 40.0 KB is less than the 79.1 KB that the cable can need"},
		{"shorter yet, longer yet", far, []string{"LENGTH", "1km", "ROOM", "60KB"}, catalog.VerdictHeadroom,
			"(and so at 2 ports more)"},
		{"headroom by rule", far, []string{"LENGTH", "300m", "ROOM", "auto"}, catalog.NoVerdict, ""},
		{"headroom that the cable has", far, []string{"LENGTH", "2m", "ROOM", "44KB"}, catalog.NoVerdict, ""},

		{"polarised", tree, []string{"ECMP", "{hash: crc32}"}, catalog.VerdictPolarised,
			"another polynomial or a mixing hash"},
		{"another seed of the CRC", tree, []string{"ECMP", "{tiers: [{hash: crc32, seed: 1}, {hash: crc32, seed: 99}]}"},
			catalog.VerdictPolarised, ""},
		{"another polynomial", tree, []string{"ECMP", "{tiers: [{hash: crc32}, {hash: crc32c}]}"}, catalog.NoVerdict, ""},
		{"own hashes", tree, []string{"ECMP", "{hash: own}"}, catalog.NoVerdict, ""},

		{"lossy cable", ring, []string{"LOSS", "loss: 0.5%"}, catalog.VerdictLoss,
			"the link h3:1 - sw:4 loses frames (link loss)"},
		{"bit errors", ring, []string{"LOSS", "ber: 1e-7"}, catalog.VerdictLoss, "(bit error)"},
		{"clean cable", ring, []string{"LOSS", "length: 5m"}, catalog.NoVerdict, ""},

		{"PFC before ECN", many, []string{"BUFFER", "3MB", "KMIN", "400KB"}, catalog.VerdictUnmarked,
			"8 ingress ports of sw, which share its buffer"},
		{"marks that cannot be met", many, []string{"BUFFER", "6MB", "KMIN", "1500KB"}, catalog.VerdictUnmarked,
			"marks begin at Kmin, 1.50 MB"},
		{"marks first", many, []string{"BUFFER", "3MB", "KMIN", "20KB"}, catalog.NoVerdict, ""},
		{"a larger buffer", many, []string{"BUFFER", "32MB", "KMIN", "400KB"}, catalog.NoVerdict, ""},
		{"no marks at all", "stack: rocev2-pfc-only\n" + many, []string{"BUFFER", "3MB", "KMIN", "400KB"},
			catalog.NoVerdict, ""},

		{"flaps", flap, []string{"SEED", "4", "DOWN", twice}, catalog.VerdictFailure,
			"failed 2 times, first at 200 us for 600 us"},
		{"down once", flap, []string{"SEED", "4", "DOWN", "down: [{at: 200us}]"}, catalog.VerdictFailure,
			"leaf1:3 - spine1:1 failed at 200 us:"},
		{"two flows by one link, whatever flaps", flap, []string{"SEED", "3", "DOWN", twice},
			catalog.VerdictUplinks, "none on leaf2:3"},
		{"holds", flap, []string{"SEED", "4", "DOWN", "length: 5m"}, catalog.NoVerdict, ""},

		{"CNPs lost", cnps, []string{"LOSS", "loss: 100%, loss_priorities: [6]"},
			catalog.VerdictLostCNPs, "0 arrived"},
		{"CNPs that arrive", cnps, []string{"LOSS", "length: 5m"}, catalog.NoVerdict, ""},

		{"map to a lossy priority", dscp, []string{"PRIO", "1"}, catalog.VerdictMap,
			"sw puts in priority 1 what hosts send in another"},
		{"acknowledgements in a class of their own", acks, nil, catalog.NoVerdict, ""},
		{"map to the right one", dscp, []string{"PRIO", "3"}, catalog.NoVerdict, ""},

		{"map to a priority that pauses do not stop", beyond, []string{"SEED", "1", "PRIO", "6"}, catalog.VerdictMap,
			"spine1 puts in priority 6 what hosts send in 3, so that pauses of leaf2 do not stop it, and leaf2:7 dropped "},
		{"and to another", beyond, []string{"SEED", "1", "PRIO", "4"}, catalog.VerdictMap, "spine1 puts in priority 4"},
		{"map to what leaf2 pauses", beyond, []string{"SEED", "1", "PRIO", "3"}, catalog.NoVerdict, ""},

		{"slow link of a host", slowHost, []string{"RATE", "rate: 25Gbps"}, catalog.VerdictSlowLink,
			"the link sw:4 - h3:1 gives 25.0 Gb/s, and those of other hosts 100 Gb/s"},
		{"under pauses", "stack: rocev2-pfc-only\n" + slowHost, []string{"RATE", "rate: 10Gbps"}, catalog.VerdictSlowLink, "gives 10.0 Gb/s"},
		{"a link of a host like the others", slowHost, []string{"RATE", "rate: 100Gbps"}, catalog.NoVerdict, ""},

		{"CNPs lost that cost pauses and hardly any time", notices, []string{"CLASS", "0"}, catalog.VerdictLostCNPs,
			"so that leaf1 had to send "},
		{"CNPs in a class of their own", notices, []string{"CLASS", "6"}, catalog.NoVerdict, ""},

		{"marks that pauses of the only receiver made", host, []string{"STATE", "on"}, catalog.VerdictInside,
			"receiver host h1: PCIe gen5 x16, nic0 to switch0, 416 Gb/s, less what misses of the IOTLB cost"},
		{"no IOMMU", host, []string{"STATE", "off"}, catalog.NoVerdict, ""},

		{"no GPUDirect", gpus, []string{"DIRECT", "off"}, catalog.VerdictStaged, "copied through the memory of their hosts"},
		{"GPUDirect", gpus, []string{"DIRECT", "on"}, catalog.NoVerdict, ""},

		{"one queue pair", queues, []string{"SIZE", "4KB", "QPS", "1"}, catalog.VerdictMessages,
			"work requests of one queue pair every 205 ns, 156 Gb/s of 4.00 KB each"},
		{"eight queue pairs", queues, []string{"SIZE", "4KB", "QPS", "8"}, catalog.NoVerdict, ""},
		{"larger messages", queues, []string{"SIZE", "64KB", "QPS", "1"}, catalog.NoVerdict, ""},

		{"MTU", mtu, []string{"SIZE", "1500"}, catalog.VerdictOversize, "spine1:1 dropped"},
		{"MTU that fits", mtu, []string{"SIZE", "9000"}, catalog.NoVerdict, ""},
	} {
		v := metrics.Summarise(runText(t, strings.NewReplacer(c.set...).Replace(c.text))).Verdict
		if v == nil {
			v = &metrics.Verdict{}
		}
		if c.kind == catalog.NoVerdict {
			if v.Kind >= catalog.VerdictFailure {
				t.Errorf("%s: %v: %s", c.name, v.Kind, v.Text)
			}
			continue
		}
		if v.Kind != c.kind || !strings.Contains(v.Text, c.words) {
			t.Errorf("%s: %v, not %v: %s; want %q", c.name, v.Kind, c.kind, v.Text, c.words)
		}
	}
}
