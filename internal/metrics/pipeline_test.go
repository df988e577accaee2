package metrics_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
)

// simulate runs a shipped scenario, or one given as text, without noise: figures are exact.
func simulate(t testing.TB, scenario string, set ...string) *record.Run {
	t.Helper()
	opt := run.Options{Scenario: scenario, Set: append([]string{"noise=off"}, set...), Workers: 1}
	if strings.Contains(scenario, "\n") {
		opt.Scenario, opt.Text = "test", []byte(scenario)
	}
	r, _, err := run.Do(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Three links, each slower than the one before it.
const narrowing = `
name: narrowing
stack: rocev2
dcqcn: none
topology:
  hosts: [a, b]
  switches: [s, t]
  links:
    - {between: [a, s], rate: 400Gbps, length: 5m}
    - {between: [s, t], rate: 100Gbps, length: 5m}
    - {between: [t, b], rate: 25Gbps, length: 5m}
workload: [{flow: {from: a, to: b, size: 2MB}}]
`

const losing = `
name: losing
topology: {star: {hosts: 2, link: 100Gbps}, links: [{between: [h0, sw]}]}
workload: [{flow: {from: h0, to: h1, size: 1MB, count: 3}}]
`

// What took most of a message's time is laid at the door of the port or host
// that the topology makes responsible, and the shares belong to that place.
func TestResponsible(t *testing.T) {
	for _, tt := range []struct {
		name     string
		scenario string
		set      []string
		flow     int
		where    string
		says     []string
		never    []string
	}{
		// h14 takes four flows at its one link, leaf3:5; h4->h5 shares only uplinks.
		{"pauses spread from an incast elsewhere", "victim-flow", nil, 4, "leaf3:5",
			[]string{"PFC held h4:1, behind it leaf1:6, spine1:3, because leaf3:5, which this message does not take but 4 other queue pairs do,"}, []string{"spine1:2"}},
		{"all waits stem from a slow host", "slow-receiver", []string{"stack=rocev2-pfc-only"}, 0, "receive buffer of h3",
			[]string{"h3 takes data only at 40.0 Gb/s"}, nil},
		{"credits end at a slow host", "virtual-lanes", nil, 1, "receive buffer of h2",
			[]string{"lack of credits held h0:1, behind it sw:3, because h2 takes data only at 10.0 Gb/s"}, []string{"PFC"}},
		{"a full receive buffer drops", "slow-receiver", []string{"stack=rocev2-none"}, 0, "receive buffer of h3",
			[]string{"h3:1 dropped", "NIC receive buffer full", "h3 takes data at 40.0 Gb/s"}, nil},
		{"the hop that dropped", "incast-4to1", []string{"stack=rocev2-none"}, 3, "sw:5", []string{"sw:5 dropped 23,928 frames of its connection (egress threshold)"}, nil},
		{"the hop that marked", "incast-4to1", nil, 2, "sw:5", []string{"DCQCN held h2 qp 0", "from h4; sw:5 marked"}, nil},
		{"a link that loses", losing, []string{"topology.links[0].loss=0.3"}, 0, "h0:1", []string{"h0:1 dropped", "(link loss)"}, nil},
		{"what the queue pair sent again is not said of the message", losing, []string{"topology.star.drop_every=50"}, 0, "sw:2",
			[]string{"packets that h0 qp 0 had sent before had to be sent again"}, []string{"h0 qp 0 sent"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := simulate(t, tt.scenario, tt.set...)
			d, c := metrics.DominantStage(r, tt.flow), metrics.Ceilings(r)[tt.flow]
			if c.Reached && d.Where != tt.where || !c.Reached && c.Cause.Place != tt.where {
				t.Errorf("%s (%s), ceiling %s (%s); want %s", d.Where, d.How, c.Cause.Place, c.How, tt.where)
			}
			for _, s := range tt.says {
				if !strings.Contains(d.How+c.How, s) {
					t.Errorf("neither %q nor %q says %q", d.How, c.How, s)
				}
			}
			for _, s := range tt.never {
				if strings.Contains(d.How+c.How, s) {
					t.Errorf("%q or %q says %q", d.How, c.How, s)
				}
			}
			checkParts(t, r, tt.flow, &d)
		})
	}
}

// checkParts holds the shares of a cause against the account.
func checkParts(t *testing.T, r *record.Run, flow int, d *metrics.Dominant) {
	t.Helper()
	var sum, milli int64
	for _, p := range d.Parts {
		sum += int64(p.TimePS)
		milli += p.Milli
	}
	if sum != int64(d.TimePS) || len(d.Parts) == 0 || d.Parts[0].Stage != d.Stage {
		t.Errorf("parts %+v are not %d ps, the longest %s", d.Parts, d.TimePS, d.Stage)
	}
	if n := int64(len(d.Parts)); milli < d.Milli-n || milli > d.Milli+n {
		t.Errorf("parts %+v are not %d thousandths", d.Parts, d.Milli)
	}
	if d.TimePS > r.Messages[flow].CompletionPS {
		t.Errorf("%d ps of %d", d.TimePS, r.Messages[flow].CompletionPS)
	}
}

// Of two queues on the way each is counted at its own port.
func TestQueuesStandApart(t *testing.T) {
	r := simulate(t, narrowing)
	f, d := &r.Messages[0], metrics.DominantStage(r, 0)
	at := map[string]int64{}
	for _, s := range f.Account.Stages() {
		if s.Stage.String() == "queue" {
			at[s.Place().String()] += int64(s.Time)
		}
	}
	if at["s:2"] == 0 || at["t:2"] == 0 {
		t.Fatalf("one queue only: %v", at)
	}
	if d.Where != "t:2" || d.Stage.String() != "queue" || int64(d.TimePS) != at["t:2"] {
		t.Errorf("%d ps of %s at %s, the account has %v", d.TimePS, d.Stage, d.Where, at)
	}
}

const twoClasses = `
name: two classes
stack: rocev2-pfc-only
topology: {star: {hosts: 4, link: 100Gbps}}
switch: {pfc: {enabled: [3, 4]}}
workload:
  - flow: {from: h0, to: h3, size: 5MB, class: 3}
  - flow: {from: h1, to: h3, size: 5MB, class: 4}
`

// steadyLoad takes 87 % of a port for as long as it lasts.
const steadyLoad = `
topology: {star: {hosts: 9, link: 100Gbps}}
workload:
  - incast: {to: h8, size: 4KB, count: 2000, every: 3us}
`

// Reasons that the report gave although the record shows another.
func TestReasonsAreTrue(t *testing.T) {
	ecn := []string{"stack=rocev2-ecn-only", "switch.ecn.kmin=30MB", "switch.ecn.kmax=100MB"}
	for _, tt := range []struct {
		name      string
		scenario  string
		set       []string
		mechanism catalog.Mechanism
		fired     bool
		says      string
		never     string
	}{
		{"another class feeds the port too", twoClasses, nil, catalog.XOFFCross, false, "the traffic that met there was over before more had queued up: 5.08 MB from h1 qp 0 in all", "one port feeds"},
		{"drops kept the queue below Kmin", "incast-4to1", ecn, catalog.ECNMark, false, "61,389 frames dropped there at the egress threshold kept the queue short", "ended"},
		{"a steady load below the line", steadyLoad, nil, catalog.ECNMark, false, "as much left as came, except for moments: ", "ended"},
		{"a queue drops before XOFF", "incast-4to1", []string{"workload[0].incast.size=4MB", "switch.memory.profiles.egress_lossless_profile.static_th=1MB"}, catalog.XOFFCross, false,
			"frames before (egress threshold)", "arrived in all"},
		{"without PFC a slow host sends no XOFF", "slow-receiver", []string{"stack=rocev2-none"}, catalog.ReceiveXOFF, false,
			"off: PFC is off, although h3 takes data only at 40.0 Gb/s", "as fast as"},
		{"its receive buffer drops", "slow-receiver", []string{"stack=rocev2-none"}, catalog.ReceiveDrop, true, "", ""},
		{"with PFC it does not", "slow-receiver", []string{"stack=rocev2-pfc-only"}, catalog.ReceiveDrop, false, "every frame found room in it", ""},
		{"fast hosts drop nothing", "incast-4to1", nil, catalog.ReceiveDrop, false, "off: every host takes data as fast as it arrives", ""},
		{"Pmax 0 marks above Kmax only", "slow-receiver", []string{"switch.ecn.pmax=0", "switch.ecn.kmin=1KB", "switch.ecn.kmax=8MB"}, catalog.ECNMark, false, "with Pmax 0 packets are marked only above Kmax; ", "chance"},
		{"a minimum rate at the line's", "incast-4to1", []string{"dcqcn.rpg_min_rate=400Gbps"}, catalog.RateCut, false, "left its rate at 400 Gb/s: it was at the minimum rate already", "before the end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, s := range metrics.Mechanisms(simulate(t, tt.scenario, tt.set...), 0) {
				if s.Mechanism != tt.mechanism {
					continue
				}
				if s.Fired > 0 != tt.fired || !strings.Contains(s.Why, tt.says) || tt.never != "" && strings.Contains(s.Why, tt.never) {
					t.Errorf("fired at %d: %q, want %q and not %q", s.Fired, s.Why, tt.says, tt.never)
				}
				return
			}
			t.Errorf("%s is not listed", tt.mechanism)
		})
	}
}
