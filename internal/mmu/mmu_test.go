package mmu

import (
	"math/rand/v2"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// box is a switch with one ingress pool, an egress pool as large as the switch, every group
// and every queue of one profile.
func box(ports, parts int, cell, shared, headroom units.Bytes, g GroupProfile, q QueueProfile) *Params {
	p := &Params{Cell: cell, Parts: parts, Size: 1 << 40,
		Ingress: []Pool{{Name: "ingress_lossless_pool", Shared: shared, Headroom: headroom}},
		Egress:  []Pool{{Name: "egress_lossless_pool", Shared: 1 << 40}}}
	p.Size = min(p.Size, units.Bytes(1<<31-1)*cell*units.Bytes(parts))
	for range ports {
		var gs [Classes]GroupProfile
		var qs [Classes]QueueProfile
		for c := range Classes {
			gs[c], qs[c] = g, q
		}
		p.Groups, p.Queues = append(p.Groups, gs), append(p.Queues, qs)
	}
	return p
}

func open(t *testing.T, p *Params) *Memory {
	t.Helper()
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fill sends frames of one cell from a group to a queue that sends nothing, as the tests
// of sonic-mgmt do, until the group is refused. It returns the number of the frame on
// which XOFF fell due (0: none) and that of the first that was dropped.
func fill(m *Memory, g *Group, k *Queue) (xoff, drop int, why Verdict) {
	for n := 1; ; n++ {
		v, due := m.Admit(g, k, 1)
		if due {
			xoff = n
		}
		if v != Admitted {
			return xoff, n, v
		}
	}
}

// The frames that trigger XOFF, the first ingress drop and XON on real switches, egress
// shut, frames of one cell: sonic-mgmt, tests/qos/files/qos_params.{th,th2,th5}.yaml, with
// pools and profiles from sonic-buildimage: Arista-7060CX-32S (buffers_defaults_t0,
// pg_profile_lookup), and 7060X6-64PE-B-P32O64 (buffers_defaults_t1, pg_profile_lookup),
// whose pool includes the headroom pool and reserves 69 cells a port in each half for its
// 96 ports. Every threshold comes out within two cells.
func TestMeasuredThresholds(t *testing.T) {
	type profile struct{ reserved, headroom, offset units.Bytes }
	th := func(speed string) profile {
		return profile{1248, map[string]units.Bytes{"40G 300m": 108160, "50G 300m": 141856, "100G 300m": 268736}[speed], 2288}
	}
	th5 := func(speed string) profile {
		return profile{8636, map[string]units.Bytes{"400G 300m": 839216, "800G 300m": 1621536}[speed], 3556}
	}
	const thPool, thHeadroom = 10_875_072, 4_194_112
	const th5Pool, th5Headroom = 147_226_020 - 38_843_712 - 2*69*96*254, 38_843_712
	for _, c := range []struct {
		box                  string
		ports, parts         int
		cell, pool, headroom units.Bytes
		profile              profile
		xoff, drop, xon      int // xon 0: not measured
	}{
		{"TH 40G 300m", 32, 4, 208, thPool, thHeadroom, th("40G 300m"), 6542, 7063, 0},
		{"TH 50G 300m", 32, 4, 208, thPool, thHeadroom, th("50G 300m"), 6542, 7225, 0},
		{"TH 100G 300m", 32, 4, 208, thPool, thHeadroom, th("100G 300m"), 6542, 7835, 0},
		{"TH5 400G 300m", 96, 2, 254, th5Pool, th5Headroom, th5("400G 300m"), 103397, 106702, 14},
		{"TH5 800G 300m", 96, 2, 254, th5Pool, th5Headroom, th5("800G 300m"), 103397, 109782, 14},
	} {
		m := open(t, box(c.ports, c.parts, c.cell, c.pool, c.headroom,
			GroupProfile{Lossless: true, Reserved: c.profile.reserved, Headroom: c.profile.headroom, Limit: Threshold{Num: 1, Den: 1}, XONOffset: c.profile.offset},
			QueueProfile{}))
		g := m.Group(1, 3)
		k := m.Queue(g, 2)
		xoff, drop, why := fill(m, g, k)
		if why != HeadroomEnd || off(xoff, c.xoff) > 2 || off(drop, c.drop) > 2 {
			t.Errorf("%s: XOFF at frame %d, drop at %d (%v); measured %d and %d", c.box, xoff, drop, why, c.xoff, c.drop)
		}
		if c.xon == 0 {
			continue
		}
		// XON is tested from just above the threshold: frames released until the peer may go on.
		m = open(t, box(c.ports, c.parts, c.cell, c.pool, c.headroom,
			GroupProfile{Lossless: true, Reserved: c.profile.reserved, Headroom: c.profile.headroom, Limit: Threshold{Static: c.cell * 5000}, XONOffset: c.profile.offset},
			QueueProfile{}))
		g = m.Group(1, 3)
		k = m.Queue(g, 2)
		for due := false; !due; {
			_, due = m.Admit(g, k, 1)
		}
		n := 1
		for ; !m.Release(g, k, 1); n++ {
		}
		if off(n, c.xon) > 2 {
			t.Errorf("%s: XON after %d frames; measured %d", c.box, n, c.xon)
		}
	}
}

func off(a, b int) int { return max(a-b, b-a) }

// Lossy frames of the same Tomahawk 5 are dropped at the egress queue, which draws on the
// same pool with a reserve of 1,778 B: lossy_egress_drop of qos_params.th5.yaml.
func TestMeasuredLossyDrop(t *testing.T) {
	const shared = 147_226_020 - 38_843_712 - 2*69*96*254
	p := box(96, 2, 254, shared, 0, GroupProfile{Limit: Threshold{Static: 82_434_938}}, QueueProfile{Reserved: 1778, Limit: Threshold{Num: 1, Den: 1}})
	p.Egress[0].Shared = shared
	m := open(t, p)
	g := m.Group(0, 0)
	if _, drop, why := fill(m, g, m.Queue(g, 5)); why != EgressEnd || off(drop, 103371) > 2 {
		t.Errorf("first egress drop at frame %d (%v), measured 103371", drop, why)
	}
}

// Groups of one switch filled one after another, none of them draining: each finds half
// of what the one before left. pkts_num_trig_pfc_multi of qos_params.th5.yaml, topology
// t0-standalone; the pool is taken from the first number, the others follow.
func TestMeasuredSuccessiveGroups(t *testing.T) {
	want := []int{120117, 60096, 30085, 15079, 7577, 3825, 1950, 1012, 543, 308, 191, 133, 103, 89, 81, 78, 76, 75, 74, 74, 74}
	const reserve = 74
	shared := units.Bytes(2*(want[0]-reserve)) * 254
	m := open(t, box(64, 1, 254, shared, 0, GroupProfile{Lossless: true, Reserved: reserve * 254, Headroom: 1 << 20, Limit: Threshold{Num: 1, Den: 1}}, QueueProfile{}))
	for i, w := range want {
		g := m.Group(i, 3)
		k := m.Queue(g, 63)
		n := 1
		for ; ; n++ {
			v, due := m.Admit(g, k, 1)
			if v != Admitted {
				t.Fatalf("group %d: frame %d refused", i, n)
			}
			if due {
				break
			}
		}
		// What the crossing frame went over by stays with the group here as there.
		if off(n, w) > 2 {
			t.Errorf("group %d: XOFF at frame %d, measured %d", i+1, n, w)
		}
	}
}

// Closed forms (Choudhury and Hahne 1998; k groups that fill a pool together settle at
// alpha*S/(1+k*alpha) each): one group filled alone, then k in turn frame by frame.
func TestDynamicThresholdSettles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		e := rnd.IntN(7) - 3
		alpha := Threshold{Num: 1 << max(e, 0), Den: 1 << max(-e, 0)}
		shared, reserved, k := 2000+rnd.IntN(50000), rnd.IntN(40), 1+rnd.IntN(6)
		m := open(t, box(8, 1, 1, units.Bytes(shared), 0, GroupProfile{Lossless: true, Reserved: units.Bytes(reserved), Headroom: 1 << 20, Limit: alpha}, QueueProfile{}))
		due := make([]int, k)
		for n := 1; n < shared; n++ {
			for i := range k {
				g := m.Group(i, 0)
				if due[i] != 0 {
					continue
				}
				if _, now := m.Admit(g, m.Queue(g, 7), 1); now {
					due[i] = n
				}
			}
		}
		a := float64(alpha.Num) / float64(alpha.Den)
		want := float64(reserved) + a*float64(shared)/(1+float64(k)*a)
		for i, n := range due {
			if d := float64(n) - want; d < -2-a || d > 2+a*float64(k) {
				t.Errorf("alpha %v, S %d, reserve %d, %d groups: group %d at %d, closed form %.1f", a, shared, reserved, k, i, n, want)
			}
		}
	}
}

