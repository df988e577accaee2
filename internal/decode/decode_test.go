package decode

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/pcap"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

const us = units.Microsecond

// ask is the one-packet request that most tests send.
func ask(psn uint32) packet { return packet{op: wire.RCSendOnly, psn: psn, len: 64} }

// counts are the numbers of a queue pair that tests look at; zero values are left out.
func counts(q *QueuePair) string {
	var out []string
	for _, c := range []struct {
		name string
		n    int64
	}{{"packets", q.Packets}, {"messages", q.Done}, {"resent", q.Resent}, {"nak", q.AfterNAK}, {"rnr", q.AfterRNR}, {"timeout", q.AfterTimeout},
		{"missing", q.ForMissing}, {"unseen", q.CauseUnseen}, {"first lost", q.FirstLost}, {"asked again", q.AskedAgain},
		{"responses again", q.RespAgain}, {"late", q.Late}, {"before", q.BeforeFirst}, {"not seen", q.NotSeen}, {"uncaptured", q.Uncaptured},
		{"restarts", q.Restarts}, {"copies", q.Copies}, {"open", q.OpenMessages}, {"refused", q.Failed}, {"partial", q.Partial}, {"broken", q.Broken},
		{"marked", q.Marked}, {"acks", q.ACKs}, {"rnrs", q.RNRs}, {"cnps", q.CNPs}, {"becn", q.BECN}, {"bad", q.BadICRC}} {
		if c.n != 0 {
			out = append(out, fmt.Sprintf("%s %d", c.name, c.n))
		}
	}
	for _, n := range q.NAKs {
		out = append(out, fmt.Sprintf("NAK 0x%x %d", n.Syndrome, n.Count))
	}
	return strings.Join(out, ", ")
}

