package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
)

// A ring of three switches, of which each sends by its fast link what the slow ones pass on.
const ringOf3 = `
topology:
  hosts: [a, b, c]
  switches: [s1, s2, s3]
  links: [{between: [a, s1], rate: FAST}, {between: [b, s2], rate: FAST}, {between: [c, s3], rate: FAST},
    {between: [s1, s2], rate: SLOW}, {between: [s2, s3], rate: SLOW}, {between: [s3, s1], rate: SLOW}]
workload:
  - flow: {from: a, to: c, size: 4MB, path: [a, s1, s2, s3, c]}
  - flow: {from: b, to: a, size: 4MB, path: [b, s2, s3, s1, a]}
  - flow: {from: c, to: b, size: 4MB, path: [c, s3, s1, s2, b]}
`

// portsOf are the ports of a circle, whichever stands first.
func portsOf(circle []record.Waiting) (all []string) {
	for _, w := range circle {
		all = append(all, w.Port.String())
	}
	slices.Sort(all)
	return all
}

// TestBrokenCircle: a deadlock that a watchdog or a lifetime limit broke is the verdict, with the circle that the same
// scenario ends in without either.
func TestBrokenCircle(t *testing.T) {
	rates := func(stack, fast, slow string) string {
		return "stack: " + stack + strings.NewReplacer("FAST", fast, "SLOW", slow).Replace(ringOf3)
	}
	three := rates("rocev2-pfc-only", "400Gbps", "100Gbps") + "switch: {buffer: 2MB}\n"
	credits := rates("infiniband", "NDR", "EDR")
	watchdog := "switch.watchdog={action: %s, detection: %s, poll: %s, restoration: %s}"
	for _, c := range []struct {
		name, text, set, words string
	}{
		{"drop", three, fmt.Sprintf(watchdog, "drop", "200ms", "100ms", "200ms"), "PFC watchdog broke it at 300 ms"},
		{"forward", three, fmt.Sprintf(watchdog, "forward", "200ms", "100ms", "200ms"), "PFC watchdog broke it at 300 ms: "},
		{"another poll", three, fmt.Sprintf(watchdog, "drop", "100ms", "50ms", "400ms"), "PFC watchdog broke it at 150 ms"},
		{"four switches", ring, fmt.Sprintf(watchdog, "forward", "1ms", "500us", "5ms"), "PFC watchdog broke it at "},
		{"head of queue", credits, "infiniband.hoq_life=5", "the head-of-queue lifetime broke it at "},
		{"longer", credits, "infiniband.hoq_life=8", "the head-of-queue lifetime broke it at "},
	} {
		without, with := simulate(t, parse(t, c.text), 1, 1), simulate(t, parse(t, c.text, c.set), 1, 1)
		if without.Stopped != "deadlock" || with.Stopped != "quiescence" {
			t.Errorf("%s: stopped by %s, and with a break by %s", c.name, without.Stopped, with.Stopped)
			continue
		}
		if got, want := portsOf(metrics.BrokenCircle(with)), portsOf(without.Cycle); !slices.Equal(got, want) {
			t.Errorf("%s: the circle %v, and unbroken %v", c.name, got, want)
		}
		if got := metrics.BrokenCircle(without); got != nil {
			t.Errorf("%s: %v was broken by nothing", c.name, got)
		}
		v := metrics.Summarise(with).Verdict
		again := len(with.Storms) == 0 || len(with.Storms) > len(without.Cycle) // it closed again
		if v == nil || v.Kind != catalog.VerdictDeadlock || v.Ports != len(without.Cycle) || !strings.Contains(v.Text, c.words) ||
			strings.Contains(v.Text, "closed again") != again {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

// TestStormWithoutCircle: a storm that a card made is no deadlock, even where ports that it held are on a ring.
func TestStormWithoutCircle(t *testing.T) {
	text := "stack: rocev2-pfc-only" + strings.NewReplacer("FAST", "400Gbps", "SLOW", "100Gbps").Replace(ringOf3)
	last := strings.Index(text, "  - flow: {from: c")
	for _, kept := range []string{text[:last], text[:strings.Index(text, "  - flow: {from: b")]} { // which close no circle
		r := runText(t, kept+`switch: {buffer: 2MB, watchdog: {action: drop, detection: 1ms, poll: 500us, restoration: 5ms}}
hosts: {c: {faults: [{hang: {from: 50us, until: 20ms}}]}}
`)
		if len(r.Storms) == 0 {
			t.Error("no storm")
		}
		if got := metrics.BrokenCircle(r); got != nil {
			t.Errorf("a circle %v", got)
		}
		if v := metrics.Summarise(r).Verdict; v == nil || v.Kind == catalog.VerdictDeadlock {
			t.Errorf("%+v", v)
		}
	}
}
