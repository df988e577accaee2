package run_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// job loads a scenario of two DGX H100 and runs a job over ranks.
func jobOf(t *testing.T, ranks, keys string, operations ...string) *record.Job {
	t.Helper()
	r := runOf(t, jobScenario(t, ranks, keys, operations...))
	if r.Stopped != "quiescence" {
		t.Fatalf("stopped: %s", r.Stopped)
	}
	checkJob(t, r)
	return &r.Jobs[0]
}

func jobScenario(t *testing.T, ranks, keys string, operations ...string) *scenario.Valid {
	t.Helper()
	text := "name: j\ntopology: {rail: {servers: 2, rails: 8, spines: 1, parallel: 2, link: 400Gbps}}\nserver: dgx-h100\njobs:\n  - ranks: " + ranks + "\n"
	if keys != "" {
		text += "    " + keys + "\n"
	}
	text += "    operations:\n      - " + strings.Join(operations, "\n      - ") + "\n"
	v, err := scenario.Parse("s.yaml", []byte(text), nil, nil)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return v
}

// checkJob holds that every rank's time adds up to that of the steps, and the critical path too.
func checkJob(t *testing.T, r *record.Run) {
	t.Helper()
	for i := range r.Jobs {
		j := &r.Jobs[i]
		sums := make([]units.Time, j.Ranks)
		for k := range j.Times {
			x := &j.Times[k]
			sums[x.Rank] += x.TimePS
			if x.TimePS <= 0 || x.Kind == record.JobStuck {
				t.Errorf("rank %d: %+v", x.Rank, x)
			}
		}
		last := j.EndPS[len(j.EndPS)-1]
		for rank, sum := range sums {
			if sum != last-j.StartPS {
				t.Errorf("rank %d: its times add up to %v of %v", rank, sum, last-j.StartPS)
			}
		}
		path := units.Time(0)
		for _, g := range j.Critical {
			path += g.TimePS
		}
		if path != last-j.StartPS {
			t.Errorf("the critical path adds up to %v of %v", path, last-j.StartPS)
		}
	}
}

// spent is what a rank spent on a kind of thing.
func spent(j *record.Job, rank int, kind, what string) (sum units.Time) {
	for i := range j.Times {
		if x := &j.Times[i]; x.Rank == rank && x.Kind == kind && (what == "" || x.What == what) {
			sum += x.TimePS
		}
	}
	return sum
}

// Operations of a stream follow each other, what waits begins when all is over that it waits for, and
// streams overlap: the closed forms of a chain, of a fork and of two streams.
func TestJobOrder(t *testing.T) {
	const ms = units.Millisecond
	for _, c := range []struct {
		name string
		ops  []string
		want units.Time
	}{
		{"one stream", []string{"compute: {name: a, time: 1ms}", "compute: {name: b, time: 2ms}"}, 3 * ms},
		{"a fork that joins", []string{"compute: {name: a, time: 1ms}", "mark: {name: m, after: a}", "mark: {name: n, after: a}",
			"compute: {name: b, time: 2ms, after: [m, n]}"}, 3 * ms},
		{"later names", []string{"mark: {name: m, after: z}", "compute: {name: z, time: 1ms}", "compute: {name: b, time: 1ms, after: m}"}, 2 * ms},
		{"the latest before", []string{"compute: {name: a, time: 1ms}", "compute: {name: a, time: 1ms}", "mark: {name: m, after: a}"}, 2 * ms},
		{"two streams share the GPU", []string{"compute: {name: a, time: 1ms}", "compute: {name: b, time: 1ms, stream: other}"}, 2 * ms},
		{"unequal streams", []string{"compute: {name: a, time: 1ms}", "compute: {name: b, time: 3ms, stream: other}"}, 4 * ms},
		{"ranges", []string{"compute: {name: a, time: 1ms, ranks: [0, 2..3]}", "compute: {name: b, time: 2ms, ranks: 1}"}, 2 * ms},
	} {
		if j := jobOf(t, "[h0/gpu0, h0/gpu1, h1/gpu0, h1/gpu1]", "", c.ops...); j.EndPS[0] != c.want {
			t.Errorf("%s: ends at %v, want %v", c.name, j.EndPS[0], c.want)
		}
	}
	if j := jobOf(t, "[h0/gpu0]", "steps: 3", "compute: {time: 1ms}"); len(j.EndPS) != 3 || j.EndPS[1] != 2*ms || j.EndPS[2] != 3*ms {
		t.Errorf("three steps end at %v", j.EndPS)
	}
}

