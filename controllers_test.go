package hopscope_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope"
)

// aimd halves its rate when a round trip is longer than Target, and else adds to it.
type aimd struct {
	Target hopscope.Time
	Bad    string // what it does wrong
}

func (a *aimd) Parameters() []hopscope.Param {
	return []hopscope.Param{{Name: "target", Value: &a.Target, Min: 1e6, Max: 1e9, Text: "Round trip.", Source: "this test"}}
}
func (a *aimd) Check() (key, message string) { return "", "" }
func (a *aimd) Needs() hopscope.Needs        { return hopscope.Needs{Stamps: true, EveryAck: true} }
func (a *aimd) Start(l *hopscope.Link) hopscope.RateController {
	return &aimdFlow{p: a, line: l.Line, rate: l.Initial}
}

type aimdFlow struct {
	p          *aimd
	line, rate hopscope.Rate
	next       uint64
	cause      hopscope.Cause
	hoard      [][]byte
}

func (c *aimdFlow) OnSend(*hopscope.Sending) {}

func (c *aimdFlow) OnFeedback(f *hopscope.Feedback) {
	switch {
	case c.p.Bad == "panics" && f.Acked > 100_000:
		c.hoard[1000] = nil
	case c.p.Bad == "hoards":
		c.hoard = append(c.hoard, make([]byte, 10_000))
	}
	if f.Kind != hopscope.Acked || f.Acked <= c.next {
		return
	}
	c.next = f.Sent
	c.rate, c.cause = min(c.line, c.rate+c.line/100), hopscope.ByProgress
	if f.Stamps.RTT(f.Now) > c.p.Target {
		c.rate, c.cause = max(c.rate/2, c.line/1000), hopscope.ByDelay
	}
}

func (c *aimdFlow) Decide(now hopscope.Time) hopscope.Decision {
	d := hopscope.Decision{Rate: c.rate, Again: hopscope.Never, Cause: c.cause}
	if c.next <= 100_000 {
		return d
	}
	switch c.p.Bad {
	case "past":
		d.Again = now - 1
	case "zeno":
		d.Again = now + 1
	case "still":
		d.Rate = 0
	case "backward":
		d.Window = -1
	case "waits":
		d.Gap = hopscope.Never
	case "cause":
		d.Cause = 77
	}
	return d
}

func ownControl(name, bad string) hopscope.Algorithm {
	return hopscope.Algorithm{Name: name, Title: "AIMD", Text: "Halves its rate at long round trips.", Source: "this test",
		New: func(string) hopscope.Settings { return &aimd{Target: 20e6, Bad: bad} }}
}

const threeToOne = `
name: three-to-one
noise: off
controller: %s
topology: {star: {hosts: 4, link: 100Gbps, delay: 1us}}
workload:
  - incast: {to: h0, size: 4MB}
`

// A controller of somebody else's runs from a scenario, with its parameter, and holds the queue down.
func TestOwnController(t *testing.T) {
	t.Parallel()
	lib, err := hopscope.New(hopscope.WithControllers(ownControl("aimd", "")))
	if err != nil {
		t.Fatal(err)
	}
	var peaks []int64
	for _, target := range []string{"10us", "100us"} {
		s, err := lib.Parse("x.yaml", fmt.Appendf(nil, threeToOne, "{aimd: {target: "+target+"}}"))
		if err != nil {
			t.Fatal(err)
		}
		var first []hopscope.Time
		for _, workers := range []int{1, 4} {
			r, err := s.Run(context.Background(), hopscope.Workers(workers))
			if err != nil {
				t.Fatal(err)
			}
			for i := range r.Messages {
				switch at := r.Messages[i].CompletionPS; {
				case workers == 1:
					first = append(first, at)
				case at != first[i]:
					t.Errorf("message %d completes at %v with 4 workers, at %v with one", i, at, first[i])
				}
			}
			peak := int64(0)
			for i := range r.Ports {
				if p := &r.Ports[i]; p.Node == "sw" && p.Class == 3 {
					peak = max(peak, p.PeakQueueBytes)
				}
			}
			peaks = append(peaks, peak)
		}
	}
	if peaks[0] != peaks[1] || peaks[2] < 2*peaks[0] {
		t.Errorf("peaks of the queue are %d B: the target of 100us lets it grow", peaks)
	}
}

