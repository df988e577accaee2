package dma

import (
	"math/rand/v2"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// booked lists which of the first n picoseconds of a track are taken.
func booked(t *track, n int) []bool {
	b := make([]bool, n)
	for i := range min(units.Time(n), t.free) {
		b[i] = true
	}
	for _, g := range t.gaps.all() {
		for k := g.from; k < g.to; k++ {
			b[k] = false
		}
	}
	return b
}

// Every reservation takes as much time as its work, none before it could begin, none
// that is taken: whatever the order of arrivals, a track is never above its rate. And
// it never idles: before the end of a reservation all time since its arrival is taken.
func TestReservationsNeverOverlap(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		const span = 4000
		var tr track
		now := 0
		for range 60 {
			now += rnd.IntN(20)
			at, work := now+rnd.IntN(60), rnd.IntN(15)
			before := booked(&tr, span)
			start, end := tr.reserve(units.Time(now), units.Time(at), units.Time(work), stream(rnd.IntN(streams)))
			after := booked(&tr, span)
			taken, first, last := 0, -1, -1
			for i := range span {
				switch {
				case before[i] && !after[i]:
					t.Fatalf("seed %d: %d was given back", seed, i)
				case !before[i] && after[i]:
					if i < at {
						if i < now {
							continue // a gap that is over, and was forgotten
						}
						t.Fatalf("seed %d: %d taken for an arrival at %d", seed, i, at)
					}
					taken++
					last = i
					if first < 0 {
						first = i
					}
				}
			}
			if taken != work || work > 0 && (first != int(start) || last+1 != int(end)) {
				t.Fatalf("seed %d: work %d at %d took %d from %d to %d, said %d to %d", seed, work, at, taken, first, last+1, start, end)
			}
			for i := at; i < int(end); i++ {
				if !after[i] {
					t.Fatalf("seed %d: idle at %d with work from %d to %d", seed, i, at, end)
				}
			}
		}
	}
}

// However many gaps there are, no time of a track is lost and none is given twice: what is
// not free of it is the work that was booked.
func TestNoTimeIsLost(t *testing.T) {
	for seed := range uint64(6) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var tr track
		var sum units.Time
		most := 0
		for range 6000 {
			at, work := units.Time(rnd.IntN(1e6)), units.Time(rnd.IntN(100))
			start, end := tr.reserve(0, at, work, stream(rnd.IntN(streams)))
			if start < at || end < start+work {
				t.Fatalf("seed %d: work %d at %d takes %d to %d", seed, work, at, start, end)
			}
			sum += work
			idle, before := units.Time(0), units.Time(-1)
			for _, g := range tr.gaps.all() {
				if g.to <= g.from || g.from < before {
					t.Fatalf("seed %d: gap %d to %d behind one to %d", seed, g.from, g.to, before)
				}
				idle, before = idle+g.to-g.from, g.to
			}
			if tr.free-idle != sum {
				t.Fatalf("seed %d: %d ps are taken, work is %d", seed, tr.free-idle, sum)
			}
			most = max(most, len(tr.gaps.all()))
		}
		if most < maxGaps {
			t.Fatalf("seed %d: never more than %d gaps", seed, most)
		}
	}
}

// Posted bytes between entering a link and leaving the buffer at its end do not exceed
// the credits when a write begins nor when its last byte enters; between, by no more
// than what of it has entered.
func TestCreditsHold(t *testing.T) {
	const size, piece = 1000, 50
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		tr := track{posted: &window{size: size}}
		var enter, leave []span
		now, link, out := units.Time(0), units.Time(0), units.Time(0)
		for range 80 {
			now += units.Time(rnd.IntN(400))
			n := units.Bytes(1 + rnd.IntN(400))
			room := tr.room(now, piece, n)
			from := max(now, link, room.head)
			to := max(from+units.Time(n), room.tail+min(piece, units.Time(n)))
			link = to
			start := max(out, from+units.Time(rnd.IntN(1200)))
			end := max(start+units.Time(n)*units.Time(1+rnd.IntN(2)), to)
			out = end
			tr.posted.hold(n, start, end)
			enter, leave = append(enter, span{from, to, n}), append(leave, span{start, end, n})
		}
		for at := units.Time(0); at < out; at += 7 {
			if held := sum(enter, at) - sum(leave, at); held > size+400 {
				t.Fatalf("seed %d: %d B outstanding at %d", seed, held, at)
			}
		}
	}
}

