// Package record holds what a run writes down: the ledger of congestion acts,
// counters per port and class, and one entry per message. It is raw material:
// metrics turns it into answers. Nothing here knows devices.
package record

import (
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/units"
)

// Act aggregates one kind of congestion act of one actor on the fly: how often,
// when first and last, and a sum whose meaning belongs to the mechanism
// (picoseconds held, bytes dropped, bit/s cut). The zero Act never happened.
type Act struct {
	Count int64      `json:"count"`
	First units.Time `json:"first_ps"`
	Last  units.Time `json:"last_ps"`
	Sum   int64      `json:"sum,omitempty"`
}

// Add notes one act at time now.
func (a *Act) Add(now units.Time, value int64) {
	if a.Count == 0 || now < a.First {
		a.First = now
	}
	if now > a.Last {
		a.Last = now
	}
	a.Count++
	a.Sum += value
}

// And is a with the acts of b as well.
func (a Act) And(b Act) Act {
	switch {
	case b.Count == 0:
		return a
	case a.Count == 0:
		return b
	}
	return Act{First: min(a.First, b.First), Last: max(a.Last, b.Last), Count: a.Count + b.Count, Sum: a.Sum + b.Sum}
}

// Entry is one line of the ledger.
type Entry struct {
	Question  catalog.Question  `json:"question"`
	Mechanism catalog.Mechanism `json:"mechanism"`
	Actor     Place             `json:"actor"` // a port and class, a queue pair or connection, a switch
	Act
}

// Port is what one port did in one class. All sizes are frame bytes.
type Port struct {
	Node  string `json:"node"`
	Port  int    `json:"port"` // 1-based, in the order links name the node
	Peer  PortID `json:"peer"`
	Class int    `json:"class"`
	// Layer is the link's, whose vocabulary is that of the class.
	Layer          catalog.Layer `json:"link_layer"`
	RateBps        units.Rate    `json:"rate_bps"`
	PeakQueueBytes int64         `json:"peak_queue_bytes"` // after the arriving frame is added, before the port may start it
	PeakQueuePS    units.Time    `json:"peak_queue_at_ps"`
	MeanQueueBytes float64       `json:"mean_queue_bytes"`          // over time, first post (or measure.from) to end (or measure.to)
	MinQueueBytes  int64         `json:"min_queue_bytes"`           // only when a measure window is given, else 0
	MaxQueueBytes  int64         `json:"max_queue_bytes,omitempty"` // in the measure window, like PeakQueueBytes; absent without one
	PeakIngress    int64         `json:"peak_ingress_bytes"`        // ingress accounting of this port and class
	PeakHeadroom   int64         `json:"peak_headroom_bytes"`       // part of it that lay in headroom
	TxPackets      int64         `json:"tx_packets"`
	TxBytes        int64         `json:"tx_bytes"`    // frame bytes started
	Utilisation    float64       `json:"utilisation"` // share of wire time in use by this class, over the same time
	Marked         int64         `json:"marked"`
	PausesSent     int64         `json:"pauses_sent"` // XOFFs that begin a pause; refreshes and XONs apart
	PausesReceived int64         `json:"pauses_received"`
	RefreshesSent  int64         `json:"refreshes_sent"`
	ResumesSent    int64         `json:"resumes_sent"`
	HeldPS         units.Time    `json:"held_ps"`   // paused with a frame waiting
	PausedPS       units.Time    `json:"paused_ps"` // all paused time
	// AskedPS is the time for which the port asked its peer to pause, whether that heard it or not.
	AskedPS      units.Time `json:"asked_pause_ps,omitempty"`
	Dropped      int64      `json:"dropped"` // frames, any cause
	DroppedBytes int64      `json:"dropped_bytes"`
	DropCauses   []Drop     `json:"drop_causes,omitempty"`
	// Limits is how near this port and class came to each mechanism.
	Limits PortLimits `json:"limits"`
}

// Drop is one cause of drops at a port.
type Drop struct {
	Cause catalog.Drop `json:"cause"`
	Act
}

