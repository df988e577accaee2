//go:build !mutant

package tcp

// Faults that tests must catch (build tag mutant).
const (
	mutantCutFirst = false // segments cut off a super-segment have the payload of the first
	mutantAhead    = false // what arrives ahead of a missing segment is stored one byte early
	mutantResend   = false // a segment sent again has the bytes that follow its own
)
