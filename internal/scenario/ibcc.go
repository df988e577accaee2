package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// ibccSettings is `infiniband.congestion_control`: how switches mark (FECN), and
// how adapters react to what comes back (BECN). Off unless given.
type ibccSettings struct {
	on          bool
	preset      string
	threshold   int // weight; 0: nothing is marked
	markingRate int
	packetSize  units.Bytes
	victims     string // victimsNone, victimsHosts or victimsAll
	params      congestion.IBCCParams
	obj         object
}

// Words of `victim_mask`.
const (
	victimsNone  = "none"
	victimsHosts = "hosts"
	victimsAll   = "all"
)

// fromOFED is the source of the preset ofed.
const fromOFED = "congestion control manager of Mellanox OFED (user manual 2.3)"

// newIBCC is what the first preset says.
func newIBCC() ibccSettings {
	s := ibccSettings{preset: congestion.IBCCPresets()[0], threshold: 15, markingRate: 10, packetSize: 512, victims: victimsHosts}
	s.take()
	return s
}

// take makes s what its preset is.
func (s *ibccSettings) take() {
	p, err := congestion.IBCCPreset(s.preset)
	if err != nil {
		panic("scenario: BUG: " + err.Error())
	}
	s.params = p
}

// ibccKey is the section: the name of a preset, a mapping that changes one, or none.
func (r *resolver) ibccKey() key {
	s := &r.ib.cc
	return sectionKey("congestion_control", s.keys(), "A preset, changes to one, or `none`.").otherwise("`none`").shortFor("preset").
		or("none", func() {}).in(&s.obj).opening(func(object) { s.on = true }).
		finish(func(o object) {
			if err := s.params.Validate(); err != nil {
				r.d.fail(dcqcnKeyAt(o, err.Error()), "infiniband.%v", err)
			}
		})
}

// keys are the keys of the section: what switches do, then what adapters do.
func (s *ibccSettings) keys() []key {
	p := &s.params
	limit := len(p.CCT) - 1
	return []key{
		wordKey("preset", &s.preset, congestion.IBCCPresets(), "What the others change; `hopscope show ofed` has the sources.").check(func(object) { s.take() }),
		numberKey("threshold", &s.threshold, 0, 15, "0: switches mark nothing; else a queue of (16 - threshold)/16 of `buffer` is congested."),
		numberKey("marking_rate", &s.markingRate, 0, 65535, "Packets that could be marked between two that are."),
		sizeKey("packet_size", &s.packetSize, "Shorter packets are not marked; at most 16320B.").
			within(0, 255*64, "does not fit the 8 bits of Packet_Size, in units of 64 bytes; give at most 16320B"),
		wordKey("victim_mask", &s.victims, []string{victimsNone, victimsHosts, victimsAll}, "Ports that mark although they lack credits themselves: none, those to adapters, or all."),
		numberKey("ccti_increase", &p.Increase, 1, 255, "Added to the index (CCTI) per BECN."),
		numberKey("ccti_timer", &p.Timer, 1, 65535, "One down every so many times 1.024 us."),
		numberKey("trigger_threshold", &p.TriggerThreshold, 0, 255, "Index from which on BECNs are events of the adapter's congestion log."),
		eitherKey("based_on", &p.PerSL, "qp", "sl", "An index per queue pair, or one per port and service level."),
		textKey("cct", "list of `multiplier` or `shift:multiplier`, `linear`", jsonSchema{"type": "string"}, func(o object, text string) {
			if text != "linear" {
				readCCT(o, text, p)
			}
		}, "The table: `linear` (entry i has multiplier i), or entries such as `\"0,1,1:3\"`.").otherwise("`linear`"),
		numberKey("ccti_limit", &limit, 0, congestion.MaxCCT-1, "Highest index; at most the last of `cct`, or as long as a linear table is to be.").check(func(o object) {
			switch {
			case limit < len(p.CCT):
				p.CCT = p.CCT[:limit+1]
			case o.has("cct") && o.text("cct") != "linear":
				o.fail("ccti_limit", "%d is beyond the table, which cct ends at index %d", limit, len(p.CCT)-1)
			default:
				p.CCT = congestion.LinearCCT(limit + 1)
			}
		}),
		numberKey("ccti_min", &p.Min, 0, 255, "Lowest index, at which a queue pair starts."),
	}
}

