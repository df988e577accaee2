package run_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// The only packet of the second message is lost. It takes the timeout longer than
// the first: the Local ACK Timeout of 67 ms, or the shortest of the adaptive timer,
// and the account calls that time by its name.
func TestTailLossAdaptive(t *testing.T) {
	for nic, timeout := range map[string]units.Time{
		"timeout: 14": 67108864 * units.Nanosecond, "adaptive_timeout: true": 4096 * units.Microsecond,
		"adaptive_timeout: {min: 50us}, slow_restart: true": 50 * units.Microsecond,
	} {
		r := runText(t, fmt.Sprintf(`
stack: rocev2-lossy
dcqcn: none
topology:
  star: {hosts: 2, link: 100Gbps}
  links: [{between: [h0, sw], drop_every: 2}]
nic: {%s}
workload:
  - flow: {from: h0, to: h1, size: 4096B}
  - flow: {from: h0, to: h1, size: 4096B, start: 50us}
`, nic))
		first, second := r.Messages[0].CompletionPS, r.Messages[1].CompletionPS
		if second-first != timeout {
			t.Errorf("%s: %d more than without loss, want %d", nic, second-first, timeout)
		}
		if got := stage(&r.Messages[1], catalog.StageLoss); got != timeout {
			t.Errorf("%s: %d of it awaiting the timer: %v", nic, got, r.Messages[1].Account.Stages())
		}
	}
}

// Two messages of eight packets on one queue pair, 50 us apart. After idle the second
// leaves in rounds of 2, 4 and 2 packets; between them the slow restart holds the
// sender, for a round trip less the wire time of the round's packets, and the
// ledger names it.
func TestSlowRestartIsNamed(t *testing.T) {
	r := runText(t, `
dcqcn: none
topology: {star: {hosts: 2, link: 100Gbps}}
nic: {slow_restart: {idle: 20us}}
workload:
  - flow: {from: h0, to: h1, size: 32KiB, verb: send, count: 2, every: 50us}
`)
	l := r.QPs[0].Limits
	frame := units.Time(4096+82) * 80
	want := l.BaseRTTPS - 2*frame + l.BaseRTTPS - 4*frame
	if got := stage(&r.Messages[1], catalog.StageSlowRestart); got != want || l.SlowRestartPS != want || !l.SlowRestart {
		t.Errorf("slow restart held the message for %d and the queue pair for %d, want %d: %v", got, l.SlowRestartPS, want, r.Messages[1].Account.Stages())
	}
	if got := stage(&r.Messages[0], catalog.StageSlowRestart); got != 0 {
		t.Errorf("slow restart held the first message for %d", got)
	}
	named := false
	for _, e := range r.Ledger {
		named = named || e.Question == catalog.Slowed && e.Mechanism == catalog.SlowRestart && e.Actor == record.QPAt(catalog.RC, "h0", 0) && e.Act.Count == 1
	}
	if !named {
		t.Errorf("the ledger has no slow restart: %+v", r.Ledger)
	}
}
