package iwarp

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
)

// random draws a bed: profiles, verbs both ways, and what the network does to segments.
func random(t *testing.T, seed uint64, data bool) (*bed, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 1))
	c := mustPreset(t, Presets()[r.IntN(3)])
	c.Markers, c.CRC, c.RefuseMarkers = r.IntN(2) == 0, r.IntN(3) > 0, false
	if r.IntN(2) == 0 {
		c.TCP.Recovery = []tcp.Recovery{tcp.NewReno, tcp.SACK, tcp.RACK}[r.IntN(3)]
	}
	c.TCP.MSS = 200 + r.IntN(9000)
	c.TCP.MinRTO, c.TCP.InitialRTO, c.TCP.MinOnVariance = units.Millisecond, 5*units.Millisecond, false
	c.TCP.DelayedAck = min(c.TCP.DelayedAck, 100*units.Microsecond)
	if r.IntN(4) == 0 {
		n := int64(100 + r.IntN(3*c.TCP.MSS))
		c.TCP.Receive, c.TCP.FirstWindow = tcp.Buffer{Initial: n, Max: n}, n
	}
	d := c
	d.Markers = r.IntN(2) == 0
	if r.IntN(5) == 0 {
		d.TCP.MSS = 200 + r.IntN(2000)
	}
	attrs := free
	attrs.MaxRdAtomic, attrs.MaxDestRdAtomic = 1+uint8(r.IntN(4)), 4
	x := newBed(t, c, d, attrs, data)
	lossy, late := r.IntN(3) > 0, r.IntN(3) > 0
	x.touch = func(i int, s *segment) (int, units.Time) {
		copies, after := 1, units.Time(0)
		if lossy && r.IntN(25) == 0 {
			copies = 0
		}
		if late && r.IntN(20) == 0 {
			after = units.Time(r.IntN(40)) * units.Microsecond
		}
		if late && r.IntN(40) == 0 {
			copies *= 2
		}
		return copies, after
	}
	return x.connect(r.IntN(2) == 0), r
}

// job is a work request, and where its bytes come from and go to.
type job struct {
	end   int
	verb  rdma.Verb
	off   int
	n     int
	inbox int // where a SEND goes
}

// Random verbs both ways over a network that loses, delays and doubles: all complete in the order of posting, and every
// byte is where it belongs and nowhere else.
func TestRandomVerbs(t *testing.T) {
	ahead := int64(0)
	for seed := range uint64(300) {
		data := seed%4 > 0
		x, r := random(t, seed, data)
		before := [2][]byte{slices.Clone(x.open[0]), slices.Clone(x.open[1])}
		own := [2][]byte{slices.Clone(x.own[0]), slices.Clone(x.own[1])}
		var jobs []job
		at, inbox := [2]int{}, [2]int{}
		for i := range x.q {
			for range r.IntN(12) {
				n := r.IntN(2500)
				if r.IntN(6) == 0 {
					n = 0
				}
				j := job{end: i, verb: []rdma.Verb{rdma.Write, rdma.Send, rdma.Read}[r.IntN(3)], off: at[i], n: n, inbox: inbox[i]}
				at[i] += n
				if j.verb == rdma.Send {
					inbox[i] += n
				}
				jobs = append(jobs, j)
				x.post(i, j.verb, j.off, n, func(w *rdma.WorkRequest) { w.Fence = r.IntN(6) == 0 })
				if r.IntN(3) == 0 {
					x.run(x.now + units.Time(r.IntN(30))*units.Microsecond)
				}
			}
		}
		x.run(1000 * units.Second)
		for i := range x.q {
			ids := []uint32{}
			for _, c := range x.cq[i].Entries {
				ids = append(ids, c.ID)
				if c.Status != rdma.Success {
					t.Fatalf("seed %d: end %d: %v, %+v", seed, i, c, x.q[i].Outcome())
				}
			}
			if !slices.IsSorted(ids) || x.q[i].Open() > 0 {
				t.Fatalf("seed %d: end %d completed %v, %d open, %s, %v", seed, i, ids, x.q[i].Open(), x.q[i].State(), x.why[i])
			}
			ahead += x.q[i].Counters().PlacedAhead
		}
		if !data {
			continue
		}
		for _, j := range jobs {
			peer := 1 - j.end
			want, have := own[j.end][j.off:j.off+j.n], []byte(nil)
			switch j.verb {
			case rdma.Write:
				have = x.open[peer][j.off : j.off+j.n]
				copy(before[peer][j.off:], want)
			case rdma.Send:
				have = x.inbox[peer][j.inbox : j.inbox+j.n]
			case rdma.Read:
				have = x.own[j.end][j.off : j.off+j.n]
				want = before[peer][j.off : j.off+j.n]
			}
			if j.verb != rdma.Read && !bytes.Equal(have, want) {
				t.Fatalf("seed %d: bytes of %+v are not there", seed, j)
			}
		}
		for i := range x.q {
			if !bytes.Equal(x.open[i], before[i]) {
				t.Fatalf("seed %d: memory of end %d has other bytes than were written", seed, i)
			}
		}
	}
	if ahead < 100 {
		t.Errorf("%d FPDUs were placed ahead of a missing one; the network changes too little", ahead)
	}
}

