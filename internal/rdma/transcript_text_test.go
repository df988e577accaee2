package rdma

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// verbWords are the verbs' names in transcripts, in the order of Verb.
func verbWords() []string {
	return []string{"write", "send", "write-imm", "send-imm", "send-inv", "read", "cas", "fadd"}
}

// transcriptKeys are the options of connect: of the profile, then of the
// connection.
func transcriptKeys() map[string]func(*transcriptWorld, *Setup, string) {
	num := func(set func(s *Setup, n uint64)) func(*transcriptWorld, *Setup, string) {
		return func(x *transcriptWorld, s *Setup, v string) { set(s, x.number(v)) }
	}
	duration := func(set func(s *Setup, d units.Time)) func(*transcriptWorld, *Setup, string) {
		return func(x *transcriptWorld, s *Setup, v string) {
			d, err := units.ParseTime(v)
			x.check(err)
			set(s, d)
		}
	}
	return map[string]func(*transcriptWorld, *Setup, string){
		"preset": func(x *transcriptWorld, s *Setup, v string) { // first: it sets all of the profile but the MTU
			*s.Config = mustPreset(x.t, v)
			s.Config.MTU = 1024
		},
		"service":     func(x *transcriptWorld, s *Setup, v string) { s.Service = serviceNamed(v) },
		"qkey":        num(func(s *Setup, n uint64) { s.QKey = uint32(n) }),
		"cc":          func(x *transcriptWorld, s *Setup, v string) { s.Config.CC = dcqcn(x.t, v) },
		"mtu":         num(func(s *Setup, n uint64) { s.Config.MTU = units.Bytes(n) }),
		"ack_every":   num(func(s *Setup, n uint64) { s.Config.AckEvery = int(n) }),
		"bitmap":      num(func(s *Setup, n uint64) { s.Config.Bitmap = int(n) }),
		"timeout":     duration(func(s *Setup, d units.Time) { s.Config.Timeout = d }),
		"timeout_low": duration(func(s *Setup, d units.Time) { s.Config.TimeoutLow = d }),
		"adaptive": duration(func(s *Setup, d units.Time) {
			s.Config.Adaptive = AdaptiveTimeout{Min: d, Spread: 1, Retries: 1, Decrease: 2}
		}),
		"slow_restart":       num(func(s *Setup, n uint64) { s.Config.SlowRestart.On = n != 0 }),
		"slow_idle":          duration(func(s *Setup, d units.Time) { s.Config.SlowRestart.Idle = d }),
		"retry_count":        num(func(s *Setup, n uint64) { s.Config.RetryCount = uint8(n) }),
		"nak_consumes_retry": num(func(s *Setup, n uint64) { s.Config.NAKConsumesRetry = n != 0 }),
		"rnr_retry":          num(func(s *Setup, n uint64) { s.Config.RNRRetry = uint8(n) }),
		"min_rnr_timer":      num(func(s *Setup, n uint64) { s.Config.MinRNRTimer = uint8(n) }),
		"window": num(func(s *Setup, n uint64) {
			s.Config.Window, s.Config.WindowBytes = WindowBytes, units.Bytes(n)
		}),
		"receives":           num(func(s *Setup, n uint64) { s.Attrs.Receives = int64(n) }),
		"receive_size":       num(func(s *Setup, n uint64) { s.Attrs.ReceiveSize = units.Bytes(n) }),
		"max_rd_atomic":      num(func(s *Setup, n uint64) { s.Attrs.MaxRdAtomic = uint8(n) }),
		"max_dest_rd_atomic": num(func(s *Setup, n uint64) { s.Attrs.MaxDestRdAtomic = uint8(n) }),
		"max_inline":         num(func(s *Setup, n uint64) { s.Attrs.MaxInline = units.Bytes(n) }),
		"srq":                func(x *transcriptWorld, s *Setup, v string) { s.SRQ = x.shared(int64(x.number(v))) },
		"words": num(func(s *Setup, n uint64) { // memory with bytes: that many words of 8
			s.Attrs.Memory = memoryOf(Region{Base: base, Length: 8 * n, Access: RemoteAll, Data: make([]byte, 8*n)})
		}),
		"mr_len": num(func(s *Setup, n uint64) { s.Attrs.Memory = attrsOf(n).Memory }),
		"access": func(x *transcriptWorld, s *Setup, v string) { s.Attrs.Access = x.access(v) },
		"psn":    num(func(s *Setup, n uint64) { s.Attrs.SQPSN, s.Attrs.RQPSN = uint32(n), uint32(n) }),
	}
}

