package main

import "syscall"

// mostMemory is how much address space a test program may have: a mutant that
// appends without end fails soon and does not take the machine along.
const mostMemory = 16 << 30

// limitMemory limits the programs that this one starts.
func limitMemory() error {
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: mostMemory, Max: mostMemory})
}
