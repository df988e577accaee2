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

// Choice is a column of the matrix.
type Choice struct {
	Name, Stack string
	// Variant is another stack of the same hardware, which answers what would change; "": there is none.
	Variant, VariantAbout string
	RDMA, InfiniBand      bool
}

// Choices are the columns.
func Choices() []Choice {
	return []Choice{
		{"TCP", "tcp", "dctcp", "DCTCP in place of CUBIC", false, false},
		{"RoCEv2 (lossless)", "rocev2", "rocev2-pfc-only", "PFC alone, without ECN and DCQCN", true, false},
		{"RoCEv2 (lossy)", "rocev2-lossy", "rocev2-irn", "IRN in place of DCQCN", true, false},
		{"InfiniBand", "infiniband", "", "", true, true},
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

// Answer is a column filled.
type Answer struct {
	Name  string `json:"name"`
	Stack string `json:"stack"`
	// Out says why it carries this workload not at all; "": it does.
	Out      string             `json:"out,omitempty"`
	Layers   []catalog.Layering `json:"layers,omitempty"`
	Switches int                `json:"switches"`
	Cables   int                `json:"cables"`
	Cards    int                `json:"cards"`
	// Parameters that somebody must decide on: of switches, of congestion control, of hosts' transports.
	SwitchParameters    int     `json:"switch_parameters"`
	ControlParameters   int     `json:"congestion_control_parameters"`
	TransportParameters int     `json:"transport_parameters"`
	DataPS              Spread  `json:"data_ps"`               // see Advice.Judged
	CallP99PS           *Spread `json:"rpc_p99_ps,omitempty"`  // nil: no calls
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
	// StagedPS is DataPS where GPUDirect is off; nil: no data lie in GPUs, or the stack always copies.
	StagedPS *Spread `json:"staged_ps,omitempty"`
	Copies   bool    `json:"copies_gpu_data"` // data of GPUs go through the hosts' memory
	// Cost is in Advice.Currency; nil: there are no prices.
	Cost *float64 `json:"cost,omitempty"`
	// Beside is what of it goes to an Ethernet network of as many parts for calls that stay on TCP.
	Beside float64 `json:"second_network_cost,omitempty"`
	Watch  []Watch `json:"watch,omitempty"`

	choice Choice
	data   catalog.Layering // of the data plane
}

// Advice is the matrix with what it leads to.
type Advice struct {
	Version  int      `json:"version"`
	Scenario string   `json:"scenario"`
	About    string   `json:"description,omitempty"`
	Seeds    []uint64 `json:"seeds"`
	Judged   string   `json:"judged_by"` // what DataPS is
	Currency string   `json:"currency,omitempty"`
	Answers  []Answer `json:"columns"`
	Data     Verdict  `json:"data_plane"`
	Control  Verdict  `json:"control_plane"`
}

// Verdict is a recommendation for one plane.
type Verdict struct {
	Name    string   `json:"recommended"` // of the column; "": nothing carries it
	Text    string   `json:"text"`
	Steps   []Step   `json:"rules"`   // that took a column away, in their order
	Changes []string `json:"changes"` // what would change it
}

// Runs are what the columns did, by stack; why is the error of a stack that cannot run the scenario.
type Runs struct {
	Seen map[string][]*Seen // looked up
	Why  map[string]string  // likewise
	// CallsOver is the transport of the calls where the scenario runs as it is; "": there are none.
	CallsOver string
}

// Of fills the matrix and applies the rules. prices may be nil.
func Of(scenario, about string, runs Runs, prices *Prices) *Advice {
	a := &Advice{Version: Version, Scenario: scenario, About: about, Judged: "p99 completion of data messages"}
	if prices != nil {
		a.Currency = prices.Currency
	}
	for _, c := range Choices() {
		a.Answers = append(a.Answers, answerOf(c, c.Stack, runs, prices))
		if seen := runs.Seen[c.Stack]; len(seen) > 0 && a.Seeds == nil {
			if seen[0].Whole {
				a.Judged = "time from the first data message to the last"
			}
			for _, o := range seen {
				a.Seeds = append(a.Seeds, o.Seed)
			}
		}
	}
	a.Data = a.dataPlane(runs, prices)
	a.Control = a.controlPlane(runs.CallsOver)
	return a
}

// answerOf fills a column from what a stack did.
func answerOf(c Choice, stack string, runs Runs, prices *Prices) Answer {
	a := Answer{Name: c.Name, Stack: stack, Out: runs.Why[stack], choice: c}
	seen := runs.Seen[stack]
	if len(seen) == 0 {
		return a
	}
	for _, o := range seen {
		if o.Trouble != "" && a.Out == "" {
			a.Out = fmt.Sprintf("%s, with seed %d", o.Trouble, o.Seed)
		}
	}
	o := seen[0]
	a.Layers, a.Switches, a.Cables, a.Cards = o.Layers, o.Switches, o.Cables, o.Cards
	a.data = o.Layers[0]
	for _, l := range o.Layers {
		if c.RDMA == (l.API == catalog.VerbsAPI) {
			a.data = l
			break
		}
	}
	a.SwitchParameters, a.ControlParameters, a.TransportParameters = o.Tune[ofSwitches], o.Tune[ofControl], o.Tune[ofHosts]
	of := func(get func(*Seen) float64) Spread { return spread(seen, get) }
	a.DataPS = of(judged)
	if o.Calls > 0 {
		s := of(func(o *Seen) float64 { return float64(o.CallP99) })
		a.CallP99PS, a.CallsOver = &s, o.CallsOver
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
	a.Cores, a.AllCores = of(func(o *Seen) float64 { return o.Cores }), of(func(o *Seen) float64 { return o.AllCores })
	a.Copied, a.DRAM = of(func(o *Seen) float64 { return float64(o.Copied) }),
		of(func(o *Seen) float64 { return float64(o.DRAM) })
	a.Copies = o.Staged > 0
	if staged := runs.Seen[Staged(stack)]; len(staged) > 0 {
		s := spread(staged, judged)
		a.StagedPS = &s
	}
	if prices != nil {
		cost := prices.of(&a)
		if runs.CallsOver == tcp && a.CallsOver != tcp {
			a.Beside = prices.bought(&Answer{Switches: a.Switches, Cables: a.Cables, Cards: a.Cards})
			cost += a.Beside
		}
		a.Cost = &cost
	}
	a.Watch = watch(seen, a.data)
	return a
}

// judged is the figure by which data planes are compared, in ps.
func judged(o *Seen) float64 {
	if o.Whole {
		return float64(o.Span)
	}
	return float64(o.P99)
}

// of is what a column costs: what is bought, cores that are kept busy, and parameters of switches and congestion
// control that are set and kept.
func (p *Prices) of(a *Answer) float64 {
	return p.bought(a) + a.AllCores.Median*p.Core + float64(a.SwitchParameters+a.ControlParameters)*p.Parameter
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