func serviceNamed(name string) Service {
	return map[string]Service{"rc": RC, "uc": UC, "ud": UD}[name]
}

// handle leads to q, with its Q_Key.
func (q *transcriptQP) handle() *AddressHandle {
	return &AddressHandle{Data: packet.Packet{Conn: q.number, TTL: 64, DestQP: q.number}, QKey: q.setup.QKey}
}

// access reads what a queue pair lets its peer do: write, read, atomic with
// commas, or none.
func (x *transcriptWorld) access(list string) (a Access) {
	rights := map[string]Access{"none": 0, "write": RemoteWrite, "read": RemoteRead, "atomic": RemoteAtomic}
	for _, word := range strings.Split(list, ",") {
		right, ok := rights[word]
		if !ok {
			x.t.Fatalf("%s: unknown right %s", x.where, word)
		}
		a |= right
	}
	return a
}

// postKeys are the options of post; without them VA and R_Key are those of the
// peer's memory region.
func postKeys() map[string]func(*transcriptWorld, *WorkRequest, string) {
	num := func(set func(r *WorkRequest, n uint64)) func(*transcriptWorld, *WorkRequest, string) {
		return func(x *transcriptWorld, r *WorkRequest, v string) { set(r, x.number(v)) }
	}
	return map[string]func(*transcriptWorld, *WorkRequest, string){
		"va":      num(func(r *WorkRequest, n uint64) { r.VA = n }),
		"rkey":    num(func(r *WorkRequest, n uint64) { r.RKey = uint32(n) }),
		"imm":     num(func(r *WorkRequest, n uint64) { r.Imm = uint32(n) }),
		"inv":     num(func(r *WorkRequest, n uint64) { r.Imm = uint32(n) }),
		"swap":    num(func(r *WorkRequest, n uint64) { r.Swap = n }),
		"compare": num(func(r *WorkRequest, n uint64) { r.Compare = n }),
		"lva":     num(func(r *WorkRequest, n uint64) { r.LVA = n }),
		"lkey":    num(func(r *WorkRequest, n uint64) { r.LKey = uint32(n) }),
		"fence":   num(func(r *WorkRequest, n uint64) { r.Fence = n != 0 }),
		"to":      func(x *transcriptWorld, r *WorkRequest, v string) { r.AH = x.qp(v).handle() },
		"qkey": num(func(r *WorkRequest, n uint64) { // after to
			r.AH = &AddressHandle{r.AH.Data, uint32(n)}
		}),
		"inline": num(func(r *WorkRequest, n uint64) { r.Inline = n != 0 }),
	}
}

// corruptKeys are the header fields that corrupt changes.
func corruptKeys() map[string]func(*wirePacket, uint64) {
	return map[string]func(*wirePacket, uint64){
		"opcode":  func(w *wirePacket, n uint64) { w.p.Opcode = uint8(n) },
		"psn":     func(w *wirePacket, n uint64) { w.p.PSN = uint32(n) },
		"payload": func(w *wirePacket, n uint64) { w.p.Payload = uint32(n) },
		"va":      func(w *wirePacket, n uint64) { w.p.VA = n },
		"rkey":    func(w *wirePacket, n uint64) { w.p.RKey = uint32(n) },
		"len":     func(w *wirePacket, n uint64) { w.p.DMALen = uint32(n) },
		"aeth":    func(w *wirePacket, n uint64) { w.p.AETH = uint32(n) },
		"qkey":    func(w *wirePacket, n uint64) { w.side.QKey = uint32(n) },
		"imm":     func(w *wirePacket, n uint64) { w.side.Imm = uint32(n) },
	}
}

