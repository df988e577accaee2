package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/ideal"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Seeds of the random scenarios, in full and with -short.
const (
	propertySeeds      = 250
	propertySeedsShort = 60
)

// TestProperties holds the invariants that no scenario may break. A failure
// prints the seed and the scenario, which repeats it as a file.
func TestProperties(t *testing.T) {
	t.Parallel()
	seeds := draws(propertySeedsShort, propertySeeds)
	seen := map[string]int{}
	failed := 0
	for seed := range seeds {
		d := drawScenario(seed)
		r, err := checkSeed(t, seed, d, properties())
		if err != nil {
			t.Errorf("seed %d: %v\nscenario:\n%s", seed, err, d.text)
			if failed++; failed == 5 {
				t.FailNow()
			}
			continue
		}
		note := func(what string, did bool) {
			if did {
				seen[what]++
			}
		}
		for i := range r.Ports {
			note("marks", r.Ports[i].Marked > 0)
			note("pauses", r.Ports[i].PausesSent > 0)
			note("drops", r.Ports[i].Dropped > 0)
			note("held", r.Ports[i].HeldPS > 0)
		}
		note("rerouted", r.FlowsMoved > 0)
		if r.Data != nil {
			seen["messages with data"] += r.Data.Messages
		}
	}
	if seen["rerouted"] < int(seeds)/40 {
		t.Errorf("flows rerouted in %d of %d scenarios; too few links fail", seen["rerouted"], seeds)
	}
	// A generator that stopped provoking these would let every property pass.
	for _, what := range []string{"marks", "pauses", "drops", "held", "messages with data"} {
		if seen[what] < int(seeds)/2 {
			t.Errorf("%d times %s in %d scenarios; the scenarios have become too tame", seen[what], what, seeds)
		}
	}
}

// checkSeed runs one random scenario and says all that is wrong with it.
func checkSeed(t *testing.T, seed uint64, d draw, held []property) (base *record.Run, err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	v, err := scenario.Parse("scenario", []byte(d.text), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("refused: %w", err)
	}
	base = simulate(t, v, 1, 1)
	var broken []string
	for _, p := range held {
		if bad := p.broken(v, d, base); bad != "" {
			broken = append(broken, p.name+": "+bad)
		}
	}
	pick := rng.New(seed, "cut")
	parts, workers := 2+pick.IntN(15), 1+pick.IntN(3)
	if bad := differ(t, base, simulate(t, v, parts, workers)); bad != "" {
		broken = append(broken, fmt.Sprintf("%d partitions and %d workers give another result than one: %s", parts, workers, bad))
	}
	if len(broken) > 0 {
		return nil, errors.New(strings.Join(broken, "\n"))
	}
	return base, nil
}

// simulate builds and runs v.
func simulate(t testing.TB, v *scenario.Valid, parts, workers int) *record.Run {
	t.Helper()
	w, err := build.New(v, build.Options{Partitions: parts})
	if err != nil {
		t.Fatal(err)
	}
	return run.Simulate(context.Background(), w, run.Options{Workers: workers})
}

