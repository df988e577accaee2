package decode

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Result is what a capture shows.
type Result struct {
	Capture     Capture        `json:"capture"`
	Points      []Point        `json:"points"`
	QueuePairs  []QueuePair    `json:"queue_pairs"`
	Connections []Connection   `json:"connections"` // of TCP
	Pauses      []Pause        `json:"pauses"`
	Messages    []Message      `json:"messages"`
	Ledger      []record.Entry `json:"ledger"` // acts by question, mechanism and actor, as that of a run
	Notes       []string       `json:"notes"`  // what the capture cannot show, and what was found of it
	// Whys say of the questions that nobody answers why, by question.
	Whys map[catalog.Question]string `json:"-"`
}

// Capture is about the file.
type Capture struct {
	Format string `json:"format"`
	// what instants are told from; absent: the stamps are those of a clock that began at 0
	Began     string     `json:"began,omitempty"`
	FirstPS   units.Time `json:"first_ps"`
	LastPS    units.Time `json:"last_ps"`
	Packets   int64      `json:"packets"`
	Bytes     int64      `json:"bytes"` // on the wire
	Cut       int64      `json:"cut_packets"`
	RDMA      int64      `json:"rdma_packets"`
	TCP       int64      `json:"tcp_packets"`
	PFC       int64      `json:"pfc_packets"`
	Other     int64      `json:"other_packets"`
	Fragments int64      `json:"ip_fragments"`
	Unread    int64      `json:"unreadable_packets"` // cut within headers, or against the rules
	GoodICRC  int64      `json:"icrc_right"`
	BadICRC   int64      `json:"icrc_wrong"`
	NoICRC    int64      `json:"icrc_not_captured"`
	Unlisted  int64      `json:"messages_not_listed"` // beyond those of the list
	BrokenOff string     `json:"broken_off,omitempty"`
}

// Point is a capture point.
type Point struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	LinkType    int    `json:"link_type"`
	SnapLen     int    `json:"snap_bytes"`
	Dropped     int64  `json:"dropped"` // packets that the capture lost there; -1: the file does not say
}

// QueuePair is one direction of a pair of queue pairs: what the one at From sent.
type QueuePair struct {
	From    string          `json:"from"`
	FromQP  *uint32         `json:"from_qp,omitempty"` // absent: the capture does not tell it
	To      string          `json:"to"`
	ToQP    uint32          `json:"to_qp"`
	Service catalog.Service `json:"service"`
	Paired  string          `json:"paired"`         // how the other direction was found; "": it was not
	Peer    *int            `json:"peer,omitempty"` // its row
	SrcPort uint16          `json:"udp_source_port,omitempty"`

	Point        string     `json:"point"` // that counts are of: the first on the way of its packets
	Packets      int64      `json:"packets"`
	Bytes        int64      `json:"bytes"`
	PayloadBytes int64      `json:"payload_bytes"` // what was sent again included
	FirstPS      units.Time `json:"first_ps"`
	LastPS       units.Time `json:"last_ps"`
	MTU          uint32     `json:"path_mtu,omitempty"` // absent: no message of two packets was seen

	Marked      int64 `json:"marked"` // at the point that saw most marks
	ECNCapable  int64 `json:"ecn_capable"`
	GoodICRC    int64 `json:"icrc_right"`
	BadICRC     int64 `json:"icrc_wrong"`
	Resent      int64 `json:"retransmitted_packets"`
	ResentBytes int64 `json:"retransmitted_bytes"`     // payload
	FirstLost   int64 `json:"first_copy_not_captured"` // of those, lost before the capture point or by the capture
	// Resends by cause, of requests.
	AfterNAK      int64      `json:"after_nak"`
	AfterRNR      int64      `json:"after_rnr_nak"`
	AfterTimeout  int64      `json:"after_timeout"`
	ForMissing    int64      `json:"for_missing_response"`
	CauseUnseen   int64      `json:"cause_not_seen"`
	Timeouts      int64      `json:"timeouts"`
	TimeoutMeanPS units.Time `json:"timeout_mean_ps,omitempty"` // since the packet was last sent
	AskedAgain    int64      `json:"reads_asked_again"`
	RespAgain     int64      `json:"responses_sent_again"`
	Late          int64      `json:"late_packets"` // behind later ones, without having been sent again
	BeforeFirst   int64      `json:"before_first_packets"`
	NotSeen       int64      `json:"missing_packets"`    // PSNs that were passed over to the end
	Uncaptured    int64      `json:"uncaptured_packets"` // acknowledged, and not captured
	Restarts      int64      `json:"sequence_restarts"`
	Copies        int64      `json:"copies"` // of packets, captured once more at the same point

	ACKs int64          `json:"acks_sent"`
	NAKs []SyndromeNAKs `json:"naks_sent"`
	RNRs int64          `json:"rnr_naks_sent"`
	// RNRSyndrome is that of the last RNR NAK: 0x20 and the code of the timer.
	RNRSyndrome uint8 `json:"rnr_syndrome,omitempty"`
	CNPs        int64 `json:"cnps_sent"`
	BECN        int64 `json:"becn_acks_sent"`

	Verbs        []Verb     `json:"verbs"`    // of messages that are over
	Done         int64      `json:"messages"` // over: acknowledged or answered; of UC and UD, sent
	OpenMessages int64      `json:"open_messages"`
	Failed       int64      `json:"refused_messages"`
	Partial      int64      `json:"partial_messages"` // whose beginning was not captured
	Broken       int64      `json:"broken_messages"`  // of UC, with packets missing
	DoneBytes    int64      `json:"message_bytes"`
	P50          units.Time `json:"p50_ps"`
	P99          units.Time `json:"p99_ps"`
	Slowest      units.Time `json:"slowest_ps"`
	Timed        int64      `json:"timed_messages"` // of which the times are
	GoodputBps   units.Rate `json:"goodput_bps"`
	AckTimeoutPS units.Time `json:"ack_timeout_ps,omitempty"` // as the connection manager agreed on

	Ways []Way `json:"ways"` // to further capture points
}

