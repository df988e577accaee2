package congestion

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

const (
	us = units.Microsecond
	ns = units.Nanosecond
	ms = units.Millisecond
)

func preset(t *testing.T, name string) DCQCNParams {
	t.Helper()
	p, err := Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return p
}

// step is one thing done to a controller and what must hold after it.
type step struct {
	at     units.Time
	cnp    bool
	bytes  units.Bytes
	rate   units.Rate
	target units.Rate
}

func runSteps(t *testing.T, p DCQCNParams, line, initial units.Rate, steps []step) *DCQCN {
	t.Helper()
	var d DCQCN
	d.Init(&p, line, initial, 0)
	for i, s := range steps {
		if s.cnp {
			d.OnCNP(&p, s.at)
		}
		if s.bytes > 0 {
			d.OnSend(&p, s.at, s.bytes)
		}
		if r := d.Rate(&p, s.at); r != s.rate || d.Target() != s.target {
			t.Fatalf("step %d at %d ps: rate %d target %d, want %d and %d", i, s.at, r, d.Target(), s.rate, s.target)
		}
	}
	return &d
}

// TestPaper follows the formulas of models.md 1.1 with g = 1/256, F = 5,
// RAI = 40 Mb/s, T = 55 us, counters advanced before the test.
func TestPaper(t *testing.T) {
	const G, M = units.Gbps, units.Mbps
	p := preset(t, "paper")
	steps := []step{
		{at: 0, rate: 40 * G, target: 40 * G},
		// Rt = Rc; Rc *= 1 - alpha/2 with alpha = 1.
		{at: 1 * us, cnp: true, rate: 20 * G, target: 40 * G},
		{at: 11 * us, cnp: true, rate: 10 * G, target: 20 * G},
		{at: 66*us - 1, rate: 10 * G, target: 20 * G},
		// Four halvings of the distance.
		{at: 66 * us, rate: 15 * G, target: 20 * G},
		{at: 121 * us, rate: 17500 * M, target: 20 * G},
		{at: 176 * us, rate: 18750 * M, target: 20 * G},
		{at: 231 * us, rate: 19375 * M, target: 20 * G},
		// From the fifth event on active increase: Rt += RAI.
		{at: 286 * us, rate: 19707500 * units.Kbps, target: 20040 * M},
		{at: 341 * us, rate: 19893750 * units.Kbps, target: 20080 * M},
	}
	d := runSteps(t, p, 40*G, 0, steps)
	if d.Cuts.Count != 2 || d.Cuts.First != 1*us || d.Cuts.Last != 11*us || d.Cuts.Sum != int64(30*G) || d.MinRate != 10*G {
		t.Errorf("cuts %+v min %d", d.Cuts, d.MinRate)
	}
	// Alpha's timer restarted at 11 us and has expired at 66, 121, 176, 231, 286, 341.
	want := int64(1) << alphaBits
	for range 6 {
		want = want * 255 / 256
	}
	if got := d.Alpha(&p, 341*us); got != want {
		t.Errorf("alpha %d, want %d = (255/256)^6", got, want)
	}
	// A CNP now cuts by alpha/2 and takes the current rate as target.
	d.OnCNP(&p, 341*us)
	r := int64(19893750 * units.Kbps)
	cut := units.Rate(float64(r) * (1 - float64(want)/(1<<alphaBits)/2)) // exact to 2^-53: below 1 bit/s
	if d.rate != cut || d.target != units.Rate(r) {
		t.Errorf("after cut %d/%d, want %d/%d", d.rate, d.target, cut, r)
	}
	if got, w := d.Alpha(&p, 341*us), want*255/256+1<<(alphaBits-8); got != w {
		t.Errorf("alpha after CNP %d, want (1-g)a+g = %d", got, w)
	}
}

