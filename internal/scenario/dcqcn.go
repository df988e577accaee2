package scenario

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/units"
)

// defaultDCQCN is the preset of scenarios that name none.
const defaultDCQCN = "nvidia"

// dcqcnSettings is the `dcqcn` section.
type dcqcnSettings struct {
	congestion.DCQCNParams
	preset  string
	initial units.Rate
	off     bool
	obj     object
	// onAck and whole say why keys of CNPs and of gaps have no effect with the transports
	// of the hosts; nil: not known.
	onAck, whole func() string
}

// newDCQCN is what holds without the section.
func newDCQCN() *dcqcnSettings {
	s := &dcqcnSettings{preset: defaultDCQCN}
	s.take()
	return s
}

// take makes s what its preset is.
func (s *dcqcnSettings) take() {
	p, err := congestion.Preset(s.preset)
	if err != nil {
		panic("scenario: BUG: " + err.Error())
	}
	s.DCQCNParams = p
}

// readDCQCN reads a preset's name, or a mapping that changes one, or none. InfiniBand has
// congestion control of its own (ibccKey).
func (r *resolver) readDCQCN(o object) {
	n := o.n.Get("dcqcn")
	if r.d.err != nil {
		return
	}
	if !r.stack().CC && !r.stack().Credits {
		if n != nil && (n.Kind != scalarNode || n.Text != "none") {
			r.d.fail(n.Pos, "dcqcn: the stack %s runs without congestion control; take the stack rocev2, or leave dcqcn out", r.v.Stack)
		}
		return
	}
	s := newDCQCN()
	s.onAck, s.whole = r.cnpsOnAcks, r.wholeQuanta
	o.read([]key{r.dcqcnKey(s)})
	if r.v.Control != nil {
		r.initialRate = s.initial
		return
	}
	if r.d.err == nil && !s.off && !r.stack().Credits {
		r.v.DCQCN, r.initialRate, r.dcqcn, r.dcqcnGiven = &s.DCQCNParams, s.initial, s, s.obj
	}
}

// dcqcnKey is the section, whose keys are the names of the NIC's firmware and driver.
func (r *resolver) dcqcnKey(s *dcqcnSettings) key {
	return sectionKey("dcqcn", s.keys(), "Congestion control of RoCEv2: a preset, changes to one, or `none`.").otherwise("`"+defaultDCQCN+"`").
		shortFor("preset").or("none", func() { s.off = true }).in(&s.obj).
		finish(func(o object) {
			if err := s.Validate(); err != nil {
				r.d.fail(dcqcnKeyAt(o, err.Error()), "%v", err)
			}
		})
}

// dcqcnKeyAt finds the place of the key that a validation error is about.
func dcqcnKeyAt(o object, msg string) pos {
	for _, f := range o.n.Fields {
		if strings.Contains(msg, " "+f.Key+" ") {
			return f.Value.Pos
		}
	}
	return o.n.Pos
}

