package metrics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Two packets of h0 and one of h1 leave by one port: the queue holds two frames
// at most, and one stays behind when the other leaves.
const byAFrame = `
name: by a frame
topology: {star: {hosts: 3, link: 100Gbps}}
switch: {ecn: {kmin: 5KB, kmax: 5KB, pmax: 1}}
workload:
  - flow: {from: h0, to: h2, size: 8KB}
  - flow: {from: h1, to: h2, size: 4KB}
`

// The queue to h3 is gone long before anything is paused, for the queue to h4.
const pausedLater = `
name: paused later
topology: {star: {hosts: 5, link: 100Gbps}}
switch: {pfc: {xoff: 200KB}, ecn: {kmin: 900KB, kmax: 900KB}}
workload:
  - flow: {from: h0, to: h3, size: 40KB}
  - flow: {from: h1, to: h3, size: 40KB}
  - flow: {from: h0, to: h4, size: 8MB, start: 100us}
  - flow: {from: h1, to: h4, size: 8MB, start: 100us}
  - flow: {from: h2, to: h4, size: 8MB, start: 100us}
`

// All is sent before the first CNP comes back, and one queue pair is cut less
// than the others.
const cutLater = `
name: cut later
topology: {star: {hosts: 8, link: 100Gbps}}
switch: {ecn: {kmin: 50KB, kmax: 50KB, pmax: 1}}
workload:
  - incast: {to: h7, from: [h0, h1, h2, h3, h4, h5, h6], size: 20KB}
`

const otherPriority = `
name: other priority
topology: {star: {hosts: 3, link: 100Gbps}}
workload: [{flow: {from: h0, to: h1, size: 100KB, class: 5}}]
`

const unpaced = `
name: unpaced
topology: {star: {hosts: 2, link: 100Gbps}}
stack: tcp
workload: [flow: {from: h0, to: h1, size: 1MB}]
`

const linkDown = `
name: link down
topology: {star: {hosts: 2, link: 100Gbps, down_at: 20us}}
stop: 100us
workload: [{flow: {from: h0, to: h1, size: 1MB}}]
`

// stateOf returns the mechanism's state with all places.
func stateOf(t *testing.T, r *record.Run, m catalog.Mechanism) metrics.State {
	t.Helper()
	for _, s := range metrics.Mechanisms(r, 0) {
		if s.Mechanism == m {
			return s
		}
	}
	t.Fatalf("%s is not listed", m)
	return metrics.State{}
}

// The reason given for one place, or for the mechanism where it is off.
func TestReasonOfPlace(t *testing.T) {
	for _, tt := range []struct {
		name, scenario string
		mechanism      catalog.Mechanism
		where          string
		says, never    string
	}{
		{"the frame that leaves does not count", byAFrame, catalog.ECNMark, "sw:3 prio 3", "the queue passed 5.00 KB by less than a frame", "probability"},
		{"pauses after the peak", pausedLater, catalog.ECNMark, "sw:4 prio 3", "only 81.3 KB passed in all", "PFC"},
		{"pauses before the peak", pausedLater, catalog.ECNMark, "sw:5 prio 3", "PFC stopped its senders first, with XOFF at 204 KB of ingress", ""},
		{"cuts after the peak", cutLater, catalog.XOFFCross, "sw:1 prio 3", "only 20.3 KB arrived in all", "cut"},
		{"data in another priority", otherPriority, catalog.XOFFCross, "", "off: PFC is off for priority 5, where the data travel, and on for priority 3", "PFC is off at"},
		{"no class of the data is lossless", otherPriority, catalog.HeadroomDrop, "", "off: PFC is off for priority 5, where the data travel, and on for priority 3", "no lossless class"},
		{"windows admit all at once", unpaced, catalog.Pacing, "", "off: TCP sends what its windows admit at once (tcp.pacing: true", "spreads no segments"},
		{"still waiting", linkDown, catalog.AckTimeout, "h0 qp 0", "it has waited 80.2 us for an ACK or NAK so far", "brought progress"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := stateOf(t, simulate(t, tt.scenario), tt.mechanism)
			why := s.Why
			for _, p := range s.Places {
				if p.Where.String() == tt.where {
					why = p.Why
				}
			}
			if !strings.Contains(why, tt.says) || tt.never != "" && strings.Contains(why, tt.never) {
				t.Errorf("%q, want %q and not %q", why, tt.says, tt.never)
			}
		})
	}
}

