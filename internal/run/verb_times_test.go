package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// two hosts at a switch without latency, 100 Gb/s (80 ps per byte) and 1 us each.
const verbs = `
name: verbs
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
switch: {latency: 0ns}
dcqcn: none
workload:
  - flow: {from: h0, to: h1, %s}
`

// Frames of RoCEv2 over Ethernet (models.md 4.1, 4.5): 62 bytes around the
// payload and its extended headers, at least 64, and 20 more on the wire.
func onWire(extended, payload int) units.Time {
	return units.Time(max(62+extended+payload, 64)+20) * 80
}

// hops is the way of a frame of that time on the wire: onto two links, along
// both.
func hops(wire units.Time) units.Time { return 2*wire + 2*units.Microsecond }

// TestVerbTimes: how long one message takes, alone. An ACK has an AETH of 4
// bytes, a READ request a RETH of 16, a READ response an AETH in its first and
// last packet, an atomic 28 bytes, its ACK 4 and 8, immediate data and the key
// to invalidate 4 (IBTA 9.3); UD's DETH has 8. A message of UC or UD completes
// with the last bit, which the gap of 12 bytes follows.
func TestVerbTimes(t *testing.T) {
	ack, gap := hops(onWire(4, 0)), 12*80*units.Picosecond
	const mtu = 4096
	for _, c := range []struct {
		options         string
		took, delivered units.Time
	}{
		{"size: 4096B, verb: write", hops(onWire(16, mtu)) + ack, 0},
		{"size: 4096B, verb: send", hops(onWire(0, mtu)) + ack, 0},
		{"size: 4096B, verb: write-imm", hops(onWire(20, mtu)) + ack, 0},
		{"size: 4096B, verb: send-imm", hops(onWire(4, mtu)) + ack, 0},
		{"size: 4096B, verb: send-inv", hops(onWire(4, mtu)) + ack, 0},
		{"size: 4096B, verb: read", hops(onWire(16, 0)) + hops(onWire(4, mtu)), 0},
		// 256 packets: the first and the last have an AETH, the second link follows
		// the first by a packet.
		{"size: 1MiB, verb: read", hops(onWire(16, 0)) + onWire(4, mtu) + 254*onWire(0, mtu) + hops(onWire(4, mtu)), 0},
		{"size: 1B, verb: read", hops(onWire(16, 0)) + hops(onWire(4, 4)), 0},
		{"verb: cas", hops(onWire(28, 0)) + hops(onWire(12, 0)), 0},
		{"verb: fetch-add", hops(onWire(28, 0)) + hops(onWire(12, 0)), 0},
		{"size: 4096B, service: uc, verb: write", onWire(16, mtu) - gap, hops(onWire(16, mtu))},
		{"size: 8192B, service: uc, verb: send", 2*onWire(0, mtu) - gap, onWire(0, mtu) + hops(onWire(0, mtu))},
		{"size: 8192B, service: uc, verb: write-imm", onWire(16, mtu) + onWire(4, mtu) - gap, 0},
		{"size: 1000B, service: ud, verb: send", onWire(8, 1000) - gap, hops(onWire(8, 1000))},
		{"size: 1000B, service: ud, verb: send-imm", onWire(12, 1000) - gap, hops(onWire(12, 1000))},
	} {
		t.Run(c.options, func(t *testing.T) {
			f := simulate(t, parse(t, fmt.Sprintf(verbs, c.options)), 1, 1).Messages[0]
			if f.Status != "success" || f.CompletionPS != c.took {
				t.Errorf("%s after %d ps, want %d", f.Status, f.CompletionPS, c.took)
			}
			if c.delivered != 0 && f.DeliveredPS != c.delivered {
				t.Errorf("delivered after %d ps, want %d", f.DeliveredPS, c.delivered)
			}
			if reliable := f.Service == catalog.RC; reliable != (f.DeliveredPS == 0) {
				t.Errorf("%s: delivered after %d ps", f.Service, f.DeliveredPS)
			}
		})
	}
}