// TestPaperHyper: hyper increase once timer and byte counter are both above F,
// by i*RHAI (models.md 1.1).
func TestPaperHyper(t *testing.T) {
	const G, M = units.Gbps, units.Mbps
	p := preset(t, "paper")
	var d DCQCN
	d.Init(&p, 400*G, 0, 0)
	for i := range 3 {
		d.OnCNP(&p, units.Time(i)*us) // 400 -> 200 -> 100 -> 50, target 100
	}
	for range 5 {
		d.OnSend(&p, 2*us, 10*units.MB)
	}
	// Four halvings towards 100, then active increase.
	if r := d.Rate(&p, 2*us); r != (96875*M+100040*M)/2 || d.Target() != 100040*M {
		t.Fatalf("after five byte events %d/%d", r, d.Target())
	}
	d.OnSend(&p, 2*us, 10*units.MB) // byte stage 6: active
	target := 100080 * M
	for i := 1; i <= 5; i++ { // time stages 1 to 5: max >= F, min <= F: active
		d.Rate(&p, 2*us+units.Time(i)*55*us)
		target += 40 * M
	}
	if d.Target() != target {
		t.Fatalf("target %d, want %d", d.Target(), target)
	}
	d.Rate(&p, 2*us+6*55*us) // both 6: first hyper increase
	if target += 400 * M; d.Target() != target {
		t.Fatalf("first hyper: target %d, want %d", d.Target(), target)
	}
	d.OnSend(&p, 2*us+6*55*us, 10*units.MB) // 6 and 7: still the first
	target += 400 * M
	d.Rate(&p, 2*us+7*55*us) // both 7: second, 2*RHAI
	if target += 800 * M; d.Target() != target {
		t.Fatalf("second hyper: target %d, want %d", d.Target(), target)
	}
	p.HAITimesStage = false
	d.Rate(&p, 2*us+8*55*us)
	if target += 400 * M; d.Target() != target {
		t.Fatalf("constant hyper: target %d, want %d", d.Target(), target)
	}
}

// TestNS3Cuts: "100 -> 50 -> 25 -> 12.5 -> 6.25 -> 3.125 -> 1.5625 Gb/s at 40,
// 44, 48, 52, 56, 60 us (alpha stays 1 as every us sees a CNP)" (peers.md B2 3d):
// the first CNP at 36 us, each cut 1 ns after the microsecond, the target left
// where it was before the first of them (B1 2.5).
func TestNS3Cuts(t *testing.T) {
	const G, M = units.Gbps, units.Mbps
	p := preset(t, "ns3")
	p.RPGMinRate = 1000 * M
	p.RPGTimeReset = 300 * us
	var d DCQCN
	d.Init(&p, 100*G, 0, 0)
	want := []units.Rate{50 * G, 25 * G, 12500 * M, 6250 * M, 3125 * M, 1562500 * units.Kbps, 1000 * M, 1000 * M}
	cut := 0
	for now := 36 * us; now < 71*us; now += 100 * ns {
		due := 40*us + units.Time(cut)*4*us + ns
		if cut < len(want) && now > due {
			if r := d.Rate(&p, due-1); cut > 0 && r != want[cut-1] {
				t.Fatalf("before cut %d: %d", cut, r)
			}
			if r := d.Rate(&p, due); r != want[cut] {
				t.Fatalf("cut %d: %d, want %d", cut, r, want[cut])
			}
			cut++
		}
		d.OnCNP(&p, now)
	}
	if cut != len(want) {
		t.Fatalf("%d cuts seen, want %d", cut, len(want))
	}
	if d.Target() != 100*G || d.Alpha(&p, 70*us) != 1<<alphaBits {
		t.Errorf("target %d alpha %d", d.Target(), d.alpha)
	}
	if d.Cuts.Count != 7 { // the eighth took nothing off
		t.Errorf("cuts counted %d, want 7", d.Cuts.Count)
	}
}

// TestNS3Increase: with F = 1 one fast recovery, one active increase, then
// hyper increases of constant size; halves taken separately (peers.md B1 2.5).
func TestNS3Increase(t *testing.T) {
	const G, M = units.Gbps, units.Mbps
	p := preset(t, "ns3")
	p.RPGAIRate, p.RPGHAIRate, p.RPGTimeReset = 20*M, 200*M, 300*us
	var d DCQCN
	d.Init(&p, 100*G, 0, 0)
	d.OnCNP(&p, 0)
	d.Rate(&p, 4*us+ns) // 50
	d.OnCNP(&p, 5*us)
	r := d.Rate(&p, 8*us+ns)
	// Alpha: the first CNP counts for no period: decays at 1 to 5 us (the CNP at
	// 5 us comes after that update), +g at 6, decays at 7 and 8.
	a := int64(1) << alphaBits
	decay := func(n int) {
		for range n {
			a = a * 255 / 256
		}
	}
	decay(4)
	first := floorCut(100*G, a)
	decay(1)
	a = a*255/256 + 1<<(alphaBits-8)
	decay(2)
	if want := floorCut(first, a); r != want || d.Target() != 100*G {
		t.Fatalf("second cut %d target %d, want %d and 100G", r, d.Target(), want)
	}
	cutAt := 8*us + ns
	target := 100 * G
	for i, add := range []units.Rate{0, 20 * M, 200 * M, 200 * M} {
		target = min(target+add, 100*G)
		r = r/2 + target/2
		if got := d.Rate(&p, cutAt+units.Time(i+1)*300*us); got != r {
			t.Fatalf("increase %d: %d, want %d", i, got, r)
		}
	}
	// A cut after an increase takes the rate as target; the AI steps then show.
	at := cutAt + 1200*us
	d.OnCNP(&p, at)
	d.Rate(&p, at+5*us)
	base := d.Target()
	if base != r {
		t.Fatalf("target %d, want the rate before the cut %d", base, r)
	}
	d.Rate(&p, at+905*us)
	if got := d.Target(); got != base+220*M {
		t.Errorf("target %d after fast recovery, AI and HAI, want %d", got, base+220*M)
	}
}

