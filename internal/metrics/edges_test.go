package metrics

import (
	"math"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// edge is a record of one message of a queue pair from h0 over a switch to h1.
func edge(f record.Message, l record.QPLimits) *record.Run {
	f.Src, f.Dst, f.Status = "h0", "h1", "success"
	l.LineBps, l.MTUBytes, l.Class = 400*units.Gbps, 4096, 3
	l.Path = []*record.PathHop{{Port: record.PortID{Node: "h0", Port: 1}, Peer: record.PortID{Node: "sw", Port: 1}, RateBps: 400 * units.Gbps}, {Port: record.PortID{Node: "sw", Port: 2}, Peer: record.PortID{Node: "h1", Port: 1}, RateBps: 400 * units.Gbps}}
	return &record.Run{FrameHeader: 62, RETH: 16, MinFrame: 64, WireOverhead: 20,
		Messages: []record.Message{f}, QPs: []record.QP{{Host: "h0", Limits: l}}}
}

// A message that comes within 2 % of its ceiling has reached it; one at 97 % has not.
// The ceiling of one write of 4096 B on a link is what its 4194 B leave of the rate.
func TestReachedWithin2Percent(t *testing.T) {
	const best = 400e9 * 4096 / (4096 + 62 + 16 + 20)
	bestBps := math.Floor(best)
	for _, c := range []struct {
		share float64
		want  bool
	}{{0.97, false}, {0.979, false}, {0.981, true}, {1, true}} {
		f := record.Message{Verb: verbWrite, Bytes: 4096, CompletionPS: units.Time(4096 * 8e12 / (best * c.share))}
		f.Account = record.Known(record.StageTime{Stage: catalog.StageIdle, Time: f.CompletionPS})
		r := edge(f, record.QPLimits{})
		x := newIndex(r)
		if got := x.ceiling(&r.Messages[0], &r.QPs[0]); got.Reached != c.want || got.BestBps != units.Rate(bestBps) {
			t.Errorf("at %g of the best rate: reached %v, best %d; want %v, %d", c.share, got.Reached, got.BestBps, c.want, units.Rate(bestBps))
		}
	}
}

// A window is judged before a packet is sent, so that the last packet may overshoot it:
// 10,000 B let three packets of 4096 B out.
func TestWindowOvershoots(t *testing.T) {
	const trip = 10 * units.Microsecond
	r := edge(record.Message{Verb: verbWrite, Bytes: 1_000_000}, record.QPLimits{WindowBytes: 10_000, BaseRTTPS: trip})
	x := newIndex(r)
	for _, l := range x.limitsOf(&r.Messages[0], &r.QPs[0]) {
		if l.Name == limitWindow {
			if want := RateOf(3*4096, trip); l.Bps != want {
				t.Errorf("the window allows %d bit/s, want %d", l.Bps, want)
			}
			return
		}
	}
	t.Error("no limit by the window")
}

// A write of one byte is one packet, header, RETH and all, of at least the least frame:
// 79 B are more than 64.
func TestFrameOfOnePacket(t *testing.T) {
	r := edge(record.Message{Verb: verbWrite, Bytes: 1}, record.QPLimits{})
	x := newIndex(r)
	if frame, onWire := x.messageBytes(&r.Messages[0], &r.QPs[0].Limits); frame != 1+62+16 || onWire != frame+20 {
		t.Errorf("a write of 1 B: %d B, %d on the wire; want 79 and 99", frame, onWire)
	}
}

// Drops of what travels the other way are none of this path: a port drops for want of
// headroom what arrives at it, and at an egress threshold what would leave it.
func TestDropsOfThePath(t *testing.T) {
	for _, c := range []struct {
		node  string
		port  int
		cause catalog.Drop
		found bool
	}{
		{"sw", 1, catalog.DropHeadroom, true},  // arrives from h0
		{"sw", 2, catalog.DropHeadroom, false}, // arrives from h1
		{"sw", 2, catalog.DropEgress, true},    // leaves for h1
		{"sw", 1, catalog.DropEgress, false},   // leaves for h0
		{"sw", 2, catalog.DropPool, true},
		{"sw", 1, catalog.DropPool, false},
	} {
		r := edge(record.Message{Bytes: 1}, record.QPLimits{})
		r.Ports = []record.Port{{Node: c.node, Port: c.port, Class: 3, DropCauses: []record.Drop{{Cause: c.cause, Act: record.Act{Count: 5}}}}}
		x := newIndex(r)
		if p, _ := x.firstDropped(&r.QPs[0]); (p != nil) != c.found {
			t.Errorf("%s at %s:%d: found %v, want %v", c.cause, c.node, c.port, p != nil, c.found)
		}
	}
}

// That nothing more came than could leave is no reason where the port was paused, even
// if the pause held no frame.
func TestPausedPortIsNotIdle(t *testing.T) {
	for _, paused := range []units.Time{0, units.Microsecond} {
		r := edge(record.Message{Bytes: 1}, record.QPLimits{})
		r.Ports = []record.Port{{Node: "sw", Port: 2, Class: 3, RateBps: 400 * units.Gbps, PausedPS: paused}}
		x := newIndex(r)
		why := x.inputCause([]*record.Port{&r.Ports[0]})
		if strings.Contains(why, "one port feeds sw:2") != (paused == 0) {
			t.Errorf("paused for %v: %q", paused, why)
		}
	}
}
