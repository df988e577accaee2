// Command own-controller is hopscope with a congestion control of somebody else's: Headway, which keeps the
// busiest link of a path at a part of its rate, by the telemetry of the switches, and halves when round trips
// grow beyond a bound whatever the switches say. It is an example of how an idea is tried, not an idea.
//
//	go run . run incast-4to1 --set controller=headway
//	go run . compare incast-4to1 --stacks rocev2 --set controller.headway.target=0.9
//	go run . show controller.headway
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hopscope/hopscope"
	"github.com/hopscope/hopscope/command"
)

func main() {
	lib, err := hopscope.New(hopscope.WithControllers(Headway()))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(command.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr, lib))
}

// Headway declares the algorithm: this row is all that hopscope needs to know of it.
func Headway() hopscope.Algorithm {
	return hopscope.Algorithm{
		Name: "headway", Title: "Headway", Source: "this example",
		Text: "The sender keeps the busiest link of its path at a part of its rate.",
		New: func(string) hopscope.Settings {
			return &settings{target: 0.95, step: 1 * hopscope.Bytes(4096), patience: 4}
		},
	}
}

// settings are the values of one scenario, which its senders share.
type settings struct {
	target   float64
	step     hopscope.Bytes
	patience float64
}

func (s *settings) Parameters() []hopscope.Param {
	return []hopscope.Param{
		{Name: "target", Value: &s.target, Min: 0.1, Max: 1, Source: "assumed",
			Text: "What part of its rate the busiest link is to carry."},
		{Name: "step", Value: &s.step, Min: 64, Max: 1e6, Source: "assumed: a packet",
			Text: "What the window grows by in a round trip."},
		{Name: "patience", Value: &s.patience, Min: 1.1, Max: 100, Source: "assumed",
			Text: "Round trips of so many base ones halve the window."},
	}
}

func (s *settings) Check() (key, message string) { return "", "" }

// Needs asks for the telemetry of each hop, and for the times of packets by the cards' clocks.
func (s *settings) Needs() hopscope.Needs {
	return hopscope.Needs{INT: true, Stamps: true, EveryAck: true}
}

func (s *settings) Start(l *hopscope.Link) hopscope.RateController {
	return &headway{settings: s, line: l.Line, base: l.BaseRTT, most: l.BDP(), window: l.BDP()}
}

// headway is the state of one sender.
type headway struct {
	*settings
	line         hopscope.Rate
	base         hopscope.Time
	most, window int64
	before       [5]hopscope.HopRecord
	hops         int    // of before
	next         uint64 // payload acknowledged from which the window may change again: once per round trip
	cause        hopscope.Cause
}

func (h *headway) OnSend(*hopscope.Sending) {}

func (h *headway) OnFeedback(f *hopscope.Feedback) {
	switch {
	case f.Kind == hopscope.TimedOut:
		h.set(h.window/2, hopscope.ByLoss)
		return
	case f.Kind != hopscope.Acked || len(f.INT) == 0:
		return
	}
	load := h.busiest(f.INT)
	if f.Acked < h.next || load < 0 {
		return
	}
	h.next = f.Sent
	if rtt := f.Stamps.RTT(f.Now); float64(rtt) > h.patience*float64(h.base) {
		h.set(h.window/2, hopscope.ByDelay)
		return
	}
	if load > h.target {
		h.set(int64(float64(h.window)*h.target/load)+int64(h.step), hopscope.ByTelemetry)
		return
	}
	h.set(h.window+int64(h.step), hopscope.ByProgress)
}

// busiest is the load of the busiest link since the last record of each, as a part of its rate; negative without
// records of the same path before.
func (h *headway) busiest(hops []hopscope.HopRecord) float64 {
	load, known := 0.0, h.hops == len(hops)
	for i, hop := range hops {
		if known && hop.Rate() > 0 {
			dt, sent := hop.Since(h.before[i], 1)
			bytes := float64(hop.Rate()) / 8e12 // in a picosecond
			if dt > 0 {
				load = max(load, float64(sent)/(bytes*float64(dt))+float64(hop.Queue(1))/(bytes*float64(h.base)))
			}
		}
		h.before[i] = hop
	}
	h.hops = len(hops)
	if !known {
		return -1
	}
	return load
}

func (h *headway) set(window int64, cause hopscope.Cause) {
	h.window, h.cause = min(max(window, 1), h.most), cause
}

func (h *headway) Decide(hopscope.Time) hopscope.Decision {
	rate := min(hopscope.Rate(float64(h.window)*8e12/float64(h.base)), h.line)
	return hopscope.Decision{Rate: max(rate, 1), Window: h.window, Again: hopscope.Never, Cause: h.cause}
}