// Kernels of a collective take as many multiprocessors from a computation as they have channels: of 132,
// with 33 channels a computation runs at three quarters of its speed as long as they are there.
func TestKernelsTakeMultiprocessors(t *testing.T) {
	j := jobOf(t, "[h0/gpu0, h0/gpu1]", "communicators: {tp: {size: 2, channels: 33, algorithm: ring, protocol: simple}}",
		"compute: {name: a, time: 10ms}", "allreduce: {on: tp, size: 64MiB}")
	took := spent(j, 0, record.JobComputes, "a")
	kernel := j.Calls[0].TimePS
	if kernel <= 0 || kernel > took {
		t.Fatalf("the collective took %v", kernel)
	}
	// Computed beside the kernel: kernel * 99/132 of its work; the rest alone.
	if want := 10*units.Millisecond + kernel/4; took < want-units.Microsecond || took > want+units.Microsecond {
		t.Errorf("the computation took %v beside a kernel of %v, want %v", took, kernel, want)
	}
}

// A rank that comes late to a collective is who the others wait for, as long as it is late; the sender of
// a message that its receiver waits for makes a bubble.
func TestJobWaits(t *testing.T) {
	const ms = units.Millisecond
	late := jobOf(t, "[h0/gpu0, h1/gpu0, h1/gpu1]", "communicators: {dp: {size: 3}}",
		"compute: {name: a, time: 1ms, ranks: [0, 2]}", "compute: {name: a, time: 4ms, ranks: 1}", "allreduce: {on: dp, size: 1MiB, after: a}")
	if got := spent(late, 0, record.JobWaits, ""); got != 3*ms {
		t.Errorf("rank 0 waits %v for rank 1, want 3 ms", got)
	}
	if got := spent(late, 1, record.JobWaits, ""); got != 0 {
		t.Errorf("the late rank waits %v", got)
	}
	if c := &late.Calls[0]; c.LastRank != 1 || c.LastCount != 1 || c.WaitPS != 3*ms {
		t.Errorf("last came rank %d, after %v", c.LastRank, c.WaitPS)
	}
	pipe := jobOf(t, "[h0/gpu0, h1/gpu0]", "", "compute: {name: f, time: 1ms, ranks: 0}", "send: {to: 1, size: 1MB, ranks: 0, after: f}",
		"recv: {from: 0, size: 1MB, ranks: 1}", "compute: {name: g, time: 2ms, ranks: 1, after: recv}")
	if got := spent(pipe, 1, record.JobMessage, ""); got != ms {
		t.Errorf("the receiver's bubble is %v, want 1 ms", got)
	}
	wire := spent(pipe, 1, record.JobExposed, "receive")
	if ideal := units.Time(1_000_000 * 8 * 1000 / 400); wire < ideal || wire != pipe.Calls[0].TimePS {
		t.Errorf("1 MB takes the receiver %v, the call %v, and the line %v", wire, pipe.Calls[0].TimePS, ideal)
	}
	if got := spent(pipe, 0, record.JobIdle, ""); got < 2*ms {
		t.Errorf("rank 0 is through %v before the last", got)
	}
}

// oneFOneB is the schedule of a pipeline, 1F1B, of p stages with m micro-batches, forward so many ms and
// backward twice as long.
func oneFOneB(p, m, ms int) (ops []string) {
	for r := range p {
		add := func(format string, args ...any) { ops = append(ops, fmt.Sprintf(format, args...)) }
		last := "" // a receive is posted behind it, as its kernel takes multiprocessors while it waits
		forward := func(i int) {
			after := ""
			if r > 0 {
				add("recv: {name: rf%d, ranks: %d, from: %d, size: 1KB, stream: rf%s}", i, r, r-1, last)
				after = fmt.Sprintf(", after: rf%d", i)
			}
			add("compute: {name: f%d, ranks: %d, time: %dms%s}", i, r, ms, after)
			last = fmt.Sprintf(", after: f%d", i)
			if r < p-1 {
				add("send: {name: sf%d, ranks: %d, to: %d, size: 1KB, stream: sf, after: f%d}", i, r, r+1, i)
			}
		}
		backward := func(i int) {
			after := ""
			if r < p-1 {
				add("recv: {name: rb%d, ranks: %d, from: %d, size: 1KB, stream: rb%s}", i, r, r+1, last)
				after = fmt.Sprintf(", after: rb%d", i)
			}
			add("compute: {name: b%d, ranks: %d, time: %dms%s}", i, r, 2*ms, after)
			last = fmt.Sprintf(", after: b%d", i)
			if r > 0 {
				add("send: {name: sb%d, ranks: %d, to: %d, size: 1KB, stream: sb, after: b%d}", i, r, r-1, i)
			}
		}
		warm := min(p-r-1, m)
		for i := range warm {
			forward(i)
		}
		for i := range m {
			if warm+i < m {
				forward(warm + i)
			}
			backward(i)
		}
	}
	return ops
}