// What queue pairs did, by what was captured of it: the numbers of the requester, then those of
// the responder.
func TestQueuePairs(t *testing.T) {
	first, middle, last := wire.RCSendFirst, wire.RCSendMiddle, wire.RCSendLast
	long := func(x *tape, at float64, psn uint32, ops ...wire.Opcode) {
		for k, op := range ops {
			x.send(at+float64(k), 1, packet{op: op, psn: psn + uint32(k), len: 1024, noAsk: op != last})
		}
	}
	for name, c := range map[string]struct {
		play func(x *tape)
		want [2]string
	}{
		"a message": {func(x *tape) {
			long(x, 0, 7, first, middle, last)
			x.ack(10, 2, 9, 0x1f)
		}, [2]string{"packets 3, messages 1", "packets 1, acks 1"}},
		"PSNs wrap": {func(x *tape) {
			long(x, 0, 0xffffff, first)
			long(x, 1, 0, middle, last)
			x.ack(10, 2, 1, 0x1f)
		}, [2]string{"packets 3, messages 1", "packets 1, acks 1"}},
		"one acknowledgement for several": {func(x *tape) {
			x.send(0, 1, ask(1))
			x.send(1, 1, ask(2))
			x.send(2, 1, ask(3))
			x.ack(9, 2, 2, 0x1f)
		}, [2]string{"packets 3, messages 2, open 1", "packets 1, acks 1"}},
		"back to the NAK's PSN": {func(x *tape) { // 2 is lost behind the capture point
			for k := range uint32(5) {
				x.send(float64(k), 1, ask(k+1))
			}
			x.ack(9, 2, 2, 0x60)
			for k := range uint32(4) {
				x.send(float64(10+k), 1, ask(k+2))
			}
			x.ack(30, 2, 5, 0x1f)
		}, [2]string{"packets 9, messages 5, resent 4, nak 4", "packets 2, acks 1, NAK 0x60 1"}},
		"lost before the capture point": {func(x *tape) {
			x.send(0, 1, ask(1))
			x.send(2, 1, ask(3))
			x.send(3, 1, ask(4))
			x.ack(9, 2, 2, 0x60)
			for k := range uint32(3) {
				x.send(float64(10+k), 1, ask(k+2))
			}
			x.ack(30, 2, 4, 0x1f)
		}, [2]string{"packets 6, messages 4, resent 3, nak 3, first lost 1", "packets 2, acks 1, NAK 0x60 1"}},
		"only what is missing": {func(x *tape) { // selective repeat: 2 and 4 of 1 to 6
			for k := range uint32(6) {
				x.send(float64(k), 1, ask(k+1))
			}
			x.ack(9, 2, 2, 0x60)
			x.send(10, 1, ask(2))
			x.send(11, 1, ask(4))
			x.send(12, 1, ask(7))
			x.ack(30, 2, 7, 0x1f)
		}, [2]string{"packets 9, messages 7, resent 2, nak 2", "packets 2, acks 1, NAK 0x60 1"}},
		"once more than the NAK asked for": {func(x *tape) {
			x.send(0, 1, ask(1))
			x.send(1, 1, ask(2))
			x.ack(5, 2, 1, 0x60)
			x.send(6, 1, ask(1))
			x.send(7, 1, ask(2))
			x.send(8, 1, ask(1))
			x.ack(30, 2, 2, 0x1f)
		}, [2]string{"packets 5, messages 2, resent 3, nak 2, unseen 1", "packets 2, acks 1, NAK 0x60 1"}},
		"receiver not ready": {func(x *tape) {
			x.send(0, 1, ask(1))
			x.ack(5, 2, 1, 0x2c)
			x.send(700, 1, ask(1))
			x.ack(705, 2, 1, 0x2c)
			x.send(1400, 1, ask(1))
			x.ack(1405, 2, 1, 0x1f)
		}, [2]string{"packets 3, messages 1, resent 2, rnr 2", "packets 3, acks 1, rnrs 2"}},
		"a timer": {func(x *tape) {
			x.send(0, 1, ask(1))
			x.ack(5, 2, 1, 0x1f)
			x.send(10, 1, ask(2))
			x.send(11, 1, ask(3))
			x.send(60000, 1, ask(2))
			x.send(60001, 1, ask(3))
			x.ack(60010, 2, 3, 0x1f)
		}, [2]string{"packets 5, messages 3, resent 2, timeout 2", "packets 2, acks 2"}},
		"too soon for a timer": {func(x *tape) {
			x.send(0, 1, ask(1))
			x.send(20, 1, ask(1))
			x.ack(25, 2, 1, 0x1f)
		}, [2]string{"packets 2, messages 1, resent 1, unseen 1", "packets 1, acks 1"}},
		"late, not lost": {func(x *tape) {
			for k, psn := range []uint32{1, 3, 2, 4} {
				x.send(float64(k), 1, ask(psn))
			}
			x.ack(9, 2, 4, 0x1f)
		}, [2]string{"packets 4, messages 4, late 1", "packets 1, acks 1"}},
		"acknowledged and not captured": {func(x *tape) {
			x.send(0, 1, ask(1))
			x.send(1, 1, ask(4))
			x.ack(9, 2, 4, 0x1f)
		}, [2]string{"packets 2, messages 2, uncaptured 2", "packets 1, acks 1"}},
		"missing to the end": {func(x *tape) {
			x.send(0, 1, ask(1))
			x.send(1, 1, ask(4))
			x.ack(9, 2, 1, 0x1f)
		}, [2]string{"packets 2, messages 1, not seen 2, open 1", "packets 1, acks 1"}},
		"in the midst of a message": {func(x *tape) {
			long(x, 0, 7, middle, last)
			x.send(2, 1, ask(9))
			x.ack(9, 2, 9, 0x1f)
		}, [2]string{"packets 3, messages 1, partial 1", "packets 1, acks 1"}},
		"before the first": {func(x *tape) {
			x.send(0, 1, ask(7))
			x.send(1, 1, ask(6))
			x.ack(9, 2, 7, 0x1f)
		}, [2]string{"packets 2, messages 1, before 1", "packets 1, acks 1"}},
		"READs of a known and an unknown number of packets": {func(x *tape) {
			x.send(0, 1, packet{op: wire.RCReadRequest, psn: 1, dma: 2500}) // 1 to 3, of 1,024 bytes
			x.send(1, 1, packet{op: wire.RCReadRequest, psn: 4, dma: 64})
			x.send(9, 2, packet{op: wire.RCReadRespFirst, psn: 1, len: 1024, noAsk: true})
			x.send(10, 2, packet{op: wire.RCReadRespMiddle, psn: 2, len: 1024, noAsk: true})
			x.send(11, 2, packet{op: wire.RCReadRespLast, psn: 3, len: 452, noAsk: true})
			x.send(12, 2, packet{op: wire.RCReadRespOnly, psn: 4, len: 64, noAsk: true})
			x.send(20, 1, packet{op: wire.RCReadRequest, psn: 5, dma: 2048})
			x.send(21, 1, ask(7))
			x.send(29, 2, packet{op: wire.RCReadRespFirst, psn: 5, len: 1024, noAsk: true})
			x.send(30, 2, packet{op: wire.RCReadRespLast, psn: 6, len: 1024, noAsk: true})
			x.ack(31, 2, 7, 0x1f)
		}, [2]string{"packets 4, messages 4", "packets 7, acks 1"}},
		"a READ asked for again": {func(x *tape) {
			x.send(0, 1, packet{op: wire.RCReadRequest, psn: 1, dma: 4096})
			x.send(9, 2, packet{op: wire.RCReadRespFirst, psn: 1, len: 1024, noAsk: true})
			x.send(11, 2, packet{op: wire.RCReadRespMiddle, psn: 3, len: 1024, noAsk: true})
			x.send(12, 2, packet{op: wire.RCReadRespLast, psn: 4, len: 1024, noAsk: true})
			x.send(20, 1, packet{op: wire.RCReadRequest, psn: 2, dma: 3072})
			x.send(29, 2, packet{op: wire.RCReadRespFirst, psn: 2, len: 1024, noAsk: true})
			x.send(30, 2, packet{op: wire.RCReadRespMiddle, psn: 3, len: 1024, noAsk: true})
			x.send(31, 2, packet{op: wire.RCReadRespLast, psn: 4, len: 1024, noAsk: true})
		}, [2]string{"packets 2, messages 1, asked again 1", "packets 6, responses again 2"}},
		"atomics": {func(x *tape) {
			x.send(0, 1, packet{op: wire.RCFetchAdd, psn: 1})
			x.send(1, 1, packet{op: wire.RCCmpSwap, psn: 2})
			x.send(9, 2, packet{op: wire.RCAtomicAck, psn: 1, noAsk: true})
			x.send(10, 2, packet{op: wire.RCAtomicAck, psn: 2, noAsk: true})
		}, [2]string{"packets 2, messages 2", "packets 2"}},
		"refused": {func(x *tape) {
			x.send(0, 1, ask(1))
			x.send(1, 1, packet{op: wire.RCWriteOnly, psn: 2, len: 64, dma: 64})
			x.ack(9, 2, 2, wire.SyndromeRemoteAccess)
		}, [2]string{"packets 2, messages 1, refused 1", "packets 1, NAK 0x62 1"}},
		"marks and notifications": {func(x *tape) {
			x.send(0, 1, packet{op: wire.RCSendOnly, psn: 1, len: 64, ecn: ce})
			x.send(1, 1, packet{op: wire.RCSendOnly, psn: 2, len: 64, ecn: 2})
			x.send(2, 2, packet{op: wire.CNPOpcode, noAsk: true})
			x.ack(9, 2, 2, 0x1f)
		}, [2]string{"packets 2, messages 2, marked 1", "packets 2, acks 1, cnps 1"}},
		"a wrong ICRC": {func(x *tape) {
			x.send(0, 1, packet{op: wire.RCSendOnly, psn: 1, len: 64, badICRC: true})
			x.ack(9, 2, 1, 0x1f)
		}, [2]string{"packets 1, messages 1, bad 1", "packets 1, acks 1"}},
		"a number taken again": {func(x *tape) {
			x.send(0, 1, ask(1))
			x.ack(5, 2, 1, 0x1f)
			x.send(1000, 1, ask(0x800000))
			x.ack(1005, 2, 0x800000, 0x1f)
		}, [2]string{"packets 2, messages 2, restarts 1", "packets 2, acks 2"}},
		"UC with a packet missing": {func(x *tape) {
			for k, op := range []wire.Opcode{wire.UCSendFirst, wire.UCSendMiddle, wire.UCSendLast, wire.UCSendFirst, wire.UCSendMiddle, wire.UCSendLastImm,
				wire.UCWriteOnly} {
				if k != 4 {
					x.send(float64(k), 1, packet{op: op, psn: uint32(k), len: 1024, noAsk: true})
				}
			}
			x.send(20, 2, packet{op: wire.UCSendOnly, psn: 5, len: 4, noAsk: true})
		}, [2]string{"packets 6, messages 2, not seen 1, broken 1", "packets 1, messages 1"}},
		"no answers captured": {func(x *tape) {
			x.send(0, 1, ask(1))
			x.send(70000, 1, ask(1))
		}, [2]string{"packets 2, resent 1, unseen 1, open 1"}},
	} {
		x := &tape{t: t}
		c.play(x)
		r := x.result(form{})
		var got [2]string
		for i := range r.QueuePairs {
			got[i] = counts(&r.QueuePairs[i])
		}
		if got != c.want {
			t.Errorf("%s:\n%q, want\n%q", name, got, c.want)
		}
		sameInAllForms(t, name, x, r)
	}
}

