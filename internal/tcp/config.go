// Package tcp holds the TCP endpoint as a pure state machine: the states of RFC
// 9293, sliding window, congestion control, loss recovery and a byte-stream
// socket on top. Time is an argument; nothing here knows a clock, a device or a
// host's costs.
package tcp

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Recovery is how losses are detected.
type Recovery uint8

// Loss detection.
const (
	NewReno Recovery = iota // three duplicate ACKs and partial ACKs (RFC 5681, 6582), without SACK
	SACK                    // the scoreboard of RFC 6675
	RACK                    // time and tail loss probes (RFC 8985)
)

func (r Recovery) String() string { return [...]string{"newreno", "sack", "rack-tlp"}[r] }

// Nagle says when a segment smaller than the MSS waits for acknowledgements.
type Nagle uint8

// Nagle's rule and its variants.
const (
	NagleOff      Nagle = iota // TCP_NODELAY
	NagleRFC896                // while anything is unacknowledged (RFC 896, RFC 9293 3.7.4)
	NagleMinshall              // while a small segment is unacknowledged (draft-minshall-nagle; Linux)
)

func (n Nagle) String() string { return [...]string{"off", "rfc896", "minshall"}[n] }

// ECN says how an endpoint uses explicit congestion notification.
type ECN uint8

// Uses of ECN.
const (
	ECNOff     ECN = iota
	ECNClassic     // negotiated; ECT on new data; ECE until CWR (RFC 3168)
	ECNDCTCP       // negotiated; ECT on every segment as Linux does; ECE follows CE (RFC 8257 3.2)
)

func (e ECN) String() string { return [...]string{"off", "classic", "dctcp"}[e] }

// Buffer is the size of one of a socket's buffers in bytes of payload. Linux
// counts memory, of which payload is about half in a receive buffer
// (tcp_adv_win_scale 1).
type Buffer struct {
	Initial int64
	// Max is how far autotuning may go; equal to Initial: none.
	Max int64
}

// Config is a profile of an endpoint, shared by many connections and read-only
// while they run.
type Config struct {
	// Name is the preset the values come from.
	Name string
	// MSS is the payload of a full segment before options, in bytes: MTU minus
	// 40 for IPv4 and TCP headers, 60 with IPv6; 88 (RFC 9293's least) to 65495. Timestamps
	// take 12 of it.
	MSS int
	// TSO is the most payload one Poll puts into a super-segment, for hardware or
	// the device to cut; 0 to 65535 bytes, 0: one segment at a time.
	TSO int
	// Timestamps offers RFC 7323 timestamps, whose clock ticks every TimestampTick.
	Timestamps    bool
	TimestampTick units.Time
	// WindowScaling offers RFC 7323 window scaling; the shift follows from Receive.Max.
	WindowScaling bool
	// Recovery detects losses. All but NewReno offer SACK, and fall back to
	// NewReno where the peer does not.
	Recovery Recovery
	// PRR brings the window down in proportion to what arrives (RFC 6937); else
	// it is cut at once.
	PRR bool
	// CWRGrowth has the window, cut at once for ECE, grow from the next acknowledgement
	// on, as models of DCTCP have it; else it comes down, by PRR or at once, and is held
	// until what was out at the cut is acknowledged (Linux, state CWR).
	CWRGrowth bool
	// Undo takes a cut back that was needless, by DSACK (RFC 3708) or timestamps (RFC
	// 3522, 4015).
	Undo bool
	// ECN is what is negotiated.
	ECN ECN
	// CC is the congestion window.
	CC congestion.WindowParams
	// SlowStartAfterIdle shrinks the window after idle times (RFC 5681 4.1).
	SlowStartAfterIdle bool
	// InitialRTO holds before the first sample, MinRTO and MaxRTO bound the rest
	// (RFC 6298). MinOnVariance applies MinRTO to four times the variance, as
	// Linux does, so that the timeout is SRTT + MinRTO at least.
	InitialRTO, MinRTO, MaxRTO units.Time
	MinOnVariance              bool
	// SYNRetries and Retries are how often a SYN and other segments are sent
	// again before the connection ends (Linux tcp_syn_retries, tcp_retries2).
	SYNRetries, Retries int
	// DelayedAck is how long an acknowledgement may wait for company; 0: none
	// does. AckEvery full segments are acknowledged at once; at least 1.
	DelayedAck units.Time
	AckEvery   int
	// QuickAcks is how many ACKs after the start do not wait (Linux: 16), unless this
	// end answers with data.
	QuickAcks int
	// AckOnGrowth acknowledges at once what makes the advertised window grow by
	// autotuning, so that the sender hears of it (Linux tcp_grow_window).
	AckOnGrowth bool
	// AckOnRead acknowledges at once when the application has read all there is of
	// what the peer pushed, unless this end answers with data (pingpong mode; Linux
	// tcp_cleanup_rbuf).
	AckOnRead bool
	// MaxAckDelay is what a peer may take for a delayed ACK, and ProbeSlack what a
	// tail loss probe waits beyond two round trips (RFC 8985 7.2; Linux TCP_TIMEOUT_MIN).
	MaxAckDelay, ProbeSlack units.Time
	// Nagle is the rule at connection; SetNoDelay changes it.
	Nagle Nagle
	// Pacing spreads segments at PacingSS percent of the window per round trip in
	// slow start and PacingCA after (Linux: 200, 120).
	Pacing             bool
	PacingSS, PacingCA int
	// Send and Receive are the socket's buffers.
	Send, Receive Buffer
	// FirstWindow is what the receive window opens to once the connection is established,
	// and the receive buffer's size then at least; 0: what the SYN said, 65535 bytes at most.
	FirstWindow int64
	// TimeWait is how long an ended connection stays (RFC 9293: 2 MSL; Linux 60 s).
	TimeWait units.Time
	// Tag: segments carry an 802.1Q tag, four bytes more per frame.
	Tag bool
	// IPv6 has them carry its header in place of that of IPv4.
	IPv6 bool
}

