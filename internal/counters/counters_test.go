package counters_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/counters"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

func simulate(t *testing.T, text string) *record.Run {
	t.Helper()
	v, err := scenario.Parse("test", []byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, bad := build.New(v, build.Options{Partitions: 1})
	if bad != nil {
		t.Fatal(bad)
	}
	return run.Simulate(context.Background(), w, run.Options{Workers: 1})
}

const storm = `
topology: {star: {hosts: 4, link: 25Gbps}}
switch: {watchdog: {detection: 1ms, restoration: 1ms, poll: 500us}}
nic: {timeout: 8}
hosts: {h3: {faults: [{pauses: {from: 100us, until: 5ms}}]}}
workload:
  - incast: {to: h3, size: 4MB}
  - flow: {from: h3, to: h1, size: 4MB}
  - flow: {from: h0, to: h1, verb: read, size: 4MB}
stop: 10ms
`

// value is a counter of a file.
func value(t *testing.T, text, name string) int64 {
	t.Helper()
	m := regexp.MustCompile(`(?:^|\s)` + regexp.QuoteMeta(name) + `:? ([0-9]+)`).FindStringSubmatch(text)
	if m == nil {
		t.Errorf("no %s", name)
		return 0
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	return n
}

// cell is a value of a table of a switch, by the table's command, row and column.
func cell(t *testing.T, text, after, row, column string) string {
	t.Helper()
	_, text, _ = strings.Cut(text, after)
	var columns []string
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) > 1 && strings.HasPrefix(words[0], "Port") && columns == nil:
			columns = strings.Fields(strings.ReplaceAll(strings.ReplaceAll(line, "Port Rx", "Port"), "Port Tx", "Port"))
		case len(words) > 0 && len(words) == len(columns) && words[0] == row:
			for i := range columns {
				if columns[i] == column {
					return strings.ReplaceAll(words[i], ",", "")
				}
			}
		}
	}
	t.Errorf("%s: no %s of %s", after, column, row)
	return ""
}

// TestBothEnds: what one end of a link sent is what the other received, pauses with their
// refreshes included, and all of it is the record's.
func TestBothEnds(t *testing.T) {
	r := simulate(t, storm)
	text := map[string]string{}
	for _, f := range counters.Files(r) {
		text[f.Name] = f.Text
	}
	sw := text["sw.sonic.txt"]
	for i := range 4 {
		host := "h" + strconv.Itoa(i)
		nic, port := text[host+".ethtool.txt"], "Ethernet"+strconv.Itoa(4*i)
		_, tx, _ := strings.Cut(sw, "Port Tx")
		tx = "Port Tx" + tx
		_, rx, _ := strings.Cut(sw, "show pfc counters")
		if got, want := cell(t, rx, "", port, "PFC3"), strconv.FormatInt(value(t, nic, "tx_prio3_pause"), 10); got != want {
			t.Errorf("%s sent %s pauses, %s received %s", host, want, port, got)
		}
		if got, want := cell(t, tx, "", port, "PFC3"), strconv.FormatInt(value(t, nic, "rx_prio3_pause"), 10); got != want {
			t.Errorf("%s received %s pauses, %s sent %s", host, want, port, got)
		}
		if got, want := value(t, nic, "rx_packets_phy"), int64(0); got == want {
			t.Errorf("%s received nothing", host)
		}
	}
	// A pause of 65535 quanta lasts 1.342 ms at 25 Gb/s and is refreshed at half of that: in 4.9 ms
	// a pause, 7 refreshes and the end of it.
	if n := value(t, text["h3.ethtool.txt"], "tx_prio3_pause"); n != 9 {
		t.Errorf("h3 sent %d PFC frames, want 9", n)
	}
	var cnps, handled, timeouts, reads int64
	for i := range 4 {
		rdma := text["h"+strconv.Itoa(i)+".rdma.txt"]
		cnps, handled = cnps+value(t, rdma, "np_cnp_sent"), handled+value(t, rdma, "rp_cnp_handled")
		timeouts, reads = timeouts+value(t, rdma, "local_ack_timeout_err"), reads+value(t, rdma, "rx_read_requests")
	}
	var want [3]int64
	for _, q := range r.QPs {
		want[0], want[1], want[2] = want[0]+q.CNPsSent, want[1]+q.CNPsReceived, want[2]+q.Timeouts
	}
	if cnps != want[0] || handled != want[1] || timeouts != want[2] || timeouts == 0 || reads != 1 {
		t.Errorf("CNPs %d sent and %d handled, %d timeouts, %d READs; the record has %v", cnps, handled, timeouts, reads, want)
	}
	if s := r.Storms; len(s) == 0 || !strings.Contains(sw, "Ethernet12:3") || !strings.Contains(sw, "N/A/"+strconv.FormatInt(s[len(s)-1].Dropped.Count-s[len(s)-1].FromPeer, 10)) {
		t.Errorf("storms %+v and\n%s", s, sw)
	}
}

// TestInfiniBand: hosts and switches print perfquery, whose numbers are the record's.
func TestInfiniBand(t *testing.T) {
	r := simulate(t, "topology: {star: {hosts: 3, link: EDR}}\nstack: infiniband\nworkload: [incast: {to: h2, size: 1MB}]\n")
	for _, f := range counters.Files(r) {
		if f.Name != "sw.perfquery.txt" {
			continue
		}
		for _, c := range r.Counters {
			if c.Node == "sw" && !strings.Contains(f.Text, "PortXmitWait:...................."+strconv.FormatInt(c.PortXmitWait, 10)+"\n") {
				t.Errorf("no PortXmitWait of %d in\n%s", c.PortXmitWait, f.Text)
			}
		}
		return
	}
	t.Error("no file of the switch")
}
