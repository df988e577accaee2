package run_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// counters returns the standard counters of a port.
func counters(t *testing.T, r *record.Run, node string, port int) record.IBCounters {
	t.Helper()
	for _, c := range r.Counters {
		if c.Node == node && c.Port == port {
			return c
		}
	}
	t.Fatalf("no counters of %s:%d", node, port)
	return record.IBCounters{}
}

// The standard counters of a known exchange (IBTA 16.1.3.5): data in units of 4
// octets between the delimiters, without VCRC. A SEND of 8192 B is two packets
// of 8+12+4096+4 octets, each acknowledged by one of 8+12+4+4.
func TestCounters(t *testing.T) {
	r := simulate(t, parse(t, `
stack: infiniband
topology: {star: {hosts: 2, link: EDR}}
workload:
  - flow: {from: h0, to: h1, size: 8192B, verb: send, count: 3}
`), 1, 1)
	const data, ack = 3 * 2 * (4096 + 24) / 4, 3 * 2 * 28 / 4
	for _, c := range []struct {
		node      string
		port      int
		xmit, rcv int64
	}{{"h0", 1, data, ack}, {"sw", 1, ack, data}, {"sw", 2, data, ack}, {"h1", 1, ack, data}} {
		got := counters(t, r, c.node, c.port)
		if got.PortXmitData != c.xmit || got.PortRcvData != c.rcv || got.PortXmitPkts != 6 || got.PortRcvPkts != 6 {
			t.Errorf("%s:%d: %+v, want %d words sent and %d received in 6 packets each way", c.node, c.port, got, c.xmit, c.rcv)
		}
		if got.PortXmitWait != 0 || got.PortXmitDiscards != 0 || got.PortRcvErrors != 0 {
			t.Errorf("%s:%d: %+v on an idle network", c.node, c.port, got)
		}
	}
}

// PortXmitWait of a port that is held by its credits alone: of each loop of 20 us
// it sends 32 packets of 2050 B on the wire, 5.248 us at 100 Gb/s, and waits for
// the rest, counted in the unit of Switch-IB, 32 bytes of a lane at 25 Gb/s. From the second loop on the ACKs of the loop before come in meanwhile,
// and 31 of the flow-control packets for them, 8 B each, go between its packets
// (the 32nd ACK comes behind them). One lane alone waits for as long as its port.
func TestPortXmitWait(t *testing.T) {
	r := simulate(t, parse(t, `
stack: infiniband
packet_payload: 2022B
topology:
  hosts: [h0, h1]
  switches: [sw]
  links:
    - {between: [h0, sw], rate: EDR, delay: 9917680ps}
    - {between: [sw, h1], rate: EDR, delay: 0ns}
switch: {forwarding: store-and-forward, latency: 0ns}
infiniband: {buffer: 64KiB, hca_buffer: 128KiB, update: 64B}
stop: 2ms
workload:
  - flow: {from: h0, to: h1, size: 100MB, verb: send}
`), 1, 1)
	const loops = 100
	const wait = loops*(20_000_000-32*2050*80) - (loops-1)*31*8*80
	if h := r.QPs[0].Limits.Path[0]; h.CreditLoopPS != 20*units.Microsecond || h.CreditPackets != 32 {
		t.Errorf("%d packets in a credit loop of %v, want 32 in 20 us", h.CreditPackets, h.CreditLoopPS)
	}
	got := counters(t, r, "h0", 1).PortXmitWait
	if want := int64(wait / (10_240 * units.Picosecond)); got != want {
		t.Errorf("PortXmitWait %d times 32 bytes of a lane at EDR, want %d", got, want)
	}
	for _, p := range r.Ports {
		if p.Node == "h0" && p.Class == 0 && p.HeldPS != wait {
			t.Errorf("held for %d ps, want %d", p.HeldPS, units.Time(wait))
		}
	}
}

// TestXmitWaitByGeneration: two hosts send 8 MB each to one port at NDR, and one of them waits
// for 157.08 us, to 4 ns. Quantum counts one per 8 bytes of the port's rate, 160 ps; Switch-IB 2 one per
// 32 bytes of a lane, 2.56 ns (NVIDIA's ibdiagnet manual 2.13).
func TestXmitWaitByGeneration(t *testing.T) {
	text := `
stack: infiniband
topology: {star: {hosts: 3, link: NDR}}
workload:
  - incast: {from: [h0, h1], to: h2, size: 8MB}
`
	for generation, tick := range map[string]units.Time{"auto": 160, "quantum": 160, "switch-ib-2": 2560} {
		r := simulate(t, parse(t, text, "infiniband.switch_generation="+generation), 1, 1)
		if got, want := counters(t, r, "h0", 1).PortXmitWait, int64(157_080*units.Nanosecond/tick); got < want || got > want+int64(4*units.Nanosecond/tick) {
			t.Errorf("%s: PortXmitWait %d, want %d", generation, got, want)
		}
	}
	// Without a word of it a switch is Quantum by its fastest lanes, and its hosts are with it.
	for _, c := range []struct {
		host, spine string
		tick        units.Time
	}{
		{"2xHDR", "2xHDR", 640}, {"100Gbps", "100Gbps", 10_240}, {"EDR", "EDR", 10_240}, {"EDR", "HDR", 640}, {"EDR", "2xHDR", 640},
		{"2xEDR", "EDR", 10_240}, {"1xNDR", "1xNDR", 640}, {"FDR", "EDR", 18_773},
	} {
		r := simulate(t, parse(t, fmt.Sprintf(`
stack: infiniband
topology:
  hosts: [h0, h1, h2]
  switches: [a, b]
  links:
    - {between: [h0, a], rate: %[1]s}
    - {between: [h1, a], rate: %[1]s}
    - {between: [a, b], rate: %[2]s}
    - {between: [b, h2], rate: %[1]s}
workload:
  - incast: {from: [h0, h1], to: h2, size: 4MB}
`, c.host, c.spine)), 1, 1)
		held := units.Time(0)
		for i := range r.Ports {
			if r.Ports[i].Node == "h0" {
				held += r.Ports[i].HeldPS
			}
		}
		if got, want := counters(t, r, "h0", 1).PortXmitWait, int64(held/c.tick); held == 0 || got < want*999/1000 || got > want*1001/1000 {
			t.Errorf("hosts at %s, switches at %s: PortXmitWait %d, want %d of %d ps", c.host, c.spine, got, want, c.tick)
		}
	}
}
