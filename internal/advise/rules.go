package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
)

// beyond is by what part one must be slower than another before that decides, besides what seeds make.
// Assumed: whoever changes a fabric wants more than a twentieth for it.
const beyond = 0.05

// rule takes columns away. The first that leaves one column decides.
type rule struct {
	name, states string
	// keep reports whether a column stays among those that are left, and words the figure that says so.
	keep func(a *Answer, left []*Answer) (stays bool, figure string)
}

// interfered is by how much data may lengthen p99 of calls before these get a network of their own. Assumed: a second
// network is worth less than that.
const interfered = 2

// dataRules are for the data plane, in order.
func dataRules(currency string) []rule {
	last := rule{"tuning", "without prices, what has more parameters of switches and congestion control than another " +
		"of those alike is out",
		least(func(a *Answer) float64 { return float64(a.SwitchParameters + a.ControlParameters) },
			func(x float64) string { return fmt.Sprintf("%.0f", x) }, "parameters")}
	if currency != "" {
		last = rule{"cost", "what costs more at your prices, both planes together, than another of those alike is out",
			least(func(a *Answer) float64 { return a.Cost.Total },
				func(x float64) string { return metrics.FormatCount(int64(x + 0.5)) }, currency)}
	}
	return []rule{
		{"ends", "what does not carry every message with every seed is out", ends},
		{"time", "what takes longer in the median than another with any seed, and by more than 5 %, is out", slower(dataPS)},
		last,
		{"cores", "what keeps more cores busy, calls included, than another of those still alike is out",
			least(func(a *Answer) float64 { return a.AllCores.Median },
				func(x float64) string { return fmt.Sprintf("%.3g", x) }, "cores")},
	}
}

func ends(a *Answer, _ []*Answer) (bool, string) { return a.Out == "", a.Out }

// slower keeps what no other beats: whose median is not beyond the other's with any seed, and by more than 5 % beyond
// its median.
func slower(of func(*Answer) *Spread) func(*Answer, []*Answer) (bool, string) {
	return func(a *Answer, left []*Answer) (bool, string) {
		best := slices.MinFunc(left, func(x, y *Answer) int { return cmp.Compare(of(x).Median, of(y).Median) })
		for _, o := range left {
			if of(a).Median > of(o).Most && of(a).Median > (1+beyond)*of(o).Median {
				return false, fmt.Sprintf("%s against %s of %s", ps(of(a).Median), ps(of(best).Median), best.Name)
			}
		}
		return true, ""
	}
}

// least keeps those with the least of a figure, which word writes without its unit.
func least(of func(*Answer) float64, word func(float64) string, unit string) func(*Answer, []*Answer) (bool, string) {
	return func(a *Answer, left []*Answer) (bool, string) {
		best := of(a)
		for _, o := range left {
			best = min(best, of(o))
		}
		return of(a) == best, word(of(a)) + " against " + word(best) + " " + unit
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
		Text: fmt.Sprintf("%s (stack %s): %s %s", best.Full(), best.Stack, a.Judged, TimeText(&best.DataPS))}
	if alike := a.alike(best); a.Currency == "" && alike != "" {
		v.Text += "; as fast, as far as " + seedsText(len(a.Seeds)) + ": " + alike + ", so that prices should decide (--prices)"
	}
	seeds, firm := a.bySeed(best, runs, prices)
	if !firm {
		v.Text += "; not firm, as single seeds choose otherwise"
	}
	v.Changes = append(v.Changes, seeds)
	for i := range a.Answers {
		if o := &a.Answers[i]; o.Name != best.Name && o.Out == "" {
			v.Changes = append(v.Changes, a.against(best, o))
		}
	}
	for i := range a.Answers {
		for k := range a.Answers[i].tried {
			if o := &a.Answers[i].tried[k]; o.Layers != nil {
				v.Changes = append(v.Changes, a.otherwise(rules, best, i, o))
			}
		}
	}
	return v
}

