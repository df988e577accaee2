//go:build linux

package linux

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var record = flag.String("record", "", "folder for a dated record of what was measured")

// grid is every loss on every path: the rates, round trips and losses at which the
// forwarder is never what limits, and random loss on one of them. The queue holds
// what the path holds.
func grid() (list []*Path) {
	for _, cc := range []string{"reno", "cubic"} {
		for _, mbps := range []int64{10, 100} {
			for _, ms := range []int64{10, 40, 100} {
				for _, every := range []int{0, 1000, 100} {
					list = append(list, &Path{CC: cc, Mbps: mbps, RTT: time.Duration(ms) * time.Millisecond,
						Queue: mbps * ms * 1000 / 8, Every: every, For: 10 * time.Second})
				}
			}
		}
		for _, every := range []int{1000, 100} {
			list = append(list, &Path{CC: cc, Mbps: 100, RTT: 40 * time.Millisecond, Queue: 500e3, Every: every, Seed: 1, For: 10 * time.Second})
		}
	}
	return list
}

// jumbo are paths of MTU 9000 without loss, for so short that what counts is how the
// windows grow.
func jumbo() (list []*Path) {
	for _, cc := range []string{"reno", "cubic"} {
		for _, ms := range []int64{20, 40} {
			list = append(list, &Path{CC: cc, Mbps: 400, RTT: time.Duration(ms) * time.Millisecond, MTU: 9000,
				Queue: 400 * ms * 1000 / 8, For: time.Duration(25*ms) * time.Millisecond})
		}
	}
	return list
}

// pair is what both sides did on a path.
type pair struct {
	p       *Path
	kernel  *Result
	ours    *Result
	failure error
}

// measure runs ours on all paths, then the kernel, some paths at a time.
func measure(paths []*Path) ([]pair, error) {
	list := make([]pair, len(paths))
	for i, p := range paths {
		cfg, err := Profile(p)
		if err != nil {
			return nil, err
		}
		list[i].p = p
		if list[i].ours, err = Ours(p, &cfg); err != nil {
			return nil, err
		}
	}
	// Neither the collector nor a thread without priority that holds a slot of the
	// scheduler may keep the forwarders waiting.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16 * atOnce))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	slots := make(chan bool, atOnce)
	var all sync.WaitGroup
	for i := range paths {
		all.Go(func() {
			slots <- true
			defer func() { <-slots }()
			list[i].runKernel()
		})
	}
	all.Wait()
	return list, nil
}

// atOnce is how many paths the forwarders carry at the same time.
const atOnce = 2

// runKernel runs the kernel, and again if the forwarder was late: by more than 200 us
// on average, or once by more than a round trip. After the third time what was
// measured counts.
func (x *pair) runKernel() {
	for range 3 {
		x.kernel, x.failure = Kernel(x.p)
		if x.failure != nil || x.kernel.Late < 200*time.Microsecond && x.kernel.Later < x.p.RTT {
			return
		}
	}
}

// off is by how much ours is faster, in percent.
func (x *pair) off() float64 { return 100 * (x.ours.goodput(x.p)/x.kernel.goodput(x.p) - 1) }

// limit is the most by which goodput may differ, in percent.
const limit = 10

// TestGrid compares goodput.
func TestGrid(t *testing.T) { compare(t, "linux", grid()) }

// TestJumbo compares goodput of the first 25 round trips with segments of 8948 bytes.
func TestJumbo(t *testing.T) { compare(t, "linux-jumbo", jumbo()) }

func compare(t *testing.T, name string, paths []*Path) {
	if os.Getenv("HOPSCOPE_LINUX_TCP") == "" {
		t.Skip("HOPSCOPE_LINUX_TCP is not set: it takes root, /dev/net/tun and five minutes of real time")
	}
	var out strings.Builder
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "Linux %s; goodput of one flow in Mb/s, retransmissions, queue drops\n", unix.ByteSliceToString(u.Release[:]))
	list, err := measure(paths)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		if x.failure != nil {
			t.Fatal(x.failure)
		}
		k, o := x.kernel, x.ours
		if math.Abs(x.off()) > limit {
			t.Errorf("%v: %.2f Mb/s, Linux %.2f", x.p, o.goodput(x.p), k.goodput(x.p))
		}
		fmt.Fprintf(&out, "%v: kernel %6.2f %4d %4d, ours %6.2f %4d %4d, %+.1f %%; late %v, at most %v; %s\n", x.p, k.goodput(x.p), k.Again, k.Dropped,
			o.goodput(x.p), o.Again, o.Dropped, x.off(), k.Late.Round(time.Microsecond), k.Later.Round(time.Microsecond), k.Notes)
	}
	t.Log("\n" + out.String())
	if *record != "" {
		name := filepath.Join(*record, time.Now().Format("2006-01-02")+"-"+name+".txt")
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
