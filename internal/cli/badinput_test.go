package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/run"
)

// Right files, which the bad ones stand beside.
const (
	goodStar   = "topology: {star: {hosts: 2, link: 100Gbps}}\n"
	goodFlow   = "workload:\n  - flow: {from: h0, to: h1, size: 1MB}\n"
	goodConfig = "ENABLE_QCN 0\nTOPOLOGY_FILE t.txt\nFLOW_FILE f.txt\n"
	goodNS3    = "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n"
	goodTopo   = "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\n" +
		"Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 1000\n"
	goodMatrix = "Nodes 4\nConnections 1\n0->1 start 0 size 1000\n"
	goodNet    = "Switch 2 \"s\"\n[1] \"a\"[1]\n[2] \"b\"[1]\nHca 1 \"a\"\nHca 1 \"b\"\n"
	cpu        = "<system version=\"1\"><cpu numaid=\"0\">"
	logHead    = "# nThread 1 nGpus 8 minBytes 8\n"
)

// badInput is a file that a command must refuse with status 2 and one line.
type badInput struct{ text, want string }

// badInputs are by reader: its command, in which X is the bad file, and the files beside it.
func badInputs() []struct {
	reader, command string
	beside          map[string]string
	inputs          []badInput
} {
	return []struct {
		reader, command string
		beside          map[string]string
		inputs          []badInput
	}{
		{"scenario", "run X", nil, []badInput{
			{"", "the file is empty"}, {"\x1f\x8b\x08", "is compressed (gzip)"}, {strings.Repeat("\x00", 99), "is no text"},
			{"topology: [", "not YAML"}, {"- 1\n", "a scenario is a mapping"}, {goodStar, "workload has no entries"},
			{goodFlow, "topology is missing"}, {goodStar + goodFlow + "seed: x\n", `"x" is not a whole number`},
			{goodStar + goodFlow + "stack: tpc\n", `did you mean "tcp"?`}, {goodStar + goodFlow + "mtu: 9000\n", "is not a path MTU"},
			{goodStar + "workload:\n  - flow: {from: h0, to: h9, size: 1MB}\n", `there is no host "h9"`},
			{goodStar + "workload:\n  - flow: {from: h0, to: h1, size: 1}\n", "has no unit"},
			{goodStar + goodFlow + "name: a\x1bb\n", "control character U+001B"}, {strings.Repeat("a: ", 99), "more than 64 colons"},
			{"{\"BUFFER_POOL\": {}}", "is a configuration of SONiC"}, {"num_ranks 2\n", "is a schedule in GOAL"},
		}},
		{"trace", "run s.yaml", map[string]string{"s.yaml": goodStar + "workload:\n  - flows: {file: X}\n"}, []badInput{
			{"", "the trace is empty"}, {"from,to,size\n", "the trace is empty"}, {"a,b\n", `"a"`}, {"from,to,size\nh0,h1\n", "2 cells where"},
			{"from,to,size\nh0,h1,x\n", `"x"`}, {"from,to,size\nh0,h9,1KB\n", "h9"}, {"from,to,size\nh0,h0,1KB\n", "itself"},
			{"from,to,size,start\nh0,h1,1KB,1\n", "has no unit"}, {"from,to,from\nh0,h1,h0\n", "twice"},
			{"from,to,size\n" + strings.Repeat(",", 99) + "\n", "100 cells in a row"}, {"\x07\x0a\x050.0.4", "is an execution trace of Chakra"},
		}},
		{"sizes", "run s.yaml", map[string]string{"s.yaml": goodStar + "workload:\n  - poisson: {load: 0.5, sizes: ./X, for: 1ms}\n"},
			[]badInput{
				{"", "at least two points, and this has 0"}, {"100 1\n", "at least two points, and this has 1"},
				{"0 0\n100 0.5\n200 0.4\n300 1\n", "X:3:1: the distribution falls from 0.5 to 0.4"},
				{"0 0\n100 50\n200 90\n", "ends at 0.9"}, {"0 0\n100 0.9\n", "ends at 0.9"},
				{"0 0.5\n100 1\n", "50 % of the messages have a size of 0"}, {"100 0\n50 1\n", "sizes rise"},
				{"100\n200 1\n", "a row of a distribution has"}, {"1 x\n2 1\n", `share "x" is not a number`},
				{"1 0\n3e9 1\n", "a message has 1 to 2147483648 bytes"},
			}},
		{"loads", "run X", nil, []badInput{
			{goodStar + "workload:\n  - poisson: {load: 0, size: 1KB, for: 1ms}\n", "0 is no load"},
			{goodStar + "workload:\n  - poisson: {load: 1, size: 1KB, for: 1ms}\n", "1 is no load"},
			{goodStar + "workload:\n  - poisson: {load: 0.5, for: 1ms}\n", "has no sizes"},
			{goodStar + "workload:\n  - poisson: {load: 0.5, sizes: websearch, for: 1ms}\n", "is no published distribution"},
			{goodStar + "workload:\n  - poisson: {load: 0.9, size: 1B, for: 1s}\n", "take about"},
			{goodStar + "workload:\n  - poisson: {load: 0.5, size: 1KB}\n", "has no for"},
			{goodStar + "workload:\n  - poisson: {load: 0.5, size: 0B, for: 1ms}\n", "0B at a load"},
			{goodStar + "workload:\n  - poisson: {load: 0.5, size: 1KB, for: 1ms, off: 1us}\n", "without on"},
			{goodStar + "workload:\n  - poisson: {load: 0.5, size: 1KB, for: 1ms, from: h0, to: h0}\n", "has no other host"},
			{goodStar + "workload:\n  - flow: {from: h0, to: h1, size: 1KB, count: 9, depth: 0}\n", `depth: "0"`},
			{goodStar + "workload:\n  - flow: {from: h0, to: h1, size: 1KB, count: 9, depth: 2, every: 1us}\n", "keep one"},
		}},
		{"ns-3 config", "run --ns3 X", map[string]string{"t.txt": goodNS3, "f.txt": "1\n0 1 3 100 1000 2\n"}, []badInput{
			{"", "TOPOLOGY_FILE is missing"}, {goodConfig + "CC_MOED 1\n", "did you mean CC_MODE?"}, {goodConfig + "CC_MODE 10\n", "HPCC-PINT"},
			{goodConfig + "BUFFER_SIZE 0\n", "from 1 to 1024"}, {goodConfig + "ENABLE_QCN 1\n", "stands in line 1 as well"},
			{strings.Replace(goodConfig, "t.txt", "no.txt", 1), "no.txt cannot be read"}, {goodConfig + "RP_TIMER x\n", "is not a whole number"},
			{goodConfig + "KMAX_MAP 9 1\n", "needs 19 values"}, {goodConfig + "SIMULATOR_STOP_TIME x\n", "is not a time"},
			{goodConfig + "LINK_DOWN 5 0 1\n", "there is no link between 0 and 1"}, {goodStar + goodFlow, "is a scenario, not a config file"},
		}},
		{"ns-3 topology", "run --ns3 c.txt", map[string]string{"c.txt": strings.Replace(goodConfig, "t.txt", "X", 1), "f.txt": "1\n0 1 3 100 1000 2\n"}, []badInput{
			{"", "the file ends where the counts"}, {"3 1\n", "2 words where the counts"}, {"3 4 2\n2\n", "is not a whole number from 0 to 3"},
			{"3 1 2\n", "ends after 0 of 1 switch ids"}, {"3 1 2\n2 2\n", "one too many or stands twice"}, {"3 1 2\n7\n", "switch id"},
			{"3 1 2\n2\n0 2 100Gbps 1us 0\n", "the file ends where a link"}, {strings.Replace(goodNS3, "100Gbps", "100G", 1), "unknown unit"},
			{strings.Replace(goodNS3, "1us", "1", 1), "has no unit"}, {strings.Replace(goodNS3, " 0\n1", " 2\n1", 1), "error rate"},
			{strings.Replace(goodNS3, "1 2 100", "0 2 100", 1), "host h1 has no link"}, {"10 8 1 2 16 H100\n8 9\n", "ends after 2 of 3 switch ids"},
		}},
		{"ns-3 flows", "run --ns3 c.txt", map[string]string{"c.txt": strings.Replace(goodConfig, "f.txt", "X", 1), "t.txt": goodNS3}, []badInput{
			{"", "the file ends where the number of flows"}, {"x\n", "flow count"}, {"0\n", "from 1 to"}, {"2\n0 1 3 100 1000 2\n", "the file ends where a flow"},
			{"1\n0 0 3 100 1000 2\n", "itself"}, {"1\n0 2 3 100 1000 2\n", "is a switch"}, {"1\n0 1 9 100 1000 2\n", "priority group"},
			{"1\n0 1 3 99999 1000 2\n", "destination port"}, {"1\n0 1 3 100 0 2\n", "flow size"}, {"1\n0 1 3 100 1000 x\n", "is not a time"},
			{"2\n0 1 3 100 1000 2\n0 1 3 100 1000 1\n", "is before the row above"},
		}},
		{"htsim topology", "run --topo X --cm m.cm", map[string]string{"m.cm": goodMatrix}, []badInput{
			{"", "nodes is missing"}, {"Nodes\n", "1 words where a key"}, {"Nodes x\n", "nodes"}, {"Nods 4\n", `did you mean "nodes"?`},
			{strings.Replace(goodTopo, "Tiers 2", "Tiers 3", 1), "Tiers 3 and 2 Tier sections"}, {strings.Replace(goodTopo, "Podsize 4", "Podsize 2", 1), "must be all 4 nodes"},
			{strings.Replace(goodTopo, "Tier 1", "Tier 2", 1), "stands where Tier 1 should"}, {goodTopo + "Radix_Up 2\n", "has no links up"},
			{goodTopo + "Queue_up 9\n", "is not built"}, {strings.Replace(goodTopo, "Radix_Up 2", "Radix_Up 1", 1), "links down and 1 up"},
			{goodMatrix, "is a connection matrix of htsim, not a topology"},
		}},
		{"htsim matrix", "run --topo n.topo --cm X", map[string]string{"n.topo": goodTopo}, []badInput{
			{"", "nodes is missing"}, {"Nodes 5\nConnections 0\n", "nodes 5, but there are 4 nodes in the topology"}, {"Nodes 4\nConnections 2\n0->1 start 0 size 1\n", "make them agree"},
			{"Nodes 4\nConnections 1\n0->9 start 0 size 1\n", "destination"}, {"Nodes 4\nConnections 1\n0->0 start 0 size 1\n", "itself"},
			{"Nodes 4\nConnections 1\n0->1 start 0 size x\n", `size "x"`}, {"Nodes 4\nConnections 1\n0->1 size 1\n", "needs a start or a trigger"},
			{"Nodes 4\nConnections 1\n0->1 start 0 size x\n", "size"}, {"Nodes 4\nConnections 1\n0->1 strat 0 size 1\n", `did you mean "start"?`},
			{"Nodes 4\nConnections 1\nfailure 1\n", "failures are not built"}, {goodTopo, "is a topology of htsim, not a connection matrix"},
		}},
		{"server", "host X", nil, []badInput{
			{"", "the file is empty"}, {"#!/bin/sh\n", "neither a topology of NCCL"}, {"<graphs version=\"1\">", "is a dump of NCCL's graphs"},
			{"<system version=\"1\">", "is it cut off?"}, {cpu, "is it cut off?"}, {"<system version=\"1\"><gpu/></system>", "gpu"},
			{cpu + strings.Repeat("<pci busid=\"0000:01:00.0\" class=\"0x060400\">", 99), "nested more than 64 deep"},
			{cpu + "<pci busid=\"x\" class=\"0x030200\"/></cpu></system>", "busid"},
			{cpu + "<pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"8 GT/s\" link_width=\"3\"/></cpu></system>", "no PCIe has it"},
			{"\tGPU0\tNIC0\nGPU0\t X \tPIX\n", "NIC0"}, {"\tGPU0\tGPU1\nGPU0\t X \tABC\nGPU1\tABC\t X \n", "ABC"},
		}},
		{"network", "fabric X", nil, []badInput{
			{"", "is empty"}, {"a poem\n", "is neither of what it should be"}, {"digraph x {\n}\n", "is a graph in Graphviz's language"},
			{"Switch 2 \"S-aa\"\n", "the node's description"}, {"Switch 0 \"S-aa\" # \"a\" base port 0 lid 1 lmc 0\n", "0 ports"},
			{"Switch 2 \"S-xx\" # \"a\" base port 0 lid 1 lmc 0\n", "a node GUID"}, {"Switch 2 \"S-aa\" # \"a\" base port 0 lid 99999 lmc 0\n", "a LID is beyond 49151"},
			{"Switch 2 \"S-aa\" # \"a\" base port 0 lid 1 lmc 0\n[1] \"S-bb\"\n", "is the file torn?"},
			{"Ca 1 \"S-aa\" # \"a\"\n", "named as a switch"}, {"[1] \"S-bb\"[1] # \"b\" lid 1 4xEDR\n", "before any node"},
			{"Switch 2 \"a\"\n[1] \"b\"[1]\n", `there is no node "b"`}, {"switchguid=0xaa(aa)\n", "is it torn?"},
		}},
		{"tables", "fabric n.net --tables X", map[string]string{"n.net": goodNet}, []badInput{
			{"", "the file ends without a table of switch s"}, {"a poem\n", "stands where Unicast lids"}, {goodNet, "is an InfiniBand network"}, {"Unicast lids [0x0-0x3] of switch Lid 2 guid x (s):\n", "stands where a GUID"},
			{"Unicast lids [0x0-0x3] of switch Lid 2 guid 0x99 (s):\n0x0001 001\n", "no switch with GUID"}, {"0x0001 001\n", "before the head of any switch"},
			{"Unicast lids [0x0-0x3] of switch Lid 2 guid 0x200000 (s):\n0x9999 001\n", "LID"}, {"Unicast lids [0x0-0x3] of switch Lid 2 guid 0x200000 (s):\n0x0001 abc\n", "port"},
			{"Unicast lids [0x0-0x3] of switch Lid 2 guid 0x200000 (s):\n0x0001\n", "port"}, {"Unicast lids\n", "should stand; is the file torn?"},
		}},
		{"log", "diagnose X c.yaml", map[string]string{"c.yaml": goodStar + goodFlow}, []badInput{
			{"", "holds no row of nccl-tests"}, {logHead, "holds no row of nccl-tests"}, {goodStar + goodFlow, "is a scenario, not a log"}, {"{", "JSON"},
			{"{\"results\": 1}", "results"}, {"a poem\n", "holds no row"}, {strings.Repeat("\x00", 99), "is no text"}, {"<system version=\"1\">", "is a server's topology"},
			{"# Collective test starting: all_reduce_perf\n#  size count type redop root time algbw busbw #wrong\n8 2 float sum -1 fast 0 0 0\n", "these titles are not those of nccl-tests"},
			{logHead + " 1024 256 float sum -1 25.00 0.04 0.04 0 24.00 0.04 0.04 0\n", "c"},
		}},
		{"run directory", "report .", map[string]string{"run.json": "X"}, []badInput{
			{"", "not written by hopscope, or cut short"}, {"{", "cut short"}, {"[]", "cut short"}, {"{}", "not written by hopscope"}, {"\x00", "cut short"},
			{`{"format": "x"}`, "not written by hopscope"}, {`{"format": "hopscope run directory", "version": 1}`, "version"},
			{`{"format": "hopscope run directory", "version": 2}`, "changed or cut short"},
			{`{"format": "hopscope run directory", "version": 2, "files": [{"name": "result.json", "sha256": ""}]}`, "changed or cut short"},
			{`{"format": "hopscope run directory", "version": 2, "files": [{"name": "run.json", "sha256": "00"}]}`, "changed or cut short"},
			{`{"format": "hopscope run directory", "version": 2, "files": 7}`, "cut short"},
		}},
	}
}

// Every bad input ends in one line with status 2, prints nothing, and takes little memory.
func TestBadInputs(t *testing.T) {
	all := 0
	var before, after runtime.MemStats
	for _, r := range badInputs() {
		if len(r.inputs) < 10 {
			t.Errorf("%s: %d bad inputs; a reader has at least ten", r.reader, len(r.inputs))
		}
		for _, in := range r.inputs {
			all++
			t.Chdir(t.TempDir())
			name := "X"
			for file, text := range r.beside {
				if text == "X" {
					name = file
				} else if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(".", name), []byte(in.text), 0o644); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			runtime.ReadMemStats(&before)
			status := Main(context.Background(), strings.Fields(r.command), &out, &errs, Pipeline{Do: run.Do, List: run.List})
			runtime.ReadMemStats(&after)
			said := errs.String()
			if status != exitUser || out.Len() > 0 || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "hopscope: ") || !strings.Contains(said, in.want) {
				t.Errorf("%s, %.40q: status %d, %q; want status 2 and %q", r.command, in.text, status, said, in.want)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
				t.Errorf("%s, %.40q: takes %d MB", r.command, in.text, took>>20)
			}
		}
	}
	if all < 80 {
		t.Errorf("%d bad inputs, want 80", all)
	}
}
