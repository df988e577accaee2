package nic

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// sockets are the TCP connections of a host; see stream.go.
type sockets struct{ *Host }

// ways are those between the sockets' buffers and the memory of messages.
func (h sockets) ways(p *hostPath, m *MemoryPath, cpu *host.Spec) { p.socketChains(m, cpu) }

func (h sockets) post(now units.Time, p Post) { h.write(now, &p) }

func (h sockets) callsOn(q uint32) (core int, by kernelCall) {
	return h.cpu.Application(int(q)), byWrite
}

func (h sockets) deliver(now units.Time, _ int, slot uint32) { h.deliverSegment(now, slot) }

func (h sockets) poll(now units.Time, p *port, q uint32) uint32 {
	if h.path != nil && !h.mayCut(now, q) {
		return 0
	}
	return h.frame(now, p, q)
}

// nextFrame is asked for on links with credits, over which no TCP runs.
func (h sockets) nextFrame(uint32) uint32 { return 0 }

func (h sockets) paced(now units.Time, q uint32) { h.paceOver(now, q) }

func (h sockets) expire(now units.Time, q uint32) { h.expireStream(now, q) }

func (h sockets) completes() bool { return false }

func (h sockets) waiting(uint32) int64 { return -1 }

func (h sockets) whole(q uint32, before int) int { return h.qps[q].stream.reads - before }

// taken is what the application read.
func (h sockets) taken(q uint32) int64 { return h.qps[q].stream.took }

// rate is the congestion window over the smoothed round trip.
func (h sockets) rate(_ units.Time, q uint32) (rate, least units.Rate) {
	info := h.qps[q].stream.conn.Info()
	rate = windowRate(info.Cwnd, info.SRTT, h.net.Rate(h.ports[h.qps[q].port].fabricPort))
	return rate, rate
}

func (h sockets) window(q uint32) int64 { return h.qps[q].stream.conn.Info().Cwnd }

func (h sockets) held(q uint32) int {
	if p := h.qps[q].stream.path; p != nil {
		return int(p.came.n)
	}
	return 0
}

func (h sockets) counted(q uint32) record.QP { return h.streamQP(int(q)) }

func (h sockets) record(_ units.Time, q uint32) record.QP { return h.streamQP(int(q)) }

func (h sockets) ledger(out []record.Entry, q uint32, _ []uint64) []record.Entry {
	return append(out, h.segmentsLedger(int(q), h.qps[q].stream.conn, catalog.TCP)...)
}

func (h sockets) ran(now units.Time, t *host.Task) { h.finishCall(now, t) }

func (h sockets) repost(uint32) {}

func (h sockets) worked(units.Time, uint32) {}

func (h sockets) oldest(uint32) uint32 { return 0 }

func (h sockets) timeouts(q uint32) []units.Time { return h.qps[q].stream.timeouts }

func (h sockets) retire(uint32) {}
