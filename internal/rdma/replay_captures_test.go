package rdma

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/wire"
)

// sides are the parts of both sides of a capture; side 0 sent the first frame.
type sides [2]part

// Reasons, where rxe does otherwise than ours by choice, or the Go peer of the
// captures that begin with go_ and fault_ did something wrong on purpose.
const (
	everyDuplicate = "rxe acknowledges every duplicate; ours those that ask for it, as the Linux drivers of hfi1 and qib do (rc.c)"
	lateResend     = "sent again although it was acknowledged before: rxe does not restart its timer with ACKs"
	nakAfterRNR    = "after an RNR NAK rxe reports the packets already in flight as a gap; ours is silent until the PSN arrives"
	noLimit        = "retry_cnt 7 is no limit to rxe; with ours the retries are used up"
	lengthError    = "a SEND longer than its receive is an error of the responder's to rxe; by IBTA 9.9.3 an invalid request (class C)"
	onPurpose      = "a fault of the peer's, made on purpose"
)

// frames is the same reason for frames first to last.
func frames(first, last int, why string) map[int]string {
	m := map[int]string{}
	for i := first; i <= last; i++ {
		m[i] = why
	}
	return m
}

// lossy marks a role in which packets are lost.
func lossy(r role) map[role]bool { return map[role]bool{r: true} }

// replayParts has what the captures do not tell: the probe that made those that
// begin with v_ registers 65536 bytes, posts 16 receives, invalidates a window of 4096, and asks
// for retries after RNR NAKs three times.
func replayParts() map[string]sides {
	return map[string]sides{
		"rc_pingpong": {
			{except: map[role]exceptions{requester: {not: frames(40, 43, lateResend)}}},
			{except: map[role]exceptions{responder: {not: frames(49, 51, everyDuplicate)}}},
		},
		"oob_send_lat": {{except: map[role]exceptions{requester: {not: frames(40, 40, lateResend)}}}},
		"fault_dup":    {{except: map[role]exceptions{requester: {not: frames(15, 15, onPurpose)}}}},
		"fault_psn_seq_nak": {
			{lossy: lossy(requester), except: map[role]exceptions{
				requester: {lost: frames(12, 12, onPurpose), not: frames(15, 15, onPurpose)}}},
			{lossy: lossy(responder), except: map[role]exceptions{responder: {not: frames(19, 19, everyDuplicate)}}},
		},
		"fault_timeout_retry": {{except: map[role]exceptions{responder: {dropped: frames(3, 3, onPurpose)}}}},
		"fault_rnr_nak": {
			{without: map[role]string{requester: "it sends the last PSN again in place of the one refused", responder: "it never answers"}},
			{counted: true, receives: 1, status: RetryExc, expire: true, except: map[role]exceptions{
				responder: {not: frames(6, 6, nakAfterRNR)}, requester: {not: frames(17, 74, noLimit)}}},
		},
		"go_badcrc":  {{open: 1}},
		"go_iddont":  {{open: 1, lossy: lossy(requester)}},
		"v_badrkey":  {{status: RemAccess}, {memory: opened{0x49e ^ 0x55, Region{Base: 0x559072e97000, Length: 65536}}, counted: true, receives: 16}},
		"v_oob":      {{status: RemAccess}, {memory: opened{0x536, Region{Base: 0x55de0ad00f9c + 100 - 65536, Length: 65536}}}},
		"v_inv":      {{status: RemAccess}, {memory: opened{0x800014c, Region{Base: 0x556c840a3000, Length: 4096, Invalidatable: true}}, counted: true, receives: 16}},
		"v_noaccess": {{status: RemInvReq}, {noWrite: true, counted: true, receives: 16}},
		"v_rnr":      {{status: RNRRetryExc, rnrRetry: 3}, {counted: true}},
		"v_toolong": {{status: RemOp}, {counted: true, receives: 16, room: 100, spoilt: LocLen, except: map[role]exceptions{
			responder: {instead: map[int]other{3: {wire.SyndromeInvalidRequest, lengthError}}}}}},
	}
}

// Every capture, every side that is one, in both roles.
func TestReplayCaptures(t *testing.T) {
	root := os.Getenv("HOPSCOPE_DATA")
	if root == "" {
		t.Skip("HOPSCOPE_DATA is not set")
	}
	files, err := filepath.Glob(filepath.Join(root, "rxe", "*.pcap"))
	if err != nil || len(files) != 33 {
		t.Fatalf("%d captures, %v; want 33", len(files), err)
	}
	parts := replayParts()
	for _, name := range files {
		x, err := readExchange(name)
		if err != nil {
			t.Fatal(name, err)
		}
		base := strings.TrimSuffix(filepath.Base(name), ".pcap")
		mtu := 1024
		if strings.HasSuffix(base, "_mtu4096") {
			mtu = 4096
		}
		for side := range 2 {
			for _, role := range []role{responder, requester} {
				if x.has(side, role) {
					t.Run(fmt.Sprintf("%s/side %d as %v", base, side, role), func(t *testing.T) {
						replayOne(t, x, side, mtu, role, parts[base][side])
					})
				}
			}
		}
	}
}

// replayOne replays with every recovery, as all must do the same while nothing
// is lost; where packets are, the captures are of go-back-N.
func replayOne(t *testing.T, x exchange, side, mtu int, role role, p part) {
	if why := p.without[role]; why != "" {
		t.Skip(why)
	}
	presets := []string{"nic", "go-back-0", "selective-repeat", "irn"}
	if p.lossy[role] {
		presets = presets[:1]
	}
	for _, preset := range presets {
		n, diffs := x.replay(side, mtu, preset, role, p)
		for _, d := range diffs[:min(8, len(diffs))] {
			t.Errorf("%s: %s", preset, d)
		}
		t.Logf("%s: %d compared", preset, n)
	}
}
