package run_test

import (
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/units"
)

// TestQPsShareThePort: backlogged queue pairs of one NIC take turns, packet by
// packet.
func TestQPsShareThePort(t *testing.T) {
	r := simulate(t, parse(t, `
name: share
topology: {star: {hosts: 4, link: 100Gbps}}
dcqcn: none
measure: {from: 20us, to: 120us}
workload:
  - flow: {from: h0, to: h1, size: 4MB}
  - flow: {from: h0, to: h2, size: 1MB, count: 4}
  - flow: {from: h0, to: h3, size: 100KB, count: 40}
`), 0, 1)
	var least, most int64 = 1 << 62, 0
	for _, q := range r.QPs {
		if q.Host != "h0" {
			least, most = min(least, q.MeasuredBytes), max(most, q.MeasuredBytes)
		}
	}
	// A short last packet of a message takes a turn as well: 10 of them pass in
	// 100 us at a third of the rate, each up to a packet short.
	if least < 300_000 || most-least > 12*4096 {
		t.Errorf("queue pairs delivered %d to %d bytes within 100 us", least, most)
	}
	equal := simulate(t, parse(t, `
name: share
topology: {star: {hosts: 4, link: 100Gbps}}
dcqcn: none
measure: {from: 20us, to: 120us}
workload:
  - flow: {from: h0, to: h1, size: 4MB}
  - flow: {from: h0, to: h2, size: 4MB}
  - flow: {from: h0, to: h3, size: 4MB}
`), 0, 1)
	least, most = 1<<62, 0
	for _, q := range equal.QPs {
		if q.Host != "h0" {
			least, most = min(least, q.MeasuredBytes), max(most, q.MeasuredBytes)
		}
	}
	if most-least > 4096 {
		t.Errorf("three equal queue pairs delivered %d to %d bytes within 100 us", least, most)
	}
}

// TestSenderIsHeld: a sender that always has something to send is held for as
// long as it is paused, but for the frame that was on the wire when each pause
// came.
func TestSenderIsHeld(t *testing.T) {
	r := simulate(t, parse(t, `
name: held
stack: rocev2-pfc-only
topology: {star: {hosts: 3, link: 100Gbps}}
switch: {pfc: {xoff: 50KB}}
stop: 200us
workload:
  - incast: {from: [h0, h1], to: h2, size: 4MB}
`), 0, 1)
	tx := units.Rate(100 * units.Gbps).TxTime(4096 + 98)
	senders := 0
	for _, p := range r.Ports {
		if p.Node != "h0" && p.Node != "h1" || p.Class != 3 {
			continue
		}
		senders++
		// Two senders share one link: each is paused half of the time.
		if p.PausedPS < 60*units.Microsecond || p.PausedPS-p.HeldPS > units.Time(p.PausesReceived)*tx || p.HeldPS > p.PausedPS {
			t.Errorf("%s: held %d of %d ps in %d pauses", p.Node, p.HeldPS, p.PausedPS, p.PausesReceived)
		}
	}
	if senders != 2 {
		t.Errorf("%d senders have a line", senders)
	}
}

// TestReceiveBufferFull: without PFC a slow host loses what its NIC has no room
// for, which the NIC and not the switch detects.
func TestReceiveBufferFull(t *testing.T) {
	r := simulate(t, parse(t, `
name: full
topology: {star: {hosts: 2, link: 100Gbps}}
dcqcn: none
nic: {timeout: 6, pfc: none}
switch: {pfc: none, lossy: unlimited}
hosts:
  h1: {drain_rate: 40Gbps, rx_buffer: 200KB}
workload:
  - flow: {from: h0, to: h1, size: 1MB}
`), 0, 1)
	for _, p := range r.Ports {
		for _, d := range p.DropCauses {
			if p.Node != "h1" || d.Cause.String() != "NIC receive buffer full" {
				t.Errorf("%s drops %d frames: %s", p.Node, d.Count, d.Cause)
			}
		}
	}
	detected := int64(0)
	for _, e := range r.Ledger {
		if e.Mechanism == catalog.BufferDrop && e.Actor.Node == "h1" {
			detected += e.Count
		}
	}
	if detected == 0 || r.Messages[0].Status != "success" {
		t.Errorf("%d drops detected, message ended with %s", detected, r.Messages[0].Status)
	}
}
