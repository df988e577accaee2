package scenario

import (
	"strings"
	"testing"
)

func TestForeignFiles(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"ns-3 config", ns3ConfigText, "s.yaml: is a config file of the ns-3 RDMA simulators, not a scenario; hopscope run --ns3 runs it"},
		{"htsim matrix", "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 100\n", "s.yaml: is a connection matrix of htsim"},
		{"htsim topology", "# two tiers\nNodes 16\nTiers 2\n", "s.yaml: is a topology of htsim"},
		{"neither", "ENABLED 1\n", "s.yaml:1:1: a scenario is a mapping"},
		{"a scenario that lacks all", "ENABLE_QCN: 1\n", "s.yaml:1:1: unknown key"},
	} {
		_, err := Parse("s.yaml", []byte(tt.src), nil, nil)
		if got := errText(err); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestStacksBesideNS3(t *testing.T) {
	_, err := parseStack("s.yaml", []byte("ns3: {CC_MODE: 1}\n"), "rocev2", nil, nil)
	if got := errText(err); !strings.HasPrefix(got, "--stacks: an ns3 section puts the rules of the ns-3 RDMA simulators in place of any stack") || !strings.Contains(got, "hopscope run, such as --set ns3.ENABLE_QCN=0") {
		t.Error(got)
	}
}