// Load is what an entry whose messages come at random offered, and what of it was carried.
type Load struct {
	Workload string `json:"workload"` // the entry's name
	Sizes    string `json:"sizes"`    // the distribution of sizes, or the one size
	// AskedShare is the share of the senders' links that was asked for, in payload.
	AskedShare float64    `json:"asked_share"`
	FromPS     units.Time `json:"from_ps"`   // messages were posted from then on
	ToPS       units.Time `json:"to_ps"`     // and before
	LinksBps   units.Rate `json:"links_bps"` // rates of the senders' links together
	// OfferedBytes is the payload posted from FromPS to ToPS, and CarriedBytes what of it had got
	// through by then, of messages underway as if they did so evenly.
	OfferedBytes int64 `json:"offered_bytes"`
	CarriedBytes int64 `json:"carried_bytes"` // see OfferedBytes
}

// Message is one message: from post to completion entry.
type Message struct {
	Src      string          `json:"src"` // the requester; the data of a READ goes from Dst to Src
	Dst      string          `json:"dst"`
	QP       int             `json:"qp"` // the requester's QP number at Src
	Workload string          `json:"workload"`
	Verb     string          `json:"verb"`
	Service  catalog.Service `json:"service"`
	Bytes    int64           `json:"bytes"`
	StartPS  units.Time      `json:"start_ps"` // post
	// CompletionPS is from post to completion entry; where an end has a server, until
	// the bytes are in the memory they go to. -1 while open.
	CompletionPS units.Time `json:"completion_ps"`
	Status       string     `json:"status"` // "success", a verbs completion status, or "open"
	// OpenPS, of a message that is open, is from its post to the end of the run; 0: it was not posted by then.
	OpenPS units.Time `json:"open_ps,omitempty"`
	// Account is where the time went: stages in order, adding up to CompletionPS, or
	// of a message that is open to OpenPS.
	Account Deferred `json:"account,omitzero"`
	// DeliveredPS, of a service without acknowledgements, is from the post until
	// the responder had all of the message; -1: it never had. Of TCP it is
	// CompletionPS, which is when the receiving application has read all of it.
	// Of a message of a remote procedure call it is when the peer had all of it.
	DeliveredPS units.Time `json:"delivered_ps,omitempty"`
	// Call is the number of the remote procedure call that the message belongs to,
	// from 1; 0: none. Reply: it is the answer to the other one.
	Call  int  `json:"call,omitempty"`
	Reply bool `json:"reply,omitempty"`
	// Number is the message's place in Run.Messages.
	Number int32 `json:"-"`
	// EntryPS, where an end has a server, is from post until the requester's
	// application has polled the completion entry.
	EntryPS units.Time `json:"completion_entry_ps,omitempty"`
	// IdealPS is the zero-load completion time of the same message on the same path.
	IdealPS units.Time `json:"ideal_ps,omitempty"`
}

