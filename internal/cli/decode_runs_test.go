package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/decode"
	"github.com/hopscope/hopscope/internal/pcap"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// seen are mechanisms of which a capture at all hosts shows every act. Gaps are told of by NAKs, which
// repeat, and timeouts that end a queue pair send nothing.
var seen = []catalog.Mechanism{catalog.ECNMark, catalog.CNPSent, catalog.NAKSent, catalog.RNR, catalog.AckTimeout,
	catalog.RetransNAK, catalog.RetransTimer, catalog.RetransRNR, catalog.RetransMissing, catalog.RetransUnseen, catalog.FECNMark,
	catalog.BECNOnAck, catalog.AskedAgain, catalog.RetransRead}

// sums adds up acts of the mechanisms seen, of resends their bytes too.
func sums(ledger []record.Entry) map[string]string {
	count, bytes := map[catalog.Mechanism]int64{}, map[catalog.Mechanism]int64{}
	for _, e := range ledger {
		if slices.Contains(seen, e.Mechanism) {
			count[e.Mechanism] += e.Count
			bytes[e.Mechanism] += e.Sum
		}
	}
	out := map[string]string{}
	for m, n := range count {
		out[m.String()] = fmt.Sprint(n)
		if m.Question() == catalog.Recovered {
			out[m.String()] += fmt.Sprintf(", %d B", bytes[m])
		}
	}
	return out
}

// A capture of a run at all its hosts decodes to the run's own answers.
func TestDecodeOfRuns(t *testing.T) {
	for _, c := range []struct {
		scenario string
		set      []string
		posted   bool // messages leave when they are posted, so that their times are equal
	}{
		{scenario: "lossy-incast", posted: true},
		{scenario: "wrong-dscp-map", posted: true},
		{scenario: "link-failure", posted: true},
		{scenario: "incast-4to1", set: []string{"stack=rocev2-none", "workload[0].incast.size=24MB"}, posted: true},
		{scenario: "incast-4to1", set: []string{"stack=infiniband", "workload[0].incast.size=4MB"}, posted: true},
		{scenario: "incast-4to1", set: []string{"stack=rocev2-pfc-only", "workload[0].incast.size=16MB"}, posted: true},
		{scenario: "one-sided"},
	} {
		t.Run(fmt.Sprint(c.scenario, c.set), func(t *testing.T) {
			r, d := runAndDecode(t, c.scenario, c.set)
			if got, want := fmt.Sprint(sums(d.Ledger)), fmt.Sprint(sums(r.Ledger)); got != want {
				t.Errorf("decoded %v\nthe run has %v", got, want)
			}
			compareMessages(t, r, d, c.posted)
			comparePauses(t, r, d)
		})
	}
}

func runAndDecode(t *testing.T, scenario string, set []string) (*record.Run, *decode.Result) {
	t.Helper()
	dir := t.TempDir()
	args := []string{"run", scenario, "--pcap", dir + "/c.pcapng", "--pcap-ports", "hosts", "--json", dir + "/r.json", "-q", "--brief"}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	var out, errs bytes.Buffer
	if code := Main(context.Background(), args, &out, &errs, Pipeline{Do: run.Do, List: run.List}); code != 0 {
		t.Fatalf("status %d: %s", code, errs.String())
	}
	text, err := os.ReadFile(dir + "/r.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(dir + "/c.pcapng")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in, err := pcap.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := decode.Read(in, decode.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, d.Result()
}

// compareMessages compares sizes, and where they leave at once the times, to a nanosecond, which is
// what stamps have.
func compareMessages(t *testing.T, r *record.Run, d *decode.Result, posted bool) {
	t.Helper()
	type message struct {
		bytes int64
		verb  string
		took  units.Time
	}
	var got, want []message
	for _, m := range d.Messages {
		got = append(got, message{m.Bytes, m.Verb, m.TookPS})
	}
	for i := range r.Messages {
		if m := &r.Messages[i]; m.CompletionPS >= 0 {
			want = append(want, message{m.Bytes, m.Verb, m.CompletionPS})
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d messages, the run has %d", len(got), len(want))
	}
	order := func(a, b message) int {
		return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.verb, b.verb), cmp.Compare(a.took, b.took))
	}
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	for i := range got {
		off := got[i].took - want[i].took
		if got[i].bytes != want[i].bytes || got[i].verb != want[i].verb || posted && max(off, -off) > units.Nanosecond || off > units.Nanosecond {
			t.Errorf("message %+v, the run has %+v", got[i], want[i])
		}
	}
}

// A capture of TCP at all hosts shows every segment that was sent again. Why is told by SACK and by
// silence alone: the run knows of RACK and of probes.
func TestDecodeOfTCP(t *testing.T) {
	r, d := runAndDecode(t, "tcp-incast", nil)
	var got, want [2]int64
	for i := range d.Connections {
		got[0] += d.Connections[i].Resent
		got[1] += d.Connections[i].ResentBytes
	}
	for i := range r.QPs {
		want[0] += r.QPs[i].Retransmitted
		want[1] += r.QPs[i].RetransmittedBytes
	}
	if got != want || want[0] == 0 {
		t.Errorf("%d segments of %d B, the run has %d of %d B", got[0], got[1], want[0], want[1])
	}
}

// comparePauses compares what switches asked hosts for: how often, and for how long to a nanosecond for each frame.
func comparePauses(t *testing.T, r *record.Run, d *decode.Result) {
	t.Helper()
	got := map[string]decode.Pause{}
	for _, p := range d.Pauses {
		got[fmt.Sprint(p.Port, " ", p.Class)] = p
	}
	for i := range r.Ports {
		p := &r.Ports[i]
		g, ok := got[fmt.Sprint(record.PortName(p.Node, p.Port), " ", p.Class)]
		if !ok {
			continue
		}
		off := max(g.AskedPS-p.AskedPS, p.AskedPS-g.AskedPS)
		if g.Pauses != p.PausesSent || g.Resumes != p.ResumesSent || g.Refreshes != p.RefreshesSent || off > units.Time(g.Frames)*units.Nanosecond {
			t.Errorf("%s: %+v; the run has %d pauses, %d resumes, %d refreshes, %v", g.Port, g, p.PausesSent, p.ResumesSent, p.RefreshesSent, p.AskedPS)
		}
	}
}
