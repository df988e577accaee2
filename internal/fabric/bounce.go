package fabric

import "github.com/hopscope/hopscope/internal/packet"

// BounceParams puts frames that go up after they came down, which bounce, into another class, so that the
// waits of one class close no circle (Tagger; Hu et al., CoNEXT 2017). What paused before the bounce
// and what is paused behind it are accounted to their own classes: the priority group is that in which
// the frame came, the queue that in which it goes on.
type BounceParams struct {
	To    [Classes]uint8 // by the class in which a frame came; the same: it stays
	DSCP  [Classes]uint8 // that tells the next switch of To
	Above []bool         // by local port: it leads up
}

// lift gives a frame that has been routed its class.
func (b *BounceParams) lift(pk *packet.Packet) {
	in := pk.Class & (Classes - 1)
	pk.SetVL(in)
	if to := b.To[in]; to != in && b.Above[pk.In] && b.Above[pk.Out] {
		pk.Class, pk.DSCP = to, pk.DSCP&packet.Stamped|b.DSCP[in]
	}
}

// cameIn is the class in which a frame that waits in the switch came.
func (s *swtch) cameIn(pk *packet.Packet) uint8 {
	if s.credited || s.bounce != nil {
		return pk.VL()
	}
	return pk.Class & (Classes - 1)
}