// keys are the keys of the section; the defaults are those of the preset.
func (s *dcqcnSettings) keys() []key {
	p := &s.DCQCNParams
	return joinKeys([]key{
		wordKey("preset", &s.preset, congestion.Presets(), "What the other keys change: `nvidia` (firmware), `paper` (as published), `strawman` (its counter-example), `ns3` (the simulators); "+
			"`hopscope show dcqcn.nvidia` has the sources.").check(func(object) { s.take() }),
		timeKey("rpg_time_reset", &p.RPGTimeReset, "Period of the timer that raises the rate."),
		choiceKey("rpg_byte_reset_unit", &p.RPGByteResetUnit, []string{"1B", "64B"}, []int64{1, 64}, "Unit of `rpg_byte_reset`, which is disputed."),
		textKey("rpg_byte_reset", "number of `rpg_byte_reset_unit`, size", numberOrText(), s.readByteReset,
			"Bytes sent after which the byte counter raises the rate; 0: no byte counter.").otherwise(strconv.FormatInt(p.RPGByteReset, 10)),
		numberKey("rpg_threshold", &p.RPGThreshold, 1, 31, "Stage at which fast recovery ends."),
		rateKey("rpg_max_rate", &p.RPGMaxRate, "Highest rate of a flow; 0: the port's.").otherwise("the port's rate"),
		rateKey("rpg_ai_rate", &p.RPGAIRate, "What active increase adds to the target rate."),
		rateKey("rpg_hai_rate", &p.RPGHAIRate, "What hyper increase adds to the target rate."),
		numberKey("rpg_gd", &p.RPGGD, 10, 20, "A cut takes alpha * 2^10 / 2^n of the rate off; 11 halves alpha."),
		numberKey("rpg_min_dec_fac", &p.RPGMinDecFac, 0, 100, "A cut leaves at least this percentage of the rate."),
		rateKey("rpg_min_rate", &p.RPGMinRate, "Lowest rate."),
		rateKey("rate_to_set_on_first_cnp", &p.RateToSetOnFirstCNP, "Rate after a flow's first CNP; 0: unchanged."),
		textKey("dce_tcp_g", "0 to 1024, gain such as `1/256`", numberOrText(), s.readG, "What alpha keeps at each update, in 1/1024; or the gain g of the papers, of which it is 1 - g.").
			otherwise(strconv.FormatInt(p.DCETCPG, 10)),
		timeKey("dce_tcp_rtt", &p.DCETCPRTT, "Period of the update of alpha."),
		timeKey("rate_reduce_monitor_period", &p.RateReduceMonitorPeriod, "Interval at whose ends a cut may happen, if a CNP came within it; 0: a cut at every CNP."),
		numberKey("initial_alpha", &p.InitialAlpha, 0, 1024, "Alpha at the start, in 1/1024."),
		timeKey("min_time_between_cnps", &p.MinTimeBetweenCNPs, "Least time between two CNPs."),
		spokenKey("cnp_coalesce", &p.CNPCoalesce, []congestion.Coalesce{congestion.AtReceiver, congestion.AtSender}, "Which end keeps CNPs apart."),
		spokenKey("cnp_limiter", &p.CNPLimiter, []congestion.Scope{congestion.PerQueuePair, congestion.PerDestination, congestion.PerPort},
			"Whose CNPs a receiver keeps apart together: those of a `queue-pair`, of all of a port to one `destination`, or of the whole `port`. Disputed.").
			unless(func() string {
				return when(p.CNPCoalesce == congestion.AtSender, "the senders keep CNPs apart, each queue pair its own; give cnp_coalesce: receiver")
			}).
			unless(func() string {
				return when(p.MinTimeBetweenCNPs == 0, "min_time_between_cnps 0 has every marked packet answered")
			}).unless(s.onAck),
		timeKey("cnp_delay", &p.CNPDelay, "From a marked packet to its CNP, inside the receiver's card.").unless(s.onAck),
		timeKey("cnp_reaction_delay", &p.CNPReactionDelay, "From a CNP to what it does, inside the sender's card.").unless(s.onAck),
		flagKey("release_at_max_rate", &p.ReleaseAtMaxRate, "A flow back at its highest rate forgets alpha, and its next CNP is a first one."),
		flagKey("fixed_gap", &p.FixedGap, "The gap behind a packet stays as it was when that was sent, whatever its rate does meanwhile.").unless(s.whole),
	}, s.variantKeys(), []key{
		rateKey("initial_rate", &s.initial, "Rate at which flows start.").otherwise("the port's rate").nonzero("would never send; give a rate such as 5Gbps"),
	})
}

// variantKeys are those in which implementations differ.
func (s *dcqcnSettings) variantKeys() []key {
	p := &s.DCQCNParams
	return []key{
		flagKey("clamp_tgt_rate", &p.ClampTargetRate, "Every cut sets the target rate to the rate before it; otherwise only a cut that follows an increase does."),
		flagKey("clamp_tgt_rate_after_time_inc", &p.ClampTargetRateAfterTimeInc, "An increase by the timer counts as such an increase, as one by the byte counter always does."),
		flagKey("count_before_test", &p.CountBeforeTest, "The stage is advanced before it is compared with `rpg_threshold`: one step of fast recovery less."),
		flagKey("hai_times_stage", &p.HAITimesStage, "The step of hyper increase is multiplied by the number of that increase, 1, 2, 3 and so on."),
		flagKey("halve_separately", &p.HalveSeparately, "The average of rate and target is the sum of their halves in integers; otherwise the sum is halved and rounded up."),
		timeKey("monitor_offset", &p.MonitorOffset, "How long after a flow's first CNP the periods of `rate_reduce_monitor_period` begin."),
	}
}

// readByteReset reads a number in rpg_byte_reset_unit, or a size, which needs no unit.
func (s *dcqcnSettings) readByteReset(o object, text string) {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		s.RPGByteReset = v
		return
	}
	var size units.Bytes
	if read(o, "rpg_byte_reset", &size, units.ParseBytes) {
		s.RPGByteReset, s.RPGByteResetUnit = int64(size), 1
	}
}

// readG reads dce_tcp_g in 1/1024 as the firmware counts it (1019), or as the
// papers' gain g (1/256), of which it is 1 - g.
func (s *dcqcnSettings) readG(o object, text string) {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil && v >= 0 && v <= 1024 {
		s.DCETCPG, s.DCETCPGBits = v, 10
		return
	}
	num, den, ok := parseFraction(text)
	if !ok || num > den {
		o.fail("dce_tcp_g", "%q is neither 0 to 1024 (what alpha keeps, in 1/1024) nor a gain g such as 1/256", text)
		return
	}
	s.DCETCPG, s.DCETCPGBits = gainToG(num, den)
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
