package run_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
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
	if f := &r.Messages[0]; f.Src != "h0/gpu0" || f.Dst != "h5/gpu0" || r.Messages[3].Src != "h4" {
		t.Errorf("messages go from %s to %s, and from %s", f.Src, f.Dst, r.Messages[3].Src)
	}
	// Headers and requests take at least what TLPs of 256 B do: 24 B each.
	if l := linkOf(r, "h5", "nic0 to switch0"); l.Bytes < l.PayloadBytes*280/256 || l.BusyPS < l.Rate.TxTimeLong(4e6) {
		t.Errorf("%+v", l)
	}
}

// What is staged goes through the copy engine of its GPU, out of it or into it, and
// nothing else does.
func TestCopyEngines(t *testing.T) {
	r := simulate(t, parse(t, strings.Replace(gpuIncast, "dgx-h100", "{preset: dgx-h100, gpudirect: off}", 1)), 1, 1)
	got := map[string]int64{}
	for i := range r.Servers {
		for _, c := range r.Servers[i].Copies {
			got[r.Servers[i].Host+" "+c.Name()] = c.Bytes
			if c.Copies < 1 || c.BusyPS < units.Rate(512*units.Gbps).TxTimeLong(units.Bytes(c.Bytes)) {
				t.Errorf("%s: %+v over gen5 x16", r.Servers[i].Host, c)
			}
		}
	}
	want := map[string]int64{"h0 copy engine out of gpu0": 1e6, "h1 copy engine out of gpu0": 1e6, "h3 copy engine out of gpu0": 1e6, "h5 copy engine into gpu0": 4e6}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
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

// steadyRate is the goodput in steady state of a stream from one end to another: from
// what a message takes longer than a shorter one.
func steadyRate(t *testing.T, server, from, to string) (rate float64, r *record.Run) {
	t.Helper()
	took := func(size string) (units.Time, int64) {
		r = simulate(t, parse(t, "topology: {rail: {servers: 2, rails: 8, spines: 1, link: 800Gbps}}\nstack: rocev2-pfc-only\nserver: "+server+"\nhosts: {h1: {server: {links: {nic0: {gen: 6}, nic7: {gen: 6}, switch0: {gen: 6}, gpu0: {gen: 6}}}}}\nworkload:\n  - flow: {from: "+from+", to: "+to+", size: "+size+"}\n"), 1, 1)
		return r.Messages[0].CompletionPS, r.Messages[0].Bytes
	}
	short, few := took("2MB")
	long, many := took("6MB")
	return float64(many-few) * 8e12 / float64(long-short), r
}

// What a simulated stream reaches is what its way is predicted to allow, from the
// parts: the slowest of links, tags, credits and the interconnect.
func TestStreamsReachPredictions(t *testing.T) {
	for _, c := range []struct{ server, memory, card, port string }{
		{"dgx-h100", "gpu0", "nic0", ":1"},
		{"{preset: dgx-h100, links: {nic0: {gen: 4, width: 8}}}", "gpu0", "nic0", ":1"},
		{"{preset: dgx-h100, links: {gpu0: {gen: 3}}}", "gpu0", "nic0", ":1"},
		{"dgx-h100", "dram0", "nic0", ":1"},
		{"dgx-h100", "dram1", "nic0", ":1"}, // across sockets
		{"dgx-h100", "gpu0", "nic1", ":2"},  // through the root complex, cut to 64 B
		{"{preset: dgx-h100, acs: redirect}", "gpu0", "nic0", ":1"},
		{"{preset: dgx-h100, mps: 512B}", "gpu0", "nic0", ":1"},
		{"{preset: dgx-h100, mps: 512B}", "gpu0", "nic1", ":2"},
		{"{preset: dgx-h100, acs: redirect, mps: 512B}", "gpu0", "nic0", ":1"},        // one way alone passes
		{"{preset: hgx-a100, links: {dram0: {rate: 80Gbps}}}", "dram0", "nic0", ":1"}, // memory
	} {
		v := parse(t, "topology: {star: {hosts: 2, link: 800Gbps}}\nserver: "+c.server+"\nworkload: [flow: {from: h0, to: h1, size: 1KB}]\n")
		var tree *server.Tree
		for n := range v.NICs {
			if s := v.NICs[n].Server; s != nil {
				tree = s
			}
		}
		p, err := tree.Predict(tree.Find(c.memory), tree.Find(c.card))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := steadyRate(t, c.server, "h0"+c.port+"/"+c.memory, "h1:1/gpu0")
		if want := float64(p.Read.Rate); got < 0.98*want || got > 1.005*want {
			t.Errorf("%s, %s by %s: %.1f Gb/s, predicted %.1f", c.server, c.memory, c.card, got/1e9, want/1e9)
		}
	}
}
