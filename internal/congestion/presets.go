package congestion

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Presets lists the names Preset knows.
func Presets() []string { return []string{"nvidia", "nvidia-slow-cnp", "paper", "strawman", "ns3"} }

// Preset returns the DCQCN parameters of that name.
func Preset(name string) (DCQCNParams, error) {
	switch name {
	case "nvidia":
		return presetNVIDIA(), nil
	case "nvidia-slow-cnp":
		return presetSlowCNP(), nil
	case "paper":
		return presetPaper(), nil
	case "strawman":
		return presetStrawman(), nil
	case "ns3":
		return presetNS3(), nil
	}
	return DCQCNParams{}, fmt.Errorf("dcqcn: unknown preset %q, want one of %s", name, strings.Join(Presets(), ", "))
}

// presetNVIDIA is the firmware's defaults (models.md 1.3). Five readings:
//
// rpg_byte_reset 32767 is taken in units of 64 bytes (2.1 MB). The field has 15
// bits; in bytes it could express neither IEEE 802.1Qau's 150 kB nor DCQCN's
// 10 MB, and an increase every 33 kB would undo each cut within microseconds at
// 100 Gb/s and more. RPGByteResetUnit 1 gives the other reading.
//
// rate_reduce_monitor_period is an interval at whose end the rate falls if a CNP
// came within it, as in the simulators written after this firmware.
//
// rpg_threshold counts events before they are compared: one fast recovery with 1.
//
// min_time_between_cnps counts per port: so the vendor's text on it (mstconfig,
// "from the port"). Measured cards differ: per destination address with ConnectX-4 Lx,
// per port with ConnectX-5 and 6 Dx, per queue pair with Intel's E810 (Lumina,
// SIGCOMM 2023).
//
// cnp_delay 1 us stands for the way through a card's pipeline, which no document
// states; see presetSlowCNP.
func presetNVIDIA() DCQCNParams {
	return DCQCNParams{
		Name:                        "nvidia",
		ClampTargetRateAfterTimeInc: true,
		RPGTimeReset:                300 * units.Microsecond,
		RPGByteReset:                32767,
		RPGByteResetUnit:            64,
		RPGThreshold:                1,
		RPGAIRate:                   5 * units.Mbps,
		RPGHAIRate:                  50 * units.Mbps,
		RPGGD:                       11,
		RPGMinDecFac:                50,
		RPGMinRate:                  1 * units.Mbps,
		DCETCPG:                     1019,
		DCETCPGBits:                 10,
		DCETCPRTT:                   1 * units.Microsecond,
		RateReduceMonitorPeriod:     4 * units.Microsecond,
		InitialAlpha:                1023,
		MinTimeBetweenCNPs:          4 * units.Microsecond,
		CNPLimiter:                  PerPort,
		CNPCoalesce:                 AtReceiver,
		CNPDelay:                    1 * units.Microsecond,
		ReleaseAtMaxRate:            true,
	}
}

// presetSlowCNP is presetNVIDIA with the 55 us between a mark and its CNP that fit
// a lab of 100 Gb/s senders and a 25 Gb/s receiver behind one Trident 3 switch
// (ns-3-alibabacloud, issue 12).
func presetSlowCNP() DCQCNParams {
	p := presetNVIDIA()
	p.Name = "nvidia-slow-cnp"
	p.CNPDelay = 55 * units.Microsecond
	return p
}

// presetPaper is DCQCN as published and deployed (models.md 1.1, 1.2): cut at
// once at each CNP, timer and byte counter, stages counted before the test.
func presetPaper() DCQCNParams {
	return DCQCNParams{
		Name:               "paper",
		ClampTargetRate:    true,
		RPGTimeReset:       55 * units.Microsecond,
		RPGByteReset:       int64(10 * units.MB),
		RPGByteResetUnit:   1,
		RPGThreshold:       5,
		RPGAIRate:          40 * units.Mbps,
		RPGHAIRate:         400 * units.Mbps,
		RPGGD:              11,
		RPGMinRate:         1 * units.Mbps,
		DCETCPG:            1020, // g = 1/256
		DCETCPGBits:        10,
		DCETCPRTT:          55 * units.Microsecond,
		InitialAlpha:       1024,
		MinTimeBetweenCNPs: 50 * units.Microsecond,
		CNPCoalesce:        AtReceiver,
		CountBeforeTest:    true,
		HAITimesStage:      true,
	}
}

// presetStrawman is the paper's counter-example taken from QCN (models.md 1.2):
// byte counter dominates the timer, coarse gain, unfair. Its cut-off marking at
// 40 kB belongs to the switch.
func presetStrawman() DCQCNParams {
	p := presetPaper()
	p.Name = "strawman"
	p.RPGByteReset = int64(150 * units.KB)
	p.RPGTimeReset = 1500 * units.Microsecond
	p.DCETCPG = 1024 - 1024/16
	return p
}

// presetNS3 is "CC_MODE 1" of the ns-3 RDMA simulators (peers.md B1 2.5) with
// the values of their shipped configuration; a configuration file overrides them.
func presetNS3() DCQCNParams {
	return DCQCNParams{
		Name:                        "ns3",
		ClampTargetRateAfterTimeInc: true,
		RPGTimeReset:                900 * units.Microsecond,
		RPGByteResetUnit:            1,
		RPGThreshold:                1,
		RPGAIRate:                   50 * units.Mbps,
		RPGHAIRate:                  100 * units.Mbps,
		RPGGD:                       11,
		RPGMinRate:                  100 * units.Mbps,
		DCETCPG:                     1020, // g = 1/256
		DCETCPGBits:                 10,
		DCETCPRTT:                   1 * units.Microsecond,
		RateReduceMonitorPeriod:     4 * units.Microsecond,
		InitialAlpha:                1024,
		MonitorOffset:               1 * units.Nanosecond,
		CNPCoalesce:                 AtReceiver,
		HalveSeparately:             true,
		FixedGap:                    true,
	}
}

