package openmetrics_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/counters"
	"github.com/hopscope/hopscope/internal/openmetrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// observe runs a scenario and returns what its recorder writes.
func observe(t *testing.T, opt run.Options, every units.Time) (*record.Run, string) {
	t.Helper()
	c := openmetrics.NewRecorder(every)
	opt.Workers = max(1, opt.Workers)
	opt.Snapshots = &run.SnapshotOptions{Every: every, Take: c.Take}
	r, _, err := run.Do(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r, finish(t, c, r)
}

func finish(t *testing.T, c *openmetrics.Recorder, r *record.Run) string {
	t.Helper()
	var b bytes.Buffer
	c.Finish(r)
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// series is one of a file: its values by time stamp, in order.
type series struct {
	at, value []int64
	counter   bool
}

func (s *series) last() int64 { return s.value[len(s.value)-1] }

var (
	lineOf   = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\d+) (\d+)$`)
	headOf   = regexp.MustCompile(`^# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$`)
	metaRank = map[string]int{"TYPE": 0, "UNIT": 1, "HELP": 2}
)

// parse reads a file and checks what OpenMetrics asks of it: metrics in one piece each, with their metadata before,
// names with the endings of their types and units, series in one piece with time stamps that rise, counters that
// never fall, and the end.
func parse(t *testing.T, text string) map[string]*series {
	t.Helper()
	body, found := strings.CutSuffix(text, "\n# EOF\n")
	if !found {
		t.Fatal("it does not end in # EOF")
	}
	out, done := map[string]*series{}, map[string]bool{}
	family, kind, rank, current := "", "", -1, ""
	for _, line := range strings.Split(body, "\n") {
		if m := headOf.FindStringSubmatch(line); m != nil {
			if m[2] != family {
				if done[m[2]] {
					t.Fatalf("%s comes in two pieces", m[2])
				}
				done[m[2]] = true
				family, kind, rank = m[2], "", -1
			}
			if metaRank[m[1]] <= rank {
				t.Fatalf("%q is out of order", line)
			}
			rank = metaRank[m[1]]
			if m[1] == "TYPE" {
				kind = m[3]
			}
			if m[1] == "UNIT" && !strings.HasSuffix(family, "_"+m[3]) {
				t.Fatalf("%q does not end in its unit", family)
			}
			continue
		}
		m := lineOf.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%q is no sample", line)
		}
		want := family
		if kind == "counter" {
			want += "_total"
		}
		if m[1] != want {
			t.Fatalf("%q stands among the samples of %s, %s", line, family, kind)
		}
		name := m[1] + m[2]
		s := out[name]
		if s == nil {
			s = &series{counter: kind != "gauge"}
			out[name] = s
		} else if name != current {
			t.Fatalf("%s comes in two pieces", name)
		}
		current = name
		n, _ := strconv.ParseInt(m[3], 10, 64)
		at, _ := strconv.ParseInt(m[4], 10, 64)
		if k := len(s.at); k > 0 && (at <= s.at[k-1] || s.counter && n < s.last()) {
			t.Fatalf("%s: %d at %d after %d at %d", name, n, at, s.last(), s.at[k-1])
		}
		s.at, s.value = append(s.at, at), append(s.value, n)
	}
	return out
}

