package catalog

// Mechanism is how an act of congestion control, flow control or recovery came about.
type Mechanism uint8

// Mechanisms. The zero one is none.
const (
	NoMechanism Mechanism = iota

	// Of switches and links.
	ECNMark     // actor: switch port and class; count: marked packets
	XOFFCross   // actor: ingress port and class of the buffer that filled
	BufferDrop  // actor: port and class; sum: bytes
	WREDDrop    // likewise
	LifetimeEnd // actor: port and VL of the queue that a packet stood in too long; sum: bytes
	Storm       // actor: port and class whose pauses a watchdog ignores; sum: ps
	StormDrop   // likewise; sum: bytes
	PFCSent     // actor: the port that told its peer to stop
	PFCPause    // actor: the port that was stopped; sum: ps held with a frame waiting
	FECNMark    // actor: switch port and VL; count: marked packets
	CreditsOut  // actor: the port whose next packet did not fit into its credits
	CreditWait  // actor: the port that had none; sum: ps held with a frame waiting
	ECMPChange  // after its switch withdrew a port or learned of a failure; actor: a switch; count: flows
	LFTChange   // after the subnet manager wrote new forwarding tables; likewise
	Spraying    // actor: switch; count: packets that left by another port than the hash of their flow says
	Adaptive    // likewise, by load
	Flowlets    // likewise, as their flow had paused

	// Of queue pairs.
	SequenceGap  // actor: responder
	RNR          // actor: responder
	AckTimeout   // actor: requester
	Reordering   // actor: responder; count: requests that came behind later ones without having been lost
	CCLog        // actor: requester; count: events of the adapter's congestion log
	CNPSent      // actor: responder
	CEOnAck      // actor: responder (ns-3 profile)
	BECNOnAck    // actor: responder
	NAKSent      // actor: responder
	AskedAgain   // actor: requester that missed responses; count: READ requests sent again for them
	NAKRefused   // actor: responder. A protocol or access error, no congestion
	Terminated   // actor: the end of an iWARP stream that ended it and told the other so; no congestion
	RateCut      // actor: requester; sum: bit/s taken off
	DelayCut     // likewise, by a controller that found round trips too long
	LoadCut      // likewise, by one that read of a busy port in telemetry
	LossCut      // likewise, by one that heard of a loss
	DelayRise    // actor: requester; count: times that its controller found round trips too long, and cut
	LoadRise     // actor: requester; count: times that telemetry told of a port busier than its controller wants
	StampOnAck   // actor: responder; count: acknowledgements that took back a time stamp
	INTOnAck     // likewise, with telemetry
	ProbeAnswer  // actor: responder; count: probes of the round trip answered
	CCTIIncrease // actor: requester, or the first of those that share an index; sum: bit/s taken off
	SlowRestart  // actor: requester; count: windows made small
	RetransNAK   // actor: requester; count: packets; sum: payload bytes
	// RetransReordered is RetransNAK of a connection of which nothing was dropped: the
	// NAKs were for packets that others had overtaken.
	RetransReordered
	RetransTimer   // likewise
	RetransRNR     // likewise
	RetransMissing // of other requests than READs; likewise
	RetransRead    // actor: responder; likewise

	// Messages of UC and UD that the responder threw away; actor: responder; count:
	// messages. Nobody is told of them, for the services have no acknowledgements.
	NoReceiveDrop
	TooLongDrop
	BadQKeyDrop
	RefusedDrop
	BrokenDrop

	// Of TCP; the actors are its connections, by their end.
	LossDupAck  // three of them, or what SACK says of it (RFC 5681, 6675); sum: bytes
	LossRACK    // by time (RFC 8985); sum: bytes
	RTO         // RFC 6298
	ECESent     // segments with ECE
	SACKSent    // segments with SACK blocks
	DupAckSent  // without SACK
	CutECE      // sum: bytes off the congestion window
	CutLoss     // likewise
	CutRTO      // likewise
	RetransFast // count: segments; sum: payload bytes
	RetransRTO  // likewise
	RetransTLP  // likewise

	// RetransUnseen is of captures, which do not always show why; count: packets; sum: payload bytes.
	RetransUnseen

	// Those of the report of mechanisms that stand in no ledger, or there under other names.
	Rerouting
	HeadroomDrop
	EgressDrop
	ReceiveXOFF
	ReceiveDrop
	MessageDrop
	WindowHeld
	Pacing
	BitmapHeld
	ReadsHeld
	CwndHeld
	ReceiveWindowHeld
	SendBufferHeld
	NagleHeld
)