// Of two senders ECN cut one before the buffer held most and one after it.
func TestCutsBeforeThePeak(t *testing.T) {
	path := []*record.PathHop{{Port: record.PortID{Node: "h0", Port: 1}, Peer: record.PortID{Node: "s", Port: 1}, RateBps: 100 * units.Gbps}, {Port: record.PortID{Node: "s", Port: 2}, Peer: record.PortID{Node: "h1", Port: 1}, RateBps: 50 * units.Gbps}}
	cut := func(actor record.Place, count int64, first units.Time) record.Entry {
		return record.Entry{Question: catalog.Slowed, Mechanism: catalog.RateCut, Actor: actor, Act: record.Act{Count: count, First: first, Last: 90}}
	}
	r := &record.Run{
		QPs: []record.QP{
			{Host: "h0", QP: 0, RateCuts: 3, SentBytes: 1e6, Limits: record.QPLimits{Class: 3, CC: true, Path: path}},
			{Host: "h0", QP: 1, RateCuts: 4, SentBytes: 1e6, Limits: record.QPLimits{Class: 3, CC: true, Path: path}},
		},
		Ports: []record.Port{
			{Node: "s", Port: 1, Class: 3, Limits: record.PortLimits{XOFF: &record.Approach{Value: 10, Threshold: 1000, At: 50}}},
			{Node: "s", Port: 2, Class: 3, RateBps: 50 * units.Gbps, Marked: 9, Limits: record.PortLimits{KMinBytes: 5000, KMaxBytes: 9000, PMax: 1}},
		},
		Ledger: []record.Entry{cut(record.QPAt(catalog.RC, "h0", 0), 3, 40), cut(record.QPAt(catalog.RC, "h0", 1), 4, 60)},
	}
	const want = "3 rate cuts slowed h0 qp 0 of 2 first, as marks begin at Kmin, 5.00 KB"
	if got := stateOf(t, r, catalog.XOFFCross).Why; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Ledger = []record.Entry{cut(record.QPAt(catalog.RC, "h0", 0), 3, 50), cut(record.QPAt(catalog.RC, "h0", 1), 4, 60)}
	if got := stateOf(t, r, catalog.XOFFCross).Why; strings.Contains(got, "rate cut") {
		t.Errorf("%q, although all cuts came after the peak", got)
	}
}

// "PFC is off" is said of the priority that carries the data.
func TestHeldInAnotherPriority(t *testing.T) {
	for set, want := range map[string]string{"stack=rocev2": "PFC is off for priority 5, where the data travel, and on for priority 3", "stack=rocev2-none": "PFC is off for priority 5, where the data travel"} {
		for _, a := range metrics.Summarise(simulate(t, otherPriority, set)).Answers {
			if a.Question == catalog.Held && a.Why != want {
				t.Errorf("%s: %q, want %q", set, a.Why, want)
			}
		}
	}
}

// The queue pair that was slowed most came nearest to being paced.
func TestPacingOrder(t *testing.T) {
	s := stateOf(t, simulate(t, cutLater), catalog.Pacing)
	first, last := s.Places[0], s.Places[len(s.Places)-1]
	if s.Fired > 0 || first.Value >= last.Value {
		t.Errorf("%d paced; first %s at %d bit/s, last %s at %d", s.Fired, first.Where, first.Value, last.Where, last.Value)
	}
	for i := 1; i < len(s.Places); i++ {
		if s.Places[i].Value < s.Places[i-1].Value {
			t.Errorf("%s at %d bit/s stands after %d", s.Places[i].Where, s.Places[i].Value, s.Places[i-1].Value)
		}
	}
}