// SyndromeNAKs counts NAKs of one syndrome.
type SyndromeNAKs struct {
	Syndrome uint8  `json:"syndrome"`
	Name     string `json:"name"`
	Count    int64  `json:"count"`
}

// Verb counts messages of one verb.
type Verb struct {
	Verb     string `json:"verb"`
	Messages int64  `json:"messages"`
	Bytes    int64  `json:"bytes"`
}

// Way is what packets took from the first capture point to another.
type Way struct {
	From    string     `json:"from"`
	To      string     `json:"to"`
	Packets int64      `json:"packets"` // seen at To
	Timed   int64      `json:"timed"`   // seen at both
	Least   units.Time `json:"least_ps"`
	P50     units.Time `json:"p50_ps"`
	P99     units.Time `json:"p99_ps"`
	Most    units.Time `json:"most_ps"`
}

// Connection is one direction of a TCP connection.
type Connection struct {
	From         string     `json:"from"`
	FromPort     uint16     `json:"from_port"`
	To           string     `json:"to"`
	ToPort       uint16     `json:"to_port"`
	Point        string     `json:"point"`
	Packets      int64      `json:"packets"`
	Bytes        int64      `json:"bytes"`
	PayloadBytes int64      `json:"payload_bytes"`
	AckedBytes   int64      `json:"acked_bytes"`
	FirstPS      units.Time `json:"first_ps"`
	LastPS       units.Time `json:"last_ps"`
	Marked       int64      `json:"marked"`
	Resent       int64      `json:"retransmitted_packets"`
	ResentBytes  int64      `json:"retransmitted_bytes"`
	Fast         int64      `json:"fast_retransmissions"`
	AfterRTO     int64      `json:"after_rto"`
	CauseUnseen  int64      `json:"cause_not_seen"`
	Timeouts     int64      `json:"timeouts"`
	Late         int64      `json:"late_packets"`
	DupAcks      int64      `json:"duplicate_acks_sent"`
	SACKs        int64      `json:"sack_segments_sent"`
	Echoes       int64      `json:"ecn_echo_segments_sent"`
	Reduced      int64      `json:"cwr_segments_sent"`
	ZeroWindows  int64      `json:"zero_windows_sent"`
	Probes       int64      `json:"probes_sent"`
	GoodputBps   units.Rate `json:"goodput_bps"`
	LeastAnswer  units.Time `json:"least_answer_ps,omitempty"`
	Ways         []Way      `json:"ways"`
}

