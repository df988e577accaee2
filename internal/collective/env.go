package collective

import "github.com/hopscope/hopscope/internal/units"

// Env are the settings of NCCL that its environment variables make. The zero value is NCCL's
// default.
type Env struct {
	Algorithms               []Algorithm // NCCL_ALGO: those that it may choose; none: all
	Protocols                []Protocol  // NCCL_PROTO, likewise
	MinChannels, MaxChannels int         // NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS; 0: no bound
	PerNetPeer               int         // NCCL_NCHANNELS_PER_NET_PEER; 0: NCCL's rule
	NoNVLS                   bool        // NCCL_NVLS_ENABLE=0
	Buffer                   units.Bytes // NCCL_BUFFSIZE; 0: 4 MiB
	PeerChunk                units.Bytes // NCCL_P2P_NET_CHUNKSIZE; 0: 128 KiB
	PeerLL                   units.Bytes // NCCL_P2P_LL_THRESHOLD; 0: 16 KiB, -1: LL never
}

// bounded is a number of channels within the environment's bounds.
func (e *Env) bounded(n int) int {
	if e.MaxChannels > 0 {
		n = min(n, e.MaxChannels)
	}
	return max(n, e.MinChannels)
}

// buffer is what a connection's buffer holds with Simple.
func (e *Env) buffer() units.Bytes {
	if e.Buffer > 0 {
		return e.Buffer
	}
	return simpleBuffer
}

// peerLL is up to how much for each channel transfers between two ranks take LL.
func (e *Env) peerLL() units.Bytes {
	switch {
	case e.PeerLL < 0:
		return 0
	case e.PeerLL > 0:
		return e.PeerLL
	}
	return peerLL
}
