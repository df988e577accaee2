package nic

import (
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// What the card does for congestion controllers: time stamps and telemetry on packets and their
// acknowledgements, and probes.

// steered lets packet pk of queue pair q, which starts now, carry what its controller needs, and sends
// the probe that it wants.
func (h *Host) steered(now units.Time, q uint32, pk *packet.Packet) {
	if t := h.qps[q].qp.Telemetry(); t != nil && pk.Kind == packet.Data {
		h.net.AddTelemetry(pk, t)
	}
	h.queueProbe(now, q) // the port asks for more by itself
}

// hasten lets queue pair q, which waits for its next sending time, send earlier if its controller now
// allows that.
func (h *Host) hasten(now units.Time, q uint32) {
	s := &h.qps[q]
	at := max(now, s.qp.ReadyAt())
	if at >= s.since || h.path != nil { // inside a server other things are waited for as well
		return
	}
	p := &h.ports[s.port]
	if p.hasten(q, at) {
		s.since = at
		h.net.Kick(now, p.fabricPort)
	}
}

// probe queues the probe of the round trip that queue pair q's controller wants, if it wants one.
func (h *Host) probe(now units.Time, q uint32) {
	if h.queueProbe(now, q) {
		h.net.Kick(now, h.ports[h.qps[q].port].fabricPort)
	}
}

func (h *Host) queueProbe(now units.Time, q uint32) bool {
	var p packet.Packet
	s := &h.qps[q]
	if what := s.qp.ControlFault(); what != "" {
		h.net.StopFor(&congestion.Fault{Name: h.specs[q].Config.Control.Name, What: what, At: now, Host: h.Name, QP: int(q)})
	}
	if !s.qp.TakeProbe(now, &p) {
		return false
	}
	part := h.net.Part()
	slot := part.Alloc()
	*part.Rec(slot) = p
	h.answer(now, int(s.port), slot)
	return true
}

// noteArrival stamps a request that has reached its port and is to wait there.
func (h *Host) noteArrival(now units.Time, pk *packet.Packet) {
	if t := h.net.TelemetryOf(pk); t != nil && t.Arrived == 0 {
		t.Arrived = int64(now)
	}
}

// echo is the number of what request pk brought for its sender's congestion control, as its acknowledgement
// takes it back now; 0: nothing.
func (h *Host) echo(now units.Time, s *qpSlot, pk *packet.Packet) uint32 {
	t := h.net.TelemetryOf(pk)
	if t == nil {
		return 0
	}
	if t.Arrived == 0 {
		t.Arrived = int64(now)
	}
	t.Replied, t.Hops, t.INT = int64(now), s.qp.Hops(pk), false // only data asks for records
	return h.net.TakeTelemetry(pk)
}