// QP is what one queue pair did, as requester and as responder.
type QP struct {
	Host               string          `json:"host"`
	QP                 int             `json:"qp"`
	Peer               Place           `json:"peer"`
	Workload           string          `json:"workload"`
	Layer              catalog.Layer   `json:"link_layer"` // of its port
	Service            catalog.Service `json:"service"`
	State              string          `json:"state"`
	SentPackets        int64           `json:"sent_packets"`
	SentBytes          int64           `json:"sent_bytes"`      // payload, retransmissions included
	DeliveredBytes     int64           `json:"delivered_bytes"` // payload taken in order by this QP: as responder, and of READ responses
	Retransmitted      int64           `json:"retransmitted_packets"`
	RetransmittedBytes int64           `json:"retransmitted_bytes"` // payload
	CNPsSent           int64           `json:"cnps_sent"`
	CNPsReceived       int64           `json:"cnps_received"`
	// CNPsLimited are the marked packets that it answered with no CNP because one had
	// been sent within the interval.
	CNPsLimited int64 `json:"cnps_limited,omitempty"`
	// CNPsIgnored are those that came so soon after one that it took that they had no effect, where the
	// sender keeps CNPs apart.
	CNPsIgnored int64 `json:"cnps_ignored,omitempty"`
	// AtMinRatePS is for how long its rate was the least that DCQCN allows.
	AtMinRatePS  units.Time `json:"at_min_rate_ps,omitempty"`
	RateCuts     int64      `json:"rate_cuts"`
	NAKsSent     int64      `json:"naks_sent"`
	Timeouts     int64      `json:"timeouts"`
	FinalRateBps units.Rate `json:"final_rate_bps"`
	MinRateBps   units.Rate `json:"min_rate_bps"`
	// PeakAhead is the most packets of requests that this responder held at a time until an earlier one came.
	PeakAhead     int32 `json:"peak_ahead_packets,omitempty"`
	PeakCCTI      int32 `json:"peak_ccti,omitempty"`      // highest index into InfiniBand's congestion control table
	MeasuredBytes int64 `json:"measured_bytes,omitempty"` // payload delivered within the measure window
	// What this queue pair gave its host's application to do, and the time that
	// takes where the scenario states a cost.
	Posts int64 `json:"posts"` // work requests posted to the send queue
	Polls int64 `json:"polls"` // completions of the send queue polled
	// Receives counts those of the receive queue, and Reposts the receive work
	// requests posted in place of those that they used up.
	Receives int64      `json:"receive_polls"`
	Reposts  int64      `json:"receive_posts"`
	CPUPS    units.Time `json:"cpu_ps,omitempty"` // picoseconds
	// Misses of the card's caches by what this queue pair received and sent: of its
	// context, and of translations of the pages it writes to and reads from.
	ContextMisses     int64 `json:"context_misses,omitempty"`
	TranslationMisses int64 `json:"translation_misses,omitempty"`
	// Discards are the messages that this responder of UC or UD threw away; nil: none.
	Discards *Discards `json:"messages_dropped,omitempty"`
	// TCP is what only the end of a TCP connection has, or of a queue pair that is carried by one; else nil.
	TCP *TCP `json:"tcp,omitempty"`
	// RefusedPS is since when a requester of RC that retries without end tries in vain at
	// the end of the run: when the 16th RNR NAK in a row came that let no message end or
	// begin; 0: it does not.
	RefusedPS units.Time `json:"refused_since_ps,omitempty"`
	// Limits is what limits this queue pair, and its path.
	Limits QPLimits `json:"limits"`
}

// Discards counts messages by why a responder of UC or UD threw them away.
type Discards struct {
	NoReceive int64 `json:"no_receive"`  // no receive work request
	TooLong   int64 `json:"too_long"`    // longer than the receive work request
	BadQKey   int64 `json:"wrong_q_key"` // UD
	Refused   int64 `json:"refused"`     // R_Key, bounds, rights or length
	Broken    int64 `json:"broken"`      // a packet was missing or came twice
}

// Total is all of them; 0 for nil.
func (d *Discards) Total() int64 {
	if d == nil {
		return 0
	}
	return d.NoReceive + d.TooLong + d.BadQKey + d.Refused + d.Broken
}

// Life is from post to completion, or of a message that is open to the end of the run: what its account adds up to.
func (m *Message) Life() units.Time {
	if m.OpenPS > 0 {
		return m.OpenPS
	}
	return max(m.CompletionPS, 0)
}

// Refused reports whether the responder answered a message with a NAK for what it asks: an error that it names
// (IBTA 9.7.5.2).
func (m *Message) Refused() bool {
	switch m.Status {
	case "REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR":
		return true
	}
	return false
}

// Is reports whether the service of a message has all the traits.
func (m *Message) Is(t catalog.Traits) bool { return m.Service.Is(t) }

// Is reports whether the service of a queue pair, or connection, has all the traits.
func (q *QP) Is(t catalog.Traits) bool { return q.Service.Is(t) }

// Cores are those that work for the end of a connection; nil: there are none, or their work
// takes no time.
func (q *QP) Cores() *StreamCores {
	if q.TCP == nil {
		return nil
	}
	return q.TCP.Cores
}

// Place is the queue pair, or the end of the connection.
func (q *QP) Place() Place { return QPAt(q.Service, q.Host, q.QP) }

// Name is how reports name the queue pair, "h2 qp 17", or the connection, "h2 tcp 17".
func (q *QP) Name() string { return q.Place().String() }

// Name is how reports name the port: "leaf1:3".
func (p *Port) Name() string { return p.ID().String() }

// ID is which port it is.
func (p *Port) ID() PortID { return PortID{p.Node, p.Port} }

// Place is the port's class, as an actor.
func (p *Port) Place() Place { return ClassAt(p.Node, p.Port, p.Class, p.Layer) }

// OverTCP is what only the end of an iWARP queue pair has; nil for others.
func (q *QP) OverTCP() *IWARP {
	if q.TCP == nil {
		return nil
	}
	return q.TCP.IWARP
}

