package congestion

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
)

// Fault is what stopped a controller that did what none may; a run ends with it.
type Fault struct {
	Name string // of the algorithm
	What string // it did, without a subject: "panicked: ..."
	At   units.Time
	Host string
	QP   int
}

func (f *Fault) Error() string {
	return fmt.Sprintf("controller %s of %s qp %d, at %s: %s", f.Name, f.Host, f.QP, f.At.Human(), f.What)
}

// Before reports whether f came before g, in an order that does not depend on who found it.
func (f *Fault) Before(g *Fault) bool {
	switch {
	case f.At != g.At:
		return f.At < g.At
	case f.Host != g.Host:
		return f.Host < g.Host
	}
	return f.QP < g.QP
}
