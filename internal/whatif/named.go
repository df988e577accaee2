package whatif

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// Value is a subject's time in an outcome; Never: it has none.
func (l *Lab) Value(s *Subject, o *Outcome) units.Time {
	took, _ := l.value(s, o)
	return took
}

// GainOf is the share of a subject's time that an outcome saves; see Gain.
func (l *Lab) GainOf(s *Subject, o *Outcome) float64 { return gain(l.Value(s, l.base), l.Value(s, o)) }

// AloneWith takes all traffic but that of message i's connection away.
func (l *Lab) AloneWith(i int) Change { return Change{Kind: Alone, Conn: l.keys[i].conn} }

// Named is what takes away the cause that a report names for a subject, and the sentence in
// which it does; none where it names none that can be taken away.
func (l *Lab) Named(s Subject) (changes []Change, said string) {
	claims := l.Claims(s.Message)
	if len(claims) == 0 {
		return nil, ""
	}
	return claims[0].Changes, claims[0].Text
}

// Claims are what the bold sentence of a report says of message i.
func (l *Lab) Claims(i int) (out []Claim) {
	d := metrics.DominantStage(l.Run, i)
	if d.TimePS == 0 {
		return nil
	}
	c := Claim{Subject: Subject{Message: i}, Group: "message", Kind: d.Stage.String(), Share: float64(d.Milli) / 1000, Text: d.How}
	conn := l.keys[i].conn
	add := func(x Change) { c.Changes = append(c.Changes, x) }
	port := func(name string) bool {
		node, p, ok := strings.Cut(name, ":")
		n, known := l.Valid.Graph.NodeByName(node)
		k, err := strconv.Atoi(p)
		if !ok || !known || err != nil {
			return false
		}
		add(Change{Kind: Port, Node: n, Port: k - 1})
		add(Change{Kind: Others, Node: n, Port: k - 1, Conn: conn})
		c.Kind = "port"
		return true
	}
	host := func(prefix string, k Kind) bool {
		rest, ok := strings.CutPrefix(d.Where, prefix)
		rest, _, _ = strings.Cut(rest, ":")
		n, known := l.Valid.Graph.NodeByName(rest)
		if !ok || !known {
			return false
		}
		add(Change{Kind: k, Node: n})
		c.Kind = k.String()
		return true
	}
	switch base := d.Stage.Base(); {
	case host("receive buffer of ", Receiver), host("receiver host ", PCIe):
	case d.Stage.Leg() == catalog.LegAck && !port(d.Where):
		c.None = true
	case len(c.Changes) > 0:
	case d.Stage.Part() == catalog.PartWire || base == catalog.StageSending:
		c.Line, c.Kind = true, "line"
	case port(d.Where):
	case base == catalog.StageReceiveWindow:
		add(Change{Kind: ReceiveWindow, Conn: conn})
	case base == catalog.StageSendBuffer:
		add(Change{Kind: SendBuffer, Conn: conn})
	case base == catalog.StageCwnd:
		add(Change{Kind: CongestionWindow, Conn: conn})
	case base == catalog.StageEarlierWork:
		add(Change{Kind: Earlier, Conn: conn, Count: l.keys[i].nth})
	case base == catalog.StageReads:
		add(Change{Kind: ReadDepth, Conn: conn})
	case base == catalog.StageWindow || base == catalog.StageBitmap:
		add(Change{Kind: Window, Conn: conn})
	default:
		c.None = true
	}
	return []Claim{c}
}
