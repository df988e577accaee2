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
	p := record.Processors{Host: h.Name, Cores: len(b.Busy), CopiedBytes: int64(b.Copied[host.Transmit] + b.Copied[host.Receive]), DRAMBytes: int64(b.DRAM),
		Syscalls: b.Syscalls, Interrupts: b.Interrupts, Wakeups: b.Wakeups, FramesIn: b.FramesIn, SegmentsIn: b.SegmentsIn,
		FramesOut: b.FramesOut, SegmentsOut: b.SegmentsOut, RingDrops: b.RingDrops}
	for d := range host.NumDirections {
		for c := range host.NumCauses {
			if t := b.Times[d][c]; t > 0 {
				p.Times = append(p.Times, record.CPUTime{Direction: d.String(), Cause: c.String(), PS: t})
			}
		}
	}
	used := 0
	for i, t := range b.Busy {
		if t > 0 {
			used = i + 1
		}
	}
	p.BusyPS = b.Busy[:used]
	return p, len(p.Times) > 0 || p.RingDrops > 0
}
