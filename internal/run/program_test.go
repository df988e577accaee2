package run_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// A collective whose steps are made as ranks reach them takes the course of one whose steps a
// plan lists one by one: the same frames at the same times, the same ends, whatever the shape,
// on any partitions.
func TestProgramsAreLikePlans(t *testing.T) {
	const slowRail = "name: c\ntopology: {rail: {servers: 2, rails: 8, link: 4Gbps}}\nserver: dgx-h100\n" +
		"workload: [{collective: {records: RECORDS, op: broadcast, size: 256KiB, chunk: 4KiB, channels: 1, algorithm: ring}}]\n"
	const inside = "name: c\nserver: dgx-h100\nworkload: [{collective: {records: RECORDS, op: allreduce, size: 3MiB, algorithm: nvls, count: 2}}]\n"
	rnd := rand.New(rand.NewPCG(15, 24))
	drawn := ""
	for i := range 40 {
		text := randomCollective(rnd)
		switch i {
		case 0:
			text = slowRail // one GPU after the other runs out of slots
		case 1:
			text = inside
		}
		each, sums := loadCollective(t, text, "messages"), loadCollective(t, text, "sums")
		if sums.Plan.Len() > 0 || len(sums.Plan.Programs) == 0 {
			t.Fatalf("%s: %d messages are listed", text, sums.Plan.Len())
		}
		drawn += strings.ReplaceAll(text, "}", ",")
		want, got, parted := runOf(t, each), runOf(t, sums), simulate(t, sums, 4, 2)
		for _, r := range []*record.Run{got, parted} {
			if r.Fingerprint != want.Fingerprint || r.Events != want.Events || r.Stopped != want.Stopped || r.EndPS != want.EndPS || r.OpenMessages != 0 {
				t.Fatalf("%s: fingerprint %s, %d events, %s at %v; want %s, %d, %s at %v", text, r.Fingerprint, r.Events, r.Stopped, r.EndPS,
					want.Fingerprint, want.Events, want.Stopped, want.EndPS)
			}
			if !slices.Equal(r.Collectives[0].EndPS, want.Collectives[0].EndPS) {
				t.Fatalf("%s: ends %v, want %v", text, r.Collectives[0].EndPS, want.Collectives[0].EndPS)
			}
			checkSums(t, text, want, r.Collectives[0].Sums)
			checkPath(t, text, &want.Collectives[0], &r.Collectives[0])
		}
		if strings.Contains(text, "alltoall") {
			continue // its queue pairs are used again
		}
		for i := range want.QPs {
			if a, b := &want.QPs[i], &got.QPs[i]; a.Host != b.Host || a.QP != b.QP || a.SentPackets != b.SentPackets || a.DeliveredBytes != b.DeliveredBytes || a.Posts != b.Posts {
				t.Fatalf("%s: queue pair %d is %+v, want %+v", text, i, b, a)
			}
		}
	}
	for _, word := range []string{"ring", "tree", "nvls", "nvlstree", "single-ring", "alltoall", "sendrecv", "broadcast"} {
		if !strings.Contains(drawn, ": "+word+",") {
			t.Errorf("no collective with %s was drawn", word)
		}
	}
}

// A program that is cut off is as a plan is: the same frames, and an end that has not come.
func TestProgramStopped(t *testing.T) {
	for _, spec := range []string{"op: allreduce, size: 8MiB, algorithm: ring", "op: alltoall, size: 8MiB"} {
		text := "topology: {rail: {servers: 3, rails: 8, link: 400Gbps}}\nserver: dgx-h100\nstop: 90us\n" +
			"workload: [{collective: {records: RECORDS, " + strings.Replace(spec, "8MiB", "7864320B", 1) + "}}]\n"
		want, got := runOf(t, loadCollective(t, text, "messages")), runOf(t, loadCollective(t, text, "sums"))
		if got.Fingerprint != want.Fingerprint || got.Stopped != "stop time" || got.OpenMessages == 0 || got.Collectives[0].EndPS[0] != -1 {
			t.Errorf("%s: fingerprint %s, want %s; %s with %d open, ends %v", spec, got.Fingerprint, want.Fingerprint, got.Stopped,
				got.OpenMessages, got.Collectives[0].EndPS)
		}
	}
}