// sameInAllForms checks that a capture says the same whatever file it is in, and with tags and
// over IPv6 the same but for names and lengths.
func sameInAllForms(t *testing.T, name string, x *tape, want *Result) {
	t.Helper()
	stable := func(r *Result) string {
		c := *r
		c.Capture.Format, c.Notes, c.Points = "", nil, nil
		c.QueuePairs = slices.Clone(r.QueuePairs)
		for i := range c.QueuePairs {
			c.QueuePairs[i].Point = ""
		}
		b, err := json.Marshal(&c)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, f := range []form{{nano: true}, {big: true}, {nano: true, big: true}, {ng: true}} {
		file := x.file(f)
		if got := stable(decoded(t, file, Options{})); got != stable(want) {
			t.Errorf("%s as %+v:\n%s, want\n%s", name, f, got, stable(want))
		}
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		w.Write(file)
		w.Close()
		if got := stable(decoded(t, z.Bytes(), Options{})); got != stable(want) {
			t.Errorf("%s as %+v, packed:\n%s, want\n%s", name, f, got, stable(want))
		}
	}
}

// Over IPv6, behind tags, cut to 128 bytes: the same packets count the same.
func TestHeadersAround(t *testing.T) {
	play := func(x *tape) *Result {
		for k := range uint32(5) {
			x.send(float64(k), 1, packet{op: wire.RCSendOnly, psn: k + 1, len: 1024, ecn: ce})
		}
		x.ack(9, 2, 2, 0x60)
		for k := range uint32(4) {
			x.send(float64(10+k), 1, packet{op: wire.RCSendOnly, psn: k + 2, len: 1024})
		}
		x.ack(30, 2, 5, 0x1f)
		return x.result(form{})
	}
	want := counts(&play(&tape{t: t}).QueuePairs[0])
	for _, x := range []*tape{{t: t, vlan: true}, {t: t, v6: true}, {t: t, v6: true, vlan: true}} {
		r := play(x)
		if got := counts(&r.QueuePairs[0]); got != want || r.Capture.BadICRC > 0 || r.Capture.GoodICRC != 11 {
			t.Errorf("%q, ICRC %d right, %d wrong; want %q", got, r.Capture.GoodICRC, r.Capture.BadICRC, want)
		}
		cut := x.result(form{snap: 128})
		if got := counts(&cut.QueuePairs[0]); got != want || cut.Capture.NoICRC != 9 || cut.QueuePairs[0].DoneBytes != 5120 {
			t.Errorf("cut: %q, %d without ICRC, %d bytes; want %q", got, cut.Capture.NoICRC, cut.QueuePairs[0].DoneBytes, want)
		}
	}
	x := &tape{t: t}
	play(x)
	for k := range x.frames { // as "any" captures it (SLL), and as raw IP
		x.frames[k].data = append(append(make([]byte, 14), 8, 0), x.frames[k].data[wire.EthernetLen:]...)
	}
	if r := x.result(form{link: int(pcap.LinuxSLL)}); counts(&r.QueuePairs[0]) != want {
		t.Errorf("cooked: %q", counts(&r.QueuePairs[0]))
	}
	for k := range x.frames {
		x.frames[k].data = x.frames[k].data[16:]
	}
	if r := x.result(form{link: int(pcap.RawIP)}); counts(&r.QueuePairs[0]) != want {
		t.Errorf("raw IP: %q", counts(&r.QueuePairs[0]))
	}
}

// Snap length 64 leaves the BTH over IPv4, and cuts it over IPv6: a note tells.
func TestSnap64(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		x := &tape{t: t, v6: v6}
		x.send(0, 1, packet{op: wire.RCSendMiddle, psn: 5, len: 1024})
		r := x.result(form{snap: 64})
		notes := strings.Join(r.Notes, "\n")
		if v6 != strings.Contains(notes, "BTH cut by the snap length: 1") || v6 == (len(r.QueuePairs) == 1) {
			t.Errorf("IPv6 %v: %d queue pairs, %s", v6, len(r.QueuePairs), notes)
		}
	}
}

