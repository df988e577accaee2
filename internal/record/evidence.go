package record

import "github.com/hopscope/hopscope/internal/units"

// Evidence is what a run wrote down so that causes can be told apart: what the packets of
// each message met, and what happened at ports and switches at the moments that matter.
// Ports stand in it by their global number, an index into Ports.

// SampleEvery is how many packets of a queue pair or connection there are, one way, to one
// whose way is followed, beside the last packet of each message.
const SampleEvery = 16

// OtherPorts stands for a port in Met where what several of them did is summed.
const OtherPorts = 1<<28 - 1

// Met is what packets of one message, or what answered them, met at one port and class: the
// port that they left by, or that of the host where they arrived and waited to be taken.
type Met struct {
	Port  uint32 `json:"port"`
	Class uint8  `json:"class"`
	// Answer: the way of what answers requests. The data of a READ take that; what
	// acknowledges other messages does.
	Answer  bool       `json:"answer,omitempty"`
	Packets int64      `json:"packets"` // that were followed and took this port
	Marks   int64      `json:"marks,omitempty"`
	Wait    units.Time `json:"wait_ps,omitempty"` // of the packets followed, in all, while the class might send
	Held    units.Time `json:"held_ps,omitempty"` // likewise, while it was paused or had no credits
	// Own is the part of Wait and Held that stands in the message's account.
	Own   units.Time `json:"own_ps,omitempty"`
	First units.Time `json:"first_ps"`
	Last  units.Time `json:"last_ps"`
}

// During notes that something was met from one instant to another.
func (m *Met) During(from, to units.Time) {
	if m.Packets+m.Marks == 1 || from < m.First {
		m.First = from
	}
	m.Last = max(m.Last, to)
}

// PortID names a port.
type PortID struct {
	Node string `json:"node"`
	Port int    `json:"port"` // 1-based, in the order links name the node
}

// Evidence is what a run wrote down beside its counters.
type Evidence struct {
	Ports    []PortID `json:"ports"` // by global number
	Meetings Meetings `json:"-"`     // see Met
}

// Meetings tells what the packets of messages met. Not for several goroutines at once.
type Meetings interface {
	// Met appends what the packets of a message met, and what answered them, to a list: the
	// ports and classes of each way in order, each once.
	Met(message int, to []Met) []Met
}

// Met is what the packets of a message met.
func (e *Evidence) Met(message int) []Met {
	if e == nil || e.Meetings == nil {
		return nil
	}
	return e.Meetings.Met(message, nil)
}

// Add adds up two that are of one port and class.
func (m *Met) Add(o *Met) {
	if m.Packets+m.Marks == 0 {
		m.First, m.Last = o.First, o.Last
	}
	m.Packets, m.Marks = m.Packets+o.Packets, m.Marks+o.Marks
	m.Wait, m.Held, m.Own = m.Wait+o.Wait, m.Held+o.Held, m.Own+o.Own
	m.First, m.Last = min(m.First, o.First), max(m.Last, o.Last)
}