// TestOutstandingReads: with n READs outstanding, n complete per round trip, and
// a fenced one waits for that before it (IBTA 10.8.3.3).
func TestOutstandingReads(t *testing.T) {
	const messages = 64
	one := hops(onWire(16, 0)) + hops(onWire(4, 8))
	for _, n := range []units.Time{1, 2, 8} {
		r := simulate(t, parse(t, fmt.Sprintf(verbs, fmt.Sprintf("size: 8B, verb: read, count: %d", messages)),
			fmt.Sprintf("nic.max_rd_atomic=%d", n)), 1, 1)
		last := r.Messages[messages-1]
		// A round trip later the next n follow, a request at a time.
		least := messages / n * one
		if most := least + messages/n*n*onWire(16, 0); last.CompletionPS < least || last.CompletionPS > most {
			t.Errorf("%d READs, %d outstanding, take %d ps, want %d to %d", messages, n, last.CompletionPS, least, most)
		}
		if first := r.Messages[n]; stage(&first, catalog.StageReads) == 0 {
			t.Errorf("with %d outstanding the next READ did not wait for them: %v", n, first.Account.Stages())
		}
	}
	r := simulate(t, parse(t, fmt.Sprintf(verbs, fmt.Sprintf("size: 8B, verb: read, fence: true, count: %d", messages))), 1, 1)
	if last := r.Messages[messages-1]; last.CompletionPS != messages*one || stage(&last, catalog.StageFence) == 0 {
		t.Errorf("%d fenced READs take %d ps, want %d; %v", messages, last.CompletionPS, messages*one, last.Account.Stages())
	}
}

// stage is the time that an account has under a name.
func stage(f *record.Message, name catalog.Stage) (d units.Time) {
	for _, s := range f.Account.Stages() {
		if s.Stage == name {
			d += s.Time
		}
	}
	return d
}

// TestLostWithoutAck: UC and UD complete whatever becomes of the message, and the
// run counts what was lost; a READ whose response is lost waits for the timer, and
// without one for ever.
func TestLostWithoutAck(t *testing.T) {
	for _, c := range []struct {
		options, stopped, status string
		delivered                units.Time
	}{
		{"size: 1000B, service: uc, verb: write", "quiescence", "success", -1},
		{"size: 1000B, service: ud, verb: send", "quiescence", "success", -1},
		{"size: 1000B, verb: read", "stalled", "open", 0},
		{"verb: cas", "stalled", "open", 0},
	} {
		r := simulate(t, parse(t, fmt.Sprintf(verbs, c.options), "nic.timeout=0", "topology.star.link.drop_every=1"), 1, 1)
		if f := r.Messages[0]; r.Stopped != c.stopped || f.Status != c.status || f.DeliveredPS != c.delivered {
			t.Errorf("%s: %s, message %s, delivered after %d ps", c.options, r.Stopped, f.Status, f.DeliveredPS)
		}
	}
}

// TestReadDataGoesBack: what congestion control, pauses and ceilings do to data
// they do to a READ's on its way from the responder: a cycle of READs deadlocks as
// one of WRITEs does, the responder is paced, and a requester that takes data
// slowly pauses it.
func TestReadDataGoesBack(t *testing.T) {
	cycle := strings.ReplaceAll(ring, "size: 4MB,", "size: 4MB, verb: read,")
	if r := simulate(t, parse(t, cycle), 1, 1); r.Stopped != "deadlock" {
		t.Errorf("a cycle of READs: stopped by %s", r.Stopped)
	}

	const packets = 1954 // 8 MB
	wire := units.Bytes(8e6 + packets*82 + 8)
	read := func(set ...string) *record.Run {
		r := simulate(t, parse(t, strings.Replace(fmt.Sprintf(verbs, "size: 8MB, verb: read"), "dcqcn: none", "dcqcn: nvidia", 1), set...), 1, 1)
		if r.Messages[0].Status != "success" {
			t.Fatalf("%v: %s", set, r.Messages[0].Status)
		}
		return r
	}
	// At 40 Gb/s instead of the line's 100 each packet but the last is followed by
	// a wait of 1.5 times its wire time.
	r := read("dcqcn.rpg_max_rate=40Gbps")
	f := &r.Messages[0]
	last := units.Bytes(8e6 - (packets-1)*4096 + 82 + 4)
	waits := units.Rate(40*units.Gbps).TxTimeLong(wire-last) - units.Rate(100*units.Gbps).TxTimeLong(wire-last)
	if got := stage(f, catalog.StageRate.On(catalog.LegResponse)); got < waits-packets || got > waits+packets {
		t.Errorf("the responder's rate holds the READ for %d ps, want %d; %v", got, waits, f.Account.Stages())
	}
	for i := range r.QPs {
		if q := &r.QPs[i]; q.Host == "h1" && q.DeliveredBytes != 8e6 || q.Host == "h0" && q.DeliveredBytes != 0 {
			t.Errorf("%s took %d bytes", q.Host, q.DeliveredBytes)
		}
	}

	r = read("hosts.h1.drain_rate=20Gbps", "hosts.h1.rx_buffer=200KB", "switch.buffer=2MB")
	if c := metrics.CeilingOf(r, 0); !c.Reached || c.At != "receive buffer of h1" {
		t.Errorf("a slow requester: %+v", c)
	}
	if d := metrics.DominantStage(r, 0); d.Stage != catalog.StagePaused.On(catalog.LegResponse) || d.Where != "receive buffer of h1" {
		t.Errorf("a slow requester: %s at %s, %s", d.Stage, d.Where, d.How)
	}
}
