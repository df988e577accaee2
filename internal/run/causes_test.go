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

// Each test takes one cause away, or changes it alone, and looks at the stage that
// is named after it. The frame sizes are those of verb_times_test.go.

// TestWaitForReceives: what a message sent behind others waits for when the
// responder runs out of receive work requests is no loss, with either recovery:
// each RNR NAK asks for 10 us (timer code 1, models.md 4.3).
func TestWaitForReceives(t *testing.T) {
	const text = `
name: rnr
stack: rocev2-pfc-only
topology: {star: {hosts: 4, link: 100Gbps}}
hosts: {h3: {repost: 20us, poll: 1us}}
nic: {min_rnr_timer: 1}
workload:
  - incast: {to: h3, verb: write-imm, size: 64KB, count: 10, receives: 3}
`
	for _, recovery := range []string{"go-back-n", "selective-repeat", "irn"} {
		r := simulate(t, parse(t, text, "nic.recovery="+recovery), 1, 1)
		f := &r.Messages[29]
		if stage(f, catalog.StageRNRWait) == 0 || stage(f, catalog.StageAwaitRNR) == 0 {
			t.Errorf("%s: no wait for receives: %v", recovery, f.Account.Stages())
		}
		if stage(f, catalog.StageLoss) > 0 {
			t.Errorf("%s: a loss without one: %v", recovery, f.Account.Stages())
		}
		if d := metrics.DominantStage(r, 29); d.Where != "receive queue of h3" && !strings.Contains(d.How, "what held its messages most: RNR wait") {
			t.Errorf("%s: %+v", recovery, d)
		}
		enough := simulate(t, parse(t, text, "nic.recovery="+recovery, "workload[0].incast.receives=10"), 1, 1)
		if f := &enough.Messages[29]; stage(f, catalog.StageRNRWait)+stage(f, catalog.StageAwaitRNR) > 0 {
			t.Errorf("%s: with a receive for each: %v", recovery, f.Account.Stages())
		}
	}
}

// lostResponse has READs whose responses cross a link that loses every so many.
const lostResponse = `
name: lost response
topology:
  star: {hosts: 2, link: 100Gbps}
  links: [{between: [h0, sw], drop_every: %d}]
nic: {recovery: selective-repeat, bitmap: 4096}
dcqcn: none
workload:
  - flow: {from: h0, to: h1, verb: read, size: %dB, count: %d}
`

// TestLostResponse: the last response but one of a READ is lost. Up to its last
// response everything is as without the loss; then one more READ for a packet
// passes, and the port that dropped is named.
func TestLostResponse(t *testing.T) {
	run := func(every int) (*record.Run, map[string]units.Time) {
		r := simulate(t, parse(t, fmt.Sprintf(lostResponse, every, 100*4096, 1)), 1, 1)
		return r, sums(r.Messages[0].Account.Stages())
	}
	clean, before := run(1000)
	lossy, after := run(99)
	again := units.Rate(100 * units.Gbps).TxTime(62 + 16 + 20)
	response := units.Rate(100 * units.Gbps).TxTime(62 + 4 + 4096 + 20)
	cost := 2*(again+response) + 4*25*units.Nanosecond + 2*300*units.Nanosecond
	if got := lossy.Messages[0].CompletionPS - clean.Messages[0].CompletionPS; got != cost {
		t.Errorf("the loss costs %d ps, want %d", got, cost)
	}
	if got := after["response sending h0:1"]; got != before["response sending h0:1"] {
		t.Errorf("response sending takes %d ps, without a loss %d", got, before["response sending h0:1"])
	}
	d := metrics.DominantStage(lossy, 0)
	if d.Stage.String() != "response sending" || !strings.Contains(d.Loss, "h0:1 dropped 1 frame of its connection (drop_every)") {
		t.Errorf("%+v", d)
	}
	if d := metrics.DominantStage(clean, 0); d.Loss != "" {
		t.Errorf("without a loss: %+v", d)
	}
}

// TestLostResponseInBetween: while a response is sent again the others go on. It
// costs its own time, and no message stands before the first.
func TestLostResponseInBetween(t *testing.T) {
	r := simulate(t, parse(t, fmt.Sprintf(lostResponse, 60, 100*4096, 1)), 1, 1)
	clean := simulate(t, parse(t, fmt.Sprintf(lostResponse, 1000, 100*4096, 1)), 1, 1)
	got, was := sums(r.Messages[0].Account.Stages()), sums(clean.Messages[0].Account.Stages())
	if one := units.Rate(100 * units.Gbps).TxTime(62 + 4 + 4096 + 20); got["response resending h0:1"] != one || r.Messages[0].CompletionPS != clean.Messages[0].CompletionPS+one {
		t.Errorf("resending takes %d ps, want %d; %v", got["response resending h0:1"], one, r.Messages[0].Account.Stages())
	}
	if got["response sending h0:1"] != was["response sending h0:1"] || got["response behind earlier work"] != 0 {
		t.Errorf("%v, without a loss %v", got, was)
	}
}

