package scenario

import (
	"github.com/hopscope/hopscope/internal/typo"
	"github.com/hopscope/hopscope/internal/workload"
)

// trigger is one of the scenario's triggers while the workload is read.
type trigger struct {
	name  string
	kind  workload.TriggerKind
	count int
	pos   pos
}

// readTriggerList reads the names, kinds and counts that workload entries refer
// to.
func (r *resolver) readTriggerList(o object) {
	v := o.n.Get("triggers")
	if v == nil || r.d.err != nil {
		return
	}
	if v.Kind != mappingNode {
		o.fail("triggers", "is %s; it maps names to kinds, such as {t1: {kind: barrier, count: 4}}", v.Kind)
		return
	}
	if len(v.Fields) > workload.MaxTriggers {
		o.fail("triggers", "%d are more than the %d that a run can have", len(v.Fields), workload.MaxTriggers)
		return
	}
	r.triggerNumber = make(map[string]int, len(v.Fields))
	for _, f := range v.Fields {
		one := trigger{name: f.Key, pos: f.Pos}
		keys := triggerKeys(&one)
		t := r.d.object(f.Value, "triggers."+f.Key, keys)
		t.read(keys)
		if r.d.err != nil {
			return
		}
		if isBarrier := one.kind == workload.Barrier; isBarrier != t.has("count") {
			r.d.fail(f.Pos, "%s: a barrier, and nothing else, has a count, the activations it waits for", t.path)
			return
		}
		r.triggers = append(r.triggers, one)
		r.triggerNumber[f.Key] = len(r.triggers)
	}
}

// triggerKeys are the keys of a trigger.
func triggerKeys(t *trigger) []key {
	return []key{
		countedKey("kind", &t.kind, workload.TriggerKinds(), "What activations start: `oneshot`: the first starts all that wait; `multishot`: each starts the next that waits, in the order of the file; "+
			"`barrier`: number `count` starts all."),
		numberKey("count", &t.count, 1, workload.MaxMessages, "Activations that a barrier waits for.").otherwise(""),
	}
}

// triggerKey is the name of a trigger.
func (r *resolver) triggerKey(name string, number *int, text string) key {
	return otherKey(name, "name of a trigger", []jsonSchema{anyScalar()}, func(o object, name string) bool { return r.trigger(o, name, number) }, text)
}

// checkTrigger refuses a trigger beside a time: both would start the message.
func checkTrigger(o object) {
	for _, key := range []string{"start", "every"} {
		for _, by := range []string{"trigger", "after"} {
			if o.has(by) && o.has(key) {
				o.fail(by, "starts what %s gives a time to; keep one", key)
			}
		}
	}
	if o.has("trigger") && o.has("after") {
		o.fail("trigger", "starts what waits for after as well; keep one")
	}
}

// trigger looks up the number of the trigger named under key.
func (r *resolver) trigger(o object, key string, number *int) bool {
	name, ok := o.scalar(key)
	if !ok {
		return false
	}
	n, known := r.triggerNumber[name]
	if !known {
		names := make([]string, len(r.triggers))
		for i, t := range r.triggers {
			names[i] = t.name
		}
		hint := "add it under triggers, such as triggers: {" + name + ": {kind: oneshot}}"
		if w := typo.Nearest(name, names); w != "" {
			hint = "did you mean \"" + w + "\"?"
		}
		o.fail(key, "there is no trigger %q; %s", name, hint)
		return false
	}
	*number = n
	return true
}

// addTriggers puts the triggers into the plan, in the numbering that its
// messages use.
func (r *resolver) addTriggers() {
	for _, t := range r.triggers {
		r.v.Plan.AddTrigger(t.name, t.kind, t.count)
	}
	r.addWaits()
}
