package run_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
)

// Waits that neither ports nor queue pairs show reach the report where they cost more than a tenth
// of the time, and only there; a verdict that tells of one stands for it.
func TestWaits(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		kind       catalog.Cause
		words      string
	}{
		{"receives", "stack: rocev2" + threeHosts + `hosts: {h3: {repost: 50us}}
workload: [{flow: {from: h0, to: h3, size: 64KB, count: 20, verb: send, receives: 2}}]`,
			catalog.CauseReceives, "for receive work requests at h3 (RNR NAKs): "},
		{"timeout", "stack: rocev2-none\n" + `topology: {star: {hosts: 2, link: {rate: 100Gbps, loss: 0.1}}}
nic: {timeout: 8}
workload: [{flow: {from: h0, to: h1, size: 4KB, count: 50, every: 5us}}]`, catalog.CauseLoss, "for a NAK, or a timeout, to tell of a loss"},
		{"failure", "stack: rocev2\nfailover: {detect: never}\nnic: {timeout: 8}\n" + `topology:
  star: {hosts: 2, link: 100Gbps}
  links: [{between: [sw, h1], down_at: 20us, up_at: 400us}]
workload: [{flow: {from: h0, to: h1, size: 1MB}}]`, catalog.NoCause, ""},
		{"strict class", "stack: rocev2-pfc-only" + "\ntopology: {star: {hosts: 4, link: 100Gbps}}\n" + `switch: {pfc: {enabled: [3, 6]}}
workload: [{flow: {from: h0, to: h3, size: 8MB, class: 6}}, {flow: {from: h1, to: h3, size: 1MB, class: 3}}]`, catalog.CauseClass, "behind classes that are served first, most of it at sw:4 prio 3"},
		{"incast", "stack: rocev2-pfc-only" + threeHosts + `workload: [{incast: {from: [h0, h1], to: h3, size: 4MB}}]`, catalog.NoCause, ""},
	} {
		waits := metrics.Summarise(runText(t, tt.text)).Waits
		switch {
		case tt.kind == catalog.NoCause && len(waits) > 0:
			t.Errorf("%s: %s", tt.name, waits[0].Text)
		case tt.kind == catalog.NoCause:
		case len(waits) == 0:
			t.Errorf("%s: nothing is said", tt.name)
		case waits[0].Kind != tt.kind || !strings.Contains(waits[0].Text, tt.words):
			t.Errorf("%s: %s: %q, want %s: %q", tt.name, waits[0].Kind, waits[0].Text, tt.kind, tt.words)
		case max(waits[0].Milli, waits[0].SlowestMilli) <= 100:
			t.Errorf("%s: %d and %d thousandths are not worth a line", tt.name, waits[0].Milli, waits[0].SlowestMilli)
		}
	}
}
