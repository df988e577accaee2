package build

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/workload"
)

// A workload's verbs and services become those of package rdma by their numbers:
// the lists are the same, in the same order, to the same end.
func TestVerbsInOrder(t *testing.T) {
	name := func(i int) (verb, transport string) {
		defer func() { _ = recover() }() // past the end of the list
		short := strings.NewReplacer(" with immediate", "_IMM", " with invalidate", "_INV")
		transport = short.Replace(rdma.Verb(i).String())
		return workload.Verb(i).String(), transport
	}
	n := len(workload.VerbNames())
	for i := range n + 1 {
		verb, transport := name(i)
		if verb != transport || (verb == "") != (i == n) {
			t.Errorf("verb %d of %d is %q in workloads and %q in transports", i, n, verb, transport)
		}
	}
	for s, want := range map[workload.Service]rdma.Service{workload.RC: rdma.RC, workload.UC: rdma.UC, workload.UD: rdma.UD} {
		if rdma.Service(s) != want {
			t.Errorf("service %s becomes %s", s, rdma.Service(s))
		}
	}
}
