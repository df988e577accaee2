package scenario

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Single is one message in place of a scenario's workload, posted at 0 on an idle network: without noise, triggers, a
// measure window and a stop time.
type Single struct {
	From, To string // ends, as entries of a workload name them: "h0", "h0:2", "h0/gpu3"
	Size     units.Bytes
	Staged   *bool // over what the ends do otherwise; nil: as they do
	// Like is a connection whose path, class and ports the message's takes; nil: what
	// entries have by default. Graph names the nodes of its path.
	Like  *workload.Conn
	Graph *topology.Graph
	// Verb is that of Like's messages, and MaxInline the longest that its card takes inside a work
	// request. As Like's messages are, so is this one, if it is short enough.
	Verb      workload.Verb
	MaxInline units.Bytes
	// OtherStack says that Like is of another stack, whose classes mean nothing here.
	OtherStack bool
}

// withoutEntry takes the name of the message's entry off an error, as nobody wrote that.
func withoutEntry(message string) string {
	for _, entry := range []string{"workload[0].flow.from: ", "workload[0].flow.to: ", "workload[0].flow.size: ", "workload flow: "} {
		message = strings.TrimPrefix(message, entry)
	}
	return message
}

// apply puts the message in the workload's place. What is wrong with it is reported
// under the name of the argument that it came from.
func (m *Single) apply(root *node) *Error {
	if root.Get("ns3") != nil {
		return pos{File: "path"}.Errorf("an ns3 section has its own flows; look at them with hopscope run --explain")
	}
	for _, key := range []string{"triggers", "measure", "stop"} {
		root.Remove(key)
	}
	flow := &node{Kind: mappingNode, Pos: pos{File: "path"}}
	put := func(key, argument, value string) {
		at := pos{File: argument}
		flow.Put(key, at, &node{Kind: scalarNode, Text: value, Pos: at})
	}
	put("from", "SRC", m.From)
	put("to", "DST", m.To)
	put("size", "--size", m.Size.String())
	if m.Staged != nil {
		put("gpudirect", "path", map[bool]string{true: "off", false: "on"}[*m.Staged])
	}
	if c := m.Like; c != nil {
		put("src_port", "path", strconv.Itoa(int(c.SrcPort)))
		if !m.OtherStack {
			put("class", "path", strconv.Itoa(int(c.Class)))
			put("dscp", "path", strconv.Itoa(int(c.DSCP)))
		}
		if c.Service != workload.TCP && !m.OtherStack {
			put("verb", "path", workload.VerbNames()[m.Verb])
			if c.Inline && m.Size <= m.MaxInline {
				put("inline", "path", "true")
			}
		}
		if c.Path != nil {
			way := &node{Kind: sequenceNode, Pos: flow.Pos}
			for _, n := range c.Path {
				way.Items = append(way.Items, &node{Kind: scalarNode, Text: m.Graph.Nodes[n].Name, Pos: flow.Pos})
			}
			flow.Put("path", flow.Pos, way)
		}
	}
	root.Put("noise", flow.Pos, &node{Kind: scalarNode, Text: "off", Pos: flow.Pos})
	entry := &node{Kind: mappingNode, Pos: flow.Pos}
	entry.Put("flow", flow.Pos, flow)
	root.Put("workload", flow.Pos, &node{Kind: sequenceNode, Pos: flow.Pos, Items: []*node{entry}})
	return nil
}
