package scenarios_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

var updateIncasts = flag.String("incasts", "", "write the tables of incasts in docs/models/dcqcn.md whose heading has this `text` (,: all, 1,920 runs in half an hour)")

const (
	incastFile   = "../docs/models/dcqcn.md"
	incastSeeds  = 12
	fillSeeds    = 2
	firmwareFill = "`nvidia` with `min_time_between_cnps: 50us`"
	incastYAML   = "name: incast\nnoise: off\ntopology: {star: {hosts: 3, link: 100Gbps, length: 5m}}\nworkload:\n  - incast: {to: h0, size: 32MB}\n"
)

// incastRow is what an incast reached: medians over the seeds, and of the goodput the
// range.
type incastRow struct {
	share, least, most float64 // goodput of all, in percent of the line
	jain               float64
	queue              float64 // mean, MB
	pauses             float64
	floor              float64 // of the senders' time at rpg_min_rate, in percent
}

func (c incastRow) String() string {
	return fmt.Sprintf("%.1f (%.0f to %.0f) | %.3f | %.2f | %.0f | %.1f", c.share, c.least, c.most, c.jain, c.queue, c.pauses, c.floor)
}

// incast runs n to 1 at a line rate with each of some seeds, size MB each.
func incast(t *testing.T, file string, seeds, gbps, n, size int, set ...string) (c incastRow) {
	t.Helper()
	var share, jain, queue, pauses, floor []float64
	for seed := range uint64(seeds) {
		r := incastRun(t, file, gbps, n, size, seed+1, set...)
		took := units.Time(0)
		for i := range r.Messages {
			took = max(took, r.Messages[i].CompletionPS)
		}
		sent, slow := int64(0), units.Time(0)
		for i := range r.Ports {
			sent += r.Ports[i].PausesSent
		}
		for i := range r.QPs {
			slow += r.QPs[i].AtMinRatePS
		}
		share = append(share, incastShare(r, gbps))
		jain = append(jain, metrics.Summarise(r).Fairness[0].Jain)
		queue = append(queue, portTo(t, r, "h0:1").MeanQueueBytes/1e6)
		pauses = append(pauses, float64(sent))
		floor = append(floor, 100*float64(slow)/float64(took)/float64(n))
	}
	c = incastRow{median(share), slices.Min(share), slices.Max(share), median(jain), median(queue), median(pauses), median(floor)}
	return c
}

