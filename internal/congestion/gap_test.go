package congestion

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// gapAfter starts a flow at line rate, sends n bytes at 0 and then tells it of CNPs at
// the given times; it returns the controller.
func gapAfter(p *DCQCNParams, line units.Rate, n units.Bytes, cnps ...units.Time) *DCQCN {
	d := new(DCQCN)
	d.Init(p, line, 0, 0)
	d.Owe(p, 0, n, line.TxTime(n))
	for _, at := range cnps {
		d.OnCNP(p, at)
	}
	return d
}

// TestGapGrowsAtACut: the bits of a packet are paid at the rate of their time. 4178 B
// are 33,424 bits; at 100 Gb/s 10,000 are paid in 100 ns, the other 23,424 take 468.48 ns
// at 50 Gb/s.
func TestGapGrowsAtACut(t *testing.T) {
	const G = units.Gbps
	p := preset(t, "paper")
	if end := gapAfter(&p, 100*G, 4178).GapEnd(&p); end != 334_240 {
		t.Errorf("without a cut: %d ps, want 334,240", end)
	}
	if end := gapAfter(&p, 100*G, 4178, 100*ns).GapEnd(&p); end != 568_480 {
		t.Errorf("cut at 100 ns: %d ps, want 100,000 + 468,480", end)
	}
	// Two cuts: 13,424 bits are left at 300 ns and are paid at 25 Gb/s.
	if end := gapAfter(&p, 100*G, 4178, 100*ns, 300*ns).GapEnd(&p); end != 300_000+536_960 {
		t.Errorf("cuts at 100 and 300 ns: %d ps, want 836,960", end)
	}
	// 7 bits are left: at 50 Gb/s 140 ps.
	if end := gapAfter(&p, 100*G, 4178, 334_170).GapEnd(&p); end != 334_310 {
		t.Errorf("cut 70 ps before the end: %d ps, want 334,310", end)
	}
	// What is paid stays paid.
	if end := gapAfter(&p, 100*G, 4178, 334_240).GapEnd(&p); end != 334_240 {
		t.Errorf("cut at the end: %d ps, want 334,240", end)
	}
}

// TestGapKnowsTheCutThatIsDue: a CNP inside the gap orders a cut at the end of its
// monitoring interval, 4 us later, which lengthens the gap from there on.
func TestGapKnowsTheCutThatIsDue(t *testing.T) {
	p := preset(t, "nvidia")
	p.DCETCPG = 1024 // alpha stays 1023/1024
	line := 10 * units.Gbps
	// 10,000 B are 80,000 bits, 8 us. The first 5 us pay 50,000; the cut at 5 us leaves
	// 10 (1 - 1023/2048) = 5.0048828125 Gb/s for the other 30,000.
	d := gapAfter(&p, line, 10_000, us)
	if end := d.GapEnd(&p); end != 5*us+5_994_147 {
		t.Errorf("gap ends at %d ps, want 5 us + 30,000 bits at 5,004,882,812 b/s, rounded up", end)
	}
	if d.Rate(&p, 5*us-1) != line || d.Rate(&p, 5*us) != 5_004_882_812 {
		t.Errorf("looking ahead moved the rate: %d", d.rate)
	}
}

// TestGapShrinksWithIncreases: at the floor of 1 Mb/s 4178 B take 33.424 ms, but the
// timer of 300 us raises the rate long before: 300 bits are paid by then, and the other
// 33,124 at (1 Mb/s + 100 Gb/s)/2.
func TestGapShrinksWithIncreases(t *testing.T) {
	p := preset(t, "nvidia")
	var d DCQCN
	d.Init(&p, 100*units.Gbps, 0, 0)
	for now := units.Time(0); d.Rate(&p, now) > p.RPGMinRate; now += 4 * us {
		d.OnCNP(&p, now)
		d.Rate(&p, now+4*us)
	}
	cut := d.Cuts.Last
	d.Rate(&p, d.decAt) // a last one may be due, which takes nothing off and restarts the timer
	timer := d.incAt
	sent := timer - 300*us
	if sent < cut || d.rate != units.Mbps || d.target != 100*units.Gbps {
		t.Fatalf("rate %d target %d, timer at %d", d.rate, d.target, timer)
	}
	end := d.Owe(&p, sent, 4178, sent+d.rate.TxTime(4178))
	rate := (units.Mbps + 100*units.Gbps) / 2
	want := timer + units.Time((33_124*int64(units.Second)+int64(rate)-1)/int64(rate))
	if end != want {
		t.Errorf("gap ends %d ps after the increase, want %d", end-timer, want-timer)
	}
	// The look ahead is a look: the rate is what it was.
	if d.Rate(&p, timer-1) != units.Mbps || d.Rate(&p, timer) != rate {
		t.Errorf("rate %d", d.rate)
	}
}

