//go:build !mutant

package rdma

// Faults that tests must catch (build tag mutant).
const (
	mutantCountDuplicate = false // a responder counts the payload of duplicates as delivered
	mutantWrongOffset    = false // the second and later packets of a message are written one byte early
	mutantPlaceRefused   = false // it writes the payload of WRITEs that it then refuses
	mutantAtomicTwice    = false // a duplicate FETCH_ADD is executed again
)