// What a file ends with is what the boxes print of themselves, in all kinds of networks, and to look changes no
// result.
func TestCounters(t *testing.T) {
	for scenario, set := range map[string][]string{
		"lossy-incast":  {"workload[0].incast.size=1MB"},
		"victim-flow":   {"workload[0].flows.size=1MB", "workload[1].flow.size=1MB"},
		"virtual-lanes": nil,
		"storage-reads": nil,
		"tcp-incast":    nil,
	} {
		r, text := observe(t, run.Options{Scenario: scenario, Set: set}, 100*units.Microsecond)
		all := parse(t, text)
		compared := 0
		without, _, err := run.Do(context.Background(), run.Options{Scenario: scenario, Set: set, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		x, _ := report.JSON(r)
		if y, _ := report.JSON(without); !bytes.Equal(x, y) {
			t.Errorf("%s: the result is another with metrics", scenario)
		}
		for _, f := range counters.Files(r) {
			box, what, _ := strings.Cut(f.Name, ".")
			device, lines := "", strings.Split(f.Text, "\n")
			for _, line := range lines {
				if to, ok := strings.CutPrefix(line, "$ ethtool -S "); ok {
					device = to
				}
				name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
				if n, err := strconv.ParseInt(value, 10, 64); ok && err == nil && what == "ethtool.txt" {
					compared++
					name = regexp.MustCompile(`(^|_)rx(_|$)`).ReplaceAllString(name, "${1}received${2}")
					name = regexp.MustCompile(`(^|_)tx(_|$)`).ReplaceAllString(name, "${1}transmitted${2}")
					key := fmt.Sprintf(`node_ethtool_%s{instance="%s",device="%s"}`, name, box, device)
					if s := all[key]; s == nil || s.last() != n {
						t.Errorf("%s: %s ends with %v, want %d", scenario, key, s, n)
					}
				}
			}
			if what == "rdma.txt" {
				words := strings.Fields(lines[len(lines)-2])
				for i := 2; i+1 < len(words); i += 2 {
					compared++
					n, _ := strconv.ParseInt(words[i+1], 10, 64)
					key := fmt.Sprintf(`node_infiniband_%s_total{instance="%s",device="mlx5_0",port="1"}`, exported[words[i]], box)
					if s := all[key]; s == nil || s.last() != n {
						t.Errorf("%s: %s ends with %v, want %d", scenario, key, s, n)
					}
				}
			}
		}
		for i := range r.Counters {
			c := &r.Counters[i]
			if !strings.HasPrefix(c.Node, "h") {
				continue
			}
			compared++
			key := fmt.Sprintf(`node_infiniband_port_transmit_wait_total{instance="%s",device="mlx5_0",port="1"}`, c.Node)
			if s := all[key]; s == nil || s.last() != c.PortXmitWait {
				t.Errorf("%s: %s ends with %v, want %d", scenario, key, s, c.PortXmitWait)
			}
		}
		for i := range r.Ports {
			p := &r.Ports[i]
			key := fmt.Sprintf(`SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS{instance="%s",interface="Ethernet%d",queue="%d"}`, p.Node,
				4*(p.Port-1), p.Class)
			if s := all[key]; s != nil && s.last() != p.Marked {
				t.Errorf("%s: %s ends with %d, want %d", scenario, key, s.last(), p.Marked)
			} else if s != nil {
				compared++
			}
		}
		if compared < 20 {
			t.Errorf("%s: %d counters compared", scenario, compared)
		}
	}
}

// exported are the names that node_exporter has for those of rdma.
var exported = map[string]string{
	"rx_write_requests": "rx_write_requests", "rx_read_requests": "rx_read_requests", "rx_atomic_requests": "rx_atomic_requests",
	"out_of_buffer": "out_of_buffer_drops", "out_of_sequence": "out_of_sequence_packets_received",
	"packet_seq_err": "packet_sequence_errors", "local_ack_timeout_err": "local_ack_timeout_errors",
	"roce_slow_restart": "roce_slow_restart", "np_cnp_sent": "np_cnp_packets_sent",
	"np_ecn_marked_roce_packets": "np_ecn_marked_roce_packets_received", "rp_cnp_handled": "rp_cnp_packets_handled",
}

// What is seen of a run does not depend on how it is cut, and counters rise as what they count happens.
func TestSame(t *testing.T) {
	opt := run.Options{Scenario: "incast-4to1"}
	r, a := observe(t, opt, 10*units.Microsecond)
	opt.Workers, opt.Partitions = 3, 5
	_, b := observe(t, opt, 10*units.Microsecond)
	if a != b {
		t.Error("the metrics are others with more workers")
	}
	all := parse(t, a)
	s := all[`sonic_interface_transmitted_bytes_total{instance="sw",interface="Ethernet16"}`]
	rising := 0
	for i := 1; i < len(s.value); i++ {
		if s.value[i] > s.value[i-1] {
			rising++
		}
	}
	if stretch := all["hopscope_time_stretch_ratio"]; stretch.last() != 100_000 {
		t.Errorf("time is stretched %d times, want 100,000: a second for 10 us", stretch.last())
	}
	if end := int64(r.EndPS/(10*units.Microsecond)) + 1; s.at[len(s.at)-1] != end || rising < int(end)*3/4 {
		t.Errorf("the port to the receiver was busy in %d of %d samples", rising, end)
	}
}

// A recorder that gets more snapshots than it keeps has of those it keeps what one has that asked for no others.
func TestFold(t *testing.T) {
	feed := func(every units.Time, until int) string {
		c := openmetrics.NewRecorder(every)
		take := every
		at := take
		for ; at < units.Time(until)*units.Microsecond; at = (at/take + 1) * take {
			sent := int64(at/units.Microsecond) / 7 * 100
			r := &record.Run{
				Ports: []record.Port{{Node: "sw", Port: 1, Peer: record.PortID{Node: "h0", Port: 1}, TxBytes: sent, TxPackets: sent / 100}},
				QPs:   []record.QP{{Host: "h0", QP: 1, SentBytes: sent}},
			}
			if c.Take(&record.Snapshot{At: at, Run: r}) {
				take *= 2
			}
		}
		return finish(t, c, &record.Run{EndPS: at})
	}
	folded, asked := feed(units.Microsecond, 3500), feed(4*units.Microsecond, 3500)
	parse(t, folded)
	// From the first sample on the two have the same but for the first instants, before which one had not begun.
	drop := regexp.MustCompile(`(?m)^.* [01]\n`)
	if drop.ReplaceAllString(folded, "") != drop.ReplaceAllString(asked, "") {
		t.Errorf("folded:\n%.2000s\nasked:\n%.2000s", folded, asked)
	}
}

// Names of nodes may hold anything.
func TestNames(t *testing.T) {
	name := "a\"b\\c\nd \xff{}"
	r := &record.Run{EndPS: units.Microsecond, Scenario: "x\"",
		Ports: []record.Port{{Node: name, Port: 1, Peer: record.PortID{Node: "h0", Port: 1}, TxBytes: 5}}}
	text := finish(t, openmetrics.NewRecorder(units.Microsecond), r)
	key := `sonic_interface_transmitted_bytes_total{instance="a\"b\\c\nd ` + "\uFFFD" + `{}",interface="Ethernet0"}`
	if s := parse(t, text)[key]; s == nil || s.last() != 5 {
		t.Errorf("no %s in\n%s", key, text)
	}
}
