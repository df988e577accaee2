package metrics

import (
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// The worst is the message that took longest of those that completed, or a collective's
// critical path; parts come in their order, and operations in servers apart.
func TestWorstAccount(t *testing.T) {
	stage := func(stage catalog.Stage, where record.Place, ps int64) record.StageTime {
		return record.StageTime{Stage: stage, Where: &where, Time: units.Time(ps)}
	}
	r := &record.Run{Messages: []record.Message{
		{Src: "h0", Dst: "h9", CompletionPS: 5, Status: "success", Account: record.Known(stage(catalog.StageSending, record.Place{}, 5))},
		{Src: "h1/gpu0", Dst: "h9/gpu0", CompletionPS: 60, Status: "success", Account: record.Known(
			stage(catalog.StageWorkFetch, record.Place{}, 1), stage(catalog.StageSending, record.PortAt("h1", 1), 2), stage(catalog.StageQueue, record.PortAt("sw", 5), 4), stage(catalog.StagePropagation, record.CableAt("h1", "sw"), 8),
			stage(catalog.StageCopyIn, record.Place{}, 16), stage(catalog.StageQueue, record.PortAt("sw", 6), 29))},
		{Src: "h2", Dst: "h9", CompletionPS: 60, Status: "success"},
		{Src: "h3", Dst: "h9", CompletionPS: 99, Status: "RETRY_EXC_ERR"},
	}}
	of, parts := WorstAccount(r)
	if want := []AccountPart{{catalog.PartCopies, 16}, {catalog.PartInside, 1}, {catalog.PartQueued, 33}, {catalog.PartWire, 10}}; of != "h1/gpu0 -> h9/gpu0" || !slices.Equal(parts, want) {
		t.Errorf("%s: %v, want %v", of, parts, want)
	}
	r.Collectives = []record.Collective{{Workload: "none"}, {Workload: "ring", Critical: []record.CriticalGroup{
		{Kind: "reduce", Stages: []record.CriticalStage{{Stage: catalog.StageQueue, TimePS: 3}, {Label: "kernel", TimePS: 4}}},
		{Kind: record.KindMessage, Stages: []record.CriticalStage{{Stage: catalog.StageSending, TimePS: 5}}},
		{Kind: record.KindSlot, Stages: []record.CriticalStage{{Stage: catalog.StageSending, TimePS: 6}}}}}}
	of, parts = WorstAccount(r)
	if want := []AccountPart{{catalog.PartWire, 11}, {catalog.PartLocal, 7}}; of != "ring, critical path" || !slices.Equal(parts, want) {
		t.Errorf("%s: %v, want %v", of, parts, want)
	}
	if of, parts = WorstAccount(&record.Run{Messages: r.Messages[3:]}); of != "" || parts != nil {
		t.Errorf("%s %v without a message that completed", of, parts)
	}
}
