package congestion

import (
	"fmt"
	"math/bits"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// MaxCCT is the largest number of entries of a congestion control table: 255
// blocks of 64 (IBTA A10.4.3.9).
const MaxCCT = 255 * 64

// CCTIUnit is what one count of CCTI_Timer stands for (IBTA A10.4.3.8).
const CCTIUnit = 1024 * units.Nanosecond

// CCTEntry is an entry of the congestion control table: the injection rate delay
// behind a packet is its time on the wire, shifted right by Shift (2 bits), times
// Multiplier (14 bits) (IBTA A10.2.2.1.1; so the Linux driver hfi1 computes it).
type CCTEntry struct {
	Shift      uint8
	Multiplier uint16
}

// Rate is the rate that the delay leaves of a line: line/(1 + Multiplier/2^Shift),
// rounded down, at least 1 bit/s.
func (e CCTEntry) Rate(line units.Rate) units.Rate {
	return max(1, line<<e.Shift/units.Rate(1<<e.Shift+int64(e.Multiplier)))
}

// LinearCCT is the table of n entries with CCT[i] = i: the i-th leaves 1/(1+i) of
// the line.
func LinearCCT(n int) []CCTEntry {
	t := make([]CCTEntry, n)
	for i := range t {
		t[i].Multiplier = uint16(min(i, 1<<14-1))
	}
	return t
}

// IBCCParams is the configuration of InfiniBand's congestion control at a channel
// adapter (CACongestionSetting and CongestionControlTable, IBTA A10.4.3.8 and
// A10.4.3.9), one value shared by many flows and read-only while they run.
type IBCCParams struct {
	// Name is the preset the values come from.
	Name string
	// Increase is added to the index at each BECN; 1 to 255.
	Increase int
	// Min is the least index, at which a flow starts; 0 to the last of CCT.
	Min int
	// Timer is how long a count down takes, in units of CCTIUnit; 1 to 65535.
	Timer int
	// TriggerThreshold is the index from which on an increase is an event of the
	// adapter's congestion log; 0 to 255.
	TriggerThreshold int
	// PerSL makes all queue pairs of a port with the same service level share
	// one index; else each has its own.
	PerSL bool
	// CCT is the table; its last index is CCTI_Limit. 1 to MaxCCT entries.
	CCT []CCTEntry
}

// IBCCPresets lists the names IBCCPreset knows.
func IBCCPresets() []string { return []string{"ofed"} }

// IBCCPreset returns the parameters of that name. ofed is the congestion control
// manager of Mellanox OFED (user manual 2.3, table of its options file):
// increase 1, minimum 0, trigger threshold 2, by queue pair. Its table and timer
// follow from the number of nodes by a rule that is not published; in their place
// stand 128 entries, two blocks, with CCT[i] = i, and 150 counts (153.6 us), both
// assumed.
func IBCCPreset(name string) (IBCCParams, error) {
	if name != "ofed" {
		return IBCCParams{}, fmt.Errorf("congestion_control: unknown preset %q, want ofed", name)
	}
	return IBCCParams{Name: name, Increase: 1, Timer: 150, TriggerThreshold: 2, CCT: LinearCCT(128)}, nil
}

// Validate reports the first value out of range.
func (p *IBCCParams) Validate() error {
	checks := []struct {
		bad        bool
		key, right string
		value      int
	}{
		{p.Increase < 1 || p.Increase > 255, "ccti_increase", "1 to 255", p.Increase},
		{len(p.CCT) < 1 || len(p.CCT) > MaxCCT, "cct", "1 to 16320 entries", len(p.CCT)},
		{p.Min < 0 || p.Min > min(255, len(p.CCT)-1), "ccti_min", "0 to 255 and to the last index of cct", p.Min},
		{p.Timer < 1 || p.Timer > 65535, "ccti_timer", "1 to 65535, in 1.024 us", p.Timer},
		{p.TriggerThreshold < 0 || p.TriggerThreshold > 255, "trigger_threshold", "0 to 255", p.TriggerThreshold},
	}
	for _, c := range checks {
		if c.bad {
			return fmt.Errorf("congestion_control: %s is %d, want %s", c.key, c.value, c.right)
		}
	}
	return nil
}

// IBCC is InfiniBand's reaction point: of one queue pair, or of those of a port
// that share a service level. A BECN raises the index into the table; a timer,
// which runs while the index is above its minimum, lowers it by one each time it
// expires (as the Linux driver hfi1 runs it). Nothing is scheduled: each method
// first runs the expiries up to and including now.
//
// Times given to one IBCC must not go backwards.
type IBCC struct {
	p      *IBCCParams
	line   units.Rate
	rate   units.Rate
	ccti   int
	expiry units.Time // next of the timer; Never: it does not run
	// served is the integral of the rate up to servedAt, in bits * ps/s, of 128 bits:
	// what a queue pair has sent is paid when it has grown by those bits.
	served   Debt
	servedAt units.Time

	// Increases counts the BECNs that lowered the rate; its sum is bit/s taken off.
	Increases record.Act
	// Events counts those that the adapter's congestion log notes.
	Events record.Act
	// MinRate is the lowest rate so far, and Peak the highest index.
	MinRate units.Rate
	Peak    int

	heard   int64
	claimed bool
}

// Debt is what the gap behind a packet waits for: a value of a reaction point's service.
type Debt struct{ hi, lo uint64 }

// NewIBCC returns a reaction point at its minimum index on a port with that line
// rate.
func NewIBCC(p *IBCCParams, line units.Rate) *IBCC {
	r := p.CCT[p.Min].Rate(line)
	return &IBCC{p: p, line: line, rate: r, ccti: p.Min, expiry: units.Never, MinRate: r, Peak: p.Min}
}

// Claim reports whether the caller is the first of the queue pairs that share c:
// the one that counts its acts as its own.
func (c *IBCC) Claim() bool {
	first := !c.claimed
	c.claimed = true
	return first
}

// Rate returns the sending rate at now, in bit/s.
func (c *IBCC) Rate(now units.Time) units.Rate {
	if now >= c.expiry {
		c.run(now)
	}
	return c.rate
}

// CCTI returns the index into the table at now.
func (c *IBCC) CCTI(now units.Time) int {
	c.Rate(now)
	return c.ccti
}

// OnBECN handles a backward notification that arrives at now.
func (c *IBCC) OnBECN(now units.Time) {
	was := c.Rate(now)
	c.serve(now)
	c.heard++
	c.set(min(c.ccti+c.p.Increase, len(c.p.CCT)-1))
	if c.expiry == units.Never && c.ccti > c.p.Min {
		c.expiry = now + units.Time(c.p.Timer)*CCTIUnit
	}
	if c.ccti >= c.p.TriggerThreshold {
		c.Events.Add(now, 0)
	}
	if c.rate < was {
		c.Increases.Add(now, int64(was-c.rate))
		c.MinRate = min(c.MinRate, c.rate)
	}
	c.Peak = max(c.Peak, c.ccti)
}

// run counts down for the expiries due at or before now.
func (c *IBCC) run(now units.Time) {
	for c.expiry <= now {
		c.serve(c.expiry)
		c.set(c.ccti - 1)
		c.expiry += units.Time(c.p.Timer) * CCTIUnit
		if c.ccti == c.p.Min {
			c.expiry = units.Never
		}
	}
}

// serve extends the integral of the rate to t.
func (c *IBCC) serve(t units.Time) {
	hi, lo := bits.Mul64(uint64(c.rate), uint64(t-c.servedAt))
	c.served = c.served.plus(hi, lo)
	c.servedAt = t
}

func (d Debt) plus(hi, lo uint64) Debt {
	lo, carry := bits.Add64(d.lo, lo, 0)
	hi, _ = bits.Add64(d.hi, hi, carry)
	return Debt{hi, lo}
}

// Owe is the debt of a packet of wireBytes, up to 2 MB, sent at now.
func (c *IBCC) Owe(now units.Time, wireBytes units.Bytes) Debt {
	c.Rate(now)
	c.serve(now)
	return c.served.plus(0, uint64(wireBytes)*8e12)
}

// GapEnd is when a debt is paid if no BECN comes before; the picosecond is rounded up.
// Of one that is paid it is a time before now.
func (c *IBCC) GapEnd(d Debt) units.Time {
	end := c.atThisRate(d)
	if end <= c.expiry {
		return end
	}
	x := *c
	for end > x.expiry {
		x.run(x.expiry)
		end = x.atThisRate(d)
	}
	return end
}

// atThisRate is when a debt is paid at the present rate.
func (c *IBCC) atThisRate(d Debt) units.Time {
	left, borrow := bits.Sub64(d.lo, c.served.lo, 0)
	if _, borrow = bits.Sub64(d.hi, c.served.hi, borrow); borrow > 0 {
		return c.servedAt // it is paid
	}
	return c.servedAt + units.Time((left+uint64(c.rate)-1)/uint64(c.rate)) // a debt is less than 2^64 ahead
}

// Heard counts the BECNs: what GapEnd said before one may be too early.
func (c *IBCC) Heard() int64 { return c.heard }

func (c *IBCC) set(ccti int) {
	c.ccti = ccti
	c.rate = c.p.CCT[ccti].Rate(c.line)
}
