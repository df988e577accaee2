package scenario

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

const railed = `topology: {rail: {servers: 3, rails: 8, spines: 2, link: 400Gbps}}
`

// ends writes where the data of connections lie.
func ends(v *Valid) string {
	var out []string
	end := func(ep int, device int16, staged bool) string {
		text := v.Graph.EndpointName(ep)
		if device != workload.NoDevice {
			text += "/" + v.NICs[v.Graph.HostOf(ep)].Server.Devices[device].Name
		}
		if staged {
			text += " staged"
		}
		return text
	}
	for i := range v.Plan.Conns {
		c := &v.Plan.Conns[i]
		out = append(out, end(c.Src, c.SrcDevice, c.SrcStaged)+" > "+end(c.Dst, c.DstDevice, c.DstStaged))
	}
	return strings.Join(out, ", ")
}

// A GPU is reached through the card nearest to it, or through the port that is named;
// every pattern takes places in servers.
func TestPlaces(t *testing.T) {
	for _, c := range []struct{ workload, want string }{
		{"flow: {from: h0/gpu3, to: h1, size: 1KB}", "h0:4/gpu3 > h1:1"},
		{"flow: {from: h0:2/gpu3, to: h1:8/gpu7, size: 1KB}", "h0:2/gpu3 > h1:8/gpu7"},
		{"flow: {from: h0/dram1, to: h1:5, size: 1KB, verb: read}", "h1:5 > h0:5/dram1"},
		{"flow: {from: h0/gpu0, to: h1/gpu0, size: 1KB, gpudirect: off}", "h0:1/gpu0 staged > h1:1/gpu0 staged"},
		{"flow: {from: h0/gpu0, to: h1:1/dram0, size: 1KB, stack: tcp}", "h0:1/gpu0 staged > h1:1/dram0"},
		{"flow: {from: h2/gpu0, to: h1/gpu0, size: 1KB}", "h2:1/gpu0 staged > h1:1/gpu0"},
		{"incast: {from: [h0/gpu1, h1/gpu1], to: h2:2, size: 1KB}", "h0:2/gpu1 > h2:2, h1:2/gpu1 > h2:2"},
		{"all_to_all: {hosts: [h0/gpu1, h1/gpu1], size: 1KB}", "h0:2/gpu1 > h1:2/gpu1, h1:2/gpu1 > h0:2/gpu1"},
		{"permutation: {hosts: [h0/gpu1, h1/gpu5], size: 1KB}", "h0:2/gpu1 > h1:6/gpu5, h1:6/gpu5 > h0:2/gpu1"},
		{"flows: {size: 1KB, list: [{from: h0/gpu0, to: h1/gpu1}, {from: h0, to: h1}]}", "h0:1/gpu0 > h1:2/gpu1, h0:1 > h1:1"},
		{"rpc: {between: [h0/gpu0, h1/gpu5], size: 1KB}", "h0:1/gpu0 > h1:6/gpu5, h1:6/gpu5 > h0:1/gpu0"},
		{"rpc: {between: [h0/gpu0, \"h1:1\"], size: 1KB, stack: tcp}", "h0:1/gpu0 staged > h1:1"},
		{"flows: {size: 1KB, rows: \"from,to\\nh0/gpu0,h1/gpu1\"}", "h0:1/gpu0 > h1:2/gpu1"},
		{"incast: {from: h0/gpus, to: h1/gpu0, size: 1KB}", "h0:1/gpu0 > h1:1/gpu0, h0:2/gpu1 > h1:1/gpu0, h0:3/gpu2 > h1:1/gpu0, h0:4/gpu3 > h1:1/gpu0, h0:5/gpu4 > h1:1/gpu0, h0:6/gpu5 > h1:1/gpu0, h0:7/gpu6 > h1:1/gpu0, h0:8/gpu7 > h1:1/gpu0"},
	} {
		text := railed + "server: dgx-h100\nhosts: {h2: {server: {gpudirect: off}}}\nworkload: [" + c.workload + "]\n"
		v, err := Parse("s.yaml", []byte(text), nil, nil)
		if err != nil {
			t.Errorf("%s: %v", c.workload, err)
			continue
		}
		if got := ends(v); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.workload, got, c.want)
		}
	}
	v, err := Parse("s.yaml", []byte(railed+"server: hgx-a100\nworkload: [all_to_all: {hosts: gpus, size: 1KB}]\n"), nil, nil)
	if err != nil || len(v.Plan.Conns) != 24*16 {
		t.Errorf("all GPUs of three servers: %v, want 384 connections", err)
	}
}

