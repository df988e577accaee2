package hopscope_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope"
	"github.com/hopscope/hopscope/command"
	"github.com/hopscope/hopscope/conformance"
)

// twoWays has a leaf that may take two spines.
const twoWays = `
name: two-ways
stack: rocev2-pfc-only
noise: off
routing: %s
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 100Gbps}}
workload:
  - flow: {from: h0, to: h2, size: 1MB}
`

// alternate takes the ports in turn, each for Run packets.
type alternate struct{ Run int }

func (alternate) String() string                { return "alternate" }
func (alternate) KeepsOrder() bool              { return false }
func (alternate) Mechanism() hopscope.Mechanism { return hopscope.Spraying }
func (a alternate) New(int, *hopscope.Random) hopscope.Balancer {
	return &alternating{run: a.Run}
}

type alternating struct{ run, sent int }

func (a *alternating) Choose(_ hopscope.Arrival, ports hopscope.Ports) int {
	a.sent++
	return (a.sent - 1) / a.run % ports.Len()
}

// alternateKind declares it.
func alternateKind() hopscope.BalancerKind {
	return hopscope.BalancerKind{Name: "alternate", Text: "they take the ports in turn",
		Make: func() ([]hopscope.Param, func() hopscope.Balancing) {
			a := alternate{Run: 1}
			return []hopscope.Param{{Name: "run", Text: "How many follow each other.", Source: "this test", Min: 1, Max: 100, Value: &a.Run}},
				func() hopscope.Balancing { return a }
		}}
}

// A way of somebody else's to balance load runs from a scenario, with its parameter; each spine gets half.
func TestOwnBalancer(t *testing.T) {
	t.Parallel()
	lib, err := hopscope.New(hopscope.WithBalancers(alternateKind()))
	if err != nil {
		t.Fatal(err)
	}
	for _, routing := range []string{"alternate", "{alternate: {run: 7}}"} {
		s, err := lib.Parse("two-ways.yaml", fmt.Appendf(nil, twoWays, routing))
		if err != nil {
			t.Fatal(err)
		}
		var first []byte
		for _, workers := range []int{1, 4} {
			r, err := s.Run(context.Background(), hopscope.Workers(workers))
			if err != nil {
				t.Fatal(err)
			}
			var sent []int64 // of 245 packets of 4 KB
			for i := range r.Ports {
				if p := &r.Ports[i]; p.Node == "leaf1" && strings.HasPrefix(p.Peer.Node, "spine") {
					sent = append(sent, p.TxPackets)
				}
			}
			if len(sent) != 2 || sent[0]-sent[1] > 7 || sent[1]-sent[0] > 7 || sent[0]+sent[1] < 245 {
				t.Errorf("%s: %v packets by the two spines", routing, sent)
			}
			if a := r.Answer(hopscope.Rerouted); !a.Happened || a.Mechanisms[0].Mechanism != hopscope.Spraying {
				t.Errorf("%s: rerouted: %+v", routing, a)
			}
			var out bytes.Buffer
			if err := r.WriteJSON(&out); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = out.Bytes()
			} else if !bytes.Equal(first, out.Bytes()) {
				t.Errorf("%s: results differ with %d workers", routing, workers)
			}
		}
		if !strings.Contains(fmt.Sprint(s.Parameters()), "routing.alternate.run") {
			t.Errorf("%s: parameters %v", routing, s.Parameters())
		}
	}
	other, _ := hopscope.New()
	if _, err := other.Parse("s.yaml", fmt.Appendf(nil, twoWays, "alternate")); err == nil || !strings.Contains(err.Error(), `s.yaml:5:10: routing: "alternate" is not known`) {
		t.Errorf("another library: %v", err)
	}
	_, err = lib.Parse("s.yaml", fmt.Appendf(nil, twoWays, "{alternate: {run: 101}}"))
	var bad *hopscope.ScenarioError
	if !errors.As(err, &bad) || bad.Line != 5 || !strings.Contains(bad.Msg, `"101" is not a whole number from 1 to 100`) {
		t.Errorf("run: 101: %v", err)
	}
}

