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
		{"a NIC that hung for 50 ms", []string{"pause-storm"}},
		{"pause frames at night", []string{"pause-storm"}},
		{"watchdog fires", []string{"pause-storm"}},
		{"tx_pause_storm_warning_events", []string{"pause-storm"}},
		{"black hole", []string{"link-failure"}},
		{"packets vanish", []string{"link-failure"}},
		{"switch reboot", []string{"link-failure"}},
		{"local_ack_timeout_err", []string{"link-failure"}},
		{"packet_seq_err", []string{"lossy-cable"}},
		{"FEC", []string{"lossy-cable"}},
		{"SymbolErrorCounter", []string{"lossy-cable"}},
		{"stragglers", []string{"lossy-cable"}},
		{"all-reduce slow", []string{"lossy-cable", "two-jobs"}},
		{"training step slower when another job runs", []string{"two-jobs"}},
		{"IBV_WC_RETRY_EXC_ERR", []string{"mtu-mismatch"}},
		{"error 12", []string{"mtu-mismatch"}},
		{"jumbo frames", []string{"mtu-mismatch"}},
		{"credit starvation", []string{"ib-slow-receiver"}},
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

// What no scenario shows has neighbours that share a word with it or nearly so, and no list of everything.
func TestNearSymptoms(t *testing.T) {
	list := List()
	for _, words := range []string{"rx_discards_phy on one host", "stragler hosts at the far end of the row"} {
		near := NearSymptoms(list, words)
		if len(near) == 0 || len(near) > mostNear {
			t.Errorf("%q is near %v", words, near)
		}
	}
	if near := NearSymptoms(list, "stragler"); len(near) == 0 || near[0] != "stragglers" {
		t.Errorf("a slip of stragglers is near %v", near)
	}
	if near := NearSymptoms(list, "xyzzyqqqq"); near != nil {
		t.Errorf("nothing is near %v", near)
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
