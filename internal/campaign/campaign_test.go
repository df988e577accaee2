package campaign

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hopscope/hopscope/internal/batch"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/vary"
)

const small = "name: small\ntopology: {star: {hosts: 4, link: 100Gbps}}\nswitch: {ecn: {kmin: 30KB, kmax: 90KB}}\n" +
	"workload:\n  - incast: {from: [h0, h1, h2], to: h3, size: 100KB}\n"

// setup is a sweep of the small scenario.
func setup(t testing.TB, text string, seeds int, axes ...string) Setup {
	t.Helper()
	s := Setup{Base: run.Options{Scenario: "small", Text: []byte(text)}, Program: "test",
		Seeds: func(uint64) (out []uint64, err error) {
			for i := range seeds {
				out = append(out, uint64(i+1))
			}
			return out, nil
		}}
	for _, arg := range axes {
		a, err := vary.Parse(arg)
		if err != nil {
			t.Fatal(err)
		}
		s.Axes = append(s.Axes, a)
	}
	return s
}

func opened(t testing.TB, do batch.Do, s Setup) *Campaign {
	t.Helper()
	c, err := Open(context.Background(), s, do)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// carry carries a sweep, or a shard, out in dir.
func carry(ctx context.Context, c *Campaign, dir string, shard Shard) error {
	s, err := c.OpenStore(dir, shard)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Begin(); err != nil {
		return err
	}
	if err := c.Run(ctx, s, s.Missing(shard), new(Estimate), 2, func(int) {}); err != nil {
		return err
	}
	return s.Finish(shard)
}

const childEnv = "HOPSCOPE_TEST_SWEEP"

// slow is run.Do that takes a while.
func slow(ctx context.Context, o run.Options) (*record.Run, *scenario.Valid, error) {
	time.Sleep(20 * time.Millisecond)
	return run.Do(ctx, o)
}

// TestMain is also the program that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		t := new(testing.T)
		c := opened(t, slow, setup(t, small, 20, "switch.ecn.kmin=20KB,40KB"))
		if err := carry(context.Background(), c, dir, Shard{}); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A program that is killed loses the runs under way and no others, and what it left is finished to the same bytes.
func TestKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "killed")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+dir)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := func() int {
		data, _ := os.ReadFile(filepath.Join(dir, rowsFile))
		return bytes.Count(data, []byte{'\n'})
	}
	for deadline := time.Now().Add(20 * time.Second); lines() < 5 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	had := lines()
	file := filepath.Join(dir, rowsFile)
	data, err := os.ReadFile(file)
	if err != nil || had < 5 || had >= 40 {
		t.Fatalf("it was killed after %d of 40 runs, %v", had, err)
	}
	// As if it had been in the middle of a line, too.
	if err := os.WriteFile(file, append(data, `{"id":"12ab","sta`...), 0o644); err != nil {
		t.Fatal(err)
	}
	n := 0
	c := opened(t, func(ctx context.Context, o run.Options) (*record.Run, *scenario.Valid, error) {
		n++
		return run.Do(ctx, o)
	}, setup(t, small, 20, "switch.ecn.kmin=20KB,40KB"))
	s, err := c.OpenStore(dir, Shard{})
	if err != nil {
		t.Fatal(err)
	}
	if missing := len(s.Missing(Shard{})); missing != 40-had {
		t.Errorf("%d runs are missing after %d rows", missing, had)
	}
	s.Close()
	c.do = run.Do
	if err := carry(context.Background(), c, dir, Shard{}); err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(t.TempDir(), "whole")
	if err := carry(context.Background(), c, whole, Shard{}); err != nil {
		t.Fatal(err)
	}
	sameFile(t, file, filepath.Join(whole, rowsFile))
}

func sameFile(t *testing.T, a, b string) {
	t.Helper()
	x, err1 := os.ReadFile(a)
	y, err2 := os.ReadFile(b)
	if err1 != nil || err2 != nil || !bytes.Equal(x, y) || len(x) == 0 {
		t.Errorf("%s and %s differ, %v, %v", a, b, err1, err2)
	}
}

func one(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v; want a line with %q", err, want)
	}
}

