package ideal

import (
	"reflect"
	"slices"

	"github.com/hopscope/hopscope/internal/scenario"
)

// Alike numbers cards with what is behind them so that equal ones have one number.
func Alike(nics []scenario.NIC) []int {
	of := make([]int, len(nics))
	var kinds []int
	for i := range nics {
		k := slices.IndexFunc(kinds, func(k int) bool {
			a, b := nics[i], nics[k]
			a.Faults, b.Faults = nil, nil
			return a.Server == b.Server && reflect.DeepEqual(a, b)
		})
		if k < 0 {
			k, kinds = len(kinds), append(kinds, i)
		}
		of[i] = kinds[k]
	}
	return of
}
