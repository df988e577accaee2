package tcp

import (
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// TestReorderingWindowFallsBack: a raised reordering window lasts sixteen recoveries
// (RFC 8985 6.2 step 4) and is then a quarter of the least round trip again.
func TestReorderingWindowFallsBack(t *testing.T) {
	cfg := mustPreset(t, "linux")
	l := newLoop(t, cfg).connect()
	c := &l.c[0]
	least := c.rtt.least()
	c.rack.reordered = true
	c.rtt.srtt = 10 * least // not what bounds it
	c.rackDSACK(true)
	for k := range reoPersist {
		if got, want := c.reoWindow(), 2*least/4; got != want {
			t.Fatalf("after %d recoveries the window is %v, want %v", k, got, want)
		}
		c.rack.recovered()
	}
	if got, want := c.reoWindow(), least/4; got != want {
		t.Errorf("after %d recoveries the window is %v, want %v", reoPersist, got, want)
	}
}

// TestAckSlack: segmentation offload may hold ACKs apart by what four super-segments
// take at the pacing rate, a millisecond at most (Linux hystart_ack_delay): with 2 MB
// paced out per round trip of 1 ms, 4 * 65,535 B take 131,070 ns.
func TestAckSlack(t *testing.T) {
	cfg := bulk(t, congestion.Cubic)
	cfg.TSO = 65535
	l := newLoop(t, cfg).connect()
	c := &l.c[0]
	c.rtt.srtt = units.Millisecond
	for _, x := range []struct {
		cwnd int64
		want units.Time
	}{{1000000, 131070 * units.Nanosecond}, {2000000, 65535 * units.Nanosecond}, {100000, units.Millisecond}} {
		if c.cc.Set(x.cwnd); c.pacingBytes() != 2*x.cwnd {
			t.Fatalf("a window of %d B lets out %d B per round trip, want twice that in slow start", x.cwnd, c.pacingBytes())
		}
		if got := c.ackSlack(); got != x.want {
			t.Errorf("window of %d B: %v, want %v", x.cwnd, got, x.want)
		}
	}
}

// TestLimitedUntilTheFlightIsOver: whether the congestion window limited a flight
// counts until all of it is acknowledged, up to its last byte and no longer (RFC 7661,
// Linux tcp_cwnd_validate): what is sent then tells anew.
func TestLimitedUntilTheFlightIsOver(t *testing.T) {
	cfg := mustPreset(t, "linux")
	l := newLoop(t, cfg).connect()
	c := &l.c[0]
	start := c.una
	c.nxt = start + 10000
	c.noteFlight(true)
	c.una, c.nxt = start+9999, start+10001 // its last byte is out, and one more
	if c.noteFlight(false); !c.limited {
		t.Error("the flight that the window limited is not over, and is forgotten")
	}
	c.una = start + 10000
	if c.noteFlight(false); c.limited {
		t.Error("the flight that the window limited is acknowledged, and still counts")
	}
	if c.maxOut != 1 || c.usage != start+10001 {
		t.Errorf("the next flight is of %d bytes and ends at %d, want 1 and %d", c.maxOut, c.usage-start, 10001)
	}
}

// TestEchoWithNothingInFlight: ECE on an ACK that comes while nothing is outstanding
// tells of no congestion that a smaller window could end, and cuts nothing.
func TestEchoWithNothingInFlight(t *testing.T) {
	cfg := mustPreset(t, "linux")
	cfg.ECN = ECNClassic
	l := newLoop(t, cfg).connect()
	c := &l.c[0]
	cwnd := c.cc.Bytes()
	echo := func() {
		h := wire.TCP{Flags: ACK | ECE, Seq: uint32(c.rcvNxt), Ack: uint32(c.una), Window: 1000}
		h.Options.HasTimestamps, h.Options.TSVal, h.Options.TSEcr = true, c.tsNow(l.now), c.tsNow(l.now)
		var p packet.Packet
		SetHeader(&p, nil, &h, 0)
		c.Receive(l.now, &p, nil, iss[0])
	}
	if echo(); c.ca != caOpen || c.cc.Bytes() != cwnd || c.acts.CutECE.Count != 0 {
		t.Errorf("with nothing in flight: %v, window %d after %d, %d cuts", c.ca, c.cc.Bytes(), cwnd, c.acts.CutECE.Count)
	}
	c.Write(l.now, c.mss)
	l.pollOne(0)
	if echo(); c.ca != caCWR || c.acts.CutECE.Count != 1 {
		t.Errorf("with a segment in flight: %v, %d cuts, want CWR after 1", c.ca, c.acts.CutECE.Count)
	}
}