// A shared headroom pool: each group takes at most its own headroom, and the one that
// finds the pool short drops at what is left (hdrm_pool_size of qos_params.th.yaml: TH,
// 100G 300 m, four groups, the last of them 1165 of 1292 cells short by the pool's end).
func TestSharedHeadroomRunsOut(t *testing.T) {
	const own, pool = 1292, 5041 // 4,194,112 B of 208 B in four parts
	m := open(t, box(32, 1, 208, 10_875_072/4, 4_194_112/4, GroupProfile{Lossless: true, Reserved: 1248, Headroom: 268_736, Limit: Threshold{Num: 1, Den: 1}}, QueueProfile{}))
	left := pool
	for i := range 5 {
		g := m.Group(i, 3)
		xoff, drop, why := fill(m, g, m.Queue(g, 31))
		took := drop - xoff - 1
		if want := min(own, left); took != want || why != HeadroomEnd {
			t.Errorf("group %d took %d cells of headroom (%v), want %d", i+1, took, why, want)
		}
		left -= took
	}
	if left != 0 {
		t.Errorf("%d cells of the headroom pool left", left)
	}
}

// roomWith is what is left of group g's threshold with n more cells.
func roomWith(g *Group, n int32) int32 {
	return g.limit.of(g.pool.free()-g.beyond(n)) - max(0, g.used+n-g.reserved)
}