// checkSums holds what was added up against the operations of a run that kept each.
func checkSums(t *testing.T, name string, want *record.Run, sums *record.CollectiveSums) {
	t.Helper()
	messages, slots, total := int64(0), int64(0), int64(0)
	for i := range want.Messages {
		if want.Messages[i].Workload == want.Collectives[0].Slots {
			slots++
		} else {
			messages++
		}
	}
	for _, k := range sums.Kinds {
		total += k.Count
		stages := units.Time(0)
		for _, s := range k.Stages {
			stages += s.TimePS
		}
		if stages != k.TimePS || k.LongestPS*units.Time(k.Count) < k.TimePS {
			t.Errorf("%s: stages of %s add up to %v of %v, the longest of %d took %v", name, k.Kind, stages, k.TimePS, k.Count, k.LongestPS)
		}
		if n, is := map[string]int64{record.KindMessage: messages, record.KindSlot: slots}[k.Kind]; is && k.Count != n {
			t.Errorf("%s: %d of %s, want %d", name, k.Count, k.Kind, n)
		}
	}
	if total != sums.Operations || sums.FirstPostPS != want.FirstPost() && len(want.Messages) > 0 {
		t.Errorf("%s: %d operations of %d in all, first post at %v, want %v", name, total, sums.Operations, sums.FirstPostPS, want.FirstPost())
	}
}

// checkPath holds the critical path that was kept by kind against that of a run that kept each
// operation. Along a chain a block and the one before it end at one time, so that either may be the
// cause: steps count together.
func checkPath(t *testing.T, name string, want, got *record.Collective) {
	t.Helper()
	if got.Op == "alltoall" {
		return
	}
	type sum struct {
		count int
		time  units.Time
	}
	sums := func(c *record.Collective) map[string]sum {
		out := map[string]sum{}
		for _, g := range c.Critical {
			kind := g.Kind
			if strings.Contains(kind, "send") || strings.Contains(kind, "re") { // reduce and receive
				kind = "steps"
			}
			s := out[kind]
			out[kind] = sum{s.count + g.Count, s.time + g.TimePS}
		}
		return out
	}
	if w, g := sums(want), sums(got); !maps.Equal(w, g) {
		t.Errorf("%s: critical path %v, want %v", name, g, w)
	}
}