// differ returns the first line in which two results differ.
func differ(t testing.TB, a, b *record.Run) string {
	t.Helper()
	x, y := encode(t, a), encode(t, b)
	if bytes.Equal(x, y) {
		return ""
	}
	p, q := strings.Split(string(x), "\n"), strings.Split(string(y), "\n")
	for i := range min(len(p), len(q)) {
		if p[i] != q[i] {
			return fmt.Sprintf("line %d: %s, not %s", i+1, strings.TrimSpace(q[i]), strings.TrimSpace(p[i]))
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(q), len(p))
}

func encode(t testing.TB, r *record.Run) []byte {
	t.Helper()
	out, err := report.JSON(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// property is one invariant: broken says how a result breaks it, or nothing.
type property struct {
	name   string
	broken func(v *scenario.Valid, d draw, r *record.Run) string
}

func properties() []property {
	return []property{
		{"every message ends", everyMessageEnds},
		{"no lossless drop with computed headroom", noLosslessDrop},
		{"packets arrive in PSN order", inOrder},
		{"every byte is delivered once", deliveredOnce},
		{"bytes arrive as they were sent", arrivesAsSent},
		{"bytes into a switch leave it or are dropped", conserved},
		{"no port above its rate", withinRate},
		{"no message faster than its wire time", wireTime},
		{"no message is faster than alone", notFasterThanAlone},
		{"times and queues are ordered", ordered},
		{"each pause sent is received", pausesArrive},
	}
}

// notFasterThanAlone: no message takes less than it takes alone, by the formula and by a run. The two are equal
// where the formula says so; a message in its own way may be lucky in company, when others have it pause elsewhere.
func notFasterThanAlone(v *scenario.Valid, _ draw, r *record.Run) string {
	w, err := build.New(v, build.Options{})
	if err != nil {
		return err.Error()
	}
	formula := ideal.New(w)
	for i, m := range v.Plan.All() {
		f := &r.Messages[i]
		least, _ := formula.Time(m)
		if metrics.Completed(f) && f.CompletionPS < min(f.IdealPS, least)*99/100 {
			return fmt.Sprintf("message %d from %s to %s took %v, and alone %v", i, f.Src, f.Dst, f.CompletionPS, f.IdealPS)
		}
	}
	_, wrong := run.OffIdeal(w, 2)
	return wrong
}

func everyMessageEnds(_ *scenario.Valid, d draw, r *record.Run) string {
	if d.cut && r.Stopped == "stop time" {
		return ""
	}
	if r.Stopped != "quiescence" || r.OpenMessages != 0 {
		return fmt.Sprintf("stopped by %s with %d messages open", r.Stopped, r.OpenMessages)
	}
	for i, f := range r.Messages {
		if f.Status != "success" && !d.lossy && d.lossless {
			return fmt.Sprintf("message %d from %s to %s ended with %s", i, f.Src, f.Dst, f.Status)
		}
		if f.DeliveredPS < 0 && !d.lossy && d.lossless && !d.spread {
			return fmt.Sprintf("message %d from %s to %s was never delivered", i, f.Src, f.Dst)
		}
	}
	return ""
}

// noLosslessDrop: where links lose no PFC frame, nothing of the lossless classes
// is dropped. CNPs travel in a class of their own and may be.
func noLosslessDrop(_ *scenario.Valid, d draw, r *record.Run) string {
	if !d.lossless || d.lossy {
		return ""
	}
	for _, p := range r.Ports {
		for _, c := range p.DropCauses {
			if p.Class == 6 {
				continue
			}
			return fmt.Sprintf("%s:%d class %d dropped %d frames: %s", p.Node, p.Port, p.Class, c.Count, c.Cause)
		}
	}
	return ""
}

// inOrder: without loss, a gap or a repetition can only come from the fabric.
func inOrder(_ *scenario.Valid, d draw, r *record.Run) string {
	if d.lossy || !d.lossless || d.spread {
		return ""
	}
	early := strings.Contains(d.text, "recovery: irn") // its short timer runs out in a queue
	for _, q := range r.QPs {
		if q.NAKsSent != 0 || !early && q.Retransmitted+q.Timeouts != 0 {
			return fmt.Sprintf("%s qp %d: %d NAKs, %d retransmissions, %d timeouts without loss", q.Host, q.QP, q.NAKsSent, q.Retransmitted, q.Timeouts)
		}
	}
	return ""
}

// deliveredOnce: a responder accepts each byte of the messages that succeeded
// once, whatever was lost and sent again.
func deliveredOnce(_ *scenario.Valid, _ draw, r *record.Run) string {
	want, all := map[string]int64{}, map[string]int64{}
	peer, delivered := map[string]string{}, map[string]int64{}
	for _, q := range r.QPs {
		name := fmt.Sprintf("%s qp %d", q.Host, q.QP)
		peer[name], delivered[name] = q.Peer.String(), q.DeliveredBytes
	}
	for _, f := range r.Messages {
		host, _, _ := strings.Cut(f.Src, ":")
		to := peer[fmt.Sprintf("%s qp %d", host, f.QP)]
		switch f.Verb {
		case "READ":
			to = fmt.Sprintf("%s qp %d", host, f.QP)
		case "CMP_SWAP", "FETCH_ADD":
			continue // their operands are no payload
		}
		all[to] += f.Bytes
		if f.Status == "success" && f.DeliveredPS >= 0 {
			want[to] += f.Bytes
		}
	}
	for _, q := range r.QPs {
		name := fmt.Sprintf("%s qp %d", q.Host, q.QP)
		if got := delivered[name]; got < want[name] || got > all[name] {
			return fmt.Sprintf("%s accepted %d bytes; its messages have %d to %d", name, got, want[name], all[name])
		}
	}
	return ""
}

// arrivesAsSent: what messages brought is what they were to bring, where that is
// looked at. Words that atomics still open at a stop time may have changed are
// not.
func arrivesAsSent(v *scenario.Valid, dr draw, r *record.Run) string {
	if !v.CarryData {
		return ""
	}
	done, atomics := 0, 0
	for i := range r.Messages {
		if f := &r.Messages[i]; f.Status == "success" {
			done++
			if f.Verb == "CMP_SWAP" || f.Verb == "FETCH_ADD" {
				atomics++
			}
		}
	}
	least := done
	if done < len(r.Messages) { // words that an atomic changed before it failed are not compared
		least -= atomics
	}
	if d := r.Data; d.Differ > 0 || d.Messages+d.Lost > done || !dr.cut && d.Messages+d.Lost < least {
		return fmt.Sprintf("%d messages completed: %+v", done, d)
	}
	return ""
}

// conserved: what the neighbours sent to a switch equals what it sent and
// dropped, and what it still has when the run is cut short. What a link lost
// counts for the port that sent it, and so never came in; lost PFC frames were
// never counted as sent.
func conserved(v *scenario.Valid, d draw, r *record.Run) string {
	in, out := map[string]int64{}, map[string]int64{}
	for _, p := range r.Ports {
		peer := p.Peer.Node
		in[peer] += p.TxBytes
		out[p.Node] += p.TxBytes + p.DroppedBytes
		for _, c := range p.DropCauses {
			switch c.Cause {
			case catalog.DropPFC, catalog.DropCredit:
				out[p.Node] -= c.Sum
			case catalog.DropLoss, catalog.DropBitError, catalog.DropEvery, catalog.DropLinkDown:
				in[peer] -= c.Sum
				out[p.Node] -= c.Sum
			}
		}
	}
	for _, n := range v.Graph.Nodes {
		if left := in[n.Name] - out[n.Name]; n.Kind == topology.Switch && (left < 0 || left > 0 && r.Stopped != "stop time") {
			return fmt.Sprintf("%s received %d bytes, and sent or dropped %d", n.Name, in[n.Name], out[n.Name])
		}
	}
	return ""
}

// withinRate: frames count when they start, so that a window may show one frame
// too much.
func withinRate(_ *scenario.Valid, _ draw, r *record.Run) string {
	first := r.EndPS
	for _, f := range r.Messages {
		first = min(first, f.StartPS)
	}
	window := r.EndPS - first
	if r.MeasureTo != 0 {
		window = r.MeasureTo - r.MeasureFrom
	}
	sum := map[string]float64{}
	for _, p := range r.Ports {
		name := fmt.Sprintf("%s:%d", p.Node, p.Port)
		sum[name] += p.Utilisation * float64(window)
		if frame := p.RateBps.TxTime(4096 + 98); sum[name] > float64(window+frame) {
			return fmt.Sprintf("%s was busy for %.0f of %d ps", name, sum[name], window)
		}
	}
	return ""
}

// wireTime: the messages of one sender, and those to one receiver, need their
// bytes' time on its link. Frame around a payload: 62 bytes, 20 more on the
// wire, 16 for the RETH of a WRITE (models.md 4.5).
func wireTime(v *scenario.Valid, _ draw, r *record.Run) string {
	type span struct {
		from, to units.Time
		wire     int64
	}
	spans := map[string]*span{}
	mtu := int64(v.Transports[0].MTU)
	for _, f := range r.Messages {
		if f.Status != "success" || f.DeliveredPS < 0 {
			continue
		}
		around := int64(82)
		if r.Ports[0].Layer == catalog.InfiniBand { // LRH 8, BTH 12, ICRC 4, VCRC 2, delimiters 2
			around = 28
		}
		wire := f.Bytes + max(1, (f.Bytes+mtu-1)/mtu)*around
		if f.Verb == "WRITE" {
			wire += 16
		}
		from, to := f.Src, f.Dst
		if f.Verb == "READ" {
			from, to = to, from
		}
		for _, end := range []string{from, to} {
			key := end + map[bool]string{true: " sends", false: " receives"}[end == from]
			s := spans[key]
			if s == nil {
				s = &span{from: f.StartPS}
				spans[key] = s
			}
			s.from, s.to, s.wire = min(s.from, f.StartPS), max(s.to, f.StartPS+max(f.CompletionPS, f.DeliveredPS)), s.wire+wire
		}
	}
	for key, s := range spans {
		name, _, _ := strings.Cut(key, " ")
		ep, err := v.Graph.EndpointByName(name)
		if err != nil {
			return err.Error()
		}
		e := v.Graph.Endpoints[ep]
		link := v.Graph.LinkAt(e.Node, e.Port)
		if least := link.Rate.TxTimeLong(units.Bytes(s.wire)) + 2*link.Delay; s.to-s.from < least {
			return fmt.Sprintf("%s %d wire bytes in %d ps; the link needs %d", key, s.wire, s.to-s.from, least)
		}
	}
	return ""
}

func ordered(_ *scenario.Valid, _ draw, r *record.Run) string {
	for _, p := range r.Ports {
		name := fmt.Sprintf("%s:%d class %d", p.Node, p.Port, p.Class)
		switch {
		case p.HeldPS < 0 || p.HeldPS > p.PausedPS || p.PausedPS > r.EndPS:
			return fmt.Sprintf("%s: held %d, paused %d, end %d ps", name, p.HeldPS, p.PausedPS, r.EndPS)
		case p.MeanQueueBytes < 0 || p.MeanQueueBytes > float64(p.PeakQueueBytes):
			return fmt.Sprintf("%s: mean queue %g above peak %d", name, p.MeanQueueBytes, p.PeakQueueBytes)
		case p.MinQueueBytes > p.PeakQueueBytes || p.PeakHeadroom > p.PeakIngress:
			return fmt.Sprintf("%s: least queue %d, peak %d; headroom %d, ingress %d", name, p.MinQueueBytes, p.PeakQueueBytes, p.PeakHeadroom, p.PeakIngress)
		case p.HeldPS > 0 && p.PausesReceived == 0 && p.Layer == catalog.Ethernet:
			return fmt.Sprintf("%s: held %d ps without a pause", name, p.HeldPS)
		}
	}
	for i, f := range r.Messages {
		if f.CompletionPS >= 0 && f.StartPS+f.CompletionPS > r.EndPS {
			return fmt.Sprintf("message %d ends at %d ps, the run at %d", i, f.StartPS+f.CompletionPS, r.EndPS)
		}
	}
	return ""
}

// pausesArrive: no link loses PFC frames and no pause runs out, so each side of
// a link counts the same.
func pausesArrive(v *scenario.Valid, d draw, r *record.Run) string {
	if d.lossy || d.cut || strings.Contains(d.text, "quanta:") {
		return ""
	}
	received := map[string]int64{}
	for _, p := range r.Ports {
		received[fmt.Sprintf("%s:%d class %d", p.Node, p.Port, p.Class)] = p.PausesReceived
	}
	for _, p := range r.Ports {
		peer := fmt.Sprintf("%s class %d", p.Peer, p.Class)
		if received[peer] != p.PausesSent {
			return fmt.Sprintf("%s:%d sent %d XOFF to %s, which counts %d", p.Node, p.Port, p.PausesSent, peer, received[peer])
		}
	}
	return ""
}
