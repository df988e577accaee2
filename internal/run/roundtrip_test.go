package run_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// TestLongRoundTrips: round trips of 40 and of 100 ms, longer than any cable of a data
// centre, cost what their number says. A WRITE takes its bytes and one round trip, to
// the acknowledgement; with go-back-N one more for each loss, as the NAK of the gap comes
// back a round trip after the packet behind it was sent. TCP begins with ten segments and
// doubles them per round trip (RFC 6928, RFC 5681): 1 MB in segments of 1448 bytes is 691
// of them, which leave within seven round trips, and the last goes one way.
func TestLongRoundTrips(t *testing.T) {
	for _, rtt := range []units.Time{40 * units.Millisecond, 100 * units.Millisecond} {
		for _, c := range []struct {
			name, keys, link, size string
			trips                  float64
			bytes                  float64 // on the wire, at 10 Gb/s
		}{
			{"RoCE", "stack: rocev2-none\nnic: {timeout: 16}", "", "20MB", 1, 20e6 + 4883*82},
			{"InfiniBand", "stack: infiniband\nnic: {timeout: 16}", "", "100KB", 1, 100e3 + 25*28},
			{"RoCE with losses", "stack: rocev2-none\nnic: {recovery: go-back-n, timeout: 16}", ", drop_every: 2000", "20MB", 1 + 5, 20e6 + 4883*82},
			{"TCP", "stack: tcp\ntcp: {mtu: 1500}", "", "1MB", 6.5, 70e3}, // of the seventh round
		} {
			v := parse(t, fmt.Sprintf("topology: {star: {hosts: 2, link: {rate: 10Gbps, delay: %dus%s}}}\n%s\nworkload: [flow: {from: h0, to: h1, size: %s}]\n",
				int64(rtt/(4*units.Microsecond)), c.link, c.keys, c.size))
			r := simulate(t, v, 0, 1)
			if bad := differ(t, r, simulate(t, v, 3, 2)); bad != "" {
				t.Errorf("%s, %v: %s", c.name, rtt, bad)
			}
			f := &r.Messages[0]
			if f.Status != "success" {
				t.Errorf("%s, %v: %s", c.name, rtt, f.Status)
			}
			want := c.trips*float64(rtt) + c.bytes*800
			if got := float64(f.CompletionPS); math.Abs(got-want) > 0.01*want {
				t.Errorf("%s, round trip %v: %v, want %v", c.name, rtt, f.CompletionPS, units.Time(want))
			}
			for i := range r.QPs {
				if r.QPs[i].Timeouts > 0 {
					t.Errorf("%s, %v: %d timeouts", c.name, rtt, r.QPs[i].Timeouts)
				}
			}
		}
	}
}
