package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
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
			if stages += s.TimePS; s.Where.String() == "" || s.Places < 1 {
				t.Errorf("%s: %s of %s has no place", name, s.Stage.String(), g.Kind)
			}
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

// served is a scenario of one collective over servers with GPUs.
func served(t *testing.T, server string, servers, rails int, stack, spec string) *scenario.Valid {
	t.Helper()
	v, err := scenario.Parse("c", []byte(fmt.Sprintf("name: c\nstack: %s\ntopology: {rail: {servers: %d, rails: %d, link: 200Gbps}}\nserver: %s\nworkload: [{collective: {%s}}]\n",
		stack, servers, rails, server, spec)), nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return v
}

// Collectives over the GPUs of servers: the same on any partitions, with critical
// paths that add up, by every way between GPUs.
func TestCollectivesInServers(t *testing.T) {
	for _, c := range []struct {
		server         string
		servers, rails int
		stack, spec    string
	}{
		{"hgx-a100", 2, 8, "rocev2", "op: allreduce, size: 2MiB, count: 2"},
		{"hgx-a100", 2, 2, "infiniband", "op: allreduce, size: 2MiB, algorithm: hierarchical, protocol: simple"},
		{"dgx-h100", 3, 8, "rocev2", "op: allreduce, size: 2MiB, algorithm: hierarchical"}, // PXN
		{"dgx-h100", 2, 4, "rocev2", "op: allreduce, size: 1MiB, algorithm: tree, protocol: ll"},
		{"dgx-a100", 2, 8, "rocev2", "op: alltoall, size: 1MiB"},
		{"dgx-a100", 2, 8, "rocev2", "op: reducescatter, size: 1MiB, gpudirect: off"},
		{"hgx-a100", 2, 8, "tcp", "op: allreduce, size: 2MiB, algorithm: hierarchical, protocol: simple"},
	} {
		name := fmt.Sprintf("%d %s with %d rails, %s, %s", c.servers, c.server, c.rails, c.stack, c.spec)
		v := served(t, c.server, c.servers, c.rails, c.stack, c.spec)
		if bad := differ(t, simulate(t, v, 1, 1), simulate(t, v, 4, 2)); bad != "" {
			t.Errorf("%s: partitions change the result: %s", name, bad)
		}
		r := runOf(t, v)
		if r.Stopped != "quiescence" {
			t.Errorf("%s: %s", name, r.Stopped)
			continue
		}
		checkCritical(t, name, &r.Collectives[0])
	}
}

// A collective within one server has no message, and yet a time and a path.
func TestCollectiveWithinAServer(t *testing.T) {
	v := served(t, "dgx-a100", 2, 1, "rocev2", "op: allreduce, ranks: [h1/gpus], size: 24MiB, protocol: simple")
	if v.Plan.Len() != 0 {
		t.Fatalf("%d messages", v.Plan.Len())
	}
	r := runOf(t, v)
	c := &r.Collectives[0]
	sum := units.Time(0)
	for _, g := range c.Critical {
		sum += g.TimePS
	}
	if len(c.EndPS) != 1 || sum != c.EndPS[0] || r.EndPS != c.EndPS[0] {
		t.Errorf("ends %v, run %d, path %d", c.EndPS, r.EndPS, sum)
	}
	// The data alone: each GPU stores 2*7/8 of it at 240 GB/s.
	if least := (240 * 8 * units.Gbps).TxTimeLong(42 * units.MiB); c.EndPS[0] < least || c.EndPS[0] > least+least/2 {
		t.Errorf("24 MiB took %d ps, the NVLinks alone %d", c.EndPS[0], least)
	}
}

// A run goes on while a collective is still to begin, however long after the others.
func TestCollectivesApart(t *testing.T) {
	v, err := scenario.Parse("c", []byte(`
name: c
topology: {star: {hosts: 2, link: 100Gbps}}
server: dgx-a100
workload:
  - collective: {op: allgather, ranks: [h0/gpus], size: 32KiB}
  - collective: {op: allgather, ranks: [h1/gpus], size: 32KiB, start: 5ms}
`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, parts := range []int{1, 3} {
		r := simulate(t, v, parts, 1)
		first, second := r.Collectives[0].EndPS[0], r.Collectives[1].EndPS[0]
		if first <= 0 || second != first+5*units.Millisecond {
			t.Errorf("%d partitions: the collectives end at %d and %d ps, the second not 5 ms after the first", parts, first, second)
		}
	}
}

// Each part counts as often as the path has it: 1 us less of it takes as much off as
// the account says, where the same operations are critical.
func TestPartsOfSteps(t *testing.T) {
	end := func(cost string) *record.Collective {
		v := served(t, "dgx-a100", 2, 1, "rocev2", "op: allreduce, ranks: [h0/gpu0, h1/gpu0], size: 64KB, protocol: simple, algorithm: ring, channels: 1, costs: {"+cost+"}")
		return &runOf(t, v).Collectives[0]
	}
	base := end("")
	for _, part := range []struct{ key, name string }{{"launch", "kernel launch"}, {"start", "kernel start"}, {"poll", "flag poll"}, {"load", "first load"}, {"barrier", "barriers"},
		{"fence", "fence"}, {"host_flag", "flag to the proxy"}, {"entry", "completion entry"},
		{"flush", "flush"}, {"host_poll", "poll of host memory"}} {
		took, times := units.Time(0), units.Time(0)
		for _, g := range base.Critical {
			for _, s := range g.Stages {
				if s.Name() == part.name {
					took, times = took+s.TimePS, times+units.Time(s.Count)
				}
			}
		}
		if times == 0 {
			t.Errorf("%s is on no path", part.name)
			continue
		}
		each := took / times
		got := base.EndPS[0] - end(fmt.Sprintf("%s: %dps", part.key, each-each/2)).EndPS[0]
		// What meets on the way does so at other times: some ACKs of 86 B.
		if want := times * (each / 2); got < want-20*units.Nanosecond || got > want+20*units.Nanosecond {
			t.Errorf("half of %s, %d times, takes %d ps off, want %d", part.key, times, got, want)
		}
	}
}

// Within a server a transfer of 64 MiB takes 4 channels, each a thread block that
// takes one step after the other: of 32 chunks of 512 KiB, each with its parts, 4.5 us, and
// the copy at 0.65 of 38.7 GB/s, behind the launch of 7.5 us, and a last receive at the end.
// One of 256 MiB takes 16, which NVLinks or blocks bound.
func TestSendRecvWithinAServer(t *testing.T) {
	took := func(spec string) (units.Time, int) {
		r := runOf(t, served(t, "dgx-h100", 2, 1, "rocev2", "op: sendrecv, ranks: [h0/gpus], "+spec))
		return r.Collectives[0].EndPS[0], r.Collectives[0].Channels
	}
	const us = units.Microsecond
	got, channels := took("size: 64MiB")
	copied := (25155 * 8 * units.Mbps).TxTimeLong(512 * units.KiB)
	send, receive := 6910*units.Nanosecond+copied, 910*units.Nanosecond+copied
	if want := 7500*units.Nanosecond + 32*send + receive; channels != 4 || got < want-us || got > want+us {
		t.Errorf("64 MiB took %v over %d channels, want %v over 4", got, channels, want)
	}
	// With 16 the NVLinks bound each chunk, and what a step takes beside is hidden
	// as far as the blocks are not in step.
	least := (370 * 8 * units.Gbps).TxTimeLong(256 * units.MiB)
	most := 8*us + 33*max(send, 6910*units.Nanosecond+least/32)
	if got, channels := took("size: 256MiB"); channels != 16 || got < least || got > most {
		t.Errorf("256 MiB took %v over %d channels, the NVLinks alone %v, blocks in step %v", got, channels, least, most)
	}
}

// Between servers the blocks of two channels share what leaves by a card: each takes 12.2 us
// for a chunk of 128 KiB, 5.8 us of copying at 0.58 of 38.7 GB/s, 4.5 us for each chunk, and a
// step's poll, first load, barriers and fence. That is 21 GB/s, less than a card of 200 Gb/s
// brings in frames of 4096 of 4178 B on the wire. Of AllToAll 8 of 15 exchanges go between.
func TestPeersBetweenServers(t *testing.T) {
	const ns = units.Nanosecond
	copied := (387 * 58 * 8 * units.Mbps).TxTimeLong(128 * units.KiB)
	chunk := copied + 4500*ns + (280+330+300)*ns + 4*250*ns // a fence goes there and back, over two NVLinks
	for _, c := range []struct {
		spec  string
		bytes units.Bytes // that leave by a card
	}{
		{"op: sendrecv, size: 16MiB", 16 * units.MiB},
		{"op: alltoall, size: 32MiB", 16 * units.MiB},
	} {
		r := runOf(t, served(t, "dgx-h100", 2, 8, "rocev2", c.spec))
		cards := (200 * units.Gbps).TxTimeLong(c.bytes / 4096 * 4178)
		blocks := units.Time(c.bytes/(2*128*units.KiB)) * chunk
		least := max(cards, blocks)
		if got := r.Collectives[0].EndPS[0]; got < least || got > least+least/25+20*units.Microsecond {
			t.Errorf("%s took %v, the cards alone %v, the blocks alone %v", c.spec, got, cards, blocks)
		}
	}
}

// What a message waits for at its own end has a place on critical paths: reads by the
// card at the slowest link of their way, PCIe x8 of the card where a switch has x16, else
// the queue pair.
func TestPlacesOnCriticalPaths(t *testing.T) {
	for _, c := range []struct{ direct, server, read, fetch string }{
		{"on", "{preset: dgx-a100, links: {nic0: {width: 8}}}", "h0 switch0 to nic0", "h0 switch0 to nic0"},
		{"on", "{preset: dgx-a100, links: {gpu0: {width: 4}}}", "h0 gpu0 to switch0", "h0 cpu0 to switch0"},
		{"off", "{preset: dgx-a100, links: {gpu0: {width: 4}}}", "h0 cpu0 to switch0", "h0 cpu0 to switch0"},
	} {
		r := runOf(t, served(t, c.server, 2, 1, "rocev2", "op: sendrecv, ranks: [h0/gpu0, h1/gpu0], size: 64KB, protocol: simple, gpudirect: "+c.direct))
		seen := 0
		for _, g := range r.Collectives[0].Critical {
			for _, s := range g.Stages {
				want := map[string]string{catalog.StageRead.String(): c.read, catalog.StageWorkFetch.String(): c.fetch}[s.Stage.String()]
				if want != "" {
					seen++
				}
				if _, rest, _ := strings.Cut(want, " "); want != "" && !strings.HasSuffix(s.Where.String(), " "+rest) {
					t.Errorf("%s, GPUDirect %s: %s at %q, want %q", c.server, c.direct, s.Stage.String(), s.Where.String(), want)
				}
			}
		}
		if seen == 0 {
			t.Errorf("%s, GPUDirect %s: no read by the card on the path", c.server, c.direct)
		}
	}
}

// Thread blocks that store over the same NVLinks share them: a step of 64 KiB beside 24
// of 512 KiB gets a 25th of 240 GB/s, not the 13.9 GB/s of a block alone (and an eighth of
// what a chunk takes it beside), and waits for none of them.
func TestBlocksShareNVLinks(t *testing.T) {
	end := func(others string) units.Time {
		const one = "{collective: {op: sendrecv, ranks: [h0/gpu0, h0/gpu1], protocol: simple, size: "
		v, err := scenario.Parse("c", []byte("name: c\ntopology: {star: {hosts: 2, link: 200Gbps}}\nserver: dgx-a100\nworkload: ["+
			one+"64KiB, channels: 1}}"+others+"]\n"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return runOf(t, v).Collectives[0].EndPS[0]
	}
	longer := end(", {collective: {op: sendrecv, ranks: [h0/gpu0, h0/gpu1], protocol: simple, size: 12MiB, channels: 24}}") - end("")
	block, link := 13920*8*units.Mbps, 240*8*units.Gbps
	want := link.TxTimeLong(25*64*units.KiB) - block.TxTimeLong(64*units.KiB) - 4500*units.Nanosecond/8
	round := link.TxTimeLong(25 * 4 * units.KiB)
	if longer < want-round || longer > want+round {
		t.Errorf("24 blocks beside it cost a step %d ps, want %d within a round of %d", longer, want, round)
	}
}
