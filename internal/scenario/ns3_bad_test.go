package scenario

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Bad files of the ns-3 simulators end in one line with the place. The
// simulators themselves loop, crash or go on silently on most of these.
func TestBadNS3(t *testing.T) {
	cases := []struct {
		name, old, new string // replacement in the right files
		want           string
	}{
		{"misspelt key", "CC_MODE 1", "CC_MOED 1", `config.txt:6:1: unknown key "CC_MOED"; did you mean CC_MODE?`},
		{"non-numeric value", "RP_TIMER 300", "RP_TIMER abc", `config.txt:9:10: RP_TIMER "abc" is not a whole number from 1 to 1000000000`},
		{"too many values", "CC_MODE 1", "CC_MODE 1 2", `config.txt:6:11: unknown key "2"; remove it, or check the number of values of the key before it`},
		{"missing RP_TIMER", "RP_TIMER 300\n", "", `config.txt:1:1: RP_TIMER is missing; add a line such as RP_TIMER 300`},
		{"missing EWMA_GAIN", "EWMA_GAIN 0.00390625\n", "", `config.txt:1:1: EWMA_GAIN is missing; add a line such as EWMA_GAIN 0.00390625`},
		{"gain", "EWMA_GAIN 0.00390625", "EWMA_GAIN 1.5", `config.txt:10:11: EWMA_GAIN "1.5" is not a number from 0 to 1`},
		{"HPCC's stages", "CC_MODE 1", "CC_MODE 3\nMI_THRESH x", `config.txt:7:11: MI_THRESH "x" is not a whole number from 0 to 1000`},
		{"CC_MODE 10", "CC_MODE 1", "CC_MODE 10", `config.txt:6:9: CC_MODE 10 (HPCC-PINT) is not built yet; use 1 (DCQCN), 3 (HPCC), 7 (TIMELY) or 8 (DCTCP), or ENABLE_QCN 0 for none`},
		{"CC_MODE 99", "CC_MODE 1", "CC_MODE 99", `config.txt:6:9: CC_MODE 99 is no mode of those simulators; use 1 (DCQCN), 3 (HPCC), 7 (TIMELY) or 8 (DCTCP), or ENABLE_QCN 0 for none`},
		{"key twice", "RP_TIMER 300", "CC_MODE 3\nRP_TIMER 300", `config.txt:9:1: CC_MODE stands in line 6 as well; keep one`},
		{"rate unit", "RATE_AI 20Mb/s", "RATE_AI 20", `config.txt:12:9: RATE_AI: "20" has no unit; a rate ends in one of bps, Kbps, Mbps, Gbps, Tbps`},
		{"rate missing in map", "KMIN_MAP 2 100000000000 400 400000000000", "KMIN_MAP 2 200000000000 400 400000000000", `config.txt:21:1: KMIN_MAP has no entry for 100000000000 bit/s, a rate of the topology; add one`},
		{"map too short", "PMAX_MAP 2 100000000000 0.20 400000000000 0.20\nBUFFER_SIZE 32\n", "PMAX_MAP 2 100000000000 0.20\n", `config.txt:22:1: PMAX_MAP needs 5 values and the file ends after 3; add the rest`},
		{"kmin above kmax", "KMIN_MAP 2 100000000000 400 ", "KMIN_MAP 2 100000000000 4000 ", `config.txt:21:25: KMIN_MAP has 4000 kB for 100000000000 bit/s, above 1600 in KMAX_MAP; marking starts at Kmin and is certain above Kmax`},
		{"no buffer", "BUFFER_SIZE 32", "BUFFER_SIZE 0", `config.txt:23:13: BUFFER_SIZE "0" is not a whole number from 1 to 1024`},
		{"buffer overflow", "BUFFER_SIZE 32", "BUFFER_SIZE 5000", `config.txt:23:13: BUFFER_SIZE "5000" is not a whole number from 1 to 1024`},
		{"buffer below headrooms", "1000ns 0\n", "9ms 0\n", `config.txt:23:13: BUFFER_SIZE 32MiB is smaller than the reserves and headrooms of switch 3, 337.587288MB in all; give more`},
		{"acks never", "ACK_HIGH_PRIO 1", "L2_ACK_INTERVAL 0", `config.txt:18:17: L2_ACK_INTERVAL 0 never acknowledges, so no flow would finish; use 1`},
		{"back to zero", "ACK_HIGH_PRIO 1", "L2_BACK_TO_ZERO 1", `config.txt:18:17: L2_BACK_TO_ZERO 1 is not built yet; use 0`},
		{"link down nowhere", "LINK_DOWN 0 0 0", "LINK_DOWN 5 0 1", `config.txt:19:13: LINK_DOWN: there is no link between 0 and 1; name a link of the topology`},
		{"link down out of range", "LINK_DOWN 0 0 0", "LINK_DOWN 5 0 9", `config.txt:19:15: LINK_DOWN node "9" is not a whole number from 0 to 3`},
		{"topology missing", "TOPOLOGY_FILE topology.txt", "TOPOLOGY_FILE topo.txt", `config.txt:3:15: TOPOLOGY_FILE topo.txt cannot be read: no such file or directory; name an existing file, as given or relative to the config file`},
		{"flow file missing", "FLOW_FILE flow.txt", "FLOW_FILE f.txt", `config.txt:4:11: FLOW_FILE f.txt cannot be read: no such file or directory; name an existing file, as given or relative to the config file`},
		{"no flow file", "FLOW_FILE flow.txt\n", "", `config.txt:1:1: FLOW_FILE is missing; add a line such as FLOW_FILE flow.txt`},
		{"node id out of range", "0 3 100Gbps", "0 4 100Gbps", `topology.txt:3:3: link end "4" is not a whole number from 0 to 3`},
		{"link rate unit", "0 3 100Gbps", "0 3 100Gbit", `topology.txt:3:5: link rate: "100Gbit" has the unknown unit "Gbit"; a rate ends in one of bps, Kbps, Mbps, Gbps, Tbps`},
		{"link delay unit", "1us 0.0", "1000 0.0", `topology.txt:5:13: link delay: "1000" has no unit; a time ends in one of ps, ns, us, ms, s`},
		{"error rate", "1us 0.0", "1us 1.5", `topology.txt:5:17: error rate "1.5" is not a number from 0 to 1`},
		{"fewer links than the count", "2 3 100Gbps 1us 0.0\n", "", `topology.txt:5:1: the file ends where a link (src dst rate delay error_rate) should stand; add it, or lower the count above`},
		{"truncated link", "1us 0.0\n", "1us\n", `topology.txt:5:1: 4 words where a link (src dst rate delay error_rate) should stand; give 5`},
		{"switch id twice", "4 1 3\n3\n", "4 2 3\n3 3\n", `topology.txt:2:3: switch id 3 is one too many or stands twice; the first row announces 2 switches`},
		{"link to itself", "1 3 100Gbps", "3 3 100Gbps", `topology.txt:4:1: link s3 to s3: a link must join two different nodes`},
		{"flow to itself", "1 0 3 100 5500 2.000000000", "1 1 3 100 5500 2.000000000", `flow.txt:2:3: flow from host 1 to itself; name two hosts`},
		{"flow to a switch", "1 0 3 100 5500 2.000000000", "1 3 3 100 5500 2.000000000", `flow.txt:2:3: destination 3 is a switch; flows run between hosts`},
		{"flow from nobody", "1 0 3 100 5500 2.000000000", "7 0 3 100 5500 2.000000000", `flow.txt:2:1: source "7" is not a whole number from 0 to 3`},
		{"priority", "1 0 3 100 5500 2.000000000", "1 0 9 100 5500 2.000000000", `flow.txt:2:5: priority group "9" is not a whole number from 0 to 7`},
		{"no size", "1 0 3 100 5500 2.000000000", "1 0 3 100 0 2.000000000", `flow.txt:2:11: flow size "0" is not a whole number from 1 to 2147483648`},
		{"negative size", "1 0 3 100 5500 2.000000000", "1 0 3 100 -5 2.000000000", `flow.txt:2:11: flow size "-5" is not a whole number from 1 to 2147483648`},
		{"five gigabytes", "1 0 3 100 5500 2.000000000", "1 0 3 100 5000000000 2.000000000", `flow.txt:2:11: flow size "5000000000" is not a whole number from 1 to 2147483648`},
		{"unsorted", "5500 2.000000000", "5500 3.0", `flow.txt:3:16: start time 2.0000000271 is before the row above; sort the flows by start time`},
		{"start", "5500 2.000000000", "5500 soon", `flow.txt:2:16: start time "soon" is not a time in seconds from 0 to 9223372, such as 2.000001`},
		{"time overflow", "5500 2.000000000", "5500 99999999999", `flow.txt:2:16: start time "99999999999" is not a time in seconds from 0 to 9223372, such as 2.000001`},
		{"fewer flows than the count", "2\n1 0 3", "3\n1 0 3", `flow.txt:4:1: the file ends where a flow (src dst pg dport bytes start) should stand; add it, or lower the count above`},
		{"truncated flow", "5500 2.0000000271\n", "5500\n", `flow.txt:3:1: 5 words where a flow (src dst pg dport bytes start) should stand; give 6`},
	}
	for _, c := range cases {
		files := [3]string{ns3ConfigText, ns3TopologyText, ns3FlowText}
		changed := false
		for i := range files {
			if !changed && strings.Contains(files[i], c.old) {
				files[i] = strings.Replace(files[i], c.old, c.new, 1)
				changed = true
			}
		}
		if !changed {
			t.Fatalf("%s: no file contains %q", c.name, c.old)
		}
		dir := writeNS3(t, files[0], files[1], files[2])
		_, err := LoadNS3(filepath.Join(dir, "config.txt"), nil, nil)
		got := strings.ReplaceAll(errText(err), dir+string(filepath.Separator), "")
		if got != c.want {
			t.Errorf("%s:\n got  %s\n want %s", c.name, got, c.want)
		}
	}
}

