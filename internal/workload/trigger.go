package workload

import "fmt"

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

	Targets []int // indices into Plan.Messages, in order; filled in by Finish
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
	for i := range p.Messages {
		m := &p.Messages[i]
		for _, id := range [...]int{m.Trigger, m.SendDone, m.RecvDone} {
			if id < 0 || id > len(p.Triggers) {
				return p.fail(p.Conns[m.Conn].Entry, "trigger %d does not exist; there are %d", id, len(p.Triggers))
			}
		}
		if m.RecvDone > 0 && (m.Verb == Read || m.Verb.Atomic() || p.Conns[m.Conn].Service != RC && p.Conns[m.Conn].Service != TCP) {
			return p.fail(p.Conns[m.Conn].Entry, "recv_done stands with %s over %s, which %s; use send_done", m.Verb, p.Conns[m.Conn].Service,
				map[bool]string{true: "ends at its requester", false: "may lose the message"}[p.Conns[m.Conn].Service == RC])
		}
		if m.Trigger > 0 {
			t := &p.Triggers[m.Trigger-1]
			t.Targets = append(t.Targets, i)
		}
	}
	return p.checkStarts()
}

// checkStarts refuses messages that can never start because too few messages
// activate their trigger.
func (p *Plan) checkStarts() error {
	if len(p.Triggers) == 0 {
		return nil
	}
	started := make([]bool, len(p.Messages))
	count := make([]int, len(p.Triggers))
	var todo []int
	for i := range p.Messages {
		if p.Messages[i].Trigger == 0 {
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		started[i] = true
		for _, id := range [...]int{p.Messages[i].SendDone, p.Messages[i].RecvDone} {
			if id > 0 {
				count[id-1]++
				todo = append(todo, p.Triggers[id-1].Starts(count[id-1])...)
			}
		}
	}
	for i, ok := range started {
		if !ok {
			m := &p.Messages[i]
			t := &p.Triggers[m.Trigger-1]
			return p.fail(p.Conns[m.Conn].Entry, "trigger %s is activated %d times, which never starts all of its %d targets; let more messages activate it with send_done or recv_done",
				t.Name, count[m.Trigger-1], len(t.Targets))
		}
	}
	return nil
}
