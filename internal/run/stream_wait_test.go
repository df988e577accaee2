package run_test

import (
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// stages adds up a message's account by stage.
func stages(f *record.Message) map[catalog.Stage]units.Time {
	sum := map[catalog.Stage]units.Time{}
	for _, s := range f.Account.Stages() {
		sum[s.Stage] += s.Time
	}
	return sum
}

// actOf is an act of the ledger, of whoever did it.
func actOf(r *record.Run, m catalog.Mechanism) (a record.Act) {
	for _, e := range r.Ledger {
		if e.Mechanism == m {
			a = e.Act
		}
	}
	return a
}

// A connection whose every segment is lost waits for nothing but its retransmission
// timer, though its congestion window is full and most of the message was never sent:
// all but the transmissions is that (RFC 6298 5.5 doubles the timeout up to its most).
func TestAllLost(t *testing.T) {
	r := simulate(t, parse(t, `
name: all lost
stack: tcp
topology:
  star: {hosts: 2, link: 10Gbps, delay: 10us}
  links: [{between: [h0, sw], loss: 1}]
host: {preset: free}
workload: [{flow: {from: h0, to: h1, size: 1MB}}]
`), 1, 1)
	f := &r.Messages[0]
	s := stages(f)
	sent := s[catalog.StageSending] + s[catalog.StageResending]
	if s[catalog.StageTimeout] != f.CompletionPS-sent || actOf(r, catalog.RTO).Count < 10 || sent > units.Millisecond {
		t.Errorf("%v in all: %v", f.CompletionPS, f.Account.Stages())
	}
}

// A link that is down for a while takes the window's segments with it. From the last
// acknowledgement before that to the expiry, the sender waited for its timer; what the
// window held it before and after stays the window's.
func TestTimeoutBehindWindow(t *testing.T) {
	const text = `
name: outage
stack: tcp
topology:
  star: {hosts: 2, link: 1Gbps, delay: 100us}
  links: [{between: [h0, sw], down_at: 20ms, up_at: 150ms}]
failover: {detect: 1s, converge: 1s}
host: {preset: free}
tcp: {preset: linux}
workload: [{flow: {from: h0, to: h1, size: 10MB}}]
`
	r := simulate(t, parse(t, text), 1, 1)
	f, rto := &r.Messages[0], actOf(r, catalog.RTO)
	if rto.Count != 1 {
		t.Fatalf("%d timeouts, want 1: %v", rto.Count, f.Account.Stages())
	}
	s := stages(f)
	// The last acknowledgement comes within a round trip, 4 delays and the queue of the
	// sender's window, of the failure; the probe takes some of the wait to send.
	waited, since := s[catalog.StageTimeout], rto.First-20*units.Millisecond
	if waited > since || waited < since-units.Millisecond {
		t.Errorf("awaiting timeout for %v; the link failed %v before it: %v", waited, since, f.Account.Stages())
	}
	if d := s[catalog.StageDetection]; d > units.Millisecond {
		t.Errorf("awaiting loss detection for %v: %v", d, f.Account.Stages())
	}
}

// A shorter outage takes the end of the first flight. Nothing comes until a probe goes
// out and its answer tells of the loss (RFC 8985 7): from the last transmission, at most
// 13 segments of 73 us after the post, to then the sender waited for that, though its
// window was full.
func TestProbeBehindWindow(t *testing.T) {
	r := simulate(t, parse(t, `
name: outage
stack: tcp
topology:
  star: {hosts: 2, link: 1Gbps, delay: 100us}
  links: [{between: [h0, sw], down_at: 300us, up_at: 1500us}]
failover: {detect: 1s, converge: 1s}
host: {preset: free}
workload: [{flow: {from: h0, to: h1, size: 400KB}}]
`), 1, 1)
	f, found := &r.Messages[0], actOf(r, catalog.LossRACK).First
	if probe := actOf(r, catalog.RetransTLP); probe.Count != 1 || probe.First > found || actOf(r, catalog.RTO).Count > 0 {
		t.Fatalf("%+v, losses found at %v", probe, found)
	}
	if d := stages(f)[catalog.StageDetection]; d > found-500*units.Microsecond || d < found-950*units.Microsecond {
		t.Errorf("awaiting loss detection for %v; it was found %v after the post: %v", d, found, f.Account.Stages())
	}
}
