package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// segments hands frames to a host at once and tells what goes up: connection and
// number of frames.
func segments(t *testing.T, s Spec, frames ...Frame) string {
	t.Helper()
	h := New(s)
	for _, f := range frames {
		f.Length = f.Payload + 70
		if !h.Arrive(0, 0, f) {
			t.Fatal("the receive queue is full")
		}
	}
	var up []string
	drain(h, 0, func(_ units.Time, _ int, x *Task) {
		if n := x.Segment.Frames; n > 0 {
			sum, slots := units.Bytes(0), 0
			for i := x.Segment.First; i != 0; slots++ {
				var f *Frame
				f, i = h.Frame(i)
				sum += units.Bytes(f.Payload)
			}
			if sum != x.Segment.Payload || slots != n {
				t.Errorf("a segment of %d frames and %d bytes has %d and %d", n, x.Segment.Payload, slots, sum)
			}
			up = append(up, fmt.Sprintf("%d:%d", x.Segment.Conn, n))
			h.Release(&x.Segment)
		}
	})
	if h.Working() != 0 || h.Held() != 0 {
		t.Errorf("%d tasks and %d frames are left", h.Working(), h.Held())
	}
	return strings.Join(up, " ")
}

// stream makes n frames of a connection that follow each other.
func frames(conn uint32, n int) []Frame {
	out := make([]Frame, n)
	for i := range out {
		out[i] = Frame{Conn: conn, Seq: uint32(i) * 1448, Payload: 1448}
	}
	return out
}

// GRO merges what follows each other, up to 64 KB, and keeps each connection's
// order (Linux net/core/gro.c and net/ipv4/tcp_offload.c).
func TestGRO(t *testing.T) {
	s := preset(t)
	s.Moderation = Moderation{Time: 10 * us}
	change := func(f []Frame, i int, edit func(*Frame)) []Frame {
		f = slices.Clone(f)
		edit(&f[i])
		return f
	}
	ten := frames(1, 10)
	for _, c := range []struct {
		name   string
		frames []Frame
		want   string
	}{
		{"one stream", ten, "1:10"},
		{"64 KB are 45 frames", frames(1, 100), "1:45 1:45 1:10"}, // the end of a poll of 64 frames ends no segment
		{"PSH ends a segment", change(ten, 3, func(f *Frame) { f.Push = true }), "1:4 1:6"},
		{"a shorter frame ends a segment", func() []Frame {
			f := slices.Clone(ten)
			f[5].Payload = 100
			for i := range f[6:] {
				f[6+i].Seq -= 1348
				f[6+i].Payload = 100 // as short: what follows is a segment of its own
			}
			for i := range f[7:] {
				f[7+i].Seq = f[6].Seq + uint32(i+1)*100
			}
			return f
		}(), "1:6 1:4"},
		{"a gap", append(frames(1, 3), ten[5:]...), "1:3 1:5"},
		{"other headers", change(ten, 5, func(f *Frame) { f.Key = 7 }), "1:5 1:1 1:4"},
		{"an acknowledgement between", change(ten, 5, func(f *Frame) { f.Alone, f.Payload = true, 0 }), "1:5 1:1 1:4"},
		{"two streams", append(frames(1, 4), frames(2, 4)...), "1:4 2:4"},
		{"a ninth stream", func() (f []Frame) {
			for i := range uint32(9) {
				f = append(f, frames(i, 1)...)
			}
			return append(f, frames(8, 2)[1:]...)
		}(), "0:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:2"},
	} {
		if got := segments(t, s, c.frames...); got != c.want {
			t.Errorf("%s: %s go up, want %s", c.name, got, c.want)
		}
	}
	s.GRO = 0
	if got := segments(t, s, ten...); got != strings.TrimSpace(strings.Repeat("1:1 ", 10)) {
		t.Errorf("without GRO %s go up", got)
	}
}

// The core is free after the interrupt, each frame and page, and the segment; it
// was asleep before.
func TestReceiveCosts(t *testing.T) {
	s := preset(t)
	s.Moderation = Moderation{Time: 10 * us}
	c := s.Costs
	h := New(s)
	now := 50 * us
	for i := range uint32(7) {
		h.Arrive(now, 0, Frame{Conn: 1, Seq: i * 8948, Payload: 8948, Length: 9018})
	}
	var end units.Time
	drain(h, now, func(at units.Time, _ int, x *Task) { end = at; h.Release(&x.Segment) })
	want := now + 10*us + c.Interrupt + c.IdleExit + 7*(c.RxFrame+3*c.RxPage) + c.Input
	if end != want {
		t.Errorf("the segment goes up at %d ps, want %d", end, want)
	}
	// A second burst finds the core awake if it comes before it could fall asleep.
	now = end + us
	h.Arrive(now, 0, Frame{Conn: 1, Seq: 7 * 8948, Payload: 8948, Length: 9018})
	h.queues[0].due = now
	h.timer(now, len(h.cores))
	drain(h, now, func(at units.Time, _ int, x *Task) { end = at; h.Release(&x.Segment) })
	if want = now + c.Interrupt + c.RxFrame + 3*c.RxPage + c.Input; end != want {
		t.Errorf("the second segment goes up at %d ps, want %d", end, want)
	}
}

