// Package slurm has sweeps made by a Slurm that runs on this machine: two nodes of one core each. What comes back is,
// byte for byte, what a sweep in one process makes, and a job that is lost is said and goes on.
package slurm

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cluster is a Slurm of this machine.
type cluster struct {
	dir string
	env []string
}

// daemons are what is needed, all of Debian's packages slurm-wlm and munge.
var daemons = []string{"munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel"}

// find returns the path of a program, also of those that only root has in its path.
func find(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if path := "/usr/sbin/" + name; exec.Command(path, "-V").Run() == nil || name == "munged" {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// ports are some that are free now.
func ports(t *testing.T, n int) (out []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out
}

// config is a cluster of two nodes, which are both this machine.
const config = `ClusterName=loop
SlurmctldHost=%[1]s(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=%[3]d
AuthType=auth/munge
AuthInfo=socket=%[2]s/munge.sock
CredType=cred/munge
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool-%%n
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmdPidFile=%[2]s/slurmd-%%n.pid
SlurmctldLogFile=%[2]s/slurmctld.log
SlurmdLogFile=%[2]s/slurmd-%%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
ReturnToService=2
KillWait=2
NodeName=n1 NodeHostname=%[1]s NodeAddr=127.0.0.1 Port=%[4]d CPUs=1 RealMemory=500 State=UNKNOWN
NodeName=n2 NodeHostname=%[1]s NodeAddr=127.0.0.1 Port=%[5]d CPUs=1 RealMemory=500 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`

// start starts the daemons, which end with the test.
func start(t *testing.T) *cluster {
	t.Helper()
	for _, d := range daemons {
		if find(d) == "" {
			t.Skipf("%s is missing; install Debian's slurm-wlm and munge", d)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("slurmd needs root")
	}
	dir, err := os.MkdirTemp("", "hopscope-slurm-") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	p := ports(t, 3)
	write := func(name string, data []byte, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), data, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"state", "spool-n1", "spool-n2"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("slurm.conf", fmt.Appendf(nil, config, host, dir, p[0], p[1], p[2]), 0o644)
	write("munge.key", bytes.Repeat([]byte("a key for tests "), 64), 0o400)
	c := &cluster{dir: dir, env: append(os.Environ(), "SLURM_CONF="+filepath.Join(dir, "slurm.conf"))}
	c.daemon(t, "munged", "--foreground", "--force", "--key-file="+filepath.Join(dir, "munge.key"),
		"--socket="+filepath.Join(dir, "munge.sock"), "--pid-file="+filepath.Join(dir, "munged.pid"),
		"--log-file="+filepath.Join(dir, "munged.log"), "--seed-file="+filepath.Join(dir, "munged.seed"))
	c.until(t, func() bool { _, err := os.Stat(filepath.Join(dir, "munge.sock")); return err == nil })
	c.daemon(t, "slurmctld", "-D")
	c.daemon(t, "slurmd", "-D", "-N", "n1")
	c.daemon(t, "slurmd", "-D", "-N", "n2")
	c.until(t, func() bool {
		out, _ := c.run("sinfo", "--noheader", "--format=%D %T")
		return strings.TrimSpace(out) == "2 idle"
	})
	return c
}

// daemon starts one; it is killed at the end.
func (c *cluster) daemon(t *testing.T, name string, args ...string) {
	t.Helper()
	d := exec.Command(find(name), args...)
	d.Env = c.env
	log, err := os.Create(filepath.Join(c.dir, "out-"+name+strings.Join(args[len(args)-1:], "")[:1]+".log"))
	if err != nil {
		t.Fatal(err)
	}
	d.Stdout, d.Stderr = log, log
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.Process.Kill()
		_ = d.Wait()
		log.Close()
	})
}

// until waits for something.
func (c *cluster) until(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			logs, _ := filepath.Glob(filepath.Join(c.dir, "*.log"))
			for _, name := range logs {
				data, _ := os.ReadFile(name)
				t.Logf("%s: %s", name, data[max(0, len(data)-1500):])
			}
			t.Fatal("it took too long")
		}
	}
}

