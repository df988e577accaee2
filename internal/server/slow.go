package server

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
)

// SlowLinks says which PCIe links are slower than they should be: than the port of their
// card, than those of devices of the same kind, or, above a bridge, than one below it.
func (t *Tree) SlowLinks() (out []Warning) {
	for i := range t.Links {
		if text := t.slowLink(i); text != "" {
			out = append(out, Warning{t.Links[i].Line, text})
		}
	}
	return out
}

// SlowLink reports whether a link is one of SlowLinks.
func (t *Tree) SlowLink(link int) bool { return t.slowLink(link) != "" }

// slowLink says that a PCIe link is slower than it should be; "": it is not.
func (t *Tree) slowLink(i int) string {
	l := &t.Links[i]
	if l.Kind != PCIe {
		return ""
	}
	d := &t.Devices[l.B]
	switch best, of := t.fastestLike(i); {
	case d.Kind == Switch:
		below := t.fastestBelow(l.B)
		if below < 0 || !slower(l, &t.Links[below]) {
			return ""
		}
		text := fmt.Sprintf("the link above %s, %v, is slower than that of %s below it, %v; ways across it go at %s",
			t.label(l.B), l.PCIe, t.Devices[t.Links[below].B].Name, t.Links[below].PCIe, perSecond(l.PCIe.WriteRate()))
		if l.PCIe.Gen == 1 {
			text += "; bridges of virtual machines show such speeds: where this one is not real, " +
				"give it those of the device below"
		}
		return text
	case d.Kind == NIC && l.PCIe.WriteRate() < t.fastestPort(l.B):
		return fmt.Sprintf("the slot of %s, %v, carries %s and its port %v, %s: is it trained to fewer lanes or an older "+
			"generation than the card has?",
			t.label(l.B), l.PCIe, perSecond(l.PCIe.WriteRate()), t.fastestPort(l.B), perSecond(t.fastestPort(l.B)))
	case best >= 0:
		return fmt.Sprintf("the slot of %s, %v, is slower than that of %s, %v, of the same kind", t.label(l.B), l.PCIe, of,
			t.Links[best].PCIe)
	}
	return ""
}

// label names a device, with its bus number where it has one.
func (t *Tree) label(dev int) string {
	d := &t.Devices[dev]
	if d.BusID == "" {
		return d.Name
	}
	return d.Name + " (" + d.BusID + ")"
}

func slower(a, b *Link) bool { return a.PCIe.WriteRate() < b.PCIe.WriteRate() }

// fastestBelow is the fastest link down from a switch; -1: there is none.
func (t *Tree) fastestBelow(dev int) int {
	best := -1
	for i := range t.Links {
		if l := &t.Links[i]; l.Kind == PCIe && l.A == dev && (best < 0 || slower(&t.Links[best], l)) {
			best = i
		}
	}
	return best
}

// fastestPort is the largest rate of a card's ports.
func (t *Tree) fastestPort(card int) (most units.Rate) {
	for _, n := range t.PortsOf(card) {
		most = max(most, t.Nets[n].Rate)
	}
	return most
}

// fastestLike is the fastest link of a GPU of the same chip, or of a card with the same
// port, where it is faster than a link; -1: none is.
func (t *Tree) fastestLike(link int) (best int, name string) {
	l := &t.Links[link]
	d := &t.Devices[l.B]
	best = -1
	for i := range t.Links {
		o := &t.Links[i]
		e := &t.Devices[o.B]
		if o.Kind != PCIe || e.Kind != d.Kind || d.Kind == Switch || !slower(l, o) || e.Chip != d.Chip || t.fastestPort(l.B) != t.fastestPort(o.B) {
			continue
		}
		if best < 0 || slower(&t.Links[best], o) {
			best, name = i, e.Name
		}
	}
	return best, name
}

// perSecond writes a rate in bytes.
func perSecond(r units.Rate) string { return fmt.Sprintf("%.3g GB/s", float64(r)/8e9) }