// readCCT reads the table: a multiplier per entry, or shift:multiplier.
func readCCT(o object, text string, p *congestion.IBCCParams) {
	p.CCT = nil
	for _, item := range strings.Split(text, ",") {
		shift, multiplier, given := strings.Cut(strings.TrimSpace(item), ":")
		if !given {
			shift, multiplier = "0", shift
		}
		s, err := strconv.ParseUint(shift, 10, 8)
		m, err2 := strconv.ParseUint(multiplier, 10, 16)
		if err != nil || err2 != nil || s > 3 || m >= 1<<14 {
			o.fail("cct", "%q is no entry; write linear, or a multiplier from 0 to 16383 per entry, or shift:multiplier with a shift from 0 to 3, such as 0,1,1:3", strings.TrimSpace(item))
			return
		}
		p.CCT = append(p.CCT, congestion.CCTEntry{Shift: uint8(s), Multiplier: uint16(m)})
	}
}

// fecn is how the ports of a switch mark; nil: not at all.
func (r *resolver) fecn() *fabric.FECNParams {
	s := &r.ib.cc
	if !s.on || s.threshold == 0 {
		return nil
	}
	return &fabric.FECNParams{Threshold: fabric.FECNThreshold(s.threshold, r.ib.buffer), PacketSize: s.packetSize, MarkingRate: uint32(s.markingRate)}
}

// victim reports whether Victim_Mask has the bit of a port of switch n.
func (r *resolver) victim(n, port int) bool {
	switch r.ib.cc.victims {
	case victimsAll:
		return true
	case victimsHosts:
		return r.v.Graph.Nodes[r.v.Graph.Nodes[n].Ports[port].Peer].Kind == topology.Host
	}
	return false
}

// ibccNotes says what congestion control is set to.
func (r *resolver) ibccNotes() {
	s := &r.ib.cc
	const prefix = "infiniband.congestion_control"
	if !s.on {
		r.note(prefix, "none", sourceOf(r.ib.obj, "congestion_control", "off, as subnet managers leave it"))
		return
	}
	for _, n := range s.notes(r.ib.buffer) {
		_, key, _ := strings.Cut(n.Key, "congestion_control.")
		r.note(n.Key, n.Value, sourceOf(s.obj, key, n.Source))
	}
}

// notes lists the settings with their sources, for switches whose input buffers
// have buffer bytes.
func (s *ibccSettings) notes(buffer units.Bytes) (out []record.Note) {
	add := func(key, value, source string) {
		out = append(out, record.Note{Key: "infiniband.congestion_control." + key, Value: value, Source: source})
	}
	p := &s.params
	threshold := "0: nothing is marked"
	if s.threshold > 0 {
		threshold = fmt.Sprintf("%d: a queue above %v", s.threshold, fabric.FECNThreshold(s.threshold, buffer))
	}
	add("threshold", threshold, fromOFED+"; bytes assumed: (16-threshold)/16 of buffer")
	add("marking_rate", strconv.Itoa(s.markingRate), fromOFED)
	add("packet_size", s.packetSize.String(), fromOFED)
	add("victim_mask", s.victims, "assumed: an adapter without room is no victim of others (IBTA A10.2.1.1)")
	add("ccti_increase", strconv.Itoa(p.Increase), fromOFED)
	add("ccti_limit", strconv.Itoa(len(p.CCT)-1), "assumed: two blocks of the table")
	add("ccti_min", strconv.Itoa(p.Min), fromOFED)
	add("ccti_timer", fmt.Sprintf("%d (%v)", p.Timer, units.Time(p.Timer)*congestion.CCTIUnit), "assumed: OFED's follows from the number of nodes by a rule that is not published")
	add("trigger_threshold", strconv.Itoa(p.TriggerThreshold), fromOFED)
	basis := "qp"
	if p.PerSL {
		basis = "sl"
	}
	add("based_on", basis, fromOFED)
	last := p.CCT[len(p.CCT)-1]
	add("cct", fmt.Sprintf("%d entries, the last shift %d multiplier %d", len(p.CCT), last.Shift, last.Multiplier), "assumed: linear, entry i leaves 1/(1+i) of the line")
	return out
}

// ibccSheets are the presets that show prints.
func ibccSheets() (out []Sheet) {
	for _, name := range congestion.IBCCPresets() {
		if p, err := congestion.IBCCPreset(name); err == nil {
			s := newIBCC()
			s.params = p
			out = append(out, Sheet{"congestion_control", name, "InfiniBand's congestion control as Mellanox OFED sets it up", s.notes(fabric.MaxCredits * 64), nil})
		}
	}
	return out
}