// Two islands: the pair of the flow has no path.
func TestNS3Disconnected(t *testing.T) {
	dir := writeNS3(t, ns3ConfigText, "4 2 2\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n", ns3FlowText)
	_, err := LoadNS3(filepath.Join(dir, "config.txt"), nil, nil)
	want := `topology.txt:1:1: hosts h0 and h1 are not connected; add the missing links`
	if got := strings.ReplaceAll(errText(err), dir+string(filepath.Separator), ""); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNS3ConfigMissing(t *testing.T) {
	_, err := LoadNS3("no/such/config.txt", nil, nil)
	want := `no/such/config.txt: cannot be read: no such file or directory; name a config file of the ns-3 RDMA simulators`
	if got := errText(err); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Keys of DCQCN are checked where it is off as well.
func TestNS3UnusedKeysAreChecked(t *testing.T) {
	config := filepath.Join(writeNS3(t, ns3ConfigText, ns3TopologyText, ns3FlowText), "config.txt")
	for _, c := range []struct {
		set  string
		want string // in the error; empty: none
	}{
		{"RP_TIMER=abc", `RP_TIMER "abc" is not a whole number from 1 to 1000000000`},
		{"EWMA_GAIN=2", `EWMA_GAIN "2" is not a number from 0 to 1`},
		{"RP_TIMER=300", ""},
	} {
		_, err := LoadNS3(config, []string{"ENABLE_QCN=0", c.set}, nil)
		if got := errText(err); (err == nil) != (c.want == "") || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.set, got, c.want)
		}
	}
	without := strings.Replace(ns3ConfigText, "RP_TIMER 300\n", "", 1)
	config = filepath.Join(writeNS3(t, without, ns3TopologyText, ns3FlowText), "config.txt")
	if _, err := LoadNS3(config, []string{"ENABLE_QCN=0"}, nil); err != nil {
		t.Errorf("without RP_TIMER: %v", err)
	}
}

