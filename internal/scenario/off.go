package scenario

// The functions here say why settings have no effect, or nothing where they have one. A
// comparison runs one scenario over stacks of which some use a setting and some do not: what
// the stack leaves aside is no mistake there.

// noEthernet is the reason for what InfiniBand does not have.
func (r *resolver) noEthernet() string {
	return when(r.stack().Credits && !r.compared, "InfiniBand has input buffers, VL arbitration and a map of service levels: see the section infiniband")
}

// trustsDSCP is the reason for the map of the other code point.
func (r *resolver) trustsDSCP(s *switchSettings) string {
	return when(!s.trustPCP, "switches trust the DSCP; give trust: pcp and vlan: true")
}

// marksNothing is the reason for a stack without marks, or data that cannot be marked.
func (r *resolver) marksNothing(e *ecnSettings) string {
	switch {
	case r.compared:
	case !r.marking():
		return "the stack " + r.v.Stack + " marks nothing"
	case e.priorities < 0 && !r.marked() && r.tcp.rdma != 0 && !r.anyMarking(255):
		return "without a congestion control that hears of marks no data is ECN-capable; give switch.ecn.priorities " +
			"to have WRED drop what cannot be marked"
	}
	return ""
}

// noPFC is the reason for a stack without PFC.
func (r *resolver) noPFC() string {
	return when(!r.compared && !r.stack().PFC, "the stack "+r.v.Stack+" runs without PFC")
}

// pfcOff is the reason for a port without PFC.
func (r *resolver) pfcOff(p *pfcSettings) string {
	if why := r.noPFC(); why != "" {
		return why
	}
	return when(!r.compared && p.enabled == 0, "pfc is off")
}

// noCNP is the reason where no congestion control runs.
func (r *resolver) noCNP() string {
	return when(!r.compared && r.v.DCQCN == nil && !r.needs().CNP,
		"without congestion control no CNP is sent")
}

// noRDMA is the reason for what only queue pairs have.
func (r *resolver) noRDMA() string {
	return when(!r.compared && r.onlySockets(), "the workload is TCP's alone, which has no queue pairs: see tcp")
}

// repairedByTCP is the reason for what acknowledges and repairs queue pairs that have sequence numbers of packets.
func (r *resolver) repairedByTCP() string {
	return when(!r.compared && r.onlyIWARP(), "TCP acknowledges what iWARP sends, and repairs its losses: see tcp")
}

// wholeFPDUs is the reason for what makes segments larger or waits for that.
func (r *resolver) wholeFPDUs() string {
	return when(!r.compared && r.onlyIWARP(), "a segment of iWARP holds one FPDU, and is sent at once")
}

// uncached is the reason for caches of cards.
func (r *resolver) uncached() string {
	return when(!r.compared && r.onlyIWARP(), "caches are not modelled for iWARP")
}

// onlyIWARP reports whether all queue pairs are carried by TCP, and there are some.
func (r *resolver) onlyIWARP() bool { return r.onlyTCP() && r.tcp.used[offloadedTCP] }

// undrained is the reason for a receive buffer in which nothing waits.
func (r *resolver) undrained(s *nicSettings) string {
	return when(!s.drains() && !r.stack().Credits, "without drain_rate the host keeps up and nothing waits; give drain_rate as well")
}

// dropsWhenFull is the reason for thresholds of a receive buffer that sends no XOFF.
func (r *resolver) dropsWhenFull(s *nicSettings) string {
	return when(!r.compared && s.pfc.enabled == 0, "without PFC a full receive buffer drops")
}

// keepsNothing is the reason for a responder without a bitmap.
func (r *resolver) keepsNothing(s *nicSettings) string {
	return when(s.recovery != selectiveRepeat && s.recovery != irn, s.recovery+" keeps nothing that arrives ahead; give recovery: selective-repeat or irn")
}
