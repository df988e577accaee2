package rdma

import (
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// RESET removes the receives that are posted, and the one that the first packet of
// a SEND has taken, without completions (IBTA 10.3.1); a shared queue keeps its
// own. The next SEND takes a receive of its own.
func TestResetForgetsReceives(t *testing.T) {
	for _, shared := range []bool{false, true} {
		var cq, rcq CompletionQueue
		cfg := mustPreset(t, "nic")
		s := Setup{Config: &cfg, CQ: &cq, ReceiveCQ: &rcq, Line: 100 * units.Gbps, Attrs: attrs()}
		left := int64(0)
		s.Attrs.Receives = 3
		if shared {
			s.SRQ, left = NewReceiveQueue(3, 0), 2
		}
		var q QP
		q.Connect(&s, 0)
		var out Replies
		first := packet.Packet{Kind: packet.Data, Opcode: OpSendFirst, Payload: 4096}
		q.Receive(0, &first, &out)
		for _, to := range []State{Reset, Init, RTR, RTS} {
			q.mustModify(to, 0)
		}
		if len(rcq.Entries) != 0 || q.ReceivesWaiting() != left {
			t.Errorf("shared %v: %d completions, %d receives left, want 0 and %d", shared, len(rcq.Entries), q.ReceivesWaiting(), left)
		}
		q.PostReceive(1)
		only := packet.Packet{Kind: packet.Data, Opcode: OpSendOnly, PSN: q.epsn, Payload: 10}
		q.Receive(0, &only, &out)
		if len(rcq.Entries) != 1 || rcq.Entries[0].ID != 1 || q.ReceivesWaiting() != left {
			t.Errorf("shared %v: completions %v, %d receives left, want one of receive 1 and %d", shared, rcq.Entries, q.ReceivesWaiting(), left)
		}
		if most, of := q.cold.reception.queue.Used(); most > of {
			t.Errorf("shared %v: %d of %d receives used", shared, most, of)
		}
	}
}
