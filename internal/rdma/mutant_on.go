//go:build mutant

package rdma

import "os"

// See mutant.go. HOPSCOPE_MUTANT names the fault to switch on.
var (
	mutantCountDuplicate = os.Getenv("HOPSCOPE_MUTANT") == "count-duplicate"
	mutantWrongOffset    = os.Getenv("HOPSCOPE_MUTANT") == "wrong-offset"
	mutantPlaceRefused   = os.Getenv("HOPSCOPE_MUTANT") == "place-refused"
	mutantAtomicTwice    = os.Getenv("HOPSCOPE_MUTANT") == "atomic-twice"
)
