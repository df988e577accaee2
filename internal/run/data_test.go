package run_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

// carried is a lossy leaf-spine; see carriedText.
const carried = `
name: carried
carry_data: %v
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 3, host_link: {rate: 100Gbps, loss: 0.0005}, uplink: {rate: 100Gbps, length: 20m}}}
stack: rocev2-lossy
nic: {timeout: 6, recovery: %s}
workload:
  - {permutation: {name: writes, size: 300KB, count: 3}}
  - {permutation: {name: sends, size: 200001B, count: 3, verb: send, qps: 2}}
  - {incast: {from: [h0, h1, h2, h3], to: h5, size: 1MB}}
  - {permutation: {name: reads, size: 250KB, count: 3, verb: read}}
  - {permutation: {name: immediates, size: 100KB, count: 2, verb: write-imm}}
  - {permutation: {name: invalidates, size: 10KB, count: 2, verb: send-inv}}
  - {incast: {name: counter, from: [h0, h1, h2, h3], to: h4, verb: fetch-add, count: 40}}
  - {incast: {name: lock, from: [h0, h1, h2, h3], to: h4, verb: cas, offset: 64B, count: 10}}
  - {permutation: {name: unreliable writes, size: 300KB, count: 4, service: uc}}
  - {permutation: {name: unreliable sends, size: 100KB, count: 4, service: uc, verb: send}}
  - {permutation: {name: datagrams, size: 4KB, count: 100, every: 1us, service: ud, verb: send-imm}}
`

func carriedText(carry bool, recovery string) []byte {
	return fmt.Appendf(nil, carried, carry, recovery)
}

