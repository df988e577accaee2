package anatomy

import (
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/wire"
)

// The fields of every packet follow each other without a gap and make up all of its bytes, whatever stands around
// it; its checksums are right, and each header is as long as its standard has it.
func TestSamples(t *testing.T) {
	packets := 0
	for _, stack := range Stacks() {
		for _, op := range Operations(stack) {
			for i := range 16 { // tags, IP, GRH, markers
				for _, payload := range []int{0, 1, 61, 1024} {
					o := Options{Payload: payload, IPv6: i&1 != 0, VLAN: i&2 != 0, GRH: i&4 != 0, Markers: i&8 != 0}
					p, frame, err := Sample(stack, op, o)
					if err != nil {
						continue
					}
					packets++
					check(t, p, frame)
				}
			}
		}
	}
	if packets < 500 {
		t.Errorf("%d packets", packets)
	}
}

// lengths are those of the headers (see wire).
var lengths = map[string]int{"Ethernet": 14, "802.1Q tag": 4, "IPv4": 20, "IPv6": 40, "UDP": 8, "LRH": 8, "GRH": 40, "BTH": 12, "DETH": 8, "RETH": 16,
	"AtomicETH": 28, "AETH": 4, "AtomicAckETH": 8, "ImmDt": 4, "IETH": 4, "CNP": 16, "ICRC": 4, "VCRC": 2, "TCP": 20, "priority flow control": 20,
	"flow-control packet": 6,
	"MPA start-up":        24, "MPA": 2, "marker": 4, "MPA CRC": 4, "DDP control": 1, "RDMAP control": 1, "DDP tagged buffer": 12,
	"DDP untagged buffer": 16, "READ request": 28, "Terminate": 4}

func check(t *testing.T, p Packet, frame []byte) {
	t.Helper()
	at := 0
	for _, h := range p.Headers {
		from := at
		for _, f := range h.Fields {
			if f.Offset*8+f.Bit != at {
				t.Fatalf("%s %s: %s of %s begins at bit %d, and what is before it ends at %d", p.Stack, p.Operation, f.Name, h.Name, f.Offset*8+f.Bit, at)
			}
			at += f.Bits
		}
		if want, ok := lengths[h.Name]; h.Bytes*8 != at-from || ok && want != h.Bytes {
			t.Errorf("%s %s: %s has %d bits, says %d B, want %d B", p.Stack, p.Operation, h.Name, at-from, h.Bytes, want)
		}
	}
	if at != len(p.Data)*8 {
		t.Errorf("%s %s: fields of %d bits in %d bytes", p.Stack, p.Operation, at, len(p.Data))
	}
	switch {
	case p.Operation == "flow-control":
	case p.Stack == "infiniband":
		x, err := wire.DecodeInfiniBand(frame)
		if err == nil {
			err = x.CheckCRCs()
		}
		if err != nil {
			t.Errorf("%s %s: %v", p.Stack, p.Operation, err)
		}
	default:
		f, err := wire.DecodeFrame(frame)
		if err == nil && f.Kind == wire.FrameRoCEv2 {
			err = f.CheckICRC()
		}
		if err != nil || p.Stack == "rocev2" && f.Kind == wire.FrameOther {
			t.Errorf("%s %s: %v", p.Stack, p.Operation, err)
		}
		if (p.Stack == "tcp" || p.Stack == "iwarp") && f.IPv4.ECN|f.IPv6.ECN != 0 {
			t.Errorf("%s %s is ECN-capable, which the stack is not", p.Stack, p.Operation)
		}
		if p.Stack == "iwarp" {
			checkFPDU(t, &p)
		}
	}
}

// checkFPDU reads what TCP carries as a receiver would: its CRC is right and markers point to its start.
func checkFPDU(t *testing.T, p *Packet) {
	t.Helper()
	at, end, marked := 0, len(p.Data)-wire.FCSLen, false
	for _, h := range p.Headers {
		marked = marked || h.Name == "marker"
		if at == 0 && (strings.HasPrefix(h.Name, "MPA") || h.Name == "marker") {
			at = h.Fields[0].Offset
		}
		for _, f := range h.Fields {
			if h.Name == "end of the frame" && f.Name == "padding" {
				end = f.Offset
			}
		}
	}
	b := p.Data[at:end]
	if m := messageNamed(p.Operation); m.start != nil {
		if f, rest, err := wire.ParseMPA(b); err != nil || len(rest) > 0 || f.Reply != m.start.Reply || f.Reject != m.start.Reject {
			t.Errorf("%s: %+v, %d B behind, %v", p.Operation, f, len(rest), err)
		}
		return
	}
	ulpdu, rest, err := wire.Framing{Markers: marked, CRC: true}.Parse(b, nil, 0)
	if err == nil {
		_, _, err = wire.ParseDDP(ulpdu)
	}
	if err != nil || len(rest) > 0 {
		t.Errorf("%s: %d B behind, %v", p.Operation, len(rest), err)
	}
}

// Before a packet of iWARP come those of MPA's start-up that its stream began with.
func TestBefore(t *testing.T) {
	for op, want := range map[string]int{"mpa-request": 0, "mpa-reply": 1, "mpa-reject": 1, "write": 2, "read-response": 2, "terminate": 2} {
		if got := len(Before("iwarp", op, Options{})); got != want {
			t.Errorf("%d packets before %s, want %d", got, op, want)
		}
	}
	if got := Before("tcp", "data", Options{}); got != nil {
		t.Errorf("%d packets before TCP's", len(got))
	}
}

// What lets a packet cross a router is said of each.
func TestRouting(t *testing.T) {
	for _, c := range []struct {
		stack, op string
		o         Options
		want      string
	}{
		{"rocev2", "write", Options{}, "IPv4 and UDP let it cross routers"},
		{"rocev2", "write", Options{IPv6: true}, "IPv6 and UDP let it cross routers"},
		{"rocev1", "write", Options{}, "crosses no router: behind the Ethernet header there is no IP header"},
		{"infiniband", "send", Options{}, "crosses no router: LIDs"},
		{"infiniband", "send", Options{GRH: true}, "The GRH lets it cross InfiniBand routers"},
		{"tcp", "data", Options{}, "IPv4 lets it cross routers"},
		{"iwarp", "write", Options{IPv6: true}, "IPv6 lets it cross routers"},
		{"iwarp", "write", Options{}, "Its ECN field is 0, as the stack iwarp has ECN off"},
		{"rocev2", "pfc", Options{}, "no router and no switch"},
	} {
		p, _, err := Sample(c.stack, c.op, c.o)
		if err != nil || !strings.Contains(p.Routing, c.want) {
			t.Errorf("%s %s: %q, %v", c.stack, c.op, p.Routing, err)
		}
		if has := slices.ContainsFunc(p.Headers, func(h Header) bool { return h.Name == "GRH" }); has != (c.o.GRH || c.stack == "rocev1") {
			t.Errorf("%s %s: GRH %v", c.stack, c.op, has)
		}
	}
}