// Cut to 64 bytes, WRITEs and READs have no length of their own, and are followed all the same.
func TestLengthsCut(t *testing.T) {
	x := &tape{t: t}
	x.send(0, 1, packet{op: wire.RCWriteFirst, psn: 1, len: 1024, dma: 2000, noAsk: true})
	x.send(1, 1, packet{op: wire.RCWriteLast, psn: 2, len: 976})
	x.send(2, 1, packet{op: wire.RCReadRequest, psn: 3, dma: 2500})
	x.send(3, 1, packet{op: wire.RCReadRequest, psn: 6, dma: 64})
	x.ack(9, 2, 2, 0x1f)
	for k, op := range []wire.Opcode{wire.RCReadRespFirst, wire.RCReadRespMiddle, wire.RCReadRespLast, wire.RCReadRespOnly} {
		x.send(10+float64(k), 2, packet{op: op, psn: 3 + uint32(k), len: []int{1024, 1024, 452, 64}[k], noAsk: true})
	}
	want := x.result(form{}).Messages
	r := x.result(form{snap: 64})
	if !slices.Equal(r.Messages, want) || len(want) != 3 || want[1].Bytes != 2500 {
		t.Errorf("%+v, want %+v", r.Messages, want)
	}
	if got := counts(&r.QueuePairs[0]); got != "packets 4, messages 3" {
		t.Errorf("%q", got)
	}
}

// Frames that a mirror packed into GRE, ERSPAN of types I to III or VXLAN are what they were, and RoCE of
// version 1 is read.
func TestPacked(t *testing.T) {
	plain := &tape{t: t}
	plain.send(0, 1, ask(1))
	plain.ack(9, 2, 1, 0x1f)
	for name, head := range map[string][]byte{"GRE": {47, 0, 0, 0x65, 0x58}, "ERSPAN I": {47, 0, 0, 0x88, 0xbe},
		"ERSPAN II":  append([]byte{47, 0x10, 0, 0x88, 0xbe}, make([]byte, 12)...),
		"ERSPAN III": append([]byte{47, 0x10, 0, 0x22, 0xeb}, make([]byte, 16)...),
		"VXLAN":      append([]byte{17, 0xc0, 0, 0x12, 0xb5, 0, 0, 0, 0}, make([]byte, 8)...)} {
		x := &tape{t: t}
		for _, p := range plain.frames {
			inner := append(slices.Clone(head[1:]), p.data...)
			if name == "VXLAN" {
				binary.BigEndian.PutUint16(inner[4:], uint16(len(inner)))
			}
			ip := wire.IPv4{Protocol: head[0], TTL: 9, TotalLen: uint16(wire.IPv4Len + len(inner)), Src: [4]byte{1}, Dst: [4]byte{2}}
			x.add(p.us, append(ip.Append(wire.EthernetHeader{Type: wire.TypeIPv4}.Append(nil)), inner...))
		}
		r := x.result(form{})
		if len(r.QueuePairs) != 2 || counts(&r.QueuePairs[0]) != "packets 1, messages 1" || r.QueuePairs[0].From != "10.0.0.1" ||
			r.Capture.GoodICRC != 2 {
			t.Errorf("%s: %+v, %q", name, r.QueuePairs, r.Notes)
		}
	}
	x := &tape{t: t}
	for _, p := range plain.frames { // from behind the UDP header on
		bth := p.data[wire.EthernetLen+wire.IPv4Len+wire.UDPLen:]
		if p.us > 0 {
			bth = bth[:wire.BTHLen+wire.AETHLen+wire.ICRCLen]
		}
		g := wire.GRH{NxtHdr: wire.NextHeaderBTH, PayLen: uint16(len(bth)), SGID: [16]byte{15: byte(p.us)}, DGID: [16]byte{15: 9 - byte(p.us)}}
		x.add(p.us, append(g.Append(wire.EthernetHeader{Type: typeRoCEv1}.Append(nil)), bth...))
	}
	if r := x.result(form{}); len(r.QueuePairs) != 2 || counts(&r.QueuePairs[0]) != "packets 1, messages 1" || r.Capture.BadICRC > 0 {
		t.Errorf("RoCE version 1: %+v", r.QueuePairs)
	}
}

