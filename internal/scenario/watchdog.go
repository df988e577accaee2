package scenario

import (
	"strings"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// watchdogSettings is the `watchdog` section of a switch.
type watchdogSettings struct {
	on                           bool
	rule                         fabric.WatchdogRule
	ruleGiven                    bool
	detection, restoration, poll units.Time // 0: by the number of ports
	reaction                     units.Time
	action                       record.WatchdogAction
	obj                          object
}

// watchdogRules are the rules' names, as SONiC calls the platforms.
var watchdogRules = []string{"broadcom", "tomahawk4", "mellanox", "barefoot", "teralynx", "cisco-8000"}

// What SONiC's pfcwd accepts.
const (
	leastDetection, mostDetection = 100 * units.Millisecond, 5 * units.Second
	mostRestoration               = 60 * units.Second
	leastPoll, mostPoll           = 100 * units.Millisecond, units.Second
)

// watchdogKey is the section.
func (r *resolver) watchdogKey(s *switchSettings) key {
	w := &s.watchdog
	actions := []record.WatchdogAction{record.WatchdogDrop, record.WatchdogForward, record.WatchdogAlert}
	words := make([]string, len(actions))
	for i, a := range actions {
		words[i] = string(a)
	}
	interval := func(name string, t *units.Time, preset, text string) key {
		return timeKey(name, t, text).otherwise(preset).
			within(int64(10*units.Microsecond), int64(mostRestoration),
				"is no interval of a watchdog; give 10us to 60s, such as 200ms")
	}
	const byPorts = "200ms for each 32 ports or part of them"
	return sectionKey("watchdog", []key{
		choiceKey("action", &w.action, words, actions, "What it does about a queue in a storm: `drop` what waits there and "+
			"comes for it, and what the peer sends in that priority; `forward` it all whatever the peer says; `alert` says so and does nothing."),
		countedKey("rule", &w.rule, watchdogRules, "How it tells a storm, by ASIC ([model](../models/watchdog.md)).").
			otherwise("by `switch.memory.preset`, else `broadcom`").check(func(object) { w.ruleGiven = true }),
		interval("detection", &w.detection, byPorts, "For so long polls must agree that the queue is in a storm."),
		interval("restoration", &w.restoration, byPorts, "For so long no PFC frame may come until the queue is restored."),
		interval("poll", &w.poll, byPorts+", 1s at most", "From one poll to the next."),
		timeKey("reaction", &w.reaction, "What software takes from finding a storm to having the hardware act on it.").
			otherwise("0").within(0, int64(10*units.Second), "is no time to act; give at most 10s"),
	}, "PFC watchdog of lossless queues, as SONiC's `pfcwd`; `none`: there is none.").shortFor("action").otherwise("`none`").
		or("none", func() { w.on = false }).in(&w.obj).opening(func(object) { w.on = true }).
		unless(r.noEthernet).unless(func() string { return r.pfcOff(&s.pfc) })
}

// watchdogOf is the watchdog of switch n; nil: it has none.
func (r *resolver) watchdogOf(n int) *fabric.WatchdogParams {
	s := &r.switches[n]
	w := &s.watchdog
	if !w.on || s.pfc.enabled == 0 {
		return nil
	}
	// pfcwd start_default: 200 ms times ((ports - 1) div 32 + 1).
	byPorts := 200 * units.Millisecond * units.Time((len(r.v.Graph.Nodes[n].Ports)-1)/32+1)
	p := &fabric.WatchdogParams{Rule: w.rule, Action: w.action,
		Detection: w.detection, Restoration: w.restoration, Poll: w.poll, Reaction: w.reaction}
	const from = "SONiC's pfcwd start_default, by ports"
	rule := fromScenario
	if !w.ruleGiven {
		p.Rule, rule = watchdogRuleOf(s.memory.preset)
	}
	def := func(name string, t *units.Time, value units.Time) {
		source := fromScenario
		if *t == 0 {
			*t, source = value, from
		}
		r.note("switch.watchdog."+name, t.String(), source)
	}
	r.note("switch.watchdog.action", string(p.Action), sourceOf(w.obj, "action", "SONiC's pfcwd"))
	r.note("switch.watchdog.rule", watchdogRules[p.Rule], rule)
	def("detection", &p.Detection, byPorts)
	def("restoration", &p.Restoration, byPorts)
	def("poll", &p.Poll, min(byPorts, mostPoll))
	if p.Reaction > 0 {
		r.note("switch.watchdog.reaction", p.Reaction.String(), fromScenario)
	}
	r.warnWatchdog(n, p)
	return p
}

// watchdogRuleOf is the rule of the ASIC that has a memory, and where that is from.
func watchdogRuleOf(preset string) (rule fabric.WatchdogRule, source string) {
	const swss = "of its ASIC (sonic-swss)"
	switch {
	case strings.HasPrefix(preset, "spectrum"):
		return fabric.WatchMellanox, swss
	case preset == "tomahawk4", preset == "tomahawk5", preset == "tomahawk6":
		return fabric.WatchTomahawk4, swss
	case preset == "":
		return fabric.WatchBroadcom, "assumed: the most common ASIC"
	}
	return fabric.WatchBroadcom, swss
}

// warnWatchdog says what is odd about intervals.
func (r *resolver) warnWatchdog(n int, p *fabric.WatchdogParams) {
	name := r.v.Graph.Nodes[n].Name
	if p.Poll > p.Detection {
		r.warn("watchdog poll", "%s: the watchdog polls every %v, longer than its detection time of %v; "+
			"a storm is found at the first poll that looks like one, up to %v after it began", name, p.Poll, p.Detection, 2*p.Poll)
	}
	if r.v.Stop != units.Never && r.v.Stop <= p.Detection {
		r.warn("watchdog stop", "%s: the run stops at %v, before the watchdog can find a storm: that takes %v",
			name, r.v.Stop, p.Detection)
	}
	for _, x := range []struct {
		name    string
		t       units.Time
		min, to units.Time
	}{
		{"detection", p.Detection, leastDetection, mostDetection},
		{"restoration", p.Restoration, leastDetection, mostRestoration},
		{"poll", p.Poll, leastPoll, mostPoll},
	} {
		if x.t < x.min || x.t > x.to {
			r.warn("watchdog "+x.name+" range", "%s: watchdog.%s: %v is not what SONiC's pfcwd takes, %v to %v",
				name, x.name, x.t, x.min, x.to)
		}
	}
}