// Control is what a run writes down of the parameters.
func (p *DCQCNParams) Control() *record.Control {
	c := &record.Control{Preset: p.Name, ClampTargetRate: p.ClampTargetRate}
	preset, err := Preset(p.Name)
	if err != nil {
		panic("congestion: BUG: " + err.Error())
	}
	was := preset.Notes()
	for i, n := range p.Notes() {
		if n.Value != was[i].Value {
			c.Changed = append(c.Changed, strings.TrimPrefix(n.Key, "dcqcn."))
		}
	}
	return c
}

// source says where each preset's numbers come from.
func (p *DCQCNParams) source() string {
	switch p.Name {
	case "nvidia", "nvidia-slow-cnp":
		return "NVIDIA firmware defaults (mlxconfig, mlx5 cc_params)"
	case "paper":
		return "DCQCN, SIGCOMM 2015"
	case "strawman":
		return "DCQCN, SIGCOMM 2015, strawman from IEEE 802.1Qau"
	case "ns3":
		return "ns-3 RDMA simulators, CC_MODE 1"
	}
	return "scenario"
}

// Notes lists every parameter with its value and the preset's source, in the
// order of DCQCNParams.
func (p *DCQCNParams) Notes() []record.Note {
	src := p.source()
	var notes []record.Note
	add := func(key, value, source string) {
		notes = append(notes, record.Note{Key: "dcqcn." + key, Value: value, Source: source})
	}
	add("preset", p.Name, src)
	add("clamp_tgt_rate", strconv.FormatBool(p.ClampTargetRate), src)
	add("clamp_tgt_rate_after_time_inc", strconv.FormatBool(p.ClampTargetRateAfterTimeInc), src)
	add("rpg_time_reset", p.RPGTimeReset.String(), src)
	add("rpg_byte_reset", strconv.FormatInt(p.RPGByteReset, 10), src)
	add("rpg_byte_reset_unit", fmt.Sprintf("%d B", p.RPGByteResetUnit), p.unitSource(src))
	add("rpg_threshold", strconv.Itoa(p.RPGThreshold), src)
	add("rpg_max_rate", maxText(p.RPGMaxRate), src)
	add("rpg_ai_rate", rateText(p.RPGAIRate), src)
	add("rpg_hai_rate", rateText(p.RPGHAIRate), src)
	add("rpg_gd", strconv.Itoa(p.RPGGD), src)
	add("rpg_min_dec_fac", fmt.Sprintf("%d%%", p.RPGMinDecFac), src)
	add("rpg_min_rate", rateText(p.RPGMinRate), src)
	add("rate_to_set_on_first_cnp", rateText(p.RateToSetOnFirstCNP), src)
	add("dce_tcp_g", fmt.Sprintf("%d/%d", p.DCETCPG, 1<<p.DCETCPGBits), src)
	add("dce_tcp_rtt", p.DCETCPRTT.String(), src)
	add("rate_reduce_monitor_period", p.RateReduceMonitorPeriod.String(), src)
	add("initial_alpha", fmt.Sprintf("%d/1024", p.InitialAlpha), src)
	add("min_time_between_cnps", p.MinTimeBetweenCNPs.String(), src)
	add("cnp_limiter", p.CNPLimiter.String(), p.scopeSource(src))
	add("cnp_coalesce", p.CNPCoalesce.String(), src)
	add("cnp_delay", p.CNPDelay.String(), p.delaySource(src))
	add("cnp_reaction_delay", p.CNPReactionDelay.String(), p.delaySource(src))
	add("release_at_max_rate", strconv.FormatBool(p.ReleaseAtMaxRate), src)
	add("monitor_offset", p.MonitorOffset.String(), src)
	add("count_before_test", strconv.FormatBool(p.CountBeforeTest), src)
	add("hai_times_stage", strconv.FormatBool(p.HAITimesStage), src)
	add("halve_separately", strconv.FormatBool(p.HalveSeparately), src)
	add("fixed_gap", strconv.FormatBool(p.FixedGap), p.gapSource(src))
	return notes
}

func (p *DCQCNParams) unitSource(src string) string {
	if p.firmware() {
		return "disputed: 15 bits of bytes could not express the 150 kB of 802.1Qau or DCQCN's 10 MB"
	}
	return src
}

// firmware reports whether the values are the firmware's.
func (p *DCQCNParams) firmware() bool { return p.Name == "nvidia" || p.Name == "nvidia-slow-cnp" }

func (p *DCQCNParams) scopeSource(src string) string {
	if p.firmware() {
		return "disputed: mstconfig counts per port; measured cards do so per port, destination or queue pair (Lumina)"
	}
	return src
}

func (p *DCQCNParams) delaySource(src string) string {
	switch p.Name {
	case "nvidia":
		return "assumed: no document states it"
	case "nvidia-slow-cnp":
		return "fits a lab's queues (ns-3-alibabacloud, issue 12); its parts are not known"
	}
	return src
}

func (p *DCQCNParams) gapSource(src string) string {
	if p.Name == "ns3" {
		return src
	}
	return "assumed: a shaper that is given another rate in place; no vendor states it"
}

func rateText(r units.Rate) string {
	if r%units.Mbps == 0 {
		return fmt.Sprintf("%dMbps", r/units.Mbps)
	}
	return fmt.Sprintf("%dbps", r)
}

func maxText(r units.Rate) string {
	if r == 0 {
		return "port rate"
	}
	return rateText(r)
}