// Unit is what a mechanism's sum adds up over its acts.
type Unit uint8

// Units of sums.
const (
	NoUnit Unit = iota // there is nothing to add up but the acts
	UnitBytes
	UnitTime
	UnitRate
)

var unitNames = []string{"", "bytes", "ps", "bps"}

func (u Unit) String() string { return unitNames[u] }

// Family is who has a mechanism.
type Family uint8

// Families.
const (
	FamilyNetwork    Family = iota // ports and switches, of any link layer
	FamilyHosts                    // what a host receives into
	FamilyQueuePairs               // of RDMA
	FamilyDatagrams                // queue pairs of services without acknowledgements
	FamilySockets                  // of byte streams
	FamilyTransports               // all that look at the order of packets
)

// Role is what a mechanism does for congestion control or flow control, whatever the layer.
type Role uint8

// Roles.
const (
	NoRole       Role = iota
	RoleMark          // a switch marks packets
	RoleTell          // the receiver tells the sender
	RoleSlow          // the sender sends more slowly
	RoleFill          // a buffer filled up
	RoleHold          // a port was not allowed to send
	RoleReroute       // a flow took another path
	RoleDiscard       // a responder threw a message away
	RoleWindow        // a congestion window was cut
	RoleTimedOut      // a retransmission timer expired
)

// mechanism is what is known of a mechanism.
type mechanism struct {
	name     string
	question Question
	unit     Unit
	noun     string // what the count counts, one of them
	family   Family
	role     Role
	cause    string // of a role that several have: what sets it apart
}