// IWARP is what one end of an iWARP queue pair did beside TCP and its completions.
type IWARP struct {
	FPDUs       int64 `json:"fpdus"`        // sent a first time
	PlacedAhead int64 `json:"placed_ahead"` // FPDUs that were written to memory ahead of a missing one
	// KeptAhead are those that came ahead and had to wait: SENDs, whose receive work request was not known yet.
	KeptAhead int64      `json:"kept_ahead"`
	Markers   bool       `json:"markers,omitempty"`  // in the stream that this end receives
	Ended     string     `json:"ended,omitempty"`    // how the stream ended, if it did before the run's end
	EndedPS   units.Time `json:"ended_ps,omitempty"` // when
	Reason    string     `json:"reason,omitempty"`   // what the Terminate message said; empty: there was none
}

// TCP is one end of a TCP connection at the end of the run. Sizes are bytes.
type TCP struct {
	CC            string     `json:"congestion_control"`
	Pacing        bool       `json:"pacing,omitempty"` // it spreads its segments over the round trip
	CwndBytes     int64      `json:"cwnd_bytes"`
	InitialCwnd   int64      `json:"initial_cwnd_bytes"`       // where slow start begins
	SsthreshBytes int64      `json:"ssthresh_bytes,omitempty"` // 0: never set
	Alpha         float64    `json:"alpha,omitempty"`          // DCTCP's
	SRTT          units.Time `json:"srtt_ps"`
	MinRTT        units.Time `json:"min_rtt_ps"`
	RTO           units.Time `json:"rto_ps"`
	SendBuffer    int64      `json:"send_buffer_bytes"`
	ReceiveBuffer int64      `json:"receive_buffer_bytes"`
	PureAcks      int64      `json:"pure_acks"`               // segments sent without data
	OutOfOrder    int64      `json:"out_of_order_segments"`   // received ahead of a missing one
	Duplicates    int64      `json:"duplicate_segments"`      // received with nothing new
	TLPs          int64      `json:"tail_loss_probes"`        // sent
	ZeroWindows   int64      `json:"zero_windows_advertised"` // times that it closed its window
	Persists      int64      `json:"persist_timeouts"`        // times that it asked, after a timeout, whether the peer's window is open
	UpdatesLost   int64      `json:"window_updates_lost"`     // of those the peer asked when it had long been told of room
	// Time of the connection in the stages that only TCP has.
	HandshakePS     units.Time `json:"handshake_ps,omitempty"`
	ReceiveWindowPS units.Time `json:"receive_window_ps,omitempty"`
	SendBufferPS    units.Time `json:"send_buffer_ps,omitempty"`
	NaglePS         units.Time `json:"nagle_ps,omitempty"`
	// DetectionPS and TimeoutPS are what it waited for time or a probe, and for the
	// retransmission timer, to tell of a loss, while it had more to send.
	DetectionPS units.Time `json:"loss_detection_ps,omitempty"`
	TimeoutPS   units.Time `json:"timeout_ps,omitempty"`
	// Unscaled: the ends did not agree on window scaling (RFC 7323).
	Unscaled bool `json:"unscaled,omitempty"`
	// Cores work for this end; nil where the kernel's work takes no time.
	Cores *StreamCores `json:"cores,omitempty"`
	// IWARP is what only the end of a queue pair that TCP carries has; nil for one of sockets. (It stands here as few
	// queue pairs have it, and a run may have hundreds of thousands.)
	IWARP *IWARP `json:"iwarp,omitempty"`
}

// StreamCores are the cores of a host, from 0, that work for one end of a TCP
// connection.
type StreamCores struct {
	Application int `json:"application"` // reads and writes
	Softirq     int `json:"softirq"`     // takes frames in and makes segments
}

// PauseEvent is a change of one class of a port between going and paused.
type PauseEvent struct {
	At    units.Time
	Node  string // whose port was paused or resumed
	Port  int    // 1-based
	Class int
	XOFF  bool // paused; else resumed, by XON or because the pause ran out
}