// A controller that does what none may ends its run with one line, which names it, whatever the workers.
func TestBadController(t *testing.T) {
	t.Parallel()
	for bad, want := range map[string]string{
		"panics":   "panicked: runtime error: index out of range [1000] with length 0",
		"hoards":   "holds more than 1MiB of memory for one queue pair, after ",
		"past":     "wants to be asked again at ",
		"zeno":     "wants to be asked again without end: 65536 times within ",
		"still":    "decides a rate of 0 bit/s; the least is 1",
		"backward": "decides a window of -1 bytes; the least is 0, for none",
		"waits":    "decides a gap of 9223372036854775807 ps, which does not end; give 0 or more",
		"cause":    "gives the cause 77; there are 0 to 5",
	} {
		lib, err := hopscope.New(hopscope.WithControllers(ownControl("mine", bad)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := lib.Parse("x.yaml", fmt.Appendf(nil, threeToOne, "mine"))
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, workers := range []int{1, 4} {
			_, err = s.Run(context.Background(), hopscope.Workers(workers))
			if err == nil || !strings.HasPrefix(err.Error(), "controller mine of h") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v, want one line with %q", bad, err, want)
			} else if said != "" && err.Error() != said {
				t.Errorf("%s: %q with one worker, %q with 4", bad, said, err)
			} else {
				said = err.Error()
			}
		}
	}
}

// Names that are taken are refused.
func TestControllerNames(t *testing.T) {
	t.Parallel()
	_, err := hopscope.New(hopscope.WithControllers(ownControl("mine", ""), ownControl("mine", "")))
	if err == nil || err.Error() != "hopscope: controller mine: there is one of that name already; give another name" {
		t.Error(err)
	}
	if _, err = hopscope.New(hopscope.WithControllers(ownControl("hpcc", ""))); err == nil {
		t.Error("a second hpcc is taken")
	}
}

// odd is a control that declares something that cannot be used, or panics where it is asked to declare.
type odd struct {
	aimd
	params  []hopscope.Param
	refuses string
	needs   hopscope.Needs
	panics  string
}

func (o *odd) Parameters() []hopscope.Param {
	if o.panics == "Parameters" {
		panic("oh")
	}
	return append(o.aimd.Parameters(), o.params...)
}

func (o *odd) Check() (key, message string) {
	if o.panics == "Check" || o.panics == "Check later" && o.Target != 20e6 {
		panic("oh")
	}
	return "target", o.refuses
}

func (o *odd) Needs() hopscope.Needs {
	if o.panics == "Needs" {
		panic("oh")
	}
	return o.needs
}

// What cannot be used is refused when it is registered, in one line that names it.
func TestRegistration(t *testing.T) {
	t.Parallel()
	var x float64
	one := hopscope.Param{Name: "gain", Value: &x, Text: "Gain.", Source: "this test"}
	key := one
	key.Name = "preset"
	twice := []hopscope.ValueSet{{Name: "x"}, {Name: "x"}}
	for _, c := range []struct {
		name string
		of   odd
		with func(*hopscope.Algorithm)
		want string
	}{
		{name: "null", want: `controller "null": a name has small letters`},
		{name: "true", want: `controller "true": a name has`},
		{name: "5", want: `controller "5": a name has`},
		{name: "-x", want: `controller "-x": a name has`},
		{of: odd{params: []hopscope.Param{one, one}}, want: "controller mine: parameter gain: there is one of that name already"},
		{of: odd{params: []hopscope.Param{key}}, want: "controller mine: parameter preset: that key chooses a preset"},
		{of: odd{refuses: "it is wrong"}, want: "controller mine: the values that it begins with are refused, for target: it is wrong"},
		{of: odd{needs: hopscope.Needs{Step: true}}, want: "controller mine: Needs: Step asks for marks"},
		{of: odd{needs: hopscope.Needs{INT: true, INTScale: -5}}, want: "controller mine: Needs: INTScale is -5"},
		{with: func(a *hopscope.Algorithm) { a.Presets = twice }, want: "controller mine: preset x: there is one of that name already"},
		{with: func(a *hopscope.Algorithm) { a.Title = "" }, want: "controller mine: it needs a title, a text and a source"},
		{with: func(a *hopscope.Algorithm) { a.New = nil }, want: "controller mine: it has no settings; give New"},
		{with: func(a *hopscope.Algorithm) { a.New = func(string) hopscope.Settings { panic("oh") } },
			want: "controller mine panicked in New: oh"},
		{of: odd{panics: "Parameters"}, want: "controller mine panicked in Parameters: oh"},
		{of: odd{panics: "Check"}, want: "controller mine panicked in Check: oh"},
		{of: odd{panics: "Needs"}, want: "controller mine panicked in Needs: oh"},
	} {
		a := ownControl("mine", "")
		if c.name != "" {
			a.Name = c.name
		}
		a.New = func(string) hopscope.Settings { s := c.of; s.Target = 20e6; return &s }
		if c.with != nil {
			c.with(&a)
		}
		if _, err := hopscope.New(hopscope.WithControllers(a)); err == nil || !strings.HasPrefix(err.Error(), "hopscope: "+c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// A panic where a scenario is read is an error that names the controller, too.
func TestPanicWhileReading(t *testing.T) {
	t.Parallel()
	a := ownControl("mine", "")
	a.New = func(string) hopscope.Settings { return &odd{aimd: aimd{Target: 20e6}, panics: "Check later"} }
	lib, err := hopscope.New(hopscope.WithControllers(a))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lib.Parse("x.yaml", fmt.Appendf(nil, threeToOne, "{mine: {target: 30us}}")); err == nil ||
		err.Error() != "controller mine panicked in Check: oh" {
		t.Errorf("got %v", err)
	}
}
