package host

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Named is one of the times among Costs.
type Named struct {
	Name   string // as scenarios write it
	Time   *units.Time
	source string // of the preset's value
}

// Sources of the preset's values.
const (
	cai     = "Cai et al. (SIGCOMM 2021)"
	arrakis = "Arrakis (OSDI 2014), table 1"
	brouer  = "Brouer, benchmarks of the kernel's allocators"
	linux   = "Linux, mlx5 driver"
	derived = "derived in docs/models/host-cost.md"
	chosen  = "chosen among published figures, docs/models/host-cost.md"
)

// Named lists the times among the costs. docs/models/host-cost.md has the
// derivations.
func (c *Costs) Named() []Named {
	return []Named{
		{"syscall", &c.Syscall, arrakis},
		{"output", &c.Output, arrakis},
		{"gso_frame", &c.GSOFrame, derived},
		{"tx_complete", &c.TxComplete, brouer},
		{"rx_frame", &c.RxFrame, "XDP (CoNEXT 2018): 4.8 million packets/s"},
		{"rx_page", &c.RxPage, brouer},
		{"input", &c.Input, arrakis},
		{"interrupt", &c.Interrupt, chosen},
		{"idle_exit", &c.IdleExit, "Linux, intel_idle: C1 of Skylake servers"},
		{"wakeup", &c.Wakeup, derived},
		{"zerocopy_call", &c.ZeroCopyCall, derived},
		{"pin_page", &c.PinPage, derived},
		{"zerocopy_done", &c.ZeroCopyDone, derived},
		{"file_page", &c.FilePage, derived},
		{"map_page", &c.MapPage, derived},
		{"post", &c.Post, chosen},
		{"poll", &c.Poll, chosen},
		{"repost", &c.Repost, chosen},
		{"doorbell", &c.Doorbell, chosen},
	}
}

// Notes lists a preset's values with their sources; none for "free".
func (s *Spec) Notes(preset string) []record.Note {
	if preset == "free" {
		return nil
	}
	out := []record.Note{
		{Key: "host.preset", Value: preset, Source: cai},
		{Key: "host.cores", Value: fmt.Sprint(s.Cores), Source: cai},
		{Key: "host.numa.sockets", Value: fmt.Sprint(s.Sockets), Source: cai},
		{Key: "host.memory_bandwidth", Value: s.Memory.String(), Source: derived},
		{Key: "host.send", Value: s.Send.String(), Source: linux},
		{Key: "host.tso", Value: fmt.Sprint(s.Segmentation == TSO), Source: linux},
		{Key: "host.gso", Value: fmt.Sprint(s.Segmentation != NoSegmentation), Source: linux},
		{Key: "host.gro", Value: fmt.Sprint(s.GRO > 0), Source: linux},
		{Key: "host.steering", Value: map[bool]string{false: "rss", true: "arfs"}[s.FlowSteering], Source: cai},
		{Key: "host.moderation", Value: s.Moderation.String(), Source: linux},
		{Key: "host.ring", Value: fmt.Sprintf("%d frames", s.Ring), Source: linux},
		{Key: "host.NAPI budget", Value: fmt.Sprintf("%d frames", s.Budget), Source: linux},
		{Key: "host.softirq budget", Value: fmt.Sprintf("%d frames or %v", s.RoundBudget, s.RoundTime), Source: linux},
		{Key: "host.costs.copy_dram", Value: s.CopyDRAM.String(), Source: derived},
		{Key: "host.costs.copy_llc", Value: s.CopyLLC.String(), Source: derived},
		{Key: "host.costs.miss_in", Value: percent(s.MissIn), Source: cai},
		{Key: "host.costs.miss_out", Value: percent(s.MissOut), Source: cai},
		{Key: "host.costs.remote", Value: fmt.Sprintf("%g", float64(s.RemotePermille)/1000), Source: derived},
	}
	out = append(out, record.Note{Key: "host.costs.crc", Value: s.CRC.String(), Source: "assumed: CRC32c by the " +
		"processor's instruction, 3 streams interleaved (Gopal et al., Intel 2011: 0.14 cycles a byte), at 2.8 GHz"})
	for _, x := range s.Named() {
		out = append(out, record.Note{Key: "host.costs." + x.Name, Value: x.Time.String(), Source: x.source})
	}
	return out
}

func percent(permille int) string { return fmt.Sprintf("%g %%", float64(permille)/10) }

// String says it in words.
func (m Moderation) String() string {
	switch {
	case m.Adaptive:
		return "adaptive"
	case m.Time == 0 && m.Frames <= 1:
		return "off"
	case m.Frames == 0:
		return m.Time.String()
	}
	return fmt.Sprintf("%v or %d frames", m.Time, m.Frames)
}
