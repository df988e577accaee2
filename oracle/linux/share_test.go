//go:build linux

package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// shareRuns is how often the kernel and hopscope run each case.
const shareRuns = 20

// TestShares has 2 and 8 CUBIC flows share a bottleneck with a tail-drop buffer of 20 and of 130
// frames: the quartiles of Jain's index and of the least flow's share over five seconds lie within
// what the kernel's runs span. Over half a second ours share more evenly, and what both did is
// recorded only (docs/fidelity.md).
func TestShares(t *testing.T) {
	if os.Getenv("HOPSCOPE_LINUX_TCP") == "" {
		t.Skip("HOPSCOPE_LINUX_TCP is not set: it takes root, /dev/net/tun and nine minutes of real time")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(64)) // see measure
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "Linux %s; CUBIC flows that share 100 Mb/s, 1 ms, MTU 1500, a tail-drop buffer: least, quartiles and largest of %d runs\n",
		unix.ByteSliceToString(u.Release[:]), shareRuns)
	for _, frames := range []int64{20, 130} {
		for _, n := range []int{2, 8} {
			p := &Path{CC: "cubic", Mbps: 100, RTT: time.Millisecond, Queue: frames * 1500, For: 5 * time.Second}
			both := [2]spreads{}
			late := time.Duration(0)
			for seed := range uint64(shareRuns) {
				kernel, r, err := KernelShares(p, n)
				if err != nil {
					t.Fatal(err)
				}
				late = max(late, r.Late)
				ours, err := OurShares(p, n, seed+1)
				if err != nil {
					t.Fatal(err)
				}
				both[0].add(kernel)
				both[1].add(ours)
			}
			for i, name := range []string{"Jain over 0.5 s", "Jain over 5 s", "least share over 0.5 s", "least share over 5 s"} {
				k, o := quartiles(both[0][i]), quartiles(both[1][i])
				fmt.Fprintf(&out, "%d flows, %3d frames, %-22s kernel %.3f, ours %.3f; late %v on average at most\n", n, frames, name+":", k, o, late.Round(time.Microsecond))
				if whole := i%2 == 1; whole && (o[1] < k[0] || o[3] > k[4]) {
					t.Errorf("%d flows, %d frames, %s: quartiles %.3f to %.3f, the kernel's runs span %.3f to %.3f", n, frames, name, o[1], o[3], k[0], k[4])
				}
			}
		}
	}
	t.Log("\n" + out.String())
	if *record != "" {
		name := filepath.Join(*record, time.Now().Format("2006-01-02")+"-linux-shares.txt")
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// spreads are Jain's index over half a second and five, and the least share over both.
type spreads [4][]float64

func (s *spreads) add(x Shares) {
	for i, tenth := range []int{1, tenths} {
		jain, least := x.jain(tenth)
		s[i], s[2+i] = append(s[i], jain), append(s[2+i], least)
	}
}

// quartiles are the least, the quartiles and the largest of a sample.
func quartiles(v []float64) (q [5]float64) {
	v = slices.Sorted(slices.Values(v))
	for i := range q {
		at := float64(i) / 4 * float64(len(v)-1)
		k := int(at)
		q[i] = v[k]
		if k+1 < len(v) {
			q[i] += (at - float64(k)) * (v[k+1] - v[k])
		}
	}
	return q
}
