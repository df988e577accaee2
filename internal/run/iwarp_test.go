package run_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// One WRITE fills the wire but for headers: an FPDU in each segment, with 14 bytes of DDP and RDMAP, a length and a
// CRC, in frames of 90 bytes more than the segment with time stamps (RFC 5040 4, 5041 5, 5044 4).
//
// With markers a sender makes each FPDU short enough for as many as may fall into a segment (RFC 5044 4.5), P bytes of
// payload. How many do depends on its place in the stream: 4 of every 512 bytes are a marker's, so that P + 20 bytes
// that are none take (P + 20) 512 / 508 of the stream in the long run, and P of (P + 20) 512 / 508 + 90 on the wire are
// payload. P of a full frame, which the field quotes (92.07 % with an MTU of 1500), is the share of the frames that hold
// as many as may be, and a bound that no long run is below.
func TestIWARPGoodput(t *testing.T) {
	for _, c := range []struct {
		mtu                  int
		plain, markers, mean string // in % of the line, with as many markers as may fall into a segment, and in the long run
		payload              float64
	}{
		{1500, "92.85", "92.07", "92.11", 1416}, {4200, "97.40", "96.55", "96.64", 4092}, {9000, "98.78", "97.99", "98.01", 8856},
	} {
		share := func(markers bool) float64 {
			r := star(t, 2, "100Gbps", fmt.Sprintf("stack: iwarp\ntcp: {mtu: %d}\niwarp: {markers: %v}\nmeasure: {from: 3ms, to: 43ms}\n"+
				"stop: 43ms\nworkload: [{flow: {from: h0, to: h1, size: 1GB}}]\n", c.mtu, markers))
			for i := range r.QPs {
				if q := &r.QPs[i]; q.DeliveredBytes > 0 {
					return float64(q.MeasuredBytes) * 200 / 100e9 * 100
				}
			}
			return 0
		}
		frame := float64(c.mtu + 38)
		if got := share(false); fmt.Sprintf("%.2f", got) != c.plain || math.Abs(got-100*float64(c.mtu-72)/frame) > 0.002 {
			t.Errorf("MTU %d: %.4f %% of the line, want %s", c.mtu, got, c.plain)
		}
		bound := 100 * c.payload / frame
		mean := 100 * c.payload / (90 + (c.payload+20)*512/508)
		if got := share(true); fmt.Sprintf("%.2f", bound) != c.markers || fmt.Sprintf("%.2f", mean) != c.mean || got < bound ||
			math.Abs(got-mean) > 0.002 {
			t.Errorf("MTU %d with markers: %.4f %% of the line, want %s (%.4f), above %s", c.mtu, got, c.mean, mean, c.markers)
		}
	}
}

// The bytes on the wire of n FPDUs with markers are those of the closed form, to the byte: n frames of 90 bytes and
// P + 20 of the stream, and 4 for every marker. The first stands before the first FPDU, and others behind each 508
// bytes that are none.
func TestIWARPMarkersOnTheWire(t *testing.T) {
	for _, c := range []struct{ mtu, payload int64 }{{1500, 1416}, {4200, 4092}, {9000, 8856}} {
		for _, n := range []int64{1, 127, 5000} { // 127 FPDUs and 508 bytes of a WRITE's come to a whole number of markers
			r := star(t, 2, "100Gbps", fmt.Sprintf("stack: iwarp\ntcp: {mtu: %d}\niwarp: {markers: true}\n"+
				"workload: [{flow: {from: h0, to: h1, size: %dB}}]\n", c.mtu, n*c.payload))
			stream := n * (c.payload + 20)
			want := stream + 4*(1+(stream-1)/508) + n*90
			got := int64(0)
			for i := range r.Ports {
				if p := &r.Ports[i]; p.Node == "h0" { // which counts without preamble and gap
					got += p.TxBytes + 20*n
				}
			}
			if got != want {
				t.Errorf("MTU %d, %d FPDUs: %d B on the wire, want %d", c.mtu, n, got, want)
			}
		}
	}
}

// carriedIWARP loses frames and reorders them.
const carriedIWARP = `
name: carried
carry_data: %v
stack: iwarp
routing: spray
topology: {leaf_spine: {leaves: 2, spines: 4, hosts_per_leaf: 3, host_link: {rate: 25Gbps, loss: 0.002}, uplink: {rate: 10Gbps, length: 20m}}}
iwarp: {markers: %v, cc: %s%s}
tcp: {mtu: %d}
workload:
  - {permutation: {name: writes, size: 200001B, count: 3}}
  - {permutation: {name: reads, size: 99999B, count: 3, verb: read}}
  - {permutation: {name: sends, size: 999B, count: 20, verb: send}}
  - {incast: {from: [h0, h1, h2, h3], to: h5, size: 1MB, verb: send-inv}}
`

