package record

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/units"
)

// Approach is how near a mechanism came to firing at one place: the use of
// something when it was nearest to its threshold, and that threshold then. The
// zero Approach was never judged.
type Approach struct {
	Value     int64      `json:"value"`
	Threshold int64      `json:"threshold"`
	At        units.Time `json:"at_ps"`
}

// PortLimits is what one port and class would have to reach for a mechanism to
// act. Bytes are frame bytes. 0 switches a mechanism off.
type PortLimits struct {
	KMinBytes int64   `json:"kmin_bytes,omitempty"` // of the egress queue's marking
	KMaxBytes int64   `json:"kmax_bytes,omitempty"`
	PMax      float64 `json:"pmax,omitempty"`
	// MarkAtEnqueue: a frame is marked as it joins the queue, by the queue with
	// it; else as it leaves, by the queue without it.
	MarkAtEnqueue bool `json:"mark_at_enqueue,omitempty"`
	// XOFF is the nearest approach of the ingress use, reserve included, to the
	// use at which XOFF is sent; nil where PFC is off or nothing was admitted
	// while XON.
	XOFF          *Approach `json:"xoff,omitempty"`
	HeadroomBytes int64     `json:"headroom_bytes,omitempty"`
	// HeadroomNeed is what the cable can need, where that is more than there is.
	HeadroomNeed int64 `json:"headroom_need_bytes,omitempty"`
	// EgressDrop is the nearest approach of a lossy queue, with the arriving
	// frame, to its dynamic threshold; negative room is a drop.
	EgressDrop *Approach `json:"egress_drop,omitempty"`
	// QueueBytes is the most that a lossy queue may hold while nothing else is in the buffer.
	QueueBytes int64 `json:"queue_bytes,omitempty"`
	// Credits is the most of the peer's input buffer that was in use or promised,
	// and all of it; nil where the link has no credits.
	Credits *Approach `json:"credits,omitempty"`
	// Of a host port whose receive buffer is drained at a limited rate: the most
	// it held against XOFF, its size and the rate.
	Receive     *Approach  `json:"receive,omitempty"`
	BufferBytes int64      `json:"receive_buffer_bytes,omitempty"`
	DrainBps    units.Rate `json:"drain_bps,omitempty"`
	// ReceivePeak is the most that waited in the receive buffer of a host with a server,
	// and Inside what bounds the host's taking it.
	ReceivePeak int64        `json:"receive_peak_bytes,omitempty"`
	Inside      *InsideLimit `json:"inside,omitempty"`
	// StalledPS is the time that the receiving pipeline waited for queue pair
	// contexts and translations that the card's caches did not hold.
	StalledPS units.Time `json:"stalled_ps,omitempty"`
	// MessageGapPS, of a host port, is the least time between two work requests of one queue pair that its
	// card takes up; 0: none.
	MessageGapPS units.Time `json:"message_gap_ps,omitempty"`
}

// Near is how near the port came to what a mechanism acts on; nil where it has no such limit.
func (l *PortLimits) Near(m catalog.Mechanism) *Approach {
	switch m {
	case catalog.XOFFCross:
		return l.XOFF
	case catalog.EgressDrop:
		return l.EgressDrop
	case catalog.ReceiveXOFF:
		return l.Receive
	case catalog.CreditsOut:
		return l.Credits
	}
	return nil
}

// CNPLimiter is a limiter of congestion notifications at a receiver.
type CNPLimiter struct {
	Port       PortID     `json:"port"`
	Scope      string     `json:"scope"`       // "port", "destination" or "queue-pair"
	IntervalPS units.Time `json:"interval_ps"` // the least time between two
}

// Controller is a congestion control of the registry at one queue pair.
type Controller struct {
	// Title is what the control is called.
	Title    string `json:"title"`
	Windowed bool   `json:"window,omitempty"` // it keeps a window
	// Bytes is what the queue pair has sent for it, in frame bytes: time stamps, telemetry, probes.
	Bytes int64 `json:"bytes,omitempty"`
}

// Control is the title of the congestion control, where that is one of the registry; "": it is not.
func (l *QPLimits) Control() string {
	if l.Controller == nil {
		return ""
	}
	return l.Controller.Title
}

// Windowed reports whether such a control keeps a window.
func (l *QPLimits) Windowed() bool { return l.Controller != nil && l.Controller.Windowed }

