package simai

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/job"
	"github.com/hopscope/hopscope/internal/units"
)

const small = `HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 2 vpp: 3 ga: 2 all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 6291456.0
9
grad_gather	-1	1	NONE	0	1	NONE	0	1	ALLGATHER	2000000	100
grad_param_comm	-1	1	NONE	0	1	NONE	0	1	REDUCESCATTER	4000000	100
embedding_layer	-1	799000	ALLREDUCE	20000	1	NONE	0	17000	NONE	0	100
attention_column	-1	910000	ALLGATHER	20000	910000	REDUCESCATTER	0	910000	NONE	0	100
attention_row	-1	910000	REDUCESCATTER	20000	910000	ALLGATHER	20000	910000	NONE	0	100
embedding_layer	-1	799000	ALLREDUCE	20000	1	NONE	0	17000	NONE	0	100
attention_column	-1	910000	ALLGATHER	20000	910000	REDUCESCATTER	0	910000	NONE	0	100
attention_row	-1	910000	REDUCESCATTER	20000	910000	ALLGATHER	20000	910000	NONE	0	100
optimizer1	-1	0	ALLREDUCE	4	0	NONE	0	0	NONE	0	100
`

// A file becomes a pipeline of micro-batches: two stages, the second a copy without the embedding.
func TestPipeline(t *testing.T) {
	f, bad := Read("f.txt", []byte(small))
	if bad != nil {
		t.Fatal(bad)
	}
	if f.TP != 2 || f.PP != 2 || f.GA != 2 || f.GPUs != 8 || f.Boundary != 6291456 || f.blocks != 2 ||
		len(f.block) != 3 {
		t.Errorf("read %+v", f)
	}
	j, err := f.Job("j", 0, 1, 8)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Check(); err != nil {
		t.Fatal(err)
	}
	count := func(rank int, kind job.Kind) (n int, bytes units.Bytes, time units.Time) {
		for k := range j.Lists[j.Of[rank]].Ops {
			if o := &j.Lists[j.Of[rank]].Ops[k]; o.Kind == kind {
				n, bytes, time = n+1, bytes+o.Bytes, time+o.Time
			}
		}
		return n, bytes, time
	}
	if n, bytes, _ := count(0, job.Send); n != 2 || bytes != 2*6291456 {
		t.Errorf("the first stage sends %d messages, %v", n, bytes)
	}
	if n, _, _ := count(4, job.Recv); n != 2 {
		t.Errorf("the second stage receives %d messages", n)
	}
	// AllReduce of the embedding, AllGather and ReduceScatter forward, AllGather backward, for two micro-batches;
	// two for gradients and one of the optimizer, raised to 4096 bytes.
	if n, bytes, _ := count(0, job.Collective); n != 2*4+2+1 || bytes != 2*4*20000+6000000+4096 {
		t.Errorf("%d collectives of %v", n, bytes)
	}
	if n, _, _ := count(4, job.Collective); n != 2*3+2+1 {
		t.Errorf("%d collectives of the second stage", n)
	}
	_, _, first := count(0, job.Compute)
	_, _, second := count(4, job.Compute)
	if first-second != 2*(799000+17000)*units.Nanosecond || second != 2*6*910000*units.Nanosecond {
		t.Errorf("stages compute %v and %v", first, second)
	}
	if !strings.Contains(strings.Join(f.Notes, "\n"), "vpp 3 is left out") {
		t.Errorf("notes %q", f.Notes)
	}
}