// A READ brings the bytes that were there: nothing else writes them here.
func TestRandomReads(t *testing.T) {
	for seed := range uint64(100) {
		x, r := random(t, seed+1000, true)
		type part struct{ end, off, n int }
		var parts []part
		for k := range 10 {
			p := part{r.IntN(2), 4000 * k, r.IntN(4000)}
			parts = append(parts, p)
			x.post(p.end, rdma.Read, p.off, p.n, nil)
		}
		x.run(1000 * units.Second)
		for _, p := range parts {
			if !bytes.Equal(x.own[p.end][p.off:p.off+p.n], x.open[1-p.end][p.off:p.off+p.n]) {
				t.Fatalf("seed %d: %+v did not bring what was there", seed, p)
			}
		}
		for i := range x.q {
			if x.q[i].Open() > 0 || slices.ContainsFunc(x.statuses(i), func(s rdma.Status) bool { return s != rdma.Success }) {
				t.Fatalf("seed %d: end %d: %d open, %v", seed, i, x.q[i].Open(), x.statuses(i))
			}
		}
	}
}

// Damage that TCP's checksum does not catch: with the CRC the stream ends, by Terminate, and nothing that is wrong is
// delivered or placed.
func TestDamageEndsStreams(t *testing.T) {
	ended := 0
	for seed := range uint64(200) {
		x, r := random(t, seed+5000, true)
		if !x.cfg[0].CRC {
			continue
		}
		before := [2][]byte{slices.Clone(x.open[0]), slices.Clone(x.open[1])}
		touch := x.touch
		x.touch = func(i int, s *segment) (int, units.Time) {
			if s.side.Data != nil && x.q[0].State() >= AwaitFirst && x.q[1].State() >= AwaitFirst && r.IntN(10) == 0 {
				s.side.Data[r.IntN(len(s.side.Data))] ^= 1 << r.IntN(8)
			}
			return touch(i, s)
		}
		for k := range 10 {
			x.post(r.IntN(2), rdma.Write, 4000*k, 1+r.IntN(4000), nil)
		}
		x.run(1000 * units.Second)
		for i := range x.q {
			if x.q[i].Open() > 0 {
				t.Fatalf("seed %d: end %d has %d open in %s", seed, i, x.q[i].Open(), x.q[i].State())
			}
			if x.q[i].State() == Ended {
				ended++
			}
			for k := range x.open[i] {
				if b := x.open[i][k]; b != before[i][k] && b != x.own[1-i][k] {
					t.Fatalf("seed %d: byte %d of end %d is neither what was there nor what was written", seed, k, i)
				}
			}
		}
	}
	if ended < 100 {
		t.Errorf("%d streams ended; the network damages too little", ended)
	}
}

// A WRITE that is refused leaves no byte in memory: without the right, beyond the bounds, by an STag that is none.
func TestRefusedWritesTouchNothing(t *testing.T) {
	for _, change := range []func(x *bed, w *rdma.WorkRequest){
		func(x *bed, w *rdma.WorkRequest) { x.setup[1].Attrs.Access = rdma.LocalWrite | rdma.RemoteRead },
		func(x *bed, w *rdma.WorkRequest) { w.VA += bedBytes - 50 },
		func(x *bed, w *rdma.WorkRequest) { w.RKey += 1 << 8 },
	} {
		c := mustPreset(t, "offload")
		x := newBed(t, c, c, free, true).connect(true)
		before := slices.Clone(x.open[1])
		x.post(0, rdma.Write, 0, 100, func(w *rdma.WorkRequest) { change(x, w) })
		x.run(units.Second)
		if !bytes.Equal(x.open[1], before) || x.q[1].Outcome().End != SentTerm || x.statuses(0)[0] != rdma.WRFlush {
			t.Errorf("end 1: %+v, %v; memory is the same: %v", x.q[1].Outcome(), x.statuses(0), bytes.Equal(x.open[1], before))
		}
	}
}

// The packet path allocates nothing once it has run.
func TestAllocates(t *testing.T) {
	for _, data := range []bool{false, true} {
		c := mustPreset(t, "offload")
		c.TCP.CC = congestion.DefaultWindowParams(congestion.NoWindow)
		x := newBed(t, c, c, free, data).connect(true)
		once := func() {
			for range 4 {
				for _, v := range []rdma.Verb{rdma.Write, rdma.Send, rdma.Read} {
					x.q[0].Post(x.now, rdma.WorkRequest{Verb: v, Bytes: 5000, VA: bedBase, RKey: x.keys[1].open, LVA: bedBase, LKey: x.keys[0].own})
				}
			}
			for moved := true; moved; {
				moved = false
				for i := range x.q {
					var s segment
					for {
						why, _ := x.q[i].Poll(x.now, &s.p)
						if why != Sent {
							break
						}
						moved = true
						x.q[1-i].Receive(x.now, &s.p, x.q[i].PolledSide())
					}
				}
			}
			for i := range x.q {
				x.cq[i].Clear()
				x.rcq[i].Clear()
				if in := x.setup[i].Attrs.Inbox; in != nil {
					in.Placed = 0
				}
			}
			x.now += units.Millisecond
		}
		once()
		if n := testing.AllocsPerRun(50, once); n > 0 {
			t.Errorf("data %v: %v allocations", data, n)
		}
	}
}
