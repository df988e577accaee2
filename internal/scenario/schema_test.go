package scenario

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/hopscope/hopscope/scenarios"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader((Known{}).Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("scenario.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("scenario.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate checks YAML text against the schema.
func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

func TestShippedScenariosFollowTheSchema(t *testing.T) {
	s := compiledSchema(t)
	for _, info := range List() {
		text, err := scenarios.FS.ReadFile(info.Name + "/scenario.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v", info.Name, err)
		}
	}
}

// What imports write follows it too, and so does a scenario with about every
// section.
func TestSchemaAccepts(t *testing.T) {
	s := compiledSchema(t)
	ns3, err := LoadNS3(filepath.Join(writeNS3(t, ns3ConfigText, ns3TopologyText, ns3FlowText), "config.txt"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	htsim, err := LoadHTSim(firstOf(writeHTSim(t, htsimTopoText, htsimMatrixText)))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"ns-3": string(ns3.Source), "htsim": string(htsim.Source),
		"much": base + `  - permutation: {size: 1KB, every: 1us, count: 3}
  - flows: {size: 2KB, class: 4, list: [{from: h0, to: h1, start: 5us, path: [h0, leaf1, h1]}]}
  - flow: {from: h0, to: h2, size: 1KiB, send_done: x, receives: none, initial_rate: 5Gbps}
  - flow: {from: h1, to: h2, size: 1KiB, trigger: x}
  - rpc: {between: [h0, h2], request: 100B, reply: 9KB, count: 3, every: 50us, think: 1us, nodelay: false, stack: tcp}
triggers: {x: {kind: barrier, count: 1}}
seed: 18
stop: never
measure: {from: 0s, to: 1.5ms}
switch: {ecn: {per_rate: {100Gbps: {kmin: 4KB, kmax: 8KB, pmax: 20%}}}, lossy: unlimited, dscp_to_priority: {26: 4}, pfc: {enabled: 3, headroom: auto, alpha: 1/8, response: ieee}}
switches: {leaf1: {pfc: none, ecn: none, scheduler: {strict: [7], weights: {3: 2}}}}
nic: {window: 1.5 bdp, ack_class: data}
hosts: {h0: {drain_rate: 40Gbps}, h1: {server: {preset: dgx-h100, iommu: on, acs: redirect, mps: 512B, links: {nic0: {gen: 4, width: 8}, nvlink: {rate: 1Tbps}}, costs: {poll: 1us, read_tags: 32}}}, h2: {server: two-socket}}
dcqcn: {preset: paper, dce_tcp_g: 1/256, rpg_byte_reset: 150KB}
`,
		"quoted":  base + "  - permutation: {size: 1KB, count: \"3\"}\nseed: \"18\"\nmtu: \"1024\"\nswitch: {pfc: {alpha: \"0.125\"}}\n",
		"decimal": base + "switch: {pfc: {alpha: 0.125}}\nmtu: 1024B\n",
	} {
		if _, err := Parse(name, []byte(text), nil, nil); err != nil {
			t.Errorf("%s: the program refuses it: %v", name, err)
		}
		if err := validate(t, s, []byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func firstOf(topo, cm string) (string, string, []string, *uint64) { return topo, cm, nil, nil }

// Wrong keys, units, words, ranges and missing parts are caught by the schema
// as they are by the program.
func TestSchemaRefuses(t *testing.T) {
	s := compiledSchema(t)
	for _, text := range []string{
		base + "swich: {}\n",
		base + "switch: {pfc: {xof: 10KB}}\n",
		base + "switch: {buffer: 10}\n",
		base + "switch: {buffer: 10Gbps}\n",
		base + "switch: {ecn: {per_rate: {100Gbps: {kmn: 4KB}}}}\n",
		base + "switches: {leaf1: {bufer: 1MB}}\n",
		base + "switch: {trust: vlan}\n",
		base + "vlan: 7\n",
		base + "mtu: true\n",
		base + "seed: true\n",
		base + "nic: {window: true}\n",
		base + "nic: {retry: \"x\"}\n",
		base + "switch: {pfc: {alpha: 0.12345}}\n",
		base + "switch: {pfc: {alpha: \"0.12345\"}}\n",
		base + "nic: {retry: 8}\n",
		base + "dcqcn: nvida\n",
		base + "dcqcn: {rpg_threshold: 0}\n",
		base + "triggers: {x: {kind: onshot}}\n",
		base + "stop: soon\n",
		base + "  - {flow: {from: h0, to: h1, size: 1B}, incast: {to: h0, size: 1B}}\n",
		base + "  - flow: {from: h0, size: 1B}\n",
		base + "  - rpc: {size: 1B}\n",
		base + "  - rpc: {between: [h0, h1], size: 1B, recv_done: x}\n",
		base + "  - flows: {list: [{from: h0, to: h1, sice: 1B}]}\n",
		strings.Replace(base, "leaves: 2, ", "", 1),
		strings.Replace(base, "100Gbps", "100Gbit", 1),
		strings.Replace(base, "topology:", "topolgy:", 1),
	} {
		if _, err := Parse("s.yaml", []byte(text), nil, nil); err == nil {
			t.Errorf("the program accepts:\n%s", text)
		}
		if validate(t, s, []byte(text)) == nil {
			t.Errorf("the schema accepts:\n%s", text)
		}
	}
}
