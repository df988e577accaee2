package cli

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"time"
)

// A run shared among workers waits for the slowest: one whose processor does something else
// half of the time makes it take longer than one worker alone. So a run takes the processors
// that are idle as it begins, if the system says so.
const (
	looks     = 3 // at what is running, of which the one that finds the least counts
	lookEvery = time.Millisecond
)

// defaultWorkers is how many workers there are where nothing is said.
func defaultWorkers() int {
	most := runtime.GOMAXPROCS(0)
	if most == 1 {
		return 1
	}
	processors, others, known := 0, 0, false
	for k := range looks {
		if k > 0 {
			time.Sleep(lookEvery)
		}
		stat, err1 := os.ReadFile("/proc/stat")
		load, err2 := os.ReadFile("/proc/loadavg")
		if err1 != nil || err2 != nil {
			return most
		}
		n, ok := running(load)
		if !ok {
			return most
		}
		if !known || n-1 < others {
			processors, others, known = countProcessors(stat), n-1, true // one is this process
		}
	}
	return idleOf(most, processors, others)
}

// idleOf is how many of most processors to use on a machine with so many, on which so many other
// threads run or wait for one; 0 processors: nothing is known of it.
func idleOf(most, processors, others int) int {
	if processors == 0 {
		return most
	}
	return min(most, max(1, processors-others))
}

// running reads from /proc/loadavg how many threads run or wait for a processor, that which
// reads it among them (proc(5)).
func running(loadavg []byte) (n int, ok bool) {
	var one, five, fifteen float64
	var all int
	_, err := fmt.Sscanf(string(loadavg), "%f %f %f %d/%d", &one, &five, &fifteen, &n, &all)
	return n, err == nil && n > 0
}

// countProcessors counts the processors that /proc/stat has a line for (proc(5)).
func countProcessors(stat []byte) (n int) {
	for line := range bytes.Lines(stat) {
		if len(line) > 3 && bytes.HasPrefix(line, []byte("cpu")) && line[3] >= '0' && line[3] <= '9' {
			n++
		}
	}
	return n
}
