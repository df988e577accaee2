package run_test

import (
	"strings"
	"testing"
)

func TestSmall(t *testing.T) {
	for _, c := range []string{"verb: write", "verb: send", "verb: read", "verb: fetch-add", "verb: write, inline: true", "verb: write, gpudirect: off", "verb: read, gpudirect: off", "verb: send, gpudirect: off", "verb: send, service: uc", "verb: write, size: 16MB", "verb: write, size: 16MB, gpudirect: off"} {
		size := ", size: 8B"
		if strings.Contains(c, "size") || c == "verb: fetch-add" {
			size = ""
		}
		r := simulate(t, parse(t, `
name: small
topology: {star: {hosts: 2, link: 200Gbps, length: 5m}}
server: dgx-a100
workload:
  - flow: {from: h0/gpu0, to: h1/gpu0, `+c+size+`}
`), 0, 1)
		t.Log(c, r.Flows[0].CompletionPS, r.Flows[0].EntryPS, r.EndPS)
		for _, s := range r.Flows[0].Account {
			t.Log("   ", s.Key(), s.Time)
		}
	}
}
