// Package conformance holds the congestion controllers of other programs to what hopscope's own are held to. A
// test of such a program calls Controller with its algorithm.
package conformance

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hopscope/hopscope"
)

// Controller tests an algorithm, in each of its presets: its declaration is in order; the same run gives the same
// results on one worker and on four, and again; it allocates nothing per acknowledgement; it never lets out more
// than its port's rate; its wake-ups are later than they are asked for and end when nothing is left to send; and
// it survives feedback that makes no sense.
func Controller(t *testing.T, a hopscope.Algorithm) {
	t.Helper()
	lib, err := hopscope.New(hopscope.WithControllers(a))
	if err != nil {
		t.Fatal(err)
	}
	presets := []string{""}
	for _, p := range a.Presets {
		presets = append(presets, p.Name)
	}
	for _, preset := range presets[min(len(presets)-1, 1):] {
		t.Run(a.Name+"/"+preset, func(t *testing.T) {
			declared(t, a.New(preset))
			runs(t, lib, a.Name, preset)
			feedback(t, a, preset)
		})
	}
}

// declared checks what settings say of themselves.
func declared(t *testing.T, s hopscope.Settings) {
	t.Helper()
	seen := map[string]bool{}
	for _, p := range s.Parameters() {
		if p.Source == "" {
			p.Source = "the preset"
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		if seen[p.Name] {
			t.Errorf("two parameters are called %s", p.Name)
		}
		seen[p.Name] = true
	}
	if key, message := s.Check(); message != "" {
		t.Errorf("the values of the preset are refused: %s: %s", key, message)
	}
}

// incast is sixteen hosts that send to one, twice, with a pause.
const incast = `
name: conformance
stack: rocev2
noise: off
controller: %s
topology: {star: {hosts: 9, link: {rate: 100Gbps, delay: 1us}}}
workload:
  - incast: {to: h8, size: 300KB}
  - incast: {to: h8, size: 100KB, start: 1ms}
`

// runs runs the incast, and checks the run and that it is the same whatever runs it.
func runs(t *testing.T, lib *hopscope.Library, name, preset string) {
	t.Helper()
	controller := name
	if preset != "" {
		controller = fmt.Sprintf("{%s: {preset: %s}}", name, preset)
	}
	s, err := lib.Parse("conformance.yaml", fmt.Appendf(nil, incast, controller))
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for _, workers := range []int{1, 4, 1} {
		r, err := s.Run(context.Background(), hopscope.Workers(workers))
		if err != nil {
			t.Fatal(err)
		}
		if r.Stopped != "quiescence" || r.OpenMessages > 0 {
			t.Fatalf("the run ends by %s with %d messages open: wake-ups do not end, or nothing may be sent",
				r.Stopped, r.OpenMessages)
		}
		for i := range r.QPs {
			q := &r.QPs[i]
			if q.FinalRateBps > 100*hopscope.Gbps || q.MinRateBps < 0 {
				t.Errorf("%s qp %d: a rate of %v at the end, over the port's", q.Host, q.QP, q.FinalRateBps)
			}
		}
		var out bytes.Buffer
		if err := r.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = out.Bytes()
		} else if !bytes.Equal(first, out.Bytes()) {
			t.Errorf("results with %d workers differ from the first: %s", workers, differing(first, out.Bytes()))
		}
	}
}

// differing is the first line in which two results differ.
func differing(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return strings.TrimSpace(y[i])
		}
	}
	return "the length"
}

// feedback tells a controller of random events, in random order and with random values.
func feedback(t *testing.T, a hopscope.Algorithm, preset string) {
	t.Helper()
	const line = 100 * hopscope.Gbps
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		l := hopscope.Link{Line: line, Initial: line, BaseRTT: 8 * hopscope.Microsecond, MTU: 4096, Frame: 4178}
		c, settings := start(a, preset, &l)
		needs := settings.Needs()
		now, acked, sent := hopscope.Time(0), uint64(0), uint64(0)
		hops := make([]hopscope.HopRecord, 5)
		for range 2000 {
			now += hopscope.Time(rnd.Int64N(int64(20 * hopscope.Microsecond)))
			if rnd.IntN(2) == 0 {
				sent += 4096
				c.OnSend(&hopscope.Sending{Now: now, Wire: 4178, Payload: 4096, Before: sent - 4096})
			} else {
				acked += min(uint64(rnd.IntN(3))*4096, sent-acked)
				c.OnFeedback(random(rnd, needs, now, acked, sent, hops))
			}
			decide(t, c, now)
		}
		ack := hopscope.Feedback{Kind: hopscope.Acked, Now: now, Acked: acked, Sent: sent + 4096, Bytes: 4096}
		if n := testing.AllocsPerRun(100, func() {
			now += hopscope.Microsecond
			ack.Now, ack.Acked = now, ack.Acked+1
			c.OnFeedback(&ack)
			c.Decide(now)
		}); n > 0 {
			t.Errorf("%g allocations per acknowledgement", n)
		}
	}
}

func start(a hopscope.Algorithm, preset string, l *hopscope.Link) (hopscope.RateController, hopscope.Settings) {
	s := a.New(preset)
	return s.Start(l), s
}

// decide checks what a controller decides, twice.
func decide(t *testing.T, c hopscope.RateController, now hopscope.Time) {
	t.Helper()
	d := c.Decide(now)
	if d.Again <= now {
		t.Fatalf("at %v it asks to be asked again at %v, which is not later", now, d.Again)
	}
	if d.Rate < 1 || d.Window < 0 || d.Gap < 0 {
		t.Fatalf("at %v it decides %+v: nothing may be sent, or less than nothing", now, d)
	}
	if d.Cause >= hopscope.NumCauses {
		t.Fatalf("at %v it gives the cause %d; there are 0 to %d", now, d.Cause, hopscope.NumCauses-1)
	}
	again := c.Decide(now)
	again.Probe, d.Probe = false, false
	if again != d {
		t.Fatalf("asked twice at %v it decides %+v, then %+v", now, d, again)
	}
}

// random is an event that a network may bring, or may not.
func random(rnd *rand.Rand, needs hopscope.Needs, now hopscope.Time, acked, sent uint64,
	hops []hopscope.HopRecord) *hopscope.Feedback {
	f := &hopscope.Feedback{Kind: hopscope.FeedbackKind(rnd.IntN(int(hopscope.TimedOut) + 1)),
		Fate: hopscope.Fate(rnd.IntN(int(hopscope.Lost) + 1)), Now: now, Acked: acked, Sent: sent, Bytes: int64(rnd.IntN(9000)), Hops: rnd.IntN(6)}
	if needs.Stamps || needs.Probes {
		out := now - hopscope.Time(rnd.Int64N(int64(now)+1))
		f.Stamps = hopscope.Stamps{Start: out, Out: out, Arrived: out + (now-out)/2, Replied: out + (now-out)/2}
	}
	if needs.INT && rnd.IntN(4) > 0 {
		for i := range hops {
			hops[i] = hopscope.HopRecord(rnd.Uint64())
		}
		f.INT = hops[:rnd.IntN(len(hops)+1)]
	}
	return f
}
