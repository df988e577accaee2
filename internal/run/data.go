package run

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"slices"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// listedFaults is how many messages that differ are named.
const listedFaults = 10

// dataCheck compares what messages brought with what they were to bring.
type dataCheck struct {
	*runner
	out   record.Data
	table *crc64.Table
	sum   uint64 // CRC of all that arrived, in the order of messages
}

// checkData compares source and destination of every message that has completed;
// nil unless the run carries data.
func (r *runner) checkData() *record.Data {
	if r.Carried == nil {
		return nil
	}
	d := dataCheck{runner: r, table: crc64.MakeTable(crc64.ECMA)}
	inboxes := d.inboxes()
	words := make(map[*build.CarriedWord][]int)
	var order []*build.CarriedWord
	for i, m := range r.Valid.Plan.All() {
		c := &r.Carried.Messages[i]
		if w := c.Word; w != nil {
			if words[w] == nil {
				order = append(order, w)
			}
			words[w] = append(words[w], i)
			continue
		}
		done, status := r.fate(i)
		switch {
		case done == units.Never:
		case refusedBy(status):
			d.refused(i)
		case status != rdma.Success || m.Bytes == 0:
		case r.Untold(i):
			d.out.Lost++
		case c.Dest == nil:
			if part, here := inboxes[i]; here {
				d.same(i, part)
			} else {
				d.out.Lost++
			}
		case !r.Is(m.Conn, catalog.Acknowledges): // of UC, with a place to go to
			d.packets(i)
		default:
			d.same(i, c.Dest)
		}
	}
	for _, w := range order {
		d.word(w, words[w])
	}
	d.out.Checksum = fmt.Sprintf("%016x", d.sum)
	return &d.out
}

// fault notes that message i is not as it should be.
func (d *dataCheck) fault(i int, format string, args ...any) {
	d.out.Differ++
	if len(d.out.Faults) < listedFaults {
		m := d.Valid.Plan.At(i)
		c := &d.Valid.Plan.Conns[m.Conn]
		d.out.Faults = append(d.out.Faults, fmt.Sprintf("message %d, %s %s to %s: %s", i, m.Verb,
			d.Valid.Graph.EndpointName(c.Src), d.Valid.Graph.EndpointName(c.Dst), fmt.Sprintf(format, args...)))
	}
}

// same checks that message i arrived as it was sent.
func (d *dataCheck) same(i int, arrived []byte) {
	sent := d.Carried.Messages[i].Source
	d.out.Messages++
	d.out.Bytes += int64(len(arrived))
	d.sum = crc64.Update(d.sum, d.table, arrived)
	if bytes.Equal(sent, arrived) {
		return
	}
	at, n := 0, 0
	for k := range min(len(sent), len(arrived)) {
		if sent[k] != arrived[k] {
			n++
			if n == 1 {
				at = k
			}
		}
	}
	d.fault(i, "%d of %d bytes arrived, %d of them differ, the first is byte %d", len(arrived), len(sent), n, at)
}

// refusedBy reports whether a message ended because the responder found its
// request against the rules or the protection of memory.
func refusedBy(s rdma.Status) bool { return s == rdma.RemAccess || s == rdma.RemInvReq }

// refused checks that message i, which the responder refused, wrote nothing.
func (d *dataCheck) refused(i int) {
	d.out.Refused++
	if n := written(d.Carried.Messages[i].Dest); n > 0 {
		d.fault(i, "refused, but %d bytes were written", n)
	}
}

// written counts bytes that are no longer zero.
func written(b []byte) int { return len(b) - bytes.Count(b, []byte{0}) }

// packets checks message i of an unreliable connection: each packet's part is
// there or was never written.
func (d *dataCheck) packets(i int) {
	c := &d.Carried.Messages[i]
	node := d.Valid.Graph.HostOf(d.Valid.Plan.Conns[d.Valid.Plan.At(i).Conn].Src)
	mtu := int(d.Valid.Transports[d.Valid.NICs[node].Transport].MTU)
	missing := false
	for at := 0; at < len(c.Dest); at += mtu {
		to := min(at+mtu, len(c.Dest))
		switch {
		case bytes.Equal(c.Source[at:to], c.Dest[at:to]):
		case written(c.Dest[at:to]) > 0:
			d.fault(i, "bytes from %d on are neither what was sent nor what was there before", at)
			return
		default:
			missing = true
		}
	}
	if missing {
		d.out.Lost++
		return
	}
	d.same(i, c.Dest)
}

