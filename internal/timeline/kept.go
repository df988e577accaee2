package timeline

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/record"
)

// kept is what a run that was not asked for a trace knows of the time in which things happened.
func kept(r *record.Run) *record.Trace {
	t := &record.Trace{Counters: r.Timeline, LeftOut: []string{
		"what queue pairs spent their time on, drops, retransmissions, links inside hosts and local operations: " +
			"a run notes them when it is asked for --perfetto"}}
	if e := r.Evidence; e != nil {
		layers := map[record.PortID]*record.Port{}
		for i := range r.Ports {
			layers[r.Ports[i].ID()] = &r.Ports[i]
		}
		for i := range e.Shut {
			s := &e.Shut[i]
			id := e.Ports[s.Port]
			p := layers[id]
			if p == nil {
				continue
			}
			g := record.GateTrace{Place: record.ClassAt(id.Node, id.Port, int(s.Class), p.Layer)}
			for _, x := range s.Seen {
				g.Seen = append(g.Seen, record.GateSlice{Slice: record.Slice{From: x.From, To: x.To}, Held: x.To})
			}
			t.Gates = append(t.Gates, g)
		}
	}
	for i := range r.Processors {
		p := &r.Processors[i]
		for k := range p.ByCore {
			c := &p.ByCore[k]
			l := record.LaneTrace{Host: p.Host, Group: "cores", Name: fmt.Sprintf("core %d", c.Core)}
			for _, x := range c.Seen {
				l.Seen = append(l.Seen, record.LabelSlice{Slice: record.Slice{From: x.From, To: x.To}, Label: "busy"})
			}
			t.Lanes = append(t.Lanes, l)
		}
	}
	return t
}
