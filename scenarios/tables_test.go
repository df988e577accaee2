package scenarios_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// Tables in the documents stand between "<!-- table: NAME -->" and this line.
const tableEnd = "<!-- end -->\n"

// Tables of numbers in the documents are what the program gives.
func TestReadmeTables(t *testing.T) {
	for _, c := range []struct {
		file, name string
		rows       func(*testing.T) []string
	}{
		{"../docs/compare.md", "layers", layersTable},
		{"../docs/models/dcqcn.md", "presets", presetTable},
		{"../docs/models/dcqcn.md", "byte-reset", byteResetTable},
		{"../docs/models/headroom.md", "headroom", headroomTable},
		{"mixed-traffic/README.md", "separation", separationTable},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := os.ReadFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			begin := "<!-- table: " + c.name + " -->\n"
			before, rest, found := strings.Cut(string(text), begin)
			shown, after, closed := strings.Cut(rest, tableEnd)
			if !found || !closed {
				t.Fatalf("%s has no table %s", c.file, c.name)
			}
			now := strings.Join(c.rows(t), "\n") + "\n"
			if *update {
				if err := os.WriteFile(c.file, []byte(before+begin+now+tableEnd+after), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if line, a, b := firstDifference(shown, now); line > 0 {
				t.Errorf("%s, table %s, line %d\nshown %s\nnow   %s\nmake golden writes it", c.file, c.name, line, a, b)
			}
		})
	}
}

// layersTable is every stack's API, transports and fabric.
func layersTable(*testing.T) []string {
	rows := []string{"| stack | API | transport | fabric |", "|---|---|---|---|"}
	for _, s := range scenario.Stacks() {
		rows = append(rows, fmt.Sprintf("| `%s` | %v | %s | %v |", s.Name, s.Layers.API, s.Layers.TransportNames(), s.Layers.Fabric))
	}
	return rows
}

// presetTable is every parameter of every DCQCN preset, as runs print them.
func presetTable(t *testing.T) []string {
	rows := []string{"| parameter |", "|---|"}
	for _, name := range congestion.Presets() {
		p, err := congestion.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		rows[0] += " `" + name + "` |"
		rows[1] += "---|"
		for i, n := range p.Notes()[1:] { // the first is the preset's name
			if len(rows) <= i+2 {
				rows = append(rows, "| `"+strings.TrimPrefix(n.Key, "dcqcn.")+"` |")
			}
			rows[i+2] += " " + n.Value + " |"
		}
	}
	return rows
}