// A directory belongs to one sweep at a time, and to one program.
func TestDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	c := opened(t, run.Do, setup(t, small, 1, "switch.ecn.kmin=20KB,40KB"))
	s, err := c.OpenStore(dir, Shard{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.OpenStore(dir, Shard{})
	one(t, err, "another sweep is writing there")
	s.Close()
	if _, err := os.Stat(dir); err == nil {
		t.Error("an empty directory was left behind")
	}
	if err := carry(context.Background(), c, dir, Shard{}); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(s *Setup){
		"hopscope test, and this is new":    func(s *Setup) { s.Program = "new" },
		"changed since":                     func(s *Setup) { s.Base.Set = []string{"workload[0].incast.size=90KB"} },
		"of small, and this is one of none": func(s *Setup) { s.Base.Set = []string{"name=none"} },
		"another sweep, of switch.ecn.kmin": func(s *Setup) { s.Stacks = []string{"rocev2", "tcp"} },
	} {
		other := setup(t, small, 1, "switch.ecn.kmin=20KB,40KB")
		change(&other)
		one(t, carry(context.Background(), opened(t, run.Do, other), dir, Shard{}), want)
	}
	few := opened(t, run.Do, setup(t, small, 1, "switch.ecn.kmin=20KB,50KB"))
	one(t, carry(context.Background(), few, dir, Shard{}), "holds 1 run that this sweep does not have")
	more := opened(t, run.Do, setup(t, small, 2, "switch.ecn.kmin=20KB,30KB,40KB"))
	if err := carry(context.Background(), more, dir, Shard{}); err != nil {
		t.Error(err)
	}
}

// Rows of one run that differ are found, whether a shard was made twice or is put together with others.
func TestShardsAgree(t *testing.T) {
	dir := t.TempDir()
	c := opened(t, run.Do, setup(t, small, 2, "switch.ecn.kmin=20KB,40KB,60KB"))
	for k := range 3 {
		if err := carry(context.Background(), c, filepath.Join(dir, "a"), Shard{k, 3}); err != nil {
			t.Fatal(err)
		}
	}
	if err := carry(context.Background(), c, filepath.Join(dir, "b"), Shard{1, 2}); err != nil {
		t.Fatal(err)
	}
	s, err := c.OpenStore(filepath.Join(dir, "a"), Shard{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Missing(Shard{})); n > 0 {
		t.Errorf("%d runs are missing", n)
	}
	if err := s.Merge(filepath.Join(dir, "b")); err != nil { // other shards of the same sweep
		t.Error(err)
	}
	s.Close()
	file := filepath.Join(dir, "b", Shard{1, 2}.dir(), rowsFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(data, []byte(`"marked":`), []byte(`"marked":1`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err = c.OpenStore(filepath.Join(dir, "a"), Shard{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	one(t, s.Merge(filepath.Join(dir, "b")), "switch.ecn.kmin=20KB, seed=2 came out differently")
}

// On a full disk the sweep ends in a line, and what was written before stays whole.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no full device here")
	}
	dir := t.TempDir()
	c := opened(t, run.Do, setup(t, small, 2, "switch.ecn.kmin=20KB,40KB"))
	s, err := c.OpenStore(dir, Shard{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Symlink("/dev/full", filepath.Join(dir, rowsFile)); err != nil {
		t.Fatal(err)
	}
	err = c.Run(context.Background(), s, s.Missing(Shard{}), new(Estimate), 2, func(int) {})
	one(t, err, "no space left on device")
	if n := len(s.Missing(Shard{})); n != 4 {
		t.Errorf("%d of 4 runs are missing, and none was written", n)
	}
}

// The end of the context keeps what has ended, and what the estimate tried need not be made again.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	made := 0
	c := opened(t, run.Do, setup(t, small, 10, "switch.ecn.kmin=20KB,40KB"))
	c.patience = time.Minute
	s, err := c.OpenStore(dir, Shard{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	missing := s.Missing(Shard{})
	e, err := c.Estimate(context.Background(), missing, 2)
	if err != nil || e.Each <= 0 || e.Least || e.Bytes < 20*200 || len(e.made) != 3 {
		t.Fatalf("%+v, %v", e, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = c.Run(ctx, s, missing, e, 2, func(n int) {
		if made = n; n == 7 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || made != 7 || len(s.Missing(Shard{})) != 13 {
		t.Errorf("%v after %d runs, %d are missing", err, made, len(s.Missing(Shard{})))
	}
	s.Close()
	if err := carry(context.Background(), c, dir, Shard{}); err != nil {
		t.Error(err)
	}
}

// A long run is estimated by how far it has come.
func TestEstimateOfLongRuns(t *testing.T) {
	long := func(ctx context.Context, o run.Options) (*record.Run, *scenario.Valid, error) {
		o.Progress(run.Progress{DeliveredBytes: 1, TotalBytes: 100})
		<-ctx.Done()
		return &record.Run{Stopped: "interrupted"}, nil, nil
	}
	c := opened(t, long, setup(t, small, 4))
	c.patience = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	e, err := c.Estimate(ctx, []int{0, 1, 2, 3}, 2)
	if err != nil || e.Least || e.Each < 5*time.Second || e.Each > 1000*time.Second {
		t.Errorf("%+v, %v", e, err)
	}
}

// What matters is found over all values and points: a key that counts at one point only, values that can be had at
// some, and files that a value names.
func TestSurvey(t *testing.T) {
	open := func(text string, axes ...string) error {
		_, err := Open(context.Background(), setup(t, text, 1, axes...), run.Do)
		return err
	}
	for _, axes := range [][]string{
		{"switch.ecn.kmin=20KB,60KB"},
		{"stop=1ms"},
		{"switch.ecn.kmin=20KB,150KB", "switch.ecn.kmax=100KB,200KB"},
		{"controller=dcqcn,hpcc"},
		{"routing=ecmp,adaptive", "topology={star: {hosts: 4, link: 100Gbps}},{leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 100Gbps}}"},
	} {
		if err := open(small, axes...); err != nil {
			t.Errorf("%v: %v", axes, err)
		}
	}
	for want, axes := range map[string][]string{
		`--vary nosuch=1: unknown key "nosuch"`:                            {"nosuch=1,2"},
		"infiniband.vls has no effect in any run: the stack rocev2 has no": {"infiniband.vls=1,2"},
		"all values come to the same scenario":                             {"name=a,b"},
		"kmin 150KB is above kmax 90KB":                                    {"switch.ecn.kmin=20KB,150KB"},
	} {
		one(t, open(small, axes...), want)
	}
	one(t, open("nonsense", "switch.ecn.kmin=20KB,40KB"), "a scenario is a mapping")
	// A scenario that lacks what is varied.
	if err := open(strings.Replace(small, ", size: 100KB", "", 1), "workload[0].incast.size=10KB,20KB"); err != nil {
		t.Error(err)
	}
}

// A file that a value names is part of what names a run.
func TestFilesCount(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	put := func(size string) {
		if err := os.WriteFile("a.csv", []byte("start,from,to,size\n0us,h0,h3,"+size+"\n1us,h1,h3,10KB\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := "name: small\ntopology: {star: {hosts: 4, link: 100Gbps}}\nworkload:\n  - flow: {from: h0, to: h1, size: 1KB}\n"
	ids := func() string {
		c := opened(t, run.Do, setup(t, text, 1, "workload=[{flows: {file: a.csv}}],[{flow: {from: h0, to: h2, size: 1KB}}]"))
		return c.ID(c.Identity, 0) + " " + c.ID(c.Identity, 1)
	}
	put("10KB")
	before := ids()
	put("11KB")
	after := ids()
	if before[:24] == after[:24] || before[24:] != after[24:] {
		t.Errorf("%s, then %s", before, after)
	}
}

// Without Slurm nothing begins, and one that fails says why in a line.
func TestNoSlurm(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	one(t, FindSlurm(), "there is no sbatch here")
	fake := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fake("sbatch", "echo 'sbatch: error: Unable to contact slurm controller\n(connect failure)' >&2; exit 1\n")
	fake("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n")
	if err := FindSlurm(); err != nil {
		t.Error(err)
	}
	c := opened(t, run.Do, setup(t, small, 2, "switch.ecn.kmin=20KB,40KB"))
	s, err := c.OpenStore(filepath.Join(dir, "out"), Shard{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := &Slurm{Shards: 2, Command: []string{"it's", "x"}, Shown: func(int, string) {}, poll: time.Millisecond, patience: time.Millisecond}
	one(t, l.Run(context.Background(), s), "Unable to contact slurm controller (connect failure)")
	fake("sbatch", "echo 4711\n") // it takes the job, and loses it
	one(t, l.Run(context.Background(), s), "Slurm job 4711 is over, and shards 0, 1 did not come to the end: 4 runs are missing")
	fake("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1\n")
	one(t, l.Run(context.Background(), s), "Unable to contact")
	script, err := os.ReadFile(filepath.Join(dir, "out", slurmScript))
	if err != nil || !strings.Contains(string(script), `exec 'it'\''s' 'x' --workers`) {
		t.Errorf("%s, %v", script, err)
	}
}
