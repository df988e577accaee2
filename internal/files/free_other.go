//go:build !linux

package files

// freeIn is for systems whose answer this program cannot read.
func freeIn(string) (bytes int64, ok bool) { return 0, false }
