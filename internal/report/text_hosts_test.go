package report

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// The CPU bill has a line per host and direction, the most expensive hosts first,
// and counts those it leaves out.
func TestCPUBill(t *testing.T) {
	r := &record.Run{EndPS: 10 * units.Millisecond}
	for i, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		r.Processors = append(r.Processors, record.Processors{Host: name, Cores: 4, CopiedBytes: 5 * 1000 * 1000,
			BusyPS: []units.Time{units.Time(i+1) * units.Millisecond}, Times: []record.CPUTime{
				{Direction: "transmit", Cause: "syscall", PS: units.Time(i+1) * units.Millisecond / 4},
				{Direction: "receive", Cause: "input", PS: units.Time(i+1) * units.Millisecond / 4},
				{Direction: "receive", Cause: "copy", PS: units.Time(i+1) * units.Millisecond / 2}}})
	}
	var b strings.Builder
	if err := Text(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"h       transmit  2.00 ms  0.200   80.0 %  5.00 MB  syscall 25.0 %\n",
		"        receive   6.00 ms  0.600                    copy 50.0 %, input 25.0 %\n",
		"and 2 hosts with less\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\nb ") {
		t.Errorf("host b is listed, which is seventh:\n%s", b.String())
	}
	if rows := strings.Count(string(cpuCSV(r.Processors)), "\n"); rows != 1+24 {
		t.Errorf("cpu.csv has %d lines, want a header and 24 rows", rows)
	}
}