// calmly reports whether nothing comes of a frame of n cells but that it is admitted.
func calmly(m *Memory, g *Group, k *Queue, n int32) bool {
	return !g.xoff && g.beyond(n) <= g.pool.free() && roomWith(g, n) >= g.spare() && k.admits(n, g.lossless) == Admitted
}

// newsOf reports whether a frame of n cells brings a use higher or nearer to its threshold
// than ever before.
func newsOf(m *Memory, g *Group, k *Queue, n int32) bool {
	if g.used+n > g.peak {
		return true
	}
	if g.lossless {
		return roomWith(g, n) < m.rests[g.rest].room
	}
	return k.Limited() && k.Room(n) < k.room
}

// Whatever comes and goes: books balance, nothing is below zero or above its limit, and
// a group that sent XOFF sends XON before it is empty or then.
func TestBooksBalance(t *testing.T) {
	quiets := 0
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		cell := units.Bytes([]int{1, 96, 208, 254}[rnd.IntN(4)])
		parts := 1 + rnd.IntN(3)
		shared, hr := units.Bytes(50_000+rnd.IntN(400_000)), units.Bytes(rnd.IntN(2)*40_000)
		p := box(6, parts, cell, shared, hr, GroupProfile{}, QueueProfile{})
		p.Ingress = append(p.Ingress, Pool{Name: "lossy", Shared: 60_000})
		p.Egress[0].Shared, p.Egress[0].Headroom = []units.Bytes{1 << 40, 200_000}[rnd.IntN(2)], units.Bytes(rnd.IntN(2)*20_000)
		for i := range p.Groups {
			for c := range Classes {
				g, q := &p.Groups[i][c], &p.Queues[i][c]
				g.Lossless = c >= 3 && c <= 4
				g.Reserved, q.Reserved = units.Bytes(rnd.IntN(3000)), units.Bytes(rnd.IntN(3000))
				g.Limit = Threshold{Num: 1 << rnd.IntN(4), Den: 1 << rnd.IntN(4)}
				q.Limit = []Threshold{{}, {Num: 1, Den: 2}, {Static: 30_000}}[rnd.IntN(3)]
				if g.Lossless {
					g.Headroom, g.XONOffset, g.XON = 20_000, units.Bytes(rnd.IntN(4000)), units.Bytes(rnd.IntN(2000))
				} else {
					g.Pool = rnd.IntN(2)
				}
			}
		}
		m := open(t, p)
		type held struct {
			g    *Group
			k    *Queue
			port int
			n    int32
		}
		var all []held
		for i := range 5000 {
			if rnd.IntN(100) < 55 {
				b := uint32(64 + rnd.IntN(9000))
				g := m.Group(rnd.IntN(6), rnd.IntN(Classes))
				port := rnd.IntN(6)
				h := held{g, m.Queue(g, port), port, m.Cells(b)}
				quiet, calm, stopped := g.Quiet(h.n) && (!g.QueuesBind() || m.QuietQueue(g, port, h.n)), calmly(m, g, h.k, h.n), g.xoff
				if quiet {
					quiets++
				}
				if news := newsOf(m, g, h.k, h.n); quiet && (!calm || news) || !quiet && calm && !news {
					t.Fatalf("seed %d: quiet %v, calm %v, something to note %v", seed, quiet, calm, news)
				}
				if !quiet && m.Calm(units.Time(i), g, port, h.n) != calm {
					t.Fatalf("seed %d: calm %v", seed, !calm)
				}
				if !g.lossless && h.k.Limited() {
					m.NoteQueue(units.Time(i), h.k, h.n)
				}
				if calm && rnd.IntN(2) == 0 {
					if m.Keep(g, port, h.n); g.lossless && g.Slack() <= 0 {
						t.Fatalf("seed %d: calm, and XOFF is due", seed)
					}
					all = append(all, h)
				} else if v, due := m.Admit(h.g, h.k, h.n); v == Admitted {
					all = append(all, h)
					if due && (calm || stopped || !g.lossless) || !due && !stopped && g.lossless && g.Slack() <= 0 {
						t.Fatalf("seed %d: due %v, calm %v, stopped %v, slack %d", seed, due, calm, stopped, g.Slack())
					}
				} else if v == HeadroomEnd && !g.lossless || v == IngressEnd && g.lossless || calm {
					t.Fatalf("seed %d: verdict %v of a group that is lossless=%v, calm=%v", seed, v, g.lossless, calm)
				}
			} else if n := len(all); n > 0 {
				i := rnd.IntN(n)
				h := all[i]
				all[i] = all[n-1]
				all = all[:n-1]
				if rnd.IntN(2) == 0 || !m.GiveBack(h.g, h.port, h.n) {
					m.Release(h.g, h.k, h.n)
				}
			}
			var sum units.Bytes
			for _, h := range all {
				sum += units.Bytes(m.Bytes(h.n))
			}
			if m.Held() != sum {
				t.Fatalf("seed %d: %v held, frames come to %v", seed, m.Held(), sum)
			}
			for i := range m.groups {
				g := &m.groups[i]
				k := m.Queue(g, 0)
				if s := m.Broken(g, k); s != "" {
					t.Fatalf("seed %d: %s", seed, s)
				}
			}
			for i := range m.egress {
				if f := &m.egress[i]; f.used-f.headroom > f.size {
					t.Fatalf("seed %d: egress pool %d holds %d of %d and %d", seed, i, f.used, f.size, f.headroom)
				}
			}
			for i := range m.ingress {
				if f := &m.ingress[i]; f.used > f.size || f.headroom > 0 && f.headroomUsed > f.headroom {
					t.Fatalf("seed %d: pool %d holds %d of %d, headroom %d of %d", seed, i, f.used, f.size, f.headroomUsed, f.headroom)
				}
			}
		}
		for _, h := range all {
			m.Release(h.g, h.k, h.n)
		}
		for i := range m.groups {
			if m.groups[i].xoff {
				t.Fatalf("seed %d: group %d is empty and still stops its peer", seed, i)
			}
		}
		if s := m.Empty(); s != "" {
			t.Fatalf("seed %d: %s holds something when nothing is held", seed, s)
		}
	}
	if quiets < 20_000 {
		t.Errorf("%d frames were quiet", quiets)
	}
}

