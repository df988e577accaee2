package nic

import (
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Processors is the account of the host's cores and memory up to a time; false if
// they did nothing that costs anything.
func (h *Host) Processors(now units.Time) (record.Processors, bool) {
	b := h.cpu.Bill(now)
	p := record.Processors{Host: h.Name, Cores: len(b.Cores), CopiedBytes: int64(b.Copied[host.Transmit] + b.Copied[host.Receive]), DRAMBytes: int64(b.DRAM),
		Syscalls: b.Syscalls, Interrupts: b.Interrupts, Wakeups: b.Wakeups, FramesIn: b.FramesIn, SegmentsIn: b.SegmentsIn,
		FramesOut: b.FramesOut, SegmentsOut: b.SegmentsOut, RingDrops: b.RingDrops}
	p.Times = cpuTimes(&b.Times)
	for i := range b.Cores {
		times := cpuTimes(&b.Cores[i])
		if len(times) == 0 {
			continue
		}
		for len(p.BusyPS) < i { // cores below that did nothing
			p.BusyPS = append(p.BusyPS, 0)
		}
		p.BusyPS = append(p.BusyPS, b.Busy[i])
		p.ByCore = append(p.ByCore, record.CoreTimes{Core: i, Times: times})
	}
	return p, len(p.Times) > 0 || p.RingDrops > 0
}

// cpuTimes lists the times above 0.
func cpuTimes(x *host.Times) (out []record.CPUTime) {
	for d := range host.NumDirections {
		for c := range host.NumCauses {
			if t := x[d][c]; t > 0 {
				out = append(out, record.CPUTime{Direction: d.String(), Cause: c.String(), PS: t})
			}
		}
	}
	return out
}