// The makespan of 1F1B is (m+p-1)(tf+tb), and with a delay of messages that blocks no sender what
// relaxation over its graph gives. On an ideal network that is so to the picosecond, over NVLink within 1 %.
func TestPipeline(t *testing.T) {
	for _, c := range []struct {
		p, m  int
		delay string
		want  units.Time
	}{
		{4, 8, "0s", 33 * units.Millisecond}, {8, 64, "0s", 213 * units.Millisecond},
		{4, 8, "100us", 34600 * units.Microsecond}, {8, 64, "100us", 225400 * units.Microsecond},
	} {
		gpus := make([]string, c.p)
		for i := range gpus {
			gpus[i] = fmt.Sprintf("h0/gpu%d", i)
		}
		ranks := "[" + strings.Join(gpus, ", ") + "]"
		j := jobOf(t, ranks, "network: ideal\n    delay: "+c.delay, oneFOneB(c.p, c.m, 1)...)
		if j.EndPS[0] != c.want {
			t.Errorf("%d stages, %d micro-batches, %s: %v, want %v", c.p, c.m, c.delay, j.EndPS[0], c.want)
		}
		for r := range c.p {
			if got := spent(j, r, record.JobComputes, ""); got != units.Time(c.m)*3*units.Millisecond {
				t.Errorf("rank %d computes %v", r, got)
			}
		}
		if c.delay != "0s" || c.m > 8 {
			continue
		}
		if real := jobOf(t, ranks, "", oneFOneB(c.p, c.m, 10)...); real.EndPS[0] < 10*c.want || real.EndPS[0] > 10*c.want+c.want/10 {
			t.Errorf("over NVLink %v, want %v and up to 1 %% more", real.EndPS[0], 10*c.want)
		}
	}
}

// Random jobs end, their accounts add up, and partitions and workers change nothing.
func TestRandomJobs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(23, 1))
	for i := range 25 {
		v := jobScenario(t, "[h0/gpu0, h0/gpu1, h0/gpu2, h0/gpu3, h1/gpu0, h1/gpu1, h1/gpu2, h1/gpu3]",
			fmt.Sprintf("steps: %d\n    communicators: {tp: {size: 4}, dp: {size: 2, stride: 4}, ep: {groups: [[0, 5, 6], [1, 4]]}}", 1+rnd.IntN(2)), randomJob(rnd)...)
		one := runOf(t, v)
		if one.Stopped != "quiescence" {
			t.Fatalf("job %d: %s", i, one.Stopped)
		}
		checkJob(t, one)
		parted := simulate(t, v, 4, 2)
		a, _ := json.Marshal(one.Jobs)
		b, _ := json.Marshal(parted.Jobs)
		if one.Fingerprint != parted.Fingerprint || string(a) != string(b) {
			t.Fatalf("job %d: partitions change the run", i)
		}
		for k := range one.Jobs[0].Calls {
			if c := &one.Jobs[0].Calls[k]; c.TimePS < 0 || c.WaitPS < 0 || c.LongestPS*units.Time(c.Count) < c.TimePS {
				t.Errorf("job %d: %+v", i, c)
			}
		}
	}
}

// randomJob are operations that meet in the same order at all ranks, so that each can end.
func randomJob(rnd *rand.Rand) (ops []string) {
	for i := range 3 + rnd.IntN(6) {
		after := ""
		if i > 0 && rnd.IntN(2) == 0 {
			after = fmt.Sprintf(", after: o%d", rnd.IntN(i))
		}
		size := 4096 << rnd.IntN(10)
		switch rnd.IntN(5) {
		case 0:
			ops = append(ops, fmt.Sprintf("compute: {name: o%d, time: %dus%s}", i, rnd.IntN(300), after))
		case 1:
			op := []string{"allreduce", "allgather", "reducescatter", "alltoall", "broadcast"}[rnd.IntN(5)]
			on := []string{"tp", "dp"}[rnd.IntN(2)]
			ops = append(ops, fmt.Sprintf("%s: {name: o%d, on: %s, size: %dB, stream: %s%s}", op, i, on, size, []string{"a", "b"}[rnd.IntN(2)], after))
		case 2:
			ops = append(ops, fmt.Sprintf("mark: {name: o%d%s}", i, after),
				fmt.Sprintf("alltoall: {on: ep, size: %dB, ranks: [0, 1, 4..6], after: o%d}", size, i))
		case 3:
			ops = append(ops, fmt.Sprintf("mark: {name: o%d%s}", i, after), fmt.Sprintf("send: {ranks: 0..3, to: +4, size: %dB, after: o%d}", size, i),
				fmt.Sprintf("recv: {ranks: 4..7, from: -4, size: %dB, after: o%d}", size, i))
		default:
			ops = append(ops, fmt.Sprintf("compute: {name: o%d, time: %dus, stream: s%d%s}", i, rnd.IntN(300), rnd.IntN(2), after))
		}
	}
	return ops
}