// inboxes says which part of its connection's inbox each SEND that has arrived
// takes; of TCP each message, one way and the other.
func (d *dataCheck) inboxes() map[int][]byte {
	plan := d.Valid.Plan
	sends := make([][]int, 2*len(plan.Conns)) // by connection and way
	for i, m := range plan.All() {
		if c := &d.Carried.Messages[i]; c.Word == nil && c.Dest == nil && d.Messages[i].Posted != units.Never {
			k := 2 * m.Conn
			if m.Back {
				k++
			}
			sends[k] = append(sends[k], i)
		}
	}
	out := make(map[int][]byte)
	for k, list := range sends {
		if len(list) == 0 {
			continue
		}
		conn := k / 2
		slices.SortFunc(list, func(a, b int) int { return cmp.Or(cmp.Compare(d.Ordinal(a), d.Ordinal(b)), cmp.Compare(a, b)) })
		placed, data := d.placed(conn, k%2 == 1)
		rest := data[:min(placed, uint64(len(data)))]
		room, reliable := d.GRHRoom(conn), plan.Conns[conn].Service.Reliable()
		taken := uint64(0)
		for _, i := range list {
			from := min(room, len(rest))
			to := min(from+len(d.Carried.Messages[i].Source), len(rest))
			if reliable || bytes.Equal(d.Carried.Messages[i].Source, rest[from:to]) {
				out[i], rest = rest[from:to], rest[to:]
				taken += uint64(to)
			}
		}
		if taken != placed {
			d.fault(list[len(list)-1], "the SENDs of its connection brought %d bytes, of which %d belong to one", placed, taken)
		}
	}
	return out
}

// fate is when message i ended, and how; Never: it is open.
func (r *runner) fate(i int) (done units.Time, status rdma.Status) {
	if !r.Service(r.Valid.Plan.At(i).Conn).Is(catalog.Streams) {
		return r.Messages[i].Done, r.Messages[i].Status
	}
	done, how := r.StreamFate(i)
	if how != "success" {
		done = units.Never // what it brought is not whole
	}
	return done, rdma.Success
}

// placed is how many bytes the SENDs of a connection brought, or TCP there or back,
// and where they are.
func (d *dataCheck) placed(conn int, back bool) (uint64, []byte) {
	in, to := &d.Carried.Inboxes[conn], d.Responders[conn]
	switch {
	case in.Inbox != nil:
		return in.Placed, in.Data
	case !d.Service(conn).Is(catalog.Streams):
		return 0, in.Data // SENDs without bytes
	case back:
		src := d.Valid.Graph.HostOf(d.Valid.Plan.Conns[conn].Src)
		return uint64(d.Hosts[src].StreamOf(to.Requester).Took), in.Back
	}
	return uint64(d.Hosts[to.Node].StreamOf(to.QP).Took), in.Data
}

// word checks the atomics that worked on w: their values before form a chain
// from the value at first to the value at last, each atomic in it once.
func (d *dataCheck) word(w *build.CarriedWord, list []int) {
	before := make(map[uint64][]int)
	var done []int
	for _, i := range list {
		switch m := &d.Messages[i]; {
		case m.Posted == units.Never:
		case m.Done == units.Never || m.Status != rdma.Success && !refusedBy(m.Status):
			return // it may have been executed or not
		case refusedBy(m.Status):
			d.out.Refused++ // the chain shows whether it was executed
		default:
			done = append(done, i)
		}
	}
	for _, i := range done {
		v := binary.LittleEndian.Uint64(d.Carried.Messages[i].Dest)
		before[v] = append(before[v], i)
		d.out.Messages++
		d.out.Bytes += int64(workload.AtomicSize)
		d.sum = crc64.Update(d.sum, d.table, d.Carried.Messages[i].Dest)
	}
	if len(w.Now) < int(workload.AtomicSize) {
		return // beyond its region: all were refused
	}
	value, seen := w.Before, 0
	for next := before[value]; len(next) > 0; next = before[value] {
		delete(before, value)
		seen += len(next)
		changed := value
		for _, i := range next {
			to := d.apply(i, value)
			if to != value && changed != value {
				d.fault(i, "another atomic also found %#x and changed it", value)
			}
			if to != value {
				changed = to
			}
		}
		if changed == value {
			break
		}
		value = changed
	}
	if now := binary.LittleEndian.Uint64(w.Now); seen != len(done) || now != value {
		d.fault(list[0], "%d of %d atomics on its word form a chain of values, which ends at %#x; the word is %#x", seen, len(done), value, now)
	}
}

// apply is what atomic i makes of value.
func (d *dataCheck) apply(i int, value uint64) uint64 {
	c := &d.Carried.Messages[i]
	switch {
	case d.Valid.Plan.At(i).Verb == workload.FetchAdd:
		return value + c.Swap
	case value == c.Compare:
		return c.Swap
	}
	return value
}
