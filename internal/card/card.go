// Package card says what network cards are like, generation by generation: where they sit on
// PCIe, what passing through them takes, how fast they take up messages, and what they do
// about losses and congestion beyond the standards. It holds numbers with their sources; the
// packages nic, rdma and congestion do what they say.
package card

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Spec is a card. The zero Spec, but for BlueFlame, is Ideal: nothing takes it any time.
type Spec struct {
	Name string
	// PCIeGen is the generation of its 16 lanes and Port the rate of its fastest model's
	// port; 0: it sits on no PCIe link, and data are at the card.
	PCIeGen int
	Port    units.Rate

	// Send is what a packet takes from the last thing that it waited for (its work request
	// or its payload) to the port, Receive what one takes from the port to the transport.
	// Packets follow each other through both, so that neither bounds a rate.
	Send, Receive units.Time
	// BlueFlame is the longest work request that an application can store into the card
	// along with the doorbell, so that the card need not read it; 0: none, see InlineOnly.
	BlueFlame units.Bytes
	// QPGap and Gap are the least times between two work requests that one queue pair, and
	// one port of the card, takes up; 0: none.
	QPGap, Gap units.Time

	// NAKDelay is from the packet that shows a gap to its NAK, NAKReaction from the arrival
	// of a sequence error NAK to what it makes the requester do.
	NAKDelay, NAKReaction units.Time
	// NAKNotifies has such a NAK bring a CNP along, where there is congestion control.
	NAKNotifies bool
	// AdaptiveMin is the shortest of retransmission timeouts that adapt; 0: as verbs have it.
	AdaptiveMin units.Time
	// SlowRestart narrows the window after a timeout.
	SlowRestart bool
	// Bitmap is how many packets ahead of a missing one it keeps with selective repeat; 0:
	// it has no selective repeat, or any number for Ideal.
	Bitmap int

	// CNPScope and CNPInterval are its limiter of CNPs, if Limits; else congestion control
	// says it for all cards.
	Limits      bool
	CNPScope    congestion.Scope
	CNPInterval units.Time

	// EthernetOnly cards have no ports of InfiniBand, and IWARP cards run TCP with MPA, DDP and RDMAP.
	EthernetOnly bool
	IWARP        bool

	notes []record.Note
}

// InlineOnly has work requests with their payload in them come with the doorbell, and no
// others.
const InlineOnly = units.Bytes(-1)

// Ideal is the name of the card that takes no time.
const Ideal = "ideal"

// Presets lists the names that Preset knows.
func Presets() []string {
	return []string{Ideal, "connectx-5", "connectx-6", "connectx-6-dx", "connectx-7", "e810", "bcm57508", "chelsio-t6"}
}

// Preset returns a card by name.
func Preset(name string) (Spec, error) {
	switch name {
	case Ideal:
		return Spec{Name: Ideal, BlueFlame: InlineOnly, IWARP: true}, nil
	case "connectx-5":
		return connectX5(), nil
	case "connectx-6":
		return connectX6("connectx-6"), nil
	case "connectx-6-dx":
		return connectX6Dx(), nil
	case "connectx-7":
		return connectX7(), nil
	case "e810":
		return e810(), nil
	case "bcm57508":
		return bcm57508(), nil
	case "chelsio-t6":
		return chelsioT6(), nil
	}
	return Spec{}, fmt.Errorf("card: unknown preset %q, want one of %s", name, strings.Join(Presets(), ", "))
}

// About says in a few words what a preset is.
func About(name string) string {
	return map[string]string{Ideal: "a card that takes no time; the default", "connectx-5": "NVIDIA ConnectX-5", "connectx-6": "NVIDIA ConnectX-6",
		"connectx-6-dx": "NVIDIA ConnectX-6 Dx", "connectx-7": "NVIDIA ConnectX-7", "e810": "Intel E810", "bcm57508": "Broadcom BCM57508 (NetXtreme-E)",
		"chelsio-t6": "Chelsio T6 (iWARP)"}[name]
}

// Notes lists what a card is like, with sources. A source that begins with "disputed" names
// those that disagree, one that begins with "assumed" says that there is none.
func (s *Spec) Notes() []record.Note { return s.notes }

// Selective reports whether it can repeat single packets.
func (s *Spec) Selective() bool { return s.Bitmap > 0 || s.Name == Ideal }

// PerSecond is how many messages per second a gap allows; 0: any number.
func PerSecond(gap units.Time) int64 {
	if gap == 0 {
		return 0
	}
	return int64(units.Second / gap)
}

// GapOf is the least time between messages at so many per second; 0: none.
func GapOf(perSecond int64) units.Time {
	if perSecond == 0 {
		return 0
	}
	return units.Second / units.Time(perSecond)
}

// said keeps a note of a number.
func (s *Spec) said(key, value, source string) { s.saidOf("nic."+key, value, source) }

// saidOf is said of what is no key of a card.
func (s *Spec) saidOf(key, value, source string) {
	s.notes = append(s.notes, record.Note{Key: key, Value: value, Source: source})
}

// sources are where the numbers of a preset come from.
type sources struct {
	pcie, pipeline, blueFlame, qpRate, rate, nakDelay, nakReaction, nakCNP, adaptive, slow, bitmap, limiter string
}

// explain notes every number of a preset with its source.
func (s *Spec) explain(from *sources) {
	s.said("preset", s.Name, About(s.Name))
	s.saidOf("the card's PCIe", fmt.Sprintf("gen%d x16, port of %v", s.PCIeGen, s.Port), from.pcie)
	s.said("send_pipeline", s.Send.String(), from.pipeline)
	s.said("receive_pipeline", s.Receive.String(), from.pipeline)
	blue := "none"
	if s.BlueFlame > 0 {
		blue = s.BlueFlame.String()
	}
	s.said("blue_flame", blue, from.blueFlame)
	s.said("qp_message_rate", rate(s.QPGap), from.qpRate)
	s.said("message_rate", rate(s.Gap), from.rate)
	s.said("nak_delay", s.NAKDelay.String(), from.nakDelay)
	s.said("nak_reaction_delay", s.NAKReaction.String(), from.nakReaction)
	s.said("nak_cnp", fmt.Sprint(s.NAKNotifies), from.nakCNP)
	adaptive := "off"
	if s.AdaptiveMin > 0 {
		adaptive = s.AdaptiveMin.String() + ", doubling"
	}
	s.said("adaptive_timeout.min", adaptive, from.adaptive)
	s.said("slow_restart", fmt.Sprint(s.SlowRestart), from.slow)
	selective := "no selective repeat"
	if s.Bitmap > 0 {
		selective = fmt.Sprintf("%d packets", s.Bitmap)
	}
	s.said("bitmap", selective, from.bitmap)
	if s.Limits {
		s.saidOf("dcqcn.cnp_limiter", fmt.Sprintf("%v, %v", s.CNPScope, s.CNPInterval), from.limiter)
	} else {
		s.saidOf("dcqcn.cnp_limiter", "as the scenario says", from.limiter)
	}
}

// rate prints messages per second.
func rate(gap units.Time) string {
	if gap == 0 {
		return "unlimited"
	}
	return fmt.Sprintf("%.1f million per second", float64(units.Second)/float64(gap)/1e6)
}