// An egress pool ends for every frame: at what it shares for lossy ones, at its headroom for
// lossless ones, whatever room the groups have. Reserves of queues lie beside it.
func TestEgressPoolEnds(t *testing.T) {
	for _, c := range []struct {
		lossless          bool
		headroom, reserve units.Bytes
		drop              int
	}{{false, 0, 0, 101}, {true, 0, 0, 101}, {false, 30, 0, 101}, {true, 30, 0, 131}, {true, 30, 7, 138}} {
		p := box(4, 1, 1, 1<<20, 0, GroupProfile{Lossless: c.lossless, Headroom: 1 << 20}, QueueProfile{Reserved: c.reserve})
		p.Egress[0].Shared, p.Egress[0].Headroom = 100, c.headroom
		m := open(t, p)
		g := m.Group(0, 3)
		if _, drop, why := fill(m, g, m.Queue(g, 2)); drop != c.drop || why != PoolEnd {
			t.Errorf("%+v: frame %d is refused (%v)", c, drop, why)
		}
	}
}

// A frame of a byte more than a cell takes two.
func TestFramesTakeWholeCells(t *testing.T) {
	m := open(t, box(2, 1, 208, 1<<20, 0, GroupProfile{}, QueueProfile{}))
	for b, want := range map[uint32]int32{1: 1, 64: 1, 208: 1, 209: 2, 4178: 21} {
		if n := m.Cells(b); n != want {
			t.Errorf("%d bytes take %d cells, want %d", b, n, want)
		}
	}
}

// What a queue may hold alone, as it is told, is what it holds when a frame is refused that fills it while
// nothing leaves: alpha / (1 + alpha) of the pool, with its reserve, to a cell.
func TestQueueAlone(t *testing.T) {
	for _, alpha := range [][2]int64{{1, 16}, {1, 2}, {1, 1}, {8, 1}} {
		p := box(4, 1, 100, 1<<40, 0, GroupProfile{Limit: Threshold{Num: 1 << 14, Den: 1}},
			QueueProfile{Reserved: 1000, Limit: Threshold{Num: alpha[0], Den: alpha[1]}})
		p.Ingress[0].Shared, p.Egress[0].Shared, p.Size = 1_000_000, 1_000_000, 2_000_000
		m := open(t, p)
		_, drop, _ := fill(m, m.Group(0, 3), m.Queue(m.Group(0, 3), 1))
		if got, held := m.QueueAlone(1, 3), int64(drop-1)*100; got < held-100 || got > held+100 {
			t.Errorf("alpha %v: told %d, it held %d", alpha, got, held)
		}
	}
}