// The first message is refused, so that the second is never posted; the third
// loses packets and recovers.
const refusedTrigger = `
name: refused
stack: rocev2-none
topology: {star: {hosts: 4, link: 100Gbps}, links: [{between: [h2, sw], drop_every: 50}]}
triggers: {one: {kind: oneshot}}
workload:
  - flow: {from: h0, to: h1, size: 1MB, remote_access: none, recv_done: one}
  - flow: {from: h1, to: h2, size: 1MB, trigger: one}
  - flow: {from: h2, to: h3, size: 1MB}
`

// Why nothing moves any more: a loss is the reason only for a queue pair that
// has no timer.
func TestWhyStalled(t *testing.T) {
	for _, tt := range []struct {
		name, scenario string
		set            []string
		want           string
	}{
		{"refused", refusedTrigger, nil, "1 message was never posted, as no trigger started it (h1 -> h2), while 1 message ended in error (h0 -> h1: REM_INV_REQ_ERR)"},
		{"no timer", linkDown, []string{"stop=1s", "nic.timeout=0"}, "what was lost (189 frames: link down) is never sent again: no retransmission timer runs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := simulate(t, tt.scenario, tt.set...)
			if got := metrics.WhyStalled(lang.English, r); r.Stopped != "stalled" || got != tt.want {
				t.Errorf("ended %q: %q, want %q", r.Stopped, got, tt.want)
			}
		})
	}
}

// A message that waited for its retransmission because a link on its way failed says
// so, with when that was noticed and rerouted.
func TestFailureInWords(t *testing.T) {
	r := simulate(t, `
topology:
  leaf_spine: {leaves: 2, spines: 1, parallel: 2, hosts_per_leaf: 1, link: 100Gbps}
  links: [{between: [leaf1, spine1], nth: 1, down_at: 20us}, {between: [leaf1, spine1], nth: 2, down_at: 20us, up_at: 300us}]
failover: {detect: 10us, converge: 20us}
nic: {timeout: 7}
workload: [flow: {from: h0, to: h1, size: 1MB}]
`)
	d := metrics.DominantStage(r, 0)
	if !strings.Contains(d.How, "failed at 20.0 us, noticed after 10.0 us, converged after 30.0 us (10.0 us detection, 20.0 us convergence)") {
		t.Errorf("%s %s: %s", d.Stage, d.Where, d.How)
	}
	if s := stateOf(t, r, catalog.Rerouting); s.Armed != 2 || s.Fired != 2 {
		t.Errorf("rerouting: %+v", s)
	}
	quiet := simulate(t, linkDown, "stop=15us")
	if s := metrics.Mechanisms(quiet, 0); slices.ContainsFunc(s, func(s metrics.State) bool { return s.Mechanism == catalog.Rerouting }) {
		t.Error("rerouting is told of where no link has failed yet")
	}
}

// Every stage is told in words, not by its place alone.
func TestStagesInWords(t *testing.T) {
	const one = "\nname: one packet\ntopology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}\nworkload: [{flow: {from: h0, to: h1, size: 4KB}}]\n"
	for _, tt := range []struct {
		name, scenario string
		set            []string
		stage, how     string
	}{
		{"pipeline", one, []string{"switch.latency=20us"}, "switch latency", "a packet takes that long through the pipeline of sw"},
		{"cable", one, []string{"topology.star.link.delay=50us"}, "propagation", "a signal takes that long along the cable h0 to sw"},
		{"link", one, []string{"topology.star.link.rate=1Gbps"}, "serialisation", "a packet takes that long onto the link at 1.00 Gb/s of h0:1"},
		{"retries exhausted", linkDown, []string{"stop=1s", "nic.timeout=6", "nic.retry=0"}, "awaiting NAK or timeout", "a loss had to be noticed, by a timeout; the link h0:1 - sw:1 failed at 20.0 us, not noticed before the message ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := simulate(t, tt.scenario, tt.set...)
			if d := metrics.DominantStage(r, 0); d.Stage.String() != tt.stage || d.How != tt.how {
				t.Errorf("%s: %q, want %s: %q", d.Stage, d.How, tt.stage, tt.how)
			}
		})
	}
}