var mechanisms = []mechanism{
	NoMechanism: {},

	ECNMark:     {name: "ECN mark", question: Detected, unit: UnitBytes, noun: "packet", role: RoleMark},
	XOFFCross:   {name: "XOFF crossing", question: Detected, unit: UnitBytes, noun: "crossing", role: RoleFill},
	BufferDrop:  {name: "buffer drop", question: Detected, unit: UnitBytes, noun: "frame"},
	WREDDrop:    {name: "WRED drop", question: Detected, unit: UnitBytes, noun: "frame"},
	LifetimeEnd: {name: "lifetime discard", question: Detected, unit: UnitBytes, noun: "packet"},
	Storm:       {name: "PFC watchdog storm", question: Detected, unit: UnitTime, noun: "storm"},
	StormDrop:   {name: "PFC watchdog drop", question: Detected, unit: UnitBytes, noun: "frame"},
	PFCSent:     {name: "PFC XOFF", question: FedBack, noun: "pause"},
	PFCPause:    {name: "PFC pause", question: Held, unit: UnitTime, noun: "pause", role: RoleHold},
	FECNMark:    {name: "FECN mark", question: Detected, unit: UnitBytes, noun: "packet", role: RoleMark},
	CreditsOut:  {name: "credits used up", question: Detected, noun: "time", role: RoleFill},
	CreditWait:  {name: "wait for credits", question: Held, unit: UnitTime, noun: "wait", role: RoleHold},
	ECMPChange:  {name: "ECMP group change", question: Rerouted, noun: "flow", role: RoleReroute},
	LFTChange:   {name: "LFT change", question: Rerouted, noun: "flow", role: RoleReroute},
	Spraying:    {name: "spraying", question: Rerouted, noun: "packet"},
	Adaptive:    {name: "adaptive routing", question: Rerouted, noun: "packet"},
	Flowlets:    {name: "flowlet switching", question: Rerouted, noun: "packet"},

	SequenceGap: {name: "sequence gap", question: Detected, noun: "gap", family: FamilyTransports},
	RNR:         {name: "receiver not ready", question: Detected, noun: "time", family: FamilyQueuePairs},
	AckTimeout: {name: "ACK timeout", question: Detected, noun: "timeout",
		family: FamilyQueuePairs, role: RoleTimedOut},
	Reordering: {name: "reordering", question: Detected, noun: "request", family: FamilyQueuePairs},
	CCLog:      {name: "CCTI at trigger threshold", question: Detected, noun: "event", family: FamilyQueuePairs},
	CNPSent:    {name: "CNP", question: FedBack, noun: "CNP", family: FamilyQueuePairs, role: RoleTell},
	CEOnAck:    {name: "CE flag on ACK", question: FedBack, noun: "ACK", family: FamilyQueuePairs, role: RoleTell},
	BECNOnAck:  {name: "BECN on ACK", question: FedBack, noun: "ACK", family: FamilyQueuePairs, role: RoleTell},
	NAKSent:    {name: "NAK", question: FedBack, noun: "NAK", family: FamilyQueuePairs},
	AskedAgain: {name: "READ asked for again", question: FedBack, noun: "request", family: FamilyQueuePairs},
	NAKRefused: {name: "NAK (request refused)", question: FedBack, noun: "NAK", family: FamilyQueuePairs},
	Terminated: {name: "Terminate", question: FedBack, noun: "message", family: FamilySockets},
	RateCut: {name: "rate cut", question: Slowed, unit: UnitRate, noun: "cut",
		family: FamilyQueuePairs, role: RoleSlow},
	DelayCut: {name: "rate cut by delay", question: Slowed, unit: UnitRate, noun: "cut",
		family: FamilyQueuePairs, role: RoleSlow},
	LoadCut: {name: "rate cut by telemetry", question: Slowed, unit: UnitRate, noun: "cut",
		family: FamilyQueuePairs, role: RoleSlow},
	LossCut: {name: "rate cut after loss", question: Slowed, unit: UnitRate, noun: "cut",
		family: FamilyQueuePairs, role: RoleSlow},
	DelayRise:   {name: "delay too long or growing", question: Detected, noun: "time", family: FamilyQueuePairs},
	LoadRise:    {name: "load above target", question: Detected, noun: "time", family: FamilyQueuePairs},
	StampOnAck:  {name: "time stamp on ACK", question: FedBack, noun: "ACK", family: FamilyQueuePairs, role: RoleTell},
	INTOnAck:    {name: "telemetry on ACK", question: FedBack, noun: "ACK", family: FamilyQueuePairs, role: RoleTell},
	ProbeAnswer: {name: "probe answer", question: FedBack, noun: "answer", family: FamilyQueuePairs, role: RoleTell},
	CCTIIncrease: {name: "CCTI increase", question: Slowed, unit: UnitRate, noun: "increase",
		family: FamilyQueuePairs, role: RoleSlow},
	SlowRestart: {name: "slow restart", question: Slowed, noun: "restart", family: FamilyQueuePairs},
	RetransNAK: {name: "retransmission after NAK", question: Recovered, unit: UnitBytes, noun: "packet",
		family: FamilyQueuePairs},
	RetransReordered: {name: "retransmission after reordering", question: Recovered, unit: UnitBytes, noun: "packet",
		family: FamilyQueuePairs},
	RetransTimer: {name: "retransmission after timeout", question: Recovered, unit: UnitBytes, noun: "packet",
		family: FamilyQueuePairs},
	RetransRNR: {name: "retry after RNR NAK", question: Recovered, unit: UnitBytes, noun: "packet",
		family: FamilyQueuePairs},
	RetransMissing: {name: "retransmission for a missing response", question: Recovered, unit: UnitBytes, noun: "packet",
		family: FamilyQueuePairs},
	RetransRead: {name: "READ response sent again", question: Recovered, unit: UnitBytes, noun: "packet",
		family: FamilyQueuePairs},

	NoReceiveDrop: discard("no receive work request"),
	TooLongDrop:   discard("receive too small"),
	BadQKeyDrop:   discard("wrong Q_Key"),
	RefusedDrop:   discard("R_Key or access"),
	BrokenDrop:    discard("packets missing"),

	LossDupAck: {name: "loss by duplicate ACKs", question: Detected, unit: UnitBytes, noun: "loss",
		family: FamilySockets},
	LossRACK: {name: "loss by RACK", question: Detected, unit: UnitBytes, noun: "loss", family: FamilySockets},
	RTO: {name: "retransmission timeout", question: Detected, noun: "timeout",
		family: FamilySockets, role: RoleTimedOut},
	ECESent:    {name: "ECN-Echo", question: FedBack, noun: "segment", family: FamilySockets},
	SACKSent:   {name: "SACK", question: FedBack, noun: "segment", family: FamilySockets},
	DupAckSent: {name: "duplicate ACK", question: FedBack, noun: "segment", family: FamilySockets},
	CutLoss: {name: "window cut after loss", question: Slowed, unit: UnitBytes, noun: "cut",
		family: FamilySockets, role: RoleWindow, cause: "losses"},
	CutECE: {name: "window cut after ECN-Echo", question: Slowed, unit: UnitBytes, noun: "cut",
		family: FamilySockets, role: RoleWindow, cause: "ECN-Echo"},
	CutRTO: {name: "window cut after timeout", question: Slowed, unit: UnitBytes, noun: "cut",
		family: FamilySockets, role: RoleWindow, cause: "timeouts"},
	RetransFast: {name: "fast retransmission", question: Recovered, unit: UnitBytes, noun: "segment",
		family: FamilySockets},
	RetransRTO: {name: "retransmission after RTO", question: Recovered, unit: UnitBytes, noun: "segment",
		family: FamilySockets},
	RetransTLP: {name: "tail loss probe", question: Recovered, unit: UnitBytes, noun: "segment", family: FamilySockets},

	RetransUnseen: {name: "retransmission", question: Recovered, unit: UnitBytes, noun: "packet",
		family: FamilyTransports},

	Rerouting:         {name: "rerouting", noun: "table"},
	HeadroomDrop:      {name: "headroom drop", noun: "frame"},
	EgressDrop:        {name: "egress threshold drop", noun: "frame"},
	ReceiveXOFF:       {name: "receive buffer XOFF", noun: "pause", family: FamilyHosts},
	ReceiveDrop:       {name: "receive buffer drop", noun: "frame", family: FamilyHosts},
	MessageDrop:       {name: "message drop", noun: "message", family: FamilyDatagrams},
	WindowHeld:        {name: "window", family: FamilyQueuePairs},
	Pacing:            {name: "pacing"},
	BitmapHeld:        {name: "bitmap", family: FamilyQueuePairs},
	ReadsHeld:         {name: "max_rd_atomic", family: FamilyQueuePairs},
	CwndHeld:          {name: "congestion window", family: FamilySockets},
	ReceiveWindowHeld: {name: "receive window", family: FamilySockets},
	SendBufferHeld:    {name: "send buffer", family: FamilySockets},
	NagleHeld:         {name: "Nagle", family: FamilySockets},
}

