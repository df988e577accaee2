package record

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/units"
)

// Trace is what a run noted moment by moment for a timeline, beside its accounts, which are sums.
type Trace struct {
	Pairs []PairTrace // queue pairs and connections that sent something
	Gates []GateTrace // classes of ports that might not send for a while
	Lanes []LaneTrace // what else is busy for a while: cores, copy engines, links inside hosts, local operations
	Ranks []RankTrace // of jobs
	Drops []Moment    // frames that ended on the way, by time
	// Resends are frames that were sent again, and what had a queue pair do so; by host and queue pair, then time.
	Resends []Moment
	// Counters are samples of lengths of queues, memory of switches, and rates, windows and goodput of queue pairs.
	Counters *Timeline
	LeftOut  []string // what there was too much of, in words
}

// PairTrace is what a queue pair spent its time on.
type PairTrace struct {
	Place  Place
	Stages []StageSlice // in order; the times between were idle
}

// StageSlice is a time that a queue pair spent on one stage.
type StageSlice struct {
	Slice
	Stage catalog.Stage
}

// GateTrace is when a class of a port was paused or without credit.
type GateTrace struct {
	Place Place
	Seen  []GateSlice // in order
}

// GateSlice is one such time, and since when a frame waited for its end.
type GateSlice struct {
	Slice
	Held units.Time // To: none did
}

// LaneTrace is when one thing of a host was busy.
type LaneTrace struct {
	Host  string
	Group string // what it belongs to: a GPU, "PCIe", "cores"
	Name  string // of the thing
	Seen  []LabelSlice
}

// LabelSlice is a time for which something was busy with what a label says.
type LabelSlice struct {
	Slice
	Label string
}

// Slice is a time from one instant to another.
type Slice struct{ From, To units.Time }

// Moment is something that happened to a frame, or to a queue pair, at an instant.
type Moment struct {
	At      units.Time
	What    MomentKind
	Place   Place        // the port and class, or the queue pair
	Cause   catalog.Drop // of a frame that ended on the way
	By      string       // of a queue pair that went back: what made it do so
	Src     string       // of a frame: the host that sent it
	Dst     string       // of a frame: the host that it went to
	QP      int          // of a frame: the sender's number, of the queue pair or connection
	PSN     uint32       // of a frame: of TCP the sequence number
	Payload int64        // of a frame, in bytes
}

// MomentKind is what happened at a moment.
type MomentKind uint8

// Kinds of moments.
const (
	MomentDrop   MomentKind = iota // a frame ended
	MomentRewind                   // a queue pair was told to send again, or found that it had to
	MomentResend                   // a frame was sent again, and begins to leave
)

// Logged is a slice with a number that says what it was spent on.
type Logged struct {
	Slice
	What uint8
}

// SliceLog writes slices down in order of time, up to a number of them. A nil one takes no notice.
type SliceLog struct {
	Seen []Logged
	Most int        // slices
	Full units.Time // from when on there was no room; 0: there was for all
}

// Add notes one, which begins where the one before ended or later.
func (l *SliceLog) Add(from, to units.Time, what uint8) {
	if l == nil || to <= from {
		return
	}
	if n := len(l.Seen); n > 0 && l.Seen[n-1].What == what && l.Seen[n-1].To == from && l.Full == 0 {
		l.Seen[n-1].To = to
		return
	}
	if len(l.Seen) >= l.Most {
		if l.Full == 0 {
			l.Full = from
		}
		return
	}
	l.Seen = append(l.Seen, Logged{Slice{from, to}, what})
}

// Rebook makes the latest part of what was noted for one thing, of length d, one of another: it turned out only then
// what the time had been spent on.
func (l *SliceLog) Rebook(what, to uint8, d units.Time) {
	if l == nil || l.Full != 0 {
		return
	}
	for k := len(l.Seen) - 1; k >= 0 && d > 0; k-- {
		s := l.Seen[k]
		if s.What != what {
			continue
		}
		if length := s.To - s.From; length > d {
			l.Seen = append(l.Seen, Logged{})
			copy(l.Seen[k+1:], l.Seen[k:])
			l.Seen[k].To, l.Seen[k+1].From = s.To-d, s.To-d
			k++
		}
		d -= l.Seen[k].To - l.Seen[k].From
		l.Seen[k].What = to
	}
}
