// Package advise fills the decision between TCP, RoCEv2 and InfiniBand from runs of a user's own workload: what each
// needs, does and costs, which one its rules choose for data and control plane, what would change that, and what to
// watch. The rules are declared in rules.go; every figure comes from the runs or from the user's prices.
package advise

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// Version is the version of Advice as JSON.
const Version = 1

// Setting is a stack that the hardware of a column can be set to.
type Setting struct{ Stack, About string }

// Choice is a column of the matrix.
type Choice struct {
	Name     string
	Settings []Setting // of its hardware, the usual one first
	// Research is a published design that no card on sale has, so that it is tried and never recommended; nil: none.
	Research         *Setting
	RDMA, InfiniBand bool
}

// Choices are the columns.
func Choices() []Choice {
	return []Choice{
		{"TCP", []Setting{{"tcp", "CUBIC"}, {"dctcp", "DCTCP"}}, nil, false, false},
		{"RoCEv2 (lossless)", []Setting{{"rocev2", "PFC, ECN and DCQCN"}, {"rocev2-pfc-only", "PFC alone"}}, nil, true,
			false},
		{"RoCEv2 (lossy)", []Setting{{"rocev2-lossy", "ECN and DCQCN"}}, &Setting{"rocev2-irn", "IRN"}, true, false},
		{"InfiniBand", []Setting{{"infiniband", "credits"}}, nil, true, true},
	}
}

// Staged is the name of a stack whose data of GPUs are copied through the hosts' memory.
func Staged(stack string) string { return stack + " staged" }

