package congestion

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// Every algorithm of the registry declares itself as the docs, the schema and the reader of scenarios
// need it, with each of its presets.
func TestAlgorithmsAreDeclared(t *testing.T) {
	r, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range r.All() {
		presets := append([]string{""}, a.PresetNames()...)
		for _, preset := range presets {
			c := a.NewControl(preset)
			if key, err := c.Validate(); err != nil {
				t.Errorf("%s %s: %s: %v", a.Name, preset, key, err)
			}
			seen := map[string]bool{}
			for _, p := range c.Parameters() {
				if err := p.Check(); err != nil {
					t.Errorf("%s %s: %v", a.Name, preset, err)
				}
				if seen[p.Name] {
					t.Errorf("%s declares %s twice", a.Name, p.Name)
				}
				seen[p.Name] = true
			}
		}
		if a.Title == "" || a.Text == "" || a.Source == "" {
			t.Errorf("%s lacks a title, a text or a source", a.Name)
		}
	}
}

// Two algorithms of one name, and names that no scenario can write, are refused in one line.
func TestRegistryRefuses(t *testing.T) {
	own := hpcc()
	for _, c := range []struct{ name, want string }{
		{"hpcc", "controller hpcc: there is one of that name already; give another name"},
		{"dcqcn", "controller dcqcn: there is one of that name already; give another name"},
		{"My Control", `controller "My Control": a name has small letters, digits and hyphens, from a letter on, such as my-control`},
	} {
		own.Name = c.name
		if _, err := NewRegistry(own); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	own.Name, own.New = "empty", nil
	if _, err := NewRegistry(own); err == nil || !strings.Contains(err.Error(), "give New") {
		t.Errorf("got %v for an algorithm without settings", err)
	}
}

// A value out of range, and values that do not go together, are named with what is right.
func TestControlRefuses(t *testing.T) {
	a := timely()
	for _, c := range []struct {
		key   string
		value float64
		want  string
	}{
		{"alpha", 2, "timely: alpha is 2, want 0.001 to 1"},
		{"high", float64(40 * units.Microsecond), "timely: high 40us is not above low 50us; give a longer time"},
	} {
		x := a.NewControl("")
		x.Set(c.key, c.value)
		if key, err := x.Validate(); err == nil || err.Error() != c.want || key != c.key {
			t.Errorf("%s %g: got %s: %v, want %s", c.key, c.value, key, err, c.want)
		}
	}
}

// TestHopRecord: what a switch writes is read again, in units, and over the wraps of both counters
// (controllers.md 1.1: 16.78 ms, 10.74 ms at 100 Gb/s and 2.68 ms at 400 Gb/s).
func TestHopRecord(t *testing.T) {
	code, _ := INTRateCode(100 * units.Gbps)
	a := NewHopRecord(16*units.Millisecond, 134_000_000, 80_000, code, 1)
	b := NewHopRecord(17*units.Millisecond, 135_000_000, 40_079, code, 1)
	if a.Rate() != 100*units.Gbps || a.Queue(1) != 80_000 || b.Queue(1) != 40_000 {
		t.Errorf("rate %v, queues %d and %d", a.Rate(), a.Queue(1), b.Queue(1))
	}
	dt, sent := b.Since(a, 1)
	if dt != units.Millisecond || sent < 1_000_000-128 || sent > 1_000_000+128 {
		t.Errorf("%v and %d bytes between, want 1 ms and 1,000,000", dt, sent)
	}
	for _, c := range []struct {
		rate units.Rate
		want float64 // ms
	}{{100 * units.Gbps, 10.74}, {400 * units.Gbps, 2.68}, {25 * units.Gbps, 16.78}} {
		code, _ := INTRateCode(c.rate)
		if got := float64(NewHopRecord(0, 0, 0, code, 1).Fresh(1)) / float64(units.Millisecond); got < c.want-.005 || got > c.want+.005 {
			t.Errorf("%v: fresh for %.3f ms, want %.2f", c.rate, got, c.want)
		}
	}
}
