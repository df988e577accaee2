package metrics

import (
	"testing"

	"github.com/hopscope/hopscope/internal/record"
)

// Calls are paired by their numbers, whatever lies between; what is not over counts
// as open, and quantiles are over the rest.
func TestCalls(t *testing.T) {
	const open = -1
	r := &record.Run{EndPS: 1000, Messages: []record.Message{
		{Workload: "a", Call: 1, StartPS: 0, DeliveredPS: 10},
		{Workload: "b", Call: 3, StartPS: 5, DeliveredPS: 20},
		{Workload: "other", StartPS: 0, CompletionPS: 7},
		{Workload: "a", Call: 2, StartPS: 100, DeliveredPS: 30},
		{Workload: "a", Call: 4, StartPS: 900, DeliveredPS: open},
		{Workload: "a", Call: 5, StartPS: 990, DeliveredPS: 4},
		{Workload: "a", Call: 2, Reply: true, StartPS: 135, DeliveredPS: 7}, // after thinking for 5
		{Workload: "b", Call: 3, Reply: true, StartPS: 25, DeliveredPS: open},
		{Workload: "a", Call: 1, Reply: true, StartPS: 10, DeliveredPS: 2},
		{Workload: "a", Call: 4, Reply: true, StartPS: 1000, DeliveredPS: open}, // never posted
		{Workload: "a", Call: 5, Reply: true, StartPS: 1000, DeliveredPS: open},
	}}
	want := []Call{
		{"a", 0, 8, 0, 10, 0, 2, 12},
		{"b", 1, 7, 5, 20, 0, open, open},
		{"a", 3, 6, 100, 30, 5, 7, 42},
		{"a", 4, 9, 900, open, open, open, open},
		{"a", 5, 10, 990, 4, open, open, open},
	}
	got := CallsOf(r)
	if len(got) != len(want) {
		t.Fatalf("%d calls, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("call %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	s := Summarise(r).Calls
	if len(s) != 2 || s[0].Workload != "a" || s[0].Calls != 4 || s[0].Completed != 2 || s[0].LatencyPS.P50 != 12 || s[0].LatencyPS.P99 != 42 || s[0].LatencyPS.Worst != 42 ||
		s[1].Workload != "b" || s[1].Calls != 1 || s[1].Completed != 0 {
		t.Errorf("summary %+v", s)
	}
	if all := CallLatency(r); all.N != 2 || all.Mean != 27 {
		t.Errorf("latency of all %+v, want 2 of 27 ps in the mean", all)
	}
}
