package scenario

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/tree"
)

// Stack is what one name after `stack:` switches on. All of them have the
// reliable connected service; what is off leaves the rest alone.
type Stack struct {
	Name    string
	Summary string // one line
	PFC     bool   // the data's class is lossless; without it egress thresholds drop
	ECN     bool   // switches mark
	CC      bool   // DCQCN runs in the NICs
	// Recovery is how NICs recover from loss unless the scenario says.
	Recovery string
	Credits  bool // InfiniBand: no frame is sent that there is no room for
	// Layers are its API, its transports and its fabric.
	Layers catalog.Layering
}

// Stacks that exist now, the default first.
const (
	stackRoCEv2  = "rocev2"
	stackPFCOnly = "rocev2-pfc-only"
	stackECNOnly = "rocev2-ecn-only"
	stackNone    = "rocev2-none"
	stackLossy   = "rocev2-lossy"
	stackIRN     = "rocev2-irn"

	stackInfiniBand = "infiniband"

	stackTCP   = "tcp"
	stackDCTCP = "dctcp"

	stackIWARP = "iwarp"
)

// Names of the stacks that look at TCP and at RDMA where a scenario runs the other.
const (
	TCPStack     = stackTCP
	DefaultStack = stackRoCEv2
)

// Stacks lists the stacks that `stack:` and compare take, in the order of a
// comparison's columns.
func Stacks() []Stack {
	lossless, lossy := verbsOver(catalog.LosslessEthernet), verbsOver(catalog.LossyEthernet)
	sockets := catalog.Layering{API: catalog.SocketsAPI, Transports: []catalog.Service{catalog.TCP},
		Fabric: catalog.LossyEthernet}
	return []Stack{
		{stackRoCEv2, "RoCEv2 with PFC, ECN and DCQCN", true, true, true, goBackN, false, lossless},
		{stackPFCOnly, "RoCEv2 with PFC alone: no marks, no congestion control",
			true, false, false, goBackN, false, lossless},
		{stackECNOnly, "RoCEv2 with ECN and DCQCN but no PFC: full queues drop, go-back-N recovers",
			false, true, true, goBackN, false, lossy},
		{stackNone, "RoCEv2 with neither PFC nor ECN: full queues drop, go-back-N recovers",
			false, false, false, goBackN, false, lossy},
		{stackLossy, "RoCEv2 with ECN and DCQCN but no PFC: full queues drop, selective repeat recovers",
			false, true, true, selectiveRepeat, false, lossy},
		{stackIRN, "RoCEv2 with neither PFC nor ECN: IRN's window of one BDP, full queues drop, its selective repeat " +
			"recovers",
			false, false, false, irn, false, lossy},
		{stackInfiniBand, "InfiniBand with credits per virtual lane: nothing is sent without room for it; " +
			"congestion control if asked for",
			false, false, false, goBackN, true, verbsOver(catalog.CreditedFabric)},
		{stackTCP, "TCP as Linux has it: CUBIC, SACK and RACK-TLP over a class that drops; no marks, no PFC",
			false, false, false, goBackN, false, sockets},
		{stackDCTCP, "DCTCP: switches mark from a threshold on, and windows shrink by the share of marks; no PFC",
			false, true, false, goBackN, false, sockets},
		{stackIWARP, "iWARP: verbs over TCP, which the card runs: no kernel, no copies; full queues drop, TCP recovers; no marks, no PFC",
			false, false, false, goBackN, false,
			catalog.Layering{API: catalog.VerbsAPI, Transports: []catalog.Service{catalog.IWARP}, Fabric: catalog.LossyEthernet}},
	}
}

// verbsOver are the layers of RDMA's own transports over a fabric.
func verbsOver(f catalog.Fabric) catalog.Layering {
	return catalog.Layering{API: catalog.VerbsAPI, Transports: []catalog.Service{catalog.RC, catalog.UC, catalog.UD},
		Fabric: f}
}

// StackNames lists the names of Stacks.
func StackNames() []string {
	var names []string
	for _, s := range Stacks() {
		names = append(names, s.Name)
	}
	return names
}

// CheckStack says in one line what is wrong with a stack's name, or nothing.
func CheckStack(name string) string {
	built := StackNames()
	if contains(built, name) {
		return ""
	}
	return fmt.Sprintf("%q is not a stack; %s", name, tree.Suggest(name, built))
}

// stack is the one that the scenario runs; the default while the name is wrong.
func (r *resolver) stack() Stack {
	if r.ofStack.Name == r.v.Stack && r.v.Stack != "" {
		return r.ofStack
	}
	all := Stacks()
	r.ofStack = all[0]
	for _, s := range all {
		if s.Name == r.v.Stack {
			r.ofStack = s
		}
	}
	return r.ofStack
}

// without says what a stack leaves out, as a source of notes.
func (s Stack) without() string { return "stack " + s.Name }

// setStack puts a stack in place of the scenario's own, with what the scenario
// says of congestion control left out when that stack has none: a comparison
// runs one file over several stacks.
func setStack(root *node, name string) *Error {
	at := pos{File: "--stacks"}
	if msg := CheckStack(name); msg != "" {
		return at.Errorf("%s", msg)
	}
	root.Put("stack", at, &node{Kind: scalarNode, Text: name, Pos: at})
	for _, s := range Stacks() {
		if s.Name != name {
			continue
		}
		if !s.CC {
			root.Remove("dcqcn")
		}
	}
	return nil
}

// hostsAlike gives hosts that name no preset that of TCP's hosts in all columns of a
// comparison, if a column or an entry of the workload runs TCP.
func hostsAlike(root *node, stacks []string) {
	if len(stacks) == 0 || !slices.ContainsFunc(stacks, OverTCP) && !entriesOverTCP(root) {
		return
	}
	at := pos{File: "--stacks"}
	h := root.Get("host")
	if h == nil || h.Kind == nullNode {
		h = &node{Kind: mappingNode, Pos: at}
		root.Put("host", at, h)
	}
	if h.Kind == mappingNode && h.Get("preset") == nil {
		h.Put("preset", at, &node{Kind: scalarNode, Text: tcpHost, Pos: at})
	}
}

// OverTCP reports whether a stack, or the column of a comparison, runs sockets over TCP.
func OverTCP(stack string) bool {
	profile, ok := profileOf(stack)
	return ok && profile != offloadedTCP
}

// Narrow reports whether a stack, or the column of a comparison, has verbs and not all of those that RC has.
func Narrow(stack string) bool {
	name, _, _ := splitColumn(stack)
	return name == stackIWARP
}

// entriesOverTCP reports whether an entry of the workload has a stack of TCP of its
// own.
func entriesOverTCP(root *node) bool {
	list := root.Get("workload")
	if list == nil {
		return false
	}
	for _, item := range list.Items {
		for _, f := range item.Fields {
			if s := f.Value.Get("stack"); s != nil && OverTCP(s.Text) {
				return true
			}
		}
	}
	return false
}
