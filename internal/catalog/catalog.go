// Package catalog names, once and typed, what the records of a run speak of: mechanisms and
// the questions that they answer, the stages of a message's time and the parts these fall
// into, kinds of places, causes and drops, services, and the vocabulary of each link layer.
// Records carry these IDs. Each has a stable name, which stands in JSON and CSV and never
// changes its meaning; the English words of reports are those names unless a table of words
// says otherwise. A new stack adds rows here.
package catalog

import "fmt"

// id is a type of IDs, which number the rows of their table from 0.
type id interface{ ~uint8 | ~uint16 }

// nameOf is the name of row k.
func nameOf[T any](table []T, k int, name func(*T) string, what string) string {
	if k < 0 || k >= len(table) {
		return fmt.Sprintf("%s %d", what, k)
	}
	return name(&table[k])
}

// find returns the ID of a name among the n first; an error says that there is none.
func find[I id](n int, name string, of func(I) string, what string) (I, error) {
	for k := range n {
		if of(I(k)) == name {
			return I(k), nil
		}
	}
	return 0, fmt.Errorf("%q is no %s of this version", name, what)
}

// Question is one of the six questions every run answers.
type Question uint8

// The questions, in the order a report shows them. NoQuestion is that of mechanisms which
// stand in no ledger.
const (
	NoQuestion Question = iota
	Detected
	FedBack
	Slowed
	Held
	Recovered
	Rerouted
)

// Questions lists them in report order.
var Questions = [...]Question{Detected, FedBack, Slowed, Held, Recovered, Rerouted}

var questions = []string{"", "detected", "fed_back", "slowed", "held", "recovered", "rerouted"}

func (q Question) String() string {
	return nameOf(questions, int(q), func(s *string) string { return *s }, "question")
}

// MarshalText writes the stable name.
func (q Question) MarshalText() ([]byte, error) { return []byte(q.String()), nil }

// UnmarshalText reads the stable name.
func (q *Question) UnmarshalText(name []byte) (err error) {
	*q, err = find(len(questions), string(name), Question.String, "question")
	return err
}

// Service is what a queue pair or connection promises, and to whom.
type Service uint8

// Services. RC is the zero one.
const (
	RC    Service = iota // reliable connected
	UC                   // unreliable connected
	UD                   // unreliable datagram
	TCP                  // a byte stream
	IWARP                // reliable connected, carried by TCP
)

// service is what is known of a service.
type service struct {
	name   string
	traits Traits
}

// Traits are what a service does, a bit each.
type Traits uint8

// Traits of services.
const (
	Acknowledges Traits = 1 << iota // its messages complete when the peer has acknowledged them
	Orders                          // the receiver looks for gaps in the order of packets
	Streams                         // bytes through sockets, with windows of their own; no work requests
	Verbs                           // queue pairs, with work requests and completions
	Datagrams                       // each packet says to whom it goes
	Delivers                        // that a message has arrived is told apart from that it is complete
	Segments                        // TCP carries it: sequence numbers, windows and losses are its
)

var services = []service{
	RC:  {"RC", Acknowledges | Orders | Verbs},
	UC:  {"UC", Orders | Verbs | Delivers},
	UD:  {"UD", Verbs | Datagrams | Delivers},
	TCP: {"TCP", Acknowledges | Orders | Streams | Delivers | Segments},

	IWARP: {"iWARP", Acknowledges | Orders | Verbs | Segments},
}

func (s Service) String() string {
	return nameOf(services, int(s), func(r *service) string { return r.name }, "service")
}

// Is reports whether a service has all the traits.
func (s Service) Is(t Traits) bool { return int(s) < len(services) && services[s].traits&t == t }

// MarshalText writes the stable name.
func (s Service) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the stable name.
func (s *Service) UnmarshalText(name []byte) (err error) {
	*s, err = find(len(services), string(name), Service.String, "service")
	return err
}

// Drop is why a frame was dropped.
type Drop uint8