// Every byte of every message is where it belongs, through losses and reordering, with markers and without; carrying
// them changes nothing else, and partitions do not change what is found.
func TestIWARPDataArrives(t *testing.T) {
	for _, c := range []struct {
		markers bool
		cc, ecn string // and more of the section
		mtu     int
	}{{false, "reno", "", 9000}, {true, "reno", ", ecn: classic", 1500}, {false, "dctcp", "", 4200},
		{false, "cubic", ", preset: siw, crc: true", 9000}} {
		text := func(carry bool) []byte { return fmt.Appendf(nil, carriedIWARP, carry, c.markers, c.cc, c.ecn, c.mtu) }
		with := mustRun(t, text(true), run.Options{Partitions: 1})
		if d := with.Data; d.Messages != len(with.Messages) || d.Differ != 0 || d.Lost != 0 || d.Bytes == 0 {
			t.Errorf("%+v: %+v of %d messages", c, d, len(with.Messages))
		}
		var again, placed, kept, fpdus int64
		for i := range with.QPs {
			q := &with.QPs[i]
			again, placed, kept = again+q.Retransmitted, placed+q.TCP.IWARP.PlacedAhead, kept+q.TCP.IWARP.KeptAhead
			fpdus += q.TCP.IWARP.FPDUs
		}
		if again == 0 || placed == 0 || kept == 0 || fpdus == 0 {
			t.Errorf("%+v: %d segments sent again, %d of %d FPDUs placed ahead of others, %d kept: want some of each", c, again, placed, fpdus, kept)
		}
		want := document(t, with)
		if got := document(t, mustRun(t, text(true), run.Options{Partitions: 5, Workers: 2})); got != want {
			t.Errorf("%+v: 5 partitions give another result", c)
		}
		without := mustRun(t, text(false), run.Options{})
		if with.Data = nil; document(t, without) != document(t, with) {
			t.Errorf("%+v: carrying data changes the run", c)
		}
	}
}

// Faults in which bytes go where, or which messages are complete, are found by comparing them.
func TestIWARPDataCatchesMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a second program")
	}
	dir := t.TempDir()
	program, file := filepath.Join(dir, "mutants"), filepath.Join(dir, "carried.yaml")
	if out, err := exec.Command("go", "build", "-tags", "mutant", "-o", program, "../../cmd/hopscope").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, carriedIWARP, true, false, "reno", "", 1500), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mutant, says string
		exit         int
	}{
		{"none", "160 of 160 messages completed", 0},
		{"fpdu-damage", "CRC", 0}, // the receiver finds it
		{"fpdu-early", "of them differ", 1},
		{"fpdu-twice", "of them differ", 1},
	} {
		cmd := exec.Command(program, "run", file)
		cmd.Env = append(os.Environ(), "HOPSCOPE_MUTANT="+c.mutant)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.exit || !bytes.Contains(out, []byte(c.says)) {
			t.Errorf("%s: %v\n%.1500s", c.mutant, err, out)
		}
	}
}

// What the kernel takes for WRITEs of n FPDUs, to the picosecond where it does not depend on when frames come: a system
// call to post each; for each FPDU the stack's way down and, of its payload at the sender and of all of it at the
// receiver, a copy and a CRC; an interrupt or more, and the stack's way up. A card that runs it takes none of that.
func TestIWARPByKernel(t *testing.T) {
	const n, payload, posts = 1000, 8928, 4
	text := "stack: iwarp\niwarp: {preset: %s, crc: true}\nworkload: [{flow: {from: h0, to: h1, size: %dB, count: %d}}]\n"
	r := star(t, 2, "100Gbps", fmt.Sprintf(text, "siw", n*payload/posts, posts))
	cost, err := host.Preset("linux-xeon")
	if err != nil {
		t.Fatal(err)
	}
	// A copy is from DRAM as far as the cache misses, from it else. A CRC is over the segment, 20 bytes more than payload.
	copied := func(bytes units.Bytes, miss int) units.Time {
		slow := bytes * units.Bytes(miss) / 1000
		return cost.CopyDRAM.TxTimeLong(slow) + cost.CopyLLC.TxTimeLong(bytes-slow)
	}
	for i := range r.Processors {
		p := &r.Processors[i]
		for _, c := range []struct {
			host, direction, cause string
			want                   units.Time
		}{
			{"h0", "transmit", "syscall", posts * cost.Syscall},
			{"h0", "transmit", "output", n * (cost.Output + cost.TxComplete)},
			{"h0", "transmit", "copy", n * copied(payload, cost.MissOut)},
			{"h0", "transmit", "crc", n * cost.CRC.TxTimeLong(payload+20)},
			{"h1", "receive", "crc", n * cost.CRC.TxTimeLong(payload+20)},
			{"h1", "receive", "copy", n * copied(payload+20, cost.MissIn)},
		} {
			got := units.Time(0)
			for _, s := range p.Times {
				if s.Direction == c.direction && s.Cause == c.cause {
					got += s.PS
				}
			}
			if p.Host == c.host && got != c.want {
				t.Errorf("%s, %s, %s: %v, want %v", c.host, c.direction, c.cause, got, c.want)
			}
		}
		calls := map[string]int64{"h0": posts}[p.Host]
		if p.Interrupts == 0 || p.FramesIn == 0 || p.Syscalls != calls {
			t.Errorf("%s: %d interrupts, %d frames in, %d system calls", p.Host, p.Interrupts, p.FramesIn, p.Syscalls)
		}
	}
	for _, s := range []string{"system calls and output", "interrupt and input", "receive window", "behind earlier work"} {
		if !slices.ContainsFunc(r.Messages, func(m record.Message) bool {
			return slices.ContainsFunc(m.Account.Stages(), func(x record.StageTime) bool { return x.Stage.String() == s })
		}) {
			t.Errorf("no message has the stage %q", s)
		}
	}
	if len(r.Processors) != 2 {
		t.Errorf("%d processors", len(r.Processors))
	}
	if r = star(t, 2, "100Gbps", fmt.Sprintf(text, "offload", n*payload/posts, posts)); len(r.Processors) > 0 {
		t.Errorf("a card that runs it keeps %d processors busy", len(r.Processors))
	}
}