// Bad files are one line with the place and what would be right.
func TestBadFiles(t *testing.T) {
	change := func(old, with string) string { return strings.Replace(small, old, with, 1) }
	for _, c := range []struct{ text, want string }{
		{"", "f.txt:1:1: the first line is empty"},
		{change("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "DATA"), `f.txt:1:1: policy "DATA" is none that is read`},
		{change("ga: 2", "ga: x"), `f.txt:1:`},
		{change("ga: 2", "gaa: 2"), `unknown key "gaa" in the first line`},
		{change("ga: 2", "ga: 3"), "the rows are not ga 3 times those of a micro-batch"},
		{change("\n9\n", "\n10\n"), "f.txt:2:1: line 2 announces 10 rows, and the file has 9; it is cut short"},
		{change("\n9\n", "\nnine\n"), `f.txt:2:1: "nine" is not the number of rows`},
		{change("ALLGATHER	2000000", "ALLGATHR	2000000"), `f.txt:3:36: collective "ALLGATHR" is not known`},
		{change("ALLGATHER	2000000", "ALLGATHER	-1"), `f.txt:3:46: size "-1" is not a number`},
		{change("	100\ngrad_param", "	100 1 2 3\ngrad_param"), "words where a row has 12"},
		{change("all_gpus: 8", "all_gpus: 7"), "do not divide the 7 GPUs"},
		{change("REDUCESCATTER	0	910000	NONE	0", "ALLGATHER	1000	910000	REDUCESCATTER	90000000"), "the unit of these sizes is not known"},
	} {
		if _, bad := Read("f.txt", []byte(c.text)); bad == nil || !strings.Contains(bad.Error(), c.want) ||
			strings.Contains(bad.Error(), "\n") {
			t.Errorf("got %v, want %s", bad, c.want)
		}
	}
	f, bad := Read("f.txt", []byte(change("\n9\n", "\n8\n")))
	if bad != nil || !strings.Contains(strings.Join(f.Notes, "\n"), "the others are left out, as SimAI does") {
		t.Errorf("more rows than announced: %v", bad)
	}
	if f, bad = Read("f.txt", []byte(small)); bad != nil {
		t.Fatal(bad)
	}
	if _, err := f.Job("j", 0, 1, 16); err == nil ||
		!strings.Contains(err.Error(), "for 8 GPUs (all_gpus), and the job has 16 ranks") {
		t.Errorf("16 ranks: %v", err)
	}
}

// Sums of the files that aicb wrote are those of training.md A1.
func TestPublishedFiles(t *testing.T) {
	dir := os.Getenv("HOPSCOPE_DATA")
	if dir == "" {
		t.Skip("HOPSCOPE_DATA does not name the folder of data")
	}
	const mib = 1 << 20
	for _, c := range []struct {
		file, what string
		count      int
		bytes      units.Bytes
	}{
		{"A100-gpt_13B-*", "forward ALLGATHER", 162, 3240 * mib},
		{"A100-gpt_13B-*", "forward REDUCESCATTER", 160, 3200 * mib},
		{"A100-gpt_13B-*", "weight gradients ALLGATHER", 1, 2552 * mib},
		{"A100-gpt_13B-*", "weight gradients REDUCESCATTER", 1, 5104 * mib},
		{"H100-mixtral*", "forward ALLTOALL_EP", 128, 2048 * mib},
		{"H100-mixtral*", "weight gradients ALLGATHER_DP_EP", 1, 3584 * mib},
		{"H100-mixtral*", "weight gradients REDUCESCATTER_DP_EP", 1, 7168 * mib},
		{"workload_analytical_moe*", "forward ALLTOALL_EP", 384, 36864 * mib},
		{"workload_analytical_moe*", "forward ALLTOALL", 384, 9216 * mib},
	} {
		names, _ := filepath.Glob(filepath.Join(dir, "training/simai", c.file))
		if len(names) != 1 {
			t.Fatalf("%s: %q", c.file, names)
		}
		data, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		f, bad := Read(names[0], data)
		if bad != nil {
			t.Fatal(bad)
		}
		found := false
		for _, s := range f.Collectives() {
			if s.What == c.what {
				found = true
				if s.Count != c.count || s.Bytes/mib != c.bytes/mib {
					t.Errorf("%s: %d %s of %d MiB, want %d of %d", c.file, s.Count, s.What, s.Bytes/mib, c.count, c.bytes/mib)
				}
			}
		}
		if !found {
			t.Errorf("%s: no %s in %v", c.file, c.what, f.Collectives())
		}
		if ranks := f.GPUs; ranks <= 128 {
			j, err := f.Job("j", 0, 1, ranks)
			if err == nil {
				err = j.Check()
			}
			if err != nil {
				t.Errorf("%s: %v", c.file, err)
			}
		}
	}
}

// No file makes the reader panic, or take memory beyond its size.
func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("MICRO\n1\nx -1 1 NONE 0 1 NONE 0 1 ALLTOALL 4096 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, bad := Read("f", data)
		if (x == nil) == (bad == nil) {
			t.Fatal("neither a file nor an error, or both")
		}
		if bad == nil && x.TP*x.PP*x.EP <= 64 {
			if j, err := x.Job("j", 0, 1, x.TP*x.PP*x.EP); err == nil {
				_ = j.Check()
			}
		}
	})
}
