package catalog

// PlaceKind is what a place is, which is also what kind of actor acts there.
type PlaceKind uint8

// Kinds of places. The zero one is no place: the message's own queue pair.
const (
	Nowhere         PlaceKind = iota
	AtPort                    // of a node
	AtPortClass               // a priority or virtual lane of a port
	AtQueuePair               // of a host's card
	AtConnection              // the end of one, at a host
	AtSwitch                  // its tables or its pipeline
	AtHost                    // all of it
	AtCable                   // one way, from node to node
	AtLink                    // both ways, by the ports at its ends
	AtInside                  // a link or memory inside a host
	AtCore                    // of a host's processor
	AtReceiveBuffer           // of a host's card
	AtReceiveQueue            // of receive work requests, at a host
	AtCardCaches              // of a host's card
	AtInputBuffer             // at the far end of a link with credits
	AtWay                     // the way to a host
)

var placeKinds = []string{"", "port", "port class", "queue pair", "connection", "switch", "host", "cable", "link",
	"link inside a host", "core",
	"receive buffer", "receive queue", "card caches", "input buffer", "way"}

func (k PlaceKind) String() string {
	return nameOf(placeKinds, int(k), func(s *string) string { return *s }, "kind of place")
}

// MarshalText writes the stable name.
func (k PlaceKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the stable name.
func (k *PlaceKind) UnmarshalText(name []byte) (err error) {
	*k, err = find(len(placeKinds), string(name), PlaceKind.String, "kind of place")
	return err
}

// Cause is what kind of thing took a message's time: what would have to be removed, alone,
// for it to end sooner.
type Cause uint8

// Kinds of causes.
const (
	NoCause          Cause = iota
	CauseReceiver          // a host did not take data as fast as it came: its receive buffer
	CauseInside            // a PCIe link, memory or credit limit inside a host
	CauseCaches            // contexts and translations that a card's caches did not hold
	CauseCore              // a core of a host was full
	CauseApplication       // it had not posted, read or taken receives back in time
	CausePort              // more came to a port than it sends: its queue, marks and pauses
	CauseClass             // a port served another class first
	CauseFailure           // a link failed
	CauseLoss              // frames were lost on a link
	CauseWindow            // a window of a queue pair
	CauseCwnd              // a congestion window that nothing at a port explains
	CausePeerWindow        // a receive window that nothing at the host explains: its buffer, or no scaling
	CauseSendBuffer        // of a socket
	CauseBitmap            // of selective repeat, or half the PSN space
	CauseReads             // outstanding READs and atomics
	CauseReceives          // receive work requests
	CauseBuffer            // an input buffer that is too small for its credit loop
	CauseRate              // a rate that a queue pair starts at or may not pass
	CauseOrder             // completions, fences and small segments keep an order
	CauseEarlier           // earlier messages of the same queue pair
	CauseWorkload          // other traffic of one workload entry
	CauseAck               // the way back of acknowledgements
	CauseSetUp             // connections, registration, handshakes
	CauseFault             // a host's card hung, paused its switch for no reason, or took data slowly for a while
	CauseStaged            // without GPUDirect, copies of a GPU's data through the memory of hosts
	CauseMessages          // the rate at which a card takes up the work requests of one queue pair
	CauseLine              // sending, serialisation, propagation: only a faster way helps
)

var causes = []string{"", "receiver", "inside", "card caches", "core", "application", "port", "class order",
	"failure", "loss", "window",
	"congestion window", "receive window", "send buffer", "bitmap", "read depth", "receives", "input buffer", "rate limit", "order",
	"earlier work", "workload", "acknowledgement", "set-up", "card fault", "staged copies", "message rate", "line"}

func (c Cause) String() string {
	return nameOf(causes, int(c), func(s *string) string { return *s }, "kind of cause")
}

// MarshalText writes the stable name.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the stable name.
func (c *Cause) UnmarshalText(name []byte) (err error) {
	*c, err = find(len(causes), string(name), Cause.String, "kind of cause")
	return err
}
