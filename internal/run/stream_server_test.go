package run_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

const socketPath = `
name: sockets
topology: {star: {hosts: 2, link: 100Gbps}}
stack: tcp
workload:
  - flow: {from: h0, to: h1, size: %s}
`

// ofStage is what an account gives to a stage.
func ofStage(f *record.Message, stage string) (sum units.Time) {
	for _, p := range f.Account.Stages() {
		if p.Stage.String() == stage {
			sum += p.Time
		}
	}
	return sum
}

// A small message over TCP takes longer through a server by exactly what its account
// gives to the ways in there: doorbell and descriptor, read and write. Each of them
// follows from its parts.
func TestSocketPathOfSmallMessage(t *testing.T) {
	text := fmt.Sprintf(socketPath, "1KB")
	flow := func(server string) *record.Message {
		return &simulate(t, parse(t, text+server), 1, 1).Messages[0]
	}
	without, with := flow(""), flow("server: two-socket\n")
	work, read, write := ofStage(with, catalog.StageWorkFetch.String()), ofStage(with, catalog.StageRead.String()), ofStage(with, catalog.StagePlace.String())
	t.Logf("%v without a server, %v with: %v doorbell and descriptor, %v read, %v written", without.CompletionPS, with.CompletionPS, work, read, write)
	if got := with.CompletionPS - without.CompletionPS; got != work+read+write {
		t.Errorf("%v longer, of which %v are accounted for", got, work+read+write)
	}
	const ns = units.Nanosecond
	// Links of 210 ns each way and 10 ns to memory; a doorbell leaves a core in 50 ns, a
	// descriptor is read from DRAM in 92 ns, payload that was copied from the cache in
	// 22 ns. The rest are the bytes: below 40 ns each.
	for _, s := range []struct {
		what       string
		got, parts units.Time
	}{{"doorbell and descriptor", work, (50 + 210 + 440 + 92) * ns}, {"read", read, (440 + 22) * ns}, {"write", write, 220 * ns}} {
		if s.got < s.parts || s.got > s.parts+40*ns {
			t.Errorf("%s takes %v, its parts %v", s.what, s.got, s.parts)
		}
	}
	// More of a part's cost is more of its stage, and of the whole.
	for _, c := range []struct {
		costs, stage string
		more         units.Time
	}{
		{"doorbell: 150ns", catalog.StageWorkFetch.String(), 100 * ns},
		{"dram_read: 192ns", catalog.StageWorkFetch.String(), 100 * ns},
		{"llc_read: 72ns", catalog.StageRead.String(), 50 * ns},
		{"hbm_read: 1us", catalog.StageRead.String(), 0},
	} {
		f := flow("server: {preset: two-socket, costs: {" + c.costs + "}}\n")
		if got := f.CompletionPS - with.CompletionPS; got != c.more || ofStage(f, c.stage)-ofStage(with, c.stage) != c.more {
			t.Errorf("%s: %v longer, want %v", c.costs, got, c.more)
		}
	}
}

// What a server's links carry bounds TCP as well: a card that came up with two lanes of
// generation 3 at the sender; or a memory of 40 Gb/s at the receiver, whose one core
// copies in turn with its other work. A copied bit takes 1.49 of memory, which the core
// waits for, the card's writes 0.49 beside it: at most none of them meet a copy, at
// least all do.
func TestSocketPathBounds(t *testing.T) {
	text := fmt.Sprintf(socketPath, "32MB") + "hosts: {%s: {server: {preset: two-socket, links: {%s}}}}\n"
	const other = 1/42.0 - 0.49/64 - 0.51/128 // F27's core without its copy, ns per bit
	for _, c := range []struct {
		host, links string
		least, most float64 // Gb/s
	}{
		// Completions of 256 B over 2 lanes, 38 us for a segment of 64 KB; the next one's
		// descriptor and first payload come one after the other, 1.3 us, and slow start.
		{"h0", "nic0: {gen: 3, width: 2}", 13.83 * 0.93, 13.83},
		{"h1", "dram0: {rate: 40Gbps}", 1 / (other + 1.49/(40-0.49*20)), 1 / (other + 1.49/40)},
	} {
		r := simulate(t, parse(t, fmt.Sprintf(text, c.host, c.links)), 1, 1)
		got := 8 * 32e6 / float64(r.Messages[0].CompletionPS) * 1000
		t.Logf("%s %s: %.2f Gb/s", c.host, c.links, got)
		if got < c.least || got > c.most {
			t.Errorf("%s %s: %.2f Gb/s, want %.2f to %.2f", c.host, c.links, got, c.least, c.most)
		}
	}
}

