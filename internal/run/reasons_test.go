package run_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
)

// said is the verdict of a run, what its answers say of the inside of hosts, and what the explanation
// of its first message says, each as one text.
func said(r *record.Run) (verdict, answers, explained string) {
	s := metrics.Summarise(r)
	if s.Verdict != nil {
		verdict = s.Verdict.Text
	}
	for i := range s.Answers {
		answers += strings.Join(slices.Concat(s.Answers[i].Receivers, s.Answers[i].Inside), "\n")
	}
	d := metrics.DominantStage(r, 0)
	return verdict, answers, d.How + "; " + d.Where
}

// What makes a way inside a host slow is named in the verdict, in the answers and in the explanation,
// by its word; with that one thing changed, nowhere.
func TestReasonsInside(t *testing.T) {
	for _, tt := range []struct {
		reason    catalog.Reason
		text      string
		old, as   string // what to change in the text so that the reason is gone
		word      string
		elsewhere bool // the cause is no limit inside a host
	}{
		{catalog.ReasonSockets, `
topology: {star: {hosts: 2, link: 400Gbps, length: 3m}}
server: two-socket
workload: [{flow: {from: h0/dram1, to: h1, size: 4MB}}]
`, "dram1", "dram0", "dram1 is at another socket than nic0 (NUMA)", false},
		{catalog.ReasonSockets, `
topology: {star: {hosts: 2, link: 400Gbps, length: 3m}}
server: two-socket
workload: [{flow: {from: h0, to: h1/dram1, size: 4MB}}]
`, "dram1", "dram0", "dram1 is at another socket than nic0 (NUMA)", false},
		{catalog.ReasonACS, `
topology: {star: {hosts: 2, link: 200Gbps, length: 3m}}
server: {preset: hgx-a100, acs: redirect}
workload: [{flow: {from: h0/gpu0, to: h1/gpu0, size: 8MB}}, {flow: {from: h1/gpu0, to: h0/gpu0, size: 8MB}}]
`, ", acs: redirect", "", "ACS sends what", false},
		{catalog.ReasonSlot, `
topology: {star: {hosts: 2, link: 400Gbps, length: 3m}}
server: dgx-h100
hosts: {h1: {server: {preset: dgx-h100, links: {nic0: {gen: 3, width: 16}}}}}
workload: [{flow: {from: h0/gpu0, to: h1/gpu0, size: 8MB}}]
`, "gen: 3", "gen: 5", "over a slow slot", false},
		{catalog.ReasonSlot, `
topology: {star: {hosts: 2, link: 400Gbps, length: 3m}}
server: dgx-h100
hosts: {h0: {server: {preset: dgx-h100, links: {nic0: {gen: 3, width: 16}}}}}
workload: [{flow: {from: h0/gpu0, to: h1/gpu0, size: 8MB}}]
`, "gen: 3", "gen: 5", "over a slow slot", false},
		{catalog.ReasonShared, `
topology: {star: {hosts: 2, link: 400Gbps, length: 3m}}
server: dgx-h100
workload: [{flow: {from: "h0:1/gpu0", to: "h1:1/gpu0", size: 8MB}}, {flow: {from: "h0:1/gpu1", to: "h1:1/gpu1", size: 8MB}}]
`, `{flow: {from: "h0:1/gpu1", to: "h1:1/gpu1", size: 8MB}}`, `{flow: {from: "h0:1/gpu0", to: "h1:1/gpu0", size: 8MB}}`, "a shared card: data of gpu0 and gpu1", true},
	} {
		r := runText(t, tt.text)
		verdict, answers, explained := said(r)
		for where, text := range map[string]string{"verdict": verdict, "answers": answers, "explanation": explained} {
			if !strings.Contains(text, tt.word) {
				t.Errorf("%s: the %s is %q, without %q", tt.reason, where, text, tt.word)
			}
		}
		d := metrics.DominantStage(r, 0)
		if v := metrics.Summarise(r).Verdict; v == nil || v.Cause.Why != tt.reason || d.Cause.Why != tt.reason {
			t.Errorf("%s: the verdict is %+v, the cause %+v", tt.reason, v, d.Cause)
		}
		if inside := d.Cause.Kind == catalog.CauseInside; inside == tt.elsewhere {
			t.Errorf("%s: the cause is %s", tt.reason, d.Cause.Kind)
		}
		if !strings.Contains(tt.text, tt.old) {
			t.Fatalf("%s: nothing to change", tt.reason)
		}
		verdict, answers, explained = said(runText(t, strings.ReplaceAll(tt.text, tt.old, tt.as)))
		for _, word := range []string{"ACS", "NUMA", "slow slot", "shared card"} {
			if all := verdict + answers + explained; strings.Contains(all, word) {
				t.Errorf("%s: with %q it is still %q", tt.reason, tt.as, all)
			}
		}
	}
}

// A core that is nearly all the time busy is named in the verdict and in the answers, and not where
// the link is so slow that it is not.
func TestBusyCoreNamed(t *testing.T) {
	const text = `
stack: tcp
topology: {star: {hosts: 2, link: 100Gbps, length: 3m}}
workload: [{flow: {from: h0, to: h1, size: 64MB}}]
`
	verdict, answers, _ := said(runText(t, text))
	for where, text := range map[string]string{"verdict": verdict, "answers": answers} {
		if !strings.Contains(text, "core 0 of h1 was busy for ") {
			t.Errorf("%s: %q", where, text)
		}
	}
	verdict, answers, _ = said(runText(t, strings.Replace(text, "100Gbps", "10Gbps", 1)))
	if strings.Contains(verdict+answers, "busy") {
		t.Errorf("%q, %q", verdict, answers)
	}
}