// span is bytes that pass evenly from one time to another.
type span struct {
	from, to units.Time
	n        units.Bytes
}

// sum is how many bytes have passed at a time.
func sum(all []span, at units.Time) (n units.Bytes) {
	for _, s := range all {
		switch {
		case at >= s.to:
			n += s.n
		case at > s.from:
			n += s.n * units.Bytes(at-s.from) / units.Bytes(s.to-s.from)
		}
	}
	return n
}

// No more requests are outstanding than there are tags.
func TestTagsHold(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		tg := tags{answered: make([]units.Time, 16)}
		type interval struct{ from, to units.Time }
		var open []interval
		now := units.Time(0)
		for range 100 {
			now += units.Time(rnd.IntN(200))
			m := 1 + rnd.IntN(16)
			first, last := tg.take(now, m)
			out := append([]units.Time(nil), tg.answered...)
			k := tg.next
			from := first + units.Time(rnd.IntN(500)) + 1
			to := max(from, last+from-first) + units.Time(rnd.IntN(500))
			tg.answer(m, from, to)
			for range m {
				open = append(open, interval{out[k], tg.answered[k]})
				k = (k + 1) % 16
			}
		}
		for _, x := range open {
			n := 0
			for _, y := range open {
				if y.from <= x.from && x.from < y.to {
					n++
				}
			}
			if n > 16 {
				t.Fatalf("seed %d: %d requests outstanding at %d", seed, n, x.from)
			}
		}
	}
}

// Copies that pass at less than a track's rate get their time and no more than the
// track has: at any time their shares are at most maxLoad, each lasts for its work, and
// what is reserved beside them is as much slower as they take.
func TestLoadsShareATrack(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		var tr track
		type copied struct {
			from, to units.Time
			work     units.Time
		}
		var all []copied
		now := units.Time(0)
		for range 60 {
			now += units.Time(rnd.IntN(8000))
			work := units.Time(1 + rnd.IntN(3000))
			span := work*1000/maxLoad + 1 + units.Time(rnd.IntN(8000))
			start, end := tr.bulk(now, now, work, span)
			if start < now || end < start+span {
				t.Fatalf("seed %d: a copy of %d takes %d to %d, asked for at %d over %d", seed, work, start, end, now, span)
			}
			all = append(all, copied{start, end, work})
			if got := tr.beside.loads.beside(start, 1000); got < 1000*1000/(1000-units.Time(tr.beside.loads.share(start))) {
				t.Fatalf("seed %d: work of 1000 takes %d beside loads of %d", seed, got, tr.beside.loads.share(start))
			}
		}
		for _, x := range all {
			rate := 0.0
			for _, y := range all {
				if y.from <= x.from && x.from < y.to {
					rate += float64(y.work) / float64(y.to-y.from)
				}
			}
			if rate > maxLoad/1000.0+1e-9 {
				t.Fatalf("seed %d: copies take %.3f of the track at %d", seed, rate, x.from)
			}
		}
	}
}

// What may go on behind the writes before it waits for the last of them that left, whatever
// order they were noted in, and for those that went the same way alone.
func TestBehindTheLastWrite(t *testing.T) {
	var way, on, other track
	way.went(&on, 100)
	way.went(&on, 60)
	way.went(&other, 70)
	if got, aside := way.behind(&on), way.behind(&other); got != 100 || aside != 70 {
		t.Errorf("behind the writes at %d ps, and on the other way at %d; want 100 and 70", got, aside)
	}
}
