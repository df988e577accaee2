//go:build !mutant

package iwarp

// Faults that tests must catch (build tag mutant).
const (
	mutantDamage       = false // FPDUs but the first are damaged behind their CRC's back
	mutantEarly        = false // what is not at the start of its region is placed one byte early
	mutantPlaceRefused = false // the payload of WRITEs is placed although they are refused
	mutantTwice        = false // what came ahead is placed again, a byte late, when its turn comes
)
