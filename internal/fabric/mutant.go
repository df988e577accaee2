//go:build !mutant

package fabric

import (
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/units"
)

// Faults that the property tests must catch (build tag mutant). Here they are
// constants, so that the compiler leaves nothing of them.
const (
	faulty              = false // some fault is on, here or elsewhere
	mutantShortHeadroom = false // headroom three frames too small
	mutantSkipRelease   = false // now and then a frame's buffer is not returned
	mutantIgnoreXOFF    = false // a port goes on sending when told to stop
	mutantCountTwice    = false // the first byte of a frame counts twice
	mutantDuplicate     = false // now and then a frame is queued twice
	mutantLose          = false // now and then a frame vanishes
	mutantReorder       = false // a frame takes the place of the head of its queue
	mutantTieBreak      = false // simultaneous events run in the order of record numbers
	mutantEarlyStart    = false // now and then a port starts the next frame at once
	mutantFast          = false // ports send a sixteenth faster than their rate
	mutantHeldEarly     = false // held time counts from before the pause
	mutantNoPeak        = false // the peak of a queue is forgotten
	mutantCountRefresh  = false // a refresh counts as a pause
	mutantExtraCredit   = false // a port grants one block more than it has
	mutantLostBlock     = false // a block of each packet is never given back
	mutantSharedLane    = false // no lane sends while lane 0 has no credits
	mutantStaleSide     = false // now and then a packet has the side record of an earlier one
)

// mutateAdmitted is never called in this build.
func (n *Net) mutateAdmitted(units.Time, *swtch, int, uint8, uint32) uint32 { return 0 }

// shortHeadroom is never called in this build.
func shortHeadroom(p *mmu.Params) *mmu.Params { return p }
