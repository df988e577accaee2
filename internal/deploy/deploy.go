// Package deploy says what a scenario's switches and cards have in the words of those that are
// deployed: SONiC's CONFIG_DB for marking and lossless priority groups, mlnx_qos and sysfs for
// cards of the mlx5 driver.
package deploy

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Config is what to set.
type Config struct {
	SONiC string   `json:"sonic"` // tables of CONFIG_DB, JSON; "": no switch of Ethernet marks or pauses
	MLX5  string   `json:"mlx5"`  // lines for a shell; "": no card runs DCQCN
	Notes []string `json:"notes"` // what these words cannot say
}

// table is one of CONFIG_DB: fields by name, by key. encoding/json sorts both.
type table map[string]map[string]string

// put adds an entry. Another of the same name with other fields gets the switch's name behind it.
func (t table) put(name, node string, fields map[string]string) {
	if before, is := t[name]; is && fmt.Sprint(before) != fmt.Sprint(fields) {
		name += "_" + node
	}
	t[name] = fields
}

// Of describes the switches and cards of a scenario.
func Of(v *scenario.Valid) Config {
	c := Config{Notes: []string{}}
	marks, profiles := table{}, table{}
	for n := range v.Graph.Nodes {
		if v.Graph.Nodes[n].Kind == topology.Switch && v.Switches[n].Memory != nil {
			c.ofSwitch(v, n, marks, profiles)
		}
	}
	all := map[string]table{}
	if len(marks) > 0 {
		all["WRED_PROFILE"] = marks
	}
	if len(profiles) > 0 {
		all["BUFFER_PROFILE"] = profiles
	}
	if len(all) > 0 {
		data, _ := json.MarshalIndent(all, "", "    ")
		c.SONiC = string(data) + "\n"
	}
	c.ofCards(v)
	return c
}

// ofSwitch adds the profiles of a switch's lossless classes.
func (c *Config) ofSwitch(v *scenario.Valid, n int, marks, profiles table) {
	sw, node := &v.Switches[n], &v.Graph.Nodes[n]
	for port := range node.Ports {
		link := v.Graph.LinkAt(n, port)
		for class := range mmu.Classes {
			if red := sw.Ports[port].RED[class]; red.KMax > 0 {
				marks.put("HOPSCOPE_"+strconv.FormatInt(int64(link.Rate/units.Mbps), 10), node.Name, c.wred(red))
			}
			if g := &sw.Memory.Groups[port][class]; g.Lossless {
				name := fmt.Sprintf("pg_lossless_%d_%s_profile", int64(link.Rate/units.Mbps), metres(link))
				profiles.put(name, node.Name, c.group(g, sw.Memory))
			}
		}
	}
}

// metres is a cable's length in whole metres, as CABLE_LENGTH has it.
func metres(l *topology.Link) string {
	length := int64(l.Length)
	if length == 0 {
		length = int64(l.Delay) * 1000 / int64(units.PicosecondsPerMetre)
	}
	return strconv.FormatInt((length+999)/1000, 10) + "m"
}

// note adds a note once.
func (c *Config) note(text string) {
	for _, n := range c.Notes {
		if n == text {
			return
		}
	}
	c.Notes = append(c.Notes, text)
}

// wred is a WRED_PROFILE: all colours alike, for data that is ECN-capable has one.
func (c *Config) wred(r fabric.RED) map[string]string {
	out := map[string]string{"ecn": "ecn_all"}
	percent := math.Round(100 * r.PMax)
	if math.Abs(percent-100*r.PMax) > 1e-9 {
		c.note(
			fmt.Sprintf("SONiC takes whole per cents: a Pmax of %.3g %% is written as %.0f %%", 100*r.PMax, max(1, percent)),
		)
	}
	for _, colour := range []string{"green", "yellow", "red"} {
		out["wred_"+colour+"_enable"] = "true"
		out[colour+"_min_threshold"] = strconv.FormatInt(int64(r.KMin), 10)
		out[colour+"_max_threshold"] = strconv.FormatInt(int64(r.KMax), 10)
		out[colour+"_drop_probability"] = strconv.FormatInt(int64(max(1, percent)), 10)
	}
	return out
}

// group is a BUFFER_PROFILE of a lossless priority group. SONiC's size is the reserve, its xoff
// the headroom (docs/models/ethernet.md).
func (c *Config) group(g *mmu.GroupProfile, m *mmu.Params) map[string]string {
	number := func(b units.Bytes) string { return strconv.FormatInt(int64(b), 10) }
	out := map[string]string{
		"pool": m.Ingress[g.Pool].Name,
		"size": number(g.Reserved),
		"xon":  number(g.XON),
		"xoff": number(g.Headroom),
	}
	if g.XONOffset >= 0 {
		out["xon_offset"] = number(g.XONOffset)
	}
	switch l := g.Limit; {
	case l.Den > 0:
		exponent := math.Log2(float64(l.Num) / float64(l.Den))
		out["dynamic_th"] = strconv.Itoa(int(math.Round(exponent)))
		if exponent != math.Round(exponent) {
			c.note(
				fmt.Sprintf("SONiC takes powers of two: alpha %d/%d is written as dynamic_th %s", l.Num, l.Den, out["dynamic_th"]),
			)
		}
	default:
		out["static_th"] = number(l.Static)
	}
	return out
}

