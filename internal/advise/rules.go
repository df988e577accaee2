package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
)

// beyond is by what part one must be slower than another before that decides, besides being so with every seed.
// Assumed: whoever changes a fabric wants more than a twentieth for it.
const beyond = 0.05

// rule takes columns away. The first that leaves one column decides.
type rule struct {
	name, states string
	// keep reports whether a column stays among those that are left, and words the figure that says so.
	keep func(a *Answer, left []*Answer) (stays bool, figure string)
}

// dataRules are for the data plane, in order.
func dataRules(currency string) []rule {
	last := rule{"tuning", "of those alike, the one with the fewest parameters of switches and congestion control " +
		"stays, as no prices are given",
		least(func(a *Answer) float64 { return float64(a.SwitchParameters + a.ControlParameters) },
			func(x float64) string { return fmt.Sprintf("%.0f parameters", x) })}
	if currency != "" {
		last = rule{"cost", "of those alike, the cheapest at your prices stays",
			least(func(a *Answer) float64 { return *a.Cost },
				func(x float64) string { return metrics.FormatCount(int64(x+0.5)) + " " + currency })}
	}
	return []rule{
		{"ends", "what does not carry every message with every seed is out", ends},
		{"time", "what is slower than another with every seed, and by more than 5 % in the median, is out",
			slower(func(a *Answer) *Spread { return &a.DataPS })},
		last,
		{"cores", "of those still alike, the one that keeps the fewest cores busy stays",
			least(func(a *Answer) float64 { return a.AllCores.Median },
				func(x float64) string { return fmt.Sprintf("%.3g cores", x) })},
	}
}

// controlRules are for the control plane, beside a data plane of that name; over is what carries the calls where the
// scenario runs as it is.
func controlRules(data, over string) []rule {
	return []rule{
		{"ends", "what does not carry every message with every seed is out", ends},
		{"sockets", "programs that speak sockets stay on TCP, as the scenario has them: " +
			"what carries their calls otherwise is out",
			func(a *Answer, _ []*Answer) (bool, string) {
				return over != tcp || a.CallsOver == tcp, "calls over " + a.CallsOver
			}},
		{"time", "what answers calls slower than another with every seed, and by more than 5 % in the median, is out",
			slower(func(a *Answer) *Spread { return a.CallP99PS })},
		{"one network", "of those alike, the data plane's own network stays: it is there already",
			func(a *Answer, left []*Answer) (bool, string) {
				there := slices.ContainsFunc(left, func(o *Answer) bool { return o.Name == data })
				return !there || a.Name == data, "another network"
			}},
	}
}

func ends(a *Answer, _ []*Answer) (bool, string) { return a.Out == "", a.Out }

// slower keeps what no other is faster than with every seed.
func slower(of func(*Answer) *Spread) func(*Answer, []*Answer) (bool, string) {
	return func(a *Answer, left []*Answer) (bool, string) {
		best := slices.MinFunc(left, func(x, y *Answer) int { return cmp.Compare(of(x).Median, of(y).Median) })
		for _, o := range left {
			if of(o).Most < of(a).Least && of(a).Median > (1+beyond)*of(o).Median {
				return false, fmt.Sprintf("%s against %s of %s", ps(of(a).Median), ps(of(best).Median), best.Name)
			}
		}
		return true, ""
	}
}

// least keeps those with the least of a figure.
func least(of func(*Answer) float64, word func(float64) string) func(*Answer, []*Answer) (bool, string) {
	return func(a *Answer, left []*Answer) (bool, string) {
		best := of(a)
		for _, o := range left {
			best = min(best, of(o))
		}
		return of(a) == best, word(of(a)) + " against " + word(best)
	}
}

// Step is a rule that took columns away.
type Step struct {
	Rule   string   `json:"rule"`
	States string   `json:"states"`
	Out    []string `json:"out"` // columns, each with the figure
}

// tcp is what carries the calls of programs that speak sockets.
const tcp = "TCP"

// apply applies rules to columns, until one is left; nil where none is.
func apply(rules []rule, all []*Answer) (best *Answer, steps []Step) {
	left := all
	for _, r := range rules {
		if len(left) < 2 && r.name != "ends" {
			break
		}
		var stay []*Answer
		step := Step{Rule: r.name, States: r.states}
		for _, a := range left {
			if ok, figure := r.keep(a, left); ok {
				stay = append(stay, a)
			} else {
				step.Out = append(step.Out, a.Name+" ("+figure+")")
			}
		}
		if left = stay; len(step.Out) > 0 {
			steps = append(steps, step)
		}
	}
	if len(left) == 0 {
		return nil, steps
	}
	return left[0], steps
}

func pointers(list []Answer) (out []*Answer) {
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}

