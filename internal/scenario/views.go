package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/workload"
)

// A View is a choice of stacks that differ in one layer, so that what differs between its columns comes from there.
type View struct {
	Name   string
	About  string // what its stacks share, and in what they differ
	Stacks []string
	differ func(catalog.Layering) string // what of a stack must differ between its columns
}

// Views lists the views that a comparison has.
func Views() []View {
	api := func(l catalog.Layering) string { return l.API.String() }
	fabric := func(l catalog.Layering) string { return l.Fabric.String() }
	verbs := verbsOver(catalog.CreditedFabric)
	var over []string
	for _, s := range Stacks() {
		if s.Layers.API == verbs.API && slices.Equal(s.Layers.Transports, verbs.Transports) {
			over = append(over, s.Name)
		}
	}
	return []View{
		{"host", "the same wire, another path through the host: verbs carried out by the card, or sockets of the kernel's TCP",
			[]string{stackPFCOnly, stackTCP}, api},
		{"fabric", "the same verbs and transport, another fabric: Ethernet that drops, Ethernet that pauses, InfiniBand's credits",
			over, fabric},
	}
}

// FindView finds a view; the error says in one line which there are.
func FindView(name string) (View, error) {
	var names []string
	for _, v := range Views() {
		if v.Name == name {
			return v, nil
		}
		names = append(names, v.Name)
	}
	return View{}, fmt.Errorf("--view: %q is no view; %s", name, tree.Suggest(name, names))
}

// Narrow returns the view's columns: those of --stacks, if any, which must be of its stacks and still differ in its
// layer; and with controls each in place of the congestion control of the columns that have one. The error is one line.
func (v View) Narrow(stacks, controls []string) ([]string, error) {
	if stacks == nil {
		stacks = v.Stacks
	}
	var differ []string
	for _, column := range stacks {
		name, _, _ := splitColumn(column)
		if !contains(v.Stacks, name) {
			return nil, fmt.Errorf("--stacks %s is not of --view %s, which compares %s; leave one of the two out", column, v.Name,
				strings.Join(v.Stacks, ", "))
		}
		if d := v.differ(layersOf(name)); !contains(differ, d) {
			differ = append(differ, d)
		}
	}
	if len(differ) < 2 {
		return nil, fmt.Errorf("--stacks %s leaves --view %s nothing to compare: all of it is %s; name some of %s besides",
			strings.Join(stacks, ","), v.Name, strings.Join(differ, ""), strings.Join(v.Stacks, ", "))
	}
	if len(controls) == 0 {
		return stacks, nil
	}
	var out []string
	for _, column := range stacks {
		if name, own, _ := splitColumn(column); own != "" || !controlled(name) {
			out = append(out, column)
			continue
		}
		for _, c := range controls {
			stack, staged := strings.CutSuffix(column, stagedSuffix)
			name := stack + " " + c
			if staged {
				name += stagedSuffix
			}
			out = append(out, name)
		}
	}
	if slices.Equal(out, stacks) {
		return nil, fmt.Errorf("--controllers: no stack of --view %s that is compared, %s, has a congestion control that another could "+
			"stand in for; leave --controllers out", v.Name, strings.Join(stacks, ", "))
	}
	return out, nil
}

// layersOf are the layers that a stack declares.
func layersOf(stack string) catalog.Layering {
	for _, s := range Stacks() {
		if s.Name == stack {
			return s.Layers
		}
	}
	return catalog.Layering{}
}

// Layers are the APIs, transports and fabrics of what the workload sends, those alike together, in its order. What the
// stack declares is what they are unless an entry has a stack of its own or `switch.pfc` says which classes drop.
func (v *Valid) Layers() (out []catalog.Layering) {
	for i := range v.Plan.Conns {
		c := &v.Plan.Conns[i]
		service := catalog.Service(c.Service)
		l := catalog.Layering{API: service.API(), Fabric: v.fabricOf(c)}
		k := slices.IndexFunc(out, func(o catalog.Layering) bool { return o.API == l.API && o.Fabric == l.Fabric })
		if k < 0 {
			k, out = len(out), append(out, l)
		}
		if !slices.Contains(out[k].Transports, service) {
			out[k].Transports = append(out[k].Transports, service)
		}
	}
	return out
}

// fabricOf is the fabric of a connection, as the first port that its requester's frames reach has it for their class.
func (v *Valid) fabricOf(c *workload.Conn) catalog.Fabric {
	at := v.Graph.Endpoints[c.Src]
	link := v.Graph.Nodes[at.Node].Ports[at.Port]
	paused := v.NICs[at.Node].Ports[at.Port].PFC.Enabled
	if v.Graph.Nodes[link.Peer].Kind == topology.Switch {
		paused = v.Switches[link.Peer].Ports[link.PeerPort].PFC.Enabled
	}
	switch {
	case v.WireAt(at.Node, at.Port).Block > 0:
		return catalog.CreditedFabric
	case paused>>c.Class&1 != 0:
		return catalog.LosslessEthernet
	}
	return catalog.LossyEthernet
}
