package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// apart is a server with a GPU and a card at root ports of one processor (PHB).
const apart = `<system version='1'><cpu numaid='0' arch='x86_64' vendor='AuthenticAMD' familyid='175' modelid='1'>` +
	`<pci busid='0000:01:00.0' class='0x030200' link_speed='16.0 GT/s PCIe' link_width='16'><gpu dev='0' sm='80' gdr='1'/></pci>` +
	`<pci busid='0000:02:00.0' class='0x020700' link_speed='16.0 GT/s PCIe' link_width='16'><nic><net name='m' dev='0' speed='200000' gdr='GDR'/></nic></pci></cpu></system>`

// NCCL takes data through the host's memory where the card is far or its driver is missing;
// a level or gpudirect overrides the first, a flow meets only the second.
func TestStagedByNCCL(t *testing.T) {
	const collective = "collective: {op: allreduce, size: 64KiB, channels: 1}"
	const flow = "flow: {from: h0/gpu0, to: h1/gpu0, size: 64KiB}"
	for _, c := range []struct {
		gdr, keys, entry string
		staged           bool
		warns            string
	}{
		{"1", "", collective, true, "data between gpu0 and nic0 of h0 go through the host's memory, as NCCL takes them: PHB is farther than PXB"},
		{"1", ", net_gdr_level: PHB", collective, false, ""},
		{"1", ", gpudirect: on", collective, false, ""},
		{"1", "", flow, false, ""},
		{"0", "", flow, true, ""},
		{"0", ", net_gdr_level: SYS", collective, true, "gdr=0 of m"},
		{"0", ", gpudirect: on", flow, false, ""},
	} {
		text := "topology: {star: {hosts: 2, link: 200Gbps}}\nserver: {file: x.xml, text: \"" + strings.Replace(apart, "GDR", c.gdr, 1) + "\"" + c.keys + "}\nworkload: [" + c.entry + "]\n"
		v, err := Parse("s.yaml", []byte(text), nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.keys, err)
		}
		for i := range v.Plan.Conns {
			if x := &v.Plan.Conns[i]; !x.Slots && (x.SrcStaged != c.staged || x.DstStaged != c.staged) {
				t.Errorf("gdr=%s%s, %s: staged %v, want %v", c.gdr, c.keys, c.entry, x.SrcStaged, c.staged)
			}
		}
		if all := strings.Join(v.Warnings, "\n"); !strings.Contains(all, c.warns) || c.warns == "" && strings.Contains(all, "as NCCL takes them") {
			t.Errorf("gdr=%s%s, %s: warnings %q, want %q", c.gdr, c.keys, c.entry, all, c.warns)
		}
	}
}

// GPUs of a server without NVLink exchange data through the memory of the receiver's socket
// where NCCL has no direct way, or GPUDirect is off.
func TestPeersThroughMemory(t *testing.T) {
	for keys, memory := range map[string]bool{"": false, ", p2p_level: PIX": false, ", p2p_level: LOC": true, ", gpudirect: off": true} {
		text := "topology: {star: {hosts: 2, link: 200Gbps}}\nserver: {preset: dgx-a100, nvswitch: off" + keys + "}\nworkload: [collective: {op: sendrecv, size: 64KiB, ranks: [h0/gpu0, h0/gpu1]}]\n"
		v, err := Parse("s.yaml", []byte(text), nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", keys, err)
		}
		tree, through := v.NICs[v.Graph.HostOf(0)].Server, false
		for i := range v.Plan.Locals {
			l := &v.Plan.Locals[i]
			through = through || l.To != workload.NoDevice && tree.Devices[l.To].Kind == server.DRAM
		}
		if through != memory {
			t.Errorf("%s: through memory %v, want %v", keys, through, memory)
		}
	}
}

// Of the 18 NVLinks of one GPU 9 may be up; all others keep theirs.
func TestNVLinksOfOneGPU(t *testing.T) {
	const text = "topology: {star: {hosts: 2, link: 200Gbps}}\nserver: {preset: dgx-h100, links: {gpu3: {nvlinks: %}}}\nworkload: [flow: {from: h0, to: h1, size: 1KB}]\n"
	v, err := Parse("s.yaml", []byte(strings.Replace(text, "%", "9", 1)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	tree := v.NICs[v.Graph.HostOf(0)].Server
	for i := range tree.Links {
		l := &tree.Links[i]
		if l.Kind != server.NVLink {
			continue
		}
		count := 18
		if tree.Devices[l.B].Name == "gpu3" {
			count = 9
		}
		if l.Count != count || l.Rate != units.Rate(count)*20600*8*units.Mbps {
			t.Errorf("%s has %d NVLinks with %v", tree.Devices[l.B].Name, l.Count, l.Rate)
		}
	}
	for bad, want := range map[string]string{"19": "gpu3 has 18 NVLinks; give at most that", "0": "nvlinks: "} {
		if _, err := Parse("s.yaml", []byte(strings.Replace(text, "%", bad, 1)), nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
	if _, err := Parse("s.yaml", []byte(strings.Replace(strings.Replace(text, "%", "9", 1), "gpu3", "nic0", 1)), nil, nil); err == nil || !strings.Contains(err.Error(), "nic0 of dgx-h100 is no GPU with NVLinks") {
		t.Errorf("a card: %v", err)
	}
}

// What a slot or an IOMMU does to a server is said.
func TestServerRisks(t *testing.T) {
	for keys, want := range map[string]string{
		"links: {nic0: {gen: 3, width: 16}}": "h0: the slot of nic0, gen3 x16, carries 13",
		"links: {gpu2: {width: 8}}":          "h0: the slot of gpu2, gen5 x8, is slower than that of gpu0, gen5 x16, of the same kind",
		"iommu: on":                          "h0: iommu is on and acs direct: Linux turns ACS redirection on with an IOMMU",
		"iommu: on, acs: redirect":           "",
	} {
		v, err := Parse("s.yaml", []byte("topology: {star: {hosts: 2, link: 400Gbps}}\nserver: {preset: dgx-h100, "+keys+"}\nworkload: [flow: {from: h0/gpu0, to: h1/gpu0, size: 1KB}]\n"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(v.Warnings, "\n"); !strings.Contains(all, want) || want == "" && all != "" {
			t.Errorf("%s: warnings %q, want %q", keys, all, want)
		}
	}
}
