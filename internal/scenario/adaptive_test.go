package scenario

import (
	"testing"

	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
)

// What adaptive_timeout and slow_restart may say; a host's keys change the nic
// section's, and off is off.
func TestAdaptiveKeys(t *testing.T) {
	whole := rdma.DefaultAdaptiveTimeout()
	for _, c := range []struct {
		text     string
		adaptive rdma.AdaptiveTimeout
		slow     rdma.SlowRestart
	}{
		{"", rdma.AdaptiveTimeout{}, rdma.SlowRestart{}},
		{"nic: {adaptive_timeout: true, slow_restart: true}\n", whole, rdma.SlowRestart{On: true}},
		{"nic: {adaptive_timeout: false, slow_restart: false}\n", rdma.AdaptiveTimeout{}, rdma.SlowRestart{}},
		{"nic: {adaptive_timeout: {min: 128us, spread: 3, retries: 2, decrease: reset}, slow_restart: {idle: 1ms}}\n",
			rdma.AdaptiveTimeout{Min: 128 * units.Microsecond, Spread: 3, Retries: 2}, rdma.SlowRestart{On: true, Idle: units.Millisecond}},
		{"nic: {adaptive_timeout: true, timeout: 8}\n", rdma.AdaptiveTimeout{Min: rdma.TimeoutCode(8), Spread: 1, Retries: 1, Decrease: 2}, rdma.SlowRestart{}},
		{"nic: {adaptive_timeout: true, recovery: irn}\n", rdma.AdaptiveTimeout{}, rdma.SlowRestart{}},
		{"nic: {adaptive_timeout: {decrease: quarter}}\n", rdma.AdaptiveTimeout{Min: whole.Min, Spread: 1, Retries: 1, Decrease: 4}, rdma.SlowRestart{}},
		{"nic: {adaptive_timeout: {min: 8us}, slow_restart: true}\nhosts: {h0: {adaptive_timeout: false, slow_restart: false}}\n", rdma.AdaptiveTimeout{}, rdma.SlowRestart{}},
		{"hosts: {h0: {adaptive_timeout: {min: 8us}}}\n", rdma.AdaptiveTimeout{Min: 8 * units.Microsecond, Spread: 1, Retries: 1, Decrease: 2}, rdma.SlowRestart{}},
	} {
		v := parse(t, base+c.text)
		n, _ := v.Graph.NodeByName("h0")
		if got := v.Transports[v.NICs[n].Transport]; got.Adaptive != c.adaptive || got.SlowRestart != c.slow {
			t.Errorf("%q: %+v and %+v, want %+v and %+v", c.text, got.Adaptive, got.SlowRestart, c.adaptive, c.slow)
		}
	}
}

// Each number of the two stands among the parameters: the scenario's own as such, the
// others with their source.
func TestAdaptiveNotes(t *testing.T) {
	v := parse(t, base+"nic: {adaptive_timeout: {min: 128us}, slow_restart: {idle: 1ms}}\n")
	got := map[string][2]string{}
	for _, n := range v.Notes {
		got[n.Key] = [2]string{n.Value, n.Source}
	}
	for key, want := range map[string][2]string{
		"transport.adaptive_timeout.min":      {"128us", fromScenario},
		"transport.adaptive_timeout.retries":  {"1", "as in Lumina, SIGCOMM 2023 (to be confirmed)"},
		"transport.adaptive_timeout.decrease": {"to 1/2", "assumed"},
		"transport.slow_restart.window":       {"1 packet after a timeout", "RFC 5681; NVIDIA publishes no rule"},
		"transport.slow_restart.idle":         {"1ms", fromScenario},
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
	if n := parse(t, base).Notes; len(n) >= len(v.Notes) {
		t.Errorf("%d notes without either, %d with both", len(n), len(v.Notes))
	}
}
