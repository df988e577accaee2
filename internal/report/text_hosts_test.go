package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// The CPU bill has a line per host and direction, the most expensive hosts first,
// and counts those it leaves out.
func TestCPUBill(t *testing.T) {
	r := &record.Run{EndPS: 10 * units.Millisecond}
	for i, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		r.Processors = append(r.Processors, record.Processors{Host: name, Cores: 4, CopiedBytes: 5 * 1000 * 1000,
			BusyPS: []units.Time{units.Time(i+1) * units.Millisecond},
			ByCore: []record.CoreTimes{{Core: 0, InTimePS: units.Time(i+1) * units.Millisecond}}, Times: []record.CPUTime{
				{Direction: "transmit", Cause: "syscall", PS: units.Time(i+1) * units.Millisecond / 4},
				{Direction: "receive", Cause: "input", PS: units.Time(i+1) * units.Millisecond / 4},
				{Direction: "receive", Cause: "copy", PS: units.Time(i+1) * units.Millisecond / 2}}})
	}
	var b strings.Builder
	if err := Text(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"h       transmit  2.00 ms            0.200   80.0 %  5.00 MB  syscall 25.0 %\n",
		"        receive   6.00 ms            0.600                    copy 50.0 %, input 25.0 %\n",
		"and 2 hosts with less\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\nb ") {
		t.Errorf("host b is listed, which is seventh:\n%s", b.String())
	}
	if rows := strings.Count(csvOf(t, cpuTable(r.Processors)), "\n"); rows != 1+24 {
		t.Errorf("cpu.csv has %d lines, want a header and 24 rows", rows)
	}
}

// Of many hosts that took data too slowly the report names those whose buffers were
// fullest, each link once, and counts the others.
func TestReceiverHosts(t *testing.T) {
	r := &record.Run{EndPS: units.Millisecond, Ledger: []record.Entry{{Question: catalog.Detected, Mechanism: catalog.XOFFCross, Act: record.Act{Count: 1}}}}
	for i := range 6 { // the last, whose buffer is fullest, held nothing for long
		held := units.Millisecond / 50
		if i == 5 {
			held--
		}
		to := record.Port{Node: "sw", Port: i + 1, HeldPS: held}
		r.Ports = append(r.Ports, to)
		for range 2 { // classes
			r.Ports = append(r.Ports, record.Port{Node: fmt.Sprintf("h%d", i), Port: 1, Peer: to.ID(), RateBps: 400 * units.Gbps, Limits: record.PortLimits{
				Receive: &record.Approach{Value: 2, Threshold: 1}, ReceivePeak: int64(i),
				Inside: &record.InsideLimit{Link: "nic0 to cpu0", Kind: "PCIe", Bps: units.Rate(300+50*i) * units.Gbps}}})
		}
	}
	for verbose, want := range map[bool]int{false: 2, true: 5} {
		var b strings.Builder
		if err := Text(&b, r, TextOptions{Verbose: verbose, Width: 200}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if n := strings.Count(got, "receiver host "); n != want || strings.Contains(got, "and 3 more receivers") == verbose {
			t.Errorf("%d receivers, want %d:\n%s", n, want, got)
		}
		if first := strings.Index(got, "receiver host h4: PCIe, nic0 to cpu0, takes 500 Gb/s alone, and less beside other transfers"); first < 0 || first != strings.Index(got, "receiver host ") {
			t.Errorf("h4, whose buffer was fullest, is not first:\n%s", got)
		}
		if verbose && !strings.Contains(got, "h0: PCIe, nic0 to cpu0, takes 300 Gb/s; its") {
			t.Errorf("h0's link is slower than its network link:\n%s", got)
		}
	}
}

// A link inside a host that could take more than the network link brings says what else
// went over it.
func TestReceiverHostShares(t *testing.T) {
	r := &record.Run{EndPS: units.Millisecond, Ledger: []record.Entry{{Question: catalog.Detected, Mechanism: catalog.XOFFCross, Act: record.Act{Count: 1}}},
		QPs: []record.QP{{Host: "h0", DeliveredBytes: 8_000_000}, {Host: "h1", DeliveredBytes: 1_000_000}},
		Servers: []record.Server{{Host: "h0", Links: []record.ServerLink{
			{Name: "cpu0 to nic0", PayloadBytes: 1}, {Name: "nic0 to cpu0", PayloadBytes: 20_000_000, BusyPS: 900 * units.Microsecond}}}},
		Ports: []record.Port{{Node: "sw", Port: 1, HeldPS: units.Millisecond}, {Node: "h0", Port: 1, Peer: record.PortID{Node: "sw", Port: 1}, RateBps: 200 * units.Gbps, Limits: record.PortLimits{
			Receive: &record.Approach{Value: 2, Threshold: 1}, Inside: &record.InsideLimit{Host: "h0", Link: "nic0 to cpu0", Kind: "PCIe", Bps: 208 * units.Gbps}}}}}
	var b strings.Builder
	if err := Text(&b, r, TextOptions{Width: 300}); err != nil {
		t.Fatal(err)
	}
	if want := "takes 208 Gb/s alone, and less beside other transfers (busy 90 % of the run, with 20.0 MB of data in all and 8.00 MB received); its network link brings up to 200 Gb/s"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in:\n%s", want, b.String())
	}
}
