package scenario

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/units"
)

// defaultDCQCN is the preset of scenarios that name none.
const defaultDCQCN = "nvidia"

// readDCQCN reads a preset's name, or a mapping that changes one, or none. The
// keys are the names of the NIC firmware and driver. InfiniBand has congestion control
// of its own (readIBCC).
func (r *resolver) readDCQCN(n *node) {
	if r.d.err != nil {
		return
	}
	if !r.stack().CC && !r.stack().Credits {
		if n != nil && (n.kind != scalarNode || n.text != "none") {
			r.d.fail(n.pos, "dcqcn: the stack %s runs without congestion control; take the stack rocev2, or leave dcqcn out", r.v.Stack)
		}
		return
	}
	preset := defaultDCQCN
	if n == nil && r.stack().Credits && !r.header.describing() {
		return
	}
	if n != nil && n.kind == scalarNode {
		if n.text == "none" {
			return
		}
		root := object{r.d, &node{kind: mappingNode, pos: n.pos, fields: []field{{"dcqcn", n.pos, n}}}, ""}
		root.word("dcqcn", &preset, append(congestion.Presets(), "none")...)
		n = nil
	}
	object{r.d, nil, ""}.note("dcqcn", wordsOf(append(congestion.Presets(), "none")...))
	o := r.d.object(n, "dcqcn", "preset", "rpg_time_reset", "rpg_byte_reset", "rpg_byte_reset_unit", "rpg_threshold",
		"rpg_max_rate", "rpg_ai_rate", "rpg_hai_rate", "rpg_gd", "rpg_min_dec_fac", "rpg_min_rate", "rate_to_set_on_first_cnp",
		"dce_tcp_g", "dce_tcp_rtt", "rate_reduce_monitor_period", "initial_alpha", "min_time_between_cnps", "cnp_coalesce",
		"clamp_tgt_rate", "clamp_tgt_rate_after_time_inc", "count_before_test", "hai_times_stage", "halve_separately",
		"monitor_offset", "initial_rate")
	o.word("preset", &preset, congestion.Presets()...)
	p, err := congestion.Preset(preset)
	if err != nil {
		o.fail("preset", "%v", err)
		return
	}
	readDCQCNTimes(o, &p)
	readDCQCNRates(o, &p)
	readDCQCNFlags(o, &p)
	if o.rate("initial_rate", &r.initialRate) && r.initialRate == 0 {
		o.fail("initial_rate", "0 would never send; give a rate such as 5Gbps")
	}
	if r.d.err != nil {
		return
	}
	if err := p.Validate(); err != nil {
		r.d.fail(dcqcnKey(o, err.Error()), "%v", err)
		return
	}
	if r.stack().Credits {
		r.initialRate = 0
		return
	}
	r.v.DCQCN = &p
	r.dcqcnGiven = o
}

// dcqcnKey finds the place of the key that a validation error is about.
func dcqcnKey(o object, msg string) pos {
	for _, f := range o.n.fields {
		if strings.Contains(msg, " "+f.key+" ") {
			return f.value.pos
		}
	}
	return o.n.pos
}

func readDCQCNTimes(o object, p *congestion.DCQCNParams) {
	o.time("rpg_time_reset", &p.RPGTimeReset)
	o.time("dce_tcp_rtt", &p.DCETCPRTT)
	o.time("rate_reduce_monitor_period", &p.RateReduceMonitorPeriod)
	o.time("min_time_between_cnps", &p.MinTimeBetweenCNPs)
	o.time("monitor_offset", &p.MonitorOffset)
}

func readDCQCNRates(o object, p *congestion.DCQCNParams) {
	o.rate("rpg_max_rate", &p.RPGMaxRate)
	o.rate("rpg_ai_rate", &p.RPGAIRate)
	o.rate("rpg_hai_rate", &p.RPGHAIRate)
	o.rate("rpg_min_rate", &p.RPGMinRate)
	o.rate("rate_to_set_on_first_cnp", &p.RateToSetOnFirstCNP)
	readByteReset(o, p)
	o.integer("rpg_threshold", &p.RPGThreshold, 1, 31)
	o.integer("rpg_gd", &p.RPGGD, 10, 20)
	o.integer("rpg_min_dec_fac", &p.RPGMinDecFac, 0, 100)
	alpha := int(p.InitialAlpha)
	o.integer("initial_alpha", &alpha, 0, 1024)
	p.InitialAlpha = int64(alpha)
	readG(o, p)
}

// readByteReset reads a number in rpg_byte_reset_unit, or a size, which needs
// no unit.
func readByteReset(o object, p *congestion.DCQCNParams) {
	unit := strconv.FormatInt(p.RPGByteResetUnit, 10) + "B"
	if o.word("rpg_byte_reset_unit", &unit, "1B", "64B") {
		p.RPGByteResetUnit = map[string]int64{"1B": 1, "64B": 64}[unit]
	}
	text, ok := o.scalar("rpg_byte_reset")
	if !ok {
		return
	}
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		p.RPGByteReset = v
		return
	}
	var size units.Bytes
	if o.size("rpg_byte_reset", &size) {
		p.RPGByteReset, p.RPGByteResetUnit = int64(size), 1
	}
}

// readG reads dce_tcp_g in 1/1024 as the firmware counts it (1019), or as the
// papers' gain g (1/256), of which it is 1 - g.
func readG(o object, p *congestion.DCQCNParams) {
	text, ok := o.scalar("dce_tcp_g")
	if !ok {
		return
	}
	if v, err := strconv.ParseInt(text, 10, 64); err == nil && v >= 0 && v <= 1024 {
		p.DCETCPG, p.DCETCPGBits = v, 10
		return
	}
	num, den, ok := parseFraction(text)
	if !ok || num > den {
		o.fail("dce_tcp_g", "%q is neither 0 to 1024 (what alpha keeps, in 1/1024) nor a gain g such as 1/256", text)
		return
	}
	p.DCETCPG, p.DCETCPGBits = gainToG(num, den)
}

// gainToG turns a gain num/den into the share that alpha keeps, 1 - gain, in
// units of 2^-bits: the firmware's ten bits where they hold the value exactly,
// else twenty.
func gainToG(num, den int64) (g int64, bits uint8) {
	if 1024*num%den == 0 {
		return 1024 - 1024*num/den, 10
	}
	return 1<<20 - (num<<20+den/2)/den, 20
}

func readDCQCNFlags(o object, p *congestion.DCQCNParams) {
	where := p.CNPCoalesce.String()
	if o.word("cnp_coalesce", &where, "receiver", "sender") {
		p.CNPCoalesce = congestion.AtReceiver
		if where == "sender" {
			p.CNPCoalesce = congestion.AtSender
		}
	}
	o.boolean("clamp_tgt_rate", &p.ClampTargetRate)
	o.boolean("clamp_tgt_rate_after_time_inc", &p.ClampTargetRateAfterTimeInc)
	o.boolean("count_before_test", &p.CountBeforeTest)
	o.boolean("hai_times_stage", &p.HAITimesStage)
	o.boolean("halve_separately", &p.HalveSeparately)
}