// Spread is a figure over seeds.
type Spread struct {
	Median float64 `json:"median"` // the lower one of two
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// spread is that of what get returns of each run.
func spread(seen []*Seen, get func(*Seen) float64) Spread {
	var v []float64
	for _, o := range seen {
		v = append(v, get(o))
	}
	slices.Sort(v)
	return Spread{v[(len(v)-1)/2], v[0], v[len(v)-1]}
}

// Answer is a column filled, with the setting that its rule chose.
type Answer struct {
	Name    string `json:"name"`
	Stack   string `json:"stack"`
	Setting string `json:"setting"`
	// Out says why it carries this workload not at all; "": it does.
	Out      string             `json:"out,omitempty"`
	Layers   []catalog.Layering `json:"layers,omitempty"`
	Data     catalog.Layering   `json:"data_layers"` // of the data plane
	Switches int                `json:"switches"`
	Cables   int                `json:"cables"`
	Cards    int                `json:"cards"`
	// Parameters that somebody must decide on: of switches, of congestion control, of hosts' transports.
	SwitchParameters    int     `json:"switch_parameters"`
	ControlParameters   int     `json:"congestion_control_parameters"`
	TransportParameters int     `json:"transport_parameters"`
	DataPS              Spread  `json:"data_ps"`               // see Advice.Judged
	CallP99PS           *Spread `json:"rpc_p99_ps,omitempty"`  // beside the data; nil: no calls
	CallsOver           string  `json:"rpc_over,omitempty"`    // their transport
	Pauses              Spread  `json:"pauses"`                // PFC
	HeldPS              Spread  `json:"held_ps"`               // for pauses or credits, over all ports
	Dropped             Spread  `json:"dropped"`               // frames
	Marked              Spread  `json:"marked"`                // by ECN
	Resent              Spread  `json:"retransmitted_bytes"`   //
	PeakQueue           Spread  `json:"peak_queue_bytes"`      //
	Cores               Spread  `json:"cores_of_busiest_host"` // kept busy
	AllCores            Spread  `json:"cores_of_all_hosts"`
	Copied              Spread  `json:"copied_bytes"`
	DRAM                Spread  `json:"host_memory_bytes"` // read and written
	Copies              bool    `json:"copies_gpu_data"`   // data of GPUs go through the hosts' memory
	// StagedPS is DataPS where GPUDirect is off, with the first seed; 0: no data lie in GPUs, or the stack always copies.
	StagedPS float64 `json:"staged_ps,omitempty"`
	// Calls is what the calls do without the data; nil: there are none, or data cannot be taken away.
	Calls *CallsAlone `json:"rpc_alone,omitempty"`
	// Apart is what calls on TCP do on a second network, where the data's has no TCP; nil: they share it.
	Apart *CallsAlone `json:"rpc_on_second_network,omitempty"`
	// Cost is in Advice.Currency; nil: there are no prices.
	Cost  *Cost   `json:"cost,omitempty"`
	Watch []Watch `json:"watch,omitempty"`

	choice Choice
	tried  []Answer // its other settings
}

// CallsAlone is what remote procedure calls do where nothing else is sent.
type CallsAlone struct {
	P99PS Spread `json:"p99_ps"`
	Cores Spread `json:"cores_of_busiest_host"`
	all   Spread // cores of all hosts
}

// Cost is what a column costs, in parts. The data plane has Parts, Cores and Parameters, the control plane CallCores
// and Second.
type Cost struct {
	Parts      float64 `json:"switches_cables_cards"`
	Cores      float64 `json:"cores"`          // that are kept busy, those of calls apart
	Parameters float64 `json:"parameters"`     // of switches and congestion control, set and kept
	CallCores  float64 `json:"rpc_cores"`      // that calls keep busy by themselves
	Second     float64 `json:"second_network"` // of as many Ethernet parts, for calls that stay on TCP beside InfiniBand
	Total      float64 `json:"total"`
}

// Advice is the matrix with what it leads to.
type Advice struct {
	Version  int      `json:"version"`
	Scenario string   `json:"scenario"`
	About    string   `json:"description,omitempty"`
	Seeds    []uint64 `json:"seeds"`
	Messages int      `json:"data_messages"`
	Programs int      `json:"collectives_and_jobs"`
	Bytes    int64    `json:"payload_bytes"` // that was completed, of calls too
	CallsN   int      `json:"rpcs"`
	Judged   string   `json:"judged_by"` // what DataPS is
	Currency string   `json:"currency,omitempty"`
	Answers  []Answer `json:"columns"`
	Data     Verdict  `json:"data_plane"`
	NotShown []string `json:"not_shown"` // of the recommended data plane, see notShown
	Control  Verdict  `json:"control_plane"`
}

// Verdict is a recommendation for one plane.
type Verdict struct {
	Name    string   `json:"recommended"` // of the column whose network it is; "": nothing carries it
	Text    string   `json:"text"`
	Steps   []Step   `json:"rules"`             // that took something away, in their order
	Changes []string `json:"changes"`           // what would change it
	WhatIf  []string `json:"what_if,omitempty"` // what taking causes away brings, see WhatIf
}

// Runs are what the columns did, by stack; Why is the error of a stack that cannot run the scenario.
type Runs struct {
	Seen   map[string][]*Seen // looked up
	Calls  map[string][]*Seen // without the data; likewise
	Staged map[string]*Seen   // without GPUDirect, of the first seed; likewise
	Why    map[string]string  // likewise
	// CallsOver is the transport of the calls where the scenario runs as it is; "": there are none.
	CallsOver string
}

// Of fills the matrix and applies the rules. prices may be nil.
func Of(scenario, about string, runs Runs, prices *Prices) *Advice {
	a := &Advice{Version: Version, Scenario: scenario, About: about, Judged: "p99 completion time of messages"}
	if prices != nil {
		a.Currency = prices.Currency
	}
	a.Answers = columns(runs, prices)
	for i := range a.Answers {
		if seen := runs.Seen[a.Answers[i].Stack]; len(seen) > 0 && a.Seeds == nil {
			a.Messages, a.Programs, a.Bytes, a.CallsN = seen[0].Messages, seen[0].Programs, seen[0].Bytes, seen[0].Calls
			if seen[0].Whole {
				a.Judged = "time from first to last"
			}
			for _, o := range seen {
				a.Seeds = append(a.Seeds, o.Seed)
			}
		}
	}
	a.Data = a.dataPlane(runs, prices)
	a.Control = a.controlPlane(runs.CallsOver)
	a.NotShown = notShown(a.Best())
	return a
}

// Columns fills the columns alone, so that more can be run with the settings that it chose.
func Columns(runs Runs) []Answer { return columns(runs, nil) }

func columns(runs Runs, prices *Prices) (out []Answer) {
	for _, c := range Choices() {
		out = append(out, settled(c, runs, prices))
	}
	return out
}

// settled is the column of a choice with the better of its settings: the usual one, unless another beats it as one
// column beats another, or alone carries the workload.
func settled(c Choice, runs Runs, prices *Prices) Answer {
	all := make([]Answer, 0, len(c.Settings))
	best := 0
	for i, s := range c.Settings {
		all = append(all, answerOf(c, s, runs, prices))
		a, b := &all[best], &all[i]
		if len(runs.Seen[s.Stack]) == 0 || b.Out != "" || i == best {
			continue
		}
		if alike, _ := slower(dataPS)(a, []*Answer{b}); a.Out != "" || !alike {
			best = i
		}
	}
	out := all[best]
	for i := range all {
		if i != best {
			out.tried = append(out.tried, all[i])
		}
	}
	if c.Research != nil {
		out.tried = append(out.tried, answerOf(c, *c.Research, runs, prices))
	}
	return out
}

// answerOf fills a column from what a setting did.
func answerOf(c Choice, s Setting, runs Runs, prices *Prices) Answer {
	a := Answer{Name: c.Name, Stack: s.Stack, Setting: s.About, Out: runs.Why[s.Stack], choice: c}
	seen := runs.Seen[s.Stack]
	if len(seen) == 0 {
		if a.Out == "" {
			a.Out = "it was not run"
		}
		return a
	}
	for _, o := range seen {
		if o.Trouble != "" && a.Out == "" {
			a.Out = fmt.Sprintf("%s with seed %d", o.Trouble, o.Seed)
		}
	}
	a.base(seen[0])
	of := func(get func(*Seen) float64) Spread { return spread(seen, get) }
	a.DataPS = of(judged)
	if seen[0].Calls > 0 {
		s := of(func(o *Seen) float64 { return float64(o.CallP99) })
		a.CallP99PS, a.CallsOver = &s, seen[0].CallsOver
	}
	total := func(get func(t *metrics.Totals) int64) Spread {
		return of(func(o *Seen) float64 { return float64(get(&o.Totals)) })
	}
	a.Pauses = total(func(t *metrics.Totals) int64 { return t.PausesSent })
	a.HeldPS = total(func(t *metrics.Totals) int64 { return int64(t.HeldPS) })
	a.Dropped = total(func(t *metrics.Totals) int64 { return t.Dropped })
	a.Marked = total(func(t *metrics.Totals) int64 { return t.Marked })
	a.Resent = total(func(t *metrics.Totals) int64 { return t.ResentBytes })
	a.PeakQueue = of(func(o *Seen) float64 { return float64(o.PeakQueue) })
	a.Cores, a.AllCores = of(cores), of(allCores)
	a.Copied = of(func(o *Seen) float64 { return float64(o.Copied) })
	a.DRAM = of(func(o *Seen) float64 { return float64(o.DRAM) })
	a.Copies = seen[0].Staged > 0
	if o := runs.Staged[s.Stack]; o != nil {
		a.StagedPS = judged(o)
	}
	a.Calls = callsAlone(runs.Calls[s.Stack])
	second := runs.CallsOver == tcp && a.CallsOver != tcp
	if second {
		a.Apart = callsAlone(runs.Calls["tcp"])
	}
	if prices != nil {
		a.Cost = prices.of(&a)
		if second {
			a.Cost.beside(prices, &a, a.Apart)
		}
	}
	a.Watch = watch(seen, a.Layers)
	return a
}

// callsAlone is what calls did in runs without data; nil: there are none.
func callsAlone(seen []*Seen) *CallsAlone {
	if len(seen) == 0 {
		return nil
	}
	return &CallsAlone{spread(seen, func(o *Seen) float64 { return float64(o.CallP99) }), spread(seen, cores),
		spread(seen, allCores)}
}

// DataCores is how many cores data keep busy at all hosts together, without those that calls keep busy by themselves.
func (a *Answer) DataCores() float64 {
	if a.Calls == nil {
		return a.AllCores.Median
	}
	return max(a.AllCores.Median-a.Calls.all.Median, 0)
}

// base says what a column is made of.
func (a *Answer) base(o *Seen) {
	a.Layers, a.Switches, a.Cables, a.Cards = o.Layers, o.Switches, o.Cables, o.Cards
	a.Data = o.Layers[0]
	for _, l := range o.Layers {
		if a.choice.RDMA == (l.API == catalog.VerbsAPI) {
			a.Data = l
			break
		}
	}
	a.SwitchParameters, a.ControlParameters, a.TransportParameters = o.Tune[ofSwitches], o.Tune[ofControl], o.Tune[ofHosts]
}

func cores(o *Seen) float64    { return o.Cores }
func allCores(o *Seen) float64 { return o.AllCores }
func dataPS(a *Answer) *Spread { return &a.DataPS }

// judged is the figure by which data planes are compared, in ps.
func judged(o *Seen) float64 {
	if o.Whole {
		return float64(o.Span)
	}
	return float64(o.P99)
}

// of is what a column costs.
func (p *Prices) of(a *Answer) *Cost {
	c := &Cost{Parts: p.bought(a), Cores: a.DataCores() * p.Core,
		Parameters: float64(a.SwitchParameters+a.ControlParameters) * p.Parameter}
	if a.Calls != nil {
		c.CallCores = min(a.Calls.all.Median, a.AllCores.Median) * p.Core
	}
	c.Total = c.Parts + c.Cores + c.Parameters + c.CallCores
	return c
}

// beside adds a second network of as many Ethernet parts, on which calls go over TCP and do what they did alone.
func (c *Cost) beside(p *Prices, a *Answer, alone *CallsAlone) {
	c.Second = p.bought(&Answer{Switches: a.Switches, Cables: a.Cables, Cards: a.Cards})
	c.Total += c.Second - c.CallCores
	if c.CallCores = 0; alone != nil {
		c.CallCores = alone.all.Median * p.Core
	}
	c.Total += c.CallCores
}

// bought is what the switches, cables and cards of a column cost.
func (p *Prices) bought(a *Answer) float64 {
	parts, card := &p.Ethernet, p.Ethernet.Card
	switch {
	case a.choice.InfiniBand:
		parts, card = &p.InfiniBand, p.InfiniBand.Card
	case a.choice.RDMA:
		card = p.Ethernet.RDMACard
	}
	return float64(a.Switches)*parts.Switch + float64(a.Cables)*parts.Cable + float64(a.Cards)*card
}

// ps is a time for people.
func ps(x float64) string { return metrics.FormatTime(units.Time(x)) }

// CardKind is what a host's card must be.
func (a *Answer) CardKind() string {
	switch {
	case a.choice.InfiniBand:
		return "InfiniBand"
	case a.choice.RDMA:
		return "with RDMA"
	}
	return "ordinary"
}