// TestWaitForEarlierREAD: the last of the six responses to a READ is lost, as the
// first of the two to the next one tells. That one's account is as without a loss,
// and then it waits for the first: a round trip, in which its second came.
func TestWaitForEarlierREAD(t *testing.T) {
	run := func(every int) *record.Message {
		v := parse(t, fmt.Sprintf(lostResponse, every, 6*4096, 2))
		v.Plan.Single()
		v.Plan.Series[1].Bytes = 2 * 4096
		return &simulate(t, v, 1, 1).Messages[1]
	}
	clean, f := run(1000), run(6)
	want := readRTT(4096) - units.Rate(100*units.Gbps).TxTime(62+4+4096+20)
	if got := stage(f, catalog.StageInOrder); got != want {
		t.Errorf("behind the READ before it for %d ps, want %d; %v", got, want, f.Account.Stages())
	}
	after, before := sums(f.Account.Stages()), sums(clean.Account.Stages())
	delete(after, catalog.StageInOrder.String())
	if fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("up to then %v, without a loss %v", after, before)
	}
}

// readRTT is a READ of n bytes on an idle star of 100 Gb/s and 5 m.
func readRTT(n units.Bytes) units.Time {
	r := units.Rate(100 * units.Gbps)
	return 2*(r.TxTime(62+16+20)+r.TxTime(62+4+n+20)) + 4*25*units.Nanosecond + 2*300*units.Nanosecond
}

// TestTimeoutIsNoWindow: one packet may be outstanding and the seventh is lost.
// Nothing tells but the timer, and that time is no wait for a bitmap or window.
func TestTimeoutIsNoWindow(t *testing.T) {
	const timeout = 16 * 4096 * units.Nanosecond // Local ACK Timeout 4
	for _, verb := range []string{"write", "read"} {
		for _, limit := range []string{"nic.bitmap=1", "nic.window=4096B"} {
			set := []string{limit, "nic.timeout=4", "nic.max_rd_atomic=1", "workload[0].flow.verb=" + verb}
			run := func(every int) *record.Run {
				text := strings.Replace(fmt.Sprintf(lostResponse, every, 10*4096, 1), "bitmap: 4096", "bitmap: 8", 1)
				return simulate(t, parse(t, strings.Replace(text, "[h0, sw]", "[h1, sw]", 1), set...), 1, 1)
			}
			if verb == "write" { // posted by h0: its data crosses the link to h1
				set = append(set, "workload[0].flow.from=h1", "workload[0].flow.to=h0")
			}
			clean, lossy := run(1000), run(7)
			got, was := stage(&lossy.Messages[0], catalog.StageLoss), stage(&clean.Messages[0], catalog.StageLoss)
			losses := units.Time(1)
			if verb == "read" {
				losses = 2 // the seventh response, too
			}
			if more := lossy.Messages[0].CompletionPS - clean.Messages[0].CompletionPS; more != losses*timeout {
				t.Errorf("%s, %s: the losses cost %d ps", verb, limit, more)
			}
			// Then what was sent again has to be acknowledged.
			if was != 0 || got < losses*(timeout-units.Microsecond) || got > losses*(timeout+units.Microsecond) {
				t.Errorf("%s, %s: awaiting NAK or timeout %d ps, without a loss %d, want about %d; %v", verb, limit, got, was, losses*timeout, lossy.Messages[0].Account.Stages())
			}
			for _, s := range []catalog.Stage{catalog.StageBitmap, catalog.StageWindow} {
				if a, b := stage(&lossy.Messages[0], s), stage(&clean.Messages[0], s); a > b {
					t.Errorf("%s, %s: %s grows from %d to %d ps", verb, limit, s, b, a)
				}
			}
		}
	}
}

// TestReadInParts: a READ longer than the bitmap is asked for in parts, which are
// no earlier messages. On a short path the line is what holds it; on a long one the
// bitmap, which the ceiling and the mechanisms tell.
func TestReadInParts(t *testing.T) {
	const packets = 4000
	text := fmt.Sprintf(strings.Replace(lostResponse, "bitmap: 4096", "bitmap: 64", 1), 1_000_000, packets*4096, 1)
	tx := units.Rate(100 * units.Gbps).TxTime(62 + 4096 + 20)
	for _, c := range []struct {
		length, stage string
	}{{"5m", "response sending"}, {"10km", "bitmap"}} {
		r := simulate(t, parse(t, text, "topology.star.length="+c.length, "topology.links[0].length="+c.length), 1, 1)
		f := &r.Messages[0]
		if got, want := stage(f, catalog.StageSending.On(catalog.LegResponse)), packets*tx; got < want-tx || got > want+want/1000*8 {
			t.Errorf("%s: responses take %d ps, want %d", c.length, got, want)
		}
		if stage(f, catalog.StageEarlierWork.On(catalog.LegResponse)) != 0 {
			t.Errorf("%s: behind itself: %v", c.length, f.Account.Stages())
		}
		if d := metrics.DominantStage(r, 0); d.Stage.String() != c.stage {
			t.Errorf("%s: %+v; %v", c.length, d, f.Account.Stages())
		}
		held := stage(f, catalog.StageBitmap)
		if far := c.length == "10km"; far != (metrics.CeilingOf(r, 0).At == "bitmap") || far != (held > f.CompletionPS/2) {
			t.Errorf("%s: %+v, held for %d ps", c.length, metrics.CeilingOf(r, 0), held)
		}
	}
}