// Data in GPUs are staged: the message takes longer by two copies, of which each has its
// launch, its way and its wait, and ends when it is in the far GPU.
func TestSocketPathOfGPUs(t *testing.T) {
	flow := func(end, size, costs string) *record.Message {
		text := fmt.Sprintf(socketPath, size) + "server: {preset: dgx-a100, costs: {" + costs + "}}\n"
		for _, h := range []string{"h0", "h1"} {
			text = strings.ReplaceAll(text, ": "+h, ": "+h+end)
		}
		return &simulate(t, parse(t, text), 1, 1).Messages[0]
	}
	plain, gpus := flow("", "8B", ""), flow("/gpu0", "8B", "")
	out, in := ofStage(gpus, catalog.StageCopyOut.String()), ofStage(gpus, catalog.StageCopyIn.String())
	t.Logf("%v between memories, %v between GPUs: %v out, %v in", plain.CompletionPS, gpus.CompletionPS, out, in)
	// An application that waits for a copy polls, and need not be woken to write.
	woken := ofStage(plain, catalog.StageKernel.String()) - ofStage(gpus, catalog.StageKernel.String())
	if got := gpus.CompletionPS - plain.CompletionPS; got != out+in-woken || woken != 400*units.Nanosecond {
		t.Errorf("%v longer, copies take %v and %v, a wakeup %v", got, out, in, woken)
	}
	for _, d := range []units.Time{out, in} { // launch and wait, and less than 1 us of links
		if d < 7*units.Microsecond || d > 8*units.Microsecond {
			t.Errorf("a copy takes %v", d)
		}
	}
	half := flow("/gpu0", "8B", "copy_launch: 2us")
	if got := gpus.CompletionPS - half.CompletionPS; got != 4*units.Microsecond {
		t.Errorf("with launches of half the time %v shorter, want 4us", got)
	}
	// A large message is a pipeline: the core that receives bounds it as it does
	// without GPUs, and a chunk out and one in come on top.
	plain, gpus = flow("", "64MB", ""), flow("/gpu0", "64MB", "")
	if got := float64(gpus.CompletionPS) / float64(plain.CompletionPS); got < 1 || got > 1.01 {
		t.Errorf("64 MB take %v between memories, %v between GPUs", plain.CompletionPS, gpus.CompletionPS)
	}
}

// Without anything in the way TCP is as fast in a server as outside: one core's work
// bounds it (F27), and the links have room.
func TestSocketPathCostsNoThroughput(t *testing.T) {
	text := fmt.Sprintf(socketPath, "32MB")
	without := simulate(t, parse(t, text), 1, 1).Messages[0].CompletionPS
	with := simulate(t, parse(t, text+"server: two-socket\n"), 1, 1)
	if got := float64(with.Messages[0].CompletionPS) / float64(without); math.Abs(got-1) > 0.02 {
		t.Errorf("%.3f times as long in a server", got)
	}
	// Payload over the card's link: every frame with its completion entry, and no more.
	if l := linkOf(with, "h1", "nic0 to cpu0"); l.PayloadBytes < 32e6 || l.PayloadBytes > 32e6*102/100 {
		t.Errorf("%d B written for 32 MB", l.PayloadBytes)
	}
}
