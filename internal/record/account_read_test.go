package record

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/units"
)

// TestReadAccount: accounts come back as they were written, with the quick reader, which takes
// what Account.MarshalJSON writes of plain names, and with the library, which takes the rest.
func TestReadAccount(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	var places []*Place
	for _, node := range []string{"leaf1", "h<2>", `q"`, "ä"} {
		p := PortAt(node, 1+rnd.IntN(40))
		places = append(places, &p)
	}
	names, stages := NamesOf(places), catalog.Stages()
	quick := 0
	for range 500 {
		a := Account{}
		for range rnd.IntN(9) {
			s := StageTime{Stage: stages[rnd.IntN(len(stages))], Time: units.Time(rnd.Int64N(1 << rnd.IntN(63)))}
			if k := rnd.IntN(len(places) + 1); k < len(places) {
				s.Where = places[k]
			}
			a = append(a, s)
		}
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		back, err := names.ReadAccount(data)
		if err != nil || !reflect.DeepEqual(a, back) {
			t.Fatalf("%s came back as %v, %v", data, back, err)
		}
		if _, ok := names.quick(data); ok {
			quick++
		}
		spaced, _ := json.MarshalIndent(a, "", " ")
		if back, err := names.ReadAccount(spaced); err != nil || !reflect.DeepEqual(a, back) {
			t.Fatalf("%s came back as %v, %v", spaced, back, err)
		}
		for n := range data { // what is cut short is read by neither
			if back, err := names.ReadAccount(data[:n]); err == nil {
				t.Fatalf("%s was read as %v", data[:n], back)
			}
		}
	}
	if quick < 100 || quick == 500 {
		t.Errorf("the quick reader took %d accounts of 500, some of which have names that are escaped", quick)
	}
	for _, wrong := range []string{`[{"stage":"no such","ps":1}]`, `[{"stage":"queue","where":"nowhere","ps":1}]`, `[{"stage":"queue","ps":1},]`, `{}`} {
		if a, err := names.ReadAccount([]byte(wrong)); err == nil {
			t.Errorf("%s was read as %v", wrong, a)
		}
	}
}
