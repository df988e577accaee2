package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/workload"
)

// A column of a comparison is a stack or, where data lie in GPUs, a stack with GPUDirect
// or one with staging: "rocev2" and "rocev2 staged". A congestion control may follow the stack: "rocev2 hpcc".

// stagedSuffix ends the name of a column whose data are staged.
const stagedSuffix = " staged"

// AllColumns is what stands for all columns in a list of them.
const AllColumns = "all"

// hostPath is how data of GPUs get to the card.
type hostPath uint8

const (
	asServer  hostPath = iota // as the server says, or nothing says
	gpuDirect                 // straight from the GPU
	viaHost                   // by copies through the host's memory
)

// splitColumn takes a column's name apart.
func splitColumn(name string) (stack, controller string, staged bool) {
	name, staged = strings.CutSuffix(name, stagedSuffix)
	stack, controller, _ = strings.Cut(name, " ")
	return stack, controller, staged
}

// CheckColumn says in one line what is wrong with a column's name, or nothing.
func (x Known) CheckColumn(name string) string {
	stack, controller, staged := splitColumn(name)
	if msg := CheckStack(stack); msg != "" {
		return msg
	}
	if msg := x.CheckController(controller); controller != "" && msg != "" {
		return msg
	}
	if controller != "" && !controlled(stack) {
		return fmt.Sprintf("%q: the stack %s has no congestion control that another could stand in for; say %s",
			name, stack, stack)
	}
	if staged && OverTCP(stack) {
		return fmt.Sprintf("%q: TCP always copies data of GPUs through the host's memory; say %s", name, stack)
	}
	return ""
}

// CheckController says in one line what is wrong with the name of a congestion control, or of one with a preset such as
// hpcc-ns3, or nothing.
func (x Known) CheckController(name string) string {
	if a, _ := x.preset(name); a != "" || contains(x.Controls(), name) {
		return ""
	}
	return fmt.Sprintf("%q is no congestion control; %s", name, tree.Suggest(name, x.Controls()))
}

// Controls lists the names of congestion controls of RoCEv2 that scenarios may have.
func (x Known) Controls() []string { return append([]string{dcqcnName}, x.controllers().Names()...) }

// preset takes the name of a control with a preset apart; "": it is none.
func (x Known) preset(name string) (algorithm, preset string) {
	all := x.controllers().All()
	for i := range all {
		p, found := strings.CutPrefix(name, all[i].Name+"-")
		if found && contains(all[i].PresetNames(), p) {
			return all[i].Name, p
		}
	}
	return "", ""
}

// Columns lists all columns that a comparison of v has, each stack with every way that
// data can take there.
func Columns(v *Valid) (names []string) {
	staged := v.DataInGPUs()
	for _, s := range StackNames() {
		names = append(names, s)
		if staged && !OverTCP(s) {
			names = append(names, s+stagedSuffix)
		}
	}
	return names
}

// DefaultColumns lists the columns that a comparison of v shows unless others are
// named: all stacks or, where data lie in GPUs, those whose differences the host's inside
// can change.
func DefaultColumns(v *Valid) []string {
	if !v.DataInGPUs() {
		return StackNames()
	}
	return []string{stackRoCEv2, stackRoCEv2 + stagedSuffix, stackPFCOnly, stackLossy,
		stackInfiniBand, stackInfiniBand + stagedSuffix, stackTCP, stackDCTCP, stackIWARP}
}

// DataInGPUs reports whether any data of the workload that cross the network lie in a
// GPU.
func (v *Valid) DataInGPUs() bool {
	in := func(endpoint int, device int16) bool {
		return device != workload.NoDevice && v.NICs[v.Graph.HostOf(endpoint)].Server.Devices[device].Kind == server.GPU
	}
	return slices.ContainsFunc(v.Plan.Conns, func(c workload.Conn) bool { return in(c.Src, c.SrcDevice) || in(c.Dst, c.DstDevice) })
}

// setColumn puts a column's stack, and the way of its data, in place of the scenario's
// own.
func setColumn(root *node, name string, known Known) *Error {
	at := pos{File: "--stacks"}
	if msg := known.CheckColumn(name); msg != "" {
		return at.Errorf("%s", msg)
	}
	stack, controller, staged := splitColumn(name)
	if bad := setStack(root, stack); bad != nil {
		return bad
	}
	of, preset := known.preset(controller)
	switch {
	case controller == "":
	case of != "" && !contains(known.Controls(), controller): // a preset, with its values alone
		values, choice := &node{Kind: mappingNode, Pos: at}, &node{Kind: mappingNode, Pos: at}
		values.Put("preset", at, &node{Kind: scalarNode, Text: preset, Pos: at})
		choice.Put(of, at, values)
		root.Put("controller", at, choice)
		root.Remove("dcqcn")
	case controller == dcqcnName:
		root.Remove("controller")
	default: // with the scenario's values, where it has some for this one
		if own := root.Get("controller"); own == nil || own.Kind != mappingNode || own.Get(controller) == nil {
			root.Put("controller", at, &node{Kind: scalarNode, Text: controller, Pos: at})
		}
		root.Remove("dcqcn")
	}
	switch {
	case staged:
		root.Put("gpudirect", at, &node{Kind: scalarNode, Text: "off", Pos: at})
	case hasServers(root):
		root.Put("gpudirect", at, &node{Kind: scalarNode, Text: "on", Pos: at})
	default:
		root.Remove("gpudirect")
	}
	return nil
}

// controlled reports whether a stack has a congestion control of RoCEv2.
func controlled(stack string) bool {
	return slices.ContainsFunc(Stacks(), func(s Stack) bool { return s.Name == stack && s.CC })
}

// hasServers reports whether any hosts have an inside.
func hasServers(root *node) bool {
	if root.Get("server") != nil {
		return true
	}
	hosts := root.Get("hosts")
	return hosts != nil && slices.ContainsFunc(hosts.Fields, func(f field) bool { return f.Value.Get("server") != nil })
}

// gpuDirectKey is `gpudirect` of the scenario or of an entry.
func (r *resolver) gpuDirectKey(text string) key {
	return wordKey("gpudirect", new(string), []string{"on", "off"}, text)
}

// readGPUDirect reads `gpudirect` of the scenario or of an entry.
func (r *resolver) readGPUDirect(o object) hostPath {
	o.read([]key{r.gpuDirectKey("")})
	switch o.text("gpudirect") {
	case "on":
		return gpuDirect
	case "off":
		return viaHost
	}
	return asServer
}

// noGPUData is the reason for what only data of GPUs have.
func (r *resolver) noGPUData() string {
	return when(!r.compared && r.hostPath != asServer && !r.v.DataInGPUs(), notInGPUs)
}

const notInGPUs = "no data that cross the network lie in a GPU; name ends such as h0/gpu0, of hosts with a server"

// checkHostPath refuses a column that is said to be staged where no data lie in GPUs.
func (r *resolver) checkHostPath(o object) {
	if r.d.err == nil && r.compared && r.hostPath == viaHost && !r.v.DataInGPUs() {
		r.d.fail(o.at("gpudirect"), "\"%s%s\" stages data of GPUs, and %s", r.v.Stack, stagedSuffix, notInGPUs)
	}
}
