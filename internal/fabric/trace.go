package fabric

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// pauseTrace lists the pauses of a partition's ports in the order in which they
// happen. A nil trace takes no notice.
type pauseTrace struct {
	events []pauseEvent
}

type pauseEvent struct {
	at    units.Time
	port  int32
	class uint8
	xoff  bool
}

func (t *pauseTrace) add(now units.Time, i int, c uint8, xoff bool) {
	if t != nil {
		t.events = append(t.events, pauseEvent{now, int32(i), c, xoff})
	}
}

// TracePauses makes the Net list every pause and resumption from now on.
func (n *Net) TracePauses() { n.trace = new(pauseTrace) }

// Pauses returns what TracePauses listed.
func (n *Net) Pauses() []record.PauseEvent {
	if n.trace == nil {
		return nil
	}
	out := make([]record.PauseEvent, 0, len(n.trace.events))
	for _, e := range n.trace.events {
		out = append(out, record.PauseEvent{At: e.at, Node: n.cold[e.port].node, Port: int(n.ports[e.port].local) + 1, Class: int(e.class), XOFF: e.xoff})
	}
	return out
}
