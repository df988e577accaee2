package run_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// Collectives end, the same on any partitions, and their critical paths add up to
// the picosecond, operation by operation and stage by stage.
func TestCollectives(t *testing.T) {
	for _, c := range []struct{ stack, spec string }{
		{"rocev2", "op: allreduce, size: 3MB, algorithm: ring, count: 2, overhead: 1us"},
		{"rocev2", "op: allreduce, size: 300KB, algorithm: tree, overhead: 700ns"},
		{"rocev2", "op: allreduce, size: 1KB, protocol: ll"},
		{"rocev2-none", "op: alltoall, size: 1200KB, channels: 3"},
		{"infiniband", "op: allgather, size: 1200KB, channels: 2, count: 2"},
		{"infiniband", "op: reducescatter, size: 120KB, protocol: ll128"},
		{"tcp", "op: allreduce, size: 1200KB, algorithm: ring, channels: 2, overhead: 1us"},
		{"tcp", "op: broadcast, size: 2MiB, root: 2, chunk: 64KiB"},
		{"rocev2", "op: sendrecv, size: 4MB, start: 3us, channels: 2, chunk: 64KiB"},
	} {
		for _, cpu := range []string{"", "host: {post: 1us, poll: 2us}\n"} {
			testCollective(t, c.stack, c.spec, cpu)
		}
	}
}

// testCollective runs a collective on hosts that take time, or not.
func testCollective(t *testing.T, stack, spec, cpu string) {
	t.Helper()
	text := fmt.Sprintf("name: c\nstack: %s\ntopology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 3, link: 100Gbps}}\n%sworkload: [{collective: {%s}}]\n", stack, cpu, spec)
	v, err := scenario.Parse("c", []byte(text), nil, nil)
	if err != nil {
		t.Errorf("%s: %v", spec, err)
		return
	}
	if bad := differ(t, simulate(t, v, 1, 1), simulate(t, v, 4, 2)); bad != "" {
		t.Errorf("%s %s %s: partitions change the result: %s", stack, spec, cpu, bad)
	}
	r := runOf(t, v)
	if r.Stopped != "quiescence" || len(r.Collectives) != 1 {
		t.Errorf("%s %s %s: %s, %d collectives", stack, spec, cpu, r.Stopped, len(r.Collectives))
		return
	}
	checkCritical(t, stack+" "+spec+" "+cpu, &r.Collectives[0])
}

// checkCritical adds up a critical path.
func checkCritical(t *testing.T, name string, c *record.Collective) {
	t.Helper()
	want := c.EndPS[len(c.EndPS)-1] - c.StartPS
	sum, messages := units.Time(0), 0
	for _, g := range c.Critical {
		stages := units.Time(0)
		for _, s := range g.Stages {
			stages += s.TimePS
		}
		if stages != g.TimePS {
			t.Errorf("%s: stages of %s take %d of %d ps", name, g.Kind, stages, g.TimePS)
		}
		sum += g.TimePS
		if g.Kind == record.KindMessage {
			messages = g.Count
		}
	}
	if sum != want || want <= 0 || messages == 0 {
		t.Errorf("%s: the critical path has %d messages and takes %d ps, the collective %d", name, messages, sum, want)
	}
}

// A slower step is on the critical path as often as the ring has steps.
func TestOverheadIsOnTheCriticalPath(t *testing.T) {
	end := func(overhead string) units.Time {
		v, err := scenario.Parse("c", []byte(`
name: c
topology: {star: {hosts: 5, link: 100Gbps}}
workload: [{collective: {op: allreduce, size: 100KB, algorithm: ring, protocol: simple, overhead: `+overhead+`}}]
`), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return runOf(t, v).Collectives[0].EndPS[0]
	}
	// 2(n-1) = 8 steps send; the last only receives. ACKs that now meet no data no
	// longer hold them up, for at most their 86 B each: 6.88 ns.
	if d := end("5us") - end("3us") - 16*units.Microsecond; d > 0 || d < -8*5*7*units.Nanosecond {
		t.Errorf("2 us more for each of 8 steps take 16 us and %d ps", d)
	}
}
