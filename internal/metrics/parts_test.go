package metrics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Every stage that the records name belongs to a part, also in the account of a READ's
// responses; those of acknowledgements belong to the answer.
func TestStagesBelongToParts(t *testing.T) {
	src, err := os.ReadFile("../record/names.go")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "names.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, "Stage") {
			return true
		}
		lit, ok := v.Values[0].(*ast.BasicLit)
		if !ok {
			return true // of an acknowledgement
		}
		stage, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		for _, name := range []string{stage, record.ResponseStage + stage} {
			if part := partOf(name); part == PartUnknown || !slices.Contains(Parts(), part) {
				t.Errorf("%s, %q, belongs to %q", v.Names[0].Name, name, part)
			}
		}
		if part := partOf(record.AckStage + stage); part != PartAnswer {
			t.Errorf("%s of an acknowledgement belongs to %q", v.Names[0].Name, part)
		}
		return true
	})
	if seen < 40 {
		t.Errorf("%d stages found", seen)
	}
	if partOf(record.StageAckLost) != PartLost || partOf("no such stage") != PartUnknown {
		t.Error("a lost acknowledgement is recovery; what nobody names is other")
	}
}

// The worst is the message that took longest of those that completed, or a collective's
// critical path; parts come in their order, and operations in servers apart.
func TestWorstAccount(t *testing.T) {
	stage := func(name, where string, ps int64) record.Stage {
		return record.Stage{Name: name, Where: where, Time: units.Time(ps)}
	}
	r := &record.Run{Flows: []record.Flow{
		{Src: "h0", Dst: "h9", CompletionPS: 5, Status: "success", Account: record.Known(stage(record.StageSending, "", 5))},
		{Src: "h1/gpu0", Dst: "h9/gpu0", CompletionPS: 60, Status: "success", Account: record.Known(
			stage(record.StageWorkFetch, "", 1), stage(record.StageSending, "h1:1", 2), stage(record.StageQueue+" sw:5", "", 4), stage(record.StagePropagation, "h1 to sw", 8),
			stage(record.StageCopyIn, "", 16), stage(record.StageQueue, "sw:6", 29))},
		{Src: "h2", Dst: "h9", CompletionPS: 60, Status: "success"},
		{Src: "h3", Dst: "h9", CompletionPS: 99, Status: "RETRY_EXC_ERR"},
	}}
	of, parts := WorstAccount(r)
	if want := []AccountPart{{PartCopies, 16}, {PartInside, 1}, {PartQueued, 33}, {PartWire, 10}}; of != "h1/gpu0 -> h9/gpu0" || !slices.Equal(parts, want) {
		t.Errorf("%s: %v, want %v", of, parts, want)
	}
	r.Collectives = []record.Collective{{Workload: "none"}, {Workload: "ring", Critical: []record.CriticalGroup{
		{Kind: "reduce", Stages: []record.CriticalStage{{Name: record.StageQueue, TimePS: 3}, {Name: "kernel", TimePS: 4}}},
		{Kind: record.KindMessage, Stages: []record.CriticalStage{{Name: record.StageSending, TimePS: 5}}},
		{Kind: record.KindSlot, Stages: []record.CriticalStage{{Name: record.StageSending, TimePS: 6}}}}}}
	of, parts = WorstAccount(r)
	if want := []AccountPart{{PartWire, 11}, {PartLocal, 7}}; of != "ring, critical path" || !slices.Equal(parts, want) {
		t.Errorf("%s: %v, want %v", of, parts, want)
	}
	if of, parts = WorstAccount(&record.Run{Flows: r.Flows[3:]}); of != "" || parts != nil {
		t.Errorf("%s %v without a message that completed", of, parts)
	}
}
