package nic

import (
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
)

// TestWriterWaitsForRoom: an application whose write the socket took in part waits for
// Writable, which comes when a good part of the buffer is free, as long as there is no
// room for the rest; it does not write on byte by byte as room appears.
func TestWriterWaitsForRoom(t *testing.T) {
	cfg, err := tcp.Preset("linux")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Send = tcp.Buffer{Initial: 10000, Max: 10000}
	for _, x := range []struct {
		was         bool
		write, took int64 // of which the call that ends now took so many
		full        bool
	}{
		{true, 25000, 10000, true}, // nothing is free
		{true, 12000, 5000, true},  // 5000 free for 7000
		{true, 10001, 5000, true},  // for one byte more
		{true, 10000, 5000, false}, // for just that
		{true, 5000, 5000, false},  // nothing is left to write
		{false, 12000, 5000, false},
	} {
		st := stream{calls: []call{{left: x.write}}}
		st.conn = &st.tcp
		st.conn.Init(&cfg, packet.Packet{})
		st.conn.Connect(0, 1, true, tcp.Peer{Config: &cfg, ISS: 2, RTT: units.Millisecond})
		st.kernel.full = x.was
		if st.fillBytes(0, x.took); st.kernel.full != x.full || st.wrote != x.took {
			t.Errorf("%d of %d B written: full %v after %d B, want %v", x.took, x.write, st.kernel.full, st.wrote, x.full)
		}
	}
}
