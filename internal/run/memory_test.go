package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// filled sends frames of one cell from h1 to h2, whose link is so slow that nothing leaves,
// past a switch, from a card that does not obey PFC, as the tests of sonic-mgmt do.
const filled = `
stack: rocev2-pfc-only
mtu: 256
packet_payload: 100B
topology: {star: {hosts: %d, link: %s, length: 300m}, links: [{between: [h2, sw], rate: 1Mbps}]}
nic: {pfc: {response: 100ms}}
switch:
  memory: %s
workload:
  - flow: {from: h1, to: h2, size: %dB, class: %d}
stop: %v
`

// fillText is that for a number of frames.
func fillText(hosts int, link, memory string, frames, class int) string {
	rate, _ := units.ParseRate(link)
	return fmt.Sprintf(filled, hosts, link, memory, frames*100, class, rate.TxTime(198)*units.Time(frames)+5*units.Microsecond)
}

// The thresholds that sonic-mgmt measured on Tomahawk and Tomahawk 5 (operators' tests
// qos_params.{th,th5}.yaml) come out of scenarios with the pools and profiles of the same
// switches, from presets and written out, within two cells.
func TestSiliconThresholds(t *testing.T) {
	const th5 = `{size: 165MB, cell: 254B, parts: 2,
    pools: {ingress_lossless_pool: {size: 147226020B, xoff: 38843712B, xoff_within: true, reserved: 35052B}},
    profiles: {pg_lossless_profile: {dynamic_th: 0, reserved: 8636B, xon_offset: 3556B, headroom: 839216B}}}`
	for _, c := range []struct {
		name, link, memory string
		hosts              int
		cell               int64
		xoff, drop         int64
	}{
		{"Tomahawk", "40Gbps", "{preset: tomahawk}", 32, 208, 6542, 7063},
		{"Tomahawk", "50Gbps", "{preset: tomahawk}", 32, 208, 6542, 7225},
		{"Tomahawk", "100Gbps", "{preset: tomahawk}", 32, 208, 6542, 7835},
		{"Tomahawk 5", "400Gbps", "{preset: tomahawk5}", 96, 254, 103397, 106702},
		{"Tomahawk 5", "800Gbps", "{preset: tomahawk5}", 96, 254, 103397, 109782},
		{"Tomahawk 5 written out", "400Gbps", th5, 96, 254, 103397, 106702},
	} {
		if testing.Short() && c.cell == 254 && !strings.Contains(c.name, "written") {
			continue
		}
		r := runText(t, fillText(c.hosts, c.link, c.memory, int(c.drop)+50, 3))
		p := memoryPort(t, r, 2)
		crossed := int64(0)
		for _, e := range r.Ledger {
			if e.Mechanism == catalog.XOFFCross && e.Actor.String() == "sw:2 prio 3" && e.Count == 1 {
				crossed = e.Sum / c.cell
			}
		}
		// What is dropped is one more than ever was held; the frame on the wire to h2 has left.
		drop := p.PeakIngress/c.cell + 1
		t.Logf("%s %s: XOFF at frame %d, drop at %d; measured %d, %d", c.name, c.link, crossed, drop, c.xoff, c.drop)
		if p.Dropped == 0 || p.DropCauses[0].Cause != catalog.DropHeadroom || away(crossed, c.xoff) > 2 || away(drop, c.drop) > 2 {
			t.Errorf("%s %s: XOFF at frame %d, drop at %d, %d dropped; measured %d and %d", c.name, c.link, crossed, drop, p.Dropped, c.xoff, c.drop)
		}
	}
}

