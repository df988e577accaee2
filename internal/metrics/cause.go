package metrics

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// Cause is what took a share of a message's time: what would have to be removed, alone, for
// the message to end sooner. Sentences are made from it, and so is the experiment that tests
// one: see docs/models/accounts.md.
type Cause struct {
	Kind catalog.Cause `json:"kind"`
	// Place is where the cause lies: of a port its class, of a receiver or core its host, of a
	// failure the link, of a window, bitmap or read depth the queue pair.
	Place record.Place `json:"place,omitzero"`
	// Why is what is special about a place inside a host, or about a port of one.
	Why catalog.Reason `json:"why,omitzero"`
	// Workload is the entry whose traffic it is, of kind workload alone.
	Workload string `json:"workload,omitempty"`
	// Milli is its share of the message's time, in thousandths.
	Milli int64 `json:"share_milli"`
	// Then is what holds the message as much once this is removed: neither alone helps.
	Then *Cause `json:"then,omitempty"`
}

// nameOf is how reports name a cause: by its place, or of a limit of a queue pair by what
// limits.
func (x *index) nameOf(c *Cause) string {
	switch c.Kind {
	case catalog.CauseWindow:
		return x.l.Of(limitWindow)
	case catalog.CauseBitmap:
		return x.l.Of(limitBitmap)
	case catalog.CauseReads:
		return limitReads
	case catalog.CauseStaged:
		return x.l.Of("copies without GPUDirect")
	case catalog.CauseMessages:
		return x.l.Of("message rate of ") + c.Place.In(x.l)
	}
	switch c.Place.Kind {
	case catalog.AtPortClass:
		return c.Place.PortID().String()
	case catalog.AtReceiveBuffer:
		if l := x.drain(c.Place.Node); l != nil && l.Inside != nil {
			return x.l.Sprintf("receiver host %s: %s", c.Place.Node, l.Inside)
		}
	}
	return c.Place.In(x.l)
}

// Is reports whether two causes are of the same kind at the same place.
func (c *Cause) Is(kind catalog.Cause, place record.Place) bool {
	return c.Kind == kind && c.Place == place
}
