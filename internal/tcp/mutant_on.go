//go:build mutant

package tcp

import "os"

// See mutant.go. HOPSCOPE_MUTANT names the fault to switch on.
var (
	mutantCutFirst = os.Getenv("HOPSCOPE_MUTANT") == "cut-first"
	mutantAhead    = os.Getenv("HOPSCOPE_MUTANT") == "ahead"
	mutantResend   = os.Getenv("HOPSCOPE_MUTANT") == "resend"
)
