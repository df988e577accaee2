package congestion

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// eager is DCQCN with every timer running all the time and fired one by one,
// written down from models.md 1.1, 1.3 and peers.md B1 2.5 without any of the
// shortcuts of the real one.
type eager struct {
	p                      *DCQCNParams
	rate, target, max      units.Rate
	alpha                  int64
	alphaAt, decAt, incAt  units.Time // Never: not started
	seen, alphaCNP, decCNP bool
	timeStage, byteStage   int
	bytes                  int64
	cuts, taken            int64
	last                   units.Time
	owed                   *big.Int // bits of the latest packet not paid yet, times ps/s
	paidAt                 units.Time
}

func newEager(p *DCQCNParams, line, initial units.Rate) *eager {
	e := &eager{p: p, rate: initial, target: initial, max: line, alpha: p.InitialAlpha << 30,
		alphaAt: units.Never, decAt: units.Never, incAt: units.Never}
	if initial < line {
		e.incAt = p.RPGTimeReset
	}
	return e
}

func (e *eager) advance(now units.Time) {
	for {
		t := min(e.alphaAt, e.decAt, e.incAt)
		if t > now {
			return
		}
		e.pay(t)
		switch {
		case e.alphaAt == t:
			e.stepAlpha(e.alphaCNP)
			e.alphaCNP = false
			e.alphaAt += e.p.DCETCPRTT
		case e.incAt == t && (e.decAt != t || e.p.RPGTimeReset > e.p.RateReduceMonitorPeriod):
			e.incAt += e.p.RPGTimeReset
			e.increase(&e.timeStage)
		default:
			e.decAt += e.p.RateReduceMonitorPeriod
			if e.decCNP {
				e.decCNP = false
				e.cut(t)
			}
		}
	}
}

func (e *eager) stepAlpha(cnp bool) {
	one := int64(1) << e.p.DCETCPGBits
	e.alpha = e.alpha * e.p.DCETCPG / one
	if cnp {
		e.alpha += (one - e.p.DCETCPG) * (1 << 40) / one
	}
}

func (e *eager) cut(t units.Time) {
	p := e.p
	if p.ClampTargetRate || e.byteStage > 0 || e.timeStage > 0 && p.ClampTargetRateAfterTimeInc {
		e.target = e.rate
	}
	x := new(big.Int).Mul(big.NewInt(int64(e.rate)), big.NewInt(e.alpha))
	x.Mul(x, big.NewInt(1024))
	div := new(big.Int).Lsh(big.NewInt(1), uint(40+p.RPGGD))
	x.Add(x, div).Sub(x, big.NewInt(1)).Quo(x, div) // rounded up
	next := max(e.rate-units.Rate(x.Int64()), p.RPGMinRate, e.rate*units.Rate(p.RPGMinDecFac)/100)
	if next < e.rate {
		e.cuts++
		e.taken += int64(e.rate - next)
		e.last = t
		e.rate = next
	}
	e.timeStage, e.byteStage, e.bytes = 0, 0, 0
	e.incAt = t + p.RPGTimeReset
	e.release()
}

// release forgets the limiter of a flow that no increase can make faster.
func (e *eager) release() {
	if !e.p.ReleaseAtMaxRate || e.decCNP || e.rate != e.max || e.target != e.max {
		return
	}
	e.alphaAt, e.decAt, e.incAt = units.Never, units.Never, units.Never
	e.seen, e.alphaCNP, e.alpha = false, false, e.p.InitialAlpha<<30
	e.timeStage, e.byteStage, e.bytes = 0, 0, 0
}

// pay takes off the debt what the rate paid since the time before.
func (e *eager) pay(t units.Time) {
	if e.owed == nil {
		return
	}
	paid := new(big.Int).Mul(big.NewInt(int64(e.rate)), big.NewInt(int64(t-e.paidAt)))
	e.paidAt = t
	if e.owed.Sub(e.owed, paid).Sign() < 0 {
		e.owed.SetInt64(0)
	}
}

// gapEnd goes through all timers until the debt is paid.
func (e *eager) gapEnd() units.Time {
	c := *e
	c.owed = new(big.Int).Set(e.owed)
	for {
		need := new(big.Int).Add(c.owed, big.NewInt(int64(c.rate)-1))
		end := c.paidAt + units.Time(need.Quo(need, big.NewInt(int64(c.rate))).Int64())
		next := min(c.alphaAt, c.decAt, c.incAt)
		if end <= next {
			return end
		}
		c.advance(next)
	}
}

