package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// Files that a config file names are looked for as given, from its folder, then by their
// names in it; what is not where the name says is named.
func TestNS3Places(t *testing.T) {
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config := strings.NewReplacer("topo.txt", "mix/topo.txt", "topology.txt", "mix/topology.txt", "flow.txt", "mix/flow.txt").Replace(ns3ConfigText)
	for _, c := range []struct {
		name, config, topology string // paths
		other                  string // a second topology that differs
		warned                 string
	}{
		{"as given", "mix/config.txt", "mix/topology.txt", "", ""},
		{"from its folder", "run/config.txt", "run/mix/topology.txt", "", ""},
		{"beside it", "run/config.txt", "run/topology.txt", "", "TOPOLOGY_FILE mix/topology.txt is not there; run/topology.txt is read"},
		{"twice", "run/config.txt", "mix/topology.txt", "run/mix/topology.txt", "there is also run/mix/topology.txt beside the config file, which differs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(c.config, config)
			write(c.topology, ns3TopologyText)
			write(filepath.Join(filepath.Dir(c.topology), "flow.txt"), ns3FlowText)
			if c.other != "" {
				write(c.other, ns3TopologyText+"\n")
			}
			v, err := LoadNS3(c.config, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(v.Warnings, "\n")
			if c.warned == "" && strings.Contains(all, "_FILE") || !strings.Contains(all, c.warned) {
				t.Errorf("warnings %q, want %q", all, c.warned)
			}
		})
	}
}

// What stands behind the counted rows, further rows or the legend that these files often
// have, is not read, as there, and that is said.
func TestNS3Trailing(t *testing.T) {
	dir := writeNS3(t, ns3ConfigText, ns3TopologyText+"\nFirst line: total node #, switch node #, link #\n", ns3FlowText+"1 0 3 100 1000 2.5\n")
	v, err := LoadNS3(filepath.Join(dir, "config.txt"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"what stands behind the last of 3 links is not read", "what stands behind the last of 2 flows is not read"} {
		if !strings.Contains(strings.Join(v.Warnings, "\n"), want) {
			t.Errorf("warnings %q, want %q", v.Warnings, want)
		}
	}
	if n := v.Plan.Len(); n != 2 {
		t.Errorf("%d flows, want 2", n)
	}
}

// A topology and a config file of SimAI: six counts, the NVSwitches' ids before those of
// switches (astra-sim-alibabacloud, common.h), GPUs with a link to both, monitor keys, an
// end beyond all time. What crosses NVLink is refused.
func TestSimAI(t *testing.T) {
	const topology = "7 2 2 1 8 H100\n4 5 6\n" +
		"0 4 2880Gbps 0.000025ms 0\n1 4 2880Gbps 0.000025ms 0\n2 5 2880Gbps 0.000025ms 0\n3 5 2880Gbps 0.000025ms 0\n" +
		"0 6 100Gbps 0.0005ms 0\n1 6 100Gbps 0.0005ms 0\n2 6 100Gbps 0.0005ms 0\n3 6 100Gbps 0.0005ms 0\n"
	config := strings.Replace(ns3ConfigText, "SIMULATOR_STOP_TIME 4.00", "SIMULATOR_STOP_TIME 40000000000000.00", 1) + "BW_MON_FILE /etc/bw.txt\nMON_START 0\n"
	dir := writeNS3(t, config, topology, "1\n0 2 3 100 1000000 2\n")
	v, err := LoadNS3(filepath.Join(dir, "config.txt"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := v.Graph.NumEndpoints(); n != 4 || len(v.Graph.Links) != 4 || v.Stop != units.Never {
		t.Errorf("%d hosts' ports, %d links, stop %v", n, len(v.Graph.Links), v.Stop)
	}
	if all := strings.Join(v.Warnings, "\n"); !strings.Contains(all, "NVSwitches and NVLink are left out") {
		t.Errorf("warnings %q", all)
	}
	noted := false
	for _, n := range v.Notes {
		noted = noted || n.Key == "monitors" && n.Value == "BW_MON_FILE, MON_START: ignored"
	}
	if !noted {
		t.Errorf("notes %v", v.Notes)
	}
	dir = writeNS3(t, config, topology, "1\n0 1 3 100 1000000 2\n")
	_, err = LoadNS3(filepath.Join(dir, "config.txt"), nil, nil)
	if got := errText(err); !strings.Contains(got, "flow.txt:2:3: flow from 0 to 1, GPUs of one server, whose NVLink is left out; name GPUs of two servers") {
		t.Error(got)
	}
}
