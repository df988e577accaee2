package nic

import (
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Processors is the account of the host's cores and memory, for messages of which the
// first was posted at one time and the last completed at the other; false if they did
// nothing that costs anything.
func (h *Host) Processors(first, last units.Time) (record.Processors, bool) {
	b := h.cpu.Bill(first, last)
	p := record.Processors{Host: h.Name, Cores: len(b.Cores), CopiedBytes: int64(b.Copied[host.Transmit] + b.Copied[host.Receive]), DRAMBytes: int64(b.DRAM),
		Syscalls: b.Syscalls, Interrupts: b.Interrupts, Wakeups: b.Wakeups, FramesIn: b.FramesIn, SegmentsIn: b.SegmentsIn,
		FramesOut: b.FramesOut, SegmentsOut: b.SegmentsOut, GSOFrames: b.GSOFrames, RingDrops: b.RingDrops}
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
		p.ByCore = append(p.ByCore, record.CoreTimes{Core: i, Times: times, InTimePS: b.Before[i], Seen: b.Seen[i]})
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
