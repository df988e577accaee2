package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/typo"
	"github.com/hopscope/hopscope/internal/units"
)

// maxCardDelay bounds what a card takes for anything: 83 ms is the longest that was measured.
const maxCardDelay = units.Second

// maxMessageRate bounds message rates, per second: chips take up some 400 million.
const maxMessageRate = 1_000_000_000

// cardPresetKey is the generation of a card.
func cardPresetKey(s *nicSettings) key {
	k := wordKey("preset", &s.card.Name, card.Presets(), "What kind of card it is, with the PCIe link that it sits on unless the host has a `server` or a `drain_rate`: "+
		"`hopscope show connectx-7` lists the constants with their sources, [cards](../models/nic.md#cards) compares them. Keys given beside it change it.").
		check(func(object) { s.takeCard(s.card.Name) })
	return elsewhere(allOnOffer(k, card.Presets()), host.Presets(), "is a host; give it to the section host")
}

// allOnOffer has a key name every word that it takes, beside the nearest: who asks for a card
// that is not there (connectx-8) seldom means the one that is spelled most like it.
func allOnOffer(k key, words []string) key {
	parse := k.parse
	k.parse = func(o object, name string) bool {
		if text, ok := o.scalar(name); ok && !slices.Contains(words, text) {
			nearest := ""
			if w := typo.Nearest(text, words); w != "" {
				nearest = fmt.Sprintf("did you mean %q? ", w)
			}
			o.fail(name, "%q is not known; %sthere are %s", text, nearest, strings.Join(words, ", "))
			return false
		}
		return o.d.err == nil && parse(o, name)
	}
	return k
}

// elsewhere has a preset's key say where presets of another kind belong.
func elsewhere(k key, others []string, where string) key {
	parse := k.parse
	k.parse = func(o object, name string) bool {
		if text, ok := o.scalar(name); ok && slices.Contains(others, text) {
			o.fail(name, "%s %s", text, where)
		}
		return o.d.err == nil && parse(o, name)
	}
	return k
}

// eitherPreset is `preset` of a single host, whose keys of the sections nic and host stand
// together: names of cards and of hosts never clash. It reads one kind, by own, and passes
// over words of the other.
func eitherPreset(own key, others []string) key {
	words := append(card.Presets(), host.Presets()...)
	parse := own.parse
	own.text = "A card as in `nic.preset`, or a host as in `host.preset`."
	own.values, own.forms, own.group = []string{quoted(words)}, []jsonSchema{wordsOf(words...)}, ""
	own.parse = func(o object, name string) bool {
		text, ok := o.scalar(name)
		switch {
		case !ok, slices.Contains(others, text):
			return false
		case !slices.Contains(words, text):
			o.fail(name, "%q is neither a card nor a host; %s", text, tree.Suggest(text, words))
			return false
		}
		return parse(o, name)
	}
	return own
}

// withPreset puts another key in the place of preset.
func withPreset(keys []key, preset func(own key) key) []key {
	for i := range keys {
		if keys[i].name == "preset" {
			keys[i] = preset(keys[i])
		}
	}
	return keys
}

// nicKeysOfHost are the keys of a nic section as they stand in that of a single host.
func (r *resolver) nicKeysOfHost(s *nicSettings) []key {
	return withPreset(r.nicKeys(s), func(own key) key { return eitherPreset(own, host.Presets()) })
}

// processorKeysOfHost are those of a host section.
func processorKeysOfHost(s *hostSettings) []key {
	return withPreset(processorKeys(s, nil), func(own key) key { return eitherPreset(own, card.Presets()) })
}

// takeCard makes s a card of a preset.
func (s *nicSettings) takeCard(name string) {
	s.card, _ = card.Preset(name)
	s.adaptive, s.slow = rdma.AdaptiveTimeout{}, rdma.SlowRestart{On: s.card.SlowRestart}
	if s.card.AdaptiveMin > 0 {
		s.adaptive = rdma.DefaultAdaptiveTimeout()
		s.adaptive.Min = s.card.AdaptiveMin
	}
}