// Pause is what one port asked of its peer for one class.
type Pause struct {
	Port       string     `json:"port"` // that sent the frames
	MAC        string     `json:"mac"`
	Point      string     `json:"point"`
	Class      int        `json:"class"`
	Frames     int64      `json:"frames"`
	Pauses     int64      `json:"pauses"`
	Refreshes  int64      `json:"refreshes"`
	Resumes    int64      `json:"resumes"`
	Lapsed     int64      `json:"lapsed"`
	AskedPS    units.Time `json:"asked_pause_ps"`
	LongestPS  units.Time `json:"longest_ps"`
	Unmeasured int64      `json:"unmeasured_pauses"`
	FirstPS    units.Time `json:"first_ps"`
	LastPS     units.Time `json:"last_ps"`
}

// Message is one message that is over.
type Message struct {
	QueuePair int        `json:"queue_pair"` // row of its requester
	Verb      string     `json:"verb"`
	Bytes     int64      `json:"bytes"`
	Packets   int64      `json:"packets"`
	Resent    int64      `json:"retransmitted_packets"`
	StartPS   units.Time `json:"start_ps"` // of its first packet
	TookPS    units.Time `json:"took_ps"`  // to the answer that ends it
	Status    string     `json:"status"`   // "acknowledged", "answered", of UC and UD "sent", or the NAK's error
}

// end settles what is open when the capture is over.
func (d *Decoder) end() {
	d.joinLeft()
	for _, f := range d.flows {
		if f.peer != nil {
			continue
		}
		for _, s := range f.sights { // a NAK would not have been captured, so that silence says nothing
			s.resent[unseen] = s.resent[unseen].And(s.resent[afterTimer])
			s.resent[afterTimer], s.timeouts = record.Act{}, record.Act{}
		}
	}
	for _, x := range d.pauses {
		x.over(d.last, d.rate(x.point))
	}
}

// Nothing says why there is nothing to report of a capture; "": there is.
func (d *Decoder) Nothing() string {
	switch {
	case d.in.Packets() == 0 && d.broken != nil:
		return "no packet can be read: " + d.broken.Error()
	case d.in.Packets() == 0:
		return "holds no packet"
	case len(d.links) > 0 && !d.begun:
		link := d.in.Points()[0].Link
		return fmt.Sprintf("its packets are of link type %d; give a capture of Ethernet (1), raw IP (101, 228, 229), "+
			"Linux cooked "+
			"capture (113, 276), InfiniBand (247) or ERF (197)", link)
	}
	return ""
}

// namer writes addresses as names.
type namer map[netip.Addr]string

func (n namer) of(a address) string {
	switch a.kind {
	case addressLID:
		return fmt.Sprintf("lid %d", int(a.bytes[14])<<8|int(a.bytes[15]))
	case 0:
		return "?"
	}
	ip := a.ip()
	if name := n[ip]; name != "" {
		return name
	}
	return ip.String()
}

// sender is the place of the queue pair that sends a flow.
func (n namer) sender(f *flow) record.Place {
	if !f.srcSure {
		return record.HostAt(fmt.Sprintf("%s to %s qp %d", n.of(f.key.src), n.of(f.key.dst), f.key.qp))
	}
	return record.QPAt(catalog.RC, n.of(f.key.src), int(f.srcQP))
}

