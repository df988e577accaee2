//go:build !race

package run_test

// raced says that the race detector watches: every step takes many times longer.
const raced = false