// Groups of a Tomahawk 5 filled one after another, none of them draining, cross XOFF where
// pkts_num_trig_pfc_multi of qos_params.th5.yaml (t0-standalone) says; the pool is taken from
// the first number, the others follow.
func TestSiliconSuccessiveGroups(t *testing.T) {
	want := []int64{120117, 60096, 30085, 15079, 7577, 3825, 1950, 1012, 543, 308, 191, 133, 103, 89, 81, 78, 76, 75, 74, 74, 74}
	const cell, reserve = 254, 74
	pool := 2 * (2*want[0] - 2*reserve) * cell
	text := fmt.Sprintf(`
stack: rocev2-pfc-only
mtu: 256
packet_payload: 100B
topology: {star: {hosts: 64, link: 200Gbps, length: 5m}, links: [{between: [h63, sw], rate: 1Mbps}]}
switch:
  memory:
    size: 165MB
    cell: %dB
    parts: 2
    pools: {ingress_lossless_pool: {size: %dB, xoff: 20MB}}
    profiles: {pg_lossless_profile: {alpha: 1, reserved: %dB, xon_offset: %dB}}
workload:
`, cell, pool, reserve*cell, 14*cell)
	start, perFrame := units.Time(0), (200 * units.Gbps).TxTime(198)
	for i, n := range want {
		text += fmt.Sprintf("  - flow: {from: h%d, to: h63, size: %dB, start: %v}\n", i, (n+2000)*100, start)
		start += perFrame*units.Time(n) + 2*units.Microsecond
	}
	r := runText(t, text+fmt.Sprintf("stop: %v\n", start))
	crossed := map[string]int64{}
	for _, e := range r.Ledger {
		if e.Mechanism == catalog.XOFFCross && e.Count == 1 {
			crossed[e.Actor.String()] = e.Sum / cell
		}
	}
	for i, n := range want {
		if got := crossed[fmt.Sprintf("sw:%d prio 3", i+1)]; away(got, n) > 2 {
			t.Errorf("group %d: XOFF at frame %d, measured %d", i+1, got, n)
		}
	}
}

// Lossy frames of the Tomahawk 5 drop where lossy_egress_drop of qos_params.th5.yaml says.
func TestSiliconLossyDrop(t *testing.T) {
	if testing.Short() {
		t.Skip("100,000 frames")
	}
	r := runText(t, fillText(96, "400Gbps", "{preset: tomahawk5}", 103500, 0))
	p := memoryPort(t, r, 3)
	// The queue's bytes are those of frames of 162 B, the first 178, each in a cell.
	if drop := p.PeakQueueBytes/162 + 1; p.Dropped == 0 || p.DropCauses[0].Cause != catalog.DropEgress || away(drop, 103371) > 2 {
		t.Errorf("drop at frame %d, %d dropped; measured 103371", drop, p.Dropped)
	}
}

// memoryPort is a port of the switch, in the class that did most.
func memoryPort(t *testing.T, r *record.Run, port int) (p record.Port) {
	t.Helper()
	for _, x := range r.Ports {
		if x.Node == "sw" && x.Port == port && x.PeakIngress+x.PeakQueueBytes+x.Dropped > p.PeakIngress+p.PeakQueueBytes+p.Dropped {
			p = x
		}
	}
	return p
}

func away(a, b int64) int64 { return max(a-b, b-a) }

// Never is more held than the memory: lossless and lossy incasts fill one pool together, and
// with `unlimited` a queue ends at the memory. The fabric's own check would panic; here the
// sum of what waits at a time is held against the memory from outside.
func TestMemoryIsShared(t *testing.T) {
	r := runText(t, `
stack: rocev2-pfc-only
topology: {star: {hosts: 12, link: 100Gbps, length: 5m}}
switch: {buffer: 4MB, pfc: {alpha: 8}, lossy: {alpha: 8}}
workload:
  - incast: {from: [h0, h1, h2, h3, h4], to: h10, size: 8MB, class: 3}
  - incast: {name: t, from: [h5, h6, h7, h8, h9], to: h11, size: 8MB, class: 0}
stop: 300us
`)
	lossless, lossy := memoryPort(t, r, 11).PeakQueueBytes, memoryPort(t, r, 12).PeakQueueBytes
	if sum := lossless + lossy; sum > 4_000_000 || sum < 3_500_000 {
		t.Errorf("queues of %d and %d bytes in a memory of 4 MB", lossless, lossy)
	}
	r = runText(t, `
stack: rocev2-none
topology: {star: {hosts: 3, link: 100Gbps}}
switch: {buffer: 1MB, lossy: unlimited}
workload:
  - incast: {to: h2, size: 8MB}
stop: 1ms
`)
	if p := memoryPort(t, r, 3); p.PeakQueueBytes > 1_000_000 || p.PeakQueueBytes < 990_000 || p.Dropped == 0 || p.DropCauses[0].Cause != catalog.DropPool {
		t.Errorf("a queue of %d bytes in a memory of 1 MB, %d dropped", p.PeakQueueBytes, p.Dropped)
	}
}