// byteResetTable is incast-4to1 under the readings of rpg_byte_reset.
func byteResetTable(t *testing.T) []string {
	rows := []string{
		"| `hopscope run incast-4to1` with | increase by bytes every | all done | together | Jain | marks | CNPs | link used | peak queue | mean queue |",
		"|---|---|---|---|---|---|---|---|---|---|",
	}
	for _, c := range []struct{ every, set string }{
		{"2.1 MB", "dcqcn.rpg_byte_reset_unit=64B"},
		{"32.8 kB", "dcqcn.rpg_byte_reset_unit=1B"},
		{"never", "dcqcn.rpg_byte_reset=0"},
	} {
		r, _, err := run.Do(context.Background(), run.Options{Scenario: "incast-4to1", Set: []string{c.set}, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		s := metrics.Summarise(r)
		p := portTo(t, r, "h4:1")
		done, cnps := units.Time(0), int64(0)
		for _, f := range r.Messages {
			done = max(done, f.CompletionPS)
		}
		for _, q := range r.QPs {
			cnps += q.CNPsSent
		}
		together := metrics.FormatRate(metrics.RateOf(r.Messages[0].Bytes*int64(len(r.Messages)), done))
		rows = append(rows, fmt.Sprintf("| `--set %s` | %s | %s | %s | %.4f | %d | %d | %.1f %% | %.2f MB | %.0f KB |",
			c.set, c.every, metrics.FormatTimeDigits(done, 4), together, s.Fairness[0].Jain, p.Marked, cnps,
			100*p.Utilisation, float64(p.PeakQueueBytes)/1e6, p.MeanQueueBytes/1e3))
	}
	return rows
}

// portTo returns what the port to peer did in priority 3.
func portTo(t *testing.T, r *record.Run, peer string) record.Port {
	for _, p := range r.Ports {
		if p.Peer.String() == peer && p.Class == 3 {
			return p
		}
	}
	t.Fatalf("no port to %s", peer)
	return record.Port{}
}

// headroomTable is the headroom of both rules for some cables.
func headroomTable(t *testing.T) []string {
	rows := []string{"| rate | length | physical | spectrum |", "|---|---|---|---|"}
	for _, rate := range []string{"100Gbps", "400Gbps"} {
		for _, length := range []string{"5m", "40m", "100m", "300m", "2km"} {
			row := fmt.Sprintf("| %s | %s |", rate, length)
			for _, rule := range []string{"physical", "spectrum"} {
				v, err := scenario.Load("incast-4to1", []string{"topology.star.link={rate: " + rate + ", length: " + length + "}",
					"switch.pfc.headroom_rule=" + rule}, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, sw := range v.Switches { // hosts have none
					if sw.Memory != nil {
						row += fmt.Sprintf(" %v |", sw.Memory.Groups[0][3].Headroom)
					}
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// together puts the RPCs of mixed-traffic into the class of the bulk data.
func together() []string {
	return []string{"workload[1].rpc.class=3", "workload[2].rpc.class=3", "workload[3].rpc.class=3"}
}

// separationTable is mixed-traffic with its RPCs in a class of their own and in
// that of the bulk data, over several stacks, and what comes of it in a sentence.
func separationTable(t *testing.T) []string {
	rows := []string{
		"| stack of the bulk data | classes | bulk | to the receiver | from a sender | beside both | behind bulk | paused |",
		"|---|---|---|---|---|---|---|---|",
	}
	sentence := "Over RoCEv2 with DCQCN, "
	for _, c := range []struct {
		name string
		set  []string
	}{
		{"RoCEv2", nil}, {"PFC alone, `--set stack=rocev2-pfc-only`", []string{"stack=rocev2-pfc-only"}},
		{"TCP in the lossless class, `--set workload[0].incast.stack=tcp`", []string{"workload[0].incast.stack=tcp"}},
		{"TCP without PFC, `--set stack=tcp`", []string{"stack=tcp"}},
	} {
		apart, alone := separated(t, c.set), separated(t, append(together(), c.set...))
		rows = append(rows, fmt.Sprintf("| %s | 2 | %s |", c.name, apart), fmt.Sprintf("| | 1 | %s |", alone))
		if c.set == nil {
			sentence += fmt.Sprintf("a call to the bulk data's receiver takes %s in the median and %s at the 99th percentile in a class of its own, "+
				"%s and %s in theirs; the bulk data move at %s and %s.", apart.p50, apart.p99, alone.p50, alone.p99, apart.bulk, alone.bulk)
		}
	}
	return append(rows, "", sentence)
}

// separation is what a run of mixed-traffic says; p50 and p99 of the calls to the
// receiver.
type separation struct{ bulk, p50, p99, row string }

func (s separation) String() string { return s.row }

func separated(t *testing.T, set []string) separation {
	t.Helper()
	r, _, err := run.Do(context.Background(), run.Options{Scenario: "mixed-traffic", Set: set, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	s := metrics.Summarise(r)
	took := func(ps int64) string { return metrics.FormatTimeDigits(units.Time(ps), 4) }
	out := separation{bulk: metrics.FormatRate(s.Entries[0].GoodputBps), p50: took(s.Calls[0].LatencyPS.P50), p99: took(s.Calls[0].LatencyPS.P99)}
	cells := []string{out.bulk}
	for _, c := range s.Calls {
		if c.Completed != c.Calls {
			t.Errorf("%v: %d of %d calls %s completed", set, c.Completed, c.Calls, c.Workload)
		}
		cells = append(cells, took(c.LatencyPS.P50)+", "+took(c.LatencyPS.P99))
	}
	behind := stagesOf(r, "to the receiver", catalog.StageQueue, catalog.StageOther) / units.Time(s.Calls[0].Calls)
	paused := stagesOf(r, "from a sender", catalog.StagePaused) / units.Time(s.Calls[1].Calls)
	out.row = strings.Join(append(cells, metrics.FormatTime(behind), metrics.FormatTime(paused)), " | ")
	return out
}

// stagesOf is the time that the messages of a workload entry spent in stages.
func stagesOf(r *record.Run, workload string, names ...catalog.Stage) (sum units.Time) {
	for i := range r.Messages {
		for _, s := range r.Messages[i].Account.Stages() {
			if r.Messages[i].Workload == workload && slices.Contains(names, s.Stage) {
				sum += s.Time
			}
		}
	}
	return sum
}

// On one class with PFC alone, a call to the receiver waits for a queue that stands
// where the four ports that feed it reach XOFF. Each threshold is a share of what the
// others leave of the buffer without the headroom H of eight ports, beside a reserve:
// T = alpha * (B - 8H - 4T) + R, so T = alpha (B - 8H) / (1 + 4 alpha) + R. A port
// holds no more than T + H, and not much less than XON, 2496 B below T: what a quarter
// of 100 Gb/s takes in the 2 us until a sender that may go on is heard again. The link
// takes 4178 B on the wire for 4158 B of each frame.
func TestCallsWaitForTheStandingQueue(t *testing.T) {
	const alpha, buffer, headroom, reserve, offset, again = 1.0 / 8, 8e6, 56729, 4096, 2496, 2e-6 * 100e9 / 4 / 8
	threshold := alpha*(buffer-8*headroom)/(1+4*alpha) + reserve
	least, most := drain(4*(threshold-offset-again)), drain(4*(threshold+headroom))
	r, _, err := run.Do(context.Background(), run.Options{Scenario: "mixed-traffic", Set: append(together(), "stack=rocev2-pfc-only"), Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for i := range r.Messages {
		f := &r.Messages[i]
		if f.Workload != "to the receiver" || f.Reply || f.StartPS < units.Millisecond || f.StartPS > 4*units.Millisecond {
			continue
		}
		calls++
		waited := units.Time(0)
		for _, s := range f.Account.Stages() {
			if s.Stage == catalog.StageQueue {
				waited += s.Time
			}
		}
		if waited < least || waited > most {
			t.Errorf("the request at %v waited %v in queues, not between %v and %v", f.StartPS, waited, least, most)
		}
	}
	if calls != 61 {
		t.Errorf("%d calls between 1 and 4 ms, want 61", calls)
	}
}

// drain is what a link of 100 Gb/s takes for so many bytes of frames of 4158 B.
func drain(bytes float64) units.Time { return units.Time(bytes * 8 / 100e9 * 4178 / 4158 * 1e12) }