// Times of messages are from the first packet to what ends them.
func TestMessageTimes(t *testing.T) {
	x := &tape{t: t}
	x.send(5, 1, packet{op: wire.RCWriteFirst, psn: 1, len: 1024, dma: 1500})
	x.send(7, 1, packet{op: wire.RCWriteLastImm, psn: 2, len: 476})
	x.send(8, 1, packet{op: wire.RCReadRequest, psn: 3, dma: 2048})
	x.ack(11, 2, 2, 0x1f)
	x.send(12, 2, packet{op: wire.RCReadRespFirst, psn: 3, len: 1024})
	x.send(14, 2, packet{op: wire.RCReadRespLast, psn: 4, len: 1024})
	r := x.result(form{})
	want := []Message{{Verb: "WRITE_IMM", Bytes: 1500, Packets: 2, StartPS: 0, TookPS: 6 * us, Status: "acknowledged"},
		{Verb: "READ", Bytes: 2048, Packets: 1, StartPS: 3 * us, TookPS: 6 * us, Status: "answered"}}
	if !slices.Equal(r.Messages, want) {
		t.Errorf("%+v, want %+v", r.Messages, want)
	}
	q := &r.QueuePairs[0]
	if bps := units.Rate(8 * 3548 * 1_000_000 / 9); q.GoodputBps != bps || q.P50 != 6*us || q.MTU != 1024 {
		t.Errorf("goodput %v, want %v; median %v, MTU %d", q.GoodputBps, bps, q.P50, q.MTU)
	}
}

// How the two directions are found: by acknowledgements; among several of the same PSNs by the
// UDP source port; by the connection manager, before any packet.
func TestPairing(t *testing.T) {
	x := &tape{t: t}
	for k := range uint32(3) { // three connections, all from PSN 1
		x.port = uint16(50000 + k)
		x.send(float64(k), 1, packet{op: wire.RCSendOnly, psn: 1, len: 64, destQP: 0x100 + k})
	}
	for _, k := range []uint32{2, 0, 1} {
		x.port = uint16(50000 + k)
		x.send(float64(10+k), 2, packet{op: wire.RCAcknowledge, psn: 1, syn: 0x1f, destQP: 0x200 + k})
	}
	r := x.result(form{})
	for i := range 3 {
		q := &r.QueuePairs[i]
		if q.FromQP == nil || *q.FromQP != 0x200+uint32(i) || q.Done != 1 || q.P50 != 10*us {
			t.Errorf("queue pair %d: %+v", i, q)
		}
	}
	x = &tape{t: t}
	x.send(0, 1, packet{op: wire.RCSendOnly, psn: 1, len: 64})
	x.send(1, 2, packet{op: wire.RCSendOnly, psn: 77, len: 64})
	if r := x.result(form{}); r.QueuePairs[0].Paired != "addresses alone" {
		t.Errorf("paired by %q", r.QueuePairs[0].Paired)
	}
	x = &tape{t: t}
	req, rep := make([]byte, wire.MADLen), make([]byte, wire.MADLen)
	copy(req, []byte{1, 7, 2, 3, 16: 0, 17: 0x10, 27: 0x55, 56: 0, 57: 0, 58: qpOf1, 119: 14 << 3})
	copy(rep, []byte{1, 7, 2, 3, 16: 0, 17: 0x13, 27: 0x66, 31: 0x55, 36: 0, 37: 0, 38: qpOf2})
	x.send(0, 1, packet{op: wire.UDSendOnly, data: req, destQP: 1, srcQP: 1})
	x.send(5, 2, packet{op: wire.UDSendOnly, data: rep, destQP: 1, srcQP: 1})
	x.send(9, 1, packet{op: wire.RCSendOnly, psn: 1, len: 64})
	r = x.result(form{})
	q := &r.QueuePairs[2]
	if q.Paired != "connection manager" || q.FromQP == nil || *q.FromQP != qpOf1 || q.AckTimeoutPS != 67_108_864*units.Nanosecond {
		t.Errorf("%+v", q)
	}
}

