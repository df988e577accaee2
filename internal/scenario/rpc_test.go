package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// The example of the design, and what its keys come to.
func TestRPCEntry(t *testing.T) {
	const text = `
stop: 1ms
topology: {star: {hosts: 5, link: 400Gbps, length: 5m}}
workload:
  - incast: {from: [h0, h1, h2, h3], to: h4, size: 64MB}
  - rpc: {between: [h0, h4], size: 2KB, every: 50us, stack: tcp}
  - rpc: {between: [h1, h2], size: 9KB, request: 10B, count: 3, every: 1us, start: 5us, qps: 2, think: 2us, class: 4}
`
	v, err := Parse("s.yaml", []byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := v.Plan; p.Calls != 20+6 || len(p.Locals) != 6 || len(p.Conns) != 4+1+4 || p.Entries[1] != "rpc" || p.Entries[2] != "rpc 2" {
		t.Errorf("%d calls, %d thoughts, %d connections, entries %v", p.Calls, len(p.Locals), len(p.Conns), p.Entries)
	}
	for _, m := range v.Plan.All() {
		c := &v.Plan.Conns[m.Conn]
		want := map[bool]units.Bytes{false: 10, true: 9 * units.KB}[m.Reply]
		switch {
		case c.Entry == 1 && (c.Service != workload.TCP || c.Class != 0 || !c.NoDelay || m.Bytes != 2*units.KB):
			t.Errorf("over TCP: %+v on %+v", m, c)
		case c.Entry == 2 && (c.Service != workload.RC || c.Class != 4 || m.Verb != workload.Send || m.Bytes != want):
			t.Errorf("over RC: %+v on %+v", m, c)
		}
	}
}

// A comparison runs entries over TCP on InfiniBand as it can: over that, and says so;
// alone that is a mistake.
func TestTCPEntryCompared(t *testing.T) {
	text := base + "  - rpc: {between: [h0, h1], size: 2KB, stack: tcp}\n"
	v, err := parseStack("s.yaml", []byte(text), "infiniband", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &v.Plan.Conns[len(v.Plan.Conns)-1]
	if warned := strings.Join(v.Warnings, "\n"); c.Service != workload.RC || !strings.Contains(warned, "workload[1].rpc runs over infiniband: TCP needs Ethernet") {
		t.Errorf("%s, warnings %q", c.Service, warned)
	}
}