// QPLimits is what limits one queue pair, and how near it came to each limit.
type QPLimits struct {
	Class       int        `json:"class"`
	MTUBytes    int64      `json:"mtu_bytes"`
	LineBps     units.Rate `json:"line_bps"`
	InitialBps  units.Rate `json:"initial_bps,omitempty"` // where DCQCN starts; 0: the line's rate
	MaxBps      units.Rate `json:"max_bps,omitempty"`     // DCQCN's cap, or what CCTI_Min leaves; 0: the line's rate
	WindowBytes int64      `json:"window_bytes,omitempty"`
	// Controller is the congestion control, where that is one of the registry; nil: it is not.
	Controller *Controller `json:"controller,omitempty"`
	// PeakOutstanding is the most payload in flight, with a window only.
	PeakOutstanding int64 `json:"peak_outstanding_bytes,omitempty"`
	// BitmapPackets is the receive bitmap of selective repeat, which bounds the
	// packets outstanding; PeakPackets the most there were. 0: go-back-N.
	BitmapPackets int64 `json:"bitmap_packets,omitempty"`
	PeakPackets   int64 `json:"peak_packets,omitempty"`
	// MaxRdAtomic is how many READs and atomics may be outstanding, PeakReads the
	// most there were, ReadPartBytes the payload that one READ request asks for at
	// most. 0: it posted none.
	MaxRdAtomic   int64      `json:"max_rd_atomic,omitempty"`
	PeakReads     int64      `json:"peak_reads,omitempty"`
	ReadRTTPS     units.Time `json:"read_rtt_ps,omitempty"` // idle, of the first one's request and its response, one packet at most
	ReadPartBytes int64      `json:"read_part_bytes,omitempty"`
	ECT           bool       `json:"ect"`                 // data packets are ECN-capable
	CNP           bool       `json:"cnp"`                 // answers marks with CNPs or the flag on ACKs
	CEOnAck       bool       `json:"ce_on_ack,omitempty"` // by the flag on ACKs
	CC            bool       `json:"congestion_control"`  // has a reaction point
	// SlowRestart: the window is small after a timeout.
	SlowRestart bool `json:"slow_restart,omitempty"`
	// Shared: its receives are those of a shared receive queue.
	Shared bool `json:"shared_receives,omitempty"`
	// CNPLimiter is what limits the CNPs that it sends; nil where it sent none and left
	// none out.
	CNPLimiter *CNPLimiter `json:"cnp_limiter,omitempty"`
	// Retransmission timer: 0 is none. NearTimeout is the longest time with
	// something outstanding and no progress, in picoseconds.
	TimeoutPS   units.Time `json:"timeout_ps,omitempty"`
	NearTimeout *Approach  `json:"near_timeout,omitempty"`
	// SlowRestartPS is how long SlowRestart held the requester.
	SlowRestartPS units.Time `json:"slow_restart_ps,omitempty"`
	// Receives counts the receive work requests posted at this responder; -1:
	// always enough.
	Receives     int64 `json:"receives"`
	ReceivesUsed int64 `json:"receives_used,omitempty"`
	// ReceivesPeak is the most receive work requests that were taken and not yet
	// posted anew at a time, of how many; of a shared receive queue those of all its
	// queue pairs. nil: always enough.
	ReceivesPeak *Approach `json:"receives_peak,omitempty"`
	// Time of the requester in the stages that hold it back by rule.
	WindowPS units.Time `json:"window_ps,omitempty"`
	RatePS   units.Time `json:"rate_ps,omitempty"`
	BitmapPS units.Time `json:"bitmap_ps,omitempty"`
	ReadsPS  units.Time `json:"max_rd_atomic_ps,omitempty"`
	// Path is the way of this requester's packets, or of this responder's READ
	// responses, host port first; empty for a responder that sends none. Paths share their hops, which must not be
	// changed. BaseRTT is
	// the idle round trip of a full packet and its ACK on the path.
	Path      []*PathHop `json:"path,omitempty"`
	BaseRTTPS units.Time `json:"base_rtt_ps,omitempty"`
	DrainBps  units.Rate `json:"drain_bps,omitempty"` // of the receiving host; 0: it keeps up
	// Inside is what bounds its data inside the hosts at both ends that have servers: the
	// sender's first.
	Inside []InsideLimit `json:"inside,omitempty"`
}

// InsideLimit is what bounds the data between a card and a memory of its host.
type InsideLimit struct {
	Host   string     `json:"host"`
	Link   string     `json:"link"`            // the slowest on the way: "nic0 to cpu0"
	Kind   string     `json:"kind"`            // "PCIe gen3 x8"; or "read tags", "posted credits"
	Bps    units.Rate `json:"bps"`             // payload, with nothing else on the way but what Both says
	Write  bool       `json:"write,omitempty"` // into the memory: at the receiver
	Memory string     `json:"memory"`          // where the data lie: "gpu0", "dram1"
	Card   string     `json:"card"`            // "nic0"
	// Why is what makes the way slow, where that is more than the rate of one link.
	Why catalog.Reason `json:"why,omitzero"`
	// Both says that the card moved data both ways, which share the link: Bps is that of
	// each.
	Both bool `json:"both,omitempty"`
	// Duplex is the limit while as much goes the other way, where that lets less through.
	Duplex *InsideLimit `json:"duplex,omitempty"`
	// IOTLBMisses is how many pages on the way the IOTLB did not hold, each a walk of
	// WalkPS, which Bps leaves out. 0: no IOMMU, or it held them.
	IOTLBMisses int64      `json:"iotlb_misses,omitempty"`
	WalkPS      units.Time `json:"walk_ps,omitempty"`
}

// String names the limit: "PCIe gen3 x8, nic0 to cpu0".
func (l *InsideLimit) String() string { return l.Kind + ", " + l.Link }

// PathHop is one transmission of a path.
type PathHop struct {
	Port    PortID     `json:"port"`
	Peer    PortID     `json:"peer"` // the port at the other end
	RateBps units.Rate `json:"rate_bps"`
	// On a link with credits: the idle time from when a packet of the path MTU starts
	// until its credits can be used again, and how many such packets may be granted at
	// once.
	CreditLoopPS  units.Time `json:"credit_loop_ps,omitempty"`
	CreditPackets int64      `json:"credit_packets,omitempty"`
}