// Presets lists the names Preset knows.
func Presets() []string { return []string{"linux", "reno", "dctcp"} }

// Preset returns the profile of that name for Ethernet's MTU of 1500 bytes.
func Preset(name string) (Config, error) {
	c := Config{Name: name, MSS: 1460, TSO: 65535, Timestamps: true, TimestampTick: units.Millisecond, WindowScaling: true,
		Recovery: RACK, PRR: true, Undo: true, CC: congestion.DefaultWindowParams(congestion.Cubic), SlowStartAfterIdle: true,
		InitialRTO: units.Second, MinRTO: 200 * units.Millisecond, MaxRTO: 120 * units.Second, MinOnVariance: true,
		SYNRetries: 6, Retries: 15, DelayedAck: 40 * units.Millisecond, AckEvery: 2, QuickAcks: 16, AckOnGrowth: true, AckOnRead: true,
		MaxAckDelay: 200 * units.Millisecond, ProbeSlack: 2 * units.Millisecond, Nagle: NagleMinshall,
		PacingSS: 200, PacingCA: 120, Send: Buffer{87040, 4 << 20}, Receive: Buffer{65535, 3 << 20}, TimeWait: 60 * units.Second}
	switch name {
	case "linux":
		c.CC.HyStart, c.CC.CubicLinux = congestion.HyStartLinux, true
	case "dctcp":
		c.CC.Algorithm, c.ECN = congestion.DCTCP, ECNDCTCP
	case "reno":
		c = Config{Name: name, MSS: 1460, Recovery: NewReno, CC: congestion.DefaultWindowParams(congestion.Reno),
			InitialRTO: units.Second, MinRTO: units.Second, MaxRTO: 60 * units.Second, SYNRetries: 6, Retries: 15,
			DelayedAck: 200 * units.Millisecond, AckEvery: 2, Nagle: NagleRFC896, SlowStartAfterIdle: true,
			PacingSS: 200, PacingCA: 120, Send: Buffer{65535, 65535}, Receive: Buffer{65535, 65535}, TimeWait: 240 * units.Second}
		c.CC.InitialWindow, c.CC.ABCLimit = InitialWindow3390(c.MSS), 1
	default:
		return Config{}, fmt.Errorf("tcp: unknown preset %q, want one of %s", name, strings.Join(Presets(), ", "))
	}
	return c, nil
}

// InitialWindow3390 is the initial window of RFC 3390 in full segments of mss bytes:
// min(4 MSS, max(2 MSS, 4380 bytes)).
func InitialWindow3390(mss int) int { return min(4, max(2, 4380/mss)) }

