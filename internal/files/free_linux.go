package files

import (
	"math"
	"syscall"
)

// freeIn is how many bytes this user may still write to the file system that a directory is on.
func freeIn(dir string) (bytes int64, ok bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil || s.Bsize <= 0 {
		return 0, false
	}
	if s.Bavail > uint64(math.MaxInt64/s.Bsize) {
		return math.MaxInt64, true
	}
	return int64(s.Bavail) * s.Bsize, true
}
