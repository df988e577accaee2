package decode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// explain writes down what the capture cannot show, and why nobody is seen to have acted.
func (d *Decoder) explain(r *Result) {
	note := func(n int64, format string, args ...any) {
		if n > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
		}
	}
	r.Notes = []string{}
	d.fileNotes(r, note)
	d.pairNotes(note)
	d.lossNotes(note)
	var unmeasured, timeouts int64
	unrated := false
	for _, x := range d.pauses {
		unmeasured += x.unmeasured
		unrated = unrated || d.rate(x.point) == 0
	}
	if len(d.pauses) > 0 && unrated {
		r.Notes = append(r.Notes,
			"the links' rate is not known, so that a pause may have run out before the frame that ends it: "+
				"times of pauses are at most; --rate tells the rate")
	}
	note(unmeasured, "%s no end in the capture, and counts for no time",
		count(unmeasured, "pause has", "pauses have"))
	for _, f := range d.flows {
		timeouts += f.sights[0].timeouts.Count
	}
	note(timeouts, "a timeout is what is left where no NAK asked for a packet, and it is sent again later than the "+
		"quickest "+
		"answer took (%v at least): the timer itself is inside the card", leastTimeout)
	d.whys(r)
}

// count is a number with the words for one or for several.
func count(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// fileNotes are about the file and its frames.
func (d *Decoder) fileNotes(r *Result, note func(int64, string, ...any)) {
	if d.broken != nil {
		note(1, "%s; everything up to there is read", d.broken)
	}
	var others []string
	for link, n := range d.links {
		others = append(others, fmt.Sprintf("%s of link type %d", count(n, "packet", "packets"), link))
	}
	slices.Sort(others)
	note(int64(len(others)), "not read: %s", strings.Join(others, ", "))
	snap := 0
	for _, p := range d.in.Points() {
		snap = max(snap, p.SnapLen)
	}
	if d.cut > 0 {
		text := fmt.Sprintf("%d of %d packets were kept in part (snap length %d B)", d.cut, d.in.Packets(), snap)
		if r.Capture.NoICRC > 0 {
			text += "; the ICRC of " + count(r.Capture.NoICRC, "RDMA packet", "RDMA packets") + " was not there to check"
		}
		r.Notes = append(r.Notes, text)
	}
	var why []string
	for reason, n := range d.unread {
		why = append(why, fmt.Sprintf("%s: %d", reason, n))
	}
	slices.Sort(why)
	note(int64(len(why)), "not decoded: %s", strings.Join(why, "; "))
	note(r.Capture.Other, "%s of other traffic", count(r.Capture.Other, "frame", "frames"))
	note(r.Capture.Fragments, "%s; fragments are not put together", count(r.Capture.Fragments, "IP fragment",
		"IP fragments"))
	note(r.Capture.BadICRC,
		"%s a wrong ICRC: receivers throw such packets away without a word; what is told here is what was sent",
		count(r.Capture.BadICRC, "packet has", "packets have"))
	note(d.untimed, "%s no time stamp; that of the packet before stands in", count(d.untimed, "packet has",
		"packets have"))
	note(d.backward, "%s an earlier time than the one before", count(d.backward, "packet has", "packets have"))
	for k, p := range d.in.Points() {
		note(max(p.Dropped, 0), "the capture lost %s at %s: what is missing may be those", count(p.Dropped, "packet",
			"packets"), d.pointName(k))
	}
	note(d.skipped[0], "more than %d queue pairs; %s of further ones left out", maxFlows, count(d.skipped[0], "packet",
		"packets"))
	note(d.skipped[1], "more than %d ends of TCP connections; %s of further ones left out", maxStream, count(d.skipped[1],
		"packet", "packets"))
	note(d.unlisted, "%s beyond the %d that are listed one by one count in the sums", count(d.unlisted, "message",
		"messages"), maxRows)
}

// pairNotes are about which queue pairs belong together.
func (d *Decoder) pairNotes(note func(int64, string, ...any)) {
	var by [byAddresses + 1]int64
	var deaf, unanswered, partial int64
	for _, f := range d.flows {
		if f.service == catalog.UD || !f.served && f.peer == nil {
			continue
		}
		by[f.paired]++
		if f.partial > 0 {
			partial++
		}
		switch asked := f.service == catalog.RC && len(f.open)+int(f.messages) > 0; {
		case asked && f.peer == nil:
			deaf++
		case asked && !f.peer.answers():
			unanswered++
		}
	}
	note(by[byPSN], "packets name the queue pair that they go to only: the number of the one that sends is inferred for "+
		"%s, from acknowledgements that have the PSNs of its packets and of no others'", count(by[byPSN], "queue pair",
		"queue pairs"))
	note(by[byPort], "likewise for %s, from the UDP source port, as several have the same PSNs", count(by[byPort],
		"queue pair", "queue pairs"))
	note(by[byAddresses], "for %s the sender's number is a guess: no other is seen between the two addresses",
		count(by[byAddresses], "queue pair", "queue pairs"))
	note(by[unpaired], "%s: no packet tells which queue pair sends it", count(by[unpaired],
		"flow has no known other direction",
		"flows have no known other direction"))
	note(deaf, "no answers to %s were captured: whether and when messages arrived, and why packets were sent again, "+
		"is not known",
		count(deaf, "queue pair", "queue pairs"))
	note(unanswered, "%s no answer, though other packets of the peer were captured", count(unanswered, "queue pair got",
		"queue pairs got"))
	note(partial, "%s in the midst of a message when the capture began, or its first packet is missing",
		count(partial, "queue pair was", "queue pairs were"))
}

// lossNotes are about packets that are not there.
func (d *Decoder) lossNotes(note func(int64, string, ...any)) {
	var open, uncaptured, between, broken, early, copies, sooner int64
	for _, f := range d.flows {
		s := f.sights[0]
		open += s.req.open() + s.req.givenUp
		uncaptured += s.uncaptured
		broken += f.broken
		for _, x := range f.sights {
			copies += x.copies
		}
		early += s.early
		for _, x := range f.sights[1:] {
			between += max(s.packets-x.packets, 0)
			if x.way.least < 0 {
				sooner++
			}
		}
	}
	note(sooner, "%s packets at a further capture point sooner than at the first: the clocks of the points differ, "+
		"and one-way "+
		"times with them", count(sooner, "queue pair has", "queue pairs have"))
	note(copies, "%s others (the same IP identification, or at once with another TTL): captured at several places, "+
		"counted once", count(copies, "packet repeats", "packets repeat"))
	note(uncaptured, "%s acknowledged, and not captured: the capture lost them", count(uncaptured, "packet was",
		"packets were"))
	note(open, "%s missing to the end: lost before the capture point, or by the capture", count(open, "packet is",
		"packets are"))
	note(early, "%s PSNs before the first that was captured: sent again or late, which is not known", count(early,
		"packet has", "packets have"))
	note(broken, "%s of UC with packets missing, which no receiver takes", count(broken, "message", "messages"))
	note(between, "%s fewer at a further capture point than at the first: lost between, not on its way yet, or not "+
		"captured",
		count(between, "packet", "packets"))
}

// whys says of every question that nobody answers why.
func (d *Decoder) whys(r *Result) {
	has := func(q catalog.Question) bool {
		return slices.ContainsFunc(r.Ledger, func(e record.Entry) bool { return e.Question == q })
	}
	var capable int64
	for _, f := range d.flows {
		capable += f.sights[0].capable
	}
	infiniBand := slices.ContainsFunc(d.flows, func(f *flow) bool { return f.key.src.infiniBand() })
	whys := map[catalog.Question]string{
		catalog.Detected: "no packet was marked, refused or missed where the capture saw it; drops and queues inside " +
			"switches it cannot see",
		catalog.FedBack:   "no CNP, NAK, pause or ECN-Echo was captured",
		catalog.Slowed:    "not to be seen: rates and windows are inside the cards",
		catalog.Held:      "no pause was captured; PFC frames stay on their link, and many cards keep them from the host",
		catalog.Recovered: "no packet was sent again",
		catalog.Rerouted:  "not to be seen: a capture shows one place, not the way",
	}
	if capable == 0 && d.frames[rdma] > 0 && !infiniBand {
		whys[catalog.Detected] = "no packet was ECN-capable, so none could be marked; none was refused or missed where " +
			"the capture saw it"
	}
	if infiniBand {
		whys[catalog.Held] = "not to be seen: credits travel in packets that captures of InfiniBand leave out"
	}
	for q, why := range whys {
		if !has(q) {
			r.Whys[q] = why
		}
	}
}