func (e *eager) increase(stage *int) {
	p := e.p
	if p.CountBeforeTest {
		*stage++
	}
	lo, hi := min(e.timeStage, e.byteStage), max(e.timeStage, e.byteStage)
	if p.RPGByteReset == 0 {
		lo = e.timeStage
	}
	switch {
	case hi < p.RPGThreshold:
	case lo > p.RPGThreshold:
		n := units.Rate(1)
		if p.HAITimesStage {
			n = units.Rate(lo - p.RPGThreshold)
		}
		e.target = min(e.target+n*p.RPGHAIRate, e.max)
	default:
		e.target = min(e.target+p.RPGAIRate, e.max)
	}
	if p.HalveSeparately {
		e.rate = e.rate/2 + e.target/2
	} else {
		e.rate = (e.rate + e.target + 1) / 2
	}
	if !p.CountBeforeTest {
		*stage++
	}
	e.release()
}

func (e *eager) onCNP(now units.Time) {
	e.advance(now)
	e.pay(now)
	p := e.p
	first := !e.seen
	e.seen = true
	if p.RateReduceMonitorPeriod == 0 {
		e.cut(now)
		e.stepAlpha(true)
		e.alphaAt = now + p.DCETCPRTT
		return
	}
	e.decCNP = true
	if first {
		e.alphaAt = now + p.DCETCPRTT
		e.decAt = now + p.RateReduceMonitorPeriod + p.MonitorOffset
		return
	}
	e.alphaCNP = true
}

func (e *eager) onSend(now units.Time, n int64) {
	e.advance(now)
	e.pay(now)
	if e.p.RPGByteReset == 0 || e.p.ReleaseAtMaxRate && e.incAt == units.Never {
		return
	}
	e.bytes += n
	for reset := e.p.RPGByteReset * e.p.RPGByteResetUnit; e.bytes >= reset; e.bytes -= reset {
		e.increase(&e.byteStage)
	}
}

// TestLazyIsEager: random CNPs, sends and idle gaps; after each step rate,
// target, alpha and cuts agree exactly.
func TestLazyIsEager(t *testing.T) {
	type variant struct {
		name string
		set  func(*DCQCNParams)
	}
	variants := []variant{
		{"nvidia", nil}, {"paper", nil}, {"strawman", nil}, {"ns3", nil},
		{"nvidia", func(p *DCQCNParams) { p.RPGByteResetUnit = 1; p.ClampTargetRateAfterTimeInc = false }},
		{"nvidia", func(p *DCQCNParams) { p.RPGTimeReset = 4 * us }}, // increase and decrease meet
		{"nvidia", func(p *DCQCNParams) { p.RPGTimeReset = 2 * us; p.DCETCPRTT = 4 * us }},
		{"ns3", func(p *DCQCNParams) { p.RPGTimeReset = 20 * us; p.ClampTargetRate = true }},
		{"ns3", func(p *DCQCNParams) { p.RPGTimeReset = 20 * us; p.RPGAIRate = 0 }},
		{"ns3", func(p *DCQCNParams) { p.DCETCPGBits, p.DCETCPG = 20, 1<<20-3495 }},
		{"paper", func(p *DCQCNParams) { p.RPGByteReset = 40000; p.RPGAIRate = 0 }},
		{"paper", func(p *DCQCNParams) { p.RPGAIRate, p.RPGHAIRate = 0, 0 }},
		{"paper", func(p *DCQCNParams) { p.DCETCPG = 0 }},
		{"paper", func(p *DCQCNParams) { p.ReleaseAtMaxRate = true; p.RPGTimeReset = 3 * us }},
		{"nvidia", func(p *DCQCNParams) { p.RPGTimeReset = 3 * us; p.RPGAIRate = 5 * units.Gbps }},
		{"nvidia", func(p *DCQCNParams) { p.RPGTimeReset = 3 * us; p.RPGMinDecFac = 100 }},
		{"nvidia", func(p *DCQCNParams) {
			p.RPGMinRate = 1 * units.Gbps
			p.RPGAIRate, p.RPGHAIRate = 0, 0
			p.ClampTargetRate = true
		}},
	}
	lines := []units.Rate{100 * units.Gbps, 99_999_999_999, 10 * units.Gbps}
	for vi, v := range variants {
		for seed := range uint64(12) {
			rng := rand.New(rand.NewPCG(seed, uint64(vi)))
			p := preset(t, v.name)
			if v.set != nil {
				v.set(&p)
			}
			line := lines[seed%3]
			initial := line
			if seed%4 == 3 {
				initial = line / 7
			}
			compare(t, rng, &p, line, initial, seed%3 == 0)
		}
	}
}