// dataPlane chooses for the data plane.
func (a *Advice) dataPlane(runs Runs, prices *Prices) Verdict {
	rules := dataRules(a.Currency)
	best, steps := apply(rules, pointers(a.Answers))
	if best == nil {
		return Verdict{Text: "nothing carries this workload with every seed", Steps: steps, Changes: []string{}}
	}
	v := Verdict{Name: best.Name, Steps: steps,
		Text: fmt.Sprintf("%s (stack %s): %s %s", best.Name, best.Stack, a.Judged, a.DataText(best))}
	v.Changes = append(v.Changes, a.bySeed(best, runs, prices))
	for i, c := range Choices() {
		if c.Variant == "" || len(runs.Seen[c.Variant]) == 0 {
			continue
		}
		changed := slices.Clone(a.Answers)
		changed[i] = answerOf(c, c.Variant, runs, prices)
		other, _ := apply(rules, pointers(changed))
		turns := "changes nothing"
		switch {
		case other == nil:
			turns = "leaves nothing that carries the workload"
		case other.Name != best.Name:
			turns = "makes it " + other.Name
		}
		figure := ps(changed[i].DataPS.Median)
		if changed[i].Out != "" {
			figure = changed[i].Out
		}
		v.Changes = append(v.Changes, fmt.Sprintf("%s with %s (stack %s, %s): %s.",
			c.Name, c.VariantAbout, c.Variant, figure, turns))
	}
	for i := range a.Answers {
		if o := &a.Answers[i]; o.Name != best.Name && o.Out == "" {
			v.Changes = append(v.Changes, a.against(best, o))
		}
	}
	return v
}

// bySeed says what each seed alone would choose.
func (a *Advice) bySeed(best *Answer, runs Runs, prices *Prices) string {
	var differ []string
	for k, seed := range a.Seeds {
		one := Runs{Seen: map[string][]*Seen{}, Why: runs.Why, CallsOver: runs.CallsOver}
		for _, c := range Choices() {
			if seen := runs.Seen[c.Stack]; len(seen) > k {
				one.Seen[c.Stack] = seen[k : k+1]
			}
		}
		var all []Answer
		for _, c := range Choices() {
			all = append(all, answerOf(c, c.Stack, one, prices))
		}
		other, _ := apply(dataRules(a.Currency), pointers(all))
		if other != nil && other.Name != best.Name {
			differ = append(differ, fmt.Sprintf("seed %d alone would make it %s", seed, other.Name))
		}
	}
	if len(differ) > 0 {
		return strings.Join(differ, "; ") + "."
	}
	return fmt.Sprintf("Seeds: each of the %d alone gives the same.", len(a.Seeds))
}

// against says what another column has against the best, and from where on it would be chosen.
func (a *Advice) against(best, o *Answer) string {
	text := fmt.Sprintf("%s takes %.2f times as long", o.Name, o.DataPS.Median/best.DataPS.Median)
	if o.Cost == nil {
		return text + "."
	}
	switch d := *o.Cost - *best.Cost; {
	case d > 0:
		text += fmt.Sprintf(" and costs %s %s more", metrics.FormatCount(int64(d+0.5)), a.Currency)
	case d < 0:
		text += fmt.Sprintf(" and costs %s %s less: whoever can wait for it saves that",
			metrics.FormatCount(int64(-d+0.5)), a.Currency)
	}
	fast, _ := slower(func(a *Answer) *Spread { return &a.DataPS })(o, []*Answer{best})
	if fast {
		text += fmt.Sprintf("; it is alike in time, so that below %s %s in all it would be chosen",
			metrics.FormatCount(int64(*best.Cost)), a.Currency)
	}
	return text + "."
}

// column is the one of a name; nil: there is none.
func (a *Advice) column(name string) *Answer {
	for i := range a.Answers {
		if a.Answers[i].Name == name {
			return &a.Answers[i]
		}
	}
	return nil
}

// DataText is the figure by which a data plane is judged, with its range over seeds.
func (a *Advice) DataText(o *Answer) string { return TimeText(&o.DataPS) }

// TimeText is a spread of times, with its range where seeds differ.
func TimeText(s *Spread) string {
	if ps(s.Least) == ps(s.Most) {
		return ps(s.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", ps(s.Median), ps(s.Least), ps(s.Most))
}

// controlPlane chooses for the control plane.
func (a *Advice) controlPlane(over string) Verdict {
	var with []*Answer
	for i := range a.Answers {
		if a.Answers[i].CallP99PS != nil {
			with = append(with, &a.Answers[i])
		}
	}
	if len(with) == 0 {
		return Verdict{Name: tcp, Text: "TCP over Ethernet, unmeasured: the scenario has no remote procedure calls",
			Steps: []Step{{"sockets", "nothing is measured, and programs of the control plane speak sockets", []string{}}},
			Changes: []string{"An entry such as rpc: {between: [A, B], size: 2KB, every: 50us, count: 100, stack: tcp} in the " +
				"workload measures it beside the data."}}
	}
	best, steps := apply(controlRules(a.Data.Name, over), with)
	if best == nil {
		return Verdict{Text: "nothing carries its calls with every seed", Steps: steps, Changes: []string{}}
	}
	v := Verdict{Name: best.Name, Steps: steps, Changes: []string{},
		Text: fmt.Sprintf("%s on the network of %s: p99 of calls %s", best.CallsOver, best.Name, TimeText(best.CallP99PS))}
	if best.Name != a.Data.Name {
		v.Text += ", with the data there too; beside " + a.Data.Name + " it is a second network"
		if chosen := a.column(a.Data.Name); chosen != nil && chosen.Beside > 0 {
			v.Text += fmt.Sprintf(", which is %s %s of that one's cost",
				metrics.FormatCount(int64(chosen.Beside+0.5)), a.Currency)
		}
	}
	for _, o := range with {
		if o.Name != best.Name && o.Out == "" {
			v.Changes = append(v.Changes, fmt.Sprintf("%s (calls over %s): p99 %s.", o.Name, o.CallsOver, TimeText(o.CallP99PS)))
		}
	}
	return v
}
