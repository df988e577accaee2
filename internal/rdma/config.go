// Package rdma holds the RDMA transport as pure state machines: queue pairs of
// the reliable connected service with the header fields, PSN arithmetic, ACK and
// NAK rules and protection checks of the InfiniBand architecture. Time is an
// argument; nothing here knows a clock, a socket or a device.
package rdma

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Recovery is what a requester sends again after a loss.
type Recovery uint8

// Recovery schemes.
const (
	GoBackN Recovery = iota // everything from the lost packet on
	GoBack0                 // the whole message (early RoCE NICs, SIGCOMM 2016)
	// SelectiveRepeat sends again what selective NAKs name; the responder keeps
	// what arrives ahead.
	SelectiveRepeat
	IRN // the same by the rules of IRN (SIGCOMM 2018)
)

func (r Recovery) String() string {
	return [...]string{"go-back-N", "go-back-0", "selective-repeat", "IRN"}[r]
}

// WindowMode limits the payload bytes a requester may have outstanding.
type WindowMode uint8

// Window modes.
const (
	WindowNone  WindowMode = iota
	WindowBytes            // a fixed number of bytes
	WindowVar              // bytes * rate / line rate, at least 1 (ns-3 VAR_WIN)
)

func (m WindowMode) String() string { return [...]string{"none", "bytes", "variable"}[m] }

// Config is a transport profile, shared by many queue pairs and read-only while
// they run.
type Config struct {
	// Name is the preset the values come from.
	Name string
	// MTU is the payload of a full packet in bytes; 1 to 65536. The IBTA path
	// MTUs are 256, 512, 1024, 2048 and 4096.
	MTU units.Bytes
	// AckEvery asks for an acknowledgement every that many packets; the last
	// packet of a message and the last one a window admits always ask. At least 1.
	AckEvery int
	// Recovery is the retransmission scheme of both halves.
	Recovery Recovery
	// Bitmap is the responder's receive bitmap in packets, 1 to 8192: how far ahead
	// of the expected packet it accepts others, and so how many a requester may
	// have outstanding. Only with SelectiveRepeat and IRN.
	Bitmap int
	// OutOfOrder has both halves expect packets in any order, as adaptive routing
	// delivers them: what comes ahead is kept and placed, and a gap is no loss, so
	// that only the timer tells of one. Only with SelectiveRepeat and IRN.
	OutOfOrder bool
	// Timeout is the retransmission timeout, 4.096 us * 2^n (IBTA Local ACK
	// Timeout); 0: none. See TimeoutCode.
	Timeout units.Time
	// TimeoutLow, when positive, is the timeout while at most LowInFlight packets
	// are in flight (IRN: 100 us, 3); Timeout holds with more.
	TimeoutLow  units.Time
	LowInFlight int
	// Adaptive, when its Min is positive, has the timer adapt; not with TimeoutLow.
	Adaptive AdaptiveTimeout
	// SlowRestart narrows the window after timeouts.
	SlowRestart SlowRestart
	// RetryCount is how often the requester retries without progress; 0 to 7.
	RetryCount uint8
	// NAKConsumesRetry makes a sequence error NAK without progress use up one of
	// RetryCount, as a timeout does.
	NAKConsumesRetry bool
	// RNRRetry is how often it retries after RNR NAKs; 0 to 6, 7: without end.
	RNRRetry uint8
	// MinRNRTimer is the responder's RNR NAK timer code, 0 to 31; see RNRTime.
	MinRNRTimer uint8
	// Window limits outstanding payload; Bytes is its size for connections that
	// do not state their own (Attrs.Window).
	Window      WindowMode
	WindowBytes units.Bytes
	// CNPOnAck lets the ACK or NAK that a CE-marked packet causes carry the
	// congestion flag in place of a CNP (ns-3).
	CNPOnAck bool
	// SendCNP lets the responder answer CE-marked packets with CNPs, if CC is set.
	SendCNP bool
	// NAKNotifies has a sequence error NAK bring a CNP along, if SendCNP.
	NAKNotifies bool
	// SilentDuplicates leaves duplicate requests unanswered (ns-3).
	SilentDuplicates bool
	// NAKInterval, when positive, repeats a sequence error NAK for the same PSN
	// when a packet ahead of it arrives that much later (ns-3: 500 us); 0: one
	// NAK, then silence until the PSN arrives.
	NAKInterval units.Time
	// TimeQuantum truncates pacing gaps to its multiples (ns-3: 1 ns); 0:
	// picoseconds, rounded up.
	TimeQuantum units.Time
	// ECT marks data packets ECN-capable, ECT(0).
	ECT bool
	// Wire gives the frame sizes.
	Wire wire.Profile
	// CC configures the reaction point; nil: none, always at the line's rate.
	CC *congestion.DCQCNParams
	// Control is the congestion control of queue pairs that run another than DCQCN; nil: none. Not
	// with CC or IBCC.
	Control *congestion.Control
	// Gap is what becomes of gaps when a controller changes the rate; not for CC and IBCC.
	Gap GapRule
	// IBCC configures InfiniBand's congestion control, of all services: a marked
	// packet (FECN) is answered by BECN, on the next acknowledgement or, where none
	// goes back, on a CNP. nil: none. Not with CC.
	IBCC *congestion.IBCCParams
}