// Result sums up what was seen.
func (d *Decoder) Result() *Result {
	n := namer(d.in.Names())
	r := &Result{Capture: d.capture(), Points: []Point{}, QueuePairs: []QueuePair{}, Connections: []Connection{},
		Pauses: []Pause{}, Messages: []Message{}, Ledger: []record.Entry{}, Whys: map[catalog.Question]string{}}
	for k, p := range d.in.Points() {
		r.Points = append(r.Points, Point{Name: d.pointName(k), Description: p.Description, LinkType: int(p.Link),
			SnapLen: p.SnapLen, Dropped: p.Dropped})
	}
	for _, f := range d.flows {
		r.QueuePairs = append(r.QueuePairs, d.queuePair(f, n))
		r.Ledger = append(r.Ledger, entries(f, n)...)
	}
	for _, x := range d.streams {
		r.Connections = append(r.Connections, d.connection(x, n))
		r.Ledger = append(r.Ledger, streamEntries(x, n)...)
	}
	for _, x := range d.pauses {
		r.Pauses = append(r.Pauses, d.paused(x))
		r.Ledger = append(r.Ledger, d.pauseEntries(x)...)
	}
	for _, m := range d.rows {
		r.Messages = append(r.Messages, Message{QueuePair: m.flow.number, Verb: m.verb.String(), Bytes: m.bytes,
			Packets: m.packets,
			Resent:  m.resent, StartPS: m.start, TookPS: m.took, Status: m.status})
	}
	slices.SortStableFunc(r.Ledger, func(a, b record.Entry) int { return cmp.Compare(a.Question, b.Question) })
	d.explain(r)
	return r
}

// pointName names a capture point.
func (d *Decoder) pointName(k int) string {
	if name := d.in.Points()[k].Name; name != "" {
		return name
	}
	if len(d.in.Points()) == 1 {
		return "the capture"
	}
	return fmt.Sprintf("interface %d", k)
}

func (d *Decoder) capture() Capture {
	c := Capture{Format: d.in.Format, Began: d.in.Began(), FirstPS: d.first, LastPS: d.last, Packets: d.in.Packets(),
		Bytes: d.bytes, Cut: d.cut, RDMA: d.frames[rdma], TCP: d.frames[segment], PFC: d.frames[pause],
		Other:     d.frames[other],
		Fragments: d.frames[fragment], Unread: d.frames[unreadable], Unlisted: d.unlisted}
	for _, f := range d.flows {
		for _, s := range f.sights {
			c.GoodICRC += s.right
			c.BadICRC += s.wrong.Count
			c.NoICRC += s.packets - s.right - s.wrong.Count
		}
	}
	if d.broken != nil {
		c.BrokenOff = d.broken.Error()
	}
	return c
}

// queuePair sums up a flow.
func (d *Decoder) queuePair(f *flow, n namer) QueuePair {
	s := f.sights[0]
	q := QueuePair{From: n.of(f.key.src), To: n.of(f.key.dst), ToQP: f.key.qp, Service: f.service,
		Paired:  pairingNames[f.paired],
		SrcPort: f.srcUDP, Point: d.pointName(s.point), Packets: s.packets, Bytes: s.bytes, PayloadBytes: s.payload,
		FirstPS: s.first, LastPS: s.last, MTU: f.mtu, Marked: f.marked().Count, GoodICRC: s.right, BadICRC: s.wrong.Count,
		AfterNAK: s.resent[afterNAK].Count, AfterRNR: s.resent[afterRNR].Count, AfterTimeout: s.resent[afterTimer].Count,
		FirstLost: s.firstLost, ForMissing: s.resent[missing].Count, CauseUnseen: s.resent[unseen].Count,
		Timeouts:   s.timeouts.Count,
		AskedAgain: s.askedAgain.Count, RespAgain: s.answered.Count, Late: f.late().Count, BeforeFirst: s.early,
		NotSeen: s.req.open() + s.req.givenUp, Uncaptured: s.uncaptured, Restarts: s.restarts, Copies: s.copies,
		ACKs: s.acks, RNRs: s.rnr.Count, RNRSyndrome: s.rnrSyndrome, CNPs: s.cnps.Count, BECN: s.becn.Count,
		Done: f.messages, OpenMessages: int64(len(f.open)) + f.lapsed, Failed: f.failed, Partial: f.partial, Broken: f.broken,
		DoneBytes: f.bytes, P50: f.done.quantile(500), P99: f.done.quantile(990), Slowest: f.done.max, Timed: f.done.n,
		NAKs: []SyndromeNAKs{}, Verbs: []Verb{}, Ways: []Way{}}
	for _, a := range s.resent {
		q.Resent += a.Count
		q.ResentBytes += a.Sum
	}
	q.ECNCapable = s.capable
	if f.srcSure {
		qp := f.srcQP
		q.FromQP = &qp
	}
	if f.peer != nil {
		peer := f.peer.number
		q.Peer = &peer
	}
	if s.timeouts.Count > 0 {
		q.TimeoutMeanPS = units.Time(s.timeouts.Sum / s.timeouts.Count)
	}
	if f.ackTimeout > 0 {
		q.AckTimeoutPS = 4096 * units.Nanosecond << f.ackTimeout
	}
	for code, a := range s.naks {
		if a.Count > 0 {
			q.NAKs = append(q.NAKs, SyndromeNAKs{Syndrome: wire.SyndromePSNSequence + uint8(code), Name: nakNames[code],
				Count: a.Count})
		}
	}
	for v, c := range f.verbs {
		if c.messages > 0 {
			q.Verbs = append(q.Verbs, Verb{Verb: verb(v).String(), Messages: c.messages, Bytes: c.bytes})
		}
	}
	if f.over > f.begun {
		q.GoodputBps = rate(f.bytes, f.over-f.begun)
	}
	for _, x := range f.sights[1:] {
		q.Ways = append(q.Ways, d.way(s.point, x.point, x.packets, &x.way))
	}
	return q
}