// A host with fewer ports than cards uses the cards that have ports.
func TestPlacesOfOnePort(t *testing.T) {
	v, err := Parse("s.yaml", []byte("topology: {star: {hosts: 2, link: 400Gbps}}\nserver: dgx-h100\nworkload: [flow: {from: h0/gpu3, to: h1/gpu0, size: 1KB}]\n"), nil, nil)
	if err != nil || ends(v) != "h0/gpu3 > h1/gpu0" {
		t.Errorf("%v %v", err, ends(v))
	}
}

// The keys of a server change its tree and stand in the notes, with the preset's
// sources for the rest.
func TestServerKeys(t *testing.T) {
	v, err := Parse("s.yaml", []byte(railed+`server:
  preset: dgx-h100
  acs: redirect
  iommu: on
  relaxed_ordering: off
  mps: 512B
  mrrs: 4096B
  links: {nic0: {gen: 4, width: 8}, interconnect: {rate: 100Gbps, latency: 80ns}, dram0: {rate: 800Gbps}, hbm: {rate: 1Tbps}}
  costs: {hbm_read: 500ns, read_tags: 32, posted_credits: 8KiB}
hosts: {h1: {server: {acs: direct, costs: {read_tags: 64}}}, h2: {server: none}}
workload: [flow: {from: h0/gpu0, to: h2, size: 1KB}]
`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) *server.Tree { return v.NICs[mustNode(t, v, name)].Server }
	s0, s1, s2 := at("h0"), at("h1"), at("h2")
	if s2 != nil || !s0.ACS || s1.ACS || !s0.IOMMU || !s1.IOMMU || s0.Relaxed || s0.Costs.ReadTags != 32 || s1.Costs.ReadTags != 64 ||
		s0.Costs.HBMRead != 500*units.Nanosecond || s1.Costs.PostedCredits != 8*units.KiB {
		t.Errorf("servers %+v, %+v", s0, s1)
	}
	if s0.Devices[s0.Find("dram0")].Memory != 800*units.Gbps || s0.Devices[s0.Find("gpu5")].Memory != 1000*units.Gbps || s0.Devices[s0.Find("dram1")].Memory == 800*units.Gbps {
		t.Error("rates of memories")
	}
	p, err := s0.Predict(s0.Find("gpu1"), s0.Find("nic0"))
	if err != nil {
		t.Fatal(err)
	}
	if l := s0.Links[p.Path[len(p.Path)-1].Link].PCIe; l.String() != "gen4 x8" || l.MPS != 512 || l.MRRS != 4096 {
		t.Errorf("nic0 has %+v", l)
	}
	fresh, _ := server.Preset("dgx-h100")
	if s0.Costs.Doorbell != fresh.Costs.Doorbell || len(s0.Links) != len(fresh.Links) {
		t.Error("what is not given is the preset's")
	}
	for _, want := range []string{"server = dgx-h100 (scenario)", "server.acs = redirect (scenario)", "server.links.nic0 = gen4 x8, 122.5ns (scenario)", "server.costs.hbm_read = 500ns (scenario)", "server.costs.poll = 50ns (assumed",
		"hosts.h1.server.acs = direct (scenario)", "hosts.h1.server.costs.read_tags = 64 (scenario)"} {
		found := false
		for _, n := range v.Notes {
			found = found || strings.HasPrefix(fmt.Sprintf("%s = %s (%s)", n.Key, n.Value, n.Source), want)
		}
		if !found {
			t.Errorf("no note %q", want)
		}
	}
	for _, n := range v.Notes {
		if n.Key == "server.costs.hbm_read" && n.Source != fromScenario {
			t.Errorf("the preset's note stands beside the scenario's: %+v", n)
		}
	}
}

// Bad input about servers is one line that says where, what and what would be right.
func TestBadServers(t *testing.T) {
	const star = "topology: {star: {hosts: 3, link: 100Gbps}}\n"
	const to = "workload:\n  - flow: {from: h0/gpu0, to: h1, size: 1KB}\n"
	for _, c := range []struct{ text, want string }{
		{star + "server: dgx-h1000\n" + to, `s.yaml:2:9: server: there is no server "dgx-h1000"; did you mean "dgx-h100"?`},
		{star + "server: {preset: dgx}\n" + to, `s.yaml:2:18: server.preset: there is no server "dgx"; did you mean "dgx-a100"?`},
		{star + "server: {acs: redirect}\n" + to, `s.yaml:2:10: server names no server; give preset: with one of dgx-a100,`},
		{star + "server: {preset: dgx-h100, acs: on}\n" + to, `s.yaml:2:33: server.acs: "on" is not known; use one of direct, redirect`},
		{star + "server: {preset: dgx-h100, acl: on}\n" + to, `s.yaml:2:28: unknown key "acl" in server; did you mean "acs"?`},
		{star + "server: {preset: dgx-h100, mps: 300B}\n" + to, `s.yaml:2:33: server.mps: 300B is no size that PCIe has; it is a power of 2 from 128B to 4096B`},
		{star + "server: {preset: dgx-h100, links: {nic9: {gen: 4}}}\n" + to, `s.yaml:2:36: dgx-h100 has no link of "nic9"; name a device such as nic0, or interconnect, nvlink, hbm; did you mean "nic0"?`},
		{star + "server: {preset: dgx-h100, links: {nic0: {width: 3}}}\n" + to, `s.yaml:2:50: server.links.nic0.width: a PCIe link of 3 lanes does not exist; it has 1, 2, 4, 8, 12 or 16`},
		{star + "server: {preset: dgx-h100, links: {nic0: {rate: 1Gbps}}}\n" + to, `s.yaml:2:49: server.links.nic0.rate: this is a PCIe link, whose rate follows from gen and width; give those`},
		{star + "server: {preset: dgx-h100, links: {nvlink: {rate: 0Gbps}}}\n" + to, `s.yaml:2:51: server.links.nvlink.rate: a link of 0bps carries nothing; give more, or leave it out for what the server has`},
		{star + "server: {preset: dgx-h100, links: {nvlink: {gen: 4}}}\n" + to, `s.yaml:2:50: server.links.nvlink.gen: this is a link of NVLink; give its rate and latency`},
		{star + "server: {preset: dgx-h100, costs: {read_tags: 0}}\n" + to, `s.yaml:2:47: server.costs.read_tags: "0" is not a whole number from 1 to 16384`},
		{star + "server: {preset: dgx-h100, costs: {iotlb_page: 5KiB}}\n" + to, `s.yaml:2:48: server.costs.iotlb_page: 5KiB is not a power of 2; x86 has pages of 4KiB, 2MiB and 1GiB`},
		{star + "server: {preset: dgx-h100, costs: {posted_credits: 1B}}\n" + to, `s.yaml:2:52: server.costs.posted_credits: 1B is not from 4KiB to 1GiB`},
		{star + to, `s.yaml:3:18: workload[0].flow.from: h0 has no server, so no "gpu0"; give server: dgx-h100 for all hosts, or hosts: {h0: {server: ..}}`},
		{star + "server: dgx-h100\nworkload:\n  - flow: {from: h0/gpu9, to: h1, size: 1KB}\n", `s.yaml:4:18: workload[0].flow.from: h0, a dgx-h100, has no GPU or memory "gpu9"; it has gpu0 to gpu7, dram0 to dram1`},
		{star + "server: dgx-h100\nworkload:\n  - flow: {from: h0/nic0, to: h1, size: 1KB}\n", `s.yaml:4:18: workload[0].flow.from: h0, a dgx-h100, has no GPU or memory "nic0"; it has`},
		{star + "server: dgx-h100\nworkload:\n  - flow: {from: h7/gpu0, to: h1, size: 1KB}\n", `s.yaml:4:18: workload[0].flow.from: there is no host "h7"; did you mean "h0"?`},
		{star + "server: two-socket\nworkload:\n  - incast: {from: gpus, to: h1, size: 1KB}\n", `s.yaml:4:20: workload[0].incast.from: there are no GPUs; give a server with GPUs, such as server: dgx-h100`},
		{railed + "server: two-socket\n" + strings.ReplaceAll(to, "h0/gpu0", "h0"), `s.yaml:2:9: h0 has 8 ports and its server, two-socket, has one network port; port i of a host is port i of its cards: take fewer ports or another server`},
		{star + "server: dgx-h100\nnic: {drain_rate: 10Gbps}\n" + to, `s.yaml:3:19: drain_rate: h0 has a server, whose PCIe links drain the receive buffer; remove one of the two`},
		{star + "server: [dgx-h100]\n" + to, `s.yaml:2:9: server is a list; it is a mapping with the keys preset,`},
		{star + "server: dgx-h100\nworkload:\n  - flow: {from: h0/gpu0, to: h0/gpu1, size: 1KB}\n", `s.yaml:4:5: workload flow: both ends are in the server of one host, and what workloads send goes from host to host; give`},
	} {
		_, err := Parse("s.yaml", []byte(c.text), nil, nil)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}
