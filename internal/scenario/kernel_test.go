package scenario

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/units"
)

// What a host section says reaches the host, over the preset and for one host.
func TestKernelKeys(t *testing.T) {
	v, err := parseStack("s.yaml", []byte(base+`host:
  preset: linux-xeon
  cores: 8
  numa: {sockets: 2, application: remote}
  memory_bandwidth: 400Gbps
  ddio: false
  moderation: {time: 8us, frames: 16}
  gro: false
  tso: false
  send: zerocopy
  busy_poll: true
  steering: rss
  ring: 256
  costs: {syscall: 1us, copy_llc: 100Gbps, miss_in: 30%, remote: 1.25, doorbell: 0ns}
  post: 3us
hosts:
  h1: {preset: free}
  h2: {offloads: plain}
`), "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := host.Preset("linux-xeon")
	want.Cores, want.Sockets, want.Remote, want.Memory, want.NoDDIO = 8, 2, true, 400*units.Gbps, true
	want.Moderation = host.Moderation{Time: 8 * units.Microsecond, Frames: 16}
	want.GRO, want.Segmentation, want.Send = 0, host.GSO, host.SendZeroCopy
	want.BusyPoll, want.FlowSteering, want.Ring = true, false, 256
	want.Syscall, want.CopyLLC, want.MissIn, want.RemotePermille, want.Doorbell = units.Microsecond, 100*units.Gbps, 300, 1250, 0
	want.Post = 3 * units.Microsecond
	if got := v.NICs[mustNode(t, v, "h0")].Host.Spec; got != want {
		t.Errorf("h0 is %+v, want %+v", got, want)
	}
	free, _ := host.Preset("free")
	if got := v.NICs[mustNode(t, v, "h1")].Host.Spec; got != free {
		t.Errorf("h1 is %+v, want %+v", got, free)
	}
	want.Segmentation, want.Send, want.Moderation = host.NoSegmentation, host.SendCopy, host.Moderation{}
	if got := v.NICs[mustNode(t, v, "h2")].Host.Spec; got != want {
		t.Errorf("h2 is %+v, want %+v", got, want)
	}
}

// An offload that the card lacks, no core and the like: one line each.
func TestBadHost(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"cores: 0", `s.yaml:6:15: host.cores: 0 cores run nothing; give 1 to 256`},
		{"cores: 300", `s.yaml:6:15: host.cores: "300" is not a whole number from 1 to 256`},
		{"cores: 2, numa: {sockets: 4}", `s.yaml:6:25: host.numa: 4 sockets with 2 cores in all; a socket has at least one, so give cores: 4 or more`},
		{"numa: {application: remote}", `s.yaml:6:28: host.numa.application: remote needs another socket than the card's; give sockets: 2 or more`},
		{"offloads: plain, tso: true", `s.yaml:6:30: host.tso: the card plain has no TSO; leave tso out, or give offloads: connectx-5`},
		{"offloads: plain, gso: true", `s.yaml:6:30: host.gso: the card plain has no scatter-gather, which GSO needs; leave gso out, or give offloads: connectx-5`},
		{"offloads: plain, send: sendfile", `s.yaml:6:31: host.send: the card plain has no scatter-gather, without which data are copied; leave send out, or give offloads: connectx-5`},
		{"offloads: plain, steering: arfs", `s.yaml:6:35: host.steering: the card plain has no filters for aRFS; leave steering out, or give offloads: connectx-5`},
		{"offloads: plain, moderation: adaptive", `s.yaml:6:37: host.moderation: the card plain has no interrupt moderation; leave moderation out, or give offloads: connectx-5`},
		{"moderation: often", `s.yaml:6:20: host.moderation: "often" is not known; give off or adaptive, or a mapping with the keys time, frames`},
		{"moderation: {frames: 8}", `s.yaml:6:21: host.moderation: interrupts after 8 frames and no time leave the last frames for ever; give a time such as 16us`},
		{"offloads: rtl8139", `s.yaml:6:18: host.offloads: "rtl8139" is not known; use one of connectx-5, plain`},
		{"preset: linux", `s.yaml:6:16: host.preset: "linux" is not known; did you mean "linux-xeon"?`},
		{"memory_bandwidth: 1Mbps", `s.yaml:6:26: host.memory_bandwidth: 1Mbps is less than any memory; give that of a socket, such as 800Gbps`},
		{"ring: 0", `s.yaml:6:14: host.ring: "0" is not a whole number from 1 to 65536`},
		{"costs: {remote: 0.5}", `s.yaml:6:24: host.costs.remote: a copy on another socket takes 1 to 100 times as long; give a factor such as 1.56`},
		{"costs: {copy_llc: 0bps}", `s.yaml:6:26: host.costs.copy_llc: 0bps is slower than any core copies; give the rate of one, such as 64Gbps`},
		{"costs: {copy_dram: 100Mbps}", `s.yaml:6:27: host.costs.copy_dram: 100Mbps is slower than any core copies; give the rate of one, such as 64Gbps`},
		{"costs: {syscall: 1001us}", `s.yaml:6:25: host.costs.syscall: 1.001ms is longer than a kernel works for one call, frame or segment; give at most 1ms`},
		{"moderation: {time: 11ms}", `s.yaml:6:27: host.moderation.time: 11ms is longer than any card holds an interrupt back; give at most 10ms, such as 16us`},
		{"costs: {syscal: 1us}", `s.yaml:6:16: unknown key "syscal" in host.costs; did you mean "syscall"?`},
	} {
		_, err := parseStack("s.yaml", []byte(base+"host: {"+c.keys+"}\n"), "", nil, nil)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.keys, err, c.want)
		}
	}
}

// Preset reno begins with what RFC 3390 allows at the MSS, unless told otherwise.
func TestRenoInitialWindow(t *testing.T) {
	for keys, want := range map[string]int{"": 2, ", mtu: 1500": 3, ", mss: 536": 4, ", initial_window: 10": 10} {
		v, err := Parse("x.yaml", []byte("topology: {star: {hosts: 2, link: 10Gbps}}\nstack: tcp\ntcp: {preset: reno"+keys+"}\nworkload: [{flow: {from: h0, to: h1, size: 1MB}}]\n"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.TCP[0].CC.InitialWindow; got != want {
			t.Errorf("preset reno%s: %d segments, want %d", keys, got, want)
		}
	}
}

// Parameters of TCP that a scenario gives are told from those of the preset; of dctcp, the
// preset, the congestion control and ECN are its own whatever the section says.
func TestSourcesOfTCP(t *testing.T) {
	const text = `
name: sources
topology: {star: {hosts: 2, link: 100Gbps}}
stack: %s
tcp: {cc: reno, rto_min: 5ms, autotuning: false}
workload: [flow: {from: h0, to: h1, size: 1MB}]
`
	for stack, cc := range map[string]bool{"tcp": true, "dctcp": false} {
		v := parse(t, fmt.Sprintf(text, stack))
		got := map[string]bool{}
		for _, n := range v.Notes {
			got[n.Key] = n.Source == fromScenario
		}
		for key, want := range map[string]bool{"cc": cc, "rto_min": true, "rcvbuf": true, "sndbuf": true, "rto_max": false, "preset": false} {
			if is, ok := got[stack+"."+key]; !ok || is != want {
				t.Errorf("%s: %s.%s is from the scenario: %v, want %v", stack, stack, key, is, want)
			}
		}
	}
}