// interrupts counts the interrupts of frames that come at equal times, and tells
// when the first comes.
func interrupts(t *testing.T, m Moderation, n int, gap units.Time) (count int64, first units.Time) {
	t.Helper()
	s := preset(t)
	s.Moderation, s.Costs = m, Costs{}
	h := New(s)
	first = units.Never
	for i := range n {
		now := units.Time(i) * gap
		due := h.timers
		h.timers = nil
		for _, x := range due {
			if x.At <= now {
				h.timers = append(h.timers, x)
			}
		}
		finish := func(at units.Time, _ int, x *Task) { first = min(first, at); h.Release(&x.Segment) }
		later := slices.DeleteFunc(slices.Clone(due), func(x Timer) bool { return x.At <= now })
		drain(h, 0, finish)
		h.Arrive(now, 0, Frame{Conn: uint32(i), Payload: 100, Length: 170})
		drainAt(h, now, finish)
		h.timers = append(h.timers, later...)
	}
	return h.bill.Interrupts, first
}

// drainAt runs the timers of one instant.
func drainAt(h *Host, now units.Time, finish func(units.Time, int, *Task)) {
	var later []Timer
	for len(h.timers) > 0 {
		x := h.timers[0]
		h.timers = h.timers[1:]
		if x.At > now {
			later = append(later, x)
			continue
		}
		keep := h.timers
		h.timers = []Timer{x}
		drain(h, now, finish)
		h.timers = append(keep, h.timers...)
	}
	h.timers = later
}

// The card interrupts at every frame, a time after the first, or at a number.
func TestModeration(t *testing.T) {
	for _, c := range []struct {
		m     Moderation
		count int64
		first units.Time
	}{
		{Moderation{}, 100, 0},
		{Moderation{Time: 16 * us}, 6, 16 * us},              // at 16, 32, .. 96 us; the frame of that instant begins the next period
		{Moderation{Time: 16 * us, Frames: 4}, 25, 3 * us},   // every fourth
		{Moderation{Time: 16 * us, Frames: 32}, 6, 16 * us},  // the time is over first
		{Moderation{Time: 200 * us, Frames: 50}, 2, 49 * us}, // the number is there first
	} {
		count, first := interrupts(t, c.m, 100, us)
		if count != c.count || first != c.first {
			t.Errorf("%+v: %d interrupts, the first at %d ps, want %d at %d", c.m, count, first, c.count, c.first)
		}
	}
}

// A receive queue holds so many frames; the next is lost.
func TestRing(t *testing.T) {
	s := preset(t)
	s.Ring, s.Moderation = 8, Moderation{Time: 10 * us}
	h := New(s)
	taken := 0
	for i := range uint32(11) {
		if h.Arrive(0, 0, Frame{Conn: i, Payload: 1, Length: 64}) {
			taken++
		}
	}
	if taken != 8 || h.bill.RingDrops != 3 {
		t.Errorf("%d frames taken and %d lost, want 8 and 3", taken, h.bill.RingDrops)
	}
}

// A core that could do nothing but softirqs lets processes have their turn after
// netdev_budget frames, as ksoftirqd does.
func TestSoftirqsDoNotStarve(t *testing.T) {
	s := preset(t)
	s.GRO, s.Ring, s.Moderation = 0, 100000, Moderation{Time: us}
	h := New(s)
	for i := range uint32(5000) {
		h.Arrive(0, 0, Frame{Conn: i, Payload: 100, Length: 170})
	}
	x := Task{Kind: 1}
	x.Add(Syscall, us)
	received, at := 0, -1
	drain(h, 0, func(now units.Time, core int, f *Task) {
		if f.Kind == 1 {
			at = received
			return
		}
		received++
		h.Release(&f.Segment)
		if received == 1 {
			h.Submit(now, core, Process, &x)
		}
	})
	// Polls of 64 frames: the fifth reaches 300.
	if received != 5000 || at != 320 {
		t.Errorf("the process runs after %d of %d frames, want 320 of 5000", at, received)
	}
}

// Nor do they for longer than netdev_budget_usecs, looked at when a poll of 64 frames
// ends.
func TestSoftirqsEndInTime(t *testing.T) {
	for limit, want := range map[units.Time]int{64 * us: 64, 65 * us: 128} {
		s := preset(t)
		s.GRO, s.Moderation, s.RoundBudget, s.RoundTime, s.Costs = 0, Moderation{Time: us}, 1000, limit, Costs{RxFrame: us}
		h := New(s)
		for i := range uint32(500) {
			h.Arrive(0, 0, Frame{Conn: i, Payload: 100, Length: 170})
		}
		x := Task{Kind: 1}
		x.Add(Syscall, us)
		received, at := 0, -1
		drain(h, 0, func(now units.Time, core int, f *Task) {
			if f.Kind == 1 {
				at = received
				return
			}
			received++
			h.Release(&f.Segment)
			if received == 1 {
				h.Submit(now, core, Process, &x)
			}
		})
		if received != 500 || at != want {
			t.Errorf("limit %v: the process runs after %d of %d frames, want %d of 500", limit, at, received, want)
		}
	}
}