// incastRun is one of them.
func incastRun(t *testing.T, file string, gbps, n, size int, seed uint64, set ...string) *record.Run {
	t.Helper()
	s := append([]string{fmt.Sprintf("topology.star.hosts=%d", n+1), fmt.Sprintf("topology.star.link=%dGbps", gbps), fmt.Sprintf("seed=%d", seed),
		fmt.Sprintf("workload[0].incast.size=%dMB", size)}, set...)
	r, _, err := run.Do(context.Background(), run.Options{Scenario: file, Set: s, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// incastShare is the goodput of all until the last is done, in percent of the line.
func incastShare(r *record.Run, gbps int) float64 {
	took, bytes := units.Time(0), int64(0)
	for i := range r.Messages {
		took, bytes = max(took, r.Messages[i].CompletionPS), bytes+r.Messages[i].Bytes
	}
	return 100 * float64(metrics.RateOf(bytes, took)) / float64(gbps) / 1e9
}

// median sorts v.
func median(v []float64) float64 {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// incastTable is one table: what is set, beside the limiter's scope.
type incastTable struct {
	name  string
	set   []string
	fill  metrics.Setting // of which the report quotes the table; the zero Setting: of none
	sizes map[int][5]int  // MB each, by rate; nil: 32
}

// incastRates and incastSenders are the rows of a table.
var (
	incastRates   = []int{100, 400}
	incastSenders = [5]int{2, 4, 8, 16, 64}
)

// filled reports whether it is of what fills a line, where seeds hardly differ: few will do,
// and 64 senders are left out.
func (c *incastTable) filled() bool { return c.fill.Preset != "" && c.name != firmwareFill }

// seeds is how many the figures are over.
func (c *incastTable) seeds() int {
	if c.filled() {
		return fillSeeds
	}
	return incastSeeds
}

// size is what each sender of a row sends, in MB.
func (c *incastTable) size(gbps, i int) int {
	if s, ok := c.sizes[gbps]; ok {
		return s[i]
	}
	return 32
}

func incastTables() (all []incastTable) {
	for _, p := range congestion.Presets() {
		all = append(all, incastTable{name: "`" + p + "`", set: []string{"dcqcn.preset=" + p}})
	}
	for _, f := range metrics.Settings() {
		all = append(all, incastTable{name: fmt.Sprintf("`%s` with `%s: %s`", f.Preset, f.Key, f.Value),
			set: []string{"dcqcn.preset=" + f.Preset, "dcqcn." + f.Key + "=" + f.Value}, fill: f})
	}
	return append(all, incastTable{name: "`nvidia` with `clamp_tgt_rate: true`", set: []string{"dcqcn.clamp_tgt_rate=true"}},
		incastTable{name: "`nvidia`, other sizes", set: []string{"dcqcn.preset=nvidia"}, sizes: otherSizes()},
		incastTable{name: "`nvidia` with `cnp_delay: 0`, other sizes", set: []string{"dcqcn.cnp_delay=0"}, sizes: otherSizes()})
}

// otherSizes are those of the figures that the document compares with.
func otherSizes() map[int][5]int {
	return map[int][5]int{100: {64, 32, 20, 20, 5}, 400: {128, 64, 32, 32, 10}}
}

const incastHead = "| Gb/s | to 1 | MB each | goodput, % of the line | Jain | mean queue, MB | pauses | at `rpg_min_rate`, % |"

// rowOf is a line of a table.
func rowOf(gbps, n, size int, c incastRow) string {
	return fmt.Sprintf("| %d | %d | %d | %s |", gbps, n, size, c)
}

// TestIncasts computes the tables of docs/models/dcqcn.md with -incasts TEXT; else it repeats
// the rows that take little time, and compares what the report quotes of them.
func TestIncasts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "incast.yaml")
	if err := os.WriteFile(file, []byte(incastYAML), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(incastFile)
	if err != nil {
		t.Fatal(err)
	}
	begin := "<!-- table: incasts -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	shown, after, closed := strings.Cut(rest, tableEnd)
	if !found || !closed {
		t.Fatal("no table of incasts in " + incastFile)
	}
	if *updateIncasts != "" {
		now := allIncasts(t, file, shown)
		if err := os.WriteFile(incastFile, []byte(before+begin+now+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	fills, want := 0, 0
	for _, f := range metrics.Settings() {
		want += len(f.Fills())
	}
	for _, part := range strings.Split(shown, "\n**")[1:] {
		head, rows, _ := strings.Cut(part, "**\n")
		for _, c := range incastTables() {
			for _, scope := range []string{"port", "queue-pair"} {
				if head != heading(c, scope) || testing.Short() && c.name != "`nvidia`" {
					continue
				}
				size := c.size(100, 0)
				want := rowOf(100, 2, size, incast(t, file, c.seeds(), 100, 2, size, append([]string{"dcqcn.cnp_limiter=" + scope}, c.set...)...))
				if !strings.Contains(rows, want) {
					t.Errorf("%s: no line\n%s\ngo test ./scenarios -run TestIncasts -incasts , writes the tables", head, want)
				}
			}
		}
		for _, c := range incastTables() {
			for _, f := range c.fill.Fills() {
				if head == heading(c, f.Scope) {
					fills++
					holdsFill(t, rows, f)
				}
			}
		}
	}
	if fills != want {
		t.Errorf("%d of %d figures that the report quotes are in the tables", fills, want)
	}
}

// TestIncastsOfBefore: what incasts reached before a CNP took its time, as means over seeds 1
// to 3, at the sizes of the table "other sizes", is what they reach without that time.
func TestIncastsOfBefore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "incast.yaml")
	if err := os.WriteFile(file, []byte(incastYAML), 0o644); err != nil {
		t.Fatal(err)
	}
	known := map[int][5]float64{100: {88.4, 91.4, 89.8, 87.8, 79.9}, 400: {75.8, 79.5, 80.8, 84.0, 96.3}}
	for _, gbps := range incastRates {
		for i, n := range incastSenders {
			if testing.Short() && (gbps == 400 || n > 4) {
				continue
			}
			sum := 0.0
			for seed := range uint64(3) {
				sum += incastShare(incastRun(t, file, gbps, n, otherSizes()[gbps][i], seed+1, "dcqcn.cnp_limiter=queue-pair", "dcqcn.cnp_delay=0"), gbps)
			}
			if got := sum / 3; math.Abs(got-known[gbps][i]) > 0.1 {
				t.Errorf("%d to 1 at %d Gb/s: %.2f %%, was %.1f", n, gbps, got, known[gbps][i])
			}
		}
	}
}

// holdsFill compares what the report quotes with its line.
func holdsFill(t *testing.T, rows string, f metrics.Fill) {
	begin := fmt.Sprintf("| %d | %d | ", f.Gbps, f.Senders)
	for _, line := range strings.Split(rows, "\n") {
		if !strings.HasPrefix(line, begin) {
			continue
		}
		cells := strings.Split(line, " | ")
		var share, queue float64
		if _, err := fmt.Sscan(cells[3], &share); err != nil {
			t.Fatal(line)
		}
		if _, err := fmt.Sscan(cells[5], &queue); err != nil {
			t.Fatal(line)
		}
		if share != f.Share || queue != f.QueueMB {
			t.Errorf("metrics.Fills has %+v, the table %s", f, line)
		}
		return
	}
	t.Errorf("no line %s", begin)
}

func heading(c incastTable, scope string) string {
	return fmt.Sprintf("%s, `cnp_limiter: %s`", c.name, scope)
}

// allIncasts computes the tables that the flag names, and leaves the others as shown.
func allIncasts(t *testing.T, file, shown string) string {
	old := map[string]string{}
	for _, part := range strings.Split(shown, "\n**")[1:] {
		head, rows, _ := strings.Cut(part, "**\n")
		old[head] = rows
	}
	type job struct {
		row   *string
		seeds int
		gbps  int
		n     int
		size  int
		set   []string
	}
	var jobs []job
	var lines []*string
	add := func(s string) *string {
		p := new(string)
		*p = s
		lines = append(lines, p)
		return p
	}
	for _, c := range incastTables() {
		for _, scope := range []string{"port", "queue-pair"} {
			add("\n**" + heading(c, scope) + "**\n")
			if rows, ok := old[heading(c, scope)]; ok && !strings.Contains(heading(c, scope), *updateIncasts) {
				add(strings.Trim(rows, "\n"))
				continue
			}
			add(incastHead)
			add("|---|---|---|---|---|---|---|---|")
			for _, gbps := range incastRates {
				for i, n := range incastSenders {
					if c.filled() && n > 16 {
						continue
					}
					jobs = append(jobs, job{add(""), c.seeds(), gbps, n, c.size(gbps, i), append([]string{"dcqcn.cnp_limiter=" + scope}, c.set...)})
				}
			}
		}
	}
	for i, j := range jobs {
		*j.row = rowOf(j.gbps, j.n, j.size, incast(t, file, j.seeds, j.gbps, j.n, j.size, j.set...))
		t.Logf("%d of %d: %v %s", i+1, len(jobs), j.set, *j.row)
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(*l + "\n")
	}
	return b.String()
}
