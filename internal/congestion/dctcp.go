package congestion

// dctcpOne is alpha = 1.0.
const dctcpOne = 1 << 20

// dctcp is DCTCP's estimate of the marked share (RFC 8257 3.3).
type dctcp struct {
	alpha         int64 // units of 2^-20
	acked, marked int64 // bytes in this observation window
	end           uint64
	started       bool
}

// Alpha is DCTCP's estimate of the share of marked bytes in units of 2^-20.
func (w *Window) Alpha() int64 { return w.dctcp.alpha }

// OnMarks counts acknowledged bytes for DCTCP's alpha, marked those whose ACK
// carried ECE; una and nxt are SND.UNA after the ACK and SND.NXT. An observation
// window ends when everything sent at its beginning is acknowledged.
func (w *Window) OnMarks(p *WindowParams, acked, marked int64, una, nxt uint64) {
	d := &w.dctcp
	if !d.started {
		d.started, d.end = true, nxt
	}
	d.acked += acked
	d.marked += marked
	if una < d.end || d.acked == 0 {
		return
	}
	// alpha = (1 - g) alpha + g M; the last share of alpha goes as a whole, else
	// it would stop short of 0.
	decay := d.alpha >> p.DCTCPShift
	if decay == 0 {
		decay = d.alpha
	}
	d.alpha += mulDiv(d.marked, dctcpOne>>p.DCTCPShift, d.acked) - decay
	d.acked, d.marked, d.end = 0, 0, nxt
}

// cut is what congestion takes off a window: cwnd alpha / 2 (3.4).
func (d *dctcp) cut(cwnd int64) int64 { return mulDiv(cwnd, d.alpha, 2*dctcpOne) }
