package collective

import "github.com/hopscope/hopscope/internal/units"

// fitted are the constants that no text gives and that were fitted to tables of nccl-tests:
// one set for each generation of GPUs. docs/models/collectives.md lists each with the tables
// that it rests on.
type fitted struct {
	start     units.Time // of a kernel, beside its launch
	peerStart units.Time // what point-to-point kernels take longer
	flag      units.Time // to a peer's memory; 0: the way there
	peerChunk units.Time // of each chunk of a point-to-point transfer with Simple
	peerShare float64    // of a block's rate that point-to-point transfers reach with LL and LL128
	share     float64    // of it that all reach with Simple
	rate      float64    // GB/s of a block with Simple; 0: by the share
	scatter   float64    // GB/s of a block that copies for NVLS
	reduce    float64    // GB/s of a block that reads sums through the switches and writes them
	reduceNet float64    // the same where it does one of the two
}

// fitted is the set of the spec's GPUs. Hopper's stands for older ones, but for their flags.
func (s *Spec) fitted() fitted {
	f := fitted{start: 3 * units.Microsecond, peerStart: 1500 * units.Nanosecond, peerChunk: 4500 * units.Nanosecond, peerShare: .58, share: .65,
		scatter: 17.5, reduce: 2.5, reduceNet: 6}
	if s.Speeds.Generation == Blackwell {
		f.start, f.flag, f.rate, f.scatter = 4500*units.Nanosecond, 900*units.Nanosecond, 28, 15
	}
	return f
}

// Proxy are the costs of the thread that posts and polls for a GPU, fitted likewise.
type Proxy struct {
	Post, Poll, Repost units.Time // of a message, on a core of its own
	// A round takes Turn, and Each for every connection by which it receives; a message
	// waits for SendTurns or ReceiveTurns of them.
	Turn, Each              units.Time
	SendTurns, ReceiveTurns float64
}

// DefaultProxy is the proxy of NCCL. sendProxyProgress does one thing in a turn for a
// connection, so that a chunk which is ready goes through two; recvProxyProgress returns
// after each kind of action.
func DefaultProxy() Proxy {
	return Proxy{Post: 600 * units.Nanosecond, Poll: 500 * units.Nanosecond, Repost: 600 * units.Nanosecond,
		Turn: 200 * units.Nanosecond, Each: 100 * units.Nanosecond, SendTurns: 2, ReceiveTurns: 1.5}
}

// gigabytes is a rate in GB/s.
func gigabytes(rate float64) units.Rate { return units.Rate(rate*8000) * units.Mbps }
