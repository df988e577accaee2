//go:build unix

package files

import (
	"os"
	"syscall"
)

// lock takes the lock of an open file unless another program holds it. The operating
// system gives it back when the program ends, however it does.
func lock(f *os.File) bool { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil }

// heldByAnother reports whether another program holds the lock of f. A file system
// without locks holds none.
func heldByAnother(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}
