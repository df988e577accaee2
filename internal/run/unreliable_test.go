package run_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

const unreliableBase = `
name: unreliable
topology: {star: {hosts: 2, link: 100Gbps}}
workload:
  - flow: {from: h0, to: h1, OPTIONS}
`

// What a responder of UC or UD drops is counted once per message, under its cause
// (IBTA 9.6.1.4.1, 9.8.2, 9.8.3, 11.4.1.2), stands in the ledger as detected by it,
// and is told to nobody. 4,056 B and the 40 B of the GRH fit 4,096 B; one byte more
// does not.
func TestReceiverDropsMessages(t *testing.T) {
	for _, c := range []struct {
		options string
		want    record.Discards
		words   string
	}{
		{"service: ud, verb: send, size: 4056B, receive_size: 4096B, count: 5", record.Discards{}, ""},
		{"service: ud, verb: send, size: 4057B, receive_size: 4096B, count: 5", record.Discards{TooLong: 5}, "h1 dropped 5 (receive too small)"},
		{"service: ud, verb: send-imm, size: 4KB, receives: none, count: 3", record.Discards{NoReceive: 3}, "h1 dropped 3 (no receive work request)"},
		{"service: uc, verb: send, size: 40KB, receives: 4, count: 10", record.Discards{NoReceive: 6}, "h1 dropped 6 (no receive work request)"},
		{"service: uc, verb: write-imm, size: 40KB, receives: 4, count: 10", record.Discards{NoReceive: 6}, "h1 dropped 6 (no receive work request)"},
		{"service: uc, verb: send, size: 40KB, receive_size: 8KB, count: 2", record.Discards{TooLong: 2}, "h1 dropped 2 (receive too small)"},
		{"service: uc, verb: write, size: 40KB, rkey: wrong, count: 3", record.Discards{Refused: 3}, "h1 dropped 3 (R_Key or access)"},
		{"service: uc, verb: write, size: 40KB, region: 8KB, count: 3", record.Discards{Refused: 3}, "h1 dropped 3 (R_Key or access)"},
		{"service: uc, verb: write, size: 40KB, remote_access: read, count: 3", record.Discards{Refused: 3}, "h1 dropped 3 (R_Key or access)"},
	} {
		v := parse(t, strings.Replace(unreliableBase, "OPTIONS", c.options, 1))
		r := simulate(t, v, 1, 1)
		if bad := differ(t, r, simulate(t, v, 2, 2)); bad != "" {
			t.Errorf("%s: partitions matter: %s", c.options, bad)
		}
		got := record.Discards{}
		for i := range r.QPs {
			if d := r.QPs[i].Discards; d != nil {
				got = *d
			}
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.options, got, c.want)
		}
		if words := metrics.NotDelivered(lang.English, r); words != c.words {
			t.Errorf("%s: %q, want %q", c.options, words, c.words)
		}
		n, s := c.want.Total(), metrics.Summarise(r)
		if int64(s.Messages.Lost) != n || detectedDrops(r) != n || s.Answers[0].Happened != (n > 0) || dropped(r) != n {
			t.Errorf("%s: %d messages lost, %d in the ledger, %d among the mechanisms, want %d", c.options, s.Messages.Lost, detectedDrops(r), dropped(r), n)
		}
		if why := s.Answers[1].Why; n > 0 && !strings.Contains(why, "there are no acknowledgements on U") {
			t.Errorf("%s: fed back: %q", c.options, why)
		}
		if why := s.Answers[4].Why; (why == "nothing was lost") != (n == 0) {
			t.Errorf("%s: recovered: %q", c.options, why)
		}
		if sentence := compare.Sentence(r); strings.Contains(sentence, "never delivered") != (n > 0) || strings.Contains(sentence, "h1's NIC dropped") != (n > 0) {
			t.Errorf("%s: %s", c.options, sentence)
		}
	}
}

// detectedDrops counts the messages that the ledger says a responder dropped.
func detectedDrops(r *record.Run) (n int64) {
	for _, m := range catalog.MessageDrops {
		for i := range r.Ledger {
			if e := &r.Ledger[i]; e.Mechanism == m && e.Question == catalog.Detected {
				n += e.Count
			}
		}
	}
	return n
}

// dropped counts them in the report of mechanisms.
func dropped(r *record.Run) int64 { return mechanismOf(r, catalog.MessageDrop).Count }

func mechanismOf(r *record.Run, m catalog.Mechanism) metrics.State {
	for _, s := range metrics.Mechanisms(r, 0) {
		if s.Mechanism == m {
			return s
		}
	}
	return metrics.State{}
}