// Presets lists the names Preset knows.
func Presets() []string { return []string{"nic", "ns3", "go-back-0", "selective-repeat", "irn"} }

// Preset returns the transport profile of that name, without congestion control.
func Preset(name string) (Config, error) {
	c := Config{Name: name, MTU: 4096, AckEvery: 1, Timeout: TimeoutCode(14), RetryCount: 7, RNRRetry: 7,
		MinRNRTimer: 12, NAKConsumesRetry: true, SendCNP: true, ECT: true, Wire: wire.Ethernet}
	switch name {
	case "nic":
	case "go-back-0":
		c.Recovery = GoBack0
		c.NAKConsumesRetry = false
	case "selective-repeat":
		c.Recovery, c.Bitmap, c.NAKConsumesRetry = SelectiveRepeat, DefaultBitmap, false
	case "irn":
		c.Recovery, c.Bitmap, c.NAKConsumesRetry = IRN, DefaultBitmap, false
		c.Timeout, c.TimeoutLow, c.LowInFlight = 320*units.Microsecond, 100*units.Microsecond, 3
	case "ns3":
		c = Config{Name: name, MTU: 1000, AckEvery: 1, RetryCount: 7, RNRRetry: 7, CNPOnAck: true, SilentDuplicates: true,
			NAKInterval: 500 * units.Microsecond, TimeQuantum: units.Nanosecond, Wire: wire.NS3}
	default:
		return Config{}, fmt.Errorf("transport: unknown preset %q, want one of %s", name, strings.Join(Presets(), ", "))
	}
	return c, nil
}

// DefaultBitmap is the receive bitmap of the presets, in packets. While a lost
// packet is sent again the oldest outstanding one stands still for two round
// trips; 512 packets of 4096 bytes cover that at 400 Gb/s and 20 us (478 by
// C * 2 RTT / packet). NIC vendors publish no size; IRN has one BDP, about 110
// packets of 1000 bytes at 40 Gb/s and 24 us, MP-RDMA 64 (models.md 5.1, 5.7).
const DefaultBitmap = 512

// Selective reports whether what is lost is sent again alone.
func (c *Config) Selective() bool { return c.Recovery == SelectiveRepeat || c.Recovery == IRN }

// TimeoutCode returns the retransmission timeout of the 5-bit Local ACK Timeout
// code n: 4.096 us * 2^n, and none for 0 (models.md 4.3). Hardware may take up
// to four times as long; this one takes exactly that.
func TimeoutCode(n uint8) units.Time {
	if n == 0 {
		return 0
	}
	return 4096 * units.Nanosecond << min(n, 31)
}

// RNRTime returns the wait that the 5-bit RNR NAK timer code n stands for
// (IBTA 9.7.5.2.8, models.md 4.3).
func RNRTime(n uint8) units.Time {
	tens := [32]units.Time{65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
		256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152}
	return tens[n&31] * 10 * units.Microsecond
}