// randomCollective draws a collective of those that programs can be.
func randomCollective(rnd *rand.Rand) string {
	pick := func(words ...string) string { return words[rnd.IntN(len(words))] }
	head := pick("topology: {rail: {servers: %d, rails: 8, link: 400Gbps}}\nserver: dgx-h100\n",
		"topology: {rail: {servers: %d, rails: 8, link: 100Gbps}}\nserver: dgx-h100\n",
		"topology: {rail: {servers: 1, rails: 8, link: 100Gbps}}\nserver: dgx-h100\n",
		"topology: {rail: {servers: %d, rails: 8, link: 4Gbps}}\nserver: dgx-h100\n", // slots inside run out
		"topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: %d, link: 100Gbps}}\n",
		"topology: {star: {hosts: %d, link: 100Gbps}, links: [{between: [h2, sw], rate: 2Gbps}]}\n") // and those of h1
	hosts := 2 + rnd.IntN(3)
	slow := strings.Contains(head, " 4Gbps") || strings.Contains(head, " 2Gbps")
	gpus := strings.Contains(head, "server")
	op := pick("allreduce", "allreduce", "allreduce", "reducescatter", "allgather", "broadcast", "alltoall", "alltoall", "sendrecv")
	one := strings.Contains(head, "servers: 1,")
	keys := []string{"op: " + op, fmt.Sprintf("size: %dB", 8*32*105*(1+rnd.IntN(1<<(1+rnd.IntN(9)))))}
	if op == "alltoall" {
		keys[1] = fmt.Sprintf("size: %dB", 8*32*105*(1+rnd.IntN(1<<(1+rnd.IntN(7)))))
	}
	peers, protocol := op == "alltoall" || op == "sendrecv", pick("simple", "ll", "ll128")
	algorithm := "ring"
	switch {
	case op == "allreduce" && gpus:
		algorithm = pick("ring", "tree", "nvlstree")
		if one {
			algorithm = pick("ring", "tree", "nvls")
		}
	case op == "allreduce":
		algorithm = pick("ring", "single-ring", "tree", "tree")
	case !gpus:
		algorithm = pick("ring", "single-ring")
	}
	if !peers {
		keys = append(keys, "algorithm: "+algorithm)
	}
	if strings.HasPrefix(algorithm, "nvls") && !peers {
		protocol = "simple"
	}
	if gpus {
		head = strings.Replace(head, "%d", fmt.Sprint(hosts), 1)
	} else {
		keys = append(keys, "overhead: "+pick("1us", "300ns"))
		head = strings.Replace(head, "%d", fmt.Sprint(hosts/2+2), 1)
	}
	if rnd.IntN(2) == 0 {
		keys = append(keys, "protocol: "+protocol)
	}
	if rnd.IntN(2) == 0 {
		keys = append(keys, fmt.Sprintf("channels: %d", 1+rnd.IntN(5)))
	}
	switch {
	case slow:
		keys[1] = fmt.Sprintf("size: %dB", 8*32*105*(1+rnd.IntN(20)))
		keys = append(keys, fmt.Sprintf("chunk: %dB", 4*(100+rnd.IntN(1000))))
	case rnd.IntN(3) == 0:
		keys = append(keys, fmt.Sprintf("chunk: %dB", 4*(500+rnd.IntN(20000))), fmt.Sprintf("slices: %d", 1+rnd.IntN(4)))
	}
	if rnd.IntN(3) == 0 {
		keys = append(keys, fmt.Sprintf("count: %d", 2+rnd.IntN(2)))
	}
	if op == "broadcast" {
		keys = append(keys, fmt.Sprintf("root: %d", rnd.IntN(4)))
	}
	return fmt.Sprintf("name: c\nstack: %s\nseed: %d\n%sworkload: [{collective: {records: RECORDS, %s}}]\n", pick("rocev2", "infiniband", "rocev2-lossy"), 1+rnd.IntN(9), head, strings.Join(keys, ", "))
}

// loadCollective loads a scenario that keeps what is said of its collective.
func loadCollective(t *testing.T, text, records string) *scenario.Valid {
	t.Helper()
	v, err := scenario.Parse("c", []byte(strings.Replace(text, "RECORDS", records, 1)), nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// What a program takes beside the network, its operations, edges, queue pairs and their
// connections, is at most 20 KB for each rank and channel, whatever it carries (issue Servers).
func TestProgramMemory(t *testing.T) {
	const ranks, text = 64, `
topology: {rail: {servers: 8, rails: 8, link: 400Gbps}}
server: dgx-h100
workload: [{collective: {records: RECORDS, %s}}]
`
	idle := programHeap(t, fmt.Sprintf(text, "op: broadcast, size: 4B, algorithm: ring, channels: 1"))
	for _, c := range []struct {
		spec     string
		channels int
	}{
		{"op: allreduce, size: 4MiB, algorithm: ring, channels: 16", 16},
		{"op: allreduce, size: 256KiB, algorithm: ring, channels: 1, count: 8", 1},
		{"op: alltoall, size: 2MiB, channels: 16", 16},
		{"op: allreduce, size: 32MiB, algorithm: tree, channels: 16", 16},
		{"op: allreduce, size: 32MiB, algorithm: nvlstree", 16},
		{"op: sendrecv, size: 8MiB, channels: 16", 16},
	} {
		per := (programHeap(t, fmt.Sprintf(text, c.spec)) - idle) / int64(ranks*c.channels)
		t.Logf("%s: %d B for each rank and channel", c.spec, per)
		if per > 20_000 {
			t.Errorf("%s: %d B for each rank and channel, want at most 20000", c.spec, per)
		}
	}
}

// programHeap is what a world takes after its run, with what that leaves behind, but without its record.
func programHeap(t *testing.T, text string) int64 {
	t.Helper()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	w, err := build.New(loadCollective(t, text, "sums"), build.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := run.Simulate(context.Background(), w, run.Options{Workers: 1}); r.Stopped != "quiescence" {
		t.Fatalf("%s: %s", text, r.Stopped)
	}
	after := heap()
	runtime.KeepAlive(w)
	return after - before
}
