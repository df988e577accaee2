// Package foreign recognises files by what they are, so that a command which is given the
// wrong one can say what it is and which command reads it.
package foreign

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
)

// Kind is what a file is.
type Kind uint8

// Kinds that a command reads, then those that none reads yet.
const (
	Unknown        Kind = iota
	Scenario            // of this program
	Result              // the JSON that run --json wrote
	RunMeta             // run.json of a run directory
	Trace               // a CSV of flows
	NS3Config           // of the ns-3 RDMA simulators
	NS3Topology         // likewise: counts, switches, links
	NS3Flows            // likewise: a count, then flows
	SimAITopology       // as NS3Topology with six counts
	HTSimTopology       // .topo
	HTSimMatrix         // .cm
	NCCLTopology        // XML of NCCL_TOPO_DUMP_FILE
	NVIDIAMatrix        // nvidia-smi topo -m
	Discovery           // ibnetdiscover, or a net file of ibsim
	Tables              // dump_lfts
	NCCLTests           // a log of nccl-tests
	NCCLGraph           // XML of NCCL_GRAPH_DUMP_FILE
	Graphviz            // a graph in the DOT language
	GML                 // a graph in the Graph Modelling Language
	GraphML             // a graph in XML
	GEXF                // a graph in Gephi's XML
	NodeLink            // a graph in JSON, as NetworkX and D3 write it
	Chakra              // an execution trace
	SimAIWorkload       // a workload of SimAI or ASTRA-sim
	SimAIBandwidth      // busbw.yaml of SimAI
	SONiC               // config_db.json or a part of it
	SONiCProfiles       // pg_profile_lookup.ini
	Containerlab        // a topology of containerlab
	GOAL                // a schedule of LogGOPSim
	Page                // an HTML page that --html wrote
	Report              // the text that run prints
	Drawing             // SVG
	Rows                // a table that --csv wrote
	Capture             // of packets: pcap or pcapng
	Compressed          // gzip
	Binary              // bytes that are no text
)

// words says what a kind is, and what to do with it.
func (k Kind) words() (is, use string) {
	switch k {
	case Scenario:
		return "a scenario", "hopscope run runs it"
	case Result:
		return "a result that run --json wrote",
			"hopscope report prints what run --out DIR kept; run the scenario again with --out"
	case RunMeta:
		return "a part of a run directory", "hopscope report prints the directory that holds it"
	case Trace:
		return "a list of flows (CSV)", "a scenario names it: workload: [{flows: {file: FILE}}]"
	case NS3Config:
		return "a config file of the ns-3 RDMA simulators",
			"hopscope run --ns3 runs it, hopscope import --ns3 makes a scenario of it"
	case NS3Topology:
		return "a topology of the ns-3 RDMA simulators",
			"a config file names it, which hopscope run --ns3 takes (TOPOLOGY_FILE)"
	case NS3Flows:
		return "a flow file of the ns-3 RDMA simulators", "a config file names it, which hopscope run --ns3 takes (FLOW_FILE)"
	case SimAITopology:
		return "a topology of SimAI", "a config file names it, which hopscope run --ns3 takes (TOPOLOGY_FILE)"
	case HTSimTopology:
		return "a topology of htsim", "hopscope run or import take it as --topo beside --cm FILE"
	case HTSimMatrix:
		return "a connection matrix of htsim", "hopscope run or import take it as --cm beside --topo FILE"
	case NCCLTopology:
		return "a server's topology of NCCL", "hopscope host reads it, and a scenario names it: server: {file: FILE}"
	case NVIDIAMatrix:
		return "output of nvidia-smi topo -m", "hopscope host reads it, and a scenario names it: server: {file: FILE}"
	case Discovery:
		return "an InfiniBand network (ibnetdiscover, ibsim)", "hopscope fabric reads it"
	case Tables:
		return "forwarding tables (dump_lfts)", "hopscope fabric NETWORK --tables FILE judges them"
	case NCCLTests:
		return "a log of nccl-tests", "hopscope diagnose FILE SCENARIO reads it"
	case Page:
		return "a page that --html wrote", "a browser shows it"
	case Report:
		return "a report of hopscope", "it is text to read; hopscope run takes the scenario that it names"
	case Drawing:
		return "a drawing (SVG)", "a browser shows it"
	case Rows:
		return "a table that --csv wrote", "spreadsheets and scripts read it"
	case Capture:
		return "a capture of packets", "hopscope decode reads it"
	case Compressed:
		return "compressed (gzip)", "unpack it first"
	case Binary:
		return "no text", "name a text file"
	}
	return k.unread()
}