// floorCut is floor(rate*(1-alpha/2)) in exact arithmetic.
func floorCut(r units.Rate, a int64) units.Rate {
	// r < 2^37 and a <= 2^40: split alpha to stay within 64 bits.
	hi, lo := int64(r)*(a>>20), int64(r)*(a&(1<<20-1))
	num := hi + lo>>20 // r*alpha*2^-20, floor
	exact := num&(1<<21-1) == 0 && lo&(1<<20-1) == 0
	off := num >> 21
	if !exact {
		off++
	}
	return r - units.Rate(off)
}

// TestNVIDIA: alpha from 1023/1024 with 1019/1024 a microsecond, a cut at the end
// of a 4 us interval with a CNP, at most half, one fast recovery per event
// before active increase (models.md 1.3).
func TestNVIDIA(t *testing.T) {
	const G, M = units.Gbps, units.Mbps
	p := preset(t, "nvidia")
	var d DCQCN
	d.Init(&p, 400*G, 0, 0)
	d.OnCNP(&p, 10*us)
	if r := d.Rate(&p, 14*us-1); r != 400*G {
		t.Fatalf("cut before the interval's end: %d", r)
	}
	a := int64(1023) << 30
	for range 4 {
		a = a * 1019 >> 10
	}
	cut := 400*G - units.Rate((float64(400*G)*float64(a)/(1<<41))+1)
	if r := d.Rate(&p, 14*us); r != cut || d.Target() != 400*G {
		t.Fatalf("cut to %d, want %d", r, cut)
	}
	// No CNP, no cut; fast recovery 300 us later.
	if r := d.Rate(&p, 314*us-1); r != cut {
		t.Fatalf("moved to %d", r)
	}
	fr := (cut + 400*G + 1) / 2
	if r := d.Rate(&p, 314*us); r != fr {
		t.Fatalf("fast recovery to %d, want %d", r, fr)
	}
	// The byte counter in units of 64 bytes: 32767*64.
	d.OnSend(&p, 320*us, 32767*64-1)
	if r := d.Rate(&p, 320*us); r != fr {
		t.Fatalf("byte counter early: %d", r)
	}
	d.OnSend(&p, 320*us, 1)
	if r := d.Rate(&p, 320*us); r != (fr+400*G+1)/2 {
		t.Fatalf("byte counter: %d", r)
	}
	if p.RPGAIRate != 5*M || p.RPGHAIRate != 50*M {
		t.Error("AI and HAI of models.md 1.3")
	}
}

// TestClamp: which cuts take the current rate as target first (mlx5 clamp_tgt_rate
// and clamp_tgt_rate_after_time_inc; models.md 1.3).
func TestClamp(t *testing.T) {
	for _, c := range []struct {
		name               string
		clamp, afterTime   bool
		byTime, byBytes    bool
		targetIsRateBefore bool
	}{
		{"no increase", false, true, false, false, false},
		{"no increase, clamp", true, false, false, false, true},
		{"after timer", false, true, true, false, true},
		{"after timer, not counted", false, false, true, false, false},
		{"after bytes", false, false, false, true, true},
	} {
		p := preset(t, "nvidia")
		p.ClampTargetRate, p.ClampTargetRateAfterTimeInc = c.clamp, c.afterTime
		var d DCQCN
		d.Init(&p, 100*units.Gbps, 0, 0)
		d.OnCNP(&p, 0)
		now := 5 * us
		d.Rate(&p, now)
		if c.byBytes {
			d.OnSend(&p, now, 32767*64)
		}
		if c.byTime {
			now = 305 * us
		}
		before := d.Rate(&p, now)
		d.OnCNP(&p, now)
		d.Rate(&p, now+4*us)
		if d.Cuts.Count != 2 {
			t.Fatalf("%s: %d cuts", c.name, d.Cuts.Count)
		}
		want := 100 * units.Gbps
		if c.targetIsRateBefore {
			want = before
		}
		if d.Target() != want {
			t.Errorf("%s: target %d, want %d", c.name, d.Target(), want)
		}
	}
}

