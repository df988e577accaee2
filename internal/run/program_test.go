package run_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// A collective whose steps are made as ranks reach them takes the course of one whose steps a
// plan lists one by one: the same frames at the same times, the same ends, whatever the shape,
// on any partitions.
func TestProgramsAreLikePlans(t *testing.T) {
	rnd := rand.New(rand.NewPCG(15, 24))
	for range 16 {
		text := randomCollective(rnd)
		each, sums := loadCollective(t, text, "messages"), loadCollective(t, text, "sums")
		if sums.Plan.Len() > 0 || len(sums.Plan.Programs) == 0 {
			t.Fatalf("%s: %d messages are listed", text, sums.Plan.Len())
		}
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

// randomCollective draws a collective of those that programs can be.
func randomCollective(rnd *rand.Rand) string {
	pick := func(words ...string) string { return words[rnd.IntN(len(words))] }
	head := pick("topology: {rail: {servers: %d, rails: 8, link: 400Gbps}}\nserver: dgx-h100\n",
		"topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: %d, link: 100Gbps}}\n")
	hosts := 2 + rnd.IntN(3)
	gpus := strings.Contains(head, "server")
	op := pick("allreduce", "reducescatter", "allgather", "broadcast", "alltoall", "alltoall")
	keys := []string{"op: " + op, fmt.Sprintf("size: %dB", 8*32*105*(1+rnd.IntN(1<<(1+rnd.IntN(9)))))}
	if op == "alltoall" {
		keys[1] = fmt.Sprintf("size: %dB", 8*32*105*(1+rnd.IntN(1<<(1+rnd.IntN(7)))))
	}
	if gpus {
		if op != "alltoall" {
			keys = append(keys, "algorithm: ring")
		}
		head = fmt.Sprintf(head, hosts)
	} else {
		if op != "alltoall" {
			keys = append(keys, "algorithm: "+pick("ring", "single-ring"))
		}
		keys = append(keys, "overhead: "+pick("1us", "300ns"))
		head = fmt.Sprintf(head, hosts/2+1)
	}
	if rnd.IntN(2) == 0 {
		keys = append(keys, "protocol: "+pick("simple", "ll", "ll128"))
	}
	if rnd.IntN(2) == 0 {
		keys = append(keys, fmt.Sprintf("channels: %d", 1+rnd.IntN(5)))
	}
	if rnd.IntN(3) == 0 {
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
