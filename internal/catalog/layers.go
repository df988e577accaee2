package catalog

// Layer is a link layer. It belongs to a port and class: two may share a network.
type Layer uint8

// Link layers.
const (
	Ethernet   Layer = iota // classes are priorities; PFC stops a class, ECN marks
	InfiniBand              // classes are virtual lanes; credits stop a lane, FECN marks
)

// Vocabulary is by what mechanisms a link layer marks, tells, slows and holds.
type Vocabulary struct {
	Mark, Tell, Slow Mechanism // what congestion control there does
	Fill, Hold       Mechanism // what flow control there does: a buffer fills, a port may not send
	Reroute          Mechanism
	Held             Stage // of what waits at a port that may not send
}

var vocabularies = []Vocabulary{
	Ethernet: {Mark: ECNMark, Tell: CNPSent, Slow: RateCut, Fill: XOFFCross, Hold: PFCPause, Reroute: ECMPChange,
		Held: StagePaused},
	InfiniBand: {Mark: FECNMark, Tell: BECNOnAck, Slow: CCTIIncrease, Fill: CreditsOut, Hold: CreditWait,
		Reroute: LFTChange, Held: StageCredits},
}

var layerNames = []string{Ethernet: "ethernet", InfiniBand: "infiniband"}

func (l Layer) String() string {
	return nameOf(layerNames, int(l), func(s *string) string { return *s }, "link layer")
}

// Vocabulary is the layer's.
func (l Layer) Vocabulary() Vocabulary { return vocabularies[l] }

// MarshalText writes the stable name.
func (l Layer) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads the stable name.
func (l *Layer) UnmarshalText(name []byte) (err error) {
	*l, err = find(len(layerNames), string(name), Layer.String, "link layer")
	return err
}
