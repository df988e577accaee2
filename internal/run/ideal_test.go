package run

import (
	"context"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/ideal"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// OffIdeal holds messages of a plan, at most so many of different kinds, against runs of each alone.
// It returns how many the formula has a time for, and what is wrong with the first that is off by
// more than 1 %.
func OffIdeal(w *build.World, most int) (held int, wrong string) {
	type kind struct {
		conn  int
		verb  workload.Verb
		bytes units.Bytes
	}
	v, f, seen := w.Valid, ideal.New(w), map[kind]bool{}
	for _, m := range v.Plan.All() {
		k := kind{m.Conn, m.Verb, m.Bytes}
		if seen[k] || len(seen) >= most {
			continue
		}
		seen[k] = true
		got, ok := f.Time(m)
		if !ok {
			continue
		}
		held++
		want, _ := alone(context.Background(), v, m)
		if off := float64(got)/float64(want) - 1; off > 0.01 || off < -0.01 {
			return held, m.Verb.String() + " of " + m.Bytes.String() + ", " + v.Graph.EndpointName(v.Plan.Conns[m.Conn].Src) +
				" to " + v.Graph.EndpointName(v.Plan.Conns[m.Conn].Dst) + ": " + got.String() + ", alone " + want.String()
		}
	}
	return held, ""
}

// What a controller has packets carry is in the ideal time once: a message alone takes no less than that.
func TestIdealWithTelemetry(t *testing.T) {
	t.Parallel()
	for _, control := range []string{"hpcc", "swift", "timely", "dctcp"} {
		for _, mtu := range []string{"256", "1024"} {
			text := "name: one\nnoise: off\nmtu: " + mtu + "\ncontroller: " + control +
				"\ntopology: {star: {hosts: 3, link: {rate: 100Gbps, delay: 1us}}}\nworkload:\n  - flow: {from: h0, to: h1, size: 48000B}\n"
			r, v, err := Do(context.Background(), Options{Text: []byte(text), Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			w, err := build.New(v, build.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range v.Plan.All() {
				ideal, _ := ideal.New(w).Time(m)
				if got := r.Messages[0].CompletionPS; ideal <= 0 || got < ideal*99/100 || control != "hpcc" && got > ideal*101/100 {
					t.Errorf("%s, MTU %s: completion %d ps, ideal %d ps", control, mtu, got, ideal)
				}
			}
		}
	}
}

// On every shipped scenario what the formula says of a message is what a run of it alone takes.
func TestIdealOfScenarios(t *testing.T) {
	t.Parallel()
	all := 0
	for _, s := range List() {
		v, err := Load(Options{Scenario: s.Name})
		if err != nil {
			t.Fatal(err)
		}
		w, err := build.New(v, build.Options{})
		if err != nil {
			t.Fatal(err)
		}
		n, wrong := OffIdeal(w, 4)
		if wrong != "" {
			t.Errorf("%s: %s", s.Name, wrong)
		}
		all += n
	}
	if all < 50 {
		t.Errorf("the formula has times for %d messages; it should have them for most", all)
	}
}

// A WRITE of 10,000 B in packets of 4096 B from host to host through one switch at 100 Gb/s, each
// cable of 25 ns, the switch's pipeline of 300 ns: three packets of 82 B (IPv4, BTH, ICRC, FCS,
// preamble and gap; 16 B more of the first, which has the RETH) leave one after the other, the last
// also crosses the second cable, and an ACK of 86 B comes back by both.
func TestIdealByHand(t *testing.T) {
	const text = "topology: {star: {hosts: 2, link: 100Gbps, length: 5m}}\nswitch: {latency: 300ns}\nnoise: off\n" +
		"workload: [{flow: {from: h0, to: h1, size: 10000B}}]\n"
	ps := func(bytes int) units.Time { return units.Time(bytes * 80) } // at 100 Gb/s
	data := ps(82+16+4096) + ps(82+4096) + ps(82+1808) + 2*25*units.Nanosecond + 300*units.Nanosecond
	// The second cable is busy with the packets before: the last begins when it is there.
	want := data + ps(82+1808) + 2*ps(86) + 2*25*units.Nanosecond + 300*units.Nanosecond
	// The second packet, a full one, still crosses the second cable when the last is there.
	// and it waited there for the first, which is longer by its RETH.
	want += ps(82+4096) - ps(82+1808) + ps(16)
	r, _, err := Do(context.Background(), Options{Scenario: "s", Text: []byte(text), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := &r.Messages[0]
	if m.IdealPS != want || m.CompletionPS != want || metrics.SlowdownMilli(m) != 1000 {
		t.Errorf("ideal %v, completion %v; want %v", m.IdealPS, m.CompletionPS, want)
	}
}