// Note says which preset gave a number and where that number comes from.
type Note struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Data is what a run that carries data found when it compared what each message
// brought with what it was to bring.
type Data struct {
	Messages int   `json:"messages"` // completed with success and compared
	Bytes    int64 `json:"bytes"`    // of them
	Differ   int   `json:"differ"`   // messages that are not as they should be: a fault of the program
	Refused  int   `json:"refused"`  // ended in an access error; they are to have written nothing
	Lost     int   `json:"lost"`     // of an unreliable service, and did not arrive whole
	// Checksum is the CRC-64 (ECMA-182) of all that arrived, in order of messages.
	Checksum string   `json:"checksum"`
	Faults   []string `json:"faults,omitempty"` // the first that differ
}

// Waiting is a port and class in a cycle of waits: it may not send because what
// would come behind its frames waits at the next one.
type Waiting struct {
	Port  PortID        `json:"port"`
	Class int           `json:"class"`
	Layer catalog.Layer `json:"link_layer"`
}

// IBCounters are the standard counters of one InfiniBand port (IBTA 16.1.3.5),
// over all virtual lanes and the whole run; flow-control packets apart. They do
// not stop at their largest value.
type IBCounters struct {
	Node         string `json:"node"`
	Port         int    `json:"port"`
	PortXmitData int64  `json:"PortXmitData"` // units of 4 octets, without delimiters and VCRC
	PortRcvData  int64  `json:"PortRcvData"`
	PortXmitPkts int64  `json:"PortXmitPkts"`
	PortRcvPkts  int64  `json:"PortRcvPkts"`
	// PortXmitWait is the time with a packet to send and none sent for want of
	// credits, on any lane, in the unit that infiniband.switch_generation says.
	PortXmitWait int64 `json:"PortXmitWait"`
	// PortXmitDiscards counts packets that lifetime limits or a link that is down
	// made the port discard, PortRcvErrors those that came in damaged.
	PortXmitDiscards int64 `json:"PortXmitDiscards"`
	PortRcvErrors    int64 `json:"PortRcvErrors"`
	// Flow-control packets sent with news; not a counter of the standard.
	CreditUpdates int64 `json:"credit_updates"`
}

// Failure is a link that failed in the run, and what followed.
type Failure struct {
	Link       Place  `json:"link"`                  // its ends: "leaf1:3 - spine2:1"
	Silent     bool   `json:"silent,omitempty"`      // both ends took it for one that works, and nothing was rerouted
	LostFrom   string `json:"lost_from,omitempty"`   // the node whose frames alone were lost
	SwitchDown string `json:"switch_down,omitempty"` // the switch that was down, and the link with it

	Nth    int        `json:"-"` // which outage of the link it is, from 0
	DownPS units.Time `json:"down_ps"`
	UpPS   units.Time `json:"up_ps,omitempty"` // when it worked again
	// NoticedPS is when the ends knew, or the subnet manager did; ReroutedPS when the
	// last switch had tables without the link. -1: not before the run ended, or never.
	NoticedPS  units.Time `json:"noticed_ps"`
	ReroutedPS units.Time `json:"rerouted_ps"`
	// Phases are the parts of the time from the failure to the last new table.
	Phases   []Phase `json:"phases"`
	Switches int     `json:"switches"` // whose tables changed by the end of the run
	// LostFrames were sent onto the link while it was down, or waited at its ports as
	// that was noticed.
	LostFrames int64 `json:"lost_frames"`
	LostBytes  int64 `json:"lost_bytes"`
}

// Loop is a circle of switches that sent packets to each other for a while, because some had new tables
// and others old ones.
type Loop struct {
	Nodes  []string   `json:"nodes"`   // in the order in which packets passed them
	To     string     `json:"to"`      // the first host that packets went to
	FromPS units.Time `json:"from_ps"` // when it began
	ToPS   units.Time `json:"to_ps"`   // when it was over; -1: not before the run ended
	// Expired are the frames that ended their TTL at the switches of the loop.
	Expired int64 `json:"expired"`
}

// Beside names the switches of a loop that come behind one of its own and before it; "": it has no such one.
func (l *Loop) Beside(node string) (after, before string) {
	n := len(l.Nodes)
	k := slices.Index(l.Nodes, node)
	if k < 0 {
		return "", ""
	}
	return l.Nodes[(k+1)%n], l.Nodes[(k+n-1)%n]
}

