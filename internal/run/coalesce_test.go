package run_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/metrics"
)

// TestCoalescedTwice: under marks without end a receiver sends a CNP every N, 50 us, and a sender that heeds
// one every M heeds 1 of ceil(M/N): each second with 60 us, each third with 110 us, all with 50 us.
// First-generation cards keep CNPs apart at the receiver, later ones at the sender (NSDI 2023, 7.2).
func TestCoalescedTwice(t *testing.T) {
	v := parse(t, `
noise: off
topology: {star: {hosts: 5, link: 100Gbps}}
dcqcn: {preset: paper, cnp_limiter: queue-pair, rpg_min_rate: 40Gbps}
nic: {cnp_coalesce: sender}
hosts:
  h0: {cnp_interval: 60us}
  h1: {cnp_interval: 110us}
  h2: {cnp_interval: 50us}
  h4: {cnp_coalesce: receiver, cnp_interval: 50us}
workload: [incast: {to: h4, size: 40MB}]
`)
	r := simulate(t, v, 1, 1)
	heeds := map[string]float64{"h0": 1. / 2, "h1": 1. / 3, "h2": 1, "h3": 1}
	for i := range r.QPs {
		q := &r.QPs[i]
		want, sends := heeds[q.Host]
		if !sends {
			continue
		}
		if q.CNPsReceived < 200 {
			t.Errorf("%s: only %d CNPs", q.Host, q.CNPsReceived)
		}
		if got := 1 - float64(q.CNPsIgnored)/float64(q.CNPsReceived); math.Abs(got-want) > 0.03 {
			t.Errorf("%s heeds %.3f of its CNPs, not %.3f", q.Host, got, want)
		}
	}
	if said := strings.Join(metrics.Control(r), "\n"); !strings.Contains(said, "CNPs are kept apart twice: h4 sends at most one per 50 us, and h0 ") {
		t.Errorf("the report says nothing of it: %s", said)
	}
}

// TestMissingCNPs: where the link to a sender loses CNPs, the explanation of its message says how many, and
// those of others do not.
func TestMissingCNPs(t *testing.T) {
	v := parse(t, `
topology:
  star: {hosts: 4, link: 100Gbps}
  links: [{between: [h0, sw], loss: 0.5, loss_priorities: [6]}]
workload: [incast: {to: h3, size: 8MB}]
`)
	r := simulate(t, v, 1, 1)
	sent, received := int64(0), int64(0)
	for i := range r.QPs {
		if q := &r.QPs[i]; q.Host == "h0" {
			received = q.CNPsReceived
		} else if q.Peer.Node == "h0" {
			sent = q.CNPsSent
		}
	}
	for i := range r.Messages {
		d, _ := metrics.Explain(r, i)
		want := fmt.Sprintf("on the way back sw:1 dropped %d CNPs in priority 6", sent-received)
		if says := strings.Contains(d.How, want); says != (r.Messages[i].Src == "h0") {
			t.Errorf("message %d: %s; %d of %d CNPs did not arrive", i, d.How, sent-received, sent)
		}
	}
}