// Validate reports the first value out of range.
func (c *Config) Validate() error {
	checks := []struct {
		bad        bool
		key, right string
		value      any
	}{
		{c.MSS < MinMSS || c.MSS > MaxMSS, "mss", fmt.Sprintf("%d to %d bytes", MinMSS, MaxMSS), c.MSS},
		{c.TSO < 0 || c.TSO > 65535, "tso", "0 (off) to 65535 bytes", c.TSO},
		{c.Timestamps && c.TimestampTick <= 0, "timestamp_tick", "a positive time", c.TimestampTick},
		{c.InitialRTO <= 0, "rto_initial", "a positive time", c.InitialRTO},
		{c.MinRTO <= 0, "rto_min", "a positive time", c.MinRTO},
		{c.MaxRTO < c.MinRTO || c.MaxRTO < c.InitialRTO, "rto_max", "no less than rto_min and rto_initial", c.MaxRTO},
		{c.SYNRetries < 0 || c.SYNRetries > 127, "syn_retries", "0 to 127", c.SYNRetries},
		{c.Retries < 0 || c.Retries > 127, "retries", "0 to 127", c.Retries},
		{c.DelayedAck < 0 || c.DelayedAck >= 500*units.Millisecond, "delayed_ack", "0 (off) to less than 500ms (RFC 9293 3.8.6.3)", c.DelayedAck},
		{c.AckEvery < 1, "ack_every", "at least 1", c.AckEvery},
		{c.QuickAcks < 0, "quick_acks", "0 or more", c.QuickAcks},
		{c.MaxAckDelay < 0, "max_ack_delay", "0 or a positive time", c.MaxAckDelay},
		{c.ProbeSlack < 0, "probe_slack", "0 or a positive time", c.ProbeSlack},
		{c.PacingSS < 1, "pacing_ss", "a percentage of at least 1", c.PacingSS},
		{c.PacingCA < 1, "pacing_ca", "a percentage of at least 1", c.PacingCA},
		{c.Send.Initial < 1, "sndbuf at first", "at least 1 byte", c.Send.Initial},
		{c.Send.Max < c.Send.Initial, "sndbuf", "no less than the initial size", c.Send.Max},
		{c.Receive.Initial < 1, "rcvbuf at first", "at least 1 byte", c.Receive.Initial},
		{c.Receive.Max < c.Receive.Initial, "rcvbuf", "no less than the initial size", c.Receive.Max},
		{c.Receive.Max > MaxWindow, "rcvbuf", "at most 1 GiB (RFC 7323 2.3)", c.Receive.Max},
		{c.Send.Max > MaxWindow, "sndbuf", "at most 1 GiB", c.Send.Max},
		{c.TimeWait < 0, "time_wait", "0 or a positive time", c.TimeWait},
	}
	for _, k := range checks {
		if k.bad {
			return fmt.Errorf("tcp: %s is %v, want %s", k.key, k.value, k.right)
		}
	}
	if c.CC.Algorithm == congestion.DCTCP && c.ECN != ECNDCTCP {
		return fmt.Errorf("tcp: ecn is %s, want dctcp, which the congestion control dctcp needs", c.ECN)
	}
	return c.CC.Validate()
}

// Limits of configurations and of the protocol.
const (
	MinMSS     = 88      // Linux TCP_MIN_MSS; room for 40 bytes of options
	MaxMSS     = 65495   // an IPv4 packet of 65535 bytes
	MaxWindow  = 1 << 30 // RFC 7323 2.3
	maxScale   = 14      // likewise
	DupThresh  = 3       // RFC 5681 3.2
	defaultMSS = 536     // RFC 9293 3.7.1: of a peer that states none
)

// Notes lists the profile's values with their source, by the keys of scenarios where they
// have one.
func (c *Config) Notes() []record.Note {
	src := map[string]string{"linux": "Linux 6.x defaults", "dctcp": "RFC 8257, Linux 6.x defaults", "reno": "RFC 5681, 6298, 6582"}[c.Name]
	if src == "" {
		src = "scenario"
	}
	exit := c.CC.HyStart
	if exit == congestion.HyStartLinux && c.CC.Algorithm != congestion.Cubic {
		exit = congestion.HyStartOff
	}
	tso := "false"
	if c.TSO > 0 {
		tso = fmt.Sprintf("true (up to %d B)", c.TSO)
	}
	pairs := [][2]string{
		{"preset", c.Name},
		{"mss", fmt.Sprintf("%d B", c.MSS)},
		{"tso", tso},
		{"cc", c.CC.Algorithm.String()},
		{"initial_window", fmt.Sprintf("%d segments", c.CC.InitialWindow)},
		{"cubic", map[bool]string{true: "linux", false: "rfc9438"}[c.CC.CubicLinux]},
		{"hystart", exit.String()},
		{"recovery", c.Recovery.String()},
		{"prr", fmt.Sprint(c.PRR)},
		{"cwr_growth", fmt.Sprint(c.CWRGrowth)},
		{"undo", fmt.Sprint(c.Undo)},
		{"ecn", c.ECN.String()},
		{"timestamps", fmt.Sprint(c.Timestamps)},
		{"window_scaling", fmt.Sprint(c.WindowScaling)},
		{"rto_initial", c.InitialRTO.String()},
		{"rto_min", c.MinRTO.String()},
		{"rto_max", c.MaxRTO.String()},
		{"delayed_ack", c.DelayedAck.String()},
		{"ack_every", fmt.Sprint(c.AckEvery)},
		{"quick_acks", fmt.Sprint(c.QuickAcks)},
		{"ack_on_growth", fmt.Sprint(c.AckOnGrowth)},
		{"ack_on_read", fmt.Sprint(c.AckOnRead)},
		{"nagle", c.Nagle.String()},
		{"pacing", fmt.Sprint(c.Pacing)},
		{"sndbuf", fmt.Sprintf("%d B to %d B", c.Send.Initial, c.Send.Max)},
		{"rcvbuf", fmt.Sprintf("%d B to %d B", c.Receive.Initial, c.Receive.Max)},
		{"time_wait", c.TimeWait.String()},
	}
	notes := make([]record.Note, len(pairs))
	for i, p := range pairs {
		notes[i] = record.Note{Key: "tcp." + p[0], Value: p[1], Source: src}
	}
	return notes
}

// FrameOverhead is the frame bytes around a TCP header and its data.
func (c *Config) FrameOverhead() int {
	n := frameLen
	if c.Tag {
		n += wire.VLANLen
	}
	if c.IPv6 {
		n += wire.IPv6More
	}
	return n
}
