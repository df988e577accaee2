package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Small files of our own in htsim's formats.
const (
	htsimTopoText = `# two racks
Nodes 8
Tiers 2
Podsize 8

Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 0
Oversubscribed 2

Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Downlink_Latency_ns 500
Switch_Latency_ns 250
`
	htsimMatrixText = `Nodes 8
Connections 5
Triggers 3
# a request, an answer, and what both set off
0->7 id 1 start 1500 size 2000000 send_done_trigger 1
7->0 id 2 trigger 1 size 1000 recv_done_trigger 2 prio 4
1->6 id 3 start 0 size 500 send_done_trigger 2
2->5 id 4 trigger 2 size 64 send_done_trigger 3
3->5 trigger 3 size 65
trigger id 1 oneshot
trigger id 2 barrier count 2
trigger id 3 multishot
`
)

// writeHTSim writes both files into a fresh folder.
func writeHTSim(t testing.TB, topo, cm string) (topoFile, cmFile string) {
	t.Helper()
	dir := t.TempDir()
	topoFile, cmFile = filepath.Join(dir, "net.topo"), filepath.Join(dir, "load.cm")
	for name, text := range map[string]string{topoFile: topo, cmFile: cm} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return topoFile, cmFile
}

// The formats are those of peers.md A5: derived counts, speeds and latencies of
// the links below a tier, starts in picoseconds, triggers.
func TestHTSim(t *testing.T) {
	topo, cm := writeHTSim(t, htsimTopoText, htsimMatrixText)
	v, err := LoadHTSim(topo, cm, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.Name != "load" || len(v.Graph.Endpoints) != 8 || len(v.Graph.Links) != 8+4 {
		t.Errorf("%s: %d hosts, %d links; want load, 8, 12", v.Name, len(v.Graph.Endpoints), len(v.Graph.Links))
	}
	leaf := switchNamed(t, v, "leaf2")
	spine := switchNamed(t, v, "spine2")
	if leaf.Latency != 0 || spine.Latency != 250*units.Nanosecond {
		t.Errorf("latencies %v and %v, want 0 and 250ns", leaf.Latency, spine.Latency)
	}
	n, _ := v.Graph.NodeByName("leaf2")
	down, up := v.Graph.LinkAt(n, 0), v.Graph.LinkAt(n, 4)
	if down.Rate != 100*units.Gbps || down.Delay != units.Microsecond || up.Rate != 200*units.Gbps || up.Delay != 500*units.Nanosecond {
		t.Errorf("links of leaf2: %v %v down, %v %v up", down.Rate, down.Delay, up.Rate, up.Delay)
	}
	if losslessOf(leaf) != 1<<3|1<<4 {
		t.Errorf("lossless %#x, want priorities 3 and 4", losslessOf(leaf))
	}
	type msg struct {
		src, dst          int
		bytes             units.Bytes
		start             units.Time
		trigger, snd, rcv int
		class             uint8
	}
	want := []msg{
		{1, 6, 500, 0, 0, 2, 0, 3},
		{0, 7, 2000000, 1500, 0, 1, 0, 3},
		{7, 0, 1000, units.Never, 1, 0, 2, 4},
		{2, 5, 64, units.Never, 2, 3, 0, 3},
		{3, 5, 65, units.Never, 3, 0, 0, 3},
	}
	for i, m := range v.Plan.All() {
		c := v.Plan.Conns[m.Conn]
		if got := (msg{c.Src, c.Dst, m.Bytes, m.Start, m.Trigger, m.SendDone, m.RecvDone, c.Class}); got != want[i] {
			t.Errorf("message %d: %+v, want %+v", i, got, want[i])
		}
	}
	for i, k := range []workload.TriggerKind{workload.OneShot, workload.Barrier, workload.MultiShot} {
		if got := v.Plan.Triggers[i]; got.Kind != k || got.Count != map[workload.TriggerKind]int{workload.Barrier: 2}[k] {
			t.Errorf("trigger %d: %+v", i+1, got)
		}
	}
	sameAgain(t, "load.cm", v)
}

// --set changes the scenario that the files amount to.
func TestHTSimSet(t *testing.T) {
	topo, cm := writeHTSim(t, htsimTopoText, htsimMatrixText)
	seed := uint64(5)
	v, err := LoadHTSim(topo, cm, []string{"switch.buffer=4MB", "dcqcn=paper", "workload[0].flows.list[0].size=3KB"}, &seed)
	if err != nil {
		t.Fatal(err)
	}
	if v.Seed != 5 || v.DCQCN == nil || v.Plan.Series[1].Bytes != 3000 {
		t.Errorf("seed %d, message %+v", v.Seed, v.Plan.Series[1])
	}
	sameAgain(t, "load.cm", v)
}

// Every kind of wrong line is an error with its place.
const htsimTwoTiers = `Nodes 4
Tiers 2
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 1000
`

func TestBadHTSim(t *testing.T) {
	replace := func(s, old, new string) string {
		if !strings.Contains(s, old) {
			t.Fatalf("%q is not in the text", old)
		}
		return strings.Replace(s, old, new, 1)
	}
	topo := func(old, new string) [2]string { return [2]string{replace(htsimTopoText, old, new), htsimMatrixText} }
	cm := func(old, new string) [2]string { return [2]string{htsimTopoText, replace(htsimMatrixText, old, new)} }
	for _, c := range []struct {
		name  string
		files [2]string
		want  string
	}{
		{"topo key", topo("Radix_Down 4", "Radix_Dwn 4"), `net.topo:8:1: unknown key "Radix_Dwn" in a Tier; did you mean "radix_down"?`},
		{"header key in tier", topo("Oversubscribed 2", "Podsize 2"), `net.topo:12:1: unknown key "Podsize" in a Tier; use one of downlink_speed_gbps, radix_down, radix_up, downlink_latency_ns, switch_latency_ns, oversubscribed, bundle, queue_up, queue_down, tier`},
		{"value missing", topo("Nodes 8", "Nodes"), `net.topo:2:1: 1 words where a key and its value should stand, such as Nodes 16`},
		{"not a number", topo("Nodes 8", "Nodes x"), `net.topo:2:7: nodes "x" is not a whole number from 2 to 262144`},
		{"nodes missing", topo("Nodes 8\n", ""), `net.topo:1:1: nodes is missing; add a line such as nodes 16`},
		{"speed missing", topo("Downlink_speed_Gbps 200\n", ""), `net.topo:14:1: downlink_speed_gbps of this tier is missing; add it`},
		{"twice", topo("Tiers 2", "Nodes 2"), `net.topo:3:1: Nodes stands here twice; keep one`},
		{"tier order", topo("Tier 1", "Tier 2"), `net.topo:14:6: Tier 2 stands where Tier 1 should; list the tiers upwards from 0`},
		{"tier count", topo("Tiers 2", "Tiers 3"), `net.topo:3:7: Tiers 3 and 2 Tier sections; make them agree`},
		{"podsize", topo("Podsize 8", "Podsize 4"), `net.topo:4:9: Podsize 4 must be all 8 nodes with two tiers`},
		{"oversubscription", topo("Oversubscribed 2\n", ""), `net.topo:6:1: Oversubscribed 1, but 4 links down and 2 up; say Oversubscribed 2, or change a radix`},
		{"radix", topo("Radix_Down 2", "Radix_Down 3"), `net.topo:1:1: clos: 2 leaves with 2 uplinks each do not fill switches with 3 links down; change one of them`},
		{"no delay", topo("Downlink_Latency_ns 500", "Downlink_Latency_ns 0"), `net.topo:17:21: downlink_latency_ns "0" is not a whole number from 1 to 100000000`},
		{"queues", topo("Oversubscribed 2", "Oversubscribed 2\nQueue_Up 5"), `net.topo:13:1: Queue_Up is not built; remove it and say buffers with --set switch.buffer=16MiB`},
		{"nodes differ", cm("Nodes 8", "Nodes 16"), `load.cm:1:7: nodes 16, but there are 8 nodes in the topology; make them agree`},
		{"connections", cm("Connections 5", "Connections 6"), `load.cm:2:13: connections 6, but there are 5 connections below; make them agree`},
		{"triggers", cm("Triggers 3\n", ""), `load.cm:1:1: triggers is missing; add a line Triggers 3`},
		{"host", cm("0->7", "0->8"), `load.cm:5:4: destination "8" is not a whole number from 0 to 7`},
		{"itself", cm("0->7", "7->7"), `load.cm:5:4: host 7 sends to itself; name two hosts`},
		{"word", cm("send_done_trigger 1", "send_done 1"), `load.cm:5:35: unknown word "send_done" in a connection; did you mean "send_done_trigger"?`},
		{"no value", cm("prio 4", "prio"), `load.cm:6:51: prio has no value; add it`},
		{"prio", cm("prio 4", "prio 8"), `load.cm:6:56: prio "8" is not a whole number from 0 to 7`},
		{"size beyond 2^31", cm("size 500", "size 3000000000"), `load.cm:7:24: size "3000000000" is not a whole number from 0 to 2147483648`},
		{"size not a number", cm("size 500", "size 2MB"), `load.cm:7:24: size "2MB" is not a whole number from 0 to 2147483648`},
		{"no start", cm("trigger 3 size 65", "size 65"), `load.cm:9:1: the connection needs a start or a trigger, and one alone; write start 0 for the beginning`},
		{"start", cm("start 1500", "start 1.5"), `load.cm:5:17: start "1.5" is not a whole number of picoseconds from 0 to 10^18`},
		{"addon", cm("prio 4", "addon"), `load.cm:6:51: addon is not built; remove it`},
		{"failure", cm("trigger id 3 multishot", "failure switch_type AGG switch_id 0 link_id 1"), `load.cm:12:1: failures are not built for these files; remove the line, and let a link fail with --set topology.links=[{between: [leaf1, spine1], down_at: 1us}]`},
		{"id twice", [2]string{htsimTwoTiers, "Nodes 4\nConnections 2\n0->2 id 1 start 0 size 10\n1->2 id 1 start 0 size 10\n"},
			`load.cm:4:9: connection id 1 stands here twice; number them differently`},
		{"trigger kind", cm("oneshot", "onshot"), `load.cm:10:14: "onshot" is no kind of trigger; did you mean "oneshot"?`},
		{"barrier without count", cm("barrier count 2", "barrier"), `load.cm:11:14: the barrier has no count; add one such as count 4`},
		{"trigger form", cm("trigger id 3 multishot", "trigger 3 multishot"), `load.cm:12:1: a trigger is written: trigger id 1 oneshot, trigger id 1 multishot, or trigger id 1 barrier count 4`},
		{"trigger twice", cm("trigger id 3", "trigger id 2"), `load.cm:12:12: trigger 2 stands here twice; keep one`},
		{"unknown trigger", cm("id 2 trigger 1", "id 2 trigger 9"), `load.cm:6:19: workload[0].flows.list[1].trigger: there is no trigger "t9"; did you mean "t1"?`},
		{"never started", cm("barrier count 2", "barrier count 3"), `load.cm:5:1: workload flows: trigger t2 is activated 2 times, which never starts all of its 1 targets; let more messages activate it with send_done or recv_done`},
		{"other line", cm("# a", "- a"), `load.cm:4:1: "-" begins no line of a connection matrix; write Nodes N, Connections N, Triggers N, src->dst ..., or trigger id ...`},
		{"empty", [2]string{htsimTopoText, "Nodes 8\nConnections 0\n"}, `load.cm:3:1: the matrix has no connection; add a line such as 0->1 start 0 size 2000000`},
	} {
		topo, cm := writeHTSim(t, c.files[0], c.files[1])
		_, err := LoadHTSim(topo, cm, nil, nil)
		if got := strings.ReplaceAll(errText(err), filepath.Dir(topo)+string(filepath.Separator), ""); got != c.want {
			t.Errorf("%s:\n got  %s\n want %s", c.name, got, c.want)
		}
	}
	topoFile, _ := writeHTSim(t, htsimTopoText, htsimMatrixText)
	_, err := LoadHTSim(topoFile, "none.cm", nil, nil)
	if want := "none.cm: cannot be read: no such file or directory; name a connection matrix (.cm) of htsim"; errText(err) != want {
		t.Errorf("got  %s\nwant %s", errText(err), want)
	}
}

// The published files load with the shapes that peers.md A5 derives.
func TestHTSimRealFiles(t *testing.T) {
	dir := filepath.Join(os.Getenv("HOPSCOPE_DATA"), "htsim")
	if os.Getenv("HOPSCOPE_DATA") == "" {
		t.Skip("HOPSCOPE_DATA does not name the folder of real files")
	}
	for _, c := range []struct {
		topo, cm string
		messages int
		switches int
	}{
		{"atlahs-leaf_spine_16_2os.topo", "incast.cm", 15, 4 + 2},
		{"atlahs-leaf_spine_16_2os.topo", "perm_16n_16c_2MB.cm", 16, 4 + 2},
	} {
		v, err := LoadHTSim(filepath.Join(dir, c.topo), filepath.Join(dir, c.cm), nil, nil)
		if err != nil {
			t.Errorf("%s, %s: %v", c.topo, c.cm, err)
			continue
		}
		switches := 0
		for i := range v.Graph.Nodes {
			if v.Graph.Nodes[i].Kind == topology.Switch {
				switches++
			}
		}
		if v.Plan.Len() != c.messages || switches != c.switches {
			t.Errorf("%s, %s: %d messages, %d switches; want %d, %d", c.topo, c.cm, v.Plan.Len(), switches, c.messages, c.switches)
		}
		sameAgain(t, c.cm, v)
	}
	for _, c := range []struct {
		topo  string
		nodes string
	}{{"fat_tree_1024.topo", "1024"}, {"leaf_spine_tiny.topo", "32"}} {
		_, cm := writeHTSim(t, "", "Nodes "+c.nodes+"\nConnections 1\n0->9 start 0 size 5\n")
		v, err := LoadHTSim(filepath.Join(dir, c.topo), cm, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", c.topo, err)
			continue
		}
		sameAgain(t, c.topo, v)
	}
	v, err := LoadHTSim(filepath.Join(dir, "fat_tree_1024.topo"), filepath.Join(dir, "outcast_incast.cm"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "of the 1024 hosts of the topology the matrix uses 128"; !strings.Contains(strings.Join(v.Warnings, "\n"), want) {
		t.Errorf("got  %q\nwant %s", v.Warnings, want)
	}
}

// The link that the hint about failures names is there.
func TestFailureHintWorks(t *testing.T) {
	topo, cm := writeHTSim(t, htsimTwoTiers, "Nodes 4\nConnections 1\n0->2 id 1 start 0 size 10\n")
	if _, err := LoadHTSim(topo, cm, []string{"topology.links=[{between: [leaf1, spine1], down_at: 1us}]"}, nil); err != nil {
		t.Error(err)
	}
}

// A connection without a size, or of 0, never ends in htsim; it is read as the longest message.
func TestHTSimEndless(t *testing.T) {
	topo, cm := writeHTSim(t, htsimTwoTiers, "Nodes 4\nConnections 2\n0->2 start 0\n1->3 start 0 size 0\n")
	v, err := LoadHTSim(topo, cm, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range v.Plan.All() {
		if m.Bytes != workload.MaxBytes {
			t.Errorf("%v, want %v", m.Bytes, workload.MaxBytes)
		}
	}
	if said := strings.Join(v.Warnings, "\n"); strings.Count(said, "never end in htsim") != 1 {
		t.Errorf("warnings %q", v.Warnings)
	}
}
