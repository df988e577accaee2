package collective

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// What the thread that calls NCCL takes for point-to-point operations, beside the launch.
const (
	// peerCalls is for the send and the receive of a peer: over 8 A100 whose calls one thread
	// makes, AllToAll takes 87.0 us at all sizes below 2 MiB and AllReduce 34.7 us, which are 8
	// launches as well, so that 8 x 7 more peers take 52.3 us (the logs of superbench).
	peerCalls = 930 * units.Nanosecond
	// proxyCalls is what a peer on another host takes in addition, a send and a receive that
	// proxies are told of; fitted to b200-16-alltoall below 64 KiB, 37.6 us.
	proxyCalls = 2400 * units.Nanosecond
)

// hostCalls appends what the thread of each rank takes to call NCCL for one AllToAll or SendRecv.
// It runs ahead of the kernels, so that of both the slower one gives the pace; the operations
// that end it are returned. Where ranks are hosts there is none.
func (b *builder) hostCalls() (ends []workload.Op) {
	if b.Algorithm != Pairwise || !b.onGPUs() {
		return nil
	}
	for i := range b.Ranks {
		r, label := &b.Ranks[i], b.callLabel(i)
		op := b.plan.AddLocal(workload.Local{Host: r.Host, Entry: b.entry, Label: label, Start: b.Start,
			From: workload.NoDevice, To: workload.NoDevice})
		if len(b.lastCalls) > i {
			b.plan.After(op, b.lastCalls[i], workload.Completed)
		}
		ends = append(ends, op)
	}
	b.lastCalls = ends
	return ends
}

// callLabel is the label of the calls of a rank.
func (b *builder) callLabel(i int) uint16 {
	var launch units.Time
	for _, c := range b.GPU {
		if c.Key == "launch" {
			launch = c.Time
		}
	}
	peers, remote := 1, 0
	if b.Op == AllToAll {
		peers = len(b.Ranks)
		remote = peers - len(b.membersOf(i))
	} else if b.Ranks[(i+1)%len(b.Ranks)].Host != b.Ranks[i].Host {
		remote = 1
	}
	calls := units.Time(peers)*peerCalls + units.Time(remote)*proxyCalls
	return b.plan.AddLabel("calls", workload.Part{Name: "sends and receives", Time: calls},
		workload.Part{Name: "kernel launch", Time: launch})
}
