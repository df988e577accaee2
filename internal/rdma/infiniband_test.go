package rdma

import (
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/roce"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// framer turns packets into InfiniBand packets of wire and holds their length to
// what the simulation counts.
type framer struct {
	t    *testing.T
	w    roce.Writer
	lnh  uint8
	seen map[wire.Opcode]int
	fecn int
	becn int
}

func newFramer(t *testing.T, global bool) *framer {
	f := &framer{t: t, lnh: wire.LNHLocal, seen: make(map[wire.Opcode]int)}
	if global {
		f.lnh = wire.LNHGlobal
	}
	return f
}

func (f *framer) see(p *packet.Packet, side *packet.Side) {
	f.t.Helper()
	var x wire.InfiniBandPacket
	x.LRH.LNH = f.lnh
	if err := f.w.FillInfiniBand(&x, p, side); err != nil {
		f.t.Fatal(err)
	}
	b, err := x.Append(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	back, err := wire.DecodeInfiniBand(b)
	if err != nil || back.CheckCRCs() != nil {
		f.t.Fatalf("%v, %v", err, back.CheckCRCs())
	}
	op := back.BTH.Opcode
	if uint32(len(b)) != p.Frame || op != wire.Opcode(p.Opcode) || back.BTH.PSN != p.PSN || back.LRH.SL != p.SL() {
		f.t.Errorf("%v: a packet of %d bytes counts as %d", op, len(b), p.Frame)
	}
	f.seen[op]++
	if back.BTH.FECN {
		f.fecn++
	}
	if back.BTH.BECN {
		f.becn++
	}
}

func infiniband(t *testing.T, global bool) Config {
	c := mustPreset(t, "nic")
	c.MTU, c.ECT, c.Wire = 256, false, wire.InfiniBand
	if global {
		c.Wire = wire.InfiniBandGRH
	}
	return c
}

// Every packet of every verb and service is as long as package wire makes it, with
// and without a GRH: RETH, AtomicETH, AETH, ImmDt, IETH and DETH included.
func TestInfiniBandLengths(t *testing.T) {
	for _, global := range []bool{false, true} {
		f := newFramer(t, global)
		l := newLoop(t, infiniband(t, global), attrs(), attrs())
		l.see = f.see
		for i, v := range []Verb{Send, Write, WriteImm, SendImm, Read, CompareSwap, FetchAdd} {
			sizes := []units.Bytes{0, 1, 255, 256, 257, 1000}
			if v == CompareSwap || v == FetchAdd {
				sizes = []units.Bytes{8}
			}
			for _, n := range sizes {
				l.post(0, WorkRequest{ID: uint32(i), Verb: v, Bytes: n})
			}
		}
		l.run(units.Second)
		for _, s := range l.statuses(0) {
			if s != Success {
				t.Fatalf("a work request ended as %v", s)
			}
		}
		for _, service := range []Service{UC, UD} {
			unreliableLengths(t, f, service, global)
		}
		for op := range wire.Opcode(0x82) {
			want := op.Known() && op != wire.CNPOpcode && op != wire.IBCNPOpcode && op != wire.RCSendLastInv && op != wire.RCSendOnlyInv
			if got := f.seen[op] > 0; got != want {
				t.Errorf("%v: seen %v", op, got)
			}
		}
	}
}

func unreliableLengths(t *testing.T, f *framer, service Service, global bool) {
	cfg, cq := infiniband(t, global), CompletionQueue{}
	var q QP
	q.Connect(&Setup{Config: &cfg, Service: service, CQ: &cq, Line: 100 * units.Gbps, Attrs: attrs(), QKey: 7, QPN: 1}, 0)
	verbs, sizes := []Verb{Send, SendImm, Write, WriteImm}, []units.Bytes{0, 1, 256, 257, 1000}
	if service == UD {
		verbs, sizes = verbs[:2], sizes[:3]
	}
	for _, v := range verbs {
		for _, n := range sizes {
			r := WorkRequest{Verb: v, Bytes: n, VA: base, RKey: rkey}
			if service == UD {
				r.AH = &AddressHandle{QKey: 7}
			}
			if err := q.Post(0, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	now := units.Time(0)
	for {
		var p packet.Packet
		why, until := q.Poll(now, &p)
		if why == Idle {
			return
		}
		if why == Sent {
			f.see(&p, q.PolledSide())
		}
		now = until
	}
}

// TestBECN: marked requests of RC are answered by BECN on the next acknowledgement,
// also where not every packet asks for one; READ responses by CNPs. The sender's
// index rises by as many, and its packets leave at 1/(1+CCTI) of the line.
func TestBECN(t *testing.T) {
	for _, ackEvery := range []int{1, 4} {
		cfg := infiniband(t, false)
		cfg.AckEvery = ackEvery
		p, err := congestion.IBCCPreset("ofed")
		if err != nil {
			t.Fatal(err)
		}
		p.Timer = 65535
		cfg.IBCC = &p
		f := newFramer(t, false)
		l := newLoop(t, cfg, attrs(), attrs())
		l.see = f.see
		marks := 0
		l.fate = func(_ int, p *packet.Packet) fate {
			if p.Kind != packet.Data || p.PSN < 8 || p.PSN >= 16 {
				return fate{}
			}
			marks++
			return fate{mark: true}
		}
		l.post(0, WorkRequest{Verb: Write, Bytes: 400 * 256})
		l.run(units.Second)
		want := 8 / ackEvery
		peak, _ := l.qp[0].PeakCCTI()
		if marks != 8 || f.becn != want || peak != want {
			t.Errorf("an ACK for %d packets: %d marks, %d BECNs, CCTI %d, want %d", ackEvery, marks, f.becn, peak, want)
		}
		if got, least := l.qp[0].RateAt(l.now); got != l.line/units.Rate(1+want) || least != got {
			t.Errorf("rate %d, least %d", got, least)
		}
		if f.seen[wire.IBCNPOpcode] != 0 || l.qp[1].Acts().CEOnAck.Count != int64(want) {
			t.Errorf("%d CNPs", f.seen[wire.IBCNPOpcode])
		}
	}
}

// TestResponsesMarked: the reader answers marked READ responses with CNPs of 26
// bytes, and the responder slows.
func TestResponsesMarked(t *testing.T) {
	cfg := infiniband(t, false)
	p, err := congestion.IBCCPreset("ofed")
	if err != nil {
		t.Fatal(err)
	}
	cfg.IBCC = &p
	f := newFramer(t, false)
	l := newLoop(t, cfg, attrs(), attrs())
	l.see = f.see
	l.fate = func(_ int, p *packet.Packet) fate { return fate{mark: p.Kind == packet.Response && p.PSN < 5} }
	l.post(0, WorkRequest{Verb: Read, Bytes: 100 * 256})
	l.run(units.Second)
	if f.seen[wire.IBCNPOpcode] != 5 || f.becn != 5 {
		t.Errorf("%d CNPs, %d BECNs, want 5", f.seen[wire.IBCNPOpcode], f.becn)
	}
	if peak, _ := l.qp[1].PeakCCTI(); peak != 5 {
		t.Errorf("CCTI %d at the responder, want 5", peak)
	}
	if peak, _ := l.qp[0].PeakCCTI(); peak != 0 {
		t.Errorf("CCTI %d at the reader, want 0", peak)
	}
	if _, _, _, _, ok := l.qp[0].Slowed(); !ok {
		t.Error("no reaction point")
	}
}
