package congestion

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
)

// Coalesce says which end of a connection limits congestion notifications.
type Coalesce uint8

// The two places. Mixing NIC generations cuts rates too often
// (models.md 1.3, last lines).
const (
	AtReceiver Coalesce = iota // first-generation NICs: the notification point sends at most one CNP per interval
	AtSender                   // later NICs: a CNP per CE packet, the reaction point ignores those within the interval
)

// Scope says whose notifications one limiter at the receiver counts together.
type Scope uint8

// Scopes. Cards differ; see presetNVIDIA.
const (
	PerQueuePair   Scope = iota // each queue pair has a limiter of its own
	PerDestination              // those of a port that go to the same port share one
	PerPort                     // all of a port share one
)

func (s Scope) String() string { return [...]string{"queue-pair", "destination", "port"}[s] }

// Scopes lists the names of all scopes, in their order.
func Scopes() []string { return []string{"queue-pair", "destination", "port"} }

func (c Coalesce) String() string {
	if c == AtSender {
		return "sender"
	}
	return "receiver"
}

// DCQCNParams is the configuration of DCQCN, one value shared by many flows
// and read-only while they run. Fields carry the names of the mlx5 driver and
// firmware (models.md 1.3); those that other descriptions add stand at the end.
type DCQCNParams struct {
	// Name is the preset the values come from.
	Name string

	// ClampTargetRate makes every cut set the target rate to the current one
	// first (DCQCN's "Rt = Rc"). Without it only a cut that follows an increase does.
	ClampTargetRate bool
	// ClampTargetRateAfterTimeInc counts an increase by the timer as such an
	// increase; an increase by the byte counter always is one.
	ClampTargetRateAfterTimeInc bool
	// RPGTimeReset is the period of the increase timer, restarted by every cut;
	// positive (models.md 1.1: T).
	RPGTimeReset units.Time
	// RPGByteReset is the byte counter's period in units of RPGByteResetUnit;
	// 0 switches the counter off (models.md 1.1: B).
	RPGByteReset int64
	// RPGByteResetUnit is what one RPGByteReset counts, in bytes of wire: 1 or
	// 64. The firmware's unit is disputed; see presetNVIDIA.
	RPGByteResetUnit int64
	// RPGThreshold is F, the stage at which fast recovery ends; 1 to 31.
	RPGThreshold int
	// RPGMaxRate caps the rate; 0: the port's rate.
	RPGMaxRate units.Rate
	// RPGAIRate is added to the target in active increase.
	RPGAIRate units.Rate
	// RPGHAIRate is added to the target in hyper increase.
	RPGHAIRate units.Rate
	// RPGGD scales a cut: rate * alpha * 2^10 / 2^RPGGD, so that 11 halves
	// alpha; 10 to 20.
	RPGGD int
	// RPGMinDecFac is the least percentage of the rate that one cut leaves; 0 to 100.
	RPGMinDecFac int
	// RPGMinRate is the floor of the rate; at least 1 bit/s.
	RPGMinRate units.Rate
	// RateToSetOnFirstCNP is the rate a flow falls to at its first CNP; 0: none.
	RateToSetOnFirstCNP units.Rate
	// DCETCPG is the share of alpha kept in each period, in units of
	// 2^-DCETCPGBits: 1020 of 1024 is g = 1/256.
	DCETCPG int64
	// DCETCPGBits is the precision of DCETCPG; 10 as in mlx5, up to 20 for
	// values that ten bits cannot hold.
	DCETCPGBits uint8
	// DCETCPRTT is the period of the alpha timer; positive (models.md 1.1: K).
	DCETCPRTT units.Time
	// RateReduceMonitorPeriod is the interval at whose ends a cut may happen, if
	// a CNP came within it; the grid begins with the flow's first CNP. 0: cut
	// at once, at every CNP.
	RateReduceMonitorPeriod units.Time
	// InitialAlpha is alpha at the first CNP, in 1/1024; 0 to 1024.
	InitialAlpha int64
	// MinTimeBetweenCNPs is the least time between CNPs of one limiter
	// (models.md 1.1: N).
	MinTimeBetweenCNPs units.Time
	// CNPLimiter is whose CNPs count together for MinTimeBetweenCNPs where the
	// receiver keeps it; the sender keeps it per queue pair.
	CNPLimiter Scope
	// CNPCoalesce says which end keeps MinTimeBetweenCNPs.
	CNPCoalesce Coalesce
	// CNPDelay is the time from the arrival of a marked packet to its CNP's joining
	// the port's queue.
	CNPDelay units.Time
	// CNPReactionDelay is the time from a CNP's arrival to the reaction point's
	// hearing of it.
	CNPReactionDelay units.Time
	// ReleaseAtMaxRate has a flow that is back at its maximum forget alpha: its
	// limiter is released, and the next CNP allocates another.
	ReleaseAtMaxRate bool

	// MonitorOffset delays the monitoring grid after the first CNP (the ns-3
	// simulators: 1 ns, so that it follows the alpha update of the same microsecond).
	MonitorOffset units.Time
	// CountBeforeTest advances the stage before it is compared with
	// RPGThreshold: F-1 halvings instead of F (models.md 1.5).
	CountBeforeTest bool
	// HAITimesStage multiplies RPGHAIRate by the number of the hyper increase,
	// 1, 2, 3 and so on (models.md 1.1: "Rt += i*RHAI").
	HAITimesStage bool
	// HalveSeparately averages as rate/2 + target/2 in integers (peers.md B1
	// 2.5); otherwise the sum is halved and rounded up, so that the rate
	// reaches its target.
	HalveSeparately bool
	// FixedGap keeps the gap behind a packet as it was when the packet was sent,
	// whatever the rate does meanwhile (the ns-3 simulators' DCQCN).
	FixedGap bool
}

