package whatif

import (
	"slices"
)

// Claim is what a sentence of a report says of a message or a collective, in a form that can be
// tried: what would have to be taken away, and the share of the time that it is said to take.
type Claim struct {
	Subject Subject
	Group   string   // "message", "line" or "collective": which sentence of a report it is
	Kind    string   // of the cause, for tables
	Changes []Change // each takes the cause away; empty: none is known that does
	// Line: it says that only a faster way helps. None: it names no cause.
	Line, None bool
	Share      float64 // of the time, 0 to 1
	Next       *Claim  // what comes behind it, where taking either away alone does not help
	Text       string  // the sentence
}

// Specific reports whether a change takes away what is narrower than a port: a receiver, a
// PCIe link, a core, a failure, loss, a class or a limit.
func (k Kind) Specific() bool {
	switch k {
	case Receiver,
		PCIe,
		Core,
		Failure,
		Loss,
		Classes,
		Window,
		SendBuffer,
		ReceiveWindow,
		CongestionWindow,
		ReadDepth,
		Receives:
		return true
	}
	return false
}

// AtPort reports whether a change takes a port away as a cause.
func (k Kind) AtPort() bool { return k == Port || k == Ports || k == Uplinks || k == Others }

// FasterWay reports whether a change makes a way faster.
func (k Kind) FasterWay() bool {
	return k == Port || k == Line || k == Lines || k == Ports || k == Uplinks
}

// wide reports whether a change takes so much away that it says least, however much it saves.
func (k Kind) wide() bool { return k == Line || k == Lines || k == Compute }

// anyPort reports whether the cause is a port.
func (c *Claim) anyPort() bool {
	return slices.ContainsFunc(c.Changes, func(x Change) bool { return x.Kind.AtPort() })
}

// Sets lists the sets of changes whose outcomes Judge asks for.
func (c *Claim) Sets(others []Change) (out [][]Change) {
	for _, x := range c.Changes {
		out = append(out, []Change{x})
		if c.Next != nil {
			for _, y := range c.Next.Changes {
				out = append(out, []Change{x, y})
			}
		}
	}
	if c.Next != nil {
		for _, y := range c.Next.Changes {
			out = append(out, []Change{y})
		}
	}
	for _, o := range others {
		if c.Line && !o.Kind.FasterWay() || c.anyPort() && o.Kind.Specific() {
			out = append(out, []Change{o})
		}
	}
	return out
}

// Verdict is what experiments say of a claim.
type Verdict uint8

// Verdicts.
const (
	Right      Verdict = iota
	False              // taking the cause away saves less than half of the share
	TooGeneral         // a port, where something narrower saves as much
	Series             // one of two in a row, and only one was named
	NoCause            // no cause was named
	Incomplete         // only a faster way is said to help, and something else saves a fifth
	Unresolved         // the cause cannot be taken away, or the run without it did not end
)

func (v Verdict) String() string {
	return [...]string{"right", "false", "too general", "series not said", "no cause", "incomplete line", "unresolved"}[v]
}

// The bounds of the definition, in shares of the time.
const (
	lineGain  = 0.20 // what nothing but a faster way may save where a sentence says so
	narrowest = 0.75 // of what the port saves: something narrower that saves more is the cause
)

// Judge says whether a claim is right:
//
//	A sentence names a cause C of a kind, at a place, with a share s of the message's time T.
//	Removing C is the ideal change of that thing alone: receiver, PCIe link or core without
//	limit; a port at 16 times its rate with thresholds, headroom and the hosts' own line rates
//	unchanged, or the other users of that port absent; a workload absent with all connection
//	numbers and hashes kept; class order equal; the failed link never failing; no random loss;
//	window, buffer or read depth unbounded. gain(X) = 1 - T_X / T, in complete runs. The
//	sentence is right if gain(C) >= s/2 and, where C is a port, no receiver, PCIe link, core,
//	failure, loss, class or limit has gain >= s/2 and >= 0.75 gain(C); or if it names C and next
//	D, with gain(C+D) >= s/2 and neither alone; or if it says that only a faster way helps, and
//	nothing else, absence of others included, gains 20 %. Every other sentence is a miss: false,
//	too general, series not said, no cause, incomplete line, unresolved.
//
// gain is that of a set of changes, and ok whether it could be tried and ended; others are the
// changes that may matter to the message. Instead is what saves more, where something does.
func (c *Claim) Judge(
	others []Change,
	gain func(...Change) (g float64, ok bool),
) (v Verdict, saved float64, instead Change) {
	if c.None {
		return NoCause, 0, instead
	}
	best := 0.0
	better := func(o Change, least float64) bool {
		g, ok := gain(o)
		if ok && g >= least && g > best {
			best, instead = g, o
		}
		return ok && g >= least
	}
	if c.Line {
		found := false
		for _, o := range others {
			found = !o.Kind.FasterWay() && better(o, lineGain) || found
		}
		if found {
			return Incomplete, best, instead
		}
		return Right, 0, instead
	}
	alone, resolved := -1.0, false
	for _, x := range c.Changes {
		if g, ok := gain(x); ok {
			alone, resolved = max(alone, g), true
		}
	}
	if !resolved {
		return Unresolved, 0, instead
	}
	half := c.Share / 2
	if c.Next != nil && alone < half {
		next, both := -1.0, -1.0
		for _, y := range c.Next.Changes {
			if g, ok := gain(y); ok {
				next = max(next, g)
			}
			for _, x := range c.Changes {
				if g, ok := gain(x, y); ok {
					both = max(both, g)
				}
			}
		}
		if both >= half && next < half {
			return Right, both, instead
		}
	}
	if alone < half {
		return False, alone, instead
	}
	if c.anyPort() {
		found := false
		for _, o := range others {
			if o.Kind.Specific() && !slices.ContainsFunc(c.Changes, o.Same) {
				found = better(o, max(half, narrowest*alone)) || found
			}
		}
		if found {
			return TooGeneral, alone, instead
		}
	}
	return Right, alone, instead
}