// Two capture points see each packet twice: nothing was sent again for that, and the time between
// is known. What passed the first and not the second is counted.
func TestTwoPoints(t *testing.T) {
	x := &tape{t: t}
	for k := range uint32(4) {
		x.point = 0
		x.send(float64(10*k), 1, ask(k+1))
		if x.point = 1; k != 2 {
			x.send(float64(10*k)+1.5, 1, ask(k+1))
		}
	}
	x.point = 1
	x.ack(40, 2, 3, 0x60)
	x.point = 0
	x.ack(41, 2, 3, 0x60)
	for k := range uint32(2) {
		x.point = 0
		x.send(50+float64(10*k), 1, ask(k+3))
		x.point = 1
		x.send(52+float64(10*k), 1, ask(k+3))
	}
	x.ack(71, 2, 4, 0x1f)
	x.point = 0
	x.ack(72.5, 2, 4, 0x1f)
	r := x.result(form{ng: true, names: []string{"h1", "h2"}})
	q := &r.QueuePairs[0]
	if got, want := counts(q), "packets 6, messages 4, resent 2, nak 2"; got != want || q.Slowest != 52500*units.Nanosecond {
		t.Errorf("%q, slowest %v; want %q, 52.5 us", got, q.Slowest, want)
	}
	if w := q.Ways[0]; w.Timed != 5 || w.Packets != 5 || w.Least != 1500*units.Nanosecond || w.Most != 2*us || w.From != "h1" || w.To != "h2" {
		t.Errorf("%+v", w)
	}
	for _, e := range r.Ledger {
		if e.Mechanism == catalog.NAKSent && e.Count != 1 {
			t.Errorf("%d NAKs", e.Count)
		}
	}
}

// Clocks that differ are noticed.
func TestClocks(t *testing.T) {
	x := &tape{t: t}
	x.send(50, 1, ask(1))
	x.point = 1
	x.send(48.5, 1, ask(1))
	r := x.result(form{ng: true, names: []string{"a", "b"}})
	if w := r.QueuePairs[0].Ways[0]; w.Least != -1500*units.Nanosecond || !strings.Contains(strings.Join(r.Notes, "\n"), "clocks of the points differ") {
		t.Errorf("%+v, %q", w, r.Notes)
	}
}