func compare(t *testing.T, rng *rand.Rand, p *DCQCNParams, line, initial units.Rate, wholeMicroseconds bool) {
	t.Helper()
	var d DCQCN
	d.Init(p, line, initial, 0)
	e := newEager(p, line, initial)
	now, gaps := units.Time(0), 0
	for i := range 4000 {
		switch rng.IntN(20) {
		case 0:
			now += units.Time(rng.Int64N(int64(200 * us)))
		case 1:
			now += units.Time(rng.IntN(400)) * us // whole microseconds: ties
		case 2, 3, 4:
			now += units.Time(rng.IntN(8)) * us
		default:
			now += units.Time(rng.Int64N(int64(3 * us / 2)))
		}
		if wholeMicroseconds { // everything ties with the timers
			now -= now % us
		}
		if i%1000 == 999 {
			now += 30 * ms // long idle: everything settles
		}
		switch k := rng.IntN(10); {
		case k < 2:
			d.OnCNP(p, now)
			e.onCNP(now)
		case k < 8:
			n := 64 + rng.Int64N(9000)
			d.OnSend(p, now, units.Bytes(n))
			e.onSend(now, n)
			if k > 5 { // as a packet that has a gap behind it
				d.Owe(p, now, units.Bytes(n), now+d.rate.TxTime(units.Bytes(n)))
				e.owed, e.paidAt = new(big.Int).Mul(big.NewInt(n), big.NewInt(8e12)), now
			}
		}
		if k := rng.IntN(3); k > 0 { // not always looked at: evaluation must not matter
			continue
		}
		e.advance(now)
		r := d.Rate(p, now)
		if e.owed != nil && rng.IntN(8) == 0 {
			if g, w := d.GapEnd(p), e.gapEnd(); w > now && g != w {
				t.Fatalf("%s step %d at %d: gap ends at %d, want %d", p.Name, i, now, g, w)
			} else if w > now {
				gaps++
			}
		}
		if rng.IntN(4) == 0 {
			if a := d.Alpha(p, now); a != e.alpha {
				t.Fatalf("%s step %d: alpha %d, want %d", p.Name, i, a, e.alpha)
			}
		}
		if next := d.next; next > d.incAt || next < d.incAt && !(d.cutDue && next == d.decAt) {
			t.Fatalf("%s step %d: next %d with increase at %d, cut at %d", p.Name, i, next, d.incAt, d.decAt)
		}
		if r != e.rate || d.Target() != e.target || d.Cuts.Count != e.cuts || d.Cuts.Sum != e.taken || d.Cuts.Last != e.last {
			t.Fatalf("%s line %d step %d at %d: rate %d target %d cuts %+v, want %d %d %d %d %d", p.Name, line, i, now,
				r, d.Target(), d.Cuts, e.rate, e.target, e.cuts, e.taken, e.last)
		}
	}
	if e.cuts == 0 && p.RPGMinDecFac < 100 {
		t.Fatalf("%s: no cut in the whole run", p.Name)
	}
	if gaps == 0 {
		t.Fatalf("%s: no gap was looked at", p.Name)
	}
}

// TestIdleIsBounded: a flow that was cut and then rests for a day of simulated
// time answers at once; a loop over microseconds would take minutes.
func TestIdleIsBounded(t *testing.T) {
	for _, name := range Presets() {
		p := preset(t, name)
		var d DCQCN
		d.Init(&p, 400*units.Gbps, 0, 0)
		for i := range units.Time(20) {
			d.OnCNP(&p, i*5*us)
		}
		day := 86400 * units.Second
		if r := d.Rate(&p, day); r < 400*units.Gbps-1 {
			t.Errorf("%s: rate %d after a day", name, r)
		}
		want := int64(0)
		if p.ReleaseAtMaxRate { // as for a flow that never heard of congestion
			want = p.InitialAlpha << (alphaBits - 10)
		}
		if a := d.Alpha(&p, day); a != want {
			t.Errorf("%s: alpha %d after a day, want %d", name, a, want)
		}
	}
}
