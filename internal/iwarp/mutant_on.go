//go:build mutant

package iwarp

import "os"

// See mutant.go. HOPSCOPE_MUTANT names the fault to switch on.
var (
	mutantDamage       = os.Getenv("HOPSCOPE_MUTANT") == "fpdu-damage"
	mutantEarly        = os.Getenv("HOPSCOPE_MUTANT") == "fpdu-early"
	mutantPlaceRefused = os.Getenv("HOPSCOPE_MUTANT") == "fpdu-refused"
	mutantTwice        = os.Getenv("HOPSCOPE_MUTANT") == "fpdu-twice"
)