// Validate reports the first value out of range.
func (p *DCQCNParams) Validate() error {
	checks := []struct {
		bad        bool
		key, right string
		value      any
	}{
		{p.RPGTimeReset <= 0, "rpg_time_reset", "a positive time", p.RPGTimeReset},
		{p.RPGByteReset < 0 || p.RPGByteReset > 1<<31, "rpg_byte_reset", "0 (off) to 2^31", p.RPGByteReset},
		{p.RPGByteResetUnit != 1 && p.RPGByteResetUnit != 64, "rpg_byte_reset_unit", "1 or 64 bytes", p.RPGByteResetUnit},
		{p.RPGThreshold < 1 || p.RPGThreshold > 31, "rpg_threshold", "1 to 31", p.RPGThreshold},
		{p.RPGMaxRate < 0 || p.RPGMaxRate > maxRate, "rpg_max_rate", "0 (the port's rate) to 10 Tb/s", p.RPGMaxRate},
		{p.RPGAIRate < 0 || p.RPGAIRate > maxRate, "rpg_ai_rate", "0 to 10 Tb/s", p.RPGAIRate},
		{p.RPGHAIRate < 0 || p.RPGHAIRate > maxRate, "rpg_hai_rate", "0 to 10 Tb/s", p.RPGHAIRate},
		{p.RPGGD < 10 || p.RPGGD > 20, "rpg_gd", "10 to 20", p.RPGGD},
		{p.RPGMinDecFac < 0 || p.RPGMinDecFac > 100, "rpg_min_dec_fac", "0 to 100 percent", p.RPGMinDecFac},
		{p.RPGMinRate < 1 || p.RPGMinRate > maxRate, "rpg_min_rate", "1 bit/s to 10 Tb/s", p.RPGMinRate},
		{p.RPGMaxRate > 0 && p.RPGMinRate > p.RPGMaxRate, "rpg_min_rate", fmt.Sprintf("no more than rpg_max_rate %v", p.RPGMaxRate), p.RPGMinRate},
		{p.RateToSetOnFirstCNP < 0 || p.RateToSetOnFirstCNP > maxRate, "rate_to_set_on_first_cnp", "0 (unchanged) to 10 Tb/s", p.RateToSetOnFirstCNP},
		{p.DCETCPGBits < 1 || p.DCETCPGBits > 20, "dce_tcp_g bits", "1 to 20", p.DCETCPGBits},
		{p.DCETCPG < 0 || p.DCETCPG > 1<<p.DCETCPGBits, "dce_tcp_g", "0 to 2^bits", p.DCETCPG},
		{p.DCETCPRTT <= 0, "dce_tcp_rtt", "a positive time", p.DCETCPRTT},
		{p.RateReduceMonitorPeriod < 0, "rate_reduce_monitor_period", "0 (at once) or a positive time", p.RateReduceMonitorPeriod},
		{p.InitialAlpha < 0 || p.InitialAlpha > 1024, "initial_alpha", "0 to 1024", p.InitialAlpha},
		{p.MinTimeBetweenCNPs < 0, "min_time_between_cnps", "0 or a positive time", p.MinTimeBetweenCNPs},
		{p.CNPDelay < 0 || p.CNPDelay > maxCNPDelay, "cnp_delay", "0 to 1 s", p.CNPDelay},
		{p.CNPReactionDelay < 0 || p.CNPReactionDelay > maxCNPDelay, "cnp_reaction_delay", "0 to 1 s", p.CNPReactionDelay},
		{p.MonitorOffset < 0, "monitor_offset", "0 or a positive time", p.MonitorOffset},
	}
	for _, c := range checks {
		if c.bad {
			return fmt.Errorf("dcqcn: %s is %v, want %s", c.key, c.value, c.right)
		}
	}
	return nil
}

// maxRate keeps every sum of rates far from overflow.
const maxRate = 10 * units.Tbps

// maxCNPDelay bounds delays of notifications; measured ones are microseconds.
const maxCNPDelay = units.Second
