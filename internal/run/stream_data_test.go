package run_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hopscope/hopscope/internal/run"
)

// A leaf-spine that loses frames and, with its packets sprayed over spines that
// other traffic fills unevenly, reorders them.
const carriedStreams = `
name: carried streams
carry_data: %v
stack: tcp
routing: spray
topology: {leaf_spine: {leaves: 2, spines: 4, hosts_per_leaf: 3, host_link: {rate: 25Gbps, loss: 0.002}, uplink: {rate: 10Gbps, length: 20m}}}
host: {%s}
tcp: {%s}
workload:
  - {permutation: {name: streams, size: 200001B, count: 3}}
  - {permutation: {name: small, size: 999B, count: 20}}
  - {incast: {from: [h0, h1, h2, h3], to: h5, size: 1MB, stack: dctcp}}
`

// Every byte of every message is where it belongs, through super-segments, GRO,
// losses, reordering and duplicates, with each kind of loss recovery, on hosts that
// cost time and on those that do not; carrying them changes nothing else, and
// partitions do not change what is found.
func TestStreamDataArrives(t *testing.T) {
	for _, c := range []struct{ host, tcp string }{
		{"preset: linux-xeon", "preset: linux"},
		{"preset: free", "preset: linux"},
		{"preset: linux-xeon, send: zerocopy, cores: 2, steering: rss", "preset: linux, rcvbuf: 40KB"},
		{"preset: free", "preset: reno, tso: false"},
	} {
		text := func(carry bool) []byte { return fmt.Appendf(nil, carriedStreams, carry, c.host, c.tcp) }
		with := mustRun(t, text(true), run.Options{Partitions: 1})
		if d := with.Data; d.Messages != len(with.Messages) || d.Differ != 0 || d.Lost != 0 || d.Bytes == 0 {
			t.Errorf("%s, %s: %+v of %d messages", c.host, c.tcp, d, len(with.Messages))
		}
		var again, ahead, twice, lost int64
		for i := range with.QPs {
			q := &with.QPs[i]
			again, ahead, twice = again+q.Retransmitted, ahead+q.TCP.OutOfOrder, twice+q.TCP.Duplicates
		}
		for i := range with.Ports {
			lost += with.Ports[i].Dropped
		}
		if again == 0 || ahead == 0 || twice == 0 || lost == 0 {
			t.Errorf("%s, %s: %d sent again, %d ahead of others, %d twice, %d lost: want some of each", c.host, c.tcp, again, ahead, twice, lost)
		}
		want := document(t, with)
		if got := document(t, mustRun(t, text(true), run.Options{Partitions: 5, Workers: 2})); got != want {
			t.Errorf("%s, %s: 5 partitions give another result", c.host, c.tcp)
		}
		without := mustRun(t, text(false), run.Options{})
		if with.Data = nil; document(t, without) != document(t, with) {
			t.Errorf("%s, %s: carrying data changes the run", c.host, c.tcp)
		}
	}
}

// A message that a run ends in the middle of is not judged.
func TestStreamDataCutShort(t *testing.T) {
	r := mustRun(t, []byte(`
name: cut short
stack: tcp
carry_data: true
topology: {star: {hosts: 2, link: 10Gbps}}
stop: 300us
workload: [{flow: {from: h0, to: h1, size: 100KB, count: 5}}]
`), run.Options{})
	if r.Data.Differ != 0 || r.Data.Messages == 0 || r.Data.Messages == 5 {
		t.Errorf("%+v", r.Data)
	}
}

// Faults in which bytes go where are found by comparing them.
func TestStreamDataCatchesMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a second program")
	}
	dir := t.TempDir()
	program, file := filepath.Join(dir, "mutants"), filepath.Join(dir, "carried.yaml")
	if out, err := exec.Command("go", "build", "-tags", "mutant", "-o", program, "../../cmd/hopscope").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, carriedStreams, true, "preset: linux-xeon", "preset: linux"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ mutant, says string }{
		{"none", ""}, {"cut-first", "of them differ"}, {"ahead", "of them differ"}, {"resend", "of them differ"}, {"stale-side", "of them differ"},
	} {
		cmd := exec.Command(program, "run", file)
		cmd.Env = append(os.Environ(), "HOPSCOPE_MUTANT="+c.mutant)
		out, err := cmd.CombinedOutput()
		failed := err != nil && cmd.ProcessState.ExitCode() == 1
		if failed != (c.says != "") || !bytes.Contains(out, []byte(c.says)) {
			t.Errorf("%s: %v\n%.1500s", c.mutant, err, out)
		}
	}
}