// TestReadLimitInWords: with one READ outstanding, one passes per round trip: that
// is the ceiling, and what messages wait for behind others.
func TestReadLimitInWords(t *testing.T) {
	r := simulate(t, parse(t, `
name: one at a time
topology: {star: {hosts: 2, link: 100Gbps}}
nic: {max_rd_atomic: 1}
workload: [{flow: {from: h0, to: h1, verb: read, size: 4096B, count: 100}}]
`), 1, 1)
	c := metrics.CeilingOf(r, 50)
	if want := metrics.RateOf(4096, readRTT(4096)); c.At != "max_rd_atomic" || c.BestBps != want {
		t.Errorf("%+v, want %d", c, want)
	}
	if took := r.Messages[99].CompletionPS; metrics.RateOf(100*4096, took) != c.BestBps {
		t.Errorf("all took %d ps", took)
	}
	if d := metrics.DominantStage(r, 50); d.Stage != catalog.StageEarlierWork || !strings.Contains(d.How, "were not sent yet: h1 qp 0 had as many READs and atomics outstanding as max_rd_atomic allows: 1") {
		t.Errorf("%+v", d)
	}
	for _, s := range metrics.Mechanisms(r, 0) {
		if s.Mechanism == catalog.ReadsHeld && (s.Fired != 1 || s.Places[0].Value != 1 || s.Places[0].Threshold != 1) {
			t.Errorf("%+v", s)
		}
	}
}

// TestAskedAgain: a requester that misses a response tells the responder by asking
// again; only the response is sent again. An atomic is.
func TestAskedAgain(t *testing.T) {
	for _, recovery := range []string{"go-back-n", "selective-repeat", "irn"} {
		r := simulate(t, parse(t, fmt.Sprintf(lostResponse, 9, 10*4096, 1), "nic.recovery="+recovery), 1, 1)
		acts := map[catalog.Mechanism]int64{}
		for _, e := range r.Ledger {
			acts[e.Mechanism] += e.Count
		}
		resent := int64(1)
		if recovery == "go-back-n" {
			resent = 2 // and the one behind it
		}
		if recovery == "irn" && acts[catalog.AckTimeout] == 1 { // of three packets in flight or fewer the timer tells first
			continue
		}
		if acts[catalog.AskedAgain] != 1 || acts[catalog.RetransRead] != resent || acts[catalog.RetransNAK]+acts[catalog.RetransMissing] != 0 {
			t.Errorf("%s: %v", recovery, acts)
		}
		if n := r.QPs[0].Retransmitted + r.QPs[1].Retransmitted; n != resent {
			t.Errorf("%s: %d packets retransmitted, want %d", recovery, n, resent)
		}
	}
}

// TestRefusedInOrder: a request is on the wire before it is refused, and the words
// say that it was.
func TestRefusedInOrder(t *testing.T) {
	r := simulate(t, parse(t, fmt.Sprintf(verbs, "size: 64KB, verb: read, rkey: wrong")), 1, 1)
	a := r.Messages[0].Account.Stages()
	if len(a) != 2 || a[0].Stage.String() != "sending" || a[1].Stage.String() != "awaiting acknowledgement" {
		t.Errorf("%v", a)
	}
	if d := metrics.DominantStage(r, 0); !strings.Contains(d.How, "refused it: REM_ACCESS_ERR") {
		t.Errorf("%+v", d)
	}
}

// TestWindowOfAtomics: atomics fill no window, and what keeps them from it is told.
func TestWindowOfAtomics(t *testing.T) {
	const text = "name: atomics\ntopology: {star: {hosts: 2, link: 100Gbps}}\nnic: {recovery: irn}\nworkload: [{flow: {from: h0, to: h1, verb: cas, count: 100}}]\n"
	for _, c := range []struct{ set, says string }{
		{"nic.max_rd_atomic=16", "max_rd_atomic let it ask for 128 B at a time"},
		{"workload[0].flow.count=10", "it asked for only 80 B in all"},
	} {
		for _, s := range metrics.Mechanisms(simulate(t, parse(t, text, c.set), 1, 1), 0) {
			if s.Mechanism == catalog.WindowHeld && s.Why != c.says {
				t.Errorf("%s: %q, want %q", c.set, s.Why, c.says)
			}
		}
	}
}
