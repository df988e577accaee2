package mmu

import "github.com/hopscope/hopscope/internal/units"

// Cells returns how many cells a frame of b bytes takes.
func (m *Memory) Cells(b uint32) int32 {
	if m.cell == 1 {
		return int32(b)
	}
	return int32((b + m.cell - 1) / m.cell)
}

// Bytes returns the bytes of n cells.
func (m *Memory) Bytes(n int32) units.Bytes { return units.Bytes(n) * units.Bytes(m.cell) }

// Group returns the number of the group of an ingress port and priority.
func (m *Memory) Group(port, class int) int { return class*m.ports + port }

// Queue returns the number of the queue of an egress port and priority in the part of
// the memory that group g fills.
func (m *Memory) Queue(g, port, class int) int {
	return (int(m.groups[g].part)*Classes+class)*m.ports + port
}

// Admit charges a frame of n cells to group g and queue k, or refuses it and changes
// nothing. What the group's reserve, its share of the pool and its headroom take, they
// take in that order; a frame is never split between pool and headroom.
func (m *Memory) Admit(g, k int, n int32) Verdict {
	in, out := &m.groups[g], &m.queues[k]
	from, to := &m.ingress[in.pool], &m.egress[out.pool]
	egress := beyond(out.used, out.reserved, n)
	if egress > 0 && (out.used+n-out.reserved > out.limit.of(to.free()) || egress > to.free()) {
		return EgressEnd
	}
	ingress := beyond(in.used, in.reserved, n)
	switch {
	case ingress == 0 || in.used+n-in.reserved <= in.limit.of(from.free()) && ingress <= from.free():
		in.used += n
		from.used += ingress
		from.peak = max(from.peak, from.used)
	case !in.lossless:
		return IngressEnd
	case n > in.headroomSize-in.headroom || from.headroom > 0 && n > from.headroom-from.headroomUsed:
		return HeadroomEnd
	default:
		in.headroom += n
		in.peakHeadroom = max(in.peakHeadroom, in.headroom)
		if from.headroom > 0 {
			from.headroomUsed += n
			from.headroomPeak = max(from.headroomPeak, from.headroomUsed)
		}
	}
	in.peak = max(in.peak, in.used+in.headroom)
	out.used += n
	to.used += egress
	to.peak = max(to.peak, to.used)
	m.held[in.part] += n
	return Admitted
}

// beyond returns how many of n further cells go beyond a reserve.
func beyond(used, reserved, n int32) int32 { return max(0, min(n, used+n-reserved)) }

// Slack returns how many cells group g is below its threshold, which others move as they
// fill the pool; the reserve counts. At 0 or less XOFF is due: a group has its reserve
// also where nothing of the pool is left.
func (m *Memory) Slack(g int) int32 {
	in := &m.groups[g]
	return in.limit.of(m.ingress[in.pool].free()) - (in.used - in.reserved)
}

// XOFF notes that group g stops its peer. It reports false where the group had already,
// or where XOFF is not due: neither is the headroom used nor the threshold reached.
func (m *Memory) XOFF(g int) bool {
	in := &m.groups[g]
	if in.xoff || in.headroom == 0 && m.Slack(g) > 0 {
		return false
	}
	in.xoff = true
	return true
}

// Release gives back the n cells of a frame that Admit charged to group g and queue k:
// headroom first, then the pool, then the reserve. It reports whether the group's peer
// may go on now.
func (m *Memory) Release(g, k int, n int32) (xon bool) {
	in, out := &m.groups[g], &m.queues[k]
	from, to := &m.ingress[in.pool], &m.egress[out.pool]
	egress := min(n, out.above())
	out.used -= n
	to.used -= egress
	headroom := min(in.headroom, n)
	in.headroom -= headroom
	if from.headroom > 0 {
		from.headroomUsed -= headroom
	}
	ingress := min(n-headroom, in.above())
	in.used -= n - headroom
	from.used -= ingress
	m.held[in.part] -= n
	if !in.xoff || in.headroom > 0 {
		return false
	}
	if above := in.above(); above > in.xon && above+in.xonOffset > in.limit.of(from.free()) {
		return false
	}
	in.xoff = false
	return true
}

// Broken says what is wrong with the books of group g and queue k, or "": more is held
// than there is, or less than nothing.
func (m *Memory) Broken(g, k int) string {
	in, out := &m.groups[g], &m.queues[k]
	switch {
	case in.used < 0 || m.ingress[in.pool].used < 0 || m.ingress[in.pool].headroomUsed < 0:
		return "a group or its pool holds less than nothing"
	case out.used < 0 || m.egress[out.pool].used < 0:
		return "a queue or its pool holds less than nothing"
	case m.held[in.part] > m.size:
		return "more is held than the memory has"
	}
	return ""
}

// Held returns the bytes that wait in the memory.
func (m *Memory) Held() (b units.Bytes) {
	for _, n := range m.held {
		b += m.Bytes(n)
	}
	return b
}
