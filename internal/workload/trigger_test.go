package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// What each activation starts, by kind.
func TestTriggerStarts(t *testing.T) {
	targets := []int{4, 7, 9}
	for _, c := range []struct {
		trigger Trigger
		want    [][]int // by activation, from the first
	}{
		{Trigger{Kind: OneShot, Targets: targets}, [][]int{targets, nil, nil}},
		{Trigger{Kind: MultiShot, Targets: targets}, [][]int{{4}, {7}, {9}, nil}},
		{Trigger{Kind: Barrier, Count: 3, Targets: targets}, [][]int{nil, nil, targets, nil}},
	} {
		for i, want := range c.want {
			if got := c.trigger.Starts(i + 1); !slices.Equal(got, want) {
				t.Errorf("%v, activation %d: %v, want %v", c.trigger.Kind, i+1, got, want)
			}
		}
	}
}

// chain is a plan of messages from host 0 to host 1 with the given trigger,
// send_done and recv_done.
func chain(kinds []TriggerKind, count int, links ...[3]int) *Plan {
	p := &Plan{}
	entry := p.AddEntry("chain")
	for _, k := range kinds {
		n := 0
		if k == Barrier {
			n = count
		}
		p.AddTrigger(k.String(), k, n)
	}
	for _, l := range links {
		o := DefaultOptions()
		o.Trigger, o.SendDone, o.RecvDone = l[0], l[1], l[2]
		if err := p.Flow(entry, 0, 1, 100, o); err != nil {
			panic(err)
		}
	}
	return p
}

func TestFinishTriggers(t *testing.T) {
	one := []TriggerKind{OneShot}
	for _, c := range []struct {
		name string
		plan *Plan
		want string // in the error; empty: none
	}{
		{"a chain", chain([]TriggerKind{OneShot, OneShot}, 0, [3]int{0, 1, 0}, [3]int{1, 0, 2}, [3]int{2, 0, 0}), ""},
		{"a barrier of two", chain([]TriggerKind{Barrier}, 2, [3]int{0, 1, 0}, [3]int{0, 0, 1}, [3]int{1, 0, 0}), ""},
		{"a multishot with two shots", chain([]TriggerKind{MultiShot}, 0, [3]int{0, 1, 1}, [3]int{1, 0, 0}, [3]int{1, 0, 0}), ""},
		{"a barrier too high", chain([]TriggerKind{Barrier}, 3, [3]int{0, 1, 0}, [3]int{0, 0, 1}, [3]int{1, 0, 0}), "trigger barrier is activated 2 times, which never starts all of its 1 targets"},
		{"a multishot short of shots", chain([]TriggerKind{MultiShot}, 0, [3]int{0, 1, 0}, [3]int{1, 0, 0}, [3]int{1, 0, 0}), "is activated 1 times, which never starts all of its 2 targets"},
		{"a circle", chain(one, 0, [3]int{0, 0, 0}, [3]int{1, 1, 0}), "is activated 0 times"},
		{"nothing activates it", chain(one, 0, [3]int{0, 0, 0}, [3]int{1, 0, 0}), "is activated 0 times"},
		{"a barrier of none", chain([]TriggerKind{Barrier}, 0, [3]int{0, 1, 0}), "a barrier waits for a count of at least 1 and has 0"},
		{"no such trigger", chain(one, 0, [3]int{0, 2, 0}), "trigger 2 does not exist; there are 1"},
	} {
		err := c.plan.Finish(twoHosts{})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// A message starts by time or by trigger, and every message of a connection may
// activate one where it is received.
func TestTriggeredMessages(t *testing.T) {
	p := chain([]TriggerKind{OneShot}, 0, [3]int{0, 1, 0}, [3]int{1, 0, 0})
	p.Series[1].Start = 5 * units.Nanosecond
	if err := p.Finish(twoHosts{}); err == nil || !strings.Contains(err.Error(), "a message starts at 5ns or by a trigger; keep one") {
		t.Errorf("both: %v", err)
	}
	p = chain([]TriggerKind{OneShot}, 0, [3]int{1, 0, 0})
	o := DefaultOptions()
	o.Count, o.RecvDone = 2, 1
	if err := p.Flow(0, 0, 1, 100, o); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(twoHosts{}); err != nil {
		t.Errorf("two messages: %v", err)
	}
	p = chain([]TriggerKind{OneShot}, 0, [3]int{1, 0, 0}, [3]int{0, 1, 0})
	if err := p.Finish(twoHosts{}); err != nil || p.Series[1].Start != units.Never || p.Triggers[0].Targets[0] != 1 {
		t.Errorf("%v; messages %+v, targets %v: the triggered one comes last", err, p.Series, p.Triggers[0].Targets)
	}
}

// twoHosts is a network of two endpoints on two hosts.
type twoHosts struct{}

func (twoHosts) NumEndpoints() int          { return 2 }
func (twoHosts) HostOf(ep int) int          { return ep }
func (twoHosts) EndpointName(ep int) string { return []string{"h0", "h1"}[ep] }