// TestFloors: rpg_min_dec_fac, rpg_min_rate, rpg_gd, rate_to_set_on_first_cnp and
// rpg_max_rate (models.md 1.3).
func TestFloors(t *testing.T) {
	const G = units.Gbps
	for _, c := range []struct {
		name string
		set  func(*DCQCNParams)
		want units.Rate
	}{
		{"as published", func(p *DCQCNParams) {}, 50 * G},
		{"one cut leaves 80%", func(p *DCQCNParams) { p.RPGMinDecFac = 80 }, 80 * G},
		{"floor", func(p *DCQCNParams) { p.RPGMinRate = 70 * G }, 70 * G},
		{"gd 12 halves the cut", func(p *DCQCNParams) { p.RPGGD = 12 }, 75 * G},
		{"gd 10 doubles it", func(p *DCQCNParams) { p.RPGGD, p.InitialAlpha = 10, 512 }, 50 * G},
		{"first CNP", func(p *DCQCNParams) { p.RateToSetOnFirstCNP = 85 * G }, 42500 * units.Mbps},
		{"maximum", func(p *DCQCNParams) { p.RPGMaxRate = 60 * G }, 30 * G},
	} {
		p := preset(t, "paper")
		c.set(&p)
		var d DCQCN
		d.Init(&p, 100*G, 0, 0)
		d.OnCNP(&p, us)
		if r := d.Rate(&p, us); r != c.want {
			t.Errorf("%s: %d, want %d", c.name, r, c.want)
		}
	}
}

func TestInitialRateRecovers(t *testing.T) {
	p := preset(t, "paper")
	runSteps(t, p, 40*units.Gbps, 4*units.Gbps, []step{
		{at: 55*us - 1, rate: 4 * units.Gbps, target: 4 * units.Gbps},
		{at: 220 * us, rate: 4 * units.Gbps, target: 4 * units.Gbps},
		{at: 275 * us, rate: 4020 * units.Mbps, target: 4040 * units.Mbps}, // first active increase
	})
}

// TestNP: the first CE packet, then at most one per interval (models.md 1.1).
func TestNP(t *testing.T) {
	var n NP
	for _, c := range []struct {
		at   units.Time
		want bool
	}{{0, true}, {1, false}, {50*us - 1, false}, {50 * us, true}, {51 * us, false}, {200 * us, true}, {249 * us, false}, {250 * us, true}} {
		if got := n.OnCE(50*us, c.at); got != c.want {
			t.Errorf("at %d: %v, want %v", c.at, got, c.want)
		}
	}
	var all NP
	for i := range 2 { // at the same time
		if !all.OnCE(0, us) {
			t.Errorf("interval 0 must answer each, not the one with index %d", i)
		}
	}
}

func TestPresetErrors(t *testing.T) {
	if _, err := Preset("x"); err == nil {
		t.Error("unknown preset accepted")
	}
	bad := []func(*DCQCNParams){
		func(p *DCQCNParams) { p.RPGTimeReset = 0 },
		func(p *DCQCNParams) { p.RPGByteReset = -1 },
		func(p *DCQCNParams) { p.RPGByteResetUnit = 8 },
		func(p *DCQCNParams) { p.RPGThreshold = 0 },
		func(p *DCQCNParams) { p.RPGMaxRate = -1 },
		func(p *DCQCNParams) { p.RPGAIRate = -1 },
		func(p *DCQCNParams) { p.RPGHAIRate = -1 },
		func(p *DCQCNParams) { p.RPGGD = 9 },
		func(p *DCQCNParams) { p.RPGMinDecFac = 101 },
		func(p *DCQCNParams) { p.RPGMinRate = 0 },
		func(p *DCQCNParams) { p.RateToSetOnFirstCNP = -1 },
		func(p *DCQCNParams) { p.DCETCPG = 1025 },
		func(p *DCQCNParams) { p.DCETCPGBits = 21 },
		func(p *DCQCNParams) { p.DCETCPRTT = 0 },
		func(p *DCQCNParams) { p.RateReduceMonitorPeriod = -1 },
		func(p *DCQCNParams) { p.InitialAlpha = 1025 },
		func(p *DCQCNParams) { p.MinTimeBetweenCNPs = -1 },
		func(p *DCQCNParams) { p.MonitorOffset = -1 },
		func(p *DCQCNParams) { p.CNPDelay = -1 },
		func(p *DCQCNParams) { p.CNPDelay = units.Second + 1 },
		func(p *DCQCNParams) { p.CNPReactionDelay = -1 },
	}
	for i, set := range bad {
		p := preset(t, "nvidia")
		set(&p)
		if p.Validate() == nil {
			t.Errorf("case %d accepted", i)
		}
	}
	for _, name := range Presets() {
		p := preset(t, name)
		if n := p.Notes(); len(n) != 29 || n[0].Value != name {
			t.Errorf("%s: %d notes", name, len(n))
		}
	}
}