// Causes of drops.
const (
	NoDrop       Drop = iota
	DropHeadroom      // a lossless ingress buffer and its headroom were full
	DropEgress        // a lossy queue reached its dynamic threshold
	DropPool          // no room was left in the pool of a lossy queue below its threshold, or without one
	DropIngress       // a lossy priority group reached its threshold, or its pool its end
	DropWRED          // the marking curve's drop of a frame that cannot be marked
	DropLoss          // by the link's loss probability
	DropBitError      // by the link's bit error rate
	DropEvery         // every so many data frames of a link
	DropLinkDown      // sent onto a link that is down
	DropTTL           // forwarded too often
	DropOversize      // larger than the switch's MTU
	DropNoRoute       // no way to the destination
	DropReceive       // a host did not take data as fast as it came
	DropPFC           // a pause or resumption that did not arrive
	DropCredit        // credits that did not arrive; the next packet brings them
	DropHOQ           // it stood at the head of a queue for too long
	DropLifetime      // it was in the switch for too long
	DropPortDown      // queued at a port as its switch noticed that the link is down
	DropStorm         // a switch's PFC watchdog drops what goes to a queue in a storm, or comes from its peer
	NumDrops
)

// drop is what is known of a cause of drops.
type drop struct {
	name     string
	onLink   bool      // it lies on a link; of frames of the link's own apart
	bySender bool      // noticed at the far end of a link, counted at the port that sent
	arriving bool      // a port counts it as frames arrive; else as they leave
	sign     Mechanism // the sign of congestion that it is; none: a fault of the link or the route
}

var drops = []drop{
	NoDrop:       {},
	DropHeadroom: {name: "headroom exceeded", arriving: true, sign: BufferDrop},
	DropEgress:   {name: "egress threshold", sign: BufferDrop},
	DropPool:     {name: "pool full", sign: BufferDrop},
	DropIngress:  {name: "ingress threshold", arriving: true, sign: BufferDrop},
	DropWRED:     {name: "WRED, not ECN-capable", sign: WREDDrop},
	DropLoss:     {name: "link loss", onLink: true, bySender: true},
	DropBitError: {name: "bit error", onLink: true, bySender: true},
	DropEvery:    {name: "drop_every", onLink: true, bySender: true},
	DropLinkDown: {name: "link down", onLink: true, bySender: true},
	DropPortDown: {name: "port down"},
	DropTTL:      {name: "TTL expired", arriving: true},
	DropOversize: {name: "larger than the port MTU", arriving: true},
	DropNoRoute:  {name: "no route", arriving: true},
	DropReceive:  {name: "NIC receive buffer full", arriving: true, sign: BufferDrop},
	DropPFC:      {name: "PFC frame lost on the link", bySender: true},
	DropHOQ:      {name: "head-of-queue lifetime", sign: LifetimeEnd},
	DropLifetime: {name: "switch lifetime", sign: LifetimeEnd},
	DropStorm:    {name: "PFC watchdog", sign: StormDrop},
	DropCredit:   {name: "flow-control packet lost on the link", bySender: true},
}

func (d Drop) String() string {
	return nameOf(drops, int(d), func(r *drop) string { return r.name }, "drop")
}

// OnLink reports whether the cause lies on a link; frames of the link's own, such as PFC's,
// have others.
func (d Drop) OnLink() bool { return drops[d].onLink }

// Damages reports whether the far end of a link takes such frames for damaged, by their check sums: also a lossy
// cable's.
func (d Drop) Damages() bool { return d == DropLoss || d == DropBitError || d == DropEvery }

// BySender reports whether the far end of a link notices such drops, which belong to the port
// that sent.
func (d Drop) BySender() bool { return drops[d].bySender }

// Arriving reports whether a port counts such drops as frames arrive; else it does so as
// they leave.
func (d Drop) Arriving() bool { return drops[d].arriving }

// Sign is the mechanism by which a drop is a sign of congestion, here or downstream: a full
// buffer, a long queue, or a packet that stood too long; none for a fault of the link or the
// route.
func (d Drop) Sign() Mechanism { return drops[d].sign }

// MarshalText writes the stable name.
func (d Drop) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the stable name.
func (d *Drop) UnmarshalText(name []byte) (err error) {
	*d, err = find(len(drops), string(name), Drop.String, "cause of drops")
	return err
}
