package flow

import (
	"fmt"
	"math"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/workload"
)

// Name is how the command line and results call the level.
const Name = "flow"

// Unanswered says what a scenario asks for that flows have no answer to; "": nothing.
func Unanswered(v *scenario.Valid) string {
	if v.CarryData {
		return "carry_data has packets bring bytes"
	}
	for i := range v.Graph.Links {
		l := &v.Graph.Links[i]
		name := fmt.Sprintf("the link from %s to %s ", v.Graph.Nodes[l.A].Name, v.Graph.Nodes[l.B].Name)
		switch {
		case len(l.Outages) > 0:
			return name + "fails"
		case l.Loss > 0 || l.BER > 0 || l.DropEvery > 0:
			return name + "loses packets"
		}
	}
	for node := range v.NICs {
		if f := v.NICs[node].Faults; len(f) > 0 {
			return fmt.Sprintf("the card of %s has the fault %s", v.Graph.Nodes[node].Name, f[0].Kind)
		}
	}
	for i := range v.Plan.Conns {
		if c := &v.Plan.Conns[i]; c.WrongRKey || c.Denied != 0 {
			return "requests " + between(v, c) + " are refused"
		}
	}
	for i := range v.Plan.Series {
		m := &v.Plan.Series[i]
		if c := &v.Plan.Conns[m.Conn]; m.Verb.TakesReceive() && (c.SRQ > 0 || c.Receives >= 0) {
			return "messages " + between(v, c) + " may find no receive"
		}
	}
	return ""
}

// between names the ends of a connection.
func between(v *scenario.Valid, c *workload.Conn) string {
	from, to := v.EndNames(c)
	return "from " + from + " to " + to
}

// Level is what a result says of the level: what it does not model of the scenario, and how far it was off where
// it was measured.
func Level(v *scenario.Valid) *record.Level {
	out := &record.Level{Name: Name, Note: "flows share links so that rates are max-min fair, in place of packets",
		Errors: measured(v)}
	makespan, message := 0.0, 0.0
	for _, e := range out.Errors {
		if math.Abs(e.Percent) > math.Abs(makespan) {
			makespan = e.Percent
		}
		message = max(message, e.Message)
	}
	add := func(format string, args ...any) {
		out.Unmodelled = append(out.Unmodelled, fmt.Sprintf(format, args...))
	}
	far := "how far off that makes it was not measured"
	if len(out.Errors) > 0 {
		far = fmt.Sprintf("up to %.0f %% too %s where flows collide", math.Ceil(math.Abs(makespan)), early(makespan))
		add("queues, marks, pauses, credits and drops not modelled: single messages are up to %.0f %% off in the "+
			"mean, where many share their ways", math.Ceil(message))
	}
	switch k := kind(v); {
	case k == "tcp":
		add("windows and losses of TCP, and cores that connections share, not modelled: %s", far)
	case k == "iwarp":
		add("windows and losses of the TCP in cards not modelled: %s", far)
	case v.Control != nil:
		add("%s not modelled: how far off that makes it was not measured", v.Control.Name)
	case v.DCQCN != nil:
		add("DCQCN not modelled: %s", far)
	case k == "":
		add("drops, and what is sent again, not modelled: %s", far)
	}
	if balanced(v) {
		add("how packets choose among equal ports not modelled: they are taken to be spread evenly")
	}
	if v.Noise != (scenario.Noise{}) {
		add("what varies at random (noise) not modelled")
	}
	if len(v.Plan.Programs)+len(v.Plan.Locals) > 0 && servers(v) {
		add("what copies of GPUs and of cards inside a server cost each other not modelled, but for the capacity of " +
			"links: collectives through NVLink and cards are up to 16 %% off")
	}
	return out
}

// early says which way an error is.
func early(percent float64) string {
	if percent > 0 {
		return "slow"
	}
	return "fast"
}

// servers reports whether a host has an inside.
func servers(v *scenario.Valid) bool {
	for i := range v.NICs {
		if v.NICs[i].Server != nil {
			return true
		}
	}
	return false
}

// balanced reports whether a switch spreads packets by more than a hash.
func balanced(v *scenario.Valid) bool {
	for i := range v.Switches {
		if v.Graph.Nodes[i].Kind == topology.Switch && v.Switches[i].Balancing != nil {
			return true
		}
	}
	return false
}

// kind is the kind of stack that a scenario's is measured as; "": none.
func kind(v *scenario.Valid) string {
	var fabric catalog.Fabric
	for _, l := range v.Layers() {
		fabric = l.Fabric
	}
	switch {
	case v.IWARP != nil:
		return "iwarp"
	case v.TCP != nil:
		return "tcp"
	case v.Control != nil:
		return ""
	case fabric == catalog.CreditedFabric:
		return "infiniband"
	case fabric == catalog.LossyEthernet && v.DCQCN != nil:
		return "rocev2-lossy"
	case fabric == catalog.LossyEthernet:
		return ""
	case v.DCQCN != nil:
		return "rocev2"
	}
	return "rocev2-pfc-only"
}

// measured are the errors that were measured over stacks of the scenario's kind: docs/scale.md has how.
func measured(v *scenario.Valid) (out []record.LevelError) {
	of := kind(v)
	for _, e := range errors() {
		if e.Stack == of {
			out = append(out, e)
		}
	}
	return out
}