// seedsText is what speaks for a figure.
func seedsText(n int) string {
	if n == 1 {
		return "one seed tells"
	}
	return "these seeds tell"
}

// alike lists the columns that the rule of time leaves beside one.
func (a *Advice) alike(best *Answer) string {
	var names []string
	left := slices.DeleteFunc(pointers(a.Answers), func(o *Answer) bool { return o.Out != "" })
	for _, o := range left {
		if stays, _ := slower(dataPS)(o, left); stays && o.Name != best.Name {
			names = append(names, o.Full())
		}
	}
	return strings.Join(names, ", ")
}

// otherwise says what another setting of column i would change.
func (a *Advice) otherwise(rules []rule, best *Answer, i int, o *Answer) string {
	text := fmt.Sprintf("%s with %s (stack %s)", o.Name, o.Setting, o.Stack)
	if r := o.choice.Research; r != nil && r.Stack == o.Stack {
		text += ", a published design that no card on sale has,"
	}
	if o.Out == "" {
		text += " takes " + ps(o.DataPS.Median)
	} else {
		text += " does not carry all: " + o.Out
	}
	changed := slices.Clone(a.Answers)
	changed[i] = *o
	switch other, _ := apply(rules, pointers(changed)); {
	case other == nil:
		return text + ", which would leave nothing that does."
	case other.Name == best.Name:
		return text + ", and changes nothing."
	default:
		return text + ", with which the advice would be " + other.Full() + "."
	}
}

// Full is the name of a column with its setting.
func (a *Answer) Full() string {
	if len(a.choice.Settings) < 2 && a.choice.Research == nil {
		return a.Name
	}
	return a.Name + " with " + a.Setting
}

// bySeed says what each seed alone would choose; firm: all choose the same.
func (a *Advice) bySeed(best *Answer, runs Runs, prices *Prices) (text string, firm bool) {
	if len(a.Seeds) == 1 {
		return "Seeds: only one was run, so that nothing is known of how much chance decides; give --seeds 3 or more.", true
	}
	var differ []string
	for k, seed := range a.Seeds {
		one := runs
		one.Seen = map[string][]*Seen{}
		for stack, seen := range runs.Seen { // looked up alone
			if len(seen) > k {
				one.Seen[stack] = seen[k : k+1]
			}
		}
		all := columns(one, prices)
		if other, _ := apply(dataRules(a.Currency), pointers(all)); other != nil && other.Full() != best.Full() {
			differ = append(differ, fmt.Sprintf("with seed %d alone the advice would be %s", seed, other.Full()))
		}
	}
	if len(differ) > 0 {
		return "Seeds: " + strings.Join(differ, "; ") + ".", false
	}
	return fmt.Sprintf("Seeds: each of the %d alone gives the same.", len(a.Seeds)), true
}

// against says what another column has against the best, and from where on it would be chosen.
func (a *Advice) against(best, o *Answer) string {
	text := fmt.Sprintf("%s takes %.2f times as long", o.Full(), o.DataPS.Median/best.DataPS.Median)
	if o.Cost == nil {
		return text + "."
	}
	switch d := o.Cost.Total - best.Cost.Total; {
	case d > 0:
		text += fmt.Sprintf(" and costs %s more", a.Money(d))
	case d < 0:
		text += fmt.Sprintf(" and costs %s less: whoever can wait for it saves that", a.Money(-d))
	}
	if alike, _ := slower(dataPS)(o, []*Answer{best}); alike && o.Cost.Total > best.Cost.Total {
		text += fmt.Sprintf("; it is alike in time, so that below %s in all it would be chosen", a.Money(best.Cost.Total))
	}
	return text + "."
}

// Money is an amount in the currency of the prices.
func (a *Advice) Money(x float64) string { return metrics.FormatCount(int64(x+0.5)) + " " + a.Currency }

// column is the one of a name; nil: there is none.
func (a *Advice) column(name string) *Answer {
	for i := range a.Answers {
		if a.Answers[i].Name == name {
			return &a.Answers[i]
		}
	}
	return nil
}

