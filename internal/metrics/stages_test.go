package metrics

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// What is kept of accounts gives what they were: of some hundred stages that follow one
// another in any order, more than followers remember, and of those that come in one order.
func TestKeptAccounts(t *testing.T) {
	for _, places := range []int{3, 40, 400} {
		draw := rand.New(rand.NewPCG(1, uint64(places)))
		accounts := make([]record.Deferred, 500)
		for i := range accounts {
			var list []record.StageTime
			for range draw.IntN(30) {
				list = append(list, record.StageTime{Stage: catalog.StageQueue, Where: record.PortAt("sw", draw.IntN(places)).Ptr(), Time: 1 + units.Time(draw.IntN(3))<<draw.IntN(60)})
			}
			accounts[i] = record.Known(list...)
		}
		keepers := []*stages{{}, {}}
		var reader, made stages
		const half, room = 200, 5000
		keepers[1].kept.first = half
		for i, a := range accounts {
			kept := keepers[0]
			if i >= half {
				kept = keepers[1]
			}
			if got, want := sumsOf(kept, kept.keep(a, room)), sumsOf(&made, made.read(a)); !slices.Equal(got, want) {
				t.Fatalf("%d places, account %d: %v, want %v", places, i, got, want)
			}
		}
		if a, b := len(keepers[0].kept.ends), len(keepers[1].kept.ends); a < 50 || a >= half || b < 50 || b >= len(accounts)-half {
			t.Fatalf("%d places: %d and %d accounts are kept", places, a, b)
		}
		for i, a := range accounts {
			if got, want := sumsOf(&reader, reader.again(keepers, i, a)), sumsOf(&made, made.read(a)); !slices.Equal(got, want) {
				t.Fatalf("%d places, account %d again: %v, want %v", places, i, got, want)
			}
		}
	}
}

// sumsOf gives stages their names.
func sumsOf(s *stages, of []stageTime) (out []string) {
	for _, t := range of {
		out = append(out, fmt.Sprint(s.known[t.number].stage, " ", s.known[t.number].where, " ", int64(t.time)))
	}
	return out
}