// The command line of a library has its algorithms: in scenarios, --set, show, schema and check.
func TestOwnCommandLine(t *testing.T) {
	t.Parallel()
	lib, err := hopscope.New(hopscope.WithBalancers(alternateKind()))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "two-ways.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, twoWays, "ecmp"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"run " + file + " --set routing.alternate.run=3", "spraying"},
		{"run " + file + " --set routing=alternate", "spraying"},
		{"check " + file + " --set routing=alternate", "ok"},
		{"show routing.alternate.run", "How many follow each other"},
		{"schema", "How many follow each other"},
		{"compare " + file + " --stacks rocev2,infiniband --set routing=alternate", "spraying"},
	} {
		var out, errs bytes.Buffer
		if code := command.Main(context.Background(), strings.Fields(c.args), &out, &errs, lib); code != 0 || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: status %d, %s%s", c.args, code, errs.String(), out.String())
		}
	}
}

// What is not in order is refused in one line.
func TestBadBalancers(t *testing.T) {
	t.Parallel()
	ok := alternateKind()
	with := func(change func(*hopscope.BalancerKind)) hopscope.BalancerKind { k := ok; change(&k); return k }
	for want, kinds := range map[string][]hopscope.BalancerKind{
		"balancer alternate: there is one of that name already": {ok, ok},
		"balancer spray: there is one of that name already":     {with(func(k *hopscope.BalancerKind) { k.Name = "spray" })},
		"balancer ecmp: there is one of that name already":      {with(func(k *hopscope.BalancerKind) { k.Name = "ecmp" })},
		`balancer "My Spray": a name has small letters`:         {with(func(k *hopscope.BalancerKind) { k.Name = "My Spray" })},
		"balancer other: what it makes must have that name":     {with(func(k *hopscope.BalancerKind) { k.Name = "other" })},
		"balancer alternate: it needs a text and Make":          {with(func(k *hopscope.BalancerKind) { k.Text = "" })},
		"balancer alternate: parameter run: its default, 1, is ": {with(func(k *hopscope.BalancerKind) {
			k.Make = func() ([]hopscope.Param, func() hopscope.Balancing) {
				p, of := ok.Make()
				p[0].Min = 2
				return p, of
			}
		})},
		`balancer "null": a name has`:                  {with(func(k *hopscope.BalancerKind) { k.Name = "null" })},
		"balancer alternate panicked in Make: oh":      {with(func(k *hopscope.BalancerKind) { k.Make = panics })},
		"balancer alternate: Make returns no function": {with(func(k *hopscope.BalancerKind) { k.Make = makesNothing })},
	} {
		if _, err := hopscope.New(hopscope.WithBalancers(kinds...)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func panics() ([]hopscope.Param, func() hopscope.Balancing)       { panic("oh") }
func makesNothing() ([]hopscope.Param, func() hopscope.Balancing) { return nil, nil }

// A balancing whose New panics, or returns nothing, ends the run with its name, wherever the world is built.
func TestBalancersThatDoNotStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   hopscope.Balancing
		want string
	}{
		{startsBadly{panics: true}, "balancer alternate panicked in New: oh"},
		{startsBadly{}, "balancer alternate has no balancer: New returned nil"},
	} {
		k := alternateKind()
		k.Make = func() ([]hopscope.Param, func() hopscope.Balancing) {
			return nil, func() hopscope.Balancing { return c.of }
		}
		lib, err := hopscope.New(hopscope.WithBalancers(k))
		if err != nil {
			t.Fatal(err)
		}
		s, err := lib.Parse("two-ways.yaml", fmt.Appendf(nil, twoWays, "alternate"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		if _, err := s.Run(ctx); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
		stop()
	}
}

type startsBadly struct {
	alternate
	panics bool
}

func (s startsBadly) New(int, *hopscope.Random) hopscope.Balancer {
	if s.panics {
		panic("oh")
	}
	return nil
}

// wild chooses a port that there is not.
func wild() hopscope.BalancerKind {
	return hopscope.BalancerKind{Name: "wild", Text: "they take no port that there is",
		Make: func() ([]hopscope.Param, func() hopscope.Balancing) {
			return nil, func() hopscope.Balancing { return wildly{} }
		}}
}

type wildly struct{ alternate }

func (wildly) String() string                                      { return "wild" }
func (w wildly) New(int, *hopscope.Random) hopscope.Balancer       { return w }
func (wildly) Choose(_ hopscope.Arrival, ports hopscope.Ports) int { return ports.Len() }

// A balancer that chooses a port that there is not ends the run with its name, whoever runs it.
func TestBalancersAreStopped(t *testing.T) {
	t.Parallel()
	lib, err := hopscope.New(hopscope.WithBalancers(wild()))
	if err != nil {
		t.Fatal(err)
	}
	s, err := lib.Parse("two-ways.yaml", fmt.Appendf(nil, twoWays, "wild"))
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 4} {
		if _, err := s.Run(context.Background(), hopscope.Workers(workers)); err == nil || err.Error() != "balancer wild chose port 2 of 2" {
			t.Errorf("a port that there is not: %v", err)
		}
	}
}

// hopscope's own controllers stand the test that it exports.
func TestOwnStandConformance(t *testing.T) {
	for _, a := range hopscope.Algorithms() {
		a.Name += "-again"
		conformance.Controller(t, a)
	}
}

// An observer sees the queue that the record has, and changes nothing.
func TestObserve(t *testing.T) {
	t.Parallel()
	lib, _ := hopscope.New()
	s, err := lib.Load("incast-4to1", hopscope.Set("noise", "off"), hopscope.Seed(3))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	last, most, calls := hopscope.Time(-1), int64(0), 0
	r, err := s.Run(context.Background(), hopscope.Observe(hopscope.Microsecond, func(now hopscope.Time, curves []hopscope.Curve, values []int64) {
		if calls++; now <= last || len(curves) != len(values) {
			t.Fatalf("at %d after %d: %d values of %d curves", now, last, len(values), len(curves))
		}
		last = now
		for i := range curves {
			if curves[i].Quantity == hopscope.QueueBytes {
				most = max(most, values[i])
			}
		}
	}, hopscope.QueueBytes, hopscope.SendRate))
	if err != nil {
		t.Fatal(err)
	}
	peak := int64(0)
	for i := range r.Ports {
		peak = max(peak, r.Ports[i].PeakQueueBytes)
	}
	if calls < 100 || most > peak || most < peak*8/10 {
		t.Errorf("%d samples, the longest queue %d of %d", calls, most, peak)
	}
	if r.Fingerprint != plain.Fingerprint {
		t.Errorf("fingerprint %s, without an observer %s", r.Fingerprint, plain.Fingerprint)
	}
	if _, err := s.Run(context.Background(), hopscope.Observe(1, nil, hopscope.QueueBytes)); err == nil {
		t.Error("a sample every picosecond is taken")
	}
}

// A run that its context ends returns what there is.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	lib, _ := hopscope.New()
	s, err := lib.Load("incast-4to1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r, err := s.Run(ctx, hopscope.Observe(hopscope.Microsecond, func(now hopscope.Time, _ []hopscope.Curve, _ []int64) {
		if now > 20*hopscope.Microsecond {
			stop()
		}
	}, hopscope.QueueBytes))
	if err != nil || r.Stopped != "interrupted" || r.OpenMessages != 4 {
		t.Errorf("%v %+v", err, r)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "interrupted") {
		t.Errorf("%v %s", err, text.String())
	}
}

func ExampleLibrary_Load() {
	lib, _ := hopscope.New()
	s, err := lib.Load("incast-4to1", hopscope.Set("noise", "off"), hopscope.Stack("rocev2-pfc-only"))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, _ := s.Run(context.Background())
	held := r.Answer(hopscope.Held)
	fmt.Println(len(r.Messages), "messages;", held.First.Actor, "was first to be held")
	// Output:
	// 4 messages; h3:1 prio 3 was first to be held
}