// Fault is something that went wrong with the card of a host for a while.
type Fault struct {
	Node    string     `json:"node"`
	Kind    FaultKind  `json:"kind"`               // what it does wrong
	FromPS  units.Time `json:"from_ps"`            // when that begins
	ToPS    units.Time `json:"to_ps"`              // when it was over; -1: not before the run ended
	RateBps units.Rate `json:"rate_bps,omitempty"` // of slow: what the host took
	Lapses  int        `json:"lapses,omitempty"`   // of pauses: how often they let go for a moment
}

// FaultKind is what a card does wrong.
type FaultKind string

// Kinds of faults.
const (
	FaultHang   FaultKind = "hang"   // takes nothing out of its receive buffer and sends nothing but pauses
	FaultPauses FaultKind = "pauses" // pauses its switch in all lossless priorities, whatever its receive buffer holds
	FaultSlow   FaultKind = "slow"   // takes data at a rate at most
)

// Storm is a time for which the PFC watchdog of a switch took a queue for one in a storm.
type Storm struct {
	Port     PortID         `json:"port"`              // whose peer paused it
	Class    int            `json:"class"`             // the priority
	FromPS   units.Time     `json:"from_ps"`           // when it was found
	ToPS     units.Time     `json:"to_ps"`             // when it was restored; -1: not before the run ended
	Action   WatchdogAction `json:"action"`            // what was done about it
	FromPeer int64          `json:"dropped_from_peer"` // those of them that came from the peer
	Dropped  Act            `json:"dropped"`           // frames on account of it; the sum is their bytes
}

// WatchdogAction is what a PFC watchdog does about a queue in a storm.
type WatchdogAction string

// Actions, in SONiC's words.
const (
	WatchdogDrop    WatchdogAction = "drop"    // what waits there and comes for it, and what the peer sends in that class
	WatchdogForward WatchdogAction = "forward" // sends it all, whatever the peer says
	WatchdogAlert   WatchdogAction = "alert"   // says so, and does nothing
)

// Phase is a part of the time that it takes to reroute.
type Phase struct {
	Name string     `json:"name"` // "detection", "convergence", "fan-out", "sweep", "computation", "programming"
	PS   units.Time `json:"ps"`
}

// Control is how DCQCN was set. What each queue pair began at and may have at most stands
// with its limits.
type Control struct {
	Preset  string   `json:"preset"`            // what the values are but for Changed
	Changed []string `json:"changed,omitempty"` // keys whose values are not the preset's
	// ClampTargetRate: every cut sets the target rate.
	ClampTargetRate bool `json:"clamp_tgt_rate,omitempty"`
}

// Level is how a run came to its result.
type Level struct {
	Name string `json:"name"` // as --level takes it
	Note string `json:"note"` // what was left out, and why no more
	// Unmodelled is what the level knows nothing of; without it the result is that of packets.
	Unmodelled []string `json:"not_modelled,omitempty"`
	// Errors are how far results of the level were from those of packets, of cases that were run both ways.
	Errors []LevelError `json:"measured_errors,omitempty"`
}

// LevelError is how far a case was off.
type LevelError struct {
	Case    string  `json:"case"`             // "permutation of 8 MB over 128 hosts, 2 to 1"
	Stack   string  `json:"stack"`            // over which it was run
	Percent float64 `json:"makespan_percent"` // of the last completion; below 0: too early
	Message float64 `json:"message_percent"`  // mean of the messages' errors, without sign
}

// Flows reports whether a run knows flows alone: no packets, queues, accounts and answers.
func (r *Run) Flows() bool { return r.Level != nil && len(r.Level.Unmodelled) > 0 }

