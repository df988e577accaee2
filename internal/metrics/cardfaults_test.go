package metrics_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
)

const (
	twoLeaves = "topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 3, link: 100Gbps}}\n"
	bystander = "workload:\n  - flow: {from: h0, to: h5, size: 4MB}\n  - flow: {from: h1, to: h3, size: 4MB}\n"
	threeWays = "topology: {leaf_spine: {leaves: 3, spines: 2, hosts_per_leaf: 2, link: 100Gbps}}\nworkload:\n" +
		"  - flows: {size: 4MB, list: [{from: h0, to: h2}, {from: h1, to: h4}, {from: h2, to: h5}, " +
		"{from: h3, to: h0}, {from: h4, to: h1}, {from: h5, to: h3}]}\n"
	oneWay = "topology: {star: {hosts: 3, link: 100Gbps}}\nworkload: [flow: {from: h0, to: h1, size: 10MB}]\n"
)

// What a card or switch does wrong is the verdict and the explanation of a message that it holds up, whatever
// the network and however long it lasts; the same run without it says neither.
func TestFaultsAreNamed(t *testing.T) {
	for _, tt := range []struct {
		name, text, fault string
		message           int
		verdict, explains []string
	}{
		{"a storm without end", "stack: rocev2-pfc-only\n" + twoLeaves + "switch: {buffer: 4MB}\n" + bystander,
			"hosts: {h5: {faults: [{pauses: {from: 100us}}]}}\n", 1,
			[]string{"pause storm from the NIC of h5", "and then to the end", "go there: h1 -> h3"},
			[]string{"behind it leaf1:4, spine1:2, leaf2:3", "the NIC of h5 paused its switch"}},
		{"a storm from the start", "stack: rocev2-pfc-only\n" + twoLeaves + "switch: {buffer: 4MB}\n" + bystander,
			"hosts: {h5: {faults: [{pauses: {from: 0s}}]}}\n", 1,
			[]string{"pause storm from the NIC of h5"}, []string{"the NIC of h5 paused its switch"}},
		{"one fault after the other", "stack: rocev2-pfc-only\n" + twoLeaves + "workload:\n" +
			"  - flow: {from: h0, to: h3, size: 5MB}\n  - flow: {from: h1, to: h4, size: 5MB}\n" +
			"  - flow: {from: h2, to: h5, size: 20MB}\n",
			"hosts: {h3: {faults: [{pauses: {from: 50us, until: 1ms}}]}, h5: {faults: [{hang: {from: 1ms, until: 12ms}}]}}\n", 2,
			[]string{"pause storm from the NIC of h5 (its card hung from 1.00 ms to 12.0 ms)"}, []string{"the NIC of h5 hung"}},
		{"a hung card of InfiniBand", "stack: infiniband\n" + twoLeaves + bystander,
			"hosts: {h5: {faults: [{hang: {from: 50us, until: 2ms}}]}}\n", 1,
			[]string{"from the NIC of h5 (its card hung"}, []string{"the NIC of h5 hung from 50.0 us to 2.00 ms"}},
		{"a slow card of InfiniBand", "stack: infiniband\n" + twoLeaves + bystander,
			"hosts: {h5: {faults: [{slow: {from: 50us, until: 2ms, rate: 10Gbps}}]}}\n", 1,
			[]string{"from the NIC of h5"}, []string{"the NIC of h5 took data only at 10.0 Gb/s"}},
		{"a hung card under TCP", "stack: tcp\n" + oneWay, "hosts: {h1: {faults: [{hang: {from: 500us, until: 11ms}}]}}\n", 0,
			[]string{"h1's card hung from 500 us to 11.0 ms"}, []string{"the NIC of h1 hung"}},
		{"a card hung both ways", threeWays, "hosts: {h2: {faults: [{hang: {from: 50us, until: 2ms}}]}}\n", 0,
			[]string{"h2's card hung"}, []string{"the NIC of h2 hung"}},
		{"a dead leaf", "nic: {timeout: 8}\n" + threeWays, "switches: {leaf2: {down: [{at: 100us}]}}\n", 0,
			[]string{"the switch leaf2 failed at 100 us"}, []string{"failed with the switch leaf2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := simulate(t, "name: fault\n"+tt.fault+tt.text)
			sound := simulate(t, "name: sound\n"+tt.text)
			says(t, r, sound, verdictText, tt.verdict)
			says(t, r, sound, func(r *record.Run) string { return metrics.DominantStage(r, tt.message).How }, tt.explains)
		})
	}
}

func verdictText(r *record.Run) string {
	if v := metrics.Summarise(r).Verdict; v != nil {
		return v.Text
	}
	return ""
}

// says checks that a run's words have all parts and those of the sound run none.
func says(t *testing.T, r, sound *record.Run, of func(*record.Run) string, parts []string) {
	t.Helper()
	said, control := of(r), of(sound)
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("%q has no %q", said, part)
		}
		if strings.Contains(control, part) {
			t.Errorf("without the fault: %q", control)
		}
	}
}

// A card that is slow for a while, but takes no less than its host or link gives, takes nothing away.
func TestHarmlessFault(t *testing.T) {
	text := "name: harmless\n" + oneWay
	slow := simulate(t, text+"hosts: {h1: {drain_rate: 10Gbps, faults: [{slow: {from: 0s, rate: 50Gbps}}]}}\n")
	if said := verdictText(slow); !strings.Contains(said, "h1 takes data only at 10.0 Gb/s") {
		t.Errorf("%q", said)
	}
	worse := simulate(t, text+"hosts: {h1: {drain_rate: 50Gbps, faults: [{slow: {from: 0s, rate: 10Gbps}}]}}\n")
	if said := verdictText(worse); !strings.Contains(said, "h1's card took data only at 10.0 Gb/s") {
		t.Errorf("%q", said)
	}
}

// Of an incast into a slow card the card has no more than what it is slower than its link; of one sender it
// has all.
func TestSlowCardOfIncast(t *testing.T) {
	const fault = "name: incast\ntopology: {star: {hosts: 4, link: 100Gbps}}\n" +
		"hosts: {h3: {faults: [{slow: {from: 0s, rate: 60Gbps}}]}}\nworkload:\n"
	const shares = "3 senders that share the 100 Gb/s to it, of which a card that keeps up saves no more than 40 %"
	said := verdictText(simulate(t, fault+"  - incast: {from: [h0, h1, h2], to: h3, size: 4MB}\n"))
	if !strings.Contains(said, shares) {
		t.Errorf("%q", said)
	}
	one := verdictText(simulate(t, fault+"  - flow: {from: h0, to: h3, size: 12MB}\n"))
	if !strings.Contains(one, "h3's card took data only at 60.0 Gb/s") || strings.Contains(one, "share") {
		t.Errorf("%q", one)
	}
}