// TestLimiter: the first CNP allocates a limiter with the initial alpha and its own
// grid; once the flow is back at its maximum the limiter is released, so that the next
// CNP finds a flow that has heard of no congestion (NVIDIA DOCA, mstconfig). Without the
// release alpha has decayed and the cut is small.
func TestLimiter(t *testing.T) {
	const G = units.Gbps
	for _, release := range []bool{true, false} {
		p := preset(t, "nvidia")
		p.ReleaseAtMaxRate = release
		p.RPGTimeReset = 10 * us // back at the line, 37 halvings later, within 400 us
		var d DCQCN
		d.Init(&p, 100*G, 0, 0)
		d.OnCNP(&p, 3*us)
		if d.Rate(&p, 7*us-1) != 100*G {
			t.Fatalf("cut before the next monitor interval: %d", d.rate)
		}
		alpha := int64(1023) << 30
		for range 4 { // at 4, 5, 6 and 7 us
			alpha = alpha * 1019 >> 10
		}
		first := 100*G - floorCut(100*G, alpha)
		if d.Rate(&p, 7*us) != 100*G-first {
			t.Fatalf("first cut to %d, want %d", d.rate, 100*G-first)
		}
		again := 500*us + 1
		if d.Rate(&p, again) != 100*G {
			t.Fatalf("not back at the line: %d", d.rate)
		}
		d.OnCNP(&p, again)
		due := again + 4*us // a grid of its own
		if !release {
			due = 503 * us // the first limiter's grid, 7 us and every 4
		}
		if d.Rate(&p, due-1) != 100*G {
			t.Fatalf("release %v: cut before %d", release, due)
		}
		off := 100*G - d.Rate(&p, due)
		switch {
		case release && off != first:
			t.Errorf("second limiter cut by %d, want %d as the first did", off, first)
		case !release && (off <= 0 || off > 10*G): // alpha 0.088
			t.Errorf("kept limiter cut by %d, want less than 10 Gb/s", off)
		}
	}
}

// TestNoReleaseBelowTheMaximum: half way back alpha is kept.
func TestNoReleaseBelowTheMaximum(t *testing.T) {
	p := preset(t, "nvidia")
	var d DCQCN
	d.Init(&p, 100*units.Gbps, 0, 0)
	d.OnCNP(&p, 0)
	if r := d.Rate(&p, 304*us); r >= 100*units.Gbps || r < 75*units.Gbps {
		t.Fatalf("after one fast recovery %d", r)
	}
	if a := d.Alpha(&p, 304*us); a > 1<<(alphaBits-2) || a == 0 { // (1019/1024)^304 = 0.226
		t.Errorf("alpha %d, want 0.226 of 2^40", a)
	}
}

// TestGapOfInfiniBand: the rate is line/(1+index), and the gap behind a packet is paid at
// the index of each moment. 10,000 B at 10 Gb/s and index 3 would take 32 us, 2.5 Gb/s;
// the timer counts down to 2 and 3.33 Gb/s, to 1 and 5 Gb/s, every 10.24 us.
func TestGapOfInfiniBand(t *testing.T) {
	p := IBCCParams{Name: "test", Increase: 3, Timer: 10, CCT: LinearCCT(16)}
	c := NewIBCC(&p, 10*units.Gbps)
	c.OnBECN(0) // index 3; the timer expires at 10.24, 20.48 and 30.72 us
	d := c.Owe(0, 10_000)
	// 80,000 bits: 25,600 are paid by 10.24 us, 34,133.33 by 20.48; 20,266.67 at 5 Gb/s.
	rate := 10 * units.Gbps / 3
	left := 80_000*int64(units.Second) - 10_240_000*int64(2500*units.Mbps) - 10_240_000*int64(rate)
	want := 20_480_000 + units.Time((left+int64(5*units.Gbps)-1)/int64(5*units.Gbps))
	if end := c.GapEnd(d); end != want || want/ns != 24_533 {
		t.Errorf("gap ends at %d ps, want %d", end, want)
	}
	if c.CCTI(10_240_000-1) != 3 || c.CCTI(10_240_000) != 2 {
		t.Errorf("looking ahead moved the index")
	}
	// Another BECN at 15 us takes it to 5 and 1.67 Gb/s: from there 80,000 less 25,600
	// less 4.76 us of 3.33 Gb/s are paid at 10/6, and 10/5 from 20.48 us on, 10/4 from 30.72.
	c.OnBECN(15 * us)
	paid := 10_240_000*int64(2500*units.Mbps) + 4_760_000*int64(rate) + 5_480_000*int64(10*units.Gbps/6) + 10_240_000*int64(2*units.Gbps)
	left = 80_000*int64(units.Second) - paid
	if end, want := c.GapEnd(d), 30_720_000+units.Time((left+int64(2500*units.Mbps)-1)/int64(2500*units.Mbps)); end != want {
		t.Errorf("after a BECN: gap ends at %d ps, want %d", end, want)
	}
	// A debt that was paid long ago stays paid.
	if end := c.GapEnd(d); c.Rate(units.Second) != 10*units.Gbps || c.GapEnd(d) > units.Second || end > units.Second {
		t.Error("a paid debt came back")
	}
}