// ups is when the segments of frames that come at these times go up.
func ups(h *Host, arrivals ...units.Time) (out []units.Time) {
	var timers []Timer
	for i := 0; ; {
		timers = append(timers, h.Timers()...)
		h.ClearTimers()
		slices.SortStableFunc(timers, func(a, b Timer) int { return int(a.At - b.At) })
		if i < len(arrivals) && (len(timers) == 0 || arrivals[i] <= timers[0].At) {
			h.Arrive(arrivals[i], 0, Frame{Conn: uint32(i), Payload: 100, Length: 170})
			i++
			continue
		}
		if len(timers) == 0 {
			return out
		}
		x := timers[0]
		timers = timers[1:]
		h.Expire(x.At, x.Source)
		if core, ok := h.Core(x.Source); ok {
			for f, ok := h.Finished(x.At, core); ok; f, ok = h.Finished(x.At, core) {
				if f.Segment.Frames > 0 {
					out = append(out, x.At)
					h.Release(&f.Segment)
				}
			}
		}
	}
}

// Frames that come while a core ends its polling begin the next period: they count
// towards the number, and the time starts when the polling has ended.
func TestModerationAfterPolling(t *testing.T) {
	for _, c := range []struct {
		late []units.Time // behind four frames at 0, whose last is polled from 30 to 40 us
		want units.Time   // when the first of these goes up
	}{
		{[]units.Time{35, 35, 35, 35}, 50},
		{[]units.Time{35, 35, 35}, 1050},
		{[]units.Time{35, 35, 100, 100}, 110},
		{[]units.Time{100, 100, 100, 100}, 110},
		{[]units.Time{100}, 1110},
	} {
		s := preset(t)
		s.GRO, s.Costs, s.Moderation = 0, Costs{RxFrame: 10 * us}, Moderation{Time: 1000 * us, Frames: 4}
		at := make([]units.Time, 4)
		for _, x := range c.late {
			at = append(at, x*us)
		}
		if got := ups(New(s), at...); len(got) != len(at) || got[3] != 40*us || got[4] != c.want*us {
			t.Errorf("late frames at %v us: segments at %v, want the fifth at %d us", c.late, got, c.want)
		}
	}
}

// With busy polling a core takes no interrupts and is never idle.
func TestBusyPoll(t *testing.T) {
	s := preset(t)
	s.BusyPoll = true
	h := New(s)
	h.Arrive(us, 3, Frame{Conn: 1, Payload: 100, Length: 170})
	var end units.Time
	drain(h, us, func(now units.Time, _ int, f *Task) { end = now; h.Release(&f.Segment) })
	c := s.Costs
	if want := us + c.RxFrame + c.RxPage + c.Input; end != want {
		t.Errorf("the segment goes up at %d ps, want %d", end, want)
	}
	b := h.Bill(0, 100*us)
	if b.Interrupts != 0 || b.Busy[3] != 100*us || b.Busy[0] != 0 || b.Times[Receive][Spin] != 100*us-(end-us) {
		t.Errorf("bill %+v", b)
	}
}

// RSS chooses the core by the flow's hash, flow steering that of the application.
func TestSteering(t *testing.T) {
	s := preset(t)
	h := New(s)
	if q := h.Queue(77, 5); q != 5 {
		t.Errorf("steered to queue %d, want 5", q)
	}
	s.FlowSteering = false
	h = New(s)
	if q := h.Queue(77, 5); q != 77%24 {
		t.Errorf("hashed to queue %d, want %d", q, 77%24)
	}
}

// The receive path allocates nothing once its queues have grown.
func TestReceiveAllocatesNothing(t *testing.T) {
	h := New(preset(t))
	now, seq := units.Time(0), uint32(0)
	round := func() {
		for range 20 {
			h.Arrive(now, 0, Frame{Conn: 1, Seq: seq, Payload: 8948, Length: 9018})
			seq += 8948
		}
		for h.Working() > 0 {
			now += 10 * us
			for _, x := range h.Timers() {
				h.Expire(now, x.Source)
			}
			h.ClearTimers()
			for {
				x, ok := h.Finished(now, 0)
				if !ok {
					break
				}
				if x.Kind == KindReceive && x.Segment.Frames > 0 {
					n := x.Segment.Payload
					h.Release(&x.Segment)
					var read, ack Task
					h.Output(&ack, Receive, 1)
					h.Submit(now, 0, Softirq, &ack)
					h.Woken(&read)
					h.Read(&read, 0, n)
					h.Submit(now, 0, Process, &read)
				}
			}
		}
	}
	for range 50 {
		round()
	}
	if n := testing.AllocsPerRun(50, round); n > 0 {
		t.Errorf("%v allocations per 20 frames", n)
	}
}