// unread is words of what no command reads.
func (k Kind) unread() (is, use string) {
	const none = "no command reads it yet"
	const graph = none + "; a scenario lists hosts, switches and links under topology"
	switch k {
	case NCCLGraph:
		return "a dump of NCCL's graphs (NCCL_GRAPH_DUMP_FILE)",
			none + "; hopscope host reads the topology, NCCL_TOPO_DUMP_FILE"
	case Graphviz:
		return "a graph in Graphviz's language", graph
	case GML:
		return "a graph in GML", graph
	case GraphML:
		return "a graph in GraphML", graph
	case GEXF:
		return "a graph in GEXF", graph
	case NodeLink:
		return "a graph in JSON (nodes and links)", graph
	case Chakra:
		return "an execution trace of Chakra", none
	case SimAIWorkload:
		return "a workload of SimAI", none + "; a scenario's workload has collectives"
	case SimAIBandwidth:
		return "a table of bus bandwidths of SimAI", none
	case SONiC:
		return "a configuration of SONiC", none + "; its buffers and thresholds are keys of switch.memory"
	case SONiCProfiles:
		return "a table of headroom by cable of SONiC", none + "; its rows are what switch.memory has as by_cable"
	case Containerlab:
		return "a topology of containerlab", graph
	case GOAL:
		return "a schedule in GOAL", none
	}
	return "", ""
}

// Instead says of a file that is not what a command wants what it is and what to do with
// it: "is a topology of containerlab, not a scenario; ...". It is "" of an unknown file and
// of the kinds that the command does read.
func Instead(text []byte, want string, reads ...Kind) string {
	k := Recognise(text)
	if k == Unknown || slices.Contains(reads, k) {
		return ""
	}
	is, use := k.words()
	return "is " + is + ", not " + want + "; " + use
}

// looked is how much of a file is looked at, in bytes.
const looked = 64 << 10

// Recognise tells what a file is by how it begins; Unknown: it is none of the kinds.
func Recognise(text []byte) Kind {
	text = bytes.TrimPrefix(text[:min(len(text), looked)], []byte("\ufeff"))
	switch {
	case bytes.HasPrefix(text, []byte("\x1f\x8b")):
		return Compressed
	case isCapture(text):
		return Capture
	case isChakra(text):
		return Chakra
	case bytes.IndexByte(text, 0) >= 0:
		return Binary
	}
	for _, known := range []func([]byte) Kind{byXML, byJSON, byFirstLine, byNumbers, byKeys} {
		if k := known(text); k != Unknown {
			return k
		}
	}
	return Unknown
}

// isCapture looks for the magic numbers of pcap, in either byte order, and of pcapng.
func isCapture(text []byte) bool {
	for _, magic := range []string{"\xa1\xb2\xc3\xd4", "\xd4\xc3\xb2\xa1", "\xa1\xb2\x3c\x4d", "\x4d\x3c\xb2\xa1",
		"\x0a\x0d\x0d\x0a"} {
		if bytes.HasPrefix(text, []byte(magic)) {
			return true
		}
	}
	return false
}

// isChakra looks for the first message of an execution trace: its length, then field 1 of
// GlobalMetadata, the version of the schema (Chakra, et_def.proto).
func isChakra(text []byte) bool {
	length, n := binary.Uvarint(text)
	if n <= 0 || length == 0 || length > 1<<20 || len(text) < n+3 || text[n] != 0x0a {
		return false
	}
	size := int(text[n+1])
	version := text[min(len(text), n+2):min(len(text), n+2+size)]
	return size > 2 && size < 32 && uint64(size) < length && regexp.MustCompile(`^[0-9]+(\.[0-9]+)+`).Match(version)
}

// byXML tells files of NCCL, graphs and drawings by their outermost element, own pages by
// their title.
func byXML(text []byte) Kind {
	if regexp.MustCompile(`(?is)^\s*<!doctype html>.*<title>[^<]*\bhopscope</title>`).Match(text) {
		return Page
	}
	m := regexp.MustCompile(`^(?:\s|<\?[^>]*\?>|(?s:<!--.*?-->))*<([a-zA-Z]+)[\s>]`).FindSubmatch(text)
	if m == nil {
		return Unknown
	}
	switch string(m[1]) {
	case "svg":
		return Drawing
	case "system":
		return NCCLTopology
	case "graphs":
		return NCCLGraph
	case "graphml":
		return GraphML
	case "gexf":
		return GEXF
	}
	return Unknown
}

// byJSON tells JSON files by the keys that they have near their beginning.
func byJSON(text []byte) Kind {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' {
		return Unknown
	}
	has := func(keys ...string) bool {
		for _, key := range keys {
			if regexp.MustCompile(`"` + key + `(\|[^"]*)?"\s*:`).Match(text) {
				return true
			}
		}
		return false
	}
	switch {
	case has("format") && bytes.Contains(text, []byte("hopscope run directory")):
		return RunMeta
	case has("answers") && has("version"):
		return Result
	case has("BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "CABLE_LENGTH", "PORT_QOS_MAP", "WRED_PROFILE",
		"DEVICE_METADATA", "PFC_WD", "TC_TO_PRIORITY_GROUP_MAP", "DSCP_TO_TC_MAP"):
		return SONiC
	case has("nccl_version", "nccl-tests") || has("results") && has("busbw", "out_of_place"):
		return NCCLTests
	case regexp.MustCompile(`"schema"\s*:\s*"[0-9.]+-chakra`).Match(text),
		regexp.MustCompile(`"type"\s*:\s*"(METADATA|MEM_LOAD|MEM_STORE|COMP|COMM_(SEND|RECV|COLL))_NODE"`).Match(text):
		return Chakra // of PyTorch, or Chakra's protobuf as JSON
	case has("nodes") && (has("links", "edges") && has("source") && has("target") || has("directed") && has("multigraph")):
		return NodeLink
	}
	return Unknown
}

