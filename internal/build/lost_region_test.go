package build

import (
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// The region of a READ that waits behind another, with a WRITE between them, is
// deregistered: the responder sends a NAK in place of the first response (IBTA
// 9.7.4.1.5). It acknowledges the WRITE, whose own ACK the second READ took the
// place of, and so says when it was made.
func TestRegionLostBeforeRead(t *testing.T) {
	v, err := scenario.Parse("test", []byte(`
name: lost
carry_data: true
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
workload:
  - flow: {from: h0, to: h1, verb: read, size: 1MB, count: 3}
`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	v.Plan.Single()
	v.Plan.Series[1].Verb, v.Plan.Series[1].Bytes = workload.Write, 100
	b, err := build(v, Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	const at = 40 * units.Microsecond
	goOn := func(units.Time) bool { return true }
	b.Engine.Run(at, 1, goOn)
	responder := b.Responders[0]
	if !b.memory[responder.Node].Deregister(b.Carried.Messages[2].rkey) {
		t.Fatal("no region")
	}
	b.Engine.Run(units.Never, 1, goOn)
	var got []rdma.Status
	for i := range b.Messages {
		got = append(got, b.Messages[i].Status)
	}
	if want := []rdma.Status{rdma.Success, rdma.Success, rdma.RemAccess}; !slices.Equal(got, want) {
		t.Errorf("the messages end with %v, want %v", got, want)
	}
	q := b.Hosts[responder.Node].QPs(b.Messages[2].Done)[responder.QP]
	if q.State != "ERR" || q.NAKsSent != 1 || q.SentBytes != 1_000_000 {
		t.Errorf("responder in %s, %d NAKs and %d B sent, want ERR after one NAK and the first READ", q.State, q.NAKsSent, q.SentBytes)
	}
	var write nic.MessageAccount
	b.Hosts[b.g.Endpoints[v.Plan.Conns[0].Src].Node].Account(1, &write)
	noted := b.Hosts[responder.Node].Acceptance(responder.QP, 1).FirstAck
	if write.AckMade <= at || write.AckMade >= write.Done || noted != write.AckMade {
		t.Errorf("the NAK was made at %s by what it says, at %s by the responder; the WRITE was done at %s", write.AckMade, noted, write.Done)
	}
}
