package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server of NCCL's topology file; the GPU's link says nothing.
const topoXML = `<system version="1">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49">
	<pci busid="0000:01:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:02:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0000:03:00.0" class="0x020700" link_speed="16 GT/s" link_width="8"/>
    </pci>
  </cpu>
</system>
`

// writeWith writes a scenario beside a server's file.
func writeWith(t *testing.T, xml, scenario string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"topo.xml": xml, "s.yaml": scenario} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "s.yaml")
}

// A file is read relative to the scenario, by either way to name it, and what a run
// keeps of the scenario needs it no more.
func TestServerFile(t *testing.T) {
	const star = "topology: {star: {hosts: 2, link: 100Gbps}}\n"
	const flow = "workload: [flow: {from: h0/gpu0, to: h1, size: 1KB}]\n"
	for _, given := range []string{"server: topo.xml\n", "server: {file: topo.xml}\n", "hosts: {h0: {server: topo.xml}}\n", "server: {file: topo.xml, acs: redirect}\n"} {
		v, err := Load(writeWith(t, topoXML, star+given+flow), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("kept.yaml", v.Source, nil, nil)
		if err != nil {
			t.Fatalf("%s: what is kept: %v\n%s", given, err, v.Source)
		}
		refined, err := Load(writeWith(t, topoXML, star+given+flow), []string{"seed=2", strings.Split("server.iommu=on hosts.h0.server.iommu=on", " ")[strings.Count(given, "hosts")]}, nil)
		if err != nil || !refined.NICs[mustNode(t, refined, "h0")].Server.IOMMU || ends(refined) != "h0/gpu0 > h1" {
			t.Errorf("%s refined: %v", given, err)
		}
		for _, x := range []*Valid{v, again} {
			s := x.NICs[mustNode(t, x, "h0")].Server
			if ends(x) != "h0/gpu0 > h1" || s.Name != "topo" || s.ACS != strings.Contains(given, "acs") {
				t.Errorf("%s: %s %+v", given, ends(x), s)
			}
			nic := s.Find("nic0")
			for _, l := range s.Links {
				if l.B == nic && l.PCIe.String() != "gen4 x8" {
					t.Errorf("nic0 has %v", l.PCIe)
				}
			}
		}
	}
}

// Mistakes in a server's file are named with its place.
func TestBadServerFile(t *testing.T) {
	const rest = "topology: {star: {hosts: 2, link: 100Gbps}}\nworkload: [flow: {from: h0/gpu0, to: h1, size: 1KB}]\n"
	for _, c := range []struct{ given, xml, want string }{
		{"server: none.xml\n", topoXML, "s.yaml:1:9: server file "},
		{"server: topo.xml\n", "", "topo.xml:1:1: the file is empty"},
		{"server: topo.xml\n", strings.ReplaceAll(topoXML, `link_width="8"`, `link_width="3"`), "topo.xml:5:"},
		{"server: {file: topo.xml, preset: dgx-h100}\n", topoXML, "s.yaml:1:16: server.file: server has a preset and a file; keep one"},
	} {
		_, err := Load(writeWith(t, c.xml, c.given+rest), nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}