// lines are the first lines that are neither empty nor a comment, without blanks around.
func lines(text []byte, most int) (out []string) {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			if out = append(out, line); len(out) == most {
				break
			}
		}
	}
	return out
}

// byFirstLine tells what a single line at the beginning shows.
func byFirstLine(text []byte) Kind {
	if regexp.MustCompile(`(?m)^#\s*(nccl-tests version|nThread \d+ nGpus|Collective test starting)`).Match(text) ||
		regexp.MustCompile(`(?m)^#\s*size\s+count\b.*\salgbw\s+busbw\b`).Match(text) {
		return NCCLTests
	}
	if regexp.MustCompile(`^\s*((#.*|[A-Za-z]+\s+("[^"]*"|[-0-9.]+))\s*\n\s*)*graph\s*\[`).Match(text) { // after a comment, Creator and Version
		return GML
	}
	if regexp.MustCompile(`(?m)^#\s*PG lossless profiles`).Match(text) {
		return SONiCProfiles
	}
	first := lines(text, 2)
	if len(first) == 0 {
		return Unknown
	}
	line := first[0]
	for _, k := range []struct {
		kind    Kind
		pattern string
	}{
		{Tables, `^Unicast lids `},
		{Discovery, `^(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=`},
		{Discovery, `^(Switch|Ca|Hca|Rt|CA|SW|RT)\s+\d+\s+("|\d+\s+0x)`},
		{SimAIWorkload, `^(HYBRID_|DATA|MODEL|MICRO|TRANSFORMER)[A-Z_]*(\s+model_parallel_NPU_group:|\s*$)`},
		{Graphviz, `^(strict\s+)?(di)?graph\b[^{:]*\{`},
		{GOAL, `^num_ranks\s+\d+`},
		{NVIDIAMatrix, `^(\x1b\[[0-9;]*m)*GPU0\b.*(GPU1|NIC0|CPU Affinity|mlx5_)`},
		{Report, `^\S.*, fingerprint [0-9a-f]{16}$`},
		{Rows, `^(src,dst,qp,workload,|node,port,peer,class,)`},
		{Trace, `^(from|src)\s*,\s*(to|dst)\s*,`},
	} {
		if regexp.MustCompile(k.pattern).MatchString(line) {
			return k.kind
		}
	}
	if word := strings.Fields(line)[0]; word == "Nodes" {
		if len(first) > 1 && strings.HasPrefix(first[1], "Connections") {
			return HTSimMatrix
		}
		return HTSimTopology
	}
	return Unknown
}

// byNumbers tells files of the ns-3 simulators, which begin with counts.
func byNumbers(text []byte) Kind {
	first := lines(text, 3)
	if len(first) < 2 {
		return Unknown
	}
	number := regexp.MustCompile(`^[0-9]+$`)
	numbers := func(words []string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !number.MatchString(w) })
	}
	head, next := strings.Fields(first[0]), strings.Fields(first[1])
	switch {
	case len(head) == 6 && numbers(head[:5]) && !number.MatchString(head[5]):
		return SimAITopology
	case len(head) == 3 && numbers(head):
		last := strings.Fields(first[len(first)-1])
		if len(last) == 5 && regexp.MustCompile(`(?i)bps$|b/s$`).MatchString(last[2]) || numbers(next) {
			return NS3Topology
		}
	case len(head) == 1 && numbers(head) && (len(next) == 5 || len(next) == 6) && numbers(next[:len(next)-1]):
		return NS3Flows
	}
	return Unknown
}

// byKeys tells files that begin with keys, one a line or of YAML.
func byKeys(text []byte) Kind {
	has := func(pattern string) bool { return regexp.MustCompile(`(?m)` + pattern).Match(text) }
	switch {
	case has(`^(TOPOLOGY_FILE|FLOW_FILE|CC_MODE|ENABLE_QCN|PACKET_PAYLOAD_SIZE|KMAX_MAP)\s+\S`):
		return NS3Config
	case has(`^topology:`) && has(`^\s+nodes:`) && (has(`^\s+-?\s*endpoints:`) || has(`^\s+kind:`)):
		return Containerlab
	case has(`^(TP|DP|EP|PP):\s*$`) && has(`^\s*(allreduce|busbw),?:`):
		return SimAIBandwidth
	case has(`^topology:`) && has(`^workload:`):
		return Scenario
	}
	return Unknown
}
