package run_test

import (
	"context"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
)

// runText runs the text of a scenario.
func runText(t *testing.T, text string) *record.Run {
	t.Helper()
	w, err := build.New(parse(t, text), build.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run.Simulate(context.Background(), w, run.Options{Workers: 1})
}

// A first post 2 s into the run changes neither the mean queue nor the
// utilisation: both count from there.
func TestMeansCountFromTheFirstPost(t *testing.T) {
	text := func(start string) string {
		return "topology: {star: {hosts: 3, link: 100Gbps}}\ndcqcn: none\nworkload:\n" +
			"  - incast: {from: [h0, h1], to: h2, size: 1MB, start: " + start + "}\n"
	}
	at0, late := runText(t, text("0s")), runText(t, text("2s"))
	busy := 0
	for i, p := range at0.Ports {
		q := late.Ports[i]
		if q.MeanQueueBytes != p.MeanQueueBytes || q.Utilisation != p.Utilisation {
			t.Errorf("%s:%d prio %d: mean %g B, used %g; posted at 0: %g B, %g", p.Node, p.Port, p.Class, q.MeanQueueBytes, q.Utilisation, p.MeanQueueBytes, p.Utilisation)
		}
		if p.MeanQueueBytes > 1e5 && p.Utilisation > 0.9 {
			busy++
		}
	}
	if busy != 1 {
		t.Errorf("%d ports with a queue and a full link, want 1", busy)
	}
}

// What a queue pair sent is its messages once and what it sent again.
func TestRetransmittedBytes(t *testing.T) {
	r := runText(t, "stack: rocev2-none\ntopology: {star: {hosts: 5, link: 100Gbps}}\nswitch: {buffer: 2MB}\n"+
		"nic: {timeout: 8}\nworkload:\n  - incast: {from: [h0, h1, h2, h3], to: h4, size: 1000001B}\n")
	want := map[string]int64{}
	for _, f := range r.Messages {
		if f.Status != "success" {
			t.Fatalf("%s to %s: %s", f.Src, f.Dst, f.Status)
		}
		want[f.Src] += f.Bytes
	}
	again := int64(0)
	for _, q := range r.QPs {
		if got := q.SentBytes - q.RetransmittedBytes; got != want[q.Host] {
			t.Errorf("%s qp %d: %d B sent, %d of them again: %d, want %d", q.Host, q.QP, q.SentBytes, q.RetransmittedBytes, got, want[q.Host])
		}
		again += q.RetransmittedBytes
	}
	if again == 0 {
		t.Error("nothing was sent again")
	}
}
