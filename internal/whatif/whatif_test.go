package whatif_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/whatif"
)

// open runs a scenario without noise as it is.
func open(t *testing.T, text string) *whatif.Lab {
	t.Helper()
	if !strings.Contains(text, "noise:") {
		text = "noise: off\n" + text
	}
	l, err := whatif.Open(context.Background(), whatif.Source{Scenario: "test", Text: []byte(text)}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// node is the index of a node.
func node(t *testing.T, l *whatif.Lab, name string) int {
	t.Helper()
	n, ok := l.Valid.Graph.NodeByName(name)
	if !ok {
		t.Fatalf("no node %s", name)
	}
	return n
}

// TestGains: each kind of change saves what a closed form says, and what it does not touch
// stays as it was to the picosecond. gain is of message 0 and in hundredths.
func TestGains(t *testing.T) {
	star := func(n int, rest string) string {
		return fmt.Sprintf("topology: {star: {hosts: %d, link: 100Gbps}}\n%s", n, rest)
	}
	at := func(name string, kind whatif.Kind) func(*testing.T, *whatif.Lab) whatif.Change {
		return func(t *testing.T, l *whatif.Lab) whatif.Change {
			return whatif.Change{Kind: kind, Node: node(t, l, name)}
		}
	}
	port := func(name string, p int, kind whatif.Kind) func(*testing.T, *whatif.Lab) whatif.Change {
		return func(t *testing.T, l *whatif.Lab) whatif.Change {
			return whatif.Change{Kind: kind, Node: node(t, l, name), Port: p}
		}
	}
	plain := func(c whatif.Change) func(*testing.T, *whatif.Lab) whatif.Change {
		return func(*testing.T, *whatif.Lab) whatif.Change { return c }
	}
	for _, c := range []struct {
		name, text string
		change     func(*testing.T, *whatif.Lab) whatif.Change
		gain       int // hundredths, give or take 3
	}{
		// 25 of 100 Gb/s are drained: three quarters of the time.
		{"receiver", star(2, "stack: rocev2-pfc-only\nhosts: {h1: {drain_rate: 25Gbps}}\nworkload:\n  - flow: {from: h0, to: h1, size: 8MB}\n"), at("h1", whatif.Receiver), 75},
		// Four senders share a line: alone a sender takes a quarter of the time.
		{"others", star(5, "stack: rocev2-pfc-only\nworkload:\n  - incast: {from: [h0, h1, h2, h3], to: h4, size: 8MB}\n"), port("sw", 4, whatif.Others), 75},
		{"port", star(5, "stack: rocev2-pfc-only\nworkload:\n  - incast: {from: [h0, h1, h2, h3], to: h4, size: 8MB}\n"), port("sw", 4, whatif.Port), 75},
		{"workload", star(3, "stack: rocev2-pfc-only\nworkload:\n  - flow: {from: h0, to: h2, size: 8MB}\n  - flow: {from: h1, to: h2, size: 8MB}\n"), plain(whatif.Change{Kind: whatif.Entry, Entry: 1}), 50},
		{"elsewhere", star(4, "stack: rocev2-pfc-only\nworkload:\n  - flow: {from: h0, to: h1, size: 8MB}\n  - flow: {from: h2, to: h3, size: 8MB}\n"), plain(whatif.Change{Kind: whatif.Entry, Entry: 1}), 0},
		// 16 packets per round trip of 41 us, where 1 MiB is 256 packets and takes 84 us.
		{"window", "topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 10us}}}\nnic: {window: 64KiB}\nstack: rocev2-pfc-only\nworkload:\n  - flow: {from: h0, to: h1, size: 1MiB}\n", plain(whatif.Change{Kind: whatif.Window}), 100 - 100*(84+41)/(16*41)},
		// One READ of 64 KiB at a time against all 16.
		{"read depth", "topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 10us}}}\nnic: {max_rd_atomic: 1}\nstack: rocev2-pfc-only\nworkload:\n  - flow: {from: h1, to: h0, size: 64KiB, verb: read, count: 1}\n", plain(whatif.Change{Kind: whatif.ReadDepth}), 0},
		{"cables", star(2, "workload:\n  - flow: {from: h0, to: h1, size: 8MB}\n"), plain(whatif.Change{Kind: whatif.Cables}), 0},
		// Each packet is lost with a thousandth: 2,000 packets, go-back-N.
		{"loss", "topology: {star: {hosts: 2, link: {rate: 100Gbps, drop_every: 1000}}}\nworkload:\n  - flow: {from: h0, to: h1, size: 8MB}\n", plain(whatif.Change{Kind: whatif.Loss}), -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := open(t, c.text)
			o := l.Try(context.Background(), c.change(t, l))
			if why := l.Refusal(o); why != "" {
				t.Fatal(why)
			}
			got := 100 * l.Gain(o, 0)
			if c.gain < 0 {
				if got <= 0 {
					t.Errorf("gains %.2f %%", got)
				}
				return
			}
			if got < float64(c.gain)-3 || got > float64(c.gain)+3 {
				t.Errorf("gains %.2f %%, want %d", got, c.gain)
			}
			if c.name == "elsewhere" && got != 0 {
				t.Errorf("traffic that it never meets costs %.4f %%", got)
			}
		})
	}
}

// TestEarlier: without the messages before it a message keeps its identity, and is as fast as
// one alone.
func TestEarlier(t *testing.T) {
	l := open(t, "topology: {star: {hosts: 2, link: 100Gbps}}\nstack: rocev2-pfc-only\nworkload:\n  - flow: {from: h0, to: h1, size: 4MB, count: 4}\n")
	o := l.Try(context.Background(), whatif.Change{Kind: whatif.Earlier, Count: 3})
	if got := 100 * l.Gain(o, 3); got < 74 || got > 76 {
		t.Errorf("the last of four gains %.2f %%, want 75", got)
	}
	if got := l.Took(o, 0); got != 0 {
		t.Errorf("the first, which was not sent, took %v", got)
	}
}

// TestRatesWithoutCode: no port is made faster than telemetry has a code for, and one that is asked for says why not.
func TestRatesWithoutCode(t *testing.T) {
	const text = "topology: {star: {hosts: 3, link: %s}}\ncontroller: hpcc\nworkload:\n  - incast: {to: h0, size: 100KB}\n"
	for rate, want := range map[string]bool{"400Gbps": false, "25Gbps": true} { // 16 times as fast: 6.4 Tb/s, 400 Gb/s
		l, tried := open(t, fmt.Sprintf(text, rate)), false
		for _, c := range append(l.Candidates(0), l.WayPorts(0)...) {
			tried = tried || c.Kind == whatif.Port || c.Kind == whatif.Line
		}
		if tried != want {
			t.Errorf("%s: faster ports are tried: %v, want %v", rate, tried, want)
		}
		sw, _ := l.Valid.Graph.NodeByName("sw")
		o := l.Try(context.Background(), whatif.Change{Kind: whatif.Port, Node: sw})
		if (o.Err == nil) != want {
			t.Errorf("%s: %v", rate, o.Err)
		}
	}
}

// TestFailureNeverHappens: a failure is taken away as if the scenario had none.
func TestFailureNeverHappens(t *testing.T) {
	text := "topology: {star: {hosts: 2, link: 100Gbps}, links: [{between: [h1, sw], %s}]}\nworkload:\n  - flow: {from: h0, to: h1, size: 4MB}\n"
	l, whole := open(t, fmt.Sprintf(text, "down_at: 100us, up_at: 300us")), open(t, fmt.Sprintf(text, "loss: 0"))
	link := -1
	for k := range l.Valid.Graph.Links {
		if len(l.Valid.Graph.Links[k].Outages) > 0 {
			link = k
		}
	}
	o := l.Try(context.Background(), whatif.Change{Kind: whatif.Failure, Link: link})
	if a, b := l.Took(o, 0), whole.Run.Messages[0].CompletionPS; a != b {
		t.Errorf("takes %v without the failure, and %v in a scenario without it", a, b)
	}
}

// TestForbidden: what must not be taken away is tried and shown with what it costs.
func TestForbidden(t *testing.T) {
	l := open(t, "topology: {star: {hosts: 9, link: 100Gbps}}\nstack: rocev2-pfc-only\nswitch: {buffer: 2MB}\nworkload:\n  - incast: {to: h8, size: 1MB}\n")
	o := l.Try(context.Background(), whatif.Change{Kind: whatif.Pauses})
	if why := l.Refusal(o); !strings.HasPrefix(why, "drops ") {
		t.Errorf("no pauses: %q, want drops", why)
	}
}

// TestAsk: the best change comes first, nothing is tried twice, the budget is kept, and one
// worker gives what three do.
func TestAsk(t *testing.T) {
	text := "topology: {leaf_spine: {leaves: 2, hosts_per_leaf: 3, spines: 1, link: 100Gbps}}\nstack: rocev2-pfc-only\nhosts: {h3: {drain_rate: 10Gbps}}\n" +
		"workload:\n  - flow: {name: slow, from: h0, to: h3, size: 16MB}\n  - flow: {name: victim, from: h1, to: h4, size: 1MB, start: 2ms}\n"
	l := open(t, text)
	ask := func(b whatif.Budget) *whatif.Study {
		return l.Ask(context.Background(), whatif.Subject{Name: "victim", Message: 1}, nil, b, func(int, int) {})
	}
	s := ask(whatif.Budget{Runs: 20, Workers: 3})
	best := s.Rows[0]
	if i := slices.IndexFunc(s.Rows, func(r whatif.Row) bool { return len(r.Changes) == 1 && r.Changes[0].Kind == whatif.Receiver }); i < 0 || s.Rows[i].Gain < best.Gain-0.1 {
		t.Errorf("a victim of a slow receiver gains most with %q", best.Text)
	}
	if best.Gain < 0.5 {
		t.Errorf("the best change gains %.2f", best.Gain)
	}
	for i, r := range s.Rows {
		if i > 0 && r.Gain > s.Rows[i-1].Gain {
			t.Errorf("row %d gains more than the row before", i)
		}
		for _, o := range s.Rows[:i] {
			if o.Text == r.Text {
				t.Errorf("%q twice", r.Text)
			}
		}
	}
	one := ask(whatif.Budget{Runs: 20, Workers: 1})
	for i := range s.Rows {
		if s.Rows[i].Text != one.Rows[i].Text || s.Rows[i].TookPS != one.Rows[i].TookPS {
			t.Errorf("row %d: %q, %v, and with one worker %q, %v", i, s.Rows[i].Text, s.Rows[i].TookPS, one.Rows[i].Text, one.Rows[i].TookPS)
		}
	}
	few := ask(whatif.Budget{Runs: 3, Workers: 2})
	if few.Runs != 3 || len(few.Rows) != 2 || few.Left == 0 {
		t.Errorf("a budget of 3 runs made %d, with %d rows, and left %d", few.Runs, len(few.Rows), few.Left)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cut := l.Ask(ctx, whatif.Subject{Message: 1}, nil, whatif.Budget{Runs: 20, Workers: 1}, func(done, _ int) {
		if done == 2 {
			cancel()
		}
	})
	if len(cut.Rows) != 2 || cut.Left == 0 {
		t.Errorf("interrupted after two changes: %d rows, %d left", len(cut.Rows), cut.Left)
	}
}

// TestDeadlockEnds: a change that ends a deadlock gains all.
func TestDeadlockEnds(t *testing.T) {
	text := `
stack: rocev2-pfc-only
topology:
  hosts: [a, b, c]
  switches: [s0, s1, s2]
  links:
    - {between: [a, s0], rate: 100Gbps}
    - {between: [b, s1], rate: 100Gbps}
    - {between: [c, s2], rate: 100Gbps}
    - {between: [s0, s1], rate: 40Gbps}
    - {between: [s1, s2], rate: 40Gbps}
    - {between: [s2, s0], rate: 40Gbps}
switch: {buffer: 500KB}
workload:
  - flow: {name: ab, from: a, to: c, size: 2MB, path: [a, s0, s1, s2, c]}
  - flow: {name: bc, from: b, to: a, size: 2MB, path: [b, s1, s2, s0, a]}
  - flow: {name: ca, from: c, to: b, size: 2MB, path: [c, s2, s0, s1, b]}
`
	l := open(t, text)
	if l.Run.Stopped != "deadlock" {
		t.Fatalf("ends by %s", l.Run.Stopped)
	}
	s := l.Ask(context.Background(), whatif.Subject{Message: 0}, nil, whatif.Budget{Runs: 20, Workers: 2}, func(int, int) {})
	if s.TookPS != units.Never || s.Rows[0].Gain != 1 || s.Rows[0].TookPS == units.Never {
		t.Errorf("%v before; the best change: %q, %v", s.TookPS, s.Rows[0].Text, s.Rows[0].TookPS)
	}
	byTime := func(a, b whatif.Row) int { return cmp.Compare(a.TookPS, b.TookPS) }
	if !slices.IsSortedFunc(s.Rows, byTime) {
		t.Errorf("changes with which it ends are not in the order of its time: %+v", s.Rows)
	}
}

// TestOwnTraffic: an entry whose flows are all that goes through a port has no other traffic there that
// could be taken away.
func TestOwnTraffic(t *testing.T) {
	l := open(t, "stack: tcp\ntopology: {star: {hosts: 4, link: 25Gbps}}\nworkload: [incast: {to: h3, size: 500KB}]\n")
	s := whatif.Subject{Workload: "incast"}
	named, _ := l.Named(s)
	study := l.Ask(context.Background(), s, named, whatif.Budget{Runs: 20, Workers: 2}, func(int, int) {})
	for _, r := range study.Rows {
		if r.TookPS == units.Never || r.Changes[0].Kind == whatif.Others {
			t.Errorf("%s: %v, %s", r.Text, r.TookPS, r.Note)
		}
	}
}

// TestNamedPort: a host's port that a report names is taken away as a port, not with the host's cores; and
// nothing is in a row with it that would not hold the message without it.
func TestNamedPort(t *testing.T) {
	l, err := whatif.Open(context.Background(), whatif.Source{Scenario: "rail-all-to-all"}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	slowest := 0
	for i := range l.Run.Messages {
		if l.Run.Messages[i].CompletionPS > l.Run.Messages[slowest].CompletionPS {
			slowest = i
		}
	}
	claim := l.Claims(slowest)[0]
	if len(claim.Changes) != 1 || claim.Changes[0].Kind != whatif.Others {
		t.Fatalf("%s: %+v", claim.Text, claim.Changes)
	}
	if g := l.Gain(l.Try(context.Background(), claim.Changes...), slowest); g < 0.5 || claim.Next != nil {
		t.Errorf("%q, but without it %.2f of its time is saved", claim.Text, g)
	}
}

// TestTime: a time that is over before the scenario has run leaves nothing.
func TestTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	if l, err := whatif.Open(ctx, whatif.Source{Scenario: "incast-4to1"}, 1, nil); err == nil || l != nil {
		t.Errorf("%v, %v", l, err)
	}
}

// TestCures: of a circle of waits a watchdog or a lifetime is tried, which breaks it; where there is
// none, neither is.
func TestCures(t *testing.T) {
	const circle = `
topology:
  hosts: [a, b, c]
  switches: [s0, s1, s2]
  links: [{between: [a, s0], rate: 100Gbps}, {between: [b, s1], rate: 100Gbps}, {between: [c, s2], rate: 100Gbps},
    {between: [s0, s1], rate: 40Gbps}, {between: [s1, s2], rate: 40Gbps}, {between: [s2, s0], rate: 40Gbps}]
nic: {timeout: 18}
workload:
  - flow: {from: a, to: c, size: 2MB, path: [a, s0, s1, s2, c]}
  - flow: {from: b, to: a, size: 2MB, path: [b, s1, s2, s0, a]}
  - flow: {from: c, to: b, size: 2MB, path: [c, s2, s0, s1, b]}
`
	kinds := func(l *whatif.Lab) (cures []whatif.Change) {
		for _, c := range l.Candidates(0) {
			if c.Kind.Cure() {
				cures = append(cures, c)
			}
		}
		return cures
	}
	l := open(t, "stack: rocev2-pfc-only\nswitch: {buffer: 2MB, pfc: {xoff: 40KB}}\n"+circle)
	if l.Run.Stopped != "deadlock" || len(kinds(l)) != 4 {
		t.Fatalf("stopped by %s, cures %v", l.Run.Stopped, kinds(l))
	}
	for _, c := range kinds(l) {
		if o := l.Try(context.Background(), c); o.Err != nil || o.Stopped != "quiescence" {
			t.Errorf("%s: %+v", c.Text(l.Valid), o)
		} else if lossless := c.Kind == whatif.UpDown || c.Kind == whatif.SecondClass; lossless && o.Drops > 0 {
			t.Errorf("%s: %d drops", c.Text(l.Valid), o.Drops)
		}
	}
	// With a watchdog it ends, and what closes no circle is a cure all the same.
	l = open(t, "stack: rocev2-pfc-only\nswitch: {buffer: 2MB, pfc: {xoff: 40KB}, watchdog: {detection: 10ms, poll: 5ms, restoration: 10ms}}\n"+circle)
	if got := kinds(l); len(got) != 2 || got[0].Kind != whatif.UpDown || got[1].Kind != whatif.SecondClass {
		t.Errorf("with a watchdog: cures %v", got)
	}
	for _, c := range kinds(l) {
		if o := l.Try(context.Background(), c); o.Err != nil || o.Drops > 0 || l.Gain(o, 0) < 0.9 {
			t.Errorf("with a watchdog: %s: %+v", c.Text(l.Valid), o)
		}
	}
	if l = open(t, "stack: rocev2-pfc-only\n"+strings.Replace(circle, "2MB", "1KB", 3)); len(kinds(l)) != 0 {
		t.Errorf("cures of nothing: %v", kinds(l))
	}
	l = open(t, "stack: infiniband\n"+circle)
	if l.Run.Stopped != "deadlock" || len(kinds(l)) != 4 {
		t.Fatalf("with credits: stopped by %s, cures %v", l.Run.Stopped, kinds(l))
	}
	for _, c := range kinds(l) {
		if o := l.Try(context.Background(), c); o.Err != nil || o.Stopped != "quiescence" {
			t.Errorf("with credits, %s: %+v", c.Text(l.Valid), o)
		}
	}
}

// TestLifetimes: of the lifetimes that are offered against a circle of credits one ends it, whatever senders' timers and
// the input buffers; OpenSM's default outlasts the retries of the first.
func TestLifetimes(t *testing.T) {
	const circle = `
stack: infiniband
topology:
  hosts: [a, b, c, d]
  switches: [s0, s1, s2, s3]
  links: [{between: [a, s0], rate: RATE}, {between: [b, s1], rate: RATE}, {between: [c, s2], rate: RATE}, {between: [d, s3], rate: RATE},
    {between: [s0, s1], rate: RATE}, {between: [s1, s2], rate: RATE}, {between: [s2, s3], rate: RATE}, {between: [s3, s0], rate: RATE}]
nic: {timeout: TIMER}
infiniband: {buffer: ROOM}
workload:
  - flow: {from: a, to: c, size: 1MB, path: [a, s0, s1, s2, c]}
  - flow: {from: b, to: d, size: 1MB, path: [b, s1, s2, s3, d]}
  - flow: {from: c, to: a, size: 1MB, path: [c, s2, s3, s0, a]}
  - flow: {from: d, to: b, size: 1MB, path: [d, s3, s0, s1, b]}
`
	for _, set := range [][]string{{"100Gbps", "14", "128KB"}, {"100Gbps", "10", "128KB"}, {"50Gbps", "13", "64KB"}} {
		l := open(t, strings.NewReplacer("RATE", set[0], "TIMER", set[1], "ROOM", set[2]).Replace(circle))
		if l.Run.Stopped != "deadlock" {
			t.Fatalf("%v: stopped by %s", set, l.Run.Stopped)
		}
		tried, ended := 0, false
		for _, c := range l.Candidates(0) {
			if c.Kind == whatif.Lifetime {
				o := l.Try(context.Background(), c)
				tried++
				ended = ended || l.Took(o, 0) < units.Never
			}
		}
		if tried != 2 || !ended {
			t.Errorf("%v: %d lifetimes tried, and one ends it: %v", set, tried, ended)
		}
		if o := l.Try(context.Background(), whatif.Change{Kind: whatif.Lifetime, Count: 0x12}); l.Took(o, 0) < units.Never {
			t.Errorf("%v: OpenSM's default ends it, so that this test shows nothing", set)
		}
	}
}

// TestSettings: what is set wrong is set right: headroom and a map of DSCPs, without which nothing is
// dropped, and hashes that go together, without which a message is faster.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		text string
		kind whatif.Kind
	}{
		{"stack: rocev2-pfc-only\ntopology: {star: {hosts: 4, link: 100Gbps, length: 300m}}\nnic: {timeout: 5}\n" +
			"switch: {buffer: 4MB, pfc: {headroom: 40KB}}\nworkload: [incast: {to: h3, size: 2MB}]\n", whatif.Headroom},
		{"stack: rocev2-pfc-only\ntopology: {star: {hosts: 3, link: 100Gbps}}\nnic: {timeout: 5}\n" +
			"switch: {buffer: 1MB, dscp_to_priority: {26: 1}}\nworkload: [incast: {to: h2, size: 2MB}]\n", whatif.Map},
		{"topology: {star: {hosts: 2, link: 100Gbps}}\nnic: {timeout: 5, retry: 1}\nswitch: {mtu: 1500, oversize: drop}\n" +
			"workload: [flow: {from: h0, to: h1, size: 64KB}]\n", whatif.MTU},
		{"topology: {fat_tree: {k: 4, link: 100Gbps}}\nswitch: {ecmp: {hash: crc32}}\n" +
			"workload: [permutation: {size: 200KB, qps: 8}]\n", whatif.Hash},
	} {
		l := open(t, c.text)
		k := slices.IndexFunc(l.Candidates(0), func(x whatif.Change) bool { return x.Kind == c.kind })
		if k < 0 {
			t.Errorf("%s is not tried", c.kind)
			continue
		}
		o := l.Try(context.Background(), l.Candidates(0)[k])
		if c.kind == whatif.Hash {
			if slowest := func(o *whatif.Outcome) (t units.Time) {
				for i := range l.Run.Messages {
					t = max(t, l.Took(o, i))
				}
				return t
			}; slowest(o) >= slowest(l.Try(context.Background())) {
				t.Errorf("%s: %v", c.kind, slowest(o))
			}
		} else if o.Err != nil || o.Drops > 0 {
			t.Errorf("%s: %+v", c.kind, o)
		}
	}
}