// discard is a mechanism of responders of services without acknowledgements.
func discard(cause string) mechanism {
	return mechanism{name: "message drop: " + cause, question: Detected, noun: "message",
		family: FamilyDatagrams, role: RoleDiscard, cause: cause}
}

// MessageDrops lists why responders of UC and UD throw messages away.
var MessageDrops = [...]Mechanism{NoReceiveDrop, TooLongDrop, BadQKeyDrop, RefusedDrop, BrokenDrop}

func (m Mechanism) String() string {
	return nameOf(mechanisms, int(m), func(r *mechanism) string { return r.name }, "mechanism")
}

// Question is the question that the mechanism answers; NoQuestion if it stands in no ledger.
func (m Mechanism) Question() Question { return mechanisms[m].question }

// Unit is what the sums of its acts count.
func (m Mechanism) Unit() Unit { return mechanisms[m].unit }

// Noun is what its acts count, one of them: "packet".
func (m Mechanism) Noun() string { return mechanisms[m].noun }

// Family is who has the mechanism.
func (m Mechanism) Family() Family { return mechanisms[m].family }

// Role is what it does, whatever the link layer or transport.
func (m Mechanism) Role() Role { return mechanisms[m].role }

// Cause sets a mechanism apart from others of its role: "no receive work request" of a
// message that was thrown away, "losses" of a window that was cut; else it is empty.
func (m Mechanism) Cause() string { return mechanisms[m].cause }

// Holds reports whether the sum of a mechanism's acts is time held.
func (m Mechanism) Holds() bool { return mechanisms[m].role == RoleHold }

// WithRole lists the mechanisms of a role, in order.
func WithRole(r Role) (out []Mechanism) {
	for m := range mechanisms {
		if mechanisms[m].role == r {
			out = append(out, Mechanism(m))
		}
	}
	return out
}

// MarshalText writes the stable name.
func (m Mechanism) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the stable name.
func (m *Mechanism) UnmarshalText(name []byte) (err error) {
	*m, err = find(len(mechanisms), string(name), Mechanism.String, "mechanism")
	return err
}
