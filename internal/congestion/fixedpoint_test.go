package congestion

import (
	"math/rand/v2"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// bottleneck is one FIFO egress with RED at dequeue, N flows paced by DCQCN and
// a constant feedback delay: the single-queue loop of models.md 1.5.
type bottleneck struct {
	p          *DCQCNParams
	line       units.Rate
	kmin, kmax int64
	pmax       float64
	delay      units.Time
	rng        *rand.Rand

	flows []DCQCN
	next  []units.Time // when each flow sends
	nps   []NP
	fifo  []int // flow of each waiting packet
	head  int
	done  units.Time // of the packet on the wire, Never when idle
	cnps  []cnpAt
	first int

	warm                      units.Time
	last                      units.Time
	area                      float64
	sent, marked, cnpsCounted int64
}

type cnpAt struct {
	at   units.Time
	flow int
}

const pktBytes = 1000

func newBottleneck(p *DCQCNParams, line units.Rate, n int, kmin, kmax int64, pmax float64, delay units.Time) *bottleneck {
	b := &bottleneck{p: p, line: line, kmin: kmin, kmax: kmax, pmax: pmax, delay: delay, rng: rand.New(rand.NewPCG(7, 7)),
		flows: make([]DCQCN, n), next: make([]units.Time, n), nps: make([]NP, n), done: units.Never}
	share := line / units.Rate(n)
	for i := range b.flows {
		b.flows[i].Init(p, line, share, 0)
		b.next[i] = units.Time(b.rng.Int64N(int64(share.TxTime(pktBytes))))
	}
	return b
}

func (b *bottleneck) queue() int64 { return int64(len(b.fifo)-b.head) * pktBytes }

func (b *bottleneck) run(end units.Time) {
	tx := b.line.TxTime(pktBytes)
	for {
		flow := 0
		for i, t := range b.next {
			if t < b.next[flow] {
				flow = i
			}
		}
		now, cnp := min(b.next[flow], b.done), units.Never
		if b.first < len(b.cnps) {
			cnp = b.cnps[b.first].at
		}
		now = min(now, cnp)
		if now > end {
			return
		}
		if now > b.warm {
			b.area += float64(b.queue()) * float64(now-max(b.last, b.warm))
		}
		b.last = now
		switch now {
		case b.next[flow]:
			d := &b.flows[flow]
			d.OnSend(b.p, now, pktBytes)
			b.next[flow] = now + d.Rate(b.p, now).TxTime(pktBytes)
			b.fifo = append(b.fifo, flow)
			if b.done == units.Never {
				b.done = now + tx
			}
		case b.done:
			b.dequeue(now, tx)
		default:
			b.flows[b.cnps[b.first].flow].OnCNP(b.p, now)
			b.first++
		}
	}
}

// dequeue ends the transmission of the packet at the head, which counts as
// queued until then, and marks it by what stays behind.
func (b *bottleneck) dequeue(now, tx units.Time) {
	flow := b.fifo[b.head]
	b.head++
	if b.head > 1<<16 {
		b.fifo = append(b.fifo[:0], b.fifo[b.head:]...)
		b.head = 0
	}
	q := b.queue()
	mark := q > b.kmin && (q >= b.kmax || b.rng.Float64() < float64(q-b.kmin)/float64(b.kmax-b.kmin)*b.pmax)
	if now > b.warm {
		b.sent++
		if mark {
			b.marked++
		}
	}
	if mark && b.nps[flow].OnCE(b.p.MinTimeBetweenCNPs, now) {
		b.cnps = append(b.cnps, cnpAt{now + b.delay, flow})
		if now > b.warm {
			b.cnpsCounted++
		}
	}
	b.done = units.Never
	if b.head < len(b.fifo) {
		b.done = now + tx
	}
}

// TestFixedPoint: the renewal model's stationary point (models.md 9, case 6):
// 40G, 16 flows, 100/400 KB, 20 %, loop 4 us: q 122.6 KB +-3 %, p 1.50 % +-7 %,
// 3830 CNP/s per flow +-5 %. The case's rules: counters before the test, HAI
// step = RAI (models.md 1.5).
func TestFixedPoint(t *testing.T) {
	p := preset(t, "paper")
	p.RPGHAIRate, p.HAITimesStage = p.RPGAIRate, false
	const n = 16
	b := newBottleneck(&p, 40*units.Gbps, n, 100_000, 400_000, 0.2, 4*us)
	b.warm = 60 * ms
	end := 260 * ms
	b.run(end)
	within := func(name string, got, want, tol float64) {
		t.Logf("%s %.4g (want %.4g)", name, got, want)
		if got < want*(1-tol) || got > want*(1+tol) {
			t.Errorf("%s %.4g, want %.4g +-%.0f %%", name, got, want, tol*100)
		}
	}
	window := float64(end - b.warm)
	within("queue bytes", b.area/window, 122_600, 0.03)
	within("marked share", float64(b.marked)/float64(b.sent), 0.0150, 0.07)
	within("CNP/s per flow", float64(b.cnpsCounted)/n/(window/1e12), 3830, 0.05)
}

func BenchmarkRate(b *testing.B) {
	p := presetNVIDIA()
	var d DCQCN
	d.Init(&p, 400*units.Gbps, 0, 0)
	var now units.Time
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now += 85 * ns
		if i%256 == 0 {
			d.OnCNP(&p, now)
		}
		d.OnSend(&p, now, 4178)
		d.Rate(&p, now)
	}
}
