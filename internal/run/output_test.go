package run_test

import (
	"bytes"
	"testing"

	"github.com/hopscope/hopscope/internal/report"
)

// TestOutputWorkers: however many workers encode a result, its bytes are the same. Queue
// pairs of all services have more to send than their lines carry, so that messages wait
// for earlier ones, of which sentences follow what these waited for, and lossy ports make some wait for
// what was lost.
func TestOutputWorkers(t *testing.T) {
	for stack, workload := range map[string]string{
		"rocev2-lossy": `
  - incast: {to: h0, size: 8KB, count: 40, every: 100ns}
  - permutation: {size: 4KB, count: 10, every: 100ns, verb: read}
  - permutation: {size: 1KB, count: 10, every: 50ns, verb: send, service: ud}
  - permutation: {size: 3KB, count: 10, every: 50ns, service: uc}`,
		"tcp": `
  - permutation: {size: 20KB, count: 20, every: 500ns}`,
	} {
		v := parse(t, `
stack: `+stack+`
topology: {fat_tree: {k: 4, link: {rate: 100Gbps, delay: 600ns}}}
workload:`+workload+"\n")
		r := simulate(t, v, 1, 1)
		want := encode(t, r)
		if len(r.Messages) < 300 || !bytes.Contains(want, []byte("were not sent yet")) {
			t.Errorf("%s: %d messages, or none waited for others", stack, len(r.Messages))
		}
		for _, workers := range []int{2, 5} {
			var got bytes.Buffer
			if err := report.WriteJSON(&got, r, workers); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s: %d workers write other bytes than one", stack, workers)
			}
		}
	}
}