// ofCards adds the lines of the cards: what differs from the firmware's values, and the priority.
func (c *Config) ofCards(v *scenario.Valid) {
	cc := v.DCQCN
	if cc == nil {
		c.note("no card runs DCQCN, so that there is nothing to set in cards of mlx5")
		return
	}
	firmware, err := congestion.Preset("nvidia")
	if err != nil {
		return
	}
	classes := uint8(0)
	for n := range v.NICs {
		for _, p := range v.NICs[n].Ports {
			classes |= p.PFC.Enabled
		}
	}
	text := "IF=eth0  # the card's interface\n"
	if classes != 0 {
		list := ""
		for p := range mmu.Classes {
			list += "," + strconv.Itoa(int(classes>>p&1))
		}
		text += "mlnx_qos -i $IF --trust=dscp --pfc=" + list[1:] + "\n"
	}
	for mask := classes; mask != 0; mask &= mask - 1 {
		p := bits.TrailingZeros8(mask)
		text += fmt.Sprintf(
			"echo 1 > /sys/class/net/$IF/ecn/roce_np/enable/%d\necho 1 > /sys/class/net/$IF/ecn/roce_rp/enable/%[1]d\n",
			p,
		)
	}
	differ := ""
	for _, line := range sysfs(cc) {
		for _, usual := range sysfs(&firmware) {
			if line.file == usual.file && line.value != usual.value {
				differ += fmt.Sprintf("echo %s > /sys/class/net/$IF/ecn/%s  # %s\n", line.value, line.file, line.says)
			}
		}
	}
	if differ == "" {
		differ = "# all values of DCQCN are the firmware's\n"
	}
	c.MLX5 = text + differ
	if cc.RPGByteResetUnit == 64 && cc.RPGByteReset != firmware.RPGByteReset {
		c.note("the unit of rpg_byte_reset is disputed (docs/decisions/0006-byte-reset.md): it is written in units of 64 B")
	}
}

// line is a file below /sys/class/net/IF/ecn.
type line struct{ file, value, says string }

// sysfs are the files of the mlx5 driver for DCQCN, with their units.
func sysfs(p *congestion.DCQCNParams) []line {
	whole := func(v int64) string { return strconv.FormatInt(v, 10) }
	mega := func(r units.Rate) string { return whole(int64((r + units.Mbps/2) / units.Mbps)) }
	micro := func(t units.Time) string { return whole(int64((t + units.Microsecond/2) / units.Microsecond)) }
	flag := func(b bool) string {
		if b {
			return "1"
		}
		return "0"
	}
	return []line{
		{"roce_rp/rpg_ai_rate", mega(p.RPGAIRate), "Mb/s"},
		{"roce_rp/rpg_hai_rate", mega(p.RPGHAIRate), "Mb/s"},
		{"roce_rp/rpg_min_rate", mega(p.RPGMinRate), "Mb/s"},
		{"roce_rp/rpg_max_rate", mega(p.RPGMaxRate), "Mb/s; 0: the port's"},
		{"roce_rp/rate_to_set_on_first_cnp", mega(p.RateToSetOnFirstCNP), "Mb/s; 0: as it is"},
		{"roce_rp/rpg_time_reset", micro(p.RPGTimeReset), "us"},
		{"roce_rp/rpg_byte_reset", whole(p.RPGByteReset), "disputed unit"},
		{"roce_rp/rpg_threshold", whole(int64(p.RPGThreshold)), "events"},
		{"roce_rp/rpg_gd", whole(int64(p.RPGGD)), "cut by alpha / 2^(gd - 10)"},
		{"roce_rp/rpg_min_dec_fac", whole(int64(p.RPGMinDecFac)), "% of the rate that a cut leaves"},
		{"roce_rp/dce_tcp_g", whole(p.DCETCPG << 10 >> p.DCETCPGBits), "of 1024"},
		{"roce_rp/dce_tcp_rtt", micro(p.DCETCPRTT), "us"},
		{"roce_rp/rate_reduce_monitor_period", micro(p.RateReduceMonitorPeriod), "us"},
		{"roce_rp/initial_alpha_value", whole(p.InitialAlpha), "of 1024"},
		{"roce_rp/clamp_tgt_rate", flag(p.ClampTargetRate), "1: target falls at every cut"},
		{"roce_rp/clamp_tgt_rate_after_time_inc", flag(p.ClampTargetRateAfterTimeInc), "1: also after an increase by time"},
		{"roce_np/min_time_between_cnps", micro(p.MinTimeBetweenCNPs), "us"},
	}
}
