package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
)

// insideCase has two hosts with a server, and data from h0 to h1 or both ways.
const insideCase = `
name: inside
stack: %s
topology: {star: {hosts: 2, link: %s, length: 5m}}
server: {preset: %s}
hosts: {h1: {server: {preset: %s}}}
workload:
  - flow: {from: h0%s, to: h1%s, size: 8MB}
%s`

// With ACS both ways share the links to the root complex: what bounds each is
// server.Predict's rate both ways, not that of one (12.8 GB/s of an x16 link of generation
// 4), and the ceilings say so.
func TestSharedByBothWays(t *testing.T) {
	const acs = "hgx-a100, acs: redirect"
	r := simulate(t, parse(t, fmt.Sprintf(insideCase, "rocev2-pfc-only", "200Gbps", acs, acs, "/gpu0", "/gpu0", "  - flow: {from: h1/gpu1, to: h0/gpu1, size: 8MB}\n")), 0, 1)
	c := metrics.Ceilings(r)[0]
	limits := r.QPs[r.Messages[0].QP].Limits.Inside
	if c.At != "inside h0" || len(limits) != 2 || limits[0].Duplex == nil || limits[1].Duplex == nil {
		t.Fatalf("the ceiling is at %s of %+v", c.At, limits)
	}
	goodput := metrics.Goodput(&r.Messages[0])
	if got := c.BestBps; got != limits[0].Duplex.Bps || goodput < got*95/100 || goodput > got*101/100 {
		t.Errorf("%v, said to be bounded by %v of %v", goodput, got, limits[0].Duplex.Bps)
	}
	if got, want := metrics.InsideBut(lang.English, limits[1].Duplex), " while it reads as much, as ACS sends what gpu0 and nic0 exchange up to the root complex"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	one := simulate(t, parse(t, fmt.Sprintf(insideCase, "rocev2-pfc-only", "200Gbps", acs, acs, "/gpu0", "/gpu0", "")), 0, 1)
	if c := metrics.Ceilings(one)[0]; c.BestBps < 2*limits[0].Duplex.Bps*9/10 || strings.Contains(c.How, "while it") {
		t.Errorf("one way: %+v", c)
	}
}

// A receiver whose IOMMU walks for every page takes less than its links: each page of
// 8 MB misses once, and the answers name the misses. With the IOMMU off nobody is slow.
func TestIOTLBMissesNamed(t *testing.T) {
	answers := func(iommu string) []string {
		host := "dgx-h100, iommu: " + iommu
		r := simulate(t, parse(t, fmt.Sprintf(insideCase, "rocev2-pfc-only", "400Gbps", "dgx-h100", host, "", "", "")), 0, 1)
		for _, s := range r.Servers {
			for _, m := range s.IOMMUs {
				if pages := int64(8000000/4096) + 1; m.Misses < pages || m.Misses > pages+4 || m.WaitedPS <= 0 || s.Host != "h1" {
					t.Errorf("%s: %+v, %d pages", s.Host, m, pages)
				}
			}
		}
		return metrics.Summarise(r).Answers[0].Receivers
	}
	if got := answers("on"); len(got) != 1 || !strings.Contains(got[0], "misses of the IOTLB cost, 330 ns each") {
		t.Errorf("%q", got)
	}
	if got := answers("off"); len(got) > 0 {
		t.Errorf("without IOMMU: %q", got)
	}
}

// What DCQCN slowed because a switch's queue filled behind a receiver's PCIe link names
// that link.
func TestCauseBehindMarks(t *testing.T) {
	slow := "dgx-h100, links: {nic0: {gen: 4, width: 8}}"
	r := simulate(t, parse(t, fmt.Sprintf(insideCase, "rocev2", "400Gbps", "dgx-h100", slow, "/gpu0", "/gpu0", "")), 0, 1)
	if how := metrics.DominantStage(r, 0).How; !strings.Contains(how, "because h1 takes data only at 106 Gb/s over PCIe gen4 x8, nic0 to switch0") {
		t.Errorf("%q", how)
	}
}

// Of a message of one packet that is read from the other socket's memory, no rate is told:
// it takes the latency of the way.
func TestOnePacketTakesLatency(t *testing.T) {
	for size, want := range map[string]bool{"8B": true, "4KB": true, "32KB": false} {
		text := fmt.Sprintf(insideCase, "rocev2-pfc-only", "200Gbps", "dgx-a100", "dgx-a100", "/gpu2", "/gpu0", "")
		text = strings.Replace(text, "8MB", size, 1)
		r := simulate(t, parse(t, text), 0, 1)
		d := metrics.DominantStage(r, 0)
		if got := strings.Contains(d.How, "the latency of that way"); d.Stage != catalog.StageRead || got != want || strings.Contains(d.How, "at most") == want {
			t.Errorf("%s: %s: %q", size, d.Stage, d.How)
		}
	}
}
