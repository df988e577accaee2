package scenario

import (
	"strings"
	"testing"
)

// What a controller needs and a network does not have is refused in one line.
func TestBadControllers(t *testing.T) {
	const star = "topology: {star: {hosts: 3, link: 100Gbps}}\n"
	const flow = "workload: [{flow: {from: h0, to: h1, size: 1MB}}]\n"
	chain := "topology:\n  hosts: [h0, h1]\n  switches: [s1, s2, s3, s4, s5, s6]\n  links:\n"
	nodes := strings.Fields("h0 s1 s2 s3 s4 s5 s6 h1")
	for i := range nodes[1:] {
		chain += "    - {between: [" + nodes[i] + ", " + nodes[i+1] + "], rate: 100Gbps}\n"
	}
	for _, c := range []struct{ text, want string }{
		{star + flow + "controller: hpc\n", `controller: "hpc" is not known; give dcqcn, hpcc, timely, swift, dctcp or rtt-probe`},
		{star + flow + "controller: {hpcc: {}, swift: {}}\n", "controller: hpcc and swift are two congestion controls; keep one"},
		{star + flow + "controller: hpcc\ndcqcn: paper\n", "controller: hpcc and dcqcn are two congestion controls; keep one"},
		{star + flow + "controller: dctcp\nstack: rocev2-pfc-only\n", "controller: dctcp needs switches that mark, and the stack rocev2-pfc-only runs without ECN"},
		{star + flow + "controller: hpcc\nswitches: {sw: {telemetry: off}}\n", "controller: hpcc needs telemetry of every switch, and sw writes none (telemetry: off)"},
		{strings.Replace(star, "100Gbps", "75Gbps", 1) + flow + "controller: hpcc\n", "controller: hpcc: the telemetry header has no code for the 75Gbps of sw:1"},
		{chain + flow + "controller: hpcc\n", "room for the telemetry of 5 switches in a packet, and from h0 to h1 there are 6"},
		{star + flow + "controller: hpcc\nstack: infiniband\n", "controller: hpcc is for RoCEv2, and the stack is infiniband"},
		{star + flow + "controller: {hpcc: {eta: 2}}\n", "controller.hpcc.eta: 2 is out of range; give 0.5 to 1"},
		{star + flow + "controller: {timely: {high: 40us}}\n", "controller.timely: high 40us is not above low 50us"},
		{star + flow + "controller: {swift: {bse_target: 1us}}\n", `did you mean "base_target"?`},
	} {
		_, err := Parse("s.yaml", []byte(c.text), nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}
