package decode

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/hopscope/hopscope/internal/pcap"
	"github.com/hopscope/hopscope/wire"
)

// rxeCounts is what captures of the Linux driver rdma_rxe hold, as tshark 4.0.17 prints their fields: RDMA
// packets, requests with a PSN that came before, acknowledgements, NAKs, RNR NAKs, and last packets of
// messages, each PSN once.
var rxeCounts = map[string][6]int64{
	"atomic_cas.pcap":          {10, 0, 0, 0, 0, 5},
	"atomic_fadd.pcap":         {10, 0, 0, 0, 0, 5},
	"dgram_frames.pcap":        {50, 0, 10, 0, 0, 10},
	"fault_dup.pcap":           {42, 1, 9, 0, 0, 8},
	"fault_psn_seq_nak.pcap":   {45, 3, 9, 1, 0, 8},
	"fault_rnr_nak.pcap":       {80, 73, 1, 1, 1, 4},
	"fault_timeout_retry.pcap": {13, 1, 6, 0, 0, 6},
	"go_badcrc.pcap":           {4, 0, 0, 0, 0, 1},
	"go_client.pcap":           {30, 0, 6, 0, 0, 6},
	"go_client_udp.pcap":       {200, 0, 40, 0, 0, 40},
	"go_iddont.pcap":           {28, 24, 0, 0, 0, 1},
	"oob_pingpong.pcap":        {8, 0, 4, 0, 0, 4},
	"oob_send_lat.pcap":        {22, 1, 11, 0, 0, 10},
	"oob_write_bw.pcap":        {10, 0, 5, 0, 0, 5},
	"rc_pingpong.pcap":         {58, 4, 14, 0, 0, 10},
	"read_3000.pcap":           {20, 0, 0, 0, 0, 5},
	"read_64.pcap":             {10, 0, 0, 0, 0, 5},
	"read_mtu4096.pcap":        {20, 0, 0, 0, 0, 5},
	"send_2500.pcap":           {20, 0, 5, 0, 0, 5},
	"send_64.pcap":             {10, 0, 5, 0, 0, 5},
	"send_lat.pcap":            {20, 0, 10, 0, 0, 10},
	"uc_pingpong.pcap":         {18, 0, 0, 0, 0, 6},
	"ud_pingpong.pcap":         {6, 0, 0, 0, 0, 6},
	"v_badrkey.pcap":           {2, 0, 0, 1, 0, 1},
	"v_inv.pcap":               {6, 0, 2, 1, 0, 3},
	"v_longwrite.pcap":         {65, 0, 1, 0, 0, 1},
	"v_noaccess.pcap":          {2, 0, 0, 1, 0, 1},
	"v_oob.pcap":               {2, 0, 0, 1, 0, 1},
	"v_rnr.pcap":               {8, 3, 0, 0, 4, 1},
	"v_toolong.pcap":           {3, 0, 0, 1, 0, 1},
	"write_3000.pcap":          {20, 0, 5, 0, 0, 5},
	"write_61.pcap":            {10, 0, 5, 0, 0, 5},
	"write_mtu4096.pcap":       {20, 0, 5, 0, 0, 5},
}

// total adds up what a capture shows.
func total(r *Result) (n [6]int64) {
	n[0] = r.Capture.RDMA
	for i := range r.QueuePairs {
		q := &r.QueuePairs[i]
		n[1] += q.Resent + q.AskedAgain - q.FirstLost
		n[2] += q.ACKs
		for _, k := range q.NAKs {
			n[3] += k.Count
		}
		n[4] += q.RNRs
		n[5] += q.Done + q.OpenMessages + q.Failed
	}
	return n
}

// The kernel's captures show what tshark shows of them, and the same over IPv6 with a VLAN tag, as
// pcapng and with the other byte order.
func TestRxe(t *testing.T) {
	root := os.Getenv("HOPSCOPE_DATA")
	if root == "" {
		t.Skip("HOPSCOPE_DATA is not set")
	}
	for name, want := range rxeCounts {
		file, err := os.ReadFile(filepath.Join(root, "rxe", name))
		if err != nil {
			t.Fatal(err)
		}
		r := decoded(t, file, Options{})
		if got := total(r); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		wrong := name == "go_badcrc.pcap" || name == "go_iddont.pcap"
		if wrong != (r.Capture.BadICRC > 0) || wrong == (r.Capture.GoodICRC > 0) || r.Capture.Unread > 0 {
			t.Errorf("%s: ICRC %d right, %d wrong, %d frames not read", name, r.Capture.GoodICRC, r.Capture.BadICRC, r.Capture.Unread)
		}
		for _, m := range r.Messages {
			if m.TookPS < 0 || m.TookPS > r.Capture.LastPS {
				t.Errorf("%s: %+v", name, m)
			}
		}
		x := overIPv6(t, file)
		for _, f := range []form{{nano: true, big: true}, {ng: true}} {
			if got := total(x.result(f)); got != want {
				t.Errorf("%s over IPv6: %v, want %v", name, got, want)
			}
		}
	}
}

// overIPv6 is a capture with its RoCEv2 frames over IPv6, with a tag.
func overIPv6(t *testing.T, file []byte) *tape {
	t.Helper()
	in, err := pcap.Open(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	x := &tape{t: t}
	var p pcap.Packet
	for in.Next(&p) == nil {
		f, err := wire.DecodeFrame(p.Data)
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind != wire.FrameRoCEv2 {
			continue
		}
		if f.IPVersion == 4 {
			f.IPv6 = wire.IPv6{HopLimit: f.IPv4.TTL, ECN: f.IPv4.ECN}
			copy(f.IPv6.Src[12:], f.IPv4.Src[:])
			copy(f.IPv6.Dst[12:], f.IPv4.Dst[:])
			f.IPv6.Src[0], f.IPv6.Dst[0] = 0xfd, 0xfd
		}
		f.IPVersion, f.Tagged, f.VLAN.PCP = 6, true, 3
		b, err := f.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		x.add(float64(p.At)/1e6, b)
	}
	return x
}