// What the responder refuses ends the stream: a Terminate message says why, the queue pair goes into error, and all that
// is open is flushed.
func TestIWARPTerminates(t *testing.T) {
	for _, c := range []struct{ name, rest, reason string }{
		{"no receive", "workload: [{flow: {from: h0, to: h1, size: 1KB, count: 5, verb: send, receives: 2}}]\n",
			"no receive work request"},
		{"wrong key", "workload: [{flow: {from: h0, to: h1, size: 100KB, count: 3, rkey: wrong}}]\n", "invalid STag"},
	} {
		r := star(t, 2, "100Gbps", "stack: iwarp\n"+c.rest)
		ended := map[string]string{}
		for i := range r.QPs {
			if q := r.QPs[i].OverTCP(); q != nil && q.Ended != "" {
				ended[r.QPs[i].Host] = q.Ended + ": " + q.Reason
			}
		}
		if ended["h1"] != "sent Terminate: "+c.reason || ended["h0"] != "received Terminate: "+c.reason {
			t.Errorf("%s: %v, want %s", c.name, ended, c.reason)
		}
		last := r.Messages[len(r.Messages)-1].Status
		told := slices.ContainsFunc(r.Ledger, func(e record.Entry) bool { return e.Mechanism == catalog.Terminated && e.Actor.Node == "h1" })
		if last != "WR_FLUSH_ERR" || !told {
			t.Errorf("%s: the last message ended with %q, the ledger tells of it: %v", c.name, last, told)
		}
	}
}

// drawIWARP returns a random scenario whose queue pairs TCP carries.
func drawIWARP(seed uint64) draw {
	g := &generator{Stream: rng.New(seed, "iwarp")}
	g.line("name: iwarp-%d\nseed: %d\nstack: iwarp", seed, seed)
	g.lossy = g.one(2)
	g.topology()
	if g.tail != "" {
		g.line("%s", g.tail)
	}
	g.line("switch: {buffer: %dMB, latency: %dns, forwarding: %s, lossy: {alpha: %s, pool: %dKB}}", g.between(6, 12), g.IntN(1000),
		g.pick("store-and-forward", "cut-through"), g.pick("1/8", "1/2", "2"), g.between(60, 1500))
	control := g.pick("cc: reno", "cc: reno", "cc: reno, ecn: classic", "cc: dctcp")
	kernel := g.one(3)
	if kernel {
		g.line("iwarp: {preset: siw, crc: %s, %s}", g.pick("true", "false"), control)
	} else {
		g.line("iwarp: {markers: %s, crc: %s, %s}", g.pick("true", "false", "false"), g.pick("true", "true", "false"),
			control)
	}
	g.line("tcp: {mtu: %d, rto_min: %s, handshake: %s}", g.pickInt(9000, 9000, 1500, 4200, 576), g.pick("10ms", "1ms"), g.pick("ahead", "first-message"))
	if g.one(3) {
		g.line("nic: {max_rd_atomic: %d}", g.pickInt(1, 2, 16))
	}
	if !kernel && g.one(5) {
		g.line("server: {preset: %s, iommu: %s, costs: {read_tags: %s}}", g.pick("dgx-a100", "dgx-h100"), g.pick("off", "on"), g.pick("2", "32", "256"))
		for i := range g.hosts {
			if seed%2 == 0 && g.one(2) {
				g.hosts[i] = fmt.Sprintf(`"%s/gpu%d"`, strings.Trim(g.hosts[i], `"`), g.IntN(8))
			}
		}
	}
	if g.cut = g.one(6); g.cut {
		g.line("stop: %dns", g.between(20000, 500000))
	}
	g.line("workload:")
	for range g.between(1, 4) {
		verb := g.pick("write", "write", "read", "send", "send-inv", "send, receives: 1", "send-inv, receives: 1", "read")
		opt := fmt.Sprintf("size: %dB, count: %d, every: %dns, start: %dns, qps: %d, verb: %s", g.size(), g.pickInt(1, 1, 2, 10), g.IntN(20000),
			g.IntN(10000), g.pickInt(1, 1, 2), verb)
		if g.one(2) {
			g.line("  - permutation: {hosts: [%s], %s}", strings.Join(g.hosts, ", "), opt)
		} else {
			g.incast(opt)
		}
	}
	if g.one(2) {
		g.line("carry_data: true")
	}
	g.text = g.b.String()
	return g.draw
}