func mustRun(t *testing.T, text []byte, opt run.Options) *record.Run {
	t.Helper()
	opt.Scenario, opt.Text, opt.Workers = "carried", text, max(1, opt.Workers)
	r, _, err := run.Do(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDataArrives: every byte of every message that completes is where it belongs,
// whatever the recovery; carrying them changes nothing else, and neither
// partitions nor workers change what is found.
func TestDataArrives(t *testing.T) {
	for _, recovery := range []string{"go-back-n", "go-back-0", "selective-repeat", "irn"} {
		if testing.Short() && recovery != "irn" {
			continue
		}
		t.Run(recovery, func(t *testing.T) {
			with := mustRun(t, carriedText(true, recovery), run.Options{Partitions: 1})
			d := with.Data
			bytes := int64(0)
			for i := range with.Messages {
				if with.Messages[i].Status != "success" {
					t.Errorf("message %d: %s", i, with.Messages[i].Status)
				}
				bytes += with.Messages[i].Bytes
			}
			if d.Messages+d.Lost != len(with.Messages) || d.Differ != 0 || d.Refused != 0 {
				t.Errorf("%+v of %d messages", d, len(with.Messages))
			}
			if d.Lost == 0 || d.Lost > len(with.Messages)/4 || d.Bytes >= bytes || d.Bytes < bytes/2 {
				t.Errorf("%+v of %d bytes: want some unreliable messages lost, and no others", d, bytes)
			}
			lost := int64(0)
			for _, p := range with.Ports {
				lost += p.Dropped
			}
			if lost == 0 {
				t.Error("no packet was lost")
			}
			want := document(t, with)
			for _, opt := range []run.Options{{Partitions: 2, Workers: 2}, {Partitions: 5, Workers: 3}} {
				if got := document(t, mustRun(t, carriedText(true, recovery), opt)); got != want {
					t.Errorf("%d partitions and %d workers give another result", opt.Partitions, opt.Workers)
				}
			}
			without := mustRun(t, carriedText(false, recovery), run.Options{})
			if with.Data = nil; document(t, without) != document(t, with) {
				t.Error("carrying data changes the run")
			}
		})
	}
}

func document(t *testing.T, r *record.Run) string {
	t.Helper()
	out, err := report.JSON(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestRefusedDataStays: requests that the responder refuses write nothing
// (models.md 9, case 5).
func TestRefusedDataStays(t *testing.T) {
	for _, option := range []string{
		"size: 10KB, rkey: wrong", "size: 10KB, remote_access: none", "size: 10KB, remote_access: [read, atomic]",
		"size: 10KB, region: 9999B", "size: 10KB, region: 1MB, offset: 991KB", "size: 10KB, region: 1MB, offset: 2MB",
		"size: 10KB, verb: write-imm, rkey: wrong",
		"size: 10KB, verb: read, rkey: wrong", "size: 10KB, verb: read, region: 9999B", "size: 10KB, verb: read, remote_access: write",
		"verb: cas, offset: 4B", "verb: fetch-add, rkey: wrong", "verb: fetch-add, region: 15B, offset: 8B", "verb: cas, remote_access: [read, write]",
	} {
		text := fmt.Appendf(nil, `
name: refused
carry_data: true
topology: {star: {hosts: 3, link: 100Gbps}}
workload:
  - incast: {from: [h0, h1], to: h2, %s}
  - incast: {from: [h0, h1], to: h2, size: 10KB}
`, option)
		d := mustRun(t, text, run.Options{}).Data
		if d.Refused != 2 || d.Messages != 2 || d.Differ != 0 {
			t.Errorf("%s: %+v", option, d)
		}
	}
}

// TestDataAllocatesNothing: packets with payload take their memory from pools:
// between the middle of a run and its last quarter hardly anything is allocated.
func TestDataAllocatesNothing(t *testing.T) {
	if raced {
		t.Skip("allocations are counted without the race detector")
	}
	dataAllocatesNothing(t, "rocev2", "40MB")
	// Buffers and windows that grow would take memory all along.
	const small = "tcp: {autotuning: false, sndbuf: 300KB, rcvbuf: 300KB}"
	dataAllocatesNothing(t, "tcp\n"+small, "80MB")
	dataAllocatesNothing(t, "tcp\nhost: {preset: free}\n"+small, "40MB")
}

func dataAllocatesNothing(t *testing.T, stack, size string) {
	v, err := scenario.Parse("carried", []byte(`
name: carried
carry_data: true
stack: `+stack+`
topology: {star: {hosts: 4, link: 100Gbps}}
workload:
  - permutation: {size: `+size+`}
`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	windows := 0
	once := func(call func(w *build.World, n int)) {
		w, err := build.New(v, build.Options{Partitions: 2})
		if err != nil {
			t.Fatal(err)
		}
		b := &barriers{Context: context.Background()}
		n, last := 0, int64(-1)
		b.call = func(int) { // also between windows of messages that are run alone, for what they take at best
			if now := w.Engine.Events(); now != last {
				n, last = n+1, now
				call(w, n)
			}
		}
		run.Simulate(b, w, run.Options{Workers: 1})
	}
	once(func(_ *build.World, n int) { windows = n })
	var mallocs, events [2]int64
	once(func(w *build.World, n int) {
		for k, at := range [2]int{windows / 2, windows * 3 / 4} {
			if n == at {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				mallocs[k], events[k] = int64(m.Mallocs), w.Engine.Events()
			}
		}
	})
	made, done := mallocs[1]-mallocs[0], events[1]-events[0]
	if done < 20_000 {
		t.Fatalf("only %d events between the middle and the last quarter", done)
	}
	if made > done/2000 {
		t.Errorf("%s: %d allocations in %d events", stack, made, done)
	}
}

// TestDataCatchesMutants: faults in what is written where are found by comparing
// the bytes.
func TestDataCatchesMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a second program")
	}
	program := filepath.Join(t.TempDir(), "mutants")
	if out, err := exec.Command("go", "build", "-tags", "mutant", "-o", program, "../../cmd/hopscope").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "carried.yaml")
	text := bytes.Replace(carriedText(true, "irn"), []byte("loss: 0.0005"), []byte("loss: 0.01"), 1)
	text = append(text, "  - {incast: {name: refused, from: [h1, h2], to: h3, size: 10KB, remote_access: none}}\n"...)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ mutant, says string }{
		{"none", ""},
		{"wrong-offset", "of them differ"},
		{"place-refused", "bytes were written"},
		{"stale-side", "of them differ"},
		{"atomic-twice", "form a chain of values"},
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
