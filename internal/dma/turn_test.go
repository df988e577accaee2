package dma

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
)

// A turn books what a copy of as many bytes books, beside whatever else uses the memories,
// and counts as much.
func TestTurnIsACopy(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		name := []string{"dgx-h100", "dgx-a100", "dgx-b200"}[rnd.IntN(3)]
		var engines [2]*Engine
		var blocks, reads, writes, copies [2][]Chain
		for k := range engines {
			tree, err := server.Preset(name)
			if err != nil {
				t.Fatal(err)
			}
			e, nic, gpus := New(tree), tree.NICs()[0], tree.GPUs()[:3]
			engines[k] = e
			for i, g := range gpus {
				c, err := e.NVChain(g, gpus[(i+1)%3])
				if err != nil {
					t.Fatal(err)
				}
				blocks[k] = append(blocks[k], c)
				reads[k] = append(reads[k], *chain(t, e, g, nic))
				writes[k] = append(writes[k], *chain(t, e, nic, g))
				copies[k] = append(copies[k], *chain(t, e, g, tree.DRAMOf(nic)))
			}
		}
		now := units.Time(0)
		for range 600 {
			now += units.Time(rnd.IntN(1 << rnd.IntN(16)))
			i, n, what := rnd.IntN(3), units.Bytes(1+rnd.IntN(9000)), rnd.IntN(20)
			var at [2]units.Time
			for k, e := range engines {
				switch what {
				case 0:
					at[k] = e.Read(now, &reads[k][i], n)
				case 1:
					_, at[k] = e.Write(now, &writes[k][i], n)
				case 2:
					at[k] = e.Copy(now, &copies[k][i], n)
				case 3:
					at[k] = e.Rest(now, &blocks[k][i], min(n, turnBytes))
				default:
					if c := &blocks[k][i]; k == 0 {
						at[k] = c.Turns().Take(now)
					} else {
						at[k] = e.Rest(now, c, turnBytes)
					}
				}
			}
			if at[0] != at[1] {
				t.Fatalf("seed %d, %s: at %d ps a turn has left at %d ps, a copy at %d", seed, name, now, at[0], at[1])
			}
		}
		if a, b := engines[0].Links(), engines[1].Links(); !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d, %s: turns count as\n%v\nand copies as\n%v", seed, name, a, b)
		}
	}
}

// list is a track's gaps as a plain list.
type list struct {
	free   units.Time
	gaps   []gap
	merged int
}

// condense joins every two neighbours of the later half where there are too many.
func (l *list) condense() {
	if len(l.gaps) < maxGaps {
		return
	}
	l.merged++
	half := l.gaps[maxGaps/2:]
	l.gaps = l.gaps[:maxGaps/2]
	for ; len(half) > 0; half = half[2:] {
		l.gaps = append(l.gaps, gap{half[0].from, half[0].to + half[1].to - half[1].from})
	}
}

// reserve takes the free time from a time on, gap by gap.
func (l *list) reserve(now, at, work units.Time) (start, end units.Time) {
	if at >= l.free {
		if at > l.free {
			l.condense()
			l.gaps = append(l.gaps, gap{l.free, at})
		}
		l.free = at + work
		return at, l.free
	}
	if n := len(l.gaps); n > 0 && l.gaps[n-1].to > at {
		l.condense()
	}
	start = -1
	var rest []gap
	for _, g := range l.gaps {
		from := max(g.from, at)
		take := min(work, max(g.to-from, 0))
		if take > 0 {
			if start < 0 {
				start = from
			}
			end = from + take
			work -= take
		}
		for _, part := range []gap{{g.from, min(from, g.to)}, {from + take, g.to}} {
			if part.from < part.to && part.to > now {
				rest = append(rest, part)
			}
		}
	}
	l.gaps = rest
	if work > 0 {
		if start < 0 {
			start = l.free
		}
		l.free += work
		end = l.free
	}
	return start, end
}

// Reservations find the free time of a track in the order of time, however many gaps there
// are, wherever they open and close, and wherever a stream found its last: streams are as long
// ahead as each likes, or anywhere.
func TestGapsAreAList(t *testing.T) {
	merged := 0
	for seed := range uint64(90) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		var tr track
		var l list
		still := seed%3 == 0 // nothing is ever over, so that there are too many gaps
		now, ahead, apart := units.Time(0), 1<<rnd.IntN(16), units.Time(60)
		if still {
			ahead, apart = 1<<18, 0
		}
		var lead [streams]int
		for s := range lead {
			lead[s] = rnd.IntN(ahead)
		}
		for k := range 4000 {
			now += units.Time(rnd.Int64N(int64(apart) + 1))
			work, s := units.Time(1+rnd.IntN(60)), stream(rnd.IntN(streams))
			at := now
			switch {
			case still || rnd.IntN(8) == 0:
				at += units.Time(rnd.IntN(ahead))
			case rnd.IntN(4) > 0:
				at += units.Time(lead[s] + rnd.IntN(40))
			}
			if !still && len(l.gaps) > maxGaps/2 {
				break // what is over and not dropped yet counts where there are too many
			}
			start, end := tr.reserve(now, at, work, s)
			if s, e := l.reserve(now, at, work); s != start || e != end {
				t.Fatalf("seed %d, reservation %d: at %d for %d gave %d to %d, want %d to %d", seed, k, at, work, start, end, s, e)
			}
		}
		merged += l.merged
	}
	if merged == 0 {
		t.Error("there were never too many gaps")
	}
}
