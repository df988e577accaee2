package scenario

import (
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
	if o.describing() {
		readTriggerKind(r.d.object(nil, "triggers.*", "kind", "count"))
	}
	v := o.n.get("triggers")
	if v == nil || r.d.err != nil {
		return
	}
	if v.kind != mappingNode {
		o.fail("triggers", "is %s; it maps names to kinds, such as {t1: {kind: barrier, count: 4}}", v.kind)
		return
	}
	if len(v.fields) > workload.MaxTriggers {
		o.fail("triggers", "%d are more than the %d that a run can have", len(v.fields), workload.MaxTriggers)
		return
	}
	r.triggerNumber = make(map[string]int, len(v.fields))
	for _, f := range v.fields {
		t := r.d.object(f.value, "triggers."+f.key, "kind", "count")
		kind, count := readTriggerKind(t)
		one := trigger{name: f.key, count: count, pos: f.pos}
		for k, name := range workload.TriggerKinds() {
			if name == kind {
				one.kind = workload.TriggerKind(k)
			}
		}
		if r.d.err != nil {
			return
		}
		if isBarrier := one.kind == workload.Barrier; isBarrier != t.has("count") {
			r.d.fail(f.pos, "%s: a barrier, and nothing else, has a count, the activations it waits for", t.path)
			return
		}
		r.triggers = append(r.triggers, one)
		r.triggerNumber[f.key] = len(r.triggers)
	}
}

func readTriggerKind(t object) (kind string, count int) {
	kind = workload.OneShot.String()
	t.word("kind", &kind, workload.TriggerKinds()...)
	t.integer("count", &count, 1, workload.MaxMessages)
	return kind, count
}

// readTriggers reads what starts a message in place of a time, and what its end
// sets off.
func (r *resolver) readTriggers(o object, opt *workload.Options) {
	if r.trigger(o, "trigger", &opt.Trigger) {
		for _, key := range []string{"start", "every"} {
			if o.has(key) {
				o.fail("trigger", "starts what %s gives a time to; keep one", key)
			}
		}
	}
	r.trigger(o, "send_done", &opt.SendDone)
	r.trigger(o, "recv_done", &opt.RecvDone)
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
		if w := nearest(name, names); w != "" {
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
}
