package scenario

import (
	"slices"
	"testing"
)

// What people say leads to the scenarios that show it, whatever ending, case or common word they use.
func TestFindSymptom(t *testing.T) {
	list := List()
	for _, c := range []struct {
		words string
		want  []string
	}{
		{"low busbw", []string{"lossy-cable", "polarised-ecmp", "two-jobs"}},
		{"Slow bandwidth", []string{"lossy-cable", "polarised-ecmp", "two-jobs"}},
		{"pfc storm", []string{"pause-storm"}},
		{"pause storms", []string{"pause-storm"}},
		{"deadlocked", []string{"deadlock-ring"}},
		{"hangs", []string{"deadlock-ring"}},
		{"drops", []string{"short-headroom", "wrong-dscp-map"}},
		{"packet loss", []string{"short-headroom", "wrong-dscp-map"}},
		{"NIC pauses", []string{"slow-pcie"}},
		{"no CNPs", []string{"pfc-before-ecn"}},
		{"flapping", []string{"flapping-link"}},
		{"the noisy neighbor", []string{"two-jobs"}},
	} {
		var got []string
		for _, f := range FindSymptom(list, c.words) {
			got = append(got, f.Scenario)
		}
		for _, w := range c.want {
			if !slices.Contains(got, w) {
				t.Errorf("%q finds %v, and not %s", c.words, got, w)
			}
		}
	}
	for _, none := range []string{"", " the ", "unicorn", "coffee machine broken"} {
		if got := FindSymptom(list, none); got != nil {
			t.Errorf("%q finds %v", none, got)
		}
	}
}

// Each symptom is found by its own words.
func TestSymptomsFindThemselves(t *testing.T) {
	list := List()
	for _, name := range Symptoms(list) {
		if !slices.ContainsFunc(FindSymptom(list, name), func(f Found) bool { return f.Name == name }) {
			t.Errorf("%q does not find itself", name)
		}
	}
}
