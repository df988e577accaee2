package rdma

import (
	"fmt"
	"strconv"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// AdaptiveTimeout configures the adaptive retransmission timer of NVIDIA's NICs
// (roce_adp_retrans) by the rules that NVIDIA publishes ("Adaptive Retransmission:
// Parameters Control", 2025), with one range of timeouts, from Min to Config.Timeout.
// The zero value has the timer last Config.Timeout always.
type AdaptiveTimeout struct {
	// Min is the shortest timeout, of which the others are 2, 4, 8... times; at
	// least MinAdaptiveTimeout and at most Config.Timeout. 0: not adaptive.
	Min units.Time
	// Spread is how many timeouts, from Min on, a connection's first is drawn from,
	// so that queue pairs do not expire together; 1 to 16.
	Spread int
	// Retries is how often a timeout expires without progress before it doubles, 1
	// to 16; the first one expires once.
	Retries int
	// Decrease divides the timeout after a round trip without timeout: 2 or 4; 0
	// takes it back to Min.
	Decrease int
}

// MinAdaptiveTimeout is the shortest timeout that NVIDIA's firmware allows
// (adp_retx_base_timeout_min, 4000 ns).
const MinAdaptiveTimeout = 4 * units.Microsecond

// DefaultAdaptiveTimeout is the timer that a scenario gets which asks for no more
// than an adaptive one. The values of NVIDIA's own profile are not published; 4.1 ms
// is the shortest timeout measured on a ConnectX-6 Dx (Lumina, SIGCOMM 2023), 2^10
// times the least base. The rest is assumed: doubled each time, halved each round.
func DefaultAdaptiveTimeout() AdaptiveTimeout {
	return AdaptiveTimeout{Min: MinAdaptiveTimeout << 10, Spread: 1, Retries: 1, Decrease: 2}
}

// adaptiveTimer is the state of the timer.
type adaptiveTimer struct {
	current units.Time
	used    int        // how often current expired since it was set or progress was made
	limit   int        // how often it may
	since   units.Time // from when there was no progress; Never while there is
	longest units.Time // what the timer lasted in the longest wait for progress
	end     uint64     // a round without timeout ends when all before this has arrived
}

// startAdaptive sets the timer to the connection's first timeout.
func (q *QP) startAdaptive() {
	p := &q.cfg.Adaptive
	k := rng.Mix64(uint64(q.conn), uint64(q.hash)) % uint64(p.Spread)
	q.rto = min(p.Min<<k, q.cfg.Timeout)
	q.cold.extras.adaptive.timer = &adaptiveTimer{current: q.rto, limit: 1, since: units.Never, end: q.high}
}

// expired sets the timer after it expired, having run since began, and reports
// whether the requester may go on: for retry_count times Timeout without progress.
// The last timeout is cut short so that it ends then.
func (a *adaptiveTimer) expired(q *QP, now, began units.Time) bool {
	a.waited(q, now)
	if a.since == units.Never {
		a.since = began
	}
	left := a.since + q.cfg.Timeout*units.Time(q.cfg.RetryCount) - now
	if left <= 0 {
		return false
	}
	if a.used++; a.used >= a.limit {
		a.current = min(2*a.current, q.cfg.Timeout)
		a.used, a.limit = 0, q.cfg.Adaptive.Retries
	}
	a.end = q.high
	q.rto = min(a.current, left)
	return true
}

// waited keeps what the timer lasted if the longest wait ended just now.
func (a *adaptiveTimer) waited(q *QP, now units.Time) {
	if q.cold.longAt == now {
		a.longest = q.rto
	}
}

// progress notes that everything before seq has arrived, una already being there.
func (a *adaptiveTimer) progress(q *QP, now units.Time, seq uint64) {
	a.waited(q, now)
	a.since, a.used = units.Never, 0
	if seq >= a.end {
		p := &q.cfg.Adaptive
		if p.Decrease == 0 {
			a.current = p.Min
		} else {
			a.current = max(p.Min, a.current/units.Time(p.Decrease))
		}
		a.end = q.high
	}
	q.rto = a.current
}

// adaptive is what follows timeouts and progress; see QP.adapts.
type adaptive struct {
	timer   *adaptiveTimer
	restart *slowRestart
}

// startAdapting sets it up as for a new connection.
func (q *QP) startAdapting() {
	q.adapts = q.service == RC && (q.cfg.Adaptive.Min > 0 || q.cfg.SlowRestart.On)
	if !q.adapts {
		return
	}
	x := q.rare()
	if x.adaptive.restart != nil {
		q.maxOut = x.adaptive.restart.full
	}
	x.adaptive = adaptive{}
	if q.cfg.Adaptive.Min > 0 {
		q.startAdaptive()
	}
	if q.cfg.SlowRestart.On {
		q.cold.extras.adaptive.restart = &slowRestart{full: q.maxOut, idle: units.Never}
	}
}

// adapt notes that everything before seq has arrived.
func (q *QP) adapt(now units.Time, seq uint64) {
	if a := q.cold.extras.adaptive.timer; a != nil {
		a.progress(q, now, seq)
	}
	if s := q.cold.extras.adaptive.restart; s != nil {
		s.progress(q, now, seq)
	}
}

// adaptiveNotes lists what is on of it, with the sources of what it is unless a
// scenario says otherwise.
func (c *Config) adaptiveNotes() (notes []record.Note) {
	note := func(key, value, source string) {
		notes = append(notes, record.Note{Key: "transport." + key, Value: value, Source: source})
	}
	if a := &c.Adaptive; a.Min > 0 {
		shrinks := "to the shortest"
		if a.Decrease > 0 {
			shrinks = fmt.Sprintf("to 1/%d", a.Decrease)
		}
		note("adaptive_timeout.min", durationText(a.Min), "2^10 times NVIDIA's least base; the shortest of a ConnectX-6 Dx in Lumina, SIGCOMM 2023 (to be confirmed)")
		note("adaptive_timeout.spread", strconv.Itoa(a.Spread), "assumed")
		note("adaptive_timeout.retries", strconv.Itoa(a.Retries), "as in Lumina, SIGCOMM 2023 (to be confirmed)")
		note("adaptive_timeout.decrease", shrinks, "assumed")
	}
	if c.SlowRestart.On {
		note("slow_restart.window", "1 packet after a timeout", "RFC 5681; NVIDIA publishes no rule")
		if idle := c.SlowRestart.Idle; idle > 0 {
			note("slow_restart.idle", durationText(idle), "")
		}
	}
	return notes
}
