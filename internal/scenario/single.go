package scenario

import (
	"errors"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Single is one message in place of a scenario's workload.
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

// LoadSingle is LoadStack with a single message posted at 0, on an idle network: without
// the workload, noise, triggers, a measure window and a stop time. A src other than nil is the
// scenario's text. A stack other than "" is set as in a comparison.
func LoadSingle(nameOrFile string, src []byte, stack string, set []string, seed *uint64, m Single) (*Valid, error) {
	file := nameOrFile
	if src == nil {
		var bad *Error
		if file, src, bad = open(nameOrFile); bad != nil {
			return nil, bad
		}
	}
	v, err := parseChanged(file, src, changes{stack: stack, set: set, seed: seed, single: &m})
	var bad *Error
	if errors.As(err, &bad) && bad.Line == 0 { // the entry is nothing that the user wrote
		for _, entry := range []string{"workload[0].flow.from: ", "workload[0].flow.to: ", "workload[0].flow.size: ", "workload flow: "} {
			bad.Msg = strings.TrimPrefix(bad.Msg, entry)
		}
	}
	return v, err
}

// apply puts the message in the workload's place. What is wrong with it is reported
// under the name of the argument that it came from.
func (m *Single) apply(root *node) *Error {
	if root.get("ns3") != nil {
		return pos{file: "path"}.errorf("an ns3 section has its own flows; look at them with hopscope run --explain")
	}
	for _, key := range []string{"triggers", "measure", "stop"} {
		root.remove(key)
	}
	flow := &node{kind: mappingNode, pos: pos{file: "path"}}
	put := func(key, argument, value string) {
		at := pos{file: argument}
		flow.put(key, at, &node{kind: scalarNode, text: value, pos: at})
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
			way := &node{kind: sequenceNode, pos: flow.pos}
			for _, n := range c.Path {
				way.items = append(way.items, &node{kind: scalarNode, text: m.Graph.Nodes[n].Name, pos: flow.pos})
			}
			flow.put("path", flow.pos, way)
		}
	}
	root.put("noise", flow.pos, &node{kind: scalarNode, text: "off", pos: flow.pos})
	entry := &node{kind: mappingNode, pos: flow.pos}
	entry.put("flow", flow.pos, flow)
	root.put("workload", flow.pos, &node{kind: sequenceNode, pos: flow.pos, items: []*node{entry}})
	return nil
}
