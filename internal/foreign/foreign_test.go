package foreign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files are told by what they hold: each begins as the programs that write it do.
func TestRecognise(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Kind
	}{
		{"scenario", "# mine\ntopology: {star: {hosts: 2, link: 1Gbps}}\nworkload:\n  - flow: {from: h0, to: h1, size: 1KB}\n", Scenario},
		{"result", "{\n \"version\": 2,\n \"answers\": {}}", Result},
		{"run.json", `{"format": "hopscope run directory", "version": 2}`, RunMeta},
		{"trace", "from,to,size,start\nh0,h1,5KB,1us\n", Trace},
		{"ns-3 config", "ENABLE_QCN 1\nTOPOLOGY_FILE t.txt\n", NS3Config},
		{"ns-3 topology", "3 1 2\n2\n0 2 100Gbps 1000ns 0\n", NS3Topology},
		{"ns-3 flows", "1\n0 1 3 100 1000000 2.0\n", NS3Flows},
		{"SimAI topology", "10 8 1 2 16 H100\n8 9\n", SimAITopology},
		{"htsim topology", "Nodes 16\nTiers 2\n", HTSimTopology},
		{"htsim matrix", "Nodes 16\nConnections 2\n", HTSimMatrix},
		{"NCCL topology", "<!--\n - by somebody > else\n-->\n<system version=\"1\">\n", NCCLTopology},
		{"NCCL topology", "<?xml version=\"1.0\"?>\n<system version=\"1\">\n", NCCLTopology},
		{"NCCL graph", "<graphs version=\"1\">\n  <graph id=\"0\" pattern=\"4\">\n", NCCLGraph},
		{"topo -m", "\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\x1b[0m\nGPU0\t X \tNV12\tPIX\n", NVIDIAMatrix},
		{"ibnetdiscover", "#\nvendid=0x0\ndevid=0x0\n", Discovery},
		{"ibnetdiscover -p", "CA     3  1 0x0000000000100003 4x HDR - SW     2  2\n", Discovery},
		{"ibsim", "# ibsim\nSwitch\t8 \"Switch1\"\n", Discovery},
		{"dump_lfts", "Unicast lids [0x0-0x3] of switch Lid 2 guid 0x02 (sw):\n", Tables},
		{"nccl-tests", "# nThread 1 nGpus 8 minBytes 8\n#\n# Using devices\n", NCCLTests},
		{"Graphviz", "digraph network {\n a -> b\n}\n", Graphviz},
		{"GML", "graph [\n  directed 0\n  node [\n    id 0\n    label \"h0\"\n  ]\n]\n", GML},
		{"GML of others", "# by hand\nCreator \"yEd\"\nVersion 2.14\ngraph\n[\n  hierarchic 1\n", GML},
		{"GraphML", "<?xml version='1.0' encoding='utf-8'?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n", GraphML},
		{"GEXF", "<gexf version=\"1.2\"\n xmlns=\"x\">\n", GEXF},
		{"node-link", `{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"id": "h0"}]`, NodeLink},
		{"D3", `{"nodes": [{"id": "h0"}], "links": [{"source": "h0", "target": "s0"}]}`, NodeLink},
		{"Chakra", "\x07\x0a\x050.0.4H\x12\x14all_reduce", Chakra},
		{"SimAI workload", "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1\n2\n", SimAIWorkload},
		{"SimAI busbw", "test\nTP:\nallreduce,: 300\n", SimAIBandwidth},
		{"SONiC", "{\n \"CABLE_LENGTH\": {\"AZURE\": {\"Ethernet0\": \"5m\"}}}", SONiC},
		{"SONiC, flat", "{\n \"BUFFER_PG|Ethernet0|3-4\": {\"profile\": \"x\"}}", SONiC},
		{"SONiC profiles", "# PG lossless profiles.\n# speed cable size xon xoff\n", SONiCProfiles},
		{"containerlab", "name: clos02\ntopology:\n  nodes:\n    leaf1:\n      kind: linux\n  links:\n    - endpoints: [\"a:e1\", \"b:e1\"]\n", Containerlab},
		{"GOAL", "num_ranks 2\nrank 0 {\n", GOAL},
		{"gzip", "\x1f\x8b\x08", Compressed},
		{"zeros", strings.Repeat("\x00", 100), Binary},
		{"a poem", "Tables turned: the ring went round,\nnothing sent was ever found.\n", Unknown},
		{"empty", "", Unknown},
		{"a number", "7\n", Unknown},
		{"CSV", "a,b\n1,2\n", Unknown},
		{"other XML", "<body onload=alert(1)>", Unknown},
		{"a drawing", "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\">", Drawing},
		{"a page", "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>incast-4to1 – hopscope</title>\n", Page},
		{"another's page", "<!DOCTYPE html>\n<title>a network</title>\n", Unknown},
		{"a report", "victim-flow: rocev2-pfc-only, done at 4.085 ms, fingerprint 806c149cf62d68c4\n", Report},
		{"rows", "src,dst,qp,workload,verb,service,bytes,start_ps\n", Rows},
		{"nccl-tests without its head", "#  size  count  type redop root  time algbw busbw #wrong\n", NCCLTests},
		{"Chakra of PyTorch", `{"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": [{"id": 1}]}`, Chakra},
		{"Chakra as JSON", "{ \"version\": \"0.0.4\" }\n{\"id\": \"1\", \"name\": \"x\", \"type\": \"COMP_NODE\"}\n", Chakra},
	} {
		if got := Recognise([]byte(tt.text)); got != tt.want {
			t.Errorf("%s is told as %d, want %d", tt.name, got, tt.want)
		}
	}
}

// The same of real files, where they are.
func TestRecogniseReal(t *testing.T) {
	data := os.Getenv("HOPSCOPE_DATA")
	if data == "" {
		t.Skip("HOPSCOPE_DATA names no folder")
	}
	for pattern, want := range map[string]Kind{
		"chakra/*.et": Chakra, "containerlab/*.yml": Containerlab, "sonic/*-t0*.json": SONiC, "sonic/pg_profile_lookup*.ini": SONiCProfiles,
		"simai/SimAI.conf": NS3Config, "simai/microAllReduce.txt": SimAIWorkload, "simai/busbw.yaml": SimAIBandwidth,
		"htsim/*.topo": HTSimTopology, "htsim/*.cm": HTSimMatrix, "nccl-topo/*.xml": NCCLTopology,
		"nccl-tests/*.log": NCCLTests, "infiniband/ibnetdiscover/*": Discovery,
		"infiniband/superbench-ib_traffic_topo_aware_ibnetdiscover.txt": Discovery,
		"ns3/*/config.txt": NS3Config, "ns3/*/topology.txt": NS3Topology, "ns3/*/flow.txt": NS3Flows,
	} {
		names, err := filepath.Glob(filepath.Join(data, pattern))
		if err != nil || len(names) == 0 {
			t.Logf("%s: there are no such files", pattern)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := Recognise(text); got != want {
				t.Errorf("%s is told as %d, want %d", name, got, want)
			}
		}
	}
}

// Every kind has words, and a command's own kinds none.
func TestInstead(t *testing.T) {
	for k := Scenario; k <= Binary; k++ {
		if is, use := k.words(); is == "" || use == "" {
			t.Errorf("kind %d has no words", k)
		}
	}
	goal := []byte("num_ranks 2\n")
	if got := Instead(goal, "a scenario"); got != "is a schedule in GOAL, not a scenario; no command reads it yet" {
		t.Error(got)
	}
	if got := Instead(goal, "a schedule", GOAL); got != "" {
		t.Error(got)
	}
}
