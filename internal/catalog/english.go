package catalog

import "github.com/hopscope/hopscope/internal/lang"

// The English words of reports, where they are not the stable names.

// Words are what a link layer's things are called.
type Words struct {
	Class, ClassLong string // "prio", "priority"
	ClassTitle       string // heads a column
	HeldTitle        string // likewise, of the time in which a port may not send
	Limit            string // above which a switch marks
	Message          string // that tells a sender
	Holder           string // what shuts the gate of a port
	Control          string // of congestion
	HeldAck          string // how an acknowledgement is held, before the place
	Unheld           string // that nobody was held
	HeldTree         string // how holds spread
	HeldStorm        string // that they hold what does not go to where they began
	HeldUp           string // that a port was held, its name for %s
}

var english = []Words{
	Ethernet: {Class: "prio", ClassLong: "priority", ClassTitle: "Prio", HeldTitle: "Paused", Limit: "Kmin",
		Message: "CNP",
		Holder:  "PFC", Control: "DCQCN", HeldAck: "PFC held the ACK at", Unheld: "nobody paused", HeldUp: "PFC paused %s",
		HeldTree: "Pause tree", HeldStorm: "pause storm"},
	InfiniBand: {Class: "VL", ClassLong: "VL", ClassTitle: "VL", HeldTitle: "No\ncredits", Limit: "the FECN threshold",
		Message: "BECN",
		Holder:  "lack of credits", Control: "congestion control", HeldAck: "the ACK waited for credits at",
		Unheld: "nobody waited for credits", HeldUp: "%s waited for credits",
		HeldTree: "Credit waits", HeldStorm: "waits for credits spread"},
}

// English is what reports call the layer's things.
func (l Layer) English() Words { return l.Words(lang.English) }

// English is what a report says of who acted, before the number of things, and one of those:
// "sent" and "CNP".
func (m Mechanism) English() (did, noun string) {
	switch m {
	case BECNOnAck:
		did = "set BECN on"
	case CEOnAck:
		did = "flagged"
	case StampOnAck:
		did = "returned time stamps on"
	case INTOnAck:
		did = "returned telemetry on"
	default:
		did = "sent"
	}
	return did, m.Noun()
}

// English stands before a verb; "" for that of which nothing need be said.
func (s Service) English() string {
	if s == RC {
		return ""
	}
	return s.String() + " "
}

// English is how a report asks the question.
func (q Question) English() string {
	if q == FedBack {
		return "fed back"
	}
	return q.String()
}
