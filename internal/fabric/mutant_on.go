//go:build mutant

package fabric

import (
	"os"
	"slices"

	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// See mutant.go. HOPSCOPE_MUTANT names the fault to switch on.
var (
	faulty              = os.Getenv("HOPSCOPE_MUTANT") != ""
	mutantShortHeadroom = mutant("short-headroom")
	mutantSkipRelease   = mutant("skip-release")
	mutantIgnoreXOFF    = mutant("ignore-xoff")
	mutantCountTwice    = mutant("count-twice")
	mutantDuplicate     = mutant("duplicate")
	mutantLose          = mutant("lose")
	mutantReorder       = mutant("reorder")
	mutantTieBreak      = mutant("tie-break")
	mutantEarlyStart    = mutant("early-start")
	mutantFast          = mutant("fast")
	mutantHeldEarly     = mutant("held-early")
	mutantNoPeak        = mutant("no-peak")
	mutantCountRefresh  = mutant("count-refresh")
	mutantExtraCredit   = mutant("extra-credit")
	mutantLostBlock     = mutant("lost-block")
	mutantSharedLane    = mutant("shared-lane")
	mutantStaleSide     = mutant("stale-side")
)

func mutant(name string) bool { return os.Getenv("HOPSCOPE_MUTANT") == name }

// mutateAdmitted does to a frame that switch sw is about to queue at port e what
// the faults of admission say. It returns the frame to go on with, or 0.
func (n *Net) mutateAdmitted(now units.Time, sw *swtch, e int, c uint8, slot uint32) uint32 {
	q := &n.queues[c][e]
	psn := n.part.Rec(slot).PSN
	switch {
	case mutantCountTwice:
		q.sent.Bytes++
	case mutantNoPeak:
		q.peak = 0
	case mutantDuplicate && psn%64 == 63:
		again := n.part.Alloc()
		*n.part.Rec(again) = *n.part.Rec(slot)
		n.charge(now, sw, sw.base+int(n.part.Rec(slot).In), e, n.part.Rec(slot).Class, c, n.part.Rec(slot).Frame)
		n.enqueue(now, e, &n.ports[e], q, n.part.Rec(again), again)
	case mutantLose && psn%64 == 63:
		n.release(now, sw, e, c, n.part.Rec(slot))
		n.part.Free(slot)
		return 0
	case mutantReorder && q.head != 0 && n.part.Rec(q.head).Frame == n.part.Rec(slot).Frame:
		a, b := n.part.Rec(q.head), n.part.Rec(slot)
		if (a.DSCP|b.DSCP)&packet.Stamped != 0 {
			break // stamps say where a frame is
		}
		next := a.Next
		*a, *b = *b, *a
		a.Next = next
	}
	return slot
}

// shortHeadroom takes three frames off the headroom of every group.
func shortHeadroom(p *mmu.Params) *mmu.Params {
	short := *p
	short.Groups = slices.Clone(p.Groups)
	for i := range short.Groups {
		for c := range short.Groups[i] {
			short.Groups[i][c].Headroom -= 3 * (4096 + 78)
		}
	}
	return &short
}
