package tcp

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

func TestPresets(t *testing.T) {
	for _, name := range Presets() {
		c := mustPreset(t, name)
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		for _, n := range c.Notes() {
			if n.Value == "" || n.Source == "scenario" {
				t.Errorf("%s: %+v", name, n)
			}
		}
	}
	if _, err := Preset("bsd"); err == nil || err.Error() != `tcp: unknown preset "bsd", want one of linux, reno, dctcp` {
		t.Error(err)
	}
}

// What a user can get wrong is one line that says what would be right.
func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"tcp: mss is 87, want 88 to 65495 bytes":                                        func(c *Config) { c.MSS = 87 },
		"tcp: mss is 65496, want 88 to 65495 bytes":                                     func(c *Config) { c.MSS = 65496 },
		"tcp: tso is 65536, want 0 (off) to 65535 bytes":                                func(c *Config) { c.TSO = 65536 },
		"tcp: timestamp_tick is 0s, want a positive time":                               func(c *Config) { c.TimestampTick = 0 },
		"tcp: rto_initial is 0s, want a positive time":                                  func(c *Config) { c.InitialRTO = 0 },
		"tcp: rto_min is 0s, want a positive time":                                      func(c *Config) { c.MinRTO = 0 },
		"tcp: rto_max is 100ms, want no less than rto_min and rto_initial":              func(c *Config) { c.MaxRTO = 100 * units.Millisecond },
		"tcp: syn_retries is -1, want 0 to 127":                                         func(c *Config) { c.SYNRetries = -1 },
		"tcp: retries is 128, want 0 to 127":                                            func(c *Config) { c.Retries = 128 },
		"tcp: delayed_ack is 500ms, want 0 (off) to less than 500ms (RFC 9293 3.8.6.3)": func(c *Config) { c.DelayedAck = 500 * units.Millisecond },
		"tcp: ack_every is 0, want at least 1":                                          func(c *Config) { c.AckEvery = 0 },
		"tcp: quick_acks is -1, want 0 or more":                                         func(c *Config) { c.QuickAcks = -1 },
		"tcp: max_ack_delay is -1ps, want 0 or a positive time":                         func(c *Config) { c.MaxAckDelay = -1 },
		"tcp: probe_slack is -1ps, want 0 or a positive time":                           func(c *Config) { c.ProbeSlack = -1 },
		"tcp: pacing_ss is 0, want a percentage of at least 1":                          func(c *Config) { c.PacingSS = 0 },
		"tcp: pacing_ca is 0, want a percentage of at least 1":                          func(c *Config) { c.PacingCA = 0 },
		"tcp: sndbuf at first is 0, want at least 1 byte":                               func(c *Config) { c.Send.Initial = 0 },
		"tcp: sndbuf is 1, want no less than the initial size":                          func(c *Config) { c.Send.Max = 1 },
		"tcp: rcvbuf at first is 0, want at least 1 byte":                               func(c *Config) { c.Receive.Initial = 0 },
		"tcp: rcvbuf is 1, want no less than the initial size":                          func(c *Config) { c.Receive.Max = 1 },
		"tcp: rcvbuf is 1073741825, want at most 1 GiB (RFC 7323 2.3)":                  func(c *Config) { c.Receive.Max = 1<<30 + 1 },
		"tcp: sndbuf is 1073741825, want at most 1 GiB":                                 func(c *Config) { c.Send.Max = 1<<30 + 1 },
		"tcp: time_wait is -1ps, want 0 or a positive time":                             func(c *Config) { c.TimeWait = -1 },
		"tcp: ecn is off, want dctcp, which the congestion control dctcp needs":         func(c *Config) { c.CC.Algorithm = congestion.DCTCP },
		"congestion control: initial_window is 0, want 1 to 10000 segments":             func(c *Config) { c.CC.InitialWindow = 0 },
		"congestion control: abc_limit is -1, want 0 (none) or a number of segments":    func(c *Config) { c.CC.ABCLimit = -1 },
	} {
		c := mustPreset(t, "linux")
		change(&c)
		if err := c.Validate(); err == nil || err.Error() != want || strings.Contains(want, "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The names of what Poll says, of states and of timers are there and differ.
// What is shown of a preset has the keys that scenarios take, but for what only presets set.
func TestNotesHaveTheKeysOfScenarios(t *testing.T) {
	cfg := mustPreset(t, "linux")
	got := map[string]string{}
	for _, n := range cfg.Notes() {
		got[n.Key] = n.Value
	}
	for key, value := range map[string]string{"tcp.cc": "cubic", "tcp.cubic": "linux", "tcp.tso": "true (up to 65535 B)", "tcp.rto_initial": "1s",
		"tcp.rto_min": "200ms", "tcp.rto_max": "120s", "tcp.sndbuf": "87040 B to 4194304 B", "tcp.rcvbuf": "65535 B to 3145728 B"} {
		if got[key] != value {
			t.Errorf("%s is %q, want %q", key, got[key], value)
		}
	}
}

// Before the handshake the segment is what this side would send.
func TestInfoBeforeTheHandshake(t *testing.T) {
	cfg := mustPreset(t, "linux")
	var c Conn
	c.Init(&cfg, packet.Packet{})
	c.Open(0, 1)
	if got := c.Info().MSS; got != 1448 {
		t.Errorf("MSS %d, want 1448", got)
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	add := func(s string) {
		if s == "" || seen[s] {
			t.Errorf("name %q is empty or there already", s)
		}
		seen[s] = true
	}
	for s := range numStates {
		add(s.String())
	}
	for r := range numReasons {
		add(r.String())
	}
	for k := timerNone; k <= timerTimeWait; k++ {
		add("timer " + k.String())
	}
	for s := caOpen; s <= caLoss; s++ {
		add("ca " + s.String())
	}
}

// RFC 3390, 1: min(4 MSS, max(2 MSS, 4380 bytes)).
func TestInitialWindow3390(t *testing.T) {
	for mss, want := range map[int]int{536: 4, 1095: 4, 1096: 3, 1460: 3, 2190: 2, 8960: 2, 65495: 2} {
		if got := InitialWindow3390(mss); got != want {
			t.Errorf("MSS %d: %d segments, want %d", mss, got, want)
		}
	}
}
