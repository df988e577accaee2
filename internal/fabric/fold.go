package fabric

import (
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/units"
)

// folded is what a network in which ports stand for others knows of these.
type folded struct {
	images int
	blocks []uint32   // the first source of each block of hosts
	ids    [][]uint32 // by global number of a port, those that it stands for beside itself
}

// Fold has ports stand for others, so many in all with themselves; Stand says for which. There are ports of so
// many global numbers, and blocks of hosts, each from a source on. It needs Slow.
func (n *Net) Fold(images, ports int, blocks []uint32) {
	n.folded = &folded{images: images, blocks: blocks, ids: make([][]uint32, ports)}
	for k := range n.switches {
		if sw := &n.switches[k]; !sw.credited {
			sw.crowd = mmu.NewCrowd(&sw.memory, images)
		}
	}
}

// Stand has port i stand for the ports with such global numbers.
func (n *Net) Stand(i int, ids []uint32) {
	n.folded.ids[n.ports[i].id] = ids
	n.ports[i].tapped = true
}

// standIn counts the arrivals at the ports for which one stands.
func (n *Net) standIn(now units.Time, p *Port, pk *packet.Packet) {
	for _, id := range n.folded.ids[p.id] {
		n.fingerprint += arrivalHash(now, id, pk.Frame)
	}
}

// instant tells the crowd of a switch what event is being executed: of those of one time and age, all
// frames that arrive are before all that the switch itself had planned.
func (n *Net) instant(now units.Time, sw *swtch) {
	order, _ := n.part.Current()
	age, source := sim.Parts(order)
	first, ports, key := n.ports[sw.base].source, uint32(n.ports[sw.base].ports), age<<1
	if source >= first && source < first+3*ports { // of a port, whose host it is about
		key |= 1
		p := &n.ports[sw.base+int((source-first)%ports)]
		source = n.peers[p.peerPart].ports[p.peerPort].source
	}
	block := len(n.folded.blocks) - 1
	for block > 0 && n.folded.blocks[block] > source {
		block--
	}
	sw.crowd.Begin(now, key, block)
}

// Unfolds reports whether nothing happened so far for which the ports that stand for others differ from
// these: nothing was marked, paused or dropped, and no group of a switch came to its threshold.
func (n *Net) Unfolds() bool {
	for k := range n.switches {
		if c := n.switches[k].crowd; c != nil {
			c.Settle()
			if c.Crossed() {
				return false
			}
		}
	}
	var acts []record.Entry
	e := new(record.Evidence)
	for i := range n.ports {
		for c := range uint8(Classes) {
			acts = n.AppendLedger(acts, i, c)
			if q := &n.queues[c][i]; n.ports[i].node >= 0 && q.peak > q.kmin {
				return false // marks are drawn
			}
		}
		n.Evidence(i, e)
	}
	return len(acts)+len(e.Shut)+len(e.Fills)+len(e.Ahead) == 0 && n.dropped == 0
}

// NearestXOFF is how near class c of the image of port i came to XOFF; nil: nothing came in by it.
func (n *Net) NearestXOFF(i int, c uint8, image int) *record.Approach {
	m, g := n.losslessGroup(i, c)
	if m == nil {
		return nil
	}
	return approach(n.switches[n.ports[i].node].crowd.NearestXOFF(g, image))
}

// Absent is the card of a host that does not run: nothing comes to it, and it sends nothing.
type Absent struct{}

// Receive implements Host.
func (Absent) Receive(units.Time, int, uint32) {
	panic("fabric: BUG: a frame for a host that does not run")
}

// Next implements Host.
func (Absent) Next(units.Time, int, uint8) (slot uint32, again units.Time) { return 0, units.Never }

// HeadFrame implements Host.
func (Absent) HeadFrame(int, uint8) uint32 { return 0 }

// WaitingSince implements Host.
func (Absent) WaitingSince(units.Time, int, uint8) units.Time { return units.Never }

// SentFrames implements Host.
func (Absent) SentFrames(int, uint8) Sent { return Sent{} }

// ReceiveLimits implements Host.
func (Absent) ReceiveLimits(int, uint8) record.PortLimits { return record.PortLimits{} }

// Timer implements Host.
func (Absent) Timer(units.Time, uint8, uint32) {
	panic("fabric: BUG: a timer of a host that does not run")
}
