package scenarios_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

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
		{"../docs/models/dcqcn.md", "presets", presetTable},
		{"../docs/models/dcqcn.md", "byte-reset", byteResetTable},
		{"../docs/models/headroom.md", "headroom", headroomTable},
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
		for _, f := range r.Flows {
			done = max(done, f.CompletionPS)
		}
		for _, q := range r.QPs {
			cnps += q.CNPsSent
		}
		together := metrics.FormatRate(metrics.RateOf(r.Flows[0].Bytes*int64(len(r.Flows)), done))
		rows = append(rows, fmt.Sprintf("| `--set %s` | %s | %s | %s | %.4f | %d | %d | %.1f %% | %.2f MB | %.0f KB |",
			c.set, c.every, metrics.FormatTimeDigits(done, 4), together, s.Fairness[0].Jain, p.Marked, cnps,
			100*p.Utilisation, float64(p.PeakQueueBytes)/1e6, p.MeanQueueBytes/1e3))
	}
	return rows
}

// portTo returns what the port to peer did in priority 3.
func portTo(t *testing.T, r *record.Run, peer string) record.Port {
	for _, p := range r.Ports {
		if p.Peer == peer && p.Class == 3 {
			return p
		}
	}
	t.Fatalf("no port to %s", peer)
	return record.Port{}
}

// headroomTable is the headroom of both rules for some cables.
func headroomTable(t *testing.T) []string {
	rows := []string{"| rate | length | physical | vendor-cell |", "|---|---|---|---|"}
	for _, rate := range []string{"100Gbps", "400Gbps"} {
		for _, length := range []string{"5m", "40m", "100m", "300m", "2km"} {
			row := fmt.Sprintf("| %s | %s |", rate, length)
			for _, rule := range []string{"physical", "vendor-cell"} {
				v, err := scenario.Load("incast-4to1", []string{"topology.star.link={rate: " + rate + ", length: " + length + "}",
					"switch.pfc.headroom_rule=" + rule}, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, sw := range v.Switches { // hosts have none
					if len(sw.PG) > 0 {
						row += fmt.Sprintf(" %v |", sw.PG[0][3].Headroom)
					}
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}