// cardKeys are the keys that say what passing through a card takes.
func (r *resolver) cardKeys(s *nicSettings) []key {
	c := &s.card
	const presets = "the preset's"
	onPCIe := func() string {
		return when(s.server.inside() == nil, "data are at the card; give a preset such as connectx-7, or a server")
	}
	delay := func(name string, dst *units.Time, text string) key {
		return timeKey(name, dst, text).otherwise(presets).within(0, int64(maxCardDelay), fmt.Sprintf("is longer than any card takes; give at most %v", maxCardDelay))
	}
	rate := func(name string, gap *units.Time, text string) key {
		perSecond := int64(0)
		return numberKey(name, &perSecond, 1, maxMessageRate, text).otherwise(presets).check(func(object) { *gap = card.GapOf(perSecond) }).
			or("unlimited", func() { *gap = 0 }).unless(onPCIe)
	}
	return []key{
		delay("send_pipeline", &c.Send, "What a packet takes inside the card, from the last thing that it waited for to the port."),
		delay("receive_pipeline", &c.Receive, "What a packet takes inside the card from the port to the transport."),
		sizeKey("blue_flame", &c.BlueFlame, "The longest work request that comes along with the doorbell when it is posted alone, so that the card need not read it; `inline`: only those "+
			"with their payload in them, and these always; `none`.").otherwise(presets).within(0, int64(maxInline), "is more than any doorbell takes along; give at most 4KiB, such as 256B").
			or("inline", func() { c.BlueFlame = card.InlineOnly }).or("none", func() { c.BlueFlame = 0 }).unless(onPCIe),
		rate("qp_message_rate", &c.QPGap, "Messages per second that one queue pair takes up."),
		rate("message_rate", &c.Gap, "Messages per second that one port of the card takes up."),
		delay("nak_delay", &c.NAKDelay, "From the packet that shows a gap to its NAK."),
		delay("nak_reaction_delay", &c.NAKReaction, "From the arrival of a NAK of a gap to what it makes the requester do."),
		flagKey("nak_cnp", &c.NAKNotifies, "The NAK of a gap brings a CNP along.").otherwise(presets).unless(r.noCNP).unless(r.noEthernet),
	}
}

// cardServers gives hosts whose cards sit on PCIe, and that have nothing else inside, a
// socket with one link per port. In a server a card's own link trains to the older generation
// of its two ends.
func (r *resolver) cardServers() {
	type model struct {
		in         *serverSettings
		gen, ports int
		port       units.Rate
	}
	made := make(map[model]*serverSettings)
	for n := range r.v.Graph.Nodes {
		s := &r.nics[n]
		if r.d.err != nil || r.v.Graph.Nodes[n].Kind != topology.Host || s.card.PCIeGen == 0 || s.server == nil && (s.drain > 0 || s.keepsUp) {
			continue
		}
		key := model{s.server, s.card.PCIeGen, len(r.v.Graph.Nodes[n].Ports), s.card.Port}
		switch {
		case made[key] != nil:
		case s.server == nil:
			made[key] = &serverSettings{tree: server.Plain(key.gen, key.ports, key.port), implied: true, obj: s.obj}
		case s.server.inside() == nil:
			continue
		default:
			made[key] = s.server.copy()
			made[key].trainCards(key.gen)
		}
		s.server = made[key]
	}
}

// trainCards lowers the links of cards to a generation of PCIe.
func (s *serverSettings) trainCards(gen int) {
	cards := s.tree.NICs()
	for i := range s.tree.Links {
		if l := &s.tree.Links[i]; l.Kind == server.PCIe && slices.Contains(cards, l.B) && l.PCIe.Gen > gen {
			l.PCIe.Gen = gen
		}
	}
}

// cardDCQCN applies a card's own limiter of CNPs to p, as far as dcqcn says nothing.
func (r *resolver) cardDCQCN(s *nicSettings, p *congestion.DCQCNParams) {
	if !s.card.Limits {
		return
	}
	if !r.dcqcnGiven.has("cnp_limiter") {
		p.CNPLimiter = s.card.CNPScope
	}
	if !r.dcqcnGiven.has("min_time_between_cnps") {
		p.MinTimeBetweenCNPs = s.card.CNPInterval
	}
}

// cardNotes names the presets of cards in use, and warns of what they do not have.
func (r *resolver) cardNotes() {
	hosts := make(map[string][]string)
	for n := range r.v.Graph.Nodes {
		if r.v.Graph.Nodes[n].Kind == topology.Host && r.nics[n].card.Name != "" {
			hosts[r.nics[n].card.Name] = append(hosts[r.nics[n].card.Name], r.v.Graph.Nodes[n].Name)
		}
	}
	for _, name := range card.Presets() {
		if name == card.Ideal || len(hosts[name]) == 0 {
			continue
		}
		r.note("nic.preset", fmt.Sprintf("%s (%s)", name, some(hosts[name])), fmt.Sprintf("hopscope show %s lists its constants with their sources", name))
		if spec, err := card.Preset(name); err == nil && spec.EthernetOnly && r.stack().Credits {
			r.warn("Ethernet card", "nic.preset: %s has no InfiniBand (%s): no such network exists; take connectx-5, connectx-6 or connectx-7, or an RoCEv2 stack", card.About(name), some(hosts[name]))
		}
		for n := range r.nics {
			if s := &r.nics[n]; r.v.Graph.Nodes[n].Kind == topology.Host && s.card.Name == name && !s.card.Selective() &&
				(s.recovery == irn || s.recovery == selectiveRepeat) {
				r.warn("selective card", "nic.recovery: no %s is known to repeat single packets; %s does so as the scenario says so",
					card.About(name), r.v.Graph.Nodes[n].Name)
			}
		}
	}
}

// some names a few of a list.
func some(names []string) string {
	if len(names) <= 2 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// cardSheets are the presets of cards.
func cardSheets() (out []Sheet) {
	for _, name := range card.Presets() {
		if c, err := card.Preset(name); err == nil && name != card.Ideal {
			out = append(out, Sheet{"nic", name, card.About(name), c.Notes(), nil})
		}
	}
	return out
}
