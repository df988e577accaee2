package run_test

import (
	"context"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

// TestDeterminism: the JSON of every shipped scenario is the same, byte for
// byte, on any number of workers and however the network is cut.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	busiest := 0
	workers, partitions := []int{2, 4, 7}, []int{1, 2, 3, 7, 16}
	if raced {
		workers, partitions = workers[2:], partitions[3:4]
	}
	for _, info := range scenario.List() {
		t.Run(info.Name, func(t *testing.T) {
			v := shipped(t, info.Name)
			if raced && info.Name != "leaf-spine-permutation" {
				t.Skip("one with many nodes is enough for the race detector, which takes its time")
			}
			base := simulate(t, v, 0, 1)
			for _, workers := range workers {
				if bad := differ(t, base, simulate(t, v, 0, workers)); bad != "" {
					t.Errorf("%d workers give another result than one: %s", workers, bad)
				}
			}
			for _, parts := range partitions {
				if bad := differ(t, base, simulate(t, v, parts, 2)); bad != "" {
					t.Errorf("%d partitions give another result: %s", parts, bad)
				}
			}
			if len(v.Graph.Nodes) >= 16 {
				busiest = max(busiest, busyPartitions(t, v, 7))
			}
		})
	}
	// Equality means little if one partition did all the work.
	if busiest < 7 {
		t.Errorf("no scenario of at least 16 nodes had 7 partitions that executed events; the most is %d", busiest)
	}
}

// shipped is a shipped scenario as tests run it many times: a collective of 16 channels has
// two of them, an eighth of the work, and a storm lasts for 4 ms of a second.
func shipped(t *testing.T, name string) *scenario.Valid {
	t.Helper()
	set := scenario.Reduced(name)
	switch name {
	case "allreduce-8x8":
		set = []string{"workload[0].collective.channels=2"}
	case "pause-storm":
		set = []string{"hosts.h5.faults=[{pauses: {from: 200us, until: 4ms}}]", "switch.watchdog={detection: 1ms, restoration: 1ms, poll: 1ms}", "nic.timeout=7"}
	}
	v, err := scenario.Load(name, set, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// busyPartitions counts the partitions that executed events when v is cut in n.
func busyPartitions(t *testing.T, v *scenario.Valid, n int) (busy int) {
	t.Helper()
	w, err := build.New(v, build.Options{Partitions: n})
	if err != nil {
		t.Fatal(err)
	}
	run.Simulate(context.Background(), w, run.Options{Workers: 7})
	for _, p := range w.Engine.Parts() {
		if p.Events() > 0 {
			busy++
		}
	}
	return busy
}

// TestCutThroughLookahead: a switch without pipeline latency sees a header
// before the shortest frame's preamble, frame and gap have passed, and
// partitions must not run further ahead than that.
func TestCutThroughLookahead(t *testing.T) {
	const text = `
name: headers
topology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 2, link: 100Gbps, delay: 0ns}}
switch: {latency: 0ns, forwarding: cut-through}
workload:
  - permutation: {size: 200KB}
`
	v, err := scenario.Parse("headers", []byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	base := simulate(t, v, 1, 1)
	for _, parts := range []int{2, 4, 7} {
		if bad := differ(t, base, simulate(t, v, parts, 1)); bad != "" {
			t.Errorf("%d partitions give another result: %s", parts, bad)
		}
	}
}
