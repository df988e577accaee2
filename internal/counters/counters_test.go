package counters_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/catalog"
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
	// Time asked for is from the pause to the end of it (operators' counters: what tx_ has, whether the peer obeys or not).
	if d := value(t, text["h3.ethtool.txt"], "tx_prio3_pause_duration"); d < 4899 || d > 4901 {
		t.Errorf("h3 asked for %d us of pause, want 4.9 ms", d)
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
	text := map[string]string{}
	for _, f := range counters.Files(r) {
		text[f.Name] = f.Text
	}
	waited := false
	for _, c := range r.Counters {
		number := func(n int64) string { return strconv.FormatInt(n, 10) }
		waited = waited || c.PortXmitWait > 0
		if c.Node == "sw" && !strings.Contains(text["sw.perfquery.txt"], "PortXmitWait:...................."+number(c.PortXmitWait)+"\n") {
			t.Errorf("no PortXmitWait of %d in\n%s", c.PortXmitWait, text["sw.perfquery.txt"])
		}
		// ibdiagnet has every port, under the GUID that its node has there.
		all := text["fabric.ibdiagnet.txt"]
		node := regexp.MustCompile(`"` + c.Node + `",[0-9]+,[12],(0x[0-9a-f]{16})\n`).FindStringSubmatch(all)
		if node == nil || !strings.Contains(all, "\n"+node[1]+","+strings.Join([]string{strconv.Itoa(c.Port), number(c.PortRcvErrors),
			number(c.PortXmitDiscards), number(c.PortXmitWait), number(c.PortXmitData), number(c.PortRcvData), number(c.PortXmitPkts),
			number(c.PortRcvPkts)}, ",")+"\n") {
			t.Errorf("no %s port %d in\n%s", c.Node, c.Port, all)
		}
	}
	if !waited {
		t.Error("no port waited")
	}
}

// TestInterfaces: frames dropped as too large, for want of room, and as damaged stand in columns of their own.
func TestInterfaces(t *testing.T) {
	interfaces(t, "ber: 1e-6")
	interfaces(t, "loss: 0.5%") // a lossy cable: what it loses comes in damaged
}

func interfaces(t *testing.T, cable string) {
	t.Helper()
	r := simulate(t, "topology: {star: {hosts: 4, link: 100Gbps}, links: [{between: [h1, sw], "+cable+"}]}\nstack: rocev2-none\n"+
		"mtu: 4096\nnic: {timeout: 5, retry: 1}\nswitch: {buffer: 200KB, lossy: unlimited}\nworkload:\n"+
		"  - incast: {to: h3, size: 400KB}\nstop: 200us\n")
	var damaged, dropped int64
	for i := range r.Ports {
		for _, d := range r.Ports[i].DropCauses {
			switch {
			case (d.Cause == catalog.DropBitError || d.Cause == catalog.DropLoss) && r.Ports[i].Node == "h1":
				damaged += d.Count
			case d.Cause == catalog.DropPool && r.Ports[i].Node == "sw":
				dropped += d.Count
			}
		}
	}
	for _, f := range counters.Files(r) {
		if f.Name != "sw.sonic.txt" {
			continue
		}
		crc, out := column(t, f.Text, "RX_ERR", "Ethernet4"), column(t, f.Text, "TX_DRP", "Ethernet12")
		if damaged == 0 || dropped == 0 || crc != damaged || out != dropped {
			t.Errorf("RX_ERR %d of %d, TX_DRP %d of %d", crc, damaged, out, dropped)
		}
		return
	}
	t.Error("no file of the switch")
}

// column is a value of show interfaces counters.
func column(t *testing.T, text, name, row string) int64 {
	t.Helper()
	_, text, _ = strings.Cut(text, "$ show interfaces counters\n")
	head := strings.Fields(text[:strings.Index(text, "\n")])
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != len(head) || words[0] != row {
			continue
		}
		for i := range head {
			if head[i] == name {
				n, err := strconv.ParseInt(strings.ReplaceAll(words[i], ",", ""), 10, 64)
				if err != nil {
					t.Error(err)
				}
				return n
			}
		}
	}
	t.Errorf("no %s of %s", name, row)
	return 0
}
