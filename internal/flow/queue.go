package flow

import "github.com/hopscope/hopscope/internal/units"

// ends is a heap of flows by when they will be over, the first at the top.
type ends []*flow

func (e ends) less(a, b *flow) bool {
	return a.due < b.due || a.due == b.due && a.number < b.number
}

// put brings a flow to its place.
func (e *ends) put(f *flow) {
	if f.place == 0 {
		*e = append(*e, f)
		f.place = int32(len(*e))
	}
	e.up(f)
	e.down(f)
}

// remove takes a flow out.
func (e *ends) remove(f *flow) {
	if f.place == 0 {
		return
	}
	s := *e
	last := s[len(s)-1]
	*e = s[:len(s)-1]
	if last != f {
		last.place = f.place
		s[f.place-1] = last
		e.up(last)
		e.down(last)
	}
	f.place = 0
}

func (e ends) up(f *flow) {
	i := int(f.place) - 1
	for i > 0 {
		above := (i - 1) / 2
		if !e.less(f, e[above]) {
			break
		}
		e[i] = e[above]
		e[i].place = int32(i + 1)
		i = above
	}
	e[i] = f
	f.place = int32(i + 1)
}

func (e ends) down(f *flow) {
	i := int(f.place) - 1
	for {
		below := 2*i + 1
		if below >= len(e) {
			break
		}
		if below+1 < len(e) && e.less(e[below+1], e[below]) {
			below++
		}
		if !e.less(e[below], f) {
			break
		}
		e[i] = e[below]
		e[i].place = int32(i + 1)
		i = below
	}
	e[i] = f
	f.place = int32(i + 1)
}

// event is something that happens at a time of its own.
type event struct {
	at   units.Time
	nr   int64 // in the order in which they were made, which decides among equals
	kind eventKind
	of   int32 // program, job or operation
	a, b int32
}

// eventKind says what an event is.
type eventKind uint8

// agenda is a heap of events, the first at the top.
type agenda struct {
	heap []event
	made int64
}

// add adds an event.
func (q *agenda) add(e event) {
	q.made++
	e.nr = q.made
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		above := (i - 1) / 2
		if !before(&e, &q.heap[above]) {
			break
		}
		q.heap[i] = q.heap[above]
		i = above
	}
	q.heap[i] = e
}

// next takes the first event off.
func (q *agenda) next() event {
	first := q.heap[0]
	last := q.heap[len(q.heap)-1]
	q.heap = q.heap[:len(q.heap)-1]
	if len(q.heap) == 0 {
		return first
	}
	i := 0
	for {
		below := 2*i + 1
		if below >= len(q.heap) {
			break
		}
		if below+1 < len(q.heap) && before(&q.heap[below+1], &q.heap[below]) {
			below++
		}
		if !before(&q.heap[below], &last) {
			break
		}
		q.heap[i] = q.heap[below]
		i = below
	}
	q.heap[i] = last
	return first
}

func before(a, b *event) bool { return a.at < b.at || a.at == b.at && a.nr < b.nr }