// TimeText is a spread of times, with its range where seeds differ.
func TimeText(s *Spread) string {
	if ps(s.Least) == ps(s.Most) {
		return ps(s.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", ps(s.Median), ps(s.Least), ps(s.Most))
}

// controlPlane chooses for the control plane, beside the data plane that was chosen; over is what carries the calls
// where the scenario runs as it is.
func (a *Advice) controlPlane(over string) Verdict {
	if over == "" {
		return Verdict{Name: tcp, Text: "TCP over Ethernet; not measured, as the scenario has no remote procedure calls",
			Steps: []Step{{"sockets", "programs of the control plane speak sockets", []string{}}},
			Changes: []string{"An entry such as rpc: {between: [A, B], size: 2KB, every: 50us, count: 100, stack: tcp} in the " +
				"workload measures it beside the data."}}
	}
	data := a.column(a.Data.Name)
	if data == nil || data.CallP99PS == nil {
		return Verdict{Text: "nothing carries its calls beside the data with every seed", Steps: []Step{},
			Changes: []string{}}
	}
	v := Verdict{Name: data.Name, Steps: []Step{}, Changes: []string{}}
	own := a.column(tcp) // whose calls have an Ethernet to themselves
	if over != tcp {
		own = data
	}
	shared := fmt.Sprintf("calls over %s on the network of the data, %s: p99 %s", data.CallsOver, data.Name,
		TimeText(data.CallP99PS))
	apart, price := "", ""
	if own != nil && own.Calls != nil {
		apart = fmt.Sprintf("calls over %s on a network of their own: p99 %s", over, TimeText(&own.Calls.P99PS))
		if a.Currency != "" {
			price = fmt.Sprintf(", for %s more", a.Money(own.Cost.Parts))
			if data.Cost.Second > 0 {
				price = fmt.Sprintf(", for %s of the cost", a.Money(data.Cost.Second))
			}
		}
	}
	switch {
	case over == tcp && data.CallsOver != tcp:
		v.Steps = append(v.Steps, Step{"sockets", "calls that the scenario has on TCP stay on it, as their programs speak " +
			"sockets", []string{data.Name + " (calls over " + data.CallsOver + ")"}})
		v.Name, v.Text = tcp, "TCP on an Ethernet network beside "+data.Name
		if apart != "" {
			v.Text = apart + ", as " + data.Name + " has no TCP" + price
		}
		v.Changes = append(v.Changes, "Programs that speak verbs: "+shared+".")
	case apart != "" && data.CallP99PS.Median > interfered*own.Calls.P99PS.Median:
		v.Steps = append(v.Steps, Step{"interference", "where data make p99 of calls more than twice as long, calls get a " +
			"network of their own", []string{fmt.Sprintf("the network of the data (%s against %s without them)",
			ps(data.CallP99PS.Median), ps(own.Calls.P99PS.Median))}})
		v.Name, v.Text = own.Name, apart+price
		v.Changes = append(v.Changes, "One network for both: "+shared+".")
	default:
		v.Steps = append(v.Steps, Step{"one network", "calls share the network of the data while p99 stays within twice of " +
			"what it is without data", []string{}})
		v.Text = shared
		if apart != "" {
			v.Changes = append(v.Changes, "A second network: "+apart+price+".")
		}
	}
	for i := range a.Answers {
		if o := &a.Answers[i]; o.Name != data.Name && o.Out == "" && o.CallP99PS != nil {
			if o.Apart == nil {
				v.Changes = append(v.Changes, fmt.Sprintf("Data over %s, on one network: p99 of calls over %s %s.", o.Full(),
					o.CallsOver, TimeText(o.CallP99PS)))
				continue
			}
			v.Changes = append(v.Changes, fmt.Sprintf("Data over %s: calls over TCP then need a network of their own, p99 %s; "+
				"programs that speak verbs share that of the data, p99 %s over %s.", o.Full(), TimeText(&o.Apart.P99PS),
				TimeText(o.CallP99PS), o.CallsOver))
		}
	}
	return v
}
