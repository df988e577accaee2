package run_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

// permutation is the speed test: a full 3-tier fat-tree at 100 Gb/s with 1 us
// links, one ACK per data packet, DCQCN, and a buffer per switch so small that
// ECMP collisions mark and pause. k 16 has 1024 hosts, k 8 has 128.
const permutation = `
name: permutation
topology: {fat_tree: {k: %d, tiers: 3, link: 100Gbps, delay: 1us}}
stack: %s
switch: {buffer: 4MB}
mtu: 4096
workload:
  - permutation: {size: 8MB}
`

// BenchmarkPermutation1024 reports the CPU time per packet or ACK that a port
// sent, what it takes in memory, and with two workers how much faster the clock
// on the wall sees it.
func BenchmarkPermutation1024(b *testing.B) { benchmarkPermutation(b, 16, "rocev2") }

// BenchmarkPermutation128 is the same with 128 hosts, for quick comparisons.
func BenchmarkPermutation128(b *testing.B) { benchmarkPermutation(b, 8, "rocev2") }

// BenchmarkLossy1024 and BenchmarkLossy128 are the same without PFC and with
// selective repeat: what the buffers have no room for is dropped.
func BenchmarkLossy1024(b *testing.B) { benchmarkPermutation(b, 16, "rocev2-lossy") }
func BenchmarkLossy128(b *testing.B)  { benchmarkPermutation(b, 8, "rocev2-lossy") }

// BenchmarkInfiniBand1024 and BenchmarkInfiniBand128 are the same with credits.
func BenchmarkInfiniBand1024(b *testing.B) { benchmarkPermutation(b, 16, "infiniband") }
func BenchmarkInfiniBand128(b *testing.B)  { benchmarkPermutation(b, 8, "infiniband") }

// BenchmarkServers1024 and BenchmarkServers128 are the same with every host a server
// whose card moves the data over PCIe: at most 1.4 times the time.
func BenchmarkServers1024(b *testing.B) { benchmarkPermutation(b, 16, "rocev2", servers) }
func BenchmarkServers128(b *testing.B)  { benchmarkPermutation(b, 8, "rocev2", servers) }

// servers makes every host of a scenario a server.
const servers = "server: two-socket\n"

func benchmarkPermutation(b *testing.B, k int, stack string, more ...string) {
	text := fmt.Sprintf(permutation, k, stack) + strings.Join(more, "")
	if strings.HasSuffix(stack, "tcp") { // the network alone, as beside it; frames are twice as long
		text += "host: {preset: free}\n"
		text = strings.Replace(text, "size: 8MB", "size: 24MB", 1)
	}
	v, err := scenario.Parse("permutation", []byte(text), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	var alone float64 // wall ns per hop on one worker
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			var total usage
			var r *record.Run
			for range b.N {
				b.StopTimer()
				w, err := build.New(v, build.Options{})
				if err != nil {
					b.Fatal(err)
				}
				settleMemory()
				before := measureUsage()
				b.StartTimer()
				r = run.Simulate(context.Background(), w, run.Options{Workers: workers})
				b.StopTimer()
				total.add(before, measureUsage())
				total.peak = max(total.peak, peakRSS())
			}
			checkBusy(b, r, stack == "rocev2")
			hops := float64(r.PacketHops) * float64(b.N)
			b.ReportMetric(float64(total.cpu)/hops, "ns/packet-hop")
			b.ReportMetric(float64(r.Events)*float64(b.N)/hops, "events/hop")
			b.ReportMetric(float64(total.mallocs)/hops, "allocs/hop")
			b.ReportMetric(float64(total.peak)/1e6, "peak-MB")
			if total.mallocs*100 > uint64(r.Events)*uint64(b.N) {
				b.Errorf("%d allocations in %d events; the steady state must not allocate", total.mallocs, r.Events*int64(b.N))
			}
			wall := float64(total.wall) / hops
			if workers == 1 {
				alone = wall
			} else if alone > 0 {
				b.ReportMetric(alone/wall, "speedup")
			}
		})
	}
}

// checkBusy makes sure that the benchmark measures what it is about.
func checkBusy(b *testing.B, r *record.Run, lossless bool) {
	b.Helper()
	if r.Ports[0].Layer == catalog.InfiniBand {
		var waits int64
		for _, e := range r.Ledger {
			if e.Mechanism == catalog.CreditWait {
				waits += e.Count
			}
		}
		if waits == 0 || r.OpenMessages > 0 {
			b.Fatalf("%d waits for credits, %d messages open; waits must occur, and all messages end", waits, r.OpenMessages)
		}
		b.ReportMetric(float64(waits), "waits")
		return
	}
	if r.QPs[0].Service == catalog.TCP {
		var cuts int64
		for i := range r.QPs {
			cuts += r.QPs[i].RateCuts
		}
		if cuts == 0 || r.OpenMessages > 0 {
			b.Fatalf("%d cuts of windows, %d messages open; cuts must occur, and all messages end", cuts, r.OpenMessages)
		}
		b.ReportMetric(float64(cuts), "cuts")
		return
	}
	var marks, pauses int64
	for i := range r.Ports {
		marks += r.Ports[i].Marked
		pauses += r.Ports[i].PausesSent
	}
	if marks == 0 || (pauses > 0) != lossless || r.OpenMessages > 0 {
		b.Fatalf("%d marks, %d pauses, %d messages open; marks must occur, pauses where the fabric is lossless, and all messages end", marks, pauses, r.OpenMessages)
	}
	b.ReportMetric(float64(marks), "marks")
	b.ReportMetric(float64(pauses), "pauses")
}

// usage is what the process consumed.
type usage struct {
	cpu, wall time.Duration
	mallocs   uint64
	peak      int64 // bytes resident
}

// settleMemory gives back what building left, so that the peak of memory that
// follows is that of the world and its run. Linux restarts its count of the
// highest resident memory on writing 5.
func settleMemory() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

func measureUsage() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return usage{cpu: time.Duration(r.Utime.Nano() + r.Stime.Nano()), wall: time.Duration(time.Now().UnixNano()), mallocs: m.Mallocs}
}

func (u *usage) add(from, to usage) {
	u.cpu += to.cpu - from.cpu
	u.wall += to.wall - from.wall
	u.mallocs += to.mallocs - from.mallocs
}

// peakRSS is the most memory that was resident since settleMemory, in bytes; 0
// where the system does not say.
func peakRSS() (n int64) {
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
		_, _ = fmt.Sscan(rest, &n)
	}
	return n * 1024
}