// Frames that a link loses: UC misses them by their PSNs and gives up what they
// belong to, UD misses nothing. Either way the report and the comparison count
// what did not arrive.
func TestUnreliableLoss(t *testing.T) {
	for _, service := range []string{"uc", "ud"} {
		v := parse(t, strings.Replace(unreliableBase, "OPTIONS", "service: "+service+", verb: send, size: 2KB, count: 500", 1),
			"topology.star.link={rate: 100Gbps, loss: 30%}")
		r := simulate(t, v, 1, 1)
		s := metrics.Summarise(r)
		if frames := s.Totals.Dropped; frames != int64(s.Messages.Lost) || frames < 200 { // messages of one packet
			t.Errorf("%s: %d messages lost with %d frames", service, s.Messages.Lost, frames)
		}
		if words := metrics.NotDelivered(lang.English, r); words != "lost on the way" {
			t.Errorf("%s: %q", service, words)
		}
		gaps := mechanismOf(r, catalog.SequenceGap)
		if service == "ud" && (gaps.Armed != 0 || !strings.Contains(gaps.Why, "UD looks at no PSNs")) || service == "uc" && gaps.Count == 0 {
			t.Errorf("%s: sequence gaps %+v", service, gaps)
		}
		if why := s.Answers[0].Why; service == "ud" && !strings.HasPrefix(why, "nobody missed what was lost (") {
			t.Errorf("detected: %s", why)
		}
		if timer := mechanismOf(r, catalog.AckTimeout); timer.Armed != 0 || !strings.Contains(timer.Why, "nothing waits for an acknowledgement") {
			t.Errorf("%s: ACK timeout %+v", service, timer)
		}
		if rnr := mechanismOf(r, catalog.RNR); rnr.Armed != 0 || !strings.Contains(rnr.Why, "no NAK is sent") {
			t.Errorf("%s: receiver not ready %+v", service, rnr)
		}
		if sentence := compare.Sentence(r); !strings.Contains(sentence, metrics.FormatCount(int64(s.Messages.Lost))+" of them never delivered") {
			t.Errorf("%s: %s", service, sentence)
		}
	}
}

// A datagram needs no connection (IBTA 9.8.3): only RC and UC pay for setting one
// up.
func TestUDNeedsNoConnection(t *testing.T) {
	for service, want := range map[string]units.Time{"rc": 30 * units.Microsecond, "uc": 30 * units.Microsecond, "ud": 0} {
		v := parse(t, strings.Replace(unreliableBase, "OPTIONS", "service: "+service+", verb: send, size: 2KB", 1), "host.connect=30us")
		got := units.Time(0)
		for _, s := range simulate(t, v, 1, 1).Messages[0].Account.Stages() {
			if s.Stage == catalog.StageConnect {
				got += s.Time
			}
		}
		if got != want {
			t.Errorf("%s: %v for a connection, want %v", service, got, want)
		}
	}
}

// Receives posted anew are those that the application posts: of a shared queue as
// of one's own none without host.repost. What a queue came to is the most that were
// taken at a time, of what was posted.
func TestReceivesPostedAnew(t *testing.T) {
	for _, c := range []struct {
		options, host string
		anew          int64
		most, of      int64 // in use at a time
	}{
		{"srq: 10", "{}", 0, 10, 10},
		{"receives: 10", "{}", 0, 10, 10},
		{"srq: 10", "{repost: 1ns}", 60, -1, 10},
		{"srq: 100", "{}", 0, 60, 100},
		{"receives: unlimited", "{}", 60, 0, 0},
	} {
		v := parse(t, strings.NewReplacer("OPTIONS", c.options, "HOST", c.host).Replace(`
name: anew
topology: {star: {hosts: 4, link: 100Gbps}}
nic: {min_rnr_timer: 1, rnr_retry: 3}
host: HOST
workload:
  - incast: {to: h3, verb: send, size: 4KB, count: 20, OPTIONS}
`))
		r := simulate(t, v, 1, 1)
		anew := int64(0)
		for i := range r.QPs {
			anew += r.QPs[i].Reposts
		}
		if anew != c.anew {
			t.Errorf("%s %s: %d posted anew, want %d", c.options, c.host, anew, c.anew)
		}
		rnr := mechanismOf(r, catalog.RNR)
		if c.of == 0 {
			if rnr.Armed != 0 {
				t.Errorf("%s: %+v", c.options, rnr)
			}
			continue
		}
		if p := rnr.Places[0]; p.Threshold != c.of || c.most >= 0 && p.Value != c.most || p.Value > p.Threshold || p.Count > 0 && p.Value < p.Threshold {
			t.Errorf("%s %s: came to %d of %d with %d RNR NAKs, want %d of %d", c.options, c.host, p.Value, p.Threshold, p.Count, c.most, c.of)
		}
	}
}