func (c *cluster) run(name string, args ...string) (string, error) {
	d := exec.Command(name, args...)
	d.Env = c.env
	out, err := d.CombinedOutput()
	return string(out), err
}

// program builds hopscope.
func program(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "hopscope")
	build := exec.Command("go", "build", "-o", bin, "./cmd/hopscope")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

const scenario = `name: small
topology: {star: {hosts: 4, link: 100Gbps}}
switch: {ecn: {kmin: 30KB, kmax: 90KB}}
workload:
  - incast: {from: [h0, h1, h2], to: h3, size: 200KB}
`

func sameFile(t *testing.T, a, b string) {
	t.Helper()
	x, err1 := os.ReadFile(a)
	y, err2 := os.ReadFile(b)
	if err1 != nil || err2 != nil || len(x) == 0 || !bytes.Equal(x, y) {
		t.Errorf("%s and %s differ: %d and %d bytes, %v, %v", a, b, len(x), len(y), err1, err2)
	}
}

// A sweep by a job array comes to the same bytes as one in this process; one whose tasks are taken away says which are
// lost, keeps what there is, and the same command has the rest made.
func TestSweep(t *testing.T) {
	c := start(t)
	bin := program(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "small.yaml")
	if err := os.WriteFile(file, []byte(scenario), 0o644); err != nil {
		t.Fatal(err)
	}
	args := func(name string, more ...string) []string {
		return append([]string{"sweep", file, "--vary", "switch.ecn.kmin=20KB,40KB", "--vary", "switch.ecn.kmax=100KB..300KB step 100KB",
			"--seeds", "2", "--out", filepath.Join(dir, name), "--quiet"}, more...)
	}
	if out, err := c.run(bin, args("local")...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := c.run(bin, args("array", "--on", "slurm", "--shards", "3", "--sbatch", "--partition=all --time=5")...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"runs.csv", "points.csv", "rows.jsonl"} {
		sameFile(t, filepath.Join(dir, "local", name), filepath.Join(dir, "array", name))
	}
	shards, _ := filepath.Glob(filepath.Join(dir, "array", "shards", "*", "rows.jsonl"))
	if len(shards) != 3 {
		t.Errorf("%d shards left rows", len(shards))
	}
	t.Run("lost", func(t *testing.T) {
		// The nodes take nothing, so that the tasks wait, and then they are gone.
		if out, err := c.run("scontrol", "update", "partitionname=all", "state=down"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		type result struct {
			out string
			err error
		}
		done := make(chan result, 1)
		go func() {
			out, err := c.run(bin, args("lost", "--on", "slurm", "--shards", "2")...)
			done <- result{out, err}
		}()
		c.until(t, func() bool { out, _ := c.run("squeue", "--noheader", "--array"); return strings.Count(out, "\n") == 2 })
		if out, err := c.run("scancel", "--name=hopscope-small"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		got := <-done
		if got.err == nil || !strings.Contains(got.out, "is over, and shards 0, 1 did not come to the end: ") ||
			strings.Count(got.out, "\n") != 1 {
			t.Errorf("%v: %q", got.err, got.out)
		}
		if out, err := c.run("scontrol", "update", "partitionname=all", "state=up"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if out, err := c.run(bin, args("lost", "--on", "slurm", "--shards", "2")...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		sameFile(t, filepath.Join(dir, "local", "runs.csv"), filepath.Join(dir, "lost", "runs.csv"))
	})
	t.Run("refused", func(t *testing.T) {
		out, err := c.run(bin, args("refused", "--on", "slurm", "--sbatch", "--partition=none")...)
		if err == nil || !strings.HasPrefix(out, "hopscope: sbatch: ") || strings.Count(out, "\n") != 1 {
			t.Errorf("%v: %q", err, out)
		}
	})
}