// Keys that change nothing there change nothing here, and say so.
func TestNS3IdleKeysWarn(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"USE_DYNAMIC_PFC_THRESHOLD 0", "USE_DYNAMIC_PFC_THRESHOLD 0 has no effect, as in the ns-3 RDMA simulators"},
		{"USE_DYNAMIC_PFC_THRESHOLD 1", ""},
		{"PAUSE_TIME 500", "PAUSE_TIME 500 has no effect, as in the ns-3 RDMA simulators"},
		{"PAUSE_TIME 5", ""},
		{"L2_ACK_INTERVAL 10", "L2_ACK_INTERVAL 10 has no effect: every packet is acknowledged"},
		{"L2_ACK_INTERVAL 1", ""},
	} {
		v, err := LoadNS3(filepath.Join(writeNS3(t, ns3ConfigText+c.line+"\n", ns3TopologyText, ns3FlowText), "config.txt"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(v.Warnings, "; "); c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: warnings %q, want %q", c.line, got, c.want)
		}
	}
}

// The starts that the simulators' own fct.txt have for these seconds: exact
// binary doubles stay, those just below their decimal lose a nanosecond.
func TestNS3Start(t *testing.T) {
	v, other := &Valid{Wire: wire.NS3}, &Valid{Wire: wire.Ethernet}
	for _, c := range []struct{ ns, want int64 }{{2_000_000_000, 2_000_000_000}, {2_001_000_000, 2_000_999_999}, {2_500_000_000, 2_500_000_000}, {0, 0}} {
		if got := v.ns3Start(units.Time(c.ns) * units.Nanosecond); got != c.want {
			t.Errorf("%d ns: %d, want %d", c.ns, got, c.want)
		}
		if got := other.ns3Start(units.Time(c.ns) * units.Nanosecond); got != c.ns {
			t.Errorf("%d ns of another scenario: %d", c.ns, got)
		}
	}
}

// Those simulators know WRITE over a reliable connection; a scenario of theirs
// cannot ask for what they have no rules for.
func TestNS3KnowsNoRead(t *testing.T) {
	dir := writeNS3(t, ns3ConfigText, ns3TopologyText, ns3FlowText)
	v, err := LoadNS3(filepath.Join(dir, "config.txt"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for set, want := range map[string]string{
		"workload[0].flows.verb=send":  "no error",
		"workload[0].flows.verb=read":  "workload[0]: READ over RC is nothing that the ns-3 RDMA simulators have; use write or send, or leave the ns3 section out",
		"workload[0].flows.service=uc": "workload[0]: WRITE over UC is nothing that the ns-3 RDMA simulators have; use write or send, or leave the ns3 section out",
	} {
		_, err := Parse("s.yaml", v.Source, []string{set}, nil)
		if got := errText(err); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s, want %s", set, got, want)
		}
	}
}