// Run is everything a run wrote down.
type Run struct {
	Scenario     string     `json:"scenario"`
	Description  string     `json:"description,omitempty"`
	Stack        string     `json:"stack"`
	Seed         uint64     `json:"seed"`
	EndPS        units.Time `json:"end_ps"`
	MeasureFrom  units.Time `json:"measure_from_ps,omitempty"`
	MeasureTo    units.Time `json:"measure_to_ps,omitempty"`
	Stopped      string     `json:"stopped"` // "quiescence", "stop time", "interrupted", "deadlock" (ports hold) or "stalled" (none does)
	OpenMessages int        `json:"open_messages"`
	Fingerprint  string     `json:"fingerprint"`
	// WireOverhead is what each frame takes on the wire beyond its frame bytes
	// (preamble, SFD and gap), PFCFrame the frame bytes of a PFC frame, which
	// tx_packets and tx_bytes do not count.
	WireOverhead int `json:"wire_overhead_bytes"`
	PFCFrame     int `json:"pfc_frame_bytes"`
	// PauseClasses are the priorities for which PFC is on at switches.
	PauseClasses []int `json:"pause_classes,omitempty"`
	// Layers are the APIs, transports and fabrics of what the run carried, those alike together.
	Layers []catalog.Layering `json:"layers,omitempty"`
	// Control is how DCQCN was set; nil: there is none.
	Control *Control `json:"control,omitempty"`
	// StillPS is since when nothing moved in a run that deadlocked: the last arrival or
	// drop of a frame, and the time in which a PFC frame or flow-control packet tells of
	// it. Ports are counted up to it, unless there is a measure window.
	StillPS units.Time `json:"still_since_ps,omitempty"`
	// Cycle is a cycle of waits at the end of a run that deadlocked.
	Cycle []Waiting `json:"deadlock_cycle,omitempty"`
	// Counters are the standard counters of InfiniBand ports.
	Counters []IBCounters `json:"infiniband_counters,omitempty"`
	// Failures are the links that failed, by time; FlowsMoved is how many flows (the
	// packets of a connection, one way) took another path for it.
	Failures   []Failure `json:"failures,omitempty"`
	Loops      []Loop    `json:"loops,omitempty"`  // that packets took as tables changed one by one, by time
	Faults     []Fault   `json:"faults,omitempty"` // of cards, by host and time
	Storms     []Storm   `json:"storms,omitempty"` // that PFC watchdogs found, by time
	FlowsMoved int       `json:"flows_moved,omitempty"`
	// HashedFlows is for how many connections a hash that depends on the seed chose among several ways.
	HashedFlows int `json:"hashed_flows,omitempty"`
	// FrameHeader is the frame bytes around the payload of a data packet, RETH
	// what the first packet of an RDMA WRITE adds, MinFrame what shorter frames
	// are padded to.
	FrameHeader int `json:"frame_header_bytes"`
	RETH        int `json:"reth_bytes"`
	MinFrame    int `json:"min_frame_bytes"`
	// Events executed, timers that no longer matter included: how many of those
	// fall into the last window depends on how the network is cut, so the number
	// is for measuring the program and stands in no result that is compared.
	Events     int64 `json:"-"`
	PacketHops int64 `json:"packet_hops"` // packets and ACKs sent by one port
	// Level is how the run came to its result; nil: nobody asked, and every packet was run.
	Level    *Level   `json:"level,omitempty"`
	Notes    []Note   `json:"parameters"`
	Warnings []string `json:"warnings,omitempty"`
	// Places are those that accounts may name, each once; nil: what the accounts name.
	Places   []*Place  `json:"places,omitempty"`
	Messages []Message `json:"messages"`
	// Loads are those of entries whose messages come at random, in their order.
	Loads []Load `json:"loads,omitempty"`
	// Collectives are those of the workload, in its order.
	Collectives []Collective `json:"collectives,omitempty"`
	Jobs        []Job        `json:"jobs,omitempty"` // likewise
	QPs         []QP         `json:"qps"`
	Ports       []Port       `json:"ports"`
	// Processors are those of the hosts whose cores did anything that costs time.
	Processors []Processors `json:"processors,omitempty"`
	// Servers are the insides of hosts that have one, as far as anything went over them.
	Servers []Server `json:"servers,omitempty"`
	Ledger  []Entry  `json:"ledger"`
	Data    *Data    `json:"data,omitempty"` // nil unless the run carried data
	// Pauses lists every pause and resumption in order of time, then node and
	// port, when the run was asked to trace them.
	Pauses []PauseEvent `json:"-"`
	// Evidence is what causes are told apart by.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Trace is what a timeline in detail shows; nil: the run was not asked for it.
	Trace *Trace `json:"-"`
	// Series are the samples that the run was asked to take; nil: none.
	Series *Series `json:"-"`
	// Network is the topology that it ran on.
	Network *Network `json:"network,omitempty"`
	// Timeline are the samples that a page shows; nil: the run was not asked for them.
	Timeline *Timeline `json:"timeline,omitempty"`
}