var pairingNames = [...]string{unpaired: "", byCM: "connection manager", byPSN: "PSNs of acknowledgements",
	byPort: "UDP source port", byAddresses: "addresses alone"}

// way sums up the times between two points.
func (d *Decoder) way(from, to int, packets int64, t *times) Way {
	return Way{From: d.pointName(from), To: d.pointName(to), Packets: packets, Timed: t.n, Least: t.least,
		P50: t.quantile(500), P99: t.quantile(990), Most: t.max}
}

// rate is so many bytes over a time.
func rate(bytes int64, over units.Time) units.Rate {
	if over <= 0 {
		return 0
	}
	return units.Rate(float64(bytes) * 8 / float64(over) * float64(units.Second))
}

// late are the packets that came late, at the point that saw most.
func (f *flow) late() record.Act {
	most := f.sights[0].late
	for _, s := range f.sights[1:] {
		if s.late.Count > most.Count {
			most = s.late
		}
	}
	return most
}

// marked are the marks at the point that saw most.
func (f *flow) marked() record.Act {
	most := f.sights[0].marked
	for _, s := range f.sights[1:] {
		if s.marked.Count > most.Count {
			most = s.marked
		}
	}
	return most
}

// connection sums up a stream.
func (d *Decoder) connection(x *stream, n namer) Connection {
	s := x.sights[0]
	marked := s.marked.Count
	for _, at := range x.sights[1:] {
		marked = max(marked, at.marked.Count)
	}
	c := Connection{From: n.of(x.src), FromPort: x.srcPort, To: n.of(x.dst), ToPort: x.dstPort,
		Point:   d.pointName(s.point),
		Packets: s.packets, Bytes: s.bytes, PayloadBytes: s.payload, AckedBytes: x.ackedBytes, FirstPS: s.first,
		LastPS: s.last,
		Marked: marked, Resent: s.fast.Count + s.rto.Count + s.unseen.Count,
		ResentBytes: s.fast.Sum + s.rto.Sum + s.unseen.Sum,
		Fast:        s.fast.Count, AfterRTO: s.rto.Count, CauseUnseen: s.unseen.Count, Timeouts: s.timeouts.Count,
		Late:    s.late.Count,
		DupAcks: s.dupAcks.Count, SACKs: s.sacks.Count, Echoes: s.echoes.Count, Reduced: s.reduced,
		ZeroWindows: s.closed.Count,
		Probes:      s.probes, LeastAnswer: x.quickest, Ways: []Way{}}
	c.GoodputBps = rate(x.ackedBytes, x.lastAck-s.first)
	for _, at := range x.sights[1:] {
		c.Ways = append(c.Ways, d.way(s.point, at.point, at.packets, &at.way))
	}
	return c
}
