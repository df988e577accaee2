package nic

import (
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Moment is something that a timeline shows of a queue pair: a frame was sent again, or it was told that it had to.
type Moment struct {
	At      units.Time
	Sent    bool         // a frame that was sent before leaves
	By      rdma.Trigger // else: what told of the loss
	PSN     uint32       // of the frame; of TCP the sequence number
	Payload uint32       // of the frame, in bytes
}

// pairLog is what a timeline shows of a queue pair; full: from when on there was no room for moments, 0: there was
// for all.
type pairLog struct {
	spent   record.SliceLog // by Stage
	moments []Moment
	full    units.Time
}

// Trace has the host list from now on what its queue pairs and cores spend their time on, at most so many slices of
// each. It must come before anything happens.
func (h *Host) Trace(pairs, cores int) {
	h.traced = pairs
	h.cpu.Trace(cores)
}

// noteMoment lists a moment of a queue pair.
func (h *Host) noteMoment(s *qpSlot, m Moment) {
	switch l := s.traced; {
	case l == nil || l.full > 0:
	case len(l.moments) == h.traced:
		l.full = m.At
	default:
		l.moments = append(l.moments, m)
	}
}

// PairTrace is what was listed of a queue pair or connection.
type PairTrace struct {
	QP      uint32
	Peer    string // the host at the other end
	Conn    uint32
	Spent   *record.SliceLog // by Stage
	Moments []Moment
	Full    units.Time // from when on moments were not listed; 0: all were
}

// Traces calls yield with what was listed of each queue pair that was used, up to the last change of its state.
func (h *Host) Traces(yield func(PairTrace)) {
	for i := range h.programs.pairs.listed(len(h.qps)) {
		s := &h.qps[i]
		if !s.opened() || s.life == nil || s.traced == nil {
			continue
		}
		l := s.traced
		yield(PairTrace{QP: uint32(i), Peer: h.specs[i].PeerHost, Conn: h.specs[i].Conn, Spent: &l.spent, Moments: l.moments,
			Full: l.full})
	}
}

// CoreTraces is when each core was busy; nil: none did anything.
func (h *Host) CoreTraces() []record.SliceLog { return h.cpu.Traces() }
