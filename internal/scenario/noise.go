package scenario

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// noiseSettings is the `noise` section.
type noiseSettings struct {
	Noise
	pipelineGiven bool
	obj           object
}

// Sources of the section's defaults; docs/models/noise.md says more.
const (
	fromTester   = "uniform from 0: a 400G switch without congestion took 800 to 980 ns (SONiC testbed)"
	fromPerftest = "uniform from 0: standard deviation of a pair of ConnectX-6, 100,000 SENDs (perftest)"
	fromClocks   = "IEEE 802.3: 100 ppm either way, drawn once per node"
	fromTimerlat = "uniform from 0: interrupts came 1 us late on average (rtla timerlat, Linux)"
	fromPhases   = "assumed: phases are unknown, so that frames that find no room have equal chances of the next"
)

// defaultNoise is what measurements say.
func defaultNoise() noiseSettings {
	return noiseSettings{Noise: Noise{Pipeline: 150 * units.Nanosecond, Card: 70 * units.Nanosecond,
		Host: 2 * units.Microsecond, Clocks: 100, Arbitration: true}}
}

// noiseKey is the section.
func (r *resolver) noiseKey() key {
	s := &r.noise
	limited := func(k key, usual string) key {
		return k.within(0, int64(fabric.MaxNoise), fmt.Sprintf("is more than anything measured; give at most %v, such as %s",
			units.Time(fabric.MaxNoise), usual))
	}
	const maxClocks = 1000
	return sectionKey("noise", []key{
		limited(timeKey("pipeline", &s.Pipeline, "A switch takes up to this longer than `latency` for a frame: uniform from 0, in order per ingress port."), "150ns").
			otherwise("150ns; `infiniband`: 0").check(func(object) { s.pipelineGiven = true }),
		limited(timeKey("card", &s.Card, "A card takes up to this longer to bring a frame to the wire: uniform from 0, in order."), "70ns"),
		numberKey("clocks", &s.Clocks, 0, maxClocks, "The clock of each card and switch is off by up to so many parts per million, drawn once.").
			unless(func() string {
				return when(r.v.TimeQuantum > 0, "time_quantum truncates all times on the wire")
			}),
		limited(timeKey("host", &s.Host, "An interrupt or a wakeup reaches an idle core up to this late: uniform from 0; hosts that poll or cost nothing have none."), "2us").unless(r.nobodyWakes),
		eitherKey("arbitration", &s.Arbitration, "arrival", "random", "Of the frames that find no room in a lossy queue until the next frame leaves it, a random one gets "+
			"the room; `arrival`: they are dropped as they come.").unless(r.noEthernet).unless(r.losslessOnly),
	}, "What varies at random in real networks: `off` for closed forms, and by default where `jobs` with `model` or `file` are all that runs; `{}` stands for the defaults below. See the [model](../models/noise.md).").
		or("off", func() { s.Noise = Noise{} }).in(&s.obj)
}

// readNoise reads the section. The switch that the default was measured on is one of
// Ethernet; on InfiniBand, and where credits leave nothing to arbitrate, it has none.
func (r *resolver) readNoise(o object) {
	s := &r.noise
	r.trains = !o.has("noise") && trains(o)
	if r.trains {
		s.Noise = Noise{}
	}
	o.read([]key{r.noiseKey()})
	r.v.BesideNoise = s.Noise
	if r.stack().Credits {
		if !s.pipelineGiven {
			s.Pipeline = 0
		}
		s.Arbitration = false
	}
	r.v.Noise = s.Noise
}

// trains reports whether steps of training, of a model or of files, are all that runs.
func trains(o object) bool {
	jobs := o.list("jobs")
	return len(jobs) > 0 && !o.has("workload") &&
		!slices.ContainsFunc(jobs, func(job *node) bool { return job.Get("model") == nil && job.Get("file") == nil })
}

// nobodyWakes is the reason where no host waits for interrupts or wakeups.
func (r *resolver) nobodyWakes() string {
	if r.compared {
		return ""
	}
	for n := range r.v.NICs {
		if h := &r.v.NICs[n].Host; r.v.Graph.Nodes[n].Kind == topology.Host && h.Kernel() && !h.BusyPoll {
			return ""
		}
	}
	return "no host has a kernel that waits for interrupts: TCP's have, unless they poll or host.preset is free"
}

// losslessOnly is the reason where nothing is sent that a full queue drops.
func (r *resolver) losslessOnly() string {
	if r.compared {
		return ""
	}
	for n := range r.v.Graph.Nodes {
		if r.v.Graph.Nodes[n].Kind == topology.Switch && r.classes&^r.switches[n].pfc.enabled != 0 {
			return ""
		}
	}
	return "all data are of lossless priorities, whose frames wait for no room in a queue"
}

// noiseNotes says what varies, and by whose measurements.
func (r *resolver) noiseNotes() {
	n, o := &r.v.Noise, r.noise.obj
	if *n == (Noise{}) {
		from := fromScenario
		if r.trains {
			from = "steps of training alone: servers that do the same can stand for each other; noise: {} varies times"
		}
		r.note("noise", "off", from)
		return
	}
	pipeline := fromTester
	if r.stack().Credits {
		pipeline = "assumed: what was measured are switches of Ethernet"
	}
	r.note("noise.pipeline", n.Pipeline.String(), sourceOf(o, "pipeline", pipeline))
	r.note("noise.card", n.Card.String(), sourceOf(o, "card", fromPerftest))
	r.note("noise.clocks", fmt.Sprintf("%d ppm", n.Clocks), sourceOf(o, "clocks", fromClocks))
	if r.nobodyWakes() == "" {
		r.note("noise.host", n.Host.String(), sourceOf(o, "host", fromTimerlat))
	}
	if n.Arbitration {
		r.note("noise.arbitration", "random", sourceOf(o, "arbitration", fromPhases))
	}
}
