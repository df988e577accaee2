package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// A controller that cannot do its work is told of when the scenario is read: it governs nothing, or is not
// content with the idle path.
func TestControllerReach(t *testing.T) {
	far := "topology: {star: {hosts: 3, link: {rate: 100Gbps, delay: 10us}}}\n"
	near := "topology: {star: {hosts: 3, link: 100Gbps}}\n"
	flow := func(more string) string { return "workload: [{flow: {from: h0, to: h1, size: 1MB" + more + "}}]\n" }
	const over, none = "the idle path from h0 to h1 takes", ""
	for _, c := range []struct{ text, want string }{
		{far + flow("") + "controller: swift\n", over},
		{far + flow("") + "controller: {swift: {base_target: 41us}}\n", none},
		{near + flow("") + "controller: swift\n", none},
		{far + flow("") + "controller: rtt-probe\n", over},
		{far + flow("") + "controller: {rtt-probe: {base_rtt: 41us}}\n", none},
		{near + flow("") + "controller: rtt-probe\n", none},
		{far + flow("") + "controller: {timely: {low: 10us, high: 20us}}\n", over},
		{far + flow("") + "controller: timely\n", none},
		{far + flow("") + "controller: hpcc\n", none},
		{near + flow(", service: uc") + "controller: hpcc\n", "HPCC hears nothing of UC and UD"},
		{near + flow(", service: uc") + "controller: rtt-probe\n", none},
		{near + flow(", verb: read") + "controller: hpcc\n", "HPCC hears nothing of READ responses"},
		{near + flow(", stack: tcp") + "controller: hpcc\n", "HPCC governs nothing: all connections run over TCP"},
		{near + flow(", stack: tcp") + "switch: {ecn: none}\n", none}, // DCQCN governs none of that
		{near + flow("") + "switch: {ecn: none}\n", "it will never hear of congestion"},
	} {
		said := strings.Join(parse(t, c.text).Warnings, "\n")
		if c.want == "" && (strings.Contains(said, "idle path") || strings.Contains(said, "governs nothing") ||
			strings.Contains(said, "hears nothing") || strings.Contains(said, "hear of congestion")) || !strings.Contains(said, c.want) {
			t.Errorf("%s:\n%q, want %q", c.text, said, c.want)
		}
	}
}

// The round trip that controllers know has room for noise: two cards, and a switch each way.
func TestControllersKnowNoise(t *testing.T) {
	text := "topology: {star: {hosts: 2, link: 400Gbps}}\ncontroller: hpcc\nworkload: [{flow: {from: h0, to: h1, size: 1MB}}]\n"
	quiet, loud := parse(t, text+"noise: off\n").BaseRTTs[0], parse(t, text+"noise: {pipeline: 150ns, card: 70ns}\n").BaseRTTs[0]
	if d := loud - quiet; d != 440*units.Nanosecond {
		t.Errorf("noise adds %v, want 2 x (150 ns + 70 ns)", d)
	}
}

// A controller that is set takes the place of what a file says of DCQCN, and values of one that a file
// names by a word can be set.
func TestSetController(t *testing.T) {
	const star = "topology: {star: {hosts: 2, link: 100Gbps}}\nworkload: [{flow: {from: h0, to: h1, size: 1MB}}]\n"
	const tuned, named = star + "dcqcn: {rpg_ai_rate: 10Mbps}\n", star + "controller: hpcc\n"
	for _, c := range []struct {
		text string
		set  []string
		want string // the controller's name, or the error
	}{
		{tuned, []string{"controller=hpcc"}, "hpcc"},
		{tuned, []string{"controller.hpcc.base_rtt=2us"}, "hpcc"},
		{tuned, []string{"dcqcn=null", "controller=hpcc"}, "hpcc"},
		{tuned, []string{"controller=hpcc", "dcqcn=null"}, "hpcc"},
		{tuned, []string{"controller=dcqcn"}, ""},
		{tuned, []string{"dcqcn.rpg_ai_rate=20Mbps", "controller=hpcc"}, "two congestion controls"},
		{tuned, []string{"controller=hpcc", "dcqcn=paper"}, "two congestion controls"},
		{named, []string{"controller.hpcc.base_rtt=1200ns"}, "hpcc"},
		{named, []string{"controller.swift.base_target=50us"}, "swift"},
	} {
		v, err := Parse("s.yaml", []byte(c.text), c.set, nil)
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case v.Control != nil:
			got = v.Control.Name
		case v.DCQCN == nil || v.DCQCN.RPGAIRate != 10*units.Mbps:
			got = "DCQCN without the file's values"
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%q: %s, want %s", c.set, got, c.want)
		}
	}
}
