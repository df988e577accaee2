package congestion

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

func ofed(t *testing.T) *IBCCParams {
	t.Helper()
	p, err := IBCCPreset("ofed")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return &p
}

// TestCCTEntryRate holds an entry to C/(1+mult/2^shift) (models.md 6.4).
func TestCCTEntryRate(t *testing.T) {
	line := 400 * units.Gbps
	for _, e := range []struct {
		entry CCTEntry
		want  units.Rate
	}{
		{CCTEntry{0, 0}, line},
		{CCTEntry{0, 1}, line / 2},
		{CCTEntry{0, 3}, line / 4},
		{CCTEntry{1, 1}, line * 2 / 3},
		{CCTEntry{3, 1}, line * 8 / 9},
		{CCTEntry{2, 12}, line / 4},
		{CCTEntry{0, 1<<14 - 1}, line / (1 << 14)},
	} {
		if got := e.entry.Rate(line); got != e.want {
			t.Errorf("%+v: rate %d, want %d", e.entry, got, e.want)
		}
	}
}

// TestCCTI follows the index by hand: three BECNs up, then one down per timer
// until the minimum, the timer running from the first BECN on.
func TestCCTI(t *testing.T) {
	p := ofed(t)
	p.Min, p.Timer = 1, 10
	c := NewIBCC(p, 100*units.Gbps)
	const period = 10 * CCTIUnit
	t0 := 5 * units.Microsecond
	for _, at := range []units.Time{t0, t0 + 1000, t0 + 2000} {
		c.OnBECN(at)
	}
	for _, e := range []struct {
		at   units.Time
		ccti int
	}{
		{t0 + 2000, 4}, {t0 + period - 1, 4}, {t0 + period, 3}, {t0 + 2*period - 1, 3}, {t0 + 2*period, 2},
		{t0 + 3*period, 1}, {t0 + 9*period, 1},
	} {
		if got := c.CCTI(e.at); got != e.ccti {
			t.Errorf("%d ps after the first BECN: CCTI %d, want %d", e.at-t0, got, e.ccti)
		}
		if got, want := c.Rate(e.at), 100*units.Gbps/units.Rate(1+e.ccti); got != want {
			t.Errorf("CCTI %d: rate %d, want %d", e.ccti, got, want)
		}
	}
	// At rest the timer does not run: the next BECN starts it anew.
	t1 := t0 + 9*period + 12345
	c.OnBECN(t1)
	if c.CCTI(t1+period-1) != 2 || c.CCTI(t1+period) != 1 {
		t.Error("the timer did not start anew with the BECN")
	}
	if c.Increases.Count != 4 || c.Peak != 4 || c.MinRate != 20*units.Gbps {
		t.Errorf("increases %d, peak %d, least rate %d", c.Increases.Count, c.Peak, c.MinRate)
	}
	if c.Events.Count != 4 {
		t.Errorf("%d events of the log, want 4: every BECN reached index 2", c.Events.Count)
	}
}

// TestCCTILimit: the last entry of the table is the limit, and BECNs there take
// nothing off.
func TestCCTILimit(t *testing.T) {
	p := ofed(t)
	p.Increase, p.CCT = 3, LinearCCT(8)
	c := NewIBCC(p, 80*units.Gbps)
	for k := range 5 {
		c.OnBECN(units.Time(k))
	}
	if c.CCTI(5) != 7 || c.Rate(5) != 10*units.Gbps || c.Increases.Count != 3 {
		t.Errorf("CCTI %d, rate %d, %d increases", c.CCTI(5), c.Rate(5), c.Increases.Count)
	}
}

// TestIBCCLazy: it makes no difference how often a reaction point is asked.
func TestIBCCLazy(t *testing.T) {
	p := ofed(t)
	p.Timer, p.Increase = 3, 2
	r := rng.New(1, "ibcc")
	seldom, often := NewIBCC(p, 200*units.Gbps), NewIBCC(p, 200*units.Gbps)
	now := units.Time(0)
	for range 2000 {
		next := now + units.Time(r.IntN(int(20*units.Microsecond)))
		for at := now; at < next; at += CCTIUnit / 3 {
			often.Rate(at)
		}
		now = next
		seldom.OnBECN(now)
		often.OnBECN(now)
		if seldom.CCTI(now) != often.CCTI(now) || *seldom != *often {
			t.Fatalf("at %d: %+v and %+v", now, seldom, often)
		}
	}
	if seldom.Peak < 5 {
		t.Errorf("peak %d: the test has become too tame", seldom.Peak)
	}
}

func TestIBCCValidate(t *testing.T) {
	for _, e := range []struct {
		change func(*IBCCParams)
		want   string
	}{
		{func(p *IBCCParams) { p.Increase = 0 }, "ccti_increase is 0, want 1 to 255"},
		{func(p *IBCCParams) { p.Min = 128 }, "ccti_min is 128, want 0 to 255 and to the last index"},
		{func(p *IBCCParams) { p.Timer = 65536 }, "ccti_timer is 65536"},
		{func(p *IBCCParams) { p.TriggerThreshold = -1 }, "trigger_threshold is -1"},
		{func(p *IBCCParams) { p.CCT = nil }, "cct is 0"},
	} {
		p := ofed(t)
		e.change(p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), e.want) {
			t.Errorf("got %v, want %q", err, e.want)
		}
	}
	if _, err := IBCCPreset("x"); err == nil {
		t.Error("an unknown preset is taken")
	}
}
