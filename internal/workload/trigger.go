package workload

import (
	"fmt"
	"slices"
)

// TriggerKind says what the activations of a trigger start.
type TriggerKind uint8

// Kinds of trigger, as the connection matrices of htsim have them.
const (
	OneShot   TriggerKind = iota // the first activation starts all targets
	MultiShot                    // each activation starts the next target
	Barrier                      // the Count-th activation starts all targets
)

func (k TriggerKind) String() string { return [...]string{"oneshot", "multishot", "barrier"}[k] }

// TriggerKinds lists the names of the kinds, in their order.
func TriggerKinds() []string {
	return []string{OneShot.String(), MultiShot.String(), Barrier.String()}
}

// Trigger starts messages when others end. Messages name it: those whose
// SendDone or RecvDone it is activate it, those whose Trigger it is are its
// targets. Activations beyond what its kind needs do nothing.
type Trigger struct {
	Name  string
	Kind  TriggerKind
	Count int // Barrier: activations needed, at least 1

	// Then are triggers, by their numbers from 1, that each activation of this one activates as well.
	Then []int
	// Waits: its messages wait for all of what it is called by.
	Waits bool

	Targets []int // numbers of messages, in order; filled in by Finish
}

// MaxTriggers bounds the triggers of a plan.
const MaxTriggers = 1 << 20

// Starts returns the targets that the n-th activation (from 1) starts.
func (t *Trigger) Starts(n int) []int {
	switch {
	case t.Kind == MultiShot && n <= len(t.Targets):
		return t.Targets[n-1 : n]
	case t.Kind == OneShot && n == 1, t.Kind == Barrier && n == t.Count:
		return t.Targets
	}
	return nil
}

// AddTrigger adds a trigger and returns the number by which messages name it.
func (p *Plan) AddTrigger(name string, kind TriggerKind, count int) int {
	p.Triggers = append(p.Triggers, Trigger{Name: name, Kind: kind, Count: count})
	return len(p.Triggers)
}

// finishTriggers checks the triggers of a sorted plan and lists their targets.
func (p *Plan) finishTriggers() error {
	for i := range p.Triggers {
		t := &p.Triggers[i]
		t.Targets = nil
		if t.Kind == Barrier && t.Count < 1 {
			return fmt.Errorf("trigger %s: a barrier waits for a count of at least 1 and has %d", t.Name, t.Count)
		}
	}
	for i := range p.Series {
		m := &p.Series[i]
		for _, id := range [...]int{m.Trigger, m.SendDone, m.RecvDone} {
			if id < 0 || id > len(p.Triggers) {
				return p.fail(p.Conns[m.Conn].Entry, "trigger %d does not exist; there are %d", id, len(p.Triggers))
			}
		}
		if m.RecvDone > 0 && !m.tellsResponder(&p.Conns[m.Conn]) {
			return p.fail(p.Conns[m.Conn].Entry, "recv_done stands with %s over %s, which %s; use send_done", m.Verb, p.Conns[m.Conn].Service,
				map[bool]string{true: "ends at its requester", false: "may lose the message"}[p.Conns[m.Conn].Service == RC])
		}
	}
	if len(p.Triggers) > 0 {
		for i, m := range p.All() {
			if m.Trigger > 0 {
				t := &p.Triggers[m.Trigger-1]
				t.Targets = append(t.Targets, i)
			}
		}
	}
	return p.checkStarts()
}

// checkStarts refuses operations that can never start because too few messages
// activate their trigger, or because they wait for each other.
func (p *Plan) checkStarts() error {
	if len(p.Triggers) == 0 && p.Graph == nil {
		return nil
	}
	s := starter{plan: p, started: make([]bool, p.total+len(p.Locals)), fired: make([]int, len(p.Triggers))}
	if p.Graph != nil {
		s.left = slices.Clone(p.Graph.Need)
	}
	s.run()
	for i, ok := range s.started {
		switch {
		case ok:
		case i >= p.total:
			return p.fail(p.Locals[i-p.total].Entry, "operations wait for each other in a circle")
		case p.At(i).Awaits:
			return p.fail(p.Conns[p.At(i).Conn].Entry, "operations wait for each other in a circle")
		case p.Triggers[p.At(i).Trigger-1].Waits:
			m := p.At(i)
			return p.fail(p.Conns[m.Conn].Entry, "after: %s: they wait for each other in a circle",
				p.Triggers[m.Trigger-1].Name)
		default:
			m := p.At(i)
			t := &p.Triggers[m.Trigger-1]
			return p.fail(p.Conns[m.Conn].Entry, "trigger %s is activated %d times, which never starts all of its %d targets; let more messages activate it with send_done or recv_done",
				t.Name, s.fired[m.Trigger-1], len(t.Targets))
		}
	}
	return nil
}

// starter runs a plan without time: which operations start at all?
type starter struct {
	plan    *Plan
	started []bool  // by number in the graph
	fired   []int   // activations by trigger
	left    []int32 // ends to come, by operation
	todo    []int
}

func (s *starter) run() {
	p := s.plan
	for i, m := range p.All() {
		if !m.Waits() {
			s.todo = append(s.todo, i)
		}
	}
	for i := range p.Locals {
		if !p.Locals[i].Awaits {
			s.todo = append(s.todo, p.total+i)
		}
	}
	for len(s.todo) > 0 {
		i := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		s.started[i] = true
		s.end(i)
	}
}

// end has operation i start what waits for it.
func (s *starter) end(i int) {
	for end := Completed; end < numEnds; end++ {
		for _, op := range s.plan.Graph.Released(i, end) {
			s.left[op]--
			if s.left[op] == 0 {
				s.todo = append(s.todo, int(op))
			}
		}
	}
	if i >= s.plan.total {
		return
	}
	m := s.plan.At(i)
	s.fire(m.SendDone)
	s.fire(m.RecvDone)
}

// fire activates a trigger; 0: none.
func (s *starter) fire(id int) {
	if id == 0 {
		return
	}
	s.fired[id-1]++
	t := &s.plan.Triggers[id-1]
	s.todo = append(s.todo, t.Starts(s.fired[id-1])...)
	for _, other := range t.Then {
		s.fire(other)
	}
}