// Lossy frames lower the threshold of lossless groups (alpha times what is free of both):
// with a lossy queue that holds L of a pool S, one group crosses at alpha*(S-L)/(1+alpha).
func TestLossyFramesLowerXOFF(t *testing.T) {
	r := runText(t, `
stack: rocev2-pfc-only
topology: {star: {hosts: 5, link: 100Gbps}, links: [{between: [h3, sw], rate: 1Mbps}, {between: [h4, sw], rate: 1Mbps}]}
switch: {buffer: 2MB, pfc: {alpha: 1, reserved: 0B, headroom: 60KB}, lossy: {alpha: 1, pool: 2MB}}
workload:
  - flow: {from: h0, to: h3, size: 600KB, class: 0}
  - flow: {from: h1, to: h4, size: 2MB, class: 3, start: 60us}
stop: 300us
`)
	const shared = 2_000_000 - 5*60_000
	held := memoryPort(t, r, 4).PeakQueueBytes
	want := (shared - held) / 2
	p := memoryPort(t, r, 2)
	if p.Limits.XOFF == nil || p.PausesSent != 1 || away(p.Limits.XOFF.Value, want) > 4200 || held < 590_000 {
		t.Errorf("lossy queue of %d; XOFF %+v after %d pauses, want it at %d", held, p.Limits.XOFF, p.PausesSent, want)
	}
}

// Frames take whole cells: with alpha 1 a queue may hold half of a memory of 2,000 frames, of
// cells twice as large half as many.
func TestCellsInScenarios(t *testing.T) {
	for _, c := range []struct {
		cell string
		held int64 // frames
	}{{"162B", 1000}, {"324B", 500}} {
		r := runText(t, strings.Replace(fillText(4, "100Gbps", fmt.Sprintf("{size: 324000B, cell: %s, pools: {egress_lossy_pool: {size: 324000B}}, profiles: {egress_lossy_profile: {alpha: 1}}}", c.cell), 2000, 0),
			"rocev2-pfc-only", "rocev2-none", 1))
		p := memoryPort(t, r, 3)
		if got := p.PeakQueueBytes / 162; away(got, c.held) > 2 {
			t.Errorf("cells of %s: %d frames wait, want %d", c.cell, got, c.held)
		}
	}
}

// Headroom by the physical bound holds where a frame takes whole cells, whatever the cell, the
// parts, the cable and the size of frames; pools are so small that XOFF comes at once.
func TestCellsLoseNothingLossless(t *testing.T) {
	t.Parallel()
	for _, cell := range []int{96, 208, 254, 420} {
		for _, parts := range []int{1, 2} {
			for _, link := range []string{"10Gbps, length: 300m", "100Gbps, length: 5m", "400Gbps, length: 300m"} {
				for _, payload := range []int{1, 150, 1024} {
					text := fmt.Sprintf(`
stack: rocev2-pfc-only
mtu: 1024
packet_payload: %dB
topology: {star: {hosts: 6, link: {rate: %s}}}
switch: {memory: {cell: %dB, parts: %d, profiles: {pg_lossless_profile: {static_th: 20KB, xon_offset: 8KB, reserved: 2KB}}}}
workload:
  - incast: {from: [h0, h1, h2], to: h3, size: %dB}
  - incast: {from: [h3, h4], to: h0, size: %dB}
`, payload, link, cell, parts, 2500*payload, 2500*payload)
					r := runText(t, text)
					pauses := int64(0)
					for _, p := range r.Ports {
						pauses += p.PausesSent
						if p.Dropped > 0 {
							t.Errorf("%s\n%s:%d drops: %+v", text, p.Node, p.Port, p.DropCauses)
						}
					}
					if pauses == 0 {
						t.Errorf("%s\nnobody paused", text)
					}
				}
			}
		}
	}
}
