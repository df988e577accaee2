package compare_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// over compares a shipped scenario as the command line does.
func over(t *testing.T, name string, stacks []string, workers int, set ...string) *compare.Comparison {
	t.Helper()
	c, err := compare.Run(context.Background(), compare.Options{Stacks: stacks, Seeds: 1, Workers: workers,
		Do: func(ctx context.Context, j compare.Job) (*record.Run, error) {
			r, _, err := run.Do(ctx, run.Options{Scenario: name, Stack: j.Stack, Stacks: j.Stacks, Set: set, Seed: j.Seed, Workers: j.Workers})
			return r, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Ten times the marking thresholds change what the sentence says, and what it
// says is what the table counts.
func TestKminChangesTheSentence(t *testing.T) {
	one := []string{"rocev2"}
	before := over(t, "incast-4to1", one, 1).Stacks[0]
	after := over(t, "incast-4to1", one, 1, "switch.ecn.kmin=8MB", "switch.ecn.kmax=32MB").Stacks[0]
	if before.Sentence == after.Sentence {
		t.Fatalf("the sentence stays %q", before.Sentence)
	}
	for _, c := range []compare.Column{before, after} {
		marked, cnps := c.Answers[0], c.Answers[1]
		for _, words := range []string{
			fmt.Sprintf("marked %s packets from %s on", metrics.FormatCount(marked.Count.Median), metrics.FormatTime(marked.FirstPS.Median)),
			fmt.Sprintf("h4's NIC sent %s CNPs", metrics.FormatCount(cnps.Count.Median)),
			"the slowest in " + metrics.FormatTime(c.Figures.MaxPS.Median),
		} {
			if !strings.Contains(c.Sentence, words) {
				t.Errorf("%q does not say %q", c.Sentence, words)
			}
		}
	}
	if b, a := before.Answers[0].FirstPS.Median, after.Answers[0].FirstPS.Median; a <= b {
		t.Errorf("marking starts at %v with ten times Kmin, at %v before", a, b)
	}
}

// The four stacks do what their names say.
func TestStacks(t *testing.T) {
	c := over(t, "victim-flow", []string{"rocev2", "rocev2-pfc-only", "rocev2-ecn-only", "rocev2-none"}, 2)
	for i, want := range []struct{ pauses, marks, drops bool }{
		{pauses: true, marks: true}, {pauses: true}, {marks: true, drops: true}, {drops: true},
	} {
		s := c.Stacks[i]
		f := s.Figures
		got := struct{ pauses, marks, drops bool }{f.Pauses.Max > 0, f.Marked.Max > 0, f.Dropped.Max > 0}
		if got != want {
			t.Errorf("%s: %+v, want %+v", s.Stack, got, want)
		}
		if resent := f.Resent.Max > 0; resent != want.drops {
			t.Errorf("%s: resent %d bytes with %d drops", s.Stack, f.Resent.Max, f.Dropped.Max)
		}
		if f.Completed.Min != 5 {
			t.Errorf("%s: %d of 5 messages completed", s.Stack, f.Completed.Min)
		}
		// Nothing crosses the wire for less than its headers: 4096 of 4178 B (models 4.5).
		if f.WireRatio.Min < 4178.0/4096 {
			t.Errorf("%s: %g wire bytes per payload byte", s.Stack, f.WireRatio.Min)
		}
	}
	if again := over(t, "victim-flow", []string{"rocev2", "rocev2-pfc-only", "rocev2-ecn-only", "rocev2-none"}, 7); !reflect.DeepEqual(again, c) {
		t.Error("the number of workers changes the comparison")
	}
}

// One lossy queue settles at alpha*B/(1+alpha) of the pool (models 2.6), here
// 1/2 of 7/12 of 128 MiB: a third of the pool, to within one frame.
func TestLossyThreshold(t *testing.T) {
	f := over(t, "incast-4to1", []string{"rocev2-none"}, 1).Stacks[0].Figures
	pool := int64(128*units.MiB) / 12 * 7
	const frame = 4174
	if got, want := f.PeakQueue.Median, pool/3; got > want+frame || got < want-frame {
		t.Errorf("peak queue %d, want %d to within %d", got, want, frame)
	}
}

// A scenario that sets DCQCN runs over stacks without it.
func TestScenarioOfAnotherStack(t *testing.T) {
	c := over(t, "incast-4to1", []string{"rocev2-none", "rocev2"}, 1, "dcqcn=paper", "workload[0].incast.size=1MB")
	if none, full := c.Stacks[0].Figures, c.Stacks[1].Figures; none.Marked.Max != 0 || full.Marked.Max == 0 {
		t.Errorf("marks %d without ECN, %d with", none.Marked.Max, full.Marked.Max)
	}
}

// With TCP beside them the RDMA columns have a bill too: posting, a doorbell and a
// poll per message, 100 + 200 + 100 ns; and their messages start when they are
// posted. Each byte over TCP is copied at either end. Without TCP hosts are as `run`
// has them.
func TestHostCPUComparesLikeWithLike(t *testing.T) {
	const set = "workload[0].incast.size=1MB"
	alone := over(t, "incast-4to1", []string{"rocev2", "infiniband"}, 1, set)
	beside := over(t, "incast-4to1", []string{"rocev2", "infiniband", "tcp"}, 1, set)
	free := over(t, "incast-4to1", []string{"rocev2", "tcp"}, 1, set, "host.preset=free")
	for i := range alone.Stacks {
		if got := alone.Stacks[i].Figures.CorePS.Max; got != 0 {
			t.Errorf("%s: core time %v without TCP, want none", alone.Stacks[i].Stack, got)
		}
		f := beside.Stacks[i].Figures
		if got, want := f.CorePS.Median, 4*400*units.Nanosecond; got != want || f.Copied.Max != 0 {
			t.Errorf("%s: core time %v and %d bytes copied, want %v and none", beside.Stacks[i].Stack, got, f.Copied.Max, want)
		}
	}
	if got := beside.Stacks[2].Figures.Copied.Median; got != 2*4*1000*1000 {
		t.Errorf("tcp: %d bytes copied, want each of 4 MB twice", got)
	}
	if got := free.Stacks[1].Figures; got.CorePS.Max != 0 || got.Copied.Max != 0 {
		t.Errorf("tcp on free hosts: core time %v, %d bytes copied", got.CorePS.Max, got.Copied.Max)
	}
	if a, b := alone.Stacks[0].Fingerprints[0], free.Stacks[0].Fingerprints[0]; a != b {
		t.Errorf("rocev2 on free hosts has fingerprint %s, want %s", b, a)
	}
}

// gpus is an incast of GPUs.
const gpus = `
name: gpus
topology: {star: {hosts: 5, link: 400Gbps, length: 5m}}
server: dgx-h100
workload:
  - incast: {from: [h0/gpu0, h1/gpu0, h2/gpu0, h3/gpu0], to: h4/gpu0, size: 1MB}
`

// overText is over for the text of a scenario.
func overText(t *testing.T, text string, stacks []string, set ...string) *compare.Comparison {
	t.Helper()
	c, err := compare.Run(context.Background(), compare.Options{Stacks: stacks, Seeds: 1, Workers: 2,
		Do: func(ctx context.Context, j compare.Job) (*record.Run, error) {
			r, _, err := run.Do(ctx, run.Options{Scenario: "test", Text: []byte(text), Stack: j.Stack, Stacks: j.Stacks, Set: set, Seed: j.Seed, Workers: j.Workers})
			return r, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// With GPUDirect a byte crosses two PCIe links at either end, GPU to switch to card; with
// staging four, GPU to switch to root complex and from there to the card, and it is
// written to DRAM and read from it at either end. Of each message there are besides a
// doorbell of 8 B and a work request of 64 B from the root over the switch to the card,
// and a completion entry of 64 B back; request and entry lie in DRAM.
func TestHostPathsCountCrossings(t *testing.T) {
	c := overText(t, gpus, []string{"rocev2", "rocev2 staged", "infiniband", "infiniband staged"})
	const own, inDRAM = 2 * (8 + 64 + 64), 64 + 64
	for i := range c.Stacks {
		s := &c.Stacks[i]
		in := s.Figures.Inside
		if in == nil {
			t.Fatalf("%s: nothing inside hosts", s.Stack)
		}
		pcie, dram, staged := 4.0, 0.0, int64(0)
		if strings.HasSuffix(s.Stack, " staged") {
			pcie, dram, staged = 8, 4, 2*4e6
		}
		if got, want := in.PCIeRatio.Median, pcie+own/1e6; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %.7f PCIe links per byte, want %.7f", s.Stack, got, want)
		}
		if got, want := in.DRAMRatio.Median, dram+inDRAM/1e6; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %.7f bytes of DRAM per byte, want %.7f", s.Stack, got, want)
		}
		if in.Staged.Median != staged {
			t.Errorf("%s: %d bytes staged, want %d", s.Stack, in.Staged.Median, staged)
		}
		// TLPs of at most 256 B have at least 12 B of header, and framing.
		if got := in.PCIeBytesRatio.Median; got < in.PCIeRatio.Median*(256+12)/256 {
			t.Errorf("%s: %g bytes on PCIe links for %g of payload", s.Stack, got, in.PCIeRatio.Median)
		}
	}
	direct, staged := &c.Stacks[0].Figures, &c.Stacks[1].Figures
	if direct.MaxPS.Median >= staged.MaxPS.Median {
		t.Errorf("%v with GPUDirect, %v staged", direct.MaxPS.Median, staged.MaxPS.Median)
	}
}

// Who is slow inside is named where the network is not: a receiver by its link, whatever
// the rule of the fabric, and else the hop that is busiest.
func TestSentenceNamesHopsInside(t *testing.T) {
	const receiver = "; receiver host h4 took no more than 52.9 Gb/s, over a slow slot (PCIe gen3 x8, nic0 to switch0); "
	stacks := []string{"rocev2-pfc-only", "rocev2-lossy", "infiniband"}
	for _, s := range overText(t, gpus, stacks, "workload[0].incast.size=8MB", "hosts={h4: {server: {links: {nic0: {gen: 3, width: 8}}}}}").Stacks {
		if !strings.Contains(s.Sentence, receiver) {
			t.Errorf("%s: %s", s.Stack, s.Sentence)
		}
	}
	for _, s := range overText(t, gpus, stacks, "workload[0].incast.size=8MB").Stacks {
		if strings.Contains(s.Sentence, "receiver host") || strings.Contains(s.Sentence, "was busy") {
			t.Errorf("%s: %s", s.Stack, s.Sentence)
		}
	}
	slow := overText(t, gpus, stacks[:1], "workload[0].incast.size=8MB", "workload[0].incast.from=[h0/gpu0]", "hosts={h0: {server: {links: {gpu0: {gen: 3, width: 8}}}}}").Stacks[0]
	if want := "; link gpu0 to switch0 (PCIe gen3 x8) of h0 was busy for 9"; !strings.Contains(slow.Sentence, want) {
		t.Errorf("%s", slow.Sentence)
	}
}

// Collectives of a comparison are those of the runs, over TCP too.
func TestCollectives(t *testing.T) {
	const text = `
topology: {star: {hosts: 4, link: 100Gbps}}
workload:
  - collective: {op: allreduce, size: 1MiB, count: 2}
`
	c := overText(t, text, []string{"rocev2", "infiniband", "tcp"})
	for i := range c.Stacks {
		r, _, err := run.Do(context.Background(), run.Options{Scenario: "test", Text: []byte(text), Stack: c.Stacks[i].Stack, Stacks: []string{"rocev2", "tcp"}, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		want := metrics.Collectives(r)[0]
		got := c.Stacks[i].Figures.Collectives
		if len(got) != 1 || want.Done != 2 || got[0].Done.Median != 2 || got[0].TimePS.Median != want.TimePS || got[0].BusBW.Median != want.BusBW || want.BusBW <= 0 {
			t.Errorf("%s: %+v, want %+v", c.Stacks[i].Stack, got, want)
		}
	}
}

// The account of a column adds up to the time of the slowest message, or of the
// collectives, whatever the stack and the way inside hosts; nothing is left over.
func TestAccountsAddUp(t *testing.T) {
	ring := strings.Replace(gpus, "incast: {from: [h0/gpu0, h1/gpu0, h2/gpu0, h3/gpu0], to: h4/gpu0, size: 1MB}", "collective: {op: allreduce, ranks: [h0/gpu0, h1/gpu0, h2/gpu0, h3/gpu0], size: 1MiB}", 1)
	for _, c := range []struct{ text, of string }{{gpus, " -> h4/gpu0"}, {ring, "collective, critical path"}} {
		v, err := scenario.Parse("test", []byte(c.text), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range overText(t, c.text, scenario.Columns(v), "switch.buffer=4MB").Stacks {
			want, sum := s.Figures.MaxPS.Median, units.Time(0)
			if len(s.Figures.Collectives) > 0 {
				want = s.Figures.Collectives[0].TimePS.Median
			}
			copies := false
			for _, p := range s.Account {
				sum += p.PS
				copies = copies || p.Part == catalog.PartCopies
				if p.Part == catalog.PartUnknown {
					t.Errorf("%s: %v of nothing known", s.Stack, p.PS)
				}
			}
			if sum != want || !strings.HasSuffix(s.AccountOf, c.of) {
				t.Errorf("%s: the account of %s adds up to %v, want %v", s.Stack, s.AccountOf, sum, want)
			}
			if staged := strings.HasSuffix(s.Stack, " staged") || scenario.OverTCP(s.Stack); copies != staged {
				t.Errorf("%s: copies: %v in %v", s.Stack, copies, s.Account)
			}
		}
	}
}
