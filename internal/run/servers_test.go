package run_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
)

const gpuIncast = `
name: gpus
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 3, link: 400Gbps}}
server: dgx-h100
workload:
  - incast: {from: [h0/gpu0, h1/gpu0, h3/gpu0, h4], to: h5/gpu0, size: 1MB}
`

// linkOf returns what went over a link inside a host, nil if nothing did.
func linkOf(r *record.Run, host, name string) *record.ServerLink {
	for i := range r.Servers {
		for k := range r.Servers[i].Links {
			if l := &r.Servers[i].Links[k]; r.Servers[i].Host == host && l.Name == name {
				return l
			}
		}
	}
	return nil
}

// Data of a message pass each link of its way once: out of a GPU's memory over its switch
// to the card, or out of DRAM; and into the memory at the other end. Work requests, of 64
// B, come from DRAM, and completion entries go there.
func TestLinksInsideServers(t *testing.T) {
	r := simulate(t, parse(t, gpuIncast), 1, 1)
	for _, c := range []struct {
		host, link string
		payload    int64
	}{
		{"h0", "memory of gpu0", 1e6}, {"h0", "gpu0 to switch0", 1e6}, {"h0", "switch0 to nic0", 1e6 + 64 + 8}, // and a doorbell
		{"h0", "cpu0 to switch0", 64 + 8}, {"h0", "memory of dram0", 64 + 64}, {"h0", "nic0 to switch0", 64}, {"h0", "switch0 to cpu0", 64},
		{"h4", "memory of dram0", 1e6 + 64 + 64}, {"h4", "cpu0 to switch0", 1e6 + 64 + 8},
		{"h5", "nic0 to switch0", 4e6}, {"h5", "switch0 to gpu0", 4e6}, {"h5", "memory of gpu0", 4e6},
	} {
		l := linkOf(r, c.host, c.link)
		if l == nil || l.PayloadBytes != c.payload {
			t.Errorf("%s, %s: %+v, want %d B", c.host, c.link, l, c.payload)
		}
	}
	if linkOf(r, "h4", "memory of gpu0") != nil || linkOf(r, "h5", "memory of dram0") != nil || linkOf(r, "h2", "nic0 to switch0") != nil {
		t.Error("something went where nothing was to go")
	}
	if f := &r.Flows[0]; f.Src != "h0/gpu0" || f.Dst != "h5/gpu0" || r.Flows[3].Src != "h4" {
		t.Errorf("messages go from %s to %s, and from %s", f.Src, f.Dst, r.Flows[3].Src)
	}
	// Headers and requests take at least what TLPs of 256 B do: 24 B each.
	if l := linkOf(r, "h5", "nic0 to switch0"); l.Bytes < l.PayloadBytes*280/256 || l.BusyPS < l.Rate.TxTimeLong(4e6) {
		t.Errorf("%+v", l)
	}
}

// The same bytes on any number of partitions and workers, with everything on that a
// server can have.
func TestServersAreDeterministic(t *testing.T) {
	for _, keys := range []string{"dgx-h100", "{preset: dgx-a100, acs: redirect, iommu: on, relaxed_ordering: off, links: {nic0: {gen: 3, width: 8}}}"} {
		text := strings.Replace(gpuIncast, "dgx-h100", keys, 1)
		var first []byte
		for _, p := range []int{1, 3} {
			for _, workers := range []int{1, 2} {
				got, err := json.Marshal(simulate(t, parse(t, text), p, workers))
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = got
				}
				if !bytes.Equal(first, got) {
					t.Errorf("%s: %d partitions and %d workers give another result", keys, p, workers)
				}
			}
		}
	}
}