// A capture on all interfaces of a host, or of a mirror of both directions of a switch, has packets
// twice: the same identification, or another TTL right behind, tells copies from resends.
func TestCopies(t *testing.T) {
	for _, c := range []struct {
		id  uint16
		ttl uint8
		us  float64
		num string
	}{{id: 9, ttl: 64, us: 3, num: "packets 1, messages 1, copies 1"}, {ttl: 63, us: 3, num: "packets 1, messages 1, copies 1"},
		{ttl: 64, us: 3, num: "packets 2, messages 1, resent 1, unseen 1"}, {ttl: 63, us: 9000, num: "packets 2, messages 1, resent 1, timeout 1"}} {
		x := &tape{t: t}
		x.send(0, 1, ask(1))
		x.send(c.us, 1, ask(1))
		ip := x.frames[1].data[wire.EthernetLen:]
		ip[5], ip[8] = byte(c.id), c.ttl
		x.frames[0].data[wire.EthernetLen+5] = byte(c.id)
		x.ack(c.us+5, 2, 1, 0x1f)
		if got := counts(&x.result(form{}).QueuePairs[0]); !strings.HasPrefix(got, c.num) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// Interfaces for the two directions of a port are one place, at which answers end messages.
func TestDirections(t *testing.T) {
	x := &tape{t: t, point: 1}
	x.send(0, 1, ask(1))
	x.point = 2
	x.ack(7, 2, 1, 0x1f)
	x.point = 0
	x.ack(9, 2, 1, 0x1f)
	r := x.result(form{ng: true, names: []string{"h0:1/in", "h0:1/out", "sw:2/in"}})
	if q := &r.QueuePairs[0]; q.Done != 1 || q.P50 != 9*us {
		t.Errorf("%+v", q)
	}
}

// Pauses end with a resume, or where the rate is known when they run out.
func TestPauses(t *testing.T) {
	x := &tape{t: t}
	x.pfc(0, 3, 65535)
	x.pfc(10, 3, 65535)
	x.pfc(25, 3, 0)
	x.pfc(100, 3, 100) // 128 ns at 400 Gb/s
	x.pfc(200, 3, 100)
	x.pfc(300, 4, 0) // of nothing
	file := x.file(form{nano: true})
	p := decoded(t, file, Options{}).Pauses[0]
	if p.Pauses != 3 || p.Refreshes != 1 || p.Lapsed != 1 || p.Resumes != 1 || p.AskedPS != 25*us || p.Unmeasured != 2 || p.Class != 3 {
		t.Errorf("without a rate: %+v", p)
	}
	r := decoded(t, file, Options{Rate: 400 * units.Gbps})
	p = r.Pauses[0]
	if p.Pauses != 3 || p.Refreshes != 1 || p.Lapsed != 1 || p.AskedPS != 25*us+256*units.Nanosecond || p.LongestPS != 25*us || p.Unmeasured != 0 {
		t.Errorf("at 400 Gb/s: %+v", p)
	}
	var held []string
	for _, e := range r.Ledger {
		held = append(held, fmt.Sprintf("%v by %v: %d, %v", e.Mechanism, e.Actor, e.Count, units.Time(e.Sum)))
	}
	if want := []string{"PFC XOFF by 02:00:00:00:00:09 prio 3: 3, 0s",
		"PFC pause by what faces 02:00:00:00:00:09 prio 3: 3, 25.256us"}; !slices.Equal(held, want) {
		t.Errorf("%q, want %q", held, want)
	}
}

// TCP: what was sent again after duplicate acknowledgements, after SACK, after the timer; what only
// came late.
func TestTCP(t *testing.T) {
	data := func(seq uint32) wire.TCP { return wire.TCP{Seq: seq, Ack: 1, Flags: wire.TCPAck, Window: 100} }
	reply := func(ack uint32) wire.TCP { return wire.TCP{Seq: 1, Ack: ack, Flags: wire.TCPAck, Window: 100} }
	sum := func(c *Connection) string {
		return fmt.Sprintf("again %d: fast %d, RTO %d, unseen %d; late %d, dup %d, SACK %d, ECE %d, acked %d", c.Resent, c.Fast, c.AfterRTO, c.CauseUnseen,
			c.Late, c.DupAcks, c.SACKs, c.Echoes, c.AckedBytes)
	}
	x := &tape{t: t}
	x.tcp(0, 1, data(0), 1000)
	x.tcp(1, 2, reply(1000), 0)
	for k := range uint32(5) {
		x.tcp(10+float64(k), 1, data(1000+1000*k), 1000)
	}
	for k := range 3 {
		x.tcp(20+float64(k), 2, reply(1000), 0)
	}
	x.tcp(30, 1, data(1000), 1000)
	x.tcp(40, 2, reply(6000), 0)
	x.tcp(50, 1, data(6000), 1000)
	x.tcp(300_050, 1, data(6000), 1000)
	e := reply(7000)
	e.Flags |= wire.TCPEce
	x.tcp(300_060, 2, e, 0)
	x.tcp(300_070, 1, data(8000), 1000)
	x.tcp(300_071, 1, data(7000), 1000)
	s := reply(7000)
	s.Options = wire.TCPOptions{SACKBlocks: 1, SACK: [4]wire.SACKBlock{{Left: 8000, Right: 9000}}}
	x.tcp(300_080, 2, s, 0)
	x.tcp(300_090, 2, reply(9000), 0)
	r := x.result(form{})
	if got, want := sum(&r.Connections[0]), "again 2: fast 1, RTO 1, unseen 0; late 1, dup 0, SACK 0, ECE 0, acked 9000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := sum(&r.Connections[1]), "again 0: fast 0, RTO 0, unseen 0; late 0, dup 3, SACK 1, ECE 1, acked 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// InfiniBand packets, with and without GRH: FECN, BECN, both CRCs.
func TestInfiniBand(t *testing.T) {
	for _, lnh := range []uint8{wire.LNHLocal, wire.LNHGlobal} {
		x := &tape{t: t}
		add := func(at float64, from uint16, b wire.BTH, n int) {
			p := wire.InfiniBandPacket{LRH: wire.LRH{LNH: lnh, SLID: from, DLID: 3 - from}}
			p.GRH.SGID, p.GRH.DGID = [16]byte{0xfe, 0x80, 15: byte(from)}, [16]byte{0xfe, 0x80, 15: byte(3 - from)}
			p.Transport = wire.Transport{BTH: b, AETH: wire.AETH{Syndrome: 0x1f}, Payload: make([]byte, n)}
			data, err := p.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			x.frames = append(x.frames, taped{us: at, data: data})
		}
		add(0, 1, wire.BTH{Opcode: wire.RCSendOnly, DestQP: qpOf2, PSN: 1, FECN: true}, 256)
		add(5, 2, wire.BTH{Opcode: wire.RCAcknowledge, DestQP: qpOf1, PSN: 1, BECN: true}, 0)
		r := x.result(form{link: int(pcap.InfiniBand)})
		if got, want := counts(&r.QueuePairs[0])+"; "+counts(&r.QueuePairs[1]), "packets 1, messages 1, marked 1; packets 1, acks 1, becn 1"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if r.Capture.GoodICRC != 2 || r.Ledger[0].Mechanism != catalog.FECNMark {
			t.Errorf("%+v, %+v", r.Capture, r.Ledger)
		}
	}
}

// A capture that is cut short is read up to there; other files are refused in one line.
func TestBadFiles(t *testing.T) {
	x := &tape{t: t}
	x.send(0, 1, ask(1))
	x.ack(9, 2, 1, 0x1f)
	for _, f := range []form{{}, {ng: true}} {
		file := x.file(f)
		r := decoded(t, file[:len(file)-10], Options{})
		if !strings.Contains(r.Notes[0], "the file is cut short behind packet 1; everything up to there is read") || len(r.QueuePairs) != 1 {
			t.Errorf("%+v: %q, %d queue pairs", f, r.Notes, len(r.QueuePairs))
		}
	}
	for want, file := range map[string][]byte{"is empty": nil, "has 3 bytes": []byte("abc"), "is no capture": []byte("topology:\n  hosts: 4\n"),
		"damaged gzip": {0x1f, 0x8b, 0, 0}, "damaged pcap file: it was cut short": x.file(form{})[:12]} {
		if _, err := pcap.Open(bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	in, err := pcap.Open(bytes.NewReader(x.file(form{link: 127})))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Read(in, Options{}, nil)
	if err != nil || !strings.Contains(d.Nothing(), "link type 127") {
		t.Errorf("%v, %q", err, d.Nothing())
	}
	r := x.result(form{ng: true, dropped: 12})
	if !strings.Contains(strings.Join(r.Notes, "\n"), "the capture lost 12 packets at eth0") || r.Points[0].Dropped != 12 {
		t.Errorf("%q", r.Notes)
	}
}

// What is followed is bounded, and a note says what was left out.
func TestBounds(t *testing.T) {
	x := &tape{t: t}
	for k := range uint32(maxFlows + 5) {
		x.send(float64(k), 1, packet{op: wire.RCSendOnly, psn: 1, len: 4, destQP: k + 2})
	}
	for k := range uint32(maxOpen + 3) { // of one flow, never acknowledged
		x.send(float64(maxFlows+k), 1, packet{op: wire.RCSendOnly, psn: k + 2, len: 4, destQP: 2})
	}
	r := x.result(form{})
	if len(r.QueuePairs) != maxFlows || !strings.Contains(strings.Join(r.Notes, "\n"), "more than 16384 queue pairs; 5 packets of further ones left out") {
		t.Errorf("%d queue pairs, %q", len(r.QueuePairs), r.Notes)
	}
	if q := &r.QueuePairs[0]; q.OpenMessages != maxOpen+4 {
		t.Errorf("%d messages open", q.OpenMessages)
	}
}

// Names that the file gives addresses stand in place of them (pcapng 4.5, as Wireshark writes them).
func TestNames(t *testing.T) {
	x := &tape{t: t}
	x.send(0, 1, ask(1))
	file := x.file(form{ng: true})
	block := []byte{4, 0, 0, 0, 32, 0, 0, 0, 1, 0, 10, 0, 10, 0, 0, 2, 'n', 'o', 'd', 'e', '2', 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0}
	if q := decoded(t, append(file, block...), Options{}).QueuePairs[0]; q.To != "node2" || q.From != "10.0.0.1" {
		t.Errorf("%s to %s", q.From, q.To)
	}
}

// No bytes make the reader fail or run away.
func FuzzRead(f *testing.F) {
	x := &tape{t: f, vlan: true}
	x.send(0, 1, packet{op: wire.RCReadRequest, psn: 1, dma: 4096})
	x.send(9, 2, packet{op: wire.RCReadRespFirst, psn: 1, len: 64, noAsk: true})
	x.ack(10, 2, 2, 0x60)
	x.pfc(11, 3, 65535)
	x.tcp(12, 1, wire.TCP{Seq: 5, Flags: wire.TCPAck}, 30)
	f.Add(x.file(form{}))
	f.Add(x.file(form{ng: true}))
	f.Add(x.file(form{link: int(pcap.InfiniBand), big: true}))
	f.Fuzz(func(t *testing.T, file []byte) {
		in, err := pcap.Open(bytes.NewReader(file))
		if err != nil {
			return
		}
		d, err := Read(in, Options{}, nil)
		if err != nil {
			return
		}
		for i := range d.Result().QueuePairs {
			if q := &d.Result().QueuePairs[i]; q.Packets < q.Resent || q.Resent < 0 || q.Packets > d.in.Packets() {
				t.Errorf("%+v", q)
			}
		}
	})
}

// Frames of all kinds, whole and cut at every length, are read without a fault.
func TestEveryCut(t *testing.T) {
	x := &tape{t: t}
	x.send(0, 1, packet{op: wire.RCWriteOnlyImm, psn: 1, len: 64, dma: 64})
	x.v6, x.vlan = true, true
	x.send(0, 1, packet{op: wire.RCWriteOnlyImm, psn: 1, len: 64, dma: 64})
	x.tcp(0, 1, wire.TCP{Options: wire.TCPOptions{SACKBlocks: 3}}, 10)
	x.pfc(0, 1, 1)
	var f frame
	for _, p := range x.frames {
		for n := range len(p.data) + 1 {
			for _, link := range []pcap.Link{pcap.Ethernet, pcap.RawIP, pcap.LinuxSLL, pcap.LinuxSLL2, pcap.InfiniBand} {
				f.read(&pcap.Packet{Data: p.data[:n], Length: len(p.data), Link: link})
				if f.kind == rdma && n == len(p.data) && link == pcap.Ethernet && f.icrc != right {
					t.Errorf("ICRC %d", f.icrc)
				}
			}
		}
	}
}

// Quantiles are exact of few times and within 1 % of many.
func TestTimes(t *testing.T) {
	for _, n := range []int64{1, 10, 1024, 1025, 100_000} {
		var x times
		for k := range n {
			x.add(units.Time((k*7919%n + 1) * 1000))
		}
		for _, milli := range []int64{0, 500, 990, 1000} {
			want := max((n*milli+999)/1000, 1) * 1000
			got := int64(x.quantile(milli))
			if n <= maxExact && got != want || got < want*992/1000 || got > want*1008/1000 {
				t.Errorf("%d of %d: %d, want %d", milli, n, got, want)
			}
		}
	}
}