// Validate reports the first value out of range.
func (c *Config) Validate() error {
	checks := []struct {
		bad        bool
		key, right string
		value      any
	}{
		{c.MTU < 1 || c.MTU > 65536, "mtu", "1 to 65536 bytes", c.MTU},
		{c.AckEvery < 1, "ack_every", "at least 1", c.AckEvery},
		{c.Timeout < 0, "timeout", "0 (none) or a positive time", c.Timeout},
		{c.RetryCount > 7, "retry_count", "0 to 7", c.RetryCount},
		{c.RNRRetry > 7, "rnr_retry", "0 to 7 (7: without end)", c.RNRRetry},
		{c.MinRNRTimer > 31, "min_rnr_timer", "a code from 0 to 31", c.MinRNRTimer},
		{c.Window != WindowNone && c.WindowBytes < 0, "window", "a positive size", c.WindowBytes},
		{c.Selective() && (c.Bitmap < 1 || c.Bitmap > MaxBitmap), "bitmap", "1 to 8192 packets", c.Bitmap},
		{c.TimeoutLow < 0 || c.TimeoutLow > c.Timeout, "timeout_low", "0 (none) to the timeout", c.TimeoutLow},
		{c.LowInFlight < 0, "low_in_flight", "0 or more packets", c.LowInFlight},
		{c.OutOfOrder && !c.Selective(), "out_of_order", "false, or recovery: selective-repeat or irn", c.OutOfOrder},
		{c.Adaptive.Min < 0 || c.Adaptive.Min > 0 && (c.Adaptive.Min < MinAdaptiveTimeout || c.Adaptive.Min > c.Timeout), "adaptive_timeout.min",
			"0 (not adaptive) or 4 us to the timeout", c.Adaptive.Min},
		{c.Adaptive.Min > 0 && c.TimeoutLow > 0, "adaptive_timeout", "none beside timeout_low", c.Adaptive.Min},
		{c.Adaptive.Min > 0 && (c.Adaptive.Spread < 1 || c.Adaptive.Spread > 16), "adaptive_timeout.spread", "1 to 16", c.Adaptive.Spread},
		{c.Adaptive.Min > 0 && (c.Adaptive.Retries < 1 || c.Adaptive.Retries > 16), "adaptive_timeout.retries", "1 to 16", c.Adaptive.Retries},
		{c.Adaptive.Decrease != 0 && c.Adaptive.Decrease != 2 && c.Adaptive.Decrease != 4, "adaptive_timeout.decrease", "2, 4 or 0 (to the shortest)", c.Adaptive.Decrease},
		{c.SlowRestart.Idle < 0, "slow_restart.idle", "0 (never) or a positive time", c.SlowRestart.Idle},
		{c.NAKInterval < 0, "nak_interval", "0 or a positive time", c.NAKInterval},
		{c.TimeQuantum < 0, "time_quantum", "0 or a positive time", c.TimeQuantum},
	}
	for _, k := range checks {
		if k.bad {
			return fmt.Errorf("transport: %s is %v, want %s", k.key, k.value, k.right)
		}
	}
	if c.Selective() && c.Window != WindowNone && c.WindowPackets(c.WindowBytes) > int64(c.Bitmap) {
		return fmt.Errorf("transport: bitmap is %d packets, smaller than the window of %d B; want at least %d packets of %d B",
			c.Bitmap, int64(c.WindowBytes), c.WindowPackets(c.WindowBytes), int64(c.MTU))
	}
	switch {
	case c.Control != nil && (c.CC != nil || c.IBCC != nil):
		return fmt.Errorf("transport: %s and another congestion control are both on, want one of them", c.Control.Title)
	case c.CC != nil && c.IBCC != nil:
		return fmt.Errorf("transport: DCQCN and InfiniBand's congestion control are both on, want one of them")
	case c.CC != nil:
		return c.CC.Validate()
	case c.IBCC != nil:
		return c.IBCC.Validate()
	}
	return nil
}

// WindowPackets is how many full packets a window of n bytes lets out; the last
// may overshoot it.
func (c *Config) WindowPackets(n units.Bytes) int64 { return int64((n + c.MTU - 1) / c.MTU) }

// Notes lists the profile's values with their source.
func (c *Config) Notes() []record.Note {
	src := map[string]string{"nic": "IBTA, perftest defaults", "ns3": "ns-3 RDMA simulators",
		"go-back-0": "early RoCE NICs, SIGCOMM 2016", "selective-repeat": "NVIDIA RoCE acceleration documents; perftest defaults",
		"irn": "IRN, SIGCOMM 2018; perftest defaults"}[c.Name]
	if src == "" {
		src = "scenario"
	}
	pairs := [][2]string{
		{"preset", c.Name},
		{"mtu", fmt.Sprintf("%d B", int64(c.MTU))},
		{"ack_every", strconv.Itoa(c.AckEvery)},
		{"recovery", c.Recovery.String()},
		{"timeout", durationText(c.Timeout)},
		{"retry_count", strconv.Itoa(int(c.RetryCount))},
		{"nak_consumes_retry", strconv.FormatBool(c.NAKConsumesRetry)},
		{"rnr_retry", retryText(c.RNRRetry)},
		{"min_rnr_timer", fmt.Sprintf("%d (%s)", c.MinRNRTimer, durationText(RNRTime(c.MinRNRTimer)))},
		{"window", c.Window.String()},
		{"window_bytes", strconv.FormatInt(int64(c.WindowBytes), 10)},
		{"cnp_on_ack", strconv.FormatBool(c.CNPOnAck)},
		{"send_cnp", strconv.FormatBool(c.SendCNP)},
		{"silent_duplicates", strconv.FormatBool(c.SilentDuplicates)},
		{"nak_interval", durationText(c.NAKInterval)},
		{"time_quantum", durationText(c.TimeQuantum)},
		{"ect", strconv.FormatBool(c.ECT)},
	}
	if c.Selective() {
		pairs = append(pairs, [2]string{"bitmap", fmt.Sprintf("%d packets", c.Bitmap)})
		if c.OutOfOrder {
			pairs = append(pairs, [2]string{"out_of_order", "true"})
		}
	}
	if c.TimeoutLow > 0 {
		pairs = append(pairs, [2]string{"timeout_low", fmt.Sprintf("%s with at most %d packets in flight", durationText(c.TimeoutLow), c.LowInFlight)})
	}
	notes := make([]record.Note, len(pairs))
	for i, p := range pairs {
		notes[i] = record.Note{Key: "transport." + p[0], Value: p[1], Source: src}
		if p[0] == "bitmap" {
			notes[i].Source = "assumed: two round trips of 20 us at 400 Gb/s, or the window"
		}
	}
	return append(notes, c.adaptiveNotes()...)
}

func retryText(n uint8) string {
	if n == 7 {
		return "without end"
	}
	return strconv.Itoa(int(n))
}

// durationText prints a time exactly.
func durationText(t units.Time) string {
	if t == 0 {
		return "none"
	}
	return t.String()
}
