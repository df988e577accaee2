package scenario

import (
	"slices"
	"testing"
)

// All that is wrong is listed in the file's order, what is only missing because it was wrong
// is not, and entries have the numbers of the file.
func TestErrors(t *testing.T) {
	const many = `topology: {star: {hosts: 4, link: 100Gbit}}
swich: {}
seed: abc
switch: {pfc: {xof: 10KB, alpha: nine}, ecn: {kmin: 2MB, kmax: 1MB}}
workload:
  - flow: {from: h0, to: h1, size: 1}
  - flo: {from: h0, to: h1, size: 1MB}
  - incast: {from: [h1, h2], to: h3, size: 1MB}
  - flow: {from: h0, to: h1, size: 1MB, start: soon}
  - flow: {from: h0, size: 1MB}
`
	for _, tt := range []struct {
		name, src string
		set       []string
		want      []string
	}{
		{"right", base, nil, nil},
		{"one", base + "swich: {}\n", nil, []string{`s.yaml:6:1: unknown key "swich" in the scenario; did you mean "switch"?`}},
		{"not YAML", "a: [", nil, []string{`s.yaml:1:4: not YAML: sequence end token ']' not found; check brackets, quotes and indentation`}},
		{"two --set", base, []string{"seed=x", "mtu=9"}, []string{
			`--set mtu=9: mtu: "9" is not a path MTU that a RoCEv2 packet can have; use 256, 512, 1024, 2048 or 4096 (IBTA)`,
			`--set seed=x: seed: "x" is not a whole number from 0 to 2^64-1`}},
		{"many", many, nil, []string{
			`s.yaml:1:35: topology.star.link: "100Gbit" has the unknown unit "Gbit"; a rate ends in one of bps, Kbps, Mbps, Gbps, Tbps`,
			`s.yaml:2:1: unknown key "swich" in the scenario; did you mean "switch"?`,
			`s.yaml:3:7: seed: "abc" is not a whole number from 0 to 2^64-1`,
			`s.yaml:4:16: unknown key "xof" in switch.pfc; did you mean "xoff"?`,
			`s.yaml:4:34: switch.pfc.alpha: "nine" is not a positive ratio such as 1/8, 2 or 0.5 (numerator and denominator up to 65536)`,
			`s.yaml:4:53: switch.ecn: kmin 2MB is above kmax 1MB; marking starts at kmin and is certain above kmax`,
			`s.yaml:6:36: workload[0].flow.size: "1" has no unit; a size ends in one of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB`,
			`s.yaml:7:5: unknown key "flo" in workload[1]; did you mean "flow"?`,
			`s.yaml:9:48: workload[3].flow.start: "soon" is not a time; write a decimal number and one of ps, ns, us, ms, s`,
			`s.yaml:10:12: workload[4].flow has no to; name a host`,
		}},
		{"several in one entry, and a section that needs what is wrong", `topology: {star: {hosts: 2, link: -5Gbps}}
workload:
  - flow: {from: h0, to: h0, size: 1XB}
  - flow: {from: h9, to: h1, size: -1}
`, nil, []string{
			`s.yaml:1:35: topology.star.link: "-5Gbps" is a negative rate; it must be at least 0`,
			`s.yaml:3:5: workload flow: h0 sends to itself; source and destination must differ`,
			`s.yaml:3:36: workload[0].flow.size: "1XB" has the unknown unit "XB"; a size ends in one of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB`,
			`s.yaml:4:18: workload[1].flow.from: there is no host "h9"; did you mean "h0"?`,
			`s.yaml:4:36: workload[1].flow.size: "-1" is a negative size; it must be at least 0`,
		}},
	} {
		var got []string
		for _, bad := range (Source{Name: "s.yaml", Text: []byte(tt.src), Set: tt.set}.Errors()) {
			got = append(got, bad.Error())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n got  %q\n want %q", tt.name, got, tt.want)
		}
	}
}
