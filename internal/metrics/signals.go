package metrics

import "github.com/hopscope/hopscope/internal/record"

// signals are the mechanisms by which a run's congestion control marks, tells and
// slows, and what the queue is called above which a switch marks.
type signals struct {
	mark, tell, slow record.Mechanism
	limit, message   string
}

// signalsOf are RoCEv2's ECN, CNPs and DCQCN, or InfiniBand's FECN, BECN and CCTI.
func signalsOf(r *record.Run) signals {
	if r.Credits {
		return signals{record.FECNMark, record.BECNOnAck, record.CCTIIncrease, "the FECN threshold", "BECN"}
	}
	return signals{record.ECNMark, record.CNPSent, record.RateCut, "Kmin", "CNP"}
}