// iwarpAccounts: the stages of a message are positive and add up, and none that repairs a loss appears without one.
func iwarpAccounts(_ *scenario.Valid, _ draw, r *record.Run) string {
	retransmitted, timeouts := int64(0), int64(0)
	for i := range r.QPs {
		retransmitted, timeouts = retransmitted+r.QPs[i].Retransmitted, timeouts+r.QPs[i].Timeouts
	}
	for i := range r.Messages {
		f := &r.Messages[i]
		if f.CompletionPS < 0 {
			continue
		}
		if sum := f.Account.Stages().Total(); sum != f.CompletionPS {
			return fmt.Sprintf("message %d: %v is not %v: %v", i, sum, f.CompletionPS, f.Account.Stages())
		}
		for _, s := range f.Account.Stages() {
			switch base := s.Stage.Base(); {
			case s.Time <= 0:
				return fmt.Sprintf("message %d: stage %v of %v", i, s.Stage.String(), s.Time)
			case (base == catalog.StageDetection || base == catalog.StageResending) && retransmitted == 0:
				return fmt.Sprintf("message %d: %v, and nothing was sent again", i, s.Stage.String())
			case base == catalog.StageTimeout && timeouts == 0:
				return fmt.Sprintf("message %d: %v, and no timer expired", i, s.Stage.String())
			}
		}
	}
	return ""
}

// TestIWARPProperties holds what no scenario with iWARP may break.
func TestIWARPProperties(t *testing.T) {
	t.Parallel()
	seeds := draws(12, 40)
	seen := map[string]int{}
	failed := 0
	for seed := range seeds {
		d := drawIWARP(seed)
		r, err := checkSeed(t, seed, d, []property{
			{"every message ends", func(v *scenario.Valid, d draw, r *record.Run) string {
				d.lossless = false // receives may run out, which ends a stream
				return everyMessageEnds(v, d, r)
			}},
			{"accounts tile", iwarpAccounts},
			{"bytes into a switch leave it or are dropped", conserved},
			{"no port above its rate", withinRate},
			{"times and queues are ordered", ordered},
			{"bytes arrive as they were sent", arrivesAsSent},
		})
		if err != nil {
			t.Errorf("seed %d: %v\nscenario:\n%s", seed, err, d.text)
			if failed++; failed == 3 {
				t.FailNow()
			}
			continue
		}
		if r.Data != nil {
			seen["compared"] += r.Data.Messages
		}
		for i := range r.Messages {
			seen[strings.ToLower(r.Messages[i].Verb)+" "+r.Messages[i].Status]++
			for _, s := range r.Messages[i].Account.Stages() {
				seen[s.Stage.Base().String()]++
			}
		}
		for i := range r.Ledger {
			seen[r.Ledger[i].Mechanism.String()] += int(r.Ledger[i].Count)
		}
	}
	t.Log(seen)
	if testing.Short() || raced {
		return
	}
	for _, what := range []string{"compared", "write success", "read success", "send success", "send_inv success", catalog.StageHandshake.String(),
		catalog.StageCwnd.String(), catalog.StageReads.String(), catalog.StageDetection.String(),
		catalog.StageTimeout.String(), catalog.StageReassembly.String(), catalog.StageEarlierWork.String(), catalog.RTO.String(),
		catalog.RetransFast.String(), catalog.CutECE.String(), catalog.LossDupAck.String(), catalog.Terminated.String()} {
		if seen[what] == 0 {
			t.Errorf("no %q in %d scenarios; they have become too tame", what, seeds)
		}
	}
}