// String is one aligned line: what every packet has, then what its opcode adds.
func (w *wirePacket) String() string {
	p, op := &w.p, wire.Opcode(w.p.Opcode)
	s := fmt.Sprintf("%3d %s>%s  %-28s", w.n, w.from.name, w.to.name, op)
	if p.Kind == packet.CNP {
		return s
	}
	s += fmt.Sprintf(" psn %-8d", p.PSN)
	if op.HasPayload() {
		s += fmt.Sprintf(" %4d B", p.Payload)
	}
	return s + w.extensions(op) + w.flags()
}

// extensions prints the extended headers in their order on the wire.
func (w *wirePacket) extensions(op wire.Opcode) (s string) {
	p, ext := &w.p, op.Ext()
	var side packet.Side
	if w.side != nil {
		side = *w.side
	}
	if ext&wire.ExtDETH != 0 {
		s += fmt.Sprintf("  qkey %#x source %d", side.QKey, side.SrcQP)
	}
	if ext&wire.ExtRETH != 0 {
		s += fmt.Sprintf("  va %#x rkey %#x len %d", p.VA, p.RKey, p.DMALen)
	}
	if ext&wire.ExtAtomicETH != 0 {
		s += fmt.Sprintf("  va %#x rkey %#x swap %d compare %d", p.VA, p.RKey, side.Swap, side.Compare)
	}
	if ext&wire.ExtAETH != 0 {
		s += fmt.Sprintf("  %s msn %d", syndromeText(p), p.AETH&psnMask)
	}
	if ext&wire.ExtAtomicAckETH != 0 {
		s += fmt.Sprintf("  orig %d", side.Orig)
	}
	if ext&wire.ExtImmDt != 0 {
		s += fmt.Sprintf("  imm %#x", side.Imm)
	}
	if ext&wire.ExtIETH != 0 {
		s += fmt.Sprintf("  inv %#x", side.Imm)
	}
	return s
}

// syndromeText names the acknowledgement, with the ranges of a selective NAK.
func syndromeText(p *packet.Packet) string {
	syndrome := uint8(p.AETH >> 24)
	switch {
	case syndrome == SynACK:
		return "ACK"
	case syndrome>>5 == SynRNR>>5:
		return "RNR NAK " + RNRTime(syndrome&31).String()
	case syndrome == SynNAKSeq:
		s := "NAK sequence"
		g := unpack(uint64(p.Payload)<<32 | uint64(p.DMALen))
		for i, r := range g.r[:g.n] {
			s += []string{" missing ", ","}[min(i, 1)] + fmt.Sprintf("%d+%d", p.PSN+r.from, r.n)
		}
		return s
	case syndrome == SynNAKInv:
		return "NAK invalid request"
	case syndrome == SynNAKAccess:
		return "NAK remote access"
	case syndrome == SynNAKOp:
		return "NAK remote operation"
	}
	return fmt.Sprintf("syndrome %#02x", syndrome)
}

func (w *wirePacket) flags() string {
	var f []string
	for _, flag := range []struct {
		on   bool
		name string
	}{
		{w.p.Flags&packet.AckReq != 0, "ackreq"},
		{w.p.Flags&packet.Retrans != 0, "again"},
		{w.p.Flags&packet.CNPFlag != 0 && w.p.Kind != packet.Data, "cnp"},
		{w.p.Flags&packet.More != 0 && w.p.Kind == packet.Data, "more"},
		{w.p.ECN == packet.CE, "ce"},
	} {
		if flag.on {
			f = append(f, flag.name)
		}
	}
	if f == nil {
		return ""
	}
	return "  " + strings.Join(f, " ")
}
