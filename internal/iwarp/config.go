// Package iwarp holds RDMA over TCP as a pure state machine: the verbs of package rdma over the connections of package
// tcp, by MPA, DDP and RDMAP (RFC 5044, 5041, 5040, 6581). Time is an argument; nothing here knows a clock, a socket
// or a device.
package iwarp

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Config is a profile of an endpoint, shared by many and read-only while they run.
type Config struct {
	// Name is the preset the values come from.
	Name string
	// TCP is what carries the stream. Its TSO is 0: a segment is an FPDU.
	TCP tcp.Config
	// Markers asks the peer to put markers into its stream, every 512 bytes of it.
	Markers bool
	// RefuseMarkers rejects a peer that asks for them (Linux siw).
	RefuseMarkers bool
	// CRC asks for the CRC32c of FPDUs; both ends check it if either asks.
	CRC bool
	// PeerToPeer has the end that opened the connection send an empty READ as soon as it may, so that the other,
	// which must not send before it has received, may (RFC 6581 6).
	PeerToPeer bool
	// Revision of MPA, 1 (RFC 5044) or 2 (RFC 6581: the ends tell each other how many READs they have room for).
	Revision uint8
	// Kernel says that the host's kernel runs TCP and the rest, as Linux's siw does, not the card.
	Kernel bool
	// Timeout is how long an end waits for its peer's frame of the start-up before it gives up; 0: for ever.
	Timeout units.Time
}

// MinMULPDU is the least that MPA lets DDP have in an FPDU, in bytes (RFC 5044 4.5; iw_cxgb4 takes an EMSS of 128 B
// for the least).
const MinMULPDU = 128

// Presets lists the names Preset knows; siw is the kernel's.
func Presets() []string { return []string{"offload", "dctcp", "siw"} }

// Preset returns the profile of that name for Ethernet's MTU of 1500 bytes.
//
// offload is a card that runs TCP, after Chelsio's T5 and T6. Of their driver (Linux drivers/infiniband/hw/cxgb4/cm.c)
// it has the CRC, no markers, revision 2, peer to peer with an empty READ, acknowledgements without delay, window
// scaling, no SACK, and the 60 s that the start-up may take. The driver asks for Tahoe, which is Reno but for what
// follows a fast retransmit, and for windows of 128 KiB and 256 KiB, for links of 40 Gb/s. See Assumed.
func Preset(name string) (Config, error) {
	t, err := tcp.Preset("linux")
	if err != nil {
		return Config{}, err
	}
	t.TSO, t.Nagle = 0, tcp.NagleOff
	c := Config{Name: name, CRC: true, PeerToPeer: true, Revision: 2, Timeout: 60 * units.Second}
	switch name {
	case "offload", "dctcp":
		t.CC = congestion.DefaultWindowParams(congestion.Reno)
		t.Recovery, t.PRR, t.Undo = tcp.NewReno, false, false
		t.DelayedAck, t.QuickAcks, t.AckEvery = 0, 0, 1
		t.AckOnRead, t.AckOnGrowth = false, false
		t.TimestampTick = units.Microsecond
		t.MinRTO, t.InitialRTO, t.MinOnVariance = 10*units.Millisecond, 10*units.Millisecond, false
		t.MaxAckDelay, t.ProbeSlack = 0, 100*units.Microsecond
		t.SlowStartAfterIdle = false
		t.Send, t.Receive = tcp.Buffer{Initial: 4 << 20, Max: 4 << 20}, tcp.Buffer{Initial: 4 << 20, Max: 4 << 20}
		t.FirstWindow = 4 << 20
		if name == "dctcp" {
			t.CC.Algorithm, t.ECN = congestion.DCTCP, tcp.ECNDCTCP
		}
	case "siw":
		c.CRC, c.PeerToPeer, c.RefuseMarkers, c.Kernel = false, false, true, true
	default:
		return Config{}, fmt.Errorf("iwarp: unknown preset %q, want one of %s", name, strings.Join(Presets(), ", "))
	}
	if !c.Kernel { // whose TCP is Linux's
		t.Name = name
	}
	c.TCP = t
	return c, nil
}

// Assumed lists the values of the presets that run in a card of which no vendor says anything.
func Assumed() []string {
	return []string{"rto_min", "rto_initial", "initial_window", "sndbuf", "rcvbuf", "first_window", "timestamps",
		"timestamp_tick", "cc", "slow_start_after_idle"}
}

// Framing is how FPDUs towards an end with profile c look, from one with profile peer.
func (c *Config) Framing(peer *Config) wire.Framing {
	return wire.Framing{Markers: c.Markers, CRC: c.CRC || peer.CRC}
}

// Validate reports the first value out of range.
func (c *Config) Validate() error {
	switch {
	case c.TCP.TSO != 0:
		return fmt.Errorf("iwarp: tso is %d, want 0: a segment holds one FPDU", c.TCP.TSO)
	case c.Revision != 1 && c.Revision != 2:
		return fmt.Errorf("iwarp: revision is %d, want 1 or 2", c.Revision)
	case c.PeerToPeer && c.Revision < 2:
		return fmt.Errorf("iwarp: peer_to_peer needs revision 2 (RFC 6581)")
	case c.Timeout < 0:
		return fmt.Errorf("iwarp: timeout is %v, want 0 or a positive time", c.Timeout)
	}
	if err := c.TCP.Validate(); err != nil {
		return err
	}
	if n := c.MULPDU(c.Markers); n < MinMULPDU {
		return fmt.Errorf("iwarp: segments of %d B leave DDP %d B, want at least %d (RFC 5044)", c.Segment(), n, MinMULPDU)
	}
	return nil
}

// Segment is the payload of a full segment, options taken off, in bytes: the EMSS.
func (c *Config) Segment() int {
	if c.TCP.Timestamps {
		return c.TCP.MSS - timestamps
	}
	return c.TCP.MSS
}

// MULPDU is the longest ULPDU in such a segment, in bytes.
func (c *Config) MULPDU(markers bool) int { return wire.Framing{Markers: markers}.MULPDU(c.Segment()) }

// timestamps is what the timestamps option takes of each segment.
const timestamps = 12

// Notes lists the values that are not TCP's, with their source.
func (c *Config) Notes() []record.Note {
	source := map[string]string{"offload": cxgb4, "dctcp": cxgb4, "siw": siw}[c.Name]
	if source == "" {
		source = "scenario"
	}
	onOff := map[bool]string{true: "on", false: "off"}
	runs := "the card runs TCP, MPA, DDP and RDMAP"
	if c.Kernel {
		runs = "the host's kernel does, as Linux's siw"
	}
	return []record.Note{
		{Key: "iwarp.preset", Value: c.Name + ": " + runs, Source: source},
		{Key: "iwarp.markers", Value: onOff[c.Markers], Source: source},
		{Key: "iwarp.crc", Value: onOff[c.CRC], Source: source},
		{Key: "iwarp.mpa_revision", Value: fmt.Sprint(c.Revision), Source: source},
		{Key: "iwarp.peer_to_peer", Value: onOff[c.PeerToPeer], Source: source},
	}
}

const (
	cxgb4 = "Linux iw_cxgb4 (Chelsio T5, T6)"
	siw   = "Linux siw_main.c"
)
